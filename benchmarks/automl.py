"""The model that `tercet compare` chooses, against FLAML's and AutoGluon's: ``python -m benchmarks.automl``.

Each contender gets the same training rows as a CSV file, the same measure to choose by, the same number of cores
and the same seconds as its own limit, counted from when its package is imported, in a process of its own, one after
the other. What it chose predicts fresh rows from the same source. Of those predictions come

- the score;
- the loss relative to the baseline (the most frequent class, the mean): 0 is perfect, 1 no better than a constant;
- the rank among the contenders, equal scores sharing theirs;
- for ours, whether the interval that it stated covers the score.

With several draws of each table (`--draws`), the means over the tables have the standard error over the draws,
and so has the difference between ours and each other contender, draw by draw. One draw says little: who is ahead
changes.

FLAML and AutoGluon need environments of their own, since they pin other versions of scikit-learn:

    python3 -m venv flaml && flaml/bin/pip install 'flaml[automl]'
    python3 -m venv autogluon && autogluon/bin/pip install 'autogluon.tabular[lightgbm,catboost,xgboost]'
    python -m benchmarks.automl --flaml flaml/bin/python --autogluon autogluon/bin/python

A contender whose interpreter is not given, or lacks the package, is left out and named. Options:

    TABLE ...            some tables only (default: all of `benchmarks.automl_tables`)
    --budget 30          seconds of each contender on each table
    --cores 2            of each contender
    --draws 1            draws of each table
    --resume             go on with the draws that the file of --json has already
    --contenders NAME    some contenders only (tercet flaml autogluon)
    --size smoke         a few rows of two tables and a few methods, to see that it works
    --tune               ours searches settings inside the folds
    --json FILE          all numbers
    --write              put the table into RESULTS.md
    --note TEXT          what else it should say there
"""

from __future__ import annotations

import argparse
import json
import shlex
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks import results
from benchmarks.automl_tables import FRESH, SOURCES, Source

WORKER = Path(__file__).with_name("automl_contenders.py")
GRACE = 300.0  # seconds beyond the budget after which a contender is stopped
SMOKE: dict[str, Any] = {
    "tables": ("diabetes", "rare"),
    "rows": 120,
    "fresh": 200,
    "methods": {"classification": ["GaussianNB", "LogisticRegression"], "regression": ["Ridge", "LassoCV"]},
}
PACKAGES = {"tercet": "tercet", "flaml": "flaml", "autogluon": "autogluon.tabular"}


@dataclass(frozen=True)
class Score:
    """What one contender did on one table.

    Attributes
    ----------
    score, loss : of the measure, and relative to the baseline's loss.
    seconds : until the chosen model was fitted.
    interval : the 95 % interval that was stated, if one was.
    covered : whether it covers the score.
    problem : why there is none of this.
    version : of the contender's package.
    """

    table: str
    seed: int
    contender: str
    score: float = float("nan")
    loss: float = float("nan")
    seconds: float = float("nan")
    model: str = ""
    interval: tuple[float, float] | None = None
    covered: bool | None = None
    problem: str = ""
    version: str = ""


def value(metric: str, truth: np.ndarray, answer: pl.DataFrame) -> float:
    """A measure of numbers, or of probabilities of the classes.

    Examples
    --------
    >>> value("accuracy", np.array(["a", "b"]), pl.DataFrame({"a": [0.9, 0.8], "b": [0.1, 0.2]}))
    0.5
    """
    from sklearn import metrics

    if metric == "r2":
        return float(metrics.r2_score(truth, answer["answer"].to_numpy()))
    classes = np.array(answer.columns)
    proba = answer.to_numpy()
    if metric == "accuracy":
        return float(np.mean(classes[proba.argmax(axis=1)] == truth.astype(str)))
    order = np.argsort(classes)
    if metric == "log_loss":
        sure = np.clip(proba[:, order], 1e-15, None)
        return float(metrics.log_loss(truth, sure / sure.sum(axis=1, keepdims=True), labels=classes[order]))
    assert metric == "roc_auc"
    assert classes.size == 2
    return float(metrics.roc_auc_score(truth == classes[order][1], proba[:, order[1]]))


