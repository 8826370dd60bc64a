"""SLD resolution by backtracking: depth first, clauses in order, negation as failure.

The goals that are left are a linked list, so that a choice point keeps it for nothing; bindings are undone by a
trail. No Python frame is used per goal: proofs may be as deep as memory allows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from tercet.rules.logic._engine.coded_clauses import Cell, CodedProgram, Symbols, coded_literal, value_of
from tercet.rules.logic.literal import Literal
from tercet.rules.logic.terms import Constant, Variable

CHECK = 1024  # inferences between two looks at the clock
MOST_DIGITS = 10_000  # the largest exponent


class ProofLimitError(RuntimeError):
    """A search for a proof that reached a limit before it could say yes or no.

    Examples
    --------
    >>> from tercet.rules.logic import Program
    >>> endless = Program("even(X) :- even(s(s(X))).")
    >>> try:
    ...     endless.holds("even(zero)", max_inferences=100)
    ... except ProofLimitError as error:
    ...     print(str(error).partition(".")[0])
    even(zero): the proof was not found in max_inferences=100 inferences
    """


class Limits:
    """What one search may spend, and what it has spent."""

    def __init__(self, max_depth: int, max_inferences: int | None, time_limit: float | None) -> None:
        self.max_depth, self.max_inferences, self.time_limit = max_depth, max_inferences, time_limit
        self.inferences = 0
        self.cut = False  # whether a branch was given up for its depth
        self._end = None if time_limit is None else time.monotonic() + time_limit

    def spend(self) -> None:
        """Count an inference; raise at a limit."""
        self.inferences += 1
        if self.max_inferences is not None and self.inferences > self.max_inferences:
            raise ProofLimitError(
                f"the proof was not found in max_inferences={self.max_inferences} inferences"
            )
        if self._end is not None and self.inferences % CHECK == 0 and time.monotonic() > self._end:
            raise ProofLimitError(f"the proof was not found in time_limit={self.time_limit} seconds")


class Machine:
    """One search: the goals, the bindings and the choices that are left."""

    def __init__(self, program: CodedProgram, limits: Limits) -> None:
        self.program, self.limits = program, limits
        self.symbols: Symbols = program.symbols

    def goals(self, literals: list[Literal]) -> tuple[list[Any], dict[Variable, Cell]]:
        """Literals at run time, with a cell for each variable."""
        slots: dict[Variable, int] = {}
        coded = [coded_literal(literal, self.symbols, slots) for literal in literals]
        cells = [Cell(variable.name) for variable in slots]
        built = [(key, tuple(build(arg, cells) for arg in args), negated) for key, args, negated in coded]
        return built, dict(zip(slots, cells))

    def solutions(self, goals: list[Any], depth: int = 0, trail: list[Cell] | None = None) -> Iterator[Any]:
        """Solve all goals, once for each way to do it; the bindings hold until the next is asked for.

        What is given back are the resolution steps as a linked list, the last one first: ((parent step, goal,
        number of the clause), earlier ones).
        """
        trail = [] if trail is None else trail
        left: Any = None
        for goal in reversed(goals):
            left = (goal, depth, None, left)
        steps: Any = None
        choices: list[tuple[Iterator[Any], Any, Any, int]] = []
        limits, predicates = self.limits, self.program.predicates
        while True:
            if left is None:
                yield steps
                found = False
            else:
                (key, args, negated), depth, parent, rest = left
                if negated:
                    found = self._fails((key, args, False), depth)
                    clause_number = -2
                elif key in BUILTINS:
                    limits.spend()
                    found = BUILTINS[key](self, args, trail)
                    clause_number = -1
                else:
                    predicate = predicates.get(key)
                    found = False
                    if predicate is not None:
                        choices.append((iter(predicate.candidates(args)), left, steps, len(trail)))
                if found:
                    steps = ((parent, left[0], clause_number), steps)
                    left = rest
                    continue
            # Try the next clause of the newest choice that has one.
            while choices:
                clauses, goal, before, height = choices[-1]
                while len(trail) > height:
                    trail.pop().value = None
                following = self._next(clauses, goal, trail, height)
                if following is None:
                    choices.pop()
                    continue
                number, body, frame = following
                (key, args, negated), depth, parent, rest = goal
                step = (parent, goal[0], number)
                steps, left = (step, before), rest
                for k, terms, sign in reversed(body):
                    left = ((k, tuple([build(arg, frame) for arg in terms]), sign), depth + 1, step, left)
                break
            else:
                return

    def _next(self, clauses: Iterator[Any], goal: Any, trail: list[Cell], height: int) -> Any:
        """The next clause whose head unifies with a goal: its number, its body and its variables."""
        (_, args, _), depth, _, _ = goal
        limits = self.limits
        for clause in clauses:
            limits.spend()
            frame: list[Any] = [None] * clause.n_slots
            for pattern, arg in zip(clause.args, args):
                if not match(pattern, arg, frame, trail):
                    break
            else:
                if clause.body and depth >= limits.max_depth:
                    limits.cut = True
                else:
                    return clause.number, clause.body, frame
            while len(trail) > height:
                trail.pop().value = None
        return None

    def _fails(self, goal: Any, depth: int) -> bool:
        """Negation as failure: whether a goal has no proof. A search that was cut proves nothing."""
        trail: list[Cell] = []
        before, self.limits.cut = self.limits.cut, False
        proved = next(self.solutions([goal], depth, trail), self) is not self
        while trail:
            trail.pop().value = None
        unknown = self.limits.cut and not proved
        self.limits.cut = before or unknown
        return not proved and not unknown


def build(pattern: Any, frame: list[Any]) -> Any:
    """A coded term at run time."""
    kind = type(pattern)
    if kind is int:
        if pattern >= 0:
            return pattern
        cell = frame[-1 - pattern]
        if cell is None:
            cell = frame[-1 - pattern] = Cell()
        return cell
    if kind is tuple:
        return pattern
    return (pattern[0], *[build(arg, frame) for arg in pattern[1:]])


def match(pattern: Any, term: Any, frame: list[Any], trail: list[Cell]) -> bool:
    """Unify a term of a clause's head with a term at run time."""
    kind = type(pattern)
    if kind is int and pattern < 0:
        if frame[-1 - pattern] is None:
            frame[-1 - pattern] = term
            return True
        return unify(frame[-1 - pattern], term, trail)
    term = value_of(term)
    if kind is int:
        if type(term) is Cell:
            term.value = pattern
            trail.append(term)
            return True
        return bool(type(term) is int and term == pattern)
    if kind is tuple:
        return unify(pattern, term, trail)
    if type(term) is Cell:
        return unify(term, build(pattern, frame), trail)
    if type(term) is not tuple or term[0] != pattern[0] or len(term) != len(pattern):
        return False
    return all(match(a, b, frame, trail) for a, b in zip(pattern[1:], term[1:]))


