"""Votes of classifiers: rules that scikit-learn does not have, learned weights, and agreement where it does."""

import numpy as np
import pytest
import sklearn.ensemble
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from tercet import EarlyStopping
from tercet.ensemble import VotingClassifier, majority_vote, plurality_vote

X, y = load_iris(return_X_y=True)
X = X[:, :2] + np.random.default_rng(0).normal(scale=0.3, size=(150, 2))
NAMES = np.array(["setosa", "versicolor", "virginica"])


def members(**other):
    return [
        ("lda", LinearDiscriminantAnalysis()),
        ("nb", GaussianNB()),
        ("tree", DecisionTreeClassifier(random_state=0)),
        *other.items(),
    ]


class Says(ClassifierMixin, BaseEstimator):
    """Votes for what the first feature says, or for one class always."""

    def __init__(self, index=None):
        self.index = index

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.index) if self.index is not None else X[:, 0].astype(int)


@pytest.mark.parametrize("voting", ["hard", "soft"])
@pytest.mark.parametrize("weights", [None, [1, 2, 0.5]])
def test_scikit_learn_says_the_same(voting, weights):
    ours, theirs = (
        kind(members(), voting=voting, weights=weights).fit(X, NAMES[y])
        for kind in (VotingClassifier, sklearn.ensemble.VotingClassifier)
    )
    assert_array_equal(ours.predict(X), theirs.predict(X))
    assert_allclose(ours.transform(X), theirs.transform(X))
    if voting == "soft":
        assert_allclose(ours.predict_proba(X), theirs.predict_proba(X))
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()


def test_majority_rejects():
    split = members(rest=Says(0))  # two of four are no majority
    model = VotingClassifier(split, majority=True, reject_label="?").fit(X, NAMES[y])
    said = model.predict(X)
    votes = NAMES[model.transform(X)]
    assert_array_equal(said, majority_vote(votes, reject="?"))
    plain = VotingClassifier(split).fit(X, NAMES[y])
    assert_array_equal(plain.predict(X), plurality_vote(votes))
    assert "?" in said
    assert "reject" in model.set_params(reject_label=None).predict(X)


def test_soft_majority_needs_half_of_the_probability():
    model = VotingClassifier(members(), voting="soft", majority=True, reject_label=-1).fit(X, y)
    proba = model.predict_proba(X)
    assert_array_equal(model.predict(X), np.where(proba.max(axis=1) > 0.5, proba.argmax(axis=1), -1))


def test_random_ties():
    A, b = np.array([[0.0], [1.0], [2.0]] * 100), np.array([0, 1, 2] * 100)
    pair = [("zero", Says(0)), ("itself", Says())]
    first = VotingClassifier(pair).fit(A, b).predict(A)
    assert set(first) == {0}
    drawn = VotingClassifier(pair, ties="random", random_state=0).fit(A, b)
    said = drawn.predict(A)
    assert_array_equal(said, drawn.predict(A))
    assert ((said == b) | (said == 0)).all()
    assert 0.3 < np.mean(said[b == 2] == 2) < 0.7


def test_learned_weights():
    good, bad = LinearDiscriminantAnalysis(), Says(0)
    learned = VotingClassifier([("bad", bad), ("good", good)], weights="inverse_error").fit(X, y)
    assert learned.weights_[1] > learned.weights_[0]
    assert_allclose(learned.weights_.sum(), 1)
    # error rates of 5 stratified folds, seen by nobody before
    from sklearn.model_selection import cross_val_predict

    rates = np.array([np.mean(cross_val_predict(one, X, y) != y) for one in (bad, good)])
    assert_allclose(learned.weights_, (1 / rates) / (1 / rates).sum())
    squares = VotingClassifier([("bad", bad), ("good", good)], weights="least_squares", cv=3).fit(X, y)
    assert_allclose(squares.weights_.sum(), 1)
    assert squares.weights_[1] > squares.weights_[0]
    assert squares.score(X, y) > 0.6
    dropped = VotingClassifier(members(none="drop"), weights="inverse_error").fit(X, y)
    assert dropped.weights_.shape == (3,)
    assert not hasattr(dropped.set_params(weights=None).fit(X, y), "weights_")


def test_sample_weight_reaches_the_errors_too():
    w = np.where(y == 0, 5.0, 1.0)
    plain, heavy = (
        VotingClassifier(
            [("tree", DecisionTreeClassifier(max_depth=1)), ("nb", GaussianNB())], weights="inverse_error"
        ).fit(X, y, sample_weight)
        for sample_weight in (None, w)
    )
    assert not np.allclose(plain.weights_, heavy.weights_)


def test_names_and_drop():
    model = VotingClassifier(members())
    assert model.get_params()["nb__var_smoothing"] == 1e-9
    model.set_params(nb__var_smoothing=0.5, tree="drop", lda=RidgeClassifier())
    model.fit(X, y)
    assert model.named_estimators_.nb.var_smoothing == 0.5
    assert model.named_estimators_["tree"] == "drop"
    assert [type(one).__name__ for one in model.estimators_] == ["RidgeClassifier", "GaussianNB"]
    assert "VotingClassifier" in model._repr_html_()


def test_a_failed_fit_leaves_nothing():
    model = VotingClassifier(members()).fit(X, y)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.where(X > 100, X, np.nan), y)
    assert not hasattr(model, "estimators_")


def test_times_are_printed(capsys):
    VotingClassifier(members(none="drop"), verbose=True).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(", total=")[0].partition("(")[2] for line in lines] == [
        "1 of 3) Processing lda",
        "2 of 3) Processing nb",
        "3 of 3) Processing tree",
    ]


def test_early_stopping_belongs_inside():
    with pytest.raises(ValueError, match="set it on the estimator inside"):
        VotingClassifier(members()).set_callbacks(EarlyStopping()).fit(X, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"estimators": [("lr", 3)]}, r"The estimator int \('lr'\) should be a classifier"),
        ({"estimators": [("a", GaussianNB()), ("a", GaussianNB())]}, "Names provided are not unique"),
        ({"estimators": [("voting", GaussianNB())]}, r"conflict with constructor arguments: \['voting'\]"),
        ({"estimators": [("a__b", GaussianNB())]}, "must not contain __"),
        ({"estimators": [("a", "drop")]}, "All estimators are dropped"),
        ({"weights": [1, 2]}, "2 weights, 3 estimators"),
        ({"weights": [0, 0, 0]}, r"do not add up to 0; got \[0, 0, 0\]"),
        ({"weights": "equal"}, "parameter 'weights' must be one of 'inverse_error', 'least_squares'"),
        ({"weights": 2}, "parameter 'weights' must be one of .* an array or None; got 2"),
        ({"voting": "loud"}, "parameter 'voting' must be one of 'hard', 'soft'; got 'loud'"),
    ],
)
def test_bad_parameters_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        VotingClassifier(**{"estimators": members(), **options}).fit(X, y)
