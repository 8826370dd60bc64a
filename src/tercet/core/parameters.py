"""What a parameter may be, said once: in the signature.

    def __init__(self, eta0: Positive = 1.0, form: Literal["primal", "dual"] = "primal", n: Count = 9)

The annotations are read when `fit` begins, and a value that does not fit is refused with an error that names
the parameter, the value and what is allowed.
"""

from __future__ import annotations

import functools
import inspect
import math
import numbers
import re
import sys
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Union

import numpy as np

from tercet.core.input_errors import HUGE, RAW, Broken, shown


@dataclass(frozen=True)
class Range:
    """Numbers between two ends; `ends` says which belong to it, as in "[)"."""

    low: float
    high: float
    ends: str = "[]"

    def __contains__(self, value: Any) -> bool:
        if value != value:  # NaN
            return False
        above = value >= self.low if self.ends[0] == "[" else value > self.low
        below = value <= self.high if self.ends[1] == "]" else value < self.high
        return above and below

    def __str__(self) -> str:
        return f"in {self.ends[0]}{self.low}, {self.high}{self.ends[1]}"


INF = math.inf
Real = Annotated[float, Range(-INF, INF, "()")]
Positive = Annotated[float, Range(0, INF, "()")]
PositiveOrInf = Annotated[float, Range(0, INF, "(]")]
NonNegative = Annotated[float, Range(0, INF, "[)")]
Fraction = Annotated[float, Range(0, 1, "[]")]
OpenFraction = Annotated[float, Range(0, 1, "()")]
Count = Annotated[int, Range(1, INF, "[)")]
CountOrZero = Annotated[int, Range(0, INF, "[)")]
Seed = CountOrZero | np.random.RandomState | np.random.Generator | None
Jobs = int | None
ArrayLike = Any
LARGEST = 2**63  # what no integer of a kernel holds
NONE_SUCH = object()


def check_parameters(thing: Any, *, saved: bool = False) -> None:
    """Refuse the first parameter of an estimator whose value its signature does not allow.

    One that was saved by an older version need not have them all: it gets the defaults of the others.
    """
    kind: Any = type(thing)
    defaults = allowed_defaults(kind)
    for name, hint in hints(kind).items():
        if saved and name not in vars(thing):
            if name not in defaults:
                raise ValueError(f"{type(thing).__name__}: parameter {name!r} is missing.")
            setattr(thing, name, defaults[name])
        value = getattr(thing, name)
        is_builtin = (
            saved and isinstance(value, type) and name != "dtype"
        )  # callable, but no kernel or metric
        if value is not defaults.get(name, NONE_SUCH) and (is_builtin or not allows(hint, value)):
            raise ValueError(
                f"{type(thing).__name__}: parameter {name!r} must be {describe(hint)}; got {shown(value, 400)}."
            )


def number_type(thing: Any) -> np.dtype[Any]:
    """The type of numbers that the parameter `dtype` of an estimator names."""
    try:
        dtype = np.dtype(thing.dtype)
    except TypeError:
        dtype = np.dtype(object)
    if dtype.kind not in "biuf":
        raise ValueError(
            f"{type(thing).__name__}: parameter 'dtype' must be a type of numbers; got {thing.dtype!r}."
        )
    return dtype


def blamed_parameter(thing: Any, error: BaseException) -> ValueError | TypeError | None:
    """An error of `fit` that only the value of a parameter can explain, by a sentence that names it; or None.

    The signature says of some parameters no more than that they hold numbers. What NumPy says of those which do not
    ("setting an array element with a sequence") names none.
    """
    said = str(error)
    if not isinstance(error, Broken):
        return None
    if isinstance(error, TypeError | ValueError) and not RAW.search(said) and "float() argument" not in said:
        return None
    kind: Any = type(thing)
    parameters = inspect.signature(kind).parameters
    if not RAW.search(said) and any(re.search(rf"\b{name}\b", said) for name in parameters):
        return None  # a sentence that names one already
    for name, parameter in parameters.items():
        value = getattr(thing, name, None)
        if value is not parameter.default and not _holds_numbers(value):
            wrong = "" if RAW.search(said) else f": {said}"
            return (TypeError if isinstance(error, TypeError) else ValueError)(
                f"{kind.__name__}: parameter {name!r} has a value that cannot be used, {shown(value)}{wrong}."
            )
    return None


