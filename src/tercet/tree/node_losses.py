"""Losses of held-out rows at every node of a tree, from one traversal."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from tercet.core.stopping import check_stop
from tercet.tree._engine.traversal import add_to_end_nodes
from tercet.tree.tree import Tree

Measure = Literal["error", "gini", "entropy", "squared_error"]
BLOCK_ROWS = 1 << 16  # rows of one kernel call, which cannot be interrupted


def node_losses(
    tree: Tree, X: Any, y: Any, weight: Any = None, measure: Measure | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The loss of all rows that reach each node, were it a leaf, and of the rows whose path ends there as it is.

    A row whose value is missing counts at each child in proportion to its share. `measure` is "error" (mistakes,
    the default for classes), "gini" or "entropy" (Σ_k (1[k = y] - p_k)², -log p_y: on average over the rows that
    a leaf was made from they are its Gini index and its entropy), or "squared_error" (for numbers). The impurity
    of the held-out rows themselves would not do: it never falls when a tree is pruned.
    """
    X = np.ascontiguousarray(X, dtype=np.float64)
    y = np.asarray(y).reshape(len(X), -1)
    classes = tree.n_classes.max() > 1
    allowed = ("error", "gini", "entropy") if classes else ("squared_error",)
    asked = measure or allowed[0]
    if asked not in allowed:
        raise ValueError(f"measure of this tree must be one of {', '.join(allowed)}; got {measure!r}.")
    loss = LOSSES[asked]
    if y.shape[1] != tree.n_outputs:
        raise ValueError(f"y has {y.shape[1]} outputs; the tree has {tree.n_outputs}.")
    w = np.ones(len(X)) if weight is None else np.asarray(weight, dtype=np.float64)
    if w.shape != (len(X),):
        raise ValueError(
            f"weight must have one number for each of the {len(X)} rows; its shape is {w.shape}."
        )
    whole, here = np.zeros(tree.node_count), np.zeros(tree.node_count)
    for k, n_classes in enumerate(tree.n_classes):
        value = tree.value[:, k, :n_classes]
        if classes:
            if len(y) and not (y[:, k].min() >= 0 and y[:, k].max() < n_classes):
                raise ValueError(f"y must be indices of classes, 0 to {n_classes - 1}.")
            ends = end_node_sums(tree, X, w[:, None], y[:, k], n_classes)
        else:
            # Centred, so that the squares do not cancel.
            middle = float(np.average(y[:, k], weights=w)) if w.any() else 0.0
            off, value = y[:, k] - middle, value - middle
            ends = end_node_sums(tree, X, np.column_stack([w, w * off, w * off**2]), np.zeros(len(X)), 3)
        whole += loss(_subtree_totals(tree, ends), value)
        here += loss(ends, value)
    return whole, here


def end_node_sums(tree: Tree, X: np.ndarray, table: np.ndarray, first: np.ndarray, width: int) -> np.ndarray:
    """Sums over the rows whose path ends at each node: row i of the table, from column first[i] of `width` on."""
    if X.ndim != 2 or X.shape[1] != tree.n_features:
        raise ValueError(f"X has the shape {X.shape}; the tree was grown from {tree.n_features} features.")
    X, table = np.ascontiguousarray(X, dtype=np.float64), np.ascontiguousarray(table)
    first, nodes, out = first.astype(np.int64), tree.nodes, np.zeros((tree.node_count, width))
    for i in range(0, len(X), BLOCK_ROWS):
        check_stop()
        add_to_end_nodes(
            X[i : i + BLOCK_ROWS], nodes, table[i : i + BLOCK_ROWS], first[i : i + BLOCK_ROWS], out
        )
    return out


def _subtree_totals(tree: Tree, ends: np.ndarray) -> np.ndarray:
    """Sums over each node and all nodes below it."""
    total, parent = ends.copy(), tree.parent
    for t in range(tree.node_count - 1, 0, -1):
        total[parent[t]] += total[t]
    return total


def _error(counts: np.ndarray, p: np.ndarray) -> np.ndarray:
    return counts.sum(axis=1) - np.take_along_axis(counts, p.argmax(axis=1)[:, None], axis=1)[:, 0]


def _gini(counts: np.ndarray, p: np.ndarray) -> np.ndarray:
    return counts.sum(axis=1) * (1 + (p**2).sum(axis=1)) - 2 * (counts * p).sum(axis=1)


def _entropy(counts: np.ndarray, p: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return -(counts * np.where(counts > 0, np.log(p), 0.0)).sum(axis=1)


def _squared_error(sums: np.ndarray, value: np.ndarray) -> np.ndarray:
    v = value[:, 0]
    return np.maximum(sums[:, 2] - 2 * v * sums[:, 1] + v**2 * sums[:, 0], 0.0)


LOSSES = {"error": _error, "gini": _gini, "entropy": _entropy, "squared_error": _squared_error}
