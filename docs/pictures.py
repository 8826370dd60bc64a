"""The README's pictures, made from real runs: `make pictures` (needs a Chromium).

Runs `tercet compare` on embedded data in both languages, and takes a picture of what the terminal shows and of
the report in a browser.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text
from tests.cli.browser import Browser, find

HERE = Path(__file__).resolve().parent / "pictures"
WIDTH = 126
THEME = TerminalTheme(
    (24, 26, 31),
    (220, 223, 228),
    [(40, 44, 52), (224, 108, 117), (152, 195, 121), (229, 192, 123),
     (97, 175, 239), (198, 120, 221), (86, 182, 194), (220, 223, 228)],
)  # fmt: skip
# One Chinese character is as wide as two Latin ones, as in a terminal.
PAGE = """<!doctype html><meta charset="utf-8"><style>
@font-face {{ font-family: cells; src: local("DejaVu Sans Mono"); size-adjust: 83.06%; unicode-range: U+0-2FFF; }}
@font-face {{ font-family: cells; src: local("DejaVu Sans Mono Bold"); size-adjust: 83.06%; font-weight: bold;
  unicode-range: U+0-2FFF; }}
body {{ margin: 0; padding: 22px 26px; background: #181a1f; display: inline-block; }}
pre {{ margin: 0; font: 17px/1.3 cells, "Noto Sans Mono CJK SC", monospace; color: #dcdfe4; }}
b {{ color: #98c379; }}
</style><body><pre><b>$</b> {command}
{text}</pre>"""


def terminal(command: list[str], folder: str) -> str:
    """What a command prints on a terminal, as HTML."""
    environment = {**os.environ, "FORCE_COLOR": "1", "TTY_INTERACTIVE": "0", "COLUMNS": str(WIDTH)}
    answer = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=True,
    )
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    lines = answer.stdout.decode().splitlines()
    shown = [line for line in lines if "Report" not in line and "报告" not in line]  # it names a folder
    text = Text.from_ansi("\n".join(line.rstrip() for line in shown))
    before = "."
    for line in text.split("\n", allow_blank=True):
        if line.plain.strip() or before:  # where the progress bars were, there is nothing left
            console.print(line, soft_wrap=True)
        before = line.plain.strip()
    return console.export_html(theme=THEME, inline_styles=True, code_format="{code}")


def main() -> None:
    path = find()
    if path is None:
        sys.exit(
            "The pictures need a browser: none of the usual names is on the path, nor TERCET_BROWSER set."
        )
    HERE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, Browser(path) as browser:
        for language in ("en", "zh"):
            command = ["tercet", "compare", "--report", "report.html", "--lang", language]
            text = terminal(command, folder)
            page = Path(folder) / "terminal.html"
            shown = " ".join(command if language == "zh" else command[:-2])
            page.write_text(PAGE.format(command=shown, text=text), encoding="utf-8")
            browser.open(page, width=1400)
            size = browser.evaluate("[document.body.offsetWidth, document.body.offsetHeight]")
            browser.resize(*size)
            browser.screenshot(HERE / f"compare-{language}.png")
            browser.open(Path(folder) / "report.html", width=1280, height=1400)
            browser.screenshot(HERE / f"report-{language}.png")


if __name__ == "__main__":
    main()
