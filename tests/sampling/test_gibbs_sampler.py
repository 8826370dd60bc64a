"""Gibbs sampling: the exact kernel, tables, conditionals of every kind."""

import itertools
import warnings

import numba
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from tercet.sampling import GibbsSampler, gibbs_kernel, normal_conditionals

R = 0.5


@numba.njit
def first(x, rng):
    return 0.5 * x[1] + 0.75**0.5 * rng.standard_normal()


@numba.njit
def second(x, rng):
    return 0.5 * x[0] + 0.75**0.5 * rng.standard_normal()


@pytest.mark.parametrize("order", [None, [2, 0, 1]])
def test_the_kernel_leaves_the_table_invariant(order):
    joint = np.random.default_rng(0).dirichlet(np.ones(12)).reshape(2, 3, 2)
    joint[0, 1] = 0.0
    p = joint.ravel() / joint.sum()
    for scan in ("systematic", "random"):
        K = gibbs_kernel(joint, scan=scan, order=order)
        np.testing.assert_allclose(K.sum(axis=1), 1.0, rtol=0, atol=1e-12)
        np.testing.assert_allclose(p @ K, p, rtol=0, atol=1e-12)
        flow = p[:, None] * K
        assert np.allclose(flow, flow.T, rtol=0, atol=1e-12) == (scan == "random")


@pytest.mark.parametrize("scan", ["systematic", "random"])
def test_tables(scan):
    joint = np.array([[0.1, 0.2, 0.0], [0.3, 0.1, 0.3]])
    sampler = GibbsSampler(joint, scan=scan, n_chains=2, random_state=0)
    chains = sampler.sample(10_000)
    assert chains.draws.dtype == np.int64
    for i, j in itertools.product(range(2), range(3)):
        share, error = chains.expectation(lambda x, i=i, j=j: (x == [i, j]).all(axis=1))
        assert abs(share - joint[i, j]) <= (4 * error if joint[i, j] else 0.0)
    np.testing.assert_allclose(np.exp(chains.log_density), joint[tuple(np.moveaxis(chains.draws, 2, 0))])
    again = GibbsSampler(joint, scan=scan, n_chains=2, n_jobs=2, random_state=0).sample(10_000)
    np.testing.assert_array_equal(again.draws, chains.draws)


def test_the_first_component_moves_first():
    """A chain moves as the kernel of its order says."""
    joint = np.array([[0.1, 0.2], [0.3, 0.4]])
    for order in ([0, 1], [1, 0]):
        chains = GibbsSampler(joint, order=order, n_chains=1, random_state=0).sample(20_000)
        cells = chains.draws[0] @ [2, 1]
        pairs = np.zeros((4, 4))
        np.add.at(pairs, (cells[:-1], cells[1:]), 1.0)
        rows = pairs.sum(axis=1, keepdims=True)
        K = gibbs_kernel(joint, order=order)
        assert (np.abs(pairs / rows - K) < 4 * np.sqrt(K * (1 - K) / rows)).all()


def test_all_kinds_of_conditionals_on_a_bivariate_normal():
    settings = {"n_chains": 3, "burn_in": 20, "random_state": 0}
    one = GibbsSampler([first.py_func, second.py_func], **settings).sample(1500, start=[0.0, 0.0])
    two = GibbsSampler([first, second], **settings).sample(1500, start=[0.0, 0.0])
    np.testing.assert_allclose(two.draws, one.draws, rtol=0, atol=1e-12)
    assert one.log_density is None
    assert one.acceptance_rate == 1.0
    wide = GibbsSampler(normal_conditionals([1.0, -1.0], [[1.0, R], [R, 1.0]]), vectorized=True, n_chains=50,
                        burn_in=20, random_state=0).sample(300, start=[0.0, 0.0])  # fmt: skip
    for chains, mean in ((one, [0.0, 0.0]), (wide, [1.0, -1.0])):
        assert (np.abs(chains.mean() - mean) < 4 * chains.mcse()).all()
        lag = (chains.draws - mean)[:, 1:, 0] * (chains.draws - mean)[:, :-1, 0]
        assert abs(lag.mean() - R**2) < 0.06
        assert abs(np.corrcoef(chains.flat().T)[0, 1] - R) < 0.06
    point = GibbsSampler(normal_conditionals([1.0, -1.0], [[1.0, R], [R, 1.0]]), burn_in=5, random_state=0)
    assert point.sample(10, start=[0.0, 0.0]).draws.shape == (4, 10, 2)
    random = GibbsSampler([first, second], scan="random", **settings).sample(1500, start=[0.0, 0.0])
    assert random.autocorrelation_time()[0] > one.autocorrelation_time()[0]


