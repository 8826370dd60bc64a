"""Cross-validation in one worker process: splits, encodings, fits and measures."""

from __future__ import annotations

import functools
import inspect
import time
import warnings
from collections import OrderedDict
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from tercet.cli import scorers
from tercet.cli.compare.baseline import BASELINE, Baseline
from tercet.cli.compare.splits import Split, Splitter
from tercet.cli.contributions import class_shares
from tercet.cli.measures import Measure
from tercet.cli.pipelines import encoder_options
from tercet.core.catalog import Card, methods
from tercet.core.messages import Message
from tercet.feature import TableEncoder

CACHE_BYTES = 1 << 30  # of encoded folds
MAX_DENSE_BYTES = 1 << 30  # of a dense table for methods that take no sparse one
MAX_DENSE_FEATURES = 5_000  # of a sparse table that is made dense for them


class Unsuitable(ValueError):
    """A method that cannot be used on these data."""


class CrossValidation:
    """The data with its splits and cached encodings.

    Parameters
    ----------
    records : Records
        The features.
    y : array or None
        Numbers for regression, indices into the classes otherwise; None when there is no target.
    schema : Schema
        For the encoders.
    task, metric : str
        What is compared, and by which measure.
    cv, seed : int
        Folds, and the seed of everything.
    groups, times : array or None
        Rows of one group stay together; test rows come after the rows that are learned from.
    """

    def __init__(
        self,
        *,
        records: Any,
        y: np.ndarray | None,
        schema: Any,
        task: str,
        metric: str,
        cv: int,
        seed: int,
        groups: np.ndarray | None = None,
        times: np.ndarray | None = None,
    ) -> None:
        self.records, self.y, self.schema = records, y, schema
        self.task, self.cv, self.seed = task, cv, seed
        measure = scorers.find(metric)
        assert measure is not None
        self.measure = measure
        self.n = len(records)
        self.k = int(y.max()) + 1 if y is not None and task != "regression" else 0
        if self.k == 2 and task == "classification" and y is not None:
            self.measure = scorers.for_class(measure, scorers.positive_class(schema.classes, y))
        self.splitter = Splitter(cv, seed, task == "classification", groups, times)
        self.units = self.splitter.units(self.n)
        self._encoded: OrderedDict[Any, Any] = OrderedDict()
        self._splits: dict[int, tuple[list[Split], np.ndarray | None]] = {}

    def splits(self, repeat: int) -> list[Split]:
        """The folds of one repeat of cross-validation; the same in every process."""
        return self._repeat(repeat)[0]

    def share(self, repeat: int) -> np.ndarray | None:
        """Shares of the classes in means over classes; None where every fold has them all."""
        return self._repeat(repeat)[1]

    def _repeat(self, repeat: int) -> tuple[list[Split], np.ndarray | None]:
        if repeat not in self._splits:
            splits = self.splitter.split(self.y, self.n, repeat)
            self._splits[repeat] = splits, self.shares_of(splits)
        return self._splits[repeat]

    def shares_of(self, splits: list[Split]) -> np.ndarray | None:
        """Shares of the classes in means over classes; None where every test set has them all."""
        if self.task != "classification" or self.y is None:
            return None
        return class_shares(self.y, [test for _, test in splits], self.k)

    def make(self, name: str, settings: dict[str, Any]) -> Any:
        """A method by name, not yet fitted."""
        if name == BASELINE:
            return Baseline(self.task, self.k, self.seed)
        extra = {"random_state": self.seed} if "random_state" in parameters(name) else {}
        return card(name).load()(**{**extra, **settings})

    def fit(self, name: str, settings: dict[str, Any], X: Any, y: Any) -> tuple[Any, float, Any, list[str]]:
        """The fitted model, the seconds it took, the interval of time, and its warnings."""
        model = self.make(name, settings)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", ConvergenceWarning)
            start, begin = time.monotonic(), time.perf_counter()
            model.fit(X) if self.task == "clustering" else model.fit(X, y)
            span = time.perf_counter() - begin
        said = sorted({" ".join(str(w.message).split()) for w in caught})
        return model, span, (start, start + span), said

    def encoder(self, name: str) -> TableEncoder:
        """The encoder that suits a method."""
        return TableEncoder(
            self.schema, **({} if name == BASELINE else encoder_options(_default_estimator(name)))
        )

    def encode(
        self, name: str, train: np.ndarray, test: np.ndarray | None, key: Any = None
    ) -> tuple[Any, Any]:
        """Encoded rows; the encoder has seen the training rows only. Methods with the same encoder share them."""
        encoder = self.encoder(name)
        if key is not None:
            key = (*key, *sorted((k, v) for k, v in encoder.get_params().items() if k != "schema"))
            if key in self._encoded:
                self._encoded.move_to_end(key)
                return self._encoded[key]
        if self.records.sparse is not None and encoder.categories == "keep" and not encoder.sparse:
            n = self.records.sparse.shape[1]
            raise Unsuitable(
                Message("is for columns of categories and numbers, not for {n:,} sparse features", n=n)
            )
        rows = self.records.take(train)
        encoder.fit(rows)
        width = encoder.source_.size
        wide = width > MAX_DENSE_FEATURES and (self.records.sparse is not None or bool(self.records.counts))
        if not encoder.sparse_ and (wide or len(rows) * width * 8 > MAX_DENSE_BYTES):
            raise Unsuitable(Message("would need all {n:,} features as a dense table", n=width))
        pair = encoder.transform(rows), None if test is None else encoder.transform(self.records.take(test))
        if key is not None:
            self._encoded[key] = pair
            while len(self._encoded) > 1 and sum(_size(p) for p in self._encoded.values()) > CACHE_BYTES:
                self._encoded.popitem(last=False)
        return pair

    def sample(self, size: int) -> np.ndarray:
        """A random sample of rows, with at least two of every class that has them."""
        if size >= self.n:
            return np.arange(self.n)
        order = np.random.default_rng(self.seed).permutation(self.n)
        if self.k and self.task == "classification":
            assert self.y is not None
            labels = self.y[order]
            first = np.concatenate([np.flatnonzero(labels == c)[:2] for c in range(self.k)])
            order = np.concatenate([order[first], np.delete(order, first)])
        return np.sort(order[: max(size, 2 * self.k)])

    def value(
        self,
        measure: Measure,
        model: Any,
        X: Any,
        truth: np.ndarray,
        predicted: Any = None,
        share: np.ndarray | None = None,
    ) -> float:
        """One measure of a fitted classifier or regressor."""
        return measure.of(truth, *self.given(measure, model, X, predicted, share))

    def given(
        self, measure: Measure, model: Any, X: Any, predicted: Any = None, share: np.ndarray | None = None
    ) -> tuple[Any, ...]:
        """What a measure is computed from, beside the truth."""
        if measure.needs == "proba":
            given = self.proba(model, X)
        elif measure.needs == "ranking":
            given = self._ranking(model, X)
        else:
            given = model.predict(X) if predicted is None else predicted
        if given is None:
            raise Unsuitable(Message("gives no probabilities"))
        share = share if measure.by_class else None
        return given, *([self.k] if self.k else []), *([] if share is None else [share])

    def proba(self, model: Any, X: Any) -> np.ndarray | None:
        """Probabilities with a column for every class, also those that were not among the training rows."""
        try:
            known = model.predict_proba(X)
        except (AttributeError, NotImplementedError):
            return None
        proba = np.zeros((known.shape[0], self.k))
        proba[:, np.asarray(model.classes_, dtype=int)] = known
        return proba

    def _ranking(self, model: Any, X: Any) -> np.ndarray | None:
        """What orders the rows of each class: probabilities, the decision function, or the answers themselves."""
        proba = self.proba(model, X)
        if proba is not None:
            return proba
        if not hasattr(model, "decision_function"):
            return np.eye(self.k)[np.asarray(model.predict(X), dtype=int)]
        found = np.asarray(model.decision_function(X))
        if found.ndim == 1:
            found = np.stack([-found, found], axis=1)
        classes = np.asarray(model.classes_, dtype=int)
        if found.shape[1] != classes.size:
            return None
        ranking = np.full((found.shape[0], self.k), -np.inf)
        ranking[:, classes] = found
        return ranking


@functools.cache
def card(name: str) -> Card:
    """The card of an estimator."""
    return next(card for card in methods() if card.name == name and card.kind == "estimator")


@functools.cache
def parameters(name: str) -> Any:
    """The parameters of a method."""
    return {} if name == BASELINE else inspect.signature(card(name).load()).parameters


@functools.cache
def _default_estimator(name: str) -> Any:
    """An unfitted estimator, for its tags."""
    return card(name).load()()


def _size(pair: tuple[Any, Any]) -> int:
    return sum(_bytes(m) for m in pair if m is not None)


def _bytes(X: Any) -> int:
    if sparse.issparse(X):
        return X.data.nbytes
    return X.nbytes if isinstance(X, np.ndarray) else X.estimated_size()
