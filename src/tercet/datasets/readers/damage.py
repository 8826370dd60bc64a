"""Damaged files: whatever a parser says of one becomes one line about the file."""

from __future__ import annotations

import contextlib
import mmap
import os
import re
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from typing import IO

from tercet.datasets.readers.source_file import SourceFile
from tercet.datasets.readers.table import TableError

# What the parsers of binary formats raise on damaged files has no common base: NumPy evaluates a header as Python
# (SyntaxError, tokenize.TokenError), zipfile knows methods that it cannot do (NotImplementedError) and passwords
# (RuntimeError), polars has exceptions of its own.
BINARY = ("Parquet", "Feather", "npz", "npy")
TEXT_ERRORS = (ValueError, ArithmeticError, RecursionError)
LONGEST = 200  # letters of a parser's message
# A panic, its backtrace and all the lines after it: up to the next line of another kind nothing tells them apart.
PANIC = re.compile(rb"\n?thread '[^'\n]*'[^\n]* panicked at .*", re.S)
WAIT, MOST_WAIT = 0.04, 4.0  # seconds

_redirection = threading.RLock()


@contextlib.contextmanager
def refuse_damage(source: SourceFile, format: str) -> Iterator[None]:
    """Turn what a parser raises on the bytes of a file into a `TableError`; too little memory stays what it is."""
    try:
        yield
    except (TableError, MemoryError, ImportError):
        raise
    except Exception as error:
        from polars.exceptions import PolarsError

        if format not in BINARY and not isinstance(error, (*TEXT_ERRORS, PolarsError)):
            raise  # a text is parsed by our own code: a fault of ours
        raise _damaged(source, format, error) from error
    except BaseException as error:  # a panic of polars is no Exception
        if not is_panic(error):
            raise
        raise _damaged(source, format, error) from error


def is_panic(error: BaseException) -> bool:
    """Whether Rust code gave up: PyO3's PanicException, which no module exports."""
    return type(error).__name__ == "PanicException"


def _damaged(source: SourceFile, format: str, error: BaseException) -> TableError:
    reason = " ".join(str(error).split())[:LONGEST] or type(error).__name__
    return source.error("damaged, or not {format}: {reason}", format=format, reason=reason)


@contextlib.contextmanager
def quiet_panics() -> Iterator[None]:
    """Keep the messages of Rust panics, which its threads write themselves, off the standard error.

    What else was written meanwhile comes out at the end.
    """
    with _redirection:
        try:
            kept = os.dup(2)
        except OSError:  # closed: there is nothing to keep clean
            yield
            return
        with tempfile.TemporaryFile() as written:
            _flush()
            os.dup2(written.fileno(), 2)
            try:
                yield
            except BaseException:
                _wait_for_panics(written)
                raise
            finally:
                _flush()
                os.dup2(kept, 2)
                os.close(kept)
                written.seek(0)
                if text := PANIC.sub(b"", written.read()):
                    os.write(2, text)


def _wait_for_panics(written: IO[bytes]) -> None:
    """Wait until no thread writes any more: one may panic while another's error is already here."""
    size, waited = -1, 0.0
    while waited < MOST_WAIT:
        before, size = size, os.fstat(written.fileno()).st_size
        if size == before and not _unfinished(_content(written, size)):
            return
        time.sleep(WAIT)
        waited += WAIT


def _content(written: IO[bytes], size: int) -> bytes:
    """What is in a file, read without moving the place where the threads write."""
    if size == 0:
        return b""
    with mmap.mmap(written.fileno(), size, access=mmap.ACCESS_READ) as view:
        return view[:]


def _unfinished(text: bytes) -> bool:
    """Whether a backtrace is still to come to its end: the names in it take their time."""
    last = text.rpartition(b" panicked at ")[2]
    return b"stack backtrace:" in last and b"note: " not in last


def _flush() -> None:
    if sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.flush()
