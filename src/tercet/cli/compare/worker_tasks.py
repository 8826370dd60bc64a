"""Tasks of a worker process: trial fits, cross-validation folds, and details for the report."""

from __future__ import annotations

import contextlib
import inspect
import pickle
import time
import warnings
from typing import Any

import numpy as np
from scipy import sparse

from tercet.cli.compare.baseline import BASELINE
from tercet.cli.compare.combination import Candidate, Combined
from tercet.cli.compare.cost_estimate import extrapolate
from tercet.cli.compare.cross_validation import MAX_DENSE_BYTES, Unsuitable, parameters
from tercet.cli.compare.detail_tasks import DetailTasks
from tercet.cli.compare.nested_choice import best_settings, member_weights, opinion
from tercet.cli.compare.search_spaces import search_space
from tercet.cli.measures import MEASURES, suitable
from tercet.core.messages import Message
from tercet.feature import TableEncoder

# Where a method's defaults are meant for fewer columns, or closer rows, than a table usually has.
SETTINGS: dict[str, dict[str, Any]] = {
    "MLPRegressor": {"solver": "lbfgs", "alpha": 1.0, "max_iter": 50},  # "adam" needs targets near 1
    "PolynomialRegression": {"degree": 2},
    "RadiusNeighborsClassifier": {"outlier_label": "most_frequent"},
}
# They keep a matrix of all pairs of rows.
QUADRATIC_MEMORY = ("CentralSVC", "KMedoids", "KernelFisherDiscriminant", "MulticategorySVC")
TRIAL_SIZES = (200, 2_000, 20_000)  # rows of the trial fits that estimate the cost of a method
LONG_TRIAL = 0.5  # seconds; no larger trial that would take longer
MOST_CLUSTERS = 10
MIN_NEIGHBORS = 3  # of every row within the radius
CORE_NEIGHBORS, CORE_SHARE = (
    4,
    0.9,
)  # of DBSCAN: the share of rows that are core rows, with so many others around


