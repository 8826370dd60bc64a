"""Kinds of columns on the command line: `--as COL=KIND`."""

from __future__ import annotations

from collections.abc import Iterable

from tercet.cli.errors import USAGE, Refusal
from tercet.cli.translation import tr


def kinds_of(entries: Iterable[str]) -> dict[str, str]:
    """The kinds of columns from COL=KIND texts.

    Examples
    --------
    >>> kinds_of(["zip=categorical", "a=b=text"])
    {'zip': 'categorical', 'a=b': 'text'}
    """
    kinds: dict[str, str] = {}
    for entry in entries:
        name, equals, kind = entry.rpartition("=")
        kind = kind.strip().lower()
        if not equals:
            raise Refusal(tr("--as takes COL=KIND; got {text!r}", text=entry), USAGE)
        from tercet.feature.declared_kinds import KINDS

        if kind not in KINDS:
            allowed = ", ".join(KINDS)
            raise Refusal(tr("--as {text}: allowed kinds are {allowed}", text=entry, allowed=allowed), USAGE)
        if kinds.get(name, kind) != kind:
            raise Refusal(tr("--as gives {name!r} twice", name=name), USAGE)
        kinds[name] = kind
    return kinds
