"""Passes of label propagation and label spreading over a graph: dense by products, sparse by kernels on threads.

F, of shape (n, n_classes), is read by all rows and written anew by each pass; the rows are cut into spans that come
from the graph alone, so that the bits are the same for any number of threads.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.kernel import kernel
from tercet.core.parallel import total
from tercet.core.rows import read_only

SPAN = 1 << 17  # entries of the graph that one thread works on at a time


def graph_spans(graph: Any) -> list[tuple[int, int]]:
    """Spans of rows with about equal numbers of entries."""
    n = graph.shape[0]
    if not sparse.issparse(graph):
        width = max(64, SPAN // max(n, 1))
        return [(start, min(start + width, n)) for start in range(0, n, width)]
    parts = max(1, -(-int(graph.nnz) // SPAN))
    borders = np.searchsorted(graph.indptr, np.linspace(0, graph.nnz, parts + 1)[1:-1])
    edges = np.unique([0, *borders.tolist(), n])
    return [(int(a), int(b)) for a, b in pairwise(edges)]


def spread(
    graph: Any, F: np.ndarray, Y: np.ndarray, alpha: float, spans: Any, n_jobs: Any
) -> tuple[np.ndarray, float]:
    """α S F + (1 - α) Y (11.14), and the sum of absolute changes; Y is multiplied by 1 - α already."""
    out, F, Y = np.empty_like(F), read_only(F), read_only(Y)

    def rows(span: tuple[int, int]) -> float:
        start, stop = span
        if sparse.issparse(graph):
            return spread_rows(*_csr(graph), F, Y, alpha, start, stop, out)
        out[start:stop] = alpha * (graph[start:stop] @ F) + Y[start:stop]
        return float(np.abs(out[start:stop] - F[start:stop]).sum())

    return out, float(total(rows, spans, n_jobs=n_jobs))


def propagate(
    graph: Any, F: np.ndarray, Y: np.ndarray, known: np.ndarray, spans: Any, n_jobs: Any
) -> tuple[np.ndarray, float]:
    """Rows of P F that sum to 1, labelled rows as they are; and the sum of absolute changes."""
    out, F, Y = np.empty_like(F), read_only(F), read_only(Y)

    def rows(span: tuple[int, int]) -> float:
        start, stop = span
        if sparse.issparse(graph):
            return propagate_rows(*_csr(graph), F, Y, read_only(known), start, stop, out)
        part = graph[start:stop] @ F
        mass = part.sum(axis=1, keepdims=True)
        np.divide(part, mass, out=part, where=mass != 0)
        part[known[start:stop]] = Y[start:stop][known[start:stop]]
        out[start:stop] = part
        return float(np.abs(part - F[start:stop]).sum())

    return out, float(total(rows, spans, n_jobs=n_jobs))


def _csr(graph: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return read_only(graph.indptr), read_only(graph.indices), read_only(graph.data)


@kernel
def spread_rows(indptr, indices, data, F, Y, alpha, start, stop, out):
    """out = α S F + Y for some rows; returns Σ |out - F| over them."""
    change = 0.0
    for i in range(start, stop):
        row = out[i]
        for c in range(row.size):
            row[c] = 0.0
        for s in range(indptr[i], indptr[i + 1]):
            w, other = data[s], F[indices[s]]
            for c in range(row.size):
                row[c] += w * other[c]
        for c in range(row.size):
            row[c] = alpha * row[c] + Y[i, c]
            change += abs(row[c] - F[i, c])
    return change


@kernel
def propagate_rows(indptr, indices, data, F, Y, known, start, stop, out):
    """out = P F for some rows, each divided by its sum, or Y where the label is known; returns Σ |out - F|."""
    change = 0.0
    for i in range(start, stop):
        row = out[i]
        if known[i]:
            for c in range(row.size):
                row[c] = Y[i, c]
        else:
            for c in range(row.size):
                row[c] = 0.0
            for s in range(indptr[i], indptr[i + 1]):
                w, other = data[s], F[indices[s]]
                for c in range(row.size):
                    row[c] += w * other[c]
            mass = 0.0
            for c in range(row.size):
                mass += row[c]
            if mass != 0.0:
                for c in range(row.size):
                    row[c] /= mass
        for c in range(row.size):
            change += abs(row[c] - F[i, c])
    return change


def reached_rows(graph: Any, known: np.ndarray) -> np.ndarray:
    """Mask of the rows from which a path of edges leads to a labelled row."""
    reached = known.copy()
    linked = graph != 0
    while True:
        further = reached | (linked @ reached.astype(np.float64) > 0)
        if further.sum() == reached.sum():
            return reached
        reached = further
