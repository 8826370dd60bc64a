"""The algorithms of PageRank in plain form: iteration, power method, linear equations.

They work on a transition matrix M whose columns are sources (`transition_matrix`). `PageRank` is the class for use.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from tercet.core.catalog import method
from tercet.core.steps import ConvergenceWarning
from tercet.core.validation import check_structure
from tercet.graph.graph_input import node_weights

DENSE = 2000  # nodes up to which equations are solved by a dense factorisation

Advance = Callable[[np.ndarray], np.ndarray]


class PageRankResult(NamedTuple):
    """PageRank, and the vectors on the way.

    Attributes
    ----------
    scores : array of shape (n_nodes,)
        The PageRank of each node.
    trace : list of arrays
        The vectors from the start on.
    n_iter : int
        Number of products with the matrix.
    converged : bool
        Whether the last step was shorter than the tolerance.
    """

    scores: np.ndarray
    trace: list[np.ndarray]
    n_iter: int
    converged: bool


def google_matrix(M: Any, damping: float = 0.85, teleport: Any = None) -> np.ndarray:
    """Transition matrix of the general random walk: A = d M + (1 - d) v 1'.

    With the uniform v this is d M + (1 - d)/n E, where E is a matrix of ones (21.22).

    Parameters
    ----------
    M : array or sparse array of shape (n_nodes, n_nodes)
        Transition matrix whose columns are sources.
    damping : float, default=0.85
        Probability d to follow an edge.
    teleport : array of shape (n_nodes,), optional
        Distribution v of the jumps, uniform by default.

    Examples
    --------
    >>> google_matrix([[0, 0, 1], [0.5, 0, 0], [0.5, 1, 0]], 0.85).round(3)
    array([[0.05 , 0.05 , 0.9  ],
           [0.475, 0.05 , 0.05 ],
           [0.475, 0.9  , 0.05 ]])
    """
    M, v = _checked(M, damping, teleport)
    dense = M.toarray() if sparse.issparse(M) else M
    return damping * dense + (1 - damping) * v[:, None]


@method(
    zh="PageRank 的迭代算法",
    task="graph analysis",
    model="R = d M R + (1 - d)/n · 1",
    algorithms="R_{t+1} = d M R_t + (1 - d)/n · 1 until R does not change",
    texts=["Li ch. 21, Alg 21.1, eq. 21.10-21.15"],
    peers=["networkx.pagerank"],
)
def pagerank_iteration(
    M: Any,
    damping: float = 0.85,
    *,
    start: Any = None,
    teleport: Any = None,
    tol: float = 1e-10,
    max_iter: int = 1000,
) -> PageRankResult:
    """PageRank by iteration: R_{t+1} = d M R_t + (1 - d) v.

    With damping=1 this is the basic definition, R_{t+1} = M R_t, which has a limit if the graph is strongly
    connected and aperiodic. A column of zeros (a dangling node) loses what its node has: then R sums to less than
    one.

    Parameters
    ----------
    M : array or sparse array of shape (n_nodes, n_nodes)
        Transition matrix whose columns are sources.
    damping : float, default=0.85
        Probability d to follow an edge, from 0 to 1.
    start : array of shape (n_nodes,), optional
        R_0, uniform by default.
    teleport : array of shape (n_nodes,), optional
        Distribution v of the jumps, uniform by default.
    tol : float, default=1e-10
        Stop when the sum of the absolute changes of R is not above it.
    max_iter : int, default=1000
        The most steps.

    Returns
    -------
    PageRankResult

    Examples
    --------
    >>> found = pagerank_iteration([[0, 0, 1], [0.5, 0, 0], [0.5, 1, 0]], 0.85)
    >>> found.scores.round(4)
    array([0.3878, 0.2148, 0.3974])
    """
    M, v = _checked(M, damping, teleport)
    R = _start(start, v.size, 1.0 / v.size)
    return _iterated(iteration(M, damping, v), R, tol, max_iter, "pagerank_iteration")


@method(
    zh="PageRank 的幂法",
    task="graph analysis",
    model="A R = R, A = d M + (1 - d)/n · E",
    algorithms="y = A x, x = y / max y_i until x does not change; R = x / Σ x_i",
    texts=["Li ch. 21, Alg 21.2, eq. 21.22"],
    peers=["networkx.pagerank"],
)
def pagerank_power(
    M: Any,
    damping: float = 0.85,
    *,
    start: Any = None,
    teleport: Any = None,
    tol: float = 1e-10,
    max_iter: int = 1000,
) -> PageRankResult:
    """PageRank by the power method: the dominant eigenvector of A = d M + (1 - d) v 1', normalised to sum to one.

    The dominant eigenvalue is 1 where M is stochastic; the second has at most modulus d. Columns of zeros (dangling
    nodes) should be replaced: with them the eigenvalue is less than 1, and x solves other equations.

    Parameters
    ----------
    M : array or sparse array of shape (n_nodes, n_nodes)
        Transition matrix whose columns are sources.
    damping : float, default=0.85
        Probability d to follow an edge, from 0 to 1.
    start : array of shape (n_nodes,), optional
        x_0, all ones by default.
    teleport : array of shape (n_nodes,), optional
        Distribution v of the jumps, uniform by default.
    tol : float, default=1e-10
        Stop when the sum of the absolute changes of x, whose largest entry is 1, is not above it.
    max_iter : int, default=1000
        The most steps.

    Returns
    -------
    PageRankResult
        `trace` has the vectors x_t, whose largest entry is 1.

    Examples
    --------
    >>> found = pagerank_power([[0, 0, 1], [0.5, 0, 0], [0.5, 1, 0]], 0.85)
    >>> found.trace[1].round(4), found.scores.round(4)
    (array([0.7018, 0.4035, 1.    ]), array([0.3878, 0.2148, 0.3974]))
    """
    M, v = _checked(M, damping, teleport)
    x = _start(start, v.size, 1.0)
    found = _iterated(scaled(google_product(M, damping, v)), x, tol, max_iter, "pagerank_power")
    return found._replace(scores=normalised(found.scores))


@method(
    zh="PageRank 的代数算法",
    task="graph analysis",
    model="R = (I - d M)^-1 (1 - d)/n · 1",
    algorithms="one linear system, whose solution is unique for 0 <= d < 1",
    texts=["Li ch. 21, 21.3.3, eq. 21.23-21.24"],
)
def pagerank_algebraic(M: Any, damping: float = 0.85, *, teleport: Any = None) -> np.ndarray:
    """PageRank as the solution of linear equations: (I - d M) R = (1 - d) v.

    Dense factorisation up to 2 000 nodes, sparse beyond: on large graphs without structure that fills in, and takes
    more time and memory than the iteration.

    Parameters
    ----------
    M : array or sparse array of shape (n_nodes, n_nodes)
        Transition matrix whose columns are sources.
    damping : float, default=0.85
        Probability d to follow an edge, from 0 to less than 1.
    teleport : array of shape (n_nodes,), optional
        Distribution v of the jumps, uniform by default.

    Returns
    -------
    array of shape (n_nodes,)

    Examples
    --------
    >>> pagerank_algebraic([[0, 0, 1], [0.5, 0, 0], [0.5, 1, 0]], 0.85).round(4)
    array([0.3878, 0.2148, 0.3974])
    """
    M, v = _checked(M, damping, teleport)
    if damping == 1:
        raise ValueError("damping must be less than 1 for the algebraic solution: I - M has no inverse.")
    return solved(M, damping, (1 - damping) * v)


# Steps of the algorithms, which `PageRank` shares ---------------------------------------------------------------


def iteration(M: Any, damping: float, teleport: np.ndarray) -> Advance:
    """R -> d M R + (1 - d) v."""
    return lambda R: damping * (M @ R) + (1 - damping) * teleport


def google_product(M: Any, damping: float, teleport: np.ndarray) -> Advance:
    """x -> A x = d M x + (1 - d) (Σ x_i) v, without the matrix A, which has no zeros."""
    return lambda x: damping * (M @ x) + (1 - damping) * x.sum() * teleport


def scaled(product: Advance) -> Advance:
    """x -> y / max |y_i| for y = A x."""

    def advance(x: np.ndarray) -> np.ndarray:
        y = product(x)
        size = np.abs(y).max()
        return y / size if size > 0 else y

    return advance


def solved(M: Any, damping: float, b: np.ndarray) -> np.ndarray:
    """The solution R of (I - d M) R = b."""
    n = b.size
    if n <= DENSE:
        dense = M.toarray() if sparse.issparse(M) else M
        return np.linalg.solve(np.eye(n) - damping * dense, b)
    return splu(sparse.csc_array(sparse.eye_array(n) - damping * sparse.csc_array(M))).solve(b)


def normalised(x: np.ndarray) -> np.ndarray:
    """x / Σ x_i; zeros stay zeros."""
    total = x.sum()
    return x / total if total > 0 else x


def _iterated(advance: Advance, x: np.ndarray, tol: float, max_iter: int, who: str) -> PageRankResult:
    trace, change = [x], np.inf
    for _ in range(max_iter):
        x = advance(x)
        change = float(np.abs(x - trace[-1]).sum())
        trace.append(x)
        if change <= tol:
            return PageRankResult(x, trace, len(trace) - 1, True)
    warnings.warn(
        f"{who} did not converge in {max_iter} steps (last change {change:.6g}). Raise max_iter or tol, or lower "
        "damping.",
        ConvergenceWarning,
        stacklevel=3,
    )
    return PageRankResult(x, trace, len(trace) - 1, False)


def _checked(M: Any, damping: Any, teleport: Any) -> tuple[Any, np.ndarray]:
    """A square matrix of probabilities and the distribution of the jumps."""
    M = check_structure(M, "M") if sparse.issparse(M) else np.asarray(M, dtype=np.float64)
    if len(M.shape) != 2 or M.shape[0] != M.shape[1] or not M.shape[0]:
        raise ValueError(f"M must be a square matrix; the shape is {M.shape}.")
    values = M.data if sparse.issparse(M) else M
    if values.size and not (np.min(values) >= 0 and np.isfinite(np.max(values))):
        raise ValueError("M must hold probabilities: finite numbers of at least 0.")
    sums = np.asarray(M.sum(axis=0)).reshape(-1)
    if (sums > 1 + 1e-6).any():
        column = int(np.argmax(sums))
        raise ValueError(
            f"Columns of M must sum to 1, or to 0 for a dangling node; column {column}: {sums[column]:.6g}."
        )
    if not isinstance(damping, int | float | np.number) or not 0 <= damping <= 1:
        raise ValueError(f"damping must be a number from 0 to 1; got {damping!r}.")
    v = node_weights(teleport, M.shape[0], None, "teleport")
    return M, np.full(M.shape[0], 1.0 / M.shape[0]) if v is None else v


def _start(start: Any, n: int, default: float) -> np.ndarray:
    x = np.full(n, default) if start is None else np.array(start, dtype=np.float64)
    if x.shape != (n,) or not (x >= 0).all() or not 0 < x.sum() < np.inf:
        raise ValueError(
            f"start must have {n} finite numbers of at least 0, not all of them 0; got {start!r}."
        )
    return x
