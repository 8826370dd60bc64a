"""Where compiled kernels come from: a pack (`core.kernel_pack`), else the cache folder, else the compiler
(`core.compile_ahead`).

Numba unpickles whatever lies in its cache: a file that a full disk cut short, or that something else wrote, ends
a fit with an `EOFError`, and damaged machine code ends the process. Here every file ends with a digest of the
rest; one that does not match is removed, and the kernel compiled again.
"""

# mypy: allow-untyped-calls

from __future__ import annotations

import contextlib
import functools
import hashlib
import io
import os
import pickle
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from llvmlite import binding
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, _Cache
from numba.core.compiler import CompileResult
from numba.core.registry import cpu_target

from tercet.core import compile_ahead, kernel_pack

DIGEST = 16  # bytes
_lock = threading.Lock()


class KernelCache(_Cache):
    """Compiled forms of one kernel, by argument types.

    Parameters
    ----------
    function : the kernel in plain Python
    digest : of all sources that it is compiled from
    use_pack : whether an installed pack is asked first
    folder : gives the cache folder of the kernel's module, or None
    """

    def __init__(
        self, function: Any, digest: str, use_pack: bool, folder: Callable[[str], Path | None]
    ) -> None:
        self.function, self.digest = function, digest
        self.ours = function.__module__.partition(".")[0] == "tercet" and function.__closure__ is None
        self._use_pack = use_pack and self.ours
        self._folder = folder

    @functools.cached_property
    def files(self) -> FolderCache | None:
        """The files of the cache folder, which is made when a kernel is not in the pack; None without one."""
        folder = self._folder(self.function.__module__)
        if folder is None:
            return None
        settings: Any = numba.config
        with _lock:  # numba reads the folder from a global setting
            before, settings.CACHE_DIR = settings.CACHE_DIR, str(folder)
            try:
                return FolderCache(self.function, folder)
            except RuntimeError:  # the folder went away or filled up: compile in memory
                return None
            finally:
                settings.CACHE_DIR = before

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled kernel for these argument types, or None."""
        found = self._from_pack(sig, target_context) if self._use_pack else None
        if found is None and self.files is not None:
            found = self.files.load_overload(sig, target_context)
            if found is None and self.ours and compile_ahead.bring(self.function, sig):
                found = self.files.load_overload(sig, target_context)
        return found

    def holds(self, sig: Any) -> bool:
        """Whether the kernel for these argument types need not be compiled."""
        pack = kernel_pack.installed()[0] if self._use_pack else None
        if pack is not None and pack_key(self.function, self.digest, sig) in pack.entries:
            return True
        return self.files is not None and self.files.holds(sig)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled kernel in the cache folder."""
        if self.files is not None:
            self.files.save_overload(sig, data)

    def _from_pack(self, sig: Any, target_context: Any) -> Any:
        pack, _ = kernel_pack.installed()
        if pack is None:
            return None
        content = pack.read(pack_key(self.function, self.digest, sig))
        if content is None:
            return None
        kernel_pack.start_runtime()
        payload = pickle.loads(content)
        # Types are told apart by their names; here by themselves.
        return CompileResult._rebuild(target_context, *payload) if payload[3].args == tuple(sig) else None

    @property
    def cache_path(self) -> str | None:
        """The cache folder."""
        return None if self.files is None else self.files.cache_path

    def enable(self) -> None:
        """Numba's protocol; this cache is always on."""

    def disable(self) -> None:
        """Numba's protocol; this cache is always on."""

    def flush(self) -> None:
        """Forget what the cache folder holds."""
        if self.files is not None:
            self.files.flush()


def pack_key(function: Any, digest: str, sig: Any) -> bytes:
    """The key of a compiled kernel in a pack."""
    code = function.__code__
    name = f"{function.__module__}.{function.__qualname__}:{code.co_firstlineno}"
    return kernel_pack.entry_key(digest, name, sig, [hashlib.sha256(code.co_code).hexdigest()])


