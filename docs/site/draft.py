"""A draft of the site, which `make test` builds: all code is executed, all pages are read, all links are checked.

It leaves out what no check looks at: the resolution of pictures, most frames of films, colours of the library's
source, the index of the search, and what the theme puts around the page of each public name.
"""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from docs.site.jobs import Job

PREFIX = "draft/"  # of the names of jobs, whose results stay apart from those of the site
SHORTER = {  # functions that can do less
    "docs.site.book:film",
    "docs.site.gallery:run_script",
    "docs.site.run_blocks:run_page",
    "docs.site.source_pages:render",
}
NAME_PAGE = re.compile(r"api/tercet(\.\w+)+\.[A-Za-z]\w*")
BARE = "bare-page.html"


def drafted(jobs: dict[str, Job]) -> dict[str, Job]:
    """The jobs as a draft does them."""
    return {name: draft_of(job) for name, job in jobs.items()}


def draft_of(job: Job) -> Job:
    if job.function not in SHORTER:
        return job
    return dataclasses.replace(job, name=f"{PREFIX}{job.name}", arguments={**job.arguments, "draft": True})


def without_search(app: Sphinx) -> None:
    if app.config.tercet_draft:
        app.builder.search = False  # type: ignore[attr-defined]


def write_empty_index(app: Sphinx, error: Exception | None) -> None:
    """Pages load the index of the search; a draft has none."""
    if error is None and app.config.tercet_draft:
        (Path(app.outdir) / "searchindex.js").write_text("", encoding="utf-8")


def bare(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> str | None:
    """The template of a public name's page, which has nothing but what the page itself says."""
    return BARE if app.config.tercet_draft and NAME_PAGE.fullmatch(page) else None


def setup(app: Sphinx) -> None:
    app.add_config_value("tercet_draft", False, "env")
    app.connect("builder-inited", without_search)
    app.connect("build-finished", write_empty_index)
    app.connect("html-page-context", bare, priority=100)  # before the theme
