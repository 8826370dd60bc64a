"""Stop requests: work that nobody waits for any more ends at its next check.

Python hears Ctrl-C in the main thread alone. A parallel run (`core.parallel`) therefore has a `StopRequest`, which
it raises when its caller is interrupted or one of its items fails; what its threads work on calls `check_stop`
between blocks of work of a fraction of a second, and ends there. `Steps`, `each` and `total` call it already: only
loops of kernels that go through neither have to.
"""

from __future__ import annotations

import threading


class Stopped(BaseException):
    """Ends work whose result is not wanted any more. Not an `Exception`: no handler of errors may swallow it."""


class StopRequest:
    """Whether the work of one parallel run is to end; a run inside another one ends with it."""

    __slots__ = ("parent", "raised")

    def __init__(self) -> None:
        self.parent: StopRequest | None = getattr(_thread, "request", None)
        self.raised = False

    def check(self) -> None:
        """Raise `Stopped` if this run, or one around it, is to end."""
        request: StopRequest | None = self
        while request is not None:
            if request.raised:
                raise Stopped
            request = request.parent


_thread = threading.local()


def check_stop() -> None:
    """Raise `Stopped` if the parallel run that this thread works for is to end; some 50 ns where not."""
    request = getattr(_thread, "request", None)
    if request is not None:
        request.check()


class working_for:
    """Work for a request inside a `with` block: `check_stop` asks it."""

    __slots__ = ("before", "request")

    def __init__(self, request: StopRequest) -> None:
        self.request = request

    def __enter__(self) -> None:
        self.before = getattr(_thread, "request", None)
        _thread.request = self.request

    def __exit__(self, *error: object) -> None:
        _thread.request = self.before
