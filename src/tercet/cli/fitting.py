"""`tercet fit`, `tercet predict` and `tercet evaluate`: one method on one table, saved and used again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tercet.cli import errors, say
from tercet.cli.errors import Refusal, refusing
from tercet.cli.files import check_writable, special, writing
from tercet.cli.models import Saved, open_model
from tercet.cli.tables import batches, once, open_table, rows_after
from tercet.cli.values import TASKS, build, find_method
from tercet.cli.words import tr
from tercet.io import save_model

# What imports scikit-learn is imported when it is needed: a slip in the command line is answered at once.
if TYPE_CHECKING:
    from tercet.datasets import Table
    from tercet.feature import Schema

SUFFIXES = (".csv", ".tsv", ".parquet", ".feather", ".arrow")
TABLES = (*SUFFIXES, ".txt", ".arff", ".svm", ".svmlight", ".libsvm", ".npz", ".npy", ".gz", ".bz2", ".xz")


def fit(
    method: str,
    data: str,
    output: Path,
    *,
    target: str | None = None,
    kinds: dict[str, str] | None = None,
    drop: list[str] | tuple[str, ...] = (),
    settings: list[str] | tuple[str, ...] = (),
    rows: int | None = None,
    seed: int = 0,
    json: bool = False,
) -> int:
    """Fit one method on a table and save it with its preprocessing."""
    card = find_method(method)
    if card.task not in TASKS:
        raise Refusal(
            tr(
                "{name} is for {task}; fit takes methods for {tasks}",
                name=card.name,
                task=tr(card.task),
                tasks=", ".join(tr(task) for task in TASKS),
            ),
            errors.USAGE,
        )
    check_writable(output, data)  # rather now than after a long fit
    if output.suffix.lower() in TABLES:
        raise Refusal(
            tr("{file}: a model is no table; its name may end in .skops", file=str(output)), errors.USAGE
        )
    estimator = build(card, list(settings), seed)
    with refusing():
        from tercet.cli import pipelines
        from tercet.feature import infer_schema

        table = open_table(data, rows=rows, seed=seed)
        schema = infer_schema(table, target, card.task, kinds, drop)
        records, y = pipelines.training(schema, table)
        _tell(table, schema)
        model, remarks, seconds = pipelines.learn(
            card.name, pipelines.assemble(schema, estimator), records, y
        )
        score = pipelines.training_score(card.task, model, records, y)
        about = {
            "method": card.name,
            "task": card.task,
            "target": schema.target.name if schema.target else None,
            "schema": schema.to_dict(),
            "settings": list(settings),
            "seed": seed,
            "rows": len(records),
            "source": table.source,
            "reading": table.reading,
            "score": score,
            "created": datetime.now().isoformat(timespec="seconds"),
        }
        with writing(output):
            save_model(output, model, about)
    from tercet.cli.results import title

    used = [column.name for column in schema.columns if column.used]
    unused = {column.name: tr(column.why) for column in schema.columns if not column.used}
    if json:
        told = {name: value for name, value in about.items() if name not in ("schema", "reading")}
        lists = {"columns": used, "left_out": unused, "warnings": remarks}
        say.data({**told, **lists, "seconds": round(seconds, 4), "model": str(output)})
        return 0
    columns = [_of(len(used), len(schema.columns))] if schema.columns else []
    columns += [tr("{n} sparse", n=schema.n_sparse)] if schema.n_sparse else []
    sheet = {
        tr("method"): f"{card.name} {card.zh}",
        tr("target"): about["target"],
        tr("rows"): _of(len(records), table.total_rows),
        tr("columns"): ", ".join(columns),
        **{title(name): _score(name, value) for name, value in score.items()},
        tr("time"): f"{seconds:.3g} s",
        tr("saved"): str(output) if special(output) else f"{output} ({output.stat().st_size / 1000:.1f} kB)",
    }
    _print_sheet(sheet)
    return 0


def predict(model: Path, data: str, output: Path | None = None, *, proba: bool = False) -> int:
    """Predict every row of a table, in order."""
    if output is not None:
        check_writable(output, data, model)
        if output.suffix.lower() not in SUFFIXES and not special(output):
            raise Refusal(
                tr("{file}: the name must end in {suffixes}", file=str(output), suffixes=", ".join(SUFFIXES)),
                errors.USAGE,
            )
    with refusing(rows=False):
        saved = open_model(model)
        saved.require_predict(proba=proba)
        from tercet.cli import results

        done = 0
        with results.sheet(output) as add:
            for table, records in _pieces(
                saved, data, lambda table, speak: saved.schema.to_records(table, say=speak)
            ):
                with saved.using():
                    columns: dict[str, Any] = {_heading(saved): saved.pipeline.predict(records)}
                    chances = saved.pipeline.predict_proba(records).T if proba else []
                    for label, column in zip(saved.pipeline.classes_.tolist() if proba else [], chances):
                        title = f"p({results.said(label)})"
                        while title in columns:
                            title += "_"
                        columns[title] = column
                    add(columns)
                done += table.height
    if output is not None:
        say.remark("{n} predictions written to {file}", n=done, file=str(output))
    return 0


def evaluate(model: Path, data: str, *, target: str | None = None, json: bool = False) -> int:
    """Score a saved model on a table that has the target."""
    with refusing(rows=False):
        saved = open_model(model)
        saved.require_predict()
        name = target or saved.target
        if name is None:
            raise Refusal(
                tr("the model has no target; --target names the column to compare with"), errors.USAGE
            )
        import numpy as np

        from tercet.cli import pipelines, results

        truths: list[Any] = []
        said: list[dict[str, Any]] = []
        dropped = 0
        for _, (records, y, known) in _pieces(
            saved, data, lambda table, speak: pipelines.truth(saved.schema, table, name, speak)
        ):
            dropped += int((~known).sum())
            if known.any():
                truths.append(y[known])
                with saved.using():
                    said.append(results.answers(saved.task, saved.pipeline, records.take(known.nonzero()[0])))
        if not truths:
            raise Refusal(tr("no row of {file} has a target in {name!r}", file=data, name=name))
        if dropped:
            say.remark("{n} rows without a target are left out", n=dropped)
        with saved.using():
            classes = saved.pipeline.classes_ if saved.task == "classification" else None
            together = {key: np.concatenate([part[key] for part in said]) for key in said[0]}
            result = results.judge(saved.task, classes, np.concatenate(truths), together)
    if json:
        say.data({"model": str(model), "method": saved.method, "task": saved.task, **result})
        return 0
    shown = {tr("method"): saved.method, tr("rows"): str(result["rows"])}
    shown |= {
        results.title(key): _short(value) for key, value in result["measures"].items() if value is not None
    }
    _print_sheet(shown)
    if result.get("confusion"):
        results.print_confusion(result["classes"], result["confusion"])
    return 0


def _pieces(saved: Saved, data: str, cook: Callable[..., Any]) -> Iterator[tuple[Table, Any]]:
    """Every piece of a table, read as the table that the model learned from, and cooked."""
    speak, done = once(), 0
    with saved.using():
        for table in batches(data, like=saved.reading):
            for note in table.notes:
                speak(note)
            with rows_after(done):
                cooked = cook(table, speak)
            yield table, cooked
            done += table.height


def _heading(saved: Saved) -> str:
    return "cluster" if saved.task == "clustering" else saved.target or "prediction"


def _tell(table: Table, schema: Schema) -> None:
    for note in (*table.notes, *schema.notes):
        say.remark(note)
    for column in schema.columns:
        if not column.used:
            say.remark("column {name!r}: {why}", name=column.name, why=column.why)


def _of(n: int, total: int) -> str:
    return str(n) if n == total else tr("{n} of {total}", n=n, total=total)


def _score(name: str, value: float) -> str:
    """A score of the training; how many clusters there are is not one that new rows could change."""
    if name == "clusters":
        return _short(value)
    return tr("{value} on the rows it learned from", value=_short(value))


def _short(value: Any) -> str:
    return str(value) if isinstance(value, int) else f"{value:.4g}"


def _print_sheet(pairs: dict[str, Any]) -> None:
    """Names and values in two columns; not a Rich table, which would cut long values in a pipe."""
    from rich.cells import cell_len
    from rich.text import Text

    width = max(cell_len(name) for name in pairs)
    for name, value in pairs.items():
        if value is not None:
            line = Text.assemble((name, "bold"), " " * (width - cell_len(name) + 2), str(value))
            say.out().print(line, soft_wrap=True)
