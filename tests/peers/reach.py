"""Which of scikit-learn's own tests use something of ours: the others test its own code alone, and do not run.

A test is followed through the names in its code, its fixtures and its case, and on through every function and class
that these name, scikit-learn's among them. A global name stands for its object. Any other name (an attribute, an
import inside a function) counts as ours if we share a class or function of that name. So in doubt a test runs.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import types
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

FOLLOWED = ("sklearn", "tests", "conftest")  # the packages whose code is followed
LISTINGS = ("all_estimators",)  # these find classes without naming them
PLAIN = (str, bytes, int, float, complex, type(None), types.ModuleType)


class Reach:
    """Whether tests use something of ours; `names` are the names of classes and functions that we share."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = {*names, *LISTINGS}
        self.outside: set[int] = set()  # ids of objects that lead to nothing of ours
        self.kept: list[Any] = []  # these objects, so that their ids stay theirs

    def of_test(self, item: pytest.Item) -> bool:
        """Whether a test does, in its code, a fixture or the values of its case."""
        if not isinstance(item, pytest.Function):
            return True
        fixtures = item._fixtureinfo.name2fixturedefs.values()
        case = getattr(item, "callspec", None)
        used = [fixture.func for definitions in fixtures for fixture in definitions]
        return self.of([item.function, *used, *(case.params.values() if case else ())])

    def of(self, things: list[Any]) -> bool:
        """Whether one of the objects is ours or leads to one that is."""
        waiting, seen = list(things), set(self.outside)
        while waiting:
            thing = waiting.pop()
            if isinstance(thing, PLAIN) or id(thing) in seen:
                continue
            seen.add(id(thing))
            self.kept.append(thing)
            if is_ours(thing) or self.names.intersection(unresolved(thing)):
                return True
            waiting += named(thing)
        self.outside = seen
        return False


def is_ours(thing: Any) -> bool:
    kind = thing if inspect.isclass(thing) or inspect.isroutine(thing) else type(thing)
    modules = [str(getattr(one, "__module__", "")) for one in getattr(kind, "__mro__", [kind])]
    return any(module.startswith("tercet.") for module in modules)


def codes(function: types.FunctionType) -> Iterator[types.CodeType]:
    """The code of a function and of those inside it."""
    waiting = [function.__code__]
    while waiting:
        code = waiting.pop()
        yield code
        waiting += [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]


def names_in(function: types.FunctionType) -> set[str]:
    return {name for code in codes(function) for name in code.co_names}


def unresolved(thing: Any) -> set[str]:
    """Names in a function's code that are no globals: attributes, and what it imports itself."""
    if not isinstance(thing, types.FunctionType):
        return set()
    return names_in(thing).difference(thing.__globals__)


def named(thing: Any) -> Iterator[Any]:
    """The parts of an object, or the objects that its code names."""
    if isinstance(thing, dict):
        yield from thing.keys()
        yield from thing.values()
    elif isinstance(thing, list | tuple | set | frozenset):
        yield from thing
    elif isinstance(thing, functools.partial):
        yield from (thing.func, thing.args, thing.keywords)
    elif isinstance(thing, types.MethodType):
        yield from (thing.__func__, thing.__self__)
    elif isinstance(thing, types.FunctionType):
        if thing.__module__.startswith(FOLLOWED):
            yield from (thing.__globals__[name] for name in names_in(thing) & thing.__globals__.keys())
        yield from (thing.__defaults__, thing.__kwdefaults__, getattr(thing, "__wrapped__", None))
        for cell in thing.__closure__ or ():
            with contextlib.suppress(ValueError):  # not filled
                yield cell.cell_contents
    elif inspect.isclass(thing):
        if thing.__module__.startswith(FOLLOWED):
            yield from thing.__mro__[1:]
            for member in vars(thing).values():
                yield getattr(member, "__func__", getattr(member, "fget", getattr(member, "fn", member)))
    elif type(thing).__module__.startswith(FOLLOWED):
        yield type(thing)
        yield getattr(thing, "__dict__", None)
