"""A row's data on disk: made once by its generator, mapped into the process of every contender."""

from __future__ import annotations

import hashlib
import inspect
import json
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from benchmarks.harness import Data, Row

SEED = 0


def make_data(row: Row, size: str, folder: Path) -> Path:
    """The folder of a row's arrays, made once; a changed generator or size gets a new folder."""
    if size not in row.sizes:
        raise ValueError(f"row {row.name!r}: size={size!r} is not one of {sorted(row.sizes)}")
    text = (
        recipe(row.data)
        + (recipe(row.optimum) if row.optimum else "")
        + json.dumps(dict(row.sizes[size]), sort_keys=True)
    )
    where = folder / f"{row.name}-{size}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
    if not where.exists():
        folder.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(dir=folder))
        data = row.data(np.random.default_rng(SEED), **row.sizes[size])
        save(data, draft)
        if row.optimum:
            (draft / "optimum.txt").write_text(repr(float(row.quality(data, row.optimum(data)))))
        try:
            draft.rename(where)
        except OSError:  # another process made it meanwhile
            shutil.rmtree(draft)
    return where


def optimum(where: Path) -> float | None:
    """The figure of the row's exact fit, if it has one."""
    path = where / "optimum.txt"
    return float(path.read_text()) if path.exists() else None


def recipe(function: Callable[..., Any]) -> str:
    """The source of a function and of the helpers of its own file that it calls."""
    helpers = [function.__globals__.get(name) for name in function.__code__.co_names]
    own = [h for h in helpers if inspect.isfunction(h) and h.__module__ == function.__module__]
    return "".join([inspect.getsource(function), *map(recipe, own)])


def save(data: Data, where: Path) -> None:
    """One .npy file per array, three per sparse matrix: only plain .npy files can be memory-mapped."""
    for name, value in data.items():
        if sparse.issparse(value):
            matrix = value.tocsr()
            for part in ("data", "indices", "indptr"):
                np.save(where / f"{name}.{part}.npy", getattr(matrix, part))
            np.save(where / f"{name}.shape.npy", np.array(matrix.shape))
        else:
            np.save(where / f"{name}.npy", np.asarray(value))


def load(where: Path) -> Data:
    """The arrays, mapped copy-on-write (writable as usual, but shared by all contenders) and paged in."""
    files = {path.name.removesuffix(".npy"): path for path in sorted(where.glob("*.npy"))}
    arrays = {name: np.asarray(np.load(path, mmap_mode="c")) for name, path in files.items()}
    data = {name: value for name, value in arrays.items() if "." not in name}
    for name in (key.removesuffix(".shape") for key in arrays if key.endswith(".shape")):
        parts = tuple(arrays[f"{name}.{part}"] for part in ("data", "indices", "indptr"))
        data[name] = sparse.csr_matrix(parts, shape=tuple(arrays[f"{name}.shape"]))
    for value in arrays.values():
        value.ravel(order="K")[:: max(1, 4096 // value.itemsize)].sum()
    return data
