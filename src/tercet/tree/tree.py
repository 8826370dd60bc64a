"""The structure of a tree, flat in arrays.

Nodes are numbered so that a parent comes before its children and siblings stand side by side: the children of node
t are `child[t], child[t] + 1, ...`. A test says which of them a row goes to, by its place among the siblings (its
slot); there are thresholds, tests of categories and linear tests.

A row whose value is missing goes to the slot `missing`, or, where that is SHARED, to all children in the
proportions `share`; a row whose category no row of the node had stops at the node, which answers as a leaf would.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy import sparse

from tercet.core import chunks
from tercet.core.parallel import Chunks, each
from tercet.core.public_names import PublicPickle
from tercet.core.rows import read_only, rows
from tercet.tree._engine.ranges import concatenated_ranges
from tercet.tree._engine.traversal import (
    CATEGORY,
    LEAF,
    LINEAR,
    NOWHERE,
    SHARED,
    THRESHOLD,
    NodeArrays,
    apply_sparse_thresholds,
    apply_thresholds,
    apply_tree,
    only_thresholds,
    predict_shared,
    shares_rows,
    sum_along_paths,
)
from tercet.tree._engine.tree_arrays import LEAF_VALUES, NODE_DTYPES, NodeTable, TreeArrays

# The arrays that describe a node's test; a node that becomes a leaf has LEAF_VALUES in them.
TEST_ARRAYS = ("kind", "feature", "threshold", "child", "n_children", "missing", "slot_start", "slot_count")


class Tree(PublicPickle):
    """Fitted decision tree, as arrays of its nodes.

    Parameters
    ----------
    n_features : int
        The columns of the rows it was grown from.
    value : array of shape (nodes, n_outputs, n_values)
        The value of each node: the proportions of the classes (in the order of `classes_`), or the mean.
    n_classes : sequence of int
        For every output the number of classes; 1 for a number.
    arrays : arrays of length `nodes`
        Those of `NODE_DTYPES`; what is not given is as at a leaf.
    slots, coef : arrays
        The slots of all tests of categories, one after the other; the rows of weights of all linear tests.

    Attributes
    ----------
    node_count, n_leaves, max_depth : int
    children_left, children_right : int arrays
        The first two children (-1 at a leaf), as scikit-learn has them.

    Examples
    --------
    >>> from tercet.tree import DecisionTreeClassifier
    >>> tree = DecisionTreeClassifier().fit([[0], [1], [2]], ["a", "a", "b"]).tree_
    >>> tree.node_count, tree.n_leaves, tree.threshold[0].item(), tree.value[:, 0].tolist()[1:]
    (3, 2, 1.5, [[1.0, 0.0], [0.0, 1.0]])
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
        self._assign(n_features, value, n_classes, slots, coef, arrays)
        if arrays:
            raise TypeError(f"Tree has no array {next(iter(arrays))!r}; it has {', '.join(NODE_DTYPES)}.")
        self._verify()

    def _assign(
        self,
        n_features: int,
        value: np.ndarray,
        n_classes: Any,
        slots: Any,
        coef: np.ndarray | None,
        arrays: dict[str, Any],
    ) -> None:
        """Set all arrays, and take those of nodes out of `arrays`."""
        self.n_features = int(n_features)
        self.value = np.ascontiguousarray(value, dtype=np.float64)
        self.n_classes = np.atleast_1d(np.asarray(n_classes, dtype=np.int64))
        given = np.empty((0, n_features)) if coef is None else coef
        self.coef = np.ascontiguousarray(given, dtype=np.float64)
        for name, dtype in NODE_DTYPES.items():
            given = arrays.pop(name, None)
            if given is None:
                given = np.full(len(self.value), LEAF_VALUES.get(name, 0))
            setattr(self, name, np.ascontiguousarray(given, dtype=dtype))
        self.slots = _narrow(np.asarray(slots), self.n_children)

    @classmethod
    def from_arrays(cls, grown: TreeArrays, *, verify: bool = True) -> Self:
        """The tree of the arrays that growth returned; an engine's need not be verified."""
        tree = cls.__new__(cls)
        tree._assign(
            grown.n_features, grown.value, grown.n_classes, grown.slots, grown.coef, dict(grown.nodes)
        )
        if verify:
            tree._verify()
        return tree

    __slots__ = ("_kinds",)  # what is found once is no part of the state

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
        """Refuse arrays that lead out of bounds (of a forged file, say): traversal checks no bounds."""
        self._verify_shapes()
        n = self.node_count
        inner = self.kind != LEAF
        at, first, count = np.arange(n)[inner], self.child[inner].astype(np.int64), self.n_children[inner]
        if (first <= at).any() or (count < 1).any() or (first + count > n).any():
            raise ValueError("Tree: children must come after their parent, and be there.")
        siblings = np.bincount(first, minlength=n + 1) - np.bincount(first + count, minlength=n + 1)
        if (np.cumsum(siblings)[1:n] != 1).any() or (self.n_children[~inner] != 0).any():
            raise ValueError("Tree: every node but the root must be the child of one node.")
        if (self.child[~inner] != -1).any():
            raise ValueError("Tree: the child of a leaf must be -1.")
        if not np.isin(self.kind, (LEAF, THRESHOLD, CATEGORY, LINEAR)).all():
            raise ValueError("Tree: there is no such kind of test.")
        tests, cats, lines = (np.isin(self.kind, k) for k in ((THRESHOLD, CATEGORY), CATEGORY, LINEAR))
        if (self.feature[tests] < 0).any() or (self.feature[tests] >= self.n_features).any():
            raise ValueError(f"Tree: tests must be of features 0 to {self.n_features - 1}.")
        if (self.n_children[inner & ~cats] != 2).any():
            raise ValueError("Tree: a threshold has two sides.")
        if (self.missing[inner] < SHARED).any() or (self.missing[inner] >= count).any():
            raise ValueError("Tree: missing must be the slot of a child, or SHARED.")
        start, size = self.slot_start[cats], self.slot_count[cats]
        if (start < 0).any() or (size < 0).any() or (start > self.slots.size - size).any():
            raise ValueError("Tree: a test of categories must have its slots.")
        wide = np.repeat(self.n_children[cats], size)
        used = concatenated_ranges(self.slots, start, size)
        if (used < NOWHERE).any() or (used >= wide).any():
            raise ValueError("Tree: slots must be those of children.")
        row = self.slot_start[lines]
        if (row < 0).any() or (row >= len(self.coef)).any():
            raise ValueError("Tree: a linear test must have a weight for every feature.")

    def _verify_shapes(self) -> None:
        value, n_classes = self.value, self.n_classes
        if not (_has_type(value, np.float64, 3) and len(value) and _has_type(n_classes, np.int64, 1)):
            raise ValueError(
                "Tree: value must be an array of shape (nodes, n_outputs, n_values), of at least 1 node."
            )
        if value.shape[1] != n_classes.size or not ((n_classes >= 1) & (n_classes <= value.shape[2])).all():
            raise ValueError(f"Tree: value has the shape {value.shape}, n_classes is {n_classes.tolist()}.")
        for name, dtype in NODE_DTYPES.items():
            if not _has_type(getattr(self, name), dtype, 1) or len(getattr(self, name)) != len(value):
                raise ValueError(f"Tree: {name} must hold a value of type {np.dtype(dtype)} for every node.")
        slots = any(_has_type(self.slots, dtype, 1) for dtype in (np.int8, np.int32))
        if not isinstance(self.n_features, int) or self.n_features < 1 or not slots:
            raise ValueError("Tree: n_features must be a positive integer, slots an array of integers.")
        if not _has_type(self.coef, np.float64, 2) or self.coef.shape[1] != self.n_features:
            raise ValueError("Tree: a linear test must have a weight for every feature.")

    def __getstate__(self) -> dict[str, Any]:
        return dict(self.__dict__)

    def __setstate__(self, state: dict[str, Any]) -> None:
        unseen = {*state} ^ {*NODE_DTYPES, "n_features", "value", "n_classes", "slots", "coef"}
        if unseen:
            raise ValueError(f"Tree: a tree has {', '.join(NODE_DTYPES)} and no more; see {min(unseen)!r}.")
        self.__dict__.update(state)
        self._verify()
        self.slots = _narrow(self.slots, self.n_children)

    @property
    def nodes(self) -> NodeArrays:
        return NodeArrays(*(getattr(self, name) for name in NodeArrays._fields))

    @property
    def node_count(self) -> int:
        return len(self.value)

    @property
    def capacity(self) -> int:
        """Room for nodes, as scikit-learn has it: all that there are."""
        return self.node_count

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
        parent[concatenated_ranges(np.arange(self.node_count), self.child[inner], self.n_children[inner])] = (
            np.repeat(inner, self.n_children[inner])
        )
        return parent

    @property
    def depth(self) -> np.ndarray:
        """The depth of every node; the root's is 0."""
        return sum_along_paths(self.parent, np.ones(self.node_count, dtype=np.int64))

    @property
    def max_depth(self) -> int:
        return int(self.depth.max())

    def children(self, t: int) -> range:
        """The children of a node."""
        return range(int(self.child[t]), int(self.child[t]) + int(self.n_children[t]))

    def apply(self, X: Any, n_jobs: int | None = None) -> np.ndarray:
        """The node at which each row ends; a row that several children share follows the largest share."""
        nodes = None if self._traversal[0] else self.nodes
        if nodes is None and sparse.issparse(X):
            return self._apply_sparse(X, n_jobs)

        def apply_chunk(chunk: tuple[Any]) -> np.ndarray:
            values = _dense_rows(chunk[0])
            if nodes is not None:
                return apply_tree(values, nodes)
            return apply_thresholds(values, self.feature, self.threshold, self.child, self.missing)

        chunks = self._chunks(X)
        if len(chunks) == 1:  # a few rows need no threads
            return apply_chunk(chunks[0])
        return np.concatenate(each(apply_chunk, chunks, n_jobs=n_jobs))

    def _apply_sparse(self, X: Any, n_jobs: int | None) -> np.ndarray:
        """The leaves of sparse rows in a tree of thresholds."""
        self._check_width(X)
        tests = self.feature, self.threshold, self.child, self.missing

        def apply_chunk(chunk: tuple[Any]) -> np.ndarray:
            part = chunk[0].astype(np.float64, copy=False)
            return apply_sparse_thresholds(rows(part), self.n_features, *tests)

        return np.concatenate(each(apply_chunk, Chunks(X.tocsr()), n_jobs=n_jobs))

    @property
    def only_thresholds(self) -> bool:
        """Whether every test is a threshold, and every row goes one way."""
        return self._traversal[0]

    @property
    def shares(self) -> bool:
        """Whether a row may come to several leaves."""
        return self._traversal[1]

    @property
    def _traversal(self) -> tuple[bool, bool]:
        """Whether all tests are thresholds and rows go one way, and whether rows are shared; found once."""
        found = getattr(self, "_kinds", None)
        if found is None:
            found = (only_thresholds(self.kind, self.missing), shares_rows(self.kind, self.missing))
            self._kinds = found
        return found

    def predict(self, X: Any, n_jobs: int | None = None) -> np.ndarray:
        """The values of the leaves that the rows end at: shape (n, n_outputs, n_values)."""
        if not self.shares:
            return np.take(self.value, self.apply(X, n_jobs), axis=0)
        nodes = self.nodes
        flat = self.value.reshape(self.node_count, -1)
        chunks = self._chunks(X)
        parts = each(lambda chunk: predict_shared(_dense_rows(chunk[0]), nodes, flat), chunks, n_jobs=n_jobs)
        return np.concatenate(parts).reshape(-1, *self.value.shape[1:])

    def decision_path(self, X: Any) -> sparse.csr_matrix:
        """The nodes on the path of each row, as ones in a matrix of shape (n, nodes)."""
        at, parent = self.apply(X), self.parent
        ends = np.cumsum(self.depth[at] + 1)
        indices = np.empty(ends[-1] if at.size else 0, dtype=np.int64)
        place = ends - 1  # of each row's last node; its ancestors fill the places before it
        while at.size:
            indices[place] = at
            below = at > 0
            at, place = parent[at[below]], place[below] - 1
        ones = np.ones(indices.size, dtype=np.int64)
        return sparse.csr_matrix((ones, indices, np.append(0, ends)), shape=(ends.size, self.node_count))

    def collapsed(self, ends: np.ndarray) -> Tree:
        """A copy in which the nodes marked in `ends` are leaves, and what was below them is gone."""
        parent = self.parent
        below = sum_along_paths(parent, np.asarray(ends, dtype=np.int64)[parent]) > 0
        place = np.cumsum(~below) - 1
        keep = np.flatnonzero(~below)
        arrays = {name: getattr(self, name)[keep] for name in NODE_DTYPES}
        gone = ends[keep] | (arrays["kind"] == LEAF)
        for name in TEST_ARRAYS:
            arrays[name][gone] = LEAF_VALUES.get(name, 0)
        arrays["child"][~gone] = place[arrays["child"][~gone]]
        return Tree(self.n_features, self.value[keep], self.n_classes, self.slots, self.coef, **arrays)

    def compute_feature_importances(self, normalize: bool = True) -> np.ndarray:
        """How much each feature's tests lower the impurity, in all."""
        if not np.isfinite(self.impurity).all():
            raise ValueError(
                "Tree: the impurity of a node is beyond the range of floating-point numbers; grown from y divided "
                "by a power of 2, the tree would be the same and have importances."
            )
        mass, parent = self.weighted_n_node_samples * self.impurity, self.parent
        drop = mass - np.bincount(parent[1:], mass[1:], minlength=self.node_count)
        tests, lines = (np.flatnonzero(np.isin(self.kind, k)) for k in ((THRESHOLD, CATEGORY), LINEAR))
        total = np.bincount(self.feature[tests], drop[tests], minlength=self.n_features).astype(np.float64)
        size = np.abs(self.coef[self.slot_start[lines]])
        total += drop[lines] @ (size / np.maximum(size.sum(axis=1, keepdims=True), np.finfo(float).tiny))
        total = np.maximum(total, 0) / (self.weighted_n_node_samples[0] or 1.0)
        return total / total.sum() if normalize and total.sum() > 0 else total

    def _check_width(self, X: Any) -> None:
        if X.ndim != 2 or X.shape[1] != self.n_features:
            raise ValueError(
                f"X has the shape {X.shape}; the tree was grown from {self.n_features} features."
            )

    def _chunks(self, X: Any) -> Chunks:
        self._check_width(X)
        width = 8 * self.n_features  # of a row when it is dense
        return Chunks(X, rows=max(chunks.GRAIN, chunks.CHUNK_BYTES // width // chunks.GRAIN * chunks.GRAIN))


class TreeBuilder(NodeTable):
    """Builder of a `Tree` by hand, one split at a time.

    Examples
    --------
    >>> builder = TreeBuilder(n_features=2)
    >>> root = builder.add_root(value=[[0.5, 0.5]], impurity=1.0, samples=4, weight=4.0)
    >>> left, right = builder.split(root, feature=1, threshold=0.5)
    >>> builder.set(left, value=[[1.0, 0.0]], impurity=0.0, samples=2, weight=2.0)
    >>> builder.set(right, value=[[0.0, 1.0]], impurity=0.0, samples=2, weight=2.0)
    >>> builder.tree(n_classes=[2]).predict(np.array([[0.0, 0.3], [0.0, 0.7]])).tolist()
    [[[1.0, 0.0]], [[0.0, 1.0]]]
    """

    def tree(self, n_classes: Any = (1,)) -> Tree:
        """The tree, once every node is `set`; `n_classes` has the number of classes of each output."""
        return Tree.from_arrays(self.arrays(n_classes))


def _narrow(slots: np.ndarray, n_children: np.ndarray) -> np.ndarray:
    """Slots as bytes where no node has more children: with thousands of categories they are most of a tree."""
    return np.ascontiguousarray(slots, dtype=np.int8 if n_children.max(initial=0) < 128 else np.int32)


def _has_type(array: Any, dtype: Any, ndim: int) -> bool:
    return isinstance(array, np.ndarray) and array.dtype == dtype and array.ndim == ndim


def _dense_rows(X: Any) -> np.ndarray:
    """Rows as a C-ordered float64 array."""
    X = X.toarray() if sparse.issparse(X) else X
    return read_only(np.ascontiguousarray(X, dtype=np.float64))
