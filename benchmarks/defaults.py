"""Defaults against defaults: ``python -m benchmarks defaults [CLASS ...] [--size small medium large] [--sparse]``.

Every class that scikit-learn has under the same name in the same module is made with no arguments (where one is
needed: with the least), and fitted on the same data by turns in one process: ours, theirs, ours, theirs. Timed are
`fit`, `predict` on the training rows (or the first of `transform`, `score_samples`, `kneighbors` that there is),
and `predict` for a single row. A ratio is scikit-learn's median time / ours: above 1 we are ahead. A miss is more
than 10 % and more than 30 microseconds slower, and has a star.

    --size small medium large   150 x 4, 20 000 x 30, 200 000 x 50 (default: small medium)
    --sparse                    text-like CSR, some 30 entries a row: 150 x 200, 20 000 x 2 000, 200 000 x 2 000
    --rounds 30                 turns of each, fewer where the turns of a cell would take more than --seconds
    --seconds 5                 time for the turns of one cell; three turns may take four times as long
    --limit 10                  skip where scikit-learn's fit would take longer (seconds, judged by fits on parts);
                                where an answer would, only a part of the rows is asked for
    --first-fit                 a fresh process: import and the first fit with a warm kernel cache, instead
    --json FILE                 all numbers (medians and minima in seconds)
    --write                     put the table into RESULTS.md

The classes that take only counts, categories or positive targets get those; radius neighbours get rows whose
neighbours within the default radius are a few; the meta-estimators get their own library's LogisticRegression().
Threads of BLAS and OpenMP spin: on a machine that is not idle set OPENBLAS_NUM_THREADS=1 and OMP_NUM_THREADS=1, or
they decide the ratios.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import inspect
import json
import math
import os
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import is_regressor

from benchmarks import results
from benchmarks.harness import version
from benchmarks.overhead import interpreter_seconds

SIZES = {
    "small": {"dense": (150, 4), "sparse": (150, 200)},
    "medium": {"dense": (20_000, 30), "sparse": (20_000, 2_000)},
    "large": {"dense": (200_000, 50), "sparse": (200_000, 2_000)},
    "tiny": {"dense": (40, 3), "sparse": (40, 50)},  # for the tests
}
COUNTS = ("MultinomialNB", "ComplementNB", "BernoulliNB")
ANSWERS = ("predict", "transform", "score_samples", "kneighbors")
FIRST_FIT_GOAL = 0.6


@dataclass(frozen=True)
class Pair:
    """A class that both libraries have."""

    module: str  # as "linear_model"
    name: str

    def make(self, library: str) -> Any:
        """An estimator at the defaults of `library`."""
        kind, needed = constructor(library, self.module, self.name)
        return kind(*(need() for need in needed))


@cache
def constructor(library: str, module: str, name: str) -> tuple[Any, list[Any]]:
    """A class and what makes the arguments that it cannot do without."""
    kind = getattr(importlib.import_module(f"{library}.{module}"), name)
    needed = [p for p in inspect.signature(kind).parameters.values() if p.default is p.empty]
    names = [p.name for p in needed if p.kind is not p.VAR_KEYWORD]
    if names == ["estimator"] or name == "SelfTrainingClassifier":  # whose default is an error
        return kind, [importlib.import_module(f"{library}.linear_model").LogisticRegression]
    if names == ["estimators"]:
        return kind, [partial(members, library, name)]
    if names == ["dictionary"]:
        return kind, [partial(np.eye, 4)]
    return kind, []


def members(library: str, name: str) -> list[tuple[str, Any]]:
    """Two estimators of a library, for an ensemble of named members."""
    linear = importlib.import_module(f"{library}.linear_model")
    pair = ("Ridge", "LinearRegression") if "Regressor" in name else ("LogisticRegression", "RidgeClassifier")
    return [(one.lower(), getattr(linear, one)()) for one in pair]


@dataclass
class Cell:
    """Times of one operation: medians and minima in seconds."""

    ours: float
    theirs: float
    ours_min: float
    theirs_min: float
    rounds: int

    @property
    def ratio(self) -> float:
        return self.theirs / self.ours

    @property
    def miss(self) -> bool:
        return self.ours > 1.1 * self.theirs and self.ours - self.theirs > 30e-6

    def __str__(self) -> str:
        return f"{self.ratio:.2f}{'*' if self.miss else ''} ({duration(self.ours)})"


@dataclass
class Line:
    """One class at one size."""

    name: str
    size: str
    rows: str  # "dense" or "sparse"
    cells: dict[str, Cell] = field(default_factory=dict)
    remark: str = ""


def pairs() -> list[Pair]:
    """The estimators that both libraries have, by module and name."""
    from tercet.core.lazy import own_names, scikit_learn_table

    found = []
    for module in [name for name in scikit_learn_table()["modules"] if name and "." not in name]:
        ours, theirs = (importlib.import_module(f"{library}.{module}") for library in ("tercet", "sklearn"))
        for name in own_names(ours.__name__):
            mine, peer = getattr(ours, name), getattr(theirs, name, None)
            if inspect.isclass(mine) and inspect.isclass(peer) and mine is not peer and hasattr(peer, "fit"):
                found.append(Pair(module, name))
    return found


def data(pair: Pair, size: str, rows: str, seed: int = 0) -> tuple[Any, np.ndarray]:
    """Rows and targets that suit a class."""
    rng = np.random.default_rng(seed)
    n, d = SIZES[size][rows]
    informative = min(d, 10)
    if rows == "sparse":
        X = words(rng, n, d)
        signal = np.asarray(X[:, :informative].sum(axis=1)).ravel() + 0.3 * rng.standard_normal(n)
        classes = np.digitize(signal, np.quantile(signal, [1 / 3, 2 / 3]))
        if pair.name in COUNTS:
            X.data = np.ceil(3.0 * X.data)
    else:
        classes = np.arange(n) % 3
        centres = 2.0 * rng.standard_normal((3, d)) * (np.arange(d) < informative)
        X = centres[classes] + rng.standard_normal((n, d)) * rng.uniform(0.5, 2.0, d)
        order = rng.permutation(n)
        X, classes = np.ascontiguousarray(X[order]), classes[order]
        signal = X[:, :informative].sum(axis=1)
        if pair.name in COUNTS:
            X = rng.poisson(np.exp(0.5 * np.clip(X, -2.0, 2.0))).astype(float)
        elif pair.name == "CategoricalNB":
            X = np.clip(np.round(X) + 4.0, 0.0, 8.0)
        elif pair.name.startswith("Radius"):
            X = near(X)
    if is_regressor(pair.make("sklearn")):
        signal = signal + 0.5 * rng.standard_normal(n)
        if pair.name in ("PoissonRegressor", "GammaRegressor"):
            return X, rng.poisson(np.exp(0.1 * np.clip(signal, -9, 9))) + (
                pair.name == "GammaRegressor"
            ) * 0.5
        return X, signal
    return X, classes


def words(rng: np.random.Generator, n: int, d: int, entries: int = 30) -> sparse.csr_matrix:
    """Rows of some 30 positive entries, columns as frequent as the words of a language, each row of length 1."""
    columns = np.minimum((rng.pareto(1.1, (n, entries)) * d / 50.0).astype(np.int64), d - 1)
    X = sparse.csr_matrix(
        (np.ones(columns.size), (np.repeat(np.arange(n), entries), columns.ravel())), shape=(n, d)
    )
    X.sum_duplicates()
    X.data /= np.repeat(np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel()), np.diff(X.indptr))
    return X


def near(X: np.ndarray, some: int = 20) -> np.ndarray:
    """Rows scaled so that half of a sample have twenty others or more within the radius 1."""
    from sklearn.neighbors import NearestNeighbors

    sample = X[:500]
    distances = NearestNeighbors(n_neighbors=min(some, len(sample) - 1)).fit(X).kneighbors(sample)[0][:, -1]
    return X / np.median(distances)


def by_turns(
    actions: Sequence[Callable[[], Any]],
    rounds: int,
    seconds: float,
    clock: Callable[[], float] = time.perf_counter,
) -> Cell:
    """Median and least seconds of two actions, ours and theirs by turns."""
    taken: tuple[list[float], list[float]] = ([], [])
    enabled = gc.isenabled()
    gc.disable()
    try:
        began = clock()
        while (done := len(taken[0])) < rounds:
            if done and clock() - began > (4.0 if done < 3 else 1.0) * seconds:
                break
            for action, times in zip(actions, taken, strict=True):
                begin = clock()
                action()
                times.append(clock() - begin)
    finally:
        if enabled:
            gc.enable()
    ours, theirs = taken
    return Cell(statistics.median(ours), statistics.median(theirs), min(ours), min(theirs), rounds=len(ours))


def would_take(pair: Pair, X: Any, y: np.ndarray, limit: float) -> float:
    """Seconds that scikit-learn's fit on all rows should take, from fits on parts, each four times the one before.

    It gives up at the first part that says "far above the limit": the next might not fit into memory.
    """
    n, last, guess = X.shape[0], 0.0, 0.0
    for quarters in (4, 3, 2, 1):
        part = n // 4**quarters
        if part < 100:
            continue
        seconds = seconds_of(pair.make("sklearn").fit, X[:part], y[:part])
        if last:
            guess = seconds * max(1.0, seconds / last) ** quarters
            if guess > 8.0 * limit and seconds > 0.25:
                break
        last = seconds
    return guess


def seconds_of(function: Callable[..., Any], *given: Any) -> float:
    """Seconds of one call."""
    begin = time.perf_counter()
    function(*given)
    return time.perf_counter() - begin


def compare(pair: Pair, size: str, rows: str, rounds: int, seconds: float, limit: float) -> Line | None:
    """Times of a class, or None where scikit-learn's does not take such rows."""
    line = Line(pair.name, size, rows)
    X, y = data(pair, size, rows)
    theirs = pair.make("sklearn")
    try:
        guess = would_take(pair, X, y, limit)
        if guess > limit:
            line.remark = f"skipped: scikit-learn's fit would take about {guess:.0f} s"
            return line
        theirs.fit(X, y)
    except (TypeError, ValueError) as error:
        if rows == "sparse":
            return None
        line.remark = f"scikit-learn: {error}"[:100]
        return line
    except MemoryError:
        line.remark = "skipped: scikit-learn's fit needs too much memory"
        return line
    try:
        ours = pair.make("tercet").fit(X, y)
        line.cells["fit"] = by_turns(
            (lambda: pair.make("tercet").fit(X, y), lambda: pair.make("sklearn").fit(X, y)), rounds, seconds
        )
        answer = next((name for name in ANSWERS if hasattr(theirs, name)), None)
        if answer is not None:
            line.remark = "" if answer == "predict" else answer
            answers = [getattr(model, answer) for model in (ours, theirs)]
            for ask in answers:
                ask(X[:1])
            part = X
            for share in (256, 16):  # the fewest first: an answer may take minutes
                some = X[: X.shape[0] // share]
                if some.shape[0] >= 100 and max(seconds_of(ask, some) for ask in answers) > limit / share:
                    part, line.remark = some, f"{line.remark} of {some.shape[0]} rows".strip()
                    break
            for title, some in (("predict", part), ("one row", X[:1])):
                actions = [partial(ask, some) for ask in answers]
                for action in actions:
                    action()
                line.cells[title] = by_turns(actions, rounds, seconds)
    except Exception as error:  # what goes wrong on our side belongs in the table
        line.remark = f"FAILED: {type(error).__name__}: {error}"[:100]
    return line


def first_fit(pair: Pair, rounds: int) -> Cell:
    """Seconds from the start of an interpreter to the end of the first small fit; kernels from the cache."""
    X, y = data(pair, "small", "dense")
    inner = "Ridge" if "Regressor" in pair.name else "LogisticRegression"
    more = f"from {{library}}.linear_model import {inner} as L; m = m({{given}})"
    given = {"multiclass": "L()", "ensemble": "[('one', L()), ('two', L())]"}
    needs = pair.module in given and constructor("sklearn", pair.module, pair.name)[1]
    statement = "; ".join(
        [
            "import numpy as np",
            "d = np.load({file!r})",
            f"from {{library}}.{pair.module} import {pair.name} as m",
            more.replace("{given}", given[pair.module]) if needs else "m = m()",
            "m.fit(d['X'], d['y'])",
        ]
    )
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder, "data.npz"))
        np.savez(file, X=X, y=y)
        said = [statement.format(library=library, file=file) for library in ("tercet", "sklearn")]
        actions = [partial(interpreter_seconds, one) for one in said]
        with byte_code(folder):
            for action in actions:
                action()
            return by_turns(actions, rounds, 60.0)


