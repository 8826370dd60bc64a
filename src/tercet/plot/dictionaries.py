"""Dictionaries as tiles of their atoms, and singular values of a completed matrix."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tercet.plot.models import picture
from tercet.plot.styling import ACCENT, finite_array, get_axes, label_axes, short_number, styled, translated

MOST = 144  # atoms, or singular values, of a picture


@styled
def plot_atoms(model: Any, shape: tuple[int, int] | None = None, *, ax: Any = None) -> Any:
    """Draw the atoms of a dictionary as tiles, each in its own range of greys.

    Parameters
    ----------
    model : fitted estimator or array of shape (n_components, n_features)
        With `components_`; or the atoms themselves.
    shape : two ints, optional
        Height and width of an atom; by default a square where the number of features is one, else a row.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> ax = plot_atoms(np.eye(4))
    >>> ax.images[0].get_array().shape
    (7, 10)
    """
    atoms = finite_array(getattr(model, "components_", model), "components_")
    if atoms.ndim != 2 or not atoms.size:
        raise ValueError(f"plot_atoms needs one atom or more, in rows; their shape is {atoms.shape}.")
    side = math.isqrt(atoms.shape[1])
    height, width = shape or ((side, side) if side * side == atoms.shape[1] else (1, atoms.shape[1]))
    if height * width != atoms.shape[1]:
        raise ValueError(f"plot_atoms: shape={shape!r} has not the {atoms.shape[1]} numbers of an atom.")
    shown = atoms[:MOST]
    across = (
        math.ceil(math.sqrt(2 * len(shown) * height / width)) if height > 1 else 1
    )  # twice as wide as high
    across = min(across, len(shown))
    down = math.ceil(len(shown) / across)
    tiles = np.full((down * (height + 1) + 1, across * (width + 1) + 1), np.nan)
    reach = np.abs(shown).max(axis=1)
    for k, atom in enumerate(shown):
        top, left = divmod(k, across)
        place = (slice(top * (height + 1) + 1, (top + 1) * (height + 1)),
                 slice(left * (width + 1) + 1, (left + 1) * (width + 1)))  # fmt: skip
        tiles[place] = (atom / (reach[k] or 1.0)).reshape(height, width)
    ax = get_axes(ax)
    ax.imshow(
        tiles, cmap="gray", vmin=-1, vmax=1, interpolation="none", aspect="equal" if height > 1 else "auto"
    )
    ax.set_xticks([])
    ax.set_yticks([])
    title = translated("{shown} of {k} atoms", shown=len(shown), k=len(atoms))
    return label_axes(ax, "", "", title)


@styled
def plot_singular_values(model: Any, *, ax: Any = None) -> Any:
    """Draw singular values, the largest first.

    Parameters
    ----------
    model : fitted estimator or array of shape (rank,)
        With `singular_values_`; or the values themselves.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> [float(bar.get_height()) for bar in plot_singular_values([3.0, 1.0]).patches]
    [3.0, 1.0]
    """
    values = finite_array(getattr(model, "singular_values_", model), "singular_values_")
    if values.ndim != 1:
        raise ValueError(f"plot_singular_values needs a list of values; their shape is {values.shape}.")
    ax = get_axes(ax)
    ax.bar(np.arange(min(values.size, MOST)) + 1, values[:MOST], color=ACCENT, alpha=0.75, width=0.7)
    ax.set_ylim(bottom=0)
    title = translated("rank {k}, nuclear norm {value}", k=values.size, value=short_number(values.sum()))
    return label_axes(ax, translated("component"), translated("singular value"), title)


@picture("components_", "transform_algorithm")
def _atoms(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    return plot_atoms(model, ax=ax)


@picture("components_", "singular_values_", "alpha_")
def _completed(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    return plot_singular_values(model, ax=ax) if model.singular_values_.size else None
