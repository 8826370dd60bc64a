"""Pictures of kd-trees."""

import numpy as np
import pytest

from tercet.neighbors import BalancedKDTree
from tercet.plot import plot_cells, plot_kd_tree, to_svg

T = [(2, 3), (5, 4), (9, 6), (4, 7), (8, 1), (7, 2)]


def cuts(ax):
    return [np.array(path) for path in ax.collections[0].get_segments()]


def test_cuts_go_through_their_points_and_end_at_others():
    tree = BalancedKDTree(T)
    lines = cuts(plot_kd_tree(tree))
    assert len(lines) == 6
    for line, row, axis in zip(lines, tree.row, tree.axis):
        assert (line[:, axis] == T[row][axis]).all()
        assert line[0, 1 - axis] <= T[row][1 - axis] <= line[1, 1 - axis]
    left = lines[list(tree.row).index(1)]  # (5, 4) cuts from the edge to the root's line
    assert left[1].tolist() == [7, 4]


@pytest.mark.parametrize("p", [1, 2, 3.5, np.inf])
def test_the_ball_reaches_the_last_neighbour(p):
    tree = BalancedKDTree(T, p=p)
    ax = plot_kd_tree(tree, query=[9, 2], k=2)
    distances, _, trace = tree.query([9, 2], 2, trace=True)
    rim = np.column_stack(ax.lines[1].get_data()) - [9, 2]
    np.testing.assert_allclose(np.linalg.norm(rim, ord=p, axis=1), distances[-1])
    assert [text.get_text() for text in ax.texts] == [str(i + 1) for i in range(len(trace.visited))]
    assert ax.get_title("left") == f"{len(trace.visited)} of 6 points visited"
    assert to_svg(ax).startswith("<svg")


def test_single_points_and_other_dimensions():
    assert len(cuts(plot_kd_tree(BalancedKDTree([[1.0, 1.0]]), query=[1.0, 1.0]))) == 1
    with pytest.raises(ValueError, match="two coordinates; those of the tree have 3"):
        plot_kd_tree(BalancedKDTree([[1, 2, 3]]))


def test_cells_fill_the_frame_in_the_colours_of_their_points():
    X, y = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 2.0], [1.0, 2.0]]), ["a", "b", "a", "b"]
    ax = plot_cells(X, y, ["east", "north"], bounds=((-1, 3), (-1, 3)))
    shapes, outlines = ax.collections[:2]
    assert len(shapes.get_paths()) == len(outlines.get_paths()) == 3
    assert len({tuple(colour) for colour in shapes.get_facecolors()}) == 2
    assert ax.get_xlim() == (-1, 3)
    assert ax.get_xlabel() == "east"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b"]
    assert to_svg(ax).startswith("<svg")


@pytest.mark.parametrize("metric", ["manhattan", "chebyshev"])
def test_cells_of_other_distances_are_a_grid(metric):
    ax = plot_cells([[0, 0], [2, 1]], [0, 1], metric=metric, resolution=20)
    areas, edges = (image.get_array() for image in ax.images)
    assert set(np.unique(areas)) == {0, 1}
    assert 0 < edges.count() < 200
    with pytest.raises(ValueError, match="draws two features"):
        plot_cells([[0, 0, 1]], [0])
