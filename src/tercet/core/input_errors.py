"""Sentences about input that NumPy or scikit-learn refuse without naming it.

A list of unequal rows becomes "setting an array element with a sequence", None "object of type 'NoneType' has no
len()". `explained` looks at the arguments once such an error is there, and says which of them is wrong, where, and
what is allowed. Data that is in order never comes here.
"""

from __future__ import annotations

import numbers
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

TABLE = "an array, a frame or a sparse matrix of shape (n_samples, n_features)"
COLUMN = "an array of shape (n_samples,)"
ROWS = {"X": TABLE}  # what an argument may be; all others are columns
# What NumPy and Python say about their own insides; everything else is worth keeping.
RAW = re.compile(
    r"setting an array element|inhomogeneous|object of type|has no len|is not (iterable|subscriptable)|ambiguous"
    r"|not supported between|too large to convert|out of range|out of bounds|at least \d dimension|has no attribute"
    r"|Cannot cast|Expected sequence or array-like|unhashable|CSR must be|^\d*$|^'?\w*'?$"
    r"|infs or NaNs|infinity to integer|Numerical result|empty sequence|zero-size|unique column names|np\.matrix"
)
FORM = re.compile(r"setting an array element|inhomogeneous|unique column names|np\.matrix")  # about data only
TEXTS = "These are texts: count their words with CountVectorizer or TfidfVectorizer of tercet.feature first."
HUGE = 1e100  # the squares of larger numbers, added up and multiplied, soon are no numbers any more
LONGEST = 60  # letters of a value in a message
SEARCHED = 100_000  # cells looked at for the one that is wrong

Broken = (TypeError, ValueError, ArithmeticError, LookupError, AttributeError)


class Explaining:
    """Around a check of arguments: an error that names none of them becomes a sentence.

    Examples
    --------
    >>> with Explaining(y=[[1], [2, 3]]):
    ...     np.asarray([[1], [2, 3]])
    Traceback (most recent call last):
    ValueError: y must hold one value for each row; y[0] is [1].
    """

    def __init__(self, **arguments: Any) -> None:
        self.arguments = arguments

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: Any, _: Any) -> None:
        if isinstance(error, Broken):
            sentence = explained(error, **self.arguments)
            if sentence is not error:
                raise sentence from None


def explained(error: Exception, **arguments: Any) -> Exception:
    """The error that a check of these arguments should have raised; itself, if it names one of them."""
    said = str(error)
    raw = bool(RAW.search(said)) or not isinstance(error, TypeError | ValueError)
    if not raw and any(re.search(rf"\b{name}\b", said) for name in arguments):
        return error
    kind = TypeError if isinstance(error, TypeError) else ValueError
    for name, value in arguments.items():
        if sentence := _no_rows(name, value):
            return kind(sentence)
        if sentence := wrong_with(name, value):
            if _holds_texts(name, value):
                return kind(f"{sentence} {TEXTS}")
            return kind(sentence if raw else f"{sentence} {said}")
    if sentence := _unequal_lengths(arguments):
        return kind(sentence if raw else f"{sentence} {said}")
    if "could not convert" in said:
        for name, value in arguments.items():
            if sentence := _no_number(name, value):
                return kind(f"{sentence} {said}")
    if len(arguments) == 1 or raw:
        return kind(f"{' or '.join(arguments)} cannot be read: {said or type(error).__name__}")
    return error


def blamed_magnitude(error: BaseException, **arguments: Any) -> ValueError | None:
    """An error of `fit` that numbers too large explain, by a sentence that names their argument; or None."""
    if isinstance(error, TypeError | ValueError) and not RAW.search(str(error)):
        return None
    for name, value in arguments.items():
        array = getattr(value, "data", value) if is_sparse(value) else value
        if isinstance(array, np.ndarray) and array.dtype.kind == "f" and array.size:
            largest = float(np.nanmax(np.abs(array)))
            if largest > HUGE:
                return ValueError(
                    f"{name} holds numbers as large as {largest:g}: what is computed of them is too large a number."
                )
    return None


def blamed_data(error: BaseException, **arguments: Any) -> ValueError | TypeError | None:
    """An error of a member's `fit` that the form of the data explains, by a sentence that names it; or None."""
    for name, value in arguments.items() if isinstance(error, Broken) and FORM.search(str(error)) else ():
        if sentence := wrong_with(name, value):
            return (TypeError if isinstance(error, TypeError) else ValueError)(sentence)
    return None


