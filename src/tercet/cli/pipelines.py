"""Pipelines of a table encoder and an estimator: assembly, training rows, fit."""

from __future__ import annotations

import contextlib
import dataclasses
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from tercet.cli import errors, printing
from tercet.cli.errors import Refusal
from tercet.cli.method_messages import reworded, warning_texts
from tercet.cli.translation import tr
from tercet.core.messages import Message
from tercet.datasets import Table, TableError
from tercet.feature import Records, Schema, TableEncoder


def assemble(schema: Schema, estimator: Any) -> Pipeline:
    """An estimator behind the preprocessing that it needs: no negative features, say, or no missing ones.

    Examples
    --------
    >>> import polars
    >>> from tercet.feature import infer_schema
    >>> from tercet.linear_model import Perceptron
    >>> frame = polars.DataFrame({"x": [0.5, 1.5, 2.5, 3.5], "kind": ["a", "a", "b", "b"]})
    >>> model = assemble(infer_schema(frame, "kind"), Perceptron())
    >>> model.fit(frame, frame["kind"]).predict(polars.DataFrame({"x": [0.0, 9.0]})).tolist()
    ['a', 'b']
    """
    if members := members_of(estimator):  # what suits one of them need not suit the others
        pipelines = [(name, assemble(schema, member)) for name, member in members.items()]
        return Pipeline([("model", clone(estimator).set_params(estimators=pipelines))])
    return Pipeline(
        [
            ("encoder", TableEncoder(without_summaries(schema), **encoder_options(estimator))),
            ("model", estimator),
        ]
    )


def members_of(estimator: Any) -> dict[str, Any]:
    """Members of a vote or an average, by name, each of which can have a preprocessing of its own; of others none.

    Weights that are learned need the rows as numbers.
    """
    from tercet.ensemble import VotingClassifier, VotingRegressor

    votes = isinstance(estimator, VotingClassifier | VotingRegressor)
    return dict(estimator.estimators) if votes and not isinstance(estimator.weights, str) else {}


def encoder_options(estimator: Any) -> dict[str, Any]:
    """Options of `TableEncoder` for an estimator, from its tags."""
    tags = estimator.__sklearn_tags__().input_tags
    options: dict[str, Any] = {
        "missing": "keep" if tags.allow_nan else "impute",
        "sparse": "auto" if tags.sparse else False,
    }
    # It takes categories as they are, and numbers on any scale, or none at all; None says that it does not.
    if tags.string and getattr(estimator, "categorical_features", "") is not None:
        return {**options, "scale": "intervals" if tags.categorical else None, "categories": "keep"}
    return {
        **options,
        "scale": "minmax" if tags.positive_only else "standard",
        # They invert covariances, which a feature for every category would make singular.
        "redundant": not (
            hasattr(estimator, "covariance_type")
            or type(estimator).__module__.startswith("tercet.discriminant_analysis")
        ),
    }


def without_summaries(schema: Schema) -> dict[str, Any]:
    """A schema without histograms and the like: skops keeps every number of them as an object."""
    packed = schema.to_dict()
    for column in [*packed["columns"], packed["target"] or {}]:
        kept = {"not_numbers"}  # which decides how values are read
        column["summary"] = {k: v for k, v in column.get("summary", {}).items() if k in kept}
    return packed


def training_rows(schema: Schema, table: Table) -> tuple[Records, np.ndarray | None]:
    """The rows to learn from, and their labels or numbers."""
    records = schema.to_records(table, say=printing.remark)
    if schema.task == "clustering":
        return records, None
    y, known = schema.to_target(table)
    if not known.all():  # the schema's notes say how many
        records, y = records.take(np.flatnonzero(known)), y[known]
    return records, labels(schema, y)


def labels(schema: Schema, y: np.ndarray) -> np.ndarray:
    """Targets as they are in the table."""
    return y if schema.classes is None else np.asarray(schema.classes)[y]


