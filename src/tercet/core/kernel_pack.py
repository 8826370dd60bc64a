"""Kernel packs: compiled kernels that are installed with the package, as the distribution `tercet-kernels`.

A pack is one file with the kernels of one target (`x86-64-v3`: any x86-64 CPU with AVX2). It is used where its
kernels are what numba would compile here, but for the target: the same sources, numba, llvmlite and Python, a CPU
with all features of the target, and default settings of the compiler. Elsewhere it is passed over in silence;
`tercet doctor` says why. What is wrong with a pack, or with an entry, counts as absent: the kernel is compiled.

    magic, length of the header, header (JSON)
    index: for each entry its key, its digest, where it begins and how long it is
    digest of all before
    entries: pickles of compiled kernels, compressed by zlib
"""

# mypy: allow-untyped-calls

from __future__ import annotations

import functools
import hashlib
import json
import os
import stat
import struct
import sys
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numba
from llvmlite import __version__ as llvmlite_version
from llvmlite import binding
from numba.core.registry import cpu_target
from numba.core.runtime import rtsys

from tercet.core.messages import Message

MAGIC = b"tercet kernel pack 1\n"
DIGEST = 16  # bytes
FOLDER = "tercet_kernels"
ENDING = ".pack"
_LENGTH = struct.Struct("<I")
_ENTRY = struct.Struct(f"<{DIGEST}s{DIGEST}sQI")

# Settings of numba that change what it compiles, each with the values under which packs are built.
SETTINGS: dict[str, tuple[Any, ...]] = {
    "OPT": (3,),
    "BOUNDSCHECK": (None, 0),
    "CPU_NAME": (None,),
    "CPU_FEATURES": (None,),
    "LOOP_VECTORIZE": (1,),
    "SLP_VECTORIZE": (0,),
    "ENABLE_AVX": (1, True),
    "DEBUGINFO_DEFAULT": (0,),
    "EXTEND_VARIABLE_LIFETIMES": (0,),
    "ENABLE_PROFILING": (0,),
    "JIT_COVERAGE": (0,),
    "DISABLE_JIT": (0,),
    "LLVM_REFPRUNE_PASS": (1,),
    "LLVM_REFPRUNE_FLAGS": ("all",),
    "DEBUG_NRT": (0,),
    "DEBUG_ARRAY_OPT_RUNTIME": (0,),
}
VARIABLES = {"DEBUGINFO_DEFAULT": "NUMBA_DEBUGINFO"}  # that are not called NUMBA_ and the setting's name


class PackError(Exception):
    """A pack that is not used; its message says why."""


@dataclass(frozen=True)
class Pack:
    """An open pack: its header, and where its entries lie."""

    path: Path
    header: dict[str, Any]
    entries: dict[bytes, tuple[bytes, int, int]]

    def read(self, key: bytes) -> bytes | None:
        """The pickle of a compiled kernel; None when there is none, or when it is damaged."""
        digest, begin, length = self.entries.get(key, (b"", 0, 0))
        if not length:
            return None
        try:
            with open(self.path, "rb") as file:
                file.seek(begin)
                content = file.read(length)
            return zlib.decompress(content) if _digest(content) == digest else None
        except (OSError, zlib.error):
            return None


def entry_key(digest: str, name: str, types: Iterable[Any], code: Iterable[str]) -> bytes:
    """The key of an entry: the digest of the kernel's sources, its name, argument types, and bytecode."""
    parts = [digest, name, *code, *map(str, types)]
    return _digest("\n".join(parts).encode())


def python_tag() -> str:
    """The Python that kernels are compiled for: `cpython-311`, with ABI flags."""
    return f"{sys.implementation.cache_tag}{getattr(sys, 'abiflags', '')}"


def versions() -> dict[str, str]:
    """What must be the same here as where a pack was built."""
    return {
        "numba": numba.__version__,
        "llvmlite": llvmlite_version,
        "python": python_tag(),
        "triple": binding.get_process_triple(),
    }


