"""The Sphinx extension of this site: what is executed, generated and checked when it is built.

`jobs` runs code in worker processes and keeps what it gave; `run_blocks` and `gallery` are the code of pages and
scripts; `directives` shows it. Only `__init__`, `directives`,
`draft`, `line_breaks`, `navigation`, `references` and `search` know Sphinx.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

DOCS = Path(__file__).resolve().parent.parent


def setup(app: Sphinx) -> dict[str, Any]:
    from docs.site import build, directives, draft, line_breaks, navigation, references, search

    for part in (directives, draft, line_breaks, navigation, references, search, build):
        part.setup(app)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
