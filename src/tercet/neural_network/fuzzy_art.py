"""Adaptive resonance for real rows (模糊 ART 网络)."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np

from tercet.core.catalog import method
from tercet.core.estimator import Clusterer, check_is_fitted
from tercet.core.fitted_checks import Floats
from tercet.core.kernel import inner, kernel
from tercet.core.parameters import Count, NonNegative, Positive, Range, check_parameters
from tercet.core.rows import kernel_form
from tercet.core.steps import stopped_early

Vigilance = Annotated[float, Range(0, 1, "(]")]
Rate = Annotated[float, Range(0, 1, "(]")]
ROUNDING = 1e-12  # of sums, in the vigilance test


@method(
    zh="模糊 ART 网络",
    task="clustering",
    model="each row I belongs to the category of largest |I ∧ w| / (α + |w|) with |I ∧ w| / |I| >= ρ",
    strategy="categories that are boxes of a total side length of at most d (1 - ρ)",
    algorithms="the category that a row joins learns by w = β (I ∧ w) + (1 - β) w",
    texts=["watermelon notes ch. 3, sec. 3.5"],
)
class FuzzyART(Clusterer):
    """Fuzzy adaptive resonance theory: boxes of rows from [0, 1]^d, and a new box for each row that fits in none.

    With complement coding a row x is I = [x, 1 - x], and a category w is the box that its rows span. A row tries
    the categories in the order of |I ∧ w| / (α + |w|), where ∧ takes the smaller of two numbers and |.| is the sum.
    The first one with |I ∧ w| / |I| >= ρ is in resonance: the row joins it, and w becomes β (I ∧ w) + (1 - β) w:
    with β = 1 the box just grows to hold the row. If none passes, the row founds a category. The sides of a box
    add up to at most d (1 - ρ), so that a vigilance near 1 gives many fine categories.

    Parameters
    ----------
    vigilance : float, default=0.75
        The vigilance ρ, in (0, 1].
    alpha : float, default=1e-3
        The constant α of the choice; small values prefer small boxes.
    beta : float, default=1.0
        The learning rate β, in (0, 1].
    complement : bool, default=True
        Whether rows are complement coded. Without it, categories w shrink towards 0 as rows with small values join
        them.
    scale : {"minmax"}, optional
        Maps each feature to [0, 1] by its range in `fit`, or in the first `partial_fit`; later values outside of it
        are set to its ends. By default X must hold values from 0 to 1.
    max_categories : int, optional
        The most categories. When there are so many, rows that fit none get the label -1.
    max_iter : int, default=1
        The most passes. By default each row is seen once, as in a stream; `predict` may then give another category
        than `labels_`. The fit ends earlier, when no row has changed its category in a pass and no category has
        changed by more than `tol`.
    tol : float, default=1e-6
        The largest change of an entry of `weights_` in a pass that counts as none.

    Attributes
    ----------
    weights_ : array of shape (n_categories, 2 n_features), or (n_categories, n_features) without complement coding
        The categories w: with complement coding the lower corners of the boxes, and 1 minus the upper ones.
    labels_ : array of shape (n_samples,)
        The category that each row joined in the last pass; -1 where there was none.
    n_iter_ : int
        Passes made.
    data_min_, data_range_ : arrays of shape (n_features,)
        With `scale`, the least value of each feature, and the range that is mapped to 1.

    Examples
    --------
    >>> X = [[0.1, 0.1], [0.2, 0.1], [0.8, 0.9], [0.9, 0.8]]
    >>> model = FuzzyART(vigilance=0.8).fit(X)
    >>> model.labels_, model.boxes()[0]
    (array([0, 0, 1, 1], dtype=int32), array([[0.1, 0.1],
           [0.8, 0.8]]))
    >>> model.predict([[0.15, 0.15], [0.5, 0.5]])
    array([ 0, -1], dtype=int32)
    """

    def __init__(
        self,
        vigilance: Vigilance = 0.75,
        *,
        alpha: Positive = 1e-3,
        beta: Rate = 1.0,
        complement: bool = True,
        scale: Literal["minmax"] | None = None,
        max_categories: Count | None = None,
        max_iter: Count = 1,
        tol: NonNegative = 1e-6,
    ) -> None:
        self.vigilance = vigilance
        self.alpha = alpha
        self.beta = beta
        self.complement = complement
        self.scale = scale
        self.max_categories = max_categories
        self.max_iter = max_iter
        self.tol = tol

    sparse_input = False
    streams_instead = "KMeans or SOM, or partial_fit with pieces of the rows"
    fitted_shapes: ClassVar[dict[str, Any]] = {
        "weights_": Floats("categories coded", finite=True, low=0.0),
        "data_min_": Floats("features", finite=True),
        "data_range_": Floats("features", finite=True, low=0.0),
    }
    weights_: np.ndarray
    data_min_: np.ndarray
    data_range_: np.ndarray

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the categories of the rows X.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The rows, of values from 0 to 1.
        y : ignored
            Nothing is learned from it; callbacks may score by it.

        Returns
        -------
        self
        """
        return self._learn(X, y)

    def _fit(self, X: np.ndarray, y: None, sample_weight: np.ndarray | None) -> None:
        self._set_range(X)
        rows = self._coded(X)
        weights, labels = rows[:0].copy(), np.full(len(X), -1, dtype=np.int32)

        def fitted(state: tuple[np.ndarray, np.ndarray]) -> dict[str, Any]:
            return {"weights_": state[0].astype(X.dtype), "labels_": state[1]}

        for step in self.steps(self.max_iter, unpack=fitted, hint="Raise max_iter or tol."):
            before, labels = labels, labels.copy()
            weights, change = self._pass(rows, weights, labels)
            moved = int((labels != before).sum())
            step.report((weights, labels), moved=moved, change=change, n_categories=len(weights))
            if self.max_iter > 1 and step.converged(moved == 0 and change <= self.tol):
                break
        self.__dict__.update(fitted((weights, labels)))

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Let each row of a batch join a category, or found one.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The batch, of values from 0 to 1.
        y : ignored

        Returns
        -------
        self
        """
        check_parameters(self)
        first = not hasattr(self, "weights_")
        X = self._check(X, reset=first)
        if first:
            self._set_range(X)
        rows = self._coded(X)
        dtype = X.dtype if first else self.weights_.dtype
        weights = rows[:0].copy() if first else self._categories().copy()
        labels = np.full(len(X), -1, dtype=np.int32)
        weights, _ = self._pass(rows, weights, labels)
        self.weights_, self.labels_ = weights.astype(dtype), labels
        return self

    def _pass(self, rows: np.ndarray, weights: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, float]:
        """One pass over the rows; the categories after it, and the largest change of an entry."""
        most, count, start, change = self.max_categories or len(rows) + len(weights), len(weights), 0, 0.0
        table = weights
        while True:  # each round ends where the table of categories is full
            room = np.zeros((min(most, max(2 * count, 16)), rows.shape[1]))
            room[:count] = table[:count]
            start, count, more = fuzzy_pass(
                kernel_form(rows), start, self._least_match(), float(self.alpha), float(self.beta), count, most,
                room, labels,
            )  # fmt: skip
            table, change = room, max(change, more)
            if start == len(rows):
                return table[:count].copy(), float(change)

    def _least_match(self) -> float:
        return float(self.vigilance * (1 - ROUNDING))

    def _set_range(self, X: np.ndarray) -> None:
        """Learn the ranges of the features, where `scale` asks for them."""
        if self.scale is None:
            return
        low, high = X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)
        width = high / 2 - low / 2  # high - low may overflow
        self.data_min_ = low
        self.data_range_ = np.where(width > 0, np.minimum(2 * width, np.finfo(np.float64).max), 1.0)

    def _coded(self, X: np.ndarray) -> np.ndarray:
        """The rows I: scaled and complement coded, as the parameters say."""
        if self.scale is not None:
            low, width = self.data_min_, np.maximum(self.data_range_, np.finfo(np.float64).tiny)
            X = np.clip((np.clip(X, low, low + width) - low) / width, 0.0, 1.0)
        outside = (X < 0) | (X > 1)
        if outside.any():
            i, j = np.argwhere(outside)[0]
            raise ValueError(
                f"FuzzyART: X must hold values from 0 to 1; row {i} has {X[i, j]:.6g} in column {j}. Scale the "
                "features with MinMaxScaler, or set scale='minmax'."
            )
        X = X.astype(np.float64)
        return np.hstack([X, 1.0 - X]) if self.complement else X

    def _categories(self) -> np.ndarray:
        """The categories as kernels take them; an error where they do not fit the parameters."""
        width = (2 if self.complement else 1) * self.n_features_in_
        if self.weights_.ndim != 2 or self.weights_.shape[1] != width:
            raise ValueError(
                f"FuzzyART: weights_ has the shape {self.weights_.shape}; complement={self.complement!r} needs "
                f"{width} columns."
            )
        return self.weights_.astype(np.float64)

    def fit_predict(self, X: Any, y: Any = None) -> np.ndarray:
        """Find the categories of the rows X, and return the category of each."""
        self.fit(X)
        return self.predict(X) if stopped_early(self) else self.labels_

    def predict(self, X: Any) -> np.ndarray:
        """The category of largest choice that passes the vigilance test, without learning; -1 where none does."""
        check_is_fitted(self)
        check_parameters(self)
        rows = self._coded(self._check(X, reset=False))
        labels = np.empty(len(rows), dtype=np.int32)
        categories = kernel_form(self._categories())
        fuzzy_categories(kernel_form(rows), categories, self._least_match(), float(self.alpha), labels)
        return labels

    def boxes(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper corners of the categories, in the units of X; arrays of shape (n_categories, n_features).

        Without complement coding a category has no upper corner: it is 1.
        """
        check_is_fitted(self)
        weights, d = self._categories(), self.n_features_in_
        low, high = weights[:, :d], 1.0 - weights[:, d:] if self.complement else np.ones((len(weights), d))
        if self.scale is not None:
            low, high = (self.data_min_ + part * self.data_range_ for part in (low, high))
        return low, high


