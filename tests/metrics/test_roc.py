"""ROC and precision-recall curves, AUC in all its forms, hull, break-even point, gains."""

import functools

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn import metrics as peer
from sklearn.exceptions import UndefinedMetricWarning

from tercet import metrics
from tercet.metrics import (
    auc_interval,
    break_even_point,
    delong_test,
    gain_curve,
    hand_till_auc,
    ks_statistic,
    lift_curve,
    pairwise_auc,
    partial_auc,
    proportion_interval,
    rank_loss,
    roc_auc_score,
    roc_convex_hull,
    roc_curve,
)
from tercet.metrics.classification._ranked.radix_sort import FEW, score_order, sorted_scores


def drawn(seed=0, n=500, digits=2, share=0.4):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < share).astype(int)
    return y, (rng.normal(size=n) + y).round(digits), rng.random(n) + 0.1


CURVES = ("roc_curve", "precision_recall_curve", "confusion_matrix_at_thresholds")
FORMS = {
    "ties": {"digits": 1},
    "no ties": {"digits": 15},
    "constant": {"digits": -2},
    "many": {"n": 3 * FEW, "digits": 6},
    "rare": {"n": 20_000, "digits": 4, "share": 2e-4},
}


@pytest.mark.parametrize("name", CURVES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_curves_are_scikit_learns(name, weighted, form):
    y, score, w = drawn(**FORMS[form])
    given = {"sample_weight": w} if weighted else {}
    ours, theirs = getattr(metrics, name)(y, score, **given), getattr(peer, name)(y, score, **given)
    for a, b in zip(ours, theirs):
        assert a.dtype == b.dtype
    # Sums of weights in another order may differ in the last bit: a point on a straight line is then kept or not.
    if weighted and name == "roc_curve":
        np.testing.assert_allclose(
            np.interp(theirs[2][::-1], ours[2][::-1], ours[1][::-1]), theirs[1][::-1], atol=1e-12
        )
    else:
        for a, b in zip(ours, theirs):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["roc_auc_score", "average_precision_score"])
def test_areas_are_scikit_learns(name, weighted, form):
    y, score, w = drawn(**FORMS[form])
    given = {"sample_weight": w} if weighted else {}
    assert getattr(metrics, name)(y, score, **given) == pytest.approx(
        getattr(peer, name)(y, score, **given), rel=1e-12
    )


