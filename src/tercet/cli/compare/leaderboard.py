"""The leaderboard: scores with intervals, and each method against the best and against the baseline."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from tercet.cli.compare.baseline import BASELINE
from tercet.cli.compare.combination import COMBINATION
from tercet.cli.compare.comparison import Comparison, Design, compare_with, score_interval
from tercet.cli.compare.expected_score import expected_score
from tercet.cli.compare.method_progress import MethodProgress
from tercet.cli.measures import Measure
from tercet.core.catalog import Card


class Leaderboard:
    """The methods, best first, each compared with the best on the same splits.

    Parameters
    ----------
    finished : list of MethodProgress
    cards : dict
        Cards by name.
    measure : Measure
    design : Design
        Of the splits.
    margin : float or None
        Differences of at most so much mean nothing; None is the measure's own.
    seed : int
        Of the bootstrap.

    Attributes
    ----------
    entries : list of dict
        Plain values, which `--json` writes and the report shows.
    margin : float
    expected : dict or None
        See `expected_score`.
    """

    def __init__(
        self,
        finished: list[MethodProgress],
        cards: dict[str, Card],
        measure: Measure,
        design: Design,
        margin: float | None = None,
        seed: int = 0,
    ) -> None:
        self.measure, self.design = measure, design
        self.methods = {one.name: one for one in finished}
        scores = {one.name: one.scores(measure.name, design.cv) for one in finished}
        # Some measures have no value where a test set lacks a class: such splits count for nobody. Slow methods
        # have fewer splits than others, the first ones.
        longest = max((s.size for s in scores.values()), default=0)
        defined = np.zeros(longest, dtype=bool)
        for s in scores.values():
            defined[: s.size] |= np.isfinite(s)
        self.scores = {name: s[defined[: s.size]] for name, s in scores.items()}
        self.parts = self._contributions(design.rounds)
        self.first_parts = self._contributions(1)
        # A NaN score means that a method failed on some split; it is ranked last.
        self.means = {name: float(np.mean(s)) if s.size else np.nan for name, s in self.scores.items()}
        sign = 1.0 if measure.greater_is_better else -1.0
        utility = {name: sign * v if np.isfinite(v) else -np.inf for name, v in self.means.items()}
        self.order = sorted(scores, key=lambda name: (-utility[name], name == BASELINE, name))
        self.margin = self._margin() if margin is None else margin
        self.entries = [self._entry(rank, name, cards.get(name)) for rank, name in enumerate(self.order, 1)]
        self._compare()
        real = {name: self.means[name] for name in self.order if name != BASELINE}
        intervals = {entry["name"]: (entry["low"], entry["high"]) for entry in self.entries}
        self.expected = expected_score(real, self.parts, measure, design, seed, intervals)

    def _contributions(self, repeats: int) -> dict[str, np.ndarray]:
        """The rows' contributions to the measure, by method, where they are known."""
        counts = self.design.counts
        found = (
            {} if counts is None else {n: m.contributions(counts, repeats) for n, m in self.methods.items()}
        )
        return {name: parts for name, parts in found.items() if parts is not None}

    def _margin(self) -> float:
        worst = [self.means[name] for name in self.order if np.isfinite(self.means[name])]
        return self.measure.margin(self.means.get(BASELINE, worst[-1] if worst else 0.0))

    def _entry(self, rank: int, name: str, card: Card | None) -> dict[str, Any]:
        one, s = self.methods[name], self.scores[name]
        finite = bool(np.isfinite(s).all()) and s.size > 1
        ends = (
            score_interval(s, self.first_parts.get(name), self.measure, self.design)
            if finite
            else (np.nan,) * 2
        )
        return {
            "rank": rank,
            "name": name,
            "zh": "最优方法的组合" if name == COMBINATION else card.zh if card else "基线",
            "baseline": name == BASELINE,
            "combination": name == COMBINATION,
            "score": self.means[name],
            "spread": float(np.std(s, ddof=1)) if finite else np.nan,
            "low": ends[0],
            "high": ends[1],
            "scores": s.tolist(),
            "untuned": self._untuned(one),
            "others": self._others(one),
            "fit_time": one.median("fit_time"),
            "predict_time": one.median("predict_time"),
            "rounds": one.complete_repeats(self.design.cv),
            "difference": self.means[name] - self.means[self.order[0]],
            "outcome": "best" if rank == 1 else None,
            "tied": rank == 1,
            "against_best": None,
            "against_baseline": None,
            "settings": one.usual_settings(),
            "members": one.members,
            "warnings": sorted({text for r in one.results.values() for text in r["warnings"]}),
            "card": asdict(card) if card else None,
        }

    def padded(self, name: str) -> np.ndarray:
        """The scores of a method on the splits of all, NaN where it has none."""
        longest = max(s.size for s in self.scores.values())
        return np.append(self.scores[name], np.full(longest - self.scores[name].size, np.nan))

    def _compare(self) -> None:
        """The three outcomes against the best, and the same against the baseline."""

        def evidence(name: str) -> tuple[np.ndarray, np.ndarray | None]:
            return self.padded(name), self.first_parts.get(name)

        def against(reference: str, others: list[str], chosen: bool) -> dict[str, Comparison]:
            real = {name: evidence(name) for name in others if np.isfinite(self.means[name])}
            return compare_with(
                real, evidence(reference), self.measure, self.margin, self.design, chosen=chosen
            )

        if not self.order or not np.isfinite(self.means[self.order[0]]):
            return
        first, real = self.order[0], [name for name in self.order if name != BASELINE]
        plain = against(BASELINE, real, chosen=False) if BASELINE in self.order else {}
        best = against(first, [name for name in real if name != first], chosen=True)
        if first in plain:  # of the two, the baseline was named beforehand
            best[BASELINE] = plain[first].mirrored()
        failed = self._worse_at_the_least()
        for entry in self.entries:
            name = entry["name"]
            if name in best:
                # The best was chosen for its score: another can be no better than undecided.
                outcome = best[name].outcome
                if outcome in ("undecided", "better"):
                    outcome = "worse" if name in failed else "undecided"
                entry["outcome"] = outcome
                entry["tied"] = outcome != "worse"
                entry["against_best"] = best[name].to_dict()
                entry["difference"] = best[name].difference
            if name in plain:
                entry["against_baseline"] = plain[name].to_dict()

    def _worse_at_the_least(self) -> set[str]:
        """Methods that are worse than the best even if the baseline's score counted where it is better.

        A method that fails utterly on some splits (R² of -1e13) has so large a variance that nothing could be told.
        """
        if BASELINE not in self.order or self.order[0] == BASELINE:
            return set()
        better = np.maximum if self.measure.greater_is_better else np.minimum
        floor = self.padded(BASELINE)
        raised: dict[str, tuple[np.ndarray, np.ndarray | None]] = {
            name: (better(self.padded(name), floor), None)
            for name in self.order[1:]
            if np.isfinite(self.means[name]) and (better(self.padded(name), floor) != self.padded(name)).any()
        }
        best = (self.padded(self.order[0]), None)
        found = compare_with(raised, best, self.measure, self.margin, self.design)
        return {name for name, comparison in found.items() if comparison.outcome == "worse"}

    def _others(self, one: MethodProgress) -> dict[str, float]:
        """The other measures, over the same splits."""
        first = [
            r["measures"] for (repeat, _), r in sorted(one.results.items()) if repeat < self.design.rounds
        ]
        names = [name for name in first[0] if name != self.measure.name and all(name in m for m in first)]
        found = {name: np.array([m[name] for m in first], dtype=float) for name in names}
        return {
            name: float(np.mean(values[np.isfinite(values)])) if np.isfinite(values).any() else np.nan
            for name, values in found.items()
        }

    def _untuned(self, one: MethodProgress) -> float | None:
        """The score before the search for better settings; None where there was none."""
        first = one.complete_results(self.design.cv)
        if not all("untuned" in r for r in first):
            return None
        values = np.array([r["untuned"].get(self.measure.name, np.nan) for r in first])
        return float(np.mean(values[np.isfinite(values)])) if np.isfinite(values).any() else None
