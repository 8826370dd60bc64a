"""Diversity of pairs: against their formulas, their relations and scikit-learn."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import cohen_kappa_score, matthews_corrcoef

from tercet.ensemble import (
    contingency_table,
    correlation,
    disagreement,
    kappa,
    kappa_error,
    pairwise_diversity,
    q_statistic,
)

FUNCTIONS = {
    "disagreement": disagreement,
    "correlation": correlation,
    "q_statistic": q_statistic,
    "kappa": kappa,
}


def outputs(n=60, members=5, labels=(-1, 1), seed=0):
    rng = np.random.default_rng(seed)
    y = rng.choice(labels, size=n)
    same = rng.random((n, members)) < 0.7
    return np.where(same, y[:, None], rng.choice(labels, size=(n, members))), y


@pytest.mark.parametrize("seed", range(10))
def test_q_is_at_least_as_large_as_the_correlation(seed):
    h, _ = outputs(30, 2, seed=seed)
    rho, q = correlation(h[:, 0], h[:, 1]), q_statistic(h[:, 0], h[:, 1])
    assert abs(q) >= abs(rho)
    assert np.sign(q) == np.sign(rho)


@pytest.mark.parametrize("labels", [(-1, 1), ("no", "yes"), (0, 1, 2, 3)])
def test_scikit_learn_has_the_same(labels):
    h, y = outputs(labels=labels)
    w = np.random.default_rng(1).random(len(y))
    a, b = h[:, 0], h[:, 1]
    assert_allclose(kappa(a, b), cohen_kappa_score(a, b))
    assert_allclose(kappa(a, b, sample_weight=w), cohen_kappa_score(a, b, sample_weight=w))
    assert_allclose(disagreement(a, b), np.mean(a != b))
    right = matthews_corrcoef(a == y, b == y, sample_weight=w)
    assert_allclose(correlation(a, b, y, sample_weight=w), right)
    if len(labels) == 2:
        assert_allclose(correlation(a, b), matthews_corrcoef(a, b))


@pytest.mark.parametrize("measure", FUNCTIONS)
def test_table_has_all_pairs(measure):
    h, _ = outputs()
    table = pairwise_diversity(h, measure=measure)
    assert_allclose(table, table.T)
    for i in range(5):
        for j in range(5):
            assert_allclose(table[i, j], FUNCTIONS[measure](h[:, i], h[:, j]), atol=1e-15)
    assert_allclose(np.diag(table), 0 if measure == "disagreement" else 1, atol=1e-15)


def test_right_and_wrong_of_many_classes():
    h, y = outputs(labels=(0, 1, 2))
    right = np.where(h == y[:, None], 1, -1)
    assert contingency_table(h[:, 0], h[:, 1], y) == contingency_table(right[:, 0], right[:, 1])
    for measure in FUNCTIONS:
        assert_allclose(
            pairwise_diversity(h, y, measure=measure), pairwise_diversity(right, measure=measure), atol=1e-15
        )
    assert_allclose(q_statistic(h[:, 0], h[:, 1], y), q_statistic(right[:, 0], right[:, 1]))


def test_weights_are_repetitions():
    h, y = outputs()
    times = np.random.default_rng(3).integers(0, 3, size=len(h))
    many, known = np.repeat(h, times, axis=0), np.repeat(y, times)
    for measure in FUNCTIONS:
        assert_allclose(
            pairwise_diversity(h, measure=measure, sample_weight=times),
            pairwise_diversity(many, measure=measure),
            atol=1e-15,
        )
    assert_allclose(kappa_error(h, y, sample_weight=times).error, kappa_error(many, known).error)


def test_what_is_not_defined_is_nan():
    same, mixed = np.ones(4), np.array([1, -1, 1, -1])
    assert np.isnan(correlation(same, mixed))
    assert np.isnan(q_statistic(same, mixed))
    assert np.isnan(kappa(same, same))
    assert kappa(mixed, mixed) == 1
    assert kappa(same, mixed) == 0


def test_points_of_the_kappa_error_diagram():
    h, y = outputs(labels=(0, 1, 2))
    found = kappa_error(h, y)
    assert found.pairs.tolist() == [[i, j] for i in range(5) for j in range(i + 1, 5)]
    for (i, j), k, e in zip(found.pairs, found.kappa, found.error):
        assert_allclose(k, kappa(h[:, i], h[:, j]))
        assert_allclose(e, (np.mean(h[:, i] != y) + np.mean(h[:, j] != y)) / 2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: correlation([0, 1, 2], [0, 1, 1]), r"two classes; got \[0, 1, 2\]"),
        (lambda: kappa([0, 1], [0, 1, 1]), r"got the shapes \(2,\) and \(3,\)"),
        (lambda: disagreement([1.0, np.nan], [1.0, 1.0]), "got NaN"),
        (lambda: disagreement([1, 0], [1, 1], sample_weight=[1, -1]), "sample_weight must have"),
        (lambda: pairwise_diversity([[1, 0]], measure="entropy"), "measure must be one of 'disagreement'"),
        (lambda: pairwise_diversity([1, 0]), r"\(n_samples, n_members\)"),
        (lambda: kappa_error([[1], [0]], [1, 0]), "at least 2 members"),
        (lambda: kappa_error([[1, 1], [0, 1]], [1]), "one label for each of 2 rows"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
