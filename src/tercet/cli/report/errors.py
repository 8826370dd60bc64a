"""Where the best method errs: segments, single rows, confidence, and thresholds by cost."""

from __future__ import annotations

from typing import Any

from tercet.cli.report.markup import Markup, join, tag
from tercet.cli.report.number_format import NOTHING, fixed, percent, short
from tercet.cli.report.phrases import called, cut, sentence
from tercet.cli.translation import tr


def errors(result: dict[str, Any]) -> Markup | None:
    """The section, or None without held-out predictions."""
    found = result.get("errors")
    if not found:
        return None
    return join(_confidence(found.get("confidence")), _segments(found, result), _rows(found, result))


def thresholds(result: dict[str, Any]) -> Markup | None:
    """Which threshold to use for which ratio of costs; None unless there are two classes and scores."""
    found = result.get("thresholds")
    classes = result["data"].get("classes") or []
    if not found or len(classes) != 2:
        return None
    positive = cut(classes[found["positive"]][0], 30)
    label = tag("b", positive)
    heads: list[tuple[str, str | None]] = [
        (tr("a missed row costs, in false alarms"), "number"),
        (tr("threshold"), "number"),
        (tr("found"), "number"),
        (tr("missed"), "number"),
        (tr("false alarms"), "number"),
        (tr("cost"), "number"),
        (tr("cost without a model"), "number"),
    ]
    rows = [
        [
            short(one["ratio"]),
            fixed(one["threshold"], 3),
            f"{one['found']:,}",
            f"{one['missed']:,}",
            f"{one['false_alarms']:,}",
            short(one["cost"]),
            short(min(one["never"], one["always"])),
        ]
        for one in found["choices"]
    ]
    intro = (
        sentence("Say {label} where its probability reaches the threshold.", label=label)
        if found["probabilities"]
        else sentence("Say {label} where its score reaches the threshold.", label=label)
    )
    note = tr(
        "The thresholds were chosen on the same held-out rows that the errors are counted on, which flatters them "
        "a little. Without a model one says the cheaper of the two classes for every row."
    )
    caption = tr("Thresholds of least cost")
    return join(
        tag("h3", tr("Threshold by cost")),
        tag("p", intro),
        _table(caption, heads, rows, "thresholds"),
        tag("p", note, class_="legend"),
    )


def _confidence(found: dict[str, int] | None) -> Markup | None:
    if not found:
        return None
    return tag(
        "p",
        sentence(
            "{wrong} of {rows} held-out rows are wrong. Of {sure} answers with a probability of 90% or more, "
            "{sure_wrong} are wrong ({share}).",
            wrong=f"{found['wrong']:,}",
            rows=f"{found['rows']:,}",
            sure=f"{found['sure']:,}",
            sure_wrong=f"{found['sure_wrong']:,}",
            share=percent(found["sure_wrong"], found["sure"]),
        ),
    )


def _segments(found: dict[str, Any], result: dict[str, Any]) -> Markup:
    title = tag("h3", tr("Groups of rows with more errors than the others"))
    if not found["segments"]:
        text = tr("No category and no range of a column has more errors than chance would give it.")
        return join(title, tag("p", text, class_="legend"))
    share = result["task"] == "classification"
    error = tr("share of errors") if share else tr("mean absolute error")
    heads = [
        (tr("column"), None),
        (tr("rows with"), None),
        (tr("rows"), "number"),
        (error, "number"),
        (tr("other rows"), "number"),
    ]
    rows = [
        [
            cut(one["column"], 40),
            segment_text(one["segment"]),
            f"{one['rows']:,}",
            *(percent(one[key], 1) if share else short(one[key]) for key in ("error", "others")),
        ]
        for one in found["segments"]
    ]
    note = tr("Tested on held-out rows at 1% over all groups together; a row may be in several.")
    return join(
        title,
        _table(tr("Groups of rows with more errors"), heads, rows, "segments"),
        tag("p", note, class_="legend"),
    )


def segment_text(segment: Any) -> str:
    """A segment of a column in words.

    Examples
    --------
    >>> segment_text((1.0, 2.5)), segment_text((3.0, 3.0)), segment_text("red"), segment_text(None)
    ('1 to 2.5', '3', 'red', 'no value')
    """
    if segment is None:
        return tr("no value")
    if isinstance(segment, str):
        return cut(segment, 40)
    low, high = segment
    if low == high:
        return short(low)
    return tr("{low} to {high}", low=short(low), high=short(high))


def _rows(found: dict[str, Any], result: dict[str, Any]) -> Markup | None:
    worst = found["rows"]
    if not worst:
        return None
    sure = any(one["sure"] is not None for one in worst)
    columns = list(worst[0]["values"])
    heads = [(tr("row"), "number"), (tr("truth"), None), (tr("predicted"), None)]
    heads += [(tr("probability"), "number")] if sure else []
    heads += [(cut(name, 20), None) for name in columns]
    rows = [
        [
            f"{one['row']:,}",
            cut(short(one["truth"]), 30),
            cut(short(one["predicted"]), 30),
            *([fixed(one["sure"], 2)] if sure else []),
            *(NOTHING if v is None else cut(short(v), 20) for v in one["values"].values()),
        ]
        for one in worst
    ]
    best = next((e for e in result["leaderboard"] if not e["baseline"] and not e.get("combination")), None)
    title = (
        tr("The rows that {name} is most wrong about", name=called(best)) if best else tr("The worst rows")
    )
    data = result["data"]
    lacking = (data.get("target") or {}).get("missing") or 0
    if data["total_rows"] > data["rows"] + lacking:
        note = tr("Rows are counted from 1 in the sample of the table that was used.")
    else:
        note = tr("Rows are counted from 1, below the header.")
    if sure:
        note = join(note, " ", tr("The probability is that of the wrong answer."))
    return join(tag("h3", title), _table(title, heads, rows, "worst"), tag("p", note, class_="legend"))


def _table(caption: str, heads: list[tuple[str, str | None]], rows: list[list[str]], class_: str) -> Markup:
    head = tag("tr", [tag("th", text, scope="col", class_=kind) for text, kind in heads])
    body = [tag("tr", [tag("td", cell, class_=kind) for cell, (_, kind) in zip(row, heads)]) for row in rows]
    table = tag(
        "table",
        tag("caption", caption, class_="unseen"),
        tag("thead", head),
        tag("tbody", body),
        class_=class_,
    )
    return tag("div", table, class_="scroll", tabindex="0", role="region", aria_label=caption)
