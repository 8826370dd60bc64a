"""Alerts and the recommendation on the terminal."""

from __future__ import annotations

from typing import Any

from rich.text import Text

from tercet.cli import printing
from tercet.cli.report.phrases import expected_text, simplest_text, term
from tercet.cli.translation import tr

STYLES = {"serious": "bold red", "caution": "bold yellow", "note": "bold cyan"}


def early_alerts(result: dict[str, Any]) -> None:
    """What is odd about the table, as soon as it is known, with the evidence."""
    if printing.quiet:
        return
    for alert in result["alerts"]:
        line = Text.assemble("! ", (alert["title"], STYLES[alert["severity"]]), tr(". "), alert["evidence"])
        printing.stderr().print(line, soft_wrap=True)


def alerts(result: dict[str, Any]) -> None:
    """The alerts with what to do about each, below the verdict."""
    if not result.get("alerts"):
        return
    console = printing.stdout()
    console.print()
    console.print(Text(tr("Before you trust these scores:"), style="bold"))
    for alert in result["alerts"]:
        severity = term(alert["severity"])
        console.print(
            Text.assemble("! ", (f"[{severity}] {alert['title']}", STYLES[alert["severity"]])), soft_wrap=True
        )
        console.print(Text(f"  {alert['advice']}"), soft_wrap=True)


def recommendation(result: dict[str, Any]) -> None:
    """What to take: the command, the score to expect, and the simplest method that is as good."""
    take = result.get("take")
    if not take or printing.quiet:
        return
    console = printing.stdout()
    console.print()
    console.print(Text(tr("Take this:"), style="bold"))
    if take.get("caution"):
        console.print(Text(f"  {take['caution']}"), soft_wrap=True)
    console.print(Text(f"  {take['command']}"), soft_wrap=True)
    if (expected := expected_text(result)) and not result.get("expected"):  # else a remark has said it
        console.print(Text(f"  {expected}"), soft_wrap=True)
    plain = take["simplest"]
    if plain:
        console.print(Text(f"  {simplest_text(result)}"), soft_wrap=True)
        console.print(Text(f"  {plain['command']}"), soft_wrap=True)
