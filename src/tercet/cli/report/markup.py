"""HTML that cannot forget to escape: plain strings are text, only `tag` makes markup."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from typing import Any

VOID = frozenset({"br", "col", "hr", "img", "input", "link", "meta", "wbr"})
# What HTML forbids even as a reference: control characters and halves of surrogate pairs.
_FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


class Markup(str):
    """Text that is HTML already."""


def escape(value: Any) -> Markup:
    """Any value as text of a page; what is markup stays as it is.

    Examples
    --------
    >>> escape("a < b & 'c'")
    'a &lt; b &amp; &#x27;c&#x27;'
    """
    if isinstance(value, Markup):
        return value
    return Markup(html.escape(_FORBIDDEN.sub("\ufffd", str(value))))


def join(*children: Any) -> Markup:
    """Children one after the other; lists are opened, None is nothing."""
    return Markup("".join(_pieces(children)))


def tag(name: str, /, *children: Any, **attributes: Any) -> Markup:
    """An element; `class_="a"` and `data_value=1` are the attributes class and data-value.

    Examples
    --------
    >>> tag("p", "1 < 2", class_="note", hidden=None)
    '<p class="note">1 &lt; 2</p>'
    """
    words = [name]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        key = key.rstrip("_").replace("_", "-")
        words.append(key if value is True else f'{key}="{escape(value)}"')
    start = f"<{' '.join(words)}>"
    return Markup(start) if name in VOID else Markup(f"{start}{join(*children)}</{name}>")


def _pieces(children: Iterable[Any]) -> Iterable[str]:
    for child in children:
        if child is None:
            continue
        if isinstance(child, list | tuple):
            yield from _pieces(child)
        else:
            yield escape(child)
