"""Base of voting ensembles: members fitted on all rows, weights given or learned."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils.parallel import delayed

from tercet.core.steps import Fit
from tercet.ensemble.combination.averages import combination_weights, least_squares_weights
from tercet.ensemble.combination.heterogeneous import HeterogeneousEnsemble, fit_member, is_dropped
from tercet.ensemble.combination.out_of_fold import join_folds, partition, predict_fold

LEARNED = ("inverse_error", "least_squares")


class Voting(HeterogeneousEnsemble):
    """Base of ensembles whose members are combined by a vote or an average."""

    weights: Any
    cv: Any
    verbose: Any
    weights_: np.ndarray

    def _check_members(self) -> None:
        super()._check_members()
        if self.weights is None or (isinstance(self.weights, str) and self.weights in LEARNED):
            return
        if isinstance(self.weights, str) or not hasattr(self.weights, "__len__"):
            raise ValueError(
                f"{type(self).__name__}: parameter 'weights' must be one of {', '.join(map(repr, LEARNED))}, "
                f"an array or None; got {self.weights!r}."
            )
        if len(self.weights) != len(self.estimators):
            raise ValueError(
                "Number of `estimators` and weights must be equal; got "
                f"{len(self.weights)} weights, {len(self.estimators)} estimators."
            )
        w = self._given_weights()
        if w.ndim != 1 or not np.isfinite(w).all() or not w.sum():
            raise ValueError(
                f"{type(self).__name__}: parameter 'weights' must be finite numbers, of which those of members "
                f"that are not dropped do not add up to 0; got {self.weights!r}."
            )

    def _given_weights(self) -> np.ndarray:
        active = [not is_dropped(member) for _, member in self.estimators]
        return np.asarray(self.weights, dtype=float)[active]

    def _member_weights(self) -> np.ndarray | None:
        """Weights of the members in `estimators_`; None where all are equal."""
        if self.weights is None:
            return None
        return self.weights_ if isinstance(self.weights, str) else self._given_weights()

    def _fit_all(
        self, X: Any, y: np.ndarray, params: dict[str, dict[str, Any]], given: dict[str, Any]
    ) -> None:
        if hasattr(self, "weights_"):  # of an earlier fit
            del self.weights_
        members = list(self._active())
        tasks = Fit.of(self).tasks(len(members), self.task_name)
        fitted = self._parallel(
            (
                delayed(fit_member)(clone(member), X, y, params[name], task, self._message(k, name))
                for k, ((name, member), task) in enumerate(zip(members, tasks))
            ),
            len(members),
            verbose=0,
        )
        if isinstance(self.weights, str):
            self._learn_weights(X, y, params, given.get("sample_weight"))
        self._keep(fitted)

    def _message(self, k: int, name: str) -> str:
        return f"({k + 1} of {len(list(self._active()))}) Processing {name}" if self.verbose else ""

    def _learn_weights(self, X: Any, y: np.ndarray, params: dict[str, Any], sample_weight: Any) -> None:
        """Weights from the errors of out-of-fold predictions."""
        splits = partition(self, X, y, is_classifier(self))
        members = list(self._active())
        parts = self._parallel(
            (
                delayed(predict_fold)(clone(member), X, y, split, "predict", params[name], None)
                for name, member in members
                for split in splits
            ),
            len(members) * len(splits),
            verbose=0,
        )
        k = len(splits)
        h = np.column_stack(
            [join_folds(name, parts[i * k : (i + 1) * k], splits) for i, (name, _) in enumerate(members)]
        )
        weight = np.broadcast_to(1.0 if sample_weight is None else sample_weight, y.shape)
        if is_classifier(self):  # votes and labels as indicators of the classes
            labels = np.unique(y)
            h, y = (np.concatenate([table == label for label in labels]) * 1.0 for table in (h, y))
            weight = np.tile(weight, len(labels))
        if self.weights == "least_squares":
            self.weights_ = least_squares_weights(h, y, weight)
        else:
            self.weights_ = combination_weights(np.average((h - y[:, None]) ** 2, axis=0, weights=weight))

    def _predictions(self, X: Any) -> np.ndarray:
        """What each member predicts, as columns."""
        return np.column_stack([member.predict(X) for member in self.estimators_])
