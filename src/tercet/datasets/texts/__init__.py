"""The worked examples of the texts, as data: what is given, what to call, what must come out.

Each chapter is a module (`ch02` is chapter 2 of Li, `watermelon_ch01` chapter 1 of the watermelon notes)
with a list `EXAMPLES`. The tests run all of them, and so does `tercet book`.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

WITHOUT_NUMBERS = (
    "watermelon notes ",
    "Pattern Recognition ",
    "Studies ML ",
)  # texts that print formulas and hardly a number
DERIVED = re.compile(
    r"\bderived\b|\bno numbers|gives? no (?:numbers|counts|rows)|(?:formulas|theorems|model) only|"
    r"made for the text|not in the text|numbers of ours|\b(?:is|are) ours\b|worked out from|"
    r"put in for them|were chosen|has letters",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Value:
    """One value of an example: what the text says, what the library gives, and whether that is the same."""

    name: str
    wanted: Any
    got: Any
    same: bool


@dataclass(frozen=True)
class Example:
    """One worked example.

    Attributes
    ----------
    place : where it stands, as in "Li Ex 2.1".
    title, zh : what it shows.
    given : the input, as keyword arguments of `call`.
    call : runs the library on the input and returns the values by name.
    expected : the values that must come out, by the same names.
    rtol, atol : how close (floats only; everything else must be equal).
    note : where the print is wrong or the numbers were derived.
    derived : whether the text does not print the values, or the names of those that it does not; None: as the note
        says.
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
    derived: bool | tuple[str, ...] | None = None

    def is_derived(self, name: str) -> bool:
        """Whether a value was derived from the text's formulas, because the text does not print it."""
        if isinstance(self.derived, tuple):
            return name in self.derived
        if self.derived is not None:
            return self.derived
        return self.place.startswith(WITHOUT_NUMBERS) or DERIVED.search(self.note) is not None

    def run(self) -> dict[str, Any]:
        """What the library gives."""
        return self.call(**self.given)

    def values(self) -> list[Value]:
        """Every expected value beside ours, which is None where the library gives none."""
        got = self.run()
        return [
            Value(name, wanted, got.get(name), name in got and self._same(wanted, got[name]))
            for name, wanted in self.expected.items()
        ]

    def differences(self) -> dict[str, tuple[Any, Any]]:
        """Names whose value is not the expected one, with (expected, got)."""
        return {value.name: (value.wanted, value.got) for value in self.values() if not value.same}

    def uses(self, module: str, name: str) -> bool:
        """Whether `call` works with a thing of the library, as in ("tercet.linear_model", "Perceptron")."""
        words = _words(self.call, self.given)
        return name in words and module.rpartition(".")[2] in {
            part for word in words for part in word.split(".")
        }

    def _same(self, wanted: Any, got: Any) -> bool:
        if isinstance(wanted, dict):
            return (
                isinstance(got, dict)
                and wanted.keys() == got.keys()
                and all(self._same(wanted[k], got[k]) for k in wanted)
            )
        a, b = np.asarray(wanted), np.asarray(got)
        if a.shape != b.shape:
            return False
        if a.dtype.kind in "fc" or b.dtype.kind in "fc":
            return np.allclose(
                b.astype(float), a.astype(float), rtol=self.rtol, atol=self.atol, equal_nan=True
            )
        return bool(np.array_equal(a, b))


def _words(call: Any, given: dict[str, Any]) -> set[str]:
    """The names in a function's code, with those of the functions inside it and of its module's that it calls."""
    call = getattr(call, "func", call)  # of a functools.partial
    around = call.__globals__
    waiting, seen = [call.__code__], set()
    while waiting:
        code = waiting.pop()
        if code in seen:
            continue
        seen.add(code)
        waiting += [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
        called = [around.get(name) for name in code.co_names]
        waiting += [f.__code__ for f in called if getattr(f, "__module__", "") == call.__module__]
    # Words as well as names: minimize(..., method="dfp") uses `dfp`.
    words = {word for code in seen for word in (*code.co_names, *code.co_consts) if isinstance(word, str)}
    return words | {word for word in given.values() if isinstance(word, str)}


def chapters() -> list[str]:
    """The chapters that have examples, as one reads: text by text, appendices last."""
    names = [module.name for module in pkgutil.iter_modules(__path__)]
    return sorted(names, key=lambda name: (not name.startswith(("ch", "app")), "app" in name, name))


def examples(chapter: str | None = None) -> list[Example]:
    """The examples of one chapter, or all of them.

    Examples
    --------
    >>> [example.place for example in examples("ch02")][0]
    'Li Ex 2.1'
    """
    names = chapters() if chapter is None else [chapter]
    return [e for name in names for e in importlib.import_module(f"{__name__}.{name}").EXAMPLES]
