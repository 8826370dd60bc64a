"""What an outcome of a call means: an answer, a refusal that is documented, or a failure.

Documented are ValueError, TypeError, NotFittedError (and, as in scikit-learn, NotImplementedError of a combination
that a solver does not have) that somebody raised with a sentence, and the warnings ConvergenceWarning,
DataConversionWarning, LinAlgWarning, FutureWarning, other UserWarnings and sentences of ours as RuntimeWarning.
Everything else is a failure: any other exception, NumPy's RuntimeWarning, and an error that comes out of NumPy's or
SciPy's own code.
"""

import contextlib
import linecache
import os
import traceback
import warnings
from collections.abc import Iterator
from types import TracebackType
from typing import Any

from scipy.linalg import LinAlgWarning
from sklearn.exceptions import ConvergenceWarning

import tercet

PACKAGE = os.path.dirname(os.path.abspath(tercet.__file__)) + os.sep


class Failure(Exception):
    """A case that is bad: `kind` is what happened, `place` the innermost line of ours."""

    def __init__(self, kind: str, text: str, place: str = "", trace: str = "") -> None:
        super().__init__(f"{kind}: {text}")
        self.kind, self.text, self.place, self.trace = kind, text, place, trace


class Refused(Exception):
    """A case that ended in a documented refusal."""


class DoesNotApply(Exception):
    """A case on which an oracle has nothing to say."""


@contextlib.contextmanager
def judged(*, refusals: bool = True) -> Iterator[list[warnings.WarningMessage]]:
    """Run code; documented errors become Refused (Failure where the code had no reason to refuse)."""
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            warnings.filterwarnings("error", ".* encountered in ", RuntimeWarning)  # NumPy's own
            warnings.simplefilter("always", LinAlgWarning)  # of a singular system, as scikit-learn's
            yield caught
    except (Failure, Refused, DoesNotApply, KeyboardInterrupt):
        raise
    except BaseException as error:
        found = judge(error)
        if found is not None and isinstance(error, RuntimeWarning):
            if in_plain_kernel(error):
                raise DoesNotApply("a kernel run as plain Python warns, the compiled one does not") from error
            if found.place.startswith("core/validation.py"):
                raise DoesNotApply(
                    "scikit-learn's check adds up both infinities, then refuses them"
                ) from error
        if found is not None:
            raise found from error
        if not refusals:
            raise failure("refused", error) from error
        raise Refused(f"{type(error).__name__}: {error}") from error
    for note in caught:
        if not issubclass(note.category, UserWarning | RuntimeWarning | FutureWarning | LinAlgWarning):
            where = f"{os.path.basename(note.filename)}:{note.lineno}"
            raise Failure(note.category.__name__, str(note.message)[:200], where)


def judge(error: BaseException) -> Failure | None:
    """The failure that an exception is; None for a documented refusal."""
    if not isinstance(error, ValueError | TypeError | NotImplementedError):
        return failure(type(error).__name__, error)
    if isinstance(error, UnicodeError) or " " not in str(error).strip():
        return failure(type(error).__name__, error)
    if error.__traceback__ is not None and not _was_raised(error.__traceback__):
        return failure(f"raw {type(error).__name__}", error)
    return None


def _was_raised(trace: TracebackType) -> bool:
    """Whether the innermost line is a `raise` of ours or of scikit-learn's; NumPy's come from other lines."""
    while trace.tb_next is not None:
        trace = trace.tb_next
    name = trace.tb_frame.f_code.co_filename
    if not (name.startswith(PACKAGE) or f"{os.sep}sklearn{os.sep}" in name):
        return False
    return "raise" in linecache.getline(name, trace.tb_lineno)


def failure(kind: str, error: BaseException) -> Failure:
    trace = "".join(traceback.format_exception(error, limit=-8))
    return Failure(kind, str(error)[:300], place_of(error), trace[-3000:])


def in_plain_kernel(error: BaseException) -> bool:
    """Whether a traceback goes through a kernel: with TERCET_JIT=0 its scalars are NumPy's, which warn."""
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename.startswith(PACKAGE):
            first = linecache.getline(code.co_filename, code.co_firstlineno)
            if first.lstrip().startswith(("@kernel", "@inner", "@shared", "@verb")):
                return True
        trace = trace.tb_next
    return False


def place_of(error: BaseException) -> str:
    """The innermost line of the package in a traceback."""
    place, trace = "", error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if name.startswith(PACKAGE):
            place = f"{name.removeprefix(PACKAGE)}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place


def converged(caught: list[Any]) -> bool:
    return not any(issubclass(note.category, ConvergenceWarning) for note in caught)
