"""Results of the chunks of a source that are computed where the chunks are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tercet.core.parallel import each


def each_where_read(function: Callable[[Any], Any], chunks: Any) -> list[Any]:
    """`function(chunk)` of every chunk of streamed arrays, in order; nothing but the results is kept or sent.

    Examples
    --------
    >>> import numpy as np
    >>> from tercet.core.streams import MemoryStream, StreamedChunks
    >>> X = MemoryStream("rows", X=np.arange(6.0).reshape(3, 2)).array("X")
    >>> each_where_read(lambda chunk: float(chunk[0].sum()), StreamedChunks([X], [0, 2, 3]))
    [6.0, 9.0]
    """
    return each(_itself, chunks.prepared(function))


def _itself(prepared: Any) -> Any:
    return prepared
