"""L-BFGS with a pass of an estimator's loop for each iteration."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from tercet.core.parallel import one_blas_thread
from tercet.core.steps import Steps

Objective = Callable[[np.ndarray], tuple[float, np.ndarray]]


class LBFGSPasses:
    """scipy's L-BFGS-B, whose iterations are the passes of a loop; several runs may share one loop.

    Parameters
    ----------
    loop : Steps
        The passes; each reports x and the value.
    measure : str, default="loss"
        The name of the value in reports.
    sign : float, default=1.0
        What the value is multiplied by in reports: -1 where the objective is a maximum.
    tell : callable, optional
        Called with x and the number of the pass after each.
    """

    def __init__(
        self,
        loop: Steps,
        measure: str = "loss",
        sign: float = 1.0,
        tell: Callable[[np.ndarray, int], Any] | None = None,
    ) -> None:
        self.loop, self.measure, self.sign, self.tell = loop, measure, sign, tell
        self._passes = iter(loop)

    @property
    def left(self) -> int:
        """How many passes may still be made; none when a callback has asked to stop."""
        return 0 if self.loop.stopped else self.loop.limit - self.loop.count

    def run(
        self, fun: Objective, x0: np.ndarray, *, tol: float, limit: int | None = None, bounds: Any = None
    ) -> OptimizeResult:
        """Minimise `fun`, which gives value and gradient, from x0, with at most `limit` passes."""
        before = self.loop.count
        most = self.left if limit is None else min(limit, self.left)
        options = {"maxiter": most, "maxfun": 50 * most}
        with one_blas_thread():  # threads are those of the objective
            found = minimize(
                fun,
                x0,
                jac=True,
                method="L-BFGS-B",
                tol=tol,
                bounds=bounds,
                options=options,
                callback=self._after,
            )
        if self.loop.count == before and self.left:  # the start is a stationary point, or no step helps
            with contextlib.suppress(StopIteration):
                self._after(found)
        return found

    def _after(self, intermediate_result: OptimizeResult) -> None:
        step = next(self._passes, None)
        if step is None:
            raise StopIteration
        x = np.array(intermediate_result.x)
        if self.tell is not None:
            self.tell(x, step.count)
        step.report(x, **{self.measure: self.sign * float(intermediate_result.fun)})
        if step.stopped:
            raise StopIteration

    def finish(self, converged: bool, *, warn: bool = True) -> None:
        """End the loop: tell whether the stopping rule is met, and warn where it is not."""
        if not (converged or warn):
            return
        self.loop.converged(converged)
        if not converged and not self.loop.stopped:
            self.loop.warn(f"did not converge in {self.loop.count} passes")