def relative_loss(metric: str, score: float, baseline: float) -> float:
    """Loss as a share of the baseline's.

    Examples
    --------
    >>> relative_loss("accuracy", 0.75, 0.5), relative_loss("log_loss", 0.5, 1.0)
    (0.5, 0.5)
    """
    perfect = 0.0 if metric == "log_loss" else 1.0
    return (perfect - score) / (perfect - baseline)


def baseline(source: Source, train: np.ndarray, fresh: np.ndarray) -> float:
    """The score of a constant answer."""
    if source.task == "regression":
        return value(source.metric, fresh, pl.DataFrame({"answer": np.full(fresh.size, train.mean())}))
    classes, counts = np.unique(train, return_counts=True)
    shares = dict(zip(classes.astype(str), counts / train.size))
    return value(source.metric, fresh, pl.DataFrame({c: np.full(fresh.size, p) for c, p in shares.items()}))


def run_contender(name: str, python: str, folder: Path, limit: float) -> dict[str, Any]:
    """What a contender says of its run; it has written its answer to the folder."""
    command = [python, str(WORKER), name, str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return {"problem": f"stopped after {limit:.0f} s"}
    if done.returncode or not (folder / "about.json").exists():
        said = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        return {"problem": f"failed: {said[-1]}"}
    return json.loads((folder / "about.json").read_text(encoding="utf-8"))


def race(table: str, seed: int, contenders: dict[str, str], options: argparse.Namespace) -> Iterator[Score]:
    """All contenders on one draw of a table."""
    source, smoke = SOURCES[table], options.size == "smoke"
    rng = np.random.default_rng([seed, list(SOURCES).index(table)])
    rows, many = (SMOKE["rows"], SMOKE["fresh"]) if smoke else (source.rows, FRESH)
    train, fresh = source.draw(rng, rows, many)
    truth = fresh["target"].to_numpy()
    floor = baseline(source, train["target"].to_numpy(), truth)
    task = {"task": source.task, "metric": source.metric, "budget": options.budget, "cores": options.cores}
    task |= {"seed": seed, "tune": options.tune, "methods": SMOKE["methods"][source.task] if smoke else []}
    for name, python in contenders.items():
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            (folder / "task.json").write_text(json.dumps(task), encoding="utf-8")
            train.write_csv(folder / "train.csv")
            fresh.drop("target").write_csv(folder / "fresh.csv")
            about = run_contender(name, python, folder, options.budget + GRACE)
            if about.get("problem"):
                yield Score(table, seed, name, problem=about["problem"])
                continue
            kinds = {"schema_overrides": {"answer": pl.Float64}} if source.task == "regression" else {}
            score = value(source.metric, truth, pl.read_csv(folder / "answer.csv", **kinds))
        loss = relative_loss(source.metric, score, floor)
        interval = about.get("interval")
        covered = None if interval is None else bool(interval[0] <= score <= interval[1])
        found = {key: about[key] for key in ("seconds", "model", "version")}
        yield Score(table, seed, name, score, loss, **found, interval=interval, covered=covered)


def ranks(scores: list[Score]) -> dict[str, list[float]]:
    """The ranks of each contender, by its loss on each table; ties share theirs, and who failed is last.

    Examples
    --------
    >>> ranks([Score("t", 0, "a", loss=0.2), Score("t", 0, "b", loss=0.1), Score("t", 0, "c", loss=0.2)])
    {'a': [2.5], 'b': [1.0], 'c': [2.5]}
    """
    from scipy.stats import rankdata

    found: dict[str, list[float]] = {}
    for here in draws_of(scores).values():
        losses = [np.inf if np.isnan(one.loss) else one.loss for one in here]
        for one, rank in zip(here, rankdata(np.round(losses, 9))):
            found.setdefault(one.contender, []).append(float(rank))
    return found


def draws_of(scores: list[Score]) -> dict[tuple[str, int], list[Score]]:
    """The scores of all contenders on each draw of each table."""
    found: dict[tuple[str, int], list[Score]] = {}
    for one in scores:
        found.setdefault((one.table, one.seed), []).append(one)
    return found


def mean_over_tables(values: dict[str, list[float]]) -> tuple[float, float]:
    """Mean over the tables of the mean over the draws of each, and its standard error over the draws.

    The tables are fixed and their draws independent. A single draw of some table has no standard error: NaN.

    Examples
    --------
    >>> mean_over_tables({"a": [1.0, 3.0], "b": [4.0, 4.0]})
    (3.0, 0.5)
    """
    mean = float(np.mean([np.mean(draws) for draws in values.values()]))
    if min(len(draws) for draws in values.values()) < 2:
        return mean, float("nan")
    variances = [np.var(draws, ddof=1) / len(draws) for draws in values.values()]
    return mean, float(np.sqrt(np.sum(variances)) / len(values))


def by_table(values: dict[tuple[str, int], float]) -> dict[str, list[float]]:
    """The values of the draws, by table."""
    found: dict[str, list[float]] = {}
    for (table, _), one in values.items():
        found.setdefault(table, []).append(one)
    return found


def table_of(scores: list[Score]) -> str:
    """Mean scores by table, and the means over the tables below."""
    names = list(dict.fromkeys(one.contender for one in scores))
    draws = draws_of(scores).values()  # only those that all contenders have had
    scores = [one for here in draws if len(here) == len(names) for one in here]
    several = len({one.seed for one in scores}) > 1
    told = ["interval covers", "ours chose most often"] if several else ["interval of ours", "ours chose"]
    titles = ["table", "rows", "measure", *names, *told]
    lines = [results.table_line(titles), "|---" * len(titles) + "|"]
    for table in dict.fromkeys(one.table for one in scores):
        here = [one for one in scores if one.table == table]
        ours = [one for one in here if one.contender == "tercet" and not one.problem]
        cells = [table, str(SOURCES[table].rows), SOURCES[table].metric]
        cells += [_score_cell([one for one in here if one.contender == name]) for name in names]
        cells.append(_coverage(ours) if several else _interval(ours))
        cells.append(statistics.mode(one.model for one in ours) if ours else "")
        lines.append(results.table_line(cells))
    return "\n".join([*lines, "", *summary(scores, names)])


def _score_cell(draws: list[Score]) -> str:
    """The mean score of a contender on a table with its standard error, and what went wrong."""
    good = [one.score for one in draws if not one.problem]
    problems = [one.problem for one in draws if one.problem]
    if not good:
        return problems[0]
    failed = f" ({len(problems)} failed)" if problems else ""
    return with_error(*mean_over_tables({"": good})) + failed


def _coverage(ours: list[Score]) -> str:
    told = [one.covered for one in ours if one.covered is not None]
    return f"{sum(told)} of {len(told)}"


def _interval(ours: list[Score]) -> str:
    if not ours or ours[0].interval is None:
        return "-"
    low, high = ours[0].interval
    return f"{low:.3f} to {high:.3f}" + ("" if ours[0].covered else " missed")


def with_error(mean: float, error: float, digits: int = 4) -> str:
    """A mean with its standard error.

    Examples
    --------
    >>> with_error(0.25, 0.01), with_error(2.0, float("nan"), 2)
    ('0.2500 ± 0.0100', '2.00')
    """
    return f"{mean:.{digits}f}" + ("" if np.isnan(error) else f" ± {error:.{digits}f}")


def summary(scores: list[Score], names: list[str]) -> list[str]:
    """Mean rank, relative loss and seconds of each contender, its loss less ours, and how often ours covered."""
    titles = ["contender", "mean rank", "mean relative loss", "less ours", "median seconds"]
    lines = [results.table_line(titles), "|---" * len(titles) + "|"]
    places, draws = ranks(scores), draws_of(scores)
    good = {key: here for key, here in draws.items() if not any(one.problem for one in here)}
    losses = {key: {one.contender: one.loss for one in here} for key, here in good.items()}
    for name in names:
        rank = mean_over_tables(by_table(dict(zip(draws, places[name]))))
        cells = [name, with_error(*rank, 2)]
        if losses:
            cells.append(with_error(*mean_over_tables(by_table({k: v[name] for k, v in losses.items()}))))
            apart = {
                k: v[name] - v["tercet"] for k, v in losses.items() if "tercet" in v and name != "tercet"
            }
            cells.append(with_error(*mean_over_tables(by_table(apart))) if apart else "-")
            seconds = [one.seconds for here in good.values() for one in here if one.contender == name]
            cells.append(f"{np.median(seconds):.1f}")
        lines.append(results.table_line(cells if losses else [*cells, "-", "-", "-"]))
    told = [one.covered for one in scores if one.covered is not None]
    many = max(sum(table == one for one, _ in draws) for table, _ in draws)
    if many > 1:
        lines += ["", f"Means of {many} draws of each table, ± the standard error over the draws."]
    if told:
        lines += ["", f"The stated interval covers the score in {sum(told)} of {len(told)} cases."]
    return lines


def available(options: argparse.Namespace) -> dict[str, str]:
    """The contenders that are installed, with their interpreters; the others are named."""
    found = {"tercet": sys.executable} if "tercet" in options.contenders else {}
    for name in (name for name in ("flaml", "autogluon") if name in options.contenders):
        python = getattr(options, name)
        if python is None:
            print(f"{name} is left out: --{name} PYTHON names the interpreter of its environment")
            continue
        seen = subprocess.run(
            [python, "-c", f"import importlib.metadata as m; m.version({PACKAGES[name]!r})"],
            capture_output=True,
        )
        if seen.returncode:
            print(f"{name} is left out: {PACKAGES[name]} is not installed there")
        else:
            found[name] = python
    return found


def parsed(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.automl", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("tables", nargs="*", metavar="TABLE")
    parser.add_argument("--flaml", metavar="PYTHON")
    parser.add_argument("--autogluon", metavar="PYTHON")
    parser.add_argument("--budget", type=float, default=30.0)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--draws", type=int, default=1)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--contenders", nargs="+", choices=list(PACKAGES), default=list(PACKAGES))
    parser.add_argument("--size", choices=["full", "smoke"], default="full")
    parser.add_argument("--tune", action="store_true")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--note", default="")
    options = parser.parse_args(arguments)
    strangers = set(options.tables) - set(SOURCES)
    if strangers:
        parser.error(f"unknown tables {sorted(strangers)}; there are {list(SOURCES)}")
    if options.resume and not options.json:
        parser.error("--resume goes on with the draws in the file that --json names")
    return options


def main(arguments: list[str] | None = None) -> int:
    given = sys.argv[1:] if arguments is None else arguments
    options = parsed(given)
    contenders, scores = available(options), kept_scores(options)
    wanted = options.tables or (SMOKE["tables"] if options.size == "smoke" else list(SOURCES))
    for seed in range(options.draws):
        for table in wanted:
            done = {one.contender for one in scores if (one.table, one.seed) == (table, seed)}
            left = {name: python for name, python in contenders.items() if name not in done}
            for score in race(table, seed, left, options):
                scores.append(score)
                print(f"{table} {seed} {score.contender}: {score.problem or round(score.score, 4)}"
                      f" ({score.seconds:.0f} s, {score.model})", flush=True)  # fmt: skip
            if options.json:
                kept = [asdict(score) for score in scores]
                options.json.write_text(json.dumps(kept, indent=1), encoding="utf-8")
    print(f"\n{table_of(scores)}")
    if options.write and options.size == "full":
        write(scores, options, command(given, options))
    return 0


def kept_scores(options: argparse.Namespace) -> list[Score]:
    """The scores of an earlier run that this one goes on with."""
    if not options.resume or not options.json.exists():
        return []
    return [Score(**one) for one in json.loads(options.json.read_text(encoding="utf-8"))]


def command(given: list[str], options: argparse.Namespace) -> str:
    """The command without the places of this machine."""
    places = {options.flaml: "flaml/bin/python", options.autogluon: "autogluon/bin/python"}
    words = [places.get(word, word) for word in given]
    for name, size in (("--json", 2), ("--note", 2), ("--resume", 1)):
        if name in words:
            del words[words.index(name) : words.index(name) + size]
    return shlex.join(["python", "-m", "benchmarks.automl", *words])


def write(scores: list[Score], options: argparse.Namespace, said: str) -> None:
    """Put the table into RESULTS.md."""
    from benchmarks.__main__ import ROWS

    work = f"the model that is chosen in {options.budget:g} s on {options.cores} cores, scored on fresh rows"
    work += f"; {options.note}" if options.note else ""
    versions = {one.contender: one.version for one in scores if one.version}
    entry = {"name": "automl", "work": work, "table": table_of(scores)}
    results.write(results.PATH, [{**entry, **results.circumstances(said, versions)}], list(ROWS))


if __name__ == "__main__":
    sys.exit(main())
