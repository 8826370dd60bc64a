"""What the documentation lacks: families without pages, public names without examples."""

from __future__ import annotations

from pathlib import Path

from docs.site.gallery import scripts
from docs.site.public_names import modules
from tercet.core.lazy import is_passed_on

# Families whose guide is part of another page.
TOGETHER = {
    "losses": "building_blocks",
    "penalties": "building_blocks",
    "distributions": "building_blocks",
    "kernels": "building_blocks",
    "plot": "plot",
    "export": "plot",
}
NOT_FAMILIES = ("core.functions", "io")  # they have no methods
SECTIONS = ("start", "guide", "migration", "developing")


def families() -> list[str]:
    """The folders of methods: not the modules that repeat names of them under the paths that scikit-learn has."""
    names = [module.removeprefix("tercet.") for module in modules() if module != "tercet"]
    return [name for name in names if name not in NOT_FAMILIES and "." not in name and not is_passed_on(name)]


def missing_pages(docs: Path) -> list[str]:
    """What is missing: guide pages, gallery scripts, Chinese pages."""
    lacking = []
    used = {path.split(".")[1] for script in scripts(docs / "gallery") for path in script.used}
    told = {script.family for script in scripts(docs / "gallery")}
    for family in families():
        page = TOGETHER.get(family, family)
        if not list((docs / "guide").glob(f"{page}.md")) + list((docs / "guide").glob(f"{page}_*.md")):
            lacking.append(f"{family}: there is no docs/guide/{page}.md")
        if family not in used | told:
            lacking.append(f"{family}: no script of docs/gallery uses it")
    for section in SECTIONS:
        english = {file.name for file in (docs / section).glob("*.md")}
        chinese = {file.name for file in (docs / "zh" / section).glob("*.md")}
        lacking += [f"there is no docs/zh/{section}/{name}" for name in sorted(english - chinese)]
        lacking += [f"there is no docs/{section}/{name}" for name in sorted(chinese - english)]
    return lacking
