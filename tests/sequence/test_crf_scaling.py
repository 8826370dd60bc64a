"""Iterative scaling for chains: the text's steps, its bound, and the order of its algorithms."""

import itertools
import warnings

import numpy as np
import pytest

from tercet.core.steps import ConvergenceWarning
from tercet.sequence import CRF, ParametricCRF, crf_iterative_scaling, indicator_features
from tercet.sequence.crf.iterative_scaling import SCALINGS, FeatureTotals
from tests.sequence.test_crf_forms import W_MLE, X, Y, learner

F_MLE = 1.5937975766477979
STEPS = {
    "iis-s": ([-0.0446287103, 0.0940007258, 0.0446287103, 0.0810930216], 1.7929004796886516),
    "iis-t": ([-0.0575983041, 0.1189318391, 0.0590714467, 0.1067167366], 1.7787470498092683),
    "iis": ([-0.0812975168, 0.1419953302, 0.0762982070, 0.1360257233], 1.764481223525808),
}


def run(objective, algorithm, max_iter=50, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return crf_iterative_scaling(objective, algorithm=algorithm, max_iter=max_iter, **options)


@pytest.mark.parametrize("algorithm", SCALINGS)
def test_the_first_step(algorithm):
    found = run(learner().objective(X, Y), algorithm, max_iter=1)
    w, f = STEPS[algorithm]
    np.testing.assert_allclose(found.x, w, atol=1e-10)
    assert found.fun == pytest.approx(f, abs=1e-13)


def test_the_likelihood_never_falls_and_s_needs_most_passes():
    objective = learner().objective(X, Y)
    passes = {}
    for algorithm in SCALINGS:
        found = run(objective, algorithm, max_iter=2000, tol=3e-6)
        f = np.array(found.history["fun"])
        assert (np.diff(f) <= 4e-15).all()
        passes[algorithm] = int(np.flatnonzero(f - F_MLE < 1e-9)[0]) + 1
        np.testing.assert_allclose(found.x, W_MLE, rtol=2e-3)
    assert passes == {"iis-s": 1962, "iis-t": 1463, "iis": 1310}


@pytest.mark.parametrize("algorithm", SCALINGS)
def test_a_penalty_leads_where_other_algorithms_go(algorithm):
    model = learner(l2=0.1, algorithm=algorithm, tol=1e-8, max_iter=3000).fit(X, Y)
    w = [0.1322080525, 0.4260498076, 0.5580747879, 0.6110929263]
    np.testing.assert_allclose(model.weights_, w, rtol=2e-6)
    assert model.loss_ == pytest.approx(1.6566968747663677, abs=1e-12)
    assert (np.diff(model.history_["fun"]) <= 4e-15).all()


def counting():
    """Features with several values, at odd places, and sequences whose totals differ."""
    transitions = [lambda a, b, x, i: (a == b) * (i % 3), lambda a, b, x, i: 2 * (a > b)]
    states = [lambda b, x, i: (b == x[i]) * 1, lambda b, x, i: (b == 2) * (1 + (x[0] == 1))]
    model = ParametricCRF(transitions, states, labels=[0, 1, 2])
    rng = np.random.default_rng(0)
    xs = [rng.integers(0, 3, n).tolist() for n in (1, 2, 3, 3, 4)]
    ys = [rng.integers(0, 3, len(x)).tolist() for x in xs]
    return model, xs, ys


def test_expectations_by_total_are_those_of_enumeration():
    model, xs, ys = counting()
    share = np.array([0.1, 0.2, 0.3, 0.15, 0.25])
    objective = model.objective(xs, ys, share)
    w = np.array([0.3, -0.4, 0.5, 0.2])
    found = {algorithm: FeatureTotals(objective, algorithm) for algorithm in SCALINGS}
    got = {algorithm: cases.expect(w) for algorithm, cases in found.items()}
    wanted = {algorithm: np.zeros((cases.totals.size, 4)) for algorithm, cases in found.items()}
    scored = ParametricCRF(model.transitions, model.states, [0, 1, 2], w)
    for p, x in zip(share, xs):
        paths = list(itertools.product(range(3), repeat=len(x)))
        F = np.array([scored.features(x, y) for y in paths])
        P = np.array([scored.probability(x, y) for y in paths])
        T = F.sum(axis=1)
        for algorithm, t in {"iis": T, "iis-t": np.full_like(T, T.max()), "iis-s": None}.items():
            at = np.zeros(len(paths), int) if t is None else np.searchsorted(found[algorithm].totals, t)
            np.add.at(wanted[algorithm], at, p * P[:, None] * F)
    for algorithm in SCALINGS:
        np.testing.assert_allclose(got[algorithm][1], wanted[algorithm], atol=1e-14)
        log_z = [scored.matrix_form(x).log_Z for x in xs]
        np.testing.assert_allclose(got[algorithm][0], log_z, rtol=1e-12)


def test_s_bounds_every_labelling_and_not_only_those_of_the_data():
    # T11.4: the observed totals are smaller.
    model, xs, ys = counting()
    S = FeatureTotals(model.objective(xs, ys), "iis-s").totals[-1]
    observed = max(model.features(x, y).sum() for x, y in zip(xs, ys))
    largest = max(model.features(x, y).sum() for x in xs for y in itertools.product(range(3), repeat=len(x)))
    assert S == largest > observed


def test_a_larger_s_makes_smaller_steps():
    # T11.5, where the text says larger ones.
    objective = learner().objective(X, Y)
    default, wide = run(objective, "iis-s", 1), run(objective, "iis-s", 1, S=10.0)
    np.testing.assert_allclose(wide.x, default.x / 2)
    with pytest.raises(ValueError, match=r"not smaller than the largest total 5; got 4\.0"):
        crf_iterative_scaling(objective, algorithm="iis-s", S=4.0)
    with pytest.raises(ValueError, match="S is for 'iis-s'"):
        crf_iterative_scaling(objective, algorithm="iis-t", S=9.0)


def test_shared_transitions_are_summed_over_a_chain():
    model, xs, ys = learner(), X, Y
    objective = model.objective(xs, ys)

    class Shared:
        """The same chains with one table of transitions for all places."""

        lengths, share, empirical, l2, least = (
            getattr(objective, name) for name in ("lengths", "share", "empirical", "l2", "least")
        )

        def scores(self, w):
            return objective.scores(w)[0], np.diag(w[:2])

        def totals(self, node, edge):
            return np.concatenate([np.diag(edge), objective.totals(node, np.zeros((16, 2, 2)))[2:]])

    for algorithm in SCALINGS:
        np.testing.assert_allclose(
            run(Shared(), algorithm, 5).x, run(objective, algorithm, 5).x, rtol=1e-9, atol=1e-12
        )


@pytest.mark.parametrize("algorithm", SCALINGS)
def test_passes_of_the_large_model_are_the_same(algorithm):
    model = ParametricCRF(*indicator_features([0, 1], [0, 1]), labels=[0, 1], l2=0.1)
    w = run(model.objective(X, Y), algorithm, 5).x
    tokens = [[[f"{v}"] for v in x] for x in X]
    crf = CRF(algorithm=algorithm, c2=0.3, max_iterations=5, all_possible_states=True)  # c2 = l2 n / 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        crf.fit(tokens, Y)
    pairs = [(a, b) for a in (0, 1) for b in (0, 1)]
    np.testing.assert_allclose([crf.transition_features_[pair] for pair in pairs], w[:4], rtol=1e-8)
    np.testing.assert_allclose([crf.state_features_[f"{v}", b] for b, v in pairs], w[4:], rtol=1e-8)


def test_start_and_tolerance():
    objective = learner().objective(X, Y)
    found = run(objective, "iis-t", start=W_MLE, tol=1e-8)
    assert found.success
    assert found.nit == 1
    assert np.abs(found.jac).max() <= 1e-8
    with pytest.warns(ConvergenceWarning, match="Iterative scaling is slow"):
        crf_iterative_scaling(objective, max_iter=2)


def test_what_cannot_be_scaled_is_refused():
    never = ParametricCRF([], [lambda b, x, i: b == 1, lambda b, x, i: b == 0], labels=[0, 1])
    data = [[0, 0]], [[0, 0]]
    with pytest.raises(ValueError, match=r"minus infinity.*feature 0 first"):
        crf_iterative_scaling(never.objective(*data))
    never.l2 = 0.1
    assert run(never.objective(*data), "iis", 2000, tol=1e-7).success
    negative = ParametricCRF([], [lambda b, x, i: 0.5 - b], labels=[0, 1])
    with pytest.raises(ValueError, match=r"not negative; one has the value -0\.5"):
        crf_iterative_scaling(negative.objective(*data))
    half = ParametricCRF([], [lambda b, x, i: 0.5 + b], labels=[0, 1])
    with pytest.raises(ValueError, match=r"whole numbers; one total is 0\.5"):
        crf_iterative_scaling(half.objective([[0], [0]], [[0], [1]]))
    for algorithm in ("iis-s", "iis-t"):
        found = run(half.objective([[0], [0], [0]], [[0], [1], [1]]), algorithm, 500)
        assert found.x == pytest.approx([np.log(2)], rel=1e-4)
    with pytest.raises(ValueError, match="algorithm must be one of 'iis'"):
        crf_iterative_scaling(half.objective([[0]], [[1]]), algorithm="gis")


def test_separable_data_climb_without_end_and_without_nan():
    # T11.7: the likelihood has no maximum; each pass still raises it.
    model = ParametricCRF([], [lambda b, x, i: b == x[i]], labels=[0, 1])
    found = run(model.objective([[0, 1], [1, 1]], [[0, 1], [1, 1]]), "iis", 100, tol=0.0)
    assert np.isfinite(found.x).all()
    assert (np.diff(found.history["fun"]) <= 0).all()
    assert found.fun < 0.05
