"""Scheduling of the cross-validation of many methods within a time budget.

One method of each family comes first, strongest first; then the other candidates of the combination and the
combination itself; then all, cheapest first, repeat by repeat.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tercet.cli.compare.baseline import BASELINE
from tercet.cli.compare.combination import (
    COMBINATION,
    FIRST,
    Candidate,
    effort,
    label,
    members_on_all_rows,
)
from tercet.cli.compare.method_order import QUICK
from tercet.cli.compare.method_progress import MethodProgress
from tercet.cli.compare.nested_choice import fits
from tercet.cli.compare.worker_pool import TaskResult, WorkerPool, WorkerTask
from tercet.core.messages import Message

LEADERS_SHARE = 0.25  # of the time, for the trial fits of the first of each family
FEW_ROWS = 2_500  # to learn from
FIRST_TRIAL = 0.2  # of `patience`, the limit of a trial fit in the first attempt
FIRST_SHARE = 0.2  # of the remaining time, the limit of one method's folds in the first attempt
EARLY, EARLY_SHARE = 3, 0.2  # repeats of the cheapest of the first, and of the remaining time for them
SEVERAL = 5  # repeats that the remaining time is shared out for
COMBINATION_FIRST = 0.4  # of the remaining time, for the first repeat of the combination
COMBINATION_SHARE = 0.25  # of the time after the first repeat of all, for further ones of the combination


class Scheduler:
    """Schedules trial fits and cross-validation of the methods, and collects their results.

    Only complete repeats count: each tests every row once, so that their means can be compared. All methods get the
    first; where there is no time for more of all, the dearest have fewer.

    Parameters
    ----------
    pool : WorkerPool
        The worker processes.
    names : list of str
        The methods; the baseline is added.
    leaders : int
        How many of them, from the first, are tried and scored before the others.
    tune : bool
        Whether settings are searched inside the folds.
    candidates : list of (name, settings)
        Candidates of the combination, strongest first.
    rows : int
        Training rows of a split.
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
        leaders: int = 0,
        tune: bool = False,
        candidates: Sequence[Candidate] = (),
        rows: int = 0,
        patience: float = float("inf"),
        progress: Callable[[int, int, str], Any] = lambda *_: None,
        ended: Callable[[int, int], Any] = lambda *_: None,
    ) -> None:
        self.pool, self.cv, self.repeats, self.jobs = pool, cv, repeats, jobs
        self.deadline, self.patience = deadline, patience
        self.progress, self.ended = progress, ended
        self.leaders, self.tune, self.rows = [BASELINE, *names[:leaders]], tune, rows
        self.methods = {name: MethodProgress(name) for name in [BASELINE, *names]}
        self.candidates = [one for one in candidates if one[0] in self.methods]
        self.combination: MethodProgress | None = None
        self._combined: list[Candidate] = []  # the candidates that there was time for
        self.busy: list[tuple[float, float]] = []  # when fits were running
        self._done = self._announced = 0
        self._reserve = 0.0  # seconds kept for the combination

    def run(self) -> None:
        """Trial fits, then repeat after repeat; can be called again with a later deadline.

        Methods whose trial fit takes long are tried again after the first repeat of the cheap ones.
        """
        now = time.monotonic()
        if len(self.leaders) > 1:
            first = now + (self.deadline - now) * LEADERS_SHARE
            self._run_trials(self.patience, first, self.leaders)
            self._score(0, FIRST_SHARE, self.leaders)
            if strong := [name for name in dict(self.candidates) if name not in self.leaders]:
                self._run_trials(self.patience, now + 2 * (first - now), strong)
                self._score(0, FIRST_SHARE, strong)
            self.combine(COMBINATION_FIRST)
            self._early_repeats()
            if self.combination is not None:  # what is compared with it is compared on its splits
                self.combine(EARLY_SHARE)
        self._run_trials(self.patience * FIRST_TRIAL, now + (self.deadline - now) / 2)
        self._score(0, FIRST_SHARE)
        self._run_trials(self.patience, (time.monotonic() + self.deadline) / 2)
        for repeat in range(self.repeats):
            names = self._affordable(repeat) if repeat else None
            if names is not None and len(names) < 2:
                break
            self._score(repeat, names=names)
            self._announce(repeat + 1)
        self._announce(self.repeats)

    def _early_repeats(self) -> None:
        """Some more repeats of what is cheap among the first, so that a small budget has more than one."""
        end = time.monotonic() + EARLY_SHARE * (self.deadline - time.monotonic())
        for repeat in range(1, min(self.repeats, EARLY)):
            able = [one for one in self.finished() if one.complete_repeats(self.cv) >= repeat]
            left, chosen = (end - time.monotonic()) / (EARLY - repeat), []
            for one in sorted(able, key=lambda one: one.cost or 0.0):
                left -= self._need(one, self.cv)
                if left > 0 and one is not self.combination:
                    chosen.append(one.name)
            if len(chosen) < 2:
                return
            self._score(repeat, names=chosen)

    def _announce(self, most: int) -> None:
        """Tell of each repeat that has come to its end, up to one of them."""
        while self._announced < min(self.rounds(), most):
            self._announced += 1
            self.ended(self._announced, self.repeats)

    def ensure_one(self, deadline: float) -> None:
        """The baseline and at least one method, beyond the deadline if need be: the quickest first.

        Those that are quick on any table may take as long as they need, others until the later deadline.
        """
        if self._answered():
            return
        before = self.deadline
        able = [one for one in self.methods.values() if one.name != BASELINE and _only_late(one)]
        able.sort(key=lambda one: (one.name not in QUICK, one.cost is None, one.cost or 0.0))
        for one in [self.methods[BASELINE], *able]:
            one.dropped, one.tune = None, False
            self.deadline = math.inf if one.name in (BASELINE, *QUICK) else deadline
            if not one.tried:
                self._run_trials(self.patience, self.deadline, [one.name])
            given = [self._task(one, 0, fold) for fold in range(self.cv) if (0, fold) not in one.results]
            if one.dropped is None:
                for outcome in self.pool.run(given, self.deadline, self._begun):
                    self._record(outcome)
            if self._answered():
                break
        self.deadline = before

    def _answered(self) -> bool:
        names = {one.name for one in self.finished()}
        return BASELINE in names and len(names) > 1

    def combine(self, share: float = 1.0) -> None:
        """The combination on the splits that all have, as far as a share of the remaining time allows.

        It gets as many of its candidates as there is time for when it begins, and keeps them.
        """
        left = share * (self.deadline - time.monotonic())
        if self.combination is None:
            self._combined = self._affordable_candidates(left)
            if len(self._combined) < 2:
                return
            self.combination = MethodProgress(COMBINATION, tried=True)
            self.combination.cost = self._combination_cost(self._combined) * self.jobs / self.cv
        one, rounds = self.combination, self.rounds()
        afford = one.complete_repeats(self.cv) + int(left / max(self._need(one, self.cv), 1e-9) + 1e-6)
        tasks = (
            WorkerTask(
                "combine", {**self._members_of(repeat, fold), "repeat": repeat, "fold": fold}, COMBINATION
            )
            for repeat in range(min(rounds, afford))
            for fold in range(self.cv)
            if (repeat, fold) not in one.results
        )
        try:
            for outcome in self.pool.run(tasks, self.deadline, self._begun):
                self._record(outcome)
        finally:
            self._describe_combination()

    def _describe_combination(self) -> None:
        """What the combination is made of on all rows; without a complete repeat there is none."""
        one = self.combination
        if one is None or one.dropped is not None or not one.complete_repeats(self.cv):
            self.combination = None  # it is no method that was left out
            return
        weights = members_on_all_rows(np.array([r["weights"] for r in one.complete_results(self.cv)]))
        one.members = []
        for k, weight in weights.items():
            name, extra = self._combined[k]
            base = self.methods[name]
            settings = {**base.settings, **extra} if extra else base.usual_settings()
            one.members.append({"name": name, "settings": settings, "weight": weight})
        shares = [f"{label(self._combined[k])} {weight:.0%}" for k, weight in weights.items()]
        one.settings = {"of": ", ".join(shares), "among": ", ".join(map(label, self._combined))}

    def _members_of(self, repeat: int, fold: int) -> dict[str, list[Candidate]]:
        """The candidates on one split: of a method whose settings were searched inside it, with those found."""
        found: list[Candidate] = []
        for name, extra in self._combined:
            one = self.methods[name]
            chosen = one.results.get((repeat, fold), {}).get("chosen", one.settings)
            found.append((name, {**one.settings, **extra} if extra else chosen))
        return {"candidates": found}

    def _affordable_candidates(self, left: float) -> list[Candidate]:
        """The first of the candidates that one repeat fits into the time with."""
        done = {one.name for one in self.finished()}
        chosen: list[Candidate] = []
        for candidate in self.candidates:
            if candidate[0] in done and self._combination_cost([*chosen, candidate]) <= left:
                chosen.append(candidate)
        return chosen

    def _combination_cost(self, candidates: list[Candidate]) -> float:
        """Seconds that a repeat of the combination takes: the choice among the candidates, and the fits of some."""
        costs = sorted(
            (effort(extra) * (self.methods[name].plain_cost or 0.0) for name, extra in candidates),
            reverse=True,
        )
        return (fits(1, self.rows) * sum(costs) + sum(costs[:FIRST])) * self.cv / self.jobs

    def finished(self) -> list[MethodProgress]:
        """Methods, and the combination, with at least one complete repeat."""
        able = [*self.methods.values(), *([self.combination] if self.combination else [])]
        return [one for one in able if one.dropped is None and one.complete_repeats(self.cv)]

    def rounds(self) -> int:
        """The number of repeats that the baseline and some method have completed."""
        done = sorted((one.complete_repeats(self.cv) for one in self.finished()), reverse=True)
        return min(self.methods[BASELINE].complete_repeats(self.cv), done[1]) if len(done) > 1 else 0

    def left_out(self) -> dict[str, str]:
        """Methods that are not on the leaderboard, and why."""
        reasons = {}
        for one in self.methods.values():
            if one.dropped is not None:
                reasons[one.name] = one.dropped
            elif not one.complete_repeats(self.cv):
                n = len(one.results)
                reasons[one.name] = (
                    Message("the time was up after {n} of {cv} folds", n=n, cv=self.cv)
                    if n
                    else Message("the time was up before its turn")
                )
        return reasons

    def _run_trials(self, patience: float, deadline: float, names: list[str] | None = None) -> None:
        # Of few rows a split is as quick as a trial fit of a method that is known to be quick.
        timed = {} if names is None or not 0 < self.rows <= FEW_ROWS else {"timed": False}
        trials = (
            WorkerTask("trial", {"name": one.name, **timed}, one.name, patience)
            for one in self.methods.values()
            if not one.tried and one.dropped is None and (names is None or one.name in names)
        )
        for outcome in self.pool.run(trials, deadline, self._begun):
            one = self.methods[outcome.task.label]
            one.tried = not outcome.lost or patience >= self.patience
            if outcome.value is not None:
                one.cost = one.plain_cost = outcome.value["cost"]
                one.settings = outcome.value["settings"]
                searched = outcome.value.get("searched", 0) if self.tune else 0
                one.tune = searched > 0
                if one.tune and one.cost is not None:
                    one.cost *= 2 + fits(searched + 1)
                self.busy.append(outcome.value["busy"])
            elif not outcome.lost:  # one that was cut off is tried again
                one.dropped = outcome.error

    def _by_cost(self) -> list[MethodProgress]:
        """Methods still in the running, cheapest first, those of unknown cost last."""
        able = [one for one in self.methods.values() if one.dropped is None and one.tried]
        return sorted(able, key=lambda one: (one.cost is None, one.cost))

    def _score(self, repeat: int, share: float = 1.0, names: list[str] | None = None) -> None:
        for outcome in self.pool.run(self._missing_folds(repeat, share, names), self.deadline, self._begun):
            self._record(outcome)

    def _missing_folds(self, repeat: int, share: float, names: list[str] | None) -> Iterator[WorkerTask]:
        """Tasks for the missing folds of a repeat, of methods that need at most a share of the remaining time; of
        some methods in their order, or of all, cheapest first.

        While the first split of a method is running, which may compile for long, other processes go on with the
        next methods.
        """
        begun: list[tuple[MethodProgress, list[int]]] = []  # with the folds that wait for the first
        known = [self.methods[name] for name in names or [] if self.methods[name].tried]
        for one in known or self._by_cost():
            yield from self._released(begun, repeat)
            if one.dropped is not None or (repeat and not one.complete_repeats(self.cv)):
                continue
            folds = [fold for fold in range(self.cv) if (repeat, fold) not in one.results]
            left = self.deadline - time.monotonic()
            need = self._need(one, len(folds))
            if repeat == 0 and need > left and one.tune and not one.results:
                one.tune, one.cost = False, one.plain_cost  # the search is what there is no time for
                need = self._need(one, len(folds))
            if repeat == 0 and share * left < need <= left:
                continue
            if repeat == 0 and need > left:
                one.dropped = TooLong(
                    "would take about {need:.1f} s, and {left:.1f} s were left", need=need, left=left
                )
            if folds and one.dropped is None:
                begun.append((one, folds[1:]))
                yield self._task(one, repeat, folds[0])
        while begun:
            yield from self._released(begun, repeat, wait=False)

    def _released(
        self, begun: list[tuple[MethodProgress, list[int]]], repeat: int, wait: bool = True
    ) -> Iterator[WorkerTask]:
        """The other folds of methods that have a result, or of the first of all if there is nothing to wait for."""
        for one, folds in [(one, folds) for one, folds in begun if one.results] or begun[: not wait]:
            begun[:] = [other for other in begun if other[0] is not one]
            for fold in folds:
                if one.dropped is None:
                    yield self._task(one, repeat, fold)

    def _need(self, one: MethodProgress, folds: int) -> float:
        return (one.cost or 0.0) * folds / self.jobs

    def _task(self, one: MethodProgress, repeat: int, fold: int) -> WorkerTask:
        given = {"name": one.name, "settings": one.settings, "repeat": repeat, "fold": fold}
        return WorkerTask("score", {**given, "tune": True} if one.tune else given, one.name)

    def _affordable(self, repeat: int) -> list[str]:
        """Methods that one more repeat is for: all that the previous one was for, or the leaders and the cheapest
        of them that fit into this repeat's share of the remaining time."""
        able = [one for one in self._by_cost() if one.complete_repeats(self.cv) >= repeat]
        left = self.deadline - time.monotonic()
        if self.candidates and repeat == 1:
            once = self._need(self.combination, self.cv) if self.combination else 0.0
            once = once or self._combination_cost(self._affordable_candidates(left / 2))
            self._reserve = min(once * SEVERAL, max(COMBINATION_SHARE * left, min(once, left / 2)))
        left -= self._reserve
        share = left / max(1, min(self.repeats, SEVERAL) - repeat)
        chosen, need = [], 0.0
        for one in sorted(able, key=lambda one: one.name not in self.leaders):
            if need + self._need(one, self.cv) < share:
                need += self._need(one, self.cv)
                chosen.append(one)
        return [one.name for one in able if one in chosen]

    def _begun(self, task: WorkerTask) -> None:
        running = [one for one in self.methods.values() if one.dropped is None]
        self.progress(self._done, len(running) * self.cv * self.repeats, task.label)

    def _record(self, outcome: TaskResult) -> None:
        one = self.methods.get(outcome.task.label) or self.combination
        assert one is not None
        given = outcome.task.arguments
        if outcome.value is not None:
            one.results[given["repeat"], given["fold"]] = outcome.value
            self.busy.append(outcome.value["busy"])
            one.cost = one.measured_cost()
            if not one.tune:
                one.plain_cost = one.cost
            self._done += 1
        elif not outcome.lost or (given["repeat"] == 0 and time.monotonic() < self.deadline):
            one.dropped = outcome.error


class TooLong(Message):
    """Why a method was left out that only time was missing for."""


def _only_late(one: MethodProgress) -> bool:
    return one.dropped is None or isinstance(one.dropped, TooLong)
