"""The arrays of a tree, and a table of nodes that grows one split at a time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from tercet.tree._engine.traversal import CATEGORY, LINEAR, THRESHOLD

NODE_DTYPES = {
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
LEAF_VALUES = {"feature": -2, "threshold": -2.0, "child": -1, "share": 1.0}  # 0 in the other arrays


class TreeArrays(NamedTuple):
    """What growth returns, and a `Tree` is made of.

    `nodes` has an array of length n_nodes for some or all of the names in `NODE_DTYPES`; what is not there is as at
    a leaf.
    """

    n_features: int
    value: np.ndarray  # (n_nodes, n_outputs, n_values)
    n_classes: Any
    slots: Any
    coef: np.ndarray | None
    nodes: dict[str, Any]


@dataclass
class NodeTable:
    """Nodes of a tree that is built from Python, one split at a time."""

    n_features: int
    nodes: list[dict[str, Any]] = field(default_factory=list)
    slots: list[int] = field(default_factory=list)
    coef: list[np.ndarray] = field(default_factory=list)

    def add_root(self, **statistics: Any) -> int:
        """Add the first node; its statistics (see `set`) may follow later."""
        self.nodes.append({})
        if statistics:
            self.set(0, **statistics)
        return 0

    def set(
        self, t: int, *, value: Any, impurity: float, samples: int, weight: float, share: float = 1.0
    ) -> None:
        """Set the value of a node, its impurity, its number of rows, and their weight."""
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
        *,
        n_children: int = 2,
        feature: int = -2,
        threshold: float = -2.0,
        missing: int = 0,
        slots: Any = None,
        coef: Any = None,
    ) -> range:
        """Give node t a test and children, which are to be `set`; returns their numbers.

        With `slots` (the child of each category) it is a test of categories, with `coef` a linear one, else
        x[feature] <= threshold.
        """
        children = range(len(self.nodes), len(self.nodes) + n_children)
        node = self.nodes[t]
        kind = CATEGORY if slots is not None else LINEAR if coef is not None else THRESHOLD
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

    def arrays(self, n_classes: Any = (1,)) -> TreeArrays:
        """The table as arrays, once every node is `set`."""
        value = np.array([node["value"] for node in self.nodes], dtype=np.float64)
        nodes = {
            name: np.array([node.get(name, LEAF_VALUES.get(name, 0)) for node in self.nodes], dtype=dtype)
            for name, dtype in NODE_DTYPES.items()
        }
        coef = np.array(self.coef) if self.coef else None
        return TreeArrays(self.n_features, value, n_classes, self.slots, coef, nodes)
