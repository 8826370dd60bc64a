"""The table on the screen and the file RESULTS.md.

The file is its own store: each entry is kept as JSON in a comment above its table, so that a run of some rows
leaves the others as they were. The notes between their markers are written by hand and never touched.
"""

from __future__ import annotations

import json
import math
import os
import platform
import re
from contextlib import suppress
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

PATH = Path(__file__).parent / "RESULTS.md"
NOTES = ("<!-- notes -->", "<!-- /notes -->")
ENTRY = re.compile(r"^<!-- entry (\{.*\}) -->$", re.MULTILINE)
HEAD = """# Benchmark results

Written by `python -m benchmarks`; only the notes are by hand. Ratio = wall time of the fastest peer that
meets the quality / ours: above 1 we are ahead. Ours and the peers run by turns, each in a process of its own
that has fitted a small model of the same kind, loaded the data and made a warm-up call; wall and CPU time are
medians, memory is the peak that the fit adds above the loaded data and what the small fit left, others the
cores that other processes used in the
median run (a disturbed run is repeated up to three times; above 0.1 do not trust the times). The quality is
computed by the harness, the worst of the runs; it may exceed the best peer's and the optimum (or zero, where
it is a gap or a count) by the tolerance. First result: from the start of a new interpreter to the end of the
first fit with a warm kernel cache, without the loading of the data. Every process has 2 threads; a 1 marks a
contender that can use only one. A contender that misses the quality is marked NO and does not count as the
fastest. Growth: the exponents of the time over the size, ours and the fastest peer's, from a tenth of the data, all
of them and, where memory allows, ten times as many (`--growth`); 1 is linear.
"""


def machine() -> str:
    """The processor in words; no name and no path of the machine."""
    model = platform.processor() or platform.machine()
    with suppress(OSError):
        named = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
        model = named[1] if named else model
    return f"{model}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}"


def circumstances(command: str, versions: dict[str, str]) -> dict[str, Any]:
    """What every entry says about its run."""
    return {
        "date": date.today().isoformat(),
        "command": command,
        "cpu": machine(),
        "versions": {"python": platform.python_version(), **versions},
    }


def read(path: Path) -> tuple[dict[str, dict[str, Any]], str]:
    """The entries by name and the text of the notes."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    entries = {entry["name"]: entry for entry in map(json.loads, ENTRY.findall(text))}
    notes = text.split(NOTES[0])[1].split(NOTES[1])[0] if NOTES[0] in text else "\n"
    return entries, notes


def write(path: Path, new: list[dict[str, Any]], order: list[str]) -> None:
    """Put the new entries in and keep the rest; rows that are known come in their order."""
    entries, notes = read(path)
    entries.update({entry["name"]: entry for entry in new})
    names = sorted(entries, key=lambda name: (order.index(name) if name in order else len(order), name))
    kept = [entries[name] for name in names]
    parts = [HEAD, "## Summary\n", summary(kept), "## Notes\n", NOTES[0] + notes + NOTES[1] + "\n"]
    for entry in kept:
        comment = f"<!-- entry {json.dumps(entry, ensure_ascii=False)} -->"
        parts.append(f"## {entry['name']}\n\n{comment}\n\n{section(entry)}")
    draft = path.with_suffix(".tmp")
    draft.write_text("\n".join(parts), encoding="utf-8")
    draft.replace(path)


def write_table(name: str, work: str, table: str, command: str, packages: list[str]) -> None:
    """Put an entry with a table of its own kind, and the versions of these packages, into RESULTS.md."""
    from benchmarks.__main__ import ROWS

    versions = {package: version(package) for package in packages}
    entry = {"name": name, "work": work, "table": table, **circumstances(command, versions)}
    write(PATH, [entry], list(ROWS))


def summary(entries: list[dict[str, Any]]) -> str:
    """One line per row, and the geometric mean of the ratios."""
    lines = [
        "| row | ratio | growth | against | ours s | first result s | date |",
        "|---|---|---|---|---|---|---|",
    ]
    ratios = []
    for entry in entries:
        if "scores" not in entry:
            continue
        ours = entry["scores"][0]
        if entry["ratio"] is not None:
            ratios.append(entry["ratio"])
        cells = [
            verdict(entry),
            exponents(entry.get("growth")),
            entry["against"] or "-",
            number(ours["wall"]),
            number(ours["first"]),
            entry["date"],
        ]
        lines.append(f"| {entry['name']} | " + " | ".join(cells) + " |")
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        lines.append(f"\nGeometric mean of {len(ratios)} ratios: {mean:.2f}")
    return "\n".join(lines) + "\n"


def exponents(growth: dict[str, Any] | None) -> str:
    """The exponents of ours and of the fastest peer."""
    if growth is None or growth["ours"] is None:
        return "-"
    peer = growth["peer"]
    return f"{growth['ours']:.2f}" + ("" if peer is None else f" / {peer:.2f}")


def verdict(entry: dict[str, Any]) -> str:
    if entry["ratio"] is not None:
        return f"{entry['ratio']:.2f}"
    ours = entry["scores"][0]
    if ours["problem"]:
        return "did not run"
    return "no peer" if ours["meets"] else "misses quality"


def section(entry: dict[str, Any]) -> str:
    """What was done, the table, and the circumstances."""
    table = entry.get("table") or (figures_table(entry) if "figures" in entry else scores_table(entry))
    versions = ", ".join(f"{name} {version}" for name, version in entry["versions"].items())
    foot = f"{entry['date']}, `{entry['command']}`, {entry['cpu']}; {versions}."
    return f"{entry['work'][0].upper()}{entry['work'][1:]}.\n\n{table}\n\n{foot}\n"


def scores_table(entry: dict[str, Any]) -> str:
    titles = ["contender", "threads", "wall s", "CPU s", "memory MB", "others", entry["figure"]]
    titles += ["excess", f"within {entry['tolerance']:g}", "runs", "remarks"]
    lines = [table_line(titles), "|---" * len(titles) + "|"]
    for score in entry["scores"]:
        cells = [score["contender"], str(score["threads"]), number(score["wall"]), number(score["cpu"])]
        cells += ["-" if unknown(score["memory"]) else f"{score['memory']:.0f}"]
        cells += ["-" if unknown(score["others"]) else f"{score['others']:.1f}"]
        cells += ["-" if unknown(score["quality"]) else f"{score['quality']:.9g}"]
        cells += ["-" if unknown(score["excess"]) else f"{score['excess']:.1e}"]
        cells += [("yes" if score["meets"] else "NO") if score["runs"] else "-", str(score["runs"])]
        cells += ["; ".join(filter(None, [score["problem"], score["note"]]))]
        lines.append(table_line(cells))
    return "\n".join(lines)


def figures_table(entry: dict[str, Any]) -> str:
    lines = ["| figure | value | target |", "|---|---|---|"]
    for figure in entry["figures"]:
        value = figure["problem"] or f"{number(figure['value'])} {figure['unit']}"
        target = "-" if figure["target"] is None else f"< {figure['target']:g} {figure['unit']}"
        lines.append(table_line([figure["name"], value, target]))
    return "\n".join(lines)


def table_line(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def unknown(value: float | None) -> bool:
    return value is None or not math.isfinite(value)


def number(value: float | None) -> str:
    return "-" if value is None or unknown(value) else f"{value:.3g}"
