"""Files of compiled kernels that heal themselves.

Numba unpickles whatever lies in its cache: a file that a full disk cut short, or that something else wrote, ends
a fit with an `EOFError`, and damaged machine code ends the process. Here every file ends with a digest of the
rest; one that does not match is removed, and the kernel compiled again.
"""

# mypy: allow-untyped-calls

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import pickle
from pathlib import Path
from typing import Any

from numba.core.caching import FunctionCache, IndexDataCacheFile

DIGEST = 16  # bytes


class KernelCache(FunctionCache):
    """Cache of one kernel: damaged files count as absent, and what cannot be written is not kept."""

    def __init__(self, function: Any, folder: Path) -> None:
        super().__init__(function)
        plain = self._cache_file
        name = plain._index_name.removesuffix(".nbi")
        if function.__module__.partition(".")[0] == "tercet":
            # The folder is named by all that the kernel is compiled from (`kernel.digest`). Numba's sub-folder,
            # named by the path of the file, would keep two installations of one version from sharing it.
            self._cache_path = str(folder)
            name = f"{function.__module__.rpartition('.')[0]}.{name}"
        self._cache_file = SealedFiles(self._cache_path, name, plain._source_stamp)

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
        return pickle.loads(content)

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
