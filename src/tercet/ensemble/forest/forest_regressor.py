"""Base class of forests of regression trees."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.estimator import Regressor, check_is_fitted
from tercet.core.fitted_checks import Floats, Indices
from tercet.ensemble.forest.base import BaseForest
from tercet.ensemble.forest.leaf_targets import leaf_quantiles, rows_of_leaves
from tercet.tree import BaseDecisionTree, DecisionTreeRegressor


class ForestRegressor(BaseForest, Regressor):
    """Forest whose answer is the mean of its trees."""

    keep_targets: Any = False

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

    fitted_shapes = {
        "_sorted_targets": Floats("rows"),
        "_leaf_starts": Indices("all_nodes", below="2147483647"),
        "_leaf_ranks": Indices("entries", below="rows"),
        "_leaf_shares": Floats("entries", low=0.0),
    }

    def _fit(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        super()._fit(X, y, sample_weight)
        if not self.keep_targets:
            for name in ("_sorted_targets", "_leaf_starts", "_leaf_ranks", "_leaf_shares"):
                vars(self).pop(name, None)
            return
        if self.n_outputs_ > 1:
            raise ValueError(
                f"{type(self).__name__}: keep_targets=True is for one output; y has {self.n_outputs_} columns."
            )
        n, X = len(y), self._dense(X)
        order = np.argsort(y, kind="stable")
        self._sorted_targets = y[order]
        weights = [self._member_weight(one.random_state, n, y, self._draw_weight) for one in self.estimators_]
        found = rows_of_leaves([one.tree_ for one in self.estimators_], X, weights)
        self._leaf_starts, rows, self._leaf_shares = found
        self._leaf_ranks = np.argsort(order)[rows].astype(np.int32)

    def predict_quantiles(self, X: Any, quantiles: Any = (0.05, 0.5, 0.95)) -> np.ndarray:
        """Quantiles of the targets that share leaves with a row (quantile regression forest).

        A training row has the weight that it has in the mean: in each tree its share of the leaf that the row comes
        to, averaged over trees. The quantile q is the least target with the share q of the weights at or below it.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            The rows.
        quantiles : float or array of floats from 0 to 1, default=(0.05, 0.5, 0.95)
            Which quantiles.

        Returns
        -------
        array of shape (n_samples,) for one quantile, or (n_samples, n_quantiles)
        """
        check_is_fitted(self)
        if not hasattr(self, "_leaf_starts"):
            raise ValueError(
                f"{type(self).__name__}: predict_quantiles needs the targets of the leaves: fit with "
                "keep_targets=True."
            )
        asked = np.asarray(quantiles, dtype=np.float64)
        if asked.ndim > 1 or not ((asked >= 0) & (asked <= 1)).all():
            raise ValueError(
                f"{type(self).__name__}: quantiles must be numbers from 0 to 1, one or a list; got {quantiles!r}."
            )
        leaves = self.apply(X) + np.append(
            0, np.cumsum([one.tree_.node_count for one in self.estimators_])[:-1]
        )
        ranks = leaf_quantiles(leaves, self._leaf_starts, self._leaf_ranks, self._leaf_shares, asked.ravel())
        found = self._sorted_targets[ranks]
        return found[:, 0] if asked.ndim == 0 else found

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
