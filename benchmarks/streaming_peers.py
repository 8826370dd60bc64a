"""Streaming and clusters against the peers: `python -m benchmarks.streaming_peers [--rows 4e6] [--external 2e7]`.

From the folder of Parquet files of `benchmarks.streaming` to a fitted model, reading included, each contender in a
process of its own after a warm-up on 20 000 rows: on a Dask cluster of one and two workers of a thread each (ours,
dask-ml, XGBoost, LightGBM), and out of core with two threads (boosting: ours, XGBoost's external memory, LightGBM's
sequences, whose bins stay in memory). The quality is that of a file which nobody has seen: log loss, or the mean
squared distance from the nearest centre.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import results
from benchmarks.streaming import FEATURES, ROUNDS, make, peak_memory

NAMES = [f"f{j}" for j in range(FEATURES)]
CLUSTERS, ITERATIONS, LEAVES, RATE, BINS, THREADS = 8, 10, 31, 0.1, 255, 2
Says = Callable[
    [np.ndarray], np.ndarray
]  # probabilities of class 1, or squared distances from the nearest centre


def table(path: str) -> tuple[np.ndarray, np.ndarray]:
    """The features and labels of one file."""
    import pyarrow.parquet as parquet

    found = parquet.read_table(path, columns=[*NAMES, "label"])
    return np.column_stack([found[name].to_numpy() for name in NAMES]), found["label"].to_numpy()


def starts() -> np.ndarray:
    """Centres to start from, the same for every k-means."""
    return np.random.default_rng(5).normal(size=(CLUSTERS, FEATURES))


def to_centres(centres: np.ndarray) -> Says:
    def says(X: np.ndarray) -> np.ndarray:
        return ((X**2).sum(1)[:, None] - 2 * X @ centres.T + (centres**2).sum(1)).min(1)

    return says


def ours(
    model: Any, folder: str, *, supervised: bool = True, engine: Any = "stream", client: Any = None
) -> Any:
    import tercet
    from tercet.datasets import Source

    source = Source(folder, columns=[*NAMES, *(["label"] if supervised else [])])
    with tercet.engine(engine, client) if client is not None else tercet.engine(engine):
        return model.fit(source, **({"y": "label"} if supervised else {}))


def our_logistic(folder: str, client: Any) -> Says:
    from tercet.linear_model import LogisticRegression

    model = ours(LogisticRegression(solver="newton-cholesky"), folder, engine="dask", client=client)
    return lambda X: model.predict_proba(X)[:, 1]


def our_kmeans(folder: str, client: Any) -> Says:
    from tercet.cluster import KMeans

    model = KMeans(CLUSTERS, init=starts(), n_init=1, max_iter=ITERATIONS, tol=0)
    ours(model, folder, supervised=False, engine="dask", client=client)
    return to_centres(model.cluster_centers_)


def our_boosting(folder: str, client: Any) -> Says:
    from tercet.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(
        max_iter=ROUNDS,
        max_leaf_nodes=LEAVES,
        learning_rate=RATE,
        early_stopping=False,
        random_state=0,
        n_jobs=THREADS,
    )
    ours(model, folder, engine="stream" if client is None else "dask", client=client)
    return lambda X: model.predict_proba(X)[:, 1]


def dask_arrays(folder: str) -> tuple[Any, Any]:
    """The files as Dask arrays on the workers, a block of rows for each row group."""
    import dask.dataframe as dd
    from distributed import wait

    frame = dd.read_parquet(f"{folder}/*.parquet", columns=[*NAMES, "label"], split_row_groups=4).persist()
    wait(frame)
    y = frame["label"].to_dask_array(lengths=True)
    return frame[NAMES].to_dask_array(lengths=True).persist(), y.persist()


def dask_ml_logistic(folder: str, client: Any, solver: str = "newton") -> Says:
    from dask_ml.linear_model import LogisticRegression

    X, y = dask_arrays(folder)
    model = LogisticRegression(solver=solver).fit(X, y)
    return lambda X: 1 / (1 + np.exp(-(X @ np.ravel(model.coef_) + np.ravel(model.intercept_)[0])))


def dask_ml_lbfgs(folder: str, client: Any) -> Says:
    return dask_ml_logistic(folder, client, solver="lbfgs")


def dask_ml_kmeans(folder: str, client: Any) -> Says:
    from dask_ml.cluster import KMeans

    X, _ = dask_arrays(folder)
    model = KMeans(CLUSTERS, init=starts(), max_iter=ITERATIONS, tol=0).fit(X)
    return to_centres(np.asarray(model.cluster_centers_))


XGBOOST = {
    "objective": "binary:logistic",
    "tree_method": "hist",
    "grow_policy": "lossguide",
    "max_leaves": LEAVES,
    "max_depth": 0,
    "eta": RATE,
    "max_bin": BINS,
}


def xgboost_dask(folder: str, client: Any) -> Says:
    import xgboost
    from xgboost import dask as parallel

    X, y = dask_arrays(folder)
    data = parallel.DaskQuantileDMatrix(client, X, y, max_bin=BINS)
    found = parallel.train(client, {**XGBOOST, "nthread": 1}, data, num_boost_round=ROUNDS)
    return lambda X: found["booster"].predict(xgboost.DMatrix(X))


def lightgbm_dask(folder: str, client: Any) -> Says:
    from lightgbm import DaskLGBMClassifier

    X, y = dask_arrays(folder)
    model = DaskLGBMClassifier(
        client=client,
        n_estimators=ROUNDS,
        num_leaves=LEAVES,
        learning_rate=RATE,
        max_bin=BINS,
        tree_learner="data",
        n_jobs=1,
        verbose=-1,
    ).fit(X, y)
    return lambda X: model.to_local().predict_proba(X)[:, 1]


def xgboost_external(folder: str, client: None) -> Says:
    import xgboost

    class Files(xgboost.DataIter):
        """A file at a time, in pages that XGBoost writes to a folder of its own."""

        def __init__(self, pages: str) -> None:
            self.paths, self.at = sorted(Path(folder).glob("*.parquet")), 0
            super().__init__(cache_prefix=os.path.join(pages, "page"))

        def next(self, input_data: Callable) -> bool:
            if self.at == len(self.paths):
                return False
            X, y = table(str(self.paths[self.at]))
            input_data(data=X, label=y)
            self.at += 1
            return True

        def reset(self) -> None:
            self.at = 0

    with tempfile.TemporaryDirectory(dir=Path(folder).parent) as pages:
        data = xgboost.ExtMemQuantileDMatrix(Files(pages), max_bin=BINS, nthread=THREADS)
        booster = xgboost.train({**XGBOOST, "nthread": THREADS}, data, num_boost_round=ROUNDS)
        del data
    return lambda X: booster.predict(xgboost.DMatrix(X))


def lightgbm_sequence(folder: str, client: None) -> Says:
    import lightgbm
    import pyarrow.parquet as parquet

    class File(lightgbm.Sequence):
        """The rows of a file; the last row group that was read is kept."""

        batch_size = 131_072

        def __init__(self, path: Path) -> None:
            self.file, self.kept = parquet.ParquetFile(path), (-1, np.empty((0, FEATURES)))
            sizes = [self.file.metadata.row_group(k).num_rows for k in range(self.file.num_row_groups)]
            self.ends = np.cumsum(sizes)

        def __len__(self) -> int:
            return int(self.ends[-1])

        def group(self, k: int) -> np.ndarray:
            if self.kept[0] != k:
                found = self.file.read_row_group(k, columns=NAMES)
                self.kept = (k, np.column_stack([found[name].to_numpy() for name in NAMES]))
            return self.kept[1]

        def __getitem__(self, index: Any) -> np.ndarray:
            if isinstance(index, slice):
                return (
                    np.array([self[i] for i in range(*index.indices(len(self)))])
                    if index.step
                    not in (
                        None,
                        1,
                    )
                    else self.rows(index.start, min(index.stop, len(self)))
                )
            k = int(np.searchsorted(self.ends, index, side="right"))
            return self.group(k)[index - (self.ends[k - 1] if k else 0)]

        def rows(self, start: int, stop: int) -> np.ndarray:
            found = []
            while start < stop:
                k = int(np.searchsorted(self.ends, start, side="right"))
                first, end = int(self.ends[k - 1]) if k else 0, min(int(self.ends[k]), stop)
                found.append(self.group(k)[start - first : end - first])
                start = end
            return np.concatenate(found)

    paths = sorted(Path(folder).glob("*.parquet"))
    y = np.concatenate([parquet.read_table(path, columns=["label"])["label"].to_numpy() for path in paths])
    data = lightgbm.Dataset([File(path) for path in paths], label=y, params={"max_bin": BINS, "verbose": -1})
    settings = {"objective": "binary", "num_leaves": LEAVES, "learning_rate": RATE, "num_threads": THREADS}
    booster = lightgbm.train({**settings, "verbose": -1}, data, num_boost_round=ROUNDS)
    return lambda X: booster.predict(X)


ON_DASK: dict[str, dict[str, Callable[..., Says]]] = {
    "logistic": {"tercet": our_logistic, "dask-ml newton": dask_ml_logistic, "dask-ml lbfgs": dask_ml_lbfgs},
    "k-means": {"tercet": our_kmeans, "dask-ml": dask_ml_kmeans},
    "boosting": {"tercet": our_boosting, "XGBoost": xgboost_dask, "LightGBM": lightgbm_dask},
}
OUT_OF_CORE = {
    "tercet": our_boosting,
    "XGBoost external memory": xgboost_external,
    "LightGBM sequences": lightgbm_sequence,
}


def run(task: str, name: str, folder: str, workers: int) -> dict[str, float]:
    """One contender in this process: seconds from the files to the model, its quality, peak memory."""
    learn = ON_DASK[task][name] if workers else OUT_OF_CORE[name]
    base = Path(folder).parent
    few, unseen = base / "few", base / "unseen"
    if not workers:
        learn(str(few), None)
        start = time.perf_counter()
        says = learn(folder, None)
        seconds = time.perf_counter() - start
    else:
        from distributed import Client, LocalCluster

        with (
            LocalCluster(
                n_workers=workers, threads_per_worker=1, dashboard_address="127.0.0.1:0", memory_limit=0
            ) as cluster,
            Client(cluster) as client,
        ):
            learn(str(few), client)
            start = time.perf_counter()
            says = learn(folder, client)
            seconds = time.perf_counter() - start
    found = {"seconds": seconds, "peak": peak_memory()}
    X, y = table(str(unseen / "part-0000.parquet"))
    answer = says(X)
    if task == "k-means":
        return {**found, "quality": float(answer.mean())}
    answer = np.clip(np.where(y == 1, answer, 1 - answer), 1e-15, 1)
    return {**found, "quality": float(-np.log(answer).mean())}


def prepare(folder: Path, rows: int) -> str:
    """The files of so many rows, a few rows to warm up on, and rows that nobody has seen."""
    make(folder / f"{rows}", rows)
    make(folder / "few", 20_000)
    make(folder / "unseen", 200_000, seed=1_000_000)
    return str(folder / f"{rows}")


def measured(task: str, name: str, folder: str, workers: int) -> dict[str, float] | str:
    """What a process of its own finds, or the last line of its error."""
    words = ["--one", task, name, str(workers), "--folder", folder]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.streaming_peers", *words], capture_output=True, text=True
    )
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["no message"])[-1]
    return json.loads(done.stdout.splitlines()[-1])


def line(cells: list[str], found: dict[str, float] | str, memory: bool) -> str:
    if isinstance(found, str):
        cells += [f"failed: {found[:100]}", "", ""]
    else:
        cells += [f"{found['seconds']:.2f}", f"{found['quality']:.5f}"]
        cells += [f"{found['peak'] / 1e6:.0f} MB"] if memory else []
    text = f"| {' | '.join(cells)} |"
    print(text, flush=True)
    return text


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.streaming_peers", description=__doc__)
    parser.add_argument("--rows", type=float, default=4e6, help="rows on the Dask cluster; 0: none")
    parser.add_argument("--external", type=float, default=2e7, help="rows out of core; 0: none")
    parser.add_argument("--tasks", nargs="+", default=list(ON_DASK), choices=list(ON_DASK))
    parser.add_argument("--folder", default=str(Path(tempfile.gettempdir()) / "tercet-streaming"))
    parser.add_argument("--write", action="store_true", help="put the tables into RESULTS.md")
    parser.add_argument("--one", nargs=3, metavar=("TASK", "NAME", "WORKERS"), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.one:
        task, name, workers = options.one
        print(json.dumps(run(task, name, options.folder, int(workers))))
        return
    lines = [*on_dask(options), *out_of_core(options)]
    if options.write:
        said = "python -m benchmarks.streaming_peers " + " ".join(arguments or sys.argv[1:])
        packages = ["tercet", "dask", "dask-ml", "xgboost", "lightgbm"]
        work = "from Parquet files to a model, on a Dask cluster and out of core, against the peers"
        results.write_table("streaming-peers", work, "\n".join(lines), said, packages)


def on_dask(options: argparse.Namespace) -> Iterator[str]:
    """A line of a table for each contender on one and on two workers."""
    if not options.rows:
        return
    folder = prepare(Path(options.folder), int(options.rows))
    yield from (
        f"| {options.rows:.0f} rows on Dask | contender | workers | s | quality |",
        "|---|---|---|---|---|",
    )
    for task in options.tasks:
        for name in ON_DASK[task]:
            for workers in (1, 2):
                yield line([task, name, str(workers)], measured(task, name, folder, workers), memory=False)
    yield ""


def out_of_core(options: argparse.Namespace) -> Iterator[str]:
    """A line of a table for each contender that boosts from files."""
    if not options.external:
        return
    folder = prepare(Path(options.folder), int(options.external))
    yield from (
        f"| {options.external:.0f} rows out of core | s | quality | peak memory |",
        "|---|---|---|---|",
    )
    for name in OUT_OF_CORE:
        yield line([name], measured("boosting", name, folder, 0), memory=True)


if __name__ == "__main__":
    main()
