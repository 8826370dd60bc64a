"""Writing files: whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A binary file to write that takes the place of `path` when all went well, and else leaves no trace.

    What a link points to is replaced, not the link; a file that was there leaves its mode and owner to the new
    one; what has no place to take (a device, a pipe) is written to.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(f"{folder}/a.txt") as file:
    ...         _ = file.write(b"whole")
    ...     pathlib.Path(folder, "a.txt").read_text()
    'whole'
    """
    with placing(path) as place, open(place, "wb") as file:
        yield file


@contextlib.contextmanager
def placing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """As `replacing`, for what opens files itself: the name to write to.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with placing(f"{folder}/a.txt") as place:
    ...         _ = place.write_text("whole")
    ...     pathlib.Path(folder, "a.txt").read_text()
    'whole'
    """
    old = present(path)
    if old is not None and stat.S_ISDIR(old.st_mode):
        raise IsADirectoryError(f"{os.fspath(path)} is a folder")
    if old is not None and not replaceable(old):
        yield Path(path)
        return
    target = Path(os.path.realpath(path))
    beside = target.with_name(f".tercet-{secrets.token_hex(8)}.part")  # short: names have a longest length
    # Nobody may read in the new file, while it is written, what the old one keeps from them.
    mode = 0o666 if old is None else stat.S_IMODE(old.st_mode) & 0o700 | 0o600
    os.close(os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
    try:
        yield beside
        if old is not None:
            if hasattr(os, "chown"):
                with contextlib.suppress(OSError):
                    os.chown(beside, old.st_uid, old.st_gid)
            os.chmod(beside, stat.S_IMODE(old.st_mode))
        os.replace(beside, target)
    finally:
        with contextlib.suppress(OSError):
            beside.unlink()


def present(path: str | os.PathLike[str]) -> os.stat_result | None:
    """What the system knows of what is at `path`, at the end of all links; None if nothing is there."""
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None


def replaceable(old: os.stat_result) -> bool:
    """Whether a new file can take the place of an old one: not that of a device, nor of where stdout goes."""
    if not stat.S_ISREG(old.st_mode):
        return False
    return not any(os.path.samestat(old, ours) for ours in _own())


def _own() -> Iterator[os.stat_result]:
    for stream in (sys.__stdout__, sys.__stderr__):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            yield os.fstat(stream.fileno())  # type: ignore[union-attr]
