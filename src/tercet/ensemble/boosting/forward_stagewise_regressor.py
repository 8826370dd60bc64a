"""Forward stagewise additive modelling with any loss and base learner (前向分步加法模型; Li ch. 8, Alg 8.2)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.estimator import Regressor, check_is_fitted, generator
from tercet.core.fitted_checks import Each, Having, Sizes
from tercet.core.parameters import Count, NonNegative, Seed
from tercet.core.validation import finite_predictions
from tercet.ensemble.base import BaseEnsemble, takes_weights
from tercet.ensemble.boosting.forward_stagewise import best_coefficient, total_loss
from tercet.ensemble.member_checks import check_member_widths
from tercet.losses import Loss
from tercet.losses import loss as named_loss
from tercet.tree import DecisionTreeRegressor


@method(
    zh="前向分步加法模型",
    task="regression",
    model="f(x) = sum of beta_m b_m(x), b_m any regressor",
    strategy="any loss of tercet.losses",
    loss="squared",
    convex=False,
    algorithms="b_m is fitted to the negative gradient at f, beta_m found by a line search (Alg 8.2)",
    texts=["Li ch. 8, Alg 8.2", "Machine Learning in Depth ch. 2", "Machine Learning in Depth ch. 8"],
)
class ForwardStagewiseRegressor(BaseEnsemble, Regressor):
    """Additive model of any base learner, built one term at a time for any loss.

    Every round fits a member to the negative gradient of the loss at f (the residual, for the squared loss), and
    adds it with the coefficient that lowers the loss most. With linear members the sum stays linear; with trees and
    the squared loss it is the boosting tree of the text.

    Parameters
    ----------
    estimator : regressor, optional
        The members; by default `DecisionTreeRegressor(max_depth=1)`.
    loss : {"squared", "absolute", "huber"} or Loss, default="squared"
        What is minimised: an object of `tercet.losses`, or one like it with `value` and `gradient`. A loss of the
        margin takes targets -1 and 1.
    n_estimators : int, default=50
        The most rounds.
    learning_rate : float, default=1.0
        Shrinks every coefficient.
    tol : float, default=1e-9
        Stop when a round lowers the loss by no more than this share of it.
    random_state : int, optional
        Decides the seeds of the members.

    Attributes
    ----------
    estimators_ : list of regressors
        The members.
    coefficients_ : array of shape (n_members,)
        Their coefficients.
    estimator_ : regressor
        What the members are clones of.

    Examples
    --------
    >>> X = np.arange(1.0, 11.0)[:, None]
    >>> y = [5.56, 5.70, 5.91, 6.40, 6.80, 7.05, 8.90, 8.70, 9.00, 9.05]
    >>> model = ForwardStagewiseRegressor(n_estimators=6).fit(X, y)
    >>> model.predict(X).round(2)
    array([5.63, 5.63, 5.82, 6.55, 6.82, 6.82, 8.95, 8.95, 8.95, 8.95])
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        loss: Literal["squared", "absolute", "huber"] | Loss = "squared",
        n_estimators: Count = 50,
        learning_rate: NonNegative = 1.0,
        tol: NonNegative = 1e-9,
        random_state: Seed = None,
    ) -> None:
        self.estimator = estimator
        self.loss = loss
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.tol = tol
        self.random_state = random_state

    def _default_estimator(self) -> Any:
        return DecisionTreeRegressor(max_depth=1)

    def _fit(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        self.estimator_, loss = self._base(), self._loss_for(y)
        if sample_weight is not None and not takes_weights(self.estimator_):
            raise ValueError(
                f"{type(self).__name__}: the members ({type(self.estimator_).__name__}) take no sample_weight."
            )
        weight = np.ones(len(y)) if sample_weight is None else sample_weight.astype(np.float64)
        random, f = generator(self.random_state), np.zeros(len(y))
        members: list[Any] = []
        coefficients: list[float] = []
        before = total_loss(loss, y, f, weight)
        for step in self.steps(self.n_estimators, name="round", unpack=self._state):
            r = -np.asarray(loss.gradient(y, f))
            extra = {} if sample_weight is None else {"sample_weight": weight}
            member = self._member(random).fit(X, r, **extra)
            b = np.asarray(member.predict(X), dtype=np.float64)
            beta = self.learning_rate * best_coefficient(loss, y, f, b, weight)
            f = f + beta * b
            after = total_loss(loss, y, f, weight)
            members.append(member)
            coefficients.append(beta)
            step.report((len(members), members, coefficients), loss=after / weight.sum())
            if before - after <= self.tol * abs(before):
                break  # the members have nothing more to say
            before = after
        self.__dict__.update(self._state((len(members), members, coefficients)))

    def _loss_for(self, y: np.ndarray) -> Any:
        """The loss, which must suit the targets."""
        if not np.isfinite(y).all():
            raise ValueError(f"{type(self).__name__}: y contains NaN or infinity.")
        chosen = named_loss(self.loss) if isinstance(self.loss, str) else self.loss
        if hasattr(chosen, "check"):
            chosen.check(y)
        return chosen

    def _state(self, state: tuple[int, list[Any], list[float]]) -> dict[str, Any]:
        """The fitted attributes after so many rounds."""
        count, members, coefficients = state
        return {"estimators_": members[:count], "coefficients_": np.array(coefficients[:count])}

    fitted_shapes = {
        "estimators_": Each(Having({}, ("predict",)), "members"),
        "coefficients_": "members",
    }

    def _check_fitted(self, sizes: Sizes) -> None:
        if "estimators_" in vars(self):
            check_member_widths(type(self).__name__, self.estimators_, sizes.get("features"))

    def predict(self, X: Any) -> np.ndarray:
        """f(x), the sum of the members with their coefficients.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        array of shape (n_samples,)
        """
        *_, last = self.staged_predict(X)
        return last

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """`predict` after the first round, after the second, and so on.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            The rows.

        Yields
        ------
        array of shape (n_samples,)
        """
        check_is_fitted(self)
        X = self._check(X, reset=False)
        f = np.zeros(X.shape[0])
        for member, beta in zip(self.estimators_, self.coefficients_):
            with np.errstate(over="ignore", invalid="ignore"):
                f = f + beta * np.asarray(member.predict(X))
            yield finite_predictions(f, type(self).__name__)
