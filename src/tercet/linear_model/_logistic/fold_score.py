"""The scores of models on the held-out folds of a cross-validation."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import make_scorer


class FoldScore(NamedTuple):
    """The score of a model on a held-out fold; `params` are the scorer's, such as sample_weight, for all rows."""

    scorer: Any
    by_accuracy: bool
    classes: np.ndarray
    params: dict[str, Any]

    def of_fold(self, X: Any, y: np.ndarray, test: np.ndarray, n: int) -> Callable[[Any], float]:
        """The score of a model on the rows `test` of n."""
        params = {
            name: np.asarray(value)[test] if np.shape(value)[:1] == (n,) else value
            for name, value in self.params.items()
        }
        if self.by_accuracy and not set(params) - {"sample_weight"}:
            weight = params.get("sample_weight")

            def accuracy(
                model: Any,
            ) -> float:  # as the scorer's, without its checks of the input
                z = np.asarray(X @ model.coef_.T) + model.intercept_
                right = (z.argmax(axis=1) if z.shape[1] > 1 else z[:, 0] > 0) == y
                return float(np.average(right, weights=weight))

            return accuracy
        scorer, labels = scorer_for(self.scorer, self.classes), self.classes[y]
        return lambda model: scorer(model, X, labels, **params)


def scorer_for(scorer: Any, classes: np.ndarray) -> Any:
    """A scorer that knows all classes: a fold need not have every one."""
    function = getattr(scorer, "_score_func", None)
    wanted = inspect.signature(function).parameters if function is not None else {}
    if "labels" not in wanted:
        return scorer
    known = {"labels": classes}
    if classes.size == 2 and "pos_label" in wanted:
        known["pos_label"] = classes[1]
    return make_scorer(
        function,
        greater_is_better=scorer._sign == 1,
        response_method=scorer._response_method,
        **{**known, **scorer._kwargs},
    )
