"""Writing results: whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tercet.cli.errors import Refusal
from tercet.cli.words import tr


def check_writable(path: Path) -> None:
    """Refuse a place that cannot be written, before any work is done for it."""
    folder = path.parent
    if path.is_dir():
        raise Refusal(tr("{path} is a folder; a file name is needed", path=path), 2)
    if not folder.is_dir():
        raise Refusal(tr("cannot write {path}: there is no folder {folder}", path=path, folder=folder), 2)
    if not os.access(folder, os.W_OK) or (path.exists() and not os.access(path, os.W_OK)):
        raise Refusal(tr("cannot write {path}: permission denied", path=path), 2)


@contextlib.contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A temporary file beside `path` that takes its place when the block ends well, and is gone otherwise."""
    check_writable(path)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)  # mkstemp's files are for the owner alone
        temporary.replace(path)
    except OSError as error:
        raise Refusal(tr("cannot write {path}: {why}", path=path, why=error.strerror), 2) from error
    finally:
        temporary.unlink(missing_ok=True)
