"""Scores of classes or of models, as the pictures of evaluation take them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tercet.core.sample_weights import check_weight
from tercet.plot.styling import COLOURS, check_same_length, finite_array, short_name, translated

CLASSES = 6  # the most curves in one picture
DRAWN = 2000  # points of a curve that a picture can show


class OneVsRest(NamedTuple):
    """One class against the rest, or one model: its name, which rows are positive, and the score of each."""

    label: Any
    is_it: np.ndarray
    score: np.ndarray


class Compared(NamedTuple):
    """The curves of one picture.

    Attributes
    ----------
    sides : list of OneVsRest
        One for each class (a single one where there are two), or for each model.
    models : bool
        Whether they are models, named by the caller.
    weight : array of shape (n_samples,) or None
        Weights of the rows.
    """

    sides: list[OneVsRest]
    models: bool
    weight: np.ndarray | None

    @property
    def alone(self) -> bool:
        """Whether there is one curve, which needs no name."""
        return len(self.sides) == 1 and not self.models

    def shown(self) -> list[int]:
        """Indices of the curves to draw: those of the most frequent classes, as many as one picture can show."""
        if self.models:
            return list(range(len(self.sides)))
        order = np.argsort([-side.is_it.sum() for side in self.sides], kind="stable")
        return sorted(order[:CLASSES].tolist())

    def title(self) -> str:
        """What is left out, if anything is."""
        shown, k = len(self.shown()), len(self.sides)
        if shown == k:
            return ""
        return translated("{shown} of {k} classes, the most frequent", shown=shown, k=k)

    def named(self, side: OneVsRest, measure: str) -> str:
        """Text of a curve in the legend: its measure, after the name where there are several."""
        return measure if self.alone else f"{short_name(side.label)}\u2002{measure}"


def compared(
    truth: Any,
    score: Any,
    labels: Sequence[Any] | None,
    sample_weight: Any = None,
    *,
    both_classes: bool = True,
) -> Compared:
    """The curves of one model's classes, or of several models given by name."""
    sides, models = _sides(truth, score, labels)
    weight = check_weight(sample_weight, np.empty((len(truth), 0)))
    counted = slice(None) if weight is None else weight > 0
    for side in sides if both_classes else ():
        positive = side.is_it[counted]
        if positive.all() or not positive.any():
            raise ValueError("truth has one class only; a curve needs two.")
    return Compared(sides, models, weight)


def _sides(truth: Any, score: Any, labels: Sequence[Any] | None) -> tuple[list[OneVsRest], bool]:
    """The classes of one model, or the models of a dictionary, and which of the two."""
    if not isinstance(score, Mapping):
        return one_vs_rest(truth, score, labels), False
    if not score:
        raise ValueError("score is an empty dictionary: there is no model to draw.")
    if len(score) > len(COLOURS):
        raise ValueError(f"at most {len(COLOURS)} models can be told apart; got {len(score)}.")
    sides = []
    for name, one in score.items():
        found = one_vs_rest(truth, one, labels)
        if len(found) != 1:
            raise ValueError(
                f"several models are compared on two classes; truth has {len(found)}. Draw each by itself, or "
                "give truth == a_class and that class's scores."
            )
        sides.append(found[0]._replace(label=name))
    return sides, True


def thinned(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Points of a curve that are equally far along it, as many as a picture can show; all if they are few."""
    if x.size <= DRAWN:
        return x, y
    spans = np.ptp(x) or 1.0, np.ptp(y) or 1.0
    along = np.append(0.0, np.cumsum(np.abs(np.diff(x)) / spans[0] + np.abs(np.diff(y)) / spans[1]))
    kept = np.unique(np.searchsorted(along, np.linspace(0, along[-1], DRAWN)).clip(0, x.size - 1))
    kept[0], kept[-1] = 0, x.size - 1
    return x[kept], y[kept]


def one_vs_rest(truth: Any, proba: Any, labels: Any) -> list[OneVsRest]:
    """The second of two classes, or every class that occurs."""
    position, score, labels = scored(truth, proba, labels)
    if len(labels) == 2:
        return [OneVsRest(labels[1], position == 1, score[:, 1])]
    size = np.bincount(position, minlength=len(labels))
    here = np.flatnonzero((size > 0) & (size < len(position)))
    return [OneVsRest(labels[j], position == j, score[:, j]) for j in here]


def predicted(truth: Any, proba: Any, labels: Any) -> OneVsRest:
    """Whether the class of the highest probability is right, and that probability."""
    position, score, _ = scored(truth, proba, labels)
    return OneVsRest(None, score.argmax(axis=1) == position, score.max(axis=1))


def scored(truth: Any, proba: Any, labels: Any) -> tuple[np.ndarray, np.ndarray, list[Any]]:
    """The position of each row's class among the labels, and the score of every class."""
    score = finite_array(proba, "proba")
    check_same_length(truth=truth, proba=score)
    (position,), labels = label_indices(labels, truth=truth)
    k = len(labels)
    if k < 2:
        raise ValueError(f"truth has one class only ({labels[0]!r}); a curve needs two.")
    if score.ndim == 1:
        score = np.stack([1 - score, score], axis=1)
    if score.shape[1] != k:
        raise ValueError(f"proba has {score.shape[1]} columns for {k} classes.")
    return position, score, labels


def label_indices(labels: Any, **arrays: Any) -> tuple[list[np.ndarray], list[Any]]:
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
