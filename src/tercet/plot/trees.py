"""Pictures of decision trees: tests at the nodes, conditions at the branches, classes as colours."""

from __future__ import annotations

import heapq
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tercet.plot.models import picture
from tercet.plot.styling import (
    ACCENT,
    COLOURS,
    HEIGHT,
    INK,
    SECOND,
    WIDTH,
    get_axes,
    label_axes,
    short_name,
    short_number,
    styled,
    translated,
)

if TYPE_CHECKING:  # pictures of other things need no trees, nor what trees need
    from tercet.tree import Tree, TreeLabels

ENDS, LEVELS = 16, 5  # of a larger tree the branches with the most rows are drawn
TEXT, SMALL = 8.0, 6.8  # sizes of letters; everything here is measured in points
LINE, PAD, BAR, GAP, REACH = 10.5, 4.0, 4.0, 9.0, 26.0
BROAD = 7.0  # an edge that all rows take


@dataclass
class Box:
    """One node of the picture."""

    lines: list[str]
    entry: str  # what stands at the edge that leads here
    level: int
    above: int
    width: float = 0.0
    height: float = 0.0
    x: float = 0.0
    y: float = 0.0
    below: list[int] = field(default_factory=list)


@styled
def plot_tree(
    decision_tree: Any,
    feature_names: Sequence[str] | None = None,
    *,
    class_names: Sequence[Any] | None = None,
    max_depth: int | None = None,
    direction: Literal["auto", "down", "right"] = "auto",
    by_mass: bool = True,
    ax: Any = None,
) -> Any:
    """Draw a decision tree.

    A node names the feature that it asks about and shows the proportions of the classes; what a branch asks for
    stands above its end. A leaf has the colour of its class or, for numbers, of its value.

    Parameters
    ----------
    decision_tree : fitted decision tree, or its Tree
        With tests of any kind, for any number of classes, or for numbers.
    feature_names : sequence of str, optional
        The columns; by default those it saw at fit, or x0, x1 ...
    class_names : sequence, optional
        What to call the classes, in the order of `classes_`; by default their own names.
    max_depth : int, optional
        Draw the levels down to this one. By default a large tree is drawn where most rows go; "…" stands for more.
    direction : {"auto", "down", "right"}, default="auto"
        Where it grows: downwards, unless it is too wide for that.
    by_mass : bool, default=True
        Make edges as broad as they have rows.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from tercet.tree import DecisionTreeClassifier
    >>> model = DecisionTreeClassifier().fit([[1], [2], [3]], ["no", "yes", "yes"])
    >>> [text.get_text() for text in plot_tree(model, ["age"]).texts]
    ['age', '≤ 1.5', 'no', '1 · 100%', '> 1.5', 'yes', '2 · 100%']
    """
    from tercet.tree import TreeLabels

    if max_depth is not None and max_depth < 0:
        raise ValueError(f"max_depth must be at least 0, got {max_depth}.")
    if direction not in ("auto", "down", "right"):
        raise ValueError(f"direction must be 'auto', 'down' or 'right'; got {direction!r}.")
    names = TreeLabels(decision_tree, feature_names, class_names)
    tree = names.tree
    boxes = _boxes(names, _expanded_nodes(tree, max_depth))
    page = np.array([WIDTH, HEIGHT]) * 72 if ax is None else np.array(_size_in_points(ax))
    down = direction != "right"
    width, height = _lay_out(boxes, down=down)
    if direction == "auto" and width > page[0]:
        down = False
        width, height = _lay_out(boxes, down=down)
    scale = min(1.0, page[0] / width, np.inf if ax is None else page[1] / height)
    ax = get_axes(ax, height=(height * scale + 30) / 72)
    share = tree.weighted_n_node_samples / tree.weighted_n_node_samples[0]
    for t, box in boxes.items():
        broad = [0.8 + (BROAD * share[c] if by_mass else 0.4) for c in box.below]
        start = -sum(broad) / 2
        for c, thick in zip(box.below, broad):  # side by side where they begin
            _draw_edge(ax, box, boxes[c], start + thick / 2, thick * scale, down)
            start += thick
        _draw_box(ax, tree, t, box, scale, down)
    spare = max(page[0] / scale - width, 0.0) / 2
    ax.set_xlim(-spare - 1, width + spare + 1)
    ax.set_ylim(height + 1, -1)
    ax.set_aspect("equal")
    ax.set_axis_off()
    leaves, depth = tree.n_leaves, tree.max_depth
    return label_axes(ax, title=translated("{leaves} leaves, depth {depth}", leaves=leaves, depth=depth))


