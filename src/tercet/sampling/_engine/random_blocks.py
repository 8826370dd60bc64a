"""Random numbers of one chain, drawn in blocks of fixed size.

A chain has two streams: one for its proposals and one for its decisions. So neither the number of threads nor
the number of iterations between two looks at the clock has any influence on what it draws.
"""

from __future__ import annotations

from typing import Any

import numpy as np

BLOCK = 512  # iterations per refill


def seed_sequences(random_state: Any, n: int) -> list[np.random.SeedSequence]:
    """A seed for each of n chains; that of a chain does not depend on how many there are."""
    if random_state is None or isinstance(random_state, int | np.integer):
        root = np.random.SeedSequence(None if random_state is None else int(random_state))
    elif isinstance(random_state, np.random.Generator):
        root = np.random.SeedSequence(random_state.integers(2**32, size=4).tolist())
    else:
        root = np.random.SeedSequence(random_state.randint(2**31, size=4).tolist())
    return root.spawn(n)


class RandomBlocks:
    """Blocks of standard moves and of logarithms of uniform numbers for one chain.

    Parameters
    ----------
    seed : SeedSequence
    shape : tuple of int
        Of one iteration's decisions: () for one, (d,) for one per component.
    d : int
        Components of a move.
    kind : {"normal", "uniform", "unit"}
        Standard normal numbers, uniform ones of mean 0 and variance 1, or uniform ones in [0, 1).
    """

    def __init__(
        self, seed: np.random.SeedSequence, d: int, kind: str = "normal", shape: tuple[int, ...] = ()
    ):
        moves, decisions, scan = seed.spawn(3)
        self.rng = np.random.default_rng(moves)
        self.decisions = np.random.default_rng(decisions)
        self.scan = np.random.default_rng(scan)
        self.kind = kind
        self.moves = np.empty((BLOCK, d))
        self.log_uniforms = np.empty((BLOCK, *shape))
        self.order = np.ascontiguousarray(np.broadcast_to(np.arange(d), (BLOCK, d)))
        self.random_scan = False
        self.position = BLOCK
        self.refills = 0

    @property
    def left(self) -> int:
        """Iterations until the next refill; refills when there is none."""
        if self.position == BLOCK:
            self.refill()
        return BLOCK - self.position

    def refill(self) -> None:
        """Draw the next block."""
        if self.kind == "normal":
            self.rng.standard_normal(out=self.moves)
        else:
            self.rng.random(out=self.moves)
        if self.kind == "uniform":
            self.moves -= 0.5
            self.moves *= 12.0**0.5
        # minus the logarithm of a uniform number is exponential
        self.decisions.standard_exponential(out=self.log_uniforms)
        np.negative(self.log_uniforms, out=self.log_uniforms)
        if self.random_scan:
            self.order = self.scan.integers(self.order.shape[1], size=self.order.shape)
        self.position = 0
        self.refills += 1

    def take(self, n: int) -> slice:
        """The next n iterations of the block."""
        here = slice(self.position, self.position + n)
        self.position += n
        return here
