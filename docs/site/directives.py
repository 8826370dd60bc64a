"""The directives `run`, `again` and `pages`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.directives.other import TocTree
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from docs.site.run_blocks import STORED, shown_size

log = logging.getLogger(__name__)


class Run(SphinxDirective):
    """A block of code with what it printed and drew; it was executed before the pages are read."""

    required_arguments = 1
    has_content = True
    option_spec = {
        "alt": directives.unchanged,
        "hide-code": directives.flag,
        "raises": directives.unchanged_required,
        "requires": directives.unchanged_required,
    }

    def run(self) -> list[nodes.Node]:
        return self.show(self.env.docname, self.arguments[0], hidden="hide-code" in self.options)

    def show(self, page: str, name: str, *, hidden: bool = False) -> list[nodes.Node]:
        """The nodes of one block of a page."""
        kept = self.config.tercet_results.get(page)
        folder = Path(self.env.srcdir) / "_cache" / kept if kept else None
        results = json.loads((folder / "result.json").read_text(encoding="utf-8")) if folder else {}
        if name not in results:
            log.warning("page %s has no run block %r", page, name, location=self.get_location())
            return []
        block = results[name]
        code = nodes.literal_block(block["code"], block["code"], language="python", classes=["run-code"])
        shown: list[nodes.Node] = [code]
        if hidden:
            word = "代码" if self.env.docname.startswith("zh/") else "Code"
            shown = [
                raw(f'<details class="run-hidden"><summary>{word}</summary>'),
                code,
                raw("</details>"),
            ]
        output = block["output"]
        if output is None:  # its packages are not there
            output = self.stored(page, name)
        text = "".join(filter(None, [output, block["error"]])).rstrip()
        if text:
            kind = "run-error" if block["error"] else "run-output"
            shown.append(nodes.literal_block(text, text, language="text", classes=["run-output", kind]))
        alt = self.options.get("alt", "")
        for picture in block["pictures"]:
            shown.append(picture_node(self, folder / picture, alt))
        return [nodes.container("", *shown, classes=["run"])]

    def stored(self, page: str, name: str) -> str:
        """The output of a block whose packages are not installed, as `python -m docs.store` wrote it."""
        file = Path(self.env.srcdir) / STORED / page / f"{name}.txt"
        self.env.note_dependency(str(file))
        if not file.exists():
            log.warning(
                "block %r needs packages that are not installed, and there is no %s (python -m docs.store %s)",
                name,
                file.relative_to(self.env.srcdir),
                page,
                location=self.get_location(),
            )
            return ""
        return file.read_text(encoding="utf-8")


class Again(Run):
    """A block of the English page on its Chinese counterpart."""

    has_content = False
    option_spec = {"alt": directives.unchanged, "hide-code": directives.flag}

    def run(self) -> list[nodes.Node]:
        if not self.env.docname.startswith("zh/"):
            log.warning("`again` is for the Chinese pages", location=self.get_location())
            return []
        page = self.env.docname.removeprefix("zh/")
        return self.show(page, self.arguments[0], hidden="hide-code" in self.options)


class Pages(TocTree):
    """The pages of the folder: those named come first, in that order; all others follow by name."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        folder = self.env.docname.rpartition("/")[0]
        start = f"{folder}/" if folder else ""
        there = sorted(
            doc.removeprefix(start)
            for doc in self.env.found_docs
            if doc.startswith(start) and "/" not in doc.removeprefix(start) and doc != self.env.docname
        )
        first = [name for line in self.content for name in line.split() if name in there]
        listed = [*first, *(name for name in there if name not in first)]
        self.content = StringList(listed, source=self.env.docname)
        return super().run()


def raw(html: str) -> nodes.raw:
    return nodes.raw("", html, format="html")


def picture_node(directive: SphinxDirective, file: Path, alt: str) -> nodes.Node:
    """A picture from the cache, at the size that it is meant for."""
    width, wide = shown_size(file)
    source = "/" + file.relative_to(directive.env.srcdir).as_posix()
    picture = nodes.image(uri=source, alt=alt, width=f"{width}px", classes=["run-picture"])
    return nodes.container("", picture, classes=["wide-picture"]) if wide else picture


def outdated(app: Sphinx, env: Any, added: set[str], changed: set[str], removed: set[str]) -> list[str]:
    """Pages whose blocks gave something else than when they were read."""
    seen = getattr(env, "tercet_results", {})
    names = app.config.tercet_results
    env.tercet_results = {page: names.get(page.removeprefix("zh/")) for page in env.found_docs}
    return [page for page in env.found_docs if seen.get(page) != env.tercet_results[page]]


def setup(app: Sphinx) -> None:
    app.add_config_value("tercet_results", {}, "", types=[dict])
    app.add_directive("run", Run)
    app.add_directive("again", Again)
    app.add_directive("pages", Pages)
    app.connect("env-get-outdated", outdated)
