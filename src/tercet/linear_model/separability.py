"""Linear separability (线性可分性): margins, the test, and Novikoff's bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linprog, nnls

from tercet.core.catalog import method
from tercet.core.validation import check_X_y


def functional_margin(X: Any, y: Any, w: Any, b: float = 0.0) -> np.ndarray:
    """y(w·x + b) of each row: how right, and how surely, the hyperplane is (函数间隔; Li ch. 2.2).

    Examples
    --------
    >>> functional_margin([[3, 3], [4, 3], [1, 1]], [1, 1, -1], [1, 1], -3)
    array([3., 4., 1.])
    """
    return np.asarray(y, dtype=float) * (np.asarray(X, dtype=float) @ np.asarray(w, dtype=float) + b)


def hyperplane_distance(X: Any, w: Any, b: float = 0.0) -> np.ndarray:
    """|w·x + b| / |w|, the distance of each row from the hyperplane (Li ch. 2.2).

    Examples
    --------
    >>> hyperplane_distance([[3, 3]], [3, 4], -1)
    array([4.])
    """
    w = np.asarray(w, dtype=float)
    return np.abs(np.asarray(X, dtype=float) @ w + b) / np.linalg.norm(w)


def perceptron_loss(
    X: Any, y: Any, w: Any, b: float = 0.0, *, distance: bool = False
) -> tuple[float, np.ndarray, float]:
    """Sum of -y(w·x + b) over the misclassified rows, and its gradients in w and b (Li eq. 2.4).

    With `distance` the rows' distances from the hyperplane are summed; the gradients stay those of (2.4), which
    leaves 1/|w| out. A row on the hyperplane counts as misclassified and adds nothing to the loss.

    Examples
    --------
    >>> perceptron_loss([[3, 3], [1, 1]], [1, -1], [1, 1], -1)
    (1.0, array([1., 1.]), 1.0)
    """
    X, y = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
    margin = functional_margin(X, y, w, b)
    wrong = margin <= 0
    loss = float(-margin[wrong].sum()) / (float(np.linalg.norm(w)) if distance else 1.0)
    return loss + 0.0, -(y[wrong] @ X[wrong]) + 0.0, float(-y[wrong].sum()) + 0.0


@dataclass(frozen=True)
class Separability:
    """Whether a hyperplane separates two classes, and one that does.

    Attributes
    ----------
    separable : bool.
    coef, intercept : w and b with y(w·x + b) >= 1 for all rows; None when there are none.

    Examples
    --------
    >>> found = linear_separability([[0.0], [1.0], [2.0]], [0, 1, 0])
    >>> bool(found), found.coef
    (False, None)
    """

    separable: bool
    coef: np.ndarray | None
    intercept: float | None

    def __bool__(self) -> bool:
        return self.separable


@method(
    zh="线性可分性",
    task="theory",
    model="w·x + b > 0 for one class and < 0 for the other",
    strategy="y(w·x + b) >= 1 for all rows",
    algorithms="linear programming",
    texts=["Li ch. 2, Def 2.2, Ex 2.3"],
)
def linear_separability(X: Any, y: Any) -> Separability:
    """Whether some hyperplane has all rows of one class strictly on one side and all others on the other.

    That is so exactly when the convex hulls of the two classes do not meet.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The points.
    y : array of shape (n_samples,)
        Labels of two values; the larger one is the positive side.

    Returns
    -------
    Separability
        True or false in a condition; with `coef` and `intercept`.

    Examples
    --------
    >>> square = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> bool(linear_separability(square, [0, 0, 0, 1])), bool(linear_separability(square, [0, 1, 1, 0]))
    (True, False)
    """
    X, side = _two_classes(X, y)
    # Neither the units nor the origin of the features change the answer, but the program's tolerances have a scale.
    center = X.min(axis=0) / 2 + X.max(axis=0) / 2
    X = X - center
    width = np.abs(X).max(axis=0)
    width[width == 0] = 1.0
    A = side[:, None] * np.column_stack([X / width, np.ones(len(X))])
    # Free variables as differences of positive ones; the smallest sum keeps the numbers in range.
    found = linprog(np.ones(2 * A.shape[1]), A_ub=np.hstack([-A, A]), b_ub=-np.ones(len(A)), bounds=(0, None))
    if found.status != 0:
        return Separability(False, None, None)
    plus, minus = np.split(found.x, 2)
    w = plus - minus
    if not (A @ w > 0).all():
        return Separability(False, None, None)
    coef = w[:-1] / width
    return Separability(True, coef, float(w[-1] - coef @ center))


@dataclass(frozen=True)
class NovikoffBound:
    """What the convergence theorem says of the perceptron on separable data.

    Attributes
    ----------
    radius : R, the largest |(x, 1)|.
    margin : γ, the smallest y(w·x + b) when |(w, b)| = 1.
    bound : (R/γ)^2, the most mistakes that a perceptron makes from a start at zero.

    Examples
    --------
    >>> found = novikoff_bound([[3.0], [-3.0]], [1, -1])
    >>> round(found.radius, 6), round(found.margin, 6), round(found.bound, 6)
    (3.162278, 3.0, 1.111111)
    """

    radius: float
    margin: float
    bound: float


@method(
    zh="Novikoff 定理",
    task="theory",
    model="sign(w·x + b)",
    strategy="number of mistakes k <= (R/γ)^2",
    algorithms="the largest margin by least distance programming",
    texts=["Li ch. 2, Thm 2.1"],
)
def novikoff_bound(X: Any, y: Any, coef: Any = None, intercept: float = 0.0) -> NovikoffBound:
    """The most mistakes that a perceptron makes on separable data, from a start at zero, with any eta0.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The points.
    y : array of shape (n_samples,)
        Labels of two values; the larger one is the positive side.
    coef, intercept : array and float, optional
        A separating hyperplane; by default the one of the largest margin in the space of (x, 1), which gives
        the best bound.

    Returns
    -------
    NovikoffBound

    Examples
    --------
    >>> found = novikoff_bound([[3, 3], [4, 3], [1, 1]], [1, 1, -1])
    >>> round(found.margin, 4), round(found.bound)
    (0.4714, 117)
    """
    X, side = _two_classes(X, y)
    extended = np.column_stack([X, np.ones(len(X))])
    A = side[:, None] * extended
    w = _largest_margin(A) if coef is None else np.append(np.asarray(coef, dtype=float).ravel(), intercept)
    margin = float((A @ w).min() / np.linalg.norm(w)) if w.any() else 0.0
    if margin <= 0:
        what = "the classes are" if coef is None else "coef and intercept are"
        raise ValueError(f"novikoff_bound holds for separated classes only; {what} not separating.")
    radius = float(np.sqrt((extended**2).sum(axis=1).max()))
    return NovikoffBound(radius, margin, (radius / margin) ** 2)


def _largest_margin(A: np.ndarray) -> np.ndarray:
    """The shortest w with Aw >= 1, by Lawson and Hanson's least distance programming; zero if there is none."""
    E = np.vstack([A.T, np.ones(len(A))])
    f = np.zeros(len(E))
    f[-1] = 1.0
    u, _ = nnls(E, f)
    r = E @ u - f
    return -r[:-1] / r[-1] if abs(r[-1]) > 1e-12 else np.zeros(len(E) - 1)


def _two_classes(X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
    X, y = check_X_y(X, y, dtype=np.float64)
    classes = np.unique(y)
    if classes.size != 2:
        raise ValueError(f"y must have two classes; got {classes.tolist()[:5]}.")
    return X, np.where(y == classes[1], 1.0, -1.0)
