"""How much a packed file may unpack to.

A small file that unpacks to very much (a "zip bomb") would fill the disk or the memory. Real tables shrink to a
tenth or a fiftieth; more than `RATIO` times the size of the file is allowed up to `ALWAYS` bytes only, or up to the
number of bytes that TERCET_UNPACKED gives.
"""

from __future__ import annotations

import os
import zipfile
from typing import IO, TYPE_CHECKING

from tercet.core.memory import available
from tercet.datasets.readers.table import TableError

if TYPE_CHECKING:
    from tercet.datasets.readers.source_file import SourceFile

RATIO = 100
ALWAYS = 1 << 30
DEFLATED_MOST = 1032  # deflate makes no more of a byte
PIECE = 1 << 20


def most_unpacked(size: int) -> int:
    """Bytes that a file of this size may unpack to."""
    asked = os.environ.get("TERCET_UNPACKED")
    if not asked:
        return max(ALWAYS, RATIO * size)
    try:
        return max(int(float(asked)), 0)
    except (ValueError, OverflowError):
        raise TableError("TERCET_UNPACKED must be a number of bytes; got {value!r}", value=asked) from None


def copy_unpacked(source: SourceFile, packed: IO[bytes], plain: IO[bytes]) -> None:
    """Copy what is unpacked, up to the limit."""
    size = source.path.stat().st_size
    most, done = most_unpacked(size), 0
    while piece := packed.read(PIECE):
        done += len(piece)
        if done > most:
            raise _bomb(source, size, most)
        plain.write(piece)


def check_archive(source: SourceFile, archive: zipfile.ZipFile) -> None:
    """Refuse a zip archive whose members are not what can be in a file of its size."""
    size = source.path.stat().st_size
    members = archive.infolist()
    if sum(info.compress_size for info in members) > size:
        raise source.error("damaged: its members together are larger than the file")
    for info in members:
        stored = info.compress_type == zipfile.ZIP_STORED
        most = info.compress_size * (1 if stored else DEFLATED_MOST)
        if info.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) and info.file_size > most:
            raise source.error(
                "damaged: {name!r} cannot have {declared} bytes in {packed} packed ones",
                name=info.filename,
                declared=info.file_size,
                packed=info.compress_size,
            )
    most = most_unpacked(size)
    if sum(info.file_size for info in members) > most:
        raise _bomb(source, size, most)


def check_fits(source: SourceFile, name: str, size: int) -> None:
    """Refuse an array that must be read as a whole and is larger than the memory there is."""
    try:
        room = available()
    except ValueError as error:
        raise TableError(*error.args) from None
    if size > room:
        raise source.error(
            "array {name!r} has {size} bytes and must be read as a whole; there are {room} of memory "
            "(TERCET_MEMORY sets another number)",
            name=name,
            size=size,
            room=room,
        )


def _bomb(source: SourceFile, size: int, most: int) -> TableError:
    return source.error(
        "the file has {size} bytes and unpacks to more than {most}, the limit for one of its size "
        "(TERCET_UNPACKED sets another number of bytes)",
        size=size,
        most=most,
    )
