"""Groups of chains that advance together: one chain of a compiled loop, or all chains of a vectorised density."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from tercet.core.stopping import check_stop
from tercet.sampling._engine.random_blocks import RandomBlocks

PATIENCE = 0.05  # seconds that one call of a compiled loop should take at most: Ctrl-C waits for it


class ChainGroup:
    """State of chains that advance together.

    Attributes
    ----------
    x : array of shape (width, d)
        The states.
    log_p : array of shape (width,)
        Their log densities.
    accepted, tried : arrays of shape (width,) or (width, d)
        Proposals since `reset`.
    kept, phase : int
        Draws kept since `reset`, and iterations since the last of them.
    """

    def __init__(
        self, x: np.ndarray, log_p: np.ndarray, blocks: list[RandomBlocks], by_component: bool = False
    ):
        self.x, self.log_p, self.blocks = x, log_p, blocks
        self.by_component = by_component
        self._limit = 1  # a density may take seconds
        self.reset()

    def reset(self) -> None:
        """Count from here on."""
        shape = self.x.shape if self.by_component else self.x.shape[:1]
        self.accepted, self.tried = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        self.kept = self.phase = 0

    def advance(self, n: int, thin: int, draws: np.ndarray, logs: np.ndarray) -> None:
        """n iterations; every `thin`-th state goes to draws (width, n_samples, d) and logs (width, n_samples)."""
        while n:
            check_stop()
            many = min(n, *(blocks.left for blocks in self.blocks), self._limit)
            begin = time.perf_counter()
            self.iterate([blocks.take(many) for blocks in self.blocks], thin, draws, logs)
            # Iterations per call follow the clock; what is drawn does not depend on them.
            self._limit = max(1, self._limit // 2) if time.perf_counter() - begin > PATIENCE else 2 * many
            n -= many

    def iterate(self, here: list[slice], thin: int, draws: np.ndarray, logs: np.ndarray) -> None:
        """The iterations of a part of the block."""
        raise NotImplementedError

    def keep(self, thin: int, draws: np.ndarray, logs: np.ndarray) -> None:
        """The end of one iteration: keep the states if it is their turn."""
        self.phase += 1
        if self.phase == thin:
            draws[:, self.kept] = self.x
            logs[:, self.kept] = self.log_p
            self.kept, self.phase = self.kept + 1, 0


class RandomWalkChain(ChainGroup):
    """One chain of a random walk, or of an independence sampler, in a compiled loop."""

    def __init__(
        self, x: Any, log_p: Any, blocks: list[RandomBlocks], loop: Any, moves: Any, args: Any
    ) -> None:
        super().__init__(x, log_p, blocks)
        self.loop, self.moves, self.args = loop, moves, args
        self.walk = hasattr(moves, "factor")
        self.point = x[0].copy()
        self.logs = np.array([log_p[0], getattr(moves, "own", 0.0)])

    def iterate(self, here: list[slice], thin: int, draws: np.ndarray, logs: np.ndarray) -> None:
        span = here[0]
        if self.walk:
            moves, more = self.blocks[0].moves, self.moves.factor
        else:
            self.moves.ready()
            moves, more = self.moves.moves, self.moves.log_q[span]
        accepted, kept, bad = self.loop(
            self.point, self.logs, moves[span], self.blocks[0].log_uniforms[span], more, thin, self.phase,
            draws[0, self.kept :], logs[0, self.kept :], self.args,
        )  # fmt: skip
        if bad >= 0:
            refuse_value(self.logs[0], self.point)
        many = span.stop - span.start
        self.phase += many - kept * thin
        self.kept += kept
        self.accepted += accepted
        self.tried += many
        self.x[0], self.log_p[0] = self.point, self.logs[0]


class SingleComponentChain(ChainGroup):
    """One chain of single-component Metropolis in a compiled loop."""

    def __init__(
        self, x: Any, log_p: Any, blocks: list[RandomBlocks], loop: Any, scales: Any, args: Any
    ) -> None:
        super().__init__(x, log_p, blocks, by_component=True)
        self.loop, self.scales, self.args = loop, scales, args
        self.point, self.logs = x[0].copy(), np.array([log_p[0]])

    def iterate(self, here: list[slice], thin: int, draws: np.ndarray, logs: np.ndarray) -> None:
        blocks, span = self.blocks[0], here[0]
        counts = np.zeros((2, self.point.size), np.int64)
        kept, bad = self.loop(
            self.point, self.logs, blocks.moves[span], blocks.log_uniforms[span], self.scales, blocks.order[span],
            counts, thin, self.phase, draws[0, self.kept :], logs[0, self.kept :], self.args,
        )  # fmt: skip
        if bad >= 0:
            refuse_value(self.logs[0], self.point)
        self.phase += span.stop - span.start - kept * thin
        self.kept += kept
        self.accepted[0] += counts[0]
        self.tried[0] += counts[1]
        self.x[0], self.log_p[0] = self.point, self.logs[0]


def refuse_value(value: Any, x: np.ndarray) -> None:
    """Raise on a log density that is NaN or +infinity."""
    said = "NaN" if np.isnan(value) else "+infinity"
    raise ValueError(
        f"log_density returned {said} at x={np.asarray(x).tolist()}. It must be a number, or -infinity where the "
        "density is zero."
    )