def unify(a: Any, b: Any, trail: list[Cell]) -> bool:
    """Unify two terms at run time, with the occurs check."""
    waiting = [(a, b)]
    while waiting:
        a, b = waiting.pop()
        a, b = value_of(a), value_of(b)
        if a is b:
            continue
        if type(b) is Cell and type(a) is not Cell:
            a, b = b, a
        if type(a) is Cell:
            if type(b) is tuple and _occurs(a, b):
                return False
            a.value = b
            trail.append(a)
        elif type(a) is tuple and type(b) is tuple:
            if a[0] != b[0] or len(a) != len(b):
                return False
            waiting += zip(a[1:], b[1:])
        elif type(a) is not type(b) or a != b:
            return False
    return True


def _occurs(cell: Cell, term: Any) -> bool:
    waiting = [term]
    while waiting:
        one = value_of(waiting.pop())
        if one is cell:
            return True
        if type(one) is tuple:
            waiting += one[1:]
    return False


def _same(a: Any, b: Any) -> bool:
    """Whether two terms are equal as they are, without a binding."""
    waiting = [(a, b)]
    while waiting:
        a, b = waiting.pop()
        a, b = value_of(a), value_of(b)
        if a is b:
            continue
        if type(a) is tuple and type(b) is tuple and a[0] == b[0] and len(a) == len(b):
            waiting += zip(a[1:], b[1:])
        elif type(a) is not int or type(b) is not int or a != b:
            return False
    return True


