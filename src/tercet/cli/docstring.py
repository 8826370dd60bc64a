"""The parts of a numpydoc docstring."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """One entry of a section: the names it is about, what they are, and what is said of them."""

    names: tuple[str, ...]
    kind: str
    text: str


def parts(doc: str) -> dict[str, str]:
    """The sections by name; "" is what stands before the first of them, without the title line.

    Examples
    --------
    >>> parts("Title.\\n\\nMore of it.\\n\\nExamples\\n--------\\n>>> 1 + 1\\n2")
    {'': 'More of it.', 'Examples': '>>> 1 + 1\\n2'}
    """
    pieces = re.split(r"^(\w[\w ]*)\n-{3,}$", doc.partition("\n")[2], flags=re.MULTILINE)
    return {name: body.strip("\n") for name, body in zip(["", *pieces[1::2]], pieces[::2])}


def entries(section: str) -> list[Entry]:
    """The entries of a section of parameters or attributes.

    Examples
    --------
    >>> entries("a, b : float, default=1\\n    Two numbers.")
    [Entry(names=('a', 'b'), kind='float, default=1', text='Two numbers.')]
    """
    found = []
    for block in re.split(r"\n(?=\S)", section.strip("\n")):
        if not block:
            continue
        head, _, text = block.partition("\n")
        names, _, kind = head.partition(" : ")
        words = " ".join(textwrap.dedent(text).split())
        found.append(Entry(tuple(name.strip() for name in names.split(",")), kind.strip(), words))
    return found
