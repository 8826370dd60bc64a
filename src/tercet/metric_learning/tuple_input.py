"""Input of metric learners: rows with labels, rows with links, pairs or triplets of points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.estimator import distinct
from tercet.core.link_constraints import check_links, refuse_contradictions
from tercet.core.validation import check_array
from tercet.metric_learning.base import positive_weights


@dataclass
class Pairs:
    """Differences of the points of must-link and of cannot-link pairs, with the weights of the pairs."""

    alike: np.ndarray  # (n_must, n_features)
    alike_weight: np.ndarray
    apart: np.ndarray  # (n_cannot, n_features)
    apart_weight: np.ndarray


def are_tuples(X: Any) -> bool:
    """Whether X has three dimensions: points in pairs or triplets."""
    if sparse.issparse(X) or isinstance(X, str | bytes | dict | set):
        return False
    if hasattr(X, "ndim"):
        return bool(X.ndim == 3)
    try:
        return isinstance(X, list | tuple) and np.ndim(X) == 3
    except ValueError:  # rows of unequal length
        return False


def check_tuples(estimator: Any, X: Any, size: int) -> np.ndarray:
    """Points in tuples of a size, as floats, or an error that says what is wrong; sets `n_features_in_`."""
    name, word = type(estimator).__name__, {2: "pairs", 3: "triplets"}[size]
    points = check_array(
        X, dtype=(np.float64, np.float32), allow_nd=True, ensure_2d=False, input_name="X", estimator=estimator
    )
    if points.shape[1] != size or not points.shape[2]:
        raise ValueError(
            f"{name}: X with three dimensions holds {word} of points, of shape (n_{word}, {size}, n_features); "
            f"got {points.shape}."
        )
    estimator.n_features_in_ = points.shape[2]
    vars(estimator).pop("feature_names_in_", None)
    return points


def check_pair_labels(y: Any, n: int, name: str) -> np.ndarray:
    """1 and -1 for must-link and cannot-link pairs, checked."""
    kind = np.asarray([] if y is None else y)
    if kind.shape != (n,) or kind.dtype.kind not in "iuf" or not np.isin(kind, (-1, 1)).all():
        found = "None" if y is None else f"an array of shape {kind.shape}"
        if kind.shape == (n,) and kind.dtype.kind in "biufUSO":
            found = f"values such as {next((v for v in kind.tolist() if v not in (-1, 1)), None)!r}"
        raise ValueError(
            f"{name}: X holds pairs of points, so y must be 1 (must-link) or -1 (cannot-link) for each of the {n} "
            "pairs; "
            f"got {found}."
        )
    return kind.astype(np.int64)


def given_pairs(points: np.ndarray, y: Any, sample_weight: np.ndarray | None, name: str) -> Pairs:
    """The pairs that the caller gave as points, with y of 1 and -1."""
    kind = check_pair_labels(y, len(points), name)
    weight = positive_weights(sample_weight, len(points))
    wide = points.astype(np.float64)
    V = wide[:, 0] - wide[:, 1]
    _refuse_contradictory_points(wide, kind, name)
    alike = (kind == 1) & (weight > 0)
    apart = (kind == -1) & (weight > 0)
    return Pairs(V[alike], weight[alike], V[apart], weight[apart])


def linked_pairs(
    X: np.ndarray, must_link: Any, cannot_link: Any, sample_weight: np.ndarray | None, name: str
) -> Pairs:
    """The pairs that the caller gave as numbers of rows; a pair weighs the product of its rows' weights."""
    must = check_links(must_link, len(X), name, "must_link")
    cannot = check_links(cannot_link, len(X), name, "cannot_link")
    refuse_contradictions(must, cannot, name)
    return _of_rows(X, must, cannot, positive_weights(sample_weight, len(X)))


def labelled_pairs(
    X: np.ndarray,
    y: np.ndarray,
    sample_weight: np.ndarray | None,
    n_constraints: int | None,
    rng: np.random.Generator,
    name: str,
    most: int,
) -> Pairs:
    """Pairs of labelled rows: those of one class are must-link, those of two cannot-link.

    All pairs where they are at most `most`; else so many of each kind, drawn in proportion to the product of the
    weights.
    """
    classes, codes = distinct(y)
    weight = positive_weights(sample_weight, len(X))
    rows = np.flatnonzero(weight > 0)
    counts = np.bincount(codes[rows], minlength=classes.size)
    if np.count_nonzero(counts) < 2 or counts.max(initial=0) < 2:
        raise ValueError(
            f"{name}: y must have at least two classes, one of them with two rows or more, to make must-link and "
            f"cannot-link pairs; the data contains {np.count_nonzero(counts)} class(es) of {rows.size} rows."
        )
    n = rows.size
    if n_constraints is None and n * (n - 1) // 2 <= most:
        first, second = np.triu_indices(n, 1)
        links = np.column_stack([rows[first], rows[second]])
        same = codes[links[:, 0]] == codes[links[:, 1]]
        return _of_rows(X, links[same], links[~same], weight)
    m = most // 2 if n_constraints is None else n_constraints
    must, cannot = draw_pairs(codes, weight, m, rng)
    return _of_rows(X, must, cannot, np.ones(len(X)))


