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
        printing.print_text(line, printing.stderr(), indent="  ")


def alerts(result: dict[str, Any]) -> None:
    """The alerts with what to do about each, below the verdict."""
    if not result.get("alerts"):
        return
    console = printing.stdout()
    console.print()
    console.print(Text(tr("Before you trust these scores:"), style="bold"))
    for alert in result["alerts"]:
        title = f"[{term(alert['severity'])}] {alert['title']}"
        printing.print_text(Text.assemble("! ", (title, STYLES[alert["severity"]])), indent="  ")
        printing.print_text(f"  {alert['advice']}", indent="  ")


def recommendation(result: dict[str, Any]) -> None:
    """What to take: the command, the score to expect, and the simplest method that is as good."""
    take = result.get("take")
    if not take or printing.quiet:
        return
    printing.stdout().print()
    printing.print_text(tr("Take this:"), style="bold")
    if take.get("caution"):
        printing.print_text(f"  {take['caution']}", indent="  ")
    printing.print_command(take["command"])
    if (expected := expected_text(result)) and not result.get("expected"):  # else a remark has said it
        printing.print_text(f"  {expected}", indent="  ")
    if plain := take["simplest"]:
        printing.print_text(f"  {simplest_text(result)}", indent="  ")
        printing.print_command(plain["command"])
