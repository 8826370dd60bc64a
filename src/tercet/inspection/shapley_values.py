"""Shapley values in plain form: a sum over all sets of features. The oracle of TreeSHAP in the tests."""

from __future__ import annotations

from collections.abc import Callable, Collection
from itertools import combinations
from math import factorial
from typing import Any

import numpy as np

from tercet.tree import Tree

LEAF, CATEGORY = 0, 2  # kinds of nodes, as in `tercet.tree`


def shapley_values(worth: Callable[[frozenset[int]], Any], n_features: int) -> np.ndarray:
    """The Shapley values (沙普利值) of features: what each adds to the worth of a set of them, on average.

    phi_i = sum over S without i of |S|! (d - 1 - |S|)! / d! * (v(S + i) - v(S)).

    They add up to v(all) - v(none). There are 2^d sets: this is for a few features; `contributions` computes the
    same for trees in a time that grows with the number of nodes.

    Parameters
    ----------
    worth : callable
        v: from a frozenset of features to a number, or an array of them.
    n_features : int
        d, how many there are.

    Returns
    -------
    array of shape (n_features, ...)

    Examples
    --------
    Two players earn 10 together, the first alone 4, the second alone nothing.

    >>> earned = {frozenset(): 0.0, frozenset({0}): 4.0, frozenset({1}): 0.0, frozenset({0, 1}): 10.0}
    >>> shapley_values(earned.__getitem__, 2).tolist()
    [7.0, 3.0]
    """
    known: dict[frozenset[int], np.ndarray] = {}

    def v(members: frozenset[int]) -> np.ndarray:
        if members not in known:
            known[members] = np.asarray(worth(members), dtype=float)
        return known[members]

    found = np.zeros((n_features, *v(frozenset()).shape))
    for i in range(n_features):
        others = [j for j in range(n_features) if j != i]
        for size in range(n_features):
            weight = factorial(size) * factorial(n_features - 1 - size) / factorial(n_features)
            for members in combinations(others, size):
                found[i] += weight * (v(frozenset({*members, i})) - v(frozenset(members)))
    return found


def expected_value(tree: Tree, x: Any, known: Collection[int], cover: Any = None) -> np.ndarray:
    """The mean value of a tree when only some features of a row are known.

    Where a known feature is tested the row goes its way; where another is tested all branches are followed, by
    their shares of the training rows.

    Parameters
    ----------
    tree : Tree
        The tree.
    x : array of shape (n_features,)
        The row, categories as codes, NaN where missing.
    known : collection of int
        The features that are known.
    cover : array of shape (n_nodes,), optional
        The weight of the training rows at each node; by default `tree.weighted_n_node_samples`.

    Returns
    -------
    array of shape (n_outputs, n_values)

    Examples
    --------
    >>> from tercet.tree import DecisionTreeRegressor
    >>> tree = DecisionTreeRegressor().fit([[0.0], [1.0], [2.0]], [0.0, 3.0, 3.0]).tree_
    >>> expected_value(tree, [2.0], known={0}).item(), expected_value(tree, [2.0], known=()).item()
    (3.0, 2.0)
    """
    mass = tree.weighted_n_node_samples if cover is None else np.asarray(cover)

    def mean(t: int) -> np.ndarray:
        if tree.kind[t] == LEAF:
            return tree.value[t]
        children = tree.children(t)
        if int(tree.feature[t]) not in known:
            total = mass[t] if mass[t] > 0 else 1.0
            shares = [mass[c] / total if mass[t] > 0 else 1.0 / len(children) for c in children]
            return np.sum([share * mean(c) for share, c in zip(shares, children)], axis=0)
        value = float(x[tree.feature[t]])
        if np.isnan(value):
            if tree.missing[t] < 0:
                return np.sum([float(tree.share[c]) * mean(c) for c in children], axis=0)
            return mean(children[int(tree.missing[t])])
        if tree.kind[t] == CATEGORY:
            slots = tree.slots[tree.slot_start[t] : tree.slot_start[t] + tree.slot_count[t]]
            slot = int(slots[int(value)]) if 0 <= value < len(slots) else -1
            return tree.value[t] if slot < 0 else mean(children[slot])
        return mean(children[int(value > tree.threshold[t])])

    return np.asarray(mean(0))
