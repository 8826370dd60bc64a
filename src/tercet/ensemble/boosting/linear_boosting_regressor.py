"""Linear boosting for numbers: XGBoost's linear booster (线性提升回归; Machine Learning in Depth ch. 8)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.parameters import Count, NonNegative, Range, Seed
from tercet.core.scaling import LARGE
from tercet.core.validation import finite_predictions
from tercet.ensemble.boosting.boosting_losses import GammaBoosting, PoissonBoosting
from tercet.ensemble.boosting.linear_boosting import BaseLinearBoosting
from tercet.ensemble.boosting.loss_choice import regression_loss
from tercet.linear_model import LinearRegressor
from tercet.losses import Loss

Share = Annotated[float, Range(0, 1, "(]")]


@method(
    zh="线性提升回归",
    task="regression",
    model="F(x) = w·x + b, the sum of linear members",
    strategy="any twice differentiable loss, plus alpha |w|_1 + lambda / 2 |w|²",
    loss="squared",
    convex=True,
    algorithms="boosting rounds of coordinate steps on the second-order expansion (XGBoost's linear booster)",
    texts=["Machine Learning in Depth ch. 8"],
    peers=["xgboost.XGBRegressor"],
)
class LinearBoostingRegressor(BaseLinearBoosting, LinearRegressor):
    """Boosting of linear functions by the second-order expansion of the loss, with L1 and L2 penalties.

    Every round expands sum L(y_i, F_i) to second order and makes one step for each feature,

        w_j <- w_j + learning_rate (T(H w_j - G) / (H + lambda) - w_j),   G = sum g_i x_ij, H = sum h_i x_ij²,

    where T moves a number towards 0 by alpha. A sum of linear functions is linear: the rounds approach the minimum
    of sum L + alpha |w|_1 + lambda / 2 |w|², for the squared loss that of the elastic net. The objective never
    rises: the step of a round is halved where it would. This is booster="gblinear" of XGBoost, whose penalties are
    those here divided by the sum of the weights of the rows.

    Parameters
    ----------
    loss : {"squared_error", "poisson", "gamma"} or Loss, default="squared_error"
        What is minimised, 1/2 (y - F)² for the squared error; or a smooth loss of `tercet.losses`, or one like it
        with `value`, `gradient` and `curvature`. "poisson" and "gamma" answer exp(F).
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

    Attributes
    ----------
    coef_ : array of shape (n_features,)
        w.
    intercept_ : float
        b.
    n_iter_ : int
        The rounds made.

    Examples
    --------
    >>> X, y = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]), [3.0, 0.5, -3.0, -0.5]
    >>> model = LinearBoostingRegressor(l1_regularization=2.0, l2_regularization=1.0).fit(X, y)
    >>> (model.coef_ + 0.0).round(4), model.predict([[1.0, 1.0]]).round(4)
    (array([1.3333, 0.    ]), array([1.3333]))
    """

    largest_value = LARGE
    largest_target = LARGE

    def __init__(
        self,
        loss: Literal["squared_error", "poisson", "gamma"] | Loss = "squared_error",
        *,
        learning_rate: Share = 1.0,
        max_iter: Count = 100,
        l1_regularization: NonNegative = 0.0,
        l2_regularization: NonNegative = 0.0,
        fit_intercept: bool = True,
        selection: Literal["cyclic", "random"] = "cyclic",
        tol: NonNegative = 1e-9,
        random_state: Seed = None,
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

    def _loss_of(self) -> Any:
        return self._check_loss(regression_loss(self.loss, 0.5))

    def _fit(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        self._check_targets(y)
        weight = np.ones(len(y)) if sample_weight is None else sample_weight.astype(np.float64)
        self._boost(X, np.asarray(y, dtype=np.float64), weight, self._loss_of())

    def _state(self, w: np.ndarray, b: np.ndarray, dtype: Any) -> dict[str, Any]:
        return {"coef_": w[0].astype(dtype), "intercept_": float(b[0])}

    def _check_targets(self, y: np.ndarray) -> None:
        """Refuse targets that the loss does not take."""
        if self.loss == "gamma" and y.min() <= 0:
            raise ValueError(f"{type(self).__name__}: loss='gamma' requires y > 0; the least is {y.min()}.")
        if self.loss == "poisson" and (y.min() < 0 or y.sum() <= 0):
            raise ValueError(
                f"{type(self).__name__}: loss='poisson' requires y >= 0 and sum(y) > 0; the least is {y.min()}."
            )

    def predict(self, X: Any) -> np.ndarray:
        """F(x); exp(F) for the Poisson and the gamma loss.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        array of shape (n_samples,)
        """
        F = super().predict(X)
        if not isinstance(self._loss_of(), PoissonBoosting | GammaBoosting):
            return F
        with np.errstate(over="ignore"):
            return finite_predictions(np.exp(F), type(self).__name__)