def stored_form(compiled: Any) -> tuple[Any, ...]:
    """What is kept of a compiled kernel: what numba keeps, without annotations that only people read.

    The intermediate code, the larger part, stays with functions that others inline. Of a kernel that is called from
    Python alone numba looks up a name in it.
    """
    (name, kind, (code, bitcode)), descriptor, *middle, _, reload_init, environments = compiled._reduce()
    if not descriptor.inline:
        stub = f'define void @"{descriptor.llvm_cpython_wrapper_name}"() {{ ret void }}'
        bitcode = binding.parse_assembly(stub).as_bitcode()
    return (name, kind, (code, bitcode)), descriptor, *middle, "", reload_init, environments


class StoredKernels(CompileResultCacheImpl):
    """The form in which kernels of this package are kept."""

    def reduce(self, cres: Any) -> Any:
        """What to pickle."""
        ours = cres.fndesc.modname.partition(".")[0] == "tercet"
        return stored_form(cres) if ours else super().reduce(cres)


class FolderCache(FunctionCache):
    """Files of one kernel: damaged ones count as absent, and what cannot be written is not kept."""

    _impl_class = StoredKernels
    _cache_file: Any

    def __init__(self, function: Any, folder: Path) -> None:
        super().__init__(function)
        self.ours = function.__module__.partition(".")[0] == "tercet"
        plain = self._cache_file
        name = plain._index_name.removesuffix(".nbi")
        if self.ours:
            # The folder is named by all that the kernel is compiled from (`kernel.digest`). Numba's sub-folder,
            # named by the path of the file, would keep two installations of one version from sharing it.
            self._cache_path = str(folder)
            name = f"{function.__module__.rpartition('.')[0]}.{name}"
        self._cache_file = SealedFiles(self._cache_path, name, plain._source_stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled kernel for these argument types, or None."""
        if not self.ours:  # it may need more of numba than its runtime
            return super().load_overload(sig, target_context)
        kernel_pack.start_runtime()
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)

    def holds(self, sig: Any) -> bool:
        """Whether the index has a kernel for these argument types."""
        return self._index_key(sig, cpu_target.target_context.codegen()) in self._cache_file._load_index()

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save a compiled kernel, if the disk lets us."""
        with contextlib.suppress(OSError):
            super().save_overload(sig, data)


class SealedFiles(IndexDataCacheFile):
    """Numba's index and data files, each with a digest at its end."""

    def _load_index(self) -> dict[Any, str]:
        content = _unsealed(self._index_path)
        if content is None:
            return {}
        stream = io.BytesIO(content)
        if pickle.load(stream) != self._version:
            return {}
        stamp, overloads = pickle.loads(stream.read())
        return overloads if stamp == self._source_stamp else {}

    def _save_index(self, overloads: dict[Any, str]) -> None:
        version = pickle.dumps(self._version, protocol=-1)
        self._write(self._index_path, version + self._dump((self._source_stamp, overloads)))

    def _load_data(self, name: str) -> Any:
        content = _unsealed(self._data_path(name))
        if content is None:
            raise FileNotFoundError(name)  # numba compiles again
        try:
            return pickle.loads(content)
        except ImportError as error:  # the kernel of a module that was made on the fly
            raise FileNotFoundError(name) from error

    def _save_data(self, name: str, data: Any) -> None:
        self._write(self._data_path(name), self._dump(data))

    def _write(self, path: str, content: bytes) -> None:
        with self._open_for_write(path) as file:
            file.write(content + _digest(content))


def _unsealed(path: str) -> bytes | None:
    """The content of a file whose digest is right; another file is removed."""
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError:
        return None
    if len(content) > DIGEST and _digest(content[:-DIGEST]) == content[-DIGEST:]:
        return content[:-DIGEST]
    with contextlib.suppress(OSError):
        os.unlink(path)
    return None


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=DIGEST).digest()
