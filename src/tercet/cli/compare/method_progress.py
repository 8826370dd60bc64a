"""State of one method in a comparison: its cost, its settings and its results so far."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass
class MethodProgress:
    """State of one method: its cost, its settings and its results so far."""

    name: str
    tried: bool = False
    cost: float | None = None  # estimated seconds per split
    plain_cost: float | None = None  # the same without a search for settings
    tune: bool = False  # whether settings are searched inside the folds
    settings: dict[str, Any] = field(default_factory=dict)
    members: list[dict[str, Any]] | None = None  # of a combination: names, settings and weights
    results: dict[tuple[int, int], dict[str, Any]] = field(default_factory=dict)
    dropped: str | None = None  # why it is not on the leaderboard

    def complete_repeats(self, cv: int) -> int:
        """The number of repeats with all folds."""
        t = 0
        while all((t, fold) in self.results for fold in range(cv)):
            t += 1
        return t

    def scores(self, metric: str, cv: int) -> np.ndarray:
        """A measure on every split of the complete repeats."""
        return np.array(
            [
                self.results[t, fold]["measures"].get(metric, np.nan)
                for t in range(self.complete_repeats(cv))
                for fold in range(cv)
            ]
        )

    def complete_results(self, cv: int) -> list[dict[str, Any]]:
        """The results of the complete repeats, in order."""
        return [result for (t, _), result in sorted(self.results.items()) if t < self.complete_repeats(cv)]

    def contributions(self, counts: np.ndarray, repeats: int) -> np.ndarray | None:
        """Mean contribution of the rows of each unit to the measure, over the first repeats; NaN for units that
        were never held out."""
        sums, times = np.zeros(counts.size), np.zeros(counts.size)
        for (repeat, _), result in self.results.items():
            if repeat < repeats:
                if result.get("parts") is None:
                    return None
                units, part, rows = result["parts"]
                sums[units] += part
                times[units] += rows
        return np.divide(sums, times, out=np.full(counts.size, np.nan), where=times > 0)

    def usual_settings(self) -> dict[str, Any]:
        """What a method was told; of settings that were chosen inside the folds, those chosen most often."""
        chosen = [r["chosen"] for _, r in sorted(self.results.items()) if "chosen" in r]
        if not chosen:
            return self.settings
        often = Counter(json.dumps(settings, sort_keys=True) for settings in chosen)
        return json.loads(often.most_common(1)[0][0])

    def median(self, key: str) -> float | None:
        """Median of a time over all splits (the first fit loads kernels and is slower)."""
        values = [r[key] for r in self.results.values() if r[key] is not None]
        return float(np.median(values)) if values else None

    def measured_cost(self) -> float:
        """Seconds per split, as they were: a better estimate than the trial's."""
        spans = [
            max(r["busy"][1] - r["busy"][0], (r["fit_time"] or 0.0) + (r["predict_time"] or 0.0))
            for r in self.results.values()
        ]
        return float(np.median(spans)) if spans else 0.0
