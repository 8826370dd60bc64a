"""The EM algorithm (EM 算法): maximum likelihood where part of the data was never seen.

A model gives two things: the expected statistics of a chunk of rows under the present parameters (the E step,
with the chunk's log-likelihood), and the parameters that make given statistics most likely (the M step). The
driver does the rest: statistics of all chunks are added up (`core.parallel.total`), so that threads and data that
do not fit in memory are no concern of the model, and the likelihood, which theory says never falls, is watched.
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
from tercet.optimize.em_moves import Squarem, flat, move, rise

STOPS = ("likelihood", "parameters", "q")


class LatentModel(Protocol):
    """What EM has to know of a model with hidden variables; `theta` is whatever the model likes.

    Some variants ask for more: `expect_best(chunk, theta)`, the statistics of the single best Z with its
    log P(Y, Z); `q(statistics, theta)`, the function Q; `parts`, a number, and `maximise_part(k, statistics,
    theta)`, which maximises Q over the k-th part of theta alone; `pack(theta)` and `unpack(vector)`, theta as a
    vector of free numbers and back (ValueError where that is not possible); `gradient(statistics, theta)` of
    Q + log-prior in that vector.
    """

    def expect(self, chunk: Any, theta: Any) -> tuple[Any, ...]:
        """(log-likelihood, *expected statistics) of a chunk: numbers and arrays that may be added up."""

    def maximise(self, statistics: tuple[Any, ...], theta: Any) -> Any:
        """The parameters under which the expected statistics are most likely (a posteriori, with a prior)."""

    def log_prior(self, theta: Any) -> float:
        """What a prior adds to the log-likelihood; 0 without one."""


@dataclass
class Climb:
    """Where a run of EM ended.

    Attributes
    ----------
    theta : the parameters after the last M step.
    value : the objective at the last E step.
    passes : how many there were.
    converged : whether a stopping rule was met.
    values : the objective at every E step.
    rule : the stopping rule that was met, or None.
    history : the measures of all passes, as columns.
    runs : all runs, where there were several starts.
    """

    theta: Any
    value: float
    passes: int
    converged: bool
    values: list[float] = field(default_factory=list)
    rule: str | None = None
    history: dict[str, list[Any]] = field(default_factory=dict)
    runs: list[Climb] = field(default_factory=list)

    @property
    def monotone(self) -> bool:
        """Whether the objective never fell (Theorem 9.1)."""
        return not any(fell(a, b) for a, b in zip(self.values[:-1], self.values[1:]))


@card(
    zh="EM算法",
    task="optimisation",
    model="P(Y, Z | θ), of which Y is seen and Z is hidden",
    strategy="maximum likelihood of what is seen, or maximum posterior probability",
    algorithms={
        "em": "E: Q(θ, θ_i) = E[log P(Y, Z | θ) | Y, θ_i]; M: θ_{i+1} = argmax Q",
        "hard": "the best Z in place of its distribution, then maximum likelihood",
        "gem1": "argmax of F(P̃, θ) over P̃, then over θ (GEM algorithm 1)",
        "gem2": "any θ with a higher Q: a gradient step with backtracking (GEM algorithm 2)",
        "gem3": "argmax of Q over one part of θ after the other (GEM algorithm 3)",
    },
    texts=[
        "000 ch. 9, Alg 9.1, 9.3, 9.4, 9.5, Thm 9.1-9.4",
        "001 ch. 5",
        "002 ch. 5, eq. 5.14, 5.15",
        "002 ch. 12, eq. 12.20-12.22",
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
) -> Climb:
    """Maximum likelihood with hidden variables, by expectation and maximisation in turn.

    The objective is (log-likelihood + log-prior) / `per`, taken at each E step, that is before the M step of the
    same pass. It never falls; it ends at a stationary point that depends on the start. Each pass reports `theta`
    as its state.

    Parameters
    ----------
    model : object with expect(chunk, theta), maximise(statistics, theta) and log_prior(theta)
        See `LatentModel`; `EnumerableModel` makes one of a function log P(y, z | θ).
    chunks : sequence
        The rows, in pieces that `expect` understands.
    theta : object
        The start.
    loop : Steps, optional
        The passes of an estimator; without it there are `max_iter`.
    variant : {"em", "hard", "gem1", "gem2", "gem3"}, default="em"
        The algorithm. "gem1" needs the model's `q`, "gem2" `q`, `pack` and `unpack`, "gem3" `parts` and
        `maximise_part`, "hard" `expect_best`; its objective is log P(Y, Z) of the best Z.
    stop : {"likelihood", "parameters", "q"}, several of them, or dict
        The stopping rules, of which any one is enough: the objective rises by less than `tol`; the norm of the
        change of theta is less; Q(θ_{i+1}, θ_i) - Q(θ_i, θ_i) is less. A dict gives each its own tolerance.
    tol : float, default=1e-3
        What small means.
    per : float, default=1.0
        What the objective (and Q) is divided by: the number of rows, say.
    accelerate : bool, default=False
        Whether to leap ahead after every two passes along the curve they lie on (SQUAREM), for slow problems. A
        leap after which the objective is lower, or that the model's `unpack` refuses, is taken back.
    check : bool, default=True
        Whether to warn when the objective falls. Without it, a fall is a change like any other.
    measure : str, default="log_likelihood"
        What the history calls the objective.
    before : float, default=-inf
        The objective at the last E step of an earlier run, where this one goes on with it.
    max_iter : int, default=100
        The most passes, where there is no `loop`.
    n_jobs : int, optional
        Threads to use; the result does not depend on it.

    Returns
    -------
    Climb
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
    rules, step_of = _rules(stop, tol), move(model, variant)
    expect = model.expect_best if variant == "hard" else model.expect
    measured = {name for name in rules if name != "likelihood"} | ({"f"} if variant == "gem1" else set())
    leap = Squarem(model) if accelerate else None
    loop = Alone(max_iter) if loop is None else loop
    values: list[float] = []
    rule, reached = None, theta

    def look(theta: Any) -> tuple[float, tuple[Any, ...]]:
        likelihood, *statistics = total(expect, chunks, theta, n_jobs=n_jobs)
        return float(likelihood + model.log_prior(theta)) / per, tuple(statistics)

    for step in loop:
        value, statistics = look(theta)
        if leap is not None and leap.pending and not value >= before:
            theta = leap.back()
            value, statistics = look(theta)
        if math.isnan(value):
            raise ValueError(f"EM: the log-likelihood is not a number in pass {step.count}: {value}.")
        if check and values:
            _watch(before, value)
        following = reached = step_of(statistics, theta)
        leapt = leap is not None and leap.pending  # what a leap has gained says nothing of what EM will gain
        gain = value - before if check and values else abs(value - before)
        sizes = {"likelihood": math.inf if leapt else gain}
        measures = {measure: value}
        if measured:
            sizes |= _sizes(model, measured, statistics, theta, following, per)
            measures |= {name: sizes[name] for name in rules if name != "likelihood"}
        if "f" in measured:
            measures |= {"f_expect": value, "f_maximise": value + sizes["f"]}
        values.append(value)
        step.report(following, **measures)
        rule = next((name for name, small in rules.items() if sizes[name] < small), None)
        theta = following if leap is None else leap.ahead(theta, following)
        if step.converged(rule):
            break
        before = value
    value = values[-1] if values else -math.inf  # no pass was asked for
    # not theta: nobody has looked where the last leap would lead
    return Climb(reached, value, loop.count, bool(loop.is_converged), values, rule, history_table([loop]))


