"""Scores of histogram gradient boosting by round: when to stop, and which round is the best."""

from __future__ import annotations

import copy
import functools
from typing import Any

import numpy as np
from sklearn.metrics import check_scoring

from tercet.core.strip_sums import strip_total
from tercet.ensemble.boosting.best_rounds import best_round


class RoundScores:
    """Scores after each round (the larger, the better), which decide when to stop."""

    def __init__(self, model: Any, loss: Any, X: Any, y: Any, weight: Any, held: Any) -> None:
        self.model, self.loss, self.X, self.y, self.weight, self.held = model, loss, X, y, weight, held
        self.train, self.valid = list(model.train_score_), list(model.validation_score_)
        own = not (isinstance(model.scoring, str) and model.scoring == "loss")
        self.scorer: Any = check_scoring(model, model.scoring) if own and model.do_early_stopping_ else None
        # The rows are encoded already: the model is asked as one of numbers without names.
        self.view = copy.copy(model)
        self.view.categories_, self.view.categorical_features = [None] * X.shape[1], None
        vars(self.view).pop("feature_names_in_", None)
        self.view.keep_best = False

    def add(
        self,
        F: np.ndarray | None,
        F_val: np.ndarray | None,
        trees: list[Any] | None = None,
        loss: float | None = None,
        held_loss: float | None = None,
    ) -> dict[str, float]:
        """Score the rows after a round; `loss` is that of the training rows, if it is known, and `held_loss` that
        of the others."""
        measures = {}
        if self.scorer is None:
            self.train.append(-(self._loss(self.y, F, self.weight) if loss is None else loss))
            measures["loss"] = -self.train[-1]
            if self.held is not None:
                if held_loss is None:
                    held_loss = self._loss(self.held[1], F_val, self.held[2])
                self.valid.append(-held_loss)
                measures["validation_loss"] = -self.valid[-1]
            return measures
        self.view.trees_ = trees or []
        self.train.append(self._score(self.X, self.y, self.weight))
        if self.held is not None:
            self.valid.append(self._score(*self.held))
            measures["validation_score"] = self.valid[-1]
        return {"score": self.train[-1], **measures}

    def _loss(self, y: Any, F: Any, weight: Any) -> float:
        total, mass = strip_total(functools.partial(loss_sums, self.loss), y, F, weight)
        return float(total / mass)

    def _score(self, X: Any, y: Any, weight: Any) -> float:
        plain = (weight == weight[0]).all()
        kwargs = {} if plain else {"sample_weight": weight}
        return float(self.scorer(self.view, X, self.model._decode(y), **kwargs))

    @property
    def deciding(self) -> list[float]:
        """The scores that decide: those of the rows held out, if there are any."""
        return self.train if self.held is None else self.valid

    def stop(self) -> bool:
        """Whether the last `n_iter_no_change` scores are no better than the one before them."""
        scores, patience = self.deciding, self.model.n_iter_no_change
        if len(scores) <= patience:
            return False
        return not any(score > scores[-patience - 1] + self.model.tol for score in scores[-patience:])

    def best(self, count: int) -> tuple[int, float]:
        """The best of `count` rounds, and the score after it; the last without early stopping."""
        return best_round(self.deciding, count, self.model.do_early_stopping_)

    def attributes(self, count: int) -> dict[str, Any]:
        """As fitted attributes; the first score is that of the start. While rounds go on, the last is the best."""
        return {
            "best_iteration_": count,
            "best_score_": best_round(self.deciding[: count + 1], count, stopping=False)[1],
            "train_score_": np.array(self.train[: count + 1]),
            "validation_score_": np.array(self.valid[: count + 1]),
        }


def loss_sums(loss: Any, y: np.ndarray, F: np.ndarray, weight: np.ndarray) -> tuple[Any, Any]:
    """The sums of weighted losses and of weights over some rows."""
    return (loss.losses(y, F) * weight).sum(), weight.sum()
