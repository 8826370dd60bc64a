"""Shapes of arrays in words, such as "components features".

A word is a size. `features` is `n_features_in_`, `classes` is the length of `classes_`, `planes` is their number or
1 for two (one class has none), `class_pairs` is the number of pairs of classes. Any other word gets its value where
it is first met, and has it wherever it comes again. A size is at least 1, or 0 where a `*` follows it; `+1` or `-1`
may come before that. A word with `@` has a value of its own for each item of a list. `|` separates alternatives,
`None` is one, `...` is any shape, and no word at all is a single number.
"""

from __future__ import annotations

import functools
import re
from typing import Any

Sizes = dict[str, int]
WORD = re.compile(r"([a-z_]+|\d+)([+-]\d+)?(\*?)(@\d*)?")


class Mismatch(Exception):
    """What is expected of a value that is something else."""


def unify(found: tuple[int, ...], shape: str, sizes: Sizes, item: str, what: str = "an array") -> None:
    """Find the first alternative that a shape fits, and keep the sizes that it gives."""
    for choice in _parsed(shape):
        new = None if choice == "None" else _fitting(found, choice, sizes, item)
        if new is not None:
            sizes.update(new)
            if "classes" in new:
                n = new["classes"]
                sizes.update(planes={1: -1, 2: 1}.get(n, n), class_pairs=n * (n - 1) // 2)
            return
    raise Mismatch(f"{what}{in_words(shape, sizes, item)}")


def _fitting(found: tuple[int, ...], words: tuple[str, ...], sizes: Sizes, item: str) -> Sizes | None:
    """The sizes that a shape gives to words; None if it does not fit them."""
    if words == ("...",):
        return {}
    if len(found) != len(words):
        return None
    new: Sizes = {}
    for count, word in zip(found, words):
        expected = size_of(word, {**sizes, **new}, item)
        if expected is None:
            name, least = _split(word, item)[0], 0 if "*" in word else 1
            if count < least:
                return None
            new[name] = int(count)
        elif count != expected:
            return None
    return new


def size_of(word: str, sizes: Sizes, item: str) -> int | None:
    """The value of a word, if it has one."""
    name, shift = _split(word, item)
    value = int(name) if name.isdigit() else sizes.get(name)
    return None if value is None else value + shift


@functools.lru_cache(maxsize=1024)
def _split(word: str, item: str) -> tuple[str, int]:
    """The name of a size and what is added to it."""
    match = WORD.fullmatch(word)
    if match is None:
        raise TypeError(f"fitted_shapes: {word!r} is no size.")
    name, shift, _, own = match.groups()
    return name + (item if own == "@" else own or ""), int(shift or 0)


@functools.lru_cache(maxsize=1024)
def _parsed(shape: str) -> tuple[Any, ...]:
    """The alternatives of a shape, each a tuple of words or "None"."""
    choices = [tuple(choice.split()) for choice in shape.split("|")]
    return tuple("None" if choice == ("None",) else choice for choice in choices)


def in_words(shape: str, sizes: Sizes, item: str) -> str:
    """A shape in words, with the sizes that are known."""
    said = []
    for choice in _parsed(shape):
        if choice == "None" or not choice:
            said.append("None" if choice else "()")
            continue
        if choice == ("...",):
            return ""
        names = [word.rstrip("*@") for word in choice]
        values = [size_of(word, sizes, item) for word in choice]
        known = ", ".join("any" if value is None else str(value) for value in values)
        said.append(f"({', '.join(names)}) = ({known})")
    return " of shape " + " or ".join(said)


def is_optional(shape: str) -> bool:
    """Whether None is one of the alternatives."""
    return "None" in _parsed(shape)
