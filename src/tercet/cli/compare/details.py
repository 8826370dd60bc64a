"""Details of the best methods for the report: predictions, importances, learning curves, models."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tercet.cli.compare.cost_thresholds import cost_thresholds
from tercet.cli.compare.error_segments import confidence_of_errors, error_segments, row_errors, worst_rows
from tercet.cli.compare.worker_pool import WorkerPool, WorkerTask
from tercet.cli.scorers import rarer_class

N_CURVES = 3  # methods with a learning curve
N_MODELS = 4  # methods with a figure of their model
N_SCORED = 3  # methods with ROC, precision-recall and calibration curves
SCORED_SHARE = 0.1  # of the time, for each of them but the first
N_DEPENDENCE = 4  # columns with a partial dependence
SIZES = (0.1, 0.2, 0.4, 0.7, 1.0)  # shares of the training rows
SHUFFLES = 3  # of every column, on every fold
MOST_COLUMNS = 200  # beyond that, shuffling each column is not worth its time


@dataclass(frozen=True)
class ReportDetails:
    """Details of the best methods; a part that the budget did not allow is None."""

    best: str | None = None
    truth: Any = None
    predicted: Any = None
    proba: Any = None
    classes: list[Any] | None = None
    curves: dict[str, dict[str, Any]] | None = None
    importance: dict[str, Any] | None = None
    regions: Any = None
    models: dict[str, Any] | None = None
    clusters: dict[str, dict[str, Any]] | None = None
    scores: dict[str, dict[str, Any]] | None = None
    thresholds: dict[str, Any] | None = None
    dependence: dict[str, dict[str, Any]] | None = None
    errors: dict[str, Any] | None = None

    def unpacked(self) -> ReportDetails:
        """With the models unpickled. The main process, which imports no family, keeps them as bytes."""
        models = self.models and {name: pickle.loads(packed) for name, packed in self.models.items()}
        return replace(self, models=models, regions=self.regions and pickle.loads(self.regions))


@dataclass
class DetailCollector:
    """Collects the details from the worker processes, most important first, until the deadline.

    Parameters
    ----------
    pool : WorkerPool
    entries : list of dict
        The leaderboard without the baseline.
    task, cv, rows : what was compared.
    y, classes : the target.
    columns, numeric : names of the features in the records' order, and of the numeric ones.
    records, numbers : the features, and the numbers of their rows in the table.
    deadline : float
    progress : callable
    """

    pool: WorkerPool
    entries: list[dict[str, Any]]
    task: str
    cv: int
    rows: int
    y: Any
    classes: list[Any] | None
    columns: list[str]
    numeric: list[str]
    records: Any
    numbers: Any
    deadline: float
    progress: Callable[[int, int, str], Any] = lambda *_: None
    busy: list[tuple[float, float]] = field(default_factory=list)

    def collect(self) -> ReportDetails:
        """All details."""
        best = self.entries[0]
        found: dict[str, Any] = {"best": best["name"], "classes": self.classes}
        if self.task == "clustering":
            found["clusters"] = {
                name: {k: v for k, v in value.items() if k != "busy"}
                for name, (value,) in self._ask(self._each("clusters", N_MODELS)).items()
                if value
            }
        else:
            found["scores"] = self._scored()
            found.update(self._held_out(best, found["scores"]))
            found["importance"] = self._importance(best)
            found["errors"] = self._errors(found)
            found["thresholds"] = self._thresholds(best, found["scores"])
            found["dependence"] = self._dependence(best, found["importance"])
            found["regions"] = self._regions(best, found["importance"])
            found["curves"] = self._curves()
        models = self._ask(self._each("full_fit", N_MODELS))
        found["models"] = {name: value["model"] for name, (value,) in models.items() if value}
        return ReportDetails(**found)

    def _ask(self, tasks: list[WorkerTask]) -> dict[str, list[Any]]:
        """The results by label, None where there is none, in the order of the tasks."""
        slots = {id(task): k for k, task in enumerate(tasks)}
        answers: list[Any] = [None] * len(tasks)
        total = len(tasks)
        for done, outcome in enumerate(self.pool.run(tasks, self.deadline), 1):
            self.progress(done, total, outcome.task.label)
            answers[slots[id(outcome.task)]] = outcome.value
            if outcome.value is not None and outcome.value.get("busy"):
                self.busy.append(outcome.value["busy"])
        grouped: dict[str, list[Any]] = {}
        for task, answer in zip(tasks, answers):
            grouped.setdefault(task.label, []).append(answer)
        return grouped

    def _task(self, method: str, entry: dict[str, Any], **more: Any) -> WorkerTask:
        return WorkerTask(
            method, {"name": entry["name"], "settings": entry["settings"], **more}, entry["name"]
        )

    def _each(self, method: str, most: int) -> list[WorkerTask]:
        return [self._task(method, entry) for entry in self.entries[:most]]

    def _folds(self, method: str, entry: dict[str, Any], folds: int, **more: Any) -> list[Any]:
        tasks = [self._task(method, entry, fold=fold, **more) for fold in range(folds)]
        return self._ask(tasks)[entry["name"]]

    def _scored(self) -> dict[str, dict[str, Any]]:
        """Held-out predictions of the best methods, with the scores of classes where they have them."""
        entries = [self.entries[0], *(self._others_with_scores() if self.task == "classification" else ())]
        tasks = [self._task("held_out", entry, fold=fold) for entry in entries for fold in range(self.cv)]
        found = {}
        for name, parts in self._ask(tasks).items():
            if any(part is None for part in parts):
                continue
            rows = np.concatenate([part["rows"] for part in parts])
            order = np.argsort(rows, kind="stable")
            entry: dict[str, Any] = {"rows": rows[order]}
            for key in ("predicted", "proba", "ranking"):
                there = all(part[key] is not None for part in parts)
                entry[key] = np.concatenate([part[key] for part in parts])[order] if there else None
            if entry["ranking"] is not None and _are_votes(entry["ranking"]) and entry["proba"] is None:
                entry["ranking"] = None
            found[name] = entry
        return found

    def _others_with_scores(self) -> Iterator[dict[str, Any]]:
        """The next best methods, where their folds take a small part of the remaining time."""
        share = SCORED_SHARE * (self.deadline - time.monotonic())
        for entry in self.entries[1:N_SCORED]:
            if ((entry["fit_time"] or 0.0) + (entry["predict_time"] or 0.0)) * self.cv < share:
                yield entry

    def _held_out(self, best: dict[str, Any], scores: dict[str, dict[str, Any]]) -> dict[str, Any]:
        one = scores.get(best["name"])
        if one is None:
            return {}
        return {"truth": self.y[one["rows"]], "predicted": one["predicted"], "proba": one["proba"]}

    def _errors(self, found: dict[str, Any]) -> dict[str, Any] | None:
        """Where the best method errs."""
        if found.get("predicted") is None:
            return None
        rows = found["scores"][found["best"]]["rows"]
        truth, predicted, proba = found["truth"], found["predicted"], found["proba"]
        part, importance = self.records.take(rows), found["importance"]
        order = self.columns if importance is None else _by_importance(importance)
        worst = worst_rows(part, self.numbers[rows], self.task, truth, predicted, proba, order)
        if self.classes:
            for one in worst:
                one |= {key: self.classes[one[key]] for key in ("truth", "predicted")}
        return {
            "mean": float(row_errors(self.task, truth, predicted).mean()),
            "segments": error_segments(part, row_errors(self.task, truth, predicted)),
            "rows": worst,
            "confidence": confidence_of_errors(truth, predicted, proba),
        }

    def _thresholds(self, best: dict[str, Any], scores: dict[str, dict[str, Any]]) -> dict[str, Any] | None:
        """Thresholds by cost, for two classes and a method that has scores."""
        one = scores.get(best["name"])
        if (
            self.task != "classification"
            or len(self.classes or ()) != 2
            or one is None
            or one["ranking"] is None
        ):
            return None
        truth = self.y[one["rows"]]
        positive = rarer_class(truth)
        return {
            "positive": positive,
            "probabilities": one["proba"] is not None,
            "choices": cost_thresholds(truth == positive, one["ranking"][:, positive]),
        }

    def _dependence(
        self, best: dict[str, Any], importance: dict[str, Any] | None
    ) -> dict[str, dict[str, Any]] | None:
        """Partial dependence on the columns that matter most."""
        if importance is None:
            return None
        able = {
            name
            for name, kind in zip(self.records.names, self.records.kinds)
            if kind in ("number", "category")
        }
        mean = dict(zip(importance["names"], importance["mean"]))
        wanted = [name for name in _by_importance(importance) if name in able and mean[name] > 0][
            :N_DEPENDENCE
        ]
        if not wanted:
            return None
        (answer,) = self._ask([self._task("dependence", best, columns=wanted)])[best["name"]]
        if answer is None:
            return None
        found = answer["columns"]
        coded = [n for n, kind in zip(self.records.names, self.records.kinds) if kind == "category"]
        for name, one in found.items():
            if one.pop("coded"):
                categories = self.records.categories[coded.index(name)]
                one["grid"] = np.array([categories[int(code)] for code in one["grid"]], dtype=object)
        return found

    def _importance(self, best: dict[str, Any]) -> dict[str, Any] | None:
        if not 0 < len(self.columns) <= MOST_COLUMNS:
            return None
        # At most half of the remaining time: fewer folds where predicting is slow, as with neighbours.
        each = (best["fit_time"] or 0.0) + SHUFFLES * len(self.columns) * (best["predict_time"] or 0.0)
        folds = int(min(self.cv, (self.deadline - time.monotonic()) / 2 / max(each, 1e-9)))
        if folds < 1:
            return None
        answers = self._folds("importance", best, folds, repeats=SHUFFLES)
        parts = [part["losses"] for part in answers if part is not None]
        if not parts:
            return None
        losses = np.concatenate(parts, axis=1)
        return {"names": self.columns, "mean": losses.mean(axis=1), "std": losses.std(axis=1)}

    def _regions(self, best: dict[str, Any], importance: dict[str, Any] | None) -> Any:
        order = self.columns if importance is None else _by_importance(importance)
        first = [name for name in order if name in self.numeric]
        wanted = first[: 2 if self.task == "classification" else 1]
        if len(wanted) < (2 if self.task == "classification" else 1):
            return None
        (answer,) = self._ask([self._task("decision_regions", best, columns=wanted)])[best["name"]]
        return None if answer is None else answer["regions"]

    def _curves(self) -> dict[str, dict[str, Any]] | None:
        full = self.rows - -(-self.rows // self.cv)
        sizes = sorted({max(2, round(share * full)) for share in SIZES})
        entries = list(self._affordable(sizes, full))
        tasks = [
            self._task("curve", entry, fold=fold, size=size)
            for entry in entries
            for size in sizes
            for fold in range(self.cv)
        ]
        curves = {}
        for name, answers in self._ask(tasks).items():
            grid = [answers[k * self.cv : (k + 1) * self.cv] for k in range(len(sizes))]
            whole = [k for k, row in enumerate(grid) if all(answer is not None for answer in row)]
            if len(whole) > 1:
                curves[name] = {
                    "sizes": [sizes[k] for k in whole],
                    **{
                        side: np.array([[a[side] for a in grid[k]] for k in whole])
                        for side in ("train", "test")
                    },
                }
        return curves or None

    def _affordable(self, sizes: list[int], full: int) -> Iterator[dict[str, Any]]:
        """Methods whose learning curve fits into the remaining time, at a cost proportional to the rows."""
        left = self.deadline - time.monotonic()
        for entry in self.entries[:N_CURVES]:
            each = (entry["fit_time"] or 0.0) + (entry["predict_time"] or 0.0) * self.cv  # training rows too
            left -= each * self.cv * sum(sizes) / full
            if left > 0:
                yield entry


def _by_importance(importance: dict[str, Any]) -> list[str]:
    """The columns, the most important first."""
    return [importance["names"][k] for k in np.argsort(-importance["mean"], kind="stable")]


def _are_votes(ranking: np.ndarray) -> bool:
    """Whether scores are only 0 and 1: answers, which put no row before another."""
    return bool(np.isin(ranking, (0.0, 1.0)).all())
