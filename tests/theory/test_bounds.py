"""Bounds on the expected risk, against the texts' numbers and against simulation."""

import math

import numpy as np
import pytest

import tercet.theory
from tercet.theory import (
    agnostic_bound,
    agnostic_confidence,
    agnostic_sample_size,
    finite_class_bound,
    finite_class_confidence,
    finite_class_sample_size,
    growth_confidence,
    growth_epsilon,
    growth_sample_size,
    hoeffding_bound,
    log_sauer_bound,
    mcdiarmid_bound,
    mcdiarmid_sample_size,
    rademacher_bound,
    rademacher_delta,
    rademacher_sample_size,
    realizable_bound,
    realizable_confidence,
    realizable_sample_size,
    sauer_bound,
    stability_bound,
    stability_delta,
    stability_sample_size,
    support_vector_bound,
    vc_bound,
    vc_confidence,
    vc_eta,
    vc_sample_size,
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


def test_realizable_class_and_its_inverses():
    for exponential in (True, False):
        eps = realizable_bound(1000, 120, 0.05, exponential=exponential)
        assert realizable_confidence(1000, 120, eps, exponential=exponential) == pytest.approx(0.05)
        m = realizable_sample_size(1000, 0.1, 0.05, exponential=exponential)
        at, before = (realizable_confidence(1000, n, 0.1, exponential=exponential) for n in (m, m - 1))
        assert at <= 0.05 < before
    assert realizable_bound(10**6, 3, 0.01) == 1.0  # says nothing
    assert 1 - realizable_bound(50, 20, 0.1, exponential=False) == pytest.approx((0.1 / 50) ** (1 / 20))


def test_realizable_bound_holds_for_thresholds():
    """20 thresholds on x uniform: the chance that a threshold of risk above eps survives, by simulation."""
    rng = np.random.default_rng(0)
    thresholds, target, m, eps = np.linspace(0, 1, 20), 7, 25, 0.1
    risks = abs(thresholds - thresholds[target])
    failures = 0
    for _ in range(2000):
        x = rng.random(m)
        consistent = ((x[:, None] > thresholds) == (x > thresholds[target])[:, None]).all(axis=0)
        failures += bool((consistent & (risks > eps)).any())
    assert failures / 2000 <= realizable_confidence(20, m, eps, exponential=False)


def test_two_sided_and_agnostic():
    assert finite_class_bound(1, 200, 0.05, two_sided=True) == pytest.approx(0.0960322791, abs=1e-10)  # 9.15
    eps = finite_class_bound(30, 200, 0.05, two_sided=True)
    assert finite_class_confidence(30, 200, eps, two_sided=True) == pytest.approx(0.05)
    n = agnostic_sample_size(30, 0.1, 0.05)
    at, before = (finite_class_confidence(30, m, 0.05, two_sided=True) for m in (n, n - 1))
    assert at <= 0.05 < before
    huge = 3**10_000  # boolean conjunctions of 10 000 variables
    assert finite_class_sample_size(huge, 0.1, 0.05) == math.ceil(
        (10_000 * math.log(3) + math.log(20)) / (2 * 0.01)
    )
    assert 0 < realizable_confidence(huge, 561_500, 0.02) < 1e-100


def test_vc_forms_and_sample_sizes():
    assert vc_confidence(3, 1000, 0.05, form="growth") == pytest.approx(0.4638007947, abs=1e-10)
    assert vc_confidence(3, 1000, 0.05, form="rademacher") == pytest.approx(0.2408281224, abs=1e-10)
    assert vc_confidence(3, 1000, 0.05, form="growth") == pytest.approx(
        math.sqrt(8) * vc_confidence(3, 1000, 0.05)
    )
    for form in ("vapnik", "growth", "rademacher"):
        n = vc_sample_size(5, 0.2, 0.1, form=form)
        assert vc_confidence(5, n, 0.1, form=form) <= 0.2 < vc_confidence(5, n - 1, 0.1, form=form)
    least = {"vapnik": (3, 50), "growth": (6, 101), "rademacher": (5, 100)}  # rows for which there is a bound
    for form, sizes in least.items():
        assert tuple(vc_sample_size(h, 100.0, 0.1, form=form) for h in (5, 100)) == sizes
    n = vc_sample_size(100, 1.42, 0.05)
    assert n < 100
    assert vc_confidence(100, n, 0.05) <= 1.42 < vc_confidence(100, n - 1, 0.05)


def test_sauer():
    assert sauer_bound(10, 3) == 1 + 10 + 45 + 120
    assert sauer_bound(10, 3, form="power") == pytest.approx(743.9087749, abs=1e-7)
    for m in range(1, 12):
        assert sauer_bound(m, m) == sauer_bound(m, m + 3) == 2**m
        for d in range(1, m + 1):
            assert sauer_bound(m, d) <= sauer_bound(m, d, form="power")
            assert log_sauer_bound(m, d) == pytest.approx(math.log(sauer_bound(m, d)))
    assert log_sauer_bound(10**6, 1000, form="power") > log_sauer_bound(10**6, 1000)


def test_growth_bound_and_its_inverse():
    growth = sauer_bound(2 * 5000, 4)
    eps = growth_epsilon(growth, 5000, 0.05)
    assert growth_confidence(growth, 5000, eps) == pytest.approx(0.05)
    assert eps <= vc_confidence(4, 5000, 0.05, form="growth")  # the sum is below (e m / d)^d
    assert growth_confidence(2**20_000, 10_000, 0.1) == 1.0  # an int beyond floats, and no information


def test_rows_for_a_growth_function():
    def growth(n):
        return sauer_bound(n, 4)

    m = growth_sample_size(growth, 0.2, 0.05)
    assert growth_epsilon(growth(2 * m), m, 0.05) <= 0.2 < growth_epsilon(growth(2 * m - 2), m - 1, 0.05)
    assert m <= vc_sample_size(4, 0.2, 0.05, form="growth")  # the sum is below (e m / d)^d
    with pytest.raises(ValueError, match=r"all 2\^131072 labellings of 131072 points: no number of rows"):
        growth_sample_size(lambda n: 2**n, 0.2, 0.05)


def test_agnostic_bound_and_its_inverses():
    eps = agnostic_bound(50, 400, 0.05)
    assert eps == pytest.approx(2 * finite_class_bound(50, 400, 0.05, two_sided=True))
    assert agnostic_confidence(50, 400, eps) == pytest.approx(0.05)
    m = agnostic_sample_size(50, 0.1, 0.05)
    assert agnostic_bound(50, m, 0.05) <= 0.1 < agnostic_bound(50, m - 1, 0.05)


def test_empirical_risk_minimisation_is_as_good_as_the_agnostic_bound():
    rng = np.random.default_rng(0)
    risks, m, delta = rng.random(30), 60, 0.2
    chosen = (rng.binomial(m, risks, (2000, 30))).argmin(axis=1)
    above = risks[chosen] - risks.min()
    assert (above > agnostic_bound(30, m, delta)).mean() <= delta


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
        (lambda: vc_confidence(10, 10, 0.1, form="growth"), "must be below n_samples = 10"),
        (lambda: vc_confidence(11, 10, 0.1, form="rademacher"), "must be at most n_samples = 10"),
        (
            lambda: vc_confidence(1, 10, 0.1, form="covering"),
            "form must be one of 'vapnik', 'growth', 'rademacher'",
        ),
        (lambda: vc_sample_size(3, 0.0, 0.1), "epsilon must be .* above 0"),
        (lambda: sauer_bound(2.5, 1), "n_points must be a whole number"),
        (lambda: sauer_bound(3, 5, form="power"), "needs 1 <= vc_dimension <= n_points; got 5 and 3"),
        (lambda: growth_epsilon(0, 10, 0.1), "growth must be .* at least 1; got 0"),
        (lambda: realizable_sample_size(10, 1.0, 0.1), "epsilon must be between 0 and 1"),
        (lambda: support_vector_bound(3), "n_samples must be given"),
        (lambda: support_vector_bound(30, 10), "less than the 30 support vectors"),
    ],
)
def test_refusals(call, says):
    with pytest.raises(ValueError, match=says):
        call()


