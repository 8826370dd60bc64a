"""Dirichlet priors from counts: the likelihood, and both algorithms against a search."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import gammaln

from tercet.topic import dirichlet_multinomial_log_likelihood, minka_fixed_point, newton_dirichlet_prior
from tercet.topic._gibbs.count_table import CountTable
from tercet.topic.dirichlet_priors import fixed_point_step, newton_step


def rows(alpha=(0.4, 1.5, 3.0), n=60, seed=0):
    rng = np.random.default_rng(seed)
    return np.array([rng.multinomial(rng.integers(1, 30), p) for p in rng.dirichlet(alpha, size=n)])


def direct(counts, alpha):
    total = gammaln(alpha.sum()) - gammaln(alpha.sum() + counts.sum(axis=1))
    return float((total + (gammaln(counts + alpha) - gammaln(alpha)).sum(axis=1)).sum())


def searched(counts, symmetric=False):
    """The best prior by a general optimiser on the logarithms."""
    k = 1 if symmetric else counts.shape[1]
    found = minimize(
        lambda x: -direct(counts, np.exp(np.broadcast_to(x, counts.shape[1]))),
        np.zeros(k),
        method="Nelder-Mead",
        options={"xatol": 1e-9, "fatol": 1e-11, "maxiter": 5000},
    )
    return np.exp(np.broadcast_to(found.x, counts.shape[1]))


def test_likelihood():
    counts, alpha = rows(), np.array([0.3, 0.9, 2.0])
    np.testing.assert_allclose(dirichlet_multinomial_log_likelihood(counts, alpha), direct(counts, alpha))
    # of one row with one count: its probability
    np.testing.assert_allclose(dirichlet_multinomial_log_likelihood([[0, 1]], [1.0, 3.0]), np.log(0.75))


def test_best_prior():
    counts = rows()
    best = searched(counts)
    np.testing.assert_allclose(minka_fixed_point(counts), best, rtol=1e-5)
    np.testing.assert_allclose(newton_dirichlet_prior(counts), best, rtol=1e-5)
    np.testing.assert_allclose(minka_fixed_point(counts, symmetric=True), searched(counts, True), rtol=1e-5)


def test_every_step_raises_the_likelihood():
    table = CountTable.of_rows(rows(seed=1))
    for step in (fixed_point_step, newton_step):
        alpha = np.full(3, 5.0)
        for _ in range(6):
            raised = step(table, alpha)
            assert table.log_likelihood(raised) >= table.log_likelihood(alpha) - 1e-9
            alpha = raised


def test_newton_needs_few_steps():
    counts = rows()
    np.testing.assert_allclose(
        newton_dirichlet_prior(counts, max_iter=12), minka_fixed_point(counts), rtol=1e-5
    )


def test_where_no_best_prior_exists():
    for fit in (minka_fixed_point, newton_dirichlet_prior):
        alike = fit([[5, 5]] * 8)  # as even as no draw is: the larger the better
        assert np.isfinite(alike).all()
        assert alike.min() > 100
        empty = fit([[3, 0], [2, 0]])  # a column without counts
        assert 0 < empty[1] < 1e-4 < empty[0] <= 1e6
        np.testing.assert_array_equal(fit([[0, 0]], [0.3, 0.4]), [0.3, 0.4])  # nothing known


def test_large_counts_take_the_sorted_way():
    counts = rows() * 10**7
    table = CountTable.of_rows(counts)
    np.testing.assert_allclose(table.log_likelihood(np.ones(3)), direct(counts, np.ones(3)), rtol=1e-12)


@pytest.mark.parametrize(
    ("counts", "alpha", "message"),
    [
        ([[1.5, 0]], 1.0, r"counts must be whole numbers of 0 or more; it has 1\.5"),
        ([[-1, 0]], 1.0, "it has -1"),
        ([1, 2], 1.0, r"counts must have the shape \(n_rows, n_columns\)"),
        ([[1, 2]], [1.0, 2.0, 3.0], r"alpha must be a number or have the shape \(2,\)"),
        ([[1, 2]], -1.0, "alpha must be positive and finite; got -1.0"),
    ],
)
def test_bad_input(counts, alpha, message):
    with pytest.raises(ValueError, match=message):
        minka_fixed_point(counts, alpha)
