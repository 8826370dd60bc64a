"""Stochastic gradient descent (随机梯度下降) and its kin: momentum, AdaGrad, RMSProp, Adam.

They differ in the update rule alone (`update_rules`), and each is a method of `minimize`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import OptimizeResult

from tercet.core.catalog import method
from tercet.core.estimator import generator
from tercet.core.steps import Steps
from tercet.optimize.descent import Stop, alone, check_start, outcome, start_of
from tercet.optimize.minimize import METHODS
from tercet.optimize.objective import counted
from tercet.optimize.update_rules import RULES, SGD

__all__ = ["ewma", "ewma_weights", "stochastic_gradient"]


@method(
    zh="随机梯度下降",
    task="optimisation",
    model="theta",
    strategy="any function that is a mean over samples",
    algorithms={
        "sgd": "along the gradient of a batch",
        "momentum": "along an average of past gradients",
        "nesterov": "the same, looking ahead",
        "adagrad": "scaled by the sum of squared gradients",
        "rmsprop": "scaled by their average",
        "adam": "momentum and scaling together",
    },
    texts=["000 ch. 29, sec. 29.2, eq. 29.1-29.12", "001 ch. 2, sec. 2.1"],
    peers=["torch.optim"],
)
def stochastic_gradient(
    objective: Any,
    x0: Any,
    *,
    rule: str | SGD = "sgd",
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
    """Minimise a function by many small steps, each along the gradient of a few samples.

    Parameters
    ----------
    objective : callable or Objective
        The whole function, as `minimize` takes it; looked at once a pass.
    x0 : array-like
        Where to begin.
    rule : {"sgd", "momentum", "nesterov", "adagrad", "rmsprop", "adam"} or update rule
        What to make of a gradient; the parameters of a named rule are further keywords.
    batch_gradient : callable, optional
        Gradient at x from some samples, as a function of (x, indices). Without it a pass is one step along the
        gradient of the whole function.
    n_samples, batch_size : int
        How many samples there are, and how many make one step; 1 is the texts' SGD, more is MBGD.
    shuffle, random_state
        Whether each pass visits the samples in a new order, and what decides it.
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
    if isinstance(rule, str):
        if rule not in RULES:
            raise ValueError(
                f"rule must be an update rule or one of {', '.join(map(repr, RULES))}; got {rule!r}."
            )
        rule = RULES[rule](**options)
    elif options:
        raise ValueError(f"rule has its parameters already; got also {', '.join(options)}.")
    if batch_gradient is not None and not (n_samples and n_samples >= 1 and batch_size >= 1):
        raise ValueError(
            f"n_samples and batch_size must be at least 1; got {n_samples!r} and {batch_size!r}."
        )
    objective, rules, rng = counted(objective), Stop(tol, stop, norm), generator(random_state)
    x = start_of(x0)
    f, g = objective.value_and_gradient(x)
    check_start(f, g)
    loop = (steps or alone)(max_iter)
    reason, size = None, rules.size(g)
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
        size = rules.size(g)
        step.report(x, fun=f, grad_norm=size)
        if not (math.isfinite(f) and math.isfinite(size)):
            reason = "diverged"
            break
        reason = rules.met(size, abs(f - f_before), rules.size(x - before))
        if step.converged(reason is not None):
            break
    return outcome(loop, reason, objective, x=x, fun=f, jac=g, grad_norm=size, nit=loop.count, rule=rule)


for _name in RULES:
    METHODS[_name] = functools.partial(stochastic_gradient, rule=_name)


@method(
    zh="指数加权移动平均",
    task="optimisation",
    model="v_t = (1 - beta) sum of beta^(t - i) g_i",
    texts=["000 ch. 29, sec. 29.2, eq. 29.4, 29.7"],
    peers=["pandas.DataFrame.ewm"],
)
def ewma(values: ArrayLike, beta: float, *, bias_correction: bool = False) -> np.ndarray:
    """Exponentially weighted moving average: v_t = beta v_(t-1) + (1 - beta) g_t from v_0 = 0.

    Parameters
    ----------
    values : array-like of shape (n,) or (n, ...)
        g_1, g_2, ...
    beta : float
        In [0, 1): how much of the past is kept.
    bias_correction : bool, default=False
        Divide by 1 - beta^t, so that the weights sum to one.

    Returns
    -------
    averages : array of the shape of `values`

    Examples
    --------
    >>> ewma([1.0, 1.0, 1.0], 0.5), ewma([1.0, 1.0, 1.0], 0.5, bias_correction=True)
    (array([0.5  , 0.75 , 0.875]), array([1., 1., 1.]))
    """
    from scipy.signal import lfilter  # slow to import, and needed here only

    values = np.asarray(values, dtype=float)
    _check_beta(beta)
    averages = lfilter([1.0 - beta], [1.0, -beta], values, axis=0)
    if bias_correction:
        sums = 1.0 - beta ** np.arange(1, len(values) + 1)
        averages /= sums.reshape(-1, *[1] * (values.ndim - 1))
    return averages


def ewma_weights(n: int, beta: float) -> np.ndarray:
    """Weights (1 - beta) beta^(n - i) of the n values in their last average, first to last (000 eq. 29.4).

    Examples
    --------
    >>> ewma_weights(3, 0.5)
    array([0.125, 0.25 , 0.5  ])
    """
    _check_beta(beta)
    return (1.0 - beta) * beta ** np.arange(n - 1.0, -1.0, -1.0)


def _check_beta(beta: float) -> None:
    if not 0 <= beta < 1:
        raise ValueError(f"beta must be in [0, 1); got {beta!r}.")
