"""The `run` blocks of a page: finds them in its text and executes them in one namespace.

```{run} name
:alt: what the picture shows
print("code")
```
"""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import io
import re
import sys
import textwrap
import traceback
import types
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docs.site.jobs import Job

STORED = "stored_outputs"  # the folder of what blocks print whose packages may not be there
FENCE = re.compile(
    r"^(?P<indent>[ \t]*)(?P<fence>`{3,}|:{3,}|~{3,})\{run\}[ \t]*(?P<name>[^\n]*)\n"
    r"(?P<body>.*?)^(?P=indent)(?P=fence)[ \t]*$",
    re.MULTILINE | re.DOTALL,
)
OPTION = re.compile(r":(?P<name>[a-z-]+):[ \t]*(?P<value>.*)")
DPI = 144
DRAFT_DPI = 36


class BlockError(Exception):
    """A block of a page went wrong."""

    def __init__(self, told: str) -> None:
        super().__init__(told)
        self.told = told


@dataclass(frozen=True)
class Block:
    """One block: its name, its code, its options, and the line of the page where the code begins."""

    name: str
    code: str
    options: dict[str, str]
    line: int

    @property
    def requires(self) -> list[str]:
        return self.options.get("requires", "").split()


def blocks_of(text: str) -> list[Block]:
    """The `run` blocks in the text of a page.

    Examples
    --------
    >>> blocks_of("# A page\\n```{run} first\\n:alt: a line\\nprint(1)\\n```\\n")
    [Block(name='first', code='print(1)', options={'alt': 'a line'}, line=4)]
    """
    found = []
    for match in FENCE.finditer(text):
        lines = textwrap.dedent(match["body"]).splitlines()
        first = text.count("\n", 0, match.start("body")) + 1
        options = {}
        while lines and (option := OPTION.fullmatch(lines[0].strip())):
            options[option["name"]] = option["value"].strip()
            del lines[0]
            first += 1
        while lines and not lines[0].strip():
            del lines[0]
            first += 1
        found.append(Block(match["name"].strip(), "\n".join(lines).rstrip(), options, first))
    return found


def page_job(page: str, file: Path) -> Job | None:
    """The job that executes a page; None if it has no blocks."""
    blocks = blocks_of(file.read_text(encoding="utf-8"))
    if not blocks:
        return None
    packages = sorted({package for block in blocks for package in block.requires})
    there = [package for package in packages if importlib.util.find_spec(package)]
    # Line numbers are left out: an edit of the prose executes nothing.
    code = tuple(f"{block.name}\0{block.code}\0{sorted(block.options.items())}" for block in blocks)
    job = Job(f"page/{page}", "docs.site.run_blocks:run_page", {"file": str(file), "page": page})
    return Job(job.name, job.function, job.arguments, (*code, *there))


def run_page(file: str, page: str, folder: Path, draft: bool = False) -> dict[str, Any]:
    """Execute the blocks of a page, one after the other, in one namespace."""
    blocks = blocks_of(Path(file).read_text(encoding="utf-8"))
    check_names(page, blocks)
    results = {}
    with fresh_state() as module:
        for block in blocks:
            if all(importlib.util.find_spec(package) for package in block.requires):
                results[block.name] = run_block(block, module, file, page, folder, draft)
            else:
                results[block.name] = {"code": block.code, "output": None, "pictures": [], "error": ""}
    return results


def check_names(page: str, blocks: list[Block]) -> None:
    names = [block.name for block in blocks]
    for block in blocks:
        if not re.fullmatch(r"[\w-]+", block.name):
            raise BlockError(f"{page}, line {block.line}: a run block needs a name; got {block.name!r}")
        if names.count(block.name) > 1:
            raise BlockError(f"{page}, line {block.line}: two blocks are called {block.name!r}")
        unknown = set(block.options) - {"alt", "hide-code", "raises", "requires"}
        if unknown:
            raise BlockError(f"{page}, block {block.name}: unknown options {sorted(unknown)}")


def run_block(
    block: Block, module: types.ModuleType, file: str, page: str, folder: Path, draft: bool
) -> dict[str, Any]:
    """Execute one block: what it printed, the message it raised, the names of its pictures."""
    printed = io.StringIO()
    raised = ""
    expected = block.options.get("raises")
    try:
        code = ast.increment_lineno(ast.parse(block.code, file), block.line - 1)
        with captured(printed):
            exec(compile(code, file, "exec"), module.__dict__)
    except Exception as error:
        if type(error).__name__ != expected:
            told = "".join(traceback.format_exception(error, limit=None)).replace(file, f"{page}.md")
            raise BlockError(f"block {block.name}, line {block.line} of the page\n{told}") from error
        raised = f"{type(error).__name__}: {error}"
    if expected is not None and not raised:
        raise BlockError(f"block {block.name}: {expected} was expected, and no error came")
    pictures = save_figures(block.name, folder, draft)
    return {"code": block.code, "output": printed.getvalue(), "pictures": pictures, "error": raised}


@contextlib.contextmanager
def captured(printed: io.StringIO) -> Iterator[None]:
    """What is printed goes to a buffer, warnings among it, as one line each."""

    def show(message: Any, category: Any, *_: Any, **__: Any) -> None:
        printed.write(f"{category.__name__}: {message}\n")

    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.showwarning = show
        yield


@contextlib.contextmanager
def fresh_state() -> Iterator[types.ModuleType]:
    """A module to execute code in, as if it were the main program; pictures and settings of others are gone."""
    import matplotlib as mpl
    import matplotlib.pyplot as plt
    import numpy as np

    before, main = sys.modules["__main__"], types.ModuleType("__main__")
    plt.close("all")
    mpl.rcdefaults()
    mpl.rcParams.update({"figure.dpi": 100, "savefig.dpi": DPI, "axes.grid": False})
    mpl.use("Agg")
    # Code that draws without a seed gives the same picture in every build.
    np.random.seed(0)  # noqa: NPY002
    sys.modules["__main__"] = main
    try:
        yield main
    finally:
        sys.modules["__main__"] = before
        plt.close("all")


def save_figures(name: str, folder: Path, draft: bool = False) -> list[str]:
    """Write every open figure as a picture and close it."""
    import matplotlib.pyplot as plt

    names = []
    for k, number in enumerate(plt.get_fignums()):
        names.append(f"{name}-{k + 1}.png")
        save_png(plt.figure(number), folder / names[-1], draft)
    plt.close("all")
    return names


def save_png(figure: Any, file: Path, draft: bool = False) -> None:
    """Write a figure as PNG of 256 colours, which a drawing hardly needs more of; coarsely for a draft."""
    from PIL import Image

    if draft:
        figure.savefig(file, format="png", dpi=DRAFT_DPI, bbox_inches="tight", facecolor="white")
        return

    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=DPI, bbox_inches="tight", facecolor="white")
    Image.open(buffer).convert("RGB").quantize(256).save(file, optimize=True)


def shown_size(file: Path) -> tuple[int, bool]:
    """The width of a picture on the page (it has more pixels than that), and whether it is much wider than high."""
    from PIL import Image

    with Image.open(file) as picture:
        return round(picture.width / 1.5), picture.width > 2 * picture.height
