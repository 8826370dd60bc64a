"""Beam search (集束搜索) for one rule, from general to specific."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tercet.rules._engine.ranked_table import RankedTable
from tercet.rules._engine.scans import TIE, Candidates, Cover, restricted
from tercet.rules.rule_growth import Tests, rank_test, simplified


class FoundRule(NamedTuple):
    """A rule, its score and the weight of the rows of each class that it covers."""

    tests: Tests
    score: float
    counts: np.ndarray

    def better_than(self, other: FoundRule | None) -> bool:
        """By the score; of equal ones the one that covers more, then the one of fewer conditions."""
        if other is None:
            return True
        slack = TIE * max(1.0, abs(other.score))
        if self.score > other.score + slack:
            return True
        if self.score < other.score - slack:
            return False
        mass, other_mass = float(self.counts.sum()), float(other.counts.sum())
        if abs(mass - other_mass) > TIE * other_mass:
            return mass > other_mass
        return len(self.tests) < len(other.tests)


def beam_search(
    table: RankedTable,
    cover: Cover,
    scan: Callable[[Cover], Candidates],
    *,
    width: int,
    max_conds: int | None = None,
    accept: Callable[[np.ndarray], np.ndarray],
    evidence: Callable[[np.ndarray], np.ndarray] | None = None,
) -> FoundRule | None:
    """The best acceptable rule that a beam search meets; None where there is none.

    The star has the empty rule at first. Each pass scores all its specialisations by one condition (of the
    thresholds of a column and a direction only those that `scan` chooses), and keeps the `width` best of them
    for the next pass.

    Parameters
    ----------
    table, cover : the rows, and those that the empty rule covers.
    scan : scores the conditions that a rule of a cover could get.
    width : how many rules the star keeps.
    max_conds : the most conditions.
    accept : which rules, by their class weights of shape (n_rules, n_classes), may be the result.
    evidence : a second measure, by the class weights, that every other place of the star goes to. The rule of the
        best score is often one of few rows, and a star of such rules leads nowhere.
    """
    star: list[tuple[Tests, Cover]] = [((), cover)]
    best: FoundRule | None = None
    depth = 0
    while star and (max_conds is None or depth < max_conds):
        depth += 1
        found = [scan(rows) for _, rows in star]
        ranked, counts = _ranked(found)
        allowed = np.flatnonzero(accept(counts))
        if allowed.size:
            parent, slot = ranked[allowed[0]]
            test = rank_test(table, found[parent], slot)
            score = float(found[parent].score[slot])
            rule = FoundRule(simplified((*star[parent][0], test)), score, counts[allowed[0]])
            best = rule if rule.better_than(best) else best
        if evidence is not None:
            ranked, counts = _alternating(ranked, counts, evidence(counts))
        star = _specialised(table, star, found, ranked, counts, width)
    return best


def _alternating(
    ranked: list[tuple[int, int]], counts: np.ndarray, evidence: np.ndarray
) -> tuple[list[tuple[int, int]], np.ndarray]:
    """The candidates by turns: the best by the score, the best by the evidence, the second best by the score ..."""
    by_evidence = np.argsort(-evidence.round(9), kind="stable")
    turns = np.column_stack([np.arange(len(ranked)), by_evidence]).ravel()
    order = list(dict.fromkeys(turns.tolist()))
    return [ranked[k] for k in order], counts[order]


def _specialised(
    table: RankedTable,
    star: list[tuple[Tests, Cover]],
    found: list[Candidates],
    ranked: list[tuple[int, int]],
    counts: np.ndarray,
    width: int,
) -> list[tuple[Tests, Cover]]:
    """The best rules of the next star: different ones, that still cover rows of two classes."""
    out: list[tuple[Tests, Cover]] = []
    seen: set[frozenset[tuple[int, ...]]] = set()
    for (parent, slot), weights in zip(ranked, counts):
        if np.count_nonzero(weights) < 2:  # specialising it can only make it smaller
            continue
        test = rank_test(table, found[parent], slot)
        tests = simplified((*star[parent][0], test))
        key = frozenset(one[:3] for one in tests)
        if key not in seen:
            seen.add(key)
            out.append((tests, restricted(table, star[parent][1], *test[:3])))
        if len(out) == width:
            break
    return out


def _ranked(found: list[Candidates]) -> tuple[list[tuple[int, int]], np.ndarray]:
    """Parent and slot of all candidates, the best score first (of equals the greater weight, then the first), and
    their class weights."""
    score = np.concatenate([one.score for one in found])
    counts = np.concatenate([one.counts for one in found])
    order = np.lexsort((-counts.sum(axis=1).round(9), -score.round(9)))
    order = order[score[order] > -np.inf]
    slots = len(found[0].score)
    return [(int(k) // slots, int(k) % slots) for k in order], counts[order]