def test_blocks_are_drawn_together():
    """Regression with unknown variance: coefficients as one block, the precision as the other."""
    rng = np.random.default_rng(0)
    A = np.column_stack([np.ones(50), rng.standard_normal(50)])
    y = A @ [1.0, 2.0] + 0.5 * rng.standard_normal(50)
    fitted, inverse = np.linalg.lstsq(A, y)[0], np.linalg.inv(A.T @ A)
    root, n = np.linalg.cholesky(inverse), y.size

    def coefficients(x, rng):
        return fitted + root @ rng.standard_normal(2) / np.sqrt(x[2])

    def precision(x, rng):
        return rng.gamma(n / 2, 2 / ((y - A @ x[:2]) ** 2).sum())

    def coefficients_of_all(x, rng):
        return fitted + rng.standard_normal((len(x), 2)) @ root.T / np.sqrt(x[:, 2:])

    def precision_of_all(x, rng):
        return rng.gamma(n / 2, 2 / ((y - x[:, :2] @ A.T) ** 2).sum(axis=1))

    settings = {"blocks": [[0, 1], [2]], "burn_in": 20, "random_state": 0}
    variance = ((y - A @ fitted) ** 2).sum() / (n - 4)  # posterior mean of 1 / precision
    wide = [coefficients_of_all, lambda x, rng: precision_of_all(x, rng)[:, None]]
    for conditionals, vectorized in (([coefficients, precision], False), (wide, True)):
        sampler = GibbsSampler(conditionals, vectorized=vectorized, **settings)
        chains = sampler.sample(1000, start=[0.0, 0.0, 1.0])
        assert (np.abs(chains.mean()[:2] - fitted) < 4 * chains.mcse()[:2]).all()
        found, error = chains.expectation(lambda x: 1 / x[:, 2])
        assert abs(found - variance) < 4 * error
        np.testing.assert_allclose(chains.covariance()[:2, :2], variance * inverse, atol=4e-4)


@pytest.mark.parametrize(
    ("settings", "start", "message"),
    [
        ({"conditionals": [first]}, [0.0, 0.0], "one conditional per component; got 1 for 2"),
        ({"conditionals": [lambda x, rng: np.nan, second]}, [0.0, 0.0], r"conditionals\[0\] must return a finite"),
        ({"conditionals": [lambda x, rng: "a", second]}, [0.0, 0.0], r"conditionals\[0\] must return a finite"),
        ({"conditionals": [lambda x, rng: 0.0] * 2, "vectorized": True}, [0.0, 0.0], r"shape \(4,\); got 0.0"),
        ({"conditionals": [first], "blocks": [[0, 0]]}, [0.0, 0.0], "each of the components 0 to 1 once; got"),
        ({"conditionals": [first.py_func], "blocks": [[0, 1]]}, [0.0, 0.0], r"shape \(2,\); got"),
        ({"conditionals": [first], "blocks": [[0], [1]]}, [0.0, 0.0], "one conditional per block; got 1 for 2"),
        ({"conditionals": [[-1.0, 2.0]]}, None, "table of joint probabilities: .* not negative"),
        ({"conditionals": "ab"}, None, "must be callables, one per component, or a table"),
        ({"conditionals": [[1.0, 0.0]]}, [0, 1], "whose probability is positive"),
        ({"conditionals": [[1.0, 0.0]]}, [0, 2], "must be a cell of the table of shape"),
        ({"conditionals": [[1.0, 1.0]], "order": [0, 0]}, None, "order must name each of the components 0 to 1"),
        ({"conditionals": [[1.0, 1.0]], "order": "ab"}, None, "order must name each of the components 0 to 1"),
        ({"conditionals": [[1.0, 1.0]], "scan": "cyclic"}, None, "parameter 'scan' must be one of"),
    ],
)  # fmt: skip
def test_bad_input(settings, start, message):
    with pytest.raises(ValueError, match=message):
        GibbsSampler(**{"burn_in": 0, "random_state": 0, **settings}).sample(5, start=start)


def test_bad_kernels():
    with pytest.raises(ValueError, match="scan must be 'systematic' or 'random'; got 'up'"):
        gibbs_kernel([0.5, 0.5], scan="up")
    with pytest.raises(ValueError, match="covariance must be positive definite"):
        normal_conditionals([0.0, 0.0], [[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(ValueError, match=r"covariance must be a symmetric matrix of shape \(2, 2\)"):
        normal_conditionals([0.0, 0.0], [[1.0]])


def test_a_table_whose_cells_no_single_change_joins_is_said():
    apart = np.array([[0.5, 0.0, 0.1], [0.0, 0.4, 0.0]])
    with pytest.warns(
        ConvergenceWarning, match=r"2 groups .* cell \(1, 1\) cannot be reached from cell \(0, 0\)"
    ):
        chains = GibbsSampler(apart, random_state=0).sample(200)
    assert chains.frequencies([2, 3])[1, 1] == 0  # what the warning is about
    xor = np.zeros((2, 2, 2))
    for a, b in np.ndindex(2, 2):
        xor[a, b, a ^ b] = 0.25
    with pytest.warns(ConvergenceWarning, match="4 groups"):
        GibbsSampler(xor, random_state=0).sample(20)


@pytest.mark.parametrize(
    "table", [[0.2, 0.0, 0.8], [[0.3, 0.0], [0.3, 0.4]], [[[1.0]]], [[0.4, 0.6], [0.0, 0.0]]]
)
def test_tables_with_empty_cells_that_are_joined_do_not_warn(table):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        chains = GibbsSampler(table, random_state=0).sample(2000)
    np.testing.assert_allclose(chains.frequencies(np.shape(table)), table, atol=0.04)
