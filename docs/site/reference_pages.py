"""Puts the API reference together: pages of names with their links, an index of each module, an index of all."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from docs.site.gallery import Script
from docs.site.jobs import Job
from docs.site.public_names import modules
from docs.site.run_blocks import blocks_of
from docs.site.words import zh
from tercet.core.lazy import scikit_learn_table

Reference = Mapping[str, Mapping[str, Any]]


def jobs() -> dict[str, Job]:
    return {
        module: Job(f"reference/{module}", "docs.site.reference:module_pages", {"module": module})
        for module in modules()
    }


def pages(
    reference: Reference, scripts: Iterable[Script], guides: Mapping[str, Path], examples: Mapping[str, Any]
) -> dict[str, str]:
    """All pages of the reference, by their paths; `examples` has the places of the book where a name is used."""
    texts = {"api/index.md": index(reference)}
    links = backlinks(scripts, guides)
    for module, about in reference.items():
        texts[f"api/{module}.md"] = module_index(module, about)
        for path, entry in about["names"].items():
            parts = [":orphan:\n", entry["text"], source_link(entry["source"])]
            parts += see_also("In the book", examples.get(path, []))
            parts += see_also("In the guide and the gallery", links.get(path, []))
            texts[f"{entry['page']}.rst"] = "\n".join(filter(None, parts))
    return texts


def index(reference: Reference) -> str:
    rows = [
        f"| [{module}](/api/{module}) | {zh(module.removeprefix('tercet.'))} | {len(about['names'])} | "
        f"{_first_line(about['about'])} |"
        for module, about in reference.items()
    ]
    head = "| module | 中文 | names | what it has |\n|---|---|---:|---|"
    listed = "\n".join(reference)
    return (
        f"# API reference\n\n{sum(len(about['names']) for about in reference.values())} public names, each with "
        f"its signature, an example that is tested, and the lines of its source. "
        f"中文名取自各方法的卡片。\n\n{head}\n"
        + "\n".join(rows)
        + f"\n\n```{{toctree}}\n:hidden:\n\n{listed}\n```\n"
    )


def module_index(module: str, about: Mapping[str, Any]) -> str:
    rows = [
        f"| [{entry['name']}](/{entry['page']}) | {entry['zh']} | {_cell(entry['title'])} |"
        for entry in sorted(about["names"].values(), key=_order)
    ]
    rows += [
        f"| [{name}](/{alias['page']}) | | the same as {alias['home']} |"
        for name, alias in sorted(about["aliases"].items())
    ]
    head = "| name | 中文 | what it is |\n|---|---|---|"
    chinese = zh(module.removeprefix("tercet."))
    title = module if chinese == module.removeprefix("tercet.") else f"{module} {chinese}"
    said = _first_line(about["about"])
    if has_peer(module):
        peer = module.replace("tercet", "sklearn", 1)
        said += f" All other public names of `{peer}` can be imported from here, too."
    return f"# {title}\n\n{said}\n\n{head}\n" + "\n".join(rows) + "\n"


def has_peer(module: str) -> bool:
    """Whether scikit-learn has a module of the same name."""
    return module.partition(".")[2] in scikit_learn_table()["modules"]


def _order(entry: Mapping[str, Any]) -> tuple[bool, bool, str]:
    return entry["kind"] != "class", not entry["zh"], entry["name"].lower()


def _first_line(text: str) -> str:
    return _cell(" ".join(text.partition("\n\n")[0].split()))


def _cell(text: str) -> str:
    for sign in ("|", "*", "_", "$", "<", "["):
        text = text.replace(sign, f"\\{sign}")
    return text


def source_link(source: Any) -> str:
    if not source:
        return ""
    file, line = source
    page = file.removesuffix(".py")
    link = f'<a href="../_source/{page}.html#L{line}">{file}, line {line}</a>'
    return f'\n.. raw:: html\n\n   <p class="source-link">{link}</p>\n'


def see_also(title: str, links: Iterable[tuple[str, str]]) -> list[str]:
    items = [f"* :doc:`{text.replace('`', '')} </{page}>`" for page, text in dict.fromkeys(map(tuple, links))]
    return [f"\n.. rubric:: {title}\n", *items] if items else []


def backlinks(scripts: Iterable[Script], guides: Mapping[str, Path]) -> dict[str, list[tuple[str, str]]]:
    """Pages whose code imports a name, with their titles."""
    found: dict[str, list[tuple[str, str]]] = {}
    for page, file in guides.items():
        text = file.read_text(encoding="utf-8")
        title = next((line[2:].strip() for line in text.splitlines() if line.startswith("# ")), page)
        for block in blocks_of(text):
            for path in imported(block.code):
                found.setdefault(path, []).append((page, title))
    for script in scripts:
        for path in script.used:
            found.setdefault(path, []).append((f"gallery/{script.name}", script.title))
    return found


def imported(code: str) -> list[str]:
    """What code imports from the library, as in "tercet.cluster.KMeans"."""
    try:
        statements = ast.walk(ast.parse(code))
    except SyntaxError:
        return []
    return [
        f"{statement.module}.{alias.name}"
        for statement in statements
        if isinstance(statement, ast.ImportFrom) and (statement.module or "").startswith("tercet")
        for alias in statement.names
    ]
