"""The worked examples of the texts, as data: what is given, what to call, what must come out.

Each chapter is a module (`ch02` is chapter 2 of text 000, `t002_ch01` chapter 1 of text 002) with a list
`EXAMPLES`. The tests run all of them, and so does `tercet book`.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Example:
    """One worked example.

    Attributes
    ----------
    place : where it stands, as in "000 Ex 2.1".
    title, zh : what it shows.
    given : the input, as keyword arguments of `call`.
    call : runs the library on the input and returns the values by name.
    expected : the values that must come out, by the same names.
    rtol, atol : how close (floats only; everything else must be equal).
    note : where the print is wrong or the numbers were derived.
    """

    place: str
    title: str
    zh: str
    given: dict[str, Any]
    call: Callable[..., dict[str, Any]]
    expected: dict[str, Any]
    rtol: float = 1e-7
    atol: float = 1e-9
    note: str = field(default="")

    def run(self) -> dict[str, Any]:
        """What the library gives."""
        return self.call(**self.given)

    def differences(self) -> dict[str, tuple[Any, Any]]:
        """Names whose value is not the expected one, with (expected, got)."""
        got = self.run()
        return {
            name: (wanted, got.get(name))
            for name, wanted in self.expected.items()
            if name not in got or not self._same(wanted, got[name])
        }

    def _same(self, wanted: Any, got: Any) -> bool:
        if isinstance(wanted, dict):
            return wanted.keys() == got.keys() and all(self._same(wanted[k], got[k]) for k in wanted)
        a, b = np.asarray(wanted), np.asarray(got)
        if a.shape != b.shape:
            return False
        if a.dtype.kind in "fc" or b.dtype.kind in "fc":
            return np.allclose(
                b.astype(float), a.astype(float), rtol=self.rtol, atol=self.atol, equal_nan=True
            )
        return bool(np.array_equal(a, b))


def chapters() -> list[str]:
    """The chapters that have examples."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def examples(chapter: str | None = None) -> list[Example]:
    """The examples of one chapter, or all of them.

    Examples
    --------
    >>> [example.place for example in examples("ch02")][0]
    '000 Ex 2.1'
    """
    names = chapters() if chapter is None else [chapter]
    return [e for name in names for e in importlib.import_module(f"{__name__}.{name}").EXAMPLES]
