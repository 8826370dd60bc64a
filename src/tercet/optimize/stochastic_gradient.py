"""Stochastic gradient descent (随机梯度下降) with momentum, AdaGrad, RMSProp and Adam.

The variants differ in the update rule alone (`update_rules`); each is a method of `minimize`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from scipy.optimize import OptimizeResult

from tercet.core.catalog import method
from tercet.core.estimator import generator
from tercet.core.steps import Steps
from tercet.optimize.descent import (
    StoppingCriteria,
    check_start,
    initial_point,
    make_result,
    standalone_loop,
    takes_shared_options,
)
from tercet.optimize.objective import as_objective
from tercet.optimize.update_rules import RULES, SGD

__all__ = ["stochastic_gradient"]


@method(
    zh="随机梯度下降",
    task="optimisation",
    model="theta",
    strategy="any function that is a mean over samples",
    algorithms={
        "sgd": "along the gradient of a batch",
        "momentum": "along an average of past gradients",
        "nesterov": "momentum with Nesterov's look-ahead",
        "adagrad": "scaled by the sum of squared gradients",
        "rmsprop": "scaled by their average",
        "adam": "momentum and scaling together",
    },
    texts=[
        "Li ch. 29, sec. 29.2, eq. 29.1-29.12",
        "Machine Learning in Depth ch. 2, sec. 2.1",
        "watermelon notes ch. 3, sec. 3.4",
    ],
    peers=["torch.optim"],
)
@takes_shared_options
def stochastic_gradient(
    objective: Any,
    x0: Any,
    *,
    rule: Literal["sgd", "momentum", "nesterov", "adagrad", "rmsprop", "adam"] | SGD = "sgd",
    batch_gradient: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None,
    n_samples: int | None = None,
    batch_size: int = 1,
    shuffle: bool = True,
    random_state: Any = 0,
    tol: float = 1e-6,
    max_iter: int = 1000,
    stop: Any = "gradient",
    norm: float = math.inf,
    steps: Callable[..., Steps] | None = None,
    **options: Any,
) -> OptimizeResult:
    """Stochastic gradient descent: each step follows the gradient of a batch of samples.

    Parameters
    ----------
    objective : callable or Objective
        The whole function, as in `minimize`; evaluated once per pass.
    x0 : array-like
        The start.
    rule : {"sgd", "momentum", "nesterov", "adagrad", "rmsprop", "adam"} or update rule
        Update rule; the parameters of a named rule are further keywords.
    batch_gradient : callable, optional
        Gradient at x from some samples, as a function of (x, indices). Without it a pass is one step along the
        gradient of the whole function.
    n_samples, batch_size : int
        The number of samples, and of those in a batch; 1 is the texts' SGD, more is MBGD.
    shuffle, random_state
        Whether each pass visits the samples in a new order, and its seed.
    tol, max_iter, stop, norm, steps
        As in `minimize`, by passes.

    Returns
    -------
    result : OptimizeResult

    Examples
    --------
    >>> result = stochastic_gradient(lambda x: float(x @ x), [1.0], rule="momentum", learning_rate=0.1)
    >>> result.success, round(float(result.x[0]), 5)
    (True, 0.0)
    """
    rule = _update_rule(rule, options)
    if batch_gradient is not None and not (n_samples and n_samples >= 1 and batch_size >= 1):
        raise ValueError(
            f"n_samples and batch_size must be at least 1; got {n_samples!r} and {batch_size!r}."
        )
    objective, criteria, rng = (
        as_objective(objective),
        StoppingCriteria(tol, stop, norm),
        generator(random_state),
    )
    x = initial_point(x0)
    f, g = objective.value_and_gradient(x)
    check_start(f, g)
    loop = (steps or standalone_loop)(max_iter)
    reason, grad_norm = None, criteria.norm(g)
    order = np.arange(n_samples or 0)
    for step in loop:
        before, f_before = x, f
        if batch_gradient is None:
            x = rule.step(x, g)
        else:
            if shuffle:
                rng.shuffle(order)
            for begin in range(0, order.size, batch_size):
                x = rule.step(x, batch_gradient(x, order[begin : begin + batch_size]))
        f, g = objective.value_and_gradient(x)
        grad_norm = criteria.norm(g)
        step.report(x, fun=f, grad_norm=grad_norm)
        if not (math.isfinite(f) and math.isfinite(grad_norm)):
            reason = "diverged"
            break
        reason = criteria.met(grad_norm, abs(f - f_before), criteria.norm(x - before))
        if step.converged(reason is not None):
            break
    return make_result(
        loop, reason, objective, x=x, fun=f, jac=g, grad_norm=grad_norm, nit=loop.count, rule=rule
    )


def _update_rule(rule: str | SGD, options: dict[str, Any]) -> SGD:
    """An update rule by its name and parameters, or as it is."""
    if isinstance(rule, str):
        if rule not in RULES:
            raise ValueError(
                f"rule must be an update rule or one of {', '.join(map(repr, RULES))}; got {rule!r}."
            )
        return RULES[rule](**options)
    if options:
        raise ValueError(f"rule has its parameters already; got also {', '.join(options)}.")
    return rule
