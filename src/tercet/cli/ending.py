"""How the command ends: with an exit code, and one line where something went wrong, never a traceback."""

from __future__ import annotations

import atexit
import errno
import gc
import io
import os
import sys
from typing import NoReturn

import typer

from tercet.cli import errors, grammar
from tercet.cli.words import tr

UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)


def run(app: typer.Typer) -> NoReturn:
    """Run the command to its end."""
    _open_streams()
    atexit.register(gc.freeze)  # or the collector goes through all that was imported, once more, on leaving
    try:
        # Not standalone: Click would turn Ctrl-C into exit code 1.
        grammar.label_help()
        code = app(prog_name="tercet", standalone_mode=False)
        sys.stdout.flush()
    except errors.Refusal as refusal:
        _fail(str(refusal), refusal.code)
    except (typer.Abort, KeyboardInterrupt):
        _fail(tr("interrupted"), errors.INTERRUPTED)
    except BrokenPipeError:
        _leave_stdout()  # the reader left; so do we
        sys.exit(0)
    except SystemExit as leaving:
        if isinstance(leaving.__context__, BrokenPipeError):  # Rich's way to say the same
            sys.exit(0)
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.filename is None and error.errno in UNWRITABLE:
            _leave_stdout()
            _fail(tr("the output cannot be written: {why}", why=error.strerror), errors.BAD_DATA)
        if hasattr(error, "exit_code") and hasattr(error, "format_message"):  # Click's: the line is wrong
            where = getattr(getattr(error, "ctx", None), "command_path", "tercet")
            message = grammar.complaint(error.format_message())
            _fail(f"{message} ({tr('see')} {where} --help)", error.exit_code)
        if os.environ.get("TERCET_DEBUG"):
            raise
        _fail(
            tr(
                "unexpected {kind}: {error} (TERCET_DEBUG=1 shows where; please report it)",
                kind=type(error).__name__,
                error=" ".join(str(error).split())[:300],
            ),
            errors.UNEXPECTED,
        )
    sys.exit(code or 0)


def _open_streams() -> None:
    """A shell may close the streams that everything here writes to (`>&-`), or know no Chinese."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if sys.stdout is None:
        _fail(tr("the output cannot be written: {why}", why=os.strerror(errno.EBADF)), errors.BAD_DATA)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _leave_stdout() -> None:
    """Let the rest of the output go nowhere, lest Python try once more to write it at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(message: str, code: int) -> NoReturn:
    print(f"tercet: {tr('error')}: {' '.join(message.split())}", file=sys.stderr)
    sys.exit(code)
