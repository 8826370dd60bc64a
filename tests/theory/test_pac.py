"""PAC simulations against probabilities that are known."""

import numpy as np
import pytest

from tercet.linear_model import LogisticRegression
from tercet.theory import (
    agnostic_sample_size,
    disagreement,
    empirical_risk_minimization,
    pac_simulation,
    realizable_confidence,
    version_space,
)
from tercet.tree import DecisionTreeClassifier

THRESHOLDS = [lambda x, t=t: x > t for t in np.linspace(0, 1, 21)]


def draw(rng, n):
    x = rng.random(n)
    return x, x > 0.5


def consistent(x, y):
    return version_space(THRESHOLDS, x, y).hypotheses[0]


def test_disagreement_is_a_metric_on_hypotheses():
    rng = np.random.default_rng(0)
    a, b, c = rng.integers(0, 3, (3, 50))
    w = rng.random(50)
    assert disagreement(a, a) == 0
    assert disagreement(a, b, weights=w) == disagreement(b, a, weights=w)
    assert (
        disagreement(a, c, weights=w) <= disagreement(a, b, weights=w) + disagreement(b, c, weights=w) + 1e-12
    )
    X = rng.normal(size=(50, 1))
    tree = DecisionTreeClassifier(random_state=0).fit(X, a)
    assert disagreement(tree, a, X) == pytest.approx(1 - tree.score(X, a))


def test_version_space():
    x = np.array([0.12, 0.48, 0.53, 0.9])
    left = version_space(THRESHOLDS, x, x > 0.5)
    assert left.indices.tolist() == [10]
    assert left.eliminated[[0, 4, 9, 10, 11, 20]].tolist() == [0, 1, 1, -1, 2, 2]
    wider = version_space(THRESHOLDS, x[[0, 3]], x[[0, 3]] > 0.5)
    labels, certain = wider.predict(x)
    assert certain.tolist() == [True, False, False, True]
    assert labels[certain].tolist() == [False, True]
    empty = version_space(THRESHOLDS, x, x < 0.5)
    assert empty.hypotheses == []
    with pytest.raises(ValueError, match="the version space is empty"):
        empty.predict(x)


def test_the_bound_of_the_realisable_case_holds():
    """The first consistent threshold has risk 0.15 or more when no row falls into (0.35, 0.5]: 0.85^m."""
    found = pac_simulation(
        consistent, draw, [5, 20, 40], 0.125, 0.02, n_trials=400,
        bound=lambda m: realizable_confidence(21, m, 0.125, exponential=False),
    )  # fmt: skip
    assert (found.frequency >= found.bound).all()
    exact = 1 - 0.85 ** np.array([5, 20, 40])
    assert ((found.interval[:, 0] <= exact) & (exact <= found.interval[:, 1])).all()
    assert found.risks.shape == (3, 400)
    assert found.sample_size == 40


def test_agnostic_learning():
    """Labels with a tenth of noise: no threshold is right, the best has risk 0.1."""

    def noisy(rng, n):
        x, y = draw(rng, n)
        return x, y ^ (rng.random(n) < 0.1)

    m = agnostic_sample_size(21, 0.2, 0.1)
    found = pac_simulation(
        lambda x, y: empirical_risk_minimization(THRESHOLDS, x, y).hypothesis,
        noisy, m, 0.2, 0.1, n_trials=60, best_risk=0.1, n_test=4000,
    )  # fmt: skip
    assert found.frequency[0] >= 0.9
    assert found.risks.min() > -0.03


def test_any_estimator_and_any_number_of_threads():
    def columns(rng, n):
        x, y = draw(rng, n)
        return x[:, None], y

    runs = [
        pac_simulation(
            DecisionTreeClassifier(max_depth=1), columns, [4, 64], 0.1, n_trials=20, n_test=500, n_jobs=n
        )
        for n in (1, 2)
    ]
    np.testing.assert_array_equal(runs[0].risks, runs[1].risks)
    assert runs[0].frequency[1] > runs[0].frequency[0]


def test_a_size_that_is_not_enough():
    found = pac_simulation(consistent, draw, [1, 2], 0.01, n_trials=20)
    assert found.sample_size is None
    assert found.bound is None


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: pac_simulation(consistent, draw, [0], 0.1), "n_samples must be whole numbers of at least 1"),
        (lambda: pac_simulation(consistent, draw, 10, 1.0), "epsilon must be between 0 and 1"),
        (lambda: disagreement([0, 1], [0, 1, 2]), "one label for each row"),
        (lambda: disagreement([0, 1], [0, 1], weights=[1.0, -1.0]), "weights must be 2 finite numbers"),
        (lambda: version_space(THRESHOLDS, [0.1, 0.2], [True]), "one label for each row"),
    ],
)
def test_refusals(call, says):
    with pytest.raises(ValueError, match=says):
        call()


def test_a_sample_of_one_class_is_learned_as_that_class():
    def signs(rng, n):
        X = rng.normal(size=(n, 1))
        return X, np.where(X[:, 0] > 0, "up", "down")

    found = pac_simulation(LogisticRegression(), signs, [1, 200], 0.1, n_trials=20, n_test=2000)
    assert np.all(abs(found.risks[0] - 0.5) < 0.06)  # a constant is wrong on half of the rows
    assert found.frequency[1] == 1.0


def test_what_is_missing_is_named():
    with pytest.raises(ValueError, match="X must be given"):
        disagreement(lambda x: x > 1, lambda x: x > 2)
    with pytest.raises(ValueError, match="at least one hypothesis"):
        version_space([], [1.0], [True])
