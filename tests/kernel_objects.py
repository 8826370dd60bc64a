"""Machine code of the kernels that each method loads: its size, and whose arithmetic it calls.

``python -m tests.kernel_objects [CLASS ...]`` prints a table, the largest objects last; with ``--write`` it writes
`kernels/tercet_kernels/same_bits.json` anew: the methods all of whose kernels compute by themselves.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numba.core.compiler import CompileResult
from numba.core.dispatcher import Dispatcher

from tercet.cli.object_symbols import computes, undefined_symbols
from tercet.cli.warm import cards, variants, warm
from tercet.core.catalog import Card

FILE = Path(__file__).parent.parent / "kernels" / "tercet_kernels" / "same_bits.json"


@dataclass(frozen=True)
class Object:
    """The machine code of a kernel for one choice of argument types."""

    kernel: str
    types: str
    size: int
    symbols: frozenset[str]  # that it does not define

    @property
    def arithmetic(self) -> list[str]:
        """Functions of other libraries that compute for it."""
        return sorted(filter(computes, self.symbols))


@contextmanager
def observed() -> Iterator[set[Object]]:
    """The objects that are loaded or compiled inside, in a set that grows."""
    seen: set[Object] = set()
    rebuild, reduce = CompileResult._rebuild.__func__, CompileResult._reduce

    def note(payload: Any) -> None:
        (_, _, (code, _)), descriptor = payload[:2]
        if descriptor.modname.startswith("tercet"):
            name = f"{descriptor.modname}.{descriptor.qualname}"
            types = ", ".join(map(str, descriptor.argtypes))
            seen.add(Object(name, types, len(code), frozenset(undefined_symbols(code))))

    def rebuilt(cls: Any, context: Any, *payload: Any) -> Any:
        note(payload)
        return rebuild(cls, context, *payload)

    def reduced(self: Any) -> Any:
        payload = reduce(self)
        note(payload)
        return payload

    CompileResult._rebuild, CompileResult._reduce = classmethod(rebuilt), reduced
    try:
        yield seen
    finally:
        CompileResult._rebuild, CompileResult._reduce = classmethod(rebuild), reduce


def objects(card: Card) -> set[Object]:
    """The objects of an estimator's kernels, for all its algorithms and kinds of data."""
    for name, module in list(sys.modules.items()):
        if name.startswith("tercet"):
            for value in vars(module).values():
                if isinstance(value, Dispatcher):  # it forgets what it has loaded
                    value._reset_overloads()
    with observed() as found:
        warm(card)
    return found


def arithmetic(found: set[Object]) -> list[str]:
    """Functions of other libraries that compute for any of some objects."""
    return sorted({name for one in found for name in one.arithmetic})


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("classes", nargs="*", metavar="CLASS")
    parser.add_argument(
        "--json", action="store_true", help="for each class its objects, with size and arithmetic"
    )
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    found: dict[str, set[Object]] = {}
    for card in cards():
        if card.name in (options.classes or [card.name]) and next(variants(card), None) is not None:
            found[card.name] = objects(card)
            calls = ", ".join(arithmetic(found[card.name]))
            print(f"{card.name}: {len(found[card.name])} objects; {calls}", file=sys.stderr, flush=True)
    if options.json:
        plain = {name: [(o.kernel, o.size, o.arithmetic) for o in some] for name, some in found.items()}
        json.dump(plain, sys.stdout)
    else:
        for one in sorted(set().union(*found.values()), key=lambda one: one.size):
            print(f"{one.size:7d}  {one.kernel}({one.types[:60]})  {', '.join(one.arithmetic)}")
    if options.write:
        same = sorted(name for name, some in found.items() if some and not arithmetic(some))
        FILE.write_text(json.dumps(same, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
