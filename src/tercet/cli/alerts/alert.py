"""One alert."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from tercet.core.messages import Message

SEVERITIES = ("serious", "caution", "note")
MOST_NAMES = 4


@dataclass(frozen=True)
class Alert:
    """What is wrong, the evidence in numbers, and what to do.

    Attributes
    ----------
    kind : str
        "determines", "missingness", "relation", "identifier", "imbalance", "rare class", "time order", "row order",
        "groups", "duplicates", "rounds", "drift" or "unchecked".
    severity : {"serious", "caution", "note"}
        Whether the scores are probably wrong, may be, or are only less certain.
    title, evidence, advice : Message
        For people, in the language in use.
    columns : tuple of str
        The columns concerned.
    """

    kind: str
    severity: str
    title: Message
    evidence: Message
    advice: Message
    columns: tuple[str, ...] = ()

    def to_dict(self, translate: Callable[[Any], str] = str) -> dict[str, Any]:
        """As plain values.

        Examples
        --------
        >>> alert = Alert("rounds", "note", Message("few rounds"), Message("{n} round", n=1), Message("wait"))
        >>> alert.to_dict()["evidence"]
        '1 round'
        """
        texts = {name: translate(getattr(self, name)) for name in ("title", "evidence", "advice")}
        return {"kind": self.kind, "severity": self.severity, **texts, "columns": list(self.columns)}


def option(name: str, *values: str) -> str:
    """An option of the command, quoted for a shell.

    Examples
    --------
    >>> option("--drop", "date of death", "x")
    "--drop 'date of death' --drop x"
    """
    return " ".join(f"{name} {shlex.quote(value)}" for value in values)


def named(names: Iterable[str]) -> str:
    """Names in a sentence.

    Examples
    --------
    >>> named(["a", "b", "c", "d", "e", "f"])
    'a, b, c, d, … (6)'
    """
    names = list(names)
    shown = ", ".join(names[:MOST_NAMES])
    return shown if len(names) <= MOST_NAMES else f"{shown}, … ({len(names)})"
