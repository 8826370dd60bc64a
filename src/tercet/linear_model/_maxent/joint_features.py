"""Features f_i(x, y) of any kind as a joint matrix, and contexts given as dicts as a CSR matrix."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.functions import log_sum_exp


class JointFeatures:
    """Features given as a matrix with a row for each pair (x, y), context by context.

    Parameters
    ----------
    F : CSR matrix of shape (n_contexts * n_labels, n_features)
    n_labels : int
    context : array of shape (n_samples,)
        The context of each sample.
    """

    def __init__(self, F: sparse.csr_array, n_labels: int, context: np.ndarray) -> None:
        self.F, self.n_labels, self.context = F, n_labels, context
        self.size = F.shape[1]

    def context_weight(self, weight: np.ndarray) -> np.ndarray:
        """The empirical distribution of contexts, from weights of the samples."""
        return np.bincount(self.context, weight, self.F.shape[0] // self.n_labels)

    def empirical(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """The expectations of the features in the data."""
        seen = np.bincount(self.context * self.n_labels + y, weight, self.F.shape[0])
        return self.F.T @ seen

    def scores(self, w: np.ndarray) -> np.ndarray:
        """sum_i w_i f_i(x, y), an array of shape (n_contexts, n_labels)."""
        return (self.F @ w).reshape(-1, self.n_labels)

    def statistics(self, w: np.ndarray, weight: np.ndarray) -> tuple[float, np.ndarray]:
        """sum_x P(x) log Z(x), and the expectations of the features under the model."""
        scores = self.scores(w)
        log_z = log_sum_exp(scores)
        self._last = np.exp(scores - log_z[:, None]), weight
        return float(weight @ log_z), self.F.T @ (weight[:, None] * self._last[0]).ravel()

    def hessian_product(self, v: np.ndarray) -> np.ndarray:
        """The mean covariance matrix of the features, at the point of the last `statistics`, times v."""
        p, weight = self._last
        along = self.scores(v)
        along -= (p * along).sum(axis=1, keepdims=True)
        return self.F.T @ (weight[:, None] * p * along).ravel()

    def matrix(self) -> sparse.csr_array:
        """The features as a joint matrix."""
        return self.F


def encode_dicts(contexts: Sequence[Mapping], vocabulary: dict[str, int] | None = None) -> tuple[Any, dict]:
    """Contexts given as dicts of named features, as a CSR matrix, and the columns of the names.

    A number is the value of its name's column; anything else (a string, True, None) makes a column "name=value"
    with the value 1. With a vocabulary given, what is not in it is left out.

    Examples
    --------
    >>> X, names = encode_dicts([{"suffix": "a", "length": 3}, {"suffix": "k", "length": 2.5}])
    >>> names
    {'suffix=a': 0, 'length': 1, 'suffix=k': 2}
    >>> X.toarray()
    array([[1. , 3. , 0. ],
           [0. , 2.5, 1. ]])
    """
    names: dict[str, int] = {} if vocabulary is None else vocabulary
    indptr, indices, data = [0], [], []
    for context in contexts:
        for name, value in context.items():
            number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
            key = name if number else f"{name}={value}"
            column = names.setdefault(key, len(names)) if vocabulary is None else names.get(key)
            if column is not None:
                indices.append(column)
                data.append(float(value) if number else 1.0)
        indptr.append(len(indices))
    X = sparse.csr_array((data, indices, indptr), shape=(len(indptr) - 1, len(names)), dtype=float)
    X.sum_duplicates()
    return X, names


def apply_functions(functions: Sequence[Callable], contexts: Any, labels: Any) -> JointFeatures:
    """The features f(x, y) of contexts of any kind; equal ones, where they can be hashed, are taken together."""
    places: dict[Hashable, int] = {}
    different: list[Any] = []
    context = np.empty(len(contexts), dtype=np.int64)
    for i, x in enumerate(contexts):
        key = x if isinstance(x, Hashable) else (i,)
        place = places.setdefault(key, len(different))
        if place == len(different):
            different.append(x)
        context[i] = place
    values = [[float(f(x, y)) for f in functions] for x in different for y in labels]
    F = sparse.csr_array(np.asarray(values).reshape(len(different) * len(labels), len(functions)))
    if not np.isfinite(F.data).all():
        raise ValueError("MaxEnt: feature_functions must give finite numbers; got NaN or infinity.")
    return JointFeatures(F, len(labels), context)
