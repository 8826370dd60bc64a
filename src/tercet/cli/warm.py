"""Compile all kernels ahead of time: `tercet warm`, or `python -m tercet.cli.warm`.

Fits every estimator of the catalogue on a handful of rows, with each of its algorithms and for each kind of
data that kernels are compiled for, so that the first real fit finds everything in the cache.
"""

from __future__ import annotations

import contextlib
import gc
import inspect
import multiprocessing
import os
import sys
import tempfile
import threading
import time
import typing
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import chain
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from scipy import sparse
from sklearn.utils.validation import has_fit_parameter

from tercet.core.catalog import Card, methods
from tercet.core.columns import MixedColumns
from tercet.core.kernel import JIT
from tercet.core.parameters import hints
from tercet.datasets import read_table

# Parameters whose values are different code; and for some, or for some methods, settings that are.
CHOICES = (
    "solver",
    "svd_solver",
    "algorithm",
    "form",
    "linkage",
    "criterion",
    "splitter",
    "kernel",
    "implementation",
    "learning_method",
)
MORE: dict[str, list[dict[str, Any]]] = {
    "AgglomerativeClustering": [{"n_clusters": None, "max_diameter": 1.0}],
    "CentralSVC": [{"max_iter": -1}],
    "KBinsDiscretizer": [{"strategy": strategy} for strategy in ("kmeans", "mdl", "chimerge")],
    "LabelPropagation": [{"kernel": "knn"}],
    "LabelSpreading": [{"kernel": "knn"}],
    "LatentDirichletAllocation": [  # many topics, and several shards, are other kernels
        {"learning_method": "gibbs", "n_components": topics, "shards": 2} for topics in (10, 300)
    ],
    "LinearSVC": [{"loss": "hinge"}, {"penalty": "l1"}, {"multi_class": "crammer_singer"}],
    "LinearSVR": [{"loss": "squared_epsilon_insensitive"}],
    "LogisticRegression": [{"solver": "liblinear", **more} for more in ({"dual": True}, {"l1_ratio": 1.0})],
    "MDS": [{"metric_mds": False}],
    "MiniBatchNMF": [{"beta_loss": "kullback-leibler"}],
    "NMF": [
        {"n_components": 16, "init": "random", **more}  # rows of a cache line and more are other kernels
        for more in ({}, {"solver": "mu", "beta_loss": "kullback-leibler"})
    ],
    "PenalizedClassifier": [{"penalty": "l1"}],
    "Perceptron": [{"penalty": "l2"}, {"order": "random"}],
    "SVC": [{"max_iter": -1}, {"loss": "squared_hinge"}],
    "SVR": [{"max_iter": -1}],
    "max_leaf_nodes": [{"max_leaf_nodes": 4}],
    "max_bins": [{"max_bins": 16}, {"max_bins": 16, "max_leaf_nodes": 4}],
    "metric": [{"metric": "manhattan"}],
    "transition_attributes": [
        {"transition_attributes": "x2", "algorithm": algorithm} for algorithm in ("lbfgs", "l2sgd", "ap")
    ],
}
TASKS = (
    "classification",
    "regression",
    "clustering",
    "density estimation",
    "graphical model",
    "search",
    "feature selection",
    "sequence labelling",
    "sequence regression",
    "outlier detection",
    "feature map",
    "dimensionality reduction",
    "ranking",
    "matrix factorisation",
    "embedding",
    "feature extraction",
    "preprocessing",
    "retrieval",
    "topic model",
    "matrix completion",
    "sparse coding",
    "compressed sensing",
    "model selection",
    "reinforcement learning",
)
ANSWERS = ("predict", "predict_proba", "transform", "score_samples", "kneighbors")
SHARED = {"ensemble": "tree"}  # families that are compiled with another, most of whose kernels they use
# A few passes, candidates and folds compile as much as many.
FEW = {
    "n_estimators": 3,
    "max_iter": 3,
    "max_iterations": 3,
    "n_episodes": 3,
    "n_iter": 3,
    "max_components": 2,
    "cv": 2,
    "Cs": 1,
}


