"""Comparison of tables that do not fit into memory: on which rows it is made, and what then learns from all."""

from __future__ import annotations

from typing import Any

from tercet.cli import printing
from tercet.cli.compare.recommendation import fit_command, method_and_settings, winner
from tercet.cli.parameter_values import build
from tercet.cli.translation import tr
from tercet.core.catalog import Card
from tercet.core.source_fits import unable


def about_sample(result: dict[str, Any], request: Any, cards: dict[str, Card]) -> dict[str, Any] | None:
    """The sample that methods are compared on, and which of them learn from all rows; None for all rows.

    "streams" says whether the best method does; "first" is the best one that does, with the command that fits it;
    "told" are sentences that say so.
    """
    data = result["data"]
    if data["total_rows"] <= data["rows"] or request.rows is not None:
        return None
    about = _about(result, request, cards)
    return {**about, "told": sentences(about)}


def _about(result: dict[str, Any], request: Any, cards: dict[str, Card]) -> dict[str, Any]:
    data = result["data"]
    rule = tr("drawn at random by the seed {seed}: as many as fit into memory", seed=request.seed)
    about: dict[str, Any] = {"rows": data["rows"], "total_rows": data["total_rows"], "rule": rule}
    about |= {"streams": None, "first": None}
    best = winner(result)
    if best is None:
        return about
    ranked = [best, *(entry for entry in result["leaderboard"] if entry is not best)]
    for entry in ranked:
        if entry.get("baseline") or entry["score"] is None:
            continue
        able = _streams(entry, result, cards)
        if entry is best:
            about["streams"] = able
        if able:
            about["first"] = {"name": entry["name"], "command": fit_command(entry, result, request)}
            break
    return about


def _streams(entry: dict[str, Any], result: dict[str, Any], cards: dict[str, Card]) -> bool:
    """Whether a method, with its settings, learns from rows that are not in memory."""
    name, settings = method_and_settings(entry, result)
    if name not in cards:
        return False
    estimator = build(cards[name], settings, result["seed"])
    return hasattr(estimator, "streaming") and not unable(estimator)


def sentences(about: dict[str, Any]) -> list[str]:
    """What to say of it."""
    told = [
        tr(
            "The methods were compared on {rows:,} of {total:,} rows, {rule}.",
            rows=about["rows"],
            total=about["total_rows"],
            rule=about["rule"],
        )
    ]
    first = about["first"]
    if about["streams"]:
        told.append(
            tr("The best one learns from all rows, read pass by pass: {command}", command=first["command"])
        )
    elif first is not None:
        told.append(
            tr(
                "The best one needs its rows in memory, and learns from as many. {name} learns from all: {command}",
                name=first["name"],
                command=first["command"],
            )
        )
    elif about["streams"] is not None:
        told.append(
            tr(
                "These methods need their rows in memory. HistGradientBoosting and linear models learn from all."
            )
        )
    return told


def tell(result: dict[str, Any]) -> None:
    """Say it on the terminal."""
    if result.get("sample") and not printing.quiet:
        for sentence in result["sample"]["told"]:
            printing.remark("{text}", text=sentence)
