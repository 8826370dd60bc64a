"""Cells of the nearest neighbour: they cover the box, and their rows are nearest in them."""

import numpy as np
import pytest

from tercet.neighbors import KNeighborsClassifier, voronoi_cells, voronoi_labels

RNG = np.random.default_rng(0)


def area(polygon):
    x, y = polygon.T
    return abs(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2 if len(polygon) > 2 else 0.0


@pytest.mark.parametrize("n", [1, 2, 3, 40])
@pytest.mark.parametrize("bounds", [None, ((-0.2, 1.5), (-1.0, 30.0))])
def test_cells_cover_the_box_once(n, bounds):
    X = RNG.normal(size=(n, 2)) * [1, 50]
    found = voronoi_cells(X, bounds=bounds)
    (left, right), (low, high) = found.bounds
    assert sum(map(area, found.polygons)) == pytest.approx((right - left) * (high - low))
    for polygon, row in zip(found.polygons, found.rows):
        assert (polygon >= np.array([left, low]) - 1e-9).all()
        assert (polygon <= np.array([right, high]) + 1e-9).all()
        if len(polygon):
            inside = RNG.dirichlet(np.ones(len(polygon)), size=20) @ polygon
            gaps = ((inside[:, None] - X) ** 2).sum(axis=2)
            assert (gaps[:, row] <= gaps.min(axis=1) * (1 + 1e-9) + 1e-12).all()


def test_rows_on_a_line_and_at_one_place():
    found = voronoi_cells([[0, 0], [1, 0], [1, 0], [3, 0]], [0, 1, 2, 3], bounds=((-1, 4), (-1, 1)))
    assert found.rows.tolist() == [0, 1, 3]
    assert found.labels.tolist() == [0, 1, 3]
    np.testing.assert_allclose([area(p) for p in found.polygons], [3.0, 3.0, 4.0])


@pytest.mark.parametrize("p", [1, 2, np.inf])
def test_grid_is_the_nearest_neighbour_classifier(p):
    X, y = RNG.normal(size=(25, 2)), RNG.integers(0, 3, 25)
    grid = voronoi_labels(X, y, resolution=11, p=p)
    points = np.stack(np.meshgrid(grid.x, grid.y), axis=-1).reshape(-1, 2)
    expected = KNeighborsClassifier(1, p=p).fit(X, y).predict(points)
    assert np.array_equal(grid.labels.ravel(), expected)


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="2 columns; got 3"):
        voronoi_cells(np.zeros((4, 3)))
    with pytest.raises(ValueError, match="bounds must be"):
        voronoi_cells(np.zeros((4, 2)), bounds=((1, 0), (0, 1)))
    with pytest.raises(ValueError, match="resolution must be at least 2"):
        voronoi_labels([[0, 0]], [1], resolution=1)
    with pytest.raises(ValueError, match="inconsistent"):
        voronoi_cells([[0, 0], [1, 1]], [1])
