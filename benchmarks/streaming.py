"""Fits of data that is read in every pass: `python -m benchmarks.streaming [--rows 1e8] [--folder DIR]`.

Makes a folder of Parquet files of n rows with 20 features, a class and a number (kept, and used again by the next
run), and measures in a process of its own each: the seconds of reading the files alone; seconds per pass, bytes per
second against reading alone, and peak memory of fits that stream; and with `--dask`, seconds per pass on Dask
workers against threads on rows that fit into memory.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import results

FEATURES, FILE_ROWS, GROUP_ROWS = 20, 2_000_000, 131_072
FITS = ("read", "linear", "logistic", "naive-bayes", "pca", "k-means", "boosting")
ROUNDS = 10  # of boosting


def make(folder: Path, rows: int, seed: int = 0) -> None:
    """The files, as many as are missing."""
    import numpy as np
    import pyarrow as pa
    from pyarrow import parquet

    folder.mkdir(parents=True, exist_ok=True)
    for k, start in enumerate(range(0, rows, FILE_ROWS)):
        n, path = min(FILE_ROWS, rows - start), folder / f"part-{k:04}.parquet"
        if path.exists():
            continue
        rng = np.random.default_rng(seed + k)
        X = rng.normal(size=(n, FEATURES)).astype(np.float64)
        score = X[:, :5].sum(axis=1)
        table = pa.table(
            {
                **{f"f{j}": X[:, j] for j in range(FEATURES)},
                "label": (score + rng.logistic(size=n) > 0).astype(np.int8),
                "number": score + rng.normal(size=n),
            }
        )
        unfinished = path.with_suffix(".unfinished")
        parquet.write_table(
            table, unfinished, row_group_size=GROUP_ROWS, compression="none", use_dictionary=False
        )
        unfinished.rename(path)


def fit(name: str, folder: str, n_jobs: int) -> dict[str, float]:
    """One fit in this process: seconds, passes over X, peak memory."""
    import tercet
    from tercet.datasets import Source

    features = [f"f{j}" for j in range(FEATURES)]
    known = models(n_jobs)  # modules are loaded before the clock starts
    next(iter(Source(folder, columns=features)))
    start = time.perf_counter()
    if name == "read":
        source = Source(folder, columns=features)
        passes = 1.0
        for piece in source.read(source.features()):
            piece.X[0, 0]
    else:
        model, target = known[name]
        source = Source(folder, columns=[*features, *([target] if target else [])])
        counter = Counter(source)
        with tercet.engine("stream"), pages_on_disk() as spilled:
            model.fit(source, **({"y": target} if target else {}))
        passes = counter.passes()
    seconds = time.perf_counter() - start
    found = {"seconds": seconds, "passes": passes, "peak": peak_memory(), "rows": source.n_rows}
    if name == "boosting":  # its rounds go over pages, not over the source
        found |= {"rounds": float(ROUNDS), "on_disk": float(sum(spilled))}
    return found


@contextlib.contextmanager
def pages_on_disk() -> Iterator[list[int]]:
    """The bytes of the temporary files that are made inside a `with` block."""
    from tercet.core import row_pages

    sizes: list[int] = []
    reserve = row_pages._reserved_file

    def noted(size: int) -> Any:
        sizes.append(size)
        return reserve(size)

    row_pages._reserved_file = noted
    try:
        yield sizes
    finally:
        row_pages._reserved_file = reserve


def peak_memory() -> float:
    """The most bytes that this process had in memory; getrusage may have those of the one that started it."""
    with open("/proc/self/status", encoding="ascii") as file:
        return next(float(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))


class Counter:
    """How often the features of a source are read."""

    def __init__(self, source: Any) -> None:
        self.rows, self.source, read = 0, source, source._read

        def counted(part: Any, features: Any, others: Any, skip: int) -> Any:
            for X, values in read(part, features, others, skip):
                self.rows += 0 if X is None else X.shape[0]
                yield X, values

        source._read = counted

    def passes(self) -> float:
        return max(self.rows / self.source.n_rows, 1.0)


def models(n_jobs: int) -> dict[str, tuple[Any, str | None]]:
    """The estimators, with the columns of their targets."""
    from tercet.cluster import KMeans
    from tercet.decomposition import PCA
    from tercet.ensemble import HistGradientBoostingClassifier
    from tercet.linear_model import LinearRegression, LogisticRegression
    from tercet.naive_bayes import GaussianNB

    return {
        "linear": (LinearRegression(n_jobs=n_jobs), "number"),
        "logistic": (LogisticRegression(solver="newton-cholesky", n_jobs=n_jobs), "label"),
        "naive-bayes": (GaussianNB(n_jobs=n_jobs), "label"),
        "pca": (PCA(5, n_jobs=n_jobs), None),
        "k-means": (KMeans(8, random_state=0, max_iter=10, n_jobs=n_jobs), None),
        "boosting": (
            HistGradientBoostingClassifier(
                max_iter=ROUNDS, early_stopping=False, random_state=0, n_jobs=n_jobs
            ),
            "label",
        ),
    }


GAUSSIANS = 8


def mixture_pass(X: Any, workers: int) -> float:
    """Seconds of a pass of EM for full Gaussians, bound by arithmetic: of 11 passes less those of 1, by 10."""
    from tercet.mixture import GaussianMixture

    times = []
    for passes in (1, 1, 1, 11):
        model = GaussianMixture(
            GAUSSIANS,
            init_params="random_from_data",
            random_state=0,
            max_iter=passes,
            tol=0,
            n_jobs=workers,
        )
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it did not converge
            model.fit(X)
        times.append(time.perf_counter() - start)
    return (times[3] - sorted(times[:3])[1]) / 10  # the first three send the rows, too


def on_dask(folder: str, rows: int, workers: int) -> dict[str, float]:
    """Seconds of a pass, on threads and on Dask workers, of rows in memory: a gradient of logistic regression,
    which is bound by memory, and EM of a mixture, which is bound by arithmetic."""
    import numpy as np
    from distributed import Client, LocalCluster

    from tercet.core.dask_engine import DaskEngine
    from tercet.core.parallel import Chunks, using
    from tercet.core.streams import MemoryStream
    from tercet.datasets import Source
    from tercet.linear_model._logistic.logistic_objective import LogisticObjective

    features = [f"f{j}" for j in range(FEATURES)]
    X, y = Source(folder, columns=[*features, "label"]).to_arrays(y="label")
    X, y = X[:rows], y[:rows].astype(np.intp)
    found = {"rows": float(len(X))}
    theta = np.zeros(FEATURES + 1)

    def seconds(objective: LogisticObjective) -> float:
        objective.value_and_gradient(theta)  # rows are sent to their workers, kernels are loaded
        times = []
        for _ in range(5):
            start = time.perf_counter()
            objective.value_and_gradient(theta)
            times.append(time.perf_counter() - start)
        return sorted(times)[2]

    found["threads"] = seconds(LogisticObjective(X, y, None, 2, n_jobs=workers))
    found["threads mixture"] = mixture_pass(X, workers)
    stream = MemoryStream("benchmark", X=X, y=y)
    with (
        LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address="127.0.0.1:0", memory_limit=0
        ) as cluster,
        Client(cluster) as client,
        using(DaskEngine(client)),
    ):
        found["dask"] = seconds(LogisticObjective(stream.array("X"), stream.array("y"), None, 2))
        found["dask mixture"] = mixture_pass(X, workers)
    assert len(Chunks(X)) > 1
    return found


def in_a_process(*words: str) -> dict[str, float]:
    """What a run of this module in another process prints."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.streaming", *words], stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def report(folder: str, jobs: int, fits: list[str]) -> list[str]:
    """A line of a table for each fit."""
    lines = [
        "| fit | passes | s per pass | MB/s | of reading alone | peak memory |",
        "|---|---|---|---|---|---|",
    ]
    alone, notes = None, []
    for name in fits:
        found = in_a_process("--one", name, "--folder", folder, "--jobs", str(jobs))
        per_pass = found["seconds"] / found["passes"]
        speed = found["rows"] * FEATURES * 8 / per_pass / 1e6
        alone = speed if name == "read" else alone
        share = "" if alone is None else f"{100 * speed / alone:.0f} %"
        peak = f"{found['peak'] / 1e6:.0f} MB"
        if "rounds" in found:
            per_round, disk = found["seconds"] / found["rounds"], found["on_disk"] / 1e6
            notes.append(
                f"boosting: {found['rounds']:.0f} rounds of 31 leaves, {per_round:.2f} s each with the passes over "
                f"the source; {disk:.0f} MB of pages on disk (TERCET_MEMORY={os.environ.get('TERCET_MEMORY')})"
            )
        print(name, {key: round(value, 2) for key, value in found.items()}, file=sys.stderr, flush=True)
        lines.append(f"| {name} | {found['passes']:.1f} | {per_pass:.2f} | {speed:.0f} | {share} | {peak} |")
    return [*lines, "", *notes] if notes else lines


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.streaming", description=__doc__)
    parser.add_argument("--rows", type=float, default=1e6, help="rows of the folder; 1e8 are 17 GB")
    parser.add_argument("--folder", default=str(Path(tempfile.gettempdir()) / "tercet-streaming"))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="threads")
    parser.add_argument("--fits", nargs="*", default=list(FITS), choices=FITS)
    parser.add_argument(
        "--dask", type=int, default=0, metavar="WORKERS", help="compare threads with so many workers"
    )
    parser.add_argument("--write", action="store_true", help="put the table into RESULTS.md")
    parser.add_argument("--one", choices=FITS, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.one:
        print(json.dumps(fit(options.one, options.folder, options.jobs)))
        return
    folder = Path(options.folder) / f"{int(options.rows)}"
    make(folder, int(options.rows))
    lines = report(str(folder), options.jobs, options.fits) if options.fits else []
    if options.dask:
        found = on_dask(str(folder), int(options.rows), options.dask)
        for kind, name in (("", "logistic regression"), (" mixture", f"EM of {GAUSSIANS} Gaussians")):
            here, there = found[f"threads{kind}"], found[f"dask{kind}"]
            lines.append(
                f"- {found['rows']:.0f} rows in memory, {name}: {here:.3f} s a pass on {options.dask} threads, "
                f"{there:.3f} s on as many Dask workers ({100 * (there / here - 1):+.0f} %)"
            )
    print(*lines, sep="\n")
    if options.write:
        name, work = (
            "streaming",
            f"fits that read {options.rows:.0f} x {FEATURES} rows of Parquet in every pass",
        )
        if not options.fits:
            name, work = "dask", "passes over rows in memory, on threads and on Dask workers of this machine"
        said = "python -m benchmarks.streaming " + " ".join(arguments or sys.argv[1:])
        results.write_table(name, work, "\n".join(lines), said, ["tercet", "pyarrow", "numpy", "numba"])


if __name__ == "__main__":
    main()
