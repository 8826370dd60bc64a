"""Fits and predictions of sources: what `fit(source, y="column")` gives to `_fit`.

Rows that fit into memory are loaded: then a fit is the one of arrays. Others are streamed: X, y and the weights are
`StreamedArray`s, and `_fit` gets to them through `Chunks` alone.
"""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import ClassifierMixin, ClusterMixin, RegressorMixin

from tercet.core.chunks import is_one_chunk
from tercet.core.engines import always_streams
from tercet.core.memory import available
from tercet.core.parallel import elsewhere
from tercet.core.row_slices import join_rows
from tercet.core.sample_weights import most_mass
from tercet.core.source_checks import SourceChecks, refuse_missing
from tercet.core.sources import CodedRows, Features, Part, RowSource, SourceError
from tercet.core.steps import QUIET, refuse_holding_out, running_fit
from tercet.core.streams import MemoryStream, Stream
from tercet.core.validation import check_array, is_finite

SHARE = 4  # rows are loaded when they take at most this part of the memory: passes make copies
PREDICTING = (
    "predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba", "decision_function", "transform",
    "score_samples", "apply",
)  # fmt: skip


class Opened(NamedTuple):
    """What a source comes to for a fit: arrays where the rows fit into memory, or streamed arrays."""

    X: Any
    y: Any
    weight: Any
    features: Features


def open_source(estimator: Any, source: RowSource, y: Any, sample_weight: Any) -> Opened:
    """The rows, targets and weights that `fit(source, y, sample_weight)` is about."""
    name = type(estimator).__name__
    refuse_unable(estimator)
    if source.sparse and not estimator.sparse_input:
        raise TypeError(f"{name} takes no sparse rows; {source!r} has them.")
    given: dict[str, np.ndarray] = {}
    target, weight = (
        columns_of_source(source, y, "y", given),
        columns_of_source(source, sample_weight, "weight", given),
    )
    if not target and "y" not in given and estimator.__sklearn_tags__().target_tags.required:
        raise ValueError(f"{name} needs a target: fit(source, y='the name of its column').")
    if len(target) > 1 and (not estimator.multi_output or isinstance(estimator, ClassifierMixin)):
        raise ValueError(f"{name} learns one target; got y={y!r}.")
    features = source.features(exclude=(*target, *weight), words=getattr(estimator, "streams_words", False))
    checks = SourceChecks(
        name, estimator.missing_input, estimator.positive_only, estimator.largest_value, given=given
    )
    stream = Stream(source, features, target, weight[0] if weight else None, checks)
    if not must_stream(stream):
        return _loaded(stream)
    checks.missing = checks.missing and estimator.streams_missing
    classifies, regresses = isinstance(estimator, ClassifierMixin), isinstance(estimator, RegressorMixin)
    learns_target = (classifies or regresses) and bool(target or "y" in given)
    if learns_target and classifies:
        estimator._encode(survey_classes(stream))  # sets `classes_`
        checks.classes = estimator.classes_
    elif learns_target:
        checks.largest_target = estimator.largest_target
    weighed = bool(weight) or "weight" in given
    if weighed:
        checks.weight_exponent = survey_weights(stream, relative=estimator.relative_weights)
    return Opened(
        stream.array("X"),
        stream.array("y") if learns_target else None,
        stream.array("weight") if weighed else None,
        features,
    )


def learn_streamed(estimator: Any, X: Any, y: Any, weight: Any, features: Features, **more: Any) -> Any:
    """The course of a fit of streamed arrays."""
    note_source(estimator, features)
    refuse_holding_out(estimator)
    with running_fit(estimator, None, None, None), np.errstate(**QUIET):
        estimator._fit(estimator._check_streamed(X), y, weight, **more)
    estimator._check_learned()
    note_source(estimator, features)
    return estimator


def note_source(estimator: Any, features: Features) -> None:
    """`n_features_in_` and `feature_names_in_`, as of a data frame; nothing with a value for every row."""
    estimator.n_features_in_ = features.width
    vars(estimator).pop("feature_names_in_", None)
    if features.names is not None:
        estimator.feature_names_in_ = np.asarray(features.names, dtype=object)
    for name in estimator.row_attributes:
        vars(estimator).pop(name, None)


def streamed(estimator: Any, X: Any, y: Any, weight: Any) -> tuple[Any, Any, Any]:
    """Checked and encoded arrays as streamed ones, for an engine that works elsewhere."""
    arrays = {"X": X, "y": y, "weight": weight}
    stream = MemoryStream(type(estimator).__name__, **{k: v for k, v in arrays.items() if v is not None})
    return tuple(None if value is None else stream.array(what) for what, value in arrays.items())  # type: ignore


