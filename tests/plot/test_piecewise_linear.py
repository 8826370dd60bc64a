"""Pictures of piecewise-linear and one-class quadratic discriminants."""

import numpy as np
import pytest

from tercet.discriminant_analysis import (
    OneClassQuadraticDiscriminant,
    PiecewiseLinearDiscriminant,
    PiecewiseLinearDistance,
    PiecewiseLinearTree,
)
from tercet.plot import plot_model, plot_pieces
from tercet.plot.piecewise_linear import clipped_line, subclass_pieces, tree_pieces

FRAME = np.vstack([np.eye(2), -np.eye(2)]), np.array([4.0, 4.0, 1.0, 1.0])


def board(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 4, size=(n, 2))
    return X, ((X[:, 0] > 1.5) ^ (X[:, 1] > 1.5)).astype(int)


def sides(model, pieces):
    """The classes on both sides of points along the pieces."""
    for a, b in pieces:
        for part in (0.1, 0.5, 0.9):
            point, normal = a + part * (b - a), np.array([a[1] - b[1], b[0] - a[0]]) / np.linalg.norm(b - a)
            yield model.predict([point + 1e-6 * normal])[0], model.predict([point - 1e-6 * normal])[0]


@pytest.mark.parametrize("kind", [PiecewiseLinearDistance, PiecewiseLinearDiscriminant])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_pieces_part_the_classes(kind):
    X, y = board()
    model = kind(2, random_state=0).fit(X, y)
    pieces = list(subclass_pieces(model, *FRAME))
    assert pieces
    assert all(one != other for one, other in sides(model, pieces))
    ax = plot_pieces(model, X, y, ["east", "north"])
    assert ax.get_xlabel() == "east"


def test_hyperplanes_of_a_tree_end_at_those_above():
    X, y = board()
    model = PiecewiseLinearTree(random_state=0).fit(X, y)
    pieces = list(tree_pieces(model.tree_, *FRAME))
    assert 1 < len(pieces) <= len(model.tree_.coef)
    for a, b in pieces:
        normal = np.array([a[1] - b[1], b[0] - a[0]]) / np.linalg.norm(b - a)
        for part in (0.1, 0.9):
            point = a + part * (b - a)
            assert len(set(model.apply([point + 1e-7 * normal, point - 1e-7 * normal]))) == 2
    ax = plot_pieces(model, X, y)
    assert len(ax.collections[-1].get_segments()) == len(pieces)


def test_clipped_line():
    assert clipped_line(np.array([0.0, 0.0]), 1.0, *FRAME) is None
    assert clipped_line(np.array([1.0, 0.0]), 9.0, *FRAME) is None
    np.testing.assert_allclose(clipped_line(np.array([1.0, 1.0]), 0.0, *FRAME), [[1.0, -1.0], [-1.0, 1.0]])


def test_own_pictures():
    X, y = board()
    assert plot_model(PiecewiseLinearDistance(2, random_state=0).fit(X, y)) is not None
    ellipse = plot_model(OneClassQuadraticDiscriminant(threshold=4.0).fit(X), ["a", "b"])
    assert ellipse.get_xlabel() == "a"
    assert "K² = 4" in [text.get_text() for text in ellipse.get_legend().get_texts()]
    with pytest.raises(ValueError, match=r"plot_pieces draws two features; X has shape \(120, 1\)"):
        plot_pieces(PiecewiseLinearTree().fit(X, y), X[:, :1])
