"""Arrays saved by NumPy: X and y by their usual names, or one matrix; sparse matrices saved by SciPy."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.lib import format as npy

from tercet.core.messages import Message
from tercet.datasets.readers.source_file import ReadRequest, SourceFile
from tercet.datasets.readers.table import Table, listed
from tercet.datasets.readers.table_format import typed_format
from tercet.datasets.readers.unpacking import check_archive, check_fits

if TYPE_CHECKING:
    import polars as pl

FEATURES = ("X", "x", "data", "features")
TARGETS = ("y", "Y", "target", "targets", "label", "labels")
NAMES = ("feature_names", "columns", "names")
WIDEST = 2**31 - 2  # columns of a sparse matrix
KINDS = "biufSUM"  # of dtypes that are numbers, strings or dates
Header = tuple[tuple[int, ...], bool, np.dtype[Any]]  # shape, in Fortran order, dtype


def read_npz(source: SourceFile, request: ReadRequest) -> Iterator[Table]:
    """Read an archive of arrays."""
    with zipfile.ZipFile(source.path) as archive:
        check_archive(source, archive)
        members = {name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")}
        heads = {name: _header(source, archive, name) for name in sorted(members)}
        compressed = {"indices", "indptr", "data", "format", "shape"} <= members
        if compressed or {"row", "col", "format"} <= members:
            yield from _sparse(source, request, sum(info.file_size for info in archive.infolist()))
        else:
            yield from _dense(source, archive, heads, request)


def read_npy(source: SourceFile, request: ReadRequest) -> Iterator[Table]:
    """Read one array."""
    with source.path.open("rb") as file:
        shape, fortran, dtype = head = _read_header(file)
        offset = file.tell()
    _check_header(source, "array", head, source.path.stat().st_size - offset)
    if len(shape) == 1:
        shape = (*shape, 1)
    if len(shape) != 2 or dtype.kind not in KINDS:
        raise _unsupported(source, "array", shape, dtype)
    if 0 in shape:
        raise source.error("there is no row")
    array = np.memmap(source.path, dtype, "r", offset, shape, "F" if fortran else "C")
    notes: list[Message] = []
    for wanted in request.parts(len(array), array.shape[1] * 8, notes):
        frame = _frame(source, np.array(array if wanted is None else array[wanted]), None)
        yield Table(
            frame=frame,
            source=source.name,
            format="npy",
            total_rows=len(array),
            notes=tuple(notes),
            reading=typed_format(frame).to_dict(),
        )


def _header(source: SourceFile, archive: zipfile.ZipFile, name: str) -> Header:
    info = archive.getinfo(f"{name}.npy")
    with archive.open(info) as member:
        head = _read_header(member)
    _check_header(source, name, head, info.file_size)
    return head


def _check_header(source: SourceFile, name: str, head: Header, size: int) -> None:
    """Refuse an array that cannot be in so many bytes, before any memory is taken for it."""
    shape, _, dtype = head
    if dtype.hasobject:
        raise source.error("array {name!r} holds Python objects, which are not loaded", name=name)
    if any(side < 0 for side in shape) or dtype.itemsize == 0:
        raise _unsupported(source, name, shape, dtype)
    if int(np.prod(shape, dtype=object)) * dtype.itemsize > size:
        raise source.error("array {name!r} is cut off", name=name)


def _read_header(member: IO[bytes]) -> Header:
    version = npy.read_magic(member)
    if version == (1, 0):
        return npy.read_array_header_1_0(member)
    return npy.read_array_header_2_0(member)


class _Arrays(NamedTuple):
    """The names of the arrays of an archive that make a table, and its shape."""

    features: str
    target: str | None
    names: str | None
    rows: int
    width: int


def _dense(
    source: SourceFile, archive: zipfile.ZipFile, heads: dict[str, Any], request: ReadRequest
) -> Iterator[Table]:
    used = _choose_arrays(source, heads)
    names = None
    if used.names is not None:
        found = _member(source, archive, used.names, heads[used.names], None)
        names = [_decoded(v) for v in _characters(source, used.names, found)]
    if used.target is not None:
        source.distinct([*(names or ()), used.target])
    notes: list[Message] = []
    if left := [name for name in heads if name not in used[:3]]:
        notes.append(Message("arrays not used: {names}", names=listed(left)))
    row_bytes = used.width * max(heads[used.features][2].itemsize, 8)
    for wanted in request.parts(used.rows, row_bytes, notes):
        X = _member(source, archive, used.features, heads[used.features], wanted).reshape(-1, used.width)
        frame = _frame(source, X, names)
        if used.target is not None:
            y = _member(source, archive, used.target, heads[used.target], wanted).reshape(-1)
            frame = frame.with_columns(_series(used.target, _characters(source, used.target, y)))
        yield Table(
            frame=frame,
            target=used.target,
            source=source.name,
            format="npz",
            total_rows=used.rows,
            notes=tuple(notes),
            reading=typed_format(frame).to_dict(),
        )


def _choose_arrays(source: SourceFile, heads: dict[str, Any]) -> _Arrays:
    """Features, target and column names by their usual names; the only matrix is the features."""
    features = next((name for name in FEATURES if name in heads), None)
    matrices = [name for name, (shape, _, _) in heads.items() if len(shape) == 2]
    if features is None and len(matrices) == 1:
        features = matrices[0]
    if features is None:
        raise source.error(
            "no features among the arrays {names}: X (or data) and y (or target), or one 2-d array",
            names=listed(list(heads)),
        )
    shape, _, dtype = heads[features]
    if len(shape) not in (1, 2) or dtype.kind not in KINDS:
        raise _unsupported(source, features, shape, dtype)
    rows, width = shape[0], shape[1] if len(shape) == 2 else 1
    if rows == 0 or width == 0:
        raise source.error("there is no row")
    names = next((name for name in NAMES if name in heads and heads[name][0] == (width,)), None)
    target = next((name for name in TARGETS if name in heads and name != features), None)
    if target is not None:
        size, _, kind = heads[target]
        if size not in ((rows,), (rows, 1)) or kind.kind not in KINDS:
            raise source.error(
                "{name} has shape {shape} where {features} has {total} rows",
                name=target,
                shape=str(size),
                features=features,
                total=rows,
            )
    return _Arrays(features, target, names, rows, width)


def _member(
    source: SourceFile, archive: zipfile.ZipFile, name: str, head: Header, wanted: np.ndarray | None
) -> np.ndarray:
    """An array of the archive, or only some of its rows, block by block."""
    shape, fortran, dtype = head
    with archive.open(f"{name}.npy") as member:
        if wanted is None or fortran:
            check_fits(source, name, int(np.prod(shape, dtype=object)) * dtype.itemsize)
            array = npy.read_array(member, allow_pickle=False)
            return array if wanted is None else array[wanted]
        _read_header(member)
        size = int(np.prod(shape[1:], dtype=np.int64)) * dtype.itemsize
        step, parts = max((1 << 22) // max(size, 1), 1), []
        for first in range(0, shape[0], step):
            count = min(step, shape[0] - first)
            block = member.read(count * size)
            here = wanted[np.searchsorted(wanted, first) : np.searchsorted(wanted, first + count)] - first
            parts.append(np.frombuffer(block, dtype).reshape(count, *shape[1:])[here])
        return np.concatenate(parts)


def _sparse(source: SourceFile, request: ReadRequest, size: int) -> Iterator[Table]:
    import polars as pl
    from scipy import sparse

    from tercet.core.validation import check_structure

    check_fits(source, "data", size)
    # SciPy loads without pickle, and without a look at the indices
    loaded = check_structure(sparse.load_npz(source.path))
    if loaded.dtype.kind not in "biuf" or len(loaded.shape) != 2 or loaded.shape[1] > WIDEST:
        raise _unsupported(source, "data", loaded.shape, loaded.dtype)
    check_fits(source, "indptr", 8 * (loaded.shape[0] + 1))
    matrix = check_structure(sparse.csr_array(loaded))
    total, notes = matrix.shape[0], list[Message]()
    for wanted in request.parts(total, 12.0 * matrix.nnz / max(total, 1), notes):
        yield Table(
            frame=pl.DataFrame(),
            sparse=(matrix if wanted is None else matrix[wanted]).astype(np.float64),
            source=source.name,
            format="npz",
            total_rows=total,
            notes=tuple(notes),
        )


def _frame(source: SourceFile, X: np.ndarray, names: list[str] | None) -> pl.DataFrame:
    import polars as pl

    names = source.distinct(names or [f"column_{k + 1}" for k in range(X.shape[1])])
    X = _characters(source, "X", X)
    return pl.DataFrame([_series(name, X[:, k]) for k, name in enumerate(names)])


def _characters(source: SourceFile, name: str, values: np.ndarray) -> np.ndarray:
    """The array, if all its characters are some: NumPy hands on whatever numbers a file has in their place."""
    if values.dtype.kind == "U" and values.size:
        # of native byte order, seen as numbers
        codes = np.ascontiguousarray(values, values.dtype.newbyteorder("=")).reshape(-1).view(np.uint32)
        wrong = (codes > 0x10FFFF) | ((codes >= 0xD800) & (codes <= 0xDFFF))
        if wrong.any():
            raise source.error(
                "array {name!r} holds the number {code}, which is no character",
                name=name,
                code=hex(int(codes[np.argmax(wrong)])),
            )
    return values


def _series(name: str, values: np.ndarray) -> pl.Series:
    import polars as pl

    if values.dtype.kind in "SU":
        return pl.Series(name, [_decoded(v) for v in values], dtype=pl.String)
    if values.dtype.kind == "M":
        return pl.Series(name, values.astype("datetime64[us]"))
    if values.dtype.kind == "f":
        return pl.Series(np.ascontiguousarray(values, dtype=np.float64)).fill_nan(None).alias(name)
    return pl.Series(name, np.ascontiguousarray(values))


def _decoded(value: Any) -> str:
    return value.decode("utf-8", errors="replace") if isinstance(value, bytes) else str(value)


def _unsupported(source: SourceFile, name: str, shape: Any, dtype: Any) -> Exception:
    return source.error(
        "array {name!r} has shape {shape} and type {dtype}; a 2-d array of numbers or strings is needed",
        name=name,
        shape=str(tuple(shape)),
        dtype=str(dtype),
    )
