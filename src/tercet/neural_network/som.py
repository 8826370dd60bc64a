"""Self-organising map (自组织映射, SOM): units on a grid, of which neighbours learn together."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from scipy import linalg
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.metrics.pairwise import nan_euclidean_distances

from tercet.core.block_lanczos import leading_ritz_pairs
from tercet.core.catalog import method
from tercet.core.estimator import Clusterer, check_is_fitted, check_weight, generator
from tercet.core.fitted_checks import Floats, Whole
from tercet.core.kernel import inner, kernel
from tercet.core.parallel import Chunks, all_cores, total
from tercet.core.parameters import Count, Jobs, Positive, Seed, check_parameters
from tercet.core.row_sums import gathered_rows
from tercet.core.rows import read_only
from tercet.core.scaling import LARGE
from tercet.core.steps import stopped_early
from tercet.core.streams import is_streamed
from tercet.core.symmetric_eigen import signed_vectors
from tercet.core.validation import check_array
from tercet.neural_network.best_matching_units import Units, nearest_two, rows_per_chunk, squared_gap
from tercet.neural_network.online_visits import Decay, Rate, decayed, visit_order

CUT = 1e-7  # a neighbour whose step is a smaller part of the winner's is left where it is
NARROW = 512  # features up to which the whole covariance matrix is computed
FLAT = 1e-10  # a second principal variance, relative to the first, that spans no plane
UNIT_BLOCK = 512  # units whose neighbourhoods are computed at once


@method(
    zh="自组织映射（SOM）",
    task="clustering",
    model="each row belongs to the best matching unit of a grid, argmin_u |x - w_u|",
    strategy="small distances to the units, with near units of the grid near each other in the space of the rows",
    algorithms={
        "batch": "each unit becomes the mean of all rows, weighted by how near their winners are on the grid",
        "online": "the winner and its neighbours on the grid move towards each row that is visited",
    },
    texts=["watermelon notes ch. 3, sec. 3.5", "Pattern Recognition ch. 5, sec. 5.4"],
    peers=["minisom.MiniSom"],
)
class SOM(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Clusterer):
    """Self-organising map: a grid of units that unfolds over the rows, so that near units stand for near rows.

    The winner of a row x is c(x) = argmin_u |x - w_u|. The online algorithm visits the rows one by one and moves
    the winner and its neighbours on the grid: w_u += η h_uc (x - w_u), with h_uc = exp(-|r_u - r_c|² / (2 σ²)) for
    places r on the grid. The batch algorithm makes each unit the mean of all rows, weighted by h_uc. The learning
    rate η and the radius σ decrease: the grid is laid out first, and fitted closely afterwards.

    A missing value (NaN) takes no part: distances are taken over the known values of a row, and only these
    move the units.

    Parameters
    ----------
    shape : int or (int, int), default=(10, 10)
        Rows and columns of the grid; a single number is a line of units.
    topology : {"rectangular", "hexagonal"}, default="rectangular"
        Whether a unit has eight neighbours, four of them at distance 1, or six at distance 1. In a hexagonal grid
        every second row is shifted by half a unit.
    toroidal : bool, default=False
        Whether the grid is closed: its last row is beside the first one, and so are the columns. A hexagonal one
        needs an even number of rows then.
    algorithm : {"batch", "online"}, default="batch"
        Whether the units move once in a pass, or with each row. The batch algorithm needs no learning rate, does
        not depend on the order of the rows, and runs on several threads and over sources.
    neighborhood : {"gaussian", "bubble"}, default="gaussian"
        h: the formula above, or 1 up to the distance σ on the grid and 0 beyond.
    init : {"pca", "random"} or array, default="pca"
        The first units: spread over the plane of the first two principal components (over the first one, for a
        line), at most two standard deviations from the mean; rows drawn at random; or an array of shape
        (rows, columns, n_features) or (n_units, n_features). Where the rows span no plane, "pca" draws rows.
    eta0, eta_end : float, default=0.5, 0.01
        The learning rates of the first and of the last visit of the online algorithm.
    eta_decay : {"exponential", "linear", "inverse", "constant"}, default="exponential"
        How η goes from `eta0` to `eta_end`; "constant" stays at `eta0`.
    sigma0 : float, optional
        The first radius; by default half the longer side of the grid, and at least 1.
    sigma_end : float, default=0.5
        The last radius.
    sigma_decay : {"exponential", "linear", "inverse", "constant"}, default="exponential"
        How σ goes from `sigma0` to `sigma_end`: from pass to pass, or from visit to visit of the online algorithm.
    max_iter : int, default=20
        The number of passes.
    shuffle : bool, default=True
        Whether each pass of the online algorithm visits the rows in a new random order.
    transform_to : {"coordinates", "distances"}, default="coordinates"
        What `transform` gives: row and column of the winner on the grid, or the distances from all units.
    random_state : int, optional
        Seed of the random number generator.
    n_jobs : int, optional
        Threads to use, by default all cores; the result does not depend on it.

    Attributes
    ----------
    weights_ : array of shape (rows, columns, n_features)
        The units. A line has one row.
    labels_ : array of shape (n_samples,)
        The winner of each row, as row * columns + column.
    quantization_error_ : float
        Mean distance of the rows from their winners.
    topographic_error_ : float
        Share of the rows whose two nearest units are not neighbours on the grid.
    hits_ : array of shape (rows, columns)
        Weight of the rows that each unit has won.
    n_passes_ : int
        Passes that the rates have seen, those of `partial_fit` included.
    n_iter_ : int
        Passes of `fit`.

    Examples
    --------
    >>> X = [[0.0, 0.1], [0.1, 0.0], [0.5, 0.6], [0.6, 0.5], [1.0, 0.9], [0.9, 1.0]]
    >>> model = SOM(3).fit(X)
    >>> model.weights_[0].round(2)
    array([[0.11, 0.11],
           [0.54, 0.54],
           [0.9 , 0.9 ]])
    >>> model.winner([0.8, np.nan]), round(model.quantization_error_, 3)
    ((0, 2), 0.094)
    """

    def __init__(
        self,
        shape: Count | tuple | list = (10, 10),
        *,
        topology: Literal["rectangular", "hexagonal"] = "rectangular",
        toroidal: bool = False,
        algorithm: Literal["batch", "online"] = "batch",
        neighborhood: Literal["gaussian", "bubble"] = "gaussian",
        init: Literal["pca", "random"] | list | tuple | np.ndarray = "pca",
        eta0: Rate = 0.5,
        eta_end: Rate = 0.01,
        eta_decay: Decay = "exponential",
        sigma0: Positive | None = None,
        sigma_end: Positive = 0.5,
        sigma_decay: Decay = "exponential",
        max_iter: Count = 20,
        shuffle: bool = True,
        transform_to: Literal["coordinates", "distances"] = "coordinates",
        random_state: Seed = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.shape = shape
        self.topology = topology
        self.toroidal = toroidal
        self.algorithm = algorithm
        self.neighborhood = neighborhood
        self.init = init
        self.eta0 = eta0
        self.eta_end = eta_end
        self.eta_decay = eta_decay
        self.sigma0 = sigma0
        self.sigma_end = sigma_end
        self.sigma_decay = sigma_decay
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.transform_to = transform_to
        self.random_state = random_state
        self.n_jobs = n_jobs

    sparse_input = False
    missing_input = True
    largest_value = LARGE
    relative_weights = True
    batch_rounding = 1e-12  # distances from the units are products by BLAS
    streaming = True
    row_attributes = ("labels_",)
    fitted_shapes = {
        "weights_": Floats("rows columns features", finite=True),
        "hits_": Floats("rows columns", finite=True, low=0.0),
        "quantization_error_": Floats("", finite=True, low=0.0),
        "topographic_error_": Floats("", finite=True, low=0.0),
        "_seed": Whole(),
        "n_passes_": Whole(),
    }
    weights_: np.ndarray
    hits_: np.ndarray
    quantization_error_: float
    topographic_error_: float
    n_passes_: int
    _seed: int

    def _streaming_refusal(self) -> str:
        if self.algorithm == "online":
            return "algorithm='online' visits single rows. Use algorithm='batch', or partial_fit with pieces."
        return ""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Unfold the grid over the rows X.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The rows; NaN is a missing value.
        y : ignored
            Nothing is learned from it; callbacks may score by it.
        sample_weight : array of shape (n_samples,), optional
            Weight of each row; 2 is equivalent to repeating the row. With the online algorithm a row is visited
            in proportion to its weight, on average.

        Returns
        -------
        self
        """
        return self._learn(X, y, sample_weight)

    def _fit(self, X: Any, y: None, sample_weight: Any) -> None:
        grid = self._grid()
        self.__dict__.pop("labels_", None)  # rows of a source get none
        survey = Survey(X, sample_weight, all_cores(self.n_jobs))
        rng = generator(self.random_state)
        self._seed = int(rng.integers(2**31 - 1))
        W = self._first_units(X, sample_weight, grid, survey, rng)
        self.n_passes_ = 0

        def fitted(W: np.ndarray) -> dict[str, Any]:
            return self._learned(X, sample_weight, W.astype(X.dtype).astype(np.float64), grid, survey.missing)

        for step in self.steps(self.max_iter, unpack=fitted):
            if self.algorithm == "batch":
                sums, masses, _, far, _, mass = self._winners(X, sample_weight, W, grid, survey.missing)
                progress = np.array([step.index / max(self.max_iter - 1, 1)])
                sigma = float(decayed(self.sigma_decay, self._sigma0(grid), self.sigma_end, progress)[0])
                W = batch_step(W, sums, masses, grid, sigma, self.neighborhood)
                error = float(far / mass)
            else:
                order = visit_order(len(X), sample_weight, rng, self.shuffle)
                W = W.copy()
                error = self._visit(X, order, W, grid, step.index, survey.missing) / order.size
            step.report(W, quantization_error=error)
        self.n_passes_ = step.count
        self.__dict__.update(fitted(W))

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Move the units by one pass of the online algorithm over a batch of rows.

        A call is one of the `max_iter` passes over which η and σ decrease; further ones go on with the last values.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The batch; the first one also sets the first units.
        y : ignored
        sample_weight : array of shape (n_samples,), optional
            Weight of each row: how often it is visited, in proportion and on average.

        Returns
        -------
        self
        """
        check_parameters(self)
        first, grid = not hasattr(self, "weights_"), self._grid()
        X = np.ascontiguousarray(self._check(X, reset=first))
        weight = check_weight(sample_weight, X, relative=True)
        survey = Survey(X, weight, all_cores(self.n_jobs), whole=first)
        dtype = X.dtype if first else self.weights_.dtype
        if first:
            self._seed = int(generator(self.random_state).integers(2**31 - 1))
            W = self._first_units(X, weight, grid, survey, np.random.default_rng(self._seed))
            self.n_passes_ = 0
        else:
            W = self.weights_.reshape(grid.size, -1).astype(np.float64)
        rng = np.random.default_rng((self._seed, self.n_passes_))
        order = visit_order(len(X), weight, rng, self.shuffle)
        self._visit(X, order, W, grid, self.n_passes_, survey.missing)
        W = W.astype(dtype).astype(np.float64)
        self.__dict__.update(self._learned(X, weight, W, grid, survey.missing, dtype))
        self.n_passes_ += 1
        return self

    def _grid(self) -> Grid:
        shape = self.shape if isinstance(self.shape, tuple | list) else (1, self.shape)
        whole = all(isinstance(side, int | np.integer) and not isinstance(side, bool) for side in shape)
        if len(shape) != 2 or not whole or min(shape) < 1:
            raise ValueError(
                "SOM: parameter 'shape' must be a positive integer or a pair of positive integers (rows, columns); "
                f"got {self.shape!r}."
            )
        if self.toroidal and self.topology == "hexagonal" and shape[0] % 2 and shape[0] > 1:
            raise ValueError(
                f"SOM: a toroidal hexagonal grid needs an even number of rows; got shape={self.shape!r}."
            )
        return Grid(int(shape[0]), int(shape[1]), self.topology == "hexagonal", bool(self.toroidal))

    def _sigma0(self, grid: Grid) -> float:
        return max(grid.rows, grid.columns, 2) / 2 if self.sigma0 is None else float(self.sigma0)

    def _first_units(
        self, X: Any, weight: Any, grid: Grid, survey: Survey, rng: np.random.Generator
    ) -> np.ndarray:
        """The first units, of shape (n_units, n_features)."""
        if not isinstance(self.init, str):
            given = check_array(self.init, dtype=np.float64, allow_nd=True, input_name="init")
            shapes = ((grid.rows, grid.columns, X.shape[1]), (grid.size, X.shape[1]))
            if given.shape not in shapes:
                raise ValueError(
                    f"SOM: init must have the shape {shapes[0]} or {shapes[1]}; got {given.shape}."
                )
            return given.reshape(grid.size, -1).copy()
        if self.init == "pca":
            axes = survey.axes(2 if min(grid.rows, grid.columns) > 1 else 1)
            if axes is not None:
                return survey.mean + grid.spread() @ axes
        if weight is None:
            odds = None
        else:
            parts = [part for (part,) in Chunks(weight)] if is_streamed(weight) else [weight]
            odds = np.concatenate(parts).astype(np.float64)
            odds /= odds.sum()
        there = X.shape[0] if odds is None else int(np.count_nonzero(odds))
        drawn = rng.choice(X.shape[0], grid.size, replace=there < grid.size, p=odds)
        rows, at = np.unique(drawn, return_inverse=True)
        (found,) = gathered_rows(rows, X)
        found = np.asarray(found, dtype=np.float64)[at]
        return np.where(np.isnan(found), survey.mean, found)

    def _visit(
        self, X: np.ndarray, order: np.ndarray, W: np.ndarray, grid: Grid, passes: int, missing: bool
    ) -> float:
        """One pass of the online algorithm, which changes W; the sum of the distances of the rows from their
        winners when they came."""
        progress = (passes * order.size + np.arange(order.size)) / max(self.max_iter * order.size - 1, 1)
        eta = decayed(self.eta_decay, self.eta0, self.eta_end, progress)
        sigma = decayed(self.sigma_decay, self._sigma0(grid), self.sigma_end, progress)
        bubble = self.neighborhood == "bubble"
        return online_pass(
            read_only(np.ascontiguousarray(X)), order, eta, sigma, W, grid.rows, grid.columns, grid.hexagonal,
            grid.toroidal, bubble, missing,
        )  # fmt: skip

    def _winners(self, X: Any, weight: Any, W: np.ndarray, grid: Grid, missing: bool) -> tuple:
        """The sums over the winners of all rows; see `winners_chunk`."""
        chunks: Any = Chunks(X, weight, rows=rows_per_chunk(X, grid.size))
        return total(winners_chunk, chunks, Units(W, missing), grid, n_jobs=all_cores(self.n_jobs))

    def _learned(
        self, X: Any, weight: Any, W: np.ndarray, grid: Grid, missing: bool, dtype: Any = None
    ) -> dict[str, Any]:
        """The fitted attributes that belong to units."""
        learned: dict[str, Any] = {}
        if is_streamed(X):
            hits, far, torn, mass = self._winners(X, weight, W, grid, missing)[2:]
        else:
            first, second, gaps = nearest_two(X, Units(W, missing), all_cores(self.n_jobs))
            learned["labels_"] = first
            parts = Chunks(first, second, gaps, weight, rows=rows_per_chunk(X, grid.size))
            hits, far, torn, mass = total(errors_chunk, parts, grid)
        return {
            **learned,
            "weights_": W.reshape(grid.rows, grid.columns, -1).astype(X.dtype if dtype is None else dtype),
            "quantization_error_": float(far / mass),
            "topographic_error_": float(torn / mass),
            "hits_": hits.reshape(grid.rows, grid.columns),
        }

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """Unfold the grid over the rows X, and return the winner of each."""
        self.fit(X, sample_weight=sample_weight)
        return self.labels_ if hasattr(self, "labels_") and not stopped_early(self) else self.predict(X)

    def predict(self, X: Any) -> np.ndarray:
        """The winner of each row, as row * columns + column."""
        return self._nearest(X)[0]

    def transform(self, X: Any) -> np.ndarray:
        """Row and column of the winner of each row, or its distances from all units, as `transform_to` says.

        Of rows with missing values, the squares of distances are scaled by the share of known values.
        """
        if self.transform_to == "coordinates":
            labels, shape = self._nearest(X)[0], self.weights_.shape[:2]
            return np.column_stack(np.unravel_index(labels, shape)).astype(self.weights_.dtype)
        X = self._checked(X)
        units = self.weights_.reshape(-1, self.weights_.shape[2]).astype(np.float64)
        return nan_euclidean_distances(X.astype(np.float64), units).astype(X.dtype)

    def winner(self, x: Any) -> tuple[int, int]:
        """Row and column of the best matching unit of a single row.

        Parameters
        ----------
        x : array of shape (n_features,)

        Returns
        -------
        (row, column)
        """
        row, column = np.unravel_index(self.predict(np.reshape(x, (1, -1)))[0], self.weights_.shape[:2])
        return int(row), int(column)

    def quantization_error(self, X: Any, sample_weight: Any = None) -> float:
        """Mean distance of rows from their winners."""
        return self._errors(X, sample_weight)[0]

    def topographic_error(self, X: Any, sample_weight: Any = None) -> float:
        """Share of rows whose two nearest units are not neighbours on the grid."""
        return self._errors(X, sample_weight)[1]

    def hit_map(self, X: Any, sample_weight: Any = None) -> np.ndarray:
        """Weight of the rows that each unit wins, of shape (rows, columns)."""
        return self._errors(X, sample_weight)[2]

    def _errors(self, X: Any, sample_weight: Any) -> tuple[float, float, np.ndarray]:
        X, grid = self._checked(X), self._fitted_grid()
        weight = check_weight(sample_weight, X, relative=True)
        W = self.weights_.reshape(grid.size, -1).astype(np.float64)
        found = self._learned(X, weight, W, grid, bool(np.isnan(X).any()))
        return found["quantization_error_"], found["topographic_error_"], found["hits_"]

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the quantisation error of the rows."""
        return -self.quantization_error(X, sample_weight)

    def u_matrix(self) -> np.ndarray:
        """Mean distance of each unit from its neighbours on the grid, of shape (rows, columns): low inside of
        clusters, high between them."""
        check_is_fitted(self)
        grid = self._fitted_grid()
        W = self.weights_.reshape(grid.size, -1).astype(np.float64)
        found = np.zeros(grid.size)
        for some in grid.blocks():
            near = grid.are_neighbours(grid.squared_distances(some))
            for unit, row in zip(range(*some.indices(grid.size)), near):
                if row.any():
                    found[unit] = np.sqrt(((W[row] - W[unit]) ** 2).sum(axis=1)).mean()
        return found.reshape(grid.rows, grid.columns)

    def _fitted_grid(self) -> Grid:
        rows, columns = self.weights_.shape[:2]
        return Grid(rows, columns, self.topology == "hexagonal", bool(self.toroidal))

    def _checked(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        X = self._check(X, reset=False)
        refuse_empty(np.isnan(X).all(axis=1))
        return X

    def _nearest(self, X: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        X = self._checked(X)
        W = self.weights_.reshape(-1, self.weights_.shape[2]).astype(np.float64)
        return nearest_two(X, Units(W, bool(np.isnan(X).any())), all_cores(self.n_jobs))

    @property
    def _n_features_out(self) -> int:
        return 2 if self.transform_to == "coordinates" else int(np.prod(self.weights_.shape[:2]))


class Grid:
    """Places of the units: rows and columns, in a rectangular or hexagonal grid, closed or not."""

    def __init__(self, rows: int, columns: int, hexagonal: bool = False, toroidal: bool = False) -> None:
        self.rows, self.columns, self.hexagonal, self.toroidal = rows, columns, hexagonal, toroidal
        self.size = rows * columns
        i, j = np.divmod(np.arange(self.size), columns)
        self.height = np.sqrt(0.75) if hexagonal else 1.0  # of a row
        self.places = np.column_stack([j + 0.5 * (i % 2) * hexagonal, i * self.height])

    def blocks(self) -> list[slice]:
        """Slices of at most `UNIT_BLOCK` units."""
        return [slice(k, min(k + UNIT_BLOCK, self.size)) for k in range(0, self.size, UNIT_BLOCK)]

    def squared_distances(self, some: Any) -> np.ndarray:
        """|r_u - r_c|² of some units u and all units c."""
        gaps = np.abs(self.places[some][:, None] - self.places)
        if self.toroidal:
            gaps = np.minimum(gaps, np.abs(np.array([self.columns, self.rows * self.height]) - gaps))
        return (gaps**2).sum(axis=2)

    def are_neighbours(self, squares: np.ndarray) -> np.ndarray:
        """Whether units at these squared distances are different and next to each other."""
        return (squares > 0.1) & (squares < (1.5 if self.hexagonal else 2.5))

    def pair_distances(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """|r_a - r_b|² of pairs of units."""
        gaps = np.abs(self.places[a] - self.places[b])
        if self.toroidal:
            gaps = np.minimum(gaps, np.abs(np.array([self.columns, self.rows * self.height]) - gaps))
        return (gaps**2).sum(axis=1)

    def spread(self) -> np.ndarray:
        """Places between -2 and 2, the longer side of the grid first; of a line only along it."""
        low, high = self.places.min(axis=0), self.places.max(axis=0)
        places = np.divide(self.places - (low + high) / 2, np.where(high > low, (high - low) / 4, 1.0))
        first = 1 if self.rows > self.columns else 0
        return places[:, [first, 1 - first]] if min(self.rows, self.columns) > 1 else places[:, [first]]


class Survey:
    """Statistics of the rows: missing values, means and principal axes."""

    def __init__(self, X: Any, weight: Any, n_jobs: int, whole: bool = True) -> None:
        self.chunks: Any = Chunks(X, weight, rows=rows_per_chunk(X, 1))
        self.n_jobs, self.width = n_jobs, X.shape[1]
        known, sums, gaps, empty, self.mass = total(survey_chunk, self.chunks, n_jobs=n_jobs)
        self.missing = bool(gaps)
        if empty:
            raise ValueError(
                f"SOM: all values are missing in rows of X (their number: {int(empty)}). Drop these rows."
            )
        unknown = np.flatnonzero(known == 0)
        if whole and unknown.size:
            raise ValueError(f"SOM: X has no known value of feature {unknown[0]} in a row with a weight.")
        self.mean = np.divide(sums, known, out=np.zeros_like(sums), where=known > 0)

    def axes(self, k: int) -> np.ndarray | None:
        """The first k principal axes as rows, one standard deviation long; None where the rows do not span them.

        Missing values are taken for the means.
        """
        if self.width <= NARROW:
            scatter = total(scatter_chunk, self.chunks, self.mean, n_jobs=self.n_jobs)
            values, vectors = linalg.eigh(scatter)
            values, vectors = values[::-1][:k], vectors[:, ::-1][:, :k]
        else:

            def times(block: np.ndarray) -> np.ndarray:
                return total(product_chunk, self.chunks, self.mean, block, n_jobs=self.n_jobs)

            rng = np.random.default_rng(0)
            pairs = leading_ritz_pairs(times, self.width, k, rng, tol=1e-3, low=0.0, n_jobs=self.n_jobs)
            values, vectors = pairs.values[:k], pairs.basis @ pairs.vectors[:, :k]
        if len(values) < k or not values[-1] > FLAT * values[0]:
            return None
        return (signed_vectors(vectors) * np.sqrt(values / self.mass)).T


def weights_of(chunk: tuple) -> np.ndarray:
    X, weight = chunk
    return np.ones(len(X)) if weight is None else weight.astype(np.float64, copy=False)


def refuse_empty(empty: np.ndarray) -> None:
    """Raise an error where a row has no known value."""
    if empty.any():
        raise ValueError(f"SOM: all values of row {np.flatnonzero(empty)[0]} of X are missing.")


def survey_chunk(chunk: tuple) -> tuple[np.ndarray, np.ndarray, int, int, float]:
    """Weights and weighted sums of the known values of each feature, missing values, empty rows, and the weight."""
    X, weight = chunk[0], weights_of(chunk)
    gaps = np.isnan(X)
    missing = int(np.count_nonzero(gaps))
    if not missing:
        return np.full(X.shape[1], weight.sum()), np.dot(weight, X), 0, 0, float(weight.sum())
    sums = np.dot(weight, np.where(gaps, 0.0, X))
    return np.dot(weight, ~gaps), sums, missing, int(gaps.all(axis=1).sum()), float(weight.sum())


def centred(X: np.ndarray, mean: np.ndarray) -> np.ndarray:
    Z = X - mean
    return np.where(np.isnan(Z), 0.0, Z)


def scatter_chunk(chunk: tuple, mean: np.ndarray) -> np.ndarray:
    Z = centred(chunk[0], mean)
    return np.dot(Z.T * weights_of(chunk), Z)


def product_chunk(chunk: tuple, mean: np.ndarray, block: np.ndarray) -> np.ndarray:
    Z = centred(chunk[0], mean)
    return np.dot(Z.T * weights_of(chunk), np.dot(Z, block))


def winners_chunk(chunk: tuple, units: Units, grid: Grid) -> tuple:
    """Sums over a chunk of rows.

    Returns
    -------
    sums : array of shape (n_units, n_features), the weighted sums of the known values of the rows of each unit.
    masses : array of the same shape, or of one column where nothing is missing, the weights of these values.
    hits, far, torn, mass : see `errors_chunk`.
    """
    X, weight = np.ascontiguousarray(chunk[0]), weights_of(chunk)
    first, second, gaps = units.search(X)
    k, d = units.points.shape
    sums, masses = np.zeros((k, d)), np.zeros((k, d if units.missing else 1))
    add_rows_of_units(read_only(X), read_only(weight), first, sums, masses)
    return sums, masses, *errors_chunk((first, second, gaps, weight), grid)


def errors_chunk(chunk: tuple, grid: Grid) -> tuple:
    """Of rows with these two nearest units: the weight of the rows of each unit, the sum of the distances from the
    nearest unit, the weight of the rows whose two units are not neighbours, and the weight of all."""
    first, second, gaps, weight = chunk
    weight = np.ones(len(first)) if weight is None else weight.astype(np.float64, copy=False)
    hits = np.bincount(first, weight, grid.size)
    torn = ~grid.are_neighbours(grid.pair_distances(first, second)) & (grid.size > 1)
    return hits, float(np.dot(weight, gaps)), float(np.dot(weight, torn)), float(weight.sum())


def batch_step(
    W: np.ndarray, sums: np.ndarray, masses: np.ndarray, grid: Grid, sigma: float, neighborhood: str
) -> np.ndarray:
    """Each unit becomes the mean of all rows, weighted by h of their winners: w_u = Σ_c h_uc s_c / Σ_c h_uc m_c.

    A unit without rows in its neighbourhood stays where it is.
    """
    new = W.copy()
    for some in grid.blocks():
        h = neighbourhood(grid.squared_distances(some), sigma, neighborhood)
        above, below = np.dot(h, sums), np.dot(h, masses)
        np.divide(above, below, out=new[some], where=below > 1e-290)
    return new


def neighbourhood(squares: np.ndarray, sigma: Any, kind: str = "gaussian") -> np.ndarray:
    """h of squared distances on the grid: exp(-d²/(2σ²)), or 1 up to σ.

    Examples
    --------
    >>> (
    ...     neighbourhood(np.array([0.0, 1.0, 4.0]), 1.0).round(3),
    ...     neighbourhood(np.array([0.0, 1.0, 4.0]), 1.0, "bubble"),
    ... )
    (array([1.   , 0.607, 0.135]), array([1., 1., 0.]))
    """
    if kind == "bubble":
        return (squares <= sigma**2 * (1 + 1e-9)).astype(np.float64)
    return np.exp(-squares / (2 * sigma**2))


def online_step(W: Any, x: Any, eta: float, sigma: float, grid: Grid | None = None) -> np.ndarray:
    """One visit of the online algorithm in plain form: w_u += η h_uc (x - w_u).

    Parameters
    ----------
    W : array of shape (n_units, n_features)
        The units, of a line where there is no grid.
    x : array of shape (n_features,)
        The row; NaN is a missing value.
    eta, sigma : float
        The learning rate and the radius.
    grid : Grid, optional

    Returns
    -------
    W : array of shape (n_units, n_features)

    Examples
    --------
    >>> online_step([[0.2, 0.6], [0.5, 0.5], [0.9, 0.1]], [0.6, 0.3], 0.5, 1.0).round(3)
    array([[0.321, 0.509],
           [0.55 , 0.4  ],
           [0.809, 0.161]])
    """
    W, x = np.asarray(W, dtype=np.float64), np.asarray(x, dtype=np.float64)
    grid = Grid(1, len(W)) if grid is None else grid
    winner = int(np.nansum((x - W) ** 2, axis=1).argmin())
    h = neighbourhood(grid.squared_distances([winner])[0], sigma)
    return W + eta * h[:, None] * np.where(np.isnan(x), 0.0, x - W)


@kernel
def add_rows_of_units(X, weight, winner, sums, masses):
    """Add the known values of each row, and their weights, to the sums of its winner."""
    for i in range(X.shape[0]):
        x, total, mass, a = X[i], sums[winner[i]], masses[winner[i]], weight[i]
        if mass.size == 1:
            mass[0] += a
            for j in range(x.size):
                total[j] += a * x[j]
        else:
            for j in range(x.size):
                known = x[j] == x[j]
                total[j] += a * x[j] if known else 0.0
                mass[j] += a if known else 0.0


@kernel
def online_pass(X, order, eta, sigma, W, rows, columns, hexagonal, toroidal, bubble, missing):
    """Visit the rows in their order; the winner and its neighbours move. Returns the sum of distances before."""
    d = W.shape[1]
    across, down = np.zeros(2 * columns + 1), np.zeros(rows)
    known = np.ones(d)
    total = 0.0
    for v in range(order.size):
        x = X[order[v]]
        winner, least = 0, np.inf
        for u in range(W.shape[0]):
            gap = squared_gap(x, W[u], missing)
            if gap < least:
                winner, least = u, gap
        total += np.sqrt(least)
        place_factors(sigma[v], rows, columns, hexagonal, toroidal, bubble, across, down)
        row, column = winner // columns, winner % columns
        here = 2 * column + (row % 2 if hexagonal else 0)
        if missing:
            for j in range(d):
                known[j] = 1.0 if x[j] == x[j] else 0.0
        for i in range(rows):
            factor = down[abs(i - row)]
            if not bubble and factor < CUT:
                continue
            shift = i % 2 if hexagonal else 0
            for c in range(columns):
                side = across[abs(2 * c + shift - here)]
                if bubble:
                    h = 1.0 if factor + side <= 1.0 + 1e-9 else 0.0
                else:
                    h = factor * side
                if h < CUT:
                    continue
                w, step = W[i * columns + c], eta[v] * h
                if missing:
                    for j in range(d):
                        w[j] += step * (x[j] - w[j]) if known[j] > 0 else 0.0
                else:
                    for j in range(d):
                        w[j] += step * (x[j] - w[j])
    return total


@inner
def place_factors(sigma, rows, columns, hexagonal, toroidal, bubble, across, down):
    """The factors of h = exp(-|r_u - r_c|² / (2 σ²)) by the distance in half columns, and in rows; of a bubble, the
    squared distances over σ², which are added up."""
    height = 0.75 if hexagonal else 1.0  # squared height of a row
    for i in range(rows):
        gap = min(i, rows - i) if toroidal else i
        square = gap * gap * height / (sigma * sigma)
        down[i] = square if bubble else np.exp(-0.5 * square)
    for c in range(2 * columns + 1):
        gap = min(c, abs(2 * columns - c)) if toroidal else c
        square = gap * gap * 0.25 / (sigma * sigma)
        across[c] = square if bubble else np.exp(-0.5 * square)
