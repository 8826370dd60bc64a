"""Examples of one predicate in numbers, and which of them a clause covers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tercet.rules.logic._engine.body_query import Bindings, satisfied
from tercet.rules.logic._engine.relations import FactBase, Key
from tercet.rules.logic.clause import Clause
from tercet.rules.logic.literal import Literal
from tercet.rules.logic.terms import Compound, Variable


class Examples:
    """Ground atoms of one predicate: a row of numbers for each."""

    def __init__(self, facts: FactBase, key: Key, rows: np.ndarray) -> None:
        self.facts, self.key, self.rows = facts, key, rows

    @classmethod
    def of(cls, atoms: Sequence[Literal], key: Key, facts: FactBase) -> Examples:
        """Atoms in numbers; new ones for terms that the facts do not have."""
        rows = [[facts.code(arg) for arg in atom.args] for atom in atoms]
        return cls(facts, key, np.array(rows, dtype=np.int64).reshape(len(rows), key[1]))

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, chosen: np.ndarray | slice) -> Examples:
        return Examples(self.facts, self.key, self.rows[chosen])

    def __add__(self, other: Examples) -> Examples:
        return Examples(self.facts, self.key, np.concatenate([self.rows, other.rows]))

    def atoms(self) -> list[Literal]:
        """The atoms themselves."""
        terms = self.facts.terms
        return [Literal(self.key[0], [terms[code] for code in row]) for row in self.rows.tolist()]

    def bindings(self, head: Literal) -> Bindings:
        """The examples that match the head of a clause, as bindings of the head's variables."""
        if head.key != self.key:
            return Bindings(
                self.facts, np.empty(0, dtype=np.int64), dict.fromkeys(head.variables, self.rows[:0, 0])
            )
        if any(isinstance(arg, Compound) and not arg.is_ground for arg in head.args):
            return self._matched(head)
        kept = np.ones(len(self.rows), dtype=bool)
        columns: dict[Variable, np.ndarray] = {}
        for place, arg in enumerate(head.args):
            column = self.rows[:, place]
            if not isinstance(arg, Variable):
                kept &= column == self.facts.codes.get(arg, -1)
            elif arg in columns:
                kept &= column == columns[arg]
            else:
                columns[arg] = column
        return Bindings(self.facts, np.arange(len(self.rows)), columns).taken(np.flatnonzero(kept))

    def _matched(self, head: Literal) -> Bindings:
        columns: dict[Variable, list[int]] = {v: [] for v in head.variables}
        example = []
        for number, atom in enumerate(self.atoms()):
            if (row := matched(head, atom)) is not None:
                example.append(number)
                for variable, term in row.items():
                    columns[variable].append(self.facts.code(term))
        arrays = {v: np.array(c, dtype=np.int64) for v, c in columns.items()}
        return Bindings(self.facts, np.array(example, dtype=np.int64), arrays)


def matched(head: Literal, atom: Literal) -> dict[Variable, Any] | None:
    """The terms of a ground atom for the variables of a head; None where they do not fit."""
    found: dict[Variable, Any] = {}
    waiting = list(zip(head.args, atom.args))
    while waiting:
        pattern, term = waiting.pop()
        if isinstance(pattern, Variable):
            if found.setdefault(pattern, term) != term:
                return None
        elif isinstance(pattern, Compound) and not pattern.is_ground:
            same = isinstance(term, Compound) and pattern.functor == term.functor
            if not same or len(pattern.args) != len(term.args):  # type: ignore[union-attr]
                return None
            waiting += zip(pattern.args, term.args)  # type: ignore[union-attr]
        elif pattern != term:
            return None
    return found


def covered(clause: Clause, examples: Examples) -> np.ndarray:
    """Which of the examples a clause covers: its head matches and its body holds in the facts."""
    assert clause.head is not None
    found = np.zeros(len(examples), dtype=bool)
    found[satisfied(clause.body, examples.bindings(clause.head), set()).example] = True
    return found
