"""Losses of gradient boosting by round, when to stop, and which rows are held out to tell."""

from __future__ import annotations

import collections
import time
from typing import Any

import numpy as np
from sklearn.utils import check_random_state


class LossStopping:
    """Stop when the loss of held-out rows has not fallen by `tol` below any of the last rounds' losses."""

    def __init__(self, patience: int | None, tol: float) -> None:
        self.patience, self.tol = patience, tol
        length = None if patience is None else int(patience)  # a deque refuses NumPy's integers
        self.recent: collections.deque[float] = collections.deque(maxlen=length)

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
    """Losses by round: of the training rows, of those left out of a round, and of those held out."""

    def __init__(self, oob: bool) -> None:
        self.oob = oob
        self.train: list[float] = []
        self.out: list[float] = []
        self.valid: list[float] = []
        self.first = 0.0

    @classmethod
    def of(cls, model: Any, kept: int) -> BoostingScores:
        """Those of a fit that goes on after so many rounds."""
        made = cls(model.subsample < 1.0)
        if kept:
            made.train = list(getattr(model, "train_score_", np.zeros(kept))[:kept])
            made.valid = list(getattr(model, "validation_score_", ()))
            if made.oob:  # 0 for rounds of all rows
                made.out = list(getattr(model, "oob_scores_", np.zeros(kept))[:kept])
                made.first = made.out[0] + getattr(model, "oob_improvement_", np.zeros(kept))[0]
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

    def hold(self, loss: float) -> float:
        """Keep the loss of the held-out rows after a round."""
        self.valid.append(loss)
        return loss

    def attributes(self, count: int) -> dict[str, Any]:
        """As fitted attributes; while rounds go on, the last is the best."""
        found: dict[str, Any] = {"train_score_": np.array(self.train[:count]), "best_iteration_": count}
        found["best_score_"] = float(found["train_score_"][-1]) if count else np.nan
        if self.valid:
            found["validation_score_"] = np.array(self.valid)
        if self.oob and count:
            out = np.array(self.out[:count])
            found["oob_scores_"], found["oob_score_"] = out, float(out[-1])
            found["oob_improvement_"] = np.append(self.first, out[:-1]) - out
        return found


class LossTable:
    """Table of the losses by round, printed while learning goes on (`verbose`).

    With 1 rounds 1 to 10 are printed, then every tenth to the hundredth, and so on; with more all are.
    """

    def __init__(self, verbose: int, rounds: int, oob: bool) -> None:
        self.verbose, self.rounds, self.oob, self.every = int(verbose), rounds, oob, 1
        self.begin, self.done = time.perf_counter(), 0
        if self.verbose:
            titles = ["Train Loss", *(["OOB Improve"] if oob else []), "Remaining Time"]
            print(" ".join([f"{'Iter':>10}", *(f"{title:>16}" for title in titles)]))

    def add(self, m: int, scores: BoostingScores) -> None:
        """Print the line of round m, counted from 0, if it is to be printed."""
        self.done += 1
        if not self.verbose or (m + 1) % self.every:
            return
        seconds = (self.rounds - self.done) * (time.perf_counter() - self.begin) / self.done
        left = f"{seconds / 60:.2f}m" if seconds > 60 else f"{seconds:.2f}s"
        before = scores.out[-2] if len(scores.out) > 1 else scores.first
        numbers = [scores.train[-1], *([before - scores.out[-1]] if self.oob else [])]
        print(" ".join([f"{m + 1:>10}", *(f"{number:>16.4f}" for number in numbers), f"{left:>16}"]))
        if self.verbose == 1 and (m + 1) // (self.every * 10):
            self.every *= 10


def split_seed(random_state: Any, random: np.random.Generator) -> Any:
    """Which rows are held out: of a number or a RandomState, those that scikit-learn holds out."""
    if isinstance(random_state, int | np.integer | np.random.RandomState):
        return random_state
    return int(random.integers(2**31 - 1))


def hold_out_seed(random_state: Any) -> int:
    """The seed of the split into rows to learn from and rows held out: scikit-learn's, of a given random_state."""
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**32 - 1))
    return int(check_random_state(random_state).randint(2**32 - 1, dtype="u8"))
