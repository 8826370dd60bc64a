"""Checks of the members of a loaded ensemble: they must fit each other, and the ensemble."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from tercet.tree import Tree


def check_trees(name: str, trees: Iterable[Any], n_features: int, n_classes: tuple[int, ...]) -> None:
    """Refuse trees that read other columns, or have other values, than the ensemble `name` adds up."""
    shape = len(n_classes), max(n_classes)
    for m, tree in enumerate(trees):
        if not isinstance(tree, Tree):
            raise ValueError(f"{name}: tree {m} is a {type(tree).__name__}; expected is a Tree.")
        if tree.n_features != n_features:
            raise ValueError(f"{name}: tree {m} is of {tree.n_features} features; expected are {n_features}.")
        if tree.value.shape[1:] != shape or tuple(tree.n_classes.tolist()) != n_classes:
            raise ValueError(
                f"{name}: the nodes of tree {m} have values of shape {tree.value.shape[1:]} for "
                f"{tree.n_classes.tolist()} classes; expected are {shape} for {list(n_classes)}."
            )


def check_member_classes(name: str, members: Iterable[Any], classes: np.ndarray) -> None:
    """Refuse members that answer with classes which the ensemble `name` does not have."""
    known = set(classes.tolist())
    for m, member in enumerate(members):
        strange = set(np.ravel(getattr(member, "classes_", [])).tolist()) - known
        if strange:
            raise ValueError(
                f"{name}: member {m} has the class {strange.pop()!r}; the classes are {classes.tolist()[:12]}."
            )


def check_member_widths(name: str, members: Iterable[Any], n_features: int | None) -> None:
    """Refuse members that were fitted on another number of columns than they are given."""
    for m, member in enumerate(members):
        width = getattr(member, "n_features_in_", n_features)
        if width != n_features:
            raise ValueError(
                f"{name}: member {m} was fitted on {width} features; the ensemble gives it {n_features}."
            )
