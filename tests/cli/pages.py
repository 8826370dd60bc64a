"""Reads a report strictly, without a browser: is it valid HTML that refers to nothing outside itself?"""

from __future__ import annotations

import re
from collections import Counter
from html.parser import HTMLParser

from tercet.cli.report.markup import VOID

# What may hold only inline content, and what may be inside what.
INLINE_ONLY = {
    "p",
    "h1",
    "h2",
    "h3",
    "h4",
    "summary",
    "dt",
    "span",
    "a",
    "b",
    "small",
    "button",
    "caption",
    "code",
}
BLOCK = {
    "p",
    "div",
    "section",
    "table",
    "ul",
    "dl",
    "figure",
    "h1",
    "h2",
    "h3",
    "h4",
    "details",
    "pre",
    "main",
}
PARENTS = {
    "tr": {"thead", "tbody"}, "td": {"tr"}, "th": {"tr"}, "thead": {"table"}, "tbody": {"table"},
    "caption": {"table"}, "li": {"ul"}, "summary": {"details"}, "figcaption": {"figure"}, "dt": {"div", "dl"},
    "dd": {"div", "dl"}, "head": {"html"}, "body": {"html"}, "html": {None}, "title": {"head", "svg"},
}  # fmt: skip


class Page(HTMLParser):
    """Reads a page strictly: every mistake that a browser would forgive is kept in `faults`."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.faults: list[str] = []
        self.open: list[str] = []
        self.ids: Counter[str] = Counter()
        self.references: list[tuple[str, str, str]] = []
        self.tags: Counter[str] = Counter()
        self.texts: list[str] = []
        self.attributes: list[tuple[str, str, str | None]] = []
        self.feed(text)
        self.close()
        self.faults += [f"<{name}> is never closed" for name in self.open]
        self.faults += [f"id {name!r} {n} times" for name, n in self.ids.items() if n > 1]

    def handle_starttag(self, name: str, attributes: list[tuple[str, str | None]]) -> None:
        parent = self.open[-1] if self.open else None
        in_svg = "svg" in self.open
        self.tags[name] += 1
        if not in_svg and name in PARENTS and parent not in PARENTS[name]:
            self.faults.append(f"<{name}> inside <{parent}>")
        if name in BLOCK and (outer := INLINE_ONLY.intersection(self.open)):
            self.faults.append(f"<{name}> inside {outer}")
        if name in ("a", "button") and {"a", "button"}.intersection(self.open):
            self.faults.append(f"<{name}> inside a link or button")
        if duplicates := [key for key, n in Counter(key for key, _ in attributes).items() if n > 1]:
            self.faults.append(f"<{name}> has {duplicates} twice")
        for key, value in attributes:
            self.attributes.append((name, key, value))
            if key == "id":
                self.ids[str(value)] += 1
            if key in ("href", "src", "xlink:href", "srcset", "action", "poster", "data"):
                self.references.append((name, key, str(value)))
            if key.startswith("on"):
                self.faults.append(f"<{name}> has {key}")
        if name not in VOID:
            self.open.append(name)

    def handle_startendtag(self, name: str, attributes: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(name, attributes)
        if "svg" not in self.open:
            self.faults.append(f"<{name}/> outside a drawing")
        if name not in VOID:
            self.open.pop()

    def handle_endtag(self, name: str) -> None:
        if not self.open or self.open[-1] != name:
            self.faults.append(f"</{name}> where <{self.open[-1] if self.open else None}> is open")
            if name not in self.open:
                return
        while self.open.pop() != name:
            pass

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("script", "style"):
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())


def check_static(page: str) -> Page:
    """What holds for every report, with or without a browser."""
    parsed = Page(page)
    assert parsed.faults == []
    assert page.startswith("<!DOCTYPE html>")
    assert len(page.encode()) < 1_500_000
    for name, key, value in parsed.references:
        if value.startswith("#"):
            assert value[1:] in parsed.ids, f"{name} {key} leads to {value}, which is not there"
        else:
            assert value.startswith("data:"), f"{name} {key} leads out to {value}"
    drawn = re.findall(r"url\(([^)]*)\)|@import", page)
    assert all(address.startswith("#") and address[1:] in parsed.ids for address in drawn)
    assert "http:" not in page
    assert "https:" not in page
    assert "default-src 'none'" in page.replace("&#x27;", "'")
    assert parsed.tags["script"] == parsed.tags["main"] == parsed.tags["h1"] == 1
    assert parsed.tags["caption"] == parsed.tags["table"]
    scopes = sum(key == "scope" for _, key, _ in parsed.attributes)
    assert scopes == parsed.tags["th"]
    return parsed