@contextmanager
def byte_code(folder: str) -> Iterator[None]:
    """Children started inside keep the byte code of what they import, as for a user, whatever is set here."""
    names = ("PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX")
    before = {name: os.environ.pop(name, None) for name in names}
    os.environ["PYTHONPYCACHEPREFIX"] = folder
    try:
        yield
    finally:
        del os.environ["PYTHONPYCACHEPREFIX"]
        os.environ.update({name: value for name, value in before.items() if value is not None})


def duration(seconds: float) -> str:
    """Seconds with a unit, three digits."""
    for factor, unit in ((1e6, "us"), (1e3, "ms")):
        if seconds * factor < 1000:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds:.3g} s"


def means(lines: list[Line]) -> list[str]:
    """Geometric means of the ratios by size and operation, and how many misses there are."""
    said = []
    groups = dict.fromkeys((line.size, line.rows) for line in lines)
    for size, rows in groups:
        for title in ("fit", "predict", "one row"):
            cells = [c.cells[title] for c in lines if (c.size, c.rows) == (size, rows) and title in c.cells]
            if cells:
                mean = math.exp(statistics.fmean(math.log(cell.ratio) for cell in cells))
                misses = sum(cell.miss for cell in cells)
                said.append(
                    f"{size} {rows}, {title}: geometric mean {mean:.2f} of {len(cells)}, {misses} misses"
                )
    return said


