"""Rounds of histogram gradient boosting in few passes over the rows, for the usual losses and all rows.

What a round is stands in `BaseHistGradientBoosting`; here derivatives, trees and scores come from kernels that fuse
the passes, and the trees are the same but for rounding.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from tercet.ensemble._engine.newton_terms import BINOMIAL, MULTINOMIAL, SQUARED, NewtonTerms
from tercet.ensemble.boosting.boosting_losses import BinomialLoss, BoostingLoss, MultinomialBoosting
from tercet.tree import BinnedColumns, LeafwiseGrower, Tree

KINDS: dict[type, int] = {BoostingLoss: SQUARED, BinomialLoss: BINOMIAL, MultinomialBoosting: MULTINOMIAL}


class LeafwiseRounds:
    """The rounds of one fit: the scores of the rows, the derivatives of the loss there, and the memory of growth.

    Parameters
    ----------
    model : BaseHistGradientBoosting
    loss : BoostingLoss
        One of `KINDS`.
    bins : BinnedColumns
        The rows.
    y, weight : arrays of shape (n,)
        Their targets and weights.
    F : array of shape (n, n_scores)
        The scores to start from.
    grower : dict
        The parameters of growth.
    """

    def __init__(
        self,
        model: Any,
        loss: Any,
        bins: BinnedColumns,
        y: np.ndarray,
        weight: np.ndarray,
        F: np.ndarray,
        grower: dict[str, Any],
    ) -> None:
        self.limits, self.rate = grower["limits"], model.learning_rate
        self.F = np.ascontiguousarray(F.T)
        names = ("limits", "penalty", "l1", "min_gain", "n_jobs", "categories")
        given = {name: grower[name] for name in names}
        self.grower = LeafwiseGrower(bins, **given, copies=LeafwiseGrower.copies_of(weight))
        self.terms = NewtonTerms(KINDS[type(loss)], y, weight, loss.n_scores, grower["n_jobs"])
        self.terms.update(self.F)

    @classmethod
    def of(
        cls,
        model: Any,
        loss: Any,
        bins: BinnedColumns,
        y: np.ndarray,
        weight: np.ndarray,
        F: np.ndarray,
        grower: dict[str, Any],
    ) -> Self | None:
        """The rounds, or None where a fit asks for what these do not do."""
        free = grower["monotonic"] is None and grower["groups"] is None
        every_row = model.subsample >= 1.0 and getattr(model, "sampling", None) != "goss"
        usual = type(loss) in KINDS and LeafwiseGrower.can_grow(len(y), grower["limits"])
        return cls(model, loss, bins, y, weight, F, grower) if free and every_row and usual else None

    @property
    def loss(self) -> float:
        """The mean loss of the rows after the last round."""
        return self.terms.loss

    def round(self, random: np.random.Generator) -> list[Tree]:
        """One tree for each score."""
        made, terms = [], self.terms
        for k, scores in enumerate(self.F):
            seed = int(random.integers(2**31 - 1)) if self.limits.draws_columns else 0
            arrays = self.grower.grow(
                terms.gradients[k], terms.hessians[k], scores, self.rate, seed=seed, totals=terms.totals[k]
            )
            made.append(Tree.from_arrays(arrays, verify=False))
        terms.update(self.F)
        return made
