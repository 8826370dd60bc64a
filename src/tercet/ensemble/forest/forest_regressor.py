"""Base class of forests of regression trees."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.estimator import Regressor
from tercet.ensemble.forest.base import BaseForest
from tercet.tree import BaseDecisionTree, DecisionTreeRegressor


class ForestRegressor(BaseForest, Regressor):
    """Forest whose answer is the mean of its trees."""

    def _tree(self) -> BaseDecisionTree:
        return DecisionTreeRegressor(
            criterion=self.criterion,
            splitter=self.splitter,  # type: ignore[arg-type]
            max_depth=self.max_depth,
            min_samples_split=self.min_samples_split,
            min_samples_leaf=self.min_samples_leaf,
            min_weight_fraction_leaf=self.min_weight_fraction_leaf,
            max_features=self.max_features,
            max_leaf_nodes=self.max_leaf_nodes,
            min_impurity_decrease=self.min_impurity_decrease,
            ccp_alpha=self.ccp_alpha,
            monotonic_cst=self.monotonic_cst,
        )

    def _fit(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        name = f"{type(self).__name__}(criterion='poisson')"
        if self.criterion == "poisson" and y.min() < 0:
            raise ValueError(
                f"{name}: Some value(s) of y are negative which is not allowed for Poisson regression. The least "
                f"is {y.min():g}."
            )
        if self.criterion == "poisson" and y.sum() <= 0:
            raise ValueError(
                f"{name}: Sum of y is not strictly positive which is necessary for Poisson regression."
            )
        super()._fit(X, y, sample_weight)

    def predict(self, X: Any) -> np.ndarray:
        """The mean over the trees of the values of the leaves that each row comes to.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_outputs)
        """
        return self._answers(self._mean_values(X))

    def _answers(self, means: np.ndarray) -> np.ndarray:
        return means[:, 0, 0] if self.n_outputs_ == 1 else means[:, :, 0]

    def _oob_answers(self, means: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return y, self._answers(means)

    def _set_oob(self, means: np.ndarray, score: float) -> None:
        self.oob_prediction_, self.oob_score_ = np.nan_to_num(self._answers(means)), score