def variants(card: Card) -> Iterator[Any]:
    """The estimator of a card, once for each of its algorithms."""
    kind = card.load()
    short = {name: few for name, few in FEW.items() if name in hints(kind)}
    if not {"estimator", "estimators"}.isdisjoint(hints(kind)):
        # Built on others, it has few kernels of its own; without a list of these there may be no such object.
        with contextlib.suppress(TypeError):
            yield kind(**short)
        return
    yield kind(**short)
    for name in CHOICES:
        for value in typing.get_args(hints(kind).get(name)):
            if isinstance(value, str):
                yield kind(**short, **{name: value})
    for name in (card.name, *hints(kind)):
        for values in MORE.get(name, ()):
            if values.keys() <= hints(kind).keys():  # a parameter of the same name may have other company
                yield kind(**{**short, **values})


def cards() -> list[Card]:
    """The estimators and agents that can be warmed."""
    return [card for card in methods() if card.learns and card.task in TASKS]


def samples(card: Card, n: int = 24, noise: float = 0.0) -> Iterator[tuple[Any, Any]]:
    """Small data and targets of every kind that a method may be given; it refuses what it does not take.

    With `noise` the columns do not tell the classes apart, as in most data: rules are pruned, for one.
    """
    rng = np.random.default_rng(0)
    X = np.abs(rng.normal(size=(n, 3))) + 0.1
    if card.task in ("sequence labelling", "topic model"):
        X = np.floor(4 * X)  # counts suit all of them, and the first column is one of symbols
    hidden = X[:, 0] + (noise * rng.normal(size=n) if noise else 0.0)
    labels = (hidden > np.median(hidden)).astype(int)
    three = np.digitize(
        hidden, np.quantile(hidden, [1 / 3, 2 / 3])
    )  # more than two classes are other kernels
    targets: dict[str, list[Any]] = {
        "classification": [labels, three],
        "regression": [X @ [1.0, 2.0, 3.0]],
        "clustering": [None],
    }
    gaps = X.copy()
    gaps[::4, 1] = np.nan
    tables = [X, X.astype(np.float32), sparse.csr_array(X)]
    tags = card.load()().__sklearn_tags__().input_tags
    for target in targets.get(card.task, [labels]):
        yield from ((table, target) for table in tables if tags.sparse or not sparse.issparse(table))
    if issubclass(card.load(), MixedColumns):  # categories beside numbers
        mixed = X.astype(object)
        mixed[:, 1] = np.array(["a", "b", "c"], dtype=object)[three]
        yield mixed, targets.get(card.task, [labels])[0]
    if card.family in ("decomposition", "graphical", "mixture", "sequence"):
        yield gaps, None
    if card.task == "sequence labelling":
        yield X, None
        yield X[:, :1], None
        words = [[f"word {symbol:g}" for symbol in half] for half in X[:, 0].reshape(2, -1)]
        yield words, labels.reshape(2, -1).tolist()


def warm(card: Card) -> float:
    """Fit all variants of an estimator on small data; returns the seconds it took."""
    start = time.perf_counter()
    if card.kind == "agent":
        return warm_agent(card)
    for k, model in enumerate(variants(card)):
        # At its defaults it meets rows enough for all that it does, too: 30 neighbours, trees of some depth.
        for data, target in chain(samples(card), samples(card, 150, noise=1.0) if k == 0 else ()):
            # A combination that an estimator refuses has nothing to compile.
            with warnings.catch_warnings(), contextlib.suppress(ValueError, TypeError):
                warnings.simplefilter("ignore")
                model.fit(data, target, **more_input(card, target))
                ask(model, data, target)
                if isinstance(data, np.ndarray) and has_fit_parameter(model, "sample_weight"):
                    model.fit(data, target, sample_weight=np.linspace(1.0, 2.0, len(data)))
    return time.perf_counter() - start


