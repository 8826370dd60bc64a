"""Joint features f_i(x, y) of maximum entropy models, and what is summed over them.

`ProductFeatures` are f(x, y) = x_j [y = k] for the columns of a matrix; `JointFeatures` are any others.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.cache_lines import lines
from tercet.core.functions import log_sum_exp
from tercet.core.kernel import kernel
from tercet.core.parallel import Chunks, total
from tercet.core.rows import columns, rows
from tercet.core.sparse_products import multiply_lines, times
from tercet.optimize import Ray, RayPoint, Wolfe

LARGE = 100_000  # entries of X from which float32 pays
SMALL = 1e6  # larger numbers than this may leave the range of float32 in products


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

    def curvature(self, v: np.ndarray) -> np.ndarray:
        """The covariances of the features, averaged over the contexts, times v, where `statistics` was last."""
        p, weight = self._last
        along = self.scores(v)
        along -= (p * along).sum(axis=1, keepdims=True)
        return self.F.T @ (weight[:, None] * p * along).ravel()

    def matrix(self) -> sparse.csr_array:
        """The features as a joint matrix."""
        return self.F


class ProductFeatures:
    """f(x, y) = x_j [y = k] for all columns j and labels k, or only for some pairs of them.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples, n_columns)
        Float64.
    n_labels : int
    seen : boolean array of shape (n_columns, n_labels), optional
        The pairs that have a weight.
    n_jobs : int, optional
        Threads; the results do not depend on it.
    """

    def __init__(
        self, X: Any, n_labels: int, seen: np.ndarray | None = None, n_jobs: int | None = None
    ) -> None:
        self.X, self.n_labels, self.n_jobs = X, n_labels, n_jobs
        self.seen = None if seen is None or seen.all() else np.flatnonzero(seen)
        self.size = X.shape[1] * n_labels if self.seen is None else self.seen.size
        self._chunks: list[Chunk] | None = None
        self._padded: dict[Any, np.ndarray] = {}
        self._coarse: Any = np.float64

    def context_weight(self, weight: np.ndarray) -> np.ndarray:
        return weight

    def empirical(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return self.pick(tally(self.X, y, weight, self.n_labels))

    def table(self, w: np.ndarray) -> np.ndarray:
        """The weights as an array of shape (n_columns, n_labels)."""
        if self.seen is None:
            return w.reshape(-1, self.n_labels)
        full = np.zeros(self.X.shape[1] * self.n_labels)
        full[self.seen] = w
        return full.reshape(-1, self.n_labels)

    def pick(self, table: np.ndarray) -> np.ndarray:
        """The inverse of `table`."""
        table = np.array(table[:, : self.n_labels], dtype=np.float64, order="C")
        return table.ravel() if self.seen is None else table.ravel()[self.seen]

    def scores(self, w: np.ndarray) -> np.ndarray:
        return times(self.X, self.table(w)) if sparse.issparse(self.X) else self.X @ self.table(w)

    def statistics(self, w: np.ndarray, weight: np.ndarray) -> tuple[float, np.ndarray]:
        if self._chunks is None:
            self._chunks = self._cut(weight)
        log_z, expected = self._total(Chunk.statistics, w, np.float64)
        return float(log_z), self.pick(expected)

    def curvature(self, v: np.ndarray) -> np.ndarray:
        assert self._chunks is not None
        return self.pick(self._total(Chunk.curvature, v, self._coarse))

    def _total(self, statistic: Callable, w: np.ndarray, dtype: Any) -> Any:
        assert self._chunks is not None
        table = self.table(w)
        if sparse.issparse(self.X):
            if dtype not in self._padded:
                self._padded[dtype] = lines(len(table), self.n_labels, dtype)
            self._padded[dtype][:, : self.n_labels] = table
            table = self._padded[dtype]
        if len(self._chunks) == 1:  # nothing to add up
            return statistic(self._chunks[0], table)
        return total(statistic, self._chunks, table, n_jobs=self.n_jobs)

    def _cut(self, weight: np.ndarray) -> list[Chunk]:
        chunks = Chunks(self.X, weight)
        if sparse.issparse(self.X):
            # each has a table of sums to fill and to add: not more than entries pay for
            most = max(1, self.X.nnz // (4 * max(1, self.size)))
            if len(chunks) > most:
                chunks = Chunks(self.X, weight, rows=-(-self.X.shape[0] // most))
            if self.X.nnz >= LARGE and np.abs(self.X.data).max(initial=0.0) < SMALL:
                self._coarse = np.float32
        return [Chunk(X, part, self.n_labels, self._coarse) for X, part in chunks]

    def matrix(self) -> sparse.csr_array:
        F = sparse.kron(sparse.csr_array(self.X), sparse.eye_array(self.n_labels), format="csr")
        return F if self.seen is None else F[:, self.seen]


def tally(X: Any, y: np.ndarray, weight: np.ndarray, n_labels: int) -> np.ndarray:
    """Sums of weight x_j over the rows with each label, an array of shape (n_columns, n_labels)."""
    if not sparse.issparse(X):
        shown = np.zeros((y.size, n_labels))
        shown[np.arange(y.size), y] = weight
        return X.T @ shown
    table = np.zeros((X.shape[1], n_labels))
    scatter(rows(X), y, weight, table)
    return table


class Chunk:
    """Some contexts with their weights, and P(x) P(y|x) where the last statistics were taken.

    Sparse ones are kept by rows and by columns, so that both products write their sums one after the other. For
    curvatures there may be a second, `coarse` copy: they say how far to go, not where to end, and half the bytes
    are half the time.
    """

    def __init__(self, X: Any, weight: np.ndarray, n_labels: int, coarse: Any) -> None:
        self.weight, self.n_labels, self.sparse = weight, n_labels, sparse.issparse(X)
        parts: Any = (rows(X), columns(X)) if self.sparse else (X, X.T)
        self.exact = self.rounded = parts
        if coarse is not np.float64:
            self.rounded = [part._replace(data=part.data.astype(coarse)) for part in parts]
        n, d = X.shape
        self.top, self.joint, self.rough_joint = np.empty(n), self._room(n), self._room(n, coarse)
        self.expected = self._room(d)
        self.along, self.bent = self._room(n, coarse), self._room(d, coarse)

    def statistics(self, W: np.ndarray) -> tuple[float, np.ndarray]:
        """sum_x P(x) log Z(x), and sum_x P(x) P(y|x) x_j."""
        by_row, by_column = self.exact
        scores = self._product(by_row, W, self.joint)
        lower(scores, self.n_labels, self.top)
        np.exp(scores, out=scores)
        log_z = normalise(scores, self.top, self.weight)
        self.rough_joint[:, : self.n_labels] = scores[:, : self.n_labels]
        return log_z, self._product(by_column, scores, self.expected)

    def curvature(self, V: np.ndarray) -> np.ndarray:
        """sum_x P(x) Cov(x_j [y = k], f·V | x)."""
        by_row, by_column = self.rounded
        along = self._product(by_row, V, self.along)
        centre(along, self.rough_joint, self.weight)
        return self._product(by_column, along, self.bent)

    def _room(self, n: int, dtype: Any = np.float64) -> np.ndarray:
        return lines(n, self.n_labels, dtype) if self.sparse else np.empty((n, self.n_labels))

    def _product(self, X: Any, table: np.ndarray, out: np.ndarray) -> np.ndarray:
        if self.sparse:
            multiply_lines(X, table, out)
            return out
        return np.matmul(X, table, out=out)


@kernel
def scatter(rows, label, weight, table):
    """Add each row, times its weight, to the table's column of its label."""
    for i in range(label.size):
        k = label[i]
        for s in range(rows.indptr[i], rows.indptr[i + 1]):
            table[rows.indices[s], k] += weight[i] * rows.data[s]


