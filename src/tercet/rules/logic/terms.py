"""Terms of first-order logic: variables, constants and compound terms (项)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NoReturn

import numpy as np

from tercet.core.input_errors import shown
from tercet.core.public_names import public_module

LIST, NIL = "[|]", "[]"  # the functor of a list's cells, and the empty list


class Immutable:
    """An object that is what it was made of: equal parts make equal objects, which nobody can change.

    A class names its parts in `parts`; they are the arguments of its constructor.
    """

    __slots__ = ()
    parts: tuple[str, ...] = ()

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} cannot be changed: make a new one instead.")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} cannot be changed: make a new one instead.")

    def __reduce__(self) -> Any:
        from tercet.io import new_instance

        state = tuple(getattr(self, name) for name in self.parts)
        return new_instance, (public_module(type(self)), type(self).__qualname__), state

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        type(self).__init__(self, *state)  # hashes of strings differ from process to process

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(repr(getattr(self, name)) for name in self.parts)})"


class Variable(Immutable):
    """A variable; two of one name in a clause are the same.

    Parameters
    ----------
    name : str
        As Prolog writes it: a capital letter or an underscore first.

    Examples
    --------
    >>> print(Variable("X"))
    X
    """

    __slots__ = ("_hash", "name")
    parts = ("name",)
    name: str
    is_ground = False

    def __init__(self, name: str) -> None:
        if not isinstance(name, str) or not name or not (name[0] == "_" or name[0].isupper()):
            raise ValueError(
                f"A variable's name must begin with a capital letter or an underscore; got {shown(name)}."
            )
        self._set(name=name, _hash=hash(("variable", name)))

    def __eq__(self, other: object) -> bool:
        return self is other or (type(other) is Variable and self.name == other.name)

    def __hash__(self) -> int:
        return self._hash  # type: ignore[attr-defined]

    def __str__(self) -> str:
        return self.name


class Constant(Immutable):
    """A constant: a name or a number. 1, 1.0 and '1' are three different ones.

    Parameters
    ----------
    value : str, int or float
        A truth value becomes the name true or false.

    Examples
    --------
    >>> print(Constant("ann"), Constant(3), Constant("Ann Lee"))
    ann 3 'Ann Lee'
    """

    __slots__ = ("_hash", "value")
    parts = ("value",)
    value: str | int | float
    is_ground = True

    def __init__(self, value: Any) -> None:
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, bool):
            value = "true" if value else "false"
        if type(value) not in (str, int, float) or (isinstance(value, float) and not math.isfinite(value)):
            raise ValueError(f"A constant must be a string or a finite number; got {shown(value)}.")
        self._set(value=value, _hash=hash((type(value).__name__, value)))

    def __eq__(self, other: object) -> bool:
        return self is other or (
            type(other) is Constant and type(self.value) is type(other.value) and self.value == other.value
        )

    def __hash__(self) -> int:
        return self._hash  # type: ignore[attr-defined]

    def __str__(self) -> str:
        from tercet.rules.logic.prolog import format_term

        return format_term(self)


class Compound(Immutable):
    """A compound term: a functor with arguments, as in s(0) or [H|T].

    Parameters
    ----------
    functor : str
        The name.
    args : iterable of terms
        At least one; what is no term becomes a constant.

    Examples
    --------
    >>> print(Compound("f", [Variable("X"), "a"]), term_list(["a", "b"], Variable("T")))
    f(X, a) [a, b|T]
    """

    __slots__ = ("_hash", "args", "functor", "is_ground")
    parts = ("functor", "args")
    functor: str
    args: tuple[Term, ...]
    is_ground: bool

    def __init__(self, functor: str, args: Iterable[Any]) -> None:
        terms = tuple(as_term(arg) for arg in args)
        if not isinstance(functor, str) or not functor or not terms:
            raise ValueError(
                f"A compound term needs a name and arguments; got {shown(functor)} and {len(terms)} arguments."
            )
        self._set(
            functor=functor,
            args=terms,
            is_ground=all(arg.is_ground for arg in terms),
            _hash=hash((functor, terms)),
        )

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(other) is not Compound or hash(self) != hash(other):
            return False
        waiting: list[tuple[Any, Any]] = [(self, other)]  # lists of thousands of elements nest as deep
        while waiting:
            a, b = waiting.pop()
            if a is b:
                continue
            if type(a) is Compound and type(b) is Compound:
                if a.functor != b.functor or len(a.args) != len(b.args) or a._hash != b._hash:  # type: ignore[attr-defined]
                    return False
                waiting += zip(a.args, b.args)
            elif a != b:
                return False
        return True

    def __hash__(self) -> int:
        return self._hash  # type: ignore[attr-defined]

    def __str__(self) -> str:
        from tercet.rules.logic.prolog import format_term

        return format_term(self)


Term = Variable | Constant | Compound


def as_term(value: Any) -> Term:
    """A term as it is; any other value as a constant."""
    if isinstance(value, Variable | Constant | Compound):
        return value
    if isinstance(value, list | tuple):
        return term_list(value)
    return Constant(value)


def term_list(elements: Iterable[Any], tail: Term | None = None) -> Term:
    """The Prolog list of some elements, in front of a tail.

    Examples
    --------
    >>> print(term_list([1, 2, 3]))
    [1, 2, 3]
    """
    found: Term = Constant(NIL) if tail is None else tail
    for element in reversed(list(elements)):
        found = Compound(LIST, (as_term(element), found))
    return found


def term_variables(term: Term) -> Iterator[Variable]:
    """The variables of a term from left to right, each as often as it occurs."""
    waiting = [term]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Variable):
            yield one
        elif isinstance(one, Compound) and not one.is_ground:
            waiting += reversed(one.args)


def subterms(term: Term) -> Iterator[Term]:
    """A term and all terms inside it."""
    waiting = [term]
    while waiting:
        one = waiting.pop()
        yield one
        if isinstance(one, Compound):
            waiting += reversed(one.args)


def replaced(term: Term, mapping: Mapping[Any, Term]) -> Term:
    """The term with variables (or other subterms) replaced, all at once.

    The last argument is followed in a loop: a list is as deep as it is long.
    """
    spine: list[Compound] = []
    while True:
        found = mapping.get(term)
        if found is None and isinstance(term, Compound) and (not term.is_ground or _more(mapping)):
            spine.append(term)
            term = term.args[-1]
            continue
        term = term if found is None else found
        break
    for above in reversed(spine):
        args = (*(replaced(arg, mapping) for arg in above.args[:-1]), term)
        same = all(new is old for new, old in zip(args, above.args))
        term = above if same else Compound(above.functor, args)
    return term


def _more(mapping: Mapping[Any, Term]) -> bool:
    """Whether anything but variables is replaced."""
    return any(not isinstance(key, Variable) for key in mapping)


def fresh_names(taken: Iterable[str]) -> Iterator[str]:
    """Names of variables that are not taken: A, B ... Z, A1, B1 ..."""
    used, round_ = set(taken), 0
    while True:
        for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ":
            name = letter if round_ == 0 else f"{letter}{round_}"
            if name not in used:
                yield name
        round_ += 1
