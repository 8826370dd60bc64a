"""The file itself: is it there, what is in it, how much of it fits."""

from __future__ import annotations

import bz2
import contextlib
import difflib
import gzip
import lzma
import os
import shutil
import stat
import struct
import sys
import tempfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np

from tercet.core.memory import available
from tercet.core.messages import Message
from tercet.datasets.readers.table import TableError, listed
from tercet.datasets.readers.table_format import TableFormat
from tercet.datasets.readers.unpacking import copy_unpacked

PACKED = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\x00": lzma.open}
MAGIC = {b"PAR1": "Parquet", b"ARROW1": "Feather", b"FEA1": "Feather", b"\x93NUMPY": "npy"}
ENDINGS = {".parquet": "Parquet", ".pq": "Parquet", ".feather": "Feather", ".arrow": "Feather", ".npz": "npz"}
ENDINGS |= {
    ".npy": "npy",
    ".arff": "ARFF",
    ".svm": "SVMlight",
    ".svmlight": "SVMlight",
    ".libsvm": "SVMlight",
}
FOREIGN = {
    b"\xd0\xcf\x11\xe0": "an old Office file",
    b"\x89HDF": "an HDF5 file",
    b"SQLite format 3": "an SQLite database",
    b"%PDF": "a PDF",
    b"\x28\xb5\x2f\xfd": "packed by zstd",
    b"7z\xbc\xaf": "a 7z archive",
}

STDIN = "-"
BLOCK = 1 << 22  # how much of a file is looked at together


@dataclass(frozen=True)
class SourceFile:
    """A file to read: where its bytes are, its name to the user, and a folder for what must be rewritten."""

    path: Path
    name: str
    folder: Path
    unpacked: bool = False

    @property
    def ending(self) -> str:
        name = Path(self.name)
        return Path(name.stem if self.unpacked else name.name).suffix.lower()

    @property
    def files(self) -> list[Path]:
        """The file itself; of a folder, those of its columnar format in the order of their names."""
        return column_files(self.path) if self.path.is_dir() else [self.path.absolute()]

    def error(self, message: str, **values: Any) -> TableError:
        """An error about this file."""
        return TableError("{file}: {problem}", file=self.name, problem=Message(message, **values))

    def distinct(self, names: Iterable[str]) -> list[str]:
        """These names, if no two are the same."""
        names = list(names)
        times = Counter(names)
        if twice := [name for name, n in times.items() if n > 1]:
            raise self.error("duplicated column names: {columns}", columns=listed(twice))
        return names


@dataclass(frozen=True)
class ReadRequest:
    """What is asked of a reader.

    At most `rows` rows drawn at random (by `seed`), or all of them in pieces (`whole`); in the way of another file;
    `ragged` says what is done with lines of another number of fields.
    """

    rows: int | None = None
    seed: int = 0
    whole: bool = False
    like: TableFormat = field(default_factory=TableFormat)
    ragged: str = "error"

    def parts(self, total: int, row_bytes: float, notes: list[Message]) -> Iterator[np.ndarray | None]:
        """The numbers of the rows to read together; None: all there are."""
        most = rows_that_fit(row_bytes, self.rows)
        if total <= most:
            yield None
        elif self.whole:
            for first in range(0, total, most):
                yield np.arange(first, min(first + most, total))
        else:
            notes.append(sampling_note(most, total, self.rows))
            yield sample_rows(total, most, self.seed)


@contextlib.contextmanager
def open_source(place: str | os.PathLike[str]) -> Iterator[SourceFile]:
    """The file at `place`, unpacked if it is packed; what is written beside it goes away at the end.

    "-" is the standard input, which is copied to a file first: a table is looked at more than once.
    """
    with tempfile.TemporaryDirectory(prefix="tercet-") as folder:
        if place == STDIN:
            path = _copied_input(Path(folder, "stdin"))
        else:
            path = Path(place).expanduser()
            _check(path)
        source = SourceFile(path, path.name, Path(folder))
        if path.is_dir():
            yield source
            return
        head = first_bytes(path, 8)
        for magic, unpack in PACKED.items():
            if head.startswith(magic):
                source = _unpacked(source, unpack)
        if source.path.stat().st_size == 0:
            raise source.error("the file is empty")
        yield source


def _copied_input(path: Path) -> Path:
    if sys.stdin is None:
        raise TableError("{file}: cannot be read: {reason}", file=STDIN, reason="closed")
    try:
        with path.open("wb") as copy:
            shutil.copyfileobj(sys.stdin.buffer, copy, BLOCK)
    except OSError as error:
        raise _unreadable(Path(STDIN), error) from None
    return path


def first_bytes(path: Path, size: int) -> bytes:
    """The first bytes of a file."""
    with path.open("rb") as file:
        return file.read(size)


