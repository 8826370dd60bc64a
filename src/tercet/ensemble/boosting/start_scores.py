"""Scores that boosting starts from, row by row, in place of the best constant."""

from __future__ import annotations

from typing import Any

import numpy as np


class StartScores:
    """The `init_score` of the rows, and of those that decide when to stop; None where none were given."""

    def __init__(self, model: Any, loss: Any, n: int, rows: Any, held: Any) -> None:
        self.name, self.n_scores = type(model).__name__, loss.n_scores
        self.rows, self.held = self._checked("init_score", rows, n), held
        if rows is None and held is not None:
            raise ValueError(f"{self.name}: init_score_val needs init_score.")
        if rows is not None and model.scoring != "loss" and model.early_stopping is not False:
            raise ValueError(
                f"{self.name}: init_score needs scoring='loss' or early_stopping=False: a scorer sees the model "
                f"without them; got scoring={model.scoring!r}."
            )

    def _checked(self, what: str, given: Any, n: int) -> np.ndarray | None:
        if given is None:
            return None
        scores = np.array(given, dtype=np.float64)
        allowed = [(n, self.n_scores)] + ([(n,)] if self.n_scores == 1 else [])
        if scores.shape not in allowed or not np.isfinite(scores).all():
            raise ValueError(
                f"{self.name}: {what} must be finite numbers of shape {allowed[-1]}; got the shape {scores.shape}."
            )
        return scores.reshape(n, self.n_scores)

    def check_held_out(self, n: int) -> None:
        """Check the scores that were given for held-out rows."""
        if self.rows is not None and self.held is None:
            raise ValueError(f"{self.name}: init_score with X_val needs init_score_val.")
        self.held = self._checked("init_score_val", self.held, n)

    def keep(self, rows: np.ndarray) -> None:
        """Keep some rows."""
        self.rows = None if self.rows is None else self.rows[rows]

    def split(self, inside: np.ndarray, out: np.ndarray) -> None:
        """Part the rows to learn from and those held out."""
        if self.rows is not None:
            self.rows, self.held = self.rows[inside], self.rows[out]

    def plus(self, F: np.ndarray, held_out: bool = False) -> np.ndarray:
        """Scores of the model with those it starts from."""
        own = self.held if held_out else self.rows
        return F if own is None else F + own
