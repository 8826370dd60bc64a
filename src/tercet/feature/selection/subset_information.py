"""Information gain of a set of columns: what their joint values tell about the classes.

Watermelon notes eq. 10.1, 10.2.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import xlogy

from tercet.core.catalog import method
from tercet.core.column_parsing import warn_of_measurements


@method(
    zh="子集评价（信息增益）",
    task="feature selection",
    model="rows parted by the joint values of a set A of columns",
    strategy="Gain(A) = Ent(D) − Σᵥ |Dᵛ|/|D| Ent(Dᵛ)",
    texts=["watermelon notes ch. 10, eq. 10.1, 10.2"],
)
def subset_information_gain(X: Any, y: Any, columns: Any = None, base: float = 2.0) -> float:
    """Information gain of a set of columns, in bits.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Rows of categories; numbers are taken as they are, so that discretise them first.
    y : array of shape (n_samples,)
        Classes.
    columns : array of indices, default=None
        The set; all columns when None. The empty set gains 0.
    base : float, default=2.0
        Of the logarithm.

    Examples
    --------
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    >>> [subset_information_gain(X, y, columns) for columns in ([0], [1], [0, 1])]
    [0.0, 0.0, 1.0]
    """
    table, labels = np.asarray(X), np.asarray(y)
    if table.ndim != 2 or labels.shape != (len(table),) or not len(table):
        raise ValueError(
            f"X must have a row for each of y's labels; got shapes {table.shape} and {labels.shape}."
        )
    if not base > 1:
        raise ValueError(f"base must be above 1; got {base!r}.")
    kept = table if columns is None else table[:, np.asarray(columns, dtype=np.int64)]
    part = np.zeros(len(table), dtype=np.int64)
    for column in kept.T:  # one column at a time: codes stay below the number of rows
        codes = np.unique(column, return_inverse=True)[1]
        warn_of_measurements(column, "subset_information_gain")
        part = np.unique(part * (codes.max() + 1) + codes, return_inverse=True)[1]
    classes = np.unique(labels, return_inverse=True)[1]
    counts = np.zeros((part.max() + 1, classes.max() + 1))
    np.add.at(counts, (part, classes), 1.0)
    gain = _entropy(counts.sum(axis=0)[None]) - _entropy(counts)
    return float(max(gain, 0.0) / np.log(base))


def _entropy(counts: np.ndarray) -> float:
    """Mean entropy of the rows of a table, each weighing as much as it counts."""
    size = counts.sum(axis=1)
    return float((xlogy(size, size).sum() - xlogy(counts, counts).sum()) / size.sum())
