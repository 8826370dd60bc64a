"""Folding of paragraphs and of commands into lines of a terminal's width."""

from __future__ import annotations

import re
import shlex

OPEN, CLOSE = "（《「『【〈“", "，。；：、！？）》」』】〉”…"
CHARACTER = "\u2e80-\u9fff\uf900-\ufaff\uff00-\uff60"
# What no line break parts: a word, or one Chinese character, with the marks that belong to it.
PIECE = re.compile(rf"[{OPEN}]*(?:[{CHARACTER}]|[^\s{CHARACTER}{OPEN}{CLOSE}]+)?[{CLOSE}]*\s*")


def break_points(text: str, width: int, indent: int = 0) -> list[int]:
    """Where a paragraph is broken so that no line is wider; lines after the first have less room by `indent`.

    A word wider than a line stays whole. A Chinese character is two columns wide, and a line may end after any of
    them, but does not begin with a comma.

    Examples
    --------
    >>> break_points("one two three", 8)
    [8]
    >>> [break_points("你好，世界", width) for width in (6, 7, 10)]
    [[3], [3], []]
    """
    from rich.cells import cell_len

    found, at, room = [], 0, width
    for piece in PIECE.finditer(text):
        size = cell_len(piece.group().rstrip())
        if at and size and at + size > room:
            found.append(piece.start())
            at, room = 0, width - indent
        at += cell_len(piece.group())
    return found


def fold_command(command: str, width: int, indent: int = 4) -> list[str]:
    """Lines of a shell command, each but the last with the backslash that joins it to the next.

    An option stays with its value.

    Examples
    --------
    >>> fold_command("tercet fit SVC data.csv --set C=10 --output model.skops", 32)
    ['tercet fit SVC data.csv \\\\', '    --set C=10 \\\\', '    --output model.skops']
    """
    from rich.cells import cell_len

    if cell_len(command) <= width:
        return [command]
    parts: list[str] = []
    for word in map(shlex.quote, shlex.split(command)):
        if parts and re.match("--?[A-Za-z]", parts[-1]) and " " not in parts[-1]:
            parts[-1] += f" {word}"
        else:
            parts.append(word)
    lines = [parts[0]]
    for part in parts[1:]:
        if cell_len(lines[-1]) + cell_len(part) + 3 > width:
            lines[-1] += " \\"
            lines.append(" " * indent + part)
        else:
            lines[-1] += f" {part}"
    return lines
