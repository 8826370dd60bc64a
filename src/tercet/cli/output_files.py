"""Output files: checked before the work is done, and written atomically."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from tercet.cli.errors import USAGE, Refusal
from tercet.cli.translation import tr
from tercet.core.atomic_files import placing, present, replaceable


def check_writable(path: Path, *inputs: str | Path | None) -> None:
    """Refuse a path that cannot be written, or that is one of the inputs."""
    with writing(path):
        old = present(path)
        if old is not None and stat.S_ISDIR(old.st_mode):
            raise Refusal(tr("{path} is a folder; a file name is needed", path=path), USAGE)
        for given in inputs:
            if given is not None and old is not None and _is(old, given):
                raise Refusal(
                    tr("{path} is read by this command; the result needs another name", path=path), USAGE
                )
        folder = Path(os.path.realpath(path)).parent
        special = old is not None and not replaceable(old)
        if not special and not folder.is_dir():
            raise Refusal(
                tr("cannot write {path}: there is no folder {folder}", path=path, folder=folder), USAGE
            )
        places = ([path] if old is not None else []) + ([] if special else [folder])
        if not all(os.access(place, os.W_OK) for place in places):
            raise Refusal(tr("cannot write {path}: permission denied", path=path), USAGE)


def special(path: Path) -> bool:
    """Whether a path is a device, a pipe or the like, whose suffix means nothing."""
    with contextlib.suppress(OSError):
        old = present(path)
        return old is not None and not stat.S_ISREG(old.st_mode)
    return False


@contextlib.contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A temporary path that replaces `path` if the block succeeds, and is removed otherwise."""
    check_writable(path)
    with writing(path), placing(path) as place:
        yield place


@contextlib.contextmanager
def writing(path: Path | str) -> Iterator[None]:
    """Around what writes to `path`: errors name that path, not a temporary one."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        why = error.strerror or str(error)
        raise Refusal(tr("cannot write {path}: {why}", path=shortened(str(path)), why=why), USAGE) from error


def shortened(name: str, most: int = 200) -> str:
    """A name that fits into a line."""
    return name if len(name) <= most else f"{name[: most // 2]}...{name[-most // 2 :]}"


def _is(old: os.stat_result, given: str | Path) -> bool:
    with contextlib.suppress(OSError, ValueError):
        return os.path.samestat(old, os.stat(given))
    return False
