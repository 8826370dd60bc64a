"""Declarations of what kernels rely on in a loaded model, and the errors that name what does not fit them."""

import copy
import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from tercet.core.estimator import Estimator
from tercet.core.fitted_checks import (
    Codes,
    Counts,
    Each,
    Floats,
    Having,
    Indices,
    Items,
    Keys,
    Labels,
    OneOf,
    Whole,
    by_value,
    check_fitted,
    classes_of_outputs,
    declared,
)
from tercet.linear_model import LogisticRegression
from tercet.naive_bayes import GaussianNB
from tercet.rules import RIPPERClassifier

CSR = sparse.csr_array(np.eye(3))
ASTRAY = sparse.csr_array(np.eye(3))
ASTRAY.indices = np.array([0, 7, 2], dtype=np.int32)


def loaded(shapes, **state):
    """A model of some declarations and attributes, checked."""

    class Model(Estimator):
        fitted_shapes = shapes

    model = Model.__new__(Model)
    model.__setstate__({"n_features_in_": 3, "classes_": np.array([0, 1]), **state})
    return model


@pytest.mark.parametrize(
    ("spec", "good", "bad"),
    [
        ("features", [np.zeros(3), np.zeros(3, dtype=np.float32), np.zeros(3, dtype=int)],
         [np.zeros(4), np.zeros((3, 1)), np.zeros(3, dtype=complex), np.zeros(3, dtype=object), np.zeros(3) > 0,
          np.zeros(3, dtype=np.float16), [0.0] * 3, None, 3.0, "abc"]),
        ("rows features", [np.zeros((1, 3)), np.zeros((9, 3)), CSR], [np.zeros((0, 3)), np.zeros((3, 9)), ASTRAY]),
        ("rows* features", [np.zeros((0, 3))], [np.zeros(3)]),
        ("rows rows", [np.zeros((2, 2))], [np.zeros((2, 3))]),
        ("features+1", [np.zeros(4)], [np.zeros(3)]),
        ("features-1 2", [np.zeros((2, 2))], [np.zeros((3, 2)), np.zeros((2, 3))]),
        ("planes features", [np.zeros((1, 3))], [np.zeros((2, 3))]),
        ("class_pairs", [np.zeros(1)], [np.zeros(2)]),
        ("features | None", [np.zeros(3), None], [np.zeros(4)]),
        ("", [0, 1.5, np.float32(2.0), np.array(3.0), np.nan], [np.zeros(1), None, True, 1j]),
        ("...", [np.zeros(0), np.zeros((2, 3, 4))], [None, np.array("a")]),
        (Floats("rows", finite=True), [np.array([1e308, 1e308])], [np.array([1.0, np.nan]), np.array([np.inf])]),
        (Floats("rows", low=0.0), [np.zeros(1)], [np.array([-1.0]), np.array([np.nan])]),
        (Indices("rows", below="features"), [np.array([0, 2]), np.array([1], dtype=np.uint8)],
         [np.array([3]), np.array([-1]), np.array([0.0]), np.array([2**63], dtype=np.uint64)]),
        (Indices("rows", below="features", low=-1), [np.array([-1])], [np.array([-2])]),
        (Indices("rows* 2", below=("features", "classes")), [np.array([[2, 1]]), np.empty((0, 2), dtype=int)],
         [np.array([[1, 2]]), np.array([[3, 0]])]),
        (Indices("rows", below="unheard_of"), [], [np.array([0])]),
        (Labels("features"), [["a", "b", "c"], np.array(["a", "b", "c"]), np.array([np.nan] * 3)], [["a"], None]),
        (Labels("rows", finite=True), [np.array(["a"])], [np.array([np.nan])]),
        (Each("values@", "features"), [[np.zeros(1), np.zeros(2), np.zeros(3)]],
         [[np.zeros(1)], np.zeros((3, 1)), [np.zeros(1), np.zeros(1), np.zeros(0)]]),
        (Items(("features", "")), [[np.zeros(3), 0.0]], [[np.zeros(3)], [0.0, 0.0]]),
        (Whole(low=1), [1, np.int32(5)], [0, 1.0, True, None, "1"]),
        (Whole("features"), [3], [4]),
        (Counts("rows features | rows"), [(9, 3), (2,)], [(9, 4), (), None, ("a", 3)]),
        (Codes("features"), [{"a": 0, "b": 2}, {}],
         [{"a": 3}, {"a": -1}, {"a": 0.5}, {"a": None}, {"a": [1, 2]}, []]),
        (Keys({"gamma": ""}), [{"gamma": 1.0, "more": None}], [{}, {"gamma": "scale"}, None]),
        (Having({"shape": "2", "ndim": "2"}, ("sum",)), [np.zeros((1, 1))], [np.zeros(1), None, "abc"]),
        (OneOf(("a", False)), ["a", False], ["b", 0, None]),
    ],
    ids=str,
)  # fmt: skip
def test_declarations(spec, good, bad):
    for value in good:
        loaded({"part_": spec}, part_=value)
    for value in bad:
        with pytest.raises(ValueError, match=r"^Model: part_ is .*; expected is .*\.$"):
            loaded({"part_": spec}, part_=value)


