"""Tasks of a worker process beyond the race: alerts, the recipe of a method, partial dependence."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from tercet.cli.compare.cross_validation import CrossValidation
from tercet.cli.pipelines import encoder_options, members_of
from tercet.core.catalog import methods
from tercet.feature import Records, TableEncoder

DEPENDENCE_ROWS = 300  # over which the response is averaged
GRID = 20  # values of a column of numbers


class DetailTasks(CrossValidation):
    """The tasks, by method name."""

    def alerts(self, **known: Any) -> list[Any]:
        """Alerts about the table; `known` are further fields of `AlertInput`."""
        from tercet.cli.alerts import find_alerts, make_input

        about = {"metric": self.measure.name, "cv": self.cv, "seed": self.seed, **known}
        return find_alerts(make_input(self.records, self.y, self.schema, **about))

    def recipe(self, name: str, settings: list[str]) -> dict[str, Any]:
        """How to make a method in Python: its expression, what to import, and the options of its encoder."""
        from tercet.cli.parameter_values import build, find_method

        estimator = build(find_method(name), settings, self.seed)
        members = members_of(estimator)
        modules = {card.name: card.module for card in methods() if card.kind == "estimator"}
        kinds = [type(one).__name__ for one in (estimator, *members.values())]
        given = ("voting", "weights")
        return {
            "kind": type(estimator).__name__,
            "expression": estimator.__repr__(N_CHAR_MAX=1_000_000),
            # Under the name that it has for callers: the module of its class may be private.
            "imports": sorted({(modules[kind], kind) for kind in kinds}),
            "encoder": {} if members else encoder_options(estimator),
            "members": [
                {
                    "name": own,
                    "expression": one.__repr__(N_CHAR_MAX=1_000_000),
                    "encoder": encoder_options(one),
                }
                for own, one in members.items()
            ],
            "options": {
                key: value
                for key, value in estimator.get_params(deep=False).items()
                if key in given and value
            },
        }

    def dependence(self, name: str, settings: dict[str, Any], columns: list[str]) -> dict[str, Any]:
        """Partial dependence of the method, fitted on all rows, on some columns, one at a time."""
        from tercet.inspection import partial_dependence

        encoder = self.encoder(name).fit(self.records)
        model, _, busy, _ = self.fit(name, settings, encoder.transform(self.records), self.y)
        rows = self.records.take(self.sample(min(self.n, DEPENDENCE_ROWS)))
        kind = RecordsClassifier if self.task == "classification" else RecordsRegressor
        found = {}
        for column in columns:
            values = np.asarray(rows.column(column), dtype=np.float64)
            coded = self.records.kinds[self.records.names.index(column)] == "category"
            grid = np.unique(values[values >= 0]) if coded else np.unique(values[~np.isnan(values)])
            if not coded and grid.size > GRID:
                low, high = np.quantile(values[~np.isnan(values)], [0.05, 0.95])
                grid = np.linspace(low, high, GRID)
            if grid.size < 2:
                continue
            answer = partial_dependence(
                kind(model, encoder, rows, column, self.k),
                values[:, None],
                0,
                custom_values={0: np.unique(grid)},
            )
            found[column] = {"grid": answer.grid_values[0], "average": answer.average, "coded": coded}
        return {"columns": found, "busy": (busy[0], time.monotonic())}


class RecordsModel(BaseEstimator):
    """A fitted method as a function of one column: the other columns of the rows are as they are."""

    def __init__(self, model: Any, encoder: TableEncoder, rows: Records, column: str, n_classes: int) -> None:
        self.model, self.encoder, self.rows, self.column = model, encoder, rows, column
        self.n_classes = n_classes
        self.classes_ = np.arange(n_classes)

    def fit(self, X: Any, y: Any = None) -> RecordsModel:
        return self  # it is fitted

    def predict(self, X: Any) -> np.ndarray:
        values = np.asarray(X, dtype=np.float64)[:, 0]
        return self.model.predict(self.encoder.transform(self.rows.replaced(self.column, values)))


class RecordsRegressor(RegressorMixin, RecordsModel):
    """A regression method as a function of one column."""


class RecordsClassifier(ClassifierMixin, RecordsModel):
    """A classifier as a function of one column: its probabilities, or its votes where it has none."""

    def predict_proba(self, X: Any) -> np.ndarray:
        values = np.asarray(X, dtype=np.float64)[:, 0]
        Z = self.encoder.transform(self.rows.replaced(self.column, values))
        proba = np.zeros((len(self.rows), self.n_classes))
        try:
            proba[:, np.asarray(self.model.classes_, dtype=int)] = self.model.predict_proba(Z)
        except (AttributeError, NotImplementedError):
            proba[np.arange(len(proba)), np.asarray(self.model.predict(Z), dtype=int)] = 1.0
        return proba
