"""Cross-validation of many methods under one budget: cheapest first, then round after round."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tercet.cli.compare.baseline import BASELINE
from tercet.cli.compare.crew import Crew, Job, Outcome
from tercet.core.notes import Note


@dataclass
class Contestant:
    """One method in the race, with what it has come to so far."""

    name: str
    cost: float = float("inf")  # seconds of one fit, as the trial fits suggest
    settings: dict[str, Any] = field(default_factory=dict)
    results: dict[tuple[int, int], dict[str, Any]] = field(default_factory=dict)
    dropped: str | None = None  # why it is not on the board

    def turns(self, cv: int) -> int:
        """Rounds that are complete."""
        t = 0
        while all((t, fold) in self.results for fold in range(cv)):
            t += 1
        return t

    def scores(self, metric: str, cv: int) -> np.ndarray:
        """The measure on every split of the complete rounds."""
        return np.array(
            [
                self.results[t, fold]["measures"].get(metric, np.nan)
                for t in range(self.turns(cv))
                for fold in range(cv)
            ]
        )

    def mean(self, key: str) -> float | None:
        """Median of a time over all splits: the first fit of a kind loads its kernels."""
        values = [r[key] for r in self.results.values() if r[key] is not None]
        return float(np.median(values)) if values else None


class Race:
    """Runs the contestants and keeps what they come to.

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
        progress: Callable[[int, int, str], Any] = lambda *_: None,
        ended: Callable[[int, int], Any] = lambda *_: None,
    ) -> None:
        self.crew, self.cv, self.repeats, self.jobs = crew, cv, repeats, jobs
        self.deadline, self.progress, self.ended = deadline, progress, ended
        self.contestants = {name: Contestant(name) for name in [BASELINE, *names]}
        self.busy: list[tuple[float, float]] = []  # when fits were running
        self._done = 0

    def run(self) -> None:
        """Trial fits, then every round; Ctrl-C and the deadline leave what is finished."""
        self._probe()
        for turn in range(self.repeats):
            if time.monotonic() >= self.deadline or not self._runners(turn):
                break
            for outcome in self.crew.run(self._round(turn), self.deadline, self._begun):
                self._take(outcome)
            self.ended(turn + 1, self.repeats)
        for one in self.contestants.values():
            if one.dropped is None and one.turns(self.cv) == 0:
                one.dropped = Note("the time was up after {n} of {cv} folds", n=len(one.results), cv=self.cv)

    def _probe(self) -> None:
        trials = (Job("probe", {"name": name}, name) for name in self.contestants)
        for outcome in self.crew.run(trials, self.deadline, self._begun):
            one = self.contestants[outcome.job.label]
            if outcome.error is not None:
                one.dropped = outcome.error
                continue
            one.cost, one.settings = outcome.value["cost"], outcome.value["settings"]
            self.busy.append(outcome.value["busy"])
        for one in self.contestants.values():
            if one.dropped is None and one.cost == float("inf"):
                one.dropped = Note("the time was up before its turn")

    def _runners(self, turn: int) -> list[Contestant]:
        """Who takes part in a round, cheapest first: all that finished the round before."""
        able = [one for one in self.contestants.values() if one.dropped is None]
        able = [one for one in able if one.turns(self.cv) >= turn]
        return sorted(able, key=lambda one: (one.name != BASELINE, one.cost))

    def _round(self, turn: int) -> Iterator[Job]:
        for one in self._runners(turn):
            left = self.deadline - time.monotonic()
            if one.cost * self.cv / self.jobs > left:
                if turn == 0:
                    one.dropped = Note(
                        "would take about {need:.1f} s, and {left:.1f} s were left",
                        need=one.cost * self.cv / self.jobs,
                        left=left,
                    )
                continue
            for fold in range(self.cv):
                if one.dropped is None:
                    given = {"name": one.name, "settings": one.settings, "turn": turn, "fold": fold}
                    yield Job("score", given, one.name)

    def _begun(self, job: Job) -> None:
        running = [one for one in self.contestants.values() if one.dropped is None]
        self.progress(self._done, len(running) * self.cv * self.repeats, job.label)

    def _take(self, outcome: Outcome) -> None:
        one = self.contestants[outcome.job.label]
        given = outcome.job.arguments
        if outcome.value is not None:
            one.results[given["turn"], given["fold"]] = outcome.value
            self.busy.append(outcome.value["busy"])
            # What the fits really take is a better guide for the next rounds than the trial.
            one.cost = one.mean("fit_time") or one.cost
            self._done += 1
        elif given["turn"] == 0:
            one.dropped = outcome.error