def table(lines: list[Line]) -> str:
    """All ratios as a table in Markdown; in brackets our time."""
    titles = ["class", "size", "rows", "fit", "predict", "one row", "remark"]
    text = [results.table_line(titles), "|---" * len(titles) + "|"]
    for line in lines:
        cells = [str(line.cells[title]) if title in line.cells else "-" for title in titles[3:6]]
        text.append(results.table_line([line.name, line.size, line.rows, *cells, line.remark]))
    return "\n".join([*text, "", *(f"- {said}" for said in means(lines))])


def main(arguments: list[str]) -> int:
    """The command; see the top of this file."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks defaults",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("classes", nargs="*", metavar="CLASS", help="all that both have when none is named")
    parser.add_argument("--size", nargs="+", choices=list(SIZES), default=["small", "medium"])
    parser.add_argument("--sparse", action="store_true")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--limit", type=float, default=10.0)
    parser.add_argument("--first-fit", action="store_true")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args(arguments)
    every = pairs()
    strangers = set(options.classes) - {pair.name for pair in every}
    if strangers:
        parser.error(f"unknown classes {sorted(strangers)}; there are {[pair.name for pair in every]}")
    chosen = [pair for pair in every if not options.classes or pair.name in options.classes]
    warnings.simplefilter("ignore")
    if options.first_fit:
        return report_first_fits(chosen, min(options.rounds, 5), options.json)
    lines = []
    for size in options.size:
        for pair in chosen:
            rows = "sparse" if options.sparse else "dense"
            line = compare(pair, size, rows, options.rounds, options.seconds, options.limit)
            if line is not None:
                lines.append(line)
                print(table([line]).splitlines()[2], flush=True)
    print(f"\n{table(lines)}")
    if options.json:
        kept = [{**asdict(line), "misses": [t for t, c in line.cells.items() if c.miss]} for line in lines]
        options.json.write_text(json.dumps(kept, indent=1), encoding="utf-8")
    if options.write:
        write(lines, ["python", "-m", "benchmarks", "defaults", *arguments])
    return 0


def report_first_fits(chosen: list[Pair], rounds: int, file: Path | None) -> int:
    """Print, for each class, the seconds of a fresh process of ours and of scikit-learn's."""
    found = {}
    print(f"{'class':32}{'ours s':>8}{'theirs s':>10}{'more s':>8}  (goal: at most {FIRST_FIT_GOAL} s more)")
    for pair in chosen:
        cell = found[pair.name] = first_fit(pair, rounds)
        more = cell.ours_min - cell.theirs_min
        mark = " *" if more > FIRST_FIT_GOAL else ""
        print(f"{pair.name:32}{cell.ours_min:8.2f}{cell.theirs_min:10.2f}{more:8.2f}{mark}", flush=True)
    if file:
        file.write_text(json.dumps({name: asdict(cell) for name, cell in found.items()}, indent=1))
    return 0


def write(lines: list[Line], command: list[str]) -> None:
    """Put the table into RESULTS.md."""
    from benchmarks.__main__ import ROWS

    versions = {name: version(name) for name in ("tercet", "scikit-learn", "numpy", "scipy", "numba")}
    rows, sizes = {line.rows for line in lines}, {line.size for line in lines}
    entry = {
        "name": "defaults" + "-sparse" * (rows == {"sparse"}) + "-large" * (sizes == {"large"}),
        "work": "classes that scikit-learn has too, both at their defaults; scikit-learn's time / ours (ours)",
        "table": table(lines),
        **results.circumstances(" ".join(command), versions),
    }
    results.write(results.PATH, [entry], list(ROWS))


if __name__ == "__main__":
    with suppress(BrokenPipeError):
        sys.exit(main(sys.argv[1:]))
