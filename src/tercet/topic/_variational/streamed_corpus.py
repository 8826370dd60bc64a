"""Documents of a source, read in batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scipy import sparse

from tercet.core.parallel import Chunks
from tercet.core.read_ahead import feed
from tercet.core.row_sums import mass_of
from tercet.topic._variational.corpus import Corpus
from tercet.topic.documents import without_zeros

DOCUMENTS_AT_ONCE = 4096  # that variational EM over all documents reads


class StreamedCorpus:
    """Streamed documents that are read anew in each walk through their batches.

    Parameters
    ----------
    X : StreamedArray of shape (n_documents, n_words)
    weight : StreamedArray of shape (n_documents,), optional
    rows : int
        Documents in a batch.
    """

    def __init__(self, X: Any, weight: Any, rows: int) -> None:
        self.chunks, self.size = Chunks(X, weight, rows=rows), mass_of(X, weight)

    def __iter__(self) -> Iterator[Corpus]:
        with feed(self.chunks) as ordered:
            for X, weight in ordered:
                yield Corpus(without_zeros(sparse.csr_array(X)), weight)
