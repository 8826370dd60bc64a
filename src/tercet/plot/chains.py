"""Markov chains: traces, densities and autocorrelations of draws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tercet.plot.models import picture
from tercet.plot.styling import (
    COLOURS,
    INK,
    finite_array,
    get_axes,
    label_axes,
    short_name,
    styled,
    translated,
)

MOST_POINTS = 2000  # of a drawn line
MOST_LAGS = 100


@styled
def plot_trace(chains: Any, component: int | str = 0, *, ax: Any = None) -> Any:
    """Draw the trace of one component: its value at each draw, one line per chain.

    Chains that have converged look alike and wander about the same values.

    Parameters
    ----------
    chains : Chains, or array of shape (n_chains, n_samples) or (n_chains, n_samples, d)
        The draws.
    component : int or str, default=0
        Which component, by number or name.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> ax = plot_trace(np.random.default_rng(0).standard_normal((3, 100)))
    >>> len(ax.lines)
    3
    """
    draws, name = _component(chains, component)
    ax = get_axes(ax)
    stride = -(-draws.shape[1] // MOST_POINTS)
    for c, line in enumerate(draws):
        shown = np.arange(0, line.size, stride)
        ax.plot(shown, line[shown], linewidth=0.7, alpha=0.8, color=COLOURS[c % len(COLOURS)])
    return label_axes(ax, translated("draw"), short_name(name))


@styled
def plot_chain_densities(chains: Any, component: int | str = 0, *, ax: Any = None) -> Any:
    """Draw the density of one component's draws, one curve per chain; bars for discrete states.

    Parameters
    ----------
    chains : Chains, or array of shape (n_chains, n_samples) or (n_chains, n_samples, d)
        The draws.
    component : int or str, default=0
        Which component, by number or name.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> ax = plot_chain_densities(np.random.default_rng(0).standard_normal((3, 100)))
    >>> len(ax.lines)
    3
    """
    draws, name = _component(chains, component)
    ax = get_axes(ax)
    if np.asarray(getattr(chains, "draws", chains)).dtype.kind in "iu":
        values = np.unique(draws)
        width = 0.8 / len(draws)
        for c, line in enumerate(draws):
            shares = [float((line == value).mean()) for value in values]
            offset = (c - (len(draws) - 1) / 2) * width
            ax.bar(values + offset, shares, width, color=COLOURS[c % len(COLOURS)])
        return label_axes(ax, short_name(name), translated("share of the draws"))
    low, high = draws.min(), draws.max()
    margin = 0.1 * (high - low) or 1.0
    x = np.linspace(low - margin, high + margin, 300)
    for c, line in enumerate(draws):
        ax.plot(x, _kernel_density(line, x, margin), color=COLOURS[c % len(COLOURS)])
    ax.set_ylim(bottom=0)
    return label_axes(ax, short_name(name), translated("density"))


@styled
def plot_autocorrelation(
    chains: Any, component: int | str = 0, *, max_lag: int | None = None, ax: Any = None
) -> Any:
    """Draw the autocorrelations of one component, one line per chain.

    Parameters
    ----------
    chains : Chains, or array of shape (n_chains, n_samples) or (n_chains, n_samples, d)
        The draws.
    component : int or str, default=0
        Which component, by number or name.
    max_lag : int, optional
        The largest lag; 100 by default, where there are that many draws.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> ax = plot_autocorrelation(np.random.default_rng(0).standard_normal((3, 100)), max_lag=10)
    >>> len(ax.lines[1].get_xdata())
    11
    """
    from tercet.sampling import autocorrelation

    draws, name = _component(chains, component)
    found = autocorrelation(draws, MOST_LAGS if max_lag is None else max_lag)
    ax = get_axes(ax)
    ax.axhline(0.0, color=INK, linewidth=0.7)
    for c, line in enumerate(found):
        ax.plot(line, color=COLOURS[c % len(COLOURS)])
    return label_axes(ax, translated("lag"), translated("autocorrelation of {name}", name=short_name(name)))


@picture("chains_")
def _sampler(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    return plot_trace(model.chains_, ax=ax)


def _component(chains: Any, component: int | str) -> tuple[np.ndarray, str]:
    """Draws (n_chains, n_samples) of one component, with its name."""
    draws = finite_array(getattr(chains, "draws", chains), "chains")
    draws = np.atleast_2d(draws)
    if draws.ndim == 2:
        draws = draws[:, :, None]
    if draws.ndim != 3:
        raise ValueError(
            f"chains must have shape (n_chains, n_samples) or (n_chains, n_samples, d); got shape {draws.shape}."
        )
    names: Sequence[str] = getattr(chains, "names", None) or [f"x{j}" for j in range(draws.shape[2])]
    if isinstance(component, str) and component in names:
        component = list(names).index(component)
    if isinstance(component, str) or not -draws.shape[2] <= component < draws.shape[2]:
        raise ValueError(f"component must be one of {list(names)}, or its number; got {component!r}.")
    return draws[:, :, component], names[component]


def _kernel_density(values: np.ndarray, x: np.ndarray, margin: float) -> np.ndarray:
    """Gaussian kernel density of a binned sample, with Silverman's bandwidth."""
    spread = min(values.std(), float(np.subtract(*np.quantile(values, [0.75, 0.25]))) / 1.34)
    bandwidth = 0.9 * (spread or values.std()) * values.size**-0.2 or 0.1 * margin
    counts, edges = np.histogram(values, bins=np.linspace(x[0], x[-1], 1001))
    centres = 0.5 * (edges[1:] + edges[:-1])
    bumps = np.exp(-0.5 * ((x[:, None] - centres[None, :]) / bandwidth) ** 2)
    return bumps @ counts / (values.size * bandwidth * np.sqrt(2 * np.pi))
