"""The pages of the gallery in both languages: a grid of thumbnails, and a page for each script."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from docs.site.gallery import Script
from docs.site.generated import fence
from docs.site.run_blocks import shown_size
from docs.site.words import family_names

HEADS = {
    "en": (
        "Gallery",
        "Short scripts, each with one picture and one lesson. They ran as they stand when this page was built.",
    ),
    "zh": ("示例库", "一个脚本，一张图，一个道理。脚本可以直接运行；本页生成时已全部运行过。"),
}


def pages(scripts: Iterable[Script], folders: Mapping[str, Path]) -> dict[str, str]:
    """The texts of all pages of the gallery, by their paths."""
    scripts = list(scripts)
    texts = {}
    for language, start in (("en", ""), ("zh", "zh/")):
        texts[f"{start}gallery/index.md"] = index(scripts, folders, language)
        for script in scripts:
            texts[f"{start}gallery/{script.name}.md"] = page(script, folders[script.name], language)
    return texts


def index(scripts: list[Script], folders: Mapping[str, Path], language: str) -> str:
    title, about = HEADS[language]
    families: dict[str, list[Script]] = {}
    for script in scripts:
        families.setdefault(script.family, []).append(script)
    parts = [f"# {title}", about]
    for family in sorted(families):
        parts += [f"## {family_names(family, language)}", "::::{grid} 1 2 3 3\n:gutter: 2"]
        for script in families[family]:
            shown = script.title if language == "en" else script.zh_title
            thumbnail = f"/_cache/{folders[script.name].name}/thumbnail.png"
            parts.append(
                f":::{{grid-item-card}} {shown}\n:link: {script.name}\n:link-type: doc\n"
                f":img-top: {thumbnail}\n:img-alt: {shown}\n:class-card: gallery-card\n:::"
            )
        parts.append("::::")
    names = "\n".join(script.name for script in scripts)
    parts.append(f"```{{toctree}}\n:hidden:\n\n{names}\n```")
    return "\n\n".join(parts) + "\n"


def page(script: Script, folder: Path, language: str) -> str:
    """The page of one script."""
    import json

    output = json.loads((folder / "result.json").read_text(encoding="utf-8"))["output"].rstrip()
    title, lesson = (script.title, script.lesson) if language == "en" else (script.zh_title, script.zh_lesson)
    said = {"en": "It prints", "zh": "输出"}[language]
    parts = [
        f"# {title}",
        lesson,
        picture(folder, title),
        fence("code-block", "python", script.code),
        *([f"{said}:", fence("code-block", "text", output, ":class: run-output")] if output else []),
        f"{{download}}`{script.name}.py </gallery/{script.name}.py>`",
    ]
    return "\n\n".join(parts) + "\n"


def picture(folder: Path, alt: str) -> str:
    """The picture of a script; a phone scrolls a wide one."""
    width, wide = shown_size(folder / "picture.png")
    options = f":alt: {alt}\n:width: {width}px\n:class: run-picture"
    shown = f"```{{image}} /_cache/{folder.name}/picture.png\n{options}\n```"
    return f":::{{container}} wide-picture\n{shown}\n:::" if wide else shown
