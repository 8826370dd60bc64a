"""Errors and warnings of methods in the words of the report: its language, and the classes by their names.

Methods speak English and know classes by their numbers. Their sentences are recognised by templates, which
`zh/method_messages.json` maps to Chinese like all others; a sentence that no template fits stays as it is.
"""

from __future__ import annotations

import functools
import json
import re
import string
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tercet.cli import translation
from tercet.cli.translation import tr

SENTENCES = re.compile(r"(?<=[.!]) +(?=[A-Z]|lbfgs|newton)")


def reword_messages(result: dict[str, Any]) -> None:
    """Reword why methods were left out and what they warned of."""
    classes = [str(label) for label, _ in result["data"].get("classes") or []]
    names = classes if result["task"] == "classification" else []
    for one in result["skipped"]:
        one["why"] = reworded(one["why"], one["name"], names)
    for entry in result["leaderboard"]:
        entry["warnings"] = [reworded(text, entry["name"], names) for text in entry.get("warnings") or []]


def reworded(text: str, method: str, classes: list[str]) -> str:
    """An error or a warning of a method, without its name, sentence by sentence.

    Examples
    --------
    >>> reworded("Ridge: The covariance matrix of class 1 is singular.", "Ridge", ["no", "yes"])
    "The covariance matrix of class 'yes' is singular."
    """
    text = with_class_names(text.removeprefix(f"{method}: "), classes)
    if translation.language() != "zh":
        return text
    return "".join(_translated(sentence) for sentence in SENTENCES.split(text))


def warning_texts(caught: Iterable[warnings.WarningMessage], method: str = "") -> list[str]:
    """What a method warned of, each once; not what is said to programmers (deprecations)."""
    shown = (UserWarning, RuntimeWarning)  # convergence warnings are UserWarnings
    texts = dict.fromkeys(str(w.message) for w in caught if issubclass(w.category, shown))
    return [reworded(text, method, []) for text in texts]


def with_class_names(text: str, classes: list[str]) -> str:
    """A text with names for the numbers of classes.

    Examples
    --------
    >>> with_class_names("1 sample in class 0, where [0] and [1] are told apart", ["a", "b"])
    "1 sample in class 'a', where 'a' and 'b' are told apart"
    """

    def name(number: str) -> str:
        k = int(number)
        return repr(classes[k]) if k < len(classes) else number

    text = re.sub(r"\b(class) (\d+)\b", lambda m: f"{m[1]} {name(m[2])}", text)
    pair = r"\[(\d+)\] and \[(\d+)\] are told apart"
    return re.sub(pair, lambda m: f"{name(m[1])} and {name(m[2])} are told apart", text)


def _translated(sentence: str) -> str:
    for pattern, template in _patterns():
        if found := pattern.fullmatch(sentence):
            return tr(template, **found.groupdict()) if found.groupdict() else tr(template)
    return f"{sentence} "


@functools.cache
def _patterns() -> list[tuple[re.Pattern[str], str]]:
    """Templates of sentences as regular expressions, the longest first."""
    file = Path(translation.__file__).parent / "zh" / "method_messages.json"
    templates = json.loads(file.read_text(encoding="utf-8"))
    return [(_pattern(template), template) for template in sorted(templates, key=len, reverse=True)]


def _pattern(template: str) -> re.Pattern[str]:
    parts = []
    for text, name, _, _ in string.Formatter().parse(template):
        parts.append(re.escape(text))
        parts.append(f"(?P<{name}>.+?)" if name else "")
    return re.compile("".join(parts), re.DOTALL)
