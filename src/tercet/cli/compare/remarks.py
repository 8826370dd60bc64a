"""Remarks below the leaderboard: how the scores came about, what they mean, what would tell more."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tercet.cli.report.number_format import known, score_texts, short
from tercet.core.messages import Message

COUNTS = {"n_clusters", "n_components"}  # settings that say how many clusters there are


def remarks(result: dict[str, Any], rounds: int, repeats: int) -> Iterator[Message]:
    """The remarks on a comparison, of which `rounds` of `repeats` rounds are done."""
    if result["metric_why"] is not None:
        yield result["metric_why"]
    if result["task"] == "clustering":
        yield from _on_clusters(result, rounds)
    else:
        yield from _on_splits(result, rounds)
    fewer = [e["name"] for e in result["leaderboard"] if e["rounds"] < rounds]
    if fewer:
        yield Message("{n} slower methods have fewer rounds; they are compared on those.", n=len(fewer))
    yield from _on_verdicts(result)
    yield from _on_expected(result)
    yield from _on_combination(result)
    if result["tuned"]:
        plain = [e["name"] for e in result["leaderboard"] if e["untuned"] is None and not e["baseline"]]
        untuned = [name for name in plain if name != "combination"]
        yield Message("Settings were searched inside the training rows of each split.")
        if untuned:
            yield Message("Not searched, for want of settings or of time: {names}.", names=", ".join(untuned))
    if 0 < rounds < repeats:
        yield Message(
            "The budget was enough for {rounds} of {repeats} rounds.", rounds=rounds, repeats=repeats
        )


def _on_splits(result: dict[str, Any], rounds: int) -> Iterator[Message]:
    cv, kind, column = result["cv"], result["split"]["kind"], result["split"]["column"]
    if kind == "time":
        yield Message(
            "Forward in time by {column}: {cv} stretches, each predicted from all rows before it. How such scores "
            "are correlated is not known, so there are intervals and no verdicts.",
            column=column,
            cv=cv,
        )
        return
    if rounds == 1:
        yield Message("{cv} folds, the same for all methods.", cv=cv)
    else:
        yield Message(
            "{cv} folds, {rounds} rounds: {n} splits, the same for all methods.",
            cv=cv,
            rounds=rounds,
            n=cv * rounds,
        )
    if kind == "group":
        yield Message("Rows with the same {column} are never on both sides of a split.", column=column)


def _on_clusters(result: dict[str, Any], rounds: int) -> Iterator[Message]:
    cv = result["cv"]
    yield Message(
        "{n} subsamples, each {part} of the rows, the same for all methods; a score is that of the clusters "
        "found in them, so that the interval tells how stable it is.",
        n=cv * rounds,
        part=f"{cv - 1}/{cv}",
    )
    if result["data"]["target"]:
        yield Message("The number of clusters is that of the target's classes.")
    else:
        yield Message("The number of clusters is the one with the best silhouette, method by method.")
    own = [e["name"] for e in result["leaderboard"] if not (e["baseline"] or COUNTS & {*e["settings"]})]
    if own:
        yield Message("By a criterion of the method's own: {names}.", names=", ".join(own))


def _on_verdicts(result: dict[str, Any]) -> Iterator[Message]:
    """The margin, and how many rows would decide what cannot be told yet."""
    outcomes = [entry["outcome"] for entry in result["leaderboard"]]
    if not {"worse", "equivalent", "undecided"} & {*outcomes}:
        return
    yield Message(
        "Equivalent means: within {margin} of the best with a probability of 95% (--margin).",
        margin=short(result["margin"], 3),
    )
    open_ = [e for e in result["leaderboard"] if e["outcome"] == "undecided" and not e["baseline"]]
    if not open_:
        return
    everything = sum(not e["baseline"] for e in result["leaderboard"])
    needs = sorted((e["against_best"]["rows"], e["name"]) for e in open_ if e["against_best"]["rows"])
    if needs:
        yield Message(
            "Cannot tell yet for {n} of {all} methods: further rounds of the same rows need not settle it; about "
            "{rows:,} rows would for {name}.",
            n=len(open_),
            all=everything,
            rows=needs[0][0],
            name=needs[0][1],
        )
    else:
        yield Message(
            "Cannot tell yet for {n} of {all} methods: a thousand times as many rows would not settle it, the "
            "difference is just about the margin.",
            n=len(open_),
            all=everything,
        )


def _on_expected(result: dict[str, Any]) -> Iterator[Message]:
    """The winner's score on new rows, corrected for the choice, and what the intervals are about."""
    expected = result["expected"]
    if expected is None or not known(expected["score"]):
        return
    score, low, high = score_texts(expected["score"], expected["low"], expected["high"])
    told = {"metric": Message(result["metric_title"]), "score": score, "low": low, "high": high}
    if expected["candidates"] > 1:
        yield Message(
            "On new rows expect of the winner {metric} {score} (95% interval {low} to {high}), corrected for the "
            "choice among {n}.",
            n=expected["candidates"],
            **told,
        )
    else:
        yield Message("On new rows expect {metric} {score} (95% interval {low} to {high}).", **told)
    yield Message(
        "Intervals concern the procedure on {rows:,} such rows, not the one model that it fits.",
        rows=result["data"]["rows"],
    )


def _on_combination(result: dict[str, Any]) -> Iterator[Message]:
    combined = next((e["settings"] for e in result["leaderboard"] if e["combination"]), None)
    if combined is not None:
        yield Message(
            "The combination is a weighted mean of {names}; members and weights are found inside each training "
            "set, among {among}.",
            names=combined["of"],
            among=combined["among"],
        )