def test_a_size_is_the_same_everywhere():
    shapes = {
        "weights_": "components",
        "means_": "components features",
        "labels_": Each("values@", "features"),
    }
    shapes["tables_"] = Each("components values@", "features")
    tables = [np.zeros((2, n)) for n in (1, 2, 3)]
    labels = [np.zeros(n) for n in (1, 2, 3)]
    good = {"weights_": np.ones(2), "means_": np.ones((2, 3)), "labels_": labels, "tables_": tables}
    loaded(shapes, **good)
    with pytest.raises(ValueError) as caught:
        loaded(shapes, **{**good, "means_": np.ones((50, 3))})
    assert str(caught.value) == (
        "Model: means_ is an array of shape (50, 3) of float64 from 1.0 to 1.0; "
        "expected is an array of shape (components, features) = (2, 3)."
    )
    with pytest.raises(ValueError, match=r"tables_ is a list of 3; expected is in item 0 .* = \(2, 1\)"):
        loaded(shapes, **{**good, "tables_": tables[::-1]})
    loaded(shapes, tables_=tables)  # what is not there is not looked at


def test_declarations_by_value_and_by_function():
    by_kind = {"kind": None, "part_": by_value("kind", {"a": "features", "b": "classes"})}
    loaded(by_kind, kind="a", part_=np.zeros(3))
    loaded(by_kind, kind="b", part_=np.zeros(2))
    with pytest.raises(ValueError, match="Model: part_ is an array of shape"):
        loaded(by_kind, kind="a", part_=np.zeros(2))
    for kind in ("c", None, []):
        with pytest.raises(ValueError, match=r"Model: kind is .*; expected is one of 'a', 'b'"):
            loaded(by_kind, kind=kind, part_=np.zeros(3))
    with pytest.raises(ValueError, match="Model: a part of the model is missing"):
        loaded({"part_": lambda model: model.not_there}, part_=1.0)
    several = {
        "classes_": classes_of_outputs,
        "y_": Indices("rows outputs", below=("classes@0", "classes@1")),
    }
    classes = [np.arange(2), np.arange(3)]
    loaded(several, classes_=classes, y_=np.array([[1, 2]]))
    with pytest.raises(ValueError, match=r"Model: y_ is .*below classes@0"):
        loaded(several, classes_=classes, y_=np.array([[2, 1]]))


def test_a_class_may_declare_otherwise_than_its_bases():
    class Base(Estimator):
        fitted_shapes = {"a_": "features", "b_": "features"}

    class Derived(Base):
        fitted_shapes = {"b_": None, "c_": "features"}

    assert set(declared(Derived)) == {"n_features_in_", "classes_", "a_", "c_"}


def test_copies_are_not_checked_but_restored_models_are():
    """A callback is shown copies in the middle of a fit, when not all attributes are new."""
    X, y = np.eye(4), [0, 1, 0, 1]
    model = LogisticRegression().fit(X, y)
    check_fitted(model)
    model.n_features_in_ = 5
    assert copy.copy(model).n_features_in_ == 5
    with pytest.raises(ValueError, match="LogisticRegression: coef_ is"):
        pickle.loads(pickle.dumps(model))
    pickle.loads(pickle.dumps(LogisticRegression(C=-1.0)))  # not fitted: the next fit refuses it


@pytest.mark.parametrize(
    ("fit", "name", "hint"),
    [
        (True, "rules_", r"Did you mean 'ruleset_' or 'rule_starts_'\?"),
        (True, "coef_", "It has categories_, classes_, .*, ruleset_."),
        (False, "rules_", "This RIPPERClassifier is not fitted yet; call 'fit' first."),
        (False, "n_features_in_", "This RIPPERClassifier is not fitted yet; call 'fit' first."),
    ],
)
def test_a_missing_attribute_has_pythons_sentence_and_a_hint(fit, name, hint):
    model = RIPPERClassifier(random_state=0)
    if fit:
        model.fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    kind = AttributeError if fit else NotFittedError
    with pytest.raises(
        kind, match=rf"^'RIPPERClassifier' object has no attribute '{name}'\. {hint}$"
    ) as found:
        getattr(model, name)
    assert isinstance(found.value, AttributeError)
    assert isinstance(found.value, NotFittedError) != fit
    assert not hasattr(model, name)
    assert str(pickle.loads(pickle.dumps(found.value))) == str(found.value)  # from other processes


def test_an_attribute_that_a_model_should_have():
    model = GaussianNB().fit([[0.0], [1.0]], [0, 1])
    del model.theta_
    with pytest.raises(NotFittedError, match=r"^'GaussianNB' object .* 'theta_'\. It is not learned with"):
        model.predict([[0.0]])