def draw_pairs(
    codes: np.ndarray, weight: np.ndarray, m: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """m must-link and m cannot-link pairs of labelled rows, drawn with replacement.

    The first row is drawn by its weight times the weight of all rows it can be paired with, the second by its
    weight among those, so that a pair comes in proportion to the product of its weights.
    """
    order = np.argsort(codes, kind="stable")
    order = order[weight[order] > 0]
    w, c = weight[order], codes[order]
    height = np.concatenate([[0.0], np.cumsum(w)])
    low, high = np.searchsorted(c, c, side="left"), np.searchsorted(c, c, side="right")
    mine = height[high] - height[low]
    must = np.empty((m, 2), dtype=np.intp)
    cannot = np.empty((m, 2), dtype=np.intp)
    several = high - low > 1
    first = _draw(np.where(several, w * (mine - w), 0.0), m, rng)
    a, b = low[first], high[first]
    # a place in the own class with the row itself cut out
    place = height[a] + rng.random(m) * (mine[first] - w[first])
    place = np.where(place >= height[first], place + w[first], place)
    second = np.clip(np.searchsorted(height, place, side="right") - 1, a, b - 1)
    second = np.where(second == first, np.where(first > a, first - 1, first + 1), second)  # by rounding
    must[:] = np.column_stack([order[first], order[second]])
    first = _draw(w * (height[-1] - mine), m, rng)
    place = rng.random(m) * (height[-1] - mine[first])
    place = np.where(place >= height[low[first]], place + mine[first], place)
    second = np.clip(np.searchsorted(height, place, side="right") - 1, 0, len(w) - 1)
    inside = (second >= low[first]) & (second < high[first])  # by rounding
    second = np.where(inside, np.where(low[first] > 0, low[first] - 1, high[first]), second)
    cannot[:] = np.column_stack([order[first], order[second]])
    return must, cannot


def _draw(mass: np.ndarray, m: int, rng: np.random.Generator) -> np.ndarray:
    """m places, drawn in proportion to their mass."""
    height = np.cumsum(np.maximum(mass, 0.0))
    found = np.searchsorted(height, rng.random(m) * height[-1], side="right")
    return np.minimum(found, np.flatnonzero(mass > 0)[-1])


def _of_rows(X: np.ndarray, must: np.ndarray, cannot: np.ndarray, weight: np.ndarray) -> Pairs:
    alike, apart = (X[links[:, 0]] - X[links[:, 1]] for links in (must, cannot))
    alike_weight, apart_weight = (weight[links[:, 0]] * weight[links[:, 1]] for links in (must, cannot))
    here, there = alike_weight > 0, apart_weight > 0
    return Pairs(alike[here], alike_weight[here], apart[there], apart_weight[there])


def _refuse_contradictory_points(points: np.ndarray, kind: np.ndarray, name: str) -> None:
    """An error that names a pair of points which is given as must-link and as cannot-link."""
    n, _, d = points.shape
    first, second = points[:, 0], points[:, 1]
    swapped = np.zeros(n, dtype=bool)
    undecided = np.ones(n, dtype=bool)
    for k in range(d):  # the two points of a pair in the order of their first difference
        swapped |= undecided & (first[:, k] > second[:, k])
        undecided &= first[:, k] == second[:, k]
    ordered = np.where(swapped[:, None, None], points[:, ::-1], points).reshape(n, -1)
    _, place = np.unique(ordered + 0.0, axis=0, return_inverse=True)
    place = place.reshape(-1)
    both = np.intersect1d(place[kind == 1], place[kind == -1])
    if both.size:
        one = int(np.flatnonzero((place == both[0]) & (kind == 1))[0])
        other = int(np.flatnonzero((place == both[0]) & (kind == -1))[0])
        raise ValueError(
            f"{name}: the constraints contradict each other: pairs {one} and {other} of X are the same two points, "
            "once "
            "must-link (1) and once cannot-link (-1)."
        )
