"""Cascade-correlation for classification (级联相关分类器)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.estimator import Classifier
from tercet.core.functions import softmax
from tercet.core.parameters import Count, CountOrZero, Jobs, NonNegative, Seed
from tercet.neural_network.cascade_correlation import (
    Activation,
    CascadeNetwork,
    LogisticOutputs,
    with_reference,
)


@method(
    zh="级联相关分类器",
    task="classification",
    approach="discriminative",
    model="P(y|x) = softmax(W [x, V] + b), V_k = f(u_k·[x, V_1 ... V_k-1] + a_k)",
    strategy="cross-entropy + alpha |W|² for the outputs; covariance with their errors for hidden units",
    loss="log",
    convex=False,
    algorithms={
        "lbfgs": "candidates trained by L-BFGS",
        "quickprop": "candidates trained by Fahlman's quickprop",
    },
    texts=["watermelon notes ch. 3, sec. 3.5"],
)
class CascadeCorrelationClassifier(CascadeNetwork, Classifier):
    """Cascade-correlation network with softmax outputs: hidden units are added one at a time.

    The network grows as that of `CascadeCorrelation`. Its outputs are probabilities of the classes, trained by
    L-BFGS on the cross-entropy (two classes have one logistic output). The errors E, with which candidates are to
    correlate, are the codes of the classes less these probabilities.

    Parameters
    ----------
    max_units : int, default=10
        The most hidden units.
    n_candidates : int, default=8
        The candidates for each unit, which start from different random weights.
    activation : {"tanh", "logistic", "gaussian"}, default="tanh"
        The function f of the hidden units; "gaussian" is exp(-z²/2).
    algorithm : {"lbfgs", "quickprop"}, default="lbfgs"
        How candidates are trained.
    alpha : float, default=1e-4
        Strength of the L2 penalty on the weights of the outputs.
    class_weight : dict or "balanced", optional
        Weights of the classes; "balanced" is inverse to their share of the sample weights.
    max_iter : int, default=100
        The most passes for the training of a candidate, and of the outputs.
    patience : int, default=12
        A candidate is ready when S has not risen by the part `candidate_tol` of itself in so many passes.
    candidate_tol : float, default=0.01
        The least relative increase of S that counts.
    tol : float, default=1e-4
        The least relative decrease of the loss that counts, from one unit to the next.
    n_iter_no_change : int, default=2
        No more units are added when the loss has not decreased for so many units in a row.
    target_loss : float, default=1e-3
        No more units are added when the loss is at most this.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the first weights of the candidates.
    n_jobs : int, optional
        Threads, which train candidates side by side. The result does not depend on it.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The classes, in order.
    hidden_weights_ : array of shape (n_units, n_features + n_units)
        Weights of the features and of the earlier units in each hidden unit; those of later units are 0.
    hidden_intercept_ : array of shape (n_units,)
        The biases of the hidden units.
    output_weights_ : array of shape (n_outputs, n_features + n_units)
        Weights of the features and the hidden units in the outputs; two classes have one output.
    output_intercept_ : array of shape (n_outputs,)
        The biases of the outputs.
    n_iter_ : int
        The number of times that the outputs were trained, one more than units.
    history_ : dict
        For each number of units the loss, the mean cross-entropy with its penalty, and `correlation`, the S of the
        unit that was installed.

    Examples
    --------
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]  # XOR
    >>> model = CascadeCorrelationClassifier(random_state=0).fit(X, y)
    >>> model.predict(X), len(model.hidden_intercept_)
    (array([0, 1, 1, 0]), 2)
    """

    def __init__(
        self,
        max_units: CountOrZero = 10,
        *,
        n_candidates: Count = 8,
        activation: Activation = "tanh",
        algorithm: Literal["lbfgs", "quickprop"] = "lbfgs",
        alpha: NonNegative = 1e-4,
        class_weight: dict | Literal["balanced"] | None = None,
        max_iter: Count = 100,
        patience: Count = 12,
        candidate_tol: NonNegative = 0.01,
        tol: NonNegative = 1e-4,
        n_iter_no_change: Count = 2,
        target_loss: NonNegative = 1e-3,
        random_state: Seed = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.max_units = max_units
        self.n_candidates = n_candidates
        self.activation = activation
        self.algorithm = algorithm
        self.alpha = alpha
        self.class_weight = class_weight
        self.max_iter = max_iter
        self.patience = patience
        self.candidate_tol = candidate_tol
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.target_loss = target_loss
        self.random_state = random_state
        self.n_jobs = n_jobs

    streams_instead = "MLPClassifier"

    def _fit(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        weight = self._balance(self.class_weight, y, sample_weight)
        codes = (y[:, None] == np.arange(self.classes_.size)).astype(np.float64)
        self._grow(X, LogisticOutputs(X, codes, weight, self.alpha, self.max_iter, self.n_jobs), weight)

    def _check_fitted(self, sizes: Any) -> None:
        super()._check_fitted(sizes)
        outputs = 1 if len(self.classes_) == 2 else len(self.classes_)
        if len(self.output_intercept_) != outputs:
            raise ValueError(
                f"{type(self).__name__}: output_intercept_ has {len(self.output_intercept_)} items; expected "
                f"{outputs} for {len(self.classes_)} classes."
            )

    def decision_function(self, X: Any) -> np.ndarray:
        """The net inputs of the outputs: log-odds of the second class of two, or a score for each class.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        scores : array of shape (n_samples,) or (n_samples, n_classes)
        """
        scores = self._network_outputs(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probabilities of the classes.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        probabilities : array of shape (n_samples, n_classes)
            In the order of `classes_`.
        """
        return softmax(with_reference(self._network_outputs(X)))

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each row.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        labels : array of shape (n_samples,)
        """
        return self.classes_[with_reference(self._network_outputs(X)).argmax(axis=1)]
