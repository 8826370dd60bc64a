"""The rounds of boosting that predictions come from: after early stopping, those up to the best one."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np


def best_round(scores: Sequence[float], count: int, stopping: bool) -> tuple[int, float]:
    """The round of the largest score, counted from 1, and that score; of equals the first.

    Parameters
    ----------
    scores : sequence of floats
        Those after each round, maybe after that of the start. With a warm start the first rounds may have none.
    count : int
        The rounds that were made.
    stopping : bool
        Whether the scores decide; else the last round is taken.

    Examples
    --------
    >>> best_round([0.1, 0.5, 0.7, 0.6], 3, stopping=True)
    (2, 0.7)
    """
    rounds = np.asarray(scores[-count:], dtype=np.float64)
    if not stopping or np.isnan(rounds).all():
        return count, float(scores[-1]) if len(scores) else np.nan
    best = int(np.nanargmax(rounds))
    return count - len(rounds) + 1 + best, float(rounds[best])


def rounds_to_use(model: Any, rounds: Any) -> Any:
    """Those of all rounds of a fitted model that its predictions come from."""
    best = vars(model).get("best_iteration_")  # models of earlier releases have none
    return rounds if best is None or not model.keep_best else rounds[:best]


def check_best_iteration(model: Any, count: int) -> None:
    """Refuse a loaded model whose best round is none of its rounds."""
    best = vars(model).get("best_iteration_", count)
    whole = isinstance(best, numbers.Integral) and not isinstance(best, bool)
    if not whole or not 0 < best <= count:
        raise ValueError(
            f"{type(model).__name__}: best_iteration_ must be a round from 1 to {count}; got {best!r}."
        )
