"""Choices inside a training set, by its own cross-validation: the test rows have no part in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tercet.cli.compare.combination import Candidate, Combined, greedy_weights
from tercet.cli.compare.search_spaces import search_space

if TYPE_CHECKING:
    from tercet.cli.compare.cross_validation import CrossValidation
    from tercet.cli.compare.splits import Split

FOLDS = 3  # of the inner cross-validation
MANY_ROWS = 3_000  # from which one of the folds says enough
BRIER = 0.5  # weight of the Brier score where the measure only counts errors, which few rows say little of


def fits(candidates: int, rows: int = 0) -> float:
    """Fits that a choice among some candidates takes, in the unit of one on the whole training set.

    Examples
    --------
    >>> fits(6), round(fits(6, rows=100_000), 9)
    (12.0, 4.0)
    """
    return candidates * (FOLDS - 1.0) / (1 if rows <= MANY_ROWS else FOLDS)


def inner_splits(work: CrossValidation, train: np.ndarray) -> list[Split]:
    """Splits of the training rows: all folds, or of many rows the last."""
    splits = [
        (inside, held)
        for inside, held in work.splitter.within(train, work.y, FOLDS)
        if not work.k or np.unique(work.y[inside]).size > 1  # type: ignore[index]
    ]
    return splits if train.size <= MANY_ROWS else splits[-1:]


def inner_score(work: CrossValidation, candidate: Candidate, train: np.ndarray, key: Any) -> float:
    """Mean of the measure over the inner folds, greater is better; -inf for one that fails."""
    name, settings = candidate
    assert work.y is not None
    splits = inner_splits(work, train)
    share, sign = work.shares_of(splits), 1.0 if work.measure.greater_is_better else -1.0
    values = []
    for k, (inside, held) in enumerate(splits):
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


def opinion(work: CrossValidation, model: Any, Z: Any) -> np.ndarray | None:
    """Probabilities of the classes, or numbers; None where there are none, or not for all rows."""
    if work.task == "classification":
        found = work.proba(model, Z)
    else:
        found = np.asarray(model.predict(Z), dtype=np.float64)
    return found if found is not None and np.isfinite(found).all() else None


def inner_opinions(
    work: CrossValidation, candidate: Candidate, splits: list[Split], key: Any
) -> np.ndarray | None:
    """What a candidate predicts of the held-out rows of all inner splits; None for one that fails."""
    name, settings = candidate
    assert work.y is not None
    found = []
    for k, (inside, held) in enumerate(splits):
        try:
            X, Z = work.encode(name, inside, held, key=(*key, "inner", k))
            part = opinion(work, work.fit(name, settings, X, work.y[inside])[0], Z)
        except (ValueError, ArithmeticError):
            return None
        if part is None:
            return None
        found.append(part)
    return np.concatenate(found) if found else None


def member_weights(
    work: CrossValidation, candidates: list[Candidate], train: np.ndarray, key: Any
) -> np.ndarray:
    """Weights of the candidates of a combination, chosen inside the training rows."""
    splits = inner_splits(work, train)
    parts = [inner_opinions(work, candidate, splits, key) for candidate in candidates]
    ends = np.cumsum([held.size for _, held in splits])[:-1]
    share, sign = work.shares_of(splits), 1.0 if work.measure.greater_is_better else -1.0
    assert work.y is not None
    truths = [work.y[held] for _, held in splits]

    def score(mean: np.ndarray) -> float:
        values = []
        for part, truth in zip(np.split(mean, ends), truths):
            value = sign * work.value(work.measure, Combined([part]), None, truth, share=share)
            if work.k and work.measure.needs == "labels":
                value -= BRIER * float(np.mean(np.sum((part - np.eye(work.k)[truth]) ** 2, axis=1)))
            values.append(value)
        known = [value for value in values if np.isfinite(value)]
        return float(np.mean(known)) if known else -np.inf

    return greedy_weights(parts, score)
