"""Columns that name the rows, or count them, and are taken for numbers or categories."""

from __future__ import annotations

import numpy as np

from tercet.cli.alerts.alert import Alert, option
from tercet.cli.alerts.alert_input import AlertInput
from tercet.core.messages import Message
from tercet.feature.column_names import name_meaning

LEAST_ROWS = 20
MOSTLY = 0.5  # share of different values from which a name for rows is believed


def identifiers(data: AlertInput) -> list[Alert]:
    """Used columns that tell rows apart and say nothing about them."""
    found = []
    for column in data.schema.used:
        present = data.n - column.missing
        if present < LEAST_ROWS or column.name not in data.sample.names:
            continue
        share = column.distinct / present
        meaning = name_meaning(column.name)
        if column.kind == "categorical" and share > MOSTLY:
            evidence = Message(
                "It has {distinct} different values in {n} rows, and its categories become features.",
                distinct=column.distinct,
                n=present,
            )
            found.append(_alert(column.name, evidence, share))
        elif column.kind == "numeric" and share > MOSTLY:
            whole, rising = _whole_and_rising(data.sample.column(column.name))
            named = meaning == "row" or (meaning == "number" and share > 0.9)
            counting = rising and share == 1.0 and meaning != "quantity"
            if whole and named:
                evidence = Message(
                    "It has {distinct} different whole numbers in {n} rows, and a name for numbers of rows.",
                    distinct=column.distinct,
                    n=present,
                )
                found.append(_alert(column.name, evidence, share))
            elif whole and counting:
                evidence = Message(
                    "Its {distinct} whole numbers are all different and rise from row to row.",
                    distinct=column.distinct,
                )
                found.append(_alert(column.name, evidence, share))
    return found


def _whole_and_rising(values: np.ndarray) -> tuple[bool, bool]:
    there = values[~np.isnan(values)]
    whole = bool(np.all(there == np.floor(there)))
    return whole, bool(np.all(np.diff(there) > 0)) and there.size > 1


def _alert(name: str, evidence: Message, share: float) -> Alert:
    title = Message("{name!r} looks like an identifier, and is used as a feature", name=name)
    template = (
        "A name of rows tells nothing about new ones, and methods may learn it by heart: compare again with {drop}."
        if share == 1.0
        else "A name of rows tells nothing about new ones, and methods may learn it by heart: compare again with "
        "{drop}, or with {group} if rows of one name belong together."
    )
    advice = Message(
        template, drop=option("--drop", name), **({} if share == 1.0 else {"group": option("--group", name)})
    )
    return Alert("identifier", "caution", title, evidence, advice, (name,))
