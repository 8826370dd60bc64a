"""Online EM (在线 EM 算法): an M step after every batch of rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tercet.core.catalog import method as card
from tercet.core.estimator import generator
from tercet.core.parallel import total
from tercet.core.steps import Steps, history_table
from tercet.optimize.em import EMResult, StandaloneLoop


@dataclass(frozen=True)
class RunningStatistics:
    """Running averages of the expected sufficient statistics per row.

    Attributes
    ----------
    means : the averages.
    batches : the number of batches seen.
    mass : the total weight of the rows seen.
    """

    means: tuple[np.ndarray, ...] = ()
    batches: int = 0
    mass: float = 0.0

    def updated(self, sums: Sequence[Any], mass: float, rate: float) -> RunningStatistics:
        """(1 - rate) of these means plus rate of those of a new batch."""
        new = [np.asarray(s, dtype=np.float64) / mass for s in sums]
        means = [(1 - rate) * m + rate * n for m, n in zip(self.means, new)] if self.means else new
        return RunningStatistics(tuple(means), self.batches + 1, self.mass + mass)


def online_em_step(
    model: Any,
    chunks: Sequence[Any],
    theta: Any,
    running: RunningStatistics | None = None,
    *,
    mass: float | None = None,
    decay: float = 0.7,
    offset: float = 1.0,
    rows: float | None = None,
    n_jobs: int | None = None,
) -> tuple[Any, RunningStatistics, float]:
    """One step of online EM: E step on a batch, update of the running statistics, M step (stepwise EM).

    Parameters
    ----------
    model, theta
        As in `em`.
    chunks : sequence
        The batch, in one or several chunks.
    running : RunningStatistics, optional
        The averages over earlier batches; None for the first batch.
    mass : float, optional
        The weight of the batch's rows; by default their number (`model.mass(chunk)`, where the model has it).
    decay, offset : float, default=0.7, 1.0
        The learning rate of batch t = 1, 2, ... is (t + offset)^-decay, that of the first batch 1. With a decay
        in (0.5, 1] a stationary stream converges; 1 weights all batches equally.
    rows : float, optional
        Number of rows that the statistics are scaled to for the M step, against a prior; by default the total
        weight seen.
    n_jobs : int, optional
        Number of threads.

    Returns
    -------
    theta, running, log_likelihood
        The log-likelihood is that of the batch under the old theta.

    Examples
    --------
    >>> class Mean:  # nothing is hidden: the mean of a normal distribution
    ...     def expect(self, y, theta):
    ...         return -((y - theta) ** 2).sum() / 2, y.sum(), float(y.size)
    ...
    ...     def maximise(self, statistics, theta):
    ...         return statistics[0] / statistics[1]
    ...
    ...     def log_prior(self, theta):
    ...         return 0.0
    >>> theta, running = 0.0, None
    >>> for batch in ([1.0, 3.0], [4.0, 4.0], [6.0, 0.0]):
    ...     theta, running, _ = online_em_step(Mean(), [np.array(batch)], theta, running, decay=1.0)
    >>> round(float(theta), 12), running.batches
    (3.0, 3)
    """
    if not 0.5 < decay <= 1 or not offset >= 0:
        raise ValueError(
            f"decay must be a number in (0.5, 1] and offset one in [0, inf); got {decay!r} and {offset!r}."
        )
    running = running or RunningStatistics()
    likelihood, *sums = total(model.expect, chunks, theta, n_jobs=n_jobs)
    if mass is None:
        mass = sum(_mass(model, chunk) for chunk in chunks)
    rate = min((running.batches + offset) ** -decay, 1.0) if running.batches else 1.0
    running = running.updated(sums, mass, rate)
    scale = running.mass if rows is None else rows
    return model.maximise(tuple(m * scale for m in running.means), theta), running, float(likelihood)


def _mass(model: Any, chunk: Any) -> float:
    if hasattr(model, "mass"):
        return float(model.mass(chunk))
    first = chunk[0] if isinstance(chunk, tuple) else chunk
    return float(np.shape(first)[0])


@card(
    zh="在线EM算法",
    task="optimisation",
    model="P(Y, Z | θ), Y observed, Z latent",
    strategy="maximum likelihood of Y",
    algorithms="expected statistics of batches, averaged with a decaying rate, and an M step after each batch",
    texts=["Li ch. 9"],
)
def online_em(
    model: Any,
    chunks: Sequence[Any],
    theta: Any,
    loop: Steps | None = None,
    *,
    decay: float = 0.7,
    offset: float = 1.0,
    tol: float = 1e-3,
    per: float = 1.0,
    measure: str = "log_likelihood",
    max_iter: int = 20,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> EMResult:
    """Online EM: an M step after every batch (stepwise, mini-batch EM).

    A pass visits all batches in random order. Its objective is the sum of the log-likelihoods of the batches, each
    under the parameters before its update, plus the log-prior at the end, divided by `per`; unlike that of EM it
    may decrease.

    Parameters
    ----------
    model, chunks, theta, loop, per, measure, n_jobs
        As in `em`; each chunk is a batch.
    decay, offset : float, default=0.7, 1.0
        As in `online_em_step`.
    tol : float, default=1e-3
        Stop when the objective increases by less than this in a pass.
    max_iter : int, default=20
        Maximum number of passes, without a `loop`.
    random_state : int, Generator or None
        Seed of the order of the batches.

    Returns
    -------
    EMResult

    Examples
    --------
    >>> class Coin:  # nothing is hidden
    ...     def expect(self, y, p):
    ...         return float(np.log(np.where(y, p, 1 - p)).sum()), float(y.sum()), float(y.size)
    ...
    ...     def maximise(self, statistics, p):
    ...         return (statistics[0] + 1) / (statistics[1] + 2)
    ...
    ...     def log_prior(self, p):
    ...         return float(np.log(p * (1 - p)))
    >>> batches = [np.array([1, 1, 0, 1]), np.array([1, 1, 1, 0])]
    >>> round(float(online_em(Coin(), batches, 0.5, random_state=0).theta), 6)
    0.7
    """
    rng = generator(random_state)
    loop = StandaloneLoop(max_iter) if loop is None else loop
    rows = sum(_mass(model, chunk) for chunk in chunks)
    running, before, values = None, -math.inf, []
    for step in loop:
        likelihood = 0.0
        for b in rng.permutation(len(chunks)):
            theta, running, batch_likelihood = online_em_step(
                model, [chunks[b]], theta, running, decay=decay, offset=offset, rows=rows, n_jobs=n_jobs
            )
            likelihood += batch_likelihood
        value = (likelihood + float(model.log_prior(theta))) / per
        values.append(value)
        step.report(theta, **{measure: value})
        if step.converged(value - before < tol):
            break
        before = value
    rule = "likelihood" if loop.is_converged else None
    value = values[-1] if values else -math.inf  # max_iter may be 0
    return EMResult(theta, value, loop.count, bool(loop.is_converged), values, rule, history_table([loop]))
