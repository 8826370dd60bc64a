"""Translation of the command's texts: `tr("text")` is the text in the language in use.

English is in the code. `zh/*.json` map templates to Chinese; a template that they lack stays English.
"""

from __future__ import annotations

import functools
import json
import locale
import os
from pathlib import Path
from typing import Any

from tercet.core.messages import Message

LANGUAGES = ("en", "zh")
_language = "en"


def set_language(language: str) -> None:
    """Set the language."""
    global _language
    if language not in LANGUAGES:
        raise ValueError(f"language must be one of {LANGUAGES}; got {language!r}.")
    _language = language


def language() -> str:
    """The language in use."""
    return _language


def locale_language() -> str:
    """The language of the locale."""
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        value = os.environ.get(name)
        if value:
            return "zh" if value.lower().startswith("zh") else "en"
    return "zh" if (locale.getlocale()[0] or "").lower().startswith(("zh", "chinese")) else "en"


def tr(text: str, /, **values: Any) -> str:
    """A text in the language in use, with its values; a `Message` brings its own.

    Examples
    --------
    >>> set_language("en")
    >>> tr("{n} rows", n=3)
    '3 rows'
    """
    template = text
    if isinstance(text, Message):
        template, values = text.template, {**text.values, **values}
    if _language == "zh":
        template = chinese().get(template, template)
    # A message among the values is translated too.
    values = {name: tr(value) if isinstance(value, Message) else value for name, value in values.items()}
    return template.format(**values) if values else template


def translated_name(text: str, kind: str) -> str:
    """A name in the language in use, where the same word means something else to others of its kind.

    Examples
    --------
    >>> set_language("en")
    >>> translated_name("clusters", "value")
    'clusters'
    """
    return chinese().get(f"{kind}|{text}", text) if _language == "zh" else text


@functools.cache
def chinese() -> dict[str, str]:
    """All translations, by template."""
    words: dict[str, str] = {}
    for file in sorted((Path(__file__).parent / "zh").glob("*.json")):
        words.update(json.loads(file.read_text(encoding="utf-8")))
    return words