@card(
    zh="多初值EM算法",
    task="optimisation",
    model="P(Y, Z | θ), of which Y is seen and Z is hidden",
    strategy="the highest of several local maxima of the likelihood",
    algorithms="EM from each of several starts",
    texts=["000 ch. 9, 9.2"],
)
def em_restarts(
    model: Any,
    chunks: Sequence[Any],
    starts: Iterable[Any],
    *,
    loops: Iterable[Steps] | None = None,
    run: Callable[..., Climb] = em,
    **options: Any,
) -> Climb:
    """EM from several starts, of which the best end is kept.

    Parameters
    ----------
    model, chunks
        As in `em`.
    starts : iterable of theta
        The starts.
    loops : iterable of Steps, optional
        The passes of each start.
    run : callable, default=em
        `em` or `online_em`.
    **options
        As in `em`.

    Returns
    -------
    Climb
        The run with the highest objective (of equals, the first); `runs` has all of them.

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
    best = max(runs, key=lambda climb: climb.value if not math.isnan(climb.value) else -math.inf)
    return Climb(**{**vars(best), "runs": runs})


class Alone(Steps):
    """The passes of a run that belongs to no estimator."""

    def warn(self, reason: str) -> None:
        last = ", ".join(f"{name}={float(value):.6g}" for name, value in self.measures.items())
        warnings.warn(
            f"EM {reason} (last pass: {last}). Raise max_iter or tol, or accelerate.",
            ConvergenceWarning,
            stacklevel=4,
        )


def fell(before: float, value: float) -> bool:
    """Whether the objective is lower than before by more than rounding."""
    return value < before - 1e-8 * max(1.0, abs(before))


def _watch(before: float, value: float) -> None:
    """Theorem 9.1: the objective does not fall. Where it does, something is wrong with the data or the model."""
    if fell(before, value):
        warnings.warn(
            f"EM: the objective fell from {before:.10g} to {value:.10g}.", ConvergenceWarning, stacklevel=3
        )


def _rules(stop: Any, tol: float) -> dict[str, float]:
    """The stopping rules with their tolerances."""
    names = [stop] if isinstance(stop, str) else list(stop)
    rules = dict(stop) if isinstance(stop, dict) else dict.fromkeys(names, tol)
    if not rules or not set(rules) <= set(STOPS):
        raise ValueError(f"stop must be one or several of {', '.join(map(repr, STOPS))}; got {stop!r}.")
    for value in rules.values():
        if math.isnan(value):
            raise ValueError(f"tol must be a number; got {value!r}.")
    return rules


def _sizes(model: Any, names: set[str], statistics: Any, old: Any, new: Any, per: float) -> dict[str, float]:
    """How far a pass has gone: in theta, in Q, and in F (whose first part the posterior makes equal to L)."""
    sizes = {}
    if "parameters" in names:
        sizes["parameters"] = float(np.linalg.norm(flat(model, new) - flat(model, old)))
    if names & {"q", "f"}:
        sizes["q"] = sizes["f"] = rise(model, statistics, old, new) / per
    return sizes
