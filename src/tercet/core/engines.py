"""Where fits run: `with tercet.engine("dask", client): model.fit(...)`."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Iterator
from typing import Any, Literal

from tercet.core.lazy import optional_module
from tercet.core.parallel import using

_streams: contextvars.ContextVar[bool] = contextvars.ContextVar("streams", default=False)


@contextlib.contextmanager
def engine(name: Literal["stream", "dask"], client: Any = None) -> Iterator[Any]:
    """Choose where the fits inside a `with` block run; the results have the same bits.

    Nothing is started and no port is opened here: a cluster, its workers and its security (TLS) are those of the
    client.

    Parameters
    ----------
    name : {"stream", "dask"}
        "stream": on the threads of this process, reading a source in every pass even where its rows would fit into
        memory. "dask": on the workers of a Dask cluster, which hold the rows; needs the extra `tercet[dask]`.
    client : dask.distributed.Client
        For "dask".

    Examples
    --------
    >>> import numpy as np
    >>> from tercet.datasets import Source
    >>> from tercet.linear_model import LinearRegression
    >>> rows = np.arange(200_000.0).reshape(-1, 2) % 7
    >>> with engine("stream"):
    ...     model = LinearRegression().fit(Source(rows), y=rows @ [1, 2])
    >>> model.coef_.round(6)
    array([1., 2.])
    """
    if name == "stream":
        if client is not None:
            raise ValueError("engine('stream') takes no client.")
        token = _streams.set(True)
        try:
            yield None
        finally:
            _streams.reset(token)
    elif name == "dask":
        optional_module("distributed", "engine('dask') needs", "dask")
        from tercet.core.dask_engine import DaskEngine

        chosen = DaskEngine(client)
        with using(chosen):
            yield chosen
    else:
        raise ValueError(f"engine must be 'stream' or 'dask'; got {name!r}.")


def always_streams() -> bool:
    """Whether sources are read in every pass even where their rows would fit into memory."""
    return _streams.get()
