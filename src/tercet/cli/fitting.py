"""`tercet fit`, `tercet predict` and `tercet evaluate`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tercet.cli import errors, printing
from tercet.cli.errors import Refusal, refusing
from tercet.cli.output_files import check_writable, special, writing
from tercet.cli.parameter_values import TASKS, build, find_method
from tercet.cli.saved_models import SavedModel, open_model
from tercet.cli.tables import batches, once, open_table, rows_after
from tercet.cli.translation import tr
from tercet.io import save_model

# What imports scikit-learn is imported when it is needed: errors in the command line are reported at once.
if TYPE_CHECKING:
    from tercet.cli.alerts.drift import Drift
    from tercet.core.catalog import Card
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
    ragged: str = "error",
    seed: int = 0,
    json: bool = False,
) -> int:
    """Fit one method on a table and save it with its preprocessing."""
    card = find_method(method)
    _check_fit(card, output, data)
    estimator = build(card, list(settings), seed)
    with refusing():
        from tercet.cli import pipelines
        from tercet.feature import infer_schema

        table = open_table(data, rows=rows, seed=seed, ragged=ragged)
        schema = infer_schema(table, target, card.task, kinds, drop)
        records, y = pipelines.training_rows(schema, table)
        _remark_columns(table, schema)
        learn: Any = None
        if rows is None and table.height < table.total_rows and _learns_from_all(card, estimator, table):
            from tercet.cli import streamed_fits

            learn = streamed_fits.AllRows(
                streamed_fits.assemble(schema, estimator), schema, table, data, ragged
            )
        pipeline = pipelines.assemble(schema, estimator) if learn is None else learn.pipeline
        model, warned, seconds = pipelines.fit_pipeline(card.name, pipeline, records, y, learn)
        about = {
            "method": card.name,
            "task": card.task,
            "target": schema.target.name if schema.target else None,
            "schema": schema.to_dict(),
            "settings": list(settings),
            "seed": seed,
            "rows": len(records) if learn is None else learn.n_rows,
            "drawn_rows": len(records) if len(records) < table.total_rows else None,
            "source": table.source,
            "reading": table.reading,
            "score": pipelines.training_score(card.task, model, records, y),
            "baseline": pipelines.baseline_score(card.task, y),
            "created": datetime.now().isoformat(timespec="seconds"),
        }
        with writing(output):
            save_model(output, model, about)
    if json:
        told = {name: value for name, value in about.items() if name not in ("schema", "reading")}
        lists = {"columns": _used(schema), "left_out": _left_out(schema), "warnings": warned}
        printing.print_json({**told, **lists, "seconds": round(seconds, 4), "model": str(output)})
    else:
        _print_fit(card, about, table, schema, seconds, output)
    return 0


def _learns_from_all(card: Card, estimator: Any, table: Table) -> bool:
    """Whether a method learns from all rows of a table that does not fit into memory; says so, or why not."""
    from tercet.core.source_fits import unable

    values = {"name": card.name, "rows": table.height, "total": table.total_rows}
    if not hasattr(estimator, "streaming") or unable(estimator):
        printing.remark(
            "{name} needs its rows in memory: it learns from {rows} of {total}. HistGradientBoosting, linear "
            "models and naive Bayes learn from all",
            **values,
        )
        return False
    printing.remark(
        "{name} learns from all {total} rows, read pass by pass; the rows drawn decide on columns, scales and "
        "categories",
        **values,
    )
    return True


def _check_fit(card: Card, output: Path, data: str) -> None:
    """Refuse a method of another task, or an output that cannot be a model, before a long fit."""
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
    check_writable(output, data)
    if output.suffix.lower() in TABLES:
        raise Refusal(
            tr("{file}: a model is no table; its name may end in .skops", file=str(output)), errors.USAGE
        )


def _used(schema: Schema) -> list[str]:
    return [column.name for column in schema.columns if column.used]


def _left_out(schema: Schema) -> dict[str, str]:
    return {column.name: tr(column.why) for column in schema.columns if not column.used}


def _print_fit(
    card: Card, about: dict[str, Any], table: Table, schema: Schema, seconds: float, output: Path
) -> None:
    from tercet.cli.evaluation import measure_title

    columns = [_of(len(_used(schema)), len(schema.columns))] if schema.columns else []
    columns += [tr("{n} sparse", n=schema.n_sparse)] if schema.n_sparse else []
    _print_pairs(
        {
            tr("method"): f"{card.name} {card.zh}",
            tr("target"): about["target"],
            tr("rows"): _of(about["rows"], table.total_rows),
            tr("columns"): ", ".join(columns),
            **{measure_title(name): _score(name, about) for name in about["score"]},
            tr("time"): f"{seconds:.3g} s",
            tr("saved"): str(output)
            if special(output)
            else f"{output} ({output.stat().st_size / 1000:.1f} kB)",
        }
    )


def predict(
    model: Path, data: str, output: Path | None = None, *, proba: bool = False, ragged: str = "error"
) -> int:
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
        from tercet.cli import evaluation
        from tercet.cli.alerts.drift import Drift

        done, drift = 0, Drift(saved.schema, saved.rows)
        with evaluation.table_writer(output) as add:
            for table, records in _batches(
                saved, data, lambda table, speak: saved.schema.to_records(table, say=speak), ragged
            ):
                with saved.using():
                    drift.add(records)
                    columns: dict[str, Any] = {_heading(saved): saved.pipeline.predict(records)}
                    chances = saved.pipeline.predict_proba(records).T if proba else []
                    for label, column in zip(saved.pipeline.classes_.tolist() if proba else [], chances):
                        title = f"p({evaluation.label_text(label)})"
                        while title in columns:
                            title += "_"
                        columns[title] = column
                    add(columns)
                done += table.height
        _remark_drift(saved, drift)
    if output is not None:
        printing.remark("{n} predictions written to {file}", n=done, file=str(output))
    return 0


def _remark_drift(saved: SavedModel, drift: Drift) -> list[dict[str, Any]]:
    """Say which columns are distributed otherwise than those that the model learned from."""
    with saved.using():
        alerts = drift.alerts()
    for alert in alerts:
        printing.remark("! {title}. {evidence}", title=alert.title, evidence=alert.evidence)
    if alerts:
        printing.remark("  {advice}", advice=alerts[0].advice)
    return [alert.to_dict(tr) for alert in alerts]


def evaluate(
    model: Path, data: str, *, target: str | None = None, ragged: str = "error", json: bool = False
) -> int:
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

        from tercet.cli import evaluation, pipelines
        from tercet.cli.alerts.drift import Drift

        truths: list[Any] = []
        found: list[dict[str, Any]] = []
        dropped, drift = 0, Drift(saved.schema, saved.rows)
        for _, (records, y, known) in _batches(
            saved,
            data,
            lambda table, speak: pipelines.rows_with_target(saved.schema, table, name, speak),
            ragged,
        ):
            with saved.using():
                drift.add(records)
            dropped += int((~known).sum())
            if known.any():
                truths.append(y[known])
                with saved.using():
                    found.append(
                        evaluation.predictions_of(
                            saved.task, saved.pipeline, records.take(known.nonzero()[0])
                        )
                    )
        if not truths:
            raise Refusal(tr("no row of {file} has a target in {name!r}", file=data, name=name))
        alerts = _remark_drift(saved, drift)
        if dropped:
            printing.remark("{n} rows without a target are left out", n=dropped)
        with saved.using():
            classes = saved.pipeline.classes_ if saved.task == "classification" else None
            together = {key: np.concatenate([part[key] for part in found]) for key in found[0]}
            result = evaluation.measure_all(saved.task, classes, np.concatenate(truths), together)
    if json:
        about = {"model": str(model), "method": saved.method, "task": saved.task}
        printing.print_json({**about, **result, "alerts": alerts})
        return 0
    shown = {tr("method"): saved.method, tr("rows"): str(result["rows"])}
    shown |= {
        evaluation.measure_title(key): _short(value)
        for key, value in result["measures"].items()
        if value is not None
    }
    _print_pairs(shown)
    if result.get("confusion"):
        evaluation.print_confusion(result["classes"], result["confusion"])
    return 0


def _batches(
    saved: SavedModel, data: str, prepare: Callable[..., Any], ragged: str
) -> Iterator[tuple[Table, Any]]:
    """Every batch of a table, read as the training table was, and prepared."""
    speak, done = once(), 0
    with saved.using():
        for table in batches(data, like=saved.reading, ragged=ragged):
            for note in table.notes:
                speak(note)
            with rows_after(done):
                prepared = prepare(table, speak)
            yield table, prepared
            done += table.height


def _heading(saved: SavedModel) -> str:
    return "cluster" if saved.task == "clustering" else saved.target or "prediction"


def _remark_columns(table: Table, schema: Schema) -> None:
    for note in (*table.notes, *schema.notes):
        printing.remark(note)
    for column in schema.columns:
        if not column.used:
            printing.remark("column {name!r}: {why}", name=column.name, why=column.why)


def _of(n: int, total: int) -> str:
    return str(n) if n == total else tr("{n} of {total}", n=n, total=total)


def _score(name: str, about: dict[str, Any]) -> str:
    """A score of the training beside the baseline's; of clusters only how many there are."""
    value = about["score"][name]
    if name == "clusters":
        return _short(value)
    template = (
        "{value} on the rows it learned from; {baseline} without a model (always the most frequent class)"
        if about["task"] == "classification"
        else "{value} on the rows it learned from; {baseline} without a model (always the mean)"
    )
    return tr(template, value=_short(value), baseline=_short(about["baseline"][name]))


def _short(value: Any) -> str:
    return str(value) if isinstance(value, int) else f"{value:.4g}"


def _print_pairs(pairs: dict[str, Any]) -> None:
    """Names and values in two columns; not a Rich table, which would cut long values in a pipe."""
    from rich.cells import cell_len
    from rich.text import Text

    width = max(cell_len(name) for name in pairs)
    for name, value in pairs.items():
        if value is not None:
            line = Text.assemble((name, "bold"), " " * (width - cell_len(name) + 2), str(value))
            printing.stdout().print(line, soft_wrap=True)
