"""How often a learner's risk is within epsilon, against the number of rows and a bound."""

from __future__ import annotations

from typing import Any

from tercet.plot.styling import ACCENT, INK, SECOND, get_axes, label_axes, styled, translated


@styled
def plot_pac(simulation: Any, *, ax: Any = None) -> Any:
    """Draw the share of samples in which the risk was within epsilon, with its 95 % interval, over the rows.

    What a bound promises is drawn below it, and 1 - delta across.

    Parameters
    ----------
    simulation : PACSimulation
        As `tercet.theory.pac_simulation` gives it.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from tercet.theory import pac_simulation
    >>> def draw(rng, n):
    ...     x = rng.random(n)
    ...     return x, x > 0.5
    >>> found = pac_simulation(
    ...     lambda x, y: lambda z: z > x[y].min(initial=1), draw, [5, 50], 0.1, n_trials=20
    ... )
    >>> ax = plot_pac(found)
    >>> ax.get_xlabel()
    'rows'
    """
    ax = get_axes(ax)
    n, interval = simulation.n_samples, simulation.interval
    ax.fill_between(n, interval[:, 0], interval[:, 1], color=ACCENT, alpha=0.2, linewidth=0)
    ax.plot(n, simulation.frequency, color=ACCENT, marker="o", markersize=4, label=translated("observed"))
    if simulation.bound is not None:
        ax.plot(n, simulation.bound, color=SECOND, marker="o", markersize=4, label=translated("bound"))
    ax.axhline(
        1 - simulation.delta,
        color=INK,
        linewidth=0.8,
        linestyle="--",
        label=f"1 - δ = {1 - simulation.delta:g}",
    )
    if n[-1] > 20 * n[0]:
        ax.set_xscale("log")
    ax.set_ylim(0, 1.05)
    ax.legend(loc="lower right")
    quantity = translated("share of samples with risk within ε = {epsilon}").format(
        epsilon=f"{simulation.epsilon:g}"
    )
    return label_axes(ax, translated("rows"), quantity)
