"""Voronoi cells: the partition of the plane by the nearest neighbour (单元, 特征空间划分)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.spatial import Voronoi
from sklearn.utils.validation import check_consistent_length, column_or_1d

from tercet.core.catalog import method
from tercet.core.validation import check_array
from tercet.neighbors._engine.search import NeighborIndex

Box = tuple[tuple[float, float], tuple[float, float]]


class VoronoiCells(NamedTuple):
    """The Voronoi cells of rows of the plane.

    Attributes
    ----------
    polygons : one for each different row: its corners, an array of shape (n_corners, 2), in turn; without corners
        where the cell does not meet the box.
    rows : the row that each belongs to; of equal rows, the first.
    labels : the label that holds in each; None when there are no labels.
    bounds : the box, ((x_low, x_high), (y_low, y_high)).
    """

    polygons: list[np.ndarray]
    rows: np.ndarray
    labels: np.ndarray | None
    bounds: Box


@method(
    zh="单元划分（Voronoi 图）",
    task="classification",
    model="the cell of x_i: all points that are nearer to x_i than to any other row; y_i holds in it",
    strategy="the nearest neighbour alone decides",
    algorithms="the Voronoi diagram of the rows and of their images in the sides of a box",
    texts=["Li ch. 3, 3.2.1, Fig 3.1"],
    peers=["scipy.spatial.Voronoi"],
)
def voronoi_cells(X: Any, y: Any = None, bounds: Any = None) -> VoronoiCells:
    """Voronoi cells of rows of the plane, as polygons: where each row is the nearest neighbour.

    Parameters
    ----------
    X : array of shape (n, 2)
        The rows. Of several at one place the first counts.
    y : array of shape (n,), optional
        Their labels.
    bounds : ((x_low, x_high), (y_low, y_high)), optional
        The box to fill; by default one around the rows with a margin.

    Examples
    --------
    >>> found = voronoi_cells([[1, 1], [3, 1]], ["a", "b"], bounds=((0, 4), (0, 2)))
    >>> found.labels, round(float(found.polygons[1][:, 0].min()), 6)
    (array(['a', 'b'], dtype='<U1'), 2.0)
    """
    X = check_plane(X)
    box = box_corners(X, bounds)
    _, first = np.unique(X, axis=0, return_index=True)
    rows = np.sort(first)
    points = X[rows]
    # A row and its image in a side of a box are equally far from that side: the box bounds all cells by itself.
    low, high = np.minimum(points.min(axis=0), box[0]), np.maximum(points.max(axis=0), box[1])
    margin = (high - low) / 8
    low, high = low - margin, high + margin
    images = [points]
    for axis in (0, 1):
        for side in (low, high):
            image = points.copy()
            image[:, axis] = 2 * side[axis] - image[:, axis]
            images.append(image)
    middle, size = (low + high) / 2, high - low
    diagram = Voronoi((np.concatenate(images) - middle) / size.max())
    polygons = []
    for i, point in enumerate(points):
        shape = diagram.vertices[diagram.regions[diagram.point_region[i]]] * size.max() + middle
        around = shape - point
        shape = shape[np.argsort(np.arctan2(around[:, 1], around[:, 0]))]
        for axis in (0, 1):
            shape = clipped(shape, axis, box[0][axis], 1.0)
            shape = clipped(shape, axis, box[1][axis], -1.0)
        polygons.append(shape)
    labels = None if y is None else label_column(X, y)[rows]
    (x0, y0), (x1, y1) = box.tolist()
    return VoronoiCells(polygons, rows, labels, ((x0, x1), (y0, y1)))


class LabelGrid(NamedTuple):
    """Labels at the points of a grid: `labels[i, j]` at (`x[j]`, `y[i]`)."""

    x: np.ndarray
    y: np.ndarray
    labels: np.ndarray


def voronoi_labels(
    X: Any,
    y: Any,
    bounds: Any = None,
    *,
    resolution: int = 200,
    metric: Any = "minkowski",
    p: float = 2,
    metric_params: dict[str, Any] | None = None,
) -> LabelGrid:
    """Label of the nearest row at every point of a grid, under any distance.

    Parameters
    ----------
    X : array of shape (n, 2)
        The rows.
    y : array of shape (n,)
        Their labels, or numbers of their own to tell all cells apart.
    bounds : ((x_low, x_high), (y_low, y_high)), optional
        The box to fill; by default one around the rows with a margin.
    resolution : int, default=200
        Points of the grid along each side.
    metric, p, metric_params : str or callable, float, dict
        The distance, as in `NearestNeighbors`.

    Examples
    --------
    >>> voronoi_labels([[1, 1], [3, 1]], ["a", "b"], ((0, 4), (0, 2)), resolution=3, p=1).labels
    array([['a', 'a', 'b'],
           ['a', 'a', 'b'],
           ['a', 'a', 'b']], dtype='<U1')
    """
    X = check_plane(X)
    if resolution < 2:
        raise ValueError(f"voronoi_labels: resolution must be at least 2; got {resolution}.")
    box = box_corners(X, bounds)
    first, second = (np.linspace(box[0, axis], box[1, axis], resolution) for axis in (0, 1))
    points = np.stack(np.meshgrid(first, second), axis=-1).reshape(-1, 2)
    _, nearest = NeighborIndex(X, metric, p=p, params=metric_params).query(points, 1)
    return LabelGrid(first, second, label_column(X, y)[nearest[:, 0]].reshape(resolution, resolution))


def check_plane(X: Any) -> np.ndarray:
    """Rows of the plane."""
    X = check_array(X, dtype=np.float64, input_name="X")
    if X.shape[1] != 2:
        raise ValueError(f"cells are drawn in the plane: X must have 2 columns; got {X.shape[1]}.")
    return X


def label_column(X: np.ndarray, y: Any) -> np.ndarray:
    y = column_or_1d(y)
    check_consistent_length(X, y)
    return y


def box_corners(X: np.ndarray, bounds: Any) -> np.ndarray:
    """The lower left and the upper right corner of the box."""
    if bounds is None:
        low, high = X.min(axis=0), X.max(axis=0)
        margin = np.where(high > low, 0.1 * (high - low), np.maximum((high - low).max() / 2, 1.0))
        return np.stack([low - margin, high + margin])
    box = np.asarray(bounds, dtype=np.float64)
    if box.shape != (2, 2) or not np.isfinite(box).all() or not (box[:, 0] < box[:, 1]).all():
        raise ValueError(
            f"bounds must be ((x_low, x_high), (y_low, y_high)), each low below its high; got {bounds!r}."
        )
    return box.T


def clipped(shape: np.ndarray, axis: int, at: float, sign: float) -> np.ndarray:
    """The part of a convex polygon on one side of a line parallel to an axis."""
    inside = sign * (shape[:, axis] - at)
    if (inside >= 0).all():
        return shape
    kept = []
    for i in range(len(shape)):
        j = (i + 1) % len(shape)
        if inside[i] >= 0:
            kept.append(shape[i])
        if (inside[i] >= 0) != (inside[j] >= 0):
            t = inside[i] / (inside[i] - inside[j])
            kept.append(shape[i] + t * (shape[j] - shape[i]))
    return np.array(kept).reshape(-1, 2)
