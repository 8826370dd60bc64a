"""Base class of forests of classification trees: class weights, votes and probabilities."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from tercet.core.estimator import Classifier
from tercet.core.fitted_checks import classes_of_outputs
from tercet.ensemble.forest.base import BaseForest
from tercet.tree import BaseDecisionTree, DecisionTreeClassifier, all_classes, class_weights, encode_classes


class ForestClassifier(BaseForest, Classifier):
    """Forest whose answer is the class of the largest mean probability."""

    class_weight: Any

    def _tree(self) -> BaseDecisionTree:
        return DecisionTreeClassifier(
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

    def _encode(self, y: Any) -> np.ndarray:
        self.classes_, self.n_classes_, index = encode_classes(y)
        return index

    fitted_shapes = {"classes_": classes_of_outputs}

    def _classes_of_outputs(self) -> tuple[int, ...]:
        return tuple(len(classes) for classes in all_classes(self.classes_))

    def _row_weights(self, y: np.ndarray, sample_weight: np.ndarray | None) -> np.ndarray | None:
        if self.warm_start and isinstance(self.class_weight, str):
            warnings.warn(
                f"class_weight={self.class_weight!r} is not recommended for warm_start, where the fits may see "
                "other class frequencies: pass the weights of the classes as a dict.",
                stacklevel=5,
            )
        if self.class_weight is None or self._balances_samples():
            return sample_weight
        if isinstance(self.class_weight, str):
            return balanced_weights(y, sample_weight)
        by_class = class_weights(self.class_weight, self.classes_, y)
        return by_class if sample_weight is None else by_class * sample_weight

    def _streamed_weights(self, y: Any, weight: Any) -> Any:
        return self._balance(self.class_weight, y, weight)

    def _balances_samples(self) -> bool:
        """Whether classes are weighted by their counts in each tree's own sample."""
        return (
            self.bootstrap
            and isinstance(self.class_weight, str)
            and self.class_weight == "balanced_subsample"
        )

    def _member_weight(
        self, seed: int, n: int, y: np.ndarray, weight: np.ndarray | None
    ) -> np.ndarray | None:
        own = super()._member_weight(seed, n, y, weight)
        if own is None or not self._balances_samples():
            return own
        return own * class_weights("balanced", self.classes_, y, self._drawn(seed, n, weight))

    def predict(self, X: Any) -> np.ndarray:
        """The class of the largest mean probability over the trees; of equals, the first.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_outputs)
        """
        return self._labels(self._mean_values(X))

    def _labels(self, means: np.ndarray) -> np.ndarray:
        labels = [
            classes[means[:, k, : len(classes)].argmax(axis=1)]
            for k, classes in enumerate(all_classes(self.classes_))
        ]
        return labels[0] if self.n_outputs_ == 1 else np.column_stack(labels)

    def predict_proba(self, X: Any) -> Any:
        """The mean over the trees of the proportions of the classes in the leaf that each row comes to.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        array of shape (n_samples, n_classes), or a list of them for several outputs
        """
        means = self._mean_values(X)
        proba = [means[:, k, : len(classes)] for k, classes in enumerate(all_classes(self.classes_))]
        return proba[0] if self.n_outputs_ == 1 else proba

    def predict_log_proba(self, X: Any) -> Any:
        """The logarithm of `predict_proba`.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        array of shape (n_samples, n_classes), or a list of them for several outputs
        """
        proba = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return [np.log(one) for one in proba] if isinstance(proba, list) else np.log(proba)

    def _oob_answers(self, means: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        columns = [
            classes[index]
            for classes, index in zip(all_classes(self.classes_), np.reshape(y, (len(y), -1)).T)
        ]
        return columns[0] if self.n_outputs_ == 1 else np.column_stack(columns), self._labels(means)

    def _set_oob(self, means: np.ndarray, score: float) -> None:
        means = np.nan_to_num(means)
        self.oob_decision_function_ = means[:, 0] if self.n_outputs_ == 1 else np.swapaxes(means, 1, 2)
        self.oob_score_ = score


def balanced_weights(y: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """The weight of each row times its class's: total weight / (number of classes * weight of the class).

    Over several outputs the weights of the classes are multiplied.

    Examples
    --------
    >>> balanced_weights(np.array([0, 0, 0, 1]), None).round(3)
    array([0.667, 0.667, 0.667, 2.   ])
    """
    rows = np.ones(len(y)) if weight is None else weight.astype(np.float64)
    found = rows.copy()
    for index in np.reshape(y, (len(y), -1)).T:
        mass = np.bincount(index, rows)
        counted = np.count_nonzero(mass) * mass
        found *= np.divide(mass.sum(), counted, out=np.zeros(mass.size), where=mass > 0)[index]
    return found
