"""Links of the built site: files and anchors that pages refer to are there; nothing is loaded from outside."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from urllib.parse import unquote, urlsplit

TAG = re.compile(r"<(?P<tag>[a-z]+)\b(?P<attributes>[^>]*)>", re.IGNORECASE)
ATTRIBUTE = re.compile(r"""(?<![\w-])(?P<name>id|name|href|src)\s*=\s*"(?P<value>[^"]*)\"""", re.IGNORECASE)
CSS_LOAD = re.compile(r"""@import\s+["']?(https?:)?//|url\(\s*["']?(https?:)?//""")


def broken_links(site: Path) -> list[str]:
    """What is wrong with the links of a site: one line each."""
    pages = {
        file: _links_and_anchors(file) for file in sorted(site.rglob("*.html")) if "_static" not in file.parts
    }
    problems = []
    there: dict[Path, bool] = {}
    for file, (links, _) in pages.items():
        for tag, target in sorted(links):
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                # A link that somebody may follow is no request; what a page loads is.
                if tag != "a" and parts.scheme not in ("data", "mailto"):
                    problems.append(f"{file.relative_to(site)}: {tag} loads {target}")
                continue
            path = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            if path not in there:
                there[path] = path.is_file()
            if not there[path]:
                problems.append(f"{file.relative_to(site)}: there is no {target}")
            elif parts.fragment and path in pages and unquote(parts.fragment) not in pages[path][1]:
                problems.append(f"{file.relative_to(site)}: there is no anchor {target}")
    for file in sorted(site.rglob("*.css")):
        if CSS_LOAD.search(file.read_text(encoding="utf-8", errors="replace")):
            problems.append(f"{file.relative_to(site)}: loads from another host")
    return problems


def _links_and_anchors(file: Path) -> tuple[set[tuple[str, str]], set[str]]:
    links, anchors = set(), {"", "top"}
    for tag in TAG.finditer(file.read_text(encoding="utf-8")):
        for attribute in ATTRIBUTE.finditer(tag["attributes"]):
            name, value = attribute["name"].lower(), unescape(attribute["value"])
            if name in ("id", "name"):
                anchors.add(value)
            elif value and not (tag["tag"] == "link" and "canonical" in tag["attributes"]):
                links.add((tag["tag"].lower(), value))
    return links, anchors
