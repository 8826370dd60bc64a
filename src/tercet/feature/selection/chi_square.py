"""Chi-square filter: columns of counts that depend on the class (卡方检验).

For a column of counts (words in a text, ones of an indicator) the sum over the rows of a class is what is observed;
expected are the column's sum times the shares of the classes. The statistic

    chi2_j = sum_c (O_cj - E_cj)^2 / E_cj

has K - 1 degrees of freedom, for K classes, when column and class are independent.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import chdtrc
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, column_or_1d

from tercet.core.catalog import method
from tercet.core.estimator import distinct
from tercet.core.sample_weights import check_weight
from tercet.core.validation import check_array


@method(
    zh="卡方特征评分",
    task="feature selection",
    model="a score and a p-value for each column of counts",
    strategy="Σ (observed − expected)² / expected over the classes",
    texts=["Machine Learning in Depth ch. 3", "watermelon notes ch. 10"],
    peers=["sklearn.feature_selection.chi2", "fast_select.chi2"],
)
def chi2(X: Any, y: Any, *, sample_weight: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """Chi-square statistics of columns of counts and the classes.

    `sklearn.feature_selection.SelectKBest(chi2, k=20)` keeps the best columns; `VarianceThreshold` there drops
    those that hardly vary.

    Parameters
    ----------
    X : array, frame or sparse matrix of shape (n_samples, n_features)
        Counts or frequencies: no negative values.
    y : array of shape (n_samples,)
        Classes.
    sample_weight : array of shape (n_samples,), optional
        How often each row counts.

    Returns
    -------
    chi2, p_values : arrays of shape (n_features,)
        NaN for columns that are 0 throughout.

    Examples
    --------
    >>> X = [[1, 3], [1, 3], [9, 3], [9, 3]]
    >>> found, p = chi2(X, [0, 0, 1, 1])
    >>> found.round(3), p.round(3)
    (array([12.8,  0. ]), array([0., 1.]))
    """
    names = getattr(X, "columns", None)
    table = check_array(X, accept_sparse="csr", dtype=(np.float64, np.float32), input_name="X")
    labels = column_or_1d(y, warn=True)
    check_classification_targets(labels)
    check_consistent_length(table, labels)
    classes, index = distinct(labels)
    n, k = len(index), len(classes)
    least = np.asarray(table.min(axis=0).todense() if sparse.issparse(table) else table.min(axis=0)).ravel()
    if (least < 0).any():
        column = int(np.argmax(least < 0))
        name = f"{names[column]!r}" if names is not None else str(column)
        raise ValueError(
            f"chi2: Input X must be non-negative, as counts are; column {name} has {least[column]:g}. Numbers are "
            "cut into bins first, or judged by mutual_info_classif."
        )
    weight = np.ones(n) if sample_weight is None else np.asarray(check_weight(sample_weight, table), float)
    member = sparse.csr_array((weight, (index, np.arange(n))), shape=(k, n))
    observed = member @ table.astype(np.float64)
    observed = observed.toarray() if sparse.issparse(observed) else np.asarray(observed)
    share = np.asarray(member.sum(axis=1)) / weight.sum()
    expected = share[:, None] * observed.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        found = ((observed - expected) ** 2 / expected).sum(axis=0)
    return found, chdtrc(k - 1, found)
