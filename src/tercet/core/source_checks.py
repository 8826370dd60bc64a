"""Checks of the rows, targets and weights that come from a source; errors name file, row group, column and row."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.scaling import largest
from tercet.core.sources import Features, Piece, SourceError
from tercet.core.validation import is_finite, refuse_large, refuse_negative


@dataclass
class SourceChecks:
    """What an estimator asks of its rows, targets and weights."""

    name: str
    missing: bool = False
    positive: bool = False
    largest: float = np.inf
    largest_target: float = np.inf
    classes: np.ndarray | None = None  # labels become indices into them
    weight_exponent: int = 0
    given: dict[str, np.ndarray] = field(
        default_factory=dict
    )  # y or weights that are in memory, not in the source

    def rows(self, piece: Piece, features: Features) -> Any:
        """The features of a piece, or an error that says where it is wrong."""
        X = piece.X.astype(features.dtype, copy=False)
        values = X.data if sparse.issparse(X) else X
        if not is_finite(values):
            wrong = np.isinf(values) if self.missing else ~np.isfinite(values)
            if wrong.any():
                self._refuse_cell(piece, features, X, wrong)
        try:
            if self.positive:
                refuse_negative(X, self.name)
            if self.largest < np.inf:
                refuse_large(X, self.largest, self.name)
        except ValueError as error:
            raise SourceError(f"{self._place(piece, 0)} or below: {error}") from error
        return X

    def _refuse_cell(self, piece: Piece, features: Features, X: Any, wrong: np.ndarray) -> None:
        if sparse.issparse(X):
            entry = int(np.argmax(wrong))
            row, column = int(np.searchsorted(X.indptr, entry, side="right")) - 1, int(X.indices[entry])
            value = X.data[entry]
        else:
            row, column = (int(i) for i in np.argwhere(wrong)[0])
            value = X[row, column]
        name = repr(features.names[column]) if features.names is not None else str(column)
        kind = "NaN (or a missing value)" if np.isnan(value) else f"{value}"
        raise SourceError(
            f"{self.name}: column {name} has {kind} in {self._place(piece, row)}. Fill gaps or leave the row out."
        )

    def _place(self, piece: Piece, row: int) -> str:
        place = piece.place
        whole = f", row {place.start + row} of the source" if place.start != place.row else ""
        return f"{place.label}, row {place.row + row}{whole}"

    def target(self, piece: Piece, y: np.ndarray) -> np.ndarray:
        """The targets of a piece: indices of classes, or numbers."""
        refuse_missing(self.name, piece, y, "y")
        if self.classes is not None:
            return np.searchsorted(self.classes, y)
        try:
            y = np.require(y, np.float64, ["C", "W"])
        except ValueError as error:
            raise SourceError(
                f"{self.name}: y must hold numbers ({self._place(piece, 0)}): {error}"
            ) from None
        if (most := largest(y)) > self.largest_target:
            raise SourceError(
                f"{self.name}: y holds numbers up to {most:.3g} ({self._place(piece, 0)} or below); allowed are at "
                f"most {self.largest_target:g}. Scale the targets."
            )
        return y

    def weights(self, weight: np.ndarray, dtype: Any) -> np.ndarray:
        """The weights of a piece; `survey_weights` has looked at all of them."""
        weight = np.require(weight, np.float64, ["C", "W"])
        if self.weight_exponent:
            weight = np.ldexp(weight, -self.weight_exponent)
        return weight.astype(dtype, copy=False)


def refuse_missing(name: str, piece: Piece, values: np.ndarray, what: str) -> None:
    """Refuse a target or weight that is missing or infinite, by its place."""
    if values.dtype.kind == "f":
        good = np.isfinite(values)
    elif values.dtype == object:
        good = np.array([value is not None and value == value for value in values.ravel()]).reshape(
            values.shape
        )
    else:
        return
    if not good.all():
        row = int(np.argmin(good.reshape(len(values), -1).all(axis=1)))
        place = piece.place
        raise SourceError(
            f"{name}: {what} is missing or infinite in {place.label}, row {place.row + row}: every row needs one."
        )