@pytest.mark.parametrize(
    "form",
    [
        lambda y, s: (y.astype(bool), s),
        lambda y, s: (2 * y - 1, s.astype(np.float32)),
        lambda y, s: (y.tolist(), s.tolist()),
        lambda y, s: (pd.Series(y), pd.Series(s)),
        lambda y, s: (y, (s > 0).astype(int)),
        lambda y, s: (np.array(["a", "b"])[y], s),
        lambda y, s: (y.astype(float), s),
    ],
)
def test_containers_and_types(form):
    y, score = form(*drawn()[:2])
    assert roc_auc_score(y, score) == pytest.approx(peer.roc_auc_score(y, score), abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_auc_is_one_less_the_rank_loss_and_counts_pairs(seed):
    y, score, w = drawn(seed, n=80, digits=1)
    above, below = score[y == 1][:, None], score[y == 0]
    loss = ((above < below) + 0.5 * (above == below)).mean()
    assert rank_loss(y, score) == pytest.approx(loss, abs=1e-15)
    assert roc_auc_score(y, score) == pytest.approx(1 - loss, abs=1e-15)
    # a monotone transformation changes nothing, the opposite score turns it round
    assert roc_auc_score(y, np.exp(score)) == roc_auc_score(y, score)
    assert roc_auc_score(y, -score) == pytest.approx(1 - roc_auc_score(y, score), abs=1e-15)
    pairs = w[y == 1][:, None] * w[y == 0]
    weighted = (pairs * ((above < below) + 0.5 * (above == below))).sum() / pairs.sum()
    assert rank_loss(y, score, sample_weight=w) == pytest.approx(weighted, rel=1e-12)


def test_integer_weights_are_repetitions():
    y, score, _ = drawn(n=60)
    times = np.random.default_rng(0).integers(0, 4, 60)
    many = np.repeat(y, times), np.repeat(score, times)
    for measure in (rank_loss, break_even_point, ks_statistic, lambda *a, **k: roc_convex_hull(*a, **k).area):
        np.testing.assert_allclose(measure(y, score, sample_weight=times), measure(*many), rtol=1e-12)


def test_one_positive_in_a_hundred_thousand():
    score = np.random.default_rng(0).random(100_001)
    y = np.zeros(100_001, int)
    y[7] = 1
    assert roc_auc_score(y, score) == pytest.approx((score < score[7]).sum() / 100_000)
    hull = roc_convex_hull(y, score)
    assert hull.fpr.size == 3
    assert hull.area == pytest.approx(
        (1 + roc_auc_score(y, score)) / 2
    )  # from (0, 0) over (FPR, 1) to (1, 1)


def test_radix_sort():
    rng = np.random.default_rng(0)
    values = np.concatenate(
        [rng.normal(size=2 * FEW), [0.0, -0.0, 1e300, -1e300, 5e-324, -5e-324], np.ones(FEW)]
    )
    np.testing.assert_array_equal(sorted_scores(values), np.sort(values))
    np.testing.assert_array_equal(score_order(values), np.argsort(values, kind="stable"))
    few = values[:100]
    np.testing.assert_array_equal(score_order(few), np.argsort(few, kind="stable"))


def test_hull_is_concave_above_and_made_of_points():
    y, score, w = drawn(3, n=400)
    for given in ({}, {"sample_weight": w}):
        hull = roc_convex_hull(y, score, **given)
        fpr, tpr, thresholds = roc_curve(y, score, drop_intermediate=False, **given)
        assert (np.interp(fpr, hull.fpr, hull.tpr) >= tpr - 1e-12).all()
        slopes = np.diff(hull.tpr) / np.maximum(np.diff(hull.fpr), 1e-300)
        assert (np.diff(slopes) < 0).all()
        assert np.isin(hull.thresholds, thresholds).all()
        assert hull.area >= roc_auc_score(y, score, **given)
    assert roc_convex_hull(y, np.ones(400)).fpr.tolist() == [0, 1]


def test_partial_area():
    y, score, w = drawn(4)
    for end in (0.05, 0.3, 1.0):
        ours = partial_auc(y, score, fpr_range=(0, end), standardize=True, sample_weight=w)
        assert ours == pytest.approx(peer.roc_auc_score(y, score, max_fpr=end, sample_weight=w), rel=1e-9)
    parts = [partial_auc(y, score, fpr_range=ends) for ends in ((0, 0.2), (0.2, 0.7), (0.7, 1))]
    assert sum(parts) == pytest.approx(roc_auc_score(y, score))
    sides = [partial_auc(y, score, tpr_range=ends) for ends in ((0, 0.9), (0.9, 1))]
    assert sum(sides) == pytest.approx(roc_auc_score(y, score))
    with pytest.raises(ValueError, match="either fpr_range or tpr_range"):
        partial_auc(y, score)
    with pytest.raises(
        ValueError, match=r"fpr_range must be two rising numbers from 0 to 1; got \(0.5, 0.2\)"
    ):
        partial_auc(y, score, fpr_range=(0.5, 0.2))


def test_hand_till_is_one_vs_one():
    rng = np.random.default_rng(5)
    y = rng.integers(0, 4, 200)
    proba = rng.dirichlet(np.ones(4), 200)
    assert hand_till_auc(y, proba) == pytest.approx(peer.roc_auc_score(y, proba, multi_class="ovo"))
    times = rng.integers(0, 3, 200)
    weighted = hand_till_auc(y, proba, sample_weight=times)
    assert weighted == pytest.approx(hand_till_auc(np.repeat(y, times), np.repeat(proba, times, axis=0)))
    two = pairwise_auc(y[y < 2], proba[y < 2][:, :2])
    assert two[1, 0] == pytest.approx(roc_auc_score(y[y < 2], proba[y < 2][:, 1]))


def test_hand_till_without_a_class():
    y, proba = np.array(["a", "c", "a", "c"]), np.random.default_rng(0).dirichlet(np.ones(3), 4)
    with pytest.raises(ValueError, match="a column for each of the 2 classes"):
        hand_till_auc(y, proba)
    with pytest.warns(UndefinedMetricWarning, match="1 of 3 classes do not occur"):
        ours = hand_till_auc(y, proba, labels=["a", "b", "c"])
    assert ours == pytest.approx(hand_till_auc(y, proba[:, [0, 2]]))
    with pytest.raises(ValueError, match="'c', which is not among the labels"):
        hand_till_auc(y, proba, labels=["a", "b", "d"])
    with pytest.warns(UndefinedMetricWarning, match="one class only: the AUC is not defined, and set to NaN"):
        assert np.isnan(hand_till_auc(["a", "a"], proba[:2], labels=["a", "b", "c"]))


def test_delong_interval_covers():
    rng = np.random.default_rng(6)
    truth, covered = stats.norm.cdf(1 / np.sqrt(2)), []
    y = np.repeat([0, 1], [40, 60])
    for _ in range(300):
        found = auc_interval(y, rng.normal(size=100) + y, confidence=0.9)
        covered.append(found.low <= truth <= found.high)
    assert 0.85 < np.mean(covered) < 0.95


def test_delong_variance_by_its_definition():
    y, a, _ = drawn(7, n=60, digits=1)
    b = (a + np.random.default_rng(1).normal(size=60)).round(1)

    def components(score):
        above, below = score[y == 1][:, None], score[y == 0]
        won = (above > below) + 0.5 * (above == below)
        return won.mean(axis=1), won.mean(axis=0)

    (a10, a01), (b10, b01) = components(a), components(b)
    s10, s01 = np.cov(a10, b10), np.cov(a01, b01)
    matrix = s10 / a10.size + s01 / a01.size
    assert auc_interval(y, a).standard_error == pytest.approx(np.sqrt(matrix[0, 0]))
    test = delong_test(y, a, b)
    spread = np.sqrt(matrix[0, 0] + matrix[1, 1] - 2 * matrix[0, 1])
    assert test.standard_error == pytest.approx(spread)
    assert test.p_value == pytest.approx(2 * stats.norm.sf(abs(a10.mean() - b10.mean()) / spread))
    assert delong_test(y, a, 2 * a).p_value == 1
    logit = auc_interval(y, a, logit=True)
    assert 0 < logit.low < logit.auc < logit.high < 1
    assert auc_interval(y, a, method="hanley-mcneil").standard_error == pytest.approx(
        auc_interval(y, a).standard_error, rel=0.5
    )


def test_intervals_without_width_and_bad_ones():
    with pytest.warns(UndefinedMetricWarning, match="the interval has no width"):
        assert auc_interval([0, 0, 1, 1], [1, 2, 3, 4]) == (1.0, 0.0, 1.0, 1.0)
    with pytest.raises(ValueError, match="each class needs two rows or more; got 1 positive"):
        auc_interval([0, 0, 1], [1, 2, 3])
    with pytest.raises(ValueError, match="confidence must be between 0 and 1; got 95"):
        auc_interval([0, 0, 1, 1], [1, 2, 3, 4], confidence=95)
    with pytest.raises(ValueError, match="'delong' or 'hanley-mcneil'; got 'bootstrap'"):
        auc_interval([0, 0, 1, 1], [1, 2, 3, 4], method="bootstrap")


@pytest.mark.parametrize(("method", "theirs"), [("wilson", "wilson"), ("clopper-pearson", "exact")])
@pytest.mark.parametrize("k", [0, 3, 20])
def test_intervals_of_proportions(method, theirs, k):
    ours = proportion_interval(k, 20, confidence=0.9, method=method)
    ci = stats.binomtest(k, 20).proportion_ci(0.9, method=theirs)
    np.testing.assert_allclose([ours.low, ours.high], [ci.low, ci.high], atol=1e-12)


def test_intervals_of_many_proportions():
    successes = np.arange(11)
    for method in ("wilson", "clopper-pearson", "jeffreys", "agresti-coull", "wald"):
        found = proportion_interval(successes, 10, method=method)
        assert (found.low <= found.proportion).all()
        assert (found.proportion <= found.high).all()
        np.testing.assert_allclose(found.low, 1 - found.high[::-1], atol=1e-9)
    jeffreys = proportion_interval(3, 10, method="jeffreys")
    np.testing.assert_allclose(jeffreys[1:], stats.beta(3.5, 7.5).ppf([0.025, 0.975]))
    with pytest.raises(ValueError, match="from 0 to n"):
        proportion_interval(11, 10)
    with pytest.raises(ValueError, match="one of 'wilson'"):
        proportion_interval(1, 10, method="exact")


def test_break_even_point_is_where_precision_is_recall():
    for seed in range(5):
        y, score, _ = drawn(seed, digits=15)
        value, threshold = break_even_point(y, score)
        called = score >= threshold
        assert (
            peer.precision_score(y, called)
            == pytest.approx(peer.recall_score(y, called))
            == pytest.approx(value)
        )
    # constant scores: every order is as likely, and the precision is the share of positives
    assert break_even_point([0, 0, 0, 1], [1, 1, 1, 1]) == (0.25, 1.0)


def test_gain_lift_and_ks():
    y, score, w = drawn(8)
    share, gain, thresholds = gain_curve(y, score)
    for at in (0.5, 1.0):
        k = np.argmin(np.abs(thresholds - at))
        assert share[k] == pytest.approx(np.mean(score >= thresholds[k]))
        assert gain[k] == pytest.approx(np.mean(score[y == 1] >= thresholds[k]))
    rows, lift, _ = lift_curve(y, score, sample_weight=w)
    np.testing.assert_allclose(lift * rows, gain_curve(y, score, sample_weight=w)[1][1:])
    assert lift[-1] == pytest.approx(1)
    ks = ks_statistic(y, score)
    assert ks.statistic == pytest.approx(stats.ks_2samp(score[y == 1], score[y == 0]).statistic)
    assert abs(
        np.mean(score[y == 1] >= ks.threshold) - np.mean(score[y == 0] >= ks.threshold)
    ) == pytest.approx(ks.statistic)
    # area between gain and chance: (AUC - 1/2)(1 - share of positives)
    area = np.trapezoid(gain, share) - 0.5
    assert area == pytest.approx((roc_auc_score(y, score) - 0.5) * (1 - y.mean()))


SCORES = {
    "rank_loss": rank_loss,
    "ks_statistic": ks_statistic,
    "partial_auc": functools.partial(partial_auc, fpr_range=(0, 0.5)),
    "break_even_point": break_even_point,
    "gain_curve": lambda *given, **options: gain_curve(*given, **options)[1],
    "lift_curve": lambda *given, **options: lift_curve(*given, **options)[1],
}


@pytest.mark.parametrize("name", SCORES)
def test_a_fold_of_one_class_has_no_score(name):
    """As of `roc_auc_score`: a warning, and NaN, which does not stop a cross-validation."""
    score = SCORES[name]
    with pytest.warns(UndefinedMetricWarning, match="No positive rows in y_true: .* is not defined"):
        assert np.isnan(score([0, 0, 0], [0.1, 0.5, 0.3])).all()
    if name in ("break_even_point", "gain_curve", "lift_curve"):  # all that needs no negatives
        assert np.isfinite(score([1, 1, 1], [0.1, 0.5, 0.3])).all()
        return
    with pytest.warns(UndefinedMetricWarning, match="No negative rows in y_true: .* is not defined"):
        assert np.isnan(score([1, 1, 0], [0.1, 0.5, 0.3], sample_weight=[1, 1, 0])).all()


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="y_score must be finite numbers; at row 1 it has nan"):
        rank_loss([0, 1], [0.5, np.nan])
    with pytest.raises(ValueError, match="y_true has negative rows only"):
        auc_interval([0, 0], [0.5, 0.6])
    with pytest.raises(ValueError, match="y_true has positive rows only"):
        roc_convex_hull([1, 1, 0], [0.5, 0.6, 0.7], sample_weight=[1, 1, 0])
    with pytest.raises(
        ValueError, match="pos_label must say which class is positive; y_true has the labels 'a', 'b'"
    ):
        rank_loss(["a", "b"], [0.5, 0.6])
    with pytest.raises(ValueError, match=r"pos_label=2 is not among the labels of y_true: 0, 1"):
        rank_loss([0, 1], [0.5, 0.6], pos_label=2)
    with pytest.raises(ValueError, match="y_true has 2 rows and y_score has 3"):
        rank_loss([0, 1], [0.5, 0.6, 0.7])
    with pytest.raises(ValueError, match=r"take the second, y_score\[:, 1\]"):
        rank_loss([0, 1], [[0.5, 0.5], [0.4, 0.6]])
    with pytest.raises(ValueError, match="empty"):
        rank_loss([], [])
    with pytest.raises(ValueError, match="must not be negative"):
        rank_loss([0, 1], [0.5, 0.6], sample_weight=[1, -1])
    with pytest.warns(UndefinedMetricWarning, match="Only one class"):
        assert np.isnan(roc_auc_score([0, 0], [0.1, 0.2]))
    assert rank_loss(["a", "b", "c"], [0.5, 0.6, 0.1], pos_label="b") == 0
