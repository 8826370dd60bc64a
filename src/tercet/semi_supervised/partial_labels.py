"""Targets of which some are not known: -1, or None among strings, is no label.

Everything in this family reads its `y` here.
"""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from tercet.core.estimator import NO_TARGET, Classifier, distinct
from tercet.core.input_errors import Broken, Explaining, shown

UNLABELED = -1


def is_unlabeled(y: Any) -> np.ndarray:
    """Mask of the rows without a label: -1; in an array of objects also None and NaN.

    Parameters
    ----------
    y : array of shape (n_samples,)
        Labels.

    Returns
    -------
    array of bool of shape (n_samples,)

    Examples
    --------
    >>> is_unlabeled([2, -1, 0])
    array([False,  True, False])
    >>> is_unlabeled(["a", None, "b", -1])
    array([False,  True, False,  True])
    """
    y = label_array(y)
    if y.dtype.kind == "O":
        return np.fromiter((is_missing_label(label) for label in y), dtype=bool, count=y.size)
    if y.dtype.kind in "if":
        return y == UNLABELED
    return np.zeros(y.shape, dtype=bool)


def is_missing_label(label: Any) -> bool:
    if label is None or (isinstance(label, float | np.floating) and label != label):
        return True
    return isinstance(label, int | float | np.integer | np.floating) and label == UNLABELED


def label_array(y: Any) -> np.ndarray:
    """Labels as an array; strings beside None or -1 as an array of objects, in which None is no label.

    An array of strings that holds "-1" is refused: it was made from a list of strings and -1.
    """
    found = np.asarray(y)
    if found.dtype.kind in "US" and isinstance(y, list | tuple):
        found = np.asarray(y, dtype=object)  # -1 as it was, not as "-1"
    if found.ndim != 1:
        return found
    if found.dtype.kind in "US" and (found == found.dtype.type("-1")).any():
        raise ValueError(
            "y has dtype string and holds '-1'. Rows without a label are None (or -1) in an array of objects: "
            "np.array([...], dtype=object)."
        )
    if found.dtype.kind == "O":
        missing = np.fromiter((is_missing_label(label) for label in found), dtype=bool, count=found.size)
        known = found[~missing]
        plain = str | bool | int | float | np.bool_ | np.integer | np.floating
        strange = [label for label in known if not isinstance(label, plain)]
        if strange:
            raise ValueError(f"y must hold labels, numbers or strings; got {shown(strange[0])}.")
        kinds = {str if isinstance(label, str) else float for label in known}
        if kinds == {str}:
            if not missing.any():
                return known.astype(str)
            found = found.copy()
            found[missing] = None
        elif kinds == {float} and not any(label is None for label in found[missing]):
            return np.array(found.tolist())
        elif len(kinds) > 1:
            raise ValueError(
                "y must hold labels of one kind, strings or numbers, and None or -1 where there is none; got "
                f"{shown(known[:4].tolist())}."
            )
        elif kinds == {float}:
            numbers = np.array(known.tolist())
            found = np.full(found.shape, UNLABELED, dtype=np.result_type(numbers.dtype, np.int8))
            found[~missing] = numbers
    return found


def encode_labels(y: np.ndarray, name: str, least: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Classes, and each label's index among them, -1 where there is none; an error where too few are known."""
    missing = is_unlabeled(y)
    known = y[~missing]
    if not known.size:
        raise ValueError(
            f"{name}: y has no labelled row: all {y.size} are -1 (or None). Give some of each class their labels."
        )
    known = known.astype(str) if known.dtype.kind == "O" else known
    with Explaining(y=known):
        check_classification_targets(known)
    classes, index = distinct(known)
    if classes.size < least:
        raise ValueError(
            f"{name} needs labelled samples of at least {least} classes; those of y are of only one class: "
            f"{classes.tolist()[0]!r}. A class with no labelled row cannot be learned."
        )
    codes = np.full(y.size, UNLABELED, dtype=np.int64)
    codes[~missing] = index
    return classes, codes


def decode_labels(classes: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Labels from indices; -1 (None among strings) where there is none.

    Examples
    --------
    >>> decode_labels(np.array(["a", "b"]), np.array([1, -1]))
    array(['b', None], dtype=object)
    """
    missing = codes < 0
    if not missing.any():
        return classes[codes]
    if classes.dtype.kind in "USOb":
        found = classes[np.maximum(codes, 0)].astype(object)
        found[missing] = None
        return found
    found = classes[np.maximum(codes, 0)].astype(np.result_type(classes.dtype, np.int8))
    found[missing] = UNLABELED
    return found


def check_labeled_weight(
    codes: np.ndarray, weight: np.ndarray | None, classes: np.ndarray, name: str
) -> None:
    """An error where no labelled row of some class has a weight: nothing says what that class is."""
    if weight is None:
        return
    mass = np.bincount(codes[codes >= 0], weight[codes >= 0], minlength=classes.size)
    empty = classes[mass <= 0]
    if empty.size:
        raise ValueError(
            f"{name}: the classes {empty.tolist()} have no labelled row with a positive sample_weight. A class "
            "with no labelled row cannot be learned."
        )


def warn_all_labeled(name: str) -> None:
    """What scikit-learn says, too, where there is nothing to learn without labels."""
    warnings.warn(
        f"{name}: y contains no unlabeled samples. Rows whose label is not known are -1, or None among strings.",
        UserWarning,
        stacklevel=2,
    )


class SemiSupervisedClassifier(Classifier):
    """Classifier that learns from rows with labels and rows without (-1; None among strings).

    `_fit` gets indices into `classes_`, and -1.
    """

    inference: ClassVar[Literal["inductive", "transductive"]] = "inductive"
    least_classes: ClassVar[int] = 2

    def _scorable(self, y: np.ndarray) -> np.ndarray:
        """Mask of the rows that a callback may hold out to score by: those with a label."""
        return ~is_unlabeled(y)

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        if y is NO_TARGET or y is None:
            return super()._check(X, y, reset=reset)
        y, codes = target_codes(y)
        X, checked = super()._check(X, codes, reset=reset)
        return X, (checked if codes is y else y)

    def _encode(self, y: Any) -> np.ndarray:
        self.classes_, codes = encode_labels(y, type(self).__name__, self.least_classes)
        return codes


def target_codes(y: Any) -> tuple[Any, Any]:
    """y as an array, and what the common checks are to look at: itself, or numbers in the place of objects."""
    if isinstance(y, np.ndarray) and y.ndim == 1 and y.dtype.kind in "ifub":
        return y, y
    try:
        flat = np.asarray(y)
    except Broken:  # lists of unequal lengths, say
        return y, y
    if flat.ndim != 1 or not flat.size:
        return y, y  # the common checks say what is wrong, or flatten a column
    found = label_array(y)
    return (found, is_unlabeled(found).astype(np.int64)) if found.dtype.kind in "OUS" else (found, found)
