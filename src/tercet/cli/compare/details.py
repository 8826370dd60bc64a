"""Details of the best methods for the report: predictions, importances, learning curves, models."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tercet.cli.compare.worker_pool import WorkerPool, WorkerTask

N_CURVES = 3  # methods with a learning curve
N_MODELS = 4  # methods with a figure of their model
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
            found.update(self._held_out(best))
            found["importance"] = self._importance(best)
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

    def _held_out(self, best: dict[str, Any]) -> dict[str, Any]:
        parts = self._folds("held_out", best, self.cv)
        if any(part is None for part in parts):
            return {}
        rows = np.concatenate(
            [part["rows"] for part in parts]
        )  # forward in time, the first are never held out
        order = np.argsort(rows)
        predicted, proba = (
            None if parts[0][key] is None else np.concatenate([part[key] for part in parts])[order]
            for key in ("predicted", "proba")
        )
        return {"truth": self.y[rows[order]], "predicted": predicted, "proba": proba}

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
        order = (
            self.columns if importance is None else [self.columns[k] for k in np.argsort(-importance["mean"])]
        )
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
