"""Pages that are generated: written when their text changed, removed when nothing generates them any more."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

LIST = "_cache/generated.txt"


def write_pages(docs: Path, texts: Mapping[str, str]) -> None:
    """Write pages by their paths; files that are as they should be are not touched."""
    listed = docs / LIST
    before = listed.read_text(encoding="utf-8").splitlines() if listed.exists() else []
    for path, text in texts.items():
        file = docs / path
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
    for path in set(before) - set(texts):
        (docs / path).unlink(missing_ok=True)
    listed.parent.mkdir(parents=True, exist_ok=True)
    listed.write_text("\n".join(sorted(texts)), encoding="utf-8")


def fence(directive: str, argument: str, content: str, *options: str) -> str:
    """A directive of MyST, with a fence that is longer than any in its content.

    Examples
    --------
    >>> print(fence("code-block", "python", "print(1)"))
    ```{code-block} python
    <BLANKLINE>
    print(1)
    ```
    """
    ticks = "```"
    while ticks in content:
        ticks += "`"
    return "\n".join([f"{ticks}{{{directive}}} {argument}".rstrip(), *options, "", content, ticks])
