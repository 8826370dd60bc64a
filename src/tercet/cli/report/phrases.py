"""Phrases that several sections of the report share."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from tercet.cli import translation
from tercet.cli.report.markup import Markup, escape, tag
from tercet.cli.report.number_format import fixed, interval_decimals, known, score_texts, short
from tercet.cli.translation import tr
from tercet.core.messages import Message

MOST_NAMED = 4  # methods of one outcome
AGAINST_BASELINE = {
    "better": "better than the baseline, which has {value}",
    "equivalent": "no better than the baseline, which has {value}",
    "worse": "worse than the baseline, which has {value}",
    "undecided": "cannot tell yet whether better than the baseline, which has {value}",
}


def said(text: Any) -> str:
    """A message of another part, translated; other values as they are (data are never translated)."""
    return tr(text) if isinstance(text, Message) else str(text)


def term(text: str | None) -> str:
    """A word of the catalogue or of a fixed list, in the language in use."""
    return translation.chinese().get(text, text) if text and translation.language() == "zh" else text or ""


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
    return (zh, name) if zh and translation.language() == "zh" else (name, zh)


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


def called(entry: dict[str, Any]) -> str:
    """A method's name in a sentence: of two Chinese names the first, without a remark in brackets.

    Examples
    --------
    >>> translation.set_language("zh")
    >>> names = (
    ...     "套索 L1正则化",
    ...     "k 均值聚类",
    ...     "弹性网 交叉验证",
    ...     "多对多, 纠错输出码",
    ...     "聚合聚类（层次聚类）",
    ... )
    >>> [called({"name": "", "zh": zh}) for zh in names]
    ['套索', 'k 均值聚类', '弹性网交叉验证', '多对多', '聚合聚类']
    >>> translation.set_language("en")
    """
    first = re.split(r"[,，（]|(?<=[\u4e00-\u9fff])\s+(?=[A-Za-z])", titles(entry)[0])[0]
    return re.sub(r"(?<=[\u4e00-\u9fff])\s+(?=[\u4e00-\u9fff])", "", first)


def listed(items: Sequence[str]) -> str:
    """A list of items in a sentence.

    Examples
    --------
    >>> translation.set_language("en")
    >>> listed(["A", "B", "C"])
    'A, B and C'
    """
    *others, last = items
    return tr(", ").join(others) + (tr(" and ") if others else "") + last


def sentence(template: str, **values: Any) -> Markup:
    """A translated sentence whose values may be markup.

    Examples
    --------
    >>> translation.set_language("en")
    >>> sentence("{name} wins", name=tag("b", "A<B"))
    '<b>A&lt;B</b> wins'
    """
    return Markup(escape(tr(template)).format(**{name: escape(value) for name, value in values.items()}))


def places(result: dict[str, Any]) -> int:
    """Decimals of the scores of this comparison: what the interval of the best deserves, whatever others failed."""
    able = [entry for entry in result["leaderboard"] if known(entry["score"])]
    best = next((entry for entry in able if not entry["baseline"]), able[0] if able else {"score": None})
    return max(interval_decimals(best["score"], best.get("low"), best.get("high")), 1)


def verdict(result: dict[str, Any]) -> Markup:
    """The whole comparison in one sentence, its methods leading to their own places."""

    def method(entry: dict[str, Any]) -> Markup:
        return tag("a", called(entry), href=f"#{anchor(entry)}")

    return Markup(_verdict(result, sentence, method, strong=lambda text: tag("strong", text),
                           number=lambda text: tag("b", text)))  # fmt: skip


def verdict_text(result: dict[str, Any]) -> str:
    """The whole comparison in one sentence, as plain text.

    Examples
    --------
    >>> translation.set_language("en")
    >>> entry = {"name": "Ridge", "baseline": False, "score": 0.5, "spread": 0.125}
    >>> verdict_text({"metric_title": "R²", "leaderboard": [entry]})
    'Ridge is best with R² 0.500 ± 0.125.'
    """
    return _verdict(result, tr, called, strong=str, number=str)


def _verdict(
    result: dict[str, Any],
    clause: Callable[..., str],
    method: Callable[[dict[str, Any]], str],
    strong: Callable[[str], str],
    number: Callable[[str], str],
) -> str:
    board = [entry for entry in result["leaderboard"] if known(entry["score"])]
    methods = [entry for entry in board if not entry["baseline"]]
    baseline = next((entry for entry in board if entry["baseline"]), None)
    if not methods:
        return clause("No method finished: there is nothing to compare.")
    digits, best = places(result), methods[0]
    value = fixed(best["score"], digits)
    if known(best.get("spread")):
        value += f" ± {fixed(best['spread'], digits)}"
    head = {"best": strong(method(best)), "metric": term(result["metric_title"]), "value": number(value)}
    floor = number(fixed(baseline["score"], digits)) if baseline else ""
    if board[0]["baseline"]:
        return clause(
            "No method beats the baseline, whose {metric} is {baseline}; {best} comes nearest with {value}.",
            baseline=floor,
            **head,
        )
    parts = [clause("{best} is best with {metric} {value}", **head)]
    groups = {
        outcome: [entry for entry in methods[1:] if entry.get("outcome") == outcome]
        for outcome in ("equivalent", "undecided", "worse")
    }
    templates = {
        "equivalent": "equivalent within {margin}: {names}",
        "undecided": "cannot tell yet whether worse: {names}",
    }
    for outcome, template in templates.items():
        if some := groups[outcome]:
            named = some if len(some) <= MOST_NAMED else some[: MOST_NAMED - 1]
            rest = [clause("{n} others", n=len(some) - len(named))] if len(named) < len(some) else []
            # The names are text of this kind already.
            names = type(parts[0])(listed([*map(method, named), *rest]))
            margin = {"margin": short(result.get("margin"), 3)} if outcome == "equivalent" else {}
            parts.append(clause(template, names=names, **margin))
    if groups["worse"] and not (groups["equivalent"] or groups["undecided"]):
        parts.append(clause("every other method is worse"))
    if baseline is not None:
        against = (best.get("against_baseline") or {}).get("outcome")
        parts.append(clause(AGAINST_BASELINE.get(str(against), "the baseline has {value}"), value=floor))
    return tr("; ").join(parts) + tr(".")


def expected_text(result: dict[str, Any]) -> str:
    """The score to expect on new rows, in one sentence; empty if it is not known."""
    expected = (result.get("take") or {}).get("expected") or {}
    if not known(expected.get("score")):
        return ""
    keys = ("score", "low", "high")
    values = dict(zip(keys, score_texts(*(expected.get(key) for key in keys))))
    metric = term(result["metric_title"])
    if not known(expected.get("low")):
        return tr("Expected on new rows: {metric} {score}.", metric=metric, score=values["score"])
    if expected.get("candidates") == 1:
        return tr(
            "Expected on new rows: {metric} {score} (95% interval {low} to {high}); it is of this procedure on "
            "this many rows, not of this one fitted model.",
            metric=metric,
            **values,
        )
    if expected["corrected"]:
        return tr(
            "Expected on new rows: {metric} {score} (95% interval {low} to {high}), corrected for the choice among "
            "many methods; it is of this procedure on this many rows, not of this one fitted model.",
            metric=metric,
            **values,
        )
    return tr(
        "Expected on new rows: {metric} {score} (95% interval {low} to {high}), not corrected for the choice among "
        "many methods.",
        metric=metric,
        **values,
    )


def simplest_text(result: dict[str, Any]) -> str:
    """The simplest method that is as good as the winner."""
    plain = result["take"]["simplest"]
    entry = next(e for e in result["leaderboard"] if e["name"] == plain["name"])
    return tr(
        "Simpler and as good: {name}, {metric} {score}.",
        name=called(entry),
        metric=term(result["metric_title"]),
        score=score_texts(plain["score"], None, None)[0],
    )
