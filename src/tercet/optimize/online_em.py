"""EM over batches (在线 EM 算法): rows that come one batch after the other, or too many for a whole E step."""

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
from tercet.optimize.em import Alone, Climb


@dataclass(frozen=True)
class Memory:
    """What a stream of batches has taught: mean statistics of a row, the number of batches, the rows' weight."""

    means: tuple[np.ndarray, ...] = ()
    batches: int = 0
    mass: float = 0.0

    def blend(self, sums: Sequence[Any], mass: float, rate: float) -> Memory:
        """(1 - rate) of the old means and rate of those of a new batch."""
        new = [np.asarray(s, dtype=np.float64) / mass for s in sums]
        means = [(1 - rate) * m + rate * n for m, n in zip(self.means, new)] if self.means else new
        return Memory(tuple(means), self.batches + 1, self.mass + mass)


def stepwise(
    model: Any,
    chunks: Sequence[Any],
    theta: Any,
    memory: Memory | None = None,
    *,
    mass: float | None = None,
    decay: float = 0.7,
    offset: float = 1.0,
    rows: float | None = None,
    n_jobs: int | None = None,
) -> tuple[Any, Memory, float]:
    """One step of online EM: the E step on a batch, its statistics blended with those of before, and the M step.

    Parameters
    ----------
    model, theta
        As in `em`.
    chunks : sequence
        The batch, in one piece or several.
    memory : Memory, optional
        What the batches before have taught; None for the first.
    mass : float, optional
        The weight of the batch's rows; by default their number (`model.mass(chunk)`, where the model has it).
    decay, offset : float, default=0.7, 1.0
        Batch t = 0, 1, ... counts (t + offset)^-decay against all before; the first is all there is. A decay in
        (0.5, 1] makes a stationary stream converge; 1 gives all batches the same say.
    rows : float, optional
        How many rows the M step is to believe in, against a prior; by default the weight of all that were seen.
    n_jobs : int, optional
        Threads to use.

    Returns
    -------
    theta, memory, log_likelihood
        The last is that of the batch under the theta before it.

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
    >>> theta, memory = 0.0, None
    >>> for batch in ([1.0, 3.0], [4.0, 4.0], [6.0, 0.0]):
    ...     theta, memory, _ = stepwise(Mean(), [np.array(batch)], theta, memory, decay=1.0)
    >>> round(float(theta), 12), memory.batches
    (3.0, 3)
    """
    if not 0.5 < decay <= 1 or not offset >= 0:
        raise ValueError(
            f"decay must be a number in (0.5, 1] and offset one in [0, inf); got {decay!r} and {offset!r}."
        )
    memory = memory or Memory()
    likelihood, *sums = total(model.expect, chunks, theta, n_jobs=n_jobs)
    if mass is None:
        mass = sum(_mass(model, chunk) for chunk in chunks)
    rate = min((memory.batches + offset) ** -decay, 1.0) if memory.batches else 1.0
    memory = memory.blend(sums, mass, rate)
    scale = memory.mass if rows is None else rows
    return model.maximise(tuple(m * scale for m in memory.means), theta), memory, float(likelihood)


def _mass(model: Any, chunk: Any) -> float:
    if hasattr(model, "mass"):
        return float(model.mass(chunk))
    first = chunk[0] if isinstance(chunk, tuple) else chunk
    return float(np.shape(first)[0])


@card(
    zh="在线EM算法",
    task="optimisation",
    model="P(Y, Z | θ), of which Y is seen and Z is hidden",
    strategy="maximum likelihood of what is seen",
    algorithms="expected statistics of batches, averaged with a decaying rate, and an M step after each batch",
    texts=["000 ch. 9"],
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
) -> Climb:
    """EM with an M step after every batch (stepwise, mini-batch EM): few passes over much data.

    A pass takes all batches, in drawn order. The value of a pass is the log-likelihood of the batches, each before
    it was learned from, plus the log-prior at the end, over `per`; unlike EM's it may fall.

    Parameters
    ----------
    model, chunks, theta, loop, per, measure, n_jobs
        As in `em`; each chunk is a batch.
    decay, offset : float, default=0.7, 1.0
        As in `stepwise`.
    tol : float, default=1e-3
        It ends when the value of a pass rises by less.
    max_iter : int, default=20
        The most passes, where there is no `loop`.
    random_state : int, Generator or None
        Decides the order of the batches.

    Returns
    -------
    Climb

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
    loop = Alone(max_iter) if loop is None else loop
    rows = sum(_mass(model, chunk) for chunk in chunks)
    memory, before, values = None, -math.inf, []
    for step in loop:
        likelihood = 0.0
        for b in rng.permutation(len(chunks)):
            theta, memory, seen = stepwise(
                model, [chunks[b]], theta, memory, decay=decay, offset=offset, rows=rows, n_jobs=n_jobs
            )
            likelihood += seen
        value = (likelihood + float(model.log_prior(theta))) / per
        values.append(value)
        step.report(theta, **{measure: value})
        if step.converged(value - before < tol):
            break
        before = value
    rule = "likelihood" if loop.is_converged else None
    value = values[-1] if values else -math.inf  # no pass was asked for
    return Climb(theta, value, loop.count, bool(loop.is_converged), values, rule, history_table([loop]))
