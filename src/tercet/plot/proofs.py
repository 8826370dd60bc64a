"""Pictures of proofs and of the trees that resolution searches."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tercet.plot.styling import (
    ACCENT,
    INK,
    SECOND,
    WIDTH,
    get_axes,
    label_axes,
    short_name,
    styled,
    translated,
)

if TYPE_CHECKING:
    from tercet.rules.logic import Proof, SearchTree

TEXT, ROW, GAP, PAD = 8.0, 20.0, 26.0, 5.0  # sizes in points
LONGEST = 40  # letters of a label
MOST = 40
COLOURS = {"success": "#009e73", "failure": SECOND, "cut": "#8c8c8c", "open": ACCENT}


@dataclass
class Node:
    """One node of the picture, with its place in points."""

    label: str
    status: str
    level: int
    children: list[Node] = field(default_factory=list)
    x: float = 0.0
    y: float = 0.0
    width: float = 0.0


@styled
def plot_proof(tree: Proof | SearchTree, *, most: int = MOST, ax: Any = None) -> Any:
    """Draw a proof, or the tree that a search for proofs went through, from left to right.

    Parameters
    ----------
    tree : Proof or SearchTree
        `Program.prove(goal)` or `Program.search_tree(goal)`. Successes are green, failures orange, branches that
        were given up grey.
    most : int, default=40
        Of a larger tree the nodes near the root are drawn; "…" stands for more.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from tercet.rules.logic import Program
    >>> program = Program("p(X) :- q(X), r(X). q(a). r(a).")
    >>> [text.get_text() for text in plot_proof(program.prove("p(a)")).texts]
    ['p(a)', 'q(a)', 'r(a)']
    """
    if not hasattr(tree, "children") or not hasattr(tree, "label"):
        raise ValueError(f"plot_proof needs a Proof or a SearchTree; got {type(tree).__name__}.")
    if most < 1:
        raise ValueError(f"most must be at least 1; got {most}.")
    root, nodes, total = _nodes(tree, most)
    width, height = _lay_out(root, nodes)
    scale = min(1.0, WIDTH * 72 / width)
    ax = get_axes(ax, height=(height * scale + 40) / 72)
    for node in nodes:
        colour = COLOURS.get(node.status, ACCENT)
        for child in node.children:
            middle = child.x - GAP / 2
            ax.plot(
                [node.x + node.width, middle, middle, child.x],
                [node.y, node.y, child.y, child.y],
                color=INK,
                linewidth=0.8,
                alpha=0.5,
                zorder=1,
            )
        box = {"boxstyle": "round,pad=0.3", "facecolor": colour, "alpha": 0.16, "edgecolor": colour}
        ax.text(node.x + PAD, node.y, node.label, fontsize=TEXT * scale, va="center", color=INK, bbox=box)
    ax.set_xlim(-PAD, max(width, WIDTH * 72) + PAD)
    ax.set_ylim(height + PAD, -PAD)
    ax.set_axis_off()
    title = (
        translated("{shown} of {n} nodes", shown=len(nodes), n=total)
        if len(nodes) < total
        else translated("{n} nodes", n=total)
    )
    return label_axes(ax, title=title)


def _nodes(tree: Any, most: int) -> tuple[Node, list[Node], int]:
    """The nodes that are drawn, level by level; and how many there are."""
    root = _node(tree, 0)
    nodes, waiting, total = [root], [(tree, root)], 1
    while waiting:
        source, node = waiting.pop(0)
        for child in source.children:
            total += 1
            if node.level < 0 or len(nodes) >= most:
                if node.level >= 0 and not node.label.endswith(" …"):
                    node.label += " …"
                waiting.append((child, Node("", "", -1)))
                continue
            drawn = _node(child, node.level + 1)
            node.children.append(drawn)
            nodes.append(drawn)
            waiting.append((child, drawn))
    return root, nodes, total


def _node(source: Any, level: int) -> Node:
    return Node(short_name(source.label, LONGEST), getattr(source, "status", "success"), level)


def _lay_out(root: Node, nodes: list[Node]) -> tuple[float, float]:
    """Give every node its place: a column for each level, a row for each leaf. Returns width and height."""
    depth = max(node.level for node in nodes)
    widths = [0.0] * (depth + 1)
    for node in nodes:
        node.width = 2 * PAD + sum(
            TEXT * (1.05 if unicodedata.east_asian_width(letter) in "WF" else 0.62) for letter in node.label
        )
        widths[node.level] = max(widths[node.level], node.width)
    rows = 0
    waiting: list[tuple[Node, bool]] = [(root, False)]
    while waiting:
        node, done = waiting.pop()
        node.x = sum(widths[: node.level]) + GAP * node.level
        if not node.children:
            node.y = ROW * (rows + 0.5)
            rows += 1
        elif done:
            node.y = (node.children[0].y + node.children[-1].y) / 2
        else:
            waiting += [(node, True), *((child, False) for child in reversed(node.children))]
    return sum(widths) + GAP * depth, ROW * rows
