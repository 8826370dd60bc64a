"""Expected score of the winner on new rows, corrected for its having been chosen."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.cli.compare.comparison import Design
from tercet.cli.measures import Measure
from tercet.model_selection import corrected_selection

WORK = 2e9  # products that the bootstrap may take
FEWEST, MOST = 100, 1000  # bootstrap samples


def expected_score(
    scores: dict[str, float],
    contributions: dict[str, np.ndarray],
    measure: Measure,
    design: Design,
    seed: int,
    intervals: dict[str, tuple[float, float]] | None = None,
) -> dict[str, Any] | None:
    """The score to expect of the best method on new rows, with its interval.

    The choice is made again on bootstrap samples of the rows' out-of-fold contributions, and what was chosen is
    scored on the rows left out. Tuned methods and the combination, whose own choices are made inside the training
    sets, are candidates like the others.

    Parameters
    ----------
    scores : mean scores by method, without the baseline.
    contributions : of the units, by method.
    intervals : of the scores, by method; that of the expected score is no narrower than the winner's. The bootstrap
        draws rows, and does not know how much training sets vary.

    Returns
    -------
    dict or None
        "score", "low", "high", "optimism" (what the choice adds to the score), "candidates", "chosen" (how often
        each method was chosen); None where there are no contributions of rows.
    """
    names = [name for name in scores if name in contributions and np.isfinite(scores[name])]
    if not names or design.counts is None:
        return None
    sign = 1.0 if measure.greater_is_better else -1.0
    table = np.stack([contributions[name] for name in names], axis=1)
    known = np.isfinite(table).all(axis=1)
    if known.sum() < 2:
        return None
    samples = int(np.clip(WORK / table.size, FEWEST, MOST))
    found = corrected_selection(
        -sign * table[known], counts=design.counts[known], n_bootstraps=samples, random_state=seed
    )
    best = max(names, key=lambda name: sign * scores[name])
    optimism = max(found.corrected - found.loss, 0.0) if len(names) > 1 else 0.0

    def on_new_rows(loss: float) -> float:
        return measure.within(scores[best] - sign * loss)

    ends: tuple[float, ...] = (on_new_rows(found.low - found.loss), on_new_rows(found.high - found.loss))
    score = on_new_rows(optimism)
    own = (intervals or {}).get(best, (np.nan, np.nan))
    if np.isfinite(own).all():
        ends = (*ends, *(measure.within(score + end - scores[best]) for end in own))
    return {
        "name": best,
        "score": score,
        "low": min(*ends, score),
        "high": max(*ends, score),
        "optimism": sign * optimism,
        "candidates": len(names),
        "chosen": {name: float(share) for name, share in zip(names, found.chosen) if share > 0},
    }
