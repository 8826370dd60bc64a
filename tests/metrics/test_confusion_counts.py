"""Error rate, precision, recall, F, and their macro and micro averages."""

import numpy as np
import pytest
from sklearn import metrics as peer
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.model_selection import KFold, cross_val_score

from tercet.metrics import (
    ConfusionCounts,
    confusion_counts,
    error_rate,
    f_of,
    macro_scores,
    micro_scores,
    multilabel_confusion_matrix,
)
from tercet.tree import DecisionTreeClassifier


@pytest.fixture
def labels():
    rng = np.random.default_rng(0)
    return rng.integers(0, 4, 300), rng.integers(0, 4, 300), rng.random(300)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_formulas_of_chapter_1(labels, weighted):
    y, predicted, w = labels
    w = w if weighted else None
    counts = confusion_counts(y, predicted, pos_label=2, sample_weight=w)
    assert counts.accuracy + counts.error_rate == pytest.approx(1)
    assert 2 / counts.f1 == pytest.approx(1 / counts.precision + 1 / counts.recall)  # (1.43) = (1.44)
    assert f_of(counts.precision, counts.recall, 2.0) == pytest.approx(counts.f_score(2.0))
    assert counts.specificity + counts.false_positive_rate == pytest.approx(1)
    theirs = peer.precision_recall_fscore_support(
        y == 2, predicted == 2, beta=0.5, average="binary", sample_weight=w
    )
    np.testing.assert_allclose([counts.precision, counts.recall, counts.f_score(0.5)], theirs[:3])
    tn, fp, fn, tp = peer.confusion_matrix(y == 2, predicted == 2, sample_weight=w).ravel()
    np.testing.assert_allclose(counts, [tp, fn, fp, tn])
    assert error_rate(y, predicted, sample_weight=w) == pytest.approx(
        peer.zero_one_loss(y, predicted, sample_weight=w)
    )


def test_the_two_macro_f1(labels):
    y, predicted, _ = labels
    tables = multilabel_confusion_matrix(y, predicted)
    macro, micro = macro_scores(tables, beta=2.0), micro_scores(tables, beta=2.0)
    for found, average in ((macro, "macro"), (micro, "micro")):
        theirs = peer.precision_recall_fscore_support(y, predicted, beta=2.0, average=average)
        np.testing.assert_allclose(found[:2], theirs[:2])
        f = found.mean_f_score if average == "macro" else found.f_score
        assert f == pytest.approx(theirs[2])
    assert macro.f_score == pytest.approx(
        5 * macro.precision * macro.recall / (4 * macro.precision + macro.recall)
    )
    assert micro.precision == pytest.approx(peer.accuracy_score(y, predicted))


def test_averages_over_runs_and_the_order_of_both_f():
    rng = np.random.default_rng(1)
    for _ in range(50):
        runs = [ConfusionCounts(*rng.integers(1, 50, 4).tolist()) for _ in range(3)]
        macro = macro_scores(runs)
        # the harmonic mean is concave: F of the means is at least the mean of F
        assert macro.f_score >= macro.mean_f_score - 1e-12
        assert micro_scores(runs).recall == pytest.approx(
            sum(r.tp for r in runs) / sum(r.tp + r.fn for r in runs)
        )


def test_nothing_to_divide_by_is_zero_with_a_warning():
    with pytest.warns(
        UndefinedMetricWarning, match="precision is set to 0: there are no predicted positives"
    ):
        assert confusion_counts([1, 0], [0, 0]).precision == 0
    with pytest.warns(UndefinedMetricWarning, match="recall is set to 0"):
        assert confusion_counts([0, 0], [1, 0]).recall == 0


@pytest.mark.parametrize(("none", "pos_label"), [(0, 1), (-1, 1), (False, True), ("ham", "spam")])
def test_a_fold_without_positives(none, pos_label):
    labels = [none] * 3
    counts = confusion_counts(labels, labels, pos_label=pos_label, sample_weight=[1, 2, 3])
    assert counts == (0, 0, 0, 6)
    assert (counts.accuracy, counts.specificity) == (1.0, 1.0)
    for name in ("precision", "recall", "f1"):
        with pytest.warns(UndefinedMetricWarning, match="is set to 0: there are no"):
            found = getattr(counts, name)
        with pytest.warns(UndefinedMetricWarning):
            assert found == getattr(peer, f"{name}_score")(labels, labels, pos_label=pos_label)


def test_a_fold_without_positives_does_not_stop_a_cross_validation():
    X, y = np.arange(12.0)[:, None], np.repeat([0, 1], [8, 4])

    def f1(model, X, y):
        return confusion_counts(y, model.predict(X)).f1

    with pytest.warns(UndefinedMetricWarning, match="F is set to 0"):
        scores = cross_val_score(
            DecisionTreeClassifier(random_state=0), X, y, cv=KFold(6), scoring=f1, error_score="raise"
        )
    assert scores == pytest.approx([0, 0, 0, 0, 2 / 3, 1])


def test_bad_input_is_named():
    with pytest.raises(
        ValueError, match=r"pos_label=1 is neither in y_true nor in y_pred; they have \['a'\]"
    ):
        confusion_counts(["a", "a"], ["a", "a"])
    with pytest.raises(ValueError, match=r"pos_label='c' is neither in y_true nor in y_pred"):
        confusion_counts(["a", "b"], ["a", "a"], pos_label="c")
    with pytest.raises(ValueError, match="y_true has 2 rows and y_pred has 3"):
        error_rate([0, 1], [0, 1, 1])
    with pytest.raises(ValueError, match="y_pred has NaN at row 1"):
        error_rate([0.0, 1.0], [0.0, np.nan])
    with pytest.raises(ValueError, match="labels of one kind"):
        error_rate(["0", "1"], [0, 1])
    with pytest.raises(ValueError, match="empty"):
        error_rate([], [])
    with pytest.raises(ValueError, match="beta must be a positive number; got 0"):
        f_of(0.5, 0.5, 0)
    with pytest.raises(ValueError, match=r"tables must be confusion matrices .* got shape \(2, 2\)"):
        macro_scores([[1, 2], [3, 4]])
    with pytest.raises(ValueError, match="not negative"):
        micro_scores([[[1, 2], [3, -4]]])
