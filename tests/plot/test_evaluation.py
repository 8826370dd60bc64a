"""What the pictures of an evaluation show is what was given."""

import numpy as np
import pytest
from sklearn.metrics import auc, confusion_matrix, roc_auc_score, roc_curve

from tercet.plot import (
    plot_calibration,
    plot_confusion,
    plot_importance,
    plot_intervals,
    plot_learning_curve,
    plot_predictions,
    plot_residuals,
    plot_roc,
)
from tests.plot.words import ticks


def test_confusion_counts_and_shades():
    rng = np.random.default_rng(0)
    truth, predicted = rng.integers(0, 4, 200), rng.integers(0, 4, 200)
    counts = confusion_matrix(truth, predicted)
    ax = plot_confusion(truth, predicted)
    assert [int(text.get_text()) for text in ax.texts] == counts.ravel().tolist()
    wrong, right = (image.get_array() for image in ax.images)
    share = np.sqrt(counts / counts.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(wrong.filled(0) + right.filled(0), share)
    assert wrong.mask.tolist() == np.eye(4, dtype=bool).tolist()
    assert ax.get_title(loc="left") == f"{np.mean(truth == predicted):.1%} of 200 right"


def test_confusion_takes_labels_or_positions():
    names = ["no", "yes"]
    by_name = plot_confusion(["no", "yes", "yes"], ["no", "no", "yes"], names)
    by_place = plot_confusion([0, 1, 1], [0, 0, 1], names)
    for ax in (by_name, by_place):
        assert [text.get_text() for text in ax.texts] == ["1", "0", "1", "1"]
        assert ticks(ax, "x") == ticks(ax, "y") == names
    with pytest.raises(ValueError, match="truth has 'maybe', which is not among the labels"):
        plot_confusion(["maybe"], ["no"], names)
    with pytest.raises(ValueError, match="predicted has 2"):
        plot_confusion([0, 1], [1, 2], names)
    with pytest.raises(ValueError, match="predicted has 'what'"):
        plot_confusion(["no", "yes"], ["no", "what"], names)
    with pytest.raises(ValueError, match="truth has 0"):
        plot_confusion([0, 3], [1, 2], [1, 2, 3])


def test_confusion_of_many_classes_shows_some_of_the_names():
    labels = [f"a rather long class number {k}" for k in range(50)]
    ax = plot_confusion(np.arange(50), np.arange(50), labels)
    assert len(ax.texts) == 0
    shown = ticks(ax, "y")
    assert len(shown) == 25
    assert len({*shown}) == 25, "shortened names must still differ"
    assert all(len(word) <= 13 for word in shown)


def test_roc_is_scikit_learns():
    rng = np.random.default_rng(1)
    truth, p = rng.integers(0, 2, 300), rng.random(300).round(2)
    ax = plot_roc(truth, np.stack([1 - p, p], axis=1))
    false, true, _ = roc_curve(truth, p)
    np.testing.assert_allclose(ax.get_lines()[1].get_xydata(), np.stack([false, true], axis=1))
    assert ax.get_legend().get_texts()[0].get_text() == f"AUC {roc_auc_score(truth, p):.3f}"


def test_curves_of_many_classes_show_the_most_frequent():
    rng = np.random.default_rng(2)
    truth = np.repeat(np.arange(9), np.arange(2, 11) * 5)
    proba = rng.dirichlet(np.ones(9), len(truth))
    labels = [f"c{k}" for k in range(9)]
    ax = plot_roc(truth, proba, labels)
    *words, mean = [text.get_text() for text in ax.get_legend().get_texts()]
    assert [word.split("\u2002")[0] for word in words] == labels[3:]
    for k, word in enumerate(words, start=3):
        assert word.endswith(f"{roc_auc_score(truth == k, proba[:, k]):.3f}")
    assert ax.get_title(loc="left") == "6 of 9 classes, the most frequent"
    area = roc_auc_score(truth, proba, multi_class="ovr", average="macro")
    assert mean == f"mean of all 9 classes\u2002{area:.3f}"
    x, y = ax.get_lines()[-1].get_xydata().T
    assert auc(x, y) == pytest.approx(area, abs=1e-12)
    assert (np.diff(y) >= 0).all()


def test_three_classes_all_have_their_curve():
    truth = np.repeat([0, 1, 2], 60)
    proba = np.random.default_rng(4).dirichlet(np.ones(3), 180)
    ax = plot_roc(truth, proba)
    assert len(ax.get_legend().get_texts()) == 4
    assert ax.get_title(loc="left") == ""
    assert [text.get_text() for text in plot_calibration(truth, proba).get_legend().get_texts()] == list(
        "012"
    )


@pytest.mark.parametrize(("classes", "rows"), [(9, 900), (4, 40)], ids=["many classes", "few rows"])
def test_calibration_of_the_predicted_class(classes, rows):
    rng = np.random.default_rng(5)
    proba = rng.dirichlet(np.ones(classes), rows)
    truth = np.array([rng.choice(classes, p=p) for p in proba])
    ax = plot_calibration(truth, proba, list(range(classes)), bins=4 if rows < 100 else 10)
    (diagonal, curve) = ax.get_lines()
    assert diagonal.get_xydata().tolist() == [[0, 0], [1, 1]]
    assert ax.get_legend() is None
    assert ax.get_xlabel() == "probability of the predicted class"
    said, seen = curve.get_xydata().T
    top = proba.max(axis=1)
    assert said.min() > 1 / classes
    assert said.mean() == pytest.approx(top.mean(), abs=0.02)
    assert seen.mean() == pytest.approx(np.mean(proba.argmax(axis=1) == truth), abs=0.05)


@pytest.mark.parametrize("strategy", ["quantile", "uniform"])
def test_calibration_groups_add_up(strategy):
    rng = np.random.default_rng(3)
    p = rng.random(1000)
    truth = rng.random(1000) < p**2
    ax = plot_calibration(truth, p, bins=5, strategy=strategy)
    said, seen = ax.get_lines()[1].get_xydata().T
    edges = np.quantile(p, [0.2, 0.4, 0.6, 0.8]) if strategy == "quantile" else [0.2, 0.4, 0.6, 0.8]
    group = np.digitize(p, edges)
    np.testing.assert_allclose(said, [p[group == k].mean() for k in range(5)])
    np.testing.assert_allclose(seen, [truth[group == k].mean() for k in range(5)])
    heights = [bar.get_height() for bar in ax.patches]
    counts = np.histogram(p, bins=25, range=(0, 1))[0]
    np.testing.assert_allclose(heights, 0.14 * counts / counts.max())


def test_probabilities_are_checked():
    with pytest.raises(ValueError, match=r"between 0 and 1; it goes from 0\.5 to 7"):
        plot_calibration([0, 1], [0.5, 7])
    with pytest.raises(ValueError, match="proba has 3 columns for 2 classes"):
        plot_roc([0, 1], np.ones((2, 3)))
    with pytest.raises(ValueError, match="one class only"):
        plot_roc([1, 1], [0.1, 0.2])
    with pytest.raises(ValueError, match="strategy"):
        plot_calibration([0, 1], [0.1, 0.2], strategy="even")


@pytest.mark.parametrize("plot", [plot_confusion, plot_residuals, plot_predictions, plot_roc])
def test_nothing_missing_and_unequal_are_errors(plot):
    with pytest.raises(ValueError, match="empty"):
        plot([], [])
    with pytest.raises(ValueError, match=r"has nan|NaN at row 1"):
        plot([0.0, 1.0], [0.0, np.nan])
    with pytest.raises(ValueError, match="lengths differ: truth has 2"):
        plot([0, 1], [0, 1, 1])


def test_residuals_and_their_median():
    rng = np.random.default_rng(4)
    predicted = np.sort(rng.random(100))
    truth = predicted + rng.normal(size=100)
    ax = plot_residuals(truth, predicted)
    np.testing.assert_allclose(
        ax.collections[0].get_offsets(), np.stack([predicted, truth - predicted], axis=1)
    )
    line = ax.get_lines()[1].get_xydata()
    np.testing.assert_allclose(line[0], [np.median(predicted[:10]), np.median((truth - predicted)[:10])])


def test_a_large_cloud_is_sampled():
    rng = np.random.default_rng(5)
    truth = rng.normal(size=20_000)
    for plot in (plot_residuals, plot_predictions):
        dots = np.asarray(plot(truth, truth + 1).collections[0].get_offsets())
        assert len({*map(tuple, dots)}) == 2000
        assert np.isin(dots[:, 0], truth + 1 if plot is plot_residuals else truth).all()


def test_importance_is_sorted_and_cut():
    ax = plot_importance(["a", "b", "c"], [0.1, -0.2, 0.3], [0.01, 0.02, 0.03], top=2)
    assert ticks(ax, "y") == ["c", "a"]
    assert [bar.get_width() for bar in ax.patches] == [0.3, 0.1]
    (errors,) = (c for c in ax.collections if c.get_segments())
    assert np.ptp(errors.get_segments()[0][:, 0]) == pytest.approx(0.06)
    assert ax.get_title(loc="left") == "the 2 largest of 3"
    with pytest.raises(ValueError, match="names has 1, mean has 2"):
        plot_importance(["a"], [1, 2])


def test_learning_curve_has_means_and_bands():
    train = np.array([[1.0, 0.8], [0.9, 0.9]])
    test = np.array([[0.4, 0.6], [np.nan, 0.7]])
    ax = plot_learning_curve([10, 40], train, test, "accuracy")
    assert ax.get_lines()[0].get_xydata().tolist() == [[10, 0.9], [40, 0.9]]
    assert ax.get_lines()[1].get_xydata().tolist() == [[10, 0.5], [40, 0.7]]
    band = ax.collections[1].get_paths()[0].vertices
    assert sorted({*band[band[:, 0] == 10][:, 1].round(9)}) == [0.4, 0.6]
    assert ax.get_ylabel() == "accuracy"


def test_intervals_keep_their_places():
    ax = plot_intervals(
        ["A", "B"], [0.9, 0.8], [0.85, np.nan], [0.95, np.nan], baseline=0.7, tied=[True, False]
    )
    assert ticks(ax, "y") == ["A", "B"]
    lines, dots = ax.collections
    assert [line[:, 0].tolist() for line in lines.get_segments()] == [[0.85, 0.95], [0.8, 0.8]]
    assert dots.get_offsets().tolist() == [[0.9, 0], [0.8, 1]]
    assert ax.get_lines()[0].get_xdata() == [0.7, 0.7]
    assert ax.get_ylim()[0] > ax.get_ylim()[1], "the first is on top"
    assert not np.array_equal(*dots.get_facecolors())


def test_one_method_astray_does_not_squeeze_the_rest():
    means = np.array([0.9, 0.89, 0.88, 0.87, -1e9])
    ax = plot_intervals(list("abcde"), means, means - 0.01, means + 0.01, baseline=-5.0)
    low, high = ax.get_xlim()
    assert high - low < 0.2
    assert any("-1e+09" in text.get_text() for text in ax.texts)
    assert any("baseline -5" in text.get_text() for text in ax.texts)
