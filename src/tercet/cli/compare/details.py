"""What the report shows beyond the leaderboard: a closer look at the best methods."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tercet.cli.compare.crew import Crew, Job

CURVES = 3  # methods with a learning curve
MODELS = 4  # methods with their own picture
SIZES = (0.1, 0.2, 0.4, 0.7, 1.0)  # shares of the training rows
SHUFFLES = 3  # of every column, on every fold
MOST_COLUMNS = 200  # beyond that, shuffling each column is not worth its time


@dataclass(frozen=True)
class Details:
    """A closer look at the best methods; a part that time did not allow is None."""

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

    def unpacked(self) -> Details:
        """With the models alive. They travel as bytes, because the main process does not import families."""
        models = self.models and {name: pickle.loads(packed) for name, packed in self.models.items()}
        return replace(self, models=models, regions=self.regions and pickle.loads(self.regions))


@dataclass
class Examiner:
    """Asks the crew for the details, most telling first, until the deadline.

    Parameters
    ----------
    crew : Crew
    entries : list of dict
        The leaderboard without the baseline.
    task, cv, rows : what was compared.
    y, classes : the target.
    columns, numeric : names of the features in the records' order, and of the numeric ones.
    deadline : float
    progress : callable
    """

    crew: Crew
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

    def look(self) -> Details:
        """All of it."""
        best = self.entries[0]
        found: dict[str, Any] = {"best": best["name"], "classes": self.classes}
        if self.task == "clustering":
            found["clusters"] = {
                name: {k: v for k, v in value.items() if k != "busy"}
                for name, (value,) in self._ask(self._each("clusters", MODELS)).items()
                if value
            }
        else:
            found.update(self._outside(best))
            found["importance"] = self._importance(best)
            found["regions"] = self._regions(best, found["importance"])
            found["curves"] = self._curves()
        models = self._ask(self._each("whole", MODELS))
        found["models"] = {name: value["model"] for name, (value,) in models.items() if value}
        return Details(**found)

    def _ask(self, jobs: list[Job]) -> dict[str, list[Any]]:
        """The answers by label, None where there is none, in the order of the jobs."""
        slots = {id(job): k for k, job in enumerate(jobs)}
        answers: list[Any] = [None] * len(jobs)
        total = len(jobs)
        for done, outcome in enumerate(self.crew.run(jobs, self.deadline), 1):
            self.progress(done, total, outcome.job.label)
            answers[slots[id(outcome.job)]] = outcome.value
            if outcome.value is not None and outcome.value.get("busy"):
                self.busy.append(outcome.value["busy"])
        grouped: dict[str, list[Any]] = {}
        for job, answer in zip(jobs, answers):
            grouped.setdefault(job.label, []).append(answer)
        return grouped

    def _job(self, verb: str, entry: dict[str, Any], **more: Any) -> Job:
        return Job(verb, {"name": entry["name"], "settings": entry["settings"], **more}, entry["name"])

    def _each(self, verb: str, most: int) -> list[Job]:
        return [self._job(verb, entry) for entry in self.entries[:most]]

    def _folds(self, verb: str, entry: dict[str, Any], folds: int, **more: Any) -> list[Any]:
        jobs = [self._job(verb, entry, fold=fold, **more) for fold in range(folds)]
        return self._ask(jobs)[entry["name"]]

    def _outside(self, best: dict[str, Any]) -> dict[str, Any]:
        parts = self._folds("outside", best, self.cv)
        if any(part is None for part in parts):
            return {}
        predicted = np.empty(self.rows, dtype=parts[0]["predicted"].dtype)
        for part in parts:
            predicted[part["rows"]] = part["predicted"]
        proba = None
        if parts[0]["proba"] is not None:
            proba = np.empty((self.rows, parts[0]["proba"].shape[1]))
            for part in parts:
                proba[part["rows"]] = part["proba"]
        return {"truth": self.y, "predicted": predicted, "proba": proba}

    def _importance(self, best: dict[str, Any]) -> dict[str, Any] | None:
        if not 0 < len(self.columns) <= MOST_COLUMNS:
            return None
        # Half of the time for it at most: where predicting is slow, as with neighbours, fewer folds tell it.
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
        (answer,) = self._ask([self._job("plane", best, columns=wanted)])[best["name"]]
        return None if answer is None else answer["regions"]

    def _curves(self) -> dict[str, dict[str, Any]] | None:
        full = self.rows - -(-self.rows // self.cv)
        sizes = sorted({max(2, round(share * full)) for share in SIZES})
        entries = list(self._affordable(sizes, full))
        jobs = [
            self._job("curve", entry, fold=fold, size=size)
            for entry in entries
            for size in sizes
            for fold in range(self.cv)
        ]
        curves = {}
        for name, answers in self._ask(jobs).items():
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
        """The methods whose curve fits into what is left, when a fit takes as long as its share of the rows."""
        left = self.deadline - time.monotonic()
        for entry in self.entries[:CURVES]:
            each = (entry["fit_time"] or 0.0) + (entry["predict_time"] or 0.0) * self.cv  # training rows too
            left -= each * self.cv * sum(sizes) / full
            if left > 0:
                yield entry
