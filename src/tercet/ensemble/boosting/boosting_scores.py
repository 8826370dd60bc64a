"""Losses of gradient boosting by round, and when to stop."""

from __future__ import annotations

import collections
from typing import Any

import numpy as np


class LossStopping:
    """Stop when the loss of held-out rows has not fallen by `tol` below any of the last rounds' losses."""

    def __init__(self, patience: int | None, tol: float) -> None:
        self.patience, self.tol = patience, tol
        self.recent: collections.deque[float] = collections.deque(maxlen=patience)

    def reached(self, loss: float) -> bool:
        """Whether to stop after a round with this loss."""
        if self.patience is None:
            return False
        most = max(self.recent) if len(self.recent) == self.patience else np.inf
        if loss + self.tol < most:
            self.recent.append(loss)
            return False
        return True


class BoostingScores:
    """Losses of the training rows, and of those left out of a round, by round."""

    def __init__(self, oob: bool) -> None:
        self.oob = oob
        self.train: list[float] = []
        self.out: list[float] = []
        self.first = 0.0

    @classmethod
    def of(cls, model: Any, kept: int) -> BoostingScores:
        """Those of a fit that goes on after so many rounds."""
        made = cls(model.subsample < 1.0)
        if kept:
            made.train = list(getattr(model, "train_score_", np.zeros(kept))[:kept])
            made.out = list(getattr(model, "oob_scores_", np.full(kept, np.nan))[:kept]) if made.oob else []
        return made

    def before(self, loss: Any, y: Any, F: Any, weight: Any, inside: Any, first: bool) -> None:
        """Look at the rows that the first round leaves out."""
        if self.oob and first:
            self.first = loss.mean(y[~inside], F[~inside], weight[~inside])

    def after(self, loss: Any, y: Any, F: Any, weight: Any, inside: Any) -> dict[str, float]:
        """The losses after a round."""
        self.train.append(loss.mean(y[inside], F[inside], weight[inside]))
        if not self.oob:
            return {"loss": self.train[-1]}
        self.out.append(loss.mean(y[~inside], F[~inside], weight[~inside]))
        return {"loss": self.train[-1], "oob_loss": self.out[-1]}

    def attributes(self, count: int) -> dict[str, Any]:
        """As fitted attributes."""
        found: dict[str, Any] = {"train_score_": np.array(self.train[:count])}
        if self.oob and count:
            out = np.array(self.out[:count])
            found["oob_scores_"], found["oob_score_"] = out, float(out[-1])
            found["oob_improvement_"] = np.append(self.first, out[:-1]) - out
        return found
