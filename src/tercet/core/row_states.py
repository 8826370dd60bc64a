"""Numbers of every row that passes over streamed chunks change: W of a factorisation, P(z|d) of a topic model.

The state of a chunk is a dict of arrays whose first axis is that of its rows. A pass is a function with a name in a
module, `function(chunk, state, *parameters)`, which changes neither of its arguments: it gives a new state and
statistics, or statistics alone. These are added up over the fixed tree of `core.reduction`, so that the bits are
the same wherever the states are: in pages of this machine, or on the workers of a cluster, beside their chunks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from tercet.core import parallel
from tercet.core.memory import available
from tercet.core.parallel import one_blas_thread
from tercet.core.read_ahead import feed
from tercet.core.reduction import reduced
from tercet.core.row_pages import Field, RowPages
from tercet.core.stopping import check_stop
from tercet.core.streams import MemoryStream, StreamedChunks

State = dict[str, np.ndarray]


class RowStates(Protocol):
    """The states of all chunks.

    `reads` says whether a function looks at its chunk; without it the chunk may be None, and no row is read.
    """

    def start(
        self, function: Callable[..., State], *parameters: Any, own: Sequence[Any], reads: bool = True
    ) -> None:
        """Begin with `function(chunk, own[k], *parameters)` as the state of chunk k."""

    def update(self, function: Callable[..., Any], *parameters: Any, reads: bool = True) -> Any:
        """Replace the states: `function(chunk, state, *parameters)` gives a new one, and statistics to add up."""

    def total(self, function: Callable[..., Any], *parameters: Any, reads: bool = True) -> Any:
        """The sum of the statistics `function(chunk, state, *parameters)`."""

    def gathered(self) -> Iterator[State]:
        """The states, chunk by chunk."""

    def close(self) -> None:
        """Give memory and files back."""


def row_states(chunks: Any, fields: dict[str, Field]) -> RowStates:
    """States of streamed chunks, where the engine in use works; all but the last have the same number of rows."""
    states = getattr(parallel._engine.get(), "states", PagedStates)
    return states(chunks, fields)


def array_in_memory(X: Any) -> Any:
    """The array of this machine that a streamed one stands for; None for rows of a source."""
    known = isinstance(X.stream, MemoryStream) and X.function is None
    return X.stream.arrays[X.what] if known else None


class PagedStates:
    """States in memory up to a third of it, else in temporary files; chunks are worked on one after the other.

    Examples
    --------
    >>> from tercet.core.parallel import Chunks
    >>> X = MemoryStream("test", X=np.ones((100, 2))).array("X")
    >>> states = PagedStates(Chunks(X, rows=64), {"sum": Field((), np.float64)})
    >>> def first(chunk, size):
    ...     return {"sum": np.zeros(size)}
    >>> def add(chunk, state):
    ...     return {"sum": state["sum"] + chunk[0].sum(axis=1)}, len(chunk[0])
    >>> states.start(first, own=[64, 36], reads=False)
    >>> states.update(add), states.total(lambda chunk, state: float(state["sum"].sum())), states.close()
    (100, 200.0, None)
    """

    def __init__(self, chunks: StreamedChunks, fields: dict[str, Field]) -> None:
        self.chunks = chunks
        self.pages = RowPages(chunks.borders[-1], chunks.borders[1], fields, available() // 3)

    def get(self, page: int) -> State:
        """A copy of the state of a chunk."""
        pages = self.pages
        return {name: np.ascontiguousarray(pages.get(page, name).T) for name in pages.fields}

    def set(self, page: int, state: State) -> None:
        """Replace the state of a chunk."""
        for name, values in state.items():
            self.pages.get(page, name)[:] = values.T

    def start(
        self, function: Callable[..., State], *parameters: Any, own: Sequence[Any], reads: bool = True
    ) -> None:
        for page, chunk in self._walk(reads):
            with one_blas_thread():
                self.set(page, function(chunk, own[page], *parameters))

    def update(self, function: Callable[..., Any], *parameters: Any, reads: bool = True) -> Any:
        def changed(page: int, chunk: Any) -> Any:
            with one_blas_thread():
                state, statistics = function(chunk, self.get(page), *parameters)
            self.set(page, state)
            return statistics

        return reduced(changed(page, chunk) for page, chunk in self._walk(reads))

    def total(self, function: Callable[..., Any], *parameters: Any, reads: bool = True) -> Any:
        def statistics(page: int, chunk: Any) -> Any:
            with one_blas_thread():
                return function(chunk, self.get(page), *parameters)

        return reduced(statistics(page, chunk) for page, chunk in self._walk(reads))

    def gathered(self) -> Iterator[State]:
        return (self.get(page) for page in range(len(self.pages)))

    def close(self) -> None:
        self.pages.close()

    def _walk(self, reads: bool) -> Iterator[tuple[int, Any]]:
        if not reads:
            yield from ((page, None) for page in range(len(self.pages)))
            return
        with feed(self.chunks) as ordered:
            for page, chunk in enumerate(ordered):
                check_stop()
                yield page, chunk


__all__ = ["PagedStates", "RowStates", "State", "array_in_memory", "row_states"]
