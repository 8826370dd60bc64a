"""The commands of `tercet` and their options.

Only the signatures are here. A command's module is imported when the command runs, so that `tercet --help` and
shell completion load neither scikit-learn nor numba.
"""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from typing import Annotated, NoReturn

try:
    import typer
except ImportError:
    sys.exit("tercet: error: the command needs a few more packages: pip install 'tercet[cli]'")

from tercet import __version__
from tercet.cli import exit_handling, parser_translation, printing, translation
from tercet.cli.translation import tr


def _language(arguments: list[str]) -> str:
    """The language of --lang, needed before the parser runs, because help is written in it."""
    for k, argument in enumerate(arguments):
        name, _, value = argument.partition("=")
        if name == "--lang":
            value = value or "".join(arguments[k + 1 : k + 2])
            if value in translation.LANGUAGES:
                return value
    return translation.locale_language()


translation.set_language(_language(sys.argv[1:]))

from tercet.cli import maintenance_options as upkeep  # noqa: E402 (its help is in the language that is set above)
from tercet.cli.compare_options import (  # noqa: E402
    Budget,
    DataOrEmbedded,
    Folds,
    Group,
    Jobs,
    JsonFile,
    Margin,
    Methods,
    Metric,
    Repeats,
    ReportFile,
    Task,
    Time,
    Tune,
    method_names,
)

app = typer.Typer(
    name="tercet",
    cls=parser_translation.TranslatedGroup,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help=tr(
        "Machine learning by the book: every method is a model, a strategy and an algorithm.\n\n"
        "Try [bold]tercet compare[/bold] first: without a file it runs on embedded data."
    ),
)
command = functools.partial(app.command, cls=parser_translation.TranslatedCommand)


def _all_names(incomplete: str) -> list[str]:
    from tercet.core.catalog import methods

    return list(dict.fromkeys(card.name for card in methods() if card.name.startswith(incomplete)))


def _quiet(value: bool) -> bool:
    printing.quiet = value
    return value


def _lang(value: str | None) -> str | None:
    if value is not None:
        if value not in translation.LANGUAGES:
            raise typer.BadParameter(f"{value!r}; {tr('allowed')}: {', '.join(translation.LANGUAGES)}")
        translation.set_language(value)
    return value


def _ragged(value: str) -> str:
    allowed = ("error", "skip", "fill")
    if value not in allowed:
        raise typer.BadParameter(f"{value!r}; {tr('allowed')}: {', '.join(allowed)}")
    return value


Lang = Annotated[
    str | None,
    typer.Option("--lang", callback=_lang, metavar="en|zh", help=tr("Language; by default the locale's.")),
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", callback=_quiet, help=tr("Only results and errors, no remarks."))
]
Json = Annotated[bool, typer.Option("--json", help=tr("Print the result as JSON."))]
Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA", help=tr("A table: CSV, TSV, Parquet, Feather, ARFF, SVMlight or npz; - is stdin.")
    ),
]
Target = Annotated[
    str | None, typer.Option("--target", "-t", metavar="COL", help=tr("The column to predict."))
]
Kinds = Annotated[
    list[str] | None,
    typer.Option(
        "--as",
        metavar="COL=KIND",
        help=tr(
            "Take a column as numeric, categorical, boolean, date, text or identifier (not used); repeatable."
        ),
    ),
]
Drop = Annotated[
    list[str] | None, typer.Option("--drop", metavar="COL", help=tr("Do not use a column; repeatable."))
]
Rows = Annotated[
    int | None, typer.Option("--rows", min=1, metavar="N", help=tr("Use at most N rows, drawn at random."))
]
Ragged = Annotated[
    str,
    typer.Option(
        "--ragged",
        metavar="error|skip|fill",
        callback=_ragged,
        help=tr("Lines with another number of fields: refuse, leave out, or fill up and cut."),
    ),
]
Seed = Annotated[int, typer.Option("--seed", min=0, help=tr("Decides everything random."))]
Method = Annotated[
    str,
    typer.Argument(
        metavar="METHOD", autocompletion=method_names, help=tr("A method, as `tercet list` names it.")
    ),
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help=tr("A model saved by `tercet fit`."))]


@command(
    help=tr("Compare every suitable method on a table by cross-validation."),
    rich_help_panel=tr("A table of data"),
)
def compare(
    data: DataOrEmbedded = None,
    target: Target = None,
    kinds: Kinds = None,
    drop: Drop = None,
    methods: Methods = None,
    task: Task = "auto",
    metric: Metric = None,
    margin: Margin = None,
    group: Group = None,
    time: Time = None,
    tune: Tune = False,
    cv: Folds = 5,
    repeats: Repeats = None,
    seed: Seed = 0,
    budget: Budget = 50.0,
    jobs: Jobs = None,
    rows: Rows = None,
    ragged: Ragged = "error",
    report: ReportFile = None,
    json: JsonFile = None,
    lang: Lang = None,
    quiet: Quiet = False,
) -> None:
    from tercet.cli.column_kinds import kinds_of
    from tercet.cli.compare import Request, run

    names = [name.strip() for entry in methods or [] for name in entry.split(",") if name.strip()]
    request = Request(
        data=data,
        target=target,
        kinds=kinds_of(kinds or []),
        drop=tuple(drop or []),
        methods=tuple(names),
        task=task,
        metric=metric,
        margin=margin,
        group=group,
        time=time,
        tune=tune,
        cv=cv,
        repeats=repeats,
        seed=seed,
        budget=budget,
        jobs=jobs,
        rows=rows,
        ragged=ragged,
        report=report,
        json=json,
    )
    raise typer.Exit(run(request, printing.started))


