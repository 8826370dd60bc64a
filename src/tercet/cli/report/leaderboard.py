"""The leaderboard: every method with its score, its interval and its times."""

from __future__ import annotations

import math
import re
from typing import Any

from tercet.cli.report.markup import Markup, join, tag
from tercet.cli.report.number_format import NOTHING, decimals, fixed, known, seconds
from tercet.cli.report.phrases import anchor, cut, places, sentence, settings, term, titles
from tercet.cli.report.sparklines import Scale, interval
from tercet.cli.translation import tr

MEASURES_SHOWN = 4  # beside the one that ranks; the rest are on the methods' own cards


def leaderboard(result: dict[str, Any]) -> Markup:
    """The table, sortable by its headers where scripts run, and the words it needs."""
    entries = result["leaderboard"]
    scale = Scale.of(entries, *range_of(result))
    tuned = any(known(entry.get("untuned")) for entry in entries)
    measures = _measures(entries)[: MEASURES_SHOWN - tuned]
    tested = any(entry.get("outcome") in ("equivalent", "undecided") for entry in entries)
    timed = any(known(entry.get("predict_time")) for entry in entries)  # clusterings predict nothing
    ranged = any(known(entry.get("low")) for entry in entries)
    arrow = "↑" if result["greater_is_better"] else "↓"
    heads = [
        _head(tr("rank"), "#", numeric=True, order="ascending"),
        _head(tr("method")),
        _head(tr("{metric}, mean and spread over the splits", metric=term(result["metric_title"])),
              f"{term(result['metric_title'])}\u00a0{arrow}", numeric=True, down=result["greater_is_better"]),
        _head(tr("score with the default settings"), tr("untuned"), numeric=True) if tuned else None,
        tag("th", tr("95% interval") if ranged else "", _axis(scale), scope="col", class_="wide"),
        [_head(term(measure_of(name)[0]), numeric=True, down=measure_of(name)[1]) for name in measures],
        _head(tr("time to fit"), tr("fit"), numeric=True),
        _head(tr("time to predict"), tr("predict"), numeric=True) if timed else None,
    ]  # fmt: skip
    widths = {name: decimals((e.get("others") or {}).get(name) for e in entries) for name in measures}
    rows = [_row(entry, result, scale, widths, timed, tuned) for entry in entries]
    table = tag(
        "table",
        tag("caption", tr("Methods, best first; every column sorts.")),
        tag("thead", tag("tr", heads)),
        tag("tbody", rows),
        class_="board sortable",
    )
    box = tag("div", table, class_="scroll", tabindex="0", role="region", aria_label=tr("leaderboard"))
    remarks = [tag("p", remark, class_="legend") for remark in result.get("remarks") or []]
    return join(box, remarks, tag("p", _legend(tested), class_="legend") if ranged else None)


def _head(
    title: str, short: str | None = None, *, numeric: bool = False, order: str = "none", down: bool = False
) -> Markup:
    button = tag("button", short or title, type="button", title=title if short else None, class_="sort")
    class_, first = "number" if numeric else None, "descending" if down else None
    return tag("th", button, scope="col", class_=class_, aria_sort=order, data_first=first)


