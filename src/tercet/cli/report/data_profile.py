"""Profile of the data: columns, kinds, missing values and preprocessing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tercet.cli.report.markup import Markup, escape, join, tag
from tercet.cli.report.number_format import NOTHING, percent, short
from tercet.cli.report.phrases import cut, said, sentence, term
from tercet.cli.report.sparklines import bar, histogram
from tercet.cli.translation import tr

COLUMNS_SHOWN = 20  # the others are folded away
COLUMNS_KEPT = 400  # and beyond this only counted, to keep the page light
CLASSES_SHOWN = 20


def profile(result: dict[str, Any]) -> Markup:
    """The whole section."""
    data = result["data"]
    columns = data["columns"]
    rows = data["rows"]
    pieces: list[Any] = [_target(result)]
    if columns:
        pieces += [tag("h3", tr("Columns")), _tally(columns), _table(columns[:COLUMNS_SHOWN], rows)]
        folded = columns[COLUMNS_SHOWN:COLUMNS_KEPT]
        if folded:
            pieces.append(
                tag(
                    "details",
                    tag("summary", tr("{n} more columns", n=len(columns) - COLUMNS_SHOWN)),
                    _table(folded, rows),
                )
            )
        if len(columns) > COLUMNS_KEPT:
            pieces.append(tag("p", tr("{n} further columns are not listed.", n=len(columns) - COLUMNS_KEPT)))
    if data.get("n_sparse"):
        pieces.append(
            tag("p", tr("{n} sparse numeric features are used as they are.", n=f"{data['n_sparse']:,}"))
        )
    for title, texts in (
        (tr("What the reader noticed"), data.get("notes")),
        (tr("Preprocessing"), result.get("preprocessing")),
    ):
        if texts:
            pieces += [tag("h3", title), tag("ul", [tag("li", said(text)) for text in texts], class_="notes")]
    return join(pieces)


def _target(result: dict[str, Any]) -> Markup | None:
    data, target = result["data"], result["data"].get("target")
    task = tag("b", term(result["task"]))
    why = tag("p", sentence("{task}: {why}", task=task, why=said(result["task_why"])))
    if target is None:
        return why
    heading = tag("h3", sentence("The target {name}", name=_name(target["name"])))
    if not data.get("classes"):
        drawing = _drawing(target, data["rows"], class_="spark large")
        return join(heading, why, tag("div", drawing, _numbers(target), class_="target"))
    classes = data["classes"]
    total = sum(count for _, count in classes) or 1
    top = max(count for _, count in classes) or 1
    rows = [
        tag("tr", tag("th", _name(label), scope="row"), tag("td", bar(count / top)),
            tag("td", f"{count:,}", class_="number"), tag("td", percent(count, total), class_="number"))
        for label, count in classes[:CLASSES_SHOWN]
    ]  # fmt: skip
    caption = tag("caption", tr("Classes and how many rows have them"), class_="unseen")
    head = tag(
        "thead",
        tag(
            "tr",
            [
                tag("th", text, scope="col", class_=class_)
                for text, class_ in (
                    (tr("class"), None),
                    (tr("share"), None),
                    (tr("rows"), "number"),
                    (tr("percent"), "number"),
                )
            ],
        ),
        class_="unseen",
    )
    more = len(classes) - CLASSES_SHOWN
    return join(
        heading,
        why,
        tag("table", caption, head, tag("tbody", rows), class_="classes"),
        tag("p", tr("and {n} more classes", n=more), class_="legend") if more > 0 else None,
    )


def _tally(columns: Sequence[dict[str, Any]]) -> Markup:
    kinds: dict[str, int] = {}
    for column in columns:
        kinds[column["kind"]] = kinds.get(column["kind"], 0) + 1
    words = [
        tag("span", tag("b", f"{n:,}"), " ", term(kind), class_="kind")
        for kind, n in sorted(kinds.items(), key=lambda p: -p[1])
    ]
    return tag("p", [(word, " ") for word in words], class_="tally")


def _table(columns: Sequence[dict[str, Any]], rows: int) -> Markup:
    heads = (
        (tr("column"), None),
        (tr("kind and why"), None),
        (tr("values, ~ median"), None),
        (tr("missing"), "number"),
        (tr("distinct"), "number"),
    )
    title = tr("What each column is and what is done with it")
    table = tag(
        "table",
        tag("caption", title, class_="unseen"),
        tag("thead", tag("tr", [tag("th", text, scope="col", class_=class_) for text, class_ in heads])),
        tag("tbody", [_column(column, rows) for column in columns]),
        class_="columns",
    )
    return tag(
        "div",
        table,
        class_="scroll",
        tabindex="0",
        role="region",
        aria_label=title,
    )


def _column(column: dict[str, Any], rows: int) -> Markup:
    missing = column["missing"]
    return tag(
        "tr",
        tag("th", _name(column["name"]), scope="row"),
        tag(
            "td",
            tag("span", term(column["kind"]), class_=f"kind {column['kind']}"),
            tag("small", said(column["why"])),
        ),
        tag("td", _drawing(column, rows), _values(column, rows), class_="values"),
        tag("td", percent(missing, rows) if missing else NOTHING, class_="number", title=f"{missing:,}"),
        tag("td", f"{column['distinct']:,}", class_="number"),
        class_=None if column["used"] else "unused",
    )


def _drawing(column: dict[str, Any], rows: int, class_: str = "spark") -> Markup | None:
    summary = column.get("summary") or {}
    counts = (summary.get("histogram") or {}).get("counts")
    if counts:
        label = tr("histogram of {name}", name=cut(column["name"]))
        return histogram(counts, label=label, gap=0.08, class_=class_)
    top = summary.get("top")
    if top and len(top) > 1 and column["kind"] in ("categorical", "boolean"):
        tip = "\n".join(f"{cut(value)}: {count:,} ({percent(count, rows)})" for value, count in top)
        return histogram([count for _, count in top], label=tip, gap=0.3, class_=f"{class_} discrete")
    return None


def _values(column: dict[str, Any], rows: int) -> Markup | None:
    summary = column.get("summary") or {}
    if "min" in summary and summary["min"] is not None:
        middle = (summary.get("quartiles") or [None, None, None])[1]
        return tag(
            "small",
            tag("span", short(summary["min"], 3)),
            tag("span", "~\u2009", short(middle, 3), title=tr("median")) if middle is not None else None,
            tag("span", short(summary["max"], 3)),
            class_="ends",
        )
    top = summary.get("top")
    if top:
        shown = [f"{cut(value, 24)} {percent(count, rows)}" for value, count in top[:3]]
        return tag("small", tr(", ").join(shown), " …" if len(top) > 3 else "")
    return None


def _numbers(column: dict[str, Any]) -> Markup:
    summary = column.get("summary") or {}
    low, middle, high = summary.get("quartiles") or [None] * 3
    facts = [
        (tr("least"), summary.get("min")),
        (tr("first quartile"), low),
        (tr("median"), middle),
        (tr("mean"), summary.get("mean")),
        (tr("third quartile"), high),
        (tr("greatest"), summary.get("max")),
        (tr("standard deviation"), summary.get("std")),
        (tr("missing"), column["missing"]),
    ]
    return tag(
        "dl",
        [tag("div", tag("dt", name), tag("dd", short(v))) for name, v in facts if v is not None],
        class_="facts small",
    )


def _name(value: Any) -> Markup:
    text = str(value)
    return tag("span", escape(cut(text)), class_="name", title=text[:1000] if cut(text) != text else None)
