"""The EM algorithm (EM 算法): maximum likelihood with latent variables.

A model has two methods: `expect`, the expected sufficient statistics of a chunk of rows under the current
parameters together with the chunk's log-likelihood (E step), and `maximise`, the parameters that maximise the
expected log-likelihood of given statistics (M step). `em` sums the statistics over chunks (`core.parallel.total`),
so that threads and data larger than memory do not concern the model, and checks that the objective never
decreases (Theorem 9.1).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np

from tercet.core.catalog import method as card
from tercet.core.parallel import total
from tercet.core.steps import ConvergenceWarning, Steps, history_table
from tercet.optimize.descent import tolerances
from tercet.optimize.em_variants import Squarem, m_step_of, parameter_vector, q_increase

CRITERIA = ("likelihood", "parameters", "q")


class LatentModel(Protocol):
    """Interface of a model with latent variables for `em`; `theta` may be any object.

    Some variants need more: `expect_best(chunk, theta)`, the statistics of the most probable Z with its
    log P(Y, Z); `q(statistics, theta)`, the Q function; `parts`, a number, and `maximise_part(k, statistics,
    theta)`, which maximises Q over the k-th block of theta alone; `pack(theta)` and `unpack(vector)`, theta as an
    unconstrained vector and back (ValueError for a vector that is not a theta); `gradient(statistics, theta)` of
    Q + log-prior with respect to that vector.

    Examples
    --------
    A coin that is thrown with one of two known biases; theta is the share of throws with the first:

    >>> class TwoCoins:
    ...     heads = np.array([0.9, 0.2])
    ...
    ...     def expect(self, chunk, theta):
    ...         joint = np.array([theta, 1 - theta]) * np.where(chunk[:, None], self.heads, 1 - self.heads)
    ...         total = joint.sum(axis=1)
    ...         return np.log(total).sum(), (joint[:, 0] / total).sum(), len(chunk)
    ...
    ...     def maximise(self, statistics, theta):
    ...         first, n = statistics
    ...         return first / n
    ...
    ...     def log_prior(self, theta):
    ...         return 0.0
    >>> throws = np.arange(100) < 55  # 55 heads: 0.9 theta + 0.2 (1 - theta) = 0.55
    >>> found = em(TwoCoins(), [throws], 0.1, tol=1e-12, max_iter=500)
    >>> round(float(found.theta), 3), found.monotone
    (0.5, True)
    """

    def expect(self, chunk: Any, theta: Any) -> tuple[Any, ...]:
        """(log-likelihood, *expected statistics) of a chunk: numbers and arrays that are summed over chunks."""

    def maximise(self, statistics: tuple[Any, ...], theta: Any) -> Any:
        """argmax of Q, or of Q + log-prior, over theta."""

    def log_prior(self, theta: Any) -> float:
        """Log-density of the prior at theta; 0 without one."""


@dataclass
class EMResult:
    """Result of a run of EM.

    Attributes
    ----------
    theta : the parameters after the last M step.
    value : the objective at the last E step.
    passes : the number of iterations.
    converged : whether a stopping criterion was met.
    values : the objective at every E step.
    rule : the stopping criterion that was met, or None.
    history : the measures of all iterations, as columns.
    runs : the results of all starts, from `em_restarts`.
    """

    theta: Any
    value: float
    passes: int
    converged: bool
    values: list[float] = field(default_factory=list)
    rule: str | None = None
    history: dict[str, list[Any]] = field(default_factory=dict)
    runs: list[EMResult] = field(default_factory=list)

    @property
    def monotone(self) -> bool:
        """Whether the objective never decreased (Theorem 9.1)."""
        return not any(decreased(a, b) for a, b in zip(self.values[:-1], self.values[1:]))


@card(
    zh="EM算法",
    task="optimisation",
    model="P(Y, Z | θ), Y observed, Z latent",
    strategy="maximum likelihood of Y, or maximum a posteriori",
    loss="log",
    convex=False,
    algorithms={
        "em": "E: Q(θ, θ_i) = E[log P(Y, Z | θ) | Y, θ_i]; M: θ_{i+1} = argmax Q",
        "hard": "the best Z in place of its distribution, then maximum likelihood",
        "gem1": "argmax of F(P̃, θ) over P̃, then over θ (GEM algorithm 1)",
        "gem2": "any θ with a higher Q: a gradient step with backtracking (GEM algorithm 2)",
        "gem3": "argmax of Q over one part of θ after the other (GEM algorithm 3)",
    },
    traits={
        "principle": "iteration; estimates the posterior",
        "convergence": "to a local optimum",
        "speed": "fairly fast",
        "implementation": "easy",
        "suited to": "simple models",
    },
    texts=[
        "Li ch. 9, Alg 9.1, 9.3, 9.4, 9.5, Thm 9.1-9.4",
        "Li ch. 12, Table 12.1",
        "Li ch. 20, Alg 20.3",
        "Li ch. 22, Table 22.2",
        "Machine Learning in Depth ch. 5",
        "watermelon notes ch. 5, eq. 5.14, 5.15",
        "watermelon notes ch. 12, eq. 12.20-12.22",
    ],
)
def em(
    model: Any,
    chunks: Sequence[Any],
    theta: Any,
    loop: Steps | None = None,
    *,
    variant: Literal["em", "hard", "gem1", "gem2", "gem3"] = "em",
    stop: Any = "likelihood",
    tol: float = 1e-3,
    per: float = 1.0,
    accelerate: bool = False,
    check: bool = True,
    measure: str = "log_likelihood",
    before: float = -math.inf,
    max_iter: int = 100,
    n_jobs: int | None = None,
) -> EMResult:
    """EM algorithm: maximum likelihood with latent variables (Algorithm 9.1).

    The objective is (log-likelihood + log-prior) / `per`, evaluated at each E step, that is before the M step of
    the same iteration. It never decreases, and converges to a stationary point that depends on the start. Each
    iteration reports the new `theta` as its state.

    A model whose `expect` takes an approximation q(z) of the posterior, and gives its ELBO in place of the
    log-likelihood, makes this the variational EM algorithm (Algorithm 20.3): what never decreases is then the ELBO.

    Parameters
    ----------
    model : object with expect(chunk, theta), maximise(statistics, theta) and log_prior(theta)
        See `LatentModel`; `EnumerableModel` makes one from a function log P(y, z | θ).
    chunks : sequence
        The rows, in chunks for `expect`.
    theta : object
        Initial parameters.
    loop : Steps, optional
        The loop of an estimator; by default one of `max_iter` iterations.
    variant : {"em", "hard", "gem1", "gem2", "gem3"}, default="em"
        The algorithm. "gem1" needs the model's `q`, "gem2" `q`, `pack` and `unpack`, "gem3" `parts` and
        `maximise_part`, "hard" `expect_best`; its objective is log P(Y, Z) of the best Z.
    stop : {"likelihood", "parameters", "q"}, several of them, or dict
        Stopping criteria, any one of which is enough: the increase of the objective, the norm of the change of
        theta, or Q(θ_{i+1}, θ_i) - Q(θ_i, θ_i) is less than `tol`. A dict gives each its own tolerance.
    tol : float, default=1e-3
        Tolerance of the stopping criteria.
    per : float, default=1.0
        Divisor of the objective (and of Q), such as the number of rows.
    accelerate : bool, default=False
        Whether to extrapolate after every two iterations (SQUAREM), for slow convergence. An extrapolation that
        lowers the objective, or that the model's `unpack` rejects, is undone.
    check : bool, default=True
        Whether to warn when the objective decreases. If False, the absolute change is compared with `tol`.
    measure : str, default="log_likelihood"
        Name of the objective in the history.
    before : float, default=-inf
        The objective at the last E step of an earlier run that this one continues.
    max_iter : int, default=100
        Maximum number of iterations, without a `loop`.
    n_jobs : int, optional
        Number of threads; the result does not depend on it.

    Returns
    -------
    EMResult
        With `theta`, `value`, `passes`, `converged`, `values`, `rule` and `history`.

    Examples
    --------
    >>> from tercet.optimize import EnumerableModel
    >>> heads = np.array([5, 9, 8, 4, 7])  # in ten throws of one of two coins, which of them nobody knows
    >>> def log_joint(heads, theta):
    ...     return np.log(0.5) + np.outer(heads, np.log(theta)) + np.outer(10 - heads, np.log1p(-theta))
    >>> def maximise(heads, posterior, theta):
    ...     return heads @ posterior / (10 * posterior.sum(axis=0))
    >>> model = EnumerableModel(heads, log_joint, maximise)
    >>> em(model, model.chunks, np.array([0.6, 0.5]), tol=1e-9).theta.round(4)
    array([0.7968, 0.5196])
    """
    loop = StandaloneLoop(max_iter) if loop is None else loop
    m_step, squarem = m_step_of(model, variant), Squarem(model) if accelerate else None
    expect = model.expect_best if variant == "hard" else model.expect
    monitor = _Monitor(model, variant, tolerances(stop, tol, CRITERIA), per, check, before)
    new = theta

    def e_step(theta: Any) -> tuple[float, tuple[Any, ...]]:
        likelihood, *statistics = total(expect, chunks, theta, n_jobs=n_jobs)
        return float(likelihood + model.log_prior(theta)) / per, tuple(statistics)

    for step in loop:
        value, statistics = e_step(theta)
        if squarem is not None and squarem.pending and not value >= monitor.last:
            theta = squarem.undo()
            value, statistics = e_step(theta)
        monitor.check_increase(value, step.count)
        new = m_step(statistics, theta)
        met = monitor.update(value, statistics, theta, new, squarem is not None and squarem.pending)
        step.report(new, **{measure: value}, **monitor.measures)
        theta = new if squarem is None else squarem.extrapolate(theta, new)
        if step.converged(met):
            break
    # `new`, not `theta`: the objective at the last extrapolation is not known
    return EMResult(
        new,
        monitor.final,
        loop.count,
        bool(loop.is_converged),
        monitor.values,
        monitor.met,
        history_table([loop]),
    )


@card(
    zh="多初值EM算法",
    task="optimisation",
    model="P(Y, Z | θ), Y observed, Z latent",
    strategy="the highest of several local maxima of the likelihood",
    algorithms="EM from each of several starts",
    texts=["Li ch. 9, 9.2"],
)
def em_restarts(
    model: Any,
    chunks: Sequence[Any],
    starts: Iterable[Any],
    *,
    loops: Iterable[Steps] | None = None,
    run: Callable[..., EMResult] = em,
    **options: Any,
) -> EMResult:
    """EM from several starts; the run with the highest objective is kept.

    Parameters
    ----------
    model, chunks
        As in `em`.
    starts : iterable of theta
        Initial parameters of each run.
    loops : iterable of Steps, optional
        The loop of each run.
    run : callable, default=em
        `em` or `online_em`.
    **options
        As in `em`.

    Returns
    -------
    EMResult
        The best run (the first of equals); `runs` has all of them.

    Examples
    --------
    >>> from tercet.optimize import EnumerableModel
    >>> y = np.array([0.0, 0.1, 5.0, 5.2])
    >>> def log_joint(y, mean):
    ...     return -0.5 * (y[:, None] - mean) ** 2
    >>> def maximise(y, posterior, mean):
    ...     return y @ posterior / posterior.sum(axis=0)
    >>> model = EnumerableModel(y, log_joint, maximise)
    >>> starts = [np.array([2.0, 2.0]), np.array([1.0, 4.0])]  # EM cannot leave the first
    >>> em_restarts(model, model.chunks, starts).theta.round(2)
    array([0.05, 5.1 ])
    """
    if loops is None:
        runs = [run(model, chunks, theta, **options) for theta in starts]
    else:
        runs = [run(model, chunks, theta, loop, **options) for theta, loop in zip(starts, loops)]
    if not runs:
        raise ValueError("em_restarts: starts must be at least 1 start; got none.")
    best = max(runs, key=lambda run: run.value if not math.isnan(run.value) else -math.inf)
    return EMResult(**{**vars(best), "runs": runs})


class StandaloneLoop(Steps):
    """Iterations of a run of EM outside any estimator."""

    def warn(self, reason: str) -> None:
        last = ", ".join(f"{name}={float(value):.6g}" for name, value in self.measures.items())
        warnings.warn(
            f"EM {reason} (last pass: {last}). Raise max_iter or tol, or accelerate.",
            ConvergenceWarning,
            stacklevel=4,
        )


def decreased(before: float, value: float) -> bool:
    """Whether the objective is lower than before by more than rounding."""
    return value < before - 1e-8 * max(1.0, abs(before))


class _Monitor:
    """Objective values of a run, the check of Theorem 9.1 and the stopping criteria.

    Attributes
    ----------
    values : the objective at every E step so far.
    last : the objective at the previous E step, of an earlier run before the first.
    measures : what the last iteration reports besides the objective.
    met : the stopping criterion that the last iteration met, or None.
    """

    def __init__(
        self, model: Any, variant: str, criteria: dict[str, float], per: float, check: bool, before: float
    ) -> None:
        self.model, self.criteria, self.per, self.check = model, criteria, per, check
        self.coordinate_ascent = variant == "gem1"  # on F(P̃, θ), both halves of which are reported
        self.values: list[float] = []
        self.last = before
        self.met: str | None = None
        self.measures: dict[str, float] = {}

    @property
    def final(self) -> float:
        return self.values[-1] if self.values else -math.inf  # max_iter may be 0

    def check_increase(self, value: float, count: int) -> None:
        """Raise if the objective is NaN; warn if it has decreased, against Theorem 9.1."""
        check_ascent(self.last if self.check and self.values else -math.inf, value, f" in pass {count}")

    def update(self, value: float, statistics: Any, old: Any, new: Any, extrapolated: bool) -> str | None:
        """Record an iteration from `old` to `new`; the stopping criterion that it meets, or None."""
        gain = value - self.last if self.check and self.values else abs(value - self.last)
        changes = {
            "likelihood": math.inf if extrapolated else gain
        }  # SQUAREM's gain is not that of an EM step
        if "parameters" in self.criteria:
            change = parameter_vector(self.model, new) - parameter_vector(self.model, old)
            changes["parameters"] = float(np.linalg.norm(change))
        if "q" in self.criteria or self.coordinate_ascent:
            changes["q"] = q_increase(self.model, statistics, old, new) / self.per
        self.measures = {name: changes[name] for name in self.criteria if name != "likelihood"}
        if (
            self.coordinate_ascent
        ):  # the posterior makes F equal to L, so that the first half ends at the objective
            self.measures |= {"f_expect": value, "f_maximise": value + changes["q"]}
        self.met = next((name for name, tol in self.criteria.items() if changes[name] < tol), None)
        self.values.append(value)
        self.last = value
        return self.met


def check_ascent(before: float, value: float, place: str = "") -> None:
    """Theorem 9.1: EM's objective is a number, and does not fall by more than rounding; else an error or a warning.

    Examples
    --------
    >>> check_ascent(-3.5, -3.0)
    """
    if math.isnan(value):
        raise ValueError(f"EM: the log-likelihood is not a number{place}: {value}.")
    if decreased(before, value):
        warnings.warn(
            f"EM: the objective fell from {before:.10g} to {value:.10g}.", ConvergenceWarning, stacklevel=3
        )