def _check(path: Path) -> None:
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        folder = path.parent
        names = [entry.name for entry in folder.iterdir()] if folder.is_dir() else []
        near = difflib.get_close_matches(path.name, names, n=3, cutoff=0.6)
        if near:
            raise TableError(
                "{file}: no such file; near it: {names}", file=str(path), names=", ".join(near)
            ) from None
        raise TableError("{file}: no such file", file=str(path)) from None
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from None
    if stat.S_ISDIR(mode):
        if not column_files(path):
            raise TableError(
                "{file}: a folder, not a file; no Parquet or Feather files are in it", file=str(path)
            )
        return
    if not stat.S_ISREG(mode):
        raise TableError(
            "{file}: not an ordinary file (a pipe, socket or device); save the data first, or give - and the data "
            "on the standard input",
            file=str(path),
        )
    try:
        first_bytes(path, 1)
    except OSError as error:
        raise _unreadable(path, error) from None


def column_files(folder: Path) -> list[Path]:
    """The Parquet files in and below a folder, in the order of their names; Feather where there are none."""
    found = sorted(
        path.absolute()
        for path in folder.rglob("*")
        if ENDINGS.get(path.suffix.lower()) in ("Parquet", "Feather")
        and path.is_file()
        and not any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)
    )
    of_first = [path for path in found if ENDINGS[path.suffix.lower()] == "Parquet"]
    return of_first or found


def _unreadable(path: Path, error: Exception) -> TableError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return TableError("{file}: cannot be read: {reason}", file=str(path), reason=reason)


def _unpacked(source: SourceFile, unpack: Any) -> SourceFile:
    target = source.folder / "unpacked"
    try:
        with unpack(source.path, "rb") as packed, target.open("wb") as plain:
            copy_unpacked(source, packed, plain)
    except (OSError, EOFError, lzma.LZMAError, zlib.error, struct.error) as error:
        raise source.error("cannot be unpacked: {reason}", reason=str(error)) from None
    return SourceFile(target, source.name, source.folder, unpacked=True)


def detect_format(source: SourceFile) -> str | None:
    """The format that the first bytes or the name give away; None: some text."""
    if source.path.is_dir():
        for path in source.files:
            if not first_bytes(path, 16).startswith(tuple(MAGIC)):
                format = ENDINGS[path.suffix.lower()]
                place = SourceFile(path, str(path.relative_to(source.path.absolute())), source.folder)
                raise place.error("not a {format} file: damaged, or named wrongly", format=format)
        return ENDINGS[source.files[0].suffix.lower()]
    head = first_bytes(source.path, 16)
    for magic, name in MAGIC.items():
        if head.startswith(magic):
            return name
    for magic, name in FOREIGN.items():
        if head.startswith(magic):
            raise source.error("{kind}, which is not read here; save the table as CSV", kind=Message(name))
    if head.startswith(b"PK") and zipfile.is_zipfile(source.path):
        members = _archive_members(source)
        if any(member.endswith(".npy") for member in members):
            return "npz"
        kind = "an Excel workbook" if "xl/workbook.xml" in members else "a zip archive"
        raise source.error("{kind}, which is not read here; save the table as CSV", kind=Message(kind))
    promised = ENDINGS.get(source.ending)
    if promised in ("Parquet", "Feather", "npz", "npy"):
        raise source.error("not a {format} file: damaged, or named wrongly", format=promised)
    return promised


def _archive_members(source: SourceFile) -> list[str]:
    """The names in a zip archive, whose directory may be damaged in any way."""
    try:
        with zipfile.ZipFile(source.path) as archive:
            return archive.namelist()
    except Exception as error:
        kind = ENDINGS.get(source.ending, "zip")
        raise source.error(
            "damaged, or not {format}: {reason}", format=kind, reason=str(error)[:200]
        ) from error


def rows_that_fit(row_bytes: float, rows: int | None) -> int:
    """The most rows to read: as asked, and as fit into half of the memory with room to work on them."""
    try:
        room = available()
    except ValueError as error:
        raise TableError(*error.args) from None
    most = int(room / 2 / (3 * max(row_bytes, 1.0)))
    return min(max(most, 1), sys.maxsize if rows is None else rows)


def sample_rows(total: int, rows: int, seed: int) -> np.ndarray:
    """`rows` of the numbers below `total` at random, in order; never more than a block of all in memory.

    Examples
    --------
    >>> sample_rows(10, 4, seed=0).tolist()
    [2, 4, 5, 7]
    """
    rng = np.random.default_rng(seed)
    block, drawn = 1 << 20, []
    for first in range(0, total, block):
        size = min(block, total - first)
        left = total - first
        take = int(rng.hypergeometric(rows, left - rows, size)) if size < left else rows
        drawn.append(first + np.sort(rng.choice(size, take, replace=False)))
        rows -= take
    return np.concatenate(drawn) if drawn else np.empty(0, np.int64)


def sampling_note(rows: int, total: int, asked: int | None) -> Message:
    """What to say when not all rows are used."""
    if asked is not None and rows == asked:
        return Message("{rows} of {total} rows, drawn at random, are used", rows=rows, total=total)
    return Message(
        "{rows} of {total} rows, drawn at random, are used: as many as fit into memory",
        rows=rows,
        total=total,
    )


def read_blocks(file: IO[bytes]) -> Iterator[bytes]:
    """A file in pieces."""
    while block := file.read(BLOCK):
        yield block
