"""A max-heap of the k nearest rows: pairs (distance, index), of equal distances the greater index on top."""

from __future__ import annotations

from tercet.core.kernel import inner


@inner
def replace_farthest(distances, indices, distance, i, size):
    """Replace the top of a heap of the given size, its farthest row, by (distance, i)."""
    place = 0
    while 2 * place + 1 < size:
        child = 2 * place + 1
        other = child + 1
        if other < size and (
            distances[child] < distances[other]
            or (distances[child] == distances[other] and indices[child] < indices[other])
        ):
            child = other
        if distances[child] < distance or (distances[child] == distance and indices[child] < i):
            break
        distances[place], indices[place] = distances[child], indices[child]
        place = child
    distances[place], indices[place] = distance, i


@inner
def sort_heap(distances, indices):
    """Sort a heap: the nearest row first, of equal distances the smaller index."""
    for end in range(distances.size - 1, 0, -1):
        distance, i = distances[0], indices[0]
        replace_farthest(distances, indices, distances[end], indices[end], end)
        distances[end], indices[end] = distance, i
