"""Random forests of rows of a source: binned once, and drawn for each tree by their numbers.

A bootstrap sample of n rows has each row as often as a draw from a binomial distribution says; those of different
rows are nearly independent. Here they are: how often a row is in the sample of a tree is a Poisson number, which
depends on the seed of the tree and the number of the row alone (the Poisson bootstrap). So no list of drawn rows
is kept, and the order of reading changes nothing.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np
from scipy import stats

from tercet.core.counter_draws import uniform_draws
from tercet.core.estimator import generator
from tercet.core.row_pages import Page
from tercet.core.row_sums import mass_of
from tercet.ensemble.base import check_drawn, rows_of_sample
from tercet.tree import (
    BinnedPages,
    PagedStatistics,
    cost_complexity_pruning,
    grow_from_pages,
    growth_refusal,
    read_binned_rows,
)

MOST_STEPS = 64  # of the inverse of the distribution function, beyond which the general one is asked


def forest_refusal(forest: Any) -> str:
    """Why the parameters of a forest do not allow learning from a source, and what does; "" where they do."""
    if forest.oob_score:
        return "oob_score keeps the votes of every row. Use score(another source)."
    if getattr(forest, "class_weight", None) == "balanced_subsample":
        return (
            "class_weight='balanced_subsample' counts the rows of each sample. Use class_weight='balanced'."
        )
    return growth_refusal(forest)


def fit_streamed(forest: Any, X: Any, y: Any, weight: Any) -> None:
    """Learn the trees of a forest from streamed arrays."""
    d = X.shape[1]
    forest.n_outputs_, forest.max_features_ = 1, forest._n_tried_features(d)
    forest._check_options(d)
    kept, forest.estimator_ = forest._kept_members(), forest._tree()
    for name in ("_n_rows", "_n_drawn", "_draw_weight"):  # of an earlier fit in memory
        forest.__dict__.pop(name, None)
    weight = forest._streamed_weights(y, weight)
    seeds = generator(forest.random_state).integers(2**31 - 1, size=forest.n_estimators)
    rate = drawing_rate(forest, X, weight) if forest.bootstrap else 0.0
    members = list(kept)
    with read_binned_rows(forest, X, y, weight, None, seed=0) as data:
        for step in forest.steps(forest.n_estimators - len(kept), name="tree", unpack=forest._state):
            members.append(grow_member(forest, data, int(seeds[len(members)]), rate))
            step.report((len(members), members))
    forest.estimators_ = members


def grow_member(forest: Any, data: BinnedPages, seed: int, rate: float) -> Any:
    """The tree of a seed; `rate` is how often a row of weight 1 is drawn in the mean."""
    n_classes, weights = forest._classes_of_outputs()[0], data.row_weights
    for turn in itertools.count():  # a sample of few rows may be empty: then the next one
        if forest.bootstrap:
            weights = functools.partial(drawn_counts, seed + (turn << 31), rate)
        statistics = PagedStatistics.of(data, weights, n_classes, forest.n_jobs)
        if statistics.rows:
            break
    n, d = data.X.shape
    limits = forest._limits_of(n, d, statistics.mass)
    inner_seed = int(generator(seed).integers(2**31 - 1))
    tree = grow_from_pages(forest, data, statistics, weights, limits, inner_seed)
    if forest.ccp_alpha > 0:
        tree = cost_complexity_pruning(tree, forest.ccp_alpha)
    member = forest._tree().set_params(random_state=seed)
    return member.with_tree(tree, d, getattr(forest, "classes_", None), forest.categories_)


def drawing_rate(forest: Any, X: Any, weight: Any) -> float:
    """How often a row of weight 1 is drawn in the mean: `max_samples` for the sum of all weights."""
    n, mass = X.shape[0], mass_of(X, weight)
    total = None if weight is None else np.array([mass])
    return check_drawn(forest, rows_of_sample(forest.max_samples, n, total), n) / mass


def drawn_counts(seed: int, rate: float, page: Page) -> np.ndarray:
    """How often each row of a page is in the sample of a tree."""
    u = uniform_draws(seed, np.arange(page.start, page.start + page.rows))
    return poisson_counts(u, rate * page.get("weight") if "weight" in page.fields else rate)


def poisson_counts(u: np.ndarray, rate: Any) -> np.ndarray:
    """Poisson numbers of given rates from numbers of [0, 1): the inverse of the distribution function.

    Examples
    --------
    >>> poisson_counts(np.array([0.3, 0.7, 0.9, 0.99]), 1.0)
    array([0., 1., 2., 4.])
    """
    rate = np.broadcast_to(np.asarray(rate, dtype=np.float64), u.shape)
    counts, left = np.zeros(u.shape), np.flatnonzero(rate > 0)
    p = np.exp(-rate[left])
    reached = p.copy()
    for k in range(1, MOST_STEPS):
        on = u[left] >= reached
        if not on.any():
            return counts
        left, p, reached = left[on], p[on] * rate[left[on]] / k, reached[on]
        reached += p
        counts[left] = k
    if left.size:
        counts[left] = np.maximum(stats.poisson.ppf(u[left], rate[left]), 0.0)
    return counts
