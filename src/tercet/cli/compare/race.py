"""Cross-validation of many methods under one budget: cheapest first, then round after round."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tercet.cli.compare.baseline import BASELINE
from tercet.cli.compare.crew import Crew, Job, Outcome
from tercet.core.messages import Message

SHORT = 0.2  # of the patience with a trial, at first
SHARE = 0.2  # of the time that is left, for one method's folds, at first


@dataclass
class Contestant:
    """One method in the race, with what it has come to so far."""

    name: str
    tried: bool = False
    cost: float | None = None  # seconds of one split, as far as is known
    settings: dict[str, Any] = field(default_factory=dict)
    results: dict[tuple[int, int], dict[str, Any]] = field(default_factory=dict)
    dropped: str | None = None  # why it is not on the board

    def turns(self, cv: int) -> int:
        """Rounds that are complete."""
        t = 0
        while all((t, fold) in self.results for fold in range(cv)):
            t += 1
        return t

    def scores(self, metric: str, cv: int, turns: int) -> np.ndarray:
        """A measure on every split of the first rounds."""
        return np.array(
            [
                self.results[t, fold]["measures"].get(metric, np.nan)
                for t in range(turns)
                for fold in range(cv)
            ]
        )

    def median(self, key: str) -> float | None:
        """A time over all splits; the median, because the first fit of a kind loads its kernels."""
        values = [r[key] for r in self.results.values() if r[key] is not None]
        return float(np.median(values)) if values else None


class Race:
    """Runs the contestants and keeps what they come to.

    All finish a round or none: means over different splits cannot be compared.

    Parameters
    ----------
    crew : Crew
        Who does the work.
    names : list of str
        The methods; the baseline joins by itself.
    cv, repeats : int
        Folds, and rounds of them.
    deadline : float
        When to stop, on `time.monotonic`.
    patience : float
        Seconds for the trial fits of one method.
    progress : callable
        Told (done, total, label) as work goes on.
    ended : callable
        Told (round, rounds) at the end of each.
    """

    def __init__(
        self,
        crew: Crew,
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
        self.crew, self.cv, self.repeats, self.jobs = crew, cv, repeats, jobs
        self.deadline, self.patience = deadline, patience
        self.progress, self.ended = progress, ended
        self.contestants = {name: Contestant(name) for name in [BASELINE, *names]}
        self.busy: list[tuple[float, float]] = []  # when fits were running
        self._done = 0

    def run(self) -> None:
        """Trial fits, then round after round; can be called again with a later deadline.

        Among many methods there are some whose trial alone takes long: they wait until the cheap ones have had
        their first round.
        """
        now = time.monotonic()
        self._probe(self.patience * SHORT, now + (self.deadline - now) / 2)
        self._score(0, SHARE)
        self._probe(self.patience, self.deadline)
        for turn in range(self.repeats):
            if turn and not self._affordable():
                break
            self._score(turn)
            if self.rounds() > turn:
                self.ended(turn + 1, self.repeats)

    def finished(self) -> list[Contestant]:
        """Who has at least one round."""
        return [one for one in self.contestants.values() if one.dropped is None and one.turns(self.cv)]

    def rounds(self) -> int:
        """The rounds that all of them have."""
        return min((one.turns(self.cv) for one in self.finished()), default=0)

    def left_out(self) -> dict[str, str]:
        """Who is not on the board, and why."""
        reasons = {}
        for one in self.contestants.values():
            if one.dropped is not None:
                reasons[one.name] = one.dropped
            elif not one.turns(self.cv):
                n = len(one.results)
                template = (
                    "the time was up after {n} of {cv} folds" if n else "the time was up before its turn"
                )
                reasons[one.name] = Message(template, n=n, cv=self.cv) if n else Message(template)
        return reasons

    def _probe(self, patience: float, deadline: float) -> None:
        trials = (
            Job("probe", {"name": one.name}, one.name, patience)
            for one in self.contestants.values()
            if not one.tried
        )
        for outcome in self.crew.run(trials, deadline, self._begun):
            one = self.contestants[outcome.job.label]
            one.tried = not outcome.lost or patience >= self.patience
            if outcome.value is not None:
                one.cost, one.settings = outcome.value["cost"], outcome.value["settings"]
                self.busy.append(outcome.value["busy"])
            elif not outcome.lost:  # a trial that was cut off tells nothing yet
                one.dropped = outcome.error

    def _runners(self) -> list[Contestant]:
        """Who is in the race, cheapest first; those whose cost is not known come last."""
        able = [one for one in self.contestants.values() if one.dropped is None and one.tried]
        return sorted(able, key=lambda one: (one.cost is None, one.cost))

    def _score(self, turn: int, share: float = 1.0) -> None:
        for outcome in self.crew.run(self._round(turn, share), self.deadline, self._begun):
            self._take(outcome)

    def _round(self, turn: int, share: float) -> Iterator[Job]:
        """The folds of a round that are still to be done, of the methods that take no more than a share of the time
        that is left."""
        for one in self._runners():
            if turn and not one.turns(self.cv):
                continue
            folds = [fold for fold in range(self.cv) if (turn, fold) not in one.results]
            need, left = (one.cost or 0.0) * len(folds) / self.jobs, self.deadline - time.monotonic()
            if turn == 0 and share * left < need <= left:
                continue
            if turn == 0 and need > left:
                one.dropped = Message(
                    "would take about {need:.1f} s, and {left:.1f} s were left", need=need, left=left
                )
            for fold in folds:
                if one.dropped is None:
                    given = {"name": one.name, "settings": one.settings, "turn": turn, "fold": fold}
                    yield Job("score", given, one.name)

    def _affordable(self) -> bool:
        """Whether one more round of all of them fits into the time that is left."""
        need = sum((one.cost or 0.0) * self.cv for one in self.finished()) / self.jobs
        return bool(self.finished()) and need < self.deadline - time.monotonic()

    def _begun(self, job: Job) -> None:
        running = [one for one in self.contestants.values() if one.dropped is None]
        self.progress(self._done, len(running) * self.cv * self.repeats, job.label)

    def _take(self, outcome: Outcome) -> None:
        one = self.contestants[outcome.job.label]
        given = outcome.job.arguments
        if outcome.value is not None:
            one.results[given["turn"], given["fold"]] = outcome.value
            self.busy.append(outcome.value["busy"])
            # What the splits really take is a better guide for the next rounds than the trial.
            one.cost = (one.median("fit_time") or 0.0) + (one.median("predict_time") or 0.0)
            self._done += 1
        elif not outcome.lost or (given["turn"] == 0 and time.monotonic() < self.deadline):
            one.dropped = outcome.error
