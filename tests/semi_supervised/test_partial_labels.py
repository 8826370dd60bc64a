"""Labels of which some are not known."""

import numpy as np
import pytest

from tercet.naive_bayes import GaussianNB
from tercet.semi_supervised import (
    ActiveLearner,
    CoTrainingClassifier,
    LabelPropagation,
    LabelSpreading,
    SelfTrainingClassifier,
    SemiSupervisedGaussianMixture,
    SemiSupervisedNB,
    TransductiveSVC,
    TriTrainingClassifier,
    is_unlabeled,
)

X = np.array([[0.0, 0.1], [0.2, 0.0], [0.1, 0.3], [0.3, 0.2], [2.0, 2.1], [2.2, 2.0], [2.1, 2.3], [2.3, 2.2]])
Y = np.array([0, 0, -1, -1, -1, -1, 1, 1])
MODELS = [
    ActiveLearner(GaussianNB()),
    CoTrainingClassifier(GaussianNB(), random_state=0),
    LabelPropagation(gamma=1),
    LabelSpreading(gamma=1),
    SelfTrainingClassifier(GaussianNB()),
    SemiSupervisedGaussianMixture(covariance_type="spherical"),
    SemiSupervisedNB(),
    TransductiveSVC(kernel="linear"),
    TriTrainingClassifier(GaussianNB(), random_state=0),
]
TRANSDUCTIVE = {"LabelPropagation", "LabelSpreading", "TransductiveSVC"}
every = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)


def test_what_has_no_label():
    assert is_unlabeled(np.array([1.0, -1.0])).tolist() == [False, True]
    assert is_unlabeled(np.array([True, False])).tolist() == [False, False]
    assert is_unlabeled(np.array(["a", None, float("nan"), -1], dtype=object)).tolist() == [False] + 3 * [
        True
    ]
    with pytest.raises(ValueError, match=r"y has dtype string and holds '-1'"):
        is_unlabeled(np.array(["a", "-1"]))
    with pytest.raises(ValueError, match=r"y must hold labels of one kind"):
        is_unlabeled(["a", 1, None])


@every
def test_strings_and_numbers_are_learned_alike(model):
    words = np.array(["no", "yes"])
    named = [words[label] if label >= 0 else None for label in Y]
    numbers = model.fit(X, Y)
    assert numbers.classes_.tolist() == [0, 1]
    predicted, labels = numbers.predict(X), numbers.transduction_
    strings = model.fit(X, named)
    assert strings.classes_.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(strings.predict(X), words[predicted])
    known = labels >= 0
    np.testing.assert_array_equal(strings.transduction_[known], words[labels[known]])
    assert all(label is None for label in strings.transduction_[~known])
    mixed = [word if word is not None else -1 for word in named]
    np.testing.assert_array_equal(model.fit(X, mixed).predict(X), words[predicted])


@every
def test_says_what_it_is(model):
    name = type(model).__name__
    assert model.inference == ("transductive" if name in TRANSDUCTIVE else "inductive")
    assert f"Learning is {model.inference}" in " ".join(type(model).__doc__.split())


@every
def test_the_unlabelled_rows_of_two_clusters(model):
    model.fit(X, Y)
    assert model.transduction_[Y >= 0].tolist() == Y[Y >= 0].tolist()
    truth = np.repeat([0, 1], 4)
    np.testing.assert_array_equal(model.predict(X), truth)


@every
def test_none_or_all_labelled(model):
    with pytest.raises(ValueError, match=r"y has no labelled row: all 8 are -1"):
        model.fit(X, np.full(8, -1))
    truth = np.repeat([0, 1], 4)
    if isinstance(model, ActiveLearner | LabelPropagation | LabelSpreading):
        model.fit(X, truth)
    else:
        with pytest.warns(UserWarning, match="y contains no unlabeled samples"):
            model.fit(X, truth)
    np.testing.assert_array_equal(model.predict(X), truth)
    np.testing.assert_array_equal(model.transduction_, truth)


@every
def test_a_class_without_a_labelled_row(model):
    only = np.where(Y == 1, -1, Y)
    if model.least_classes > 1:
        with pytest.raises(ValueError, match="of at least 2 classes; those of y are of only one class: 0"):
            model.fit(X, only)
    if isinstance(
        model,
        LabelPropagation
        | LabelSpreading
        | SemiSupervisedGaussianMixture
        | SemiSupervisedNB
        | TransductiveSVC,
    ):
        with pytest.raises(
            ValueError, match=r"classes \[1\] have no labelled row with a positive sample_weight"
        ):
            model.fit(X, Y, sample_weight=(Y != 1).astype(float))


@every
def test_identical_points(model):
    rows = np.ones((6, 2))
    model.fit(rows, [0, 1, -1, -1, 0, 1])
    assert np.isin(model.predict(rows), [0, 1]).all()
