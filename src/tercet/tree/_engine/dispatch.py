"""The choice of an engine for a binary tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from tercet.tree._engine.limits import NO_LIMITS, Limits
from tercet.tree._engine.tree_arrays import TreeArrays

SAFE_EXPONENT = 400  # sums of squares of numbers up to 2^400 do not overflow
EPSILON = float(np.finfo(float).eps)
FAST_CRITERIA = ("gini", "entropy", "log_loss", "squared_error")  # of the presorted and the histogram engine


def grow(
    X: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray | None = None,
    *,
    n_classes: Sequence[int],
    criterion: str,
    limits: Limits = NO_LIMITS,
    n_categories: Any = None,
    category_tests: str = "subset",
    splitter: str = "best",
    seed: int = 0,
    monotonic: Any = None,
    max_bins: int | None = None,
    n_jobs: int | None = None,
) -> TreeArrays:
    """Grow a binary tree.

    Parameters
    ----------
    X : array of shape (n, d), or CSR matrix where `takes_sparse` says so
        Floats; NaN where a value is missing; in a column of categories their codes.
    target : array of shape (n,) or (n, n_outputs)
        Indices of classes (integers), or numbers (float64).
    weight : array of shape (n,), optional
        A row of weight 2 counts as two rows, one of weight 0 is left out.
    n_classes : sequence of int
        The number of classes of every output; 1 for a number.
    criterion : {"gini", "entropy", "log_loss", "squared_error", "absolute_error", "poisson"}
    limits : Limits
        When to stop.
    n_categories : array of shape (d,), optional
        0 for a column of numbers, else the number of its categories.
    category_tests : {"subset", "value"}
        Test a set of categories against the others, or one category.
    splitter : {"best", "random"}
    seed : int
        Decides which columns a node tries (`limits.max_features`) and what a random splitter draws.
    monotonic : array of shape (d,), optional
        1 or -1 where the prediction must not fall or rise with the column.
    max_bins : int, optional
        Use the histogram engine with so many bins (2 to 255).
    n_jobs : int, optional
        Threads; the same bits come out for any number of them.

    Examples
    --------
    >>> X = np.array([[1.0], [2.0], [3.0], [4.0]])
    >>> tree = grow(X, np.array([0, 0, 1, 1]), n_classes=[2], criterion="gini")
    >>> tree.nodes["threshold"][0].item(), len(tree.value)
    (2.5, 3)
    """
    if weight is not None:
        weight = np.ascontiguousarray(weight, dtype=np.float64)
        if (weight == 0.0).any():
            X, target, weight = X[weight != 0.0], target[weight != 0.0], weight[weight != 0.0]
        if (weight == 1.0).all():
            weight = None
    if not X.shape[0]:
        raise ValueError("a tree needs at least one row of positive weight.")
    d = X.shape[1]
    kinds = np.zeros(d, dtype=np.int64) if n_categories is None else np.array(n_categories, dtype=np.int64)
    classes = tuple(int(k) for k in n_classes)
    _check_codes(X, target, kinds, classes)
    power = binary_exponent(target) if max(classes) == 1 else 0
    options: dict[str, Any] = {
        "n_classes": classes,
        "criterion": criterion,
        "limits": scaled_limits(limits, criterion, power),
        "n_categories": kinds,
        "single": category_tests == "value",
        "seed": seed,
        "n_jobs": n_jobs,
    }
    target = np.ldexp(target, -power) if power else target
    grown = _grown(X, target, weight, options, classes, criterion, splitter, monotonic, max_bins)
    return unscaled(grown, criterion, power) if power else grown


def _grown(
    X: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray | None,
    options: dict[str, Any],
    classes: tuple[int, ...],
    criterion: str,
    splitter: str,
    monotonic: Any,
    max_bins: int | None,
) -> TreeArrays:
    """What the fastest engine that can do it grows."""
    constrained = monotonic is not None and np.any(np.asarray(monotonic) != 0)
    plain = {name: options[name] for name in ("n_classes", "criterion", "limits", "seed")}
    if sparse.issparse(X):
        from tercet.tree._engine.sparse_growth import grow_sparse

        return grow_sparse(X, target.ravel(), weight, splitter=splitter, **plain)
    simple = len(classes) == 1 and not constrained and criterion in FAST_CRITERIA
    fast = simple and splitter == "best"
    if max_bins is not None:
        if not fast:
            raise ValueError(
                f"max_bins={max_bins} goes with one output, splitter='best', no monotonic columns and the criteria "
                f"gini, entropy, log_loss and squared_error; got {len(classes)} outputs, splitter={splitter!r}, "
                f"criterion={criterion!r}{', monotonic columns' if constrained else ''}."
            )
        if options.pop("single") and options["n_categories"].any():
            raise ValueError(f"category_tests='value' does not go with max_bins={max_bins}.")
        from tercet.tree._engine.histogram import grow_binned

        return grow_binned(X, target.ravel(), weight, max_bins=max_bins, **options)
    if fast and options["limits"].max_leaf_nodes is None:
        from tercet.tree._engine.presorted import grow_presorted

        return grow_presorted(X, target.ravel(), weight, **options)
    simple = simple and options["limits"].max_leaf_nodes is None and not options["n_categories"].any()
    if simple and splitter == "random" and not np.isnan(X.min()):
        from tercet.tree._engine.random_growth import grow_random

        return grow_random(X, target.ravel(), weight, **plain)
    from tercet.tree._engine.general import grow_general

    return grow_general(X, target, weight, splitter=splitter, monotonic=monotonic, **options)


def takes_sparse(
    X: Any,
    n_outputs: int,
    criterion: str,
    splitter: str,
    limits: Limits,
    monotonic: Any,
    max_bins: int | None,
) -> bool:
    """Whether `grow` takes a sparse matrix as it is; else it needs an array."""
    simple = n_outputs == 1 and criterion in FAST_CRITERIA and max_bins is None and monotonic is None
    whole = splitter == "random" or limits.max_features is None
    return simple and whole and limits.max_leaf_nodes is None and not np.isnan(X.data).any()


def binary_exponent(target: np.ndarray) -> int:
    """The power of 2 to divide the targets by: 0, unless sums of their squares may overflow, or all are so small
    that their squares underflow."""
    largest = float(np.abs(target).max())
    exponent = int(np.frexp(largest)[1]) if 0.0 < largest < np.inf else 0
    return max(exponent - SAFE_EXPONENT, 0) if exponent >= -SAFE_EXPONENT else exponent


def _degree(criterion: str) -> int:
    """How the impurity grows with the scale of the targets."""
    return 2 if criterion == "squared_error" else 1


def scaled_limits(limits: Limits, criterion: str, power: int) -> Limits:
    """The limits for targets divided by a power of 2. Rounding must not decide against a split: an epsilon is taken
    off, as scikit-learn does."""
    asked = limits.min_impurity_decrease
    if asked <= 0:
        return limits
    floor = np.ldexp(max(asked - EPSILON, 0.0), -_degree(criterion) * power)
    return replace(limits, min_impurity_decrease=float(floor))


def unscaled(grown: TreeArrays, criterion: str, power: int) -> TreeArrays:
    """The tree of targets that were divided by a power of 2."""
    with np.errstate(over="ignore"):  # the tree is right even where its impurities are too large for a number
        impurity = np.ldexp(np.asarray(grown.nodes["impurity"]), _degree(criterion) * power)
    return grown._replace(value=np.ldexp(grown.value, power), nodes={**grown.nodes, "impurity": impurity})


def _check_codes(
    X: np.ndarray, target: np.ndarray, n_categories: np.ndarray, n_classes: tuple[int, ...]
) -> None:
    """Refuse codes out of range: kernels check no bounds."""
    for j in np.flatnonzero(n_categories):
        codes = X[:, j][~np.isnan(X[:, j])]
        if codes.size and not 0 <= codes.min() <= codes.max() < n_categories[j]:
            raise ValueError(f"the codes of column {j} must be 0 to {n_categories[j] - 1}.")
    columns = target.reshape(len(target), -1)
    for k, count in enumerate(n_classes):
        if columns.dtype.kind in "iu" and not 0 <= columns[:, k].min() <= columns[:, k].max() < count:
            raise ValueError(f"the classes of output {k} must be 0 to {count - 1}.")
