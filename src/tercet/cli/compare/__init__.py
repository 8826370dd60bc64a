"""`tercet compare`: every suitable method on one table, by cross-validation, within a budget.

The main process reads, schedules (`scheduling`) and prints, and imports no family. A pool of worker processes
(`worker_pool`), each with a copy of the data, runs the fits (`worker_tasks`). `leaderboard` ranks and tests the
scores, and `details` collects what the report shows about the best methods.
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

import numpy as np

from tercet.cli import errors, printing, translation
from tercet.cli.alerts.rounds import few_rounds
from tercet.cli.compare import larger_data, terminal, terminal_advice
from tercet.cli.compare.combination import CANDIDATES, COMBINATION, SAME_AS
from tercet.cli.compare.comparison import Design
from tercet.cli.compare.details import DetailCollector, ReportDetails
from tercet.cli.compare.method_order import in_order, leaders
from tercet.cli.compare.metric_choice import choose_measure, of_which_class, rarest_rows
from tercet.cli.compare.recommendation import method_and_settings, recommend, winner
from tercet.cli.compare.result import add_times, describe, gather, to_json
from tercet.cli.compare.row_structure import RowStructure, read_structure
from tercet.cli.compare.scheduling import Scheduler
from tercet.cli.compare.splits import Splitter
from tercet.cli.compare.table_alerts import add_alerts, find_table_alerts, kept_rows, unused_identifiers
from tercet.cli.compare.worker_pool import WorkerPool, WorkerTask, start_fork_server, stop_fork_server
from tercet.cli.embedded_datasets import is_embedded
from tercet.cli.errors import Refusal, refusing
from tercet.cli.lookup import find
from tercet.cli.method_messages import reword_messages
from tercet.cli.output_files import check_writable, whole
from tercet.cli.tables import open_table
from tercet.cli.translation import tr
from tercet.core.catalog import Card, methods
from tercet.core.memory import available

TASKS = ("auto", "classification", "regression", "clustering")
# Fractions of the budget at which cross-validation ends, with a report and without, and the report's details.
SCORES_WITH_REPORT, SCORES, DETAILS = 0.72, 0.95, 0.88
REPEATS = ((1_000, 10), (10_000, 3))  # rows -> repeats of cross-validation: small tables need more
GRACE = 5.0  # times the budget, and a minute: how long the first method may take when nothing else is done


@dataclass(frozen=True)
class Request:
    """The options of the command."""

    data: str | None = None
    target: str | None = None
    kinds: dict[str, str] = field(default_factory=dict)
    drop: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    task: str = "auto"
    metric: str | None = None
    margin: float | None = None
    group: str | None = None
    time: str | None = None
    tune: bool = False
    cv: int = 5
    repeats: int | None = None
    seed: int = 0
    budget: float = 50.0
    jobs: int | None = None
    rows: int | None = None
    ragged: str = "error"
    report: Path | None = None
    json: Path | None = None


def run(request: Request, begin: float | None = None) -> int:
    """Compare, print, write; returns the exit code.

    The budget counts from `begin`, on `time.monotonic`: for the command when its process began, else now.
    """
    try:
        return _run(request, time.monotonic() if begin is None else begin)
    except BaseException:
        stop_fork_server()
        raise


def _run(request: Request, begin: float) -> int:
    chosen = _check(request)
    context, table, schema, records, y, structure = _read(request)
    offered = list(schema.classes or ()) if request.task == "auto" else []
    measure, why = choose_measure(request.metric, schema.task, y, len(schema.classes or ()), offered)
    why = why or of_which_class(measure, schema.classes or (), y)
    cards = {card.name: card for card in _candidates(schema.task, chosen)}
    plan: dict[str, Any] = {
        "cv": request.cv,
        "repeats": _repeats(request, len(records)),
        "jobs": request.jobs or _processes(records.nbytes),
    }
    design = _design(request, structure, len(records), schema.task, rarest_rows(measure, y))
    about = describe(table, schema, y, len(records), measure)
    result = {**about, **plan, "seed": request.seed, "budget": request.budget}
    result |= {"metric_why": why and tr(why), "split": {"kind": structure.kind, "column": structure.column}}
    result["tuned"] = request.tune
    result |= {"alerts": [], "take": None}
    result["time"]["reading"] = time.monotonic() - begin
    if not printing.quiet:
        terminal.table_of_columns(result)
    data = {"records": records, "y": y, "schema": schema, "task": schema.task, "metric": measure.name}
    data |= {"groups": structure.groups, "times": structure.times}
    page: str | None = None
    with WorkerPool(context, plan["jobs"], {**data, "cv": request.cv, "seed": request.seed}) as pool:
        scheduler = Scheduler(
            pool,
            list(cards),
            leaders=0 if chosen else len(leaders(list(cards.values()))),
            tune=request.tune,
            candidates=() if chosen else CANDIDATES.get(schema.task, ()),
            rows=len(records) - len(records) // request.cv,
            deadline=begin + request.budget * (SCORES_WITH_REPORT if request.report else SCORES),
            patience=request.budget / 4,
            ended=terminal.round_ended,
            **plan,
        )
        unused = unused_identifiers(table, schema)
        result["interrupted"] = _cross_validate(scheduler, result, request, begin, unused)
        alike = {card.name: card for card in methods(task=schema.task)}.get(SAME_AS.get(schema.task, ""))
        named = cards if alike is None else {**cards, COMBINATION: alike}
        gather(result, scheduler, named, measure, design, request.margin)
        reword_messages(result)
        add_times(result, scheduler.busy, begin)
        add_alerts(result, few_rounds(result, scheduler.repeats))
        result["take"] = _recommendation(pool, result, request)
        result["sample"] = larger_data.about_sample(result, request, named)
        if request.report and _methods_ranked(result) and not result["interrupted"]:
            numbers = kept_rows(table, schema) + 1
            collector = _detail_collector(request, pool, result, schema, records, y, begin, numbers)
            try:
                page = _report(collector, result, scheduler.busy, begin, begin + request.budget)
            except KeyboardInterrupt:
                result["interrupted"] = True
    with _interrupts_ignored():
        return _finish(request, result, page, begin)


def _read(request: Request) -> tuple[Any, Any, Any, Any, Any, RowStructure]:
    """The context of the worker processes, the table, its schema, features, target, and what ties its rows."""
    with refusing():
        # The fork server imports the methods while the table is read; not before a file was opened, because
        # the command may end there.
        context = start_fork_server() if is_embedded(request.data) else None
        table = open_table(request.data, rows=request.rows, seed=request.seed, ragged=request.ragged)
        context = context or start_fork_server()
        return context, table, *_features_and_target(request, table)


def _cross_validate(
    scheduler: Scheduler, result: dict[str, Any], request: Request, begin: float, unused: dict[str, Any]
) -> bool:
    """Cross-validate all methods within the budget; whether that was interrupted."""
    try:
        result["alerts"] = find_table_alerts(scheduler.pool, unused, request, scheduler.deadline)
        terminal_advice.early_alerts(result)
        for outcome in scheduler.pool.run([WorkerTask("describe")], scheduler.deadline):
            result["preprocessing"] = [tr(note) for note in outcome.value or []]
        with terminal.progress(tr("cross-validation")) as scheduler.progress:
            scheduler.run()
            scheduler.ensure_one(begin + max(GRACE * request.budget, 60.0 + request.budget))
            scheduler.combine()
    except KeyboardInterrupt:
        return True
    return False


def _detail_collector(
    request: Request,
    pool: WorkerPool,
    result: dict[str, Any],
    schema: Any,
    records: Any,
    y: Any,
    begin: float,
    numbers: Any,
) -> DetailCollector:
    return DetailCollector(
        pool=pool,
        entries=[entry for entry in _methods_ranked(result) if not entry.get("combination")],
        task=schema.task,
        cv=request.cv,
        rows=len(records),
        y=y,
        classes=None if schema.classes is None else list(schema.classes),
        columns=list(records.names),
        numeric=[column.name for column in schema.columns if column.used and column.kind == "numeric"],
        records=records,
        numbers=numbers,
        deadline=_details_deadline(begin, request.budget),
    )


def _details_deadline(begin: float, budget: float) -> float:
    """When the report's details end: where the first method took longer than its share, they have theirs still."""
    return max(begin, time.monotonic() - budget * SCORES_WITH_REPORT) + budget * DETAILS