def write_pack(path: Path, header: Mapping[str, Any], entries: Mapping[bytes, bytes]) -> None:
    """Write a pack; `entries` are pickles by key. The same entries give the same bytes."""
    head = json.dumps(dict(header), sort_keys=True).encode()
    packed = {key: zlib.compress(entries[key], 9) for key in sorted(entries)}
    begin = len(MAGIC) + 2 * _LENGTH.size + len(head) + _ENTRY.size * len(packed) + DIGEST
    index = bytearray()
    for key, content in packed.items():
        index += _ENTRY.pack(key, _digest(content), begin, len(content))
        begin += len(content)
    top = MAGIC + _LENGTH.pack(len(head)) + _LENGTH.pack(len(packed)) + head + index
    unfinished = path.with_suffix(f".{os.getpid()}.unfinished")
    try:
        with open(unfinished, "wb") as file:
            file.write(top + _digest(top))
            file.writelines(packed.values())
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def open_pack(path: Path) -> Pack:
    """Open a pack, whether it can be used here or not.

    Raises
    ------
    PackError
        When the file is not a pack, or damaged.
    """
    try:
        with open(path, "rb") as file:
            start = file.read(len(MAGIC) + 2 * _LENGTH.size)
            if not start.startswith(MAGIC):
                raise PackError(Message("{path} is not a kernel pack of this version", path=str(path)))
            length, count = (n for (n,) in _LENGTH.iter_unpack(start[len(MAGIC) :]))
            size = os.fstat(file.fileno()).st_size
            rest = file.read(min(length + _ENTRY.size * count + DIGEST, size))
        top = start + rest[:-DIGEST]
        if _digest(top) != rest[-DIGEST:]:
            raise PackError(Message("{path} is damaged", path=str(path)))
        header = json.loads(rest[:length])
        found = {
            key: (digest, begin, size)
            for key, digest, begin, size in _ENTRY.iter_unpack(rest[length:-DIGEST])
        }
    except (OSError, struct.error, ValueError) as error:
        raise PackError(Message("{path} cannot be read: {why}", path=str(path), why=str(error))) from error
    if any(begin + length > size for _, begin, length in found.values()):
        raise PackError(Message("{path} is damaged", path=str(path)))
    return Pack(path, header, found)


def settings_problem() -> Message | None:
    """Which setting of Python or numba makes other kernels than those of a pack; None where none does."""
    if sys.flags.optimize:
        return Message("`python -O` leaves assertions out")
    for name, usual in SETTINGS.items():
        value = getattr(numba.config, name, usual[0])
        if value not in usual:
            variable = VARIABLES.get(name, f"NUMBA_{name}")
            return Message("{variable} is set: the compiler makes other code", variable=variable)
    return None


def check_usable(pack: Pack) -> None:
    """Raise a `PackError` that says why a pack is not used on this machine, if so."""
    path = str(pack.path)
    for name, here in versions().items():
        there = pack.header.get(name)
        if there != here:
            raise PackError(
                Message(
                    "{path} was built for {name} {there}, not {here}",
                    path=path,
                    name=name,
                    there=str(there),
                    here=here,
                )
            )
    features = binding.get_host_cpu_features()
    lacking = [name for name in pack.header.get("features", ()) if not features.get(name)]
    if lacking:
        raise PackError(Message("{path} needs a CPU with {features}", path=path, features=", ".join(lacking)))
    # An object with an unknown symbol would end the process when it is loaded.
    start_runtime()
    unknown = [name for name in pack.header.get("symbols", ()) if binding.address_of_symbol(name) is None]
    if unknown:
        raise PackError(
            Message("{path} calls {symbols}, unknown here", path=path, symbols=", ".join(unknown))
        )


def start_runtime() -> None:
    """Let machine code find numba's runtime.

    Numba does so when it refreshes its contexts, where it also gets ready to compile: many times as long.
    """
    rtsys.initialize(cpu_target.target_context)


def folders() -> list[Path]:
    """Where a pack may lie: beside this package or beside numba, so that it is trusted as they are."""
    homes = (Path(__file__).resolve().parents[2], Path(numba.__file__).resolve().parents[1])
    return [home / FOLDER for home in dict.fromkeys(homes)]


def search(places: Iterable[Path]) -> tuple[Pack | None, list[Message]]:
    """The pack to use, for the most demanding target that this CPU meets, and why others are not used."""
    problem = settings_problem()
    if problem is not None:
        return None, [problem]
    usable: list[Pack] = []
    reasons: list[Message] = []
    for place in places:
        try:
            if not place.is_dir():
                continue
            if os.name == "posix" and place.stat().st_mode & stat.S_IWOTH:
                raise PackError(Message("everybody can write to {path}", path=str(place)))
            files = sorted(place.glob(f"*{ENDING}"))
        except PackError as error:
            reasons.append(error.args[0])
            continue
        except OSError as error:
            reasons.append(Message("{path} cannot be read: {why}", path=str(place), why=str(error)))
            continue
        for file in files:
            try:
                pack = open_pack(file)
                check_usable(pack)
                usable.append(pack)
            except PackError as error:
                reasons.append(error.args[0])
    return max(usable, key=lambda pack: len(pack.header.get("features", ())), default=None), reasons


@functools.cache
def installed() -> tuple[Pack | None, list[Message]]:
    """The installed pack in use, and why others are not used."""
    return search(folders())


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=DIGEST).digest()
