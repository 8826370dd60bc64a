"""`tercet compare`: every suitable method on one table, by cross-validation, within a budget.

The main process reads, schedules and prints, and imports no family; the fits are done by a crew of processes
(`crew`), each of which keeps the data on its `workbench`. The `race` decides who runs when, the `board` what it
means, and `details` takes a closer look at the best for the report.
"""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tercet.cli import errors, say, words
from tercet.cli.catalogue import find
from tercet.cli.compare import crew as crews
from tercet.cli.compare import show
from tercet.cli.compare.baseline import BASELINE
from tercet.cli.compare.board import leaderboard
from tercet.cli.compare.details import Details, Examiner
from tercet.cli.compare.measures import MEASURES, Measure, suitable
from tercet.cli.compare.race import Race
from tercet.cli.compare.result import add_times, describe, to_json
from tercet.cli.errors import Refusal, refusing
from tercet.cli.files import check_writable, whole
from tercet.cli.tables import open_table
from tercet.cli.words import tr
from tercet.core.catalog import Card, methods
from tercet.core.memory import available

TASKS = ("auto", "classification", "regression", "clustering")
RACE, LOOK = (
    0.72,
    0.88,
)  # shares of the budget by which the race and the closer look end, if there is a report
ROUNDS = ((1_000, 10), (10_000, 3))  # rows -> rounds of cross-validation: small tables need more


@dataclass(frozen=True)
class Request:
    """What was asked for: the options of the command."""

    data: str | None = None
    target: str | None = None
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
        table = open_table(request.data, rows=request.rows, seed=request.seed)
        context = crews.start_server()  # imports the families while we look at the table
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
        deadline = begin + request.budget * (RACE if request.report else 0.97)
        race = Race(crew, list(cards), deadline=deadline, ended=show.round_ended, **plan)
        try:
            for outcome in crew.run([crews.Job("describe")], deadline):
                result["preprocessing"] = [tr(note) for note in outcome.value or []]
            with show.progress(tr("cross-validation")) as race.progress:
                race.run()
        except KeyboardInterrupt:
            result["interrupted"] = True
        result["leaderboard"] = leaderboard(
            list(race.contestants.values()), cards, measure, cv=request.cv, rows=rows
        )
        result["skipped"] = [
            {"name": one.name, "zh": cards[one.name].zh, "why": tr(one.dropped)}
            for one in race.contestants.values()
            if one.dropped is not None and one.name != BASELINE
        ]
        add_times(result, race.busy, begin)
        if request.report and _real(result) and not result["interrupted"]:
            try:
                page = _report(crew, result, schema, records, y, race.busy, begin, request)
            except KeyboardInterrupt:
                result["interrupted"] = True
    return _finish(request, result, page, begin)


def _check(request: Request) -> list[Card]:
    """Refuse what cannot end well before any work is done; returns the methods that were named."""
    if request.task not in TASKS:
        raise Refusal(
            tr("--task {value}: allowed are {allowed}", value=request.task, allowed=", ".join(TASKS)),
            errors.USAGE,
        )
    for path in (request.report, request.json):
        if path is not None and str(path) != "-":
            check_writable(path)
    return [find(name, estimator=True) for name in request.methods]


def _look(request: Request, table: Any) -> tuple[Any, Any, Any]:
    """What the columns are, the features and the target, without the rows that lack one."""
    from tercet.feature import look

    schema = look(table, request.target, request.task)
    records, y = schema.cook(table), None
    if schema.target is not None:
        y, known = schema.cook_target(table)
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
    crew: crews.Crew,
    result: dict[str, Any],
    schema: Any,
    records: Any,
    y: Any,
    busy: list[tuple[float, float]],
    begin: float,
    request: Request,
) -> str:
    """The report's page, with as close a look at the best methods as the budget allows."""
    examiner = Examiner(
        crew,
        _real(result),
        schema.task,
        request.cv,
        len(records),
        y,
        None if schema.classes is None else list(schema.classes),
        list(records.names),
        [column.name for column in schema.columns if column.used and column.kind == "numeric"],
        begin + request.budget * LOOK,
    )
    with show.progress(tr("a closer look")) as examiner.progress:
        details = examiner.look()
    add_times(result, busy + examiner.busy, begin)
    job = crews.Job("render", {"result": result, "details": details, "language": words.language()})
    for outcome in crew.run([job], time.monotonic() + 60.0):
        if outcome.error is not None:
            raise Refusal(tr("the report could not be made: {why}", why=tr(outcome.error)), errors.UNEXPECTED)
        return outcome.value
    raise AssertionError("the crew answers every job")


def _finish(request: Request, result: dict[str, Any], page: str | None, begin: float) -> int:
    """Print and write what there is."""
    if not _real(result) and not result["interrupted"]:
        why = "; ".join(f"{one['name']}: {one['why']}" for one in result["skipped"][:3])
        raise Refusal(
            tr("no method was finished in {budget:g} s ({why})", budget=request.budget, why=why),
            errors.NOTHING_DONE,
        )
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
    return chosen or [card for card in methods(task=task) if card.kind == "estimator"]


def _processes(size: int) -> int:
    """One process a core, or as many as there is memory for: each has the data, and encodes it once or twice."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    room = int(available() // (6 * size + (200 << 20)))
    if room < cores:
        say.remark("memory is short: {n} processes instead of {cores}", n=max(1, room), cores=cores)
    return max(1, min(cores, room))
