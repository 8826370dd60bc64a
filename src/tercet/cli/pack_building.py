"""Building a kernel pack: `tercet warm --pack`.

Every kernel of the library is compiled for the target in processes of their own, with an empty cache, and what
they compile is put into one file (`core.kernel_pack`). The file holds machine code and no path of the machine that
built it. It is refused when code could depend on that machine in another way.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numba
from llvmlite import binding
from numba.core.bytecode import FunctionIdentity
from numba.core.registry import cpu_target
from numba.core.serialize import dumps

from tercet import __version__
from tercet.cli.maintenance import changed_environment
from tercet.cli.object_symbols import allowed, undefined_symbols
from tercet.core import kernel_cache, kernel_pack
from tercet.core.messages import Message

_V2 = "cx8 cmov mmx fxsr sse sse2 sse3 ssse3 sse4.1 sse4.2 popcnt cx16 sahf"
_V3 = f"{_V2} avx avx2 bmi bmi2 f16c fma lzcnt movbe xsave"


@dataclass(frozen=True)
class Target:
    """What a pack is compiled for."""

    name: str
    cpu: str  # LLVM's name
    features: tuple[str, ...]  # LLVM's names of what a host must have


TARGETS = {
    target.name: target
    for target in (
        Target("x86-64-v3", "x86-64-v3", tuple(_V3.split())),
        Target("x86-64-v4", "x86-64-v4", tuple(f"{_V3} avx512f avx512bw avx512cd avx512dq avx512vl".split())),
        # Every such CPU has what "generic" means (NEON), whether LLVM can read its features or not.
        Target("aarch64", "generic", ()),
    )
}


class PackRefused(Exception):
    """A pack that must not be shipped; the message says why."""


def default_target() -> str:
    """The usual target on this architecture."""
    return "aarch64" if binding.get_process_triple().startswith(("aarch64", "arm64")) else "x86-64-v3"


def check_environment() -> None:
    """Raise `PackRefused` when the code would depend on settings or libraries of this machine."""
    problem = kernel_pack.settings_problem()
    if problem is None and getattr(numba.config, "USING_SVML", False):
        problem = Message("Intel's SVML is installed: kernels would call it")
    if problem is not None:
        raise PackRefused(problem)


def environment(target: Target, cache: Path) -> contextlib.AbstractContextManager[None]:
    """Processes started inside compile for the target, with an empty cache."""
    return changed_environment(
        NUMBA_CPU_NAME=target.cpu,
        NUMBA_CPU_FEATURES="",
        TERCET_CACHE_DIR=str(cache),
        TERCET_KERNELS="native",
        TERCET_JIT="1",
    )


def record(spool: str) -> None:
    """From now on, put each kernel that this process compiles into the folder `spool`, too."""
    _name_files_without_folders()
    kind: Any = kernel_cache.KernelCache
    keep = kind.save_overload

    def save_overload(cache: Any, sig: Any, data: Any) -> None:
        # Before numba's own cache: that forgets the types of variables, which is all that it changes.
        if cache.ours and not data.library.has_dynamic_globals and not data.lifted:
            key = kernel_cache.pack_key(cache.function, cache.digest, sig)
            Path(spool, key.hex()).write_bytes(dumps(kernel_cache.stored_form(data)))
        keep(cache, sig, data)

    kind.save_overload = save_overload


def _name_files_without_folders() -> None:
    """Let numba call a source `tercet/tree/x.py` where errors name it, wherever it is installed."""
    identity: Any = FunctionIdentity
    original = identity.from_function.__func__
    places = sorted({str(Path(place).resolve()) for place in sys.path if place}, key=len, reverse=True)

    def from_function(cls: Any, pyfunc: Any) -> Any:
        found = original(cls, pyfunc)
        place = next((place for place in places if found.filename.startswith(place + os.sep)), None)
        if place is not None:
            found.filename = found.filename[len(place) + 1 :].replace(os.sep, "/")
        return found

    identity.from_function = classmethod(from_function)


def assemble(spool: Path, file: Path, target: Target) -> dict[str, Any]:
    """Check what was compiled, and write the pack; returns its header."""
    entries = {bytes.fromhex(part.name): part.read_bytes() for part in sorted(spool.iterdir())}
    symbols: set[str] = set()
    for content in entries.values():
        check_paths(content)
        symbols |= check_symbols(content)
    header = {
        **kernel_pack.versions(),
        "tercet": __version__,
        "target": target.name,
        "features": list(target.features),
        "symbols": sorted(symbols),
        "kernels": len(entries),
    }
    kernel_pack.write_pack(file, header, entries)
    return header


def check_symbols(content: bytes) -> set[str]:
    """The undefined symbols of an entry that the machine that loads it must have."""
    (name, _, (code, _)), *_ = pickle.loads(content)
    found = undefined_symbols(code)
    strange = sorted(symbol for symbol in found if not allowed(symbol))
    if strange:
        raise PackRefused(Message("{name} calls {symbols}", name=name, symbols=", ".join(strange)))
    cpu_target.target_context.refresh()  # numba makes its own symbols known
    return {symbol for symbol in found if binding.address_of_symbol(symbol) is not None}


def check_paths(content: bytes, paths: Iterable[str] = ()) -> None:
    """Raise `PackRefused` when an entry holds a folder of this machine."""
    given = (*paths, *filter(None, sys.path), sys.prefix, os.getcwd(), tempfile.gettempdir())
    own = {str(Path(place).resolve()) for place in given}
    with contextlib.suppress(RuntimeError):
        own.add(str(Path.home()))
    for place in own:
        if len(place) > 1 and place.encode() in content:
            raise PackRefused(Message("a kernel holds the path {path}", path=place))
