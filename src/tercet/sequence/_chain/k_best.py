"""List Viterbi: the k best paths to every state, merged step by step with a heap."""

from __future__ import annotations

import numpy as np

from tercet.core.kernel import inner, kernel


@kernel
def extend(into, like, back, best, found, spare, spare_found):
    """Extend the k best paths to every state by the T steps of `like` (T, N).

    `into` (N, N) holds the transition scores to each state (row) from all others. `best` (N, k) has the scores of
    the paths to each state, best first, `found` (N,) how many there are; each step is written to `spare` and
    `spare_found`, and the two change places. `back` (T, N, k) gets where each path came from: state * k + rank."""
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
                    heads[i] = best[i, 0] + into[j, i]
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
                    heads[i] = best[i, ranks[i]] + into[j, i]
                else:
                    size -= 1
                    heap[0] = heap[size]
                sift(heap, size, 0, heads)
            spare_found[j] = count
            for rank in range(count, k):
                spare[j, rank] = -np.inf
        best, spare = spare, best
        found, spare_found = spare_found, found


@inner
def sift(heap, size, place, heads):
    """Restore the heap below `place`: the best head is on top; of equals, the smaller state."""
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
    """Whether state i goes before state j."""
    return heads[i] > heads[j] or (heads[i] == heads[j] and i < j)


@kernel
def trace(back, last, rank):
    """The paths (P, T) that end in the states `last` (P,) with the ranks `rank` (P,), by the back pointers."""
    steps, k = back.shape[0], back.shape[2]
    paths = np.empty((last.size, steps), np.int64)
    for p in range(last.size):
        state, place = last[p], rank[p]
        for t in range(steps - 1, 0, -1):
            paths[p, t] = state
            code = back[t, state, place]
            state, place = code // k, code % k
        paths[p, 0] = state
    return paths
