"""Too few rounds of cross-validation for a verdict."""

from __future__ import annotations

import math
from typing import Any

from tercet.cli.alerts.alert import Alert
from tercet.core.messages import Message

ENOUGH = 3
LARGE = 10_000  # rows from which one round says enough


def few_rounds(result: dict[str, Any], planned: int) -> list[Alert]:
    """One or two rounds on a table where the splits matter more than the methods."""
    rounds = max((entry["rounds"] for entry in result["leaderboard"]), default=0)
    if result["task"] == "clustering" or not 0 < rounds < ENOUGH or result["data"]["rows"] > LARGE:
        return []
    if (result.get("split") or {}).get("kind") == "time":
        return []  # forward in time there is one way to split
    title = Message("few rounds of cross-validation for a verdict")
    evidence = Message(
        "{rounds} of {planned} rounds: every method has {n} scores, from one way or two to split the rows.",
        rounds=rounds,
        planned=max(planned, rounds),
        n=rounds * result["cv"],
    )
    if planned > rounds:
        more = math.ceil(result["budget"] * min(ENOUGH, planned) / rounds / 10) * 10
        advice = Message(
            "--budget {seconds} gives about {n} rounds, or --methods fewer methods: scores become steadier. "
            "Whether methods that are close can be told apart depends on the rows, not on the rounds.",
            seconds=more,
            n=min(ENOUGH, planned),
        )
    else:
        advice = Message(
            "--repeats {n} gives steadier scores. Whether methods that are close can be told apart depends on the "
            "rows, not on the rounds.",
            n=ENOUGH,
        )
    return [Alert("rounds", "note", title, evidence, advice)]
