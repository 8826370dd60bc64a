"""Export of trees as text and to Graphviz."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from tercet.tree.conditions import IntervalCondition, TreeLabels, branch_condition, branch_text, is_multiway
from tercet.tree.tree import LEAF, Tree

SHADES = ("1b7fc1", "e69f00", "009e73", "cc79a7", "56b4e9", "d55e00", "8c8c8c", "c9b800")


def export_text(
    decision_tree: Any,
    *,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    max_depth: int | None = 10,
    spacing: int = 3,
    decimals: int = 2,
    show_weights: bool = False,
) -> str:
    """A tree as indented lines.

    Parameters
    ----------
    decision_tree : fitted decision tree, or its Tree
        What to write down.
    feature_names, class_names : sequences of str, optional
        What to call columns and classes; by default as at fit, or feature_0, feature_1 ...
    max_depth : int or None, default=10
        Below it branches are summed up; None is all.
    spacing, decimals : int, default=3 and 2
        Characters of an indent, and digits after the point.
    show_weights : bool, default=False
        Whether leaves show the weight of each class.

    Returns
    -------
    text : str

    Examples
    --------
    >>> from tercet.tree import DecisionTreeClassifier
    >>> model = DecisionTreeClassifier().fit([[0], [1], [2]], ["a", "a", "b"])
    >>> print(export_text(model, feature_names=["x"]), end="")
    |--- x <= 1.50
    |   |--- class: a
    |--- x >  1.50
    |   |--- class: b
    """
    for what, given, least in (
        ("max_depth", max_depth, 0),
        ("spacing", spacing, 1),
        ("decimals", decimals, 0),
    ):
        if given is not None and given < least:
            raise ValueError(f"{what} must be at least {least}, got {given}.")
    names = TreeLabels(decision_tree, feature_names, class_names, "feature_{}")
    tree, heights = names.tree, _heights(names.tree)
    deepest = np.inf if max_depth is None else max_depth + 1

    def digits(x: float) -> str:
        return f"{x:.{decimals}f}"

    def indent(depth: int) -> str:
        return (f"|{' ' * spacing}" * depth)[:-spacing] + "-" * spacing

    lines: list[str] = []
    stack: list[tuple[int, int, str]] = [(0, 1, "")]
    while stack:
        t, depth, condition_text = stack.pop()
        if condition_text:
            lines.append(f"{indent(depth - 1)} {condition_text}")
        if tree.kind[t] == LEAF:
            lines.append(f"{indent(depth)} {_leaf(names, t, digits, show_weights)}")
        elif depth > deepest:
            lines.append(f"{indent(depth)} truncated branch of depth {heights[t] + 1}")
        else:
            for k in reversed(range(int(tree.n_children[t]))):
                condition = branch_condition(tree, t, k)
                text = condition.text(names, digits)
                if isinstance(condition, IntervalCondition):  # numbers stand below each other
                    text = text.replace(" > ", " >  ")
                stack.append((int(tree.child[t]) + k, depth + 1, text))
    return "\n".join(lines) + "\n"


def _leaf(names: TreeLabels, t: int, digits: Any, show_weights: bool) -> str:
    """The text of a leaf."""
    value = names.tree.value[t]
    if names.classes is None:
        return f"value: [{', '.join(digits(v) for v in value[:, 0])}]"
    predicted = names.prediction(value)
    text = f"class: {', '.join(predicted) if isinstance(predicted, list) else predicted}"
    if not show_weights:
        return text
    mass = names.tree.weighted_n_node_samples[t]
    rows = [", ".join(digits(v * mass) for v in row[:n]) for row, n in zip(value, names.tree.n_classes)]
    return f"weights: {' '.join(f'[{row}]' for row in rows)} {text}"


def _heights(tree: Tree) -> np.ndarray:
    """The number of levels below each node."""
    height, parent = [0] * tree.node_count, tree.parent.tolist()
    for t in range(tree.node_count - 1, 0, -1):
        height[parent[t]] = max(height[parent[t]], height[t] + 1)
    return np.array(height)


def export_graphviz(
    decision_tree: Any,
    out_file: Any = None,
    *,
    max_depth: int | None = None,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | bool | None = None,
    label: Literal["all", "root", "none"] = "all",
    filled: bool = False,
    leaves_parallel: bool = False,
    impurity: bool = True,
    node_ids: bool = False,
    proportion: bool = False,
    rotate: bool = False,
    rounded: bool = False,
    special_characters: bool = False,
    precision: int = 3,
    fontname: str = "helvetica",
) -> str | None:
    """A tree in the language of Graphviz (dot).

    Parameters
    ----------
    decision_tree : fitted decision tree, or its Tree
        What to draw.
    out_file : str, path or file, optional
        Where to write; by default the text is returned.
    max_depth : int, optional
        Nodes below it are not drawn.
    feature_names, class_names : sequences of str, optional
        What to call columns and classes; `class_names=True` takes the model's own names.
    label : {"all", "root", "none"}, default="all"
        Where words stand before the numbers.
    filled, rounded, rotate, leaves_parallel : bool, default=False
        Colour the nodes by what they say; round corners; from left to right; all leaves at the bottom.
    impurity : bool, default=True
        Show the impurity.
    node_ids, proportion, special_characters : bool, default=False
        Show the numbers of the nodes; parts in place of counts; proper signs (≤) in place of ASCII.
    precision, fontname : int, default=3, and str, default="helvetica"
        Digits after the point, and the font.

    Returns
    -------
    dot : str, or None when it was written to a file

    Examples
    --------
    >>> from tercet.tree import DecisionTreeClassifier
    >>> model = DecisionTreeClassifier().fit([[0], [1], [2]], ["a", "a", "b"])
    >>> print(export_graphviz(model, impurity=False))
    digraph Tree {
    node [shape=box, fontname="helvetica"] ;
    edge [fontname="helvetica"] ;
    0 [label="x[0] <= 1.5\\nsamples = 3\\nvalue = [2, 1]"] ;
    1 [label="samples = 2\\nvalue = [2, 0]"] ;
    0 -> 1 [labeldistance=2.5, labelangle=45, headlabel="True"] ;
    2 [label="samples = 1\\nvalue = [0, 1]"] ;
    0 -> 2 [labeldistance=2.5, labelangle=-45, headlabel="False"] ;
    }
    """
    labels = node_labels(
        decision_tree,
        feature_names,
        class_names,
        label,
        impurity,
        node_ids,
        proportion,
        special_characters,
        precision,
    )
    names = labels.names
    shown = np.flatnonzero(names.tree.depth <= (np.inf if max_depth is None else max_depth + 1))
    lines = ["digraph Tree {", *_dot_settings(filled, rounded, rotate, leaves_parallel, fontname)]
    lines += _dot_nodes(labels, shown, max_depth, filled, rotate)
    lines += _dot_ranks(names.tree, shown, max_depth) if leaves_parallel else []
    dot = "\n".join([*lines, "}"])
    if out_file is None:
        return dot
    if hasattr(out_file, "write"):
        out_file.write(dot)
    else:
        Path(out_file).write_text(dot, encoding="utf-8")
    return None


def node_labels(
    decision_tree: Any,
    feature_names: Sequence[str] | None,
    class_names: Sequence[str] | bool | None,
    label: str,
    impurity: bool,
    node_ids: bool,
    proportion: bool,
    special_characters: bool,
    precision: int,
) -> NodeLabels:
    """The labels that drawings share (`export_graphviz` has the parameters)."""
    if not (isinstance(precision, int) and precision >= 0):
        raise ValueError(f"precision must be a whole number, at least 0; got {precision!r}.")
    if label not in ("all", "root", "none"):
        raise ValueError(f"label must be one of 'all', 'root', 'none'; got {label!r}.")
    given = None if class_names is None or isinstance(class_names, bool) else class_names
    tree = decision_tree if isinstance(decision_tree, Tree) else getattr(decision_tree, "tree_", None)
    if feature_names is not None and tree is not None and len(feature_names) != tree.n_features:
        raise ValueError(
            f"Length of feature_names, {len(feature_names)} does not match number of features, {tree.n_features}: "
            f"got {list(feature_names)[:12]}."
        )
    names = TreeLabels(decision_tree, feature_names, given, "x[{}]")
    criterion = _criterion(decision_tree) if impurity else None
    labels = NodeLabels(names, label, criterion, node_ids, proportion, special_characters, precision)
    labels.shows_class = class_names is True or given is not None
    labels.unnamed = feature_names is None and not hasattr(decision_tree, "feature_names_in_")
    return labels


def _criterion(decision_tree: Any) -> str:
    """The name of the impurity; ID3 and C4.5 measure entropy, whatever `criterion` is."""
    if getattr(decision_tree, "algorithm", "") in ("id3", "c45"):
        return "entropy"
    return str(getattr(decision_tree, "criterion", "impurity"))


def _dot_settings(
    filled: bool, rounded: bool, rotate: bool, leaves_parallel: bool, fontname: str
) -> Iterator[str]:
    """The lines on the look of all nodes and edges."""
    styles = [word for word, on in (("filled", filled), ("rounded", rounded)) if on]
    style = f'style="{", ".join(styles)}", color="black", ' if styles else ""
    yield f'node [shape=box, {style}fontname="{fontname}"] ;'
    if leaves_parallel:
        yield "graph [ranksep=equally, splines=polyline] ;"
    yield f'edge [fontname="{fontname}"] ;'
    if rotate:
        yield "rankdir=LR ;"


def _dot_nodes(
    labels: NodeLabels, shown: np.ndarray, max_depth: int | None, filled: bool, rotate: bool
) -> Iterator[str]:
    """The lines of the nodes, each followed by that of the edge to it."""
    tree = labels.names.tree
    parent, truncated = tree.parent, tree.depth > (np.inf if max_depth is None else max_depth)
    colours = node_colours(tree) if filled else None
    for t in preorder(tree, shown):
        text = labels.quoted("(...)") if truncated[t] else labels.node(t)
        fill = "" if colours is None else f', fillcolor="{"#C0C0C0" if truncated[t] else colours[t]}"'
        yield f"{t} [label={text}{fill}] ;"
        if t:
            yield f"{parent[t]} -> {t}{_edge(labels.names, int(parent[t]), t, rotate)} ;"


def _dot_ranks(tree: Tree, shown: np.ndarray, max_depth: int | None) -> Iterator[str]:
    """The lines that put all leaves at the bottom."""
    depths, deepest = tree.depth, np.inf if max_depth is None else max_depth
    ends = [t for t in shown if tree.kind[t] == LEAF or depths[t] > deepest]
    inner = sorted(set(shown.tolist()) - set(ends))
    for level in sorted({int(depths[t]) for t in inner}):
        same = [str(t) for t in inner if depths[t] == level]
        yield f"{{rank=same ; {'; '.join(same)}}} ;"
    yield f"{{rank=same ; {'; '.join(map(str, ends))}}} ;"


def preorder(tree: Tree, shown: np.ndarray) -> list[int]:
    """The nodes that are shown, each followed by all that is below it."""
    there, order, stack = set(shown.tolist()), [], [0]
    while stack:
        t = stack.pop()
        order.append(t)
        stack += [c for c in reversed(tree.children(t)) if c in there]
    return order


def _edge(names: TreeLabels, above: int, t: int, rotate: bool) -> str:
    """The label of an edge: True and False at the root's, the categories where there is a child for each."""
    tree = names.tree
    if is_multiway(tree, above):
        return f' [label="{_escaped(branch_text(names, above, t - int(tree.child[above])))}"]'
    if above:
        return ""
    first = t == tree.child[0]
    angle = 45 if first != rotate else -45
    return f' [labeldistance=2.5, labelangle={angle}, headlabel="{first}"]'


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"")


