"""What a row of the benchmark is, and how its contenders are timed.

Every contender lives in a fresh process of its own, which imports its library, fits the row's smoke data (so
that what it loads only once, compiled code above all, is there), loads the row's data and then waits for its
turn. The parent lets them run by turns and judges what they return: a contender never reports its own quality.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.store import load, make_data, optimum
from benchmarks.worker import DISTURBED, THREADS, ContenderError, Worker, time_to_first_result, wait_for_quiet

DATA = Path(__file__).parent / "data"
Data = dict[str, Any]
Result = dict[str, Any]


@dataclass(frozen=True)
class Contender:
    """One way to do a row's work.

    ``fit(data)`` returns the learned parameters. ``imports`` are loaded before the clock starts;
    ``prepare(data)`` brings the data into the form the library wants, also before the clock. ``once`` is
    for the very slow: no warm-up, a single run. ``note`` is what the table must say about it.
    """

    fit: Callable[[Data], Result]
    imports: tuple[str, ...]
    package: str
    threads: int = THREADS
    prepare: Callable[[Data], Data] | None = None
    once: bool = False
    note: str = ""


@dataclass(frozen=True)
class Row:
    """One piece of work: its data, who does it, and how good is good enough.

    ``data(rng, **sizes[size])`` makes the arrays. ``quality(data, result)`` is a figure to be minimised. With
    ``relative`` it may exceed the best one by ``tolerance`` times that, else zero (a gap, a number of errors)
    by ``tolerance``. The best one is the best peer's or that of ``optimum(data)``, a slow and exact fit made
    once with the data: without it, the laxer the peers are, the less would be asked of anyone. Where contenders
    cannot be asked for the same amount of work, ``amount(data, result)`` is how much one did: times are per unit.
    """

    name: str
    work: str
    sizes: Mapping[str, Mapping[str, Any]]
    data: Callable[..., Data]
    ours: Contender
    peers: Mapping[str, Contender]
    quality: Callable[[Data, Result], float]
    tolerance: float
    figure: str
    relative: bool = True
    optimum: Callable[[Data], Result] | None = None
    amount: Callable[[Data, Result], float] | None = None


@dataclass
class Score:
    """What one contender did: medians over its runs, and the worst quality of them."""

    contender: str
    version: str = ""
    threads: int = THREADS
    runs: int = 0
    wall: float | None = None
    cpu: float | None = None
    memory: float | None = None
    others: float | None = None
    quality: float | None = None
    excess: float | None = None
    meets: bool = False
    first: float | None = None
    note: str = ""
    problem: str = ""


@dataclass
class Outcome:
    """A row's scores, ours first, with the ratio that the summary shows."""

    row: str
    size: str
    work: str
    figure: str
    tolerance: float
    scores: list[Score] = field(default_factory=list)
    ratio: float | None = None
    against: str = ""
    growth: dict[str, Any] | None = None  # exponents, see `benchmarks.growth`


@dataclass
class Figure:
    """One reported number; `target` is the most it should be."""

    name: str
    value: float | None
    unit: str
    target: float | None = None
    problem: str = ""


@dataclass(frozen=True)
class Report:
    """Numbers about the library that no peer competes for: ``measure(size, rounds)`` gives its figures."""

    name: str
    work: str
    measure: Callable[[str, int], list[Figure]]
    packages: tuple[str, ...] = ("tercet",)


def run_row(
    row: Row,
    size: str = "full",
    rounds: int = 3,
    folder: Path = DATA,
    limit: float = 3600,
    start: str = "spawn",
    time_first: bool = True,
) -> Outcome:
    """Run ours and every peer by turns and judge what they return.

    ``start`` is how a contender's process begins: a fresh interpreter each, or, where the figures do not matter,
    ``"forkserver"``, a copy of one that has the common libraries imported. ``time_first`` adds our time to a first
    result, in one more process.
    """
    where = make_data(row, size, folder)
    small = None if size == "smoke" else make_data(row, "smoke", folder)
    data = load(where)
    everyone = {"tercet": row.ours, **row.peers}
    workers: dict[str, Worker] = {}
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in everyone}
    problems: dict[str, str] = {}
    pause, patience, attempts = (0.3, 60.0, 4) if size == "full" else (0.0, 0.0, 1)

    def turn(name: str) -> None:
        if name in problems:
            return
        try:
            for _ in range(1 if everyone[name].once else attempts):
                wait_for_quiet(pause, patience)
                run, result = workers[name].run(limit)
                if not run["others"] > DISTURBED:
                    break
            run["quality"] = float(row.quality(data, result))
            if row.amount is not None:
                done = float(row.amount(data, result))
                run["wall"], run["cpu"] = run["wall"] / done, run["cpu"] / done
            runs[name].append(run)
        except ContenderError as error:
            problems[name] = str(error)

    try:
        for name, contender in everyone.items():
            try:
                workers[name] = Worker(contender, where, limit, start, small)
            except ContenderError as error:
                problems[name] = str(error)
        for index in range(rounds):
            alive = [name for name, peer in row.peers.items() if index == 0 or not peer.once]
            for name in alive or [""]:
                turn("tercet")
                if name:
                    turn(name)
        first = None
        if time_first and "tercet" not in problems:
            wait_for_quiet(pause, patience)
            first = time_to_first_result(row.ours, where, limit, start)
    finally:
        for worker in workers.values():
            worker.close()
    scores = [summarise(name, everyone[name], runs[name], problems.get(name, "")) for name in everyone]
    scores[0].first = first
    outcome = Outcome(row.name, size, row.work.format(**row.sizes[size]), row.figure, row.tolerance, scores)
    judge(outcome, row.relative, optimum(where))
    return outcome


def summarise(name: str, contender: Contender, runs: list[dict[str, float]], problem: str) -> Score:
    score = Score(name, version(contender.package), contender.threads, len(runs), problem=problem)
    score.note = "; ".join(filter(None, [contender.note, "one run, no warm-up" if contender.once else ""]))
    if runs:
        score.wall = statistics.median(run["wall"] for run in runs)
        score.cpu = statistics.median(run["cpu"] for run in runs)
        score.memory = max(run["memory"] for run in runs)
        score.others = statistics.median(run["others"] for run in runs)
        score.quality = max(run["quality"] for run in runs)
    return score


def judge(outcome: Outcome, relative: bool, optimum: float | None = None) -> None:
    """Mark who meets the quality and take the ratio to the fastest peer that does."""
    ours, *peers = outcome.scores
    ran = [peer for peer in peers if peer.wall is not None and not peer.problem]
    figures = [score.quality for score in ran or [ours]] + [optimum]
    best = min((figure for figure in figures if figure is not None and np.isfinite(figure)), default=0.0)
    for score in outcome.scores:
        if score.quality is not None:
            score.excess = (score.quality - best) / abs(best or 1.0) if relative else score.quality
            score.meets = not score.problem and bool(score.excess <= outcome.tolerance)
    timed = {peer.contender: peer.wall for peer in ran if peer.meets and peer.wall is not None}
    if timed:
        outcome.against = min(timed, key=lambda name: timed[name])
        if ours.meets and ours.wall:
            outcome.ratio = timed[outcome.against] / ours.wall


def version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "-"
