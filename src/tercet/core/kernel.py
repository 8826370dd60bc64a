"""`@kernel`: compilation by numba, in one place.

A kernel is a small function of arrays and numbers that loops over the data. It releases the GIL, so that threads
(`core.parallel`) can run it in parallel; it is compiled once per machine and loaded from a cache after that.

    TERCET_JIT=0             kernels run as plain Python, to step through them in a debugger
    TERCET_KERNELS=native    kernels are compiled for this very CPU, not taken from a pack (`core.kernel_pack`)
    TERCET_KERNELS=off       kernels are neither loaded nor kept: each process compiles them
    TERCET_CACHE_DIR=folder  where compiled kernels are kept
    TERCET_COMPILERS=1       kernels are compiled by this process alone (`core.compile_ahead`)
    NUMBA_BOUNDSCHECK=1      kernels check every index
    NUMBA_OPT=1              kernels compile sooner and run slower
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import shutil
import stat
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

JIT = os.environ.get("TERCET_JIT", "1").lower() not in ("0", "false", "no", "off")
KERNELS = os.environ.get("TERCET_KERNELS", "").lower() or "pack"
if KERNELS not in ("pack", "native", "off"):
    warnings.warn(f"TERCET_KERNELS={KERNELS!r} is not used: it must be pack, native or off.", stacklevel=2)
    KERNELS = "pack"
BOUNDS = os.environ.get("NUMBA_BOUNDSCHECK", "0") == "1"
OPTIMISATION = os.environ.get("NUMBA_OPT", "3")

# Sums may be reordered, so that loops vectorise; NaN and infinity keep their meaning.
FAST = {"nsz", "arcp", "contract", "afn", "reassoc"}
OPTIONS: Any = {"nogil": True, "fastmath": FAST, "error_model": "numpy", "no_cfunc_wrapper": True}
# Callees are forced inline. A separate callee would be optimised again in each caller, and which copy runs would
# depend on what the process had compiled or loaded before: other bits.
PART: Any = {**OPTIONS, "forceinline": True}

Function = TypeVar("Function", bound=Callable[..., Any])


running_fits: tuple[
    type, ...
] = ()  # classes that are being fitted, the innermost first: `core.compile_ahead`


def kernel(function: Function) -> Function:
    """Compile `function` on first call (or leave it as it is when TERCET_JIT=0); other kernels must not call it."""
    return _compiled(function, OPTIONS)


def shared(function: Function) -> Function:
    """Compile a function that both Python and other kernels call (inlined into the latter)."""
    return _compiled(function, PART)


def _compiled(function: Function, options: Any) -> Function:
    if not JIT:
        return function
    import numba

    from tercet.core.kernel_cache import KernelCache
    from tercet.core.kernel_parts import KernelCompiler

    compiled: Any = numba.njit(pipeline_class=KernelCompiler, **options)(function)
    if KERNELS != "off":
        name = digest_at_import(function.__module__)
        compiled._cache = KernelCache(function, name, KERNELS == "pack", cache_folder)
    return compiled


def inner(function: Function) -> Function:
    """Compile `function` only inlined into the kernels that call it; from Python it runs as plain Python.

    It needs neither a Python entry point nor a cache file, which make up much of the cost of a small kernel.
    """
    if not JIT:
        return function
    from numba.extending import register_jitable

    return register_jitable(**_part())(function)


def noinline(function: Function) -> Function:
    """Compile `function` once into each kernel that calls it, often from several places; from Python it runs as
    plain Python. A copy at each place would be slow to compile."""
    if not JIT:
        return function
    from numba.extending import register_jitable

    from tercet.core.kernel_parts import NoinlineCompiler

    return register_jitable(**OPTIONS, forceinline=False, pipeline_class=NoinlineCompiler)(function)


def verb(function: Function) -> Function:
    """Mark a function that kernels call with several implementations, chosen by the types of its arguments.

    The function itself runs as plain Python; `implement` attaches the compiled forms.
    """
    return function


def implement(function: Callable[..., Any]) -> Callable[[Function], Function]:
    """Attach a compiled form to a verb: the decorated function gets types and returns an implementation."""
    if not JIT:
        return lambda chooser: chooser
    from numba.extending import overload

    return overload(function, jit_options=_part(), inline="never")


def _part() -> Any:
    """Options of what is only ever a part of a kernel."""
    from tercet.core.kernel_parts import PartCompiler

    return {**PART, "pipeline_class": PartCompiler}


@functools.cache
def cache_folder(module: str) -> Path | None:
    """Cache folder of a module's compiled kernels; None when no folder is private and writable.

    Numba notices a change in a kernel's own file only, not in the functions it calls; so the folder's name
    holds a digest of the module and all it imports from here: an edit or an upgrade starts a fresh folder.
    """
    name = digest_at_import(module)
    asked = os.environ.get("TERCET_CACHE_DIR")
    for parent in [Path(asked)] if asked else _candidates():
        folder = parent / name
        try:
            fresh = not folder.is_dir()
            for place in (parent, folder):  # each by itself: `parents=True` would leave the mode to the umask
                place.mkdir(parents=True, exist_ok=True, mode=0o700)
            if not _private(folder):
                continue
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError:
            continue
        if fresh:
            _sweep(parent, keep=name)
        return folder
    if asked:
        warnings.warn(
            f"TERCET_CACHE_DIR={asked!r} is not used: it must be a folder that you, and nobody else, can write.",
            stacklevel=2,
        )
    return None


def digest(module: str) -> str:
    """A digest of everything that the compiled kernels of a module depend on, but for the CPU.

    Of Python it holds what bytecode and the ABI depend on. `sys.version` would tell builds of one version apart.
    """
    import llvmlite
    import numba

    python = f"{sys.implementation.cache_tag}{getattr(sys, 'abiflags', '')} {sys.flags.optimize}"
    compiler = f"{numba.__version__} {llvmlite.__version__} {BOUNDS} {OPTIMISATION}"
    found = hashlib.sha256(f"{python} {compiler}".encode())
    seen: dict[str, bytes] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name not in seen and name not in STORAGE:
            seen[name], imported = _summary(_source(name))
            waiting += imported
    for name in sorted(seen):
        found.update(name.encode() + seen[name])
    return found.hexdigest()[:20]


digest_at_import = functools.cache(digest)  # a source may change before the first call


@functools.cache
def _summary(source: bytes) -> tuple[bytes, list[str]]:
    """A digest of one source, and the modules of this package that it imports. Most modules import many others:
    without a memory of these each source would be read dozens of times in an import."""
    return hashlib.sha256(source).digest(), _imports(source.decode("utf-8"))


STORAGE = ("tercet.core.kernel_cache",)  # imported by this module; it finds and keeps what others compile
_PACKAGE = str(Path(__file__).resolve().parent.parent)


@functools.cache
def _source(module: str) -> bytes:
    """The source of a module of this package (nothing when there is no such file)."""
    if not module.startswith("tercet"):  # a kernel of the user's own: numba watches its file
        return b""
    path = os.path.join(_PACKAGE, *module.split(".")[1:])
    for file in (f"{path}.py", os.path.join(path, "__init__.py")):
        with contextlib.suppress(OSError), open(file, "rb") as opened:
            return opened.read()
    return b""


_IMPORT = re.compile(r"(?m)^\s*from (tercet[\w.]*) import (\([^)]*\)|[^\n#]*)|^\s*import (tercet[\w.]*)")


def _imports(source: str) -> list[str]:
    """The modules of this package that a source imports."""
    modules = []
    for package, names, plain in _IMPORT.findall(source):
        modules += [plain] if plain else [package, *(f"{package}.{n}" for n in re.findall(r"\w+", names))]
    return modules


def _candidates() -> list[Path]:
    """The user's cache folder, then a folder of the user's own under the temporary one."""
    places = []
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    with contextlib.suppress(RuntimeError):  # no home directory
        places.append((Path(base) if base else Path.home() / ".cache") / "tercet")
    user = os.getuid() if hasattr(os, "getuid") else "user"
    return [*places, Path(tempfile.gettempdir()) / f"tercet-{user}"]


def _private(folder: Path) -> bool:
    """Cached kernels are unpickled: nobody else may be able to put one there."""
    if not hasattr(os, "getuid"):
        return True
    return all(
        place.stat().st_uid == os.getuid() and not place.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        for place in (folder, folder.parent)
    )


def _sweep(parent: Path, keep: str, days: float = 14.0) -> None:
    """Remove the folders of versions that have not been used for a while."""
    for folder in parent.iterdir():
        try:
            stale = time.time() - max(f.stat().st_mtime for f in [folder, *folder.iterdir()]) > days * 86400
            if folder.name != keep and len(folder.name) == len(keep) and stale:
                shutil.rmtree(folder, ignore_errors=True)
        except OSError:
            continue
