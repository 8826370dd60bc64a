"""A tree of tests, flat in arrays.

Nodes are numbered so that a parent comes before its children and brothers stand side by side: the children of node
t are `child[t], child[t] + 1, ...`. A test (`walks` has their kinds) says which of them a row goes to, by its place
among the brothers (its slot).

A row whose value is missing goes to the slot `missing`, or, where that is SHARED, to all children in the
proportions `share`; one whose category was not there to learn from stops at the node, which answers as a leaf
would.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.parallel import CHUNK_BYTES, GRAIN, Chunks, each
from tercet.core.public_names import PublicPickle
from tercet.tree.walks import (
    CATEGORY,
    LEAF,
    LINEAR,
    NOWHERE,
    SHARED,
    THRESHOLD,
    Nodes,
    along_branches,
    arrivals,
    arrivals_in_step,
    spread,
    thresholds,
)

TYPES = {
    "kind": np.int8,
    "feature": np.int32,
    "threshold": np.float64,
    "child": np.int32,
    "n_children": np.int32,
    "missing": np.int32,
    "share": np.float64,
    "slot_start": np.int64,
    "slot_count": np.int32,
    "impurity": np.float64,
    "n_node_samples": np.int64,
    "weighted_n_node_samples": np.float64,
}
BARE = {
    "feature": -2,
    "threshold": -2.0,
    "child": -1,
    "share": 1.0,
}  # what an array holds where nothing is said


class Tree(PublicPickle):
    """A fitted tree.

    Parameters
    ----------
    n_features : int
        The columns of the rows it was grown from.
    value : array of shape (nodes, n_outputs, n_values)
        What each node answers: the proportions of the classes (in the order of `classes_`), or the mean.
    n_classes : sequence of int
        For every output the number of classes; 1 for a number.
    arrays : arrays of length `nodes`
        Those of `TYPES`; what is not given is as at a leaf.
    slots, coef : arrays
        The slots of all tests of categories, one after the other; the rows of weights of all linear tests.

    Attributes
    ----------
    node_count, n_leaves, max_depth : int
    children_left, children_right : int arrays
        The first two children (-1 at a leaf), as scikit-learn has them.
    """

    def __init__(
        self,
        n_features: int,
        value: np.ndarray,
        n_classes: Any = (1,),
        slots: Any = (),
        coef: np.ndarray | None = None,
        **arrays: Any,
    ) -> None:
        self.n_features = int(n_features)
        self.value = np.ascontiguousarray(value, dtype=np.float64)
        self.n_classes = np.atleast_1d(np.asarray(n_classes, dtype=np.int64))
        self.slots = np.asarray(slots, dtype=np.int32)
        empty = np.empty((0, n_features))
        self.coef = empty if coef is None else np.ascontiguousarray(coef, dtype=np.float64)
        n = len(self.value)
        for name, dtype in TYPES.items():
            given = arrays.pop(name, None)
            bare = np.full(n, BARE.get(name, 0), dtype=dtype)
            setattr(self, name, bare if given is None else np.ascontiguousarray(given, dtype=dtype))
        if arrays:
            raise TypeError(f"Tree has no array {next(iter(arrays))!r}; it has {', '.join(TYPES)}.")
        self._verify()

    kind: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    child: np.ndarray
    n_children: np.ndarray
    missing: np.ndarray
    share: np.ndarray
    slot_start: np.ndarray
    slot_count: np.ndarray
    impurity: np.ndarray
    n_node_samples: np.ndarray
    weighted_n_node_samples: np.ndarray

    def _verify(self) -> None:
        """Walks check no bounds: arrays that could lead one astray (from a forged file, say) are refused here."""
        self._verify_shapes()
        n = self.node_count
        inner = self.kind != LEAF
        at, first, count = np.arange(n)[inner], self.child[inner].astype(np.int64), self.n_children[inner]
        if (first <= at).any() or (count < 1).any() or (first + count > n).any():
            raise ValueError("Tree: children must come after their parent, and be there.")
        brothers = np.bincount(first, minlength=n + 1) - np.bincount(first + count, minlength=n + 1)
        if (np.cumsum(brothers)[1:n] != 1).any() or (self.n_children[~inner] != 0).any():
            raise ValueError("Tree: every node but the root must be the child of one node.")
        if not np.isin(self.kind, (LEAF, THRESHOLD, CATEGORY, LINEAR)).all():
            raise ValueError("Tree: there is no such kind of test.")
        tests, cats, lines = (np.isin(self.kind, k) for k in ((THRESHOLD, CATEGORY), CATEGORY, LINEAR))
        if (self.feature[tests] < 0).any() or (self.feature[tests] >= self.n_features).any():
            raise ValueError(f"Tree: tests must be of features 0 to {self.n_features - 1}.")
        if (self.n_children[inner & ~cats] != 2).any():
            raise ValueError("Tree: a threshold has two sides.")
        if (self.missing[inner] < SHARED).any() or (self.missing[inner] >= count).any():
            raise ValueError("Tree: missing must be the place of a child, or SHARED.")
        start, size = self.slot_start[cats], self.slot_count[cats]
        if (start < 0).any() or (size < 0).any() or (start > self.slots.size - size).any():
            raise ValueError("Tree: a test of categories must have its slots.")
        wide = np.repeat(self.n_children[cats], size)
        used = _spans(self.slots, start, size)
        if (used < NOWHERE).any() or (used >= wide).any():
            raise ValueError("Tree: slots must be places of children.")
        row = self.slot_start[lines]
        if (row < 0).any() or (row >= len(self.coef)).any():
            raise ValueError("Tree: a linear test must have a weight for every feature.")

    def _verify_shapes(self) -> None:
        value, n_classes = self.value, self.n_classes
        if not (_is(value, np.float64, 3) and len(value) and _is(n_classes, np.int64, 1)):
            raise ValueError(
                "Tree: value must be an array of shape (nodes, n_outputs, n_values), of at least 1 node."
            )
        if value.shape[1] != n_classes.size or not ((n_classes >= 1) & (n_classes <= value.shape[2])).all():
            raise ValueError(f"Tree: value has the shape {value.shape}, n_classes is {n_classes.tolist()}.")
        for name, dtype in TYPES.items():
            if not _is(getattr(self, name), dtype, 1) or len(getattr(self, name)) != len(value):
                raise ValueError(f"Tree: {name} must hold a value of type {np.dtype(dtype)} for every node.")
        if not isinstance(self.n_features, int) or self.n_features < 1 or not _is(self.slots, np.int32, 1):
            raise ValueError("Tree: n_features must be a positive integer, slots an array of integers.")
        if not _is(self.coef, np.float64, 2) or self.coef.shape[1] != self.n_features:
            raise ValueError("Tree: a linear test must have a weight for every feature.")

    def __setstate__(self, state: dict[str, Any]) -> None:
        strange = {*state} ^ {*TYPES, "n_features", "value", "n_classes", "slots", "coef"}
        if strange:
            raise ValueError(f"Tree: a tree has {', '.join(TYPES)} and no more; see {min(strange)!r}.")
        self.__dict__.update(state)
        self._verify()

    @property
    def nodes(self) -> Nodes:
        return Nodes(*(getattr(self, name) for name in Nodes._fields))

    @property
    def node_count(self) -> int:
        return len(self.value)

    @property
    def n_leaves(self) -> int:
        return int((self.kind == LEAF).sum())

    @property
    def n_outputs(self) -> int:
        return self.value.shape[1]

    @property
    def max_n_classes(self) -> int:
        return int(self.n_classes.max())

    @property
    def children_left(self) -> np.ndarray:
        return np.where(self.n_children > 0, self.child, -1).astype(np.int64)

    @property
    def children_right(self) -> np.ndarray:
        return np.where(self.n_children > 1, self.child + 1, -1).astype(np.int64)

    @property
    def missing_go_to_left(self) -> np.ndarray:
        return ((self.kind != LEAF) & (self.missing == 0)).astype(np.uint8)

    @property
    def parent(self) -> np.ndarray:
        """The parent of every node, -1 for the root."""
        parent = np.full(self.node_count, -1, dtype=np.int64)
        inner = np.flatnonzero(self.kind != LEAF)
        parent[_spans(np.arange(self.node_count), self.child[inner], self.n_children[inner])] = np.repeat(
            inner, self.n_children[inner]
        )
        return parent

    @property
    def depth(self) -> np.ndarray:
        """The depth of every node; the root's is 0."""
        return along_branches(self.parent, np.ones(self.node_count, dtype=np.int64))

    @property
    def max_depth(self) -> int:
        return int(self.depth.max())

    def children(self, t: int) -> range:
        """The children of a node."""
        return range(int(self.child[t]), int(self.child[t]) + int(self.n_children[t]))

    def apply(self, X: Any, n_jobs: int | None = None) -> np.ndarray:
        """The node at which the walk of each row ends (of shared rows, the walk along the greatest share)."""
        nodes = self.nodes
        short = thresholds(nodes)

        def walk(chunk: tuple[Any]) -> np.ndarray:
            X = _dense(chunk[0])
            return arrivals(X, nodes) if short is None else arrivals_in_step(X, short)

        return np.concatenate(each(walk, self._chunks(X), n_jobs=n_jobs))

    @property
    def shares(self) -> bool:
        """Whether a row may come to several leaves."""
        return bool((self.missing[self.kind != LEAF] == SHARED).any())

    def predict(self, X: Any, n_jobs: int | None = None) -> np.ndarray:
        """The answers for the rows: (n, n_outputs, n_values)."""
        nodes = self.nodes
        if not self.shares:
            return np.take(self.value, self.apply(X, n_jobs), axis=0)
        flat = self.value.reshape(self.node_count, -1)
        parts = each(lambda chunk: spread(_dense(chunk[0]), nodes, flat), self._chunks(X), n_jobs=n_jobs)
        return np.concatenate(parts).reshape(-1, *self.value.shape[1:])

    def decision_path(self, X: Any) -> sparse.csr_matrix:
        """For each row the nodes on its way, as ones in a matrix of shape (n, nodes)."""
        at, parent = self.apply(X), self.parent
        ends = np.cumsum(self.depth[at] + 1)
        indices = np.empty(ends[-1] if at.size else 0, dtype=np.int64)
        place = ends - 1  # of each row's last node; the way up fills the places before it
        while at.size:
            indices[place] = at
            below = at > 0
            at, place = parent[at[below]], place[below] - 1
        ones = np.ones(indices.size, dtype=np.int64)
        return sparse.csr_matrix((ones, indices, np.append(0, ends)), shape=(ends.size, self.node_count))

    def collapsed(self, ends: np.ndarray) -> Tree:
        """A copy in which the nodes marked in `ends` are leaves, and what was below them is gone."""
        parent = self.parent
        below = along_branches(parent, np.asarray(ends, dtype=np.int64)[parent]) > 0
        place = np.cumsum(~below) - 1
        keep = np.flatnonzero(~below)
        arrays = {name: getattr(self, name)[keep] for name in TYPES}
        gone = ends[keep] | (arrays["kind"] == LEAF)
        for name in (
            "kind",
            "feature",
            "threshold",
            "child",
            "n_children",
            "missing",
            "slot_start",
            "slot_count",
        ):
            arrays[name][gone] = BARE.get(name, 0)
        arrays["child"][~gone] = place[arrays["child"][~gone]]
        return Tree(self.n_features, self.value[keep], self.n_classes, self.slots, self.coef, **arrays)

    def compute_feature_importances(self, normalize: bool = True) -> np.ndarray:
        """How much each feature's tests lower the impurity, in all."""
        mass, parent = self.weighted_n_node_samples * self.impurity, self.parent
        drop = mass - np.bincount(parent[1:], mass[1:], minlength=self.node_count)
        tests, lines = (np.flatnonzero(np.isin(self.kind, k)) for k in ((THRESHOLD, CATEGORY), LINEAR))
        total = np.bincount(self.feature[tests], drop[tests], minlength=self.n_features).astype(np.float64)
        size = np.abs(self.coef[self.slot_start[lines]])
        total += drop[lines] @ (size / np.maximum(size.sum(axis=1, keepdims=True), np.finfo(float).tiny))
        total = np.maximum(total, 0) / (self.weighted_n_node_samples[0] or 1.0)
        return total / total.sum() if normalize and total.sum() > 0 else total

    def _chunks(self, X: Any) -> Chunks:
        if X.ndim != 2 or X.shape[1] != self.n_features:
            raise ValueError(
                f"X has the shape {X.shape}; the tree was grown from {self.n_features} features."
            )
        width = 8 * self.n_features  # of a row when it is dense
        return Chunks(X, rows=max(GRAIN, CHUNK_BYTES // width // GRAIN * GRAIN))


@dataclass
class Sprout:
    """A tree that is being grown node by node, in Python.

    Examples
    --------
    >>> grow = Sprout(n_features=2)
    >>> root = grow.add(value=[[0.5, 0.5]], impurity=1.0, samples=4, weight=4.0)
    >>> left, right = grow.split(root, THRESHOLD, feature=1, threshold=0.5, n_children=2)
    >>> grow.set(left, value=[[1.0, 0.0]], impurity=0.0, samples=2, weight=2.0)
    >>> grow.set(right, value=[[0.0, 1.0]], impurity=0.0, samples=2, weight=2.0)
    >>> grow.tree(n_classes=[2]).predict(np.array([[0.0, 0.3], [0.0, 0.7]])).tolist()
    [[[1.0, 0.0]], [[0.0, 1.0]]]
    """

    n_features: int
    nodes: list[dict[str, Any]] = field(default_factory=list)
    slots: list[int] = field(default_factory=list)
    coef: list[np.ndarray] = field(default_factory=list)

    def add(self, **what: Any) -> int:
        """The first node: the root."""
        self.nodes.append({})
        self.set(0, **what)
        return 0

    def set(
        self, t: int, *, value: Any, impurity: float, samples: int, weight: float, share: float = 1.0
    ) -> None:
        """Say what a node answers."""
        self.nodes[t].update(
            value=value,
            impurity=impurity,
            n_node_samples=samples,
            weighted_n_node_samples=weight,
            share=share,
        )

    def split(
        self,
        t: int,
        kind: int,
        *,
        n_children: int,
        feature: int = -2,
        threshold: float = -2.0,
        missing: int = 0,
        slots: Any = None,
        coef: Any = None,
    ) -> range:
        """Give a node a test and children, which are to be `set`; returns their numbers."""
        children = range(len(self.nodes), len(self.nodes) + n_children)
        node = self.nodes[t]
        node.update(kind=kind, feature=feature, threshold=threshold, missing=missing)
        node.update(child=children.start, n_children=n_children)
        if kind == CATEGORY:
            node.update(slot_start=len(self.slots), slot_count=len(slots))
            self.slots += [int(s) for s in slots]
        if kind == LINEAR:
            node.update(slot_start=len(self.coef))
            self.coef.append(np.asarray(coef, dtype=np.float64))
        self.nodes += [{} for _ in children]
        return children

    def tree(self, n_classes: Any = (1,)) -> Tree:
        value = np.array([node.pop("value") for node in self.nodes], dtype=np.float64)
        arrays = {
            name: np.array([node.get(name, BARE.get(name, 0)) for node in self.nodes], dtype=dtype)
            for name, dtype in TYPES.items()
        }
        coef = np.array(self.coef) if self.coef else None
        return Tree(self.n_features, value, n_classes, self.slots, coef, **arrays)


def _is(array: Any, dtype: Any, ndim: int) -> bool:
    return isinstance(array, np.ndarray) and array.dtype == dtype and array.ndim == ndim


def _dense(rows: Any) -> np.ndarray:
    """Rows of one kind, whatever came: kernels are compiled for every other."""
    X = rows.toarray() if sparse.issparse(rows) else rows
    X = np.ascontiguousarray(X, dtype=np.float64).view()
    X.flags.writeable = False
    return X


def _spans(values: np.ndarray, start: np.ndarray, size: np.ndarray) -> np.ndarray:
    """values[start[i] : start[i] + size[i]] for all i, one after the other."""
    if not len(start):
        return values[:0]
    ends = np.cumsum(size)
    return values[np.repeat(start - (ends - size), size) + np.arange(ends[-1])]
