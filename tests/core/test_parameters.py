"""Parameters are what their signature says."""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pytest

from tercet.core import parameters
from tercet.core.parameters import (
    Count,
    Fraction,
    Jobs,
    NonNegative,
    OpenFraction,
    Positive,
    PositiveOrInf,
    Seed,
    allows,
    check_parameters,
    describe,
)


@pytest.mark.parametrize(
    ("hint", "good", "bad"),
    [
        (Positive, [1, 0.5, np.float32(2), np.int64(3)], [0, -1, np.inf, np.nan, "1", None, True]),
        (PositiveOrInf, [1, np.inf], [0, -np.inf, np.nan]),
        (NonNegative, [0, 1.5], [-1e-9, np.inf]),
        (Fraction, [0, 1, 0.5], [1.1, -0.1]),
        (OpenFraction, [0.5], [0, 1]),
        (Count, [1, np.int32(7)], [0, 1.0, True, "3"]),
        (Seed, [None, 3, np.random.RandomState(0), np.random.default_rng(0)], ["a", 1.5]),
        (Jobs, [None, -1, 2], [0.5, "2"]),
        (Literal["a", "b"], ["a", np.str_("b")], ["c", None, 1, ["a"]]),
        (Literal["auto"] | Positive | None, ["auto", 2.0, None], ["other", -1.0]),
        (bool, [True, np.bool_(False)], [1, 0, "yes"]),
        (Callable, [len], [3]),
        (Callable[[int], int], [len], [3]),
        (dict | Literal["balanced"] | None, [{0: 1.0}, "balanced", None], [[1], "even"]),
        (Any, [object()], []),
    ],
)
def test_what_is_allowed(hint, good, bad):
    assert [value for value in good if not allows(hint, value)] == []
    assert [value for value in bad if allows(hint, value)] == []


class Thing:
    def __init__(
        self, C: PositiveOrInf = 1.0, solver: Literal["gd", "dfp"] = "gd", seed: Seed = None, free=3
    ):
        self.C, self.solver, self.seed, self.free = C, solver, seed, free


def test_error_names_parameter_value_and_what_is_allowed():
    check_parameters(Thing())
    with pytest.raises(ValueError, match=r"Thing: parameter 'C' must be a number in \(0, inf\]; got -3\."):
        check_parameters(Thing(C=-3))
    with pytest.raises(ValueError, match=r"'solver' must be one of 'gd', 'dfp'; got 'sgd'"):
        check_parameters(Thing(solver="sgd"))


def test_descriptions():
    assert describe(Count) == "an integer in [1, inf)"
    assert describe(Literal["auto"] | Positive | None) == "'auto' or a number in (0, inf) or None"
    assert describe(Callable[[int], int]) == "a callable"
    assert "Generator" in describe(Seed)


def test_defaults_are_checked_once(monkeypatch):
    """Nearly all values of nearly all estimators: a fit of a hundred rows must not read their type hints again."""

    class Thing:
        def __init__(self, C: Positive = 1.0, wrong: Positive = -1.0) -> None:
            self.C, self.wrong = C, wrong

    with pytest.raises(ValueError, match="'wrong'"):  # a default is no excuse
        check_parameters(Thing())
    asked = []
    monkeypatch.setattr(parameters, "allows", lambda hint, value: asked.append(value) or True)
    check_parameters(Thing())
    assert asked == [-1.0]
    check_parameters(Thing(C=2.0, wrong=3.0))
    assert asked == [-1.0, 2.0, 3.0]
