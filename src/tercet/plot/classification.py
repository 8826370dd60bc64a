"""Evaluation of a classifier: confusion matrix, ROC and precision-recall curves, calibration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tercet.plot.styling import (
    ACCENT,
    COLOURS,
    INK,
    SECOND,
    WIDTH,
    check_same_length,
    fading_colormap,
    finite_array,
    get_axes,
    label_axes,
    short_name,
    styled,
    translated,
)

CLASSES = 6  # the most curves in one picture
ROWS = 5  # of a class for each group of a calibration curve, at the least


@styled
def plot_confusion(truth: Any, predicted: Any, labels: Sequence[Any] | None = None, *, ax: Any = None) -> Any:
    """Draw the confusion matrix: what was right in one colour, what was mistaken for what in another.

    Parameters
    ----------
    truth, predicted : arrays of shape (n_samples,)
        Labels, or positions in `labels`.
    labels : sequence, optional
        The classes in the order to draw them; by default all that occur, sorted.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> ax = plot_confusion(["a", "a", "b"], ["a", "b", "b"])
    >>> [text.get_text() for text in ax.texts]
    ['1', '1', '0', '1']
    """
    (rows, columns), labels = _label_indices(labels, truth=truth, predicted=predicted)
    k = len(labels)
    counts = np.zeros((k, k), dtype=int)
    np.add.at(counts, (rows, columns), 1)
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    # The square root keeps the few errors of a good classifier visible.
    shade, diagonal = np.sqrt(share), np.eye(k, dtype=bool)
    ax = get_axes(ax, height=min(WIDTH, 3.2 + 0.12 * k))
    frame = {"vmin": 0, "vmax": 1, "interpolation": "none", "aspect": "auto" if k < 4 else "equal"}
    ax.imshow(np.ma.array(shade, mask=diagonal), cmap=fading_colormap(None, SECOND), **frame)
    ax.imshow(np.ma.array(shade, mask=~diagonal), cmap=fading_colormap(None, ACCENT), **frame)
    size = min(9.0, 80 / k)
    if k <= 16:
        for i, j in np.ndindex(k, k):
            if k > 8 and not counts[i, j]:
                continue
            colour = "white" if shade[i, j] > 0.7 else INK
            ax.text(j, i, f"{counts[i, j]}", ha="center", va="center", fontsize=size, color=colour)
    every = -(-k // 25)
    shown = range(0, k, every)
    words = [short_name(labels[i], 16 if k <= 16 else 12) for i in shown]
    upright = k > 12 or max(len(word) for word in words) * k > 60
    ax.set_xticks(shown, words, rotation=90 if upright else 0, fontsize=min(8.5, 150 / len(words)))
    ax.set_yticks(shown, words, fontsize=min(8.5, 150 / len(words)))
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    right = np.trace(counts) / counts.sum()
    title = translated("{share} of {n} right", share=f"{right:.1%}", n=len(rows))
    return label_axes(ax, translated("predicted class"), translated("true class"), title)


@styled
def plot_roc(truth: Any, proba: Any, labels: Sequence[Any] | None = None, *, ax: Any = None) -> Any:
    """Draw the true positive rate over the false positive rate, with the area under the curve.

    With more than two classes each of the most frequent ones is set against the rest, and the mean of the
    curves of all of them is drawn, too.

    Parameters
    ----------
    truth : array of shape (n_samples,)
        Labels, or positions in `labels`.
    proba : array of shape (n_samples,) or (n_samples, n_classes), or mapping of names to them
        Probabilities or scores; of the second class when there is one column. With two classes, a mapping has
        those of several methods, which are drawn side by side.
    labels : sequence, optional
        The classes in the order of the columns; by default all that occur, sorted.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> ax = plot_roc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> ax.get_legend().get_texts()[0].get_text()
    'AUC 0.750'
    """
    from sklearn.metrics import auc, roc_curve

    everyone = _one_vs_rest(truth, proba, labels)
    chosen = _most_frequent(everyone)
    curves = [roc_curve(one.is_it, one.score)[:2] for one in everyone]
    ax = get_axes(ax)
    ax.plot([0, 1], [0, 1], color=INK, alpha=0.35, linewidth=0.8, linestyle=(0, (4, 3)))
    for j, colour in zip(chosen, COLOURS):
        false, true = curves[j]
        area = f"{auc(false, true):.3f}"
        label = short_name(everyone[j].label)
        text = translated("AUC {area}", area=area) if len(everyone) == 1 else f"{label}\u2002{area}"
        ax.plot(false, true, color=colour, label=text)
    methods = isinstance(proba, Mapping)
    if len(everyone) > 1 and not methods:
        false, true = _mean_curve(curves)
        text = translated("mean of all {k} classes", k=len(everyone)) + f"\u2002{auc(false, true):.3f}"
        ax.plot(false, true, color=INK, linestyle=(0, (1, 1)), label=text)
    ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01))
    ax.legend(loc="lower right", title=_legend_title("AUC", everyone, methods))
    title = ""
    if len(chosen) < len(everyone):
        title = translated("{shown} of {k} classes, the most frequent", shown=len(chosen), k=len(everyone))
    return label_axes(ax, translated("false positive rate"), translated("true positive rate"), title)


@styled
def plot_precision_recall(
    truth: Any, proba: Any, labels: Sequence[Any] | None = None, *, ax: Any = None
) -> Any:
    """Draw the precision over the recall, with the average precision.

    The dashed line is the share of the class: the precision of saying it always. With more than two classes each
    of the most frequent ones is set against the rest.

    Parameters
    ----------
    truth, proba, labels
        As in `plot_roc`.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> ax = plot_precision_recall([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> ax.get_legend().get_texts()[0].get_text()
    'AP 0.833'
    """
    from sklearn.metrics import average_precision_score, precision_recall_curve

    everyone = _one_vs_rest(truth, proba, labels)
    chosen, methods = _most_frequent(everyone), isinstance(proba, Mapping)
    ax = get_axes(ax)
    for j, colour in zip(chosen, COLOURS):
        label, is_it, score = everyone[j]
        precision, recall, _ = precision_recall_curve(is_it, score)
        area = f"{average_precision_score(is_it, score):.3f}"
        single = translated("AP {area}", area=area)
        text = single if len(everyone) == 1 else f"{short_name(label)}\u2002{area}"
        ax.plot(recall, precision, color=colour, drawstyle="steps-post", label=text)
        if j == chosen[0] or not methods:
            shade = INK if methods or len(everyone) == 1 else colour
            dashes = {"linewidth": 0.8, "linestyle": (0, (4, 3)), "alpha": 0.35}
            ax.axhline(is_it.mean(), color=shade, **dashes)
    ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.03))
    ax.legend(loc="best", title=_legend_title("AP", everyone, methods))
    title = ""
    if len(chosen) < len(everyone):
        title = translated("{shown} of {k} classes, the most frequent", shown=len(chosen), k=len(everyone))
    return label_axes(ax, translated("recall"), translated("precision"), title)


def _legend_title(measure: str, everyone: list[OneVsRest], methods: bool) -> str | None:
    if len(everyone) == 1:
        return None
    if methods:
        return measure
    return translated("AUC, each against the rest") if measure == "AUC" else None


def _mean_curve(curves: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """The mean of some ROC curves, which may rise vertically: the lower and the upper value at every x."""
    at = np.unique(np.concatenate([false for false, _ in curves]))
    feet, tops = np.mean([_heights(at, *curve) for curve in curves], axis=0)
    return np.repeat(at, 2), np.stack([feet, tops], axis=1).ravel()


def _heights(at: np.ndarray, false: np.ndarray, true: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    x, foot = np.unique(false, return_index=True)
    top = np.append(foot[1:], len(false)) - 1
    k = np.searchsorted(x, at, side="right") - 1
    after = np.minimum(k + 1, len(x) - 1)
    there = x[k] == at
    slope = (true[foot[after]] - true[top[k]]) / np.where(there, 1.0, x[after] - x[k])
    between = true[top[k]] + slope * (at - x[k])
    return np.where(there, true[foot[k]], between), np.where(there, true[top[k]], between)


@styled
def plot_calibration(
    truth: Any,
    proba: Any,
    labels: Sequence[Any] | None = None,
    *,
    bins: int = 10,
    strategy: str = "quantile",
    ax: Any = None,
) -> Any:
    """Draw how often the class came about over the probability it was given; the diagonal is perfect.

    The bars at the foot count the rows of each probability. With more than two classes each is set against the
    rest; with more than six, or too few rows of each, one curve is of the class that was predicted.

    Parameters
    ----------
    truth, proba, labels
        As in `plot_roc`; probabilities between 0 and 1.
    bins : int, default=10
        Groups of rows.
    strategy : {"quantile", "uniform"}, default="quantile"
        Groups of equal size, or of equal width.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> ax = plot_calibration([0, 0, 1, 1], [0.1, 0.2, 0.7, 0.9], bins=2)
    >>> ax.get_lines()[-1].get_xydata().round(2).tolist()
    [[0.15, 0.0], [0.8, 1.0]]
    """
    if strategy not in ("quantile", "uniform"):
        raise ValueError(f"strategy must be 'quantile' or 'uniform'; got {strategy!r}.")
    chosen = _one_vs_rest(truth, proba, labels)[: CLASSES if isinstance(proba, Mapping) else None]
    if len(chosen) > CLASSES or (
        not isinstance(proba, Mapping)
        and len(chosen) > 1
        and max(one.is_it.sum() for one in chosen) < ROWS * bins
    ):
        chosen = [_predicted(truth, proba, labels)]
    for _, _, p in chosen:
        if p.min() < -1e-9 or p.max() > 1 + 1e-9:
            raise ValueError(f"proba must lie between 0 and 1; it goes from {p.min():.3g} to {p.max():.3g}.")
    ax = get_axes(ax)
    ax.plot([0, 1], [0, 1], color=INK, alpha=0.35, linewidth=0.8, linestyle=(0, (4, 3)))
    everyone = np.concatenate([p for _, _, p in chosen])
    counts, edges = np.histogram(everyone, bins=25, range=(0, 1))
    ax.bar(
        edges[:-1], 0.14 * counts / counts.max(), width=0.04, align="edge", color=INK, alpha=0.15, linewidth=0
    )
    for (label, is_it, p), colour in zip(chosen, COLOURS):  # at most six
        said, seen = _reliability(is_it, p, bins, strategy)
        ax.plot(said, seen, color=colour, marker="o", markersize=4, label=short_name(label))
    ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01))
    if len(chosen) > 1:
        ax.legend(loc="upper left")
    if chosen[0].label is None:
        return label_axes(
            ax, translated("probability of the predicted class"), translated("share that is right")
        )
    return label_axes(ax, translated("predicted probability"), translated("observed frequency"))


def _reliability(is_it: np.ndarray, p: np.ndarray, bins: int, strategy: str) -> tuple[np.ndarray, np.ndarray]:
    inner = np.linspace(0, 1, bins + 1)[1:-1]
    edges = np.unique(np.quantile(p, inner)) if strategy == "quantile" else inner
    group = np.searchsorted(edges, p, side="right")
    size = np.bincount(group, minlength=bins)
    full = size > 0
    said = np.bincount(group, weights=p, minlength=bins)[full] / size[full]
    seen = np.bincount(group, weights=is_it, minlength=bins)[full] / size[full]
    return said, seen


class OneVsRest(NamedTuple):
    """One class against the rest: its label, which rows are of it, and the score that each was given."""

    label: Any
    is_it: np.ndarray
    score: np.ndarray


def _one_vs_rest(truth: Any, proba: Any, labels: Any) -> list[OneVsRest]:
    """The second of two classes, or every class that occurs."""
    if isinstance(proba, Mapping):
        return [_of_method(name, truth, score, labels) for name, score in proba.items()]
    position, score, labels = _scored(truth, proba, labels)
    if len(labels) == 2:
        return [OneVsRest(labels[1], position == 1, score[:, 1])]
    size = np.bincount(position, minlength=len(labels))
    here = np.flatnonzero((size > 0) & (size < len(position)))
    return [OneVsRest(labels[j], position == j, score[:, j]) for j in here]


def _of_method(name: str, truth: Any, proba: Any, labels: Any) -> OneVsRest:
    """The scores of the second of two classes by one of several methods."""
    position, score, labels = _scored(truth, proba, labels)
    if len(labels) != 2:
        raise ValueError(f"proba of several methods needs two classes; there are {len(labels)}.")
    return OneVsRest(name, position == 1, score[:, 1])


def _most_frequent(sides: list[OneVsRest]) -> list[int]:
    """Which to show: as many as one picture can, in their order."""
    order = np.argsort([-side.is_it.sum() for side in sides], kind="stable")
    return sorted(order[:CLASSES].tolist())


def _predicted(truth: Any, proba: Any, labels: Any) -> OneVsRest:
    """Whether the class of the highest probability is right, and that probability."""
    position, score, _ = _scored(truth, proba, labels)
    return OneVsRest(None, score.argmax(axis=1) == position, score.max(axis=1))


def _scored(truth: Any, proba: Any, labels: Any) -> tuple[np.ndarray, np.ndarray, list[Any]]:
    """The position of each row's class among the labels, and the score of every class."""
    score = finite_array(proba, "proba")
    check_same_length(truth=truth, proba=score)
    (position,), labels = _label_indices(labels, truth=truth)
    k = len(labels)
    if k < 2:
        raise ValueError(f"truth has one class only ({labels[0]!r}); a curve needs two.")
    if score.ndim == 1:
        score = np.stack([1 - score, score], axis=1)
    if score.shape[1] != k:
        raise ValueError(f"proba has {score.shape[1]} columns for {k} classes.")
    return position, score, labels


def _label_indices(labels: Any, **arrays: Any) -> tuple[list[np.ndarray], list[Any]]:
    """The index of each value among the labels: values are given as labels, or as indices already."""
    values = {what: np.asarray(array) for what, array in arrays.items()}
    _check_drawable(values)
    if labels is None:
        labels = np.unique(np.concatenate(list(values.values()))).tolist()
    index = {label: k for k, label in enumerate(labels)}
    unknown = [(what, v) for what, array in values.items() for v in array.tolist() if v not in index]
    if not unknown:
        return [np.array([index[v] for v in array.tolist()]) for array in values.values()], list(labels)
    if all(_are_indices(array, len(labels)) for array in values.values()):
        return list(values.values()), list(labels)
    beyond = [(what, v) for what, v in unknown if v not in range(len(labels))]
    what, value = (beyond or unknown)[0]
    raise ValueError(f"{what} has {value!r}, which is not among the labels {list(labels)[:10]}.")


def _check_drawable(values: dict[str, np.ndarray]) -> None:
    """Refuse labels of different lengths, none at all, and NaN."""
    check_same_length(**values)
    for what, array in values.items():
        if array.size == 0:
            raise ValueError(f"{what} is empty: there is nothing to draw.")
        if array.dtype.kind == "f" and np.isnan(array).any():
            raise ValueError(f"{what} has NaN at row {int(np.argmax(np.isnan(array)))}.")


def _are_indices(array: np.ndarray, count: int) -> bool:
    return bool(array.dtype.kind in "iu" and array.min() >= 0 and array.max() < count)
