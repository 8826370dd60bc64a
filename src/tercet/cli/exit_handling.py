"""Run the command and turn errors into one line and an exit code, never a traceback."""

from __future__ import annotations

import atexit
import errno
import gc
import io
import os
import sys
from typing import Any, NoReturn

import typer

from tercet.cli import errors, parser_translation
from tercet.cli.translation import tr

UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)


def run(app: typer.Typer) -> NoReturn:
    """Run the command to its end."""
    _open_streams()
    atexit.register(gc.freeze)  # no last garbage collection over all imported modules
    try:
        # Not standalone: Click would turn Ctrl-C into exit code 1.
        parser_translation.translate_help_titles()
        code = app(prog_name="tercet", standalone_mode=False)
        sys.stdout.flush()
    except errors.Refusal as refusal:
        _fail(str(refusal), refusal.code)
    except (typer.Abort, KeyboardInterrupt):
        _fail(tr("interrupted"), errors.INTERRUPTED)
    except BrokenPipeError:
        _discard_stdout()  # the reader has closed the pipe
        sys.exit(0)
    except SystemExit as leaving:
        if isinstance(leaving.__context__, BrokenPipeError):  # Rich's way to say the same
            sys.exit(0)
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.filename is None and error.errno in UNWRITABLE:
            _discard_stdout()
            _fail(tr("the output cannot be written: {why}", why=error.strerror), errors.BAD_DATA)
        if hasattr(error, "exit_code") and hasattr(error, "format_message"):  # Click's: the line is wrong
            where = getattr(getattr(error, "ctx", None), "command_path", "tercet")
            message = parser_translation.translated_error(error.format_message())
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
    """Replace streams that the shell has closed (`>&-`), and characters that they cannot encode."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if sys.stdout is None:
        _fail(tr("the output cannot be written: {why}", why=os.strerror(errno.EBADF)), errors.BAD_DATA)
    if os.name == "nt" and isinstance(sys.stdout, io.TextIOWrapper) and not sys.stdout.isatty():
        sys.stdout.flush()
        raw = WindowsOutput(sys.stdout.fileno(), "w", closefd=False)
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(raw), sys.stdout.encoding)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


class WindowsOutput(io.FileIO):
    """Output whose reader may leave: Windows calls that an invalid argument."""

    def write(self, data: Any) -> int:
        """Write bytes, or raise a `BrokenPipeError`, as other systems do."""
        try:
            return super().write(data)
        except OSError as error:
            if error.errno == errno.EINVAL:
                raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE)) from error
            raise


def _discard_stdout() -> None:
    """Discard the rest of the output, which Python would try to flush at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(message: str, code: int) -> NoReturn:
    print(f"tercet: {tr('error')}: {' '.join(message.split())}", file=sys.stderr)
    sys.exit(code)
