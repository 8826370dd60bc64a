"""Score of the best of several methods, corrected for having been chosen.

The best of thirty cross-validated scores is too good: it was chosen for its luck, too. Choosing again on bootstrap
samples of the rows, and scoring what was chosen on the rows left out, tells how much (bootstrap bias-corrected
cross-validation, Tsamardinos, Greasidou and Borboudakis 2018). It needs the out-of-fold losses of all methods and
no further fit; nested cross-validation, which it stands for, fits everything again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tercet.core.catalog import method
from tercet.core.estimator import generator

CHUNK = 64  # bootstrap samples whose weights are held at a time


@dataclass(frozen=True, eq=False)
class CorrectedSelection:
    """Loss of a choice.

    Attributes
    ----------
    best : index of the method with the least mean loss.
    loss : its mean loss over all rows, which is too small.
    corrected : mean loss of what was chosen in bootstrap samples on the rows left out.
    low, high : percentile interval of the corrected loss.
    chosen : ndarray of shape (n_methods,)
        How often each method was chosen, as a share.
    """

    best: int
    loss: float
    corrected: float
    low: float
    high: float
    chosen: np.ndarray


@method(
    zh="选择偏差校正",
    task="model selection",
    model="out-of-fold losses of the methods on the same rows",
    strategy="choose on bootstrap samples of rows, score on the rows left out",
    peers=["sklearn.model_selection.cross_val_score"],
)
def corrected_selection(
    losses: Any,
    *,
    counts: Any = None,
    n_bootstraps: int = 1000,
    confidence: float = 0.95,
    random_state: Any = None,
) -> CorrectedSelection:
    """Expected loss of the best of several methods on new rows.

    Parameters
    ----------
    losses : array of shape (n_samples, n_methods)
        Loss of each method's out-of-fold prediction for each row (0 or 1 for classes, squared errors ...), or mean
        losses of groups of rows that belong together.
    counts : array of shape (n_samples,), optional
        Number of rows in each group; groups are drawn whole. By default 1.
    n_bootstraps : int, default=1000
        Number of bootstrap samples.
    confidence : float, default=0.95
        Of the interval.
    random_state : int, Generator or None, default=None
        Decides the samples.

    Examples
    --------
    >>> losses = np.random.default_rng(0).integers(2, size=(100, 30))  # thirty coins
    >>> found = corrected_selection(losses, random_state=0)
    >>> round(found.loss, 2), round(found.corrected, 2)
    (0.44, 0.55)
    """
    table = np.asarray(losses, dtype=float)
    if table.ndim != 2 or len(table) < 2 or not table.shape[1] or not np.isfinite(table).all():
        raise ValueError(
            f"losses must be finite, of at least 2 rows and 1 method; got an array of shape {table.shape}."
        )
    if not isinstance(n_bootstraps, int | np.integer) or n_bootstraps < 1:
        raise ValueError(f"n_bootstraps must be an integer of at least 1; got {n_bootstraps!r}.")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1; got {confidence!r}.")
    rng, (n, k) = generator(random_state), table.shape
    count = np.ones(n) if counts is None else np.asarray(counts, dtype=float)
    if count.shape != (n,) or not (np.isfinite(count).all() and (count > 0).all()):
        raise ValueError(f"counts must be {n} positive numbers, one for each row of losses; got {counts!r}.")
    scores, chosen = [], np.zeros(k)
    for start in range(0, n_bootstraps, CHUNK):
        draws = rng.integers(n, size=(min(CHUNK, n_bootstraps - start), n))
        weights = np.stack([np.bincount(draw, minlength=n) for draw in draws]) * count
        pick = np.argmin(weights @ table, axis=1)
        left = np.where(weights == 0, count, 0.0)
        size = left.sum(axis=1)
        some = size > 0
        chosen += np.bincount(pick[some], minlength=k)
        scores.append(((left @ table)[np.arange(len(pick)), pick])[some] / size[some])
    found = np.concatenate(scores)
    if not len(found):
        raise ValueError("No row was left out of any sample: more n_bootstraps or more rows are needed.")
    tail = (1 - confidence) / 2
    low, high = np.quantile(found, [tail, 1 - tail])
    means = np.average(table, axis=0, weights=count)
    best = int(np.argmin(means))
    return CorrectedSelection(
        best, float(means[best]), float(found.mean()), float(low), float(high), chosen / len(found)
    )
