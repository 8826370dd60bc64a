"""Sums of the trees of boosting rounds for rows, apart from a model: they are taken on other machines, too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tercet.core.parallel import each
from tercet.core.row_pages import Page
from tercet.ensemble._engine.packed_trees import PackedTrees
from tercet.tree import Tree


def packed_rounds(rounds: Any, n_scores: int) -> list[PackedTrees | None]:
    """The tables of the trees of each score; None where a test is not one of them."""
    columns = [[row[k] for row in rounds] for k in range(n_scores)]
    return [PackedTrees.of(some, [tree.value[:, 0] for tree in some], True) for some in columns]


def sum_of_trees(
    X: np.ndarray, rounds: Any, packed: list[PackedTrees | None], n_jobs: int | None
) -> np.ndarray:
    """The sum of the trees of some rounds, of shape (n, n_scores); `packed` are their tables."""
    total = np.zeros((X.shape[0], len(packed)))
    for k, table in enumerate(packed):
        if table is not None:
            total[:, k] = table.sums(X, n_jobs)[:, 0]
        else:
            parts = each(lambda row, k=k: row[k].predict(X)[:, 0, 0], rounds, n_jobs=n_jobs)
            total[:, k] = np.sum(parts, axis=0)
    return total


@dataclass
class EarlierRounds:
    """The scores of rows after the rounds of an earlier fit, added up as the rounds did."""

    init: np.ndarray
    rounds: list[list[Tree]]

    def __call__(self, X: np.ndarray) -> np.ndarray:
        F = np.tile(self.init, (X.shape[0], 1))
        for row in self.rounds:
            F += sum_of_trees(X, [row], packed_rounds([row], len(row)), 1)
        return F


@dataclass
class NewRound:
    """The trees of a round, as they are added to the scores of rows held out."""

    trees: list[Tree]

    def __call__(self, page: Page) -> None:
        X = np.ascontiguousarray(page.get("X").T)
        page.get("F")[:] += sum_of_trees(X, [self.trees], packed_rounds([self.trees], len(self.trees)), 1).T


__all__ = ["EarlierRounds", "NewRound", "packed_rounds", "sum_of_trees"]
