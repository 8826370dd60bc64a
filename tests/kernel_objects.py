"""Machine code of the kernels that each method loads: its size, and whose arithmetic it calls.

``python -m tests.kernel_objects [CLASS ...]`` prints a table, the largest objects last; with ``--write`` it writes
`kernels/tercet_kernels/same_bits.json` anew:

- "kernels", whose machine code calls no arithmetic of other libraries, for any of the argument types that occur;
- "methods", all of whose kernels are such, and whose models have the same bits when NumPy, OpenBLAS and the C
  library are told to use what older CPUs have. The first is a property of the machine code. The second is a trial
  on small data, for what a method does outside of its kernels.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numba.core.compiler import CompileResult
from numba.core.dispatcher import Dispatcher

from tercet.cli.object_symbols import computes, undefined_symbols
from tercet.cli.warm import cards, more_input, samples, variants, warm
from tercet.core.catalog import Card

FILE = Path(__file__).parent.parent / "kernels" / "tercet_kernels" / "same_bits.json"


@dataclass(frozen=True)
class Object:
    """The machine code of a kernel for one choice of argument types."""

    kernel: str
    types: tuple[Any, ...]  # of its arguments
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
            symbols = frozenset(undefined_symbols(code))
            seen.add(Object(name, tuple(descriptor.argtypes), len(code), symbols))

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


def forget() -> None:
    """Let the kernels forget what they have loaded."""
    for name, module in list(sys.modules.items()):
        if name.startswith("tercet"):
            for value in vars(module).values():
                if isinstance(value, Dispatcher):
                    value._reset_overloads()


def objects(card: Card) -> set[Object]:
    """The objects of an estimator's kernels, for all its algorithms and kinds of data."""
    forget()
    with observed() as found:
        warm(card)
    return found


# What older CPUs have, as NumPy, OpenBLAS and the C library are told.
OLDER = (
    {
        "OPENBLAS_CORETYPE": "Nehalem",
        "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR",
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-AVX512F,-AVX512VL",
    },
    {"OPENBLAS_CORETYPE": "Haswell", "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR"},
)


def bits(card: Card) -> str:
    """A digest of what an estimator learns from small data of every kind, and of its answers."""
    found = hashlib.sha256()
    for data, target in samples(card, 150):
        with warnings.catch_warnings(), suppress(ValueError, TypeError):
            warnings.simplefilter("ignore")
            model = next(variants(card))
            if "random_state" in model.get_params():
                model.set_params(random_state=0)
            model.fit(data, target, **more_input(card, target))
            learned = {name: value for name, value in vars(model).items() if name.endswith("_")}
            asked = [getattr(model, name)(data) for name in ("predict", "transform") if hasattr(model, name)]
            for value in [*(learned[name] for name in sorted(learned)), *asked]:
                if isinstance(value, float | np.ndarray) and np.asarray(value).dtype.kind in "fiu":
                    found.update(np.ascontiguousarray(value).tobytes())
    return found.hexdigest()


def unchanged(names: list[str]) -> list[str]:
    """The estimators whose bits do not depend on what other libraries choose for the CPU."""
    command = [sys.executable, "-m", "tests.kernel_objects", "--bits", *names]
    runs = [
        json.loads(
            subprocess.run(command, check=True, stdout=subprocess.PIPE, env={**os.environ, **more}).stdout
        )
        for more in ({}, *OLDER)
    ]
    nothing = hashlib.sha256().hexdigest()
    return [name for name in names if all(run[name] == runs[0][name] != nothing for run in runs)]


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
    parser.add_argument("--bits", action="store_true", help="for each class a digest of what it learns")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    chosen = [
        card
        for card in cards()
        if card.name in (options.classes or [card.name]) and next(variants(card), None) is not None
    ]
    if options.bits:
        json.dump({card.name: bits(card) for card in chosen}, sys.stdout)
        return
    found: dict[str, set[Object]] = {}
    for card in chosen:
        found[card.name] = objects(card)
        calls = ", ".join(arithmetic(found[card.name]))
        print(f"{card.name}: {len(found[card.name])} objects; {calls}", file=sys.stderr, flush=True)
    every = sorted(set().union(*found.values()), key=lambda one: one.size)
    if options.json:
        plain = {name: [(o.kernel, o.size, o.arithmetic) for o in some] for name, some in found.items()}
        json.dump(plain, sys.stdout)
    elif not options.write:
        for one in every:
            types = ", ".join(map(str, one.types))
            print(f"{one.size:7d}  {one.kernel}({types[:60]})  {', '.join(one.arithmetic)}")
    else:
        calling = {one.kernel for one in every if one.arithmetic}
        kernels = sorted({one.kernel for one in every} - calling)
        methods = sorted(name for name, some in found.items() if some and not arithmetic(some))
        text = json.dumps({"methods": unchanged(methods), "kernels": kernels}, indent=1)
        FILE.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
