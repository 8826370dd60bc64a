"""Drawing of a tree with scikit-learn's parameters; `tercet.plot.plot_tree` draws our own picture of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from tercet.core.lazy import optional_module
from tercet.tree.conditions import branch_text, is_multiway
from tercet.tree.export import node_colours, node_labels, preorder
from tercet.tree.tree import Tree


def plot_tree(
    decision_tree: Any,
    *,
    max_depth: int | None = None,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | bool | None = None,
    label: Literal["all", "root", "none"] = "all",
    filled: bool = False,
    impurity: bool = True,
    node_ids: bool = False,
    proportion: bool = False,
    rounded: bool = False,
    precision: int = 3,
    ax: Any = None,
    fontsize: float | None = None,
) -> list[Any]:
    """Draw a tree as boxes with the text of `export_graphviz`.

    Parameters
    ----------
    decision_tree : fitted decision tree, or its Tree
        What to draw.
    max_depth : int, optional
        Nodes below it are not drawn.
    feature_names, class_names : sequences of str, optional
        What to call columns and classes; `class_names=True` takes the model's own names.
    label : {"all", "root", "none"}, default="all"
        Where words stand before the numbers.
    filled, rounded : bool, default=False
        Colour the nodes by what they say; round corners.
    impurity : bool, default=True
        Show the impurity.
    node_ids, proportion : bool, default=False
        Show the numbers of the nodes; parts in place of counts.
    precision : int, default=3
        Digits after the point.
    ax : matplotlib Axes, optional
        Where to draw; by default the current Axes.
    fontsize : float, optional
        Size of the letters; by default as large as there is room for.

    Returns
    -------
    annotations : list of matplotlib Annotation
        The nodes from the root down, left branches first, and the words at the root's branches.

    Examples
    --------
    >>> from tercet.tree import DecisionTreeClassifier
    >>> model = DecisionTreeClassifier().fit([[0], [1], [2]], ["a", "a", "b"])
    >>> [text.get_text() for text in plot_tree(model, impurity=False, label="none")]
    ['x[0] <= 1.5\\n3\\n[2, 1]', '2\\n[2, 0]', 'True  ', '1\\n[0, 1]', '  False']
    """
    plt = optional_module("matplotlib.pyplot", "plot_tree needs", "plot")
    labels = node_labels(
        decision_tree, feature_names, class_names, label, impurity, node_ids, proportion, False, precision
    )
    tree = labels.names.tree
    deepest = np.inf if max_depth is None else max_depth
    order = preorder(tree, np.flatnonzero(tree.depth <= deepest + 1))
    place, width, height = _places(tree, order)
    ax = plt.gca() if ax is None else ax
    ax.clear()
    ax.set_axis_off()
    colours, parent, depth = node_colours(tree), tree.parent, tree.depth
    box = {"boxstyle": "round" if rounded else "square", "edgecolor": "black"}
    common = {"ha": "center", "va": "center", "xycoords": "axes fraction", "zorder": 100}
    common |= {} if fontsize is None else {"fontsize": fontsize}
    drawn = []
    for t in order:
        truncated = depth[t] > deepest
        text = "\n  (...)  \n" if truncated else "\n".join(labels.lines(t))
        colour = "white" if not filled else "#C0C0C0" if truncated else colours[t]
        options: dict[str, Any] = {**common, "bbox": {**box, "facecolor": colour}}
        if t == 0:
            drawn.append(ax.annotate(text, place[0], **options))
            continue
        above = int(parent[t])
        arrow = {"arrowstyle": "<-", "color": "black"}
        drawn.append(ax.annotate(text, place[above], place[t], arrowprops=arrow, **options))
        words, side = _edge_words(labels.names, above, t)
        if words:
            middle = tuple((a + b) / 2 for a, b in zip(place[above], place[t]))
            drawn.append(ax.annotate(words, middle, **{**common, "ha": side}))
    if fontsize is None:
        _fit_letters(ax, drawn, width, height)
    return drawn


def _places(tree: Tree, order: list[int]) -> tuple[dict[int, tuple[float, float]], float, float]:
    """Places of the nodes as fractions of the Axes, and the room of each: its width and height.

    Ends stand side by side, a parent over the middle of its first and its last child.
    """
    shown, depth = set(order), tree.depth
    below = {t: [c for c in tree.children(t) if c in shown] for t in order}
    ends = [t for t in order if not below[t]]
    across = {t: (k + 0.5) / len(ends) for k, t in enumerate(ends)}
    for t in reversed(order):
        if below[t]:
            across[t] = (across[below[t][0]] + across[below[t][-1]]) / 2
    levels = max(int(depth[t]) for t in order) + 1
    place = {t: (across[t], 1 - (float(depth[t]) + 0.5) / levels) for t in order}
    return place, 1 / len(ends), 1 / levels


def _edge_words(names: Any, above: int, t: int) -> tuple[str, str]:
    """The words at an edge and their alignment: True and False at the root, or the categories of a child."""
    slot = t - int(names.tree.child[above])
    if is_multiway(names.tree, above):
        return branch_text(names, above, slot), "center"
    if above:
        return "", "center"
    return ("True  ", "right") if slot == 0 else ("  False", "left")


def _fit_letters(ax: Any, drawn: list[Any], width: float, height: float) -> None:
    """Make the letters as small as the widest node's room needs."""
    canvas = ax.figure.canvas
    if not hasattr(canvas, "get_renderer"):
        return
    room, boxes = ax.get_window_extent(), [text.get_bbox_patch() for text in drawn]
    extents = [box.get_window_extent(canvas.get_renderer()) for box in boxes if box is not None]
    part = min(
        width * room.width / max(extent.width for extent in extents),
        height * room.height / max(extent.height for extent in extents),
    )
    for text in drawn:
        text.set_fontsize(text.get_fontsize() * min(1.0, part))
