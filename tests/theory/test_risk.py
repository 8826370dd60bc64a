"""Risks and their minimisers."""

import numpy as np
import pytest

from tercet.theory import (
    empirical_risk,
    empirical_risk_minimization,
    expected_risk,
    structural_risk,
    structural_risk_minimization,
    vc_confidence,
)


def squared(y, f):
    return (np.asarray(y) - f) ** 2


def test_expected_risk_of_a_table():
    joint = np.array([[0.3, 0.1], [0.15, 0.45]])
    assert expected_risk(joint, [0, 1]) == pytest.approx(0.25)
    assert expected_risk(joint, lambda x: 1 - x) == pytest.approx(0.75)
    assert expected_risk(joint, [0.25, 0.75], squared) == pytest.approx(
        0.3 * 0.25**2 + 0.1 * 0.75**2 + 0.15 * 0.75**2 + 0.45 * 0.25**2
    )
    # The conditional mean minimises squared loss, the likelier class 0-1 loss.
    means = joint[:, 1] / joint.sum(axis=1)
    assert expected_risk(joint, means, squared) < expected_risk(joint, means + 0.01, squared)
    assert min(expected_risk(joint, f) for f in ([0, 0], [0, 1], [1, 0], [1, 1])) == pytest.approx(0.25)


def test_empirical_risk_tends_to_the_expected_one():
    joint, rng = np.array([[0.3, 0.1], [0.15, 0.45]]), np.random.default_rng(0)
    cell = rng.choice(4, size=200_000, p=joint.ravel())
    x, y = cell // 2, cell % 2
    error = np.sqrt(0.25 * 0.75 / len(x))
    assert abs(empirical_risk(y, x) - 0.25) < 4 * error
    assert empirical_risk([0, 1], [1, 1], sample_weight=[3, 1]) == 0.75


def test_log_loss_gives_maximum_likelihood():
    y = np.array([1, 1, 0, 1, 0])
    thetas = np.linspace(0.05, 0.95, 19)

    def log_loss(y, p):
        return -np.log(np.where(y == 1, p, 1 - p))

    found = empirical_risk_minimization([lambda X, t=t: np.full(len(X), t) for t in thetas], y, y, log_loss)
    assert thetas[found.index] == pytest.approx(0.6)
    # With -log prior / N as complexity: maximum a posteriori, here Beta(3, 3) with mode (3 + 2) / (5 + 4).
    prior = {f: -2 * np.log(t * (1 - t)) / len(y) for f, t in enumerate(thetas)}
    hypotheses = [lambda X, t=t: np.full(len(X), t) for t in thetas]
    place = {id(f): i for i, f in enumerate(hypotheses)}
    found = structural_risk_minimization(hypotheses, y, y, lambda f: prior[place[id(f)]], 1.0, log_loss)
    assert thetas[found.index] == pytest.approx(0.55)


def test_structural_risk_chooses_a_degree():
    rng = np.random.default_rng(1)
    x = np.linspace(-1, 1, 20)
    y = 1 - 2 * x + 3 * x**2 + 0.05 * rng.standard_normal(20)
    fits = [np.polynomial.Polynomial.fit(x, y, degree) for degree in range(8)]
    plain = empirical_risk_minimization(fits, x, y, squared)
    found = structural_risk_minimization(fits, x, y, lambda f: f.degree(), 0.001, squared)
    assert plain.index == 7
    assert found.index == 2
    assert (np.diff(plain.risks) <= 1e-15).all()  # nested sets: the empirical risk falls
    assert found.risk == pytest.approx(structural_risk(y, fits[2](x), 2, 0.001, squared))


def test_nested_sets_with_the_vc_confidence():
    """Thresholds on ever more columns: the confidence outweighs the last errors."""
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=400)
    guesses = [np.where(rng.random(400) < wrong, 1 - y, y) for wrong in (0.3, 0.05, 0.04)]
    hypotheses = [lambda X, g=g: g for g in guesses]
    dimension = {id(f): h for f, h in zip(hypotheses, (1, 3, 60))}
    found = structural_risk_minimization(
        hypotheses, None, y, lambda f: vc_confidence(dimension[id(f)], 400, 0.05), 1.0
    )
    assert found.index == 1


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: expected_risk([[0.5, 0.1]], [0]), "probabilities that sum to 1"),
        (lambda: expected_risk([[0.5, 0.5]], [0, 1]), "must fit joint's shape"),
        (lambda: structural_risk([1], [1], 1.0, -1.0), "lam must be"),
        (lambda: empirical_risk_minimization([], [1], [1]), "at least one hypothesis"),
        (lambda: empirical_risk([1, 2], [1, 2], lambda y, f: 0.0), "one number for each row"),
        (lambda: empirical_risk([1.0], [np.nan], squared), "loss gives NaN"),
    ],
)
def test_refusals(call, says):
    with pytest.raises(ValueError, match=says):
        call()
