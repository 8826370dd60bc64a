"""Pictures of scores: precision-recall, ROC with its hull, DET, cost curves, gain, lift, distributions."""

import numpy as np
import pytest
from scipy.special import ndtr
from sklearn.metrics import average_precision_score, roc_auc_score

from tercet import metrics
from tercet.plot import (
    plot_calibration,
    plot_cost_curve,
    plot_det,
    plot_gain,
    plot_lift,
    plot_precision_recall,
    plot_roc,
    plot_score_distributions,
)
from tercet.plot.class_scores import DRAWN

PLOTS = [
    plot_calibration,
    plot_cost_curve,
    plot_det,
    plot_gain,
    plot_lift,
    plot_precision_recall,
    plot_roc,
    plot_score_distributions,
]


@pytest.fixture
def scored():
    rng = np.random.default_rng(0)
    y = (rng.random(300) < 0.3).astype(int)
    score = ndtr(rng.normal(size=300) + 1.5 * y - 1)
    return y, score, rng.random(300)


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.mark.parametrize("plot", PLOTS)
def test_models_by_name(plot, scored, tmp_path):
    y, score, w = scored
    models = {"first": score, "second": np.stack([score**2, 1 - score**2], axis=1)}
    ax = plot(y, models, sample_weight=w)
    if plot is plot_score_distributions:
        assert [tick.get_text() for tick in ax.get_yticklabels()] == ["second", "first"]
    else:
        assert [text.split("\u2002")[0] for text in legend(ax)] == ["first", "second"]
    ax.figure.savefig(tmp_path / "a.png")
    assert getattr(metrics, plot.__name__) is plot


@pytest.mark.parametrize("plot", PLOTS)
def test_bad_input_is_named(plot):
    with pytest.raises(ValueError, match=r"must be finite numbers; at \(1,\) it has nan"):
        plot([0, 1], [0.5, np.nan])
    with pytest.raises(ValueError, match="empty dictionary"):
        plot([0, 1], {})
    with pytest.raises(ValueError, match="several models are compared on two classes; truth has 3"):
        plot([0, 1, 2], {"a": np.eye(3)})
    with pytest.raises(ValueError, match="at most 8 models"):
        plot([0, 1], {str(k): [0.1, 0.2] for k in range(9)})
    with pytest.raises(ValueError, match="lengths differ: truth has 2, proba has 3"):
        plot([0, 1], [0.1, 0.2, 0.3])
    if plot is not plot_calibration:
        with pytest.raises(ValueError, match="one class only"):
            plot([0, 0], [0.1, 0.2], labels=[0, 1])


@pytest.mark.parametrize("plot", PLOTS)
@pytest.mark.parametrize("score", [np.full(40, 0.5), np.repeat([0.0, 1.0], 20)], ids=["constant", "perfect"])
def test_scores_at_the_ends(plot, score, tmp_path):
    plot(np.repeat([0, 1], 20), score).figure.savefig(tmp_path / "a.png")


def test_precision_recall(scored):
    y, score, w = scored
    ax = plot_precision_recall(y, score, sample_weight=w)
    even = metrics.break_even_point(y, score, sample_weight=w).value
    ap = average_precision_score(y, score, sample_weight=w)
    assert legend(ax) == [f"AP {ap:.3f}, BEP {even:.3f}"]
    dot = next(line for line in ax.get_lines() if line.get_marker() == "o")
    assert dot.get_xydata().tolist() == [[even, even]]
    share = np.average(y, weights=w)
    assert ax.get_lines()[-1].get_ydata() == pytest.approx([share, share])
    iso = ax.get_lines()[0].get_xydata()
    np.testing.assert_allclose(2 * iso[:, 0] * iso[:, 1] / iso.sum(axis=1), 0.2)
    with pytest.raises(ValueError, match=r"iso_f must be values of F1 between 0 and 1; got 1\.5"):
        plot_precision_recall(y, score, iso_f=[1.5])


def test_hull_of_roc(scored):
    y, score, _ = scored
    ax = plot_roc(y, score, hull=True)
    hull = metrics.roc_convex_hull(y, score)
    np.testing.assert_allclose(ax.get_lines()[-1].get_xydata(), np.stack([hull.fpr, hull.tpr], axis=1))


def test_det_is_straight_for_normal_scores():
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1], 20_000)
    ax = plot_det(y, rng.normal(size=40_000) + 2 * y)
    curve = next(line for line in ax.get_lines() if len(line.get_xdata()) > 1).get_xydata()
    inside = np.abs(curve[:, 0] + 1) < 1.5
    np.testing.assert_allclose(curve[inside].sum(axis=1), -2, atol=0.1)
    rate = float(legend(ax)[0].split()[1].rstrip("%"))
    assert rate == pytest.approx(100 * ndtr(-1), abs=0.5)


def test_cost_curve_is_the_envelope(scored):
    y, score, _ = scored
    ax = plot_cost_curve(y, score)
    curve = metrics.cost_curve(y, score)
    assert legend(ax) == [f"expected total cost {curve.area:.3f}"]
    np.testing.assert_allclose(
        ax.get_lines()[-1].get_xydata(), np.stack([curve.probability_cost, curve.cost], axis=1)
    )


def test_gain_and_lift(scored):
    y, score, _ = scored
    ks = metrics.ks_statistic(y, score).statistic
    ax = plot_gain(y, score)
    assert legend(ax) == [f"KS {ks:.3f}"]
    assert ax.get_lines()[1].get_xydata().tolist() == [[0, 0], [y.mean(), 1], [1, 1]]
    assert plot_lift(y, score).get_lines()[-1].get_ydata()[0] == pytest.approx(1 / y.mean())


def test_distributions_are_shares_of_the_classes(scored):
    y, score, w = scored
    ax = plot_score_distributions(y, score, threshold=0.5, bins=10, sample_weight=w)
    heights = [patch.get_data().values for patch in ax.patches]
    assert [height.sum() for height in heights] == pytest.approx([1] * 4)
    true, false = (np.average(score[y == k] >= 0.5, weights=w[y == k]) for k in (1, 0))
    title = f"at or above 0.5: {true:.1%} of the positives, {false:.1%} of the negatives"
    assert ax.get_title(loc="left") == title
    with pytest.raises(ValueError, match="threshold must be a finite number"):
        plot_score_distributions(y, score, threshold=np.inf)
    with pytest.raises(ValueError, match="bins must be an integer of 1 or more; got 0"):
        plot_score_distributions(y, score, bins=0)


def test_curves_of_many_rows_are_thinned():
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 50_000)
    score = rng.normal(size=50_000) + y
    for plot in (plot_roc, plot_gain, plot_precision_recall):
        ax = plot(y, score)
        points = max(len(line.get_xdata()) for line in ax.get_lines())
        assert 1000 < points <= DRAWN + 1
    x, height = plot_roc(y, score).get_lines()[1].get_xydata().T
    assert np.trapezoid(height, x) == pytest.approx(roc_auc_score(y, score), abs=1e-3)
