"""AdaBoost.R2 (AdaBoost 回归): boosting for numbers, with the weighted median of the members for an answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from sklearn.metrics import r2_score

from tercet.core.catalog import method
from tercet.core.estimator import Regressor, check_is_fitted, generator
from tercet.core.fitted_checks import Sizes
from tercet.core.meta import rows_at
from tercet.core.parallel import each
from tercet.core.parameters import Count, Jobs, Positive, Seed
from tercet.ensemble.base import BOOSTED_SHAPES, BaseEnsemble, as_tree_input, takes_weights
from tercet.ensemble.member_checks import check_member_widths
from tercet.tree import DecisionTreeRegressor


@method(
    zh="AdaBoost 回归",
    task="regression",
    model="the weighted median of the members' predictions",
    strategy="linear, square or exponential loss of the residuals, relative to the largest",
    algorithms="members on rows drawn by weights that grow with the loss (AdaBoost.R2)",
    texts=["Li ch. 8", "watermelon notes ch. 6"],
    peers=["sklearn.ensemble.AdaBoostRegressor"],
)
class AdaBoostRegressor(BaseEnsemble, Regressor):
    """AdaBoost.R2: regressors that are fitted one after the other, each on rows that were hard so far.

    Round m fits a member to rows drawn by the weights D, takes the loss L_i in [0, 1] of each row (its residual
    over the largest one), e = sum D_i L_i and beta = e / (1 - e), and multiplies the weights by beta^(1 - L_i).
    `history_` has e and the member's weight alpha = learning_rate ln(1 / beta) of every round, and with `record` D.

    Parameters
    ----------
    estimator : regressor, optional
        The members; by default `DecisionTreeRegressor(max_depth=3)`.
    n_estimators : int, default=50
        The most members.
    learning_rate : float, default=1.0
        Shrinks the weight of every member.
    loss : {"linear", "square", "exponential"}, default="linear"
        L = r, r² or 1 - exp(-r), with r the residual over the largest one.
    random_state : int, optional
        Decides the draws, and the seeds of the members.
    sampling : {"resample", "weight"}, default="resample"
        Whether members get rows drawn by the weights, or the weights.
    record : bool, default=False
        Keep the weights of the rows in each round, which sum to 1, in `history_["D"]`.
    n_jobs : int, optional
        Threads for predictions. The model does not depend on it.

    Attributes
    ----------
    estimators_ : list of regressors
        The members.
    estimator_weights_, estimator_errors_ : arrays of shape (n_members,)
        ln(1 / beta), and e.
    estimator_ : regressor
        What the members are clones of.
    feature_importances_ : array of shape (n_features,)
        Those of the members, weighted by theirs.

    Examples
    --------
    >>> X, y = np.arange(10.0)[:, None], np.arange(10.0) ** 2
    >>> AdaBoostRegressor(n_estimators=20, random_state=0).fit(X, y).score(X, y) > 0.95
    True
    """

    relative_weights = True

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: Count = 50,
        learning_rate: Positive = 1.0,
        loss: Literal["linear", "square", "exponential"] = "linear",
        random_state: Seed = None,
        sampling: Literal["resample", "weight"] = "resample",
        record: bool = False,
        n_jobs: Jobs = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.loss = loss
        self.random_state = random_state
        self.sampling = sampling
        self.record = record
        self.n_jobs = n_jobs

    def _default_estimator(self) -> Any:
        return DecisionTreeRegressor(max_depth=3)

    def _fit(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        self.estimator_ = self._base()
        if self.sampling == "weight" and not takes_weights(self.estimator_):
            raise ValueError(
                f"{type(self).__name__}: the members ({type(self.estimator_).__name__}) take no sample_weight; "
                "give others, or sampling='resample'."
            )
        X, random = as_tree_input(self.estimator_, X), generator(self.random_state)
        D = np.ones(len(y)) if sample_weight is None else sample_weight.astype(np.float64)
        D = D / D.sum()
        self.estimators_, errors, weights = [], [], []
        for step in self.steps(self.n_estimators, name="round", unpack=self._state):
            member = self._fitted_member(X, y, D, random)
            loss = relative_loss(np.abs(member.predict(X) - y), D, self.loss)
            error = float(D @ loss)
            if error >= 0.5 and self.estimators_:
                break
            self.estimators_.append(member)
            errors.append(error)
            beta = error / (1.0 - error) if 0.0 < error < 0.5 else 1.0
            weights.append(-self.learning_rate * np.log(beta) if beta < 1.0 else float(error <= 0.0))
            trace = {"D": D} if self.record else {}
            step.report((len(errors), errors, weights), error=error, alpha=weights[-1], **trace)
            if beta == 1.0:
                break  # without errors, or the first of all with too many
            # from the largest factor, so that not all of them vanish at a large learning_rate
            D = D * beta ** ((loss[D > 0].max() - np.minimum(loss, loss[D > 0].max())) * self.learning_rate)
            D = D / D.sum()
        self.__dict__.update(self._state((len(errors), errors, weights)))

    def _state(self, state: tuple[int, list[float], list[float]]) -> dict[str, Any]:
        """The fitted attributes after so many rounds."""
        count, errors, weights = state
        return {
            "estimators_": self.estimators_[:count],
            "estimator_errors_": np.array(errors[:count]),
            "estimator_weights_": np.array(weights[:count]),
        }

    fitted_shapes = BOOSTED_SHAPES

    def _check_fitted(self, sizes: Sizes) -> None:
        if "estimators_" in vars(self):
            check_member_widths(type(self).__name__, self.estimators_, sizes.get("features"))

    def _fitted_member(self, X: Any, y: np.ndarray, D: np.ndarray, random: np.random.Generator) -> Any:
        member = self._member(random)
        if self.sampling == "weight":
            member.fit(X, y, sample_weight=D)
        else:
            drawn = random.choice(len(y), len(y), p=D)
            member.fit(rows_at(X, drawn), y[drawn])
        return member

    def _member_predictions(self, X: Any) -> np.ndarray:
        """The predictions of all members, of shape (n, n_members)."""
        check_is_fitted(self)
        X = as_tree_input(self.estimators_[0], self._check(X, reset=False), reset=False)
        return np.column_stack(each(lambda member: member.predict(X), self.estimators_, n_jobs=self.n_jobs))

    def predict(self, X: Any) -> np.ndarray:
        """The weighted median of the members' predictions.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        array of shape (n_samples,)
        """
        return weighted_median(self._member_predictions(X), self.estimator_weights_)

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """`predict` after the first member, after the second, and so on.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            The rows.

        Yields
        ------
        array of shape (n_samples,)
        """
        predictions = self._member_predictions(X)
        for m in range(1, predictions.shape[1] + 1):
            yield weighted_median(predictions[:, :m], self.estimator_weights_[:m])

    def staged_score(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """R² after the first member, after the second, and so on.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            The rows.
        y : array of shape (n_samples,)
            Their targets.
        sample_weight : array of shape (n_samples,), optional
            How much each row counts.

        Yields
        ------
        float
        """
        for predicted in self.staged_predict(X):
            yield r2_score(y, predicted, sample_weight=sample_weight)

    @property
    def feature_importances_(self) -> np.ndarray:
        """The importances of the members, averaged with their weights."""
        return self._mean_importances(self.estimator_weights_)


def relative_loss(residual: np.ndarray, D: np.ndarray, loss: str) -> np.ndarray:
    """The loss of each row in [0, 1]: its residual over the largest residual, squared, or 1 - exp(-r)."""
    largest = residual[D > 0].max(initial=0.0)
    relative = np.minimum(residual / largest, 1.0) if largest > 0 else np.zeros_like(residual)
    if loss == "square":
        return relative**2
    return 1.0 - np.exp(-relative) if loss == "exponential" else relative


def weighted_median(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """For each row the least value with at least half of the weight at or below it.

    Examples
    --------
    >>> weighted_median(np.array([[1.0, 5.0, 3.0]]), np.array([1.0, 1.0, 1.0]))
    array([3.])
    """
    order = np.argsort(values, axis=1, kind="stable")
    below = np.cumsum(weights[order], axis=1)
    middle = (below >= 0.5 * below[:, -1:]).argmax(axis=1)
    rows = np.arange(len(values))
    return values[rows, order[rows, middle]]
