"""The texts' examples, films and exercises as the book's pages show them. Runs in the workers."""

from __future__ import annotations

import functools
import inspect
import io
import pprint
import textwrap
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

from docs.site.run_blocks import BlockError, captured, fresh_state

WIDTH = 96
LONGEST_INPUT = 600  # characters of one input that is shown
MOST_FRAMES = 12  # of a film
DRAFT_FRAMES = 2


def chapter_values(module: str, folder: Path) -> list[dict[str, Any]]:
    """The examples of one module: their code, and the text's values beside ours."""
    from tercet.cli.book import work
    from tercet.datasets.texts import _words, examples

    found = []
    for example in examples(module):
        entry = work(module, example)
        if not entry["agrees"]:
            wrong = [value["name"] for value in entry["values"] if not value["agrees"]]
            raise BlockError(
                f"{example.place}, {example.title}: {entry['error'] or wrong} differ from the text"
            )
        words = _words(example.call, example.given)
        entry["words"] = sorted(word for word in words if word.isidentifier() or word.startswith("tercet"))
        found.append({**entry, "code": code_of(example.call), "given": inputs(example.given)})
    return found


def code_of(call: Any) -> str:
    """The source of a function, and before it that of the functions of its module that it calls."""
    call = getattr(call, "func", call)
    helpers: list[Any] = []
    seen = {call}  # functions may call each other, and themselves

    def gather(function: Any) -> None:
        waiting = [function.__code__]
        while waiting:
            code = waiting.pop()
            waiting += [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
            for name in code.co_names:
                other = function.__globals__.get(name)
                ours = inspect.isfunction(other) and other.__module__ == call.__module__
                if ours and other not in seen:
                    seen.add(other)
                    gather(other)
                    helpers.append(other)

    gather(call)
    return "\n\n\n".join(
        textwrap.dedent(inspect.getsource(function)).rstrip() for function in [*helpers, call]
    )


def inputs(given: dict[str, Any]) -> str:
    """The inputs as assignments; long ones are cut."""
    lines = []
    for name, value in given.items():
        text = pprint.pformat(value, width=WIDTH - len(name) - 3, compact=True)
        text = text.replace("\n", "\n" + " " * (len(name) + 3))
        lines.append(f"{name} = {text if len(text) <= LONGEST_INPUT else text[:LONGEST_INPUT] + ' ...'}")
    return "\n".join(lines)


def film(code: str, folder: Path, draft: bool = False) -> dict[str, Any]:
    """Execute the code of a film; its passes as SVG pictures.

    The code leaves a `recorder`, `X` and `y`, whose regions are shown; or a function `draw(frame, ax)` with a
    `recorder` or a list of `frames`.
    """
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    from tercet.plot import replay

    with fresh_state() as module:
        with captured(io.StringIO()):
            exec(compile(code, "film", "exec"), module.__dict__)
        names = vars(module)
        frames = list(names["frames"] if "frames" in names else names["recorder"].frames)
        passes = [getattr(frame, "index", k) + 1 for k, frame in enumerate(frames)]
        most = DRAFT_FRAMES if draft else MOST_FRAMES
        keep = sorted({round(k * (len(frames) - 1) / (most - 1)) for k in range(most)})
        mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "tercet"})
        if "draw" in names:
            figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
            show = functools.partial(_redraw, ax, names["draw"], [frames[k] for k in keep])
        else:
            names["recorder"].frames = [frames[k] for k in keep]
            shown = replay(names["recorder"], names["X"], names.get("y"))
            figure, show = shown._fig, shown._func
        files = []
        for k in range(len(keep)):
            show(k)
            files.append(f"frame-{k + 1}.svg")
            figure.savefig(folder / files[-1], format="svg", metadata={"Date": None})
        plt.close("all")
    return {"frames": files, "passes": [passes[k] for k in keep]}


def _redraw(ax: Any, draw: Callable[[Any, Any], None], frames: list[Any], k: int) -> None:
    ax.clear()
    draw(frames[k], ax)


def exercises(starts: list[str], folder: Path) -> list[str]:
    """Execute the starts of a chapter's exercises, each by itself; what they print."""
    printed = []
    for start in starts:
        out = io.StringIO()
        with fresh_state() as module:
            try:
                with captured(out):
                    exec(compile(start, "exercise", "exec"), module.__dict__)
            except Exception as error:
                raise BlockError(f"{type(error).__name__}: {error}\n{start}") from error
        printed.append(out.getvalue())
    return printed
