"""Temporary copies of rows that can be read only once."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from scipy import sparse


class ArrowSpool:
    """The record batches of a reader in a temporary file, which goes with this object."""

    def __init__(self, reader: Any) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="tercet-")
        self.path, self.num_rows = Path(self.folder.name) / "rows.arrow", 0
        with pa.OSFile(str(self.path), "wb") as file, pa.ipc.new_file(file, reader.schema) as writer:
            for batch in reader:
                writer.write_batch(batch)
                self.num_rows += batch.num_rows

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        file = pa.ipc.open_file(pa.memory_map(str(self.path)))
        batches: Iterator[Any] = (file.get_batch(k) for k in range(file.num_record_batches))
        return pa.RecordBatchReader.from_batches(file.schema, batches).__arrow_c_stream__(requested_schema)


class ArraySpool:
    """The batches of an iterator in temporary files, to be given again and again."""

    def __init__(self, batches: Iterator[Any]) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="tercet-")
        self.count, self.kinds = 0, []
        for batch in batches:
            path = Path(self.folder.name) / str(self.count)
            if hasattr(batch, "__arrow_c_stream__"):
                self.kinds.append("arrow")
                table = pa.table(batch)
                with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
                    writer.write_table(table)
            elif sparse.issparse(batch):
                self.kinds.append("npz")
                sparse.save_npz(path.with_suffix(".npz"), batch.tocsr(), compressed=False)
            else:
                self.kinds.append("npy")
                np.save(path.with_suffix(".npy"), np.asarray(batch))
            self.count += 1

    def __call__(self) -> Iterator[Any]:
        """The batches, from the first."""
        for k, kind in enumerate(self.kinds):
            path = Path(self.folder.name) / str(k)
            if kind == "arrow":
                yield pa.ipc.open_file(pa.memory_map(str(path))).read_all()
            elif kind == "npz":
                yield sparse.load_npz(path.with_suffix(".npz"))
            else:
                yield np.load(path.with_suffix(".npy"), mmap_mode="r")