def goes_elsewhere(estimator: Any, X: Any) -> bool:
    """Whether arrays in memory are to be learned from by an engine that works elsewhere."""
    if not elsewhere() or getattr(X, "ndim", 0) != 2 or is_one_chunk(X):
        return False
    if not estimator.streams_arrays or unable(estimator):
        return False
    if sparse.issparse(X):
        return estimator.streams_sparse
    return estimator.streams_missing or not estimator.missing_input or is_finite(X)


def refuse_unable(estimator: Any) -> None:
    """Refuse to learn from a source where the method, or its parameters, need all rows at once."""
    if reason := unable(estimator):
        raise TypeError(
            f"{type(estimator).__name__} cannot learn from a source: {reason} Load the rows "
            "(`source.to_arrays(y=...)`) or draw some (`source.sample(100_000, y=...)`) if they fit into memory."
        )


def unable(estimator: Any) -> str:
    """Why an estimator cannot learn from a source, and what to use instead; "" where it can."""
    if not estimator.streaming:
        return f"it needs all rows at once. Use {estimator.streams_instead or _instead(estimator)}."
    return estimator._streaming_refusal()


def _instead(estimator: Any) -> str:
    if isinstance(estimator, ClassifierMixin):
        return "LogisticRegression or naive Bayes (GaussianNB, MultinomialNB)"
    if isinstance(estimator, RegressorMixin):
        return "LinearRegression, Ridge or PoissonRegressor"
    if isinstance(estimator, ClusterMixin):
        return "KMeans or GaussianMixture"
    return "PCA"


def columns_of_source(
    source: RowSource, value: Any, what: str, given: dict[str, np.ndarray]
) -> tuple[Any, ...]:
    """The columns that a target or weight is in; an array of values goes into `given`."""
    if value is None:
        return ()
    if isinstance(value, str | int | np.integer):
        return (value,)
    names = isinstance(value, list | tuple) and value and all(isinstance(name, str) for name in value)
    if names and len(value) != source.n_rows:
        return tuple(value)
    array = check_array(
        value, ensure_2d=False, dtype=None, input_name=what if what == "y" else "sample_weight"
    )
    if array.ndim != 1 or len(array) != source.n_rows:
        raise ValueError(
            f"{what} must be the name of a column, or hold one value for each of {source.n_rows} rows; "
            f"its shape is {array.shape}."
        )
    given[what] = array
    return ()


def must_stream(stream: Stream) -> bool:
    """Whether the rows are read in every pass: they do not fit into memory, or an engine was asked for."""
    X = stream.array("X")
    if is_one_chunk(X):  # whatever reads it
        return False
    return always_streams() or elsewhere() or X.nbytes * SHARE > available()


def _loaded(stream: Stream) -> Opened:
    """Everything in memory; targets and weights as they are, for the checks of arrays."""
    source, given = stream.source, stream.checks.given
    columns = [*stream.target, *([] if stream.weight is None else [stream.weight])]
    rows, others = [], []
    for piece in source.read(stream.features, columns):
        rows.append(stream.checks.rows(piece, stream.features))
        for column, values in zip(columns, piece.others):
            refuse_missing(stream.name, piece, values, f"column {column!r}")
        others.append(piece.others)
    found = [join_rows(values) for values in zip(*others)] if columns else []
    k = len(stream.target)
    y = found[0] if k == 1 else np.column_stack(found[:k]) if k else given.get("y")
    weight = given.get("weight") if stream.weight is None else found[k]
    X = join_rows(rows)
    return Opened(CodedRows(X, stream.features) if stream.features.words else X, y, weight, stream.features)


def survey_classes(stream: Stream) -> np.ndarray:
    """The labels that are there, found in a pass over the column of the target."""
    given = stream.checks.given
    if "y" in given:
        return np.unique(given["y"])
    found: list[np.ndarray] = []
    for piece in stream.source.read(None, stream.target):
        refuse_missing(stream.name, piece, piece.others[0], "y")
        found.append(np.unique(piece.others[0]))
        if len(found) > 64:
            found = [np.unique(np.concatenate(found))]
    return np.unique(np.concatenate(found))


