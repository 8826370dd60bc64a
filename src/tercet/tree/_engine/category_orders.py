"""Orders of the categories at a node: the best subset is sought among the prefixes of each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tercet.tree._engine.category_subsets import rounding_unit
from tercet.tree._engine.general_costs import weighted_median
from tercet.tree._engine.general_subtree import sorted_rows


def category_orders(
    codes: np.ndarray,
    count: int,
    target: np.ndarray,
    weight: np.ndarray,
    n_classes: Sequence[int],
    medians: bool,
    drawn: float = -1.0,
    single: bool = False,
) -> list[np.ndarray]:
    """For every order the rank of each category, NaN for one that no row has.

    For two classes and for numbers the order by the mean is enough. For more the order along the first principal
    direction of the class proportions is joined by every category against the rest; with `single` there is nothing
    else. A number `drawn` from [0, 1) makes one order at random instead, or draws one category.

    Examples
    --------
    >>> codes, y = np.array([0.0, 1, 2, 2]), np.array([[5.0, 1, 3, 4]])
    >>> category_orders(codes, 4, y, np.ones(4), [1], False)
    [array([ 2.,  0.,  1., nan])]
    """
    here = ~np.isnan(codes)
    places, target, weight = codes[here].astype(np.int64), target[:, here], weight[here]
    mass = np.bincount(places, weight, minlength=count)
    there = np.flatnonzero(mass > 0)
    if single and there.size > 1:
        chosen = there if drawn < 0.0 else there[int(drawn * there.size)][None]
        return _against_the_rest(mass, chosen)
    if drawn >= 0.0:
        return [_ranks(count, np.random.default_rng(int(drawn * 2**53)).permutation(there))]
    if there.size < 2:
        return [_ranks(count, there)]
    means = _means(places, count, there, target, weight, n_classes, medians)
    if means.shape[1] == 1:
        return [_ranks(count, there[_order(means[:, 0])])]
    share = mass[there] / mass[there].sum()
    away = (means - share @ means) * np.sqrt(share)[:, None]
    direction = np.linalg.svd(away, full_matrices=False)[2][0]
    along = means @ (direction * np.sign(direction[np.argmax(np.abs(direction))]))
    orders = [_ranks(count, there[_order(along)])]
    return orders + (_against_the_rest(mass, there) if there.size > 2 else [])


def _order(values: np.ndarray) -> np.ndarray:
    """The order of the categories' values; those that differ by rounding alone stay in the order of their codes."""
    return np.argsort(np.rint(values / rounding_unit(np.abs(values).max(initial=0.0))), kind="stable")


def _against_the_rest(mass: np.ndarray, chosen: np.ndarray) -> list[np.ndarray]:
    """For each chosen category the ranks that put it before all others."""
    orders = []
    for k in chosen:
        alone = np.where(mass > 0, 1.0, np.nan)
        alone[k] = 0.0
        orders.append(alone)
    return orders


def _means(
    places: np.ndarray,
    count: int,
    there: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray,
    n_classes: Sequence[int],
    medians: bool,
) -> np.ndarray:
    """The value of each category: proportions of classes, means, or medians of its rows."""
    mass = np.bincount(places, weight, minlength=count)[there]
    found = []
    for y, classes in zip(target, n_classes):
        if medians:
            groups = [(y[places == k], weight[places == k]) for k in there]
            found.append(np.array([weighted_median(v, sorted_rows(v), w) for v, w in groups]))
            continue
        parts = [y] if classes == 1 else [y == k for k in range(1 if classes == 2 else 0, classes)]
        found += [np.bincount(places, weight * part, minlength=count)[there] / mass for part in parts]
    return np.array(found).T


def _ranks(count: int, order: np.ndarray) -> np.ndarray:
    ranks = np.full(count, np.nan)
    ranks[order] = np.arange(order.size)
    return ranks