@picture(test=lambda model: type(getattr(model, "tree_", None)).__module__ == "tercet.tree.tree")
def _tree(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    return plot_tree(model, feature_names, class_names=labels, ax=ax)


def _size_in_points(ax: Any) -> tuple[float, float]:
    """The width and height of the caller's Axes in points."""
    box = ax.get_window_extent()
    return box.width * 72 / ax.figure.dpi, box.height * 72 / ax.figure.dpi


def _expanded_nodes(tree: Tree, max_depth: int | None) -> set[int]:
    """The nodes whose children are drawn: down to a level, or where most rows go until there are enough ends."""
    opened: set[int] = set()
    waiting, ends = [(-float(tree.weighted_n_node_samples[0]), 0, 0)], 1
    while waiting:
        _, t, level = heapq.heappop(waiting)
        count = int(tree.n_children[t])
        few = level < LEVELS and ends + count - 1 <= (ENDS if opened else 3 * ENDS)
        allowed = few if max_depth is None else level < max_depth
        if count == 0 or not allowed:
            continue
        opened.add(t)
        ends += count - 1
        for c in tree.children(t):
            heapq.heappush(waiting, (-float(tree.weighted_n_node_samples[c]), c, level + 1))
    return opened


def _boxes(names: TreeLabels, opened: set[int]) -> dict[int, Box]:
    """The nodes that are drawn, parents first, with their words."""
    tree, boxes = names.tree, {}
    hidden = _leaves_below(tree)
    waiting = [(0, -1, 0)]
    while waiting:
        t, above, level = waiting.pop()
        entry = "" if above < 0 else _edge_label(names, above, t - int(tree.child[above]))
        box = boxes[t] = Box(_lines(names, t, t in opened, int(hidden[t])), entry, level, above)
        box.width = 2 * PAD + max(
            _text_width(line, TEXT if k == 0 else SMALL) for k, line in enumerate(box.lines)
        )
        box.width = max(box.width, 48.0)
        box.height = 2 * PAD + LINE * len(box.lines) + BAR
        if t in opened:
            box.below = list(tree.children(t))
            waiting += [(c, t, level + 1) for c in reversed(box.below)]
    return boxes


def _lines(names: TreeLabels, t: int, opened: bool, hidden: int) -> list[str]:
    from tercet.tree import LinearCondition, branch_condition

    tree = names.tree
    if opened:
        condition = branch_condition(tree, t, 0)
        if isinstance(condition, LinearCondition):
            return [
                short_name(
                    condition.text(names, short_number).removesuffix(
                        f" <= {short_number(condition.threshold)}"
                    ),
                    30,
                )
            ]
        return [short_name(names.features[condition.feature])]
    said = names.prediction(tree.value[t])
    words = [
        short_number(s) if isinstance(s, float) else short_name(s)
        for s in (said if isinstance(said, list) else [said])
    ]
    rows = f"{tree.n_node_samples[t]}"
    if names.classes is not None:
        rows += f" · {100 * tree.value[t, 0].max():.0f}%"
    lines = [short_name(", ".join(words)), rows]
    return lines if tree.n_children[t] == 0 else [*lines, translated("… {n} leaves", n=hidden)]


def _edge_label(names: TreeLabels, t: int, k: int) -> str:
    """The label of the edge to a child."""
    from tercet.tree import CategoryCondition, branch_condition

    condition = branch_condition(names.tree, t, k)
    if isinstance(condition, CategoryCondition):
        return short_name(", ".join(condition.category_names(names)), 22)
    return f"{'≤' if k == 0 else '>'} {short_number(float(names.tree.threshold[t]))}"


def _leaves_below(tree: Tree) -> np.ndarray:
    count, parent = (tree.n_children == 0).astype(np.int64), tree.parent
    for t in range(tree.node_count - 1, 0, -1):
        count[parent[t]] += count[t]
    return count


def _text_width(text: str, size: float) -> float:
    """The approximate width of a text in points."""
    return sum(size * (1.05 if unicodedata.east_asian_width(c) in "WF" else 0.62) for c in text)


def _lay_out(boxes: dict[int, Box], *, down: bool) -> tuple[float, float]:
    """Give every box its place; returns the width and height of the whole."""
    centre, across = _centres(boxes, down)
    depths = max(box.level for box in boxes.values()) + 1
    lead, deep = np.zeros(depths), np.zeros(depths)  # the labels of the edges come first, then the boxes
    for box in boxes.values():
        lead[box.level] = max(lead[box.level], _label_space(box, down))
        deep[box.level] = max(deep[box.level], box.height if down else box.width)
    level = np.concatenate([[0.0], np.cumsum(lead + deep + REACH)])
    for t, box in boxes.items():
        along = float(level[box.level] + lead[box.level]) + (box.height if down else box.width) / 2
        box.x, box.y = (centre[t], along) if down else (along, centre[t])
    total = float(level[-1] - REACH)
    return (across, total) if down else (total, across)


def _centres(boxes: dict[int, Box], down: bool) -> tuple[dict[int, float], float]:
    """The centre of every box across the direction of growth, and the extent of the whole.

    Subtrees are put as close to each other as their outlines allow, level by level (Reingold and Tilford), and a
    parent stands over the middle of its children.
    """
    outline: dict[int, list[tuple[float, float]]] = {}  # of a subtree: the ends of each level, from its root
    shift = dict.fromkeys(boxes, 0.0)  # of a subtree, from its parent
    for t in reversed(boxes):
        below, reach = boxes[t].below, list[tuple[float, float]]()
        for c in below:
            other = outline.pop(c)
            shift[c] = max((a[1] - b[0] + GAP for a, b in zip(reach, other)), default=0.0)
            moved = [(low + shift[c], high + shift[c]) for low, high in other]
            reach = [(a[0], b[1]) for a, b in zip(reach, moved)] + reach[len(moved) :] + moved[len(reach) :]
        middle = (shift[below[0]] + shift[below[-1]]) / 2 if below else 0.0
        for c in below:
            shift[c] -= middle
        half = _breadth(boxes[t], down) / 2
        outline[t] = [(-half, half), *((a - middle, b - middle) for a, b in reach)]
    start = -min(low for low, _ in outline[0])
    centre: dict[int, float] = {}
    for t, box in boxes.items():
        centre[t] = start if box.above < 0 else centre[box.above] + shift[t]
    return centre, start + max(high for _, high in outline[0])


def _breadth(box: Box, down: bool) -> float:
    return max(box.width, _text_width(box.entry, SMALL)) if down else max(box.height, LINE)


def _label_space(box: Box, down: bool) -> float:
    """The room that the words at an edge need before the box."""
    if not box.entry:
        return 0.0
    return LINE if down else _text_width(box.entry, SMALL) + 2 * PAD


def _draw_edge(ax: Any, above: Box, box: Box, off: float, broad: float, down: bool) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    if down:
        start = above.x + off, above.y + above.height / 2
        end = box.x, box.y - box.height / 2 - _label_space(box, down)
        middle = (start[1] + end[1]) / 2
        corners = [start, (start[0], middle), (end[0], middle), end]
    else:
        start = above.x + above.width / 2, above.y + off
        end = box.x - box.width / 2 - _label_space(box, down), box.y
        middle = (start[0] + end[0]) / 2
        corners = [start, (middle, start[1]), (middle, end[1]), end]
    path = Path(corners, [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4])
    ax.add_patch(PathPatch(path, fill=False, edgecolor=INK, alpha=0.3, linewidth=broad, capstyle="butt"))


def _draw_box(ax: Any, tree: Tree, t: int, box: Box, scale: float, down: bool) -> None:
    from matplotlib.patches import FancyBboxPatch

    left, top = box.x - box.width / 2, box.y - box.height / 2
    if box.entry:
        x, y = (box.x, top - LINE / 2) if down else (left - PAD, box.y)
        ax.text(x, y, box.entry, ha="center" if down else "right", va="center", fontsize=SMALL * scale)
    colour, strength = _colour(tree, t)
    inner = bool(box.below)
    ax.add_patch(
        FancyBboxPatch(
            (left + 2, top + 2),
            box.width - 4,
            box.height - 4,
            boxstyle="round,pad=2,rounding_size=4",
            facecolor=_faint(INK, 0.04) if inner else _faint(colour, 0.10 + 0.25 * strength),
            edgecolor=_faint(INK, 0.45) if inner else colour,
            linewidth=0.8 * scale,
        )
    )
    for k, line in enumerate(box.lines):
        size = TEXT if k == 0 else SMALL
        y = top + PAD + LINE * (k + 0.5)
        ax.text(box.x, y, line, ha="center", va="center", fontsize=size * scale)
    foot = top + box.height - PAD - BAR + 1
    if tree.n_classes[0] > 1:
        _draw_proportions(ax, tree.value[t, 0, : tree.n_classes[0]], left + PAD, foot, box.width - 2 * PAD)
    else:
        _draw_position(ax, tree, t, left + PAD, foot + BAR / 2, box.width - 2 * PAD, scale)


def _draw_proportions(ax: Any, parts: np.ndarray, x: float, y: float, width: float) -> None:
    """A bar divided as the rows are among the classes."""
    from matplotlib.patches import Rectangle

    for k, part in enumerate(parts):
        if part > 0:
            ax.add_patch(
                Rectangle((x, y), width * part, BAR, facecolor=COLOURS[k % len(COLOURS)], linewidth=0)
            )
            x += width * part


def _draw_position(ax: Any, tree: Tree, t: int, x: float, y: float, width: float, scale: float) -> None:
    """Where a node's value lies between the least and the greatest."""
    values = tree.value[:, 0, 0]
    part = (values[t] - values.min()) / (np.ptp(values) or 1.0)
    ax.plot([x, x + width], [y, y], color=INK, alpha=0.3, linewidth=0.8 * scale)
    ax.plot(
        [x + part * width], [y], "o", color=_colour(tree, t)[0], markersize=4.5 * scale, markeredgewidth=0
    )


def _colour(tree: Tree, t: int) -> tuple[str, float]:
    """The colour of what a node says, and how strongly it says so, from 0 to 1."""
    if tree.n_classes[0] > 1:
        p = tree.value[t, 0, : tree.n_classes[0]]
        return COLOURS[int(p.argmax()) % len(COLOURS)], float(p.max())
    values = tree.value[:, 0, 0]
    far = values[t] - values[0]
    reach = float(np.abs(values - values[0]).max()) or 1.0
    return (ACCENT if far >= 0 else SECOND), abs(float(far)) / reach


def _faint(colour: str, alpha: float) -> Any:
    from matplotlib.colors import to_rgba

    return to_rgba(colour, alpha)