@pytest.mark.parametrize("form", ["vapnik", "growth", "rademacher"])
@pytest.mark.parametrize("eta", [0.001, 0.05, 0.5])
def test_vc_eta_inverts_the_confidence_term(form, eta):
    assert vc_eta(4, 5000, vc_confidence(4, 5000, eta, form=form), form=form) == pytest.approx(eta, rel=1e-9)
    assert vc_eta(4, 5000, 1e-3, form=form) == 1.0  # says nothing
    with pytest.raises(ValueError, match="beyond it there is no bound"):
        vc_eta(40, 10, 0.1, form=form)


@pytest.mark.parametrize("kind", ["empirical", "leave-one-out"])
def test_inverses_of_the_stability_bound(kind):
    gap = stability_bound(0.001, 400, 0.05, largest_loss=2.0, kind=kind)
    assert stability_delta(0.001, 400, gap, largest_loss=2.0, kind=kind) == pytest.approx(0.05, rel=1e-9)
    assert stability_delta(0.1, 400, 0.05, kind=kind) == 1.0  # beta alone is a larger gap
    m = stability_sample_size(0.2, 0.05, 1.5, kind=kind)
    gaps = [stability_bound(1.5 / n, n, 0.05, kind=kind) for n in (m, m - 1)]
    assert gaps[0] <= 0.2 < gaps[1]


@pytest.mark.parametrize("empirical", [False, True])
@pytest.mark.parametrize("values", ["real", "binary"])
def test_inverses_of_the_rademacher_bound(empirical, values):
    options = {"empirical": empirical, "values": values}
    gap = rademacher_bound(0.05, 300, 0.02, **options)
    assert rademacher_delta(0.05, 300, gap, **options) == pytest.approx(0.02, rel=1e-9)
    m = rademacher_sample_size(0.05, 0.2, 0.02, **options)
    gaps = [rademacher_bound(0.05, n, 0.02, **options) for n in (m, m - 1)]
    assert gaps[0] <= 0.2 < gaps[1]
    falling = rademacher_sample_size(lambda n: 1 / math.sqrt(n), 0.2, 0.02, **options)
    assert rademacher_bound(1 / math.sqrt(falling), falling, 0.02, **options) <= 0.2
    with pytest.raises(ValueError, match="as a function of the number of rows"):
        rademacher_sample_size(0.3, 0.2, 0.02, **options)


def test_mcdiarmid_sample_size_inverts_the_bound():
    for two_sided in (False, True):
        m = mcdiarmid_sample_size(0.07, 0.01, 3.0, two_sided=two_sided)
        bounds = [mcdiarmid_bound(0.07, np.full(n, 3.0 / n), two_sided=two_sided) for n in (m, m - 1)]
        assert bounds[0] <= 0.01 < bounds[1]


def test_every_bound_states_its_assumption_or_where_it_stands():
    bounds = [
        name for name in tercet.theory.__all__ if name.endswith(("_bound", "_epsilon", "_delta", "_eta"))
    ]
    bounds += [name for name in tercet.theory.__all__ if name.endswith(("_sample_size", "_confidence"))]
    assert len(bounds) > 25
    for name in {*bounds} - {
        "log_sauer_bound",
        "linear_rademacher_bound",
    }:  # formulas that hold for any numbers
        assert "ssumption" in getattr(tercet.theory, name).__doc__, name
