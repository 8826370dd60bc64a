"""`tercet compare`: every suitable method on one table, by cross-validation, within a budget.

The main process reads, schedules and prints, and imports no family; the fits are done by a crew of processes
(`crew`), each of which keeps the data on its `workbench`. The `race` decides who runs when, the `board` what it
means, and `details` takes a closer look at the best for the report.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tercet.cli import errors, say, words
from tercet.cli.catalogue import find
from tercet.cli.compare import crew as crews
from tercet.cli.compare import show
from tercet.cli.compare.details import Details, Examiner
from tercet.cli.compare.race import Race
from tercet.cli.compare.result import add_times, describe, gather, to_json
from tercet.cli.embedded import is_embedded
from tercet.cli.errors import Refusal, refusing
from tercet.cli.files import check_writable, whole
from tercet.cli.measures import MEASURES, Measure, suitable
from tercet.cli.tables import open_table
from tercet.cli.words import tr
from tercet.core.catalog import Card, methods
from tercet.core.memory import available

TASKS = ("auto", "classification", "regression", "clustering")
# Shares of the budget by which the race ends, with a report and without, and the closer look.
RACE, SPARE, LOOK = 0.72, 0.95, 0.88
ROUNDS = ((1_000, 10), (10_000, 3))  # rows -> rounds of cross-validation: small tables need more
# Families whose trials take longest: what is cheap shall not have to wait for them.
LAST = ("svm", "kernel_machines")


@dataclass(frozen=True)
class Request:
    """What was asked for: the options of the command."""

    data: str | None = None
    target: str | None = None
    kinds: dict[str, str] = field(default_factory=dict)
    drop: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    task: str = "auto"
    metric: str | None = None
    cv: int = 5
    repeats: int | None = None
    seed: int = 0
    budget: float = 50.0
    jobs: int | None = None
    rows: int | None = None
    report: Path | None = None
    json: Path | None = None


def run(request: Request) -> int:
    """Compare, print, write; returns the exit code."""
    begin = say.started
    chosen = _check(request)
    with refusing():
        # The server imports the families while we look at the table; not before a file was opened, because
        # that may be all there is to do.
        context = crews.start_server() if is_embedded(request.data) else None
        table = open_table(request.data, rows=request.rows, seed=request.seed)
        context = context or crews.start_server()
        schema, records, y = _look(request, table)
    rows = len(records)
    measure = _measure(request.metric, schema.task, labelled=y is not None)
    cards = {card.name: card for card in _candidates(schema.task, chosen)}
    plan: dict[str, Any] = {
        "cv": request.cv,
        "repeats": request.repeats or next((r for most, r in ROUNDS if rows <= most), 1),
        "jobs": request.jobs or _processes(records.nbytes),
    }
    result = {
        **describe(table, schema, y, rows, measure),
        **plan,
        "seed": request.seed,
        "budget": request.budget,
    }
    result["time"]["reading"] = time.monotonic() - begin
    if not say.quiet:
        show.table_of_columns(result)

    bench = {"records": records, "y": y, "schema": schema, "task": schema.task, "metric": measure.name}
    page: str | None = None
    with crews.Crew(context, plan["jobs"], {**bench, "cv": request.cv, "seed": request.seed}) as crew:
        end = begin + request.budget
        deadline = begin + request.budget * (RACE if request.report else SPARE)
        race = Race(
            crew, list(cards), deadline=deadline, patience=request.budget / 4, ended=show.round_ended, **plan
        )
        try:
            for outcome in crew.run([crews.Job("describe")], deadline):
                result["preprocessing"] = [tr(note) for note in outcome.value or []]
            with show.progress(tr("cross-validation")) as race.progress:
                race.run()
                if len(race.finished()) < 2 and request.report:  # rather a result than its pictures
                    race.deadline = begin + request.budget * SPARE
                    race.run()
        except KeyboardInterrupt:
            result["interrupted"] = True
        gather(result, race, cards, measure)
        add_times(result, race.busy, begin)
        if request.report and _real(result) and not result["interrupted"]:
            examiner = Examiner(
                crew=crew,
                entries=_real(result),
                task=schema.task,
                cv=request.cv,
                rows=rows,
                y=y,
                classes=None if schema.classes is None else list(schema.classes),
                columns=list(records.names),
                numeric=[
                    column.name for column in schema.columns if column.used and column.kind == "numeric"
                ],
                deadline=begin + request.budget * LOOK,
            )
            try:
                page = _report(examiner, result, race.busy, begin, end)
            except KeyboardInterrupt:
                result["interrupted"] = True
    with _undisturbed():
        return _finish(request, result, page, begin)


def _check(request: Request) -> list[Card]:
    """Refuse what cannot end well before any work is done; returns the methods that were named."""
    if request.task not in TASKS:
        raise Refusal(
            tr("--task {value}: allowed are {allowed}", value=request.task, allowed=", ".join(TASKS)),
            errors.USAGE,
        )
    if request.report is not None and request.report == request.json:
        raise Refusal(tr("--report and --json name the same file, {path}", path=request.report), errors.USAGE)
    for path in (request.report, request.json):
        if path is not None and str(path) != "-":
            check_writable(path, request.data)
    return [find(name, estimator=True) for name in request.methods]


def _look(request: Request, table: Any) -> tuple[Any, Any, Any]:
    """What the columns are, the features and the target, without the rows that lack one."""
    from tercet.feature import infer_schema

    schema = infer_schema(table, request.target, request.task, request.kinds, request.drop)
    records, y = schema.to_records(table), None
    if schema.target is not None:
        y, known = schema.to_target(table)
        if not known.all():
            records, y = records.take(known.nonzero()[0]), y[known]
    if len(records) < 2 * request.cv:
        raise Refusal(
            tr(
                "{n} rows are too few for --cv {cv}: at least {least} are needed",
                n=len(records),
                cv=request.cv,
                least=2 * request.cv,
            )
        )
    return schema, records, y


def _report(
    examiner: Examiner, result: dict[str, Any], busy: list[tuple[float, float]], begin: float, end: float
) -> str | None:
    """The report's page, with as close a look at the best methods as the budget allows."""
    with show.progress(tr("a closer look")) as examiner.progress:
        details = examiner.look()
    add_times(result, busy + examiner.busy, begin)
    job = crews.Job("render", {"result": result, "details": details, "language": words.language()})
    for outcome in examiner.crew.run([job], max(end, time.monotonic() + 20.0)):
        if outcome.error is not None:
            raise Refusal(tr("the report could not be made: {why}", why=tr(outcome.error)), errors.UNEXPECTED)
        return outcome.value
    return None


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """What is finished gets written: a second Ctrl-C has to wait for that."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _finish(request: Request, result: dict[str, Any], page: str | None, begin: float) -> int:
    """Print and write what there is."""
    if not _real(result) and not result["interrupted"]:
        raise _nothing(request, result)
    if _real(result) and str(request.json) != "-":
        show.board(result)
    if request.report and _real(result):
        if page is None:  # interrupted: the leaderboard alone
            from tercet.cli.report import render

            page = render(result, Details())
        with whole(request.report) as file:
            file.write_text(page, encoding="utf-8")
        say.remark("Report: {path}", path=request.report.resolve())
    result["time"]["total"] = time.monotonic() - begin
    if str(request.json) == "-":
        sys.stdout.write(to_json(result))
    elif request.json is not None:
        with whole(request.json) as file:
            file.write_text(to_json(result), encoding="utf-8")
    say.remark(
        "{total:.1f} s, of which fits were running for {busy:.1f} s; seed {seed}.",
        total=result["time"]["total"],
        busy=result["time"]["in_fits"],
        seed=request.seed,
    )
    if result["interrupted"]:
        raise Refusal(tr("interrupted; what was finished is kept"), errors.INTERRUPTED)
    if not request.report:
        say.remark("--report report.html draws pictures.")
    return 0


def _nothing(request: Request, result: dict[str, Any]) -> Refusal:
    """Why there is no leaderboard."""
    why = "; ".join(f"{one['name']}: {one['why']}" for one in result["skipped"][:3])
    if result["time"]["total"] < 0.7 * request.budget:
        return Refusal(tr("no method can be used here ({why})", why=why), errors.NOTHING_DONE)
    hint = tr("--budget gives more, --rows takes a part of the table")
    return Refusal(
        tr(
            "no method was finished in {budget:g} s ({why}); {hint}",
            budget=request.budget,
            why=why,
            hint=hint,
        ),
        errors.NOTHING_DONE,
    )


def _real(result: dict[str, Any]) -> list[dict[str, Any]]:
    return [entry for entry in result["leaderboard"] if not entry["baseline"]]


def _measure(name: str | None, task: str, *, labelled: bool) -> Measure:
    allowed = suitable(task, labelled=labelled)
    if name is None:
        return allowed[0]
    if MEASURES.get(name) not in allowed:
        names = ", ".join(measure.name for measure in allowed)
        raise Refusal(
            tr("--metric {name}: for {task} there are {names}", name=name, task=tr(task), names=names),
            errors.USAGE,
        )
    return MEASURES[name]


def _candidates(task: str, chosen: list[Card]) -> list[Card]:
    for card in chosen:
        if card.task != task:
            raise Refusal(
                tr(
                    "{name} is for {its}, and the task is {task}",
                    name=card.name,
                    its=tr(card.task),
                    task=tr(task),
                ),
                errors.USAGE,
            )
    found = [card for card in methods(task=task) if card.kind == "estimator"]
    return chosen or sorted(found, key=lambda card: LAST.index(card.family) if card.family in LAST else -1)


def _processes(size: int) -> int:
    """One process a core, or as many as there is memory for: each has the data, and encodes it once or twice."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    room = int(available() // (6 * size + (200 << 20)))
    if room < cores:
        say.remark("memory is short: {n} of {cores} processes at a time", n=max(1, room), cores=cores)
    return max(1, min(cores, room))
