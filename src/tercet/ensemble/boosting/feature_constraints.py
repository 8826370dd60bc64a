"""Constraints of features in boosted trees: monotonic answers, and which features may interact."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def monotonic_signs(owner: str, given: Any, d: int, names: Sequence[Any] | None) -> np.ndarray:
    """The monotonic constraint of each of d columns: -1, 0 or 1.

    Parameters
    ----------
    owner : str
        The estimator, for messages.
    given : array of shape (d,), or dict
        The constraints; a dict has those of some columns by name.
    names : list of str, optional
        The names of the columns, where they have any.

    Examples
    --------
    >>> monotonic_signs("Booster", {"b": -1}, 2, ["a", "b"])
    array([ 0, -1])
    """
    if isinstance(given, dict):
        given = signs_by_name(owner, given, names)
    signs = np.asarray(given)
    if signs.shape != (d,):
        raise ValueError(
            f"{owner}: monotonic_cst has shape {signs.shape} but the input data X has {d} features."
        )
    strange = sorted({repr(value) for value in signs.tolist() if value not in (-1, 0, 1)})
    if strange:
        raise ValueError(
            f"{owner}: monotonic_cst must be an array-like of -1, 0 or 1. Observed values: "
            f"{', '.join(strange[:12])}."
        )
    return signs.astype(np.int64)


def signs_by_name(owner: str, given: dict[Any, Any], names: Sequence[Any] | None) -> list[Any]:
    """The constraints of all columns from those of some, by name."""
    if names is None:
        raise ValueError(
            f"{owner} was not fitted on data with feature names. Pass monotonic_cst as an integer array instead."
        )
    known = list(names)
    unknown = sorted((name for name in given if name not in known), key=str)
    if unknown:
        shown = [*unknown[:5], "..."] if len(unknown) > 5 else unknown
        raise ValueError(f"{owner}: monotonic_cst contains {len(unknown)} unexpected feature names: {shown}.")
    for name, sign in given.items():
        if sign not in (-1, 0, 1):
            raise ValueError(f"{owner}: monotonic_cst[{name!r}] must be either -1, 0 or 1. Got {sign!r}.")
    return [given.get(name, 0) for name in known]


def signs_of(model: Any, d: int) -> np.ndarray | None:
    """The monotonic constraint of each column of a histogram boosting model, None without any."""
    if model.monotonic_cst is None:
        return None
    name = type(model).__name__
    signs = monotonic_signs(name, model.monotonic_cst, d, getattr(model, "feature_names_in_", None))
    if (signs[model._n_categories() > 0] != 0).any():
        raise ValueError(
            f"{name}: Categorical features cannot have monotonic constraints: they have no order."
        )
    if model.n_trees_per_iteration_ > 1 and signs.any():
        raise ValueError(f"{name}: monotonic constraints are not supported for multiclass classification.")
    return signs if signs.any() else None


def interaction_groups(owner: str, given: Any, d: int) -> list[set[int]] | None:
    """The groups of columns that may interact; columns in none of them are a group of their own.

    Examples
    --------
    >>> interaction_groups("Booster", [(1, 0), [3, 1]], 5)
    [{0, 1}, {1, 3}, {2, 4}]
    """
    if given is None:
        return None
    if isinstance(given, str):
        if given == "no_interactions":
            return [{j} for j in range(d)]
        return [{i, j} for i in range(d) for j in range(i + 1, d)] or [{0}]
    if not all(isinstance(group, list | tuple | set | frozenset | np.ndarray) for group in given):
        raise ValueError(
            f"{owner}: Interaction constraints must be a sequence of tuples or lists, each of a group of features; "
            f"got {given!r}."
        )
    for item in (item for group in given for item in group):
        if not isinstance(item, int | np.integer) or not 0 <= item < d:
            raise ValueError(
                f"{owner}: Interaction constraints must consist of integer indices in [0, n_features - 1] = [0, "
                f"{d - 1}], specifying the position of features, and not {item!r}."
            )
    groups = [{int(item) for item in group} for group in given]
    rest = set(range(d)) - set().union(*groups)
    return [*groups, *([rest] if rest else [])]
