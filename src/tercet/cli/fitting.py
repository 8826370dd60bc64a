"""`tercet fit`, `tercet predict` and `tercet evaluate`: one method on one table, saved and used again."""

from __future__ import annotations

import warnings
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tercet.cli import errors, say
from tercet.cli.errors import Refusal, refusing
from tercet.cli.files import check_writable, whole
from tercet.cli.tables import open_table
from tercet.cli.values import TASKS, build, find_method
from tercet.cli.words import tr
from tercet.core.notes import Note
from tercet.core.persistence import ModelError, ModelWarning, load_model, save_model

# What imports scikit-learn is imported when it is needed: a slip in the command line is answered at once.
if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline

    from tercet.datasets import Table
    from tercet.feature import Schema

SUFFIXES = (".csv", ".tsv", ".parquet", ".feather", ".arrow")


def fit(
    method: str,
    data: str,
    output: Path,
    *,
    target: str | None = None,
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
    check_writable(output)  # rather now than after a long fit
    estimator = build(card, list(settings), seed)
    with refusing():
        from tercet.cli import pipelines
        from tercet.feature import look

        table = open_table(data, rows=rows, seed=seed)
        schema = look(table, target, task=card.task)
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
            "score": score,
            "created": datetime.now().isoformat(timespec="seconds"),
        }
        with whole(output) as file:
            save_model(file, model, about)
    from tercet.cli.results import title

    used = [column.name for column in schema.columns if column.used]
    unused = {column.name: tr(column.why) for column in schema.columns if not column.used}
    if json:
        told = {name: value for name, value in about.items() if name != "schema"}
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
        tr("saved"): f"{output} ({output.stat().st_size / 1000:.1f} kB)",
    }
    _print_sheet(sheet)
    return 0


def predict(model: Path, data: str, output: Path | None = None, *, proba: bool = False) -> int:
    """Predict every row of a table, in order."""
    if output is not None:
        if output.suffix.lower() not in SUFFIXES:
            raise Refusal(
                tr("{file}: the name must end in {suffixes}", file=str(output), suffixes=", ".join(SUFFIXES)),
                errors.USAGE,
            )
        check_writable(output)
    with refusing():
        pipeline, about, schema = _load(model)
        from tercet.cli import pipelines, results

        _require_predict(pipeline, about)
        if proba and not hasattr(pipeline, "predict_proba"):
            raise Refusal(_no_probabilities(about), errors.USAGE)
        records = schema.cook(open_table(data), say=say.remark)
        name = about["target"] or "cluster"
        with pipelines.using(model):
            columns: dict[str, Any] = {name: pipeline.predict(records)}
            chances = pipeline.predict_proba(records).T if proba else []
        for label, column in zip(pipeline.classes_.tolist() if proba else [], chances):
            title = f"p({results.said(label)})"
            while title in columns:
                title += "_"
            columns[title] = column
        results.write(columns, output)
    if output is not None:
        say.remark("{n} predictions written to {file}", n=len(records), file=str(output))
    return 0


def evaluate(model: Path, data: str, *, target: str | None = None, json: bool = False) -> int:
    """Score a saved model on a table that has the target."""
    with refusing():
        pipeline, about, schema = _load(model)
        from tercet.cli import pipelines, results

        _require_predict(pipeline, about)
        table = open_table(data)
        name = target or about["target"]
        if name is None:
            raise Refusal(
                tr("the model has no target; --target names the column to compare with"), errors.USAGE
            )
        records, truth = pipelines.truth(schema, table, about, name)
        with pipelines.using(model):
            result = results.judge(about["task"], pipeline, records, truth)
    if json:
        say.data({"model": str(model), "method": about["method"], "task": about["task"], **result})
        return 0
    shown = {tr("method"): about["method"], tr("rows"): str(result["rows"])}
    shown |= {
        results.title(key): _short(value) for key, value in result["measures"].items() if value is not None
    }
    _print_sheet(shown)
    if result.get("confusion"):
        results.print_confusion(result["classes"], result["confusion"])
    return 0


def _load(path: Path) -> tuple[Pipeline, dict[str, Any], Schema]:
    """A model that `tercet fit` saved."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ModelWarning)
        pipeline, about = load_model(path)
    for warning in caught:
        if isinstance(warning.message, ModelWarning):
            say.remark("warning: {text}", text=warning.message.args[0])
    from sklearn.pipeline import Pipeline

    from tercet.feature import Schema

    strange = ModelError(Note("{file} holds a model that `tercet fit` did not save", file=str(path)))
    if not isinstance(pipeline, Pipeline) or not isinstance(about, dict):
        raise strange
    try:
        schema = Schema.from_dict(about["schema"])
        complete = {"method", "target"} <= about.keys() and about["task"] in TASKS
        if [name for name, _ in pipeline.steps] != ["encoder", "model"] or not complete:
            raise strange
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise strange from error
    return pipeline, about, schema


def _require_predict(pipeline: Pipeline, about: dict[str, Any]) -> None:
    if not hasattr(pipeline, "predict"):
        raise Refusal(
            tr("{method} cannot predict rows it was not fitted on", method=about["method"]), errors.USAGE
        )


def _no_probabilities(about: dict[str, Any]) -> str:
    kinds = {
        "classification": Note("a classifier without probabilities"),
        "regression": Note("a regression model, which predicts numbers"),
        "clustering": Note("a clustering model, which gives cluster numbers"),
    }
    return tr("--proba: {method} is {kind}", method=about["method"], kind=kinds[about["task"]])


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