@inner
def overlap(x, w):
    """|x ∧ w|."""
    total = 0.0
    for k in range(x.size):
        total += x[k] if x[k] < w[k] else w[k]
    return total


@inner
def resonant(x, weights, sizes, count, vigilance, alpha):
    """The category of largest choice that passes the vigilance test; ties go to the first; -1 where there is none.

    The test does not depend on the order of the categories: the best of those that pass is the first that does.
    """
    size = overlap(x, x)
    best, most = -1, -1.0
    for j in range(count):
        common = overlap(x, weights[j])
        if common < vigilance * size or (size == 0 and sizes[j] > 0):
            continue
        choice = common / (alpha + sizes[j])
        if choice > most:
            best, most = j, choice
    return best


@kernel
def fuzzy_pass(rows, start, vigilance, alpha, beta, count, most, weights, labels):
    """Let the rows from `start` on join categories, or found them, up to a row for which the table is full.

    Returns that row, the number of categories, and the largest change of an entry.
    """
    sizes = np.zeros(weights.shape[0])
    for j in range(count):
        sizes[j] = overlap(weights[j], weights[j])
    largest = 0.0
    for i in range(start, rows.shape[0]):
        x = rows[i]
        j = resonant(x, weights, sizes, count, vigilance, alpha)
        if j < 0 and count < most:
            if count == weights.shape[0]:
                return i, count, largest
            j = count
            count += 1
            weights[j] = x
            sizes[j] = overlap(x, x)
            largest = 1.0
        elif j >= 0:
            w = weights[j]
            for k in range(x.size):
                if x[k] < w[k]:
                    change = beta * (w[k] - x[k])
                    w[k] = x[k] if beta == 1.0 else w[k] - change
                    largest = max(largest, change)
            sizes[j] = overlap(w, w)
        labels[i] = j
    return rows.shape[0], count, largest


@kernel
def fuzzy_categories(rows, weights, vigilance, alpha, labels):
    """The category of each row, without learning."""
    sizes = np.zeros(weights.shape[0])
    for j in range(weights.shape[0]):
        sizes[j] = overlap(weights[j], weights[j])
    for i in range(rows.shape[0]):
        labels[i] = resonant(rows[i], weights, sizes, weights.shape[0], vigilance, alpha)
