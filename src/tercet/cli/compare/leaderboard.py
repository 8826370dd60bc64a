"""The leaderboard: scores with intervals, and paired tests against the best."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from tercet.cli.compare.baseline import BASELINE
from tercet.cli.compare.combination import COMBINATION
from tercet.cli.compare.scheduling import MethodProgress
from tercet.cli.measures import Measure
from tercet.core.catalog import Card
from tercet.model_selection import corrected_interval, corrected_paired_test, holm

LEVEL = 0.05


def leaderboard(
    finished: list[MethodProgress],
    cards: dict[str, Card],
    measure: Measure,
    *,
    cv: int,
    rounds: int,
    rows: int,
) -> list[dict[str, Any]]:
    """The methods, best first, each compared with the best on the same splits."""
    n_test = rows / cv
    sizes = {"n_train": rows - n_test, "n_test": n_test}
    sign = 1.0 if measure.greater_is_better else -1.0
    scores = {one.name: one.scores(measure.name, cv, rounds) for one in finished}
    # A NaN score means that a method failed on some split; it is ranked last.
    value = {name: float(np.mean(s)) for name, s in scores.items()}
    utility = {name: sign * v if np.isfinite(v) else -np.inf for name, v in value.items()}
    order = sorted(scores, key=lambda name: (-utility[name], name == BASELINE, name))
    by_name = {one.name: one for one in finished}
    entries = []
    for rank, name in enumerate(order, 1):
        one, card, s = by_name[name], cards.get(name), scores[name]
        finite = bool(np.isfinite(s).all())
        low, high = corrected_interval(s, **sizes) if finite else (np.nan, np.nan)
        entries.append(
            {
                "rank": rank,
                "name": name,
                "zh": "最优方法的组合" if name == COMBINATION else card.zh if card else "基线",
                "baseline": name == BASELINE,
                "combination": name == COMBINATION,
                "score": value[name],
                "spread": float(np.std(s, ddof=1)) if finite else np.nan,
                "low": low,
                "high": high,
                "scores": s.tolist(),
                "others": _others(one, measure, rounds),
                "fit_time": one.median("fit_time"),
                "predict_time": one.median("predict_time"),
                "rounds": rounds,
                "difference": value[name] - value[order[0]],
                "p_value": None,
                "tied": rank == 1,
                "settings": one.settings,
                "warnings": sorted({text for r in one.results.values() for text in r["warnings"]}),
                "card": asdict(card) if card else None,
            }
        )
    _test_against_best(entries, scores, sizes)
    return entries


def _test_against_best(
    entries: list[dict[str, Any]], scores: dict[str, np.ndarray], sizes: dict[str, float]
) -> None:
    """Paired tests against the best, with Holm's correction for their number."""
    if len(entries) < 2:
        return
    best = scores[entries[0]["name"]]
    tested = [
        (entry, corrected_paired_test(scores[entry["name"]], best, **sizes).p_value)
        for entry in entries[1:]
        if np.isfinite(scores[entry["name"]]).all() and np.isfinite(best).all()
    ]
    for (entry, _), p in zip(tested, holm([p for _, p in tested])):
        entry["p_value"] = float(p)
        entry["tied"] = bool(p >= LEVEL)


def _others(one: MethodProgress, measure: Measure, rounds: int) -> dict[str, float]:
    """The other measures, over the same splits."""
    first = [r["measures"] for (repeat, _), r in sorted(one.results.items()) if repeat < rounds]
    names = [name for name in first[0] if name != measure.name and all(name in m for m in first)]
    return {name: float(np.mean([m[name] for m in first])) for name in names}
