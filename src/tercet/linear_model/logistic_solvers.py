"""Which solver minimises what, for logistic regression."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from tercet.core.estimator import generator
from tercet.core.parallel import one_blas_thread
from tercet.core.steps import Steps
from tercet.linear_model.logistic_newton import newton, preconditioned_lbfgs
from tercet.linear_model.logistic_objective import LogisticObjective
from tercet.linear_model.logistic_proximal import proximal_newton
from tercet.linear_model.logistic_sgd import stochastic_descent
from tercet.optimize import logistic_iis, minimize

Solver = Literal[
    "lbfgs", "newton-cholesky", "newton-cg", "auto", "saga", "sag", "liblinear",
    "newton", "gd", "sgd", "dfp", "bfgs", "broyden", "iis",
]  # fmt: skip
WITH_L1 = ("auto", "saga", "liblinear")
LOG_ONLY = ("auto", "saga", "sag", "liblinear", "sgd", "iis")


def check_options(model: Any, n_classes: int) -> None:
    """Refuse combinations of a model's parameters that do not exist."""
    name, solver = type(model).__name__, model.solver
    if has_l1(model) and solver not in WITH_L1:
        raise ValueError(
            f"{name}: solver={solver!r} has no L1 penalty; l1_ratio must be 0, got {model.l1_ratio!r}, "
            f"or solver one of {', '.join(map(repr, WITH_L1))}."
        )
    if model.dual and (solver != "liblinear" or model.l1_ratio > 0):
        raise ValueError(
            f"{name}: dual=True needs solver='liblinear' and l1_ratio=0; got solver={solver!r}, "
            f"l1_ratio={model.l1_ratio!r}."
        )
    if solver == "liblinear" and n_classes > 2:
        raise ValueError(
            f"{name}: Only binary classification is supported by solver='liblinear'; got {n_classes} classes. "
            "Use another solver, or OneVsRestClassifier."
        )
    if model.reference == "last" and solver == "iis" and n_classes > 2:
        raise ValueError(f"{name}: solver='iis' has weights for all classes; reference must be None.")
    if model.loss == "squared" and (n_classes > 2 or solver in LOG_ONLY):
        raise ValueError(
            f"{name}: loss='squared' is for two classes, and for no solver of {', '.join(map(repr, LOG_ONLY))}; "
            f"got {n_classes} classes, solver={solver!r}."
        )


def solve(
    model: Any, objective: LogisticObjective, theta: np.ndarray, steps: Callable[..., Steps]
) -> np.ndarray:
    """The parameters that minimise, by the solver that the model asks for."""
    solver: str = model.solver
    limits: dict[str, Any] = {"tol": model.tol, "max_iter": model.max_iter, "steps": steps}
    if solver in ("auto", "saga", "sag", "liblinear"):
        solver = "newton-cholesky" if objective.size <= 500 else "newton-cg"
        if has_l1(model):
            solver = "proximal"
    with one_blas_thread():  # their threads would be in the way of ours
        if solver == "lbfgs":
            return preconditioned_lbfgs(objective, theta, **limits)
        if solver in ("newton", "newton-cholesky"):
            return newton(objective, theta, thrifty=solver == "newton-cholesky", **limits)
        if solver == "proximal":
            return proximal_newton(objective, theta, l1_of(model, objective), **limits)
        if solver == "sgd":
            options = {"rng": generator(model.random_state), "rate": model.eta, "shuffle": model.shuffle}
            theta, model.t_ = stochastic_descent(
                objective, theta, batch=model.batch_size, **options, **limits
            )
            return theta
        if solver == "iis":
            return scale(objective, theta, **limits)
        if solver == "gd" and model.eta is not None:
            limits["line_search"] = model.eta * objective.mass  # the text's step is for the sum, not the mean
        return minimize(objective, theta, method=solver, **limits).x


def has_l1(model: Any) -> bool:
    return model.l1_ratio > 0 and not np.isinf(model.C)


def l1_of(model: Any, objective: LogisticObjective) -> np.ndarray:
    """The weights of the L1 penalty, one for each parameter."""
    table = np.full(objective.shape, model.l1_ratio / (model.C * objective.mass))
    if objective.intercept:
        table[-1] *= 1 / model.intercept_scaling if model.solver == "liblinear" else 0
    return table.ravel()


def scale(
    objective: LogisticObjective, theta: np.ndarray, *, steps: Callable[..., Steps], **limits: Any
) -> np.ndarray:
    """Improved iterative scaling (000 ch. 6, Alg 6.1); its weights are in the order of ours."""

    def shown(limit: int, unpack: Any, **options: Any) -> Steps:
        def back(w: np.ndarray) -> np.ndarray:
            model = unpack(w)
            return o.join(model["coef_"].T, model["intercept_"])

        return steps(limit, back=back, **options)

    o = objective
    options: dict[str, Any] = {
        "n_classes": o.n_classes,
        "fit_intercept": o.intercept,
        "l2": o.l2,
        "start": theta,
    }
    *_, found = logistic_iis(o.X, o.y, o.weight, steps=shown, **options, **limits)
    objective.value(found.x)  # so that it knows whether the classes are separated
    return found.x
