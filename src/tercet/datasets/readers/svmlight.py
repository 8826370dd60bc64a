"""SVMlight / LIBSVM: `label index:value index:value ...`."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_svmlight_file

from tercet.core.messages import Message
from tercet.datasets.readers.encoding import to_utf8
from tercet.datasets.readers.record_scan import Grammar, read_records, scan_records
from tercet.datasets.readers.source_file import ReadRequest, SourceFile, read_blocks
from tercet.datasets.readers.table import Table
from tercet.datasets.readers.table_format import TableFormat

LINE = Grammar(delimiter="\x01", quote="", comment="#")  # a record is a line, whatever is in it
WORD = re.compile(r"\S+")
WHOLE = re.compile(r"[0-9]{1,18}")
EXACT = 2.0**53  # whole numbers below are exact, and have a place among integers


def read_svmlight(source: SourceFile, request: ReadRequest) -> Iterator[Table]:
    """Read SVMlight; the features are sparse, the label is the column "target"."""
    import polars as pl
    from scipy.sparse import csr_array

    path, begin, _ = to_utf8(source)
    total = scan_records(path, begin, LINE, 1).records
    if total == 0:
        raise source.error("the file is empty")
    notes: list[Message] = []
    base, at = request.like.base, (0, begin)
    for wanted in request.parts(total, 2.0 * path.stat().st_size / total, notes):
        rows = np.arange(total) if wanted is None else wanted
        text, at = read_records(path, at, LINE, 1, rows)
        X, y, query = _parse_with_polars(source, path, begin, text, rows)
        zero = bool((X.indices == 0).any())
        if base is None:
            base = 0 if zero or (wanted is not None and _zero_based(path)) else 1
        elif base == 1 and zero:
            raise source.error("there is an index 0, where indices are to count from 1")
        X = csr_array(X[:, base:])
        if X.shape[1] == 0:
            raise source.error("no row has a feature")
        if X.shape[1] < request.like.width:
            X = csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], request.like.width))
        said = [*notes, Message("indices count from {start}", start=base)]
        if strange := int(np.count_nonzero(~np.isfinite(X.data))):
            said.append(Message("values that are NaN or infinite: {n}", n=strange))
        columns = {"target": pl.Series(y.astype(np.int64) if _are_whole(y) else y)}
        if query.any():
            columns["qid"] = pl.Series(query.astype(np.int64))
        yield Table(
            frame=pl.DataFrame(columns),
            sparse=X,
            target="target",
            source=source.name,
            format="SVMlight",
            total_rows=total,
            notes=tuple(said),
            reading=TableFormat(base=base, width=X.shape[1]).to_dict(),
        )


def _parse_with_polars(
    source: SourceFile, path: Path, begin: int, text: bytes, rows: np.ndarray
) -> tuple[Any, np.ndarray, np.ndarray]:
    """Features, labels and query numbers of these rows, of which this is the text."""
    try:
        X, y, query = load_svmlight_file(io.BytesIO(text), zero_based=True, query_id=True)
        if 0 < len(query) < len(y):
            raise ValueError("some rows have no qid")
    except (ValueError, OverflowError, TypeError):
        # It says no line; and it refuses what is merely out of order. Slowly, then.
        X, y, query = _parse_with_csv(source, path, begin)
        X, y, query = X[rows], y[rows], query[rows]
    return X, y, query


def _are_whole(y: np.ndarray) -> bool:
    return bool(np.all((y == np.round(y)) & (np.abs(y) < EXACT)))


def _zero_based(path: Path) -> bool:
    """Whether index 0 is anywhere in the file, in a row that was drawn or not."""
    tail = b""
    with path.open("rb") as file:
        for block in read_blocks(file):
            if re.search(rb"[ \t]0+:", tail + block):
                return True
            tail = block[-8:]
    return False


def _parse_with_csv(source: SourceFile, path: Path, begin: int) -> tuple[Any, np.ndarray, np.ndarray]:
    """Line by line, to name the one that is wrong."""
    from scipy.sparse import csr_array

    labels, queries, columns, values, ends = [], [], [], [], [0]
    with path.open(encoding="utf-8", newline="\n") as file:
        file.seek(begin)
        for number, line in enumerate(file, 1):
            words = WORD.findall(line.partition("#")[0])
            if not words:
                continue
            if re.fullmatch(r"[^:,]+(,[^:,]+)+", words[0]):
                raise source.error(
                    "line {line} has several labels ({word}); only one a row is read",
                    line=number,
                    word=words[0],
                )
            labels.append(_number(source, number, words[0]))
            queries.append(0)
            pairs: dict[int, float] = {}
            for word in words[1:]:
                index, colon, value = word.partition(":")
                if index == "qid" and WHOLE.fullmatch(value):
                    queries[-1] = int(value)
                    continue
                if not colon or not WHOLE.fullmatch(index) or int(index) > 2**31 - 2:
                    raise source.error(
                        "line {line}: {word!r} is not index:value with an index from 0",
                        line=number,
                        word=word,
                    )
                if int(index) in pairs:
                    raise source.error("line {line}: index {index} comes twice", line=number, index=index)
                pairs[int(index)] = _number(source, number, value)
            for index in sorted(pairs):
                columns.append(index)
                values.append(pairs[index])
            ends.append(len(columns))
    shape = (len(labels), max(columns, default=-1) + 1)
    matrix = csr_array((np.array(values), np.array(columns, np.int32), np.array(ends, np.int32)), shape=shape)
    return matrix, np.array(labels), np.array(queries)


def _number(source: SourceFile, line: int, word: str) -> float:
    try:
        return float(word)
    except ValueError:
        raise source.error("line {line}: {word!r} is not a number", line=line, word=word) from None
