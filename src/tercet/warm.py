"""Compile all kernels ahead of time: `python -m tercet.warm`.

Fits every estimator of the catalogue on a handful of rows, with each of its algorithms and for each kind of
data that kernels are compiled for, so that the first real fit finds everything in the cache.
"""

from __future__ import annotations

import contextlib
import sys
import time
import typing
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.catalog import Card, methods
from tercet.core.kernel import JIT
from tercet.core.parameters import hints

CHOICES = ("solver", "algorithm", "form")  # parameters whose values are different code


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


def warm(say: Any = print) -> int:
    """Fit everything on small data; returns the number of estimators that were fitted."""
    rng = np.random.default_rng(0)
    X = np.abs(rng.normal(size=(24, 3))) + 0.1
    targets = {
        "classification": (X[:, 0] > np.median(X[:, 0])).astype(int),
        "regression": X @ [1.0, 2.0, 3.0],
    }
    frozen = X.copy()
    frozen.setflags(write=False)
    shapes = [X, X.astype(np.float32), sparse.csr_array(X), frozen]
    cards = [card for card in methods() if card.kind == "estimator" and card.task in targets]
    for k, card in enumerate(cards, 1):
        start = time.perf_counter()
        for model in variants(card):
            for data in shapes:
                if sparse.issparse(data) and not model.__sklearn_tags__().input_tags.sparse:
                    continue
                # A combination that an estimator refuses has nothing to compile.
                with warnings.catch_warnings(), contextlib.suppress(ValueError):
                    warnings.simplefilter("ignore")
                    model.fit(data, targets[card.task]).predict(data)
        say(f"[{k:3d}/{len(cards)}] {card.name:32s} {time.perf_counter() - start:6.1f} s")
    return len(cards)


if __name__ == "__main__":
    if not JIT:
        sys.exit("TERCET_JIT=0: there is nothing to compile.")
    begin = time.perf_counter()
    count = warm()
    print(f"{count} estimators are warm after {time.perf_counter() - begin:.1f} s.")
