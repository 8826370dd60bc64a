"""Sequences of a source: rows that are read chunk by chunk, whose borders fall between sequences."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np

from tercet.core.reduction import reduced
from tercet.core.row_slices import join_rows
from tercet.core.sample_weights import check_weight
from tercet.core.source_checks import SourceChecks, refuse_missing
from tercet.core.source_fits import Opened, columns_of_source, must_stream, refuse_unable, survey_classes
from tercet.core.sources import Features, Part, RowSource, SourceError, in_chunks
from tercet.core.streams import Stream, StreamedArray, StreamedChunks
from tercet.sequence.base import Sequences
from tercet.sequence.text.tokens import distinct_labels

ROWS_AT_ONCE = 1 << 14  # whose sequences are predicted together


class SequenceSource(RowSource):
    """A source whose rows are sequences, one after another.

    Parameters
    ----------
    source : RowSource
        The rows.
    lengths : str, int or array of shape (n_sequences,), optional
        The column with the sequence of each row (any values; rows of one sequence stand together), or the lengths
        of the sequences. By default all rows are one sequence.
    """

    def __init__(self, source: RowSource, lengths: Any) -> None:
        self.source, self.column = source, lengths if isinstance(lengths, str | int) else None
        self.lengths = None if self.column is not None or lengths is None else np.asarray(lengths)

    def __repr__(self) -> str:
        return repr(self.source)

    def features_but(self, *columns: Any) -> Features:
        """All columns but these, and that of the sequences."""
        return self.source.features(exclude=(*columns, *(() if self.column is None else (self.column,))))

    def borders(self, owner: str) -> np.ndarray:
        """Where each sequence begins, and the number of rows at the end."""
        n = self.source.n_rows
        if self.column is not None:
            return self._borders_of_column(owner)
        if self.lengths is None:
            return np.array([0, n])
        if self.lengths.ndim != 1 or self.lengths.dtype.kind not in "iu" or (self.lengths < 1).any():
            raise ValueError(
                f"{owner}: lengths must be whole numbers from 1 on, or the name of a column; got {self.lengths!r}."
            )
        if self.lengths.sum() != n:
            raise ValueError(f"{owner}: lengths add up to {self.lengths.sum()}, but the source has {n} rows.")
        return np.concatenate([[0], np.cumsum(self.lengths)]).astype(np.int64)

    def _borders_of_column(self, owner: str) -> np.ndarray:
        """A new sequence where the value of the column changes, found in a pass over it."""
        starts: list[np.ndarray] = [np.zeros(1, dtype=np.int64)]
        labels: list[np.ndarray] = []
        last: Any = None
        for piece in self.source.read(None, (self.column,)):
            values = piece.others[0]
            refuse_missing(owner, piece, values, f"column {self.column!r}")
            new = np.flatnonzero(values[1:] != values[:-1]) + 1
            if not labels or values[0] != last:
                new = np.concatenate([[0], new])
            labels.append(values[new])
            if piece.place.start or len(new) > 1:
                starts.append((piece.place.start + new)[0 if piece.place.start else 1 :])
            last = values[-1]
        every = np.concatenate(labels)
        found, counts = np.unique(every, return_counts=True)
        if found.size < every.size:
            twice = found[counts > 1].tolist()[0]
            raise SourceError(
                f"{owner}: sequence {twice!r} of column {self.column!r} is in several places: the rows of a "
                "sequence must stand together. Sort the source by it."
            )
        return np.concatenate([*starts, [self.source.n_rows]]).astype(np.int64)

    def _find_parts(self) -> tuple[Part, ...]:
        return self.source.parts

    def _choose(self, exclude: tuple[Any, ...], names: tuple[str, ...] | None) -> Features:
        return self.features_but()


class StreamedSequences(Sequences):
    """Sequences whose rows are a streamed array; where they begin is in memory."""

    rows: StreamedArray

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self), *self.rows.shape[1:])

    @property
    def dtype(self) -> Any:
        return np.float32 if self.rows.dtype == np.float32 else np.float64

    def with_rows(self, rows: Any) -> StreamedSequences:
        return StreamedSequences(rows, self.borders, self.listed)

    def row_chunks(self, ranges: list[tuple[int, int]]) -> StreamedChunks:
        """Chunks (rows, their numbers) of ranges of sequences."""
        cuts = [0, *(int(self.borders[b]) for _, b in ranges)]
        return StreamedChunks([self.rows, self.rows.stream.array("row")], cuts)

    def labelled_chunks(self, y: StreamedArray, tokens: int) -> StreamedChunks:
        """Chunks (rows, labels, numbers of rows) of about so many rows."""
        cuts = [0, *(int(self.borders[b]) for _, b in self.chunks(tokens))]
        return StreamedChunks([self.rows, y, self.rows.stream.array("row")], cuts)

    def labelled_part(self, chunk: Any, weight: np.ndarray | None) -> tuple[Sequences, np.ndarray, Any]:
        """The sequences that a labelled chunk holds, their labels and their weights."""
        rows, y, numbers = chunk
        part, here = self.part_of(rows, numbers)
        return part, y, None if weight is None else weight[here]

    def part_of(self, rows: Any, numbers: np.ndarray) -> tuple[Sequences, slice]:
        """The sequences that a chunk holds, and which ones these are."""
        here = slice(*np.searchsorted(self.borders, [numbers[0], numbers[-1] + 1]).tolist())
        return Sequences(rows, self.borders[here.start : here.stop + 1] - numbers[0], False), here


def open_sequences(estimator: Any, given: SequenceSource, y: Any, sample_weight: Any) -> Opened:
    """The sequences that `fit(source, lengths=...)` is about: in memory where they fit, or streamed."""
    name = type(estimator).__name__
    refuse_unable(estimator)
    in_memory: dict[str, np.ndarray] = {}
    target = target_columns(estimator, given.source, y, in_memory)
    if given.source.sparse and not estimator.sparse_input:
        raise TypeError(f"{name} takes no sparse rows; {given.source!r} has them.")
    features = given.features_but(*target)
    if estimator.symbols and features.width != 1:
        raise ValueError(f"{name}: a source must have one column of symbols; it has {features.width}.")
    checks = SourceChecks(name, estimator.missing_input, largest=estimator.largest_value, given=in_memory)
    stream = Stream(given.source, features, target, None, checks)
    labelled, borders = bool(target or in_memory), given.borders(name)
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if weight is not None and weight.shape != (borders.size - 1,):
        raise ValueError(
            f"{name}: sample_weight must have one number for each of {borders.size - 1} sequences; its shape is "
            f"{weight.shape}."
        )
    if must_stream(stream):
        checks.missing = checks.missing and estimator.streams_missing
        if weight is not None and not (np.isfinite(weight).all() and (weight > 0).all()):
            raise ValueError(f"{name}: sample_weight must be positive, to learn from a source.")
        if labelled:
            estimator.classes_ = checks.classes = distinct_labels(survey_classes(stream))[0]
        X: Any = StreamedSequences(stream.array("X"), borders, False)
        return Opened(X, stream.array("y") if labelled else None, weight, features)
    pieces = list(given.source.read(features, target))
    rows = join_rows([checks.rows(piece, features) for piece in pieces])
    X = Sequences(rows[:, 0] if estimator.symbols else rows, borders, False)
    X.names = features.names
    y = join_rows([piece.others[0] for piece in pieces]) if target else in_memory.get("y")
    return Opened(X, y, weight, features)


def target_columns(
    estimator: Any, source: RowSource, y: Any, given: dict[str, np.ndarray]
) -> tuple[Any, ...]:
    """The column of the labels; an array of labels goes into `given`. An error where labels are not learned, or
    are missing."""
    name = type(estimator).__name__
    required = estimator.__sklearn_tags__().target_tags.required
    if y is not None and not required:
        raise TypeError(
            f"{name} learns hidden states from a source; for labels y load the rows (source.to_arrays)."
        )
    if y is None and required:
        raise ValueError(f"{name} needs labels: fit(source, y='the name of their column').")
    target = columns_of_source(source, y, "y", given)
    if len(target) > 1:
        raise ValueError(f"{name} learns one label for each row; got y={y!r}.")
    return target


class SequencePredictions:
    """What a method of a fitted model gives for the sequences of a source, some sequences at a time.

    Walking through it gives an array for the rows of some sequences after another; `numpy.asarray` all of them.
    """

    def __init__(self, model: Any, method: str, given: SequenceSource) -> None:
        self.model, self.method, self.given = copy.copy(model), method, given

    def __iter__(self) -> Iterator[np.ndarray]:
        for model, X, lengths, *_ in whole_sequences(self.model, self.given):
            yield getattr(model, self.method)(X, lengths=lengths)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.asarray(np.concatenate(list(self)), dtype=dtype)


def whole_sequences(
    model: Any, given: SequenceSource, y: Any = None, sample_weight: Any = None
) -> Iterator[Any]:
    """Some whole sequences after another: the model for rows without names, its rows, their lengths, labels and
    weights (None where there are none)."""
    name, source = type(model).__name__, given.source
    model = copy.copy(model)
    names = vars(model).pop("feature_names_in_", None)  # columns are chosen by them here
    labels: dict[str, np.ndarray] = {}
    target = columns_of_source(source, y, "y", labels)
    features = given.features_but(*target) if names is None else source.features(names=tuple(names))
    checks = SourceChecks(name, model.missing_input, largest=model.largest_value)
    borders = given.borders(name)
    every = Sequences(np.broadcast_to(0.0, (borders[-1], 1)), borders, False)
    weight = check_weight(sample_weight, every)
    ranges = every.chunks(ROWS_AT_ONCE)
    cuts = [0, *(int(borders[b]) for _, b in ranges)]
    pieces = ((checks.rows(piece, features), *piece.others) for piece in source.read(features, target))
    for (a, b), (X, *others) in zip(ranges, in_chunks(pieces, cuts)):
        here = labels["y"][borders[a] : borders[b]] if labels else others[0] if others else None
        part = None if weight is None else weight[a:b]
        yield model, X[:, 0] if model.symbols else X, np.diff(borders[a : b + 1]), here, part


def score_of_sequences(model: Any, given: SequenceSource, y: Any, sample_weight: Any, of: str) -> float:
    """The share of tokens, or of sequences, of a source whose labels are right."""

    def sums() -> Iterator[tuple[float, float]]:
        for alone, X, lengths, labels, weight in whole_sequences(model, given, y, sample_weight):
            right, mass = alone._label_hits(alone._given(X, lengths), labels, weight, of)
            yield float(mass @ right), float(mass.sum())

    right, mass = reduced(sums())
    if not mass > 0:
        raise ValueError("y has no known label to compare with.")
    return right / mass


def log_likelihood_of_sequences(model: Any, given: SequenceSource, sample_weight: Any) -> float:
    """The log-likelihood of the sequences of a source."""

    def sums() -> Iterator[float]:
        yield 0.0
        for alone, X, lengths, _, weight in whole_sequences(model, given, None, sample_weight):
            if weight is None or weight.any():
                yield alone.score(X, lengths=lengths, sample_weight=weight)

    return float(reduced(sums()))
