"""Arrays saved by NumPy: X and y by their usual names, or one matrix; sparse matrices saved by SciPy."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.lib import format as npy

from tercet.core.messages import Message
from tercet.datasets.readers.source_file import ReadRequest, SourceFile
from tercet.datasets.readers.table import Table, listed
from tercet.datasets.readers.table_format import typed_format

if TYPE_CHECKING:
    import polars as pl

FEATURES = ("X", "x", "data", "features")
TARGETS = ("y", "Y", "target", "targets", "label", "labels")
NAMES = ("feature_names", "columns", "names")
READ_ERRORS = (
    ValueError,
    OSError,
    EOFError,
    KeyError,
    MemoryError,
    zipfile.BadZipFile,
    zlib.error,
    NotImplementedError,
)


def read_npz(source: SourceFile, request: ReadRequest) -> Iterator[Table]:
    """Read an archive of arrays."""
    try:
        with zipfile.ZipFile(source.path) as archive:
            members = {name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")}
            if {"indices", "indptr", "data", "format", "shape"} <= members or {
                "row",
                "col",
                "format",
            } <= members:
                yield from _sparse(source, request)
                return
            heads = {name: _header(source, archive, name) for name in sorted(members)}
            yield from _dense(source, archive, heads, request)
    except READ_ERRORS as error:
        if hasattr(error, "note"):
            raise
        raise source.error(
            "damaged, or not {format}: {reason}", format="npz", reason=str(error)[:200]
        ) from None


def read_npy(source: SourceFile, request: ReadRequest) -> Iterator[Table]:
    """Read one array."""
    try:
        array = np.load(source.path, mmap_mode="r", allow_pickle=False)
    except READ_ERRORS as error:
        raise source.error(
            "damaged, or not {format}: {reason}", format="npy", reason=str(error)[:200]
        ) from None
    if array.ndim == 1 and array.dtype.names is None:
        array = array[:, None]
    if array.ndim != 2 or array.dtype.kind not in "biufSUM":
        raise _unsupported(source, "array", array.shape, array.dtype)
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


def _header(
    source: SourceFile, archive: zipfile.ZipFile, name: str
) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    info = archive.getinfo(f"{name}.npy")
    with archive.open(info) as member:
        head = _read_header(member)
    shape, _, dtype = head
    if dtype.hasobject:
        raise source.error("array {name!r} holds Python objects, which are not loaded", name=name)
    if int(np.prod(shape, dtype=object)) * dtype.itemsize > info.file_size:
        raise source.error("array {name!r} is cut off", name=name)
    return head


def _read_header(member: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
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
        names = [_decoded(v) for v in _member(archive, used.names, heads[used.names], None)]
    if used.target is not None:
        source.distinct([*(names or ()), used.target])
    notes: list[Message] = []
    if left := [name for name in heads if name not in used[:3]]:
        notes.append(Message("arrays not used: {names}", names=listed(left)))
    row_bytes = used.width * max(heads[used.features][2].itemsize, 8)
    for wanted in request.parts(used.rows, row_bytes, notes):
        X = _member(archive, used.features, heads[used.features], wanted).reshape(-1, used.width)
        frame = _frame(source, X, names)
        if used.target is not None:
            y = _member(archive, used.target, heads[used.target], wanted).reshape(-1)
            frame = frame.with_columns(_series(used.target, y))
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
    if len(shape) not in (1, 2) or dtype.kind not in "biufSUM":
        raise _unsupported(source, features, shape, dtype)
    rows, width = shape[0], shape[1] if len(shape) == 2 else 1
    if rows == 0 or width == 0:
        raise source.error("there is no row")
    names = next((name for name in NAMES if name in heads and heads[name][0] == (width,)), None)
    target = next((name for name in TARGETS if name in heads and name != features), None)
    if target is not None:
        size, _, kind = heads[target]
        if size not in ((rows,), (rows, 1)) or kind.kind not in "biufSUM":
            raise source.error(
                "{name} has shape {shape} where {features} has {total} rows",
                name=target,
                shape=str(size),
                features=features,
                total=rows,
            )
    return _Arrays(features, target, names, rows, width)


def _member(archive: zipfile.ZipFile, name: str, head: Any, wanted: np.ndarray | None) -> np.ndarray:
    """An array of the archive, or only some of its rows, block by block."""
    shape, fortran, dtype = head
    with archive.open(f"{name}.npy") as member:
        if wanted is None or fortran:
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


def _sparse(source: SourceFile, request: ReadRequest) -> Iterator[Table]:
    import polars as pl
    from scipy import sparse

    from tercet.core.validation import check_structure

    # SciPy loads without pickle, and without a look at the indices
    matrix = check_structure(sparse.csr_array(check_structure(sparse.load_npz(source.path))))
    if matrix.dtype.kind not in "biuf":
        raise _unsupported(source, "data", matrix.shape, matrix.dtype)
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
    return pl.DataFrame([_series(name, X[:, k]) for k, name in enumerate(names)])


def _series(name: str, values: np.ndarray) -> pl.Series:
    import polars as pl

    if values.dtype.kind in "SU":
        return pl.Series(name, [_decoded(v) for v in values], dtype=pl.String)
    if values.dtype.kind == "M":
        return pl.Series(name, values.astype("datetime64[us]"))
    if values.dtype.kind == "f":
        return pl.Series(name, np.ascontiguousarray(values, dtype=np.float64)).fill_nan(None)
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
