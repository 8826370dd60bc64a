"""Tempered EM of PLSA: an exponent β against overfitting, lowered by the likelihood of held-out words."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.steps import Steps
from tercet.topic._plsa.expectation import Expectation
from tercet.topic._plsa.factors import Factors

PATIENCE = 3  # passes of tempered EM without a rise of the held-out likelihood
LEAST_BETA = 0.1  # tempered EM ends here: below it, topics are hardly told apart


def tempered_em(
    model: Any,
    engine: Expectation,
    judge: Expectation,
    factors: Factors,
    sizes: tuple[float, float],
    loop: Steps,
) -> tuple[Factors, float]:
    """Lower β when the held-out likelihood stops rising; end when that does not help.

    Parameters
    ----------
    model : PLSA
    engine, judge : Expectation
        Of the words to learn from, and of those held out.
    factors : Factors
        The start.
    sizes : (float, float)
        The number of words, and its unit.
    loop : Steps

    Returns
    -------
    factors, beta : the best ones
    """
    mass, unit = sizes
    room = factors.room()
    beta, best, reached, waited = 1.0, -np.inf, -np.inf, 0  # the best of all, and when β was lowered last
    for step in loop:
        value = model._step(engine, factors, room, mass, beta)
        factors, room = room, factors
        likelihoods, seen = judge.log_likelihoods(*factors)
        held = float(likelihoods.sum() / max(seen.sum(), np.finfo(float).tiny))
        step.report((factors, beta), log_likelihood=value * unit, held_out=held, beta=beta)
        waited += 1
        if step.count == 1 or held > best + model.tol:
            best, kept, waited = held, (factors.copy(), beta), 0
        ended = waited == PATIENCE and (best <= reached + model.tol or beta * model.beta_decay < LEAST_BETA)
        if step.converged(ended):
            break
        if waited == PATIENCE:
            beta, reached, waited = beta * model.beta_decay, best, 0
            factors = kept[0].copy()
    return kept
