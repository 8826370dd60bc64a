"""Markov properties of a joint distribution, and its factorisation over cliques (马尔可夫性与因子分解)."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable
from typing import Any, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.graphical.undirected import markov_statements, maximal_cliques, undirected

MAX_SYSTEM = 1 << 24  # entries of the linear system of a factorisation


@method(
    zh="条件独立性",
    task="graphical model",
    model="P(A, B | C) = P(A | C) P(B | C)",
    texts=["Li ch. 11, 11.1.1", "watermelon notes ch. 12, 12.2"],
)
def independent(
    joint: Any, A: Collection[int], B: Collection[int], C: Collection[int] = (), tol: float = 1e-9
) -> bool:
    """Whether the variables A and B of a joint table are independent given C.

    Parameters
    ----------
    joint : array
        P of every assignment, an axis for each variable.
    A, B, C : collections of int
        Axes; none is in two of them.
    tol : float, default=1e-9
        How far P(A, B, C) P(C) and P(A, C) P(B, C) may be apart.

    Examples
    --------
    >>> independent([[0.06, 0.14], [0.24, 0.56]], [0], [1])
    True
    """
    P = joint_table(joint)
    axes = [*set(A), *set(B), *set(C)]
    if len(set(axes)) < len(axes) or not set(axes) <= set(range(P.ndim)):
        raise ValueError(f"A, B and C must be different axes, from 0 to {P.ndim - 1}; got {A}, {B} and {C}.")
    keep = [set(A) | set(B) | set(C), set(C), set(A) | set(C), set(B) | set(C)]
    abc, c, ac, bc = (P.sum(axis=tuple(set(range(P.ndim)) - axes), keepdims=True) for axes in keep)
    return bool(np.abs(abc * c - ac * bc).max() <= tol)


@method(
    zh="成对、局部与全局马尔可夫性",
    task="graphical model",
    model="the independences that a graph claims hold in P",
    texts=["Li ch. 11, eq. 11.1-11.4", "watermelon notes ch. 12, 12.2"],
)
def markov_property(
    joint: Any,
    graph: Any,
    kind: Literal["pairwise", "local", "global"] = "global",
    nodes: Iterable[Hashable] | None = None,
    tol: float = 1e-9,
) -> bool:
    """Whether a joint distribution has a Markov property of a graph.

    The global property implies the local one and that the pairwise one; where P is positive everywhere the three
    are the same.

    Parameters
    ----------
    joint : array
        P of every assignment, an axis for each node.
    graph : list of pairs, mapping of nodes to neighbours, or square array
        The undirected graph.
    kind : {"pairwise", "local", "global"}, default="global"
        Two nodes without an edge are independent given all others; a node is independent of the rest given its
        neighbours; sets are independent given any set that separates them.
    nodes : list, optional
        The nodes in the order of the axes; by default 0, 1 ... where the graph has these nodes only, else the
        graph's own, sorted.
    tol : float, default=1e-9
        How close products of probabilities must be.

    Examples
    --------
    >>> from tercet.graphical import MarkovRandomField
    >>> field = MarkovRandomField({(0, 1): [[3, 1], [1, 2]], (1, 2): [[2, 1], [1, 4]]})
    >>> markov_property(field.joint(), [(0, 1), (1, 2)]), markov_property(field.joint(), [(0, 1)])
    (True, False)
    """
    P = joint_table(joint)
    order = _axes(graph, nodes, P.ndim)
    axis = {node: k for k, node in enumerate(order)}
    for statement in markov_statements(graph, kind, order):
        A, B, C = ([axis[node] for node in part] for part in statement)
        if not independent(P, A, B, C, tol):
            return False
    return True


@method(
    zh="团上的因子分解",
    task="graphical model",
    model="P(y) = product of Ψ_C(y_C) over the maximal cliques C",
    strategy="log P as a sum of functions of cliques on the support of P",
    algorithms="linear equations",
    texts=["Li ch. 11, Thm 11.1"],
)
def factorise(
    joint: Any, graph: Any, nodes: Iterable[Hashable] | None = None, tol: float = 1e-9
) -> dict[tuple, np.ndarray] | None:
    """Potentials of the maximal cliques of a graph whose product is P, or None where there are none.

    By the theorem of Hammersley and Clifford there are some for every P that is positive and has the Markov
    property; one that is not positive may have the property and yet not factorise.

    Parameters
    ----------
    joint : array
        P of every assignment, an axis for each node.
    graph : list of pairs, mapping of nodes to neighbours, or square array
        The undirected graph.
    nodes : list, optional
        The nodes in the order of the axes, as in `markov_property`.
    tol : float, default=1e-9
        How close the product must be to P.

    Returns
    -------
    potentials : dict of tuples of nodes to arrays, or None

    Examples
    --------
    >>> factorise([[0.06, 0.14], [0.24, 0.56]], [], nodes=[0, 1]) is not None
    True
    >>> factorise([[0.1, 0.2], [0.3, 0.4]], [], nodes=[0, 1]) is None
    True
    """
    P = joint_table(joint)
    order = _axes(graph, nodes, P.ndim)
    axis = {node: k for k, node in enumerate(order)}
    cliques = [sorted(axis[node] for node in clique) for clique in maximal_cliques(graph, order)]
    cells = np.nonzero(P > 0)
    # An assignment that every clique allows must be possible: a product is 0 only where a factor is.
    allowed = np.ones(P.shape, dtype=bool)
    sizes = [[P.shape[k] for k in clique] for clique in cliques]
    starts = np.cumsum([0] + [math.prod(size) for size in sizes])
    if cells[0].size * starts[-1] > MAX_SYSTEM:
        raise ValueError(f"A table of {P.size} assignments is too large to be factorised here.")
    design = np.zeros((cells[0].size, starts[-1]))
    for clique, size, first in zip(cliques, sizes, starts):
        others = tuple(k for k in range(P.ndim) if k not in clique)
        allowed &= P.sum(axis=others, keepdims=True) > 0
        design[np.arange(len(design)), first + np.ravel_multi_index([cells[k] for k in clique], size)] = 1.0
    if (allowed & ~(P > 0)).any():
        return None
    logs = np.linalg.lstsq(design, np.log(P[cells]), rcond=None)[0]
    if np.abs(np.exp(design @ logs) - P[cells]).max() > tol:
        return None
    shown = design.any(axis=0)
    values = np.where(shown, np.exp(logs), 0.0)
    return {
        tuple(order[k] for k in clique): values[first : first + math.prod(size)].reshape(size)
        for clique, size, first in zip(cliques, sizes, starts)
    }


def joint_table(joint: Any) -> np.ndarray:
    """A joint distribution as an array, or an error."""
    P = np.asarray(joint, dtype=float)
    if P.ndim == 0 or not np.isfinite(P).all() or P.min() < 0 or abs(P.sum() - 1) > 1e-6:
        raise ValueError(
            f"joint must hold probabilities that add up to 1; the sum of {P.shape} is {P.sum():g}."
        )
    return P


def _axes(graph: Any, nodes: Iterable[Hashable] | None, n: int) -> list:
    """The node of each axis of a joint table."""
    known = list(undirected(graph))
    if nodes is None:
        nodes = range(n) if set(known) <= set(range(n)) else known
    order = list(nodes)
    if len(order) != n:
        raise ValueError(f"joint has {n} axes; there are {len(order)} nodes: {order}.")
    return order