def refuse_containers(**arguments: Any) -> None:
    """Refuse what is no collection of rows at all (None, a single value, a dict ...), and NumPy's matrices."""
    for name, value in arguments.items():
        if sentence := _no_rows(name, value):
            raise TypeError(sentence)


def refuse_mixed_labels(y: Any) -> None:
    """Refuse a list of numbers and strings, which NumPy makes strings of all: 1 would come back as '1'."""
    if isinstance(y, list | tuple) and len(set(map(type, y))) > 1:
        words = [k for k, label in enumerate(y) if isinstance(label, str)]
        others = [k for k, label in enumerate(y) if isinstance(label, numbers.Number | np.bool_)]
        if words and others:
            raise ValueError(_mixed(y, others[0], words[0]))


def wrong_with(name: str, value: Any) -> str:
    """What is wrong with an argument, in a sentence; "" if nothing is seen."""
    table = name in ROWS
    if sentence := _repeated_column(name, value):
        return sentence
    if sentence := _matrix(name, value):
        return sentence
    if is_sparse(value):
        if not table:
            return f"{name} must be {COLUMN}; got a sparse matrix of shape {value.shape}."
        return _wrong_shape(name, value.shape) or _wrong_dtype(name, value.dtype)
    if isinstance(value, list | tuple):
        if not len(value):
            return f"{name} has no rows; it must be {ROWS.get(name, COLUMN)}."
        if sentence := _uneven(name, value) if table else _nested(name, value):
            return sentence
    array = _array(value)
    if array is None:
        return ""
    return _wrong_shape(name, array.shape) or _wrong_dtype(name, array.dtype) or _wrong_cell(name, array)


def shown(value: Any, longest: int = LONGEST) -> str:
    """A value in a message: its `repr`, in one line and not too long."""
    if isinstance(value, int) and abs(value) >= 10**longest:
        return f"an integer of more than {longest} digits"
    text = " ".join(repr(value).split())
    return text if len(text) <= longest else text[:longest] + "..."


def is_sparse(value: Any) -> bool:
    """SciPy's `issparse`, without loading SciPy: a command that is mistyped needs none of it."""
    return hasattr(value, "tocsr") and hasattr(value, "nnz")


def _no_rows(name: str, value: Any) -> str:
    if is_sparse(value):  # of which one kind is a dict
        return ""
    alone = value is None or isinstance(
        value, str | bytes | numbers.Number | Mapping | set | frozenset | Iterator
    )
    known = any(hasattr(value, mark) for mark in ("shape", "__array__", "__len__", "__dataframe__"))
    if alone or not known or getattr(value, "shape", None) == ():
        return f"{name} must be {ROWS.get(name, COLUMN)}; got {shown(value)}."
    return _matrix(name, value)


def _matrix(name: str, value: Any) -> str:
    is_matrix = isinstance(value, np.matrix)
    return f"{name} must not be a matrix of NumPy; pass np.asarray({name})." if is_matrix else ""


def _repeated_column(name: str, frame: Any) -> str:
    """The first name that several columns of a frame share, in a sentence; "" where there is none."""
    seen = set()
    for column in getattr(frame, "columns", ()):
        if column in seen:
            count = list(frame.columns).count(column)
            return f"{name} has {count} columns named {shown(column)}; column names must be unique."
        seen.add(column)
    return ""


def _uneven(name: str, rows: Sequence[Any]) -> str:
    """What is wrong with rows that make no rectangle."""
    sizes = [len(row) if _is_list(row) else -1 for row in rows]
    if len(set(sizes)) > 1:
        k = next(k for k, size in enumerate(sizes) if size != sizes[0])
        found = ", ".join(
            f"{name}[{i}] {f'has {sizes[i]} values' if sizes[i] >= 0 else f'is {shown(rows[i])}'}"
            for i in (0, k)
        )
        return f"The rows of {name} must be of one length; {found}."
    for k, row in enumerate(rows):
        for j, cell in enumerate(row if sizes[0] > 0 else ()):
            if _is_list(cell):
                return f"{name} must hold a single value in each cell; {name}[{k}][{j}] is {shown(cell)}."
    return ""