def _recommendation(pool: WorkerPool, result: dict[str, Any], request: Request) -> dict[str, Any] | None:
    """What to take, with the Python lines unless the comparison was interrupted."""
    first, recipe = winner(result), None
    if first is not None and not result["interrupted"]:
        name, settings = method_and_settings(first, result)
        task = WorkerTask("recipe", {"name": name, "settings": settings})
        for outcome in pool.run([task], time.monotonic() + 20.0):
            recipe = outcome.value
    return recommend(result, request, recipe)


def _check(request: Request) -> list[Card]:
    """Check the options before any work is done; returns the methods that were named."""
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


def _features_and_target(request: Request, table: Any) -> tuple[Any, Any, Any, RowStructure]:
    """The schema, the features, the target and what ties rows, without the rows that lack a target."""
    from tercet.feature import infer_schema

    structure = read_structure(table, request.group, request.time)
    drop = request.drop if request.group is None else (*request.drop, request.group)
    schema = infer_schema(table, request.target, request.task, request.kinds, drop)
    records, y = schema.to_records(table), None
    if schema.target is not None:
        y, known = schema.to_target(table)
        if not known.all():
            kept = known.nonzero()[0]
            records, y, structure = records.take(kept), y[known], structure.take(kept)
    structure.check(request.cv)
    if len(records) < 2 * request.cv:
        raise Refusal(
            tr(
                "{n} rows are too few for --cv {cv}: at least {least} are needed",
                n=len(records),
                cv=request.cv,
                least=2 * request.cv,
            )
        )
    return schema, records, y, structure


