"""Options of `tercet compare`. Their help is in the language in use when this module is imported."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tercet.cli.translation import tr


def method_names(incomplete: str) -> list[str]:
    """Names of methods, for the completion of the shell."""
    from tercet.core.catalog import methods

    return [card.name for card in methods() if card.kind == "estimator" and card.name.startswith(incomplete)]


DataOrEmbedded = Annotated[
    str | None,
    typer.Argument(
        metavar="DATA",
        show_default=False,
        help=tr(
            "A table: CSV, TSV, Parquet, Feather, ARFF, SVMlight or npz; - is stdin; or embedded data by name "
            "(breast_cancer, iris, wine, digits, diabetes, watermelon)."
        ),
    ),
]
Methods = Annotated[
    list[str] | None,
    typer.Option(
        "--methods",
        "-m",
        autocompletion=method_names,
        metavar="NAMES",
        help=tr("Only these (comma-separated)."),
    ),
]
Task = Annotated[
    str, typer.Option(help=tr("auto, classification, regression or clustering."), metavar="TASK")
]
Metric = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help=tr("The measure that ranks, ours or scikit-learn's; by default chosen by the task."),
    ),
]
Margin = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        metavar="DIFFERENCE",
        help=tr("Scores within it count as equivalent; by default 0.01, or 1% of the baseline's loss."),
    ),
]
Group = Annotated[
    str | None,
    typer.Option(
        "--group", metavar="COL", help=tr("Rows with the same value stay on one side of every split.")
    ),
]
Time = Annotated[
    str | None,
    typer.Option(
        "--time", metavar="COL", help=tr("Test on later rows than those learned from (forward chaining).")
    ),
]
Tune = Annotated[
    bool, typer.Option("--tune", help=tr("Search good settings of each method inside the folds."))
]
Folds = Annotated[int, typer.Option(min=2, help=tr("Folds of the cross-validation."))]
Repeats = Annotated[
    int | None, typer.Option(min=1, help=tr("Rounds of cross-validation; by default more on small tables."))
]
Budget = Annotated[float, typer.Option(min=1.0, metavar="SECONDS", help=tr("Wall-clock time for all of it."))]
Jobs = Annotated[int | None, typer.Option("--jobs", "-j", min=1, help=tr("Processes; by default all cores."))]
ReportFile = Annotated[
    Path | None, typer.Option(metavar="FILE.html", help=tr("Write a report with pictures."))
]
JsonFile = Annotated[
    Path | None, typer.Option("--json", metavar="FILE", help=tr("Write all results; - is stdout."))
]
