"""Navigation: the sections of the site, the list of a section's pages, the way to the other language."""

from __future__ import annotations

import gettext
import re
from functools import cache
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from tercet.core.catalog import text_named

SECTIONS = {
    "en": [
        ("start/index", "Start"),
        ("guide/index", "User guide"),
        ("gallery/index", "Gallery"),
        ("book/index", "The book"),
        ("migration/index", "Migration"),
        ("api/index", "API"),
        ("developing/index", "Developing"),
    ],
    "zh": [
        ("zh/start/index", "入门"),
        ("zh/guide/index", "用户指南"),
        ("zh/gallery/index", "示例库"),
        ("zh/book/index", "书"),
        ("zh/migration/index", "迁移"),
        ("api/index", "API"),
        ("zh/developing/index", "开发"),
    ],
}


def language_of(page: str) -> str:
    return "zh" if page.startswith("zh/") else "en"


def counterpart(page: str, there: Any) -> str:
    """The page in the other language; where there is none, the index of its section, or the first page.

    Examples
    --------
    >>> counterpart("guide/svm", {"zh/guide/svm"}), counterpart("zh/guide/svm", {"guide/index"})
    ('zh/guide/svm', 'guide/index')
    """
    chinese = language_of(page) == "zh"
    other = page.removeprefix("zh/") if chinese else f"zh/{page}"
    section = other.rpartition("/")[0]
    for candidate in (other, f"{section}/index", "index" if chinese else "zh/index"):
        if candidate in there:
            return candidate
    return "index"


@cache
def translations() -> gettext.NullTranslations:
    """What the theme says in Chinese: its own words, and Sphinx's."""
    import pydata_sphinx_theme
    import sphinx

    folders = {
        Path(pydata_sphinx_theme.__file__).parent / "locale": "zh",
        Path(sphinx.__file__).parent / "locale": "zh_CN",
    }
    found: gettext.NullTranslations | None = None
    for folder, name in folders.items():
        words = gettext.translation("sphinx", folder, [name], fallback=True)
        if found is None:
            found = words
        else:
            found.add_fallback(words)
    assert found is not None
    return found


def add_context(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """What the templates need: language, the other language's page, sections, the pages of this section."""
    env = app.env
    language = language_of(page)
    sections = [(doc, title) for doc, title in SECTIONS[language] if doc in env.found_docs]
    context["site_sections"] = sections
    context["site_section"] = next((doc for doc, _ in sections if _is_in(page, doc)), None)
    context["site_pages"] = section_pages(env, context["site_section"])
    context["site_language"] = language
    context["site_home"] = "zh/index" if language == "zh" and "zh/index" in env.found_docs else "index"
    context["site_counterpart"] = counterpart(page, env.found_docs)
    if language == "zh":
        context["language"] = "zh-CN"
        context["_"] = context["gettext"] = translations().gettext


def _is_in(page: str, index: str) -> bool:
    return page.startswith(index.removesuffix("index"))


def section_pages(env: BuildEnvironment, index: str | None) -> list[tuple[str, str, str]]:
    """The pages of a section in the order of its index: name, title, and what they belong to."""
    if index is None:
        return []
    pages = env.toctree_includes.get(index, [])
    return [(page, env.titles[page].astext(), group_of(page)) for page in pages if page in env.titles]


def group_of(page: str) -> str:
    """The text that a chapter of the book is from; nothing for other pages.

    Examples
    --------
    >>> group_of("book/li-ch07"), group_of("guide/svm")
    ('Li Hang, Machine Learning Methods', '')
    """
    chapter = re.search(r"(?:^|/)book/([a-z]+)-(?:ch|app)", page)
    text = text_named(chapter[1]) if chapter else None
    return text.title(language_of(page)) if text else ""


def setup(app: Sphinx) -> None:
    app.connect("html-page-context", add_context, priority=400)