class NodeLabels:
    """Labels of the nodes of a drawing."""

    def __init__(
        self,
        names: TreeLabels,
        label: str,
        criterion: str | None,
        node_ids: bool,
        proportion: bool,
        special: bool,
        precision: int,
    ) -> None:
        self.names, self.label, self.criterion, self.node_ids = names, label, criterion, node_ids
        self.proportion, self.special, self.precision = proportion, special, precision
        self.shows_class, self.unnamed = False, False

    def node(self, t: int) -> str:
        return self.quoted(*self.lines(t))

    def lines(self, t: int) -> list[str]:
        tree, names = self.names.tree, self.names
        words = self.label == "all" or (self.label == "root" and t == 0)

        def entry(word: str, value: str) -> str:
            return f"{word} = {value}" if words else value

        lines = [f"node #{t}" if words else f"#{t}"] if self.node_ids else []
        if tree.kind[t] != LEAF:
            many = is_multiway(tree, t)
            lines.append(
                names.features[tree.feature[t]]
                if many
                else branch_condition(tree, t, 0).text(names, self.digits)
            )
        if self.criterion:
            lines.append(entry(self.criterion, self.digits(tree.impurity[t])))
        rows = tree.n_node_samples[t]
        part = f"{round(100 * rows / tree.n_node_samples[0], 1)}%"
        lines.append(entry("samples", part if self.proportion else str(rows)))
        lines.append(entry("value", self.value(t)))
        if self.shows_class and names.classes is not None:
            predicted = names.prediction(tree.value[t])
            lines.append(entry("class", ", ".join(predicted) if isinstance(predicted, list) else predicted))
        return lines

    def value(self, t: int) -> str:
        tree, classes = self.names.tree, self.names.classes
        rows = [v[:n] for v, n in zip(tree.value[t], tree.n_classes)]
        if classes is None:
            texts = [self.digits(v[0]) for v in rows]
            return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
        mass = 1.0 if self.proportion else tree.weighted_n_node_samples[t]
        texts = [
            f"[{', '.join(self.digits(v * mass, whole=not self.proportion) for v in row)}]" for row in rows
        ]
        return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"

    def digits(self, x: float, whole: bool = False) -> str:
        x = round(float(x), self.precision) + 0.0
        return str(int(x)) if whole and x == int(x) else str(x)

    def quoted(self, *lines: str) -> str:
        if not self.special:
            return '"' + "\\n".join(_escaped(line) for line in lines) + '"'
        signs = (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("#", "&#35;"), ("&lt;=", "&le;"))
        for plain, proper in signs:
            lines = tuple(line.replace(plain, proper) for line in lines)
        if self.unnamed:
            lines = tuple(re.sub(r"\bx\[(\d+)\]", r"x<SUB>\1</SUB>", line) for line in lines)
        return f"<{'<br/>'.join(lines)}>"


def node_colours(tree: Tree) -> list[str]:
    """The colour of the class that a node predicts, the paler the less certain; for numbers the paler the lower."""
    if tree.n_classes.max() > 1:
        first = tree.value[:, 0, : tree.n_classes[0]]
        top = np.sort(first, axis=1)
        second = top[:, -2] if first.shape[1] > 1 else 0.0
        sure = (top[:, -1] - second) / np.maximum(1 - second, 1e-12)
        hue = first.argmax(axis=1)
    else:
        v = tree.value[:, 0, 0]
        sure, hue = (v - v.min()) / (np.ptp(v) or 1.0), np.zeros(tree.node_count, dtype=int)
    base = np.array([[int(shade[i : i + 2], 16) for i in (0, 2, 4)] for shade in SHADES])
    rgb = 255 + np.clip(sure, 0, 1)[:, None] * (base[hue % len(base)] - 255)
    return [f"#{r:02x}{g:02x}{b:02x}" for r, g, b in rgb.round().astype(int)]
