"""Pictures of semi-supervised learning."""

import matplotlib as mpl

mpl.use("Agg")

import numpy as np
import pytest

from tercet import Recorder
from tercet.datasets import two_moons
from tercet.linear_model import LogisticRegression
from tercet.plot import plot_label_curve, plot_labels, plot_model, plot_spreading
from tercet.semi_supervised import ActiveLearner, LabelPropagation, SelfTrainingClassifier


def moons():
    X, truth = two_moons(80, noise=0.05, random_state=0)
    return X, np.where(np.arange(80) % 40 == 20, truth, -1), truth


def test_labels_spread_pass_by_pass():
    X, y, _ = moons()
    recorder = Recorder()
    model = LabelPropagation("knn", n_neighbors=5).set_callbacks(recorder).fit(X, y)
    figure = plot_spreading(recorder, X, y, n_panels=4)
    assert len(figure.axes) == 4
    coloured = [sum(len(c.get_offsets()) for c in ax.collections[1:-1]) for ax in figure.axes]
    assert coloured == sorted(coloured)
    assert coloured[0] < 80
    assert figure.axes[0].get_title(loc="left") == "pass 1"
    assert len(figure.axes[0].collections[-1].get_offsets()) == 2  # rings
    ax = plot_model(model)
    assert sum(len(c.get_offsets()) for c in ax.collections) == 80
    rounds = Recorder()
    SelfTrainingClassifier(LogisticRegression(), threshold=0.6).set_callbacks(rounds).fit(X, y)
    assert plot_spreading(rounds, X, y).axes
    with pytest.raises(ValueError, match="holds no frames"):
        plot_spreading(Recorder(), X, y)


def test_labels_of_strings():
    X, y, _ = moons()
    names = np.array([None if c < 0 else "ab"[c] for c in y], dtype=object)
    ax = plot_labels(X, names)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["no label", "a", "b"]


def test_accuracy_over_labels():
    X, y, truth = moons()
    curves = {}
    for algorithm in ("margin", "random"):
        curves[algorithm] = Recorder()
        learner = ActiveLearner(
            LogisticRegression(), algorithm=algorithm, oracle=truth, n_queries=6, random_state=0
        )
        learner.set_callbacks(curves[algorithm]).fit(X, y)
    ax = plot_label_curve(curves, X, truth)
    assert [line.get_label() for line in ax.get_lines()] == ["margin", "random"]
    assert ax.get_lines()[0].get_xdata().tolist() == [3, 4, 5, 6, 7, 8]
    assert ax.get_lines()[0].get_ydata()[-1] == pytest.approx(learner_score(curves["margin"], X, truth))
    with pytest.raises(ValueError, match="give X and y"):
        plot_label_curve(curves)
    with pytest.raises(ValueError, match="curves is empty"):
        plot_label_curve({})


def learner_score(recorder, X, y):
    return recorder.frames[-1].estimator.score(X, y)


def test_labels_of_numbers_beside_none_are_drawn():
    ax = plot_labels(np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 0.0]]), np.array([0, None, 1], dtype=object))
    assert [len(dots.get_offsets()) for dots in ax.collections] == [1, 1, 1]
