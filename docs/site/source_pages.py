"""The library's source as pages with numbered lines, for the links of the reference."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from docs.site.jobs import Job
from docs.site.public_names import ROOT

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{file}</title><link rel="stylesheet" href="{up}source.css"></head>
<body><p><a href="{up}../api/index.html">API</a> · {file}</p>
{code}</body></html>
"""
STYLE = """body { margin: 1rem; font-family: sans-serif; background: #fff; color: #222; }
pre { font: 13px/1.45 monospace; overflow-x: auto; }
.linenos { color: #999; padding-right: 1em; user-select: none; }
.line:target { background: #fff3b0; }
"""
DARK = "body { background: #14181e; color: #ddd; } a { color: #6ab0f3; }\n"


def jobs(files: Iterable[str]) -> list[Job]:
    """One job for each folder of the files, which are paths from the package's parent."""
    folders: dict[str, list[str]] = {}
    for file in sorted(set(files)):
        folders.setdefault("/".join(file.split("/")[:2]), []).append(file)
    return [
        Job(
            f"source/{folder.removesuffix('.py')}",
            "docs.site.source_pages:render",
            {"files": listed},
            tuple(hashlib.sha256((ROOT.parent / file).read_bytes()).hexdigest() for file in listed),
            library=False,
        )
        for folder, listed in folders.items()
    ]


def render(files: list[str], folder: Path, draft: bool = False) -> dict[str, Any]:
    """Write one page for each file; of a draft each has the anchors of its lines alone."""
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import PythonLexer

    for file in files:
        text = (ROOT.parent / file).read_text(encoding="utf-8")
        if draft:
            code = "".join(f'<span id="L{k}"></span>' for k in range(1, text.count("\n") + 2))
        else:
            formatter = HtmlFormatter(linenos="inline", linespans="line")
            code = highlight(text, PythonLexer(), formatter)
            code = code.replace('<span id="line-', '<span class="line" id="L')
        target = folder / Path(file).with_suffix(".html")
        target.parent.mkdir(parents=True, exist_ok=True)
        up = "../" * file.count("/")
        target.write_text(PAGE.format(file=file, up=up, code=code), encoding="utf-8")
    return {"files": len(files)}


def copy(folders: Iterable[Path], target: Path) -> None:
    """Put the pages into the site."""
    from pygments.formatters import HtmlFormatter

    if target.exists():
        shutil.rmtree(target)
    for folder in folders:
        shutil.copytree(folder, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns("result.json"))
    light = HtmlFormatter(style="a11y-high-contrast-light").get_style_defs(".highlight")
    dark = HtmlFormatter(style="a11y-high-contrast-dark").get_style_defs(".highlight")
    style = f"{light}\n{STYLE}@media (prefers-color-scheme: dark) {{\n{dark}\n{DARK}}}\n"
    (target / "source.css").write_text(style, encoding="utf-8")
