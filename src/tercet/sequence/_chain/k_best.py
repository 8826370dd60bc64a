"""The k best paths through a chain of states (list Viterbi), for hidden Markov models and random fields alike."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.catalog import method
from tercet.core.kernel import inner, kernel

WORK = 1 << 24  # comparisons in one call of a kernel: between calls Ctrl-C is heard


@method(
    zh="k 条最优路径",
    task="sequence labelling",
    model="a chain of steps and states; a path's score is the sum of its start, transitions and states",
    strategy="the k paths of the highest score",
    algorithms="list Viterbi: every state keeps its k best ways so far, merged from those of the step before",
    texts=["000 ch. 10, Alg 10.5", "000 ch. 11, Alg 11.3"],
    peers=["CRF++ -n"],
)
def k_best(log_start: Any, log_trans: Any, log_like: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k best different paths through a chain, best first.

    The score of a path i_1 ... i_T is log_start[i_1] + sum of log_trans[i_t, i_t+1] + sum of log_like[t, i_t].
    Among equals the one with the smaller last state comes first, then the one with the smaller state before it, and
    so on, as in the Viterbi algorithm.

    Parameters
    ----------
    log_start : array of shape (n_states,)
        The score of beginning in each state; zeros where there is nothing to say.
    log_trans : array of shape (n_states, n_states) or (n_steps - 1, n_states, n_states)
        The score of each transition, the same at all steps or not; -inf where there is none.
    log_like : array of shape (n_steps, n_states)
        The score of each state at each step.
    k : int
        How many paths. Memory is that of n_steps x n_states x k whole numbers.

    Returns
    -------
    scores : array of shape (found,)
        Fewer than k where there are fewer paths: a path of score -inf is none.
    paths : array of int of shape (found, n_steps)

    Examples
    --------
    >>> import numpy as np
    >>> A, B = np.array([[0.7, 0.3], [0.4, 0.6]]), np.array([[0.9, 0.1], [0.2, 0.8]])
    >>> scores, paths = k_best(np.log([0.5, 0.5]), np.log(A), np.log(B[:, [0, 1, 0]].T), 2)
    >>> paths
    array([[0, 1, 0],
           [0, 0, 0]])
    >>> np.exp(scores).round(4)
    array([0.0389, 0.0198])
    """
    start, trans, like = (_scores(*pair) for pair in zip((log_start, log_trans, log_like), _NAMES))
    if like.ndim != 2 or not like.size:
        raise ValueError(f"log_like must have the shape (n_steps, n_states); got {like.shape}.")
    steps, n = like.shape
    if start.shape != (n,) or trans.shape not in ((n, n), (steps - 1, n, n)):
        raise ValueError(
            f"log_start and log_trans must have the shapes ({n},) and ({n}, {n}) or ({steps - 1}, {n}, {n}), as "
            f"log_like has {steps} rows and {n} columns; got {start.shape} and {trans.shape}."
        )
    if not isinstance(k, int | np.integer) or isinstance(k, bool) or k < 1:
        raise ValueError(f"k must be a positive whole number; got {k!r}.")
    k = min(int(k), n ** min(steps, 64))
    if n * k >= 2**31:
        raise ValueError(f"k={k} is too large for {n} states: k x n_states must be below 2**31.")
    back = np.empty((steps, n, k), dtype=np.int32)
    best, spare = np.full((n, k), -np.inf), np.full((n, k), -np.inf)
    found, others = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    best[:, 0] = start + like[0]
    found[:] = best[:, 0] > -np.inf
    way = np.ascontiguousarray(trans.swapaxes(-1, -2))  # to each state from all: what a merge reads
    stride = max(1, WORK // (n * (n + k * max(1, int(n).bit_length())))) if way.ndim == 2 else 1
    for t in range(1, steps, stride):
        part = slice(t, t + stride)
        flips = min(stride, steps - t) % 2
        extend(way if way.ndim == 2 else way[t - 1], like[part], back[part], best, found, spare, others)
        if flips:
            best, spare, found, others = spare, best, others, found
    last, rank, scores = _ends(best, k)
    return scores, trace(back, last, rank)


_NAMES = ("log_start", "log_trans", "log_like")


def _scores(values: Any, name: str) -> np.ndarray:
    values = np.array(
        values, dtype=np.float64, order="C"
    )  # a copy: kernels compile once, for writable arrays
    if np.isnan(values).any() or (values == np.inf).any():
        raise ValueError(
            f"{name} must hold finite numbers or -inf; got {values[~(values < np.inf)].flat[0]}."
        )
    return values


def _ends(best: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The last states of the k best paths, and which of that state's ways each is."""
    flat = best.ravel()
    order = np.argsort(-flat, kind="stable")[:k]
    order = order[flat[order] > -np.inf]
    return order // best.shape[1], order % best.shape[1], flat[order]


@kernel
def extend(way, like, back, best, found, spare, others):
    """Lead the best ways on through the steps of `like`, in turns between `best` and `spare`."""
    steps, n = like.shape
    k = best.shape[1]
    heads = np.empty(n)
    ranks = np.empty(n, np.int64)
    heap = np.empty(n, np.int64)
    for t in range(steps):
        for j in range(n):
            size = 0
            if like[t, j] > -np.inf:
                for i in range(n):
                    ranks[i] = 0
                    heads[i] = best[i, 0] + way[j, i]
                    if found[i] > 0 and heads[i] > -np.inf:
                        heap[size] = i
                        size += 1
                for place in range(size // 2 - 1, -1, -1):
                    sift(heap, size, place, heads)
            count = 0
            while size > 0 and count < k:
                i = heap[0]
                spare[j, count] = heads[i] + like[t, j]
                back[t, j, count] = i * k + ranks[i]
                count += 1
                ranks[i] += 1
                if ranks[i] < found[i]:
                    heads[i] = best[i, ranks[i]] + way[j, i]
                else:
                    size -= 1
                    heap[0] = heap[size]
                sift(heap, size, 0, heads)
            others[j] = count
            for rank in range(count, k):
                spare[j, rank] = -np.inf
        best, spare = spare, best
        found, others = others, found


@inner
def sift(heap, size, place, heads):
    """Let the state at `place` sink until no better head is below it; of equals the smaller state is better."""
    while True:
        child = 2 * place + 1
        if child >= size:
            return
        if child + 1 < size and better(heads, heap[child + 1], heap[child]):
            child += 1
        if not better(heads, heap[child], heap[place]):
            return
        heap[place], heap[child] = heap[child], heap[place]
        place = child


@inner
def better(heads, i, j):
    return heads[i] > heads[j] or (heads[i] == heads[j] and i < j)


@kernel
def trace(back, last, rank):
    """Follow each path from its end."""
    steps, k = back.shape[0], back.shape[2]
    paths = np.empty((last.size, steps), np.int64)
    for p in range(last.size):
        state, way = last[p], rank[p]
        for t in range(steps - 1, 0, -1):
            paths[p, t] = state
            code = back[t, state, way]
            state, way = code // k, code % k
        paths[p, 0] = state
    return paths


__all__ = ["k_best"]
