"""Gradients, hessians and the loss of pages of rows, as `NewtonTerms` has them of arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tercet.core.parallel import each
from tercet.core.row_pages import RowPages
from tercet.core.stopping import check_stop
from tercet.core.strip_sums import STRIP_ROWS
from tercet.ensemble._engine.newton_terms import STEPS, term_totals
from tercet.tree import TermTotals


class PagedTerms:
    """Derivatives of the loss by the scores "F" of pages, into "gradients" and "hessians".

    Parameters
    ----------
    loss : BoostingLoss
        Whose leaves take a Newton step.
    kind : int or None
        The loss as `NewtonTerms` knows it; None for another one.
    pages : RowPages
        With "y", "F", and "weight" where `weighted`.
    mass : float
        The sum of the weights.
    n_jobs : int, optional

    Attributes
    ----------
    totals : list of TermTotals
    loss : float
        The weighted mean.
    """

    def __init__(
        self, loss: Any, kind: int | None, pages: RowPages, weighted: bool, mass: float, n_jobs: int | None
    ) -> None:
        self.pages, self.weighted, self.mass, self.n_jobs = pages, weighted, mass, n_jobs
        self.step = functools.partial(plain_terms, loss) if kind is None else STEPS[kind]
        self.totals: list[TermTotals] = []
        self.loss = np.nan

    def update(self, before: Callable[[int, np.ndarray], None] | None = None) -> None:
        """Take the derivatives at the scores, which `before` changes first, page by page."""
        pages = self.pages

        def work(page: int) -> list[np.ndarray]:
            check_stop()
            y, F, n = pages.get(page, "y"), pages.get(page, "F"), pages.rows(page)
            if before is not None:
                before(page, F)
            weight = pages.get(page, "weight") if self.weighted else np.empty(0)
            given = y, F, weight, pages.get(page, "gradients"), pages.get(page, "hessians")
            return [self.step(*given, i, min(n, i + STRIP_ROWS)) for i in range(0, n, STRIP_ROWS)]

        parts = each(work, range(len(pages)), n_jobs=self.n_jobs)
        self.totals, self.loss = term_totals(np.array([part for page in parts for part in page]), self.mass)


def plain_terms(
    loss: Any, y: Any, F: Any, weight: Any, gradients: Any, hessians: Any, start: int, stop: int
) -> np.ndarray:
    """Derivatives and totals of some rows by the formulas of any loss (see the kernels of `newton_terms`)."""
    here = slice(start, stop)
    target, scores = y[here], np.ascontiguousarray(F[:, here].T)
    own = weight[here] if weight.size else np.ones(stop - start)
    r, totals = loss.negative_gradient(target, scores), np.zeros((len(F), 5))
    for k in range(len(F)):
        g, h = -own * r[:, k], own * loss.curvature(target, scores, r[:, k], k)
        gradients[k, here], hessians[k, here] = g, h
        totals[k] = np.abs(g).sum(), h.sum(), h.min(), h.max(), 0.0
    totals[0, 4] = (own * loss.losses(target, scores)).sum()
    return totals
