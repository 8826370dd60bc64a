"""Principal components: how much variance each has, and rows and features in the plane of two of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tercet.plot.models import picture
from tercet.plot.styling import (
    ACCENT,
    INK,
    SECOND,
    finite_array,
    get_axes,
    label_axes,
    sample_indices,
    scatter,
    short_name,
    short_number,
    styled,
    translated,
)

MOST = 30  # components, or arrows, of a picture


@styled
def plot_scree(model: Any, share: float | None = None, *, ax: Any = None) -> Any:
    """Draw the share of the variance of each component, and the running sum of the shares (a scree plot).

    Parameters
    ----------
    model : fitted estimator or array of shape (n_components,)
        With `explained_variance_ratio_`; or the shares themselves.
    share : float, optional
        Mark the number of components that reach this share, and name it in the title.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> ax = plot_scree([0.6, 0.3, 0.1], share=0.75)
    >>> [float(bar.get_height()) for bar in ax.patches]
    [0.6, 0.3, 0.1]
    >>> ax.get_title(loc="left")
    '2 components have 0.9 of the variance'
    """
    rates = finite_array(getattr(model, "explained_variance_ratio_", model), "explained_variance_ratio_")
    if rates.ndim != 1 or not rates.size:
        raise ValueError(
            f"plot_scree needs the shares of one component or more; their shape is {rates.shape}."
        )
    sums, shown = np.cumsum(rates), np.arange(min(rates.size, MOST))
    named = rates.size
    ax = get_axes(ax)
    ax.bar(shown + 1, rates[shown], color=ACCENT, alpha=0.75, width=0.7)
    ax.plot(shown + 1, sums[shown], color=INK, marker="o", markersize=3, linewidth=1)
    if share is not None:
        ax.axhline(share, color=SECOND, linewidth=1, linestyle=(0, (4, 3)))
        reached = np.flatnonzero(sums >= share - 1e-12)
        named = int(reached[0]) + 1 if reached.size else named
        if reached.size and reached[0] < MOST:
            ax.axvline(reached[0] + 1, color=SECOND, linewidth=1, linestyle=(0, (4, 3)))
    ax.set_ylim(0, max(1.0, float(sums.max())) * 1.04)
    if shown.size <= 12:
        ax.set_xticks(shown + 1)
    title = translated(
        "{k} components have {value} of the variance", k=named, value=short_number(sums[named - 1])
    )
    return label_axes(ax, translated("component"), translated("share of the variance"), title)


@styled
def plot_biplot(
    model: Any,
    X: Any = None,
    feature_names: Sequence[str] | None = None,
    *,
    axes: tuple[int, int] = (0, 1),
    ax: Any = None,
) -> Any:
    """Draw rows as points in the plane of two components, and features as arrows (a biplot).

    An arrow is the feature's loadings: its correlations with the two components, where the model has them.

    Parameters
    ----------
    model : fitted estimator
        With `components_` and `transform`.
    X : array of shape (n_samples, n_features), optional
        The rows; without them only the arrows are drawn.
    feature_names : sequence of str, optional
        The columns it was fitted on.
    axes : two ints, default=(0, 1)
        Which components.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from tercet.decomposition import PCA
    >>> X = [[2.5, 2.4], [0.5, 0.7], [2.2, 2.9], [1.9, 2.2], [3.1, 3.0]]
    >>> ax = plot_biplot(PCA(2).fit(X), X, ["a", "b"])
    >>> [text.get_text() for text in ax.texts if text.get_text()]
    ['a', 'b']
    """
    arrows = np.asarray(getattr(model, "loadings_", model.components_), dtype=float)
    if len(axes) != 2 or not all(0 <= k < len(arrows) for k in axes):
        raise ValueError(f"axes must be two of the {len(arrows)} components, from 0; got {axes!r}.")
    arrows = arrows[list(axes)]
    names = [str(j) for j in range(arrows.shape[1])] if feature_names is None else list(feature_names)
    if len(names) != arrows.shape[1]:
        raise ValueError(f"feature_names has {len(names)} names; the model has {arrows.shape[1]} features.")
    ax = get_axes(ax)
    reach = 1.0
    if X is not None:
        points = finite_array(model.transform(X), "X")[:, list(axes)]
        points = points[sample_indices(len(points))]
        scatter(ax, *points.T, color=ACCENT, alpha=0.5)
        reach = float(np.abs(points).max()) or 1.0
    longest = float(np.abs(arrows).max()) or 1.0
    most = np.sort(np.argsort(-np.hypot(*arrows), kind="stable")[:MOST])
    tips, edge = arrows[:, most].T / longest * reach, 1.2 * reach
    places = 1.06 * tips
    for side in (tips[:, 0] < 0, tips[:, 0] >= 0):
        places[side, 1] = spread(places[side, 1], 0.08 * edge)
    for j, tip, place in zip(most, tips, places):
        ax.annotate("", tip, (0, 0), arrowprops={"arrowstyle": "->", "color": SECOND, "linewidth": 1.2})
        ax.text(*place, short_name(names[j]), fontsize=8, ha="center", va="center")
    ax.set(xlim=(-edge, edge), ylim=(-edge, edge))
    ax.axhline(0, color=INK, linewidth=0.6, alpha=0.4)
    ax.axvline(0, color=INK, linewidth=0.6, alpha=0.4)
    rates = getattr(model, "explained_variance_ratio_", None)
    first, second = (
        translated("component {k}", k=k + 1) + ("" if rates is None else f" ({short_number(rates[k])})")
        for k in axes
    )
    return label_axes(ax, first, second)


def spread(places: np.ndarray, gap: float) -> np.ndarray:
    """Places along a line, moved no further than needed for neighbours to be `gap` apart.

    Examples
    --------
    >>> spread(np.array([1.0, 5.0, 1.0]), 2.0).tolist()
    [0.0, 5.0, 2.0]
    """
    order = np.argsort(places, kind="stable")
    groups: list[tuple[float, int]] = []  # the middle of neighbours that touch, and their number
    for place in places[order]:
        groups.append((float(place), 1))
        while len(groups) > 1 and groups[-1][0] - groups[-2][0] < gap * (groups[-1][1] + groups[-2][1]) / 2:
            (b, m), (a, n) = groups.pop(), groups.pop()
            groups.append(((n * a + m * b) / (n + m), n + m))
    moved = np.empty(len(places))
    moved[order] = [middle + gap * (k - (n - 1) / 2) for middle, n in groups for k in range(n)]
    return moved


@picture("components_", "explained_variance_ratio_")
def _shares(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    return plot_scree(model, ax=ax) if len(model.components_) else None
