"""Cost curves, cost-sensitive errors and choices of thresholds."""

import numpy as np
import pytest

from tercet.metrics import (
    bayes_threshold,
    confusion_counts,
    cost_curve,
    cost_sensitive_error,
    error_rate,
    expected_total_cost,
    max_f_threshold,
    min_cost_threshold,
    minimum_cost_labels,
    probability_cost,
    roc_curve,
)


@pytest.fixture
def scored():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    return y, (rng.normal(size=300) + y).round(1), rng.random(300)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_curve_is_the_least_of_all_lines(scored, weighted):
    y, score, w = scored
    given = {"sample_weight": w} if weighted else {}
    curve = cost_curve(y, score, **given)
    fpr, tpr, thresholds = roc_curve(y, score, drop_intermediate=False, **given)
    at = np.linspace(0, 1, 501)
    lines = fpr[:, None] * (1 - at) + (1 - tpr)[:, None] * at
    np.testing.assert_allclose(curve.at(at), lines.min(axis=0), atol=1e-12)
    assert curve.area == pytest.approx(np.trapezoid(lines.min(axis=0), at), abs=1e-5)
    assert expected_total_cost(y, score, **given) == curve.area
    assert (np.diff(curve.probability_cost) > 0).all()
    assert curve.thresholds.size == curve.cost.size - 1
    for place in (0.2, 0.5, 0.85):
        k = np.flatnonzero(thresholds == curve.threshold_at(place))[0]
        assert fpr[k] * (1 - place) + (1 - tpr[k]) * place == pytest.approx(curve.at(place))


def test_ends_of_the_range():
    assert expected_total_cost([0, 0, 1, 1], [1, 2, 3, 4]) == 0
    for useless in ([1, 1, 1, 1], [4, 3, 2, 1]):
        assert expected_total_cost([0, 0, 1, 1], useless) == pytest.approx(0.25)


def test_normalised_cost_is_the_mean_cost_over_the_worst(scored):
    y, score, _ = scored
    cost = [[0, 2], [5, 0]]
    choice = min_cost_threshold(y, score, cost)
    predicted = (score >= choice.threshold).astype(int)
    assert cost_sensitive_error(y, predicted, cost) == pytest.approx(choice.value)
    p = y.mean()
    worst = p * 5 + (1 - p) * 2
    assert cost_curve(y, score).at(probability_cost(p, cost)) == pytest.approx(choice.value / worst)


def test_cost_sensitive_error(scored):
    y, _, w = scored
    rng = np.random.default_rng(1)
    truth, predicted = rng.integers(0, 3, 300), rng.integers(0, 3, 300)
    assert cost_sensitive_error(truth, predicted, 1 - np.eye(3), sample_weight=w) == pytest.approx(
        error_rate(truth, predicted, sample_weight=w)
    )
    cost = rng.random((3, 3))
    mean = np.mean([cost[i, j] for i, j in zip(truth, predicted)])
    assert cost_sensitive_error(truth, predicted, cost) == pytest.approx(mean)
    names = np.array(["x", "a", "m"])
    assert cost_sensitive_error(names[truth], names[predicted], cost, labels=names) == pytest.approx(mean)
    counts = confusion_counts(y, 1 - y)
    assert cost_sensitive_error(y, 1 - y, [[0, 3], [7, 0]]) == pytest.approx(
        (3 * counts.fp + 7 * counts.fn) / 300
    )


def test_bayes_threshold_is_where_both_decisions_cost_the_same():
    cost = np.array([[-1.0, 3.0], [10.0, 0.5]])
    t = bayes_threshold(cost)
    expected = np.array([1 - t, t]) @ cost
    assert expected[0] == pytest.approx(expected[1])
    p = np.linspace(0, 1, 101)
    proba = np.stack([1 - p, p], axis=1)
    np.testing.assert_array_equal(minimum_cost_labels(proba, cost), (p > t).astype(int))
    np.testing.assert_array_equal(minimum_cost_labels(proba, 1 - np.eye(2)), proba.argmax(axis=1))


def test_thresholds_are_the_best_of_all(scored):
    y, score, w = scored
    cost = np.array([[0.0, 1.0], [4.0, -1.0]])
    everything = np.append(np.unique(score), np.inf)
    for prior in (None, 0.1):
        factor = (
            np.ones(300)
            if prior is None
            else np.where(y == 1, prior / y.mean(), (1 - prior) / (1 - y.mean()))
        )
        means = [np.mean(factor * cost[y, (score >= t).astype(int)]) for t in everything]
        choice = min_cost_threshold(y, score, cost, prior=prior)
        assert choice.value == pytest.approx(min(means))
        assert means[everything.tolist().index(choice.threshold)] == pytest.approx(min(means))
    for beta in (0.5, 1.0, 3.0):
        f = [
            confusion_counts(y, (score >= t).astype(int), sample_weight=w).f_score(beta)
            for t in everything[:-1]
        ]
        assert max_f_threshold(y, score, beta=beta, sample_weight=w).value == pytest.approx(max(f))
    assert min_cost_threshold([0, 1, 0], [0.9, 0.5, 0.1], [[0, 1000], [1, 0]]).threshold == np.inf


def test_bad_costs_are_named():
    with pytest.raises(ValueError, match=r"cost must be a matrix of shape \(2, 2\).* got shape \(3, 3\)"):
        min_cost_threshold([0, 1], [0.1, 0.2], np.eye(3))
    with pytest.raises(ValueError, match="mistakes dearer than being right"):
        bayes_threshold([[0, 1], [0, 0]])
    with pytest.raises(ValueError, match="finite"):
        cost_sensitive_error([0, 1], [1, 0], [[0, np.nan], [1, 0]])
    with pytest.raises(ValueError, match=r"y_pred has 2, which is not among the labels"):
        cost_sensitive_error([0, 1], [1, 2], [[0, 1], [1, 0]], labels=[0, 1])
    with pytest.raises(ValueError, match=r"prior must be a probability from 0 to 1; got 1\.5"):
        probability_cost(1.5)
    with pytest.raises(ValueError, match="labels must name the 2 columns"):
        minimum_cost_labels([[0.5, 0.5]], 1 - np.eye(2), labels=["a"])
    with pytest.raises(ValueError, match="not negative"):
        minimum_cost_labels([[1.5, -0.5]], 1 - np.eye(2))
