"""`Source`: one name for everything that rows can be read from again and again."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.sources import RowSource, SourceError

SUFFIXES = {
    ".parquet": "parquet", ".pq": "parquet",
    ".feather": "feather", ".arrow": "feather", ".ipc": "feather",
    ".csv": "csv", ".tsv": "csv", ".npy": "npy", ".npz": "npz",
    ".svmlight": "svmlight", ".libsvm": "svmlight", ".svm": "svmlight",
}  # fmt: skip


class Source(RowSource):
    """Rows that are read when they are needed, for data that need not fit into memory.

    An estimator whose learning is a sum over rows takes one in the place of X, with the names of columns for y and
    the weights: ``model.fit(Source("folder"), y="label", sample_weight="weight")``. Other columns are the features.
    The result has the bits of a fit of the same rows in memory. `predict`, `predict_proba` and `transform` of a
    source give a source again, whose rows are computed when they are walked through; `score` gives a number.

    Rows that take at most a quarter of the memory (`TERCET_MEMORY`, "300MB" say, or what the machine has left) are
    loaded once; others are read anew in every pass.

    Parameters
    ----------
    data : path, folder, pattern, list of paths, array, frame, callable or iterator
        - files of one format, or a folder or pattern of them, in the order of their names: Parquet, Feather (Arrow
          IPC), CSV, npy; sparse rows as SVMlight or as npz files of `scipy.sparse.save_npz`;
        - an array or `numpy.memmap`;
        - anything with `__arrow_c_stream__`: pandas and polars frames, Arrow tables, DuckDB relations; a reader,
          which gives its rows only once, is copied to a temporary file;
        - a Dask frame;
        - a function that gives an iterator of batches each time it is called, or an iterator, whose batches are
          copied to a temporary file. Batches are arrays, sparse matrices, or frames.
    columns : list of names, optional
        The only columns to use.
    format : {"parquet", "feather", "csv", "npy", "npz", "svmlight"}, optional
        Of files; by default as their names say.
    n_features : int, optional
        Columns of SVMlight files; by default found by reading them.

    Examples
    --------
    >>> source = Source(np.arange(6.0).reshape(3, 2))
    >>> source.n_rows, [rows.tolist() for rows in source]
    (3, [[[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]])
    """

    def __new__(cls, data: Any = None, **options: Any) -> Any:
        return super().__new__(_kind_of(data, options.get("format")) if cls is Source else cls)

    def __init__(
        self,
        data: Any,
        *,
        columns: Sequence[str] | None = None,
        format: str | None = None,
        n_features: int | None = None,
    ) -> None:
        self.data = data
        self.columns = None if columns is None else tuple(columns)
        self.format, self.n_features = format, n_features
        self._open()

    def _open(self) -> None:
        """Look at what was given."""

    def __repr__(self) -> str:
        if isinstance(self.data, str | os.PathLike):
            return f"Source({os.fspath(self.data)!r})"
        return f"Source({type(self.data).__name__})"


def _kind_of(data: Any, format: str | None) -> type[Source]:
    """The class for what was given; each is imported when it is first needed."""
    if isinstance(data, str | os.PathLike) or (
        isinstance(data, list | tuple) and data and all(isinstance(one, str | os.PathLike) for one in data)
    ):
        return _file_kind(data, format)
    if type(data).__module__.partition(".")[0] in ("dask", "dask_expr") and hasattr(data, "partitions"):
        from tercet.datasets.sources.dask_frame import DaskFrameSource

        return DaskFrameSource
    if isinstance(data, np.ndarray) or sparse.issparse(data):
        from tercet.datasets.sources.matrix import MatrixSource

        return MatrixSource
    if hasattr(data, "__arrow_c_stream__"):
        from tercet.datasets.sources.arrow_stream import ArrowStreamSource

        return ArrowStreamSource
    if isinstance(data, Callable | Iterator):  # type: ignore[arg-type]
        from tercet.datasets.sources.batches import BatchSource

        return BatchSource
    raise TypeError(
        "A Source is made of paths, an array, a frame with __arrow_c_stream__, a function that gives batches or an "
        f"iterator of them; got {type(data).__name__}."
    )


def _file_kind(data: Any, format: str | None) -> type[Source]:
    from tercet.datasets.sources.files import found_files

    if format is None:
        paths = found_files(data, SUFFIXES)
        kinds = {SUFFIXES.get(path.suffix.lower()) for path in paths}
        if len(kinds) > 1 or None in kinds:
            raise SourceError(
                f"{data}: files must be of one format, one of {sorted(set(SUFFIXES.values()))}; found names that "
                f"end in {sorted({path.suffix for path in paths})}. Give format=."
            )
        format = kinds.pop()
    if format in ("parquet", "feather"):
        from tercet.datasets.sources.arrow_files import ArrowFiles

        return ArrowFiles
    if format == "csv":
        from tercet.datasets.sources.csv_files import CSVFiles

        return CSVFiles
    if format == "npy":
        from tercet.datasets.sources.matrix import NpyFiles

        return NpyFiles
    if format in ("npz", "svmlight"):
        from tercet.datasets.sources.sparse_files import SparseFiles

        return SparseFiles
    raise ValueError(f"format must be one of {sorted(set(SUFFIXES.values()))}; got {format!r}.")
