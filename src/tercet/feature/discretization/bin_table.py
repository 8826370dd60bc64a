"""The bins of a discretiser as a table for people to read."""

from __future__ import annotations

from typing import Any

import numpy as np

HALF_ROW = 0.5  # added to each class of a bin, so that the weight of evidence is finite


class BinTable(dict[str, list[Any]]):
    """Bins as columns of equal length; `print` shows them, and frames can be made of them.

    Columns are `feature`, `bin` and `interval`; with rows also `rows` and `share`, and with labels the number of
    rows of each class; with two classes further the weight of evidence `woe` and its part `iv` of the information
    value of the feature.

    Examples
    --------
    >>> table = BinTable(feature=["age", "age"], bin=[0, 1], interval=["< 30", ">= 30"], rows=[2.0, 3.0])
    >>> print(table)
    feature  bin  interval  rows
    age        0  < 30         2
    age        1  >= 30        3
    >>> table["rows"]
    [2.0, 3.0]
    """

    def __str__(self) -> str:
        cells = [[name, *(_cell(value) for value in column)] for name, column in self.items()]
        widths = [max(map(len, column)) for column in cells]
        left = [column in ("feature", "interval") for column in self]
        lines = [
            "  ".join(
                text.ljust(width) if flush else text.rjust(width)
                for text, width, flush in zip(row, widths, left)
            )
            for row in zip(*cells)
        ]
        return "\n".join(line.rstrip() for line in lines)


def _cell(value: Any) -> str:
    return (
        f"{value:.4g}"
        if isinstance(value, float) and not value.is_integer()
        else f"{value:.0f}"
        if isinstance(value, float)
        else str(value)
    )


def bin_table(
    names: list[str],
    labels: list[list[str]],
    codes: np.ndarray | None,
    weight: np.ndarray | None,
    kinds: np.ndarray | None,
    classes: np.ndarray | None,
) -> BinTable:
    """The table of the bins with these labels; `codes` are the bins of rows, `kinds` their classes as indices."""
    table = BinTable(feature=[], bin=[], interval=[])
    for name, own in zip(names, labels):
        table["feature"] += [name] * len(own)
        table["bin"] += list(range(len(own)))
        table["interval"] += own
    if codes is None:
        return table
    rows = [np.bincount(column, weight, minlength=len(own)) for column, own in zip(codes.T, labels)]
    table["rows"] = [float(count) for part in rows for count in part]
    table["share"] = [float(count / part.sum()) for part in rows for count in part]
    if kinds is None or classes is None:
        return table
    k = len(classes)
    by_class = [
        np.bincount(column * k + kinds, weight, minlength=len(own) * k).reshape(-1, k)
        for column, own in zip(codes.T, labels)
    ]
    for c, label in enumerate(classes.tolist()):
        table[f"class {label}"] = [float(count) for part in by_class for count in part[:, c]]
    if k == 2:
        shares = [(part + HALF_ROW) / (part + HALF_ROW).sum(axis=0) for part in by_class]
        evidence = [np.log(part[:, 1] / part[:, 0]) for part in shares]
        table["woe"] = [float(value) for part in evidence for value in part]
        table["iv"] = [
            float(value) for woe, part in zip(evidence, shares) for value in woe * (part[:, 1] - part[:, 0])
        ]
    return table
