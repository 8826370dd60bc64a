"""Cost-complexity pruning (CART 剪枝): weakest-link pruning, and the choice of a subtree (Li ch. 5, Alg 5.7)."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tercet.core.catalog import method
from tercet.tree.node_losses import Measure, node_losses
from tercet.tree.tree import LEAF, Tree

RELATIVE_TOLERANCE = 1e-10  # numbers that differ by less are equal: rounding must not order them


@method(
    zh="CART 剪枝",
    task="pruning",
    model="decision tree",
    strategy="C_α(T) = C(T) + α |T|",
    algorithms="the weakest link first: g(t) = (C(t) - C(T_t)) / (|T_t| - 1)",
    texts=["Li ch. 5, Alg 5.7", "Machine Learning in Depth ch. 8, 8.1.4"],
    peers=["sklearn.tree.DecisionTreeClassifier.cost_complexity_pruning_path"],
)
def cost_complexity_path(tree: Tree, merge: bool = True) -> tuple[np.ndarray, PrunedSubtrees]:
    """The nested subtrees T_0 > T_1 > ... > root that are best for some price of a leaf.

    T_k is the smallest minimiser of C(T) + α |T| for α_k <= α < α_{k+1}; C sums the impurities of the leaves, each
    times its part of the rows, and α_0 = 0. A test that gains nothing is gone in T_0 already.

    Parameters
    ----------
    tree : Tree
        As grown.
    merge : bool, default=True
        Cut all equally weak inner in one step. False makes each a step of its own, as scikit-learn does.

    Returns
    -------
    alphas : array
        In increasing order, 0 first.
    subtrees : PrunedSubtrees
        `tree.collapsed(subtrees[k])` is T_k.

    Examples
    --------
    >>> from tercet.tree import DecisionTreeRegressor
    >>> X = [[1], [2], [3], [4], [5], [6]]
    >>> tree = DecisionTreeRegressor(max_leaf_nodes=3).fit(X, [1, 1.2, 1.1, 3, 3.2, 5]).tree_
    >>> alphas, subtrees = cost_complexity_path(tree)
    >>> (6 * alphas).round(4).tolist(), subtrees.n_leaves.tolist()
    ([0.0, 2.4067, 10.4017], [3, 2, 1])
    """
    risk = _risk(tree)
    critical = _critical_alphas(tree, risk)
    inner = np.flatnonzero((tree.kind != LEAF) & (critical < _first_cut_above(tree, critical)))
    inner = inner[np.argsort(critical[inner], kind="stable")]
    alphas = np.append(0.0, critical[inner])
    if merge:
        alphas = np.unique(alphas)
        when = np.searchsorted(alphas, critical[inner])
    else:
        when = np.arange(1, len(alphas))
    cut = np.where(tree.kind == LEAF, 0, len(alphas))
    cut[inner] = when
    return alphas, PrunedSubtrees(tree, cut, len(alphas), risk)


class PrunedSubtrees(Sequence):
    """The nested subtrees of weakest-link pruning: `subtrees[k]` marks the leaves of T_k, for `Tree.collapsed`.

    Attributes
    ----------
    cut : array of shape (nodes,)
        The k from which on each node is a leaf; those that are pruned away before have one past the last.
    impurities, n_leaves : arrays of shape (n_subtrees,)
        C(T_k) and |T_k|.

    Examples
    --------
    >>> from tercet.tree import DecisionTreeClassifier, cost_complexity_path
    >>> tree = DecisionTreeClassifier().fit([[0], [1], [2], [3]], [0, 0, 1, 0]).tree_
    >>> alphas, subtrees = cost_complexity_path(tree)
    >>> len(subtrees), subtrees.n_leaves.tolist()
    (2, [3, 1])
    >>> tree.collapsed(subtrees[1]).n_leaves
    1
    """

    def __init__(self, tree: Tree, cut: np.ndarray, count: int, risk: np.ndarray) -> None:
        self.cut, self._count = cut, count
        self.impurities = _subtree_sums(tree, cut, risk, np.arange(count))
        self.n_leaves = (
            _subtree_sums(tree, cut, np.ones(tree.node_count), np.arange(count)).round().astype(np.int64)
        )

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, k: Any) -> Any:
        if isinstance(k, slice):
            return [self[i] for i in range(*k.indices(self._count))]
        return self.cut <= range(self._count)[k]


def cost_complexity_pruning(tree: Tree, alpha: float) -> Tree:
    """The smallest subtree among those with the least C(T) + α |T|; C as in `cost_complexity_path`.

    Parameters
    ----------
    tree : Tree
        As grown.
    alpha : float
        The price of a leaf, at least 0; scikit-learn calls it ccp_alpha.

    Returns
    -------
    tree : Tree

    Examples
    --------
    >>> from tercet.tree import DecisionTreeClassifier
    >>> tree = DecisionTreeClassifier().fit([[0], [1], [2], [3]], [0, 0, 1, 0]).tree_
    >>> [cost_complexity_pruning(tree, alpha).n_leaves for alpha in (0.1, 0.2)]
    [3, 1]
    """
    if not alpha >= 0:
        raise ValueError(f"alpha must be at least 0, got {alpha!r}.")
    return tree.collapsed(_critical_alphas(tree, _risk(tree)) <= alpha * (1 + RELATIVE_TOLERANCE))


class SubtreeChoice(NamedTuple):
    """The subtree that was chosen, its alpha, and the mean loss of every candidate."""

    tree: Tree
    alpha: float
    alphas: np.ndarray
    losses: np.ndarray


@method(
    zh="最优子树的选取",
    task="pruning",
    model="decision tree",
    strategy="least loss on rows that the tree has not seen",
    algorithms={
        "validation": "held-out rows",
        "cross-validation": "trees of the folds, cut at the geometric means of neighbouring alphas",
    },
    texts=["Li ch. 5, 5.5.2", "Machine Learning in Depth ch. 8, 8.1.4"],
)
def choose_subtree(
    tree: Tree,
    X: Any,
    y: Any,
    weight: Any = None,
    *,
    measure: Measure | None = None,
    folds: Iterable[tuple[np.ndarray, np.ndarray]] | None = None,
    grow: Callable[[np.ndarray, np.ndarray, Any], Tree] | None = None,
) -> SubtreeChoice:
    """Of the subtrees of the cost-complexity path, the one that does best; of equals, the smallest.

    Parameters
    ----------
    tree : Tree
        As grown.
    X, y, weight : arrays
        Held-out rows, as in `reduced_error_pruning`; with `folds`, those that the tree was grown from.
    measure : {"error", "gini", "entropy", "squared_error"}, optional
        What is better: by default fewer mistakes, or a smaller squared error for numbers.
    folds : pairs of arrays, optional
        For cross-validation: the indices of the rows to grow from, and of those held out.
    grow : callable, optional
        With `folds`: `grow(X, y, weight)` grows a tree as `tree` was grown.

    Returns
    -------
    choice : SubtreeChoice
        Its `tree`, `alpha`, and the `losses` for all `alphas`.

    Examples
    --------
    >>> from tercet.tree import DecisionTreeClassifier
    >>> tree = DecisionTreeClassifier().fit([[0], [1], [2], [3]], [0, 0, 1, 0]).tree_
    >>> choose_subtree(tree, [[0], [2]], [0, 0]).losses.tolist()
    [0.5, 0.0]
    """
    X = np.ascontiguousarray(X, dtype=np.float64)
    y = np.asarray(y)
    w = np.ones(len(X)) if weight is None else np.asarray(weight, dtype=np.float64)
    alphas, subtrees = cost_complexity_path(tree)
    if folds is None:
        as_leaf, stays = node_losses(tree, X, y, w, measure)
        losses, total = _subtree_sums(tree, subtrees.cut, as_leaf, np.arange(len(alphas)), stays), w.sum()
    else:
        if grow is None:
            raise ValueError("choose_subtree: folds need grow(X, y, weight), which grows a tree of each.")
        typical = np.append(np.sqrt(alphas[:-1] * alphas[1:]), np.finfo(float).max)
        losses, total = np.zeros(len(alphas)), 0.0
        for kept, held in folds:
            fold = grow(X[kept], y[kept], None if weight is None else w[kept])
            as_leaf, stays = node_losses(fold, X[held], y[held], w[held], measure)
            losses += _subtree_sums(fold, _critical_alphas(fold, _risk(fold)), as_leaf, typical, stays)
            total += w[held].sum()
    losses = losses / (total or 1.0)
    best = int(np.flatnonzero(~clearly_less(losses.min(), losses))[-1])
    return SubtreeChoice(tree.collapsed(subtrees[best]), float(alphas[best]), alphas, losses)


def _risk(tree: Tree) -> np.ndarray:
    """C(t): the impurity of each node times its share of the weight."""
    return tree.weighted_n_node_samples * tree.impurity / tree.weighted_n_node_samples[0]


def _critical_alphas(tree: Tree, risk: np.ndarray) -> np.ndarray:
    """For every node the alpha from which on it is better as a leaf than with anything below it; 0 for leaves.

    With its descendants at their best, a subtree costs a concave function of alpha: straight lines V + L alpha
    that meet where descendants become leaves. From right to left, those lines are tried until one crosses
    risk + alpha. A corner to the right of the crossing is lost for good, so each is looked at once: a heap.
    """
    R, star = risk.tolist(), np.zeros(tree.node_count)
    last = [(r, 1) for r in R]  # the rightmost line of every subtree
    corners: dict[int, list[tuple[float, float, int]]] = {}
    for t in np.flatnonzero(tree.kind != LEAF)[::-1].tolist():
        children = tree.children(t)
        V, L = sum(last[c][0] for c in children), sum(last[c][1] for c in children)
        heaps = sorted((corners.pop(c) for c in children if c in corners), key=len)
        heap = heaps.pop() if heaps else []
        for corner in (corner for small in heaps for corner in small):
            heapq.heappush(heap, corner)
        cross = _crossing(R[t], V, L)
        while heap and -heap[0][0] > cross:
            _, dV, dL = heapq.heappop(heap)
            V, L = V + dV, L + dL
            cross = _crossing(R[t], V, L)
        star[t] = cross
        if cross == np.inf:
            last[t] = V, L
        else:
            heapq.heappush(heap, (-cross, V - R[t], L - 1))
        corners[t] = heap
    return _merge_rounding(star)


def _crossing(R: float, V: float, L: int) -> float:
    """Where V + L alpha = R + alpha, not left of 0."""
    gain = R - V
    if gain <= 1e-12 * abs(R):
        return 0.0
    return gain / (L - 1) if L > 1 else np.inf


def _merge_rounding(values: np.ndarray) -> np.ndarray:
    """Values, where those that differ by rounding only are made equal to the largest of them."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    with np.errstate(invalid="ignore"):
        last = np.append(np.diff(ordered) > RELATIVE_TOLERANCE * ordered[1:], True)
    out = np.empty_like(values)
    out[order] = ordered[last][np.cumsum(np.append(0, last[:-1]))]
    return out


