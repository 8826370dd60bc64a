"""Run one group of the tests: `python -m tests.groups NAME [PYTEST OPTIONS]`; without a name, list the groups.

`make test` runs the groups side by side, each in one process. So a process collects and imports only its own share,
and no core is idle while the last tests of a stage end. What no group names belongs to "others".
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
GROUPS = {
    "conformance": ["tests/conformance"],
    "command": ["tests/cli", "tests/plot"],
    "running": [
        "tests/streaming",
        "tests/fuzz",
        "tests/test_benchmarks.py",
        "tests/test_run.py",
        "tests/core",
    ],
    "learning": [
        "tests/linear_model",
        "tests/sequence",
        "tests/optimize",
        "tests/mixture",
        "tests/naive_bayes",
        "tests/graphical",
        "tests/sampling",
        "tests/topic",
        "tests/discriminant_analysis",
    ],
    "doctests": ["src/tercet", "docs/site"],
}


def rest() -> Iterator[str]:
    """Folders and files of tests that no group names."""
    named = {place for places in GROUPS.values() for place in places}
    for path in sorted((ROOT / "tests").iterdir()):
        place = f"tests/{path.name}"
        holds_tests = path.match("test_*.py") or (path / "__init__.py").exists()
        if holds_tests and place not in named:
            yield place


def places(group: str) -> list[str]:
    """What pytest is given for a group."""
    return list(rest()) if group == "others" else GROUPS[group]


def main(arguments: list[str]) -> int:
    names = [*GROUPS, "others"]
    if not arguments or arguments[0] not in names:
        print("\n".join(f"{name}: {' '.join(places(name))}" for name in names))
        return 2
    return int(pytest.main(["-q", *arguments[1:], *places(arguments[0])]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
