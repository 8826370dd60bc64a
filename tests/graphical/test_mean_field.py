"""Mean field against enumeration: a bound that rises and stays below the evidence."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning

from tercet.graphical import MarkovRandomField, evidence_lower_bound, mean_field
from tercet.optimize import em


def table(seed, shape, zeros):
    rng = np.random.default_rng(seed)
    p = rng.gamma(0.5, size=shape) + 1e-6
    p[rng.random(shape) < zeros] = 0.0
    p.flat[0] = 1.0
    return p


tables = st.builds(
    table, st.integers(0, 10_000), st.sampled_from([(2, 2), (3, 2), (2, 3, 2), (4,)]), st.just(0.0)
)


@given(tables)
def test_the_bound_rises_to_at_most_the_evidence(p):
    found = mean_field(p, tol=1e-8)
    assert (np.diff(found.elbos) >= -1e-9).all()
    exact = np.log(p.sum())
    assert found.log_evidence() == pytest.approx(exact)
    assert found.elbo <= exact + 1e-9
    # log p(x) = ELBO + KL, the divergence taken directly
    q, posterior = found.joint(), p / p.sum()
    kl = float((q[q > 0] * np.log(q[q > 0] / posterior[q > 0])).sum())
    assert exact - found.elbo == pytest.approx(kl, abs=1e-8)
    assert found.kl() == pytest.approx(kl, abs=1e-8)
    assert evidence_lower_bound(p, found.q) == pytest.approx(found.elbo)
    assert evidence_lower_bound(p, q) == pytest.approx(found.elbo) if p.ndim > 1 else True


@given(tables)
def test_no_single_distribution_can_be_better(p):
    """At the end each q_j is exp of the expected log p, normalised: the derivative is zero."""
    found = mean_field(p, tol=1e-12, max_iter=20_000)
    q = [found.q[k] for k in range(p.ndim)]
    for j in range(p.ndim):
        logs = np.log(p)
        for k in reversed([k for k in range(p.ndim) if k != j]):
            logs = np.tensordot(logs, q[k], axes=(k, 0))
        np.testing.assert_allclose(q[j], np.exp(logs - logsumexp(logs)), atol=1e-8)


def test_a_product_is_found_exactly():
    p = 0.3 * np.einsum("i,j,k->ijk", [0.2, 0.8], [0.5, 0.3, 0.2], [0.9, 0.1])
    found = mean_field(p)
    np.testing.assert_allclose(found.q[1], [0.5, 0.3, 0.2])
    assert found.elbo == pytest.approx(np.log(0.3))
    assert found.converged
    assert mean_field(np.log(p), log=True).elbo == pytest.approx(np.log(0.3))


def test_factors_and_their_table_are_one_model():
    potentials = {("A", "B"): [[3, 1], [1, 2]], ("C", "B"): [[2, 1], [1, 4]], ("A",): [1.0, 0.5]}
    field = MarkovRandomField(potentials, graph=[("A", "B"), ("B", "C"), ("C", "D")], values={"D": [0, 1, 2]})
    by_field, by_factors, by_table = mean_field(field), mean_field(potentials), mean_field(field.weights())
    assert by_field.elbo == pytest.approx(by_table.elbo)
    assert by_field.elbo == pytest.approx(by_factors.elbo + np.log(3))  # D is free
    assert by_field.log_evidence() == pytest.approx(np.log(field.Z))
    for name, q in by_factors.q.items():
        np.testing.assert_allclose(q, by_field.q[name], atol=1e-9)


def test_what_is_given_stays():
    field = MarkovRandomField.from_energies({("u", "v"): -1.0, ("v", "w"): -0.5}, {"u": 0.2})
    found = mean_field(field, given={"v": 1})
    assert found.q["v"].tolist() == [0, 1]
    # given its only neighbour, each of the others is independent: mean field is exact
    np.testing.assert_allclose(found.q["u"], field.conditional(["u"], {"v": 1}))
    assert found.elbo == pytest.approx(np.log(field.weights()[:, 1, :].sum()))
    assert found.log_evidence() == pytest.approx(found.elbo)
    assert mean_field(field.weights(), given={1: 1}).elbo == pytest.approx(found.elbo)


def test_a_large_field_needs_no_table():
    edges = {(i, i + 1): np.array([[2.0, 1.0], [1.0, 2.0]]) for i in range(200)}
    edges[(0,)] = np.array([5.0, 1.0])
    found = mean_field(edges)
    assert len(found.q) == 201
    assert (np.diff(found.elbos) >= -1e-9).all()
    with pytest.raises(ValueError, match="assignments; a table of at most"):
        found.log_evidence()
    with pytest.raises(ValueError, match="assignments"):
        MarkovRandomField(edges).joint()


def test_symmetric_models_need_another_start():
    p = np.exp(2.0 * np.array([[1.0, -1.0], [-1.0, 1.0]]))
    saddle, found = mean_field(p), mean_field(p, n_init=3, random_state=0)
    np.testing.assert_allclose(saddle.q[0], [0.5, 0.5])
    assert found.elbo > saddle.elbo + 0.1
    same = mean_field(p, start={0: [0.9, 0.1], 1: [0.9, 0.1]})
    assert same.elbo == pytest.approx(found.elbo, abs=1e-6)


def test_zeros():
    found = mean_field([[0.5, 0.1], [0.4, 0.0]])
    assert np.isfinite(found.elbo)
    assert found.joint()[1, 1] == 0
    with pytest.raises(ValueError, match="Every value of 0 meets assignments of probability 0"):
        mean_field(np.eye(2))
    assert mean_field(np.eye(2), start={1: [1, 0]}).elbo == pytest.approx(0.0)
    assert evidence_lower_bound(np.eye(2), [[0.5, 0.5], [0.5, 0.5]]) == -np.inf


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: mean_field([[1.0, -0.5], [0, 1]]), "at least 0; got -0.5"),
        (lambda: mean_field([[1.0, np.nan], [0, 1]]), "got nan"),
        (lambda: mean_field([[1.0, np.inf], [0, 1]]), "got inf"),
        (lambda: mean_field(np.zeros((2, 2))), "0 everywhere"),
        (lambda: mean_field({("a", "b"): [1.0, 2.0]}), r"axis for each variable; its shape is \(2,\)"),
        (
            lambda: mean_field({("a",): [1, 2], ("a", "b"): np.ones((3, 2))}),
            "'a' has 2 values; .* room for 3",
        ),
        (lambda: mean_field(np.ones((2, 2)), given={0: 5}), "0 must be given as a value from 0 to 1; got 5"),
        (
            lambda: mean_field(np.ones((2, 2)), given={7: 0}),
            r"7 is not a variable; the variables are \[0, 1\]",
        ),
        (lambda: mean_field(np.ones(2), given={0: 0}), "at least one variable that is not given"),
        (lambda: mean_field(np.ones((2, 2)), order=[0]), "order must name each unobserved variable once"),
        (lambda: mean_field(np.ones((2, 2)), start="best"), "start must be .* got 'best'"),
        (lambda: mean_field(np.ones((2, 2)), start={0: [0.5, 0.6]}), "sum to 1; it sums to 1.1"),
        (lambda: mean_field(np.ones((2, 2)), start={0: [1.0]}), "must have 2 probabilities"),
        (
            lambda: evidence_lower_bound(np.ones((2, 2)), [[0.5, 0.5]]),
            r"each of the variables \[0, 1\]; got 1",
        ),
        (lambda: mean_field(np.ones((2, 2)), n_init=0), "n_init must be a whole number, at least 1; got 0"),
        (
            lambda: mean_field(
                MarkovRandomField({("a",): [1, 2]}, values={"a": ["no", "yes"]}), given={"a": "so"}
            ),
            r"'a' cannot be 'so'; its values are \['no', 'yes'\]",
        ),
    ],
)
def test_words_of_errors(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_too_few_sweeps_are_said():
    with pytest.warns(ConvergenceWarning, match="did not converge in max_iter=1 sweeps"):
        mean_field([[0.12, 0.04], [0.02, 0.22]], max_iter=1)


class TwoCauses:
    """y in {0, 1, 2} with two hidden causes: P(y, z) = P(z1) P(z2) P(y | z1, z2); q(z | y) is a product."""

    def __init__(self):
        self.q = [{0: [0.4, 0.6], 1: [0.7, 0.3]} for _ in range(3)]

    def joint(self, theta):
        first, second, given = theta
        return np.einsum("i,j,ijy->yij", first, second, given)

    def expect(self, counts, theta):
        bound, expected = 0.0, np.zeros((2, 2, 3))
        for y, p in enumerate(self.joint(theta)):
            found = mean_field(p, start=self.q[y], tol=1e-6)
            self.q[y] = found.q
            bound += counts[y] * found.elbo
            expected[:, :, y] = counts[y] * found.joint()
        return bound, expected

    def maximise(self, statistics, theta):
        (n,) = statistics
        first, second = n.sum(axis=(1, 2)), n.sum(axis=(0, 2))
        return first / first.sum(), second / second.sum(), n / n.sum(axis=2, keepdims=True)

    def log_prior(self, theta):
        return 0.0


def test_variational_em_raises_the_bound():
    """Algorithm 20.3: the ELBO never falls and stays below the log-likelihood."""
    model, counts = TwoCauses(), np.array([10.0, 3.0, 7.0])
    given = np.random.default_rng(0).dirichlet(np.ones(3), (2, 2))
    found = em(model, [counts], (np.array([0.5, 0.5]), np.array([0.3, 0.7]), given), tol=1e-8, max_iter=500)
    assert found.monotone
    assert found.values[-1] > found.values[0] + 0.1
    likelihood = counts @ np.log(model.joint(found.theta).sum(axis=(1, 2)))
    assert found.value <= likelihood + 1e-9
    assert likelihood <= counts @ np.log(counts / counts.sum()) + 1e-9
