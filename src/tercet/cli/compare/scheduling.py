"""Scheduling of the cross-validation of many methods within a time budget: cheapest first, repeat by repeat."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tercet.cli.compare.baseline import BASELINE
from tercet.cli.compare.combination import COMBINATION, MEMBERS
from tercet.cli.compare.worker_pool import TaskResult, WorkerPool, WorkerTask
from tercet.core.messages import Message

FIRST_TRIAL = 0.2  # of `patience`, the limit of a trial fit in the first attempt
FIRST_SHARE = 0.2  # of the remaining time, the limit of one method's folds in the first attempt


@dataclass
class MethodProgress:
    """State of one method: its cost, its settings and its results so far."""

    name: str
    tried: bool = False
    cost: float | None = None  # estimated seconds per split
    settings: dict[str, Any] = field(default_factory=dict)
    results: dict[tuple[int, int], dict[str, Any]] = field(default_factory=dict)
    dropped: str | None = None  # why it is not on the leaderboard

    def complete_repeats(self, cv: int) -> int:
        """The number of repeats with all folds."""
        t = 0
        while all((t, fold) in self.results for fold in range(cv)):
            t += 1
        return t

    def scores(self, metric: str, cv: int, repeats: int) -> np.ndarray:
        """A measure on every split of the first repeats."""
        return np.array(
            [
                self.results[t, fold]["measures"].get(metric, np.nan)
                for t in range(repeats)
                for fold in range(cv)
            ]
        )

    def median(self, key: str) -> float | None:
        """Median of a time over all splits (the first fit loads kernels and is slower)."""
        values = [r[key] for r in self.results.values() if r[key] is not None]
        return float(np.median(values)) if values else None


class Scheduler:
    """Schedules trial fits and cross-validation of the methods, and collects their results.

    Only complete repeats count: means over different splits cannot be compared.

    Parameters
    ----------
    pool : WorkerPool
        The worker processes.
    names : list of str
        The methods; the baseline is added.
    cv, repeats : int
        Folds, and repeats of them.
    deadline : float
        When to stop, on `time.monotonic`.
    patience : float
        Limit of the trial fits of one method, in seconds.
    progress : callable
        Called with (done, total, label).
    ended : callable
        Called with (repeat, repeats) at the end of each.
    """

    def __init__(
        self,
        pool: WorkerPool,
        names: list[str],
        *,
        cv: int,
        repeats: int,
        jobs: int,
        deadline: float,
        patience: float = float("inf"),
        progress: Callable[[int, int, str], Any] = lambda *_: None,
        ended: Callable[[int, int], Any] = lambda *_: None,
    ) -> None:
        self.pool, self.cv, self.repeats, self.jobs = pool, cv, repeats, jobs
        self.deadline, self.patience = deadline, patience
        self.progress, self.ended = progress, ended
        self.methods = {name: MethodProgress(name) for name in [BASELINE, *names]}
        self.busy: list[tuple[float, float]] = []  # when fits were running
        self._done = 0

    def run(self) -> None:
        """Trial fits, then repeat after repeat; can be called again with a later deadline.

        Methods whose trial fit takes long are tried again after the first repeat of the cheap ones.
        """
        now = time.monotonic()
        self._run_trials(self.patience * FIRST_TRIAL, now + (self.deadline - now) / 2)
        self._score(0, FIRST_SHARE)
        self._run_trials(self.patience, self.deadline)
        for repeat in range(self.repeats):
            if repeat and not self._affordable():
                break
            self._score(repeat)
            if self.rounds() > repeat:
                self.ended(repeat + 1, self.repeats)

    def combine(self, metric: str, greater_is_better: bool) -> None:
        """Add a row for the combination of the best, on the same splits, where there are two and time is left."""
        rounds, sign = self.rounds(), 1.0 if greater_is_better else -1.0
        means = {
            one.name: sign * float(np.mean(one.scores(metric, self.cv, rounds)))
            for one in self.finished()
            if one.name != BASELINE
        }
        able = [name for name in means if np.isfinite(means[name])]
        ranked = sorted(able, key=lambda name: (-means[name], name))  # as on the leaderboard
        best = [self.methods[name] for name in ranked[:MEMBERS]]
        need = sum(one.cost or 0.0 for one in best) * self.cv * rounds / self.jobs
        if len(best) < 2 or need > self.deadline - time.monotonic():
            return
        names = ", ".join(one.name for one in best)
        self.methods[COMBINATION] = MethodProgress(COMBINATION, tried=True, settings={"of": names})
        members = [(one.name, one.settings) for one in best]
        tasks = (
            WorkerTask("combine", {"members": members, "repeat": repeat, "fold": fold}, COMBINATION)
            for repeat in range(rounds)
            for fold in range(self.cv)
        )
        try:
            for outcome in self.pool.run(tasks, self.deadline, self._begun):
                self._record(outcome)
        finally:
            if self.methods[COMBINATION].complete_repeats(self.cv) < rounds:
                del self.methods[COMBINATION]  # the time was up: it is no method that was left out

    def finished(self) -> list[MethodProgress]:
        """Methods with at least one complete repeat."""
        return [one for one in self.methods.values() if one.dropped is None and one.complete_repeats(self.cv)]

    def rounds(self) -> int:
        """The number of repeats that all of them have completed."""
        return min((one.complete_repeats(self.cv) for one in self.finished()), default=0)

    def left_out(self) -> dict[str, str]:
        """Methods that are not on the leaderboard, and why."""
        reasons = {}
        for one in self.methods.values():
            if one.dropped is not None:
                reasons[one.name] = one.dropped
            elif not one.complete_repeats(self.cv):
                n = len(one.results)
                template = (
                    "the time was up after {n} of {cv} folds" if n else "the time was up before its repeat"
                )
                reasons[one.name] = Message(template, n=n, cv=self.cv) if n else Message(template)
        return reasons

    def _run_trials(self, patience: float, deadline: float) -> None:
        trials = (
            WorkerTask("trial", {"name": one.name}, one.name, patience)
            for one in self.methods.values()
            if not one.tried
        )
        for outcome in self.pool.run(trials, deadline, self._begun):
            one = self.methods[outcome.task.label]
            one.tried = not outcome.lost or patience >= self.patience
            if outcome.value is not None:
                one.cost, one.settings = outcome.value["cost"], outcome.value["settings"]
                self.busy.append(outcome.value["busy"])
            elif not outcome.lost:  # one that was cut off is tried again
                one.dropped = outcome.error

    def _by_cost(self) -> list[MethodProgress]:
        """Methods still in the running, cheapest first, those of unknown cost last."""
        able = [one for one in self.methods.values() if one.dropped is None and one.tried]
        return sorted(able, key=lambda one: (one.cost is None, one.cost))

    def _score(self, repeat: int, share: float = 1.0) -> None:
        for outcome in self.pool.run(self._missing_folds(repeat, share), self.deadline, self._begun):
            self._record(outcome)

    def _missing_folds(self, repeat: int, share: float) -> Iterator[WorkerTask]:
        """Tasks for the missing folds of a repeat, of methods that need at most a share of the remaining time."""
        for one in self._by_cost():
            if repeat and not one.complete_repeats(self.cv):
                continue
            folds = [fold for fold in range(self.cv) if (repeat, fold) not in one.results]
            need, left = (one.cost or 0.0) * len(folds) / self.jobs, self.deadline - time.monotonic()
            if repeat == 0 and share * left < need <= left:
                continue
            if repeat == 0 and need > left:
                one.dropped = Message(
                    "would take about {need:.1f} s, and {left:.1f} s were left", need=need, left=left
                )
            for fold in folds:
                if one.dropped is None:
                    given = {"name": one.name, "settings": one.settings, "repeat": repeat, "fold": fold}
                    yield WorkerTask("score", given, one.name)

    def _affordable(self) -> bool:
        """Whether one more repeat of all methods fits into the remaining time."""
        need = sum((one.cost or 0.0) * self.cv for one in self.finished()) / self.jobs
        return bool(self.finished()) and need < self.deadline - time.monotonic()

    def _begun(self, task: WorkerTask) -> None:
        running = [one for one in self.methods.values() if one.dropped is None]
        self.progress(self._done, len(running) * self.cv * self.repeats, task.label)

    def _record(self, outcome: TaskResult) -> None:
        one = self.methods[outcome.task.label]
        given = outcome.task.arguments
        if outcome.value is not None:
            one.results[given["repeat"], given["fold"]] = outcome.value
            self.busy.append(outcome.value["busy"])
            # The measured time of the splits is a better estimate than the trial.
            one.cost = (one.median("fit_time") or 0.0) + (one.median("predict_time") or 0.0)
            self._done += 1
        elif not outcome.lost or (given["repeat"] == 0 and time.monotonic() < self.deadline):
            one.dropped = outcome.error