def _first_cut_above(tree: Tree, cut: np.ndarray) -> np.ndarray:
    """The least `cut` above each node: from there on the node is gone."""
    until = [np.inf] * tree.node_count
    cuts = cut.tolist()
    for t, above in enumerate(tree.parent[1:].tolist(), 1):
        until[t] = min(until[above], cuts[above])
    return np.array(until)


def _subtree_sums(
    tree: Tree, cut: np.ndarray, as_leaf: np.ndarray, at: np.ndarray, stays: Any = None
) -> np.ndarray:
    """Sums over the leaves of the subtrees at each of the strengths `at`.

    A node is a leaf from its own cut to the first above it; rows that stop at an inner node count before that.
    """
    until = _first_cut_above(tree, cut)
    total, endless = np.zeros(len(at) + 1), np.zeros(len(at) + 1)
    spans = [(as_leaf, np.searchsorted(at, cut), np.searchsorted(at, until))]
    if stays is not None:
        inner = np.where(tree.kind == LEAF, 0, np.searchsorted(at, np.minimum(cut, until)))
        spans.append((stays, np.zeros(tree.node_count, dtype=np.intp), inner))
    for loss, first, end in spans:
        there = first < end
        for sums, part in (
            (total, np.where(np.isinf(loss), 0.0, loss)),
            (endless, np.isinf(loss).astype(float)),
        ):
            np.add.at(sums, first[there], part[there])
            np.subtract.at(sums, end[there], part[there])
    return np.where(np.cumsum(endless)[:-1] > 0.5, np.inf, np.cumsum(total)[:-1])


def clearly_less(a: Any, b: Any) -> Any:
    """Whether a is below b by more than rounding."""
    with np.errstate(invalid="ignore"):  # both infinite: equal
        return b - a > RELATIVE_TOLERANCE * np.abs(a)
