"""Candidates of one chain, block by block."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.sampling._engine.random_blocks import BLOCK, RandomBlocks


class WalkMoves:
    """Candidates x + L z of a symmetric random walk."""

    def __init__(self, blocks: RandomBlocks, factor: np.ndarray, *, densities: bool = False) -> None:
        self.blocks, self.densities = blocks, densities
        self._made: Any = None
        self.factor = factor

    def ready(self) -> None:
        """Make the moves of the block; always all of them, since BLAS rounds by the shape of a product."""
        made = (self.blocks.refills, self.factor)
        if self._made is not None and self._made[0] == made[0] and self._made[1] is made[1]:
            return
        self._made = made
        self.moves = self.blocks.moves @ self.factor.T
        self.log_q = np.zeros(BLOCK)
        if self.densities:
            d = len(self.factor)
            self.log_q -= np.log(np.diagonal(self.factor)).sum()
            if self.blocks.kind == "normal":
                self.log_q -= 0.5 * (self.blocks.moves**2).sum(axis=1) + 0.5 * d * np.log(2 * np.pi)
            else:
                self.log_q -= d * np.log(12.0**0.5)

    def candidate(self, i: int, x: np.ndarray) -> tuple[np.ndarray, float, float]:
        """(candidate, log q(x, candidate), log q(candidate, x)) of the i-th iteration of the block."""
        q = float(self.log_q[i]) if self.densities else 0.0
        return x + self.moves[i], q, q

    def accepted(self, i: int) -> None:
        """The i-th candidate is the new state."""


class IndependentMoves:
    """Candidates that do not depend on the state."""

    def __init__(self, blocks: RandomBlocks, proposal: Any, x: np.ndarray) -> None:
        self.blocks, self.proposal = blocks, proposal
        self.own = float(proposal.evaluate(x[None])[0])
        if self.own == -np.inf:
            raise ValueError(
                f"IndependentProposal: its density is zero at the start, x={x.tolist()}: nothing else would be "
                "accepted. The proposal must be positive wherever the target is."
            )
        self._made = -1

    def ready(self) -> None:
        """Draw the candidates of the block."""
        if self._made != self.blocks.refills:
            self._made = self.blocks.refills
            self.moves = self.proposal.draw(BLOCK, self.blocks.moves.shape[1], self.blocks.rng)
            self.log_q = self.proposal.evaluate(self.moves)

    def candidate(self, i: int, x: np.ndarray) -> tuple[np.ndarray, float, float]:
        """(candidate, log q(candidate), log q(x)) of the i-th iteration of the block."""
        return self.moves[i].copy(), float(self.log_q[i]), self.own

    def accepted(self, i: int) -> None:
        """The i-th candidate is the new state."""
        self.own = float(self.log_q[i])


class ConditionalMoves:
    """Candidates of the user's functions."""

    def __init__(self, blocks: RandomBlocks, proposal: Any) -> None:
        self.blocks, self.proposal = blocks, proposal

    def ready(self) -> None:
        """Nothing is made ahead."""

    def candidate(self, i: int, x: np.ndarray) -> tuple[np.ndarray, float, float]:
        """(candidate, log q(x, candidate), log q(candidate, x)); both 0 for a symmetric proposal."""
        found = np.asarray(self.proposal.sample(x.copy(), self.blocks.rng), dtype=np.float64).reshape(-1)
        if found.shape != x.shape or not np.isfinite(found).all():
            raise ValueError(
                f"ConditionalProposal: sample must return {x.size} finite numbers; got {found.tolist()} at "
                f"x={x.tolist()}."
            )
        if self.proposal.log_density is None:
            return found, 0.0, 0.0
        there, back = self.proposal.log_density(found, x), self.proposal.log_density(x, found)
        if not (np.isfinite(there) and back < np.inf):
            raise ValueError(
                f"ConditionalProposal: log_density must be a number; it is {there} for the candidate "
                f"{found.tolist()} drawn at x={x.tolist()}, and {back} for the way back."
            )
        return found, float(there), float(back)

    def accepted(self, i: int) -> None:
        """The i-th candidate is the new state."""
