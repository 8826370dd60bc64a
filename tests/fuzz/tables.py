"""Rows, targets and weights of many kinds, for the fuzzer.

`wild_*` draws anything that a user might pass by intent or by mistake; `calm_problem` draws data on which a method
should learn, for oracles that compare two ways to one model.
"""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from scipy import sparse

from tests.conformance.population import RECORDS, TEXTS, data, is_sequential

WORDS = np.array(["a", "b", "", "ä", "nan", "1", "long word", "B"])


def pick(rng: np.random.Generator, *choices: Any) -> Any:
    return choices[rng.integers(len(choices))]


def wild_numbers(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """A table of numbers: of any scale, constant, repeated, collinear, with gaps."""
    X = rng.normal(size=(n, d))
    kind = rng.integers(16)
    if kind == 0:
        X = np.floor(3 * rng.random((n, d)))
    elif kind == 1:
        X = rng.random((n, d))
    elif kind == 2:
        X = rng.poisson(2.0, size=(n, d)).astype(float)
    elif kind == 3:
        X = (X > 0).astype(float)
    elif kind == 4 and d:
        X[:, rng.integers(d)] = pick(rng, 0.0, 1.0, -3.5, 1e9)
    elif kind == 5 and n:
        X = X[rng.integers(max(1, n // 3), size=n)]
    elif kind == 6 and d > 1:
        X[:, -1] = X[:, 0] * pick(rng, 1.0, -2.0, 1e-9) + pick(rng, 0.0, 1.0)
    elif kind == 7:
        X *= 10.0 ** rng.integers(-9, 10, size=d)
    elif kind == 8:
        X *= pick(rng, 1e-300, 1e-160, 1e-30, 1e30, 1e160, 1e300)
    elif kind == 9:
        X *= 10.0 ** rng.integers(-300, 300, size=d)
    elif kind == 10:
        X = np.abs(X) * 5e-324 * rng.integers(1, 1000)
    elif kind == 11:
        X[rng.random((n, d)) < 0.2] = np.nan
    elif kind == 12:
        X[rng.random((n, d)) < 0.1] = pick(rng, np.inf, -np.inf)
    elif kind == 13:
        X = np.where(rng.random((n, d)) < 0.8, 0.0, np.round(X, 1))
    elif kind == 14:
        X = X + pick(rng, 1e6, 1e12, -1e9)
    return X


def wild_shape(rng: np.random.Generator) -> tuple[int, int]:
    n = int(rng.integers(41)) if rng.random() < 0.85 else int(rng.integers(4))
    d = int(rng.integers(1, 9)) if rng.random() < 0.95 else 0
    return n, d


def wild_container(rng: np.random.Generator, X: np.ndarray, *, sparse_share: float = 0.2) -> Any:
    """The same table in a container of another type, order, dtype or structure."""
    if rng.random() < sparse_share:
        return odd_sparse(rng, X)
    kind = rng.integers(16)
    with np.errstate(all="ignore"):
        if kind == 0:
            return X.tolist()
        if kind == 1:
            return np.asfortranarray(X)
        if kind == 2:
            return np.repeat(X, 2, axis=1)[:, ::2]
        if kind == 3:
            X = X.copy()
            X.setflags(write=False)
            return X
        if kind == 4:
            return X.astype(np.float32)
        if kind == 5:
            return np.nan_to_num(X).clip(-100, 100).astype(pick(rng, np.int64, np.int8, np.uint8, np.int32))
        if kind == 6:
            return X > 0
        if kind == 7:
            return X.astype(object)
        if kind == 8:
            return pd.DataFrame(X, columns=[f"c{k}" for k in range(X.shape[1])])
        if kind == 9:
            return pl.DataFrame(X, schema=[f"c{k}" for k in range(X.shape[1])]) if X.shape[1] else X
        if kind == 10 and rng.random() < 0.4:
            return mixed_frame(rng, X)
        if kind == 11 and rng.random() < 0.3:
            return WORDS[rng.integers(WORDS.size, size=X.shape)]
        if kind == 12 and rng.random() < 0.2:
            return pick(rng, X[:, :1].ravel() if X.size else X, X[None], 3.0, None, "text", X.astype(complex))
        if kind == 14 and rng.random() < 0.2:
            return broken_sparse(rng, X)
        if kind == 13:
            return X.astype(pick(rng, ">f8", np.float16, np.longdouble))
    return X


def mixed_frame(rng: np.random.Generator, X: np.ndarray) -> Any:
    frame = pd.DataFrame(X, columns=[f"c{k}" for k in range(X.shape[1])])
    words = WORDS[rng.integers(3, size=len(X))]
    frame["word"] = pick(rng, pd.Categorical(words), words.astype(object), pd.array(words, dtype="string"))
    if rng.random() < 0.3 and len(X):
        frame.loc[0, "word"] = None
    return frame


def odd_sparse(rng: np.random.Generator, X: np.ndarray) -> Any:
    """A sparse matrix: any format, wide indices, entries out of order, entries in parts, zeros that are stored."""
    kind = rng.integers(7)
    matrix = sparse.csr_array(X) if kind != 6 else sparse.csr_matrix(X)
    if kind == 1:
        return sparse.csc_array(X)
    if kind == 2:
        return sparse.coo_array(X)
    if kind == 3 and matrix.nnz:  # every entry in two parts, whose sum is not rounded
        coo = matrix.tocoo()
        rows, columns = coo.coords
        if rng.random() < 0.6:
            pairs = np.repeat(matrix.data / 2, 2)
            return sparse.csr_array((pairs, np.repeat(matrix.indices, 2), 2 * matrix.indptr), shape=X.shape)
        halves = np.concatenate([coo.data / 2, coo.data / 2])
        where = (np.concatenate([rows, rows]), np.concatenate([columns, columns]))
        return sparse.coo_array((halves, where), shape=X.shape)
    if kind == 4:
        matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    if kind == 5 and matrix.nnz:  # each row backwards
        matrix.has_sorted_indices = True
        for i in range(X.shape[0]):
            here = slice(matrix.indptr[i], matrix.indptr[i + 1])
            matrix.indices[here] = matrix.indices[here][::-1].copy()
            matrix.data[here] = matrix.data[here][::-1].copy()
        matrix = sparse.csr_array((matrix.data, matrix.indices, matrix.indptr), shape=X.shape)
    if kind == 0:  # zeros that are stored
        full = np.indices(X.shape).reshape(2, -1)
        return sparse.csr_array(sparse.coo_array((X.ravel(), (full[0], full[1])), shape=X.shape))
    return matrix


def broken_sparse(rng: np.random.Generator, X: np.ndarray) -> Any:
    """A matrix whose indices lead out of it, or whose rows end before they begin."""
    matrix = sparse.csr_array(X)
    if matrix.nnz and rng.random() < 0.7:
        matrix.indices[rng.integers(matrix.nnz)] = pick(rng, -1, X.shape[1], 2**30)
    else:
        matrix.indptr[rng.integers(len(matrix.indptr))] = pick(rng, -1, matrix.nnz + 1, 2**30)
    return matrix


def wild_texts(rng: np.random.Generator, n: int) -> list[Any]:
    """Documents: words, other scripts, blanks, bytes, and now and then what is no text."""
    words = (
        "rose",
        "Rose",
        "a",
        "of",
        "été",
        "三行诗",
        "ß",
        "x_1",
        "42",
        "\x00",
        "\u200b",
        "don't",
        "<b>",
        "",
    )
    found: list[Any] = [
        pick(rng, " ", "\n", ", ").join(pick(rng, *words) for _ in range(int(rng.integers(6))))
        for _ in range(n)
    ]
    if n and rng.random() < 0.2:
        found[int(rng.integers(n))] = pick(rng, None, np.nan, 3, b"rose", ["rose"], {"a": 1})
    return found


def wild_target(rng: np.random.Generator, card: Any, X: np.ndarray) -> Any:
    """Targets: of one class or many, words, numbers of any sign and size, several columns, too few."""
    n = len(X)
    if rng.random() < 0.02:
        return pick(rng, None, np.zeros(n + 1), np.array(["x", 1, None] * n, dtype=object)[:n], [[]] * n, 1.0)
    regression = card.task == "regression"
    if regression and rng.random() < 0.9:
        return _wild_reals(rng, n)
    k = pick(rng, 1, 2, 2, 3, 3, 5, max(1, n))
    index = rng.integers(k, size=n)
    form = rng.integers(12)
    if form == 0:
        return np.array(["b", "a", "c", "dd", "ä"])[index % 5]
    if form == 1:
        return [("no", "yes", "perhaps")[i % 3] for i in index]
    if form == 2:
        return index.astype(bool)
    if form == 3:
        return index.astype(float)
    if form == 4:
        return (index % 3 * 100 - 128).astype(np.int8)
    if form == 5:
        return pd.Series(index)
    if form == 6:
        return index[:, None]
    if form == 7 and rng.random() < 0.5:
        return np.column_stack([index, rng.integers(2, size=n)])
    if form == 8:
        return index * (2**40) - 2**50
    if form == 9:
        return index.astype(object)
    return index


def _wild_reals(rng: np.random.Generator, n: int) -> Any:
    y = rng.normal(size=n)
    kind = rng.integers(12)
    if kind < 3:
        y = np.exp(y)
    elif kind == 4:
        y = rng.poisson(2.0, size=n).astype(pick(rng, float, int))
    elif kind == 5:
        y = np.full(n, pick(rng, 0.0, 1.0, -2.0))
    elif kind == 6:
        y = np.abs(y) * pick(rng, 1e-300, 1e-30, 1e30, 1e300)
    elif kind == 7:
        y = y.astype(np.float32)
    elif kind == 8:
        y = y[:, None]
    elif kind == 9 and rng.random() < 0.5:
        y = np.column_stack([y, -y])
    elif kind == 10 and n and rng.random() < 0.3:
        y[rng.integers(n)] = pick(rng, np.nan, np.inf)
    elif kind in (3, 11) and n and rng.random() < 0.7:
        y = y.astype(object)
        y[rng.integers(n)] = pick(rng, None, None, None, 1, 2.5, "3", "x")
    return y.tolist() if rng.random() < 0.1 else y


def wild_weight(rng: np.random.Generator, n: int) -> Any:
    """Weights of rows, right or wrong; None half of the time."""
    kind = rng.integers(18)
    w = rng.random(n) + 0.1
    if kind == 0:
        return rng.integers(4, size=n)
    if kind == 1 and n:
        w = np.zeros(n)
        w[rng.integers(n)] = 1.0
        return w
    if kind == 2:
        return w * pick(rng, 1e-300, 1e-30, 1e30, 1e300)
    if kind == 3 and rng.random() < 0.5:
        return -w
    if kind == 4 and rng.random() < 0.5:
        return np.ones(n + 1)
    if kind == 5:
        return w.astype(np.float32).tolist()
    if kind == 6:
        return 10.0 ** rng.integers(-12, 12, size=n)
    if kind == 7 and rng.random() < 0.3:
        return pick(rng, np.zeros(n), np.full(n, np.nan), "balanced", np.ones((n, 2)))
    if kind == 8:
        return w
    return None


def calm_problem(rng: np.random.Generator, card: Any, rows: tuple[int, int] = (12, 41)) -> tuple[Any, Any]:
    """Rows and targets that suit a card, of a size, a scale and a share of zeros that differ from case to case."""
    n, d = int(rng.integers(*rows)), int(rng.integers(2, 7))
    X, y = data(card, n=n, d=d, seed=int(rng.integers(2**31)))
    if is_sequential(card):
        return X, y
    if card.name in (*TEXTS, *RECORDS):
        return np.array(X, dtype=object), y
    if rng.random() < 0.5:
        X = np.where(X < 0.4, 0.0, X)
    if rng.random() < 0.3:
        X = X * 10.0 ** rng.integers(-1, 2, size=d)
    if rng.random() < 0.2 and card.task in ("classification", "regression") and not positive_only(card):
        X = X - 0.5
    if card.task == "classification":
        y = _labels(rng, y)
    return np.ascontiguousarray(X), y


def positive_only(card: Any) -> bool:
    return bool(card.load().positive_only) or card.name == "MaxEnt"


def _labels(rng: np.random.Generator, y: np.ndarray) -> np.ndarray:
    """Classes 0, 1 and 2 under other names."""
    if rng.random() < 0.4:
        y = np.minimum(y, 1)
    form = rng.integers(5)
    if form == 0:
        return np.array(["b", "a", "cc"])[y]
    if form == 1:
        return y * 10 - 5
    if form == 2:
        return y.astype(float)
    return y
