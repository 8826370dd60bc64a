"""AdaBoost: the text's examples, Theorems 8.1 and 8.2, and agreement with scikit-learn."""

import numpy as np
import pytest
from sklearn import ensemble as peer
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.neighbors import KNeighborsClassifier as Unweighted

from tercet.ensemble import AdaBoostClassifier, adaboost_round, training_error_bounds
from tercet.linear_model import LogisticRegression, Perceptron
from tercet.neighbors import KNeighborsClassifier
from tercet.tree import DecisionStump, DecisionTreeClassifier

X81 = np.arange(10.0)[:, None]
Y81 = np.array([1, 1, 1, -1, -1, -1, 1, 1, 1, -1])


def text_model(X, y, rounds):
    return AdaBoostClassifier(DecisionStump(), n_estimators=rounds, algorithm="m1").fit(X, y)


def test_example_8_1():
    model = text_model(X81, Y81, 3)
    assert [stump.threshold_ for stump in model] == [2.5, 8.5, 5.5]
    assert [stump.left_ for stump in model] == [1, 1, -1]
    np.testing.assert_allclose(model.estimator_errors_, [3 / 10, 3 / 14, 2 / 11], rtol=1e-12)
    np.testing.assert_allclose(
        model.estimator_weights_, [0.4236489302, 0.6496414921, 0.7520386984], rtol=1e-9
    )
    np.testing.assert_allclose(model.history_["Z"], [0.9165151390, 0.8206518066, 0.7713892158], rtol=1e-9)
    f = np.repeat([0.3212517232, -0.5260461372, 0.9780312596, -0.3212517232], [3, 3, 3, 1])
    np.testing.assert_allclose(model.decision_function(X81), f, rtol=1e-8)  # the alphas above have ten digits
    assert [np.sum(labels != Y81) for labels in model.staged_predict(X81)] == [3, 3, 0]


def test_the_weights_of_example_8_1():
    D = np.full(10, 0.1)
    for stump, expected in zip(
        text_model(X81, Y81, 3),
        [
            np.repeat([1 / 14, 1 / 6, 1 / 14], [6, 3, 1]),
            np.repeat([1 / 22, 1 / 6, 7 / 66, 1 / 22], [3, 3, 3, 1]),
            np.repeat([1 / 8, 11 / 108, 7 / 108, 1 / 8], [3, 3, 3, 1]),
        ],
    ):
        wrong = stump.predict(X81) != Y81
        D = adaboost_round(D, wrong).D
        np.testing.assert_allclose(D, expected, rtol=1e-12)
        assert D[wrong].sum() == pytest.approx(0.5)  # the member is of no use under the new weights


def test_the_history_has_the_whole_trace_of_example_8_1():
    model = AdaBoostClassifier(DecisionStump(), n_estimators=3, algorithm="m1", record=True).fit(X81, Y81)
    trace = model.history_
    assert list(trace) == ["round", "error", "alpha", "Z", "D"]
    expected = [
        np.full(10, 0.1),
        np.repeat([1 / 14, 1 / 6, 1 / 14], [6, 3, 1]),
        np.repeat([1 / 22, 1 / 6, 7 / 66, 1 / 22], [3, 3, 3, 1]),
    ]
    np.testing.assert_allclose(trace["D"], expected, rtol=1e-12)
    for m, (member, D) in enumerate(zip(model, trace["D"])):
        wrong, again = member.predict(X81) != Y81, DecisionStump().fit(X81, Y81, D)
        assert D[wrong].sum() == pytest.approx(trace["error"][m], rel=1e-12)
        assert (again.feature_, again.threshold_, again.left_) == (0, member.threshold_, member.left_)
        if m < 2:
            np.testing.assert_allclose(adaboost_round(D, wrong).D, trace["D"][m + 1], rtol=1e-12)
    assert "D" not in text_model(X81, Y81, 3).history_  # rows times rounds: only where it is asked for


