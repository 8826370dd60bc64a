"""Chains on discrete states."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.sampling._engine.groups import ChainGroup
from tercet.sampling._engine.loops import discrete_loop, table_loop
from tercet.sampling._engine.random_blocks import RandomBlocks


class DiscreteChain(ChainGroup):
    """One Metropolis-Hastings chain on states 0, 1, ..."""

    def __init__(self, x: Any, log_p: Any, blocks: RandomBlocks, cumulative: Any, log_alpha: Any) -> None:
        super().__init__(x, log_p[x[:, 0]], [blocks])
        self.table, self.log_alpha = log_p, log_alpha
        self.cumulative = cumulative / cumulative[:, -1:]

    def iterate(self, here: list[slice], thin: int, draws: np.ndarray, logs: np.ndarray) -> None:
        span, first = here[0], self.kept
        state, accepted, kept = discrete_loop(
            int(self.x[0, 0]), self.blocks[0].moves[span], self.blocks[0].log_uniforms[span], self.cumulative,
            self.log_alpha, thin, self.phase, draws[0, first:],
        )  # fmt: skip
        many = span.stop - span.start
        self.phase += many - kept * thin
        self.kept += kept
        logs[0, first : self.kept] = self.table[draws[0, first : self.kept, 0]]
        self.accepted += accepted
        self.tried += many
        self.x[0, 0] = state


class TableChain(ChainGroup):
    """One Gibbs chain on the cells of a table of joint probabilities."""

    def __init__(self, x: Any, table: np.ndarray, cumulative: np.ndarray, blocks: RandomBlocks) -> None:
        super().__init__(x, np.zeros(1), [blocks])
        with np.errstate(divide="ignore"):
            self.log_table = np.log(table)
        self.cumulative = cumulative
        self.sizes = np.array(table.shape, dtype=np.int64)
        self.strides = np.array(
            [int(np.prod(table.shape[j + 1 :])) for j in range(table.ndim)], dtype=np.int64
        )

    def iterate(self, here: list[slice], thin: int, draws: np.ndarray, logs: np.ndarray) -> None:
        span, first, blocks = here[0], self.kept, self.blocks[0]
        kept = table_loop(
            self.x[0], self.strides, self.sizes, self.cumulative, blocks.order[span], blocks.moves[span], thin,
            self.phase, draws[0, first:],
        )  # fmt: skip
        many = span.stop - span.start
        self.phase += many - kept * thin
        self.kept += kept
        logs[0, first : self.kept] = self.log_table[tuple(draws[0, first : self.kept].T)]
        self.accepted += many
        self.tried += many
