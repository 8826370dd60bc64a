"""Scores over a source, read once and added up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tercet.core.reduction import reduced
from tercet.core.source_checks import refuse_missing
from tercet.core.sources import RowSource


def streamed_accuracy(model: Any, source: RowSource, y: Any, sample_weight: Any) -> float:
    """The share of the rows of a source whose class is predicted."""
    parts = (
        (float(weight @ (found == true)), float(weight.sum()))
        for found, true, weight in _predicted(model, source, y, sample_weight)
    )
    right, mass = reduced(parts)
    return right / mass


def streamed_r2(model: Any, source: RowSource, y: Any, sample_weight: Any) -> float:
    """R² over the rows of a source, with sums of deviations from the first target to avoid cancellation."""
    centre: np.ndarray | None = None

    def sums() -> Iterator[Any]:
        nonlocal centre
        for found, true, weight in _predicted(model, source, y, sample_weight):
            true = true.reshape(len(true), -1).astype(np.float64)
            found = found.reshape(true.shape)
            centre = true[0] if centre is None else centre
            away = true - centre
            yield (
                float(weight.sum()),
                weight @ away,
                weight @ (away * away),
                weight @ ((true - found) ** 2),
            )

    mass, first, second, squares = reduced(sums())
    spread = second - first * first / mass
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = np.where(spread > 0, 1.0 - squares / spread, np.where(squares > 0, 0.0, 1.0))
    return float(np.mean(scores))


def _predicted(
    model: Any, source: RowSource, y: Any, sample_weight: Any
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Predictions, targets and weights, piece by piece."""
    name = f"{type(model).__name__}.score"
    columns = [column for column in (y, sample_weight) if isinstance(column, str | int)]
    if y is None:
        raise ValueError(f"{name} needs y, the name of the target's column.")
    predictions = model.predict(source)
    for piece in predictions.read(predictions.features(), columns):
        others, here = list(piece.others), slice(piece.place.start, piece.place.start + piece.n_rows)
        true = others.pop(0) if isinstance(y, str | int) else np.asarray(y)[here]
        refuse_missing(name, piece, true, "y")
        if sample_weight is None:
            weight = np.ones(len(true))
        else:
            weight = (
                others.pop(0) if isinstance(sample_weight, str | int) else np.asarray(sample_weight)[here]
            )
            refuse_missing(name, piece, weight, "sample_weight")
        yield piece.X, true, np.asarray(weight, dtype=np.float64)
