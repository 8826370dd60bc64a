"""Bounds on the expected risk, against the texts' numbers and against simulation."""

import math

import numpy as np
import pytest

from tercet.theory import (
    finite_class_bound,
    finite_class_confidence,
    finite_class_sample_size,
    hoeffding_bound,
    support_vector_bound,
    vc_bound,
    vc_confidence,
)


def test_finite_class_bound_and_its_inverses():
    assert finite_class_bound(10, 1000, 0.05) == pytest.approx(0.051469978, abs=1e-9)
    eps = finite_class_bound(10, 1000, 0.05)
    assert finite_class_confidence(10, 1000, eps) == pytest.approx(0.05, rel=1e-12)
    n = finite_class_sample_size(10, 0.02, 0.05)
    assert finite_class_confidence(10, n, 0.02) <= 0.05 < finite_class_confidence(10, n - 1, 0.02)
    assert finite_class_bound(10, 1000, 0.05, empirical_risk=0.2) == pytest.approx(0.2 + eps)
    assert finite_class_confidence(10**6, 10, 0.01) == 1.0  # says nothing


def test_one_hypothesis_is_hoeffding():
    assert finite_class_confidence(1, 250, 0.07) == pytest.approx(hoeffding_bound(0.07, 250), rel=1e-12)


def test_hoeffding_holds_for_the_binomial():
    n, p = 40, 0.3
    k = np.arange(n + 1)
    log_factorial = np.array([math.lgamma(i + 1) for i in range(n + 1)])
    mass = np.exp(
        log_factorial[n] - log_factorial - log_factorial[::-1] + k * np.log(p) + (n - k) * np.log(1 - p)
    )
    for t in (0.05, 0.1, 0.2):
        above, below = mass[k / n - p >= t].sum(), mass[p - k / n >= t].sum()
        assert max(above, below) <= hoeffding_bound(t, n)
        assert above + below <= hoeffding_bound(t, n, two_sided=True)


def test_hoeffding_with_a_range_for_each_variable():
    ranges = np.array([[0, 1], [-1, 1], [2, 5]])
    assert hoeffding_bound(0.5, ranges=ranges) == pytest.approx(math.exp(-2 * 9 * 0.25 / (1 + 4 + 9)))
    assert hoeffding_bound(0.1, ranges=[[1, 1], [2, 2]]) == 0.0  # constants


def test_vc_numbers_of_the_text():
    found = [vc_confidence(*case, 0.05) for case in ((3, 100), (3, 1000), (10, 1000), (100, 1000))]
    np.testing.assert_allclose(found, [0.4470027, 0.1639783, 0.2595481, 0.6355747], atol=1e-7)
    assert vc_bound(3, 100, 0.05, empirical_risk=0.25) == pytest.approx(0.25 + found[0])


def test_vc_confidence_grows_with_h_and_falls_with_l():
    by_h = [vc_confidence(h, 50, 0.1) for h in range(1, 100)]
    by_l = [vc_confidence(5, n, 0.1) for n in range(10, 200, 10)]
    assert (np.diff(by_h) > 0).all()
    assert (np.diff(by_l) < 0).all()


def test_support_vector_fraction_is_above_the_leave_one_out_error():
    from tercet.svm import SVC

    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(-1.5, 1, (20, 2)), rng.normal(1.5, 1, (20, 2))])
    y = np.repeat([0, 1], 20)
    machine = SVC(kernel="linear", C=1.0).fit(X, y)
    wrong = 0
    for i in range(len(X)):
        keep = np.arange(len(X)) != i
        wrong += int(SVC(kernel="linear", C=1.0).fit(X[keep], y[keep]).predict(X[i : i + 1])[0] != y[i])
    assert wrong / len(X) <= support_vector_bound(machine, len(X)) == machine.n_support_.sum() / 40


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: finite_class_bound(0, 10, 0.1), "n_hypotheses must be .* at least 1; got 0"),
        (lambda: finite_class_bound(2, 10, 1.0), "delta must be between 0 and 1"),
        (lambda: finite_class_bound(2, 10, 0.1, 1.5), "empirical_risk must be in"),
        (lambda: finite_class_sample_size(2, 0.0, 0.1), "epsilon must be .* above 0; got 0.0"),
        (lambda: hoeffding_bound(0.1), "n_samples must be given"),
        (lambda: hoeffding_bound(0.1, 5, [[0, 1]]), "n_samples=5 does not fit the 1 rows"),
        (lambda: hoeffding_bound(0.1, 5, (1, 0)), "a <= b"),
        (lambda: hoeffding_bound(0.1, 5, 3), "ranges must be a pair"),
        (lambda: vc_confidence(30, 10, 0.1), "at most 2 n_samples = 20"),
        (lambda: support_vector_bound(3), "n_samples must be given"),
        (lambda: support_vector_bound(30, 10), "less than the 30 support vectors"),
    ],
)
def test_refusals(call, says):
    with pytest.raises(ValueError, match=says):
        call()
