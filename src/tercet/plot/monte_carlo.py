"""Monte Carlo and Markov chains: estimates as draws come in, envelopes, and distributions step by step."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

import numpy as np

from tercet.plot.styling import (
    ACCENT,
    COLOURS,
    INK,
    SECOND,
    finite_array,
    get_axes,
    label_axes,
    short_name,
    short_number,
    styled,
    translated,
)

POINTS = 1000  # of a curve, and of a cloud
MOST = 8  # states that have a line


@styled
def plot_estimate(estimate: Any, exact: float | None = None, *, level: float = 0.95, ax: Any = None) -> Any:
    """Draw a Monte Carlo estimate as draws come in, with the band of its confidence interval.

    Parameters
    ----------
    estimate : MonteCarloEstimate
        Of one number, from `tercet.sampling`.
    exact : float, optional
        The true value, a dashed line.
    level : float, default=0.95
        The level of the band.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from tercet.sampling import monte_carlo_integral
    >>> estimate = monte_carlo_integral(lambda x: x**2, (0, 1), size=500, random_state=0)
    >>> ax = plot_estimate(estimate, exact=1 / 3)
    >>> len(ax.lines), len(ax.collections)
    (2, 1)
    """
    values = finite_array(estimate.values, "values")
    if values.ndim != 1:
        raise ValueError(
            f"plot_estimate draws the estimate of one number; the draws have shape {values.shape}."
        )
    n = values.size
    counts = np.unique(np.geomspace(min(10, n), n, POINTS).astype(int))
    means = (np.cumsum(values) / np.arange(1, n + 1))[counts - 1]
    # The error at the end, carried back: it falls like the root of the number of draws.
    reach = NormalDist().inv_cdf(0.5 + level / 2) * float(estimate.standard_error) * np.sqrt(n / counts)
    ax = get_axes(ax)
    ax.fill_between(counts, means - reach, means + reach, color=ACCENT, alpha=0.2, linewidth=0)
    ax.plot(counts, means, color=ACCENT, linewidth=1.4)
    if exact is not None:
        ax.axhline(exact, color=INK, linewidth=1, linestyle=(0, (4, 3)))
    ax.set_xscale("log")
    title = translated(
        "{value} ± {error} after {n} draws",
        value=short_number(float(estimate.value)),
        error=short_number(float(estimate.standard_error)),
        n=n,
    )
    return label_axes(ax, translated("draws"), translated("estimate"), title)


@styled
def plot_envelope(p: Any, sample: Any, q: Any = None, *, bins: int = 40, ax: Any = None) -> Any:
    """Draw accepted points as a histogram, with the density and the envelope c q that they were accepted under.

    Parameters
    ----------
    p : callable
        The density, of an array of numbers, on the same scale as it was sampled from.
    sample : AcceptRejectSample
        From `tercet.sampling.accept_reject`, of numbers.
    q : distribution or callable, optional
        The proposal's density, or an object with `density` or `pdf`.
    bins : int, default=40
        Bars of the histogram.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from tercet.distributions import Uniform
    >>> from tercet.sampling import accept_reject
    >>> p = lambda x: 6 * x * (1 - x)
    >>> ax = plot_envelope(p, accept_reject(p, Uniform(), 500, c=1.5, random_state=0), Uniform())
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['p', 'c q']
    """
    points = finite_array(sample.samples, "samples")
    if points.ndim != 1:
        raise ValueError(
            f"plot_envelope draws a sample of numbers; its points have shape {points.shape[1:]}."
        )
    ax = get_axes(ax)
    heights, edges = np.histogram(points, bins=bins, density=True)
    ax.stairs(heights * sample.normaliser, edges, fill=True, color=ACCENT, alpha=0.25)
    x = np.linspace(edges[0], edges[-1], POINTS)
    ax.plot(x, np.asarray(p(x), dtype=float), color=ACCENT, linewidth=1.6, label="p")
    if q is not None:
        density = getattr(q, "density", getattr(q, "pdf", q))
        ax.plot(x, sample.c * np.asarray(density(x), dtype=float), color=SECOND, linewidth=1.4, label="c q")
    ax.legend(frameon=False)
    title = translated("{value} of the proposals accepted", value=short_number(sample.acceptance_rate))
    return label_axes(ax, "x", translated("density"), title)


@styled
def plot_state_distribution(chain: Any, n: int = 20, start: Any = None, *, ax: Any = None) -> Any:
    """Draw the distribution of a Markov chain's state step by step, and its stationary distribution, dashed.

    Parameters
    ----------
    chain : MarkovChain
        From `tercet.sampling`.
    n : int, default=20
        How many steps.
    start : array of shape (n_states,) or state, optional
        Where it starts; by default as the chain says.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from tercet.sampling import MarkovChain
    >>> ax = plot_state_distribution(
    ...     MarkovChain([[0.9, 0.1], [0.5, 0.5]], states=["sun", "rain"]), start="rain"
    ... )
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['sun', 'rain']
    """
    table = chain.distributions(n, start)
    limit = chain.stationary_distribution(table[0])
    shown = np.sort(np.argsort(-np.maximum(table.max(axis=0), limit), kind="stable")[:MOST])
    ax = get_axes(ax)
    for k, state in enumerate(shown):
        colour = COLOURS[k % len(COLOURS)]
        name = short_name(chain.states[state], 16)
        ax.plot(range(n + 1), table[:, state], color=colour, marker="o", markersize=3, label=name)
        ax.axhline(limit[state], color=colour, linewidth=1, linestyle=(0, (4, 3)))
    ax.set_ylim(bottom=0)
    ax.legend(frameon=False)
    title = translated("distribution of the state, and the stationary one (dashed)")
    return label_axes(ax, translated("steps"), translated("probability"), title)
