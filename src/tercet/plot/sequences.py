"""Sequence models: which state follows which, the path of states along the observations, what speaks for a tag."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tercet.plot.comparison import bars
from tercet.plot.models import _labels, picture
from tercet.plot.styling import (
    ACCENT,
    COLOURS,
    INK,
    fading_colormap,
    finite_array,
    get_axes,
    label_axes,
    short_name,
    short_number,
    styled,
    translated,
)

STEPS = 2000  # of a path; of a longer one the beginning is drawn


@styled
def plot_transitions(model: Any, *, labels: Sequence[Any] | None = None, ax: Any = None) -> Any:
    """Draw which state, or tag, follows which: probabilities of a hidden Markov model, weights of a random field.

    Parameters
    ----------
    model : fitted estimator
        With `transmat_` (a `tercet.sampling.MarkovChain`, too), or with `transition_features_` and `classes_`.
    labels : sequence, optional
        What to call the states; by default the names in `classes_` or `states`, or numbers.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> model = SimpleNamespace(transmat_=[[0.9, 0.1], [0.3, 0.7]])
    >>> ax = plot_transitions(model, labels=["sun", "rain"])
    >>> [tick.get_text() for tick in ax.get_yticklabels()]
    ['sun', 'rain']
    """
    if hasattr(model, "transmat_"):
        table, signed = np.asarray(model.transmat_, dtype=float), False
    else:
        place = {label: k for k, label in enumerate(model.classes_)}
        table, signed = np.zeros((len(place), len(place))), True
        for (a, b), weight in model.transition_features_.items():
            table[place[a], place[b]] = weight
    n = len(table)
    words = _labels(model, labels) if len(getattr(model, "classes_", ())) == n else labels
    words = getattr(model, "states", None) if words is None else words
    words = [str(k) for k in range(n)] if words is None else [str(word) for word in words]
    ax = get_axes(ax, height=1.3 + 0.28 * max(n, 4))
    reach = float(np.abs(table).max()) or 1.0
    colours = fading_colormap(COLOURS[5], ACCENT) if signed else fading_colormap(None, ACCENT)
    low, high = (-reach, reach) if signed else (0.0, 1.0)
    least = np.finfo(float).tiny if signed else 5e-4  # what all but never happens has no number
    ax.imshow(table, cmap=colours, vmin=low, vmax=high, aspect="auto", interpolation="none")
    if n <= 12:
        for i, j in np.ndindex(n, n):
            if abs(table[i, j]) >= least:
                colour = "white" if abs(table[i, j]) > 0.6 * high else INK
                ax.text(
                    j,
                    i,
                    short_number(float(table[i, j])),
                    ha="center",
                    va="center",
                    fontsize=7.5,
                    color=colour,
                )
    every = -(-n // 25)
    ax.set_xticks(
        range(0, n, every), [short_name(w, 14) for w in words[::every]], rotation=90 if n > 8 else 0
    )
    ax.set_yticks(range(0, n, every), [short_name(w, 20) for w in words[::every]])
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    title = translated("weights of transitions") if signed else translated("probabilities of transitions")
    return label_axes(ax, translated("to"), translated("from"), title)


@styled
def plot_path(
    states: Any,
    X: Any = None,
    *,
    labels: Sequence[Any] | None = None,
    probabilities: Any = None,
    ax: Any = None,
) -> Any:
    """Draw a path of states as coloured bands along the observations.

    Parameters
    ----------
    states : array of shape (length,)
        The states of one sequence, as `predict` gives them.
    X : array of shape (length,) or (length, n_features), optional
        The observations, drawn as lines over the bands.
    labels : sequence, optional
        What to call the states, in the order of their names.
    probabilities : array of shape (length, n_states), optional
        Posterior probabilities: bands as high as the state is likely, instead of whole ones.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> ax = plot_path([0, 0, 1, 1, 0], [0.1, 0.2, 3.0, 3.1, 0.0])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['0', '1']
    """
    states = np.asarray(states)[:STEPS]
    if states.ndim != 1 or not states.size:
        raise ValueError(f"states must be those of one sequence; the shape is {states.shape}.")
    ax = get_axes(ax)
    names, index = np.unique(states, return_inverse=True)
    words = [str(label) for label in (names.tolist() if labels is None else labels)]
    time = np.arange(states.size + 1) - 0.5
    if probabilities is None:
        shares = (index[:, None] == np.arange(len(names))).astype(float)
    else:
        shares = finite_array(probabilities, "probabilities")[:STEPS]
        if labels is None and shares.shape[1] != len(names):
            words = [str(k) for k in range(shares.shape[1])]
    tops = np.cumsum(np.vstack([shares, shares[-1:]]), axis=1)
    bands = ax.twinx() if X is not None else ax
    for k in range(shares.shape[1]):
        bottom = tops[:, k - 1] if k else np.zeros(len(tops))
        colour = COLOURS[k % len(COLOURS)]
        bands.fill_between(
            time,
            bottom,
            tops[:, k],
            step="post",
            color=colour,
            alpha=0.35,
            linewidth=0,
            label=short_name(words[k]),
        )
    bands.set(ylim=(0, 1), yticks=[])
    bands.legend(loc="upper left", bbox_to_anchor=(1, 1), title=translated("state"))
    if X is not None:
        values = finite_array(X, "X", missing=True)[:STEPS]
        ax.plot(np.arange(len(values)), values, color=INK, linewidth=0.9)
        ax.set_zorder(bands.get_zorder() + 1)
        ax.patch.set_visible(False)
        if ax.get_legend() is None:
            handles, texts = bands.get_legend_handles_labels()
            bands.get_legend().remove()
            ax.legend(handles, texts, loc="upper left", bbox_to_anchor=(1, 1), title=translated("state"))
    return label_axes(ax, translated("step"), "")


@picture("transmat_", "startprob_")
def _chain(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    return plot_transitions(model, labels=labels, ax=ax)


@picture("transition_features_", "state_features_", "classes_")
@styled
def _field(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    """The attributes that speak loudest for a tag, or against it."""
    table: dict[tuple, float] = {**model.state_features_, **getattr(model, "bigram_features_", {})}
    if not table:
        return plot_transitions(model, labels=labels, ax=ax)
    told = dict(zip(model.classes_, _labels(model, labels)))
    columns = {f"x{j}": word for j, word in enumerate(feature_names or ())}  # of a table without names
    top = sorted(table.items(), key=lambda item: -abs(item[1]))[:20]
    ax = get_axes(ax, height=0.9 + 0.24 * max(len(top), 3))
    words = [_speaks_for(columns.get(key[0], key[0]), [told[tag] for tag in key[1:]]) for key, _ in top]
    bars(ax, words, np.array([weight for _, weight in top]))
    title = (
        "" if len(top) == len(table) else translated("the {top} largest of {n}", top=len(top), n=len(table))
    )
    return label_axes(ax, translated("weight"), title=title)


def _speaks_for(attribute: str, tags: list[str]) -> str:
    """An attribute and its tag; for two neighbouring tags both."""
    return f"{attribute} → {tags[0]}" if len(tags) == 1 else f"{attribute}: {tags[0]} → {tags[1]}"
