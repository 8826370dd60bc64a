"""Schedule: numbers that change with time."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from tercet.rl import QLearning, Schedule
from tercet.rl.schedules import KINDS, UNITS, compiled, scheduled


def test_formulas():
    linear = Schedule("linear", 1.0, 0.2, length=4)
    assert [round(linear(t), 12) for t in (1, 2, 3, 4, 5, 6)] == [1.0, 0.8, 0.6, 0.4, 0.2, 0.2]
    rising = Schedule("linear", 0.0, 1.0, length=2)
    assert [rising(t) for t in (1, 2, 3, 9)] == [0.0, 0.5, 1.0, 1.0]
    exponential = Schedule("exponential", 1.0, 0.01, length=2)
    assert [exponential(t) for t in (1, 2, 3, 9)] == pytest.approx([1.0, 0.1, 0.01, 0.01])
    assert [Schedule("inverse_sqrt")(t) for t in (1, 4, 100)] == [1.0, 0.5, 0.1]  # the text's ε_t = 1/√t
    assert [Schedule("inverse_sqrt", 1.0, 0.3)(t) for t in (4, 100)] == [0.5, 0.3]
    assert [Schedule("harmonic", 2.0, 0.5)(t) for t in (1, 2, 3, 10)] == pytest.approx([2.0, 1.0, 2 / 3, 0.5])
    assert Schedule("constant", 0.25)(10**9) == 0.25


def test_harmonic_steps_are_the_mean():
    """Q += (v - Q)/n for rewards 1, 0, 1, 1: reference case 1."""
    Q, rate, values = 0.0, Schedule("harmonic", per="visit"), []
    for n, v in enumerate([1, 0, 1, 1], 1):
        Q += rate(n) * (v - Q)
        values.append(Q)
    np.testing.assert_allclose(values, [1, 0.5, 0.6666667, 0.75], rtol=1e-7)


def test_kernels_count_what_is_asked_for():
    for k, unit in enumerate(UNITS):
        timetable = compiled(Schedule("harmonic", per=unit))
        assert scheduled(timetable, *([100] * k), 4, *([100] * (2 - k))) == 0.25
    for kind in KINDS:
        schedule = Schedule(kind, 0.9, 0.1, length=7)
        assert [scheduled(compiled(schedule), t, 1, 1) for t in range(1, 20)] == [
            schedule(t) for t in range(1, 20)
        ]
    assert scheduled(compiled(0.3), 5, 5, 5) == 0.3


def test_largest():
    assert Schedule("linear", 0.1, 0.7).largest == 0.7
    assert Schedule("harmonic", 0.5).largest == 0.5


def test_repr_is_the_call():
    for schedule in (
        Schedule("constant", 0.1),
        Schedule("linear", 0.5, length=9),
        Schedule("inverse_sqrt"),
        Schedule("exponential", 1.0, 0.1, per="episode"),
        Schedule("harmonic", per="visit"),
    ):
        assert eval(repr(schedule)) == schedule
        assert pickle.loads(pickle.dumps(schedule)) == schedule
        assert hash(eval(repr(schedule))) == hash(schedule)
    assert Schedule("linear", length=5) != Schedule("linear", length=6)
    assert clone(QLearning(epsilon=Schedule("inverse_sqrt"))).epsilon == Schedule("inverse_sqrt")


@pytest.mark.parametrize(
    ("arguments", "named", "message"),
    [
        (("cosine",), {}, "kind must be one of 'constant', 'linear', .*; got 'cosine'"),
        (("linear", -0.1), {}, "start must be a finite number of at least 0; got -0.1"),
        (("linear", 1.0, np.inf), {}, "end must be a finite number of at least 0; got inf"),
        (("linear", True), {}, "start must be a finite number of at least 0; got True"),
        (("linear", "1"), {}, "start must be a finite number of at least 0; got '1'"),
        (("linear",), {"length": 0}, "length must be an integer of at least 1; got 0"),
        (("linear",), {"length": 2.5}, "length must be an integer of at least 1; got 2.5"),
        (("linear",), {"per": "day"}, "per must be one of 'step', 'episode', 'visit'; got 'day'"),
        (("exponential",), {}, "'exponential' needs start and end above 0; got 1.0 and 0.0"),
    ],
)
def test_bad_arguments(arguments, named, message):
    with pytest.raises(ValueError, match=r"Schedule: " + message):
        Schedule(*arguments, **named)


def test_time_begins_at_one():
    with pytest.raises(ValueError, match=r"Schedule: t must be at least 1; got 0"):
        Schedule("harmonic")(0)