def survey_weights(stream: Stream, *, relative: bool) -> int:
    """Look at all weights; the exponent of the power of two that they are divided by, 0 as a rule."""
    given, total, most = stream.checks.given, 0.0, 0.0
    pieces: Iterator[Any] = stream.source.read(None, (stream.weight,)) if "weight" not in given else iter(())
    parts = [(None, given["weight"])] if "weight" in given else ((piece, piece.others[0]) for piece in pieces)
    for piece, values in parts:
        if piece is not None:
            refuse_missing(stream.name, piece, values, "sample_weight")
        weight = np.asarray(values, dtype=np.float64)
        if weight.min(initial=0.0) < 0:
            where = "" if piece is None else f" ({piece.place.label})"
            raise SourceError(
                f"{stream.name}: sample_weight must not be negative; its smallest value is {weight.min()}{where}."
            )
        total, most = total + float(weight.sum()), max(most, float(weight.max(initial=0.0)))
    if most == 0:
        raise SourceError(
            f"{stream.name}: sample_weight is zero for every row: there is nothing to learn from."
        )
    bound = most_mass(stream.features.dtype)
    if 1 / bound <= total <= bound:
        return 0
    if not relative:
        raise SourceError(
            f"{stream.name}: sample_weight adds up to {total:.3g}; the sum must be from {1 / bound:g} to "
            f"{bound:g}. Divide the weights by their mean."
        )
    exponent = int(np.frexp(most)[1])
    return exponent + exponent % 2


class MappedSource(RowSource):
    """What a method of a fitted model gives for the rows of a source: read, computed and given piece by piece.

    Walking through it gives arrays, `numpy.asarray` all of them in one; it is itself a source, of which another
    model learns (`KMeans().fit(PCA().fit_transform(source))`), with the other columns of the rows.
    """

    def __init__(self, source: RowSource, model: Any, method: str) -> None:
        self.source, self.model, self.method = source, copy.copy(model), method
        names = vars(self.model).pop("feature_names_in_", None)  # columns are chosen by them here
        self.inputs = source.features(
            names=None if names is None else tuple(names), words=_known_words(self.model)
        )
        if self.inputs.width != model.n_features_in_:
            raise ValueError(
                f"{type(model).__name__}.{method}: the source has {self.inputs.width} features, but "
                f"{type(model).__name__} is expecting {model.n_features_in_} features as input."
            )
        self._outputs: Features | None = None

    @property
    def portable(self) -> bool:  # type: ignore[override]
        return self.source.portable

    def __repr__(self) -> str:
        return f"{type(self.model).__name__}.{self.method}({self.source!r})"

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.asarray(np.concatenate(list(self)), dtype=dtype)

    def _find_parts(self) -> tuple[Part, ...]:
        self.source.n_rows  # noqa: B018  (counts rows once, for both)
        return self.source.parts

    def _choose(self, exclude: tuple[Any, ...], names: tuple[str, ...] | None) -> Features:
        if self._outputs is None:
            (first, _) = next(self._read(self.parts[0], self.inputs, (), 0))
            width = first.shape[1] if first.ndim == 2 else 1
            self._outputs = Features(None, None, width, first.dtype)
        return self._outputs

    def _read(
        self, part: Part, features: Features | None, others: tuple[Any, ...], skip: int
    ) -> Iterator[tuple[Any, tuple[Any, ...]]]:
        compute = getattr(self.model, self.method)
        checks = SourceChecks(type(self.model).__name__, self.model.missing_input)
        at = sum(before.n_rows or 0 for before in self.parts[: self.parts.index(part)])
        stop = at + (part.n_rows or 0)
        inputs = None if features is None else self.inputs
        for piece in self.source.read(inputs, others, at + skip, stop):
            X = None
            if inputs is not None:
                rows = checks.rows(piece, inputs)
                X = compute(CodedRows(rows, inputs) if inputs.words else rows)
            yield X, piece.others


def _known_words(model: Any) -> dict[int, np.ndarray]:
    """The words that a model knows, of each column that had words."""
    if not getattr(model, "streams_words", False):
        return {}
    return {
        place: known
        for place, known in enumerate(model.categories_)
        if known is not None and known.dtype.kind == "U"
    }


def over_sources(function: Callable[..., Any]) -> Callable[..., Any]:
    """A method of an estimator that streams where it is given a source."""

    @functools.wraps(function)
    def method(self: Any, X: Any, *arguments: Any, **options: Any) -> Any:
        if not isinstance(X, RowSource):
            return function(self, X, *arguments, **options)
        if hasattr(self, "_predict_source"):  # whose answers need more than a row
            return self._predict_source(X, function.__name__, *arguments, **options)
        if arguments or options:
            raise TypeError(f"{type(self).__name__}.{function.__name__}(source) takes no further arguments.")
        return MappedSource(X, self, function.__name__)

    return method


def stream_predictions(kind: type) -> None:
    """Make the predicting methods of a class take sources."""
    for name in PREDICTING:
        own = vars(kind).get(name)
        if own is None:
            continue
        if inspect.isfunction(own):
            parameters = list(inspect.signature(own).parameters)
            if len(parameters) > 1:
                setattr(kind, name, over_sources(own))
        elif inspect.isfunction(getattr(own, "fn", None)):  # scikit-learn's `available_if`
            own.fn = over_sources(own.fn)
