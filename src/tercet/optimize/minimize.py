"""Minimise a function by any of the methods."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from scipy.optimize import OptimizeResult

from tercet.core.steps import Steps
from tercet.optimize.descent import SHARED_OPTIONS, descend, run_method
from tercet.optimize.global_search import genetic_algorithm, noisy_descent, simulated_annealing
from tercet.optimize.gradient_descent import gradient_descent
from tercet.optimize.lbfgs import lbfgs
from tercet.optimize.newton import newton, newton_cg
from tercet.optimize.owlqn import owlqn
from tercet.optimize.proximal_gradient import fista, ista
from tercet.optimize.quasi_newton import bfgs, broyden, dfp
from tercet.optimize.stochastic_gradient import stochastic_gradient
from tercet.optimize.update_rules import RULES

# Each method is a function (objective, x0, *, tol, max_iter, steps, **options) -> OptimizeResult.
METHODS: dict[str, Callable[..., OptimizeResult]] = {
    "gd": gradient_descent,
    "newton": newton,
    "newton-cg": newton_cg,
    "dfp": dfp,
    "bfgs": bfgs,
    "broyden": broyden,
    "lbfgs": lbfgs,
    "owlqn": owlqn,
    "ista": ista,
    "fista": fista,
    **{rule: functools.partial(stochastic_gradient, rule=rule) for rule in RULES},
    "annealing": simulated_annealing,
    "noisy-gd": noisy_descent,
    "genetic": genetic_algorithm,
}


def minimize(
    fun: Any,
    x0: Any,
    *,
    method: str = "lbfgs",
    jac: Any = None,
    hess: Any = None,
    hessp: Any = None,
    tol: float = 1e-6,
    max_iter: int = 1000,
    line_search: Any = None,
    steps: Callable[..., Steps] | None = None,
    callback: Callable[[Steps], Any] | None = None,
    keep: bool = False,
    **options: Any,
) -> OptimizeResult:
    """Minimise a function of several variables.

    Parameters
    ----------
    fun : callable or Objective
        f(x), or (f(x), gradient) with `jac=True`, or an object with `value`, `gradient` and
        `value_and_gradient` (and `hessian`, `hessian_product` where it has them).
    x0 : array of shape (n,)
        The start.
    method : str, default="lbfgs"
        A key of `METHODS`: "gd", "newton", "newton-cg", "dfp", "bfgs", "broyden", "lbfgs", "owlqn" ...
    jac, hess, hessp : callable, optional
        The gradient, the Hessian, and the product of the Hessian at x with v as a function of (x, v). Missing
        derivatives that a method needs are approximated by central differences.
    tol : float, default=1e-6
        Tolerance of the stopping criteria.
    max_iter : int, default=1000
        Maximum number of passes.
    line_search : {"exact", "exact-global", "wolfe", "weak-wolfe", "armijo"}, float or callable, optional
        Line search, for the methods that have one; a number is a fixed step.
    steps : callable, optional
        Makes the loop: the `steps` of an estimator, so that its callbacks see the passes.
    callback : callable, optional
        Called with the step after every pass (`step.index`, `step.state`, the new x, and `step.measures`); a
        true return value ends the loop.
    keep : bool, default=False
        Whether the result has the `trajectory`: x0 and the x of every pass.
    **options
        Further options of the method. Those with a line search have `stop`, any of "gradient" (default),
        "value" and "step", and `norm`, inf or 2.

    Returns
    -------
    OptimizeResult
        With `x`, `fun`, `jac`, `nit`, `nfev`, `njev`, `status`, `success`, `message`, the `criterion` that
        was met, and `history`, a dict of columns.

    Examples
    --------
    >>> found = minimize(lambda x: float((x[0] - 1) ** 2 + 4 * x[1] ** 2), [0.0, 2.0], method="bfgs")
    >>> found.x.round(4) + 0.0, found.message
    (array([1., 0.]), 'Converged: the gradient is smaller than tol.')
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(map(repr, METHODS))}; got {method!r}.")
    if line_search is not None:
        options["line_search"] = line_search
    check_options(method, options)
    return run_method(
        METHODS[method], fun, x0, jac=jac, hess=hess, hessp=hessp, steps=steps, callback=callback, keep=keep,
        tol=tol, max_iter=max_iter, **options,
    )  # fmt: skip


def check_options(method: str, options: dict[str, Any]) -> None:
    """Raise on an option of neither the method nor the function it passes its keywords to."""
    functions: list[Any] = [METHODS[method]]
    if "options" in inspect.signature(METHODS[method]).parameters:
        functions += [broyden] if method in ("dfp", "bfgs") else []
        functions += [RULES.get(method, descend)]
    names = {name for function in functions for name in inspect.signature(function).parameters}
    names -= {
        "objective",
        "x0",
        "options",
        "rule",
        "method",
        *(["alpha"] if method in ("dfp", "bfgs") else []),
    }
    allowed = ", ".join(sorted(names - {"tol", "max_iter", *SHARED_OPTIONS}))
    for name in options.keys() - names:
        raise ValueError(f"minimize: method={method!r} has no option {name!r}; its options are {allowed}.")