def rows_with_target(
    schema: Schema, table: Table, name: str, speak: Callable[[Message], None]
) -> tuple[Records, np.ndarray, np.ndarray]:
    """The rows of a table, what the column `name` says they are, and whether it says so."""
    if name not in table.frame.columns:
        names = ", ".join(table.frame.columns[:20])
        raise Refusal(tr("there is no column {target}; the columns are {names}", target=name, names=names))
    if schema.task == "clustering":
        column = table.frame[name].alias("").cast(str)
        return schema.to_records(table, say=speak), column.to_numpy(), column.is_not_null().to_numpy()
    assert schema.target is not None
    if name != schema.target.name:  # the same thing under another name
        others = [column for column in table.frame.columns if column != schema.target.name]
        frame = table.frame[others].rename({name: schema.target.name})
        table = dataclasses.replace(table, frame=frame)
    records = schema.to_records(table, say=speak)
    y, known = schema.to_target(table)
    return records, labels(schema, y), known


def fit_pipeline(
    name: str, pipeline: Pipeline, records: Records, y: Any, learn: Callable[[Any, Any], Any] | None = None
) -> tuple[Pipeline, list[str], float]:
    """The fitted pipeline, what it warned of, and the seconds it took; `learn` is another way to fit it."""
    began = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught, _progress(name, pipeline[-1]):
        warnings.simplefilter("always")
        try:
            (pipeline.fit if learn is None else learn)(records, y)
        except TableError:
            raise
        except ValueError as error:  # what the method itself says of these parameters and these data
            raise Refusal(reworded(" ".join(str(error).split()), "", [])) from error
        except KeyboardInterrupt:
            passes = getattr(pipeline[-1], "n_iter_", None)
            if passes is None:
                raise
            raise Refusal(
                tr("interrupted after {n} passes; no model is written", n=int(np.max(passes))),
                errors.INTERRUPTED,
            ) from None
    seconds = time.perf_counter() - began
    remarks = warning_texts(caught)
    for text in remarks:
        printing.remark("warning: {text}", text=text)
    return pipeline, remarks, seconds


@contextlib.contextmanager
def _progress(name: str, estimator: Any) -> Iterator[None]:
    """A spinner that counts passes, where there is someone to see it."""
    if printing.quiet or not printing.stderr().is_terminal:
        yield
        return
    with printing.stderr().status(tr("fitting {name}", name=name)) as status:
        watched = hasattr(estimator, "set_callbacks")
        if watched:
            estimator.set_callbacks(_Spinner(status, name))
        try:
            yield
        finally:
            if watched:
                estimator.set_callbacks()


class _Spinner:
    """Callback that shows the number of passes."""

    def __init__(self, status: Any, name: str) -> None:
        self.status, self.name, self.passes = status, name, 0

    def setup(self, estimator: Any, context: Any) -> None:
        self.passes = 0

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        pass

    def on_fit_task_end(self, estimator: Any, context: Any) -> None:
        self.passes += 1
        self.status.update(tr("fitting {name}, pass {n}", name=self.name, n=self.passes))

    def teardown(self, estimator: Any, context: Any) -> None:
        pass


def training_score(task: str, model: Pipeline, records: Records, y: Any) -> dict[str, float]:
    if task == "clustering":
        labels = model[-1].labels_ if hasattr(model[-1], "labels_") else model.predict(records)
        return {"clusters": int(np.unique(labels[labels >= 0]).size)}  # negative ones are noise
    return {"accuracy" if task == "classification" else "r2": float(model.score(records, y))}


def baseline_score(task: str, y: Any) -> dict[str, float]:
    """The score of a constant prediction on the same rows: the most frequent class, or the mean.

    Examples
    --------
    >>> (
    ...     baseline_score("classification", np.array(["a", "b", "a", "a"])),
    ...     baseline_score("regression", np.ones(3)),
    ... )
    ({'accuracy': 0.75}, {'r2': 0.0})
    """
    if task == "classification":
        return {"accuracy": float(np.unique(y, return_counts=True)[1].max() / len(y))}
    return {"r2": 0.0} if task == "regression" else {}
