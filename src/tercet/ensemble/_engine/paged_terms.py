"""Gradients, hessians and the loss of pages of rows, as `NewtonTerms` has them of arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tercet.core.row_pages import Page, Pages
from tercet.core.strip_sums import STRIP_ROWS
from tercet.ensemble._engine.newton_terms import STEPS, term_totals
from tercet.tree import TermTotals


@dataclass
class PageTerms:
    """Derivatives of the loss by the scores "F" of a page, into "gradients" and "hessians".

    Parameters
    ----------
    loss : BoostingLoss
        Whose leaves take a Newton step.
    kind : int or None
        The loss as `NewtonTerms` knows it; None for another one.
    weighted : bool
        Whether the rows have weights.
    before : callable, optional
        Changes the scores of the page first.
    """

    loss: Any
    kind: int | None
    weighted: bool
    before: Callable[[Page], None] | None = None

    def __call__(self, page: Page) -> list[np.ndarray]:
        """The totals of the strips of a page."""
        if self.before is not None:
            self.before(page)
        weight = page.get("weight") if self.weighted else np.empty(0)
        given = page.get("y"), page.get("F"), weight, page.get("gradients"), page.get("hessians")
        strips = [(i, min(page.rows, i + STRIP_ROWS)) for i in range(0, page.rows, STRIP_ROWS)]
        if self.kind is None:
            return [plain_terms(self.loss, *given, *strip) for strip in strips]
        return [STEPS[self.kind](*given, *strip) for strip in strips]


class PagedTerms:
    """Derivatives of the loss by the scores of pages, and their totals.

    Parameters
    ----------
    loss, kind, weighted
        As those of `PageTerms`.
    pages : Pages
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
        self, loss: Any, kind: int | None, pages: Pages, weighted: bool, mass: float, n_jobs: int | None
    ) -> None:
        self.given, self.pages, self.mass, self.n_jobs = (loss, kind, weighted), pages, mass, n_jobs
        self.totals: list[TermTotals] = []
        self.loss = np.nan

    @property
    def of_page(self) -> PageTerms:
        """The derivatives at the scores of a page as they are."""
        return PageTerms(*self.given)

    def update(self, before: Callable[[Page], None] | None = None) -> None:
        """Take the derivatives at the scores, which `before` changes first, page by page."""
        parts = self.pages.each(PageTerms(*self.given, before), self.n_jobs, changes=True)
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
