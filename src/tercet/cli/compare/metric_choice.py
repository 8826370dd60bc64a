"""Choice of the measure that ranks: by the task and the target, or by name."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

import numpy as np

from tercet.cli import errors, scorers
from tercet.cli.errors import Refusal
from tercet.cli.measures import MEASURES, Measure, suitable
from tercet.cli.translation import tr
from tercet.core.messages import Message

FEWEST_COUNTS = 4  # different numbers in a target that may count something
LOPSIDED = 0.8  # the share of one class from which accuracy says little


def choose_measure(
    name: str | None, task: str, y: Any, n_classes: int, classes: Sequence[Any] = ()
) -> tuple[Measure, Message | None]:
    """The measure that ranks, and why it is not the usual one.

    Parameters
    ----------
    name : str or None
        Ours or scikit-learn's; None chooses.
    task : str
    y : array or None
        Indices of classes, or numbers.
    n_classes : int
    classes : sequence
        The classes, if nobody has said that they are classes and not numbers.
    """
    counts = task == "regression" and y is not None and bool((y >= 0).all())
    allowed = suitable(task, labelled=y is not None, counts=counts)
    if name is not None:
        return _named(name, task, allowed, n_classes), None
    if task == "classification" and (shares := _shares(y, n_classes)).max() >= LOPSIDED:
        few = int(np.sort(np.bincount(y, minlength=n_classes))[0])
        why = Message(
            "Ranked by {metric}, not by accuracy: {share:.0%} of the rows are of one class, and whoever always "
            "answers so is right as often (--metric).",
            metric=Message("ROC AUC" if few > 1 else "log loss"),
            share=float(shares.max()),
        )
        return MEASURES["roc_auc" if few > 1 else "log_loss"], why
    if task == "classification" and (values := _counted(classes)) is not None and _tails_off(values[y]):
        return allowed[0], Message(
            "The target has whole numbers from {low:.0f} to {high:.0f}, taken as classes: if they count something, "
            "--task regression --metric poisson_deviance takes them as counts.",
            low=float(values.min()),
            high=float(values.max()),
        )
    if counts and looks_like_counts(y):
        return allowed[0], Message(
            "The target has whole numbers from {low:.0f} to {high:.0f}: if they count something, --metric "
            "poisson_deviance ranks by the deviance of counts.",
            low=float(y.min()),
            high=float(y.max()),
        )
    return allowed[0], None


def of_which_class(measure: Measure, classes: Sequence[Any], y: np.ndarray) -> Message | None:
    """Which of two classes a measure of one class is about; None for other measures.

    Examples
    --------
    >>> of_which_class(scorers.find("f1"), ["no", "yes"], np.array([0, 0, 1]))
    "f1 is that of the class 'yes'."
    """
    if len(classes) != 2 or measure.name not in scorers.OF_ONE_CLASS:
        return None
    label = classes[scorers.positive_class(classes, y)]
    label = label.item() if isinstance(label, np.generic) else label
    return Message("{metric} is that of the class {label!r}.", metric=Message(measure.title), label=label)


def rarest_rows(measure: Measure, y: Any) -> int | None:
    """Rows of the rarer of two classes for a measure that weighs classes and not rows; None for others.

    Examples
    --------
    >>> y = np.array([0, 0, 0, 1, 1])
    >>> [rarest_rows(scorers.find(name), y) for name in ("roc_auc", "f1", "accuracy")]
    [2, 2, None]
    """
    if not (measure.by_class or measure.name in scorers.OF_ONE_CLASS) or y is None:
        return None
    counts = np.bincount(y)
    return int(counts.min()) if counts.size == 2 else None


def looks_like_counts(y: np.ndarray) -> bool:
    """Whether a target may count something: whole numbers from 0 or 1 on, small ones more often than large ones.

    Examples
    --------
    >>> looks_like_counts(np.array([0, 0, 1, 0, 2, 5])), looks_like_counts(np.array([1990, 1991, 2000]))
    (True, False)
    """
    return bool((y == np.floor(y)).all() and 0 <= y.min() <= 1 < y.max() and np.median(y) < y.max() / 2)


def _counted(classes: Sequence[Any]) -> np.ndarray | None:
    """The classes as numbers, if they are whole numbers."""
    numbers = isinstance(classes, Sequence) and all(isinstance(c, (int, float, np.number)) for c in classes)
    values = np.array(classes, dtype=float) if len(classes) >= FEWEST_COUNTS and numbers else None
    return values if values is not None and (values == np.floor(values)).all() else None


def _tails_off(y: np.ndarray) -> bool:
    """Whether these look like counts, the largest of which is rare."""
    _, counts = np.unique(y, return_counts=True)
    return looks_like_counts(y) and bool(counts[-1] < counts.max() / 4)


def _shares(y: np.ndarray, n_classes: int) -> np.ndarray:
    return np.bincount(y, minlength=n_classes) / y.size


def _named(name: str, task: str, allowed: list[Measure], n_classes: int) -> Measure:
    measure = scorers.find(name)
    labelled = any(one.needs == "outside" for one in allowed) or task != "clustering"
    known = measure is not None and (
        measure in allowed or (measure.name in scorers.ALL and measure.task == task)
    )
    if measure is None or not known or (measure.needs == "outside" and not labelled):
        names = [one.name for one in allowed]
        others = [other for other, (its, _) in scorers.ALL.items() if its == task]
        near = difflib.get_close_matches(name, [*names, *others], 1)
        raise Refusal(
            tr(
                "--metric {name}: for {task} there are {names}, and scikit-learn's scorers ({near} ...)",
                name=name,
                task=tr(task),
                names=", ".join(names),
                near=", ".join(near or others[:2]),
            ),
            errors.USAGE,
        )
    if measure.name in scorers.FOR_TWO_CLASSES and n_classes > 2:
        raise Refusal(
            tr("--metric {name} is for two classes, and there are {n}", name=name, n=n_classes), errors.USAGE
        )
    return measure
