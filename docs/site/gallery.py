"""The gallery: short scripts, each with one picture and one lesson."""

from __future__ import annotations

import ast
import io
import re
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docs.site.jobs import DOCS, Job
from docs.site.line_breaks import joined
from docs.site.run_blocks import BlockError, captured, fresh_state, save_png

FOLDER = DOCS / "gallery"
THUMBNAIL = 420  # pixels wide


@dataclass(frozen=True)
class Script:
    """A script of the gallery, as its docstring describes it."""

    name: str
    title: str
    zh_title: str
    lesson: str
    zh_lesson: str
    family: str
    code: str

    @property
    def used(self) -> list[str]:
        """The names of the library that it imports, as in "tercet.cluster.KMeans"."""
        return [
            f"{statement.module}.{alias.name}"
            for statement in ast.walk(ast.parse(self.code))
            if isinstance(statement, ast.ImportFrom) and (statement.module or "").startswith("tercet")
            for alias in statement.names
        ]


def scripts(folder: Path = FOLDER) -> list[Script]:
    """All scripts, in the order of their names."""
    return [read(file) for file in sorted(folder.glob("*.py")) if file.name != "__init__.py"]


def read(file: Path) -> Script:
    """One script; its docstring must have titles, lessons and family."""
    text = file.read_text(encoding="utf-8")
    module = ast.parse(text)
    doc = ast.get_docstring(module) or ""
    paragraphs = [" ".join(joined(part).split()) for part in re.split(r"\n\s*\n", doc)]
    lines = doc.splitlines()
    title = lines[0].strip() if lines else ""
    zh_title = next((line[3:].strip() for line in lines[1:] if line.startswith("zh:")), "")
    family = next((line[7:].strip() for line in lines if line.startswith("family:")), "")
    plain = [_without_heads(part, title, zh_title) for part in paragraphs]
    lesson = next((part for part in plain if part and not part.startswith("zh:")), "")
    zh_lesson = next((part[3:].strip() for part in plain if part.startswith("zh:")), "")
    script = Script(
        file.stem, title.rstrip("."), zh_title.rstrip("。"), lesson, zh_lesson, family, _code(text, module)
    )
    for what in ("title", "zh_title", "lesson", "zh_lesson", "family"):
        if not getattr(script, what):
            raise BlockError(f"gallery/{file.name}: the docstring has no {what.replace('_', ' ')}")
    return script


def _without_heads(paragraph: str, title: str, zh_title: str) -> str:
    """A paragraph without the titles and the line of the family, which may stand in it."""
    paragraph = re.sub(r"\s*family: \S+", "", paragraph)
    for head in (f"{title} zh: {zh_title}", title, f"zh: {zh_title}"):
        if paragraph.startswith(head):
            paragraph = paragraph[len(head) :]
            break
    return paragraph.strip()


def _code(text: str, module: ast.Module) -> str:
    """The code after the docstring."""
    first = module.body[0]
    return "\n".join(text.splitlines()[(first.end_lineno or 0) :]).strip()


def script_job(script: Script, folder: Path = FOLDER) -> Job:
    file = folder / f"{script.name}.py"
    return Job(
        f"gallery/{script.name}",
        "docs.site.gallery:run_script",
        {"file": str(file)},
        (file.read_text(encoding="utf-8"),),
    )


def run_script(file: str, folder: Path, draft: bool = False) -> dict[str, Any]:
    """Execute a script as the main program: what it printed; its picture and a small one are in the folder."""
    import matplotlib.pyplot as plt
    from PIL import Image

    printed = io.StringIO()
    with fresh_state() as module:
        module.__dict__["__file__"] = file
        code = Path(file).read_text(encoding="utf-8")
        try:
            with captured(printed):
                exec(compile(code, file, "exec"), module.__dict__)
        except Exception as error:
            told = "".join(traceback.format_exception(error)).replace(str(Path(file).parent), "gallery")
            raise BlockError(told) from error
        figure = module.__dict__.get("fig")
        if figure is None and not plt.get_fignums():
            raise BlockError("the script leaves no figure open")
        save_png(figure if figure is not None else plt.gcf(), folder / "picture.png", draft)
    with Image.open(folder / "picture.png") as picture:
        small = picture.convert("RGB")
        small.thumbnail((THUMBNAIL, THUMBNAIL))
        small.quantize(128).save(folder / "thumbnail.png", optimize=True)
    return {"output": printed.getvalue()}