@command(
    help=tr("Fit one method and save the model with its preprocessing."),
    rich_help_panel=tr("A table of data"),
)
def fit(
    method: Method,
    data: Data,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE.skops", help=tr("Where to save the model."))
    ],
    target: Target = None,
    kinds: Kinds = None,
    drop: Drop = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help=tr("A parameter of the method; repeatable.")),
    ] = None,
    rows: Rows = None,
    ragged: Ragged = "error",
    seed: Seed = 0,
    json: Json = False,
    lang: Lang = None,
    quiet: Quiet = False,
) -> None:
    from tercet.cli import fitting
    from tercet.cli.column_kinds import kinds_of

    raise typer.Exit(
        fitting.fit(
            method,
            data,
            output,
            target=target,
            kinds=kinds_of(kinds or []),
            drop=drop or [],
            settings=settings or [],
            rows=rows,
            ragged=ragged,
            seed=seed,
            json=json,
        )
    )


@command(help=tr("Predict the rows of a table with a saved model."), rich_help_panel=tr("A table of data"))
def predict(
    model: Model,
    data: Data,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help=tr("CSV or Parquet; by default CSV on stdout.")),
    ] = None,
    proba: Annotated[bool, typer.Option("--proba", help=tr("The probability of every class, too."))] = False,
    ragged: Ragged = "error",
    lang: Lang = None,
    quiet: Quiet = False,
) -> None:
    from tercet.cli import fitting

    raise typer.Exit(fitting.predict(model, data, output, proba=proba, ragged=ragged))


@command(
    help=tr("Score a saved model on a table that has the target."), rich_help_panel=tr("A table of data")
)
def evaluate(
    model: Model,
    data: Data,
    target: Target = None,
    ragged: Ragged = "error",
    json: Json = False,
    lang: Lang = None,
    quiet: Quiet = False,
) -> None:
    from tercet.cli import fitting

    raise typer.Exit(fitting.evaluate(model, data, target=target, ragged=ragged, json=json))


@command("list", help=tr("List the methods."), rich_help_panel=tr("The book"))
def list_(
    task: Annotated[str | None, typer.Option(metavar="TASK", help=tr("Only methods for this task."))] = None,
    family: Annotated[str | None, typer.Option(metavar="NAME", help=tr("Only this family."))] = None,
    text: Annotated[
        str | None,
        typer.Option(
            metavar="watermelon", help=tr('Only what this text, or a place in it ("Li ch. 7"), teaches.')
        ),
    ] = None,
    chapter: Annotated[
        str | None, typer.Option(metavar="7", help=tr("Only what this chapter teaches."))
    ] = None,
    table: Annotated[
        str | None,
        typer.Option(
            metavar="22.1", help=tr("The methods in a table of the texts, with their three elements.")
        ),
    ] = None,
    everything: Annotated[
        bool,
        typer.Option(
            "--all",
            help=tr("Also scikit-learn's estimators that `tercet` passes on; shows which library has each."),
        ),
    ] = False,
    json: Json = False,
    lang: Lang = None,
    quiet: Quiet = False,
) -> None:
    from tercet.cli import catalogue

    raise typer.Exit(
        catalogue.list_methods(
            task=task,
            family=family,
            text=text,
            chapter=chapter,
            table=table,
            everything=everything,
            json=json,
        )
    )


@command(
    help=tr("Tell about one method: three elements, parameters, place in the texts."),
    rich_help_panel=tr("The book"),
)
def info(
    method: Annotated[
        str,
        typer.Argument(
            metavar="METHOD", autocompletion=_all_names, help=tr("A method, as `tercet list` names it.")
        ),
    ],
    json: Json = False,
    lang: Lang = None,
    quiet: Quiet = False,
) -> None:
    from tercet.cli import catalogue

    raise typer.Exit(catalogue.info(method, json=json))


@command(
    help=tr("Run the texts' worked examples and show the book's values beside ours."),
    rich_help_panel=tr("The book"),
)
def book(
    which: Annotated[
        str | None,
        typer.Argument(
            metavar="CHAPTER|EXAMPLE",
            help=tr("For example 6, watermelon/1, or 'Ex 2.1'; all by default."),
            show_default=False,
        ),
    ] = None,
    json: Json = False,
    lang: Lang = None,
    quiet: Quiet = False,
) -> None:
    from tercet.cli import book

    raise typer.Exit(book.run(which, json=json))


@command(help=tr("Compile all kernels ahead of time."), rich_help_panel=tr("The house"))
def warm(
    native: upkeep.Native = False,
    pack: upkeep.Pack = False,
    folder: upkeep.PackFolder = None,
    target: upkeep.PackTarget = None,
    lang: Lang = None,
    quiet: Quiet = False,
) -> None:
    from tercet.cli import maintenance

    raise typer.Exit(maintenance.warm(native=native, pack=pack, folder=folder, target=target))


@command(help=tr("Tell where compiled kernels come from, and why."), rich_help_panel=tr("The house"))
def doctor(json: Json = False, lang: Lang = None, quiet: Quiet = False) -> None:
    from tercet.cli import doctor

    raise typer.Exit(doctor.run(json=json))


@command(help=tr("Run the benchmark against the peers (in a checkout)."), rich_help_panel=tr("The house"))
def bench(
    rows: upkeep.BenchRows = None,
    size: upkeep.BenchSize = "full",
    show: upkeep.BenchList = False,
    lang: Lang = None,
    quiet: Quiet = False,
) -> None:
    from tercet.cli import maintenance

    raise typer.Exit(maintenance.bench(rows or [], size=size, show=show))


def _version(value: bool) -> None:
    if value:
        print(f"tercet {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def tercet(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help=tr("Print the version and stop.")),
    ] = False,
    lang: Lang = None,
) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


def main() -> NoReturn:
    """Run the command; a user's mistake is one line and an exit code, never a traceback."""
    exit_handling.run(app)
