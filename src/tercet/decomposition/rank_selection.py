"""Choice of the rank of a non-negative factorisation by held-out cells (用留出元素选择秩)."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from tercet.core.catalog import method
from tercet.core.estimator import generator
from tercet.core.parallel import each
from tercet.core.steps import ConvergenceWarning
from tercet.core.validation import check_array
from tercet.decomposition._nmf.half import divergences, split_missing
from tercet.decomposition.nmf import NMF


class RankSelection(NamedTuple):
    """The best rank, the ranks that were tried, and the losses on the held-out cells, of shape (ranks, repeats)."""

    best_rank: int
    ranks: np.ndarray
    losses: np.ndarray


@method(
    zh="用留出元素选择非负矩阵分解的秩",
    task="model selection",
    model="X ≈ WH of rank k, learned without the cells that are held out",
    strategy="least mean beta-divergence of the held-out cells from WH",
    algorithms="the same random cells are masked for every rank",
    texts=["Li ch. 17"],
)
def held_out_rank(
    X: Any,
    ranks: Any,
    *,
    fraction: float = 0.1,
    n_repeats: int = 3,
    random_state: Any = None,
    n_jobs: int | None = None,
    **options: Any,
) -> RankSelection:
    """Choose the rank of an NMF by the loss on cells that it has not seen.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        Numbers of at least 0; NaN is a value that is not known.
    ranks : sequence of int
        The ranks to try.
    fraction : float, default=0.1
        The share of the known cells that is held out.
    n_repeats : int, default=3
        How many times cells are drawn.
    random_state : int, optional
        Decides the cells and the starts.
    n_jobs : int, optional
        Threads to use; the result does not depend on it.
    **options : other parameters of `NMF`
        Such as `solver` or `beta_loss`.

    Returns
    -------
    RankSelection
        `best_rank`, `ranks` and `losses`, the mean loss of a held-out cell for each rank and repeat. Of equals, the
        smaller rank is the best.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((30, 2)) @ rng.random((2, 20))
    >>> held_out_rank(X, [1, 2, 4], random_state=0, n_repeats=1).best_rank
    2
    """
    X = check_array(
        X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite="allow-nan", input_name="X"
    )
    tried = np.unique(np.asarray(ranks))
    if tried.ndim != 1 or not tried.size or tried.dtype.kind not in "iu" or tried[0] < 1:
        raise ValueError(f"held_out_rank: ranks must be integers of at least 1; got {ranks!r}.")
    if not 0 < fraction < 1:
        raise ValueError(f"held_out_rank: fraction must be between 0 and 1; got {fraction!r}.")
    if n_repeats < 1:
        raise ValueError(f"held_out_rank: n_repeats must be at least 1; got {n_repeats!r}.")
    rng = generator(random_state)
    draws = [hold_out(X, fraction, rng) for _ in range(n_repeats)]
    seeds = rng.integers(2**31 - 1, size=n_repeats)
    tasks = [(int(k), draw, int(seed)) for k in tried for draw, seed in zip(draws, seeds)]
    losses = np.reshape(each(_held_out_loss, tasks, options, n_jobs=n_jobs), (tried.size, n_repeats))
    return RankSelection(int(tried[int(losses.mean(axis=1).argmin())]), tried, losses)


def hold_out(
    X: Any, fraction: float, rng: np.random.Generator
) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray]:
    """X with NaN in some cells that were known, which ones, and what was there; every row and column keeps one."""
    n, d = X.shape
    wanted = max(1, round(fraction * n * d))
    cells = (
        rng.choice(n * d, size=wanted, replace=False) if n * d < 1 << 26 else rng.integers(n * d, size=wanted)
    )
    i, j = np.divmod(np.unique(cells), d)
    values = np.asarray(X[i, j], dtype=np.float64).ravel()
    missing = split_missing(X)[1]
    for axis, at in ((0, i), (1, j)):
        gone = 0 if missing is None else np.asarray(missing.sum(axis=1 - axis)).ravel()
        left = X.shape[1 - axis] - np.bincount(at, minlength=X.shape[axis]) - gone
        keep = ~np.isnan(values) & (left[at] > 0)
        i, j, values, at = i[keep], j[keep], values[keep], at[keep]
    if not values.size:
        raise ValueError(
            f"held_out_rank: no cell of X, of shape {X.shape}, can be held out; every row and column must keep "
            f"one. Raise fraction={fraction!r}, or give more rows."
        )
    if sparse.issparse(X):
        marks = sparse.csr_array((np.full(i.size, np.nan), (i, j)), shape=X.shape)
        return (sparse.csr_array(X) + marks).astype(X.dtype), i, j, values
    masked = X.copy()
    masked[i, j] = np.nan
    return masked, i, j, values


def _held_out_loss(task: tuple[int, Any, int], options: dict[str, Any]) -> float:
    k, (masked, i, j, values), seed = task
    model = NMF(**{"init": "random", "random_state": seed, "n_jobs": 1, **options, "n_components": k})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        W = model.fit_transform(masked)
    fit = np.maximum((W[i] * model.components_[:, j].T).sum(axis=1), np.finfo(np.float64).tiny)
    return float(divergences(values, fit, model._beta).mean())