@kernel
def lower(scores, n_labels, top):
    """Subtract from each row its largest value, and keep that; columns that are no labels get a score of -inf."""
    for i in range(top.size):
        row = scores[i]
        high = row[0]
        for k in range(1, n_labels):
            high = max(high, row[k])
        for k in range(n_labels):
            row[k] -= high
        for k in range(n_labels, row.size):
            row[k] = -np.inf
        top[i] = high


@kernel
def normalise(scores, top, weight):
    """Turn exp(scores - top) into P(x) P(y|x) in place; returns sum_x P(x) log Z(x)."""
    value = 0.0
    for i in range(top.size):
        row = scores[i]
        z = 0.0
        for k in range(row.size):
            z += row[k]
        value += weight[i] * (np.log(z) + top[i])
        share = weight[i] / z
        for k in range(row.size):
            row[k] *= share
    return value


@kernel
def centre(along, joint, weight):
    """Turn scores along a direction into P(x) P(y|x) times what they have more than their mean over y."""
    for i in range(weight.size):
        row, p = along[i], joint[i]
        mean = row[0] * 0
        for k in range(row.size):
            mean += p[k] * row[k]
        mean = mean / row.dtype.type(weight[i]) if weight[i] > 0 else mean * 0
        for k in range(row.size):
            row[k] = p[k] * (row[k] - mean)