def _repeats(request: Request, rows: int) -> int:
    """Rounds of cross-validation; forward in time there is only one way to split."""
    if request.time is not None:
        return 1
    return request.repeats or next((r for most, r in REPEATS if rows <= most), 1)


def _design(
    request: Request, structure: RowStructure, rows: int, task: str, rarest: int | None = None
) -> Design:
    splitter = Splitter(request.cv, request.seed, False, structure.groups, structure.times)
    sizes: list[tuple[int, int]] = []
    if structure.times is not None:
        sizes = [(train.size, test.size) for train, test in splitter.split(None, rows, 0)]
    counts = np.bincount(splitter.units(rows)).astype(float)
    return Design(request.cv, 1, rows, task, sizes, structure.times is not None, counts, rarest)


def _report(
    collector: DetailCollector,
    result: dict[str, Any],
    busy: list[tuple[float, float]],
    begin: float,
    end: float,
) -> str | None:
    """The report's page, with as many details of the best methods as the budget allows."""
    with terminal.progress(tr("a closer look")) as collector.progress:
        details = collector.collect()
    result |= {"errors": details.errors, "thresholds": details.thresholds}
    add_times(result, busy + collector.busy, begin)
    task = WorkerTask("render", {"result": result, "details": details, "language": translation.language()})
    for outcome in collector.pool.run([task], max(end, time.monotonic() + 60.0)):
        if outcome.lost:  # the leaderboard stands, and is written without pictures
            printing.remark("the report has no pictures: {why}", why=tr(outcome.error or ""))
        elif outcome.error is not None:
            raise Refusal(tr("the report could not be made: {why}", why=tr(outcome.error)), errors.UNEXPECTED)
        return outcome.value
    return None


@contextlib.contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Ignore Ctrl-C while results are written."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _finish(request: Request, result: dict[str, Any], page: str | None, begin: float) -> int:
    """Print and write what there is."""
    if not _methods_ranked(result) and not result["interrupted"]:
        raise _no_result(request, result)
    if _methods_ranked(result) and str(request.json) != "-":
        terminal.leaderboard(result)
        terminal_advice.alerts(result)
        terminal_advice.recommendation(result)
        larger_data.tell(result)
    if request.report and _methods_ranked(result):
        if page is None:  # interrupted or out of time: the leaderboard alone
            from tercet.cli.report import render

            page = render(result, ReportDetails())
        with whole(request.report) as file:
            file.write_text(page, encoding="utf-8")
        printing.remark("Report: {path}", path=request.report.resolve())
    result["time"]["total"] = time.monotonic() - begin
    if str(request.json) == "-":
        sys.stdout.write(to_json(result))
    elif request.json is not None:
        with whole(request.json) as file:
            file.write_text(to_json(result), encoding="utf-8")
    printing.remark(
        "{total:.1f} s, of which fits were running for {busy:.1f} s; seed {seed}.",
        total=result["time"]["total"],
        busy=result["time"]["in_fits"],
        seed=request.seed,
    )
    if result["interrupted"]:
        raise Refusal(tr("interrupted; what was finished is kept"), errors.INTERRUPTED)
    if not request.report:
        printing.remark("--report report.html draws pictures.")
    return 0


def _no_result(request: Request, result: dict[str, Any]) -> Refusal:
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


def _methods_ranked(result: dict[str, Any]) -> list[dict[str, Any]]:
    return [entry for entry in result["leaderboard"] if not entry["baseline"]]


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
    # Only rows with a target are compared on: there is nothing that methods for rows without one could add.
    found = [card for card in found if card.family != "semi_supervised"]
    return chosen or in_order(found)


def _processes(size: int) -> int:
    """One process per core, or as many as fit in memory: each holds the data and one or two encodings."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    most = int(available() // (6 * size + (200 << 20)))
    if most < cores:
        printing.remark("memory is short: {n} of {cores} processes at a time", n=max(1, most), cores=cores)
    return max(1, min(cores, most))