class WorkerTasks(DetailTasks):
    """The tasks, by method name. Each returns plain values and arrays; "busy" is when a fit was running."""

    def describe(self) -> list[str]:
        """What is done to the columns, in words."""
        notes: list[str] = list(TableEncoder(self.schema).fit(self.records).describe())
        if self.task != "clustering" and self.records.sparse is None:
            notes.append(Message("trees, and others that know categories, get all columns as they are"))
        return notes

    def trial(self, name: str, timed: bool = True) -> dict[str, Any]:
        """Whether a method can be used here, with which settings, and about how long one split will take; None
        when a few rows are too few to tell, or when it is not `timed`."""
        self._check(name)
        settings = dict(SETTINGS.get(name, {}))
        begin = time.monotonic()
        try:
            for parameter in ("n_clusters", "n_components"):
                if self.task == "clustering" and parameter in parameters(name):
                    settings[parameter] = self._clusters(name, parameter)
            if "radius" in parameters(name):
                settings["radius"] = self._radius(name)
            if name == "DBSCAN":
                settings["eps"] = self._radius(name, CORE_NEIGHBORS, CORE_SHARE)
            cost = self._cost(name, settings) if timed else None
        except Unsuitable:
            raise
        except ValueError:
            cost = None
        searched = len(search_space(name))
        return {"cost": cost, "settings": settings, "searched": searched, "busy": (begin, time.monotonic())}

    def score(
        self, name: str, settings: dict[str, Any], repeat: int, fold: int, tune: bool = False
    ) -> dict[str, Any]:
        """One method on one split: all measures, each row's part in the one that ranks, and the times.

        With `tune` the settings are chosen by cross-validation of the training rows; "untuned" has the measures of
        the settings as they were.
        """
        train, test = self.splits(repeat)[fold]
        X, Z = self.encode(name, train, test, key=(repeat, fold))
        if self.task == "clustering":
            return self._score_clusters(name, settings, X, train)
        begin = time.monotonic()
        plain = self._score_rows(name, settings, X, Z, repeat, fold)
        if not tune:
            return plain
        chosen = best_settings(self, name, settings, train, key=(repeat, fold))
        tuned = plain if chosen == settings else self._score_rows(name, chosen, X, Z, repeat, fold)
        return {**tuned, "untuned": plain["measures"], "chosen": chosen, "busy": (begin, time.monotonic())}

    def _score_rows(
        self, name: str, settings: dict[str, Any], X: Any, Z: Any, repeat: int, fold: int
    ) -> dict[str, Any]:
        train, _ = self.splits(repeat)[fold]
        assert self.y is not None
        model, fit_time, busy, said = self.fit(name, settings, X, self.y[train])
        begin = time.perf_counter()
        predicted = model.predict(Z)
        predict_time = time.perf_counter() - begin
        if predicted.dtype.kind == "f" and (lost := int(np.isnan(predicted).sum())):
            raise Unsuitable(Message("has no answer for {n} of {m} rows", n=lost, m=predicted.size))
        return {
            **self._measures(model, Z, predicted, repeat, fold),
            "fit_time": fit_time,
            "predict_time": predict_time,
            "busy": busy,
            "warnings": said,
        }

    def _measures(self, model: Any, Z: Any, predicted: np.ndarray, repeat: int, fold: int) -> dict[str, Any]:
        """All measures that a model has values for, and the rows' contributions to the one that ranks, which must
        be among them, summed over what the bootstrap draws."""
        assert self.y is not None
        _, test = self.splits(repeat)[fold]
        truth, share = self.y[test], self.share(repeat)
        counts = self.task == "regression" and bool((self.y >= 0).all())
        given = self.given(self.measure, model, Z, predicted, share)
        values = {self.measure.name: self.measure.of(truth, *given)}
        if self.measure.counts and np.isnan(values[self.measure.name]):
            raise Unsuitable(Message("predicts counts that are not positive"))
        for measure in suitable(self.task, counts=counts):
            if measure.name not in values:
                with contextlib.suppress(Unsuitable):
                    values[measure.name] = self.value(measure, model, Z, truth, predicted, share)
        parts = None
        if self.measure.contributions is not None:
            units, place, rows = np.unique(self.units[test], return_inverse=True, return_counts=True)
            parts = units, np.bincount(place, self.measure.contributions(truth, *given)), rows
        return {
            "measures": {name: v for name, v in values.items() if np.isfinite(v) or not counts},
            "parts": parts,
        }

    def combine(self, candidates: list[Candidate], repeat: int, fold: int) -> dict[str, Any]:
        """The weighted mean of what some methods predict, on one split: all measures, and the times.

        The weights are found by cross-validation of the training rows: the test rows have no part in the choice.
        """
        train, test = self.splits(repeat)[fold]
        assert self.y is not None
        start, fit_time, predict_time = time.monotonic(), 0.0, 0.0
        weights = member_weights(self, candidates, train, key=(repeat, fold))
        parts: dict[int, np.ndarray] = {}
        for k in np.flatnonzero(weights):
            name, settings = candidates[k]
            X, Z = self.encode(name, train, test, key=(repeat, fold))
            model, span, _, _ = self.fit(name, settings, X, self.y[train])
            begin = time.perf_counter()
            part = opinion(self, model, Z)
            fit_time, predict_time = fit_time + span, predict_time + time.perf_counter() - begin
            if part is not None:
                parts[int(k)] = part
        if not parts:
            raise Unsuitable(Message("none of its members can be used here"))
        whole = Combined(list(parts.values()), weights[list(parts)])
        return {
            **self._measures(whole, None, whole.predict(None), repeat, fold),
            "weights": weights,
            "fit_time": fit_time,
            "predict_time": predict_time,
            "busy": (start, time.monotonic()),
            "warnings": [],
        }

    def held_out(self, name: str, settings: dict[str, Any], fold: int) -> dict[str, Any]:
        """Predictions of one fold's test rows, by a model that has not seen them."""
        train, test = self.splits(0)[fold]
        X, Z = self.encode(name, train, test, key=(0, fold))
        assert self.y is not None
        model, _, busy, _ = self.fit(name, settings, X, self.y[train])
        return {
            "rows": test,
            "predicted": np.asarray(model.predict(Z)),
            "proba": self.proba(model, Z) if self.task == "classification" else None,
            "ranking": self._ranking(model, Z) if self.task == "classification" else None,
            "busy": busy,
        }

    def curve(self, name: str, settings: dict[str, Any], fold: int, size: int) -> dict[str, Any]:
        """The measure on training and test rows after learning from so many of the training rows."""
        train, test = self.splits(0)[fold]
        assert self.y is not None
        train = np.random.default_rng([self.seed, fold]).permutation(train)[:size]
        if self.k and np.unique(self.y[train]).size < 2:
            return {"train": np.nan, "test": np.nan, "busy": None}
        X, Z = self.encode(name, train, test)
        model, _, busy, _ = self.fit(name, settings, X, self.y[train])
        seen, unseen = (
            self.value(self.measure, model, rows, self.y[index]) for rows, index in ((X, train), (Z, test))
        )
        return {"train": seen, "test": unseen, "busy": busy}

    def importance(self, name: str, settings: dict[str, Any], fold: int, repeats: int) -> dict[str, Any]:
        """How much the measure loses on test rows when one column is shuffled."""
        train, test = self.splits(0)[fold]
        assert self.y is not None
        encoder = self.encoder(name).fit(self.records.take(train))
        X, held = encoder.transform(self.records.take(train)), self.records.take(test)
        model, _, busy, _ = self.fit(name, settings, X, self.y[train])
        Z, truth = encoder.transform(held), self.y[test]
        sign = 1.0 if self.measure.greater_is_better else -1.0
        whole = self.value(self.measure, model, Z, truth)
        rng = np.random.default_rng([self.seed, fold])
        losses = np.zeros((len(self.records.names), repeats))
        for column, label in enumerate(self.records.names):
            block = np.flatnonzero(encoder.source_ == column)
            if block.size == 0:
                continue
            for r in range(repeats):
                order = rng.permutation(test.size)
                if not isinstance(Z, np.ndarray):
                    shuffled = encoder.transform(held.shuffled(label, order))
                else:  # a column's features depend on that column alone: shuffling them is the same
                    shuffled = Z.copy()
                    shuffled[:, block] = Z[np.ix_(order, block)]
                losses[column, r] = sign * (whole - self.value(self.measure, model, shuffled, truth))
        return {"losses": losses, "busy": busy}

    def full_fit(self, name: str, settings: dict[str, Any]) -> dict[str, Any]:
        """The method fitted on all rows, pickled with the names of its features."""
        encoder = self.encoder(name).fit(self.records)
        model, _, busy, _ = self.fit(name, settings, encoder.transform(self.records), self.y)
        names = [str(feature) for feature in encoder.get_feature_names_out()]
        return {"model": pickle.dumps((model, names)), "busy": busy}

    def decision_regions(self, name: str, settings: dict[str, Any], columns: list[str]) -> dict[str, Any]:
        """The method fitted on one or two numeric columns alone, for a plot of its decision regions."""
        if self.encoder(name).scale == "intervals":
            raise Unsuitable(
                Message("is for columns of categories")
            )  # nobody reads it: there is no picture then
        X = np.stack([self.records.column(c) for c in columns], axis=1)
        assert self.y is not None
        good = np.isfinite(X).all(axis=1)
        X, y = X[good], self.y[good]
        scaled = StandardizedModel(X, self.make(name, settings))
        begin = time.monotonic()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scaled.model.fit(scaled.scale(X), y)
        return {"regions": pickle.dumps((scaled, X, y, tuple(columns))), "busy": (begin, time.monotonic())}

    def clusters(self, name: str, settings: dict[str, Any]) -> dict[str, Any]:
        """The clusters of all rows, on the plane of the first two principal components."""
        from sklearn.metrics import silhouette_samples

        X, _ = self.encode(name, np.arange(self.n), None)
        model, _, busy, _ = self.fit(name, settings, X, self.y)
        keep = self.sample(min(self.n, 2000))
        plain, _ = self.encode(BASELINE, np.arange(self.n), None)
        shown = plain[keep].toarray() if sparse.issparse(plain) else plain[keep]
        shown = shown - shown.mean(axis=0)
        _, _, axes = np.linalg.svd(shown, full_matrices=False)
        axes = np.vstack([axes, np.zeros((2, axes.shape[1]))])[:2]
        labels = clusters_of(model, X)[keep]
        good = 1 < np.unique(labels).size < labels.size
        return {
            "points": shown @ axes.T,
            "labels": labels,
            "truth": None if self.y is None else self.y[keep],
            "silhouette": silhouette_samples(shown, labels) if good else None,
            "busy": busy,
        }

    def render(self, result: dict[str, Any], details: Any, language: str) -> str:
        """The report as HTML."""
        from tercet.cli import translation
        from tercet.cli.report import render

        translation.set_language(language)
        return render(result, details.unpacked())

    def _check(self, name: str) -> None:
        for parameter in ("estimator", "estimators"):
            given = parameters(name).get(parameter)
            if given is not None and given.default is inspect.Parameter.empty:
                raise Unsuitable(Message("builds on another method, which has to be named"))
        rows = self.n - self.n // self.cv
        if name in QUADRATIC_MEMORY and 8 * rows**2 > MAX_DENSE_BYTES:
            size = 8 * rows**2 / 1e9
            raise Unsuitable(
                Message("would need {size:.0f} GB for the pairs of {n:,} rows", size=size, n=rows)
            )

    def _cost(self, name: str, settings: dict[str, Any]) -> float:
        rows = self.n - self.n // self.cv
        spans: list[tuple[int, float]] = []
        for size in sorted({min(size, rows) for size in TRIAL_SIZES}):
            if len(spans) > 1 and extrapolate(spans, size) > LONG_TRIAL:
                break
            index = self.sample(size)
            X, _ = self.encode(name, index, None)
            y = None if self.y is None else self.y[index]
            # The first fit of a kind may compile kernels, and one fit alone is noise.
            first, second = (self._seconds(name, settings, X, y) for _ in range(2))
            spans.append((size, min(first, second)))
            if second > LONG_TRIAL:
                break
        return extrapolate(spans, rows) if name != BASELINE else 0.0

    def _seconds(self, name: str, settings: dict[str, Any], X: Any, y: Any) -> float:
        """Seconds to fit and to predict as many rows as a fold holds out (with neighbours, all of the work)."""
        model, span, _, _ = self.fit(name, settings, X, y)
        if self.task == "clustering":
            return span
        begin = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.predict(X[: max(1, X.shape[0] // (self.cv - 1))])
        return span + time.perf_counter() - begin

    def _clusters(self, name: str, parameter: str) -> int:
        """The number of clusters: of the classes if they are known, else the one with the best silhouette."""
        if self.k:
            return self.k
        index = self.sample(min(self.n, 1000))
        X, _ = self.encode(name, index, None)
        plain, _ = self.encode(BASELINE, index, None)
        found = {}
        for k in range(2, min(MOST_CLUSTERS, index.size - 1) + 1):
            labels = clusters_of(self.fit(name, {parameter: k}, X, None)[0], X)
            if 1 < np.unique(labels).size < labels.size:
                found[k] = MEASURES["silhouette"].of(plain, labels)
        if not found:
            raise Unsuitable(Message("finds no two clusters here"))
        return max(found, key=lambda k: found[k])

    def _radius(self, name: str, neighbors: int = MIN_NEIGHBORS, share: float = 1.0) -> float:
        """A radius within which every row, or a share of them, has a few neighbours."""
        from tercet.neighbors import NearestNeighbors

        X, _ = self.encode(name, self.sample(min(self.n, 1000)), None)
        distances, _ = NearestNeighbors(n_neighbors=min(neighbors, X.shape[0] - 1)).fit(X).kneighbors()
        return float(f"{1.01 * np.quantile(distances[:, -1], share):.3g}") or 1.0

    def _score_clusters(
        self, name: str, settings: dict[str, Any], X: Any, rows: np.ndarray
    ) -> dict[str, Any]:
        truth = None if self.y is None else self.y[rows]
        model, fit_time, busy, said = self.fit(name, settings, X, truth)
        labels = clusters_of(model, X)
        plain, _ = self.encode(BASELINE, rows, None)  # one geometry for all methods
        values = {}
        for measure in suitable("clustering", labelled=truth is not None):
            given = (truth, labels) if measure.needs == "outside" else (plain, labels)
            if measure.needs == "outside" or 1 < np.unique(labels).size < labels.size:
                values[measure.name] = measure.of(*given)
        if self.measure.name not in values:
            raise Unsuitable(Message("finds no two clusters here"))
        return {
            "measures": values,
            "parts": None,
            "fit_time": fit_time,
            "predict_time": None,
            "busy": busy,
            "warnings": said,
        }


def clusters_of(model: Any, X: Any) -> np.ndarray:
    """The cluster of each row: `labels_`, or the predictions of a mixture."""
    return np.asarray(model.labels_ if hasattr(model, "labels_") else model.predict(X))


class StandardizedModel:
    """A model behind standardisation."""

    def __init__(self, X: np.ndarray, model: Any) -> None:
        self.centre, self.spread, self.model = X.mean(axis=0), X.std(axis=0), model
        self.spread[self.spread == 0] = 1.0

    def scale(self, X: Any) -> np.ndarray:
        return (np.asarray(X) - self.centre) / self.spread

    def predict(self, X: Any) -> np.ndarray:
        return self.model.predict(self.scale(X))

    @property
    def classes_(self) -> np.ndarray:
        return self.model.classes_
