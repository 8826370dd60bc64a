"""Groups of rows (of one patient, one user, one place) that shuffled folds part."""

from __future__ import annotations

import re

import numpy as np

from tercet.cli.alerts.alert import Alert, named, option
from tercet.cli.alerts.alert_input import AlertInput, is_missing
from tercet.core.messages import Message
from tercet.feature import Records
from tercet.feature.column_names import name_meaning

LEAST_GROUPS = 10
LEAST_SIZE, LARGEST_SIZE = 1.5, 200.0  # mean rows of a group
GROUPS_LOOKED_AT = 300
ROWS_LOOKED_AT = 5_000
NAMES = re.compile(
    r"(?<![a-z])(patient|subject|person|user|customer|client|member|household|family|school|hospital|session|account|"
    r"device|sensor|batch|participant|respondent|player|team|store|animal)(?![a-z])|"
    r"患者|病人|受试者|用户|客户|会员|家庭|学校|医院|班级|设备|批次|门店"
)


def repeated_groups(data: AlertInput, identifiers: set[str]) -> list[Alert]:
    """Columns that say which rows belong together.

    A column does if its name says so, or if other columns are constant within its values.
    """
    if data.group is not None or data.task == "clustering" or data.n < 2 * LEAST_GROUPS:
        return []
    found: list[tuple[int, Alert]] = []
    for name, codes in _candidates(data, identifiers):
        distinct, place, counts = np.unique(codes, return_inverse=True, return_counts=True)
        size = codes.size / distinct.size
        shared = int(counts[counts > 1].sum())
        if (
            distinct.size < LEAST_GROUPS
            or not LEAST_SIZE <= size <= LARGEST_SIZE
            or shared < 0.5 * codes.size
        ):
            continue
        constant = _constant_within(data, name, place, distinct.size)
        says = NAMES.search(name.lower()) is not None or name_meaning(name) == "row"
        if says or len(constant) >= 2:
            found.append((len(constant), _alert(data, name, distinct.size, constant, says)))
    found.sort(key=lambda entry: -entry[0])
    return [alert for _, alert in found][:1]


def _candidates(data: AlertInput, identifiers: set[str]) -> list[tuple[str, np.ndarray]]:
    """Columns of whole numbers or categories with many values that repeat, and those that are not used."""
    able = []
    for column in data.schema.used:
        present = data.n - column.missing
        many = (
            LEAST_GROUPS <= column.distinct <= present / LEAST_SIZE
            and column.distinct >= present / LARGEST_SIZE
        )
        if column.kind not in ("numeric", "categorical") or not many or column.name in identifiers:
            continue
        values = data.records.column(column.name)
        if column.missing == 0 and (column.kind == "categorical" or bool(np.all(values == np.floor(values)))):
            able.append((column.name, values))
    return [*able, *data.unused.items()]


def _constant_within(data: AlertInput, name: str, place: np.ndarray, groups: int) -> list[str]:
    """Other columns that are the same in all rows of a group, and differ between groups."""
    rng = np.random.default_rng(data.seed)
    chosen = rng.choice(groups, min(groups, GROUPS_LOOKED_AT), replace=False)
    rows = np.flatnonzero(np.isin(place, chosen))[:ROWS_LOOKED_AT]
    part: Records = data.records.take(rows)
    group = place[rows]
    order = np.argsort(group, kind="stable")
    inside = np.diff(group[order]) == 0
    if inside.sum() < LEAST_GROUPS:
        return []
    found = []
    for other, kind in zip(part.names, part.kinds):
        if other == name or kind == "text":
            continue
        values = part.column(other)
        if is_missing(values).all():
            continue
        filled = np.where(is_missing(values), -9e99, values)[order]
        changes = filled[1:] != filled[:-1]
        between = changes[~inside].mean() if (~inside).any() else 0.0
        if not changes[inside].any() and between > 0.3:
            found.append(other)
    return found


def _alert(data: AlertInput, name: str, groups: int, constant: list[str], says: bool) -> Alert:
    title = Message("rows come in groups: {name!r}", name=name)
    if constant:
        evidence = Message(
            "{n} rows have {groups} values of {name!r}, and within one of them {columns} never differ.",
            n=data.n,
            groups=groups,
            name=name,
            columns=named(constant),
        )
    else:
        evidence = Message(
            "{n} rows have {groups} values of {name!r}: {size} rows of each on average.",
            n=data.n,
            groups=groups,
            name=name,
            size=f"{data.n / groups:.1f}",
        )
    advice = Message(
        "Shuffled folds test on groups that they learned from. If the model is for new groups, compare again with "
        "{option}.",
        option=option("--group", name),
    )
    return Alert("groups", "caution" if constant or says else "note", title, evidence, advice, (name,))
