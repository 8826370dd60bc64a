"""Models that `tercet fit` saved: opened, and validated before they are used.

A file of trusted types only can still be forged: its columns and classes are checked here, so that the rest of the
command can rely on them.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tercet.cli import errors, printing
from tercet.cli.errors import Refusal
from tercet.cli.parameter_values import TASKS
from tercet.cli.translation import tr
from tercet.core.messages import Message
from tercet.io import ModelError, ModelWarning, load_model

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline

    from tercet.feature import Column, Schema

WITHOUT_PROBABILITIES = {
    "classification": Message("a classifier without probabilities"),
    "regression": Message("a regression model, which predicts numbers"),
    "clustering": Message("a clustering model, which gives cluster numbers"),
}
FEATURES = ("numeric", "boolean", "categorical", "date", "text")


@dataclass(frozen=True)
class SavedModel:
    """A model with its preprocessing, and what is known about it."""

    path: Path
    pipeline: Pipeline
    schema: Schema
    about: dict[str, Any]

    @property
    def task(self) -> str:
        return self.about["task"]

    @property
    def method(self) -> str:
        return self.about["method"]

    @property
    def target(self) -> str | None:
        return self.about["target"]

    @property
    def rows(self) -> int:
        """How many rows the summaries of the columns come from; 0 if the file does not say."""
        rows = self.about.get("drawn_rows") or self.about.get("rows")
        return rows if isinstance(rows, int) else 0

    @property
    def reading(self) -> dict[str, Any] | None:
        """How the table was read that the model learned from."""
        return self.about.get("reading") or None

    def require_predict(self, *, proba: bool = False) -> None:
        """Refuse a model that cannot predict, or has no probabilities."""
        with self.using():
            if not hasattr(self.pipeline, "predict"):
                raise Refusal(
                    tr("{method} cannot predict rows it was not fitted on", method=self.method), errors.USAGE
                )
            if proba and not hasattr(self.pipeline, "predict_proba"):
                raise Refusal(
                    tr(
                        "--proba: {method} is {kind}",
                        method=self.method,
                        kind=WITHOUT_PROBABILITIES[self.task],
                    ),
                    errors.USAGE,
                )

    @contextlib.contextmanager
    def using(self) -> Iterator[None]:
        """Around all use of the model: errors become those of a model that does not fit the table."""
        from tercet.datasets import TableError

        try:
            yield
        except (TableError, ModelError, Refusal, OSError, MemoryError):
            raise
        except Exception as error:
            if not _of_data(error):
                raise
            reason = " ".join(str(error).split())[:300] or type(error).__name__
            raise ModelError(
                Message("{file} does not fit this table: {reason}", file=str(self.path), reason=reason)
            ) from error


def open_model(path: Path) -> SavedModel:
    """A model that `tercet fit` saved."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ModelWarning)
        pipeline, about = load_model(path)
    for warning in caught:
        if isinstance(warning.message, ModelWarning):
            printing.remark("warning: {text}", text=warning.message.args[0])
    strange = ModelError(Message("{file} holds a model that `tercet fit` did not save", file=str(path)))
    from tercet.feature import Schema

    try:
        schema = Schema.from_dict(about["schema"])
        good = _is_pipeline(pipeline) and _is_described(about, schema) and _is_valid_schema(schema)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise strange from error
    if not good:
        raise strange
    return SavedModel(path, pipeline, schema, about)


def _is_pipeline(model: Any) -> bool:
    from sklearn.pipeline import Pipeline

    from tercet.feature import TableEncoder

    if not isinstance(model, Pipeline):
        return False
    if [name for name, _ in model.steps] == ["model"]:  # a vote, each member with its own preprocessing
        members = getattr(model[0], "estimators_", None)
        return isinstance(members, list) and bool(members) and all(map(_is_pipeline, members))
    if [name for name, _ in model.steps] != ["encoder", "model"]:
        return False
    return isinstance(model[0], TableEncoder) and hasattr(model[1], "fit")


def _is_described(about: dict[str, Any], schema: Schema) -> bool:
    target = schema.target.name if schema.target else None
    return (
        about["task"] in TASKS
        and about["task"] == schema.task
        and isinstance(about["method"], str)
        and about["target"] == target
        and isinstance(about.get("reading") or {}, dict)
    )


def _is_valid_schema(schema: Schema) -> bool:
    """Whether columns and classes are of the sorts that a schema can have."""
    columns = [*schema.columns, *([schema.target] if schema.target else [])]
    width, names = schema.n_sparse, schema.sparse_names
    return (
        all(_is_column(column) for column in columns)
        and len({column.name for column in columns}) == len(columns)
        and (schema.target is not None or schema.task == "clustering")
        and _are_classes(schema.classes, needed=schema.task == "classification")
        and isinstance(width, int)
        and width >= 0
        and (names is None or (len(names) == width and _are(names, str)))
    )


def _is_column(column: Column) -> bool:
    coded = column.used and column.kind in ("boolean", "categorical")
    return (
        _are((column.name, column.kind), str)
        and isinstance(column.used, bool)
        and (not column.used or column.kind in FEATURES)
        and (not coded or column.categories is not None)
        and _are(column.categories or (), str)
        and isinstance(column.summary, dict)
    )


def _are_classes(classes: tuple[Any, ...] | None, *, needed: bool) -> bool:
    if classes is None or not needed:
        return not needed
    sorts: tuple[Any, ...] = (str, bool, int, float)
    alike = any(all(type(label) is sort for label in classes) for sort in sorts)
    numbers = all(type(label) in (int, float) for label in classes)
    return len(classes) > 0 and (alike or numbers) and len(set(classes)) == len(classes)


def _are(things: tuple[Any, ...], sort: type) -> bool:
    return all(isinstance(thing, sort) for thing in things)


def _of_data(error: Exception) -> bool:
    """Whether an error is one that bad arrays or values cause, in Python, NumPy, polars or a kernel."""
    plain = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError)
    return isinstance(error, plain) or type(error).__module__.startswith(("polars.", "numba."))
