"""Choices inside a training set, by its own cross-validation: the test rows have no part in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tercet.cli.compare.combination import MEMBERS
from tercet.cli.compare.search_spaces import search_space

if TYPE_CHECKING:
    from tercet.cli.compare.cross_validation import CrossValidation

FOLDS = 3  # of the inner cross-validation
Candidate = tuple[str, dict[str, Any]]


def fits(candidates: int) -> float:
    """Fits that a choice among some candidates takes, in the unit of one on the whole training set.

    Examples
    --------
    >>> fits(5)
    10.0
    """
    return candidates * (FOLDS - 1.0)


def inner_score(work: CrossValidation, candidate: Candidate, train: np.ndarray, key: Any) -> float:
    """Mean of the measure over the inner folds, greater is better; -inf for one that fails."""
    name, settings = candidate
    assert work.y is not None
    splits = work.splitter.within(train, work.y, FOLDS)
    share, sign = work.shares_of(splits), 1.0 if work.measure.greater_is_better else -1.0
    values = []
    for k, (inside, held) in enumerate(splits):
        if work.k and np.unique(work.y[inside]).size < 2:
            continue
        try:
            X, Z = work.encode(name, inside, held, key=(*key, "inner", k))
            model = work.fit(name, settings, X, work.y[inside])[0]
            values.append(work.value(work.measure, model, Z, work.y[held], share=share))
        except (ValueError, ArithmeticError):  # settings that these rows are too few for, say
            return -np.inf
    known = [value for value in values if np.isfinite(value)]
    return sign * float(np.mean(known)) if known else -np.inf


def best_settings(
    work: CrossValidation, name: str, settings: dict[str, Any], train: np.ndarray, key: Any
) -> dict[str, Any]:
    """The best settings of a method's search space; those given, unless others are better."""
    space = [settings, *({**settings, **more} for more in search_space(name))]
    scores = [inner_score(work, (name, choice), train, key) for choice in space]
    return space[int(np.argmax(scores))]


def best_members(
    work: CrossValidation, candidates: list[Candidate], train: np.ndarray, key: Any
) -> list[Candidate]:
    """The best of some methods, best first."""
    scores = [inner_score(work, candidate, train, key) for candidate in candidates]
    order = sorted(range(len(candidates)), key=lambda k: (-scores[k], k))
    return [candidates[k] for k in order[:MEMBERS]]
