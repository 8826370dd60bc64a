"""Output of a saved model: tables of predictions, and measures of their quality."""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tercet.cli import errors, printing
from tercet.cli.measures import MEASURES, suitable
from tercet.cli.output_files import special, whole
from tercet.cli.translation import tr

MOST_CLASSES = 20  # in a confusion table on the screen


@contextlib.contextmanager
def table_writer(output: Path | None) -> Iterator[Callable[[dict[str, Any]], None]]:
    """A function that appends rows to a table in a file, which is written atomically; CSV on stdout without one."""
    if output is None:
        yield _CSVWriter(_BinaryStdout()).add
        return
    suffix = output.suffix.lower()
    with whole(output) as place:
        if suffix in (".parquet", ".feather", ".arrow") and not special(output):
            frames: list[pl.DataFrame] = []
            yield lambda columns: frames.append(_frame(columns))
            frame = pl.concat(frames) if frames else pl.DataFrame()
            (frame.write_parquet if suffix == ".parquet" else frame.write_ipc)(place)
            return
        with open(place, "wb") as file:
            yield _CSVWriter(file, "\t" if suffix == ".tsv" else ",").add


class _CSVWriter:
    """Rows as CSV, after one header."""

    def __init__(self, file: Any, separator: str = ",") -> None:
        self.file, self.separator, self.begun = file, separator, False

    def add(self, columns: dict[str, Any]) -> None:
        text = _frame(columns).write_csv(include_header=not self.begun, separator=self.separator)
        self.begun = True
        self.file.write(text.encode())


class _BinaryStdout:
    """Standard output in bytes: a console's encoding need not have the labels' letters."""

    def write(self, data: bytes) -> None:
        try:
            sys.stdout.flush()
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise errors.OutputError(error.errno, error.strerror) from error


def _frame(columns: dict[str, Any]) -> pl.DataFrame:
    kinds = {"U": pl.String, "b": pl.Boolean}
    return pl.DataFrame(
        [
            pl.Series(
                name, values.tolist() if values.dtype.kind in "OUb" else values, kinds.get(values.dtype.kind)
            )
            for name, values in columns.items()
        ]
    )


def predictions_of(task: str, model: Any, X: Any) -> dict[str, np.ndarray]:
    """Predictions of rows, and probabilities or decision values where the model has them."""
    found = {"predicted": np.asarray(model.predict(X))}
    if task == "classification":
        if hasattr(model, "predict_proba"):
            found["proba"] = found["ranking"] = model.predict_proba(X)
        elif hasattr(model, "decision_function"):
            scores = model.decision_function(X)
            scores = np.stack([-scores, scores], axis=1) if scores.ndim == 1 else scores
            if scores.shape[1] == model.classes_.size:
                found["ranking"] = scores
    return found


def measure_all(task: str, classes: Any, truth: np.ndarray, found: dict[str, np.ndarray]) -> dict[str, Any]:
    """Measures of a model's predictions against the truth, as plain values by name."""
    from sklearn import metrics

    predicted = found["predicted"]
    given: dict[str, tuple[Any, ...]] = {}  # what the measures need
    result: dict[str, Any] = {"rows": int(truth.shape[0])}
    if task == "regression":
        given["numbers"] = (truth, predicted)
    elif task == "clustering":
        given["outside"] = (truth, predicted)
    else:
        index = np.searchsorted(classes, truth)
        given["labels"] = (index, np.searchsorted(classes, predicted), classes.size)
        given |= {name: (index, found[name], classes.size) for name in ("proba", "ranking") if name in found}
        result["classes"] = classes.tolist()
        result["confusion"] = metrics.confusion_matrix(truth, predicted, labels=classes).tolist()
    values = {m.name: m.of(*given[m.needs]) for m in suitable(task) if m.needs in given}
    if task == "regression" and not math.isnan(values["r2"]):
        values["explained_variance"] = float(metrics.explained_variance_score(truth, predicted))
    # JSON has no NaN: what cannot be measured here (a curve of one class, say) is null.
    result["measures"] = {name: None if math.isnan(value) else value for name, value in values.items()}
    return result


def label_text(label: Any) -> str:
    """A label as a CSV file would have it."""
    return str(label).lower() if isinstance(label, bool) else str(label)


def measure_title(name: str) -> str:
    """The title of a measure."""
    return tr(MEASURES[name].title if name in MEASURES else name.replace("_", " "))


def print_confusion(classes: list[Any], counts: list[list[int]]) -> None:
    """The confusion table: a row for every class as it is, a column as it was predicted."""
    from rich.box import SIMPLE
    from rich.table import Table
    from rich.text import Text

    if len(classes) > MOST_CLASSES:
        printing.remark("the confusion table of {n} classes is in --json", n=len(classes))
        return
    printing.stdout().print()
    printing.stdout().print(Text(tr("rows: the truth; columns: predicted")), soft_wrap=True)
    names = [label_text(label) for label in classes]
    table = Table(box=SIMPLE)
    table.add_column("")
    for name in names:
        table.add_column(Text(name), justify="right", no_wrap=True)
    for k, (name, row) in enumerate(zip(names, counts)):
        cells = [Text(str(n), "bold" if j == k else "red" if n else "dim") for j, n in enumerate(row)]
        table.add_row(Text(name, "bold"), *cells)
    printing.print_layout(table)
