"""Out-of-bag rows that members are pruned or stopped by."""

import pickle

import numpy as np
import pandas
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import RandomForestClassifier as TheirForest
from sklearn.neural_network import MLPClassifier

from tercet import EarlyStopping
from tercet.datasets import two_moons
from tercet.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
)
from tercet.linear_model import LogisticRegression, Perceptron
from tercet.neighbors import KNeighborsClassifier
from tercet.tree import DecisionTreeClassifier, DecisionTreeRegressor, reduced_error_pruning


def left_out(model, n):
    return [np.setdiff1d(np.arange(n), rows) for rows in model.estimators_samples_]


@pytest.fixture(scope="module")
def moons():
    return two_moons(150, noise=0.35, random_state=0)


def test_trees_are_pruned_by_their_out_of_bag_rows(moons):
    X, y = moons
    options = {"n_estimators": 6, "random_state": 0}
    plain = BaggingClassifier(**options).fit(X, y)
    pruned = BaggingClassifier(oob_use="prune", **options).fit(X, y)
    for one, other, rows in zip(plain, pruned, left_out(pruned, len(y))):
        expected = reduced_error_pruning(one.tree_, X[rows], y[rows])
        assert other.tree_.node_count == expected.node_count
        np.testing.assert_array_equal(other.tree_.threshold, expected.threshold)
    assert sum(len(one.tree_.value) - len(other.tree_.value) for one, other in zip(plain, pruned)) > 20
    for one, other in zip(plain.estimators_samples_, pruned.estimators_samples_):
        np.testing.assert_array_equal(one, other)  # the draws are the same
    threads = BaggingClassifier(oob_use="prune", n_jobs=2, **options).fit(X, y)
    assert threads.predict_proba(X).tobytes() == pruned.predict_proba(X).tobytes()


@pytest.mark.parametrize("pruning", ["pre", "validation"])
def test_the_pruning_of_the_members_is_theirs(pruning):
    X, y = load_diabetes(return_X_y=True)
    X, y = X[:120], y[:120]
    member = DecisionTreeRegressor(pruning=pruning)
    model = BaggingRegressor(member, 3, oob_use="prune", max_features=5, random_state=0).fit(X, y)
    for one, columns, drawn, rows in zip(
        model, model.estimators_features_, model.estimators_samples_, left_out(model, 120)
    ):
        part = X[:, columns]
        alone = DecisionTreeRegressor(pruning=pruning, random_state=one.random_state)
        alone.fit(part, y, np.bincount(drawn, minlength=120), X_val=part[rows], y_val=y[rows])
        np.testing.assert_array_equal(one.predict(part), alone.predict(part))


def test_boosting_stops_by_its_out_of_bag_rows(moons):
    X, y = moons
    member = HistGradientBoostingClassifier(max_iter=60, min_samples_leaf=5, n_iter_no_change=3)
    model = BaggingClassifier(member, 2, oob_use="early_stopping", random_state=0).fit(X, y)
    for one, drawn, rows in zip(model, model.estimators_samples_, left_out(model, len(y))):
        alone = HistGradientBoostingClassifier(**one.get_params())
        alone.fit(X, y, np.bincount(drawn, minlength=len(y)), X_val=X[rows], y_val=y[rows])
        assert one.do_early_stopping_
        assert one.n_iter_ == alone.n_iter_ < 60
        assert one.best_iteration_ == alone.best_iteration_
        np.testing.assert_allclose(one.predict_proba(X), alone.predict_proba(X))
    X, y = load_diabetes(return_X_y=True)
    member = GradientBoostingRegressor(n_estimators=200, n_iter_no_change=2)
    model = BaggingRegressor(member, 2, oob_use="early_stopping", random_state=0).fit(X[:150], y[:150])
    assert all(one.n_estimators_ < 200 for one in model)


