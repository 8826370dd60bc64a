"""Sparklines: small inline SVG drawings, made without a plotting library."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tercet.cli.report.markup import Markup, tag
from tercet.cli.report.number_format import known

SPLITS_DRAWN = 200  # ticks of single splits in one row; more would be a grey bar


def histogram(counts: Sequence[float], *, label: str, gap: float = 0.12, class_: str = "spark") -> Markup:
    """Histogram: bars as high as their counts.

    Examples
    --------
    >>> histogram([1, 2], label="two bars").count("M")
    2
    """
    top = max(counts, default=0) or 1
    width = 100 / max(len(counts), 1)
    path = "".join(
        f"M{width * (k + gap / 2):.2f} 100V{100 - max(100 * count / top, 3):.4g}h{width * (1 - gap):.2f}V100z"
        for k, count in enumerate(counts)
        if count > 0
    )
    return _svg(tag("path", d=path), label=label, class_=class_)


@dataclass(frozen=True)
class Scale:
    """Scale of the measure that the intervals of a leaderboard are drawn on.

    Examples
    --------
    >>> scale = Scale(0.5, 1.0)
    >>> scale(0.75), scale(0.2), 0.2 in scale
    (50.0, 0.0, False)
    """

    low: float
    high: float

    @classmethod
    def of(cls, entries: Sequence[dict[str, Any]], least: float = -math.inf, most: float = math.inf) -> Scale:
        """A scale for the better half of the methods, so that an outlier does not compress the rest.

        It stays between `least` and `most`, the range of the measure.
        """
        rows = [e for e in entries if known(e["score"]) and not e["baseline"]] or [
            e for e in entries if known(e["score"])
        ]
        if not rows:
            return cls(0.0, 1.0)
        ends = [(_or(e.get("low"), e["score"]), _or(e.get("high"), e["score"])) for e in rows]
        low, high = min(a for a, _ in ends), max(b for _, b in ends)
        scores = [e["score"] for e in rows]
        best, middle = scores[0], scores[len(scores) // 2]
        reach = max(4 * abs(best - middle), 3 * max(b - a for a, b in ends[: len(ends) // 2 + 1]))
        if reach > 0:
            low, high = max(low, best - reach), min(high, best + reach)
        room = 0.06 * (high - low) or 0.05 * abs(high) or 0.05
        return cls(max(low - room, least), min(high + room, most))

    def __call__(self, value: float) -> float:
        return min(max(100 * (value - self.low) / (self.high - self.low), 0.0), 100.0)

    def __contains__(self, value: Any) -> bool:
        return known(value) and self.low <= value <= self.high


def interval(
    entry: dict[str, Any], scale: Scale, *, label: str, tip: str, marks: Sequence[float] = ()
) -> Markup:
    """The interval of the mean, the mean, and a tick for every split, over lines at `marks`."""
    ticks = [value for value in entry.get("scores") or [] if value in scale][:SPLITS_DRAWN]
    lines = [tag("path", d=f"M{scale(mark):.2f} 0V100", class_="mark") for mark in marks if mark in scale]
    if ticks:
        lines.append(tag("path", d="".join(f"M{scale(t):.2f} 30v40" for t in ticks), class_="split"))
    low, high, score = entry.get("low"), entry.get("high"), entry["score"]
    if known(low) and known(high) and high >= scale.low and low <= scale.high:
        lines.append(tag("path", d=f"M{scale(low):.2f} 50H{scale(high):.2f}", class_="range"))
    if score in scale:
        # A line of no length with round ends is a dot that keeps its shape however the drawing is stretched.
        lines.append(tag("path", d=f"M{scale(score):.2f} 50h0", class_="mean"))
    elif known(score):
        x, way = (2, 1.5) if score < scale.low else (98, -1.5)
        lines.append(tag("path", d=f"M{x + way} 30L{x} 50L{x + way} 70", class_="beyond"))
    return _svg(lines, label=label, tip=tip, class_="interval")


def bar(share: float) -> Markup:
    """A horizontal bar, `share` of the full width."""
    return tag("span", tag("i", style=f"width:{100 * min(max(share, 0.0), 1.0):.4g}%"), class_="bar")


def _svg(content: Any, *, label: str, class_: str, tip: str | None = None) -> Markup:
    return tag(
        "svg",
        tag("title", tip or label),
        content,
        aria_label=label if tip else None,
        class_=class_,
        viewBox="0 0 100 100",
        preserveAspectRatio="none",
        role="img",
    )


def _or(value: Any, otherwise: float) -> float:
    return value if known(value) else otherwise