def _row(
    entry: dict[str, Any],
    result: dict[str, Any],
    scale: Scale,
    widths: dict[str, int],
    timed: bool,
    tuned: bool,
) -> Markup:
    digits = places(result)
    name, other = titles(entry)
    told = cut(", ".join(settings(entry)), 40)
    score = fixed(entry["score"], digits)
    spread = tag("small", f"± {fixed(entry['spread'], digits)}") if known(entry.get("spread")) else None
    low, high = (fixed(entry.get(end), digits) for end in ("low", "high"))
    baseline = next((e["score"] for e in result["leaderboard"] if e["baseline"]), None)
    drawing = interval(
        entry,
        scale,
        label=tr("{score}, 95% interval from {low} to {high}", score=score, low=low, high=high),
        tip=_splits(entry, result["cv"], digits),
        marks=[baseline] if known(baseline) and not entry["baseline"] else [],
    )
    first = entry is next((e for e in result["leaderboard"] if not e["baseline"]), None)
    outcome = entry.get("outcome")
    if outcome in ("equivalent", "undecided") and not first:
        word = tr("equivalent") if outcome == "equivalent" else tr("cannot tell yet")
        verdict = tag("span", word, class_="pill")
    elif first:
        verdict = tag("span", tr("best"), class_="pill best")
    else:
        verdict = None
    warned = entry.get("warnings")
    flag = (
        tag("a", "!", href=f"#{anchor(entry)}", class_="flag", title=tr("{n} warnings", n=len(warned)))
        if warned
        else None
    )
    others = entry.get("others") or {}
    classes = " ".join(
        word for word, yes in (("baseline", entry["baseline"]), ("tied", entry.get("tied"))) if yes
    )
    return tag(
        "tr",
        _cell(str(entry.get("rank") or NOTHING), entry.get("rank")),
        tag(
            "th",
            tag("a", _breakable(name), href=f"#{anchor(entry)}"),
            tag("small", [(word, " ") for word in (other, told) if word], verdict, flag),
            scope="row",
            data_value=name,
        ),
        _cell(join(tag("b", score), spread), entry["score"], class_="score"),
        _cell(fixed(entry.get("untuned"), digits), entry.get("untuned")) if tuned else None,
        tag("td", drawing, class_="wide"),
        [_cell(fixed(others.get(name), places), others.get(name)) for name, places in widths.items()],
        _cell(seconds(entry.get("fit_time")), entry.get("fit_time")),
        _cell(seconds(entry.get("predict_time")), entry.get("predict_time")) if timed else None,
        class_=classes or None,
    )


def _breakable(name: str) -> Markup:
    """A name with line break opportunities between its words, for narrow screens."""
    words = re.split(r"(?<=[a-z])(?=[A-Z])", name)
    return join(words[0], [(tag("wbr"), word) for word in words[1:]])


def _cell(content: Any, value: Any, class_: str = "") -> Markup:
    return tag("td", content, class_=f"number {class_}".strip(), data_value=value if known(value) else "")


def _axis(scale: Scale) -> Markup:
    digits = decimals([scale.low, scale.high]) - (1 if scale.high - scale.low > 0.5 else 0)
    ends = [tag("span", fixed(value, max(digits, 0))) for value in (scale.low, scale.high)]
    return tag("span", ends, class_="axis", aria_hidden="true")


def _measures(entries: list[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(name for entry in entries for name in entry.get("others") or {}))


def range_of(result: dict[str, Any]) -> tuple[float, float]:
    """The range of the measure that ranks."""
    from tercet.cli.scorers import find

    measure = find(result["metric"])
    return (measure.low, measure.high) if measure else (-math.inf, math.inf)


def measure_of(name: str) -> tuple[str, bool]:
    """The title of a measure, and whether greater is better."""
    from tercet.cli.measures import MEASURES

    measure = MEASURES.get(name)
    return (measure.title, measure.greater_is_better) if measure else (name, True)


def _splits(entry: dict[str, Any], folds: int, digits: int) -> str:
    scores = entry.get("scores") or []
    rows = [scores[k : k + folds] for k in range(0, len(scores), folds)]
    lines = ["  ".join(fixed(value, digits) for value in row) for row in rows[:12]]
    return "\n".join([tr("{n} splits:", n=len(scores)), *lines, *(["…"] if len(rows) > 12 else [])])


def _legend(tested: bool) -> Markup:
    texts = [
        sentence(
            "± is the standard deviation over the splits. Dot and bar: the mean and its 95% interval, with the "
            "variance corrected for splits that share rows; ticks: single splits; dashed line: the baseline."
        )
    ]
    if tested:
        texts.append(
            sentence(
                "{equivalent} means within the margin of the best with a probability of 95%; {undecided}, that "
                "these rows are too few to say.",
                equivalent=tag("span", tr("equivalent"), class_="pill"),
                undecided=tag("span", tr("cannot tell yet"), class_="pill"),
            )
        )
    return join([(text, " ") for text in texts])
