"""What to take: the command and the Python lines that fit the winner, and the score to expect."""

from __future__ import annotations

from typing import Any

from tercet.cli.report.markup import Markup, join, tag
from tercet.cli.report.phrases import called, expected_text, sentence, simplest_text
from tercet.cli.translation import tr


def recommendation(result: dict[str, Any]) -> Markup | None:
    """The section, or None if no method finished."""
    take = result.get("take")
    if not take:
        return None
    entry = next((e for e in result["leaderboard"] if e["name"] == take["name"]), None)
    if entry is None:
        return None
    expected = expected_text(result)
    plain = take.get("simplest")
    return join(
        tag("p", take["caution"]) if take.get("caution") else None,
        tag(
            "p",
            sentence("Fit {name} on all rows and save it:", name=tag("b", called(entry))),
        ),
        _code(take["command"]),
        tag("p", tr("Then predict the rows of another table with the same columns:")),
        _code(take["predict"]),
        tag("p", expected, class_="expected") if expected else None,
        join(tag("p", simplest_text(result)), _code(plain["command"])) if plain else _no_simpler(result),
        _python(take.get("python")),
    )


def _no_simpler(result: dict[str, Any]) -> Markup | None:
    several = sum(not entry["baseline"] for entry in result["leaderboard"]) > 1
    return tag("p", tr("No simpler method was found to be as good."), class_="legend") if several else None


def _python(lines: str | None) -> Markup | None:
    if not lines:
        return None
    return tag("details", tag("summary", tr("The same in Python")), _code(lines))


def _code(text: str) -> Markup:
    return tag("pre", tag("code", text), tabindex="0")