class LogLinear:
    """What a maximum entropy model minimises: mean negative log-likelihood + l2 |w|^2 / 2.

    Without the penalty it is the negative dual function -Ψ(w) (000 eq. 6.24, 6.27), and its gradient is what the
    expectations under the model have more than those in the data.
    """

    def __init__(
        self, features: Any, empirical: np.ndarray, weight: np.ndarray, l2: float | np.ndarray
    ) -> None:
        self.features, self.empirical, self.weight, self.l2 = features, empirical, weight, l2
        self._at: np.ndarray | None = None
        self._last: Any = None

    def statistics(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """Those of the features, kept for as long as w stays the same."""
        if self._at is None or not (self._at is w or np.array_equal(self._at, w)):
            self._at, self._last = w, self.features.statistics(w, self.weight)
        return self._last

    def value(self, w: np.ndarray) -> float:
        return self.value_and_gradient(w)[0]

    def gradient(self, w: np.ndarray) -> np.ndarray:
        return self.value_and_gradient(w)[1]

    def value_and_gradient(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        log_z, expected = self.statistics(w)
        pull = self.l2 * w
        gradient = expected - self.empirical
        gradient += pull
        return log_z - float(w @ self.empirical) + float(w @ pull) / 2, gradient

    def probabilities(self, w: np.ndarray) -> np.ndarray:
        """P(y|x) of shape (n_contexts, n_labels)."""
        scores = self.features.scores(w)
        return np.exp(scores - log_sum_exp(scores)[:, None])

    def hessian(self, w: np.ndarray) -> np.ndarray:
        """Covariances of the features under P(y|x), averaged over the contexts."""
        p, F = self.probabilities(w), self.features.matrix()
        joint = (self.weight[:, None] * p).ravel()
        n, labels = p.shape
        mean = sparse.csr_array((p.ravel(), np.arange(n * labels), np.arange(n + 1) * labels)) @ F
        H = F.T @ F.multiply(joint[:, None]) - mean.T @ mean.multiply(self.weight[:, None])
        return H.toarray() + np.diag(np.broadcast_to(self.l2, w.shape))

    def hessian_product(self, w: np.ndarray, v: np.ndarray) -> np.ndarray:
        self.statistics(w)
        product = self.features.curvature(v)
        product += self.l2 * v
        return product


class NewtonFirst:
    """The Wolfe line search, whose first step has the length that the curvature along the ray asks for.

    The usual first guess, a step of length 1, is far off for means of rare features, and each trial costs a pass.
    """

    def __init__(self) -> None:
        self.begun = False

    def __call__(self, ray: Ray, guess: float) -> RayPoint | None:
        if not self.begun:
            self.begun = True
            bend = float(ray.p @ ray.objective.hessian_product(ray.start.x, ray.p))
            guess = -ray.start.slope / bend if bend > 0 else guess
        return Wolfe()(ray, guess)


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