def _holds_numbers(value: Any) -> bool:
    if value is None or isinstance(value, str | bool | np.random.RandomState | np.random.Generator):
        return True
    parts = [part for item in value for part in item] if _is_list_of_lists(value) else [value]
    if any(hasattr(part, "get_params") for part in parts):  # an estimator, or a list of (name, estimator)
        return True
    try:
        array = np.asarray(value, dtype=np.float64)
    except Broken:
        return False
    return array.ndim < 2 and array.size > 0 and not bool((np.abs(array) > HUGE).any())


def _is_list_of_lists(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(item, list | tuple) for item in value)


@functools.cache
def allowed_defaults(kind: type) -> dict[str, Any]:
    """The defaults that need no further check, which most values of most estimators are."""
    parameters = inspect.signature(kind).parameters
    allowed = {name: parameters[name].default for name in hints(kind) if name in parameters}
    return {name: value for name, value in allowed.items() if allows(hints(kind)[name], value)}


@functools.cache
def hints(kind: type) -> dict[str, Any]:
    """The annotated parameters of a class's constructor."""
    found = typing.get_type_hints(getattr(kind, "__init__"), include_extras=True)  # noqa: B009
    return {name: hint for name, hint in found.items() if name != "return"}


def allows(hint: Any, value: Any) -> bool:
    """Whether a value fits a type hint."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any or isinstance(hint, str):
        return True
    if origin is Annotated:
        limits = [note for note in args[1:] if isinstance(note, Range)]
        return allows(args[0], value) and all(value in limit for limit in limits)
    if origin in (Union, types.UnionType):
        return any(allows(choice, value) for choice in args)
    if origin is Literal:
        return any(isinstance(value, type(choice)) and value == choice for choice in args)
    if hint is None or hint is type(None):
        return value is None
    if hint is bool:
        return isinstance(value, bool | np.bool_)
    if hint is int:
        whole = isinstance(value, numbers.Integral) and not isinstance(value, bool | np.bool_)
        return whole and -LARGEST <= value < LARGEST
    if hint is float:
        real = isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)
        return real and not (isinstance(value, int) and abs(value) > sys.float_info.max)
    if hint is Callable or origin is Callable or getattr(origin, "__name__", "") == "Callable":
        return callable(value)
    return isinstance(value, origin or hint)


def describe(hint: Any, say: Callable[..., str] = str.format) -> str:
    """A type hint in words; `say(template, **values)` may put them in another language.

    Examples
    --------
    >>> describe(Literal["primal", "dual"] | None)
    "one of 'primal', 'dual' or None"
    """
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        limits = " ".join(str(note) for note in args[1:] if isinstance(note, Range))
        kind = describe(args[0], say)
        return say("{kind} in {limits}", kind=kind, limits=limits.removeprefix("in ")) if limits else kind
    if origin in (Union, types.UnionType):
        return say(" or ").join(describe(choice, say) for choice in args)
    if origin is Literal:
        choices = ", ".join(repr(choice) for choice in args)
        return say("one of {choices}", choices=choices) if len(args) > 1 else choices
    if hint is None or hint is type(None):
        return "None"
    words = {int: "an integer", float: "a number", bool: "True or False", str: "a string", dict: "a dict"}
    if hint in words:
        return say(words[hint])
    if origin is not None and getattr(origin, "__name__", "") == "Callable":
        return say("a callable")
    return getattr(hint, "__name__", str(hint))
