"""What comes out of a saved model: a table of predictions, or measures of how good they are."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import numpy as np

from tercet.cli import say
from tercet.cli.compare.measures import MEASURES, suitable
from tercet.cli.files import whole
from tercet.cli.words import tr

MOST_CLASSES = 20  # in a confusion table on the screen


def write(columns: dict[str, Any], output: Path | None) -> None:
    """Columns as a table in a file, whole or not at all; as CSV on stdout without one."""
    import polars as pl

    frame = pl.DataFrame(
        [
            pl.Series(name, values.tolist() if values.dtype.kind in "OUb" else values)
            for name, values in columns.items()
        ]
    )
    if output is None:
        # Bytes: a console's encoding need not have the labels' letters.
        sys.stdout.flush()
        frame.write_csv(sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    with whole(output) as file:
        suffix = output.suffix.lower()
        if suffix == ".parquet":
            frame.write_parquet(file)
        elif suffix in (".feather", ".arrow"):
            frame.write_ipc(file)
        else:
            frame.write_csv(file, separator="\t" if suffix == ".tsv" else ",")


def judge(task: str, model: Any, X: Any, truth: np.ndarray) -> dict[str, Any]:
    """Measures of a model's predictions against the truth, as plain values by name."""
    from sklearn import metrics

    predicted = model.predict(X)
    given: dict[str, tuple[Any, ...]] = {}  # what the measures need
    result: dict[str, Any] = {"rows": int(truth.shape[0])}
    if task == "regression":
        given["numbers"] = (truth, predicted)
    elif task == "clustering":
        given["outside"] = (truth, predicted)
    else:
        classes = model.classes_
        index = np.searchsorted(classes, truth)
        given["labels"] = (index, np.searchsorted(classes, predicted), classes.size)
        if hasattr(model, "predict_proba"):
            given["proba"] = (index, model.predict_proba(X), classes.size)
        result["classes"] = classes.tolist()
        result["confusion"] = metrics.confusion_matrix(truth, predicted, labels=classes).tolist()
    values = {m.name: m.of(*given[m.needs]) for m in suitable(task) if m.needs in given}
    if task == "regression" and not math.isnan(values["r2"]):
        values["explained_variance"] = float(metrics.explained_variance_score(truth, predicted))
    # JSON has no NaN: what cannot be measured here (a curve of one class, say) is null.
    result["measures"] = {name: None if math.isnan(value) else value for name, value in values.items()}
    return result


def said(label: Any) -> str:
    """A label as a CSV file would have it."""
    return str(label).lower() if isinstance(label, bool) else str(label)


def title(name: str) -> str:
    """What people call a measure."""
    return tr(MEASURES[name].title if name in MEASURES else name.replace("_", " "))


def print_confusion(classes: list[Any], counts: list[list[int]]) -> None:
    """The confusion table: a row for every class as it is, a column as it was predicted."""
    from rich.box import SIMPLE
    from rich.table import Table
    from rich.text import Text

    if len(classes) > MOST_CLASSES:
        say.remark("the confusion table of {n} classes is in --json", n=len(classes))
        return
    say.out().print()
    say.out().print(Text(tr("rows: the truth; columns: predicted")), soft_wrap=True)
    names = [said(label) for label in classes]
    table = Table(box=SIMPLE)
    table.add_column("")
    for name in names:
        table.add_column(Text(name), justify="right", no_wrap=True)
    for k, (name, row) in enumerate(zip(names, counts)):
        cells = [Text(str(n), "bold" if j == k else "red" if n else "dim") for j, n in enumerate(row)]
        table.add_row(Text(name, "bold"), *cells)
    say.show(table)
