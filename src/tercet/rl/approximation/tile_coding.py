"""Tile coding (瓦片编码): several shifted grids, in each of which a point lies in one tile."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from tercet.core.catalog import method
from tercet.core.fitted_checks import Declarations, Indices
from tercet.core.kernel import inner, kernel
from tercet.core.parameters import ArrayLike, Count
from tercet.core.rows import read_only
from tercet.core.symbolic_shapes import Sizes
from tercet.rl.approximation.bounded_features import BoundedFeatures, scaled

BELOW_ONE = 1.0 - 2.0**-40  # the highest value of an input belongs to the last tile
MOST_TILES = 2.0**62


@method(
    zh="瓦片编码",
    task="feature map",
    model="φ_j(x) = 1 if x lies in tile j, otherwise 0; one tile of each of several shifted grids holds x",
    strategy="near points share many tiles, so that what is learned in one place generalises to its neighbours",
    peers=["Sutton & Barto, Reinforcement Learning, sec. 9.5.4", "tiles3"],
)
class TileCoding(BoundedFeatures):
    """Tile coding: binary features that say in which tile of each of several shifted grids an observation lies.

    Each grid (tiling) cuts the range of every input into tiles of equal width. The grids are shifted against each
    other by parts of a tile, by the displacement vector (1, 3, 5, ...), so that a point has as many features of
    value 1 as there are tilings, and near points share most of them. An input outside its range counts as the
    nearest end.

    Parameters
    ----------
    n_tiles : int or array of int of shape (n_features,), default=8
        Tiles that fit into the range of an input. With more than one tiling, a grid has one more, since it is
        shifted.
    n_tilings : int, default=8
        Number of grids; a power of 2 that is at least 4 times the number of inputs spreads the shifts best.
    low, high : float or array of shape (n_features,), optional
        Range of the inputs; by default that of the rows given to `fit`. An agent takes it from the environment.
    sparse_output : bool, default=True
        Whether `transform` returns a sparse matrix or an array.

    Attributes
    ----------
    low_, high_ : arrays of shape (n_features,)
        The ranges.
    n_tiles_ : array of int of shape (n_features,)
        Number of tiles of a grid along each input.

    Examples
    --------
    >>> tiles = TileCoding(n_tiles=4, n_tilings=2, low=0.0, high=1.0)
    >>> tiles.fit_transform([[0.1], [0.2], [0.9]]).toarray().astype(int)
    array([[1, 0, 0, 0, 0, 1, 0, 0, 0, 0],
           [1, 0, 0, 0, 0, 0, 1, 0, 0, 0],
           [0, 0, 0, 1, 0, 0, 0, 0, 0, 1]])
    """

    fitted_shapes: ClassVar[Declarations] = {"n_tiles_": Indices("features", below=str(2**62), low=1)}
    n_tiles_: np.ndarray

    def __init__(
        self,
        n_tiles: Count | ArrayLike = 8,
        n_tilings: Count = 8,
        *,
        low: ArrayLike | None = None,
        high: ArrayLike | None = None,
        sparse_output: bool = True,
    ) -> None:
        self.n_tiles = n_tiles
        self.n_tilings = n_tilings
        self.low = low
        self.high = high
        self.sparse_output = sparse_output

    def _prepare(self) -> None:
        given = np.asarray(self.n_tiles)
        whole = (
            given.dtype.kind in "iu"
            and given.shape in ((), (self.n_features_in_,))
            and bool((given >= 1).all())
        )
        if not whole:
            raise ValueError(
                f"TileCoding: n_tiles must be an integer of at least 1, or one for each of {self.n_features_in_} "
                f"features; got {self.n_tiles!r}."
            )
        self.n_tiles_ = np.broadcast_to(given, self.n_features_in_).astype(np.int64) + (self.n_tilings > 1)
        n = self.n_tilings * math.prod(map(float, self.n_tiles_))
        self._refuse_too_many(n, "lower n_tiles, or choose fewer inputs", MOST_TILES)

    def _check_fitted(self, sizes: Sizes) -> None:
        self._refuse_too_many(
            self.n_tilings * math.prod(map(float, self.n_tiles_)), "the model is damaged", MOST_TILES
        )

    @property
    def _n_features_out(self) -> int:
        return self.n_tilings * math.prod(self.n_tiles_.tolist())

    @property
    def _n_entries(self) -> int:
        return self.n_tilings

    def _writer(self) -> Callable[[np.ndarray, np.ndarray, np.ndarray], int]:
        (low, half_widths), n_tiles, n = self._ranges(), read_only(self.n_tiles_), self.n_tilings

        def write(x: np.ndarray, columns: np.ndarray, values: np.ndarray) -> int:
            tiles(read_only(x[None]), low, half_widths, n_tiles, n, columns[None])
            values[:] = 1.0
            return n

        return write

    def transform(self, X: Any) -> Any:
        """The tiles that each row lies in.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Observations.

        Returns
        -------
        sparse matrix or array of shape (n_samples, n_tilings · tiles of a grid)
            A one for each tiling in each row.
        """
        X, dtype = self._checked(X)
        columns = np.empty((len(X), self.n_tilings), dtype=np.int64)
        tiles(X, *self._ranges(), read_only(self.n_tiles_), self.n_tilings, columns)
        ends = np.arange(0, columns.size + 1, self.n_tilings)
        found = sparse.csr_matrix(
            (np.ones(columns.size, dtype=dtype), columns.ravel(), ends), shape=(len(X), self._n_features_out)
        )
        return found if self.sparse_output else found.toarray()


@kernel
def tiles(X, low, half_widths, n_tiles, n_tilings, columns):
    """Numbers of the tiles of each row, shape (n_samples, n_tilings): the tiles of the first grid come first."""
    for i in range(X.shape[0]):
        for t in range(n_tilings):
            columns[i, t] = tile(X, i, low, half_widths, n_tiles, n_tilings, t)


@inner
def tile(X, i, low, half_widths, n_tiles, n_tilings, t):
    """The tile of grid t that row i lies in: grid t is shifted by the part t (1, 3, 5, ...) / n_tilings of a
    tile."""
    number = t
    for j in range(n_tiles.size):
        inside = n_tiles[j] - (n_tilings > 1)
        s = min(scaled(X[i, j], low[j], half_widths[j]), BELOW_ONE)
        shift = (t * (2 * j + 1)) % n_tilings
        number = number * n_tiles[j] + int(s * inside + shift / n_tilings)
    return number