@pytest.mark.parametrize("sampling", ["weight", "resample"])
@pytest.mark.parametrize("algorithm", ["samme", "samme.r", "m1"])
def test_recorded_weights_are_those_of_the_rounds(algorithm, sampling):
    X, y = load_iris(return_X_y=True)
    start = np.random.default_rng(0).integers(1, 4, len(y))
    options = {"n_estimators": 4, "algorithm": algorithm, "sampling": sampling, "random_state": 0}
    model = AdaBoostClassifier(record=True, **options).fit(X, y, start)
    D = np.array(model.history_["D"])
    np.testing.assert_allclose(D[0], start / start.sum())
    np.testing.assert_allclose(D.sum(axis=1), 1.0)
    for m, member in enumerate(model):
        wrong = member.predict(X) != y
        assert D[m][wrong].sum() == pytest.approx(model.estimator_errors_[m])
        if m + 1 < len(D) and algorithm != "samme.r":  # alpha moves wrong rows against right ones
            ratio = D[m + 1] / D[m] * model.history_["Z"][m]
            np.testing.assert_allclose(np.log(ratio), np.where(wrong, 1, -1) * model.history_["alpha"][m])
    plain = AdaBoostClassifier(**options).fit(X, y, start)
    assert plain.decision_function(X).tobytes() == model.decision_function(X).tobytes()


@pytest.mark.parametrize(
    ("X", "y", "thresholds", "lefts", "alphas", "products"),
    [
        (
            np.arange(6.0),
            [1, 1, -1, -1, 1, -1],
            [1.5, 4.5, 3.5, 1.5],
            [1, 1, -1, 1],
            [0.8047189562, 0.6931471806, 0.7331685344, 0.7175422626],
            [0.7453559925, 0.5962847940, 0.4654746681, 0.3668996929],
        ),
        (
            np.arange(1.0, 10.0),
            [1, 1, 1, 1, 1, -1, 1, 1, -1],
            [8.5, 5.5, 6.5],
            [1, 1, -1],
            [1.0397207708, 0.9729550745, 0.6496414921],
            [0.6285393611, 0.4157396, 0.3411775438],
        ),
    ],
)
def test_derived_examples(X, y, thresholds, lefts, alphas, products):
    model = text_model(X[:, None], y, len(alphas))
    assert [stump.threshold_ for stump in model] == thresholds
    assert [stump.left_ for stump in model] == lefts
    np.testing.assert_allclose(model.estimator_weights_, alphas, rtol=1e-8)
    np.testing.assert_allclose(np.cumprod(model.history_["Z"]), products, rtol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_theorems_8_1_and_8_2(seed):
    random = np.random.default_rng(seed)
    X = random.normal(size=(60, 3))
    y = np.where(X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.5 * random.normal(size=60) > 0, 1, -1)
    model = text_model(X, y, 15)
    f, product = model.decision_function(X), np.prod(model.history_["Z"])
    bounds = training_error_bounds(model.estimator_errors_)
    assert np.mean(np.exp(-y * f)) == pytest.approx(product, rel=1e-12)
    assert bounds.product == pytest.approx(product, rel=1e-12)
    assert 1 - model.score(X, y) <= bounds.product <= bounds.exponential <= bounds.uniform


@pytest.mark.parametrize("load", [load_iris, load_breast_cancer])
def test_agrees_with_scikit_learn(load):
    X, y = load(return_X_y=True)
    ours = AdaBoostClassifier(n_estimators=20).fit(X, y)
    theirs = peer.AdaBoostClassifier(n_estimators=20, random_state=0).fit(X, y)
    np.testing.assert_allclose(ours.estimator_weights_, theirs.estimator_weights_, rtol=1e-9)
    np.testing.assert_allclose(ours.estimator_errors_, theirs.estimator_errors_, rtol=1e-9)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-9)
    if load is load_breast_cancer:  # in the other, two features are equally good, and scikit-learn draws
        np.testing.assert_allclose(
            ours.feature_importances_, theirs.feature_importances_, rtol=1e-7, atol=1e-12
        )
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


