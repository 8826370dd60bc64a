"""The loss that a boosting estimator's parameter `loss` asks for."""

from __future__ import annotations

from typing import Any

from tercet.ensemble.boosting.boosting_losses import (
    AbsoluteLoss,
    BinomialLoss,
    BoostingLoss,
    ExponentialBoosting,
    GammaBoosting,
    HuberBoosting,
    MultinomialBoosting,
    PoissonBoosting,
    QuantileLoss,
)
from tercet.ensemble.boosting.given_losses import GivenDerivatives, GivenLoss, GivenMargin


def regression_loss(name: Any, alpha: float) -> BoostingLoss:
    """The loss of a regressor, by name or as an object."""
    if isinstance(name, str):
        made: dict[str, Any] = {
            "squared_error": BoostingLoss,
            "absolute_error": AbsoluteLoss,
            "huber": lambda: HuberBoosting(alpha),
            "quantile": lambda: QuantileLoss(alpha),
            "poisson": PoissonBoosting,
            "gamma": GammaBoosting,
        }
        return made[name]()
    return GivenLoss(name) if hasattr(name, "gradient") else GivenDerivatives(name)


def classification_loss(name: Any, n_classes: int) -> Any:
    """The loss of a classifier, by name, as an object, or as a function of gradients and hessians."""
    if not isinstance(name, str):
        return given_class_loss(name, n_classes)
    if name == "exponential":
        if n_classes > 2:
            raise ValueError(
                f"loss='exponential' is only suitable for a binary classification problem, you have n_classes="
                f"{n_classes}. Please use loss='log_loss' instead."
            )
        return ExponentialBoosting()
    return BinomialLoss() if n_classes == 2 else MultinomialBoosting(n_classes)


def given_class_loss(given: Any, n_classes: int) -> Any:
    """A user's loss of a classifier."""
    if not hasattr(given, "gradient"):
        return GivenDerivatives(given, n_classes)
    if n_classes > 2 or not getattr(given, "margin", False):
        raise ValueError(
            f"loss={given!r} must be a loss of the margin y F of two classes, such as tercet.losses.Logistic(); y "
            f"has {n_classes} classes. A function that returns gradients and hessians takes any number of them."
        )
    return GivenMargin(given)
