"""E = Ē - Ā, for each row and for a data set."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tercet.ensemble import error_ambiguity


@pytest.mark.parametrize("seed", range(5))
def test_decomposition(seed):
    rng = np.random.default_rng(seed)
    h, y, w = rng.normal(size=(40, 6)), rng.normal(size=40), rng.random(6)
    for weights in (None, w):
        rows = error_ambiguity(h, y, weights, per_sample=True)
        assert_allclose(rows.error, rows.mean_error - rows.ambiguity, atol=1e-13)
        assert_allclose(rows.error, (np.average(h, axis=1, weights=weights) - y) ** 2, atol=1e-13)
        whole = error_ambiguity(h, y, weights)
        assert_allclose(whole, [np.mean(term) for term in rows])
        assert whole.ambiguity >= 0
        assert whole.error <= whole.mean_error


def test_exact_in_binary_fractions():
    h, w, f = [0.5, 1.25, -2.0, 3.75], [0.25, 0.5, 0.125, 0.125], 1.5
    found = error_ambiguity(h, f, w)
    mean = sum(Fraction(a) * Fraction(b) for a, b in zip(w, h))
    assert Fraction(found.error) == (Fraction(f) - mean) ** 2
    assert Fraction(found.error) == Fraction(found.mean_error) - Fraction(found.ambiguity)


def test_members_that_are_equal_have_no_ambiguity():
    assert error_ambiguity([[2.0, 2.0], [1.0, 1.0]], [1.0, 1.0]) == (0.5, 0.5, 0.0)


def test_sample_weight_is_repetition():
    rng = np.random.default_rng(0)
    h, y, times = rng.normal(size=(20, 3)), rng.normal(size=20), rng.integers(0, 3, size=20)
    assert_allclose(
        error_ambiguity(h, y, sample_weight=times),
        error_ambiguity(np.repeat(h, times, axis=0), np.repeat(y, times)),
    )


def test_bad_input_is_named():
    with pytest.raises(ValueError, match=r"one target for each of 2 rows; got shape \(3,\)"):
        error_ambiguity([[1, 2], [3, 4]], [1, 2, 3])