def test_presorted_stumps_are_the_trees_of_the_members():
    X, y = load_iris(return_X_y=True)
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    fast = AdaBoostClassifier(n_estimators=8).fit(X, y, weight)
    # a parameter that changes nothing but the way: the members are fitted one by one
    slow = AdaBoostClassifier(
        DecisionTreeClassifier(max_depth=1, min_weight_fraction_leaf=1e-9), n_estimators=8
    )
    slow.fit(X, y, weight)
    for one, other in zip(fast, slow):
        np.testing.assert_array_equal(one.tree_.feature, other.tree_.feature)
        np.testing.assert_allclose(one.tree_.threshold, other.tree_.threshold)
    np.testing.assert_allclose(fast.decision_function(X), slow.decision_function(X), rtol=1e-10)


def test_weights_are_repetitions():
    X, y = load_iris(return_X_y=True)
    X, y = X[::3], y[::3]
    times = np.arange(len(y)) % 3
    weighted = AdaBoostClassifier(n_estimators=6).fit(X, y, times)
    repeated = AdaBoostClassifier(n_estimators=6).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), rtol=1e-9)


def test_real_adaboost_adds_half_the_log_odds():
    X, y = X81, Y81
    model = AdaBoostClassifier(algorithm="samme.r", n_estimators=1).fit(X, y)
    p = np.clip(model.estimators_[0].predict_proba(X), np.finfo(float).eps, None)
    np.testing.assert_allclose(model.decision_function(X), np.log(p[:, 1] / p[:, 0]))
    more = AdaBoostClassifier(algorithm="samme.r", n_estimators=10).fit(X, y)
    assert more.score(X, y) > model.score(X, y)


def test_resampling_restarts():
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[:150], y[:150]
    settings = {"sampling": "resample", "random_state": 0, "n_estimators": 12}
    model = AdaBoostClassifier(KNeighborsClassifier(1), **settings, max_restarts=3)
    assert model.fit(X, y).score(X, y) > 0.9
    again = AdaBoostClassifier(KNeighborsClassifier(1), **settings, max_restarts=3).fit(X, y)
    np.testing.assert_array_equal(model.estimator_weights_, again.estimator_weights_)


def test_a_member_without_errors_ends_learning():
    model = text_model([[0.0], [1.0]], ["a", "b"], 10)
    assert len(model) == 1
    assert model.score([[0.0], [1.0]], ["a", "b"]) == 1.0
    assert np.isfinite(model.decision_function([[0.0]])).all()


def test_a_member_at_chance_is_refused():
    X, y = [[0.0], [0.0], [0.0], [0.0]], [0, 1, 0, 1]
    with pytest.raises(ValueError, match="worse than random"):
        AdaBoostClassifier().fit(X, y)


def test_one_class():
    model = AdaBoostClassifier().fit([[0.0], [1.0]], ["a", "a"])
    assert model.predict([[5.0]]).tolist() == ["a"]


def test_any_base_learner():
    X, y = load_iris(return_X_y=True)
    for base in (LogisticRegression(C=100.0), Perceptron()):
        assert AdaBoostClassifier(base, n_estimators=5, random_state=0).fit(X, y).score(X, y) > 0.8


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"estimator": Unweighted()}, "take no sample_weight"),
        ({"estimator": Perceptron(), "algorithm": "samme.r"}, "predict_proba"),
        ({"estimator": 3}, "'estimator' must be an estimator"),
        ({"n_estimators": 0}, "'n_estimators'"),
        ({"learning_rate": -1.0}, "'learning_rate'"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        AdaBoostClassifier(**settings).fit(X81, Y81)


def test_missing_values_and_categories_go_to_the_trees():
    import pandas as pd

    frame = pd.DataFrame({"a": [1.0, np.nan, 3.0, 4.0, 5.0, np.nan], "b": list("xyxyzz")})
    model = AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=5).fit(
        frame, [0, 1, 0, 1, 1, 0]
    )
    assert model.predict(frame).shape == (6,)
    assert model.score(frame, [0, 1, 0, 1, 1, 0]) >= 5 / 6


def test_same_bits_for_any_number_of_threads():
    X, y = load_breast_cancer(return_X_y=True)
    one, two = (AdaBoostClassifier(n_estimators=10, n_jobs=jobs).fit(X, y) for jobs in (1, 2))
    assert one.decision_function(X).tobytes() == two.decision_function(X).tobytes()
