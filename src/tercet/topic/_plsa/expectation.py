"""Passes of PLSA over the documents, in chunks: the same bits for every number of threads."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np

from tercet.core.cache_lines import lines
from tercet.core.memory import available
from tercet.core.parallel import each
from tercet.core.rows import Sparse, rows
from tercet.topic._plsa.kernels import expect, fold_in, log_likelihoods

LEAST = 32_768  # counts in a chunk
PER_WORD = 12  # counts in a chunk for each word, or the sums over chunks would take as long as the chunks
MOST = 32  # chunks: each has expected counts of all words of its own
WORDS = 2_048  # in a piece of the sums over chunks


class Chunk(NamedTuple):
    """Some documents, and room for what is computed of them."""

    span: slice
    counts: Sparse
    room: np.ndarray
    word: np.ndarray  # expected counts; empty where nothing is learned


class Expectation:
    """Expected counts of topics in documents and of words in topics.

    Parameters
    ----------
    counts : CSR array of shape (n_documents, n_words)
    n_components : int
        Topics.
    n_jobs : int, optional
        Threads.
    learns : bool, default=True
        Whether there will be M steps: then there is room for expected counts.
    """

    def __init__(self, counts: Any, n_components: int, n_jobs: int | None, *, learns: bool = True) -> None:
        n, d = counts.shape
        self.n_components, self.n_jobs = n_components, n_jobs
        if learns and n_components * 8 * (n + d) > available():
            raise ValueError(
                f"PLSA: n_components={n_components} is too large: P(z|d) and P(w|z) of {n} documents and {d} words "
                "do not fit in memory."
            )
        view = rows(counts.astype(np.float64, copy=False))
        assert isinstance(view, Sparse)
        size = max(LEAST, PER_WORD * d, counts.nnz // MOST) if learns else LEAST
        pieces = max(1, min(counts.nnz // size, n))
        cuts = np.searchsorted(view.indptr, np.linspace(0, counts.nnz, pieces + 1)[1:-1])
        borders = np.unique([0, *cuts, n]).tolist()
        lengths = np.diff(view.indptr)
        self.chunks = []
        for first, last in itertools.pairwise(borders):
            part = Sparse(view.data, view.indices, view.indptr[first : last + 1], d)
            room = np.zeros((3, max(1, int(lengths[first:last].max()))))
            word = lines(d if learns else 0, n_components, np.float64)
            self.chunks.append(Chunk(slice(first, last), part, room, word))
        step = WORDS if len(self.chunks) > 1 else d
        self.words = [slice(a, min(a + step, d)) for a in range(0, d, step)]

    def padded(self, values: np.ndarray) -> np.ndarray:
        """A table with a column for each topic, its rows padded to whole cache lines."""
        out = lines(len(values), self.n_components, np.float64)
        out[:, : self.n_components] = values
        return out

    def expect(
        self, theta: np.ndarray, phi: np.ndarray, doc: np.ndarray, word: np.ndarray, total: float
    ) -> tuple[float, float]:
        """Expected counts n(d) P(z|d) and n(w) P(z|w), into `doc` (divided as `total` says) and `word`.

        Returns Σ n log Σ_k θ_dk φ_wk, and the sum of the counts that no topic explains.
        """
        found = each(_expect, self.chunks, theta, phi, doc, total, n_jobs=self.n_jobs)
        each(_merge, self.words, self.chunks, phi, word, n_jobs=self.n_jobs)
        return sum(part[0] for part in found), sum(part[1] for part in found)

    def log_likelihoods(self, theta: np.ndarray, phi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Σ_w n(d,w) log Σ_k θ_dk φ_wk of each document over its possible words, and the sum of their counts."""
        out, seen = np.zeros(len(theta)), np.zeros(len(theta))

        def chunk(part: Chunk) -> None:
            here = part.span
            log_likelihoods(part.counts, theta[here], phi, out[here], seen[here], part.room)

        each(chunk, self.chunks, n_jobs=self.n_jobs)
        return out, seen

    def fold_in(
        self, theta: np.ndarray, phi: np.ndarray, most: int, tol: float, beta: float = 1.0
    ) -> tuple[np.ndarray, bool]:
        """Change θ of each document until it explains its words best; the counts that it can explain, and whether
        all documents came to an end."""
        seen, phi = np.zeros(len(theta)), phi if beta == 1 else phi**beta

        def chunk(part: Chunk) -> bool:
            here, work = part.span, lines(2, self.n_components, np.float64)
            return fold_in(part.counts, phi, theta[here], seen[here], work, part.room, most, tol, beta)

        settled = each(chunk, self.chunks, n_jobs=self.n_jobs)
        return seen, all(settled)


def _expect(
    part: Chunk, theta: np.ndarray, phi: np.ndarray, doc: np.ndarray, total: float
) -> tuple[float, float]:
    part.word.fill(0.0)
    return expect(part.counts, theta[part.span], phi, doc[part.span], part.word, total, part.room)


def _merge(here: slice, chunks: list[Chunk], phi: np.ndarray, word: np.ndarray) -> None:
    """The sums over the chunks for some words, in the order of the chunks."""
    out = word[here]
    np.copyto(out, chunks[0].word[here])
    for part in chunks[1:]:
        out += part.word[here]
    out *= phi[here]
