"""Negative correlation learning (负相关学习; watermelon notes ch. 6): members trained to differ from each other.

With members f_i and their mean F, all are trained at once on

    sum over i of 1/2 (f_i - y)² - penalty/2 (f_i - F)²

By the error-ambiguity decomposition this is the mean of the members' errors for penalty = 0, and the error of the
ensemble for penalty = 1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tercet.core.catalog import method
from tercet.core.estimator import Regressor, check_is_fitted, generator
from tercet.core.fitted_checks import Floats, Sizes
from tercet.core.parameters import Count, Fraction, NonNegative, Positive, Seed
from tercet.core.scaling import LARGE
from tercet.optimize import Adam


class Members(NamedTuple):
    """Weights of m networks with one hidden layer of h units: (d, m h), (m h), (m, h) and (m)."""

    W: np.ndarray
    b: np.ndarray
    v: np.ndarray
    c: np.ndarray


@method(
    zh="负相关学习",
    task="regression",
    model="the mean of small neural networks",
    strategy="squared error, less a share of the networks' spread around their mean",
    algorithms="all networks at once by gradient steps (Adam)",
    texts=["watermelon notes ch. 6"],
)
class NegativeCorrelationRegressor(Regressor):
    """Ensemble of small neural networks, trained together with a penalty on the correlation of their errors.

    A network has one hidden layer of tanh units. The term -penalty (f_i - F)² rewards networks that differ from the
    mean F: from 0, where each learns for itself, to 1, where only the error of the mean counts.

    Parameters
    ----------
    n_estimators : int, default=8
        The number of networks.
    penalty : float, default=0.5
        How much of the spread is taken off the error, from 0 to 1.
    hidden_units : int, default=8
        The units of the hidden layer of a network.
    alpha : float, default=1e-4
        The L2 penalty of the weights.
    learning_rate : float, default=0.02
        The step size of Adam.
    max_iter : int, default=1000
        The most steps, each with all rows.
    tol : float, default=0.01
        Stop when the error has fallen by no more than this share in 10 steps.
    random_state : int, optional
        Decides the first weights, which are different for each network.

    Attributes
    ----------
    hidden_weights_, hidden_offsets_ : arrays of shape (n_features, n_units) and (n_units,)
        The weights and offsets of the hidden units of all networks, one network after the other.
    output_weights_, output_offsets_ : arrays of shape (n_estimators, hidden_units) and (n_estimators,)
        Those of the outputs.
    n_iter_ : int
        The steps made.

    Examples
    --------
    >>> X = np.linspace(-1, 1, 40)[:, None]
    >>> model = NegativeCorrelationRegressor(random_state=0).fit(X, np.sin(3 * X[:, 0]))
    >>> bool(model.score(X, np.sin(3 * X[:, 0])) > 0.95)
    True
    """

    sparse_input = False
    largest_value = LARGE
    largest_target = LARGE
    batch_rounding = 1e-12

    def __init__(
        self,
        n_estimators: Count = 8,
        *,
        penalty: Fraction = 0.5,
        hidden_units: Count = 8,
        alpha: NonNegative = 1e-4,
        learning_rate: Positive = 0.02,
        max_iter: Count = 1000,
        tol: NonNegative = 0.01,
        random_state: Seed = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.penalty = penalty
        self.hidden_units = hidden_units
        self.alpha = alpha
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _fit(self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        weight = (
            np.full(len(y), 1.0 / len(y)) if sample_weight is None else sample_weight / sample_weight.sum()
        )
        self._centre, self._scale = weighted_moments(np.asarray(X, dtype=np.float64), weight)
        centre, scale = weighted_moments(y[:, None], weight)
        self._target_centre, self._target_scale = float(centre[0]), float(scale[0])
        Z, t = (X - self._centre) / self._scale, (y - self._target_centre) / self._target_scale
        d, m, h = Z.shape[1], self.n_estimators, self.hidden_units
        random = generator(self.random_state)
        members = Members(
            random.normal(size=(d, m * h)) / np.sqrt(d), random.normal(size=m * h),
            random.normal(size=(m, h)) / np.sqrt(h), np.zeros(m),
        )  # fmt: skip
        rules, recent = [Adam(self.learning_rate) for _ in members], [np.inf] * 10
        for step in self.steps(self.max_iter, unpack=self._state):
            error, gradients = self._error_and_gradients(members, Z, t, weight)
            members = Members(*(rule.step(one, g) for rule, one, g in zip(rules, members, gradients)))
            step.report(members, loss=error)
            if step.converged(recent[0] - error <= self.tol * max(error, self.tol)):
                break
            recent = [*recent[1:], error]
        if not np.isfinite(self._error_and_gradients(members, Z, t, weight)[0]):
            raise ValueError(
                f"{type(self).__name__}: the networks diverged at learning_rate={self.learning_rate!r}; lower it."
            )
        self.__dict__.update(self._state(members))

    def _state(self, members: Members) -> dict[str, Any]:
        """The fitted attributes."""
        names = ("hidden_weights_", "hidden_offsets_", "output_weights_", "output_offsets_")
        return dict(zip(names, members))

    def _members(self) -> Members:
        return Members(self.hidden_weights_, self.hidden_offsets_, self.output_weights_, self.output_offsets_)

    def _error_and_gradients(
        self, members: Members, Z: np.ndarray, t: np.ndarray, weight: np.ndarray
    ) -> tuple[float, Members]:
        """The mean error of members and ensemble, and its derivatives in all weights."""
        hidden, f = outputs(members, Z)
        F = f.mean(axis=1, keepdims=True)
        slope = (f - t[:, None]) - self.penalty * (f - F)  # exact: the deviations from the mean add up to 0
        slope *= weight[:, None]
        error = 0.5 * float(weight @ ((f - t[:, None]) ** 2 - self.penalty * (f - F) ** 2).mean(axis=1))
        back = slope[:, :, None] * members.v * (1.0 - hidden**2)  # (n, m, h)
        back = back.reshape(len(t), -1)
        gradients = Members(
            Z.T @ back + self.alpha * members.W,
            back.sum(axis=0),
            np.einsum("im,imh->mh", slope, hidden) + self.alpha * members.v,
            slope.sum(axis=0),
        )
        return error, gradients

    fitted_shapes = {
        "hidden_weights_": Floats("features units"),
        "_target_centre": Floats("", finite=True),
        "_target_scale": Floats("", finite=True),
        "hidden_offsets_": Floats("units"),
        "output_weights_": Floats("networks hidden"),
        "output_offsets_": Floats("networks"),
        "_centre": Floats("features"),
        "_scale": Floats("features"),
    }

    def _check_fitted(self, sizes: Sizes) -> None:
        if "output_weights_" in vars(self) and sizes["units"] != sizes["networks"] * sizes["hidden"]:
            raise ValueError(
                f"{type(self).__name__}: hidden_weights_ has {sizes['units']} units; {sizes['networks']} networks "
                f"of {sizes['hidden']} have {sizes['networks'] * sizes['hidden']}."
            )

    def member_predictions(self, X: Any) -> np.ndarray:
        """What each network predicts.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        array of shape (n_samples, n_estimators)
        """
        check_is_fitted(self)
        Z = (self._check(X, reset=False) - self._centre) / self._scale
        return self._target_centre + self._target_scale * outputs(self._members(), Z)[1]

    def predict(self, X: Any) -> np.ndarray:
        """The mean of the networks.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        array of shape (n_samples,)
        """
        return self.member_predictions(X).mean(axis=1)


def outputs(members: Members, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Hidden units (n, m, h) and outputs (n, m) of all networks."""
    m, h = members.v.shape
    hidden = np.tanh(Z @ members.W + members.b).reshape(-1, m, h)
    return hidden, np.einsum("imh,mh->im", hidden, members.v) + members.c


def weighted_moments(X: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means and standard deviations of columns, 1 for one that is constant; the weights add up to 1."""
    mean = weight @ X
    spread = np.sqrt(weight @ (X - mean) ** 2)
    return mean, np.where(spread > 1e-12 * np.abs(mean), np.where(spread > 0, spread, 1.0), 1.0)
