"""Given tables of a Bayesian network, checked; and frames that lack the column that is asked for."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from tercet.core.column_parsing import is_frame


def parents_and_table(node: Hashable, given: Any) -> tuple[tuple, np.ndarray]:
    """The parents and the table of a node, which is given alone or with them."""
    parents: Any = ()
    if isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], list | tuple):
        parents, given = given
    try:
        table = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"The table of {node!r} must be numbers; got {given!r}.") from None
    if table.ndim != len(parents) + 1:
        raise ValueError(
            f"The table of {node!r} must have an axis for each of its parents {list(parents)} and one for "
            f"itself; its shape is {table.shape}."
        )
    return tuple(parents), table


def checked_table(node: Hashable, table: np.ndarray) -> np.ndarray:
    """A table whose rows are distributions, or an error that names the row."""
    if not np.isfinite(table).all() or (table < 0).any():
        raise ValueError(f"The table of {node!r} must hold probabilities; got {table.tolist()}.")
    sums = table.sum(axis=-1)
    wrong = np.argwhere(np.abs(sums - 1) > 1e-4)
    if len(wrong):
        at = tuple(wrong[0].tolist())
        where = f" for the parents' states number {list(at)}" if at else ""
        raise ValueError(
            f"The table of {node!r} must sum to 1{where}: {table[at].tolist()} sums to {float(sums[at]):.6g}."
        )
    return table / sums[..., None]


def with_column(X: Any, name: Any, place: int) -> Any:
    """A frame that lacks a column, with an empty one in its place."""
    if not is_frame(X) or name in list(X.columns):
        return X
    if hasattr(X, "iloc"):
        X = X.copy()
        X.insert(min(place, X.shape[1]), name, np.nan)
        return X
    import polars

    empty = polars.Series(name, [None] * len(X), dtype=polars.Float64)
    return X.clone().insert_column(min(place, X.shape[1]), empty)
