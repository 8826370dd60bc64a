"""Phrases that several sections of the report share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tercet.cli import words
from tercet.cli.report.markup import Markup, escape, join, tag
from tercet.cli.report.numbers import decimals, fixed, known
from tercet.cli.words import tr
from tercet.core.notes import Note


def said(text: Any) -> str:
    """A remark of another part: translated if it is one, else as it is (data are never translated)."""
    return tr(text) if isinstance(text, Note) else str(text)


def term(text: str | None) -> str:
    """A word of the catalogue or of a fixed list, in the language in use."""
    return words.chinese().get(text, text) if text and words.language() == "zh" else text or ""


def cut(value: Any, length: int = 60) -> str:
    """A value short enough for a table.

    Examples
    --------
    >>> cut("abcdef", 4)
    'abc…'
    """
    text = str(value)
    return text if len(text) <= length else text[: length - 1] + "…"


def titles(entry: dict[str, Any]) -> tuple[str, str]:
    """A method's name in the language in use, and its other name ("" if there is none)."""
    name, zh = str(entry["name"]), str(entry.get("zh") or "")
    if entry.get("baseline"):
        return tr("baseline"), "" if name.lower() == "baseline" else name
    return (zh, name) if zh and words.language() == "zh" else (name, zh)


def anchor(entry: dict[str, Any]) -> str:
    """The id of a method's own place in the report."""
    return "method-" + "".join(
        c if c.isascii() and c.isalnum() else f"_{ord(c):x}" for c in str(entry["name"])
    )


def settings(entry: dict[str, Any]) -> list[str]:
    """What a method was told that is not its default.

    Examples
    --------
    >>> settings({"settings": {"degree": 2}})
    ['degree=2']
    """
    return [f"{key}={value!r}" for key, value in (entry.get("settings") or {}).items()]


def link(entry: dict[str, Any]) -> Markup:
    """A method's name that leads to its own place."""
    return tag("a", titles(entry)[0], href=f"#{anchor(entry)}")


def listed(items: Sequence[Any]) -> Markup:
    """Things in a row, as a sentence lists them.

    Examples
    --------
    >>> words.use("en")
    >>> listed(["A", "B", "C"])
    'A, B and C'
    """
    if len(items) < 2:
        return join(*items)
    between, last = tr(", "), tr(" and ")
    pieces: list[Any] = []
    for k, item in enumerate(items):
        pieces += [item, last if k == len(items) - 2 else between if k < len(items) - 2 else None]
    return join(pieces)


def sentence(template: str, **values: Any) -> Markup:
    """A translated sentence whose values may be markup.

    Examples
    --------
    >>> words.use("en")
    >>> sentence("{name} wins", name=tag("b", "A<B"))
    '<b>A&lt;B</b> wins'
    """
    return Markup(escape(tr(template)).format(**{name: escape(value) for name, value in values.items()}))


def places(result: dict[str, Any]) -> int:
    """Decimals of the scores of this comparison."""
    return decimals(entry["score"] for entry in result["leaderboard"])


def verdict(result: dict[str, Any]) -> Markup:
    """The whole comparison in one sentence."""
    board = [entry for entry in result["leaderboard"] if known(entry["score"])]
    methods = [entry for entry in board if not entry["baseline"]]
    baseline = next((entry for entry in board if entry["baseline"]), None)
    digits, metric = places(result), term(result["metric_title"])
    if not methods:
        return escape(tr("No method finished: there is nothing to compare."))
    best = methods[0]
    value = fixed(best["score"], digits)
    if known(best.get("spread")):
        value += f" ± {fixed(best['spread'], digits)}"
    head = {"best": tag("strong", link(best)), "metric": metric, "value": tag("b", value)}
    if board[0]["baseline"]:
        beaten = tag("b", fixed(board[0]["score"], digits))
        return sentence(
            "No method beats the baseline, whose {metric} is {baseline}; {best} comes nearest with {value}.",
            baseline=beaten,
            **head,
        )
    parts = [sentence("{best} is best with {metric} {value}", **head)]
    tied = [entry for entry in methods[1:] if entry.get("tied")]
    if tied:
        shown = [link(entry) for entry in tied[:3]]
        if len(tied) > 4:
            shown.append(sentence("{n} others", n=len(tied) - 3))
        elif len(tied) == 4:
            shown.append(link(tied[3]))
        template = (
            "{names} is not significantly worse" if len(tied) == 1 else "{names} are not significantly worse"
        )
        parts.append(sentence(template, names=listed(shown)))
    elif len(methods) > 1 and known(methods[1].get("p_value")):
        parts.append(escape(tr("every other method is significantly worse")))
    if baseline is not None:
        score = tag("b", fixed(baseline["score"], digits))
        template = "the baseline has {value}"
        if baseline.get("tied"):
            template = "it is not significantly better than the baseline, which has {value}"
        parts.append(sentence(template, value=score))
    body: list[Any] = []
    for part in parts:
        body += [tr("; ") if body else None, part]
    return join(body, tr("."))
