"""A class that has moved to another file: models saved before still load."""

import io
import pickle
import pickletools
import sys
import types

import joblib
import numpy as np
import pytest

import tercet.linear_model
from tercet.io import load_model, save_model
from tercet.linear_model import Perceptron
from tercet.tree import DecisionTreeClassifier

X, Y = np.array([[3.0, 3.0], [4.0, 3.0], [1.0, 1.0]]), [1, 1, -1]


def save(kind, model, path):
    if kind == "pickle":
        path.write_bytes(pickle.dumps(model))
    elif kind == "joblib":
        joblib.dump(model, path)
    else:
        save_model(path, model, {})


def load(kind, path):
    if kind == "pickle":
        return pickle.loads(path.read_bytes())
    return joblib.load(path) if kind == "joblib" else load_model(path)[0]


@pytest.fixture
def moved(monkeypatch):
    """Move a class: its module is another one, and the one that it was in is gone."""

    def move(cls, to):
        before = cls.__module__
        module = types.ModuleType(to)
        setattr(module, cls.__name__, cls)
        monkeypatch.setitem(sys.modules, to, module)
        monkeypatch.delitem(sys.modules, before)
        monkeypatch.setattr(cls, "__module__", to)
        monkeypatch.setattr(sys, "meta_path", [Blocked(before), *sys.meta_path])

    return move


class Blocked:
    """Refuses to import a module."""

    def __init__(self, name):
        self.name = name

    def find_spec(self, name, path=None, target=None):
        if name == self.name:
            raise ModuleNotFoundError(f"{name} has moved", name=name)


@pytest.mark.parametrize("kind", ["pickle", "joblib", "model file"])
def test_a_model_outlives_the_file_of_its_class(kind, moved, tmp_path):
    model = Perceptron().fit(X, Y)
    save(kind, model, tmp_path / "model")
    moved(Perceptron, "tercet.linear_model.elsewhere")
    again = load(kind, tmp_path / "model")
    assert type(again) is tercet.linear_model.Perceptron
    assert np.array_equal(again.coef_, model.coef_)
    # and what is saved after the move loads before it
    save(kind, again, tmp_path / "later")
    assert "elsewhere" not in (tmp_path / "later").read_bytes().decode("latin1")


@pytest.mark.parametrize("kind", ["pickle", "joblib", "model file"])
def test_parts_of_models_too(kind, moved, tmp_path):
    """A tree's structure, which is an object of its own."""
    model = DecisionTreeClassifier().fit(X, Y)
    save(kind, model, tmp_path / "model")
    moved(type(model.tree_), "tercet.tree.elsewhere")
    assert load(kind, tmp_path / "model").predict(X).tolist() == Y


def test_a_pickle_names_no_file_of_ours():
    blob = pickle.dumps(DecisionTreeClassifier().fit(X, Y))
    text = io.StringIO()
    pickletools.dis(blob, text)
    assert "'tercet.tree'" in text.getvalue()
    assert "decision_tree" not in text.getvalue()
