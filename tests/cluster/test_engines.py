"""Engines of clustering against plain computations, where an estimator would hide a fault."""

import itertools

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

from tercet.cluster._engine.box_tree import LEAF, box_tree
from tercet.cluster._engine.condensed_linkage import METHODS, merge_by_distances
from tercet.cluster._engine.grid import REACH, Grid
from tercet.cluster._engine.grid_kernels import cell_starts, radix_sort
from tercet.cluster._engine.set_linkage import merge_by_hausdorff, merged_diameters
from tercet.cluster.agglomerative_clustering import agglomerate
from tercet.cluster.initial_modes import cao_rows, distinct_first, huang_modes
from tercet.core.rows import kernel_form
from tercet.metrics import hausdorff_distance


@pytest.mark.parametrize("n", [1, 2, LEAF, 2 * LEAF, 2 * LEAF + 1, 203])
@pytest.mark.parametrize("values", [3, 1000], ids=["ties", "few ties"])
def test_boxes_hold_their_rows_and_are_no_larger(n, values):
    X = np.random.default_rng(n).integers(0, values, (n, 3)).astype(float)
    points, order, boxes = box_tree(kernel_form(X))
    assert np.sort(order).tolist() == list(range(n))
    np.testing.assert_array_equal(points, X[order])
    inside = len(boxes.start) // 2
    for t in range(len(boxes.start)):
        rows = points[boxes.start[t] : boxes.stop[t]]
        np.testing.assert_array_equal(boxes.low[t], rows.min(axis=0))
        np.testing.assert_array_equal(boxes.high[t], rows.max(axis=0))
        if t < inside:  # the halves, on two sides of a plane
            one, other = 2 * t + 1, 2 * t + 2
            cut = boxes.stop[one]
            assert (boxes.start[one], boxes.start[other], boxes.stop[other]) == (
                boxes.start[t],
                cut,
                boxes.stop[t],
            )
            assert abs(2 * cut - boxes.start[t] - boxes.stop[t]) <= 1
            axis = int(np.argmax(rows.max(axis=0) - rows.min(axis=0)))
            assert boxes.high[one][axis] <= boxes.low[other][axis]
        elif n >= LEAF:
            assert LEAF <= len(rows) <= 2 * LEAF


@pytest.mark.parametrize("bits", [0, 1, 11, 12, 40])
def test_rows_are_sorted_by_cell_in_their_order(bits):
    keys = np.random.default_rng(bits).integers(0, 2**bits, 300)
    given = keys.copy()
    order = radix_sort(keys, int(given.max()).bit_length())
    np.testing.assert_array_equal(order, np.argsort(given, kind="stable"))
    np.testing.assert_array_equal(keys, given[order])
    start, cells = cell_starts(keys)
    expected, first = np.unique(given, return_index=True)
    np.testing.assert_array_equal(cells, expected)
    np.testing.assert_array_equal(start[:-1], np.searchsorted(keys, expected))
    assert start[-1] == 300
    assert first.size == cells.size


@pytest.mark.parametrize("d", [1, 2, 3])
def test_neighbours_are_in_the_cells_around(d):
    """All rows of a cell are neighbours, and none is farther away than the runs of cells reach."""
    X = np.random.default_rng(d).normal(size=(200, d))
    eps = 0.4
    grid = Grid(X, eps)
    near = squareform(pdist(X)) <= eps
    cell = np.repeat(np.arange(len(grid.keys)), np.diff(grid.start))
    cell_of = np.empty(200, dtype=int)
    cell_of[grid.order] = cell
    same = cell_of[:, None] == cell_of[None]
    assert near[same].all()
    gap = grid.keys[cell_of][:, None] - grid.keys[cell_of][None]
    reached = (np.abs(gap[..., None] - grid.runs) <= REACH).any(axis=-1)
    assert reached[near].all()


@pytest.mark.parametrize("linkage", METHODS)
def test_trees_are_merged_from_condensed_distances(linkage):
    """So many rows that the matrix is packed several times; with ties where rounding does not decide them."""
    rng = np.random.default_rng(0)
    tables = [rng.normal(size=(41, 2)), rng.integers(0, 4, (41, 2)).astype(float)]
    for X in tables if linkage in ("single", "complete") else tables[:1]:
        D = pdist(X)
        squared = linkage in ("centroid", "median")
        tree = merge_by_distances(D**2 if squared else D.copy(), 41, linkage, n_jobs=2)
        plain = agglomerate(squareform(D), linkage)
        np.testing.assert_array_equal(tree.children, plain[0])
        heights = np.sqrt(np.maximum(tree.heights, 0)) if squared else tree.heights
        np.testing.assert_allclose(heights, plain[1], atol=1e-9)


def members(children, n):
    """The rows of each merged cluster."""
    sets = [[i] for i in range(n)]
    for a, b in children:
        sets.append(sets[a] + sets[b])
    return sets[n:]


def test_diameters_of_merged_clusters():
    X = np.random.default_rng(1).normal(size=(23, 2))
    D = squareform(pdist(X))
    tree = merge_by_hausdorff(D)
    for rows, width in zip(
        members(tree.children, 23), merged_diameters(pdist(X), 23, tree.children), strict=True
    ):
        assert width == D[np.ix_(rows, rows)].max()
    sets = [[i] for i in range(23)] + members(tree.children, 23)
    for (a, b), height in zip(tree.children, tree.heights, strict=True):
        assert height == pytest.approx(hausdorff_distance(X[sets[a]], X[sets[b]]))


CODES = np.random.default_rng(0).integers(0, 3, (30, 4)).astype(np.int32)
SIZES = np.full(4, 3)


def test_first_different_rows():
    codes = CODES[[0, 0, 1, 0, 2]]
    assert distinct_first(codes, np.array([3, 1, 2, 0, 4]), 3).tolist() == [3, 2, 4]
    assert distinct_first(codes[:2], np.array([1, 0]), 2).tolist() == [1, 0]  # filled up


def test_rows_of_high_density_far_apart():
    """Cao's start by its definition; a row of weight 2 is two rows."""
    weight = np.random.default_rng(1).integers(1, 4, 30).astype(float)
    chosen = cao_rows(CODES, weight, np.arange(30), 3, SIZES)
    density = np.array([sum(weight @ (CODES[:, j] == row[j]) for j in range(4)) for row in CODES])
    density /= 4 * weight.sum()
    assert chosen[0] == density.argmax()
    for k in (1, 2):
        far = [
            min(np.count_nonzero(row != CODES[c]) * own for c in chosen[:k])
            for row, own in zip(CODES, density)
        ]
        assert far[chosen[k]] == pytest.approx(max(far))


def test_modes_drawn_by_frequencies_are_different_rows():
    modes = huang_modes(CODES, np.ones(30), np.arange(30), 5, SIZES, np.random.default_rng(0))
    assert all((modes[a] != modes[b]).any() for a, b in itertools.combinations(range(5), 2))
    assert all((mode == CODES).all(axis=1).any() for mode in modes)
    one = CODES.copy()
    one[:, 1:] = 2  # these values are certain, and only as many rows differ as column 0 has values
    drawn = huang_modes(one, np.ones(30), np.arange(30), 3, SIZES, np.random.default_rng(0))
    assert sorted(drawn[:, 0].tolist()) == [0, 1, 2]
    assert (drawn[:, 1:] == 2).all()