def _number(machine: Machine, term: Any) -> int | float:
    """The value of an arithmetic term."""
    term = value_of(term)
    if type(term) is int:
        value = machine.symbols.constants[term].value
        if not isinstance(value, str):
            return value
    if type(term) is tuple and (term[0], len(term) - 1) in ARITHMETIC:
        try:
            return ARITHMETIC[term[0], len(term) - 1](*(_number(machine, arg) for arg in term[1:]))
        except (ZeroDivisionError, OverflowError) as error:
            raise ValueError(
                f"Arithmetic: {machine.symbols.decoded(term, {})} has no value ({error})."
            ) from None
    raise ValueError(
        f"Arithmetic needs numbers; got {machine.symbols.decoded(term, {})}, which is none when it is evaluated."
    )


def _differ(machine: Machine, args: Any, trail: list[Cell]) -> bool:
    height = len(trail)
    same = unify(args[0], args[1], trail)
    while len(trail) > height:
        trail.pop().value = None
    return not same


def _compared(test: Callable[[Any, Any], bool]) -> Callable[..., bool]:
    return lambda machine, args, trail: test(_number(machine, args[0]), _number(machine, args[1]))


def _is(machine: Machine, args: Any, trail: list[Cell]) -> bool:
    return unify(args[0], machine.symbols.code(Constant(_number(machine, args[1]))), trail)


def _quotient(a: Any, b: Any) -> Any:
    """Division that drops the fraction, as Prolog's // does."""
    size = abs(a) // abs(b)
    return size if (a < 0) == (b < 0) else -size


def _power(a: Any, b: Any) -> Any:
    if abs(b) > MOST_DIGITS:
        raise OverflowError(f"an exponent above {MOST_DIGITS}")
    value = a**b
    if isinstance(value, complex):
        raise OverflowError("a root of a negative number")
    return value


ARITHMETIC: dict[tuple[str, int], Callable[..., Any]] = {
    ("+", 2): lambda a, b: a + b,
    ("-", 2): lambda a, b: a - b,
    ("*", 2): lambda a, b: a * b,
    ("/", 2): lambda a, b: a // b if isinstance(a, int) and isinstance(b, int) and a % b == 0 else a / b,
    ("//", 2): _quotient,
    ("mod", 2): lambda a, b: a % b,
    ("rem", 2): lambda a, b: a - b * _quotient(a, b),
    ("**", 2): _power,
    ("^", 2): _power,
    ("-", 1): lambda a: -a,
    ("+", 1): lambda a: a,
}
BUILTINS: dict[tuple[str, int], Callable[..., bool]] = {
    ("=", 2): lambda machine, args, trail: unify(args[0], args[1], trail),
    ("\\=", 2): _differ,
    ("==", 2): lambda machine, args, trail: _same(args[0], args[1]),
    ("\\==", 2): lambda machine, args, trail: not _same(args[0], args[1]),
    ("<", 2): _compared(lambda a, b: a < b),
    (">", 2): _compared(lambda a, b: a > b),
    ("=<", 2): _compared(lambda a, b: a <= b),
    (">=", 2): _compared(lambda a, b: a >= b),
    ("=:=", 2): _compared(lambda a, b: a == b),
    ("=\\=", 2): _compared(lambda a, b: a != b),
    ("is", 2): _is,
    ("true", 0): lambda machine, args, trail: True,
    ("fail", 0): lambda machine, args, trail: False,
    ("false", 0): lambda machine, args, trail: False,
}
