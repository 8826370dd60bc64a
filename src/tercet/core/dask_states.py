"""States of chunks (`core.row_states`) on the workers of a Dask cluster, each beside the block of its chunks.

A pass that changes states sends its parameters, and leaves the new states where they are. What it sent is kept
here, in a log: states that are lost with a worker are computed again from the start by the passes of the log, on
the workers that are left, with the same bits. A log that has grown long is cut: the states are brought here once,
into pages, and it begins anew with them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import cloudpickle

from tercet.core.dask_engine import Block, BlockData, Call, DaskEngine, Packed, Task, sent
from tercet.core.parallel import one_blas_thread
from tercet.core.reduction import add, reduced
from tercet.core.row_pages import Field
from tercet.core.row_states import PagedStates, State
from tercet.core.streams import StreamedChunks

LOG_BYTES = 256 << 20  # of parameters; then the states are brought here
GONE = ("cancelled", "lost", "error")  # futures of results that are on no worker


class DaskStates:
    """`RowStates` of chunks that an engine has put on workers.

    Parameters
    ----------
    engine : DaskEngine
    chunks : StreamedChunks
    fields : dict of Field
        What a state holds of each row.
    """

    def __init__(self, engine: DaskEngine, chunks: StreamedChunks, fields: dict[str, Field]) -> None:
        self.engine, self.chunks, self.fields = engine, chunks, fields
        self.blocks = [StateBlock(self, block) for block in engine.blocks(chunks)]
        self.first: bytes = b""  # the function that gives the first states, with its parameters
        self.own: Sequence[Any] = ()
        self.log: list[bytes] = []
        self.saved: PagedStates | None = (
            None  # states before the passes of the log, in place of the first ones
        )
        self.history: Any = None  # the log on the workers, while it is needed

    def start(
        self, function: Callable[..., State], *parameters: Any, own: Sequence[Any], reads: bool = True
    ) -> None:
        """The first states are computed together with the first pass."""
        self.close()
        self.first, self.own = cloudpickle.dumps((function, parameters), protocol=4), own

    def update(self, function: Callable[..., Any], *parameters: Any, reads: bool = True) -> Any:
        found = self.engine.reduce_blocks(self.blocks, _changed_states, (function, add, parameters))
        for block in self.blocks:
            block.accept()
        self.log.append(cloudpickle.dumps((function, parameters), protocol=4))
        self.history = None
        if sum(map(len, self.log)) > LOG_BYTES:
            self._save()
        return found

    def total(self, function: Callable[..., Any], *parameters: Any, reads: bool = True) -> Any:
        return self.engine.reduce_blocks(self.blocks, _state_statistics, (function, add, parameters))

    def gathered(self) -> Iterator[State]:
        for block in self.blocks:
            with self.engine.cancelling() as run:
                (states,) = run.results([Task([block], run.send((None, None, ())), _states_of)])
            yield from states

    def close(self) -> None:
        for block in self.blocks:
            block.state = None
        if self.saved is not None:
            self.saved.close()
        self.saved, self.history = None, None
        self.log = []

    def _save(self) -> None:
        saved = PagedStates(self.chunks, self.fields)
        try:
            for page, state in enumerate(self.gathered()):
                saved.set(page, state)
        except BaseException:
            saved.close()
            raise
        if self.saved is not None:
            self.saved.close()
        self.saved, self.log, self.history = saved, [], None

    def computed_again(self, block: Block) -> Any:
        """The future of the states of a block, from the first or the saved ones by the passes of the log."""
        client, here = self.engine.client, range(block.first, block.last)
        if self.history is None or self.history.status in GONE:
            first = self.first if self.saved is None else None
            self.history = sent(client, _History(first, self.log))
        given = [self.own[k] if self.saved is None else self.saved.get(k) for k in here]
        begin = sent(client, _Given(given))
        return client.submit(_states_again, block.data(), self.history, begin, pure=False)


class StateBlock:
    """Consecutive chunks on a worker, with their states."""

    def __init__(self, owner: DaskStates, block: Block) -> None:
        self.owner, self.block, self.first, self.last = owner, block, block.first, block.last
        self.state: Any = None  # the future of the states
        self.changed: Any = None  # and of those that a pass gives
        self.doubted = False

    def submit(self, function: Callable[..., Any], call: Any) -> Any:
        """The future of what a function of chunks, states and a call gives; of new states, their statistics."""
        client = self.block.client
        if self.state is None or self.state.status in GONE:
            self.state = self.owner.computed_again(self.block)
        found = client.submit(function, self.block.data(), self.state, call, pure=False)
        if function is not _changed_states:
            return found
        self.changed = found
        return client.submit(_statistics_of, found, pure=False)

    def accept(self) -> None:
        """Take the new states of a pass for those that are there."""
        self.state, self.changed, self.doubted = self.changed, None, False

    def forget_lost(self) -> None:
        """After a worker was lost: states that were there, or that are not there at the second try, are gone."""
        self.block.forget_lost()
        if self.doubted:
            self.state = self.owner.history = None
        elif self.state is not None and self.state.status != "finished":
            self.state = None
        self.doubted = True


class _History(Packed):
    """How states come about: the first ones (None where states are given), and the passes since."""

    def __init__(self, first: bytes | None, log: list[bytes]) -> None:
        self.first, self.log = first, list(log)


class _Given(Packed):
    """What each state of a block begins with."""

    def __init__(self, values: list[Any]) -> None:
        self.values = values


class _BlockStates(Packed):
    """The states of the chunks of a block, and the statistics of the pass that gave them."""

    def __init__(self, states: list[State], statistics: Any = None) -> None:
        self.states, self.statistics = states, statistics

    def __sizeof__(self) -> int:  # by which Dask knows how full a worker is
        return sum(array.nbytes for state in self.states for array in state.values())


def _states_again(block: BlockData, history: _History, given: _Given) -> _BlockStates:
    states = given.values
    with one_blas_thread():
        if history.first is not None:
            function, parameters = cloudpickle.loads(history.first)
            states = [function(chunk, own, *parameters) for chunk, own in zip(block.chunks, states)]
        for packed in history.log:
            function, parameters = cloudpickle.loads(packed)
            states = [function(chunk, state, *parameters)[0] for chunk, state in zip(block.chunks, states)]
    return _BlockStates(states)


def _changed_states(block: BlockData, before: _BlockStates, call: Call) -> _BlockStates:
    states: list[State] = []

    def changed(chunk: Any, state: State) -> Any:
        new, statistics = call.function(chunk, state, *call.parameters)
        states.append(new)
        return statistics

    with one_blas_thread():
        statistics = reduced(changed(*pair) for pair in zip(block.chunks, before.states))
    return _BlockStates(states, statistics)


def _state_statistics(block: BlockData, states: _BlockStates, call: Call) -> Any:
    with one_blas_thread():
        return reduced(
            call.function(chunk, state, *call.parameters) for chunk, state in zip(block.chunks, states.states)
        )


def _statistics_of(states: _BlockStates) -> Any:
    return states.statistics


def _states_of(block: BlockData, states: _BlockStates, call: Call) -> list[State]:
    return states.states


__all__ = ["DaskStates"]
