"""Constraints on the features of boosted trees: signs of monotonic ones, and groups that may interact."""

from __future__ import annotations

from typing import Any

import numpy as np


def monotonic_signs(model: Any, d: int) -> np.ndarray | None:
    """The monotonic constraint of each column, None without any."""
    given = model.monotonic_cst
    if given is None:
        return None
    if isinstance(given, dict):
        names = list(getattr(model, "feature_names_in_", []))
        unknown = [name for name in given if name not in names]
        if unknown:
            raise ValueError(
                f"{type(model).__name__}: monotonic_cst contains {len(unknown)} unexpected feature names: "
                f"{unknown[:5]}."
            )
        given = [given.get(name, 0) for name in names]
    signs = np.asarray(given)
    if signs.shape != (d,):
        raise ValueError(
            f"{type(model).__name__}: monotonic_cst has shape {signs.shape} but the input data X has {d} "
            "features."
        )
    if not np.isin(signs, (-1, 0, 1)).all():
        raise ValueError(
            f"{type(model).__name__}: monotonic_cst must be None or an array-like of -1, 0 or 1; got "
            f"{signs.tolist()}."
        )
    if (signs[model._n_categories() > 0] != 0).any():
        raise ValueError(
            f"{type(model).__name__}: Categorical features cannot have monotonic constraints: they have no "
            "order."
        )
    if model.n_trees_per_iteration_ > 1 and signs.any():
        raise ValueError(
            f"{type(model).__name__}: monotonic constraints are not supported for multiclass classification."
        )
    return signs.astype(np.int64) if signs.any() else None


def interaction_groups(model: Any, d: int) -> list[set[int]] | None:
    """The groups of columns that may interact; columns in none of them are a group of their own."""
    given = model.interaction_cst
    if given is None or (isinstance(given, str) and given == "pairwise"):
        pairs = [{i, j} for i in range(d) for j in range(i)]
        return None if given is None else pairs or [{0}]
    if isinstance(given, str):
        return [{j} for j in range(d)]
    groups = [set(group) for group in given]
    rest = set(range(d)) - set().union(*groups)
    if not set().union(*groups) <= set(range(d)):
        raise ValueError(
            f"{type(model).__name__}: Interaction constraints must consist of integer indices in [0, "
            f"{d - 1}]; got {sorted(set().union(*groups))}."
        )
    return [*groups, *([rest] if rest else [])]
