"""Chunks of a source, read by a thread of its own while others are worked on."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from tercet.core.memory import available
from tercet.core.streams import StreamedChunks

DEEPEST = 8  # chunks that wait


@contextlib.contextmanager
def feed(items: Sequence[Any]) -> Iterator[Iterator[Any]]:
    """The items in their order inside a `with` block; streamed chunks are read ahead."""
    if not isinstance(items, StreamedChunks):
        yield iter(items)
        return
    reader = ReadAhead(items.walk(), depth_for(items))
    try:
        yield reader
    finally:
        reader.close()


def depth_for(chunks: StreamedChunks) -> int:
    """How many chunks may wait: an eighth of the memory at most, and no more than a few."""
    return max(1, min(DEEPEST, len(chunks), available() // 8 // max(chunks.chunk_bytes, 1)))


class ReadAhead(Iterator[Any]):
    """What an iterator gives, taken from it by another thread, a few items ahead.

    Examples
    --------
    >>> reader = ReadAhead(iter(range(5)), depth=2)
    >>> list(reader), reader.close()
    ([0, 1, 2, 3, 4], None)
    """

    def __init__(self, items: Iterator[Any], depth: int) -> None:
        self.items, self.closed = items, threading.Event()
        self.waiting: queue.Queue[tuple[str, Any]] = queue.Queue(depth)
        self.thread = threading.Thread(target=self._read, name="tercet-reader", daemon=True)
        self.thread.start()

    def _read(self) -> None:
        try:
            for item in self.items:
                if not self._put("item", item):
                    return
                del item  # the memory of what is handed over is no longer ours
            self._put("end", None)
        except BaseException as error:
            self._put("error", error)

    def _put(self, kind: str, value: Any) -> bool:
        """Hand over a value; False when nobody wants it any more."""
        while not self.closed.is_set():
            try:
                self.waiting.put((kind, value), timeout=0.1)
                return True
            except queue.Full:
                continue
        return False

    def __next__(self) -> Any:
        kind, value = self.waiting.get()
        if kind == "item":
            return value
        self.waiting.put((kind, value))  # for whoever asks again
        if kind == "error":
            raise value
        raise StopIteration

    def close(self) -> None:
        """End the thread."""
        self.closed.set()
        while True:
            try:
                self.waiting.get_nowait()
            except queue.Empty:
                break
        self.thread.join(timeout=5.0)
