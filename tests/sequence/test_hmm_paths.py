"""Hidden Markov models of every family against the list of all paths: chances of nought, holes, single rows,
known states, weights, and numbers at the edge of what a double can hold."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tercet.core.steps import ConvergenceWarning
from tercet.sequence.hmm.categorical_hmm import CategoricalHMM
from tercet.sequence.hmm.direct_enumeration import DirectEnumeration
from tercet.sequence.hmm.gaussian_hmm import GaussianHMM
from tercet.sequence.hmm.poisson_hmm import PoissonHMM

FAMILIES = ("symbols", "diag", "full", "tied", "spherical", "counts")


def rows_of_chances(rng, shape, zeros, sharp):
    """Rows that sum to one, with noughts, and the rest spread over hundreds of powers of ten when sharp."""
    table = rng.random(shape) ** sharp * (rng.random(shape) >= zeros)
    table[..., rng.integers(shape[-1])] += table.sum(axis=-1) == 0
    return table / table.sum(axis=-1, keepdims=True)


def build(seed, family, n, zeros=0.0, sharp=1, **options):
    rng = np.random.default_rng(seed)
    if family == "symbols":
        model = CategoricalHMM(n, n_features=3, **options)
        model.emissionprob_ = rows_of_chances(rng, (n, 3), zeros, sharp)
    elif family == "counts":
        model = PoissonHMM(n, **options)
        model.lambdas_ = rng.uniform(0.2, 6.0, (n, 2))
    else:
        model = GaussianHMM(n, family, min_covar=0.0, covars_prior=0.0, **options)
        model.means_ = rng.normal(size=(n, 2))
        root = rng.normal(size=(n, 2, 2))
        full = root @ root.transpose(0, 2, 1) + 0.3 * np.eye(2)
        forms = {
            "full": full,
            "tied": full[0],
            "diag": np.diagonal(full, axis1=1, axis2=2),
            "spherical": full[:, 0, 0],
        }
        model.covars_ = forms[family]
    model.startprob_ = rows_of_chances(rng, (n,), zeros, sharp)
    model.transmat_ = rows_of_chances(rng, (n, n), zeros, sharp)
    return model


def density(model, family, row):
    """The log density of one row in each state, by another library; NaN is left out."""
    row = np.asarray(row, dtype=float)
    n, here = len(model.startprob_), np.flatnonzero(~np.isnan(row))
    if not here.size:
        return np.zeros(n)
    if family == "symbols":
        with np.errstate(divide="ignore"):
            return np.log(np.asarray(model.emissionprob_)[:, int(row[0])])
    if family == "counts":
        return stats.poisson.logpmf(row[here], np.asarray(model.lambdas_)[:, here]).sum(axis=1)
    found = []
    for i, mean in enumerate(np.asarray(model.means_)):
        cov = np.asarray(model.covars_)[i]  # a matrix for each state, whatever the form
        found.append(stats.multivariate_normal.logpdf(row[here], mean[here], cov[np.ix_(here, here)]))
    return np.array(found)


def every_path(model, family, rows, states=None):
    like = np.array([density(model, family, row) for row in rows])
    if states is not None:
        other = (states[:, None] >= 0) & (states[:, None] != np.arange(like.shape[1]))
        like[other] = -np.inf
    with np.errstate(divide="ignore"):
        return DirectEnumeration(np.log(model.startprob_), np.log(model.transmat_), like)


def draw(rng, family, lengths, holes):
    sequences = []
    for length in lengths:
        if family == "symbols":
            rows = rng.integers(3, size=(length, 1)).astype(float)
        elif family == "counts":
            rows = rng.poisson(3.0, (length, 2)).astype(float)
        else:
            rows = rng.normal(size=(length, 2))
        rows[rng.random(rows.shape) < holes] = np.nan
        sequences.append(rows)
    return sequences


settings_of_a_model = st.tuples(
    st.integers(0, 10**6), st.integers(1, 4), st.sampled_from([0.0, 0.4]), st.sampled_from([1, 30, 200])
)


@pytest.mark.parametrize("implementation", ["scaling", "log"])
@pytest.mark.parametrize("family", FAMILIES)
@given(settings_of_a_model, st.sampled_from([0.0, 0.4]))
def test_answers(family, implementation, chosen, holes):
    model = build(chosen[0], family, *chosen[1:], implementation=implementation)
    rng = np.random.default_rng(chosen[0])
    sequences = draw(rng, family, rng.integers(1, 6, 3), holes)
    every = [every_path(model, family, rows) for rows in sequences]
    total = sum(paths.log_total for paths in every)
    if total == -np.inf:
        assert model.score(sequences) == -np.inf
        for ask in (model.predict, model.predict_proba):
            with pytest.raises(ValueError, match=r"sequence \d has probability 0"):
                ask(sequences)
        return
    assert model.score(sequences) == pytest.approx(total, rel=1e-9, abs=1e-9)
    posterior, (score, path) = model.predict_proba(sequences), model.decode(sequences)
    assert score == pytest.approx(sum(paths.log_joint.max() for paths in every), rel=1e-9, abs=1e-9)
    transitions = 0.0
    for paths, gamma, states, found in zip(every, posterior, path, model.k_best(sequences, 3)):
        np.testing.assert_allclose(gamma, paths.posteriors(), atol=1e-9)
        assert paths.log_joint[paths.index(states)] == pytest.approx(
            paths.log_joint.max(), rel=1e-9, abs=1e-9
        )
        best = np.sort(paths.log_joint[paths.log_joint > -np.inf])[::-1]
        np.testing.assert_allclose(found[0], best[:3], rtol=1e-9, atol=1e-9)
        transitions = transitions + paths.pair_posteriors().sum(axis=0)
    np.testing.assert_allclose(model.expected_counts(sequences)["transitions"], transitions, atol=1e-9)


@pytest.mark.parametrize("implementation", ["scaling", "log"])
@pytest.mark.parametrize("family", FAMILIES)
@given(settings_of_a_model, st.sampled_from([0.0, 0.5]), st.booleans())
def test_one_step_of_learning(family, implementation, chosen, labelled, weighted):
    model = build(
        chosen[0],
        family,
        *chosen[1:],
        implementation=implementation,
        n_iter=1,
        init_params="",
        random_state=0,
    )
    before = build(chosen[0], family, *chosen[1:])
    rng = np.random.default_rng(chosen[0])
    sequences, states = [], []
    for length in rng.integers(2, 6, 4):
        rows, path = model.sample(int(length), random_state=int(rng.integers(10**6)))
        sequences.append(np.asarray(rows, dtype=float))
        states.append(np.where(rng.random(length) < labelled, path, -1))
    states[0][0] = -1  # something is left to learn by EM
    weight = rng.integers(1, 3, 4).astype(float) if weighted else np.ones(4)
    known = any((some >= 0).any() for some in states)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(sequences, states if known else None, sample_weight=weight if weighted else None)
    n = len(before.startprob_)
    start, trans, visits, sums, value = np.zeros(n), np.zeros((n, n)), np.zeros(n), 0.0, 0.0
    for rows, some, w in zip(sequences, states, weight):
        paths = every_path(before, family, rows, some)
        gamma = w * paths.posteriors()
        start, trans = start + gamma[0], trans + w * paths.pair_posteriors().sum(axis=0)
        visits, value = visits + gamma.sum(axis=0), value + w * paths.log_total
        here = np.eye(3)[rows[:, 0].astype(int)] if family == "symbols" else rows
        sums = sums + gamma.T @ here
    assert model.history_["log_likelihood"][0] == pytest.approx(value, rel=1e-8, abs=1e-8)
    attribute = {"symbols": "emissionprob_", "counts": "lambdas_"}.get(family, "means_")
    went, seen = trans.sum(axis=1) > 1e-9, visits > 1e-9
    np.testing.assert_allclose(model.startprob_, start / start.sum(), atol=1e-8)
    trans = trans[went] / trans[went].sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.transmat_[went], trans, atol=1e-7)
    np.testing.assert_allclose(model.transmat_[~went].sum(axis=1), 1.0)
    np.testing.assert_allclose(getattr(model, attribute)[seen], sums[seen] / visits[seen, None], atol=1e-7)


@given(settings_of_a_model, st.integers(20, 120))
def test_scaled_arithmetic_loses_nothing_on_long_sequences(chosen, length):
    scaled, by_logs = (
        build(chosen[0], "symbols", *chosen[1:], implementation=kind) for kind in ("scaling", "log")
    )
    rows = np.random.default_rng(chosen[0]).integers(3, size=(length, 1))
    halves = [length // 2, length - length // 2]
    value = by_logs.score(rows, lengths=halves)
    assert scaled.score(rows, lengths=halves) == pytest.approx(value, rel=1e-9)
    if value > -np.inf:
        np.testing.assert_allclose(
            scaled.predict_proba(rows, halves), by_logs.predict_proba(rows, halves), atol=1e-8
        )
        one, two = (model.expected_counts(rows, halves)["transitions"] for model in (scaled, by_logs))
        np.testing.assert_allclose(one, two, atol=1e-7)
        assert one.sum() == pytest.approx(length - 2)


def test_digits_lost_by_underflow_and_magnified_by_scaling_are_noticed():
    model = build(0, "symbols", 3)
    model.startprob_ = [1e-83, 1.0, 0.0]
    model.transmat_ = [[1.0, 3e-28, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]
    model.emissionprob_ = [[1.0, 0.0, 4.77e-239], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    rows = np.array([[np.nan], [2], [np.nan], [2]])  # state 0 comes down to 5e-322, and is all that is left
    assert model.score(rows) == pytest.approx(every_path(model, "symbols", rows).log_total, rel=1e-12)
    np.testing.assert_allclose(
        model.predict_proba(rows), every_path(model, "symbols", rows).posteriors(), atol=1e-12
    )
