"""Alerts about a table: what would make a score untrustworthy, in numbers, and what to do about it.

Every kind of alert is a file with functions of an `AlertInput` (the table, sampled so that a million rows or two
thousand columns take seconds) that return `Alert` objects: no printing, no options, no state.
"""

from __future__ import annotations

from tercet.cli.alerts.alert import SEVERITIES, Alert
from tercet.cli.alerts.alert_input import AlertInput, make_input
from tercet.cli.alerts.class_balance import imbalance, rare_classes
from tercet.cli.alerts.determining_columns import determining_columns
from tercet.cli.alerts.duplicates import duplicated_rows
from tercet.cli.alerts.groups import repeated_groups
from tercet.cli.alerts.identifiers import identifiers
from tercet.cli.alerts.linear_relations import exact_relations
from tercet.cli.alerts.rounds import few_rounds
from tercet.cli.alerts.row_order import row_order

__all__ = ["Alert", "AlertInput", "few_rounds", "find_alerts", "in_order", "make_input"]

MOST_OF_A_KIND = 5  # alerts of one kind; a table with a hundred leaks is understood after a few


def find_alerts(data: AlertInput) -> list[Alert]:
    """All alerts about a table, the most serious first."""
    named = identifiers(data)
    leaks = determining_columns(data)
    known = {name for alert in leaks for name in alert.columns}
    ids = {name for alert in named for name in alert.columns}
    kinds = [
        leaks,
        exact_relations(data, known),
        named,
        imbalance(data),
        rare_classes(data),
        row_order(data),
        repeated_groups(data, ids),
        duplicated_rows(data, ids),
    ]
    return in_order([alert for alerts in kinds for alert in alerts[:MOST_OF_A_KIND]])


def in_order(alerts: list[Alert]) -> list[Alert]:
    """The most serious first."""
    return sorted(alerts, key=lambda alert: SEVERITIES.index(alert.severity))
