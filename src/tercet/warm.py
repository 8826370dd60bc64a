"""Compile all kernels ahead of time: `tercet warm`, or `python -m tercet.warm`.

Fits every estimator of the catalogue on a handful of rows, with each of its algorithms and for each kind of
data that kernels are compiled for, so that the first real fit finds everything in the cache.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
import time
import typing
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.catalog import Card, methods
from tercet.core.kernel import JIT
from tercet.core.parameters import hints
from tercet.datasets import read_table

# Parameters whose values are different code, and values of others that are.
CHOICES = ("solver", "algorithm", "form", "linkage", "criterion", "splitter", "kernel")
MORE: dict[str, list[dict[str, Any]]] = {
    "max_bins": [{"max_bins": 16}, {"max_bins": 16, "max_leaf_nodes": 4}]
}
TASKS = ("classification", "regression", "clustering", "search", "feature selection")


def variants(card: Card) -> Iterator[Any]:
    """The estimator of a card, once for each of its algorithms."""
    kind = card.load()
    if "estimator" in hints(kind):  # built on another estimator: has no kernels of its own
        return
    # A few passes compile as much as many.
    short = {name: few for name, few in {"max_iter": 3, "cv": 2, "Cs": 1}.items() if name in hints(kind)}
    yield kind(**short)
    for name in CHOICES:
        for value in typing.get_args(hints(kind).get(name)):
            if isinstance(value, str):
                yield kind(**short, **{name: value})
    for name in MORE:
        if name in hints(kind):
            yield from (kind(**short, **values) for values in MORE[name])


def cards() -> list[Card]:
    """The estimators that can be warmed."""
    return [card for card in methods() if card.kind == "estimator" and card.task in TASKS]


def warm(card: Card) -> float:
    """Fit all variants of an estimator on small data; returns the seconds it took."""
    start = time.perf_counter()
    rng = np.random.default_rng(0)
    X = np.abs(rng.normal(size=(24, 3))) + 0.1
    labels = (X[:, 0] > np.median(X[:, 0])).astype(int)
    targets = {"classification": labels, "feature selection": labels, "regression": X @ [1.0, 2.0, 3.0]}
    frozen = X.copy()
    frozen.setflags(write=False)
    for model in variants(card):
        for data in (X, X.astype(np.float32), sparse.csr_array(X), frozen):
            if sparse.issparse(data) and not model.__sklearn_tags__().input_tags.sparse:
                continue
            # A combination that an estimator refuses has nothing to compile.
            with warnings.catch_warnings(), contextlib.suppress(ValueError):
                warnings.simplefilter("ignore")
                model.fit(data, targets.get(card.task))
                if hasattr(model, "predict"):
                    model.predict(data)
    return time.perf_counter() - start


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
    warm_readers()
    for k, card in enumerate(todo, 1):
        print(f"[{k:3d}/{len(todo)}] {card.name:32s} {warm(card):6.1f} s", flush=True)
    print(f"{len(todo)} estimators are warm after {time.perf_counter() - begin:.1f} s.")
