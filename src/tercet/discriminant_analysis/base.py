"""Base class of the discriminants: decisions and probabilities from log-posterior scores."""

from __future__ import annotations

import functools
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import expit, log_expit, log_softmax, softmax

from tercet.core.estimator import Classifier
from tercet.core.row_sums import largest_of


class DiscriminantClassifier(Classifier):
    """A classifier whose scores are log-posteriors up to a constant (and the factor `_unit`)."""

    sparse_input = False
    _unit = 1.0

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of shape (n_samples,) for two classes, else (n_samples, n_classes)."""
        raise NotImplementedError

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The data.

        Returns
        -------
        labels : array of shape (n_samples,)
        """
        scores = self.decision_function(X)
        winner = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[winner]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The data.

        Returns
        -------
        proba : array of shape (n_samples, n_classes)
        """
        scores = self.decision_function(X) * self._unit
        if scores.ndim == 1:
            return np.column_stack([expit(-scores), expit(scores)])
        return softmax(scores, axis=1)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of the probabilities of the classes.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The data.

        Returns
        -------
        log_proba : array of shape (n_samples, n_classes)
        """
        scores = self.decision_function(X) * self._unit
        if scores.ndim == 1:
            return np.column_stack([log_expit(-scores), log_expit(scores)])
        return log_softmax(scores, axis=1)


def check_priors(priors: Any, mass: np.ndarray | None, n_classes: int, name: str) -> np.ndarray:
    """Prior probabilities as given, or as the share of each class."""
    if priors is None:
        return np.full(n_classes, 1 / n_classes) if mass is None else mass / mass.sum()
    chosen = np.asarray(priors, dtype=np.float64)
    if chosen.shape != (n_classes,):
        raise ValueError(
            f"{name}: priors must have one number for each of {n_classes} classes; got {priors!r}."
        )
    if (chosen < 0).any():
        raise ValueError(f"{name}: priors must be non-negative; got {priors!r}.")
    if abs(chosen.sum() - 1) > 1e-5:
        warnings.warn(f"{name}: the priors do not sum to 1 and are normalised.", UserWarning, stacklevel=2)
    return chosen / chosen.sum()


def check_covariance_parameters(name: str, solver: str, shrinkage: Any, estimator: Any) -> None:
    """Refuse a shrinkage or a covariance estimator that the solver does not take."""
    if solver == "svd" and shrinkage is not None:
        raise NotImplementedError(f"{name}: shrinkage is not supported with solver='svd'; use 'eigen'.")
    if solver == "svd" and estimator is not None:
        raise ValueError(f"{name}: covariance_estimator is not supported with solver='svd'; use 'eigen'.")
    if shrinkage and estimator is not None:
        raise ValueError(
            f"{name}: covariance_estimator and shrinkage parameters are not None. Only one of the two can be set."
        )


def refuse_streaming(model: Any) -> str:
    """Why the parameters of a model do not allow learning from a source; "" where they do."""
    if model.shrinkage == "auto" or model.covariance_estimator is not None:
        return "shrinkage='auto' and covariance_estimator need all rows at once. Use a fixed shrinkage."
    return ""


def check_squares(X: np.ndarray, name: str, least: float = 1e-140) -> None:
    """Refuse values whose squares, and with them all covariances, are no numbers."""
    size = largest_of(X)
    if size > 1e140 or 0.0 < size < least:
        raise ValueError(
            f"{name}: X has values of size {size:.3g} at most, whose squares are beyond floating point numbers. "
            "Scale the features."
        )


class NoProjection(AttributeError, NotImplementedError):
    """There is no projection with this solver: to `hasattr` no method, to a caller one that is not implemented."""


class OfProjection:
    """A method that only models with a projection have; others do not show it (scikit-learn's `available_if`)."""

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)  # type: ignore[arg-type]
        self.function = function

    def __get__(self, model: Any, owner: Any = None) -> Any:
        if model is None:
            return self.function
        if model.solver == "lsqr":
            raise NoProjection(
                "transform not implemented for 'lsqr' solver (use 'svd', 'eigen' or 'fisher')."
            )
        return types.MethodType(self.function, model)
