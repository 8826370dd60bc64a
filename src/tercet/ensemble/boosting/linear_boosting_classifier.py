"""Linear boosting for classes: XGBoost's linear booster (线性提升分类; Machine Learning in Depth ch. 8)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.parameters import Count, NonNegative, Range, Seed
from tercet.core.row_sums import times_class_weight
from tercet.core.scaling import LARGE
from tercet.ensemble.boosting.linear_boosting import BaseLinearBoosting
from tercet.ensemble.boosting.loss_choice import classification_loss
from tercet.linear_model import LinearClassifier
from tercet.losses import Loss

Share = Annotated[float, Range(0, 1, "(]")]


@method(
    zh="线性提升分类",
    task="classification",
    model="F_k(x) = w_k·x + b_k, the sums of linear members, and their softmax",
    strategy="log loss, or any smooth loss of the margin, plus alpha |w|_1 + lambda / 2 |w|²",
    loss="log",
    convex=True,
    algorithms="boosting rounds of coordinate steps on the second-order expansion (XGBoost's linear booster)",
    texts=["Machine Learning in Depth ch. 8"],
    peers=["xgboost.XGBClassifier"],
)
class LinearBoostingClassifier(BaseLinearBoosting, LinearClassifier):
    """Boosting of linear functions by the second-order expansion of the log loss, with L1 and L2 penalties.

    The rounds are those of `LinearBoostingRegressor`; they approach logistic regression with the penalty
    alpha |w|_1 + lambda / 2 |w|² beside the sum of the losses. With two classes there is one score, with K classes
    there are K, whose steps in a round do not depend on one another.

    Parameters
    ----------
    loss : {"log_loss"} or Loss, default="log_loss"
        What is minimised; for two classes also a smooth loss of the margin of `tercet.losses`.
    learning_rate : float, default=1.0
        Shrinks every step; below 1, weights that become 0 only come near it.
    max_iter : int, default=100
        The most rounds. A few of them regularise, as in all boosting.
    l1_regularization, l2_regularization : float, default=0.0
        alpha and lambda.
    fit_intercept : bool, default=True
        Whether there is a b, which is not penalised.
    selection : {"cyclic", "random"}, default="cyclic"
        The order of the features in a round.
    tol : float, default=1e-9
        Stop when a round lowers the objective by no more than this share of it.
    random_state : int, optional
        Decides the order with selection="random".
    class_weight : dict or "balanced", optional
        Weights of the classes.

    Attributes
    ----------
    coef_ : array of shape (1, n_features) or (n_classes, n_features)
        w.
    intercept_ : array of shape (1,) or (n_classes,)
        b.
    classes_ : array of shape (n_classes,)
    n_iter_ : int
        The rounds made.

    Examples
    --------
    >>> X, y = [[0.0, 1.0], [1.0, -1.0], [2.0, 1.0], [3.0, -1.0]], ["low", "low", "high", "high"]
    >>> model = LinearBoostingClassifier(l1_regularization=0.5).fit(X, y)
    >>> model.predict([[0.5, 0.0], [2.5, 0.0]]), model.coef_[0, 1].item()
    (array(['low', 'high'], dtype='<U4'), 0.0)
    """

    largest_value = LARGE

    def __init__(
        self,
        loss: Literal["log_loss"] | Loss = "log_loss",
        *,
        learning_rate: Share = 1.0,
        max_iter: Count = 100,
        l1_regularization: NonNegative = 0.0,
        l2_regularization: NonNegative = 0.0,
        fit_intercept: bool = True,
        selection: Literal["cyclic", "random"] = "cyclic",
        tol: NonNegative = 1e-9,
        random_state: Seed = None,
        class_weight: dict | Literal["balanced"] | None = None,
    ) -> None:
        self.loss = loss
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.l1_regularization = l1_regularization
        self.l2_regularization = l2_regularization
        self.fit_intercept = fit_intercept
        self.selection = selection
        self.tol = tol
        self.random_state = random_state
        self.class_weight = class_weight

    def _loss_of(self) -> Any:
        return self._check_loss(classification_loss(self.loss, len(self.classes_)))

    def _fit(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        weight = np.ones(len(y)) if sample_weight is None else sample_weight.astype(np.float64)
        if self.class_weight is not None:
            weight = times_class_weight(self._class_weights(self.class_weight, y, weight), y, weight)
        self._boost(X, y.astype(np.float64), weight, self._loss_of())

    def _state(self, w: np.ndarray, b: np.ndarray, dtype: Any) -> dict[str, Any]:
        return {"coef_": w.astype(dtype), "intercept_": b.astype(dtype)}

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probabilities of the classes.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        F = self.decision_function(X)
        return self._loss_of().proba(F[:, None] if F.ndim == 1 else F)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """The logarithm of `predict_proba`.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))
