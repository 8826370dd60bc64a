"""Tasks that a running kernel shares with kernels of other threads.

`core.parallel.each` hands tasks to threads from Python, which takes some 70 microseconds each time: more than the
tasks take where a kernel has thousands of them, one small batch after the other. Here the helpers enter a kernel of
their own once, and stay:

    with assisted(assist, arguments, n_jobs) as board:   # assist(board, *arguments) takes tasks until it is closed
        work(board, *arguments)

The kernel `work` posts a batch of tasks and takes tasks itself until there are none left. Nobody waits for a helper
that has not begun a task, so that one without a core, or none at all, changes nothing but the time.

Who does a task must not change its result. Without compilation there are no helpers.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import wait
from contextlib import contextmanager
from typing import Any

import numpy as np

from tercet.core.kernel import JIT, inner
from tercet.core.parallel import _engine, _pool, _threads_for

# Places on the board, each on a cache line of its own: the next task, the end of those that are posted, how many
# are done, whether the board is closed. Tasks are counted from the first batch on: no number comes twice.
NEXT, END, DONE, CLOSED, SIZE = 0, 8, 16, 24, 32


def atomic_load(board: Any, place: int) -> Any:
    """The number at a place."""
    return board[place]


def atomic_store(board: Any, place: int, value: Any) -> None:
    """Set the number at a place, after all that was written before."""
    board[place] = value


def atomic_add(board: Any, place: int, value: Any) -> None:
    """Add to the number at a place."""
    board[place] += value


def atomic_swap(board: Any, place: int, expected: Any, value: Any) -> Any:
    """Set the number at a place if it is the expected one; returns whether it was."""
    same = board[place] == expected
    board[place] = value if same else board[place]
    return same


if JIT:
    from numba import types
    from numba.extending import intrinsic

    def _place(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        start = context.make_array(signature.args[0])(context, builder, values[0]).data
        return builder.gep(start, [values[1]])

    @intrinsic
    def atomic_load(_: Any, board: Any, place: Any) -> Any:
        """The number at a place."""

        def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            return builder.load_atomic(_place(context, builder, signature, values), "acquire", 8)

        return types.int64(board, types.int64), code

    @intrinsic
    def atomic_store(_: Any, board: Any, place: Any, value: Any) -> Any:
        """Set the number at a place, after all that was written before."""

        def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            builder.store_atomic(values[2], _place(context, builder, signature, values), "release", 8)
            return context.get_dummy_value()

        return types.void(board, types.int64, types.int64), code

    @intrinsic
    def atomic_add(_: Any, board: Any, place: Any, value: Any) -> Any:
        """Add to the number at a place."""

        def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            builder.atomic_rmw("add", _place(context, builder, signature, values), values[2], "seq_cst")
            return context.get_dummy_value()

        return types.void(board, types.int64, types.int64), code

    @intrinsic
    def atomic_swap(_: Any, board: Any, place: Any, expected: Any, value: Any) -> Any:
        """Set the number at a place if it is the expected one; returns whether it was."""

        def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            where = _place(context, builder, signature, values)
            found = builder.cmpxchg(where, values[2], values[3], "seq_cst", "seq_cst")
            return builder.extract_value(found, 1)

        return types.boolean(board, types.int64, types.int64, types.int64), code


@contextmanager
def assisted(
    assist: Callable[..., Any], arguments: tuple[Any, ...], n_jobs: int | None
) -> Iterator[np.ndarray]:
    """A board whose tasks up to n_jobs - 1 helpers take inside a `with` block, by `assist(board, *arguments)`."""
    board = np.zeros(SIZE, np.int64)
    helpers = min(_threads_for(n_jobs), os.cpu_count() or 1) - 1 if JIT and _engine.get() is None else 0
    begun = [_pool().submit(assist, board, *arguments) for _ in range(helpers)]
    try:
        yield board
    finally:
        board[CLOSED] = 1
        wait([helper for helper in begun if not helper.cancel()])


@inner
def post_tasks(board: Any, count: Any) -> Any:
    """Post so many tasks; returns the number of the first."""
    first = atomic_load(board, END)
    atomic_store(board, END, first + count)
    return first


@inner
def take_task(board: Any) -> Any:
    """The number of a task that nobody else has, -1 where there is none."""
    while True:
        task = atomic_load(board, NEXT)
        if task >= atomic_load(board, END):
            return np.int64(-1)
        if atomic_swap(board, NEXT, task, task + 1):
            return task


@inner
def finish_task(board: Any) -> None:
    """Say that a task is done."""
    atomic_add(board, DONE, 1)


@inner
def wait_for_tasks(board: Any) -> None:
    """Wait until all tasks that were posted are done."""
    while atomic_load(board, DONE) < atomic_load(board, END):
        pass


@inner
def is_open(board: Any) -> Any:
    """Whether there may be further tasks."""
    return atomic_load(board, CLOSED) == 0
