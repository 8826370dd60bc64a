"""Alerts: what would make the scores untrustworthy, and what to do."""

from __future__ import annotations

from typing import Any

from tercet.cli.report.markup import Markup, join, tag
from tercet.cli.report.phrases import said, term
from tercet.cli.translation import tr


def alerts(result: dict[str, Any]) -> Markup:
    """A list of the alerts; if there are none, what was looked for."""
    found = result.get("alerts") or []
    if not found:
        return tag(
            "p",
            tr(
                "Nothing was found. Looked for: columns that give the target away, identifiers among the features, "
                "imbalance, rows in the order of time or in groups, copies of rows, classes with few rows."
            ),
            class_="legend",
        )
    return tag("ul", [_alert(alert) for alert in found], class_="alerts")


def _alert(alert: dict[str, Any]) -> Markup:
    severity = tag("span", term(alert["severity"]), class_=f"severity {alert['severity']}")
    title = said(alert["title"])
    return tag(
        "li",
        tag("p", severity, " ", tag("b", title[:1].upper() + title[1:])),
        join(tag("p", said(alert["evidence"])), tag("p", said(alert["advice"]), class_="advice")),
        class_=alert["severity"],
    )
