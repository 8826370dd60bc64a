"""Pruning (剪枝) of grown trees.

All functions take a `Tree` and return a smaller one, whatever its tests are: thresholds, sets of categories, one
child for each value, or linear. The cost of a tree is a sum over its leaves, so the cheapest pruned subtree is
found from the leaves up: best(t) = min(cost of t as a leaf, sum of best(children)).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import betaincinv

from tercet.core.catalog import method
from tercet.tree.cost_complexity import (
    PrunedSubtrees,
    SubtreeChoice,
    choose_subtree,
    clearly_less,
    cost_complexity_path,
    cost_complexity_pruning,
)
from tercet.tree.node_losses import Measure, node_losses
from tercet.tree.tree import LEAF, Tree

__all__ = [
    "PrunedSubtrees",
    "SubtreeChoice",
    "choose_subtree",
    "cost_complexity_path",
    "cost_complexity_pruning",
    "cost_pruning",
    "pessimistic_errors",
    "pessimistic_pruning",
    "pre_pruning",
    "reduced_error_pruning",
]

SLACK = 0.1  # C4.5 takes the leaf where it costs up to a tenth of a row more


@method(
    zh="树的剪枝",
    task="pruning",
    model="decision tree",
    strategy="C_α(T) = Σ_t N_t H_t + α |T|",
    algorithms="dynamic programming from the leaves up",
    texts=["Li ch. 5, Alg 5.4", "Machine Learning in Depth ch. 8, 8.1.4"],
)
def cost_pruning(tree: Tree, alpha: float, base: float | None = None) -> Tree:
    """The pruned subtree whose entropy, plus a price for each leaf, is least.

    The cost is C_α(T) = Σ N_t H_t + α |T| over the leaves t (for a tree of numbers, N_t times the impurity). The
    minimum is over all pruned subtrees: joining the leaves of one node at a time, as the text spells it out, may
    stop too early. Of equally cheap trees the smallest is taken.

    Parameters
    ----------
    tree : Tree
        As grown.
    alpha : float
        The price of a leaf, at least 0.
    base : float, optional
        Of the logarithm in H; natural by default. What an alpha means depends on it.

    Returns
    -------
    tree : Tree

    Examples
    --------
    >>> from tercet.tree import DecisionTreeClassifier
    >>> tree = DecisionTreeClassifier().fit([[0], [1], [2], [3]], [0, 0, 1, 0]).tree_
    >>> [cost_pruning(tree, alpha).n_leaves for alpha in (1.0, 1.2)]
    [3, 1]
    """
    if not alpha >= 0:
        raise ValueError(f"alpha must be at least 0, got {alpha!r}.")
    if base is not None and not base > 1:
        raise ValueError(f"base must be above 1, or None for e; got {base!r}.")
    impurity = tree.impurity
    if tree.n_classes.max() > 1:
        p = np.where(tree.value > 0, tree.value, 1.0)
        impurity = -(tree.value * np.log(p)).sum(axis=2).mean(axis=1) / np.log(base or np.e)
    return tree.collapsed(_cheapest(tree, tree.weighted_n_node_samples * impurity + alpha))


@method(
    zh="后剪枝（错误率降低剪枝）",
    task="pruning",
    model="decision tree",
    strategy="mistakes on held-out rows",
    algorithms="from the leaves up",
    texts=["watermelon notes ch. 2, 2.4.2"],
)
def reduced_error_pruning(
    tree: Tree, X: Any, y: Any, weight: Any = None, ties: bool = False, measure: Measure | None = None
) -> Tree:
    """Replace subtrees by leaves, from the bottom, where held-out rows are then answered better.

    Parameters
    ----------
    tree : Tree
        As grown, without these rows.
    X : array of shape (n_samples, n_features)
        The held-out rows; NaN is missing.
    y : array of shape (n_samples,) or (n_samples, n_outputs)
        Indices of their classes, or their numbers.
    weight : array of shape (n_samples,), optional
        Their weights.
    ties : bool, default=False
        Prune where the leaf is as good, too.
    measure : {"error", "gini", "entropy", "squared_error"}, optional
        What is better: by default fewer mistakes, or a smaller squared error for numbers.

    Returns
    -------
    tree : Tree

    Examples
    --------
    >>> from tercet.tree import DecisionTreeClassifier
    >>> tree = DecisionTreeClassifier().fit([[0], [1], [2], [3]], [0, 0, 1, 0]).tree_
    >>> [reduced_error_pruning(tree, [[0], [2]], [0, 0], ties=ties).n_leaves for ties in (False, True)]
    [2, 1]
    """
    as_leaf, stays = node_losses(tree, X, y, weight, measure)
    return tree.collapsed(_cheapest(tree, as_leaf, stays, ties=ties))


@method(
    zh="预剪枝",
    task="pruning",
    model="decision tree",
    strategy="mistakes on held-out rows",
    algorithms="from the root down: a test must earn its place at once",
    texts=["watermelon notes ch. 2, 2.4.1"],
)
def pre_pruning(tree: Tree, X: Any, y: Any, weight: Any = None, measure: Measure | None = None) -> Tree:
    """Keep a test only if held-out rows are answered strictly better right after it.

    A test is compared with no test as if its children were leaves. What a node's children are does not depend on
    what is below them, so cutting the grown tree from the root gives what stopping its growth would.

    Parameters
    ----------
    tree : Tree
        As grown, without these rows.
    X, y, weight, measure : as in `reduced_error_pruning`
        The held-out rows.

    Returns
    -------
    tree : Tree

    Examples
    --------
    >>> from tercet.tree import DecisionTreeClassifier
    >>> tree = DecisionTreeClassifier().fit([[0], [1], [2], [3]], [0, 0, 1, 1]).tree_
    >>> pre_pruning(tree, [[0], [3]], [0, 1]).n_leaves, pre_pruning(tree, [[0], [1]], [0, 0]).n_leaves
    (2, 1)
    """
    as_leaf, after = node_losses(tree, X, y, weight, measure)
    parent = tree.parent
    np.add.at(after, parent[1:], as_leaf[1:])
    return tree.collapsed(~clearly_less(after, as_leaf))


def pessimistic_pruning(tree: Tree, confidence: float = 0.25) -> Tree:
    """Pessimistic pruning of C4.5, which needs no held-out rows: errors are counted at their upper confidence
    limit.

    A leaf with N rows, E of them mistaken, counts as N U errors, where U is the upper limit of a binomial
    proportion at the given confidence; a subtree is replaced by a leaf that does not count more.

    Parameters
    ----------
    tree : Tree
        A grown tree of classes.
    confidence : float, default=0.25
        Between 0 and 1; the smaller, the more is pruned.

    Returns
    -------
    tree : Tree

    Examples
    --------
    >>> from tercet.tree import DecisionTreeClassifier
    >>> tree = DecisionTreeClassifier().fit([[0], [1], [2], [3]], [0, 0, 1, 0]).tree_
    >>> pessimistic_pruning(tree).n_leaves
    1
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1, got {confidence!r}.")
    if tree.n_classes.max() == 1:
        raise ValueError("Pessimistic pruning counts mistakes: it needs a tree of classes.")
    mass = tree.weighted_n_node_samples
    mistakes = mass * (1 - tree.value.max(axis=2)).mean(axis=1)
    return tree.collapsed(_cheapest(tree, pessimistic_errors(mistakes, mass, confidence), slack=SLACK))


def pessimistic_errors(mistakes: Any, mass: Any, confidence: float) -> np.ndarray:
    """N U(E, N): N times the upper confidence limit of the error rate where E of N rows are misclassified."""
    N = np.asarray(mass, dtype=float)
    E = np.clip(mistakes, 0.0, N)
    right = N - E
    sure = betaincinv(E + 1, np.where(right > 0, right, 1.0), 1 - confidence)
    return N * np.where(right > 0, sure, 1.0)


def _cheapest(
    tree: Tree, as_leaf: np.ndarray, stays: Any = None, *, ties: bool = True, slack: float = 0.0
) -> np.ndarray:
    """Marks the leaves of the cheapest pruned subtree; `stays` is the cost of rows that stop at an inner node."""
    best, leaf = as_leaf.tolist(), np.zeros(tree.node_count, dtype=bool)
    extra = [0.0] * tree.node_count if stays is None else stays.tolist()
    for t in np.flatnonzero(tree.kind != LEAF)[::-1].tolist():
        below = extra[t] + sum(best[c] for c in tree.children(t))
        alone = best[t]
        leaf[t] = not clearly_less(below, alone - slack) if ties else clearly_less(alone - slack, below)
        if not leaf[t]:
            best[t] = below
    return leaf