def test_other_iterative_members_stop_by_a_callback(moons):
    X, y = moons
    options = {"max_iter": 40, "tol": None, "random_state": 3}
    model = BaggingClassifier(Perceptron(**options), 3, oob_use="early_stopping", random_state=0).fit(X, y)
    for one, drawn, rows in zip(model, model.estimators_samples_, left_out(model, len(y))):
        alone = Perceptron(**{**options, "random_state": one.random_state})
        alone.set_callbacks(EarlyStopping(validation_data=(X[rows], y[rows])))
        alone.fit(X, y, sample_weight=np.bincount(drawn, minlength=len(y)))
        assert one.best_iter_ == alone.best_iter_
        np.testing.assert_array_equal(one.coef_, alone.coef_)
        assert one.n_iter_ < 40
    assert not any(getattr(one, "_skl_callbacks", ()) for one in model)  # which hold rows
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    threads = BaggingClassifier(Perceptron(**options), 3, oob_use="early_stopping", random_state=0, n_jobs=2)
    np.testing.assert_array_equal(threads.fit(X, y).predict(X), model.predict(X))


def test_frames_labels_and_rows_without_weight():
    X, y = load_iris(return_X_y=True)
    frame, labels = pandas.DataFrame(X, columns=list("abcd")), np.array(["x", "y", "z"])[y]
    weight = np.where(np.arange(150) % 3 == 0, 0.0, 1.0)
    model = BaggingClassifier(n_estimators=2, oob_use="prune", random_state=0).fit(frame, labels, weight)
    assert model.score(frame, labels) > 0.9
    plain = BaggingClassifier(n_estimators=2, random_state=0).fit(frame, labels, weight)
    for one, other, rows in zip(plain, model, left_out(model, 150)):
        rows = rows[weight[rows] > 0]  # a row without weight is not there
        expected = reduced_error_pruning(one.tree_, X[rows], y[rows])
        np.testing.assert_array_equal(other.tree_.threshold, expected.threshold)
    few = BaggingClassifier(n_estimators=8, oob_use="prune", random_state=0).fit([[0.0], [1.0]], ["a", "b"])
    assert all(tree.tree_.node_count in (1, 3) for tree in few)  # some samples leave no row out


def test_out_of_bag_rows_need_not_be_of_all_classes():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), np.repeat([0, 1, 2], [14, 14, 2])
    member = LogisticRegression(max_iter=20)
    model = BaggingClassifier(member, 6, oob_use="early_stopping", random_state=0).fit(X, y)
    assert any(not (y[rows] == 2).any() for rows in left_out(model, 30))
    assert all(one.best_iter_ >= 1 for one in model)


@pytest.mark.parametrize(
    ("member", "use", "message"),
    [
        (
            KNeighborsClassifier(),
            "prune",
            r"\(KNeighborsClassifier\) cannot be pruned.*DecisionTreeClassifier",
        ),
        (DecisionTreeClassifier(pruning="cost"), "prune", r"pruning='cost', which looks at no held-out rows"),
        (TheirForest(), "prune", "cannot be pruned"),
        (DecisionTreeClassifier(), "early_stopping", r"do not learn in rounds. Use oob_use='prune'"),
        (MLPClassifier(), "early_stopping", "neither take X_val and y_val in fit nor follow callbacks"),
        (
            HistGradientBoostingClassifier(early_stopping=False),
            "early_stopping",
            "have early_stopping=False. Use early_stopping=True",
        ),
    ],
)
def test_members_that_cannot_use_them_are_refused(moons, member, use, message):
    with pytest.raises(ValueError, match=message):
        BaggingClassifier(member, oob_use=use).fit(*moons)


def test_what_leaves_no_rows_or_spoils_the_score(moons):
    X, y = moons
    with pytest.raises(ValueError, match="oob_use='prune' needs rows that are not drawn"):
        BaggingClassifier(oob_use="prune", bootstrap=False).fit(X, y)
    part = BaggingClassifier(oob_use="prune", bootstrap=False, max_samples=0.6, random_state=0).fit(X, y)
    assert part.score(X, y) > 0.8
    with pytest.raises(ValueError, match="have n_iter_no_change=None"):
        BaggingRegressor(GradientBoostingRegressor(), oob_use="early_stopping").fit(X, y)
    with pytest.warns(UserWarning, match="oob_score_ is too good"):
        BaggingClassifier(n_estimators=20, oob_use="prune", oob_score=True, random_state=0).fit(X, y)
