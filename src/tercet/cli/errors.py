"""Errors of the command: one line, and an exit code."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

# 0 all went well
USAGE = 2  # the command line itself is wrong: Click's code, for what Click cannot see, too
DIFFERENT = 1  # the command ran and the answer is no: an example differs from the book, say
BAD_DATA = 3  # the table cannot be read, or not be learned from
BAD_MODEL = 4  # the model file cannot be read or is not trusted
NOTHING_DONE = 5  # the budget ran out before anything was finished
MISSING_PACKAGE = 6  # an optional package is not installed
UNEXPECTED = 70  # a fault of ours
INTERRUPTED = 130  # Ctrl-C


class Refusal(Exception):
    """A user error, with its exit code."""

    def __init__(self, message: str, code: int = BAD_DATA) -> None:
        super().__init__(message)
        self.code = code


class OutputError(OSError):
    """Standard output cannot be written; handled where the command ends."""


@contextlib.contextmanager
def refusing(*, rows: bool = True) -> Iterator[None]:
    """Turn errors of the library that the user can fix into refusals.

    `rows` says whether the command has the option --rows, to advise it.

    Examples
    --------
    >>> from tercet.io import ModelError
    >>> with refusing():
    ...     raise ModelError("m.skops is not a Tercet model")
    Traceback (most recent call last):
    tercet.cli.errors.Refusal: m.skops is not a Tercet model
    """
    try:
        yield
    except Exception as error:
        refusal = _refusal(error, rows)
        if refusal is None:
            raise
        raise refusal from error


def _refusal(error: Exception, rows: bool) -> Refusal | None:
    from tercet.cli.translation import tr
    from tercet.io import ModelError

    if isinstance(error, Refusal | BrokenPipeError | OutputError):
        return None
    if isinstance(error, ModelError):
        return Refusal(tr(_message(error)), BAD_MODEL)
    if isinstance(error, MemoryError):
        advised = tr("there is not enough memory; --rows takes a part of the table")
        return Refusal(advised if rows else tr("there is not enough memory"), BAD_DATA)
    if isinstance(error, ModuleNotFoundError):
        ours = (error.name or "tercet").startswith("tercet")
        return (
            None if ours else Refusal(tr("this needs the package {name}", name=error.name), MISSING_PACKAGE)
        )
    if isinstance(error, OSError):
        parts = (error.filename, error.strerror or error)
        return Refusal(": ".join(str(part) for part in parts if part), BAD_DATA)

    from tercet.datasets import TableError

    return Refusal(tr(_message(error)), BAD_DATA) if isinstance(error, TableError) else None


def _message(error: Exception) -> str:
    """An error's message; a `Message` among its arguments keeps its template."""
    return error.args[0] if error.args and isinstance(error.args[0], str) else str(error)
