"""Step sizes and exploration rates that change while an agent learns."""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

import numpy as np

from tercet.core.kernel import inner
from tercet.core.public_names import PublicPickle

KINDS = ("constant", "linear", "exponential", "inverse_sqrt", "harmonic")
UNITS = ("step", "episode", "visit")


class Schedule(PublicPickle):
    """A number that changes with time t = 1, 2 ...: an exploration rate or a step size.

    - "constant": start
    - "linear": start + (end - start) (t - 1)/length, and end from t = length + 1 on
    - "exponential": start · (end/start)^((t - 1)/length), and end from t = length + 1 on
    - "inverse_sqrt": start / √t, and no lower than end; with start=1 the text's ε_t = 1/√t
    - "harmonic": start / t, and no lower than end; as a step size per visit with start=1, the mean of all samples

    Parameters
    ----------
    kind : {"constant", "linear", "exponential", "inverse_sqrt", "harmonic"}
        The formula.
    start : float, default=1.0
        The first value.
    end : float, default=0.0
        The last value; "exponential" needs one above 0.
    length : int, default=1000
        Of "linear" and "exponential": the time that it takes from start to end.
    per : {"step", "episode", "visit"}, default="step"
        What is counted as time: all steps, episodes, or visits of the same state and action (step sizes only).

    Examples
    --------
    >>> epsilon = Schedule("linear", 1.0, 0.1, length=100)
    >>> [round(epsilon(t), 3) for t in (1, 51, 101, 1000)]
    [1.0, 0.55, 0.1, 0.1]
    >>> Schedule("inverse_sqrt")(4), Schedule("harmonic", per="visit")
    (0.5, Schedule('harmonic', per='visit'))
    """

    def __init__(
        self,
        kind: Literal["constant", "linear", "exponential", "inverse_sqrt", "harmonic"],
        start: float = 1.0,
        end: float = 0.0,
        *,
        length: int = 1000,
        per: Literal["step", "episode", "visit"] = "step",
    ) -> None:
        if kind not in KINDS:
            raise ValueError(f"Schedule: kind must be one of {', '.join(map(repr, KINDS))}; got {kind!r}.")
        if per not in UNITS:
            raise ValueError(f"Schedule: per must be one of {', '.join(map(repr, UNITS))}; got {per!r}.")
        for name, value in (("start", start), ("end", end)):
            is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
            if not is_number or not 0 <= value < math.inf:
                raise ValueError(f"Schedule: {name} must be a finite number of at least 0; got {value!r}.")
        if isinstance(length, bool) or not isinstance(length, int | np.integer) or length < 1:
            raise ValueError(f"Schedule: length must be an integer of at least 1; got {length!r}.")
        if kind == "exponential" and not (start > 0 and end > 0):
            raise ValueError(
                f"Schedule: 'exponential' needs start and end above 0; got {start!r} and {end!r}."
            )
        self.kind, self.start, self.end = kind, float(start), float(end)
        self.length, self.per = int(length), per

    def __call__(self, t: int) -> float:
        """The value at time t, counted from 1."""
        if t < 1:
            raise ValueError(f"Schedule: t must be at least 1; got {t!r}.")
        return float(value_at(compiled(self), t))

    @property
    def largest(self) -> float:
        """The largest value at any time."""
        return max(self.start, self.end)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schedule) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(tuple(vars(self).values()))

    def __repr__(self) -> str:
        said = [repr(self.kind)]
        said += [repr(self.start)] if self.start != 1.0 or self.end else []
        said += [repr(self.end)] if self.end else []
        said += [f"length={self.length}"] if self.kind in ("linear", "exponential") else []
        said += [f"per={self.per!r}"] if self.per != "step" else []
        return f"Schedule({', '.join(said)})"


class Timetable(NamedTuple):
    """A schedule as kernels see it: the places of its kind in KINDS and of its unit in UNITS, and its numbers."""

    kind: int
    unit: int
    start: float
    end: float
    length: float


def compiled(value: Any) -> Timetable:
    """A number, or a schedule, for kernels.

    Examples
    --------
    >>> compiled(0.1)
    Timetable(kind=0, unit=0, start=0.1, end=0.0, length=1.0)
    """
    if not isinstance(value, Schedule):
        return Timetable(0, 0, float(value), 0.0, 1.0)
    unit = UNITS.index(value.per)
    return Timetable(KINDS.index(value.kind), unit, value.start, value.end, float(value.length))


@inner
def value_at(timetable: Timetable, t: int) -> float:
    """The value of a schedule at time t = 1, 2 ..."""
    if timetable.kind == 0:
        return timetable.start
    start, end = timetable.start, timetable.end
    if timetable.kind == 1:
        return start + (end - start) * min(1.0, (t - 1) / timetable.length)
    if timetable.kind == 2:
        share = min(1.0, (t - 1) / timetable.length)
        return start * (end / start) ** share
    if timetable.kind == 3:
        return max(end, start / math.sqrt(t))
    return max(end, start / t)


@inner
def scheduled(timetable: Timetable, step: int, episode: int, visit: int) -> float:
    """The value of a schedule, whose time is one of three counts from 1."""
    if timetable.unit == 0:
        return value_at(timetable, step)
    if timetable.unit == 1:
        return value_at(timetable, episode)
    return value_at(timetable, visit)