def _nested(name: str, values: Sequence[Any]) -> str:
    """What is wrong with a column that holds sequences of unequal lengths."""
    sizes = [len(value) if _is_list(value) else -1 for value in values]
    if len(set(sizes)) > 1:
        k = next(k for k, size in enumerate(sizes) if size >= 0)
        return f"{name} must hold one value for each row; {name}[{k}] is {shown(values[k])}."
    return ""


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim > 0)


def _array(value: Any) -> np.ndarray | None:
    try:
        array = np.asarray(value)
    except Exception:  # whatever an object's __array__ may raise
        return None
    if array.dtype.kind in "US" and isinstance(value, list | tuple):
        try:
            array = np.asarray(value, dtype=object)  # 1 and "a" as they were
        except ValueError:
            return None
    return array


def _wrong_shape(name: str, shape: tuple[int, ...]) -> str:
    table = name in ROWS
    if (len(shape) != 2) if table else (len(shape) > 2):
        return f"{name} must be {ROWS.get(name, COLUMN)}; its shape is {shape}."
    if 0 in shape:
        return f"{name} has {'no rows' if shape[0] == 0 else 'no columns'}; its shape is {shape}."
    return ""


def _wrong_dtype(name: str, dtype: np.dtype[Any]) -> str:
    return f"{name} must hold real numbers; its dtype is {dtype}." if dtype.kind == "c" else ""


def _wrong_cell(name: str, array: np.ndarray) -> str:
    """The first cell that is no number; of labels, the first of another kind than those before it."""
    if array.dtype.kind not in "OUS":
        return ""
    labels = name == "y"
    first: int | None = None
    for k, cell in enumerate(array.ravel()[:SEARCHED].tolist()):
        place = f"{name}[{', '.join(str(int(i)) for i in np.unravel_index(k, array.shape))}]"
        if _is_list(cell):
            return f"{name} must hold single values; {place} is {shown(cell)}."
        if labels:
            if isinstance(cell, int) and abs(cell) >= 2**63:
                return f"{name} holds a number that is too large: {place} is {shown(cell)}."
            first = 0 if first is None else first
            if cell is None or not isinstance(cell, str | numbers.Number):
                return f"{name} must hold numbers, or strings; {place} is {shown(cell)}."
            if isinstance(cell, str) != isinstance(array.ravel()[first], str):
                return _mixed(array.ravel(), first, k)
        elif not _is_number(cell):
            return f"{name} must hold numbers; {place} is {shown(cell)}."
    return ""


def _no_number(name: str, value: Any) -> str:
    """The first cell that is no number, where numbers are wanted even of labels."""
    array = _array(value)
    for k, cell in enumerate(array.ravel()[:SEARCHED].tolist() if array is not None else ()):
        if not _is_number(cell):
            place = ", ".join(str(int(i)) for i in np.unravel_index(k, array.shape))  # type: ignore[union-attr]
            return f"{name} must hold numbers; {name}[{place}] is {shown(cell)}."
    return ""


def _holds_texts(name: str, value: Any) -> bool:
    """Whether rows are texts: a column of strings, in an array of one dimension or with blanks in them."""
    array = _array(value) if name in ROWS else None
    if array is None or array.dtype.kind not in "OU" or not array.size:
        return False
    first = array.ravel()[0]
    return isinstance(first, str) and (array.ndim == 1 or (array.shape[1] == 1 and " " in first.strip()))


def _is_number(cell: Any) -> bool:
    try:
        float(cell)
    except (TypeError, ValueError, OverflowError):
        return cell is None  # which is NaN
    return True


def _mixed(y: Any, one: int, other: int) -> str:
    return (
        f"y must hold numbers, or strings, not both; y[{one}] is {shown(_plain(y[one]))}, "
        f"y[{other}] is {shown(_plain(y[other]))}."
    )


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _unequal_lengths(arguments: dict[str, Any]) -> str:
    sizes = {name: _length(value) for name, value in arguments.items()}
    known = {name: size for name, size in sizes.items() if size is not None}
    if len(set(known.values())) > 1:
        return (
            "; ".join(f"{name} has {size} rows" for name, size in known.items()) + ": they must be as many."
        )
    return ""


def _length(value: Any) -> int | None:
    shape = getattr(value, "shape", None)
    if shape:
        return int(shape[0])
    return len(value) if hasattr(value, "__len__") and not is_sparse(value) else None
