"""Saved models: which types of ours a skops file may hold."""

from __future__ import annotations

from tercet.core.catalog import methods

PARTS = ["tercet.multiclass.base.Constant"]  # what estimators hold beside other estimators


def trusted_types() -> list[str]:
    """The names of all estimators here, for `skops.io.load(file, trusted=trusted_types())`.

    A fitted model holds nothing else of ours: its attributes are numbers, strings, arrays and containers.

    Examples
    --------
    >>> "tercet.linear_model.perceptron.Perceptron" in trusted_types()
    True
    """
    kinds = [card.load() for card in methods() if card.kind == "estimator"]
    return sorted([*PARTS, *(f"{kind.__module__}.{kind.__qualname__}" for kind in kinds)])
