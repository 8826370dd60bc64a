"""The board of tasks that kernels share: every task is done once, by whoever comes first."""

import numpy as np
import pytest

from tercet.core import task_board
from tercet.core.kernel import JIT, kernel
from tercet.core.task_board import (
    CLOSED,
    DONE,
    END,
    NEXT,
    SIZE,
    assisted,
    finish_task,
    is_open,
    post_tasks,
    take_task,
    wait_for_tasks,
)


@kernel
def fill(board, sizes, counts, sums, helper):
    """Batches of tasks: a task counts itself and adds up what the batch before has left."""
    batch = 0
    while True:
        task = take_task(board)
        if task >= 0:
            counts[task] += 1
            sums[task] = task + 1 if task < sizes[0] else sums[task - sizes[0]] * 3
            finish_task(board)
        elif helper:
            if not is_open(board):
                return batch
        else:
            wait_for_tasks(board)
            if batch == sizes.size:
                return batch
            post_tasks(board, sizes[batch])
            batch += 1


def filled(n_jobs, sizes=(40, 40, 40, 40)):
    sizes = np.array(sizes)
    counts, sums = np.zeros(sizes.sum(), np.int64), np.zeros(sizes.sum(), np.int64)
    with assisted(fill, (sizes, counts, sums, True), n_jobs) as board:
        assert fill(board, sizes, counts, sums, False) == len(sizes)
        assert board[[NEXT, END, DONE]].tolist() == [sizes.sum()] * 3
    return board, counts, sums


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_every_task_is_done_once_and_batches_come_one_after_the_other(n_jobs):
    for _ in range(20):
        board, counts, sums = filled(n_jobs)
        assert (counts == 1).all()
        np.testing.assert_array_equal(sums, np.outer([1, 3, 9, 27], np.arange(1, 41)).ravel())
        assert board[CLOSED] == 1


def test_batches_may_be_empty():
    _, counts, _ = filled(2, (3, 0, 5))
    assert counts.tolist() == [1] * 8


def test_an_error_closes_the_board_and_frees_the_helpers():
    sizes, counts, sums = np.array([1]), np.zeros(1, np.int64), np.zeros(1, np.int64)
    for _ in range(3):  # helpers that stayed would take all threads of the pool
        with (
            pytest.raises(RuntimeError, match="broken"),
            assisted(fill, (sizes, counts, sums, True), 3) as board,
        ):
            raise RuntimeError("broken")
        assert board[CLOSED] == 1
    assert filled(3)[1].sum() == 160


def test_who_was_asked_to_help(monkeypatch):
    asked = []

    class Pool:
        def submit(self, work, board, *arguments):
            asked.append((work, board.size, arguments))
            return self

        def cancel(self):
            return True  # nobody waits for a helper that has not begun

    monkeypatch.setattr(task_board, "_pool", Pool)
    monkeypatch.setattr(task_board.os, "cpu_count", lambda: 4)
    with assisted(fill, (1, 2), 3):
        assert asked == [(fill, SIZE, (1, 2))] * (2 if JIT else 0)
    asked.clear()
    with assisted(fill, (), None), assisted(fill, (), 1):
        assert asked == []
