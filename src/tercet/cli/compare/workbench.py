"""What a worker process does: fit one method on one split, and whatever else the comparison asks for."""

from __future__ import annotations

import functools
import inspect
import pickle
import time
import warnings
from collections import OrderedDict
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, StratifiedKFold

from tercet.cli.compare.baseline import BASELINE, Baseline
from tercet.cli.compare.measures import MEASURES, suitable
from tercet.core.catalog import Card, methods
from tercet.core.notes import Note
from tercet.feature import TableEncoder

# Where a method's defaults are meant for fewer columns than a table usually has.
SETTINGS: dict[str, dict[str, Any]] = {"PolynomialRegression": {"degree": 2}}
PROBE = (200, 2000)  # rows of the trial fits that tell what a method will cost
CACHE = 1 << 30  # bytes of encoded folds to keep
LARGEST = 1 << 30  # bytes of a dense table for methods that take no sparse one
MOST_CLUSTERS = 10


class Unsuitable(ValueError):
    """A method that these data are not for."""


class Workbench:
    """The data, its splits and its encodings, in one process.

    Parameters
    ----------
    records : Records
        The features.
    y : array or None
        Numbers for regression, indices into the classes otherwise; None when there is no target.
    schema : dict
        The schema, for encoders.
    task, metric : str
        What is compared, and by which measure.
    cv, seed : int
        Folds, and the seed of everything.
    """

    def __init__(
        self, *, records: Any, y: np.ndarray | None, schema: Any, task: str, metric: str, cv: int, seed: int
    ) -> None:
        self.records, self.y, self.schema = records, y, schema
        self.task, self.cv, self.seed = task, cv, seed
        self.measure = MEASURES[metric]
        self.n = len(records)
        self.k = int(y.max()) + 1 if y is not None and task != "regression" else 0
        self._encoded: OrderedDict[Any, Any] = OrderedDict()
        self._splits: dict[int, list[tuple[np.ndarray, np.ndarray]]] = {}

    # --- jobs ---------------------------------------------------------------------------------------------

    def describe(self) -> list[str]:
        """What is done to the columns, in words."""
        return list(TableEncoder(self.schema).fit(self.records).describe())

    def probe(self, name: str) -> dict[str, Any]:
        """Whether a method can be used here, and about how long one fit will take."""
        self._check(name)
        settings = dict(SETTINGS.get(name, {}))
        if "n_clusters" in _parameters(name):
            settings["n_clusters"] = self._clusters(name)
        spans, rows = [], self.n - self.n // self.cv
        begin = time.monotonic()
        for size in [min(s, rows) for s in PROBE][: 1 if rows <= PROBE[0] else 2]:
            index = self._sample(size)
            X, _ = self._encode(name, index, None)
            y = None if self.y is None else self.y[index]
            self._fit(name, settings, X, y)  # the first fit of a kind may compile kernels
            spans.append((size, self._fit(name, settings, X, y)[1]))
        return {
            "cost": _extrapolate(spans, rows),
            "settings": settings,
            "busy": (begin, time.monotonic()),
        }

    def score(self, name: str, settings: dict[str, Any], turn: int, fold: int) -> dict[str, Any]:
        """One method on one split: the measure (all measures in the first turn) and the times."""
        train, test = self.splits(turn)[fold]
        X, Z = self._encode(name, train, test, key=(turn, fold))
        if self.task == "clustering":
            return self._score_clusters(name, settings, X, train)
        assert self.y is not None
        model, fit_time, busy, said = self._fit(name, settings, X, self.y[train])
        truth = self.y[test]
        begin = time.perf_counter()
        predicted = model.predict(Z)
        predict_time = time.perf_counter() - begin
        others = [m for m in suitable(self.task) if turn == 0 or m is self.measure]
        proba = self._proba(model, Z) if any(m.needs == "proba" for m in others) else None
        values = {}
        for measure in others:
            given = proba if measure.needs == "proba" else predicted
            if given is not None:
                values[measure.name] = measure.of(truth, given, *([self.k] if self.k else []))
        return {
            "measures": values,
            "fit_time": fit_time,
            "predict_time": predict_time,
            "busy": busy,
            "warnings": said,
        }

    def outside(self, name: str, settings: dict[str, Any], fold: int) -> dict[str, Any]:
        """Predictions of one fold's test rows, by a model that has not seen them."""
        train, test = self.splits(0)[fold]
        X, Z = self._encode(name, train, test, key=(0, fold))
        assert self.y is not None
        model, _, busy, _ = self._fit(name, settings, X, self.y[train])
        return {
            "rows": test,
            "predicted": np.asarray(model.predict(Z)),
            "proba": self._proba(model, Z) if self.task == "classification" else None,
            "busy": busy,
        }

    def curve(self, name: str, settings: dict[str, Any], fold: int, size: int) -> dict[str, Any]:
        """The measure on training and test rows after learning from the first `size` of the training rows."""
        train, test = self.splits(0)[fold]
        assert self.y is not None
        train = np.random.default_rng([self.seed, fold]).permutation(train)[:size]
        if self.k and np.unique(self.y[train]).size < 2:
            return {"train": np.nan, "test": np.nan, "busy": None}
        X, Z = self._encode(name, train, test)
        model, _, busy, _ = self._fit(name, settings, X, self.y[train])
        return {"train": self._value(model, X, train), "test": self._value(model, Z, test), "busy": busy}

    def importance(self, name: str, settings: dict[str, Any], fold: int, repeats: int = 3) -> dict[str, Any]:
        """How much the measure loses on test rows when one column is shuffled."""
        train, test = self.splits(0)[fold]
        encoder = self._encoder(name).fit(self.records.take(train))
        assert self.y is not None
        X, held = encoder.transform(self.records.take(train)), self.records.take(test)
        model, _, busy, _ = self._fit(name, settings, X, self.y[train])
        Z = encoder.transform(held)
        sign = 1.0 if self.measure.greater_is_better else -1.0
        whole = self._value(model, Z, test)
        rng = np.random.default_rng([self.seed, fold])
        losses = np.zeros((len(self.records.names), repeats))
        for column, label in enumerate(self.records.names):
            block = np.flatnonzero(encoder.source_ == column)
            if block.size == 0:
                continue
            for r in range(repeats):
                order = rng.permutation(test.size)
                if sparse.issparse(Z):
                    shaken = encoder.transform(held.shuffled(label, order))
                else:  # a column's features depend on that column alone: shuffling them is the same
                    shaken = Z.copy()
                    shaken[:, block] = Z[np.ix_(order, block)]
                losses[column, r] = sign * (whole - self._value(model, shaken, test))
        return {"losses": losses, "busy": busy}

    def whole(self, name: str, settings: dict[str, Any]) -> dict[str, Any]:
        """The method fitted on all rows, pickled with the names of its features."""
        encoder = self._encoder(name).fit(self.records)
        X = encoder.transform(self.records)
        model, _, busy, _ = self._fit(name, settings, X, self.y)
        names = [str(feature) for feature in encoder.get_feature_names_out()]
        return {"model": pickle.dumps((model, names)), "busy": busy}

    def plane(self, name: str, settings: dict[str, Any], columns: list[str]) -> dict[str, Any]:
        """The method fitted on one or two numeric columns alone, for a picture of what it says everywhere."""
        X = np.stack([self.records.column(c) for c in columns], axis=1)
        assert self.y is not None
        good = np.isfinite(X).all(axis=1)
        X, y = X[good], self.y[good]
        centre, scale = X.mean(axis=0), X.std(axis=0)
        scale[scale == 0] = 1.0
        pipe = Flat(centre, scale, self._make(name, settings))
        begin = time.monotonic()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pipe.fit(X, y)
        return {"regions": pickle.dumps((pipe, X, y, tuple(columns))), "busy": (begin, time.monotonic())}

    def clusters(self, name: str, settings: dict[str, Any]) -> dict[str, Any]:
        """The clusters of all rows, on the plane of the first two principal components."""
        from sklearn.metrics import silhouette_samples

        X = self._encoder(name).fit(self.records).transform(self.records)
        X = X.toarray() if sparse.issparse(X) else X
        model, _, busy, _ = self._fit(name, settings, X, self.y)
        keep = self._sample(min(self.n, 2000))
        centred = X - X.mean(axis=0)
        _, _, axes = np.linalg.svd(centred[keep], full_matrices=False)
        axes = np.vstack([axes, np.zeros((2, axes.shape[1]))])[:2]
        labels = np.asarray(model.labels_)[keep]
        good = 1 < np.unique(labels).size < labels.size
        return {
            "points": centred[keep] @ axes.T,
            "labels": labels,
            "truth": None if self.y is None else self.y[keep],
            "silhouette": silhouette_samples(X[keep], labels) if good else None,
            "busy": busy,
        }

    def render(self, result: dict[str, Any], details: Any, language: str) -> str:
        """The report as HTML."""
        from tercet.cli import words
        from tercet.cli.report import render

        words.use(language)
        return render(result, details.unpacked())

    # --- parts --------------------------------------------------------------------------------------------

    def splits(self, turn: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """The folds of one round of cross-validation; the same in every process."""
        if turn not in self._splits:
            kind = StratifiedKFold if self.task == "classification" else KFold
            folds = kind(self.cv, shuffle=True, random_state=self.seed + turn)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a class with fewer rows than folds: said once, elsewhere
                self._splits[turn] = list(folds.split(np.zeros(self.n), self.y))
        return self._splits[turn]

    def _check(self, name: str) -> None:
        if name == BASELINE:
            return
        for parameter in ("estimator", "estimators"):
            given = _parameters(name).get(parameter)
            if given is not None and given.default is inspect.Parameter.empty:
                raise Unsuitable(Note("builds on another method, which has to be named"))

    def _make(self, name: str, settings: dict[str, Any]) -> Any:
        if name == BASELINE:
            return Baseline(self.task, self.k, self.seed)
        extra = {"random_state": self.seed} if "random_state" in _parameters(name) else {}
        return _card(name).load()(**{**extra, **settings})

    def _fit(self, name: str, settings: dict[str, Any], X: Any, y: Any) -> tuple[Any, float, Any, list[str]]:
        model = self._make(name, settings)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", ConvergenceWarning)
            start, begin = time.monotonic(), time.perf_counter()
            model.fit(X) if self.task == "clustering" else model.fit(X, y)
            span = time.perf_counter() - begin
        said = sorted({" ".join(str(w.message).split()) for w in caught})
        return model, span, (start, start + span), said

    def _encoder(self, name: str) -> TableEncoder:
        options: dict[str, Any] = {}
        if name != BASELINE:
            options = flavour(_bare(name))
        return TableEncoder(self.schema, **options)

    def _encode(
        self, name: str, train: np.ndarray, test: np.ndarray | None, key: Any = None
    ) -> tuple[Any, Any]:
        """Encoded rows; the encoder has seen the training rows only. Methods with the same wishes share it."""
        encoder = self._encoder(name)
        if key is not None:
            key = (*key, *sorted((k, v) for k, v in encoder.get_params().items() if k != "schema"))
            if key in self._encoded:
                self._encoded.move_to_end(key)
                return self._encoded[key]
        rows = self.records.take(train)
        encoder.fit(rows)
        if encoder.sparse is False and len(rows) * encoder.source_.size * 8 > LARGEST:
            raise Unsuitable(Note("would need all {n:,} features as a dense table", n=encoder.source_.size))
        pair = encoder.transform(rows), None if test is None else encoder.transform(self.records.take(test))
        if key is not None:
            self._encoded[key] = pair
            while len(self._encoded) > 1 and sum(_size(p) for p in self._encoded.values()) > CACHE:
                self._encoded.popitem(last=False)
        return pair

    def _sample(self, size: int) -> np.ndarray:
        """So many rows at random, with at least two of every class that has them."""
        if size >= self.n:
            return np.arange(self.n)
        order = np.random.default_rng(self.seed).permutation(self.n)
        if self.k and self.task == "classification":
            assert self.y is not None
            labels = self.y[order]
            first = np.concatenate([np.flatnonzero(labels == c)[:2] for c in range(self.k)])
            order = np.concatenate([order[first], np.delete(order, first)])
        return np.sort(order[:size])

    def _proba(self, model: Any, X: Any) -> np.ndarray | None:
        """Probabilities with a column for every class, also those that were not among the training rows."""
        try:
            known = model.predict_proba(X)
        except (AttributeError, NotImplementedError):
            return None
        proba = np.zeros((known.shape[0], self.k))
        proba[:, np.asarray(model.classes_, dtype=int)] = known
        return proba

    def _value(self, model: Any, X: Any, index: np.ndarray) -> float:
        assert self.y is not None
        given = self._proba(model, X) if self.measure.needs == "proba" else model.predict(X)
        return self.measure.of(self.y[index], given, *([self.k] if self.k else []))

    def _score_clusters(
        self, name: str, settings: dict[str, Any], X: Any, rows: np.ndarray
    ) -> dict[str, Any]:
        truth = None if self.y is None else self.y[rows]
        model, fit_time, busy, said = self._fit(name, settings, X, truth)
        labels = np.asarray(model.labels_)
        values = {}
        for measure in suitable("clustering", labelled=truth is not None):
            given = (truth, labels) if measure.needs == "outside" else (X, labels)
            if measure.needs == "outside" or 1 < np.unique(labels).size < labels.size:
                values[measure.name] = measure.of(*given)
        return {
            "measures": values,
            "fit_time": fit_time,
            "predict_time": None,
            "busy": busy,
            "warnings": said,
        }

    def _clusters(self, name: str) -> int:
        """The number of clusters: of the classes if they are known, else the one with the best silhouette."""
        if self.k:
            return self.k
        index = self._sample(min(self.n, 1000))
        X, _ = self._encode(name, index, None)
        dense = X.toarray() if sparse.issparse(X) else X
        found = {}
        for k in range(2, min(MOST_CLUSTERS, index.size - 1) + 1):
            labels = self._fit(name, {"n_clusters": k}, X, None)[0].labels_
            if np.unique(labels).size > 1:
                found[k] = MEASURES["silhouette"].of(dense, labels)
        if not found:
            raise Unsuitable(Note("finds no two clusters here"))
        return max(found, key=lambda k: found[k])


class Flat:
    """A method after standardising: enough of a pipeline for a picture."""

    def __init__(self, centre: np.ndarray, scale: np.ndarray, model: Any) -> None:
        self.centre, self.scale, self.model = centre, scale, model

    def fit(self, X: np.ndarray, y: np.ndarray) -> Flat:
        self.model.fit((X - self.centre) / self.scale, y)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.model.predict((np.asarray(X) - self.centre) / self.scale)

    @property
    def classes_(self) -> np.ndarray:
        return self.model.classes_


def flavour(estimator: Any) -> dict[str, Any]:
    """How an estimator wants a table encoded, from its tags."""
    tags = estimator.__sklearn_tags__().input_tags
    return {
        "scale": "minmax" if tags.positive_only else "standard",
        "missing": "keep" if tags.allow_nan else "impute",
        "sparse": "auto" if tags.sparse else False,
    }


def _extrapolate(spans: list[tuple[int, float]], rows: int) -> float:
    """Seconds of a fit on all rows from trial fits on few: the power law through them, at least linear in what
    the larger one took beyond the smaller."""
    (small, first), (large, last) = spans[0], spans[-1]
    if large >= rows or large == small:
        return last
    power = np.log(max(last, 1e-9) / max(first, 1e-9)) / np.log(large / small)
    if power <= 1:  # what takes the time is not yet the rows
        return last + max(0.0, last - first) / (large - small) * (rows - large)
    return float(last * (rows / large) ** min(power, 3.0))


@functools.cache
def _card(name: str) -> Card:
    return next(card for card in methods() if card.name == name and card.kind == "estimator")


@functools.cache
def _parameters(name: str) -> Any:
    return {} if name == BASELINE else inspect.signature(_card(name).load()).parameters


@functools.cache
def _bare(name: str) -> Any:
    """An unfitted estimator, to ask for its tags."""
    return _card(name).load()()


def _size(pair: tuple[Any, Any]) -> int:
    return sum(m.data.nbytes if sparse.issparse(m) else m.nbytes for m in pair if m is not None)
