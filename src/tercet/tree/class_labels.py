"""Class labels of one or several outputs, and the weights of their classes, for trees and forests."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets

from tercet.core.estimator import distinct


def encode_classes(y: Any) -> tuple[Any, Any, np.ndarray]:
    """The classes, their number, and the labels as indices; lists and columns where y has several columns.

    Examples
    --------
    >>> encode_classes(np.array(["b", "a", "b"]))
    (array(['a', 'b'], dtype='<U1'), 2, array([1, 0, 1]))
    """
    if np.ndim(y) == 1:
        one, index = distinct(y)  # one class is enough: the tree is a leaf
        return one, len(one), index
    check_classification_targets(y)
    pairs = [distinct(np.asarray(y)[:, k]) for k in range(np.shape(y)[1])]
    classes = [one for one, _ in pairs]
    return classes, np.array([len(one) for one in classes]), np.column_stack([index for _, index in pairs])


def all_classes(classes: Any) -> list[np.ndarray]:
    """The classes of each output, in a list also where there is only one.

    Examples
    --------
    >>> all_classes(np.array([0, 1]))
    [array([0, 1])]
    """
    return classes if isinstance(classes, list) else [classes]


def class_weights(class_weight: Any, classes: Any, y: np.ndarray, rows: Any = None) -> np.ndarray:
    """The weight of each row by its class, multiplied over outputs.

    Parameters
    ----------
    class_weight : dict, list of dict, "balanced"
        As in scikit-learn; a list has a dict for each output.
    classes : array, or list of arrays
        The classes of the outputs.
    y : int array of shape (n,) or (n, n_outputs)
        Indices of classes.
    rows : array of indices, optional
        The rows that "balanced" counts; all by default.

    Examples
    --------
    >>> class_weights({"a": 1, "b": 5}, np.array(["a", "b"]), np.array([0, 1, 1])).tolist()
    [1.0, 5.0, 5.0]
    """
    labels = [one[index] for one, index in zip(all_classes(classes), np.reshape(y, (len(y), -1)).T)]
    return compute_sample_weight(
        class_weight, labels[0] if np.ndim(y) == 1 else np.column_stack(labels), indices=rows
    )