def experience(kind: Any) -> dict[str, Any]:
    """Small arguments of an agent's `fit`, by name: a model, a bandit, demonstrations, or rounds with contexts."""
    from tercet.rl import Bandit, grid_world

    mdp = grid_world(["S..", ".#.", "..G"], step_reward=-1.0)
    rng = np.random.default_rng(0)
    given: dict[str, Any] = {
        "env": mdp,
        "bandit": Bandit([0.2, 0.8]),
        "demonstrations": mdp.simulate(n_episodes=3, random_state=0),
        "expert": np.argmax(mdp.allowed, axis=1),
        "X": rng.normal(size=(12, 2)),
        "actions": rng.integers(0, 2, 12),
        "rewards": rng.normal(size=12),
    }
    names = inspect.signature(kind.fit).parameters
    return {name: value for name, value in given.items() if name in names}


def warm_agent(card: Card) -> float:
    """Fit all variants of an agent on a small model; returns the seconds it took."""
    start, kind = time.perf_counter(), card.load()
    for model in variants(card):
        with warnings.catch_warnings(), contextlib.suppress(ValueError, TypeError):
            warnings.simplefilter("ignore")
            model.fit(**experience(kind))
    return time.perf_counter() - start


def more_input(card: Card, target: Any) -> dict[str, Any]:
    """What `fit` needs beside data and target."""
    return {"qid": np.arange(len(target)) // 8} if card.task == "ranking" else {}


def ask(model: Any, data: Any, target: Any) -> None:
    """Ask a fitted model what it can tell; several answers have kernels of their own."""
    for name in ANSWERS:
        if hasattr(model, name):
            with contextlib.suppress(ValueError, TypeError):
                getattr(model, name)(data)
    if hasattr(model, "k_best"):  # of chains
        model.k_best(data, 2)
        model.score(data, target)


def warm_all(todo: list[Card], most: int = 4, record_into: str | None = None) -> Iterator[tuple[Card, float]]:
    """Warm estimators in at most `most` processes; gives each with its seconds, a family at a time.

    The compiler has one lock, so that threads would not help; the methods of a family share kernels, so that two
    processes would compile them twice. With `record_into` they put what they compile into that folder, for a pack.
    """
    families: dict[str, list[Card]] = {}
    for card in todo:
        families.setdefault(SHARED.get(card.family, card.family), []).append(card)
    longest_first = sorted(
        families.values(), key=lambda cards: -sum(map(kernels, {card.family for card in cards}))
    )
    processes = min(joblib.cpu_count(), len(families), most)
    with ProcessPoolExecutor(
        processes, multiprocessing.get_context("spawn"), initializer=_begin, initargs=(record_into,)
    ) as pool:
        waiting = {pool.submit(_seconds, [card.name for card in group]): group for group in longest_first}
        for done in as_completed(waiting):
            yield from zip(waiting[done], done.result())


def kernels(family: str) -> int:
    """How many kernels the files of a family have: about what it takes to compile them."""
    files = Path(__file__).parent.parent.joinpath(family).rglob("*.py")
    return sum(file.read_text(encoding="utf-8").count("\n@kernel\n") for file in files)


def _begin(record_into: str | None) -> None:
    """Prepare a process that warms, and ends when the command that started it does, however that ended."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if record_into is not None:
        from tercet.cli.pack_building import record

        record(record_into)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _seconds(names: list[str]) -> list[float]:
    # The compiler makes many objects, few of them garbage: looking for it takes a tenth of the time.
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    if "SVC" in names:
        warm_machines()
        warm_readers()
    if "AgglomerativeClustering" in names:
        warm_measures()
    if "HDBSCAN" in names:
        warm_density()
    if "TruncatedSVD" in names:
        warm_sparse_products()
    if "MDS" in names:
        warm_graphs()
    if "DecisionTreeRegressor" in names:
        warm_explanations()
    return [warm(card) for card in cards() if card.name in names]


def warm_machines() -> None:
    """What kernel machines need only for many rows, and the kernels that are not by name."""
    from tercet.kernels import Edit, Gaussian, Laplacian, Subsequence
    from tercet.svm import SVC
    from tercet.svm._dual.gram_rows import FULL_GRAM_ROWS

    rng = np.random.default_rng(0)
    X = rng.normal(size=(FULL_GRAM_ROWS + 1, 2))
    SVC().fit(X, X[:, 0] + rng.normal(size=len(X)) > 0)
    Subsequence()(["ab"])
    Edit()(["ab"])
    few = X[:4]
    for table in (
        few,
        few.astype(np.float32),
        sparse.csr_array(few),
        sparse.csr_array(few, dtype=np.float32),
    ):
        Laplacian(gamma=1.0, norm="l1")(table)
        Gaussian(gamma=1.0)(table)


def warm_measures() -> None:
    """Measures of clusters and of scores, which have no card of an estimator."""
    from tercet.metrics import (
        adjusted_mutual_info_score,
        cluster_diameter,
        rank_loss,
        roc_convex_hull,
        silhouette_score,
    )
    from tercet.metrics.classification._ranked.radix_sort import FEW

    points = np.arange(8.0).reshape(4, 2)
    silhouette_score(points, [0, 0, 1, 1])
    adjusted_mutual_info_score([0, 0, 1, 1], [0, 1, 1, 1])
    cluster_diameter(points)
    score = np.arange(2.0 * FEW)  # so many that each class is sorted by radix
    for weight in (None, np.ones(score.size)):
        rank_loss(np.arange(score.size) % 2, score, sample_weight=weight)
        roc_convex_hull([0, 0, 1, 1], points[:, 0], sample_weight=None if weight is None else weight[:4])


def warm_density() -> None:
    """What density-based clusters need only for many rows."""
    from tercet.cluster import HDBSCAN
    from tercet.cluster.mutual_reachability import FEW

    HDBSCAN().fit(np.random.default_rng(0).normal(size=(FEW + 1, 2)))


def warm_sparse_products() -> None:
    """Products of sparse rows with tables of a cache line and more, which small data do not need."""
    from tercet.core.sparse_products import times

    for kind in (np.float64, np.float32):
        times(sparse.csr_array(np.eye(2, dtype=kind)), np.ones((2, 16), dtype=kind))


def warm_graphs() -> None:
    """PageRank and the period of a graph, which have no card of an estimator."""
    from tercet.core.task_board import CLOSED, SIZE
    from tercet.graph import DirectedGraph, PageRank
    from tercet.graph._engine.in_edges import in_edges
    from tercet.graph._engine.sweeps import Sweeps, assist

    graph = DirectedGraph([(0, 1), (1, 0), (1, 1)])
    PageRank(damping=1.0).fit(graph)
    closed = np.zeros(SIZE, np.int64)
    closed[CLOSED] = 1
    half, none = np.full(2, 0.5), np.zeros(0, np.int64)
    assist(
        closed, Sweeps(in_edges(graph.adjacency, None), 0.5, half, half, half, none).work
    )  # of large graphs


def warm_explanations() -> None:
    """Contributions of features to the predictions of trees, which have no card of an estimator."""
    from tercet.inspection import contributions
    from tercet.tree import DecisionTreeRegressor

    X = np.random.default_rng(0).normal(size=(150, 3))
    model = DecisionTreeRegressor(max_depth=4).fit(X, X[:, 0] * X[:, 1])
    contributions(model, X)
    contributions(model, X, interactions=True)
    contributions(model, X, background=X[:20])


def warm_readers() -> None:
    """Read a small table, plain and with quotes, where polars is installed."""
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(ImportError):
        for k, lines in enumerate((["a,b", "1,2", "3,4"], ["a,b", '1,"x, y"', '3,"z"'])):
            file = Path(folder, f"{k}.csv")
            file.write_text("\n".join(lines) + "\n", encoding="utf-8")
            read_table(file)


if __name__ == "__main__":
    if not JIT:
        sys.exit("TERCET_JIT=0: there is nothing to compile.")
    begin, todo = time.perf_counter(), cards()
    for k, (card, seconds) in enumerate(warm_all(todo), 1):
        print(f"[{k:3d}/{len(todo)}] {card.name:32s} {seconds:6.1f} s", flush=True)
    print(f"{len(todo)} estimators are warm after {time.perf_counter() - begin:.1f} s.")
