"""Run the tests of what changed: `python -m tests.changed [--base REV] [PYTEST OPTIONS]`.

Changed files are those that differ from REV, committed or not. By default REV is where the branch left its
upstream, or else the last commit. A changed test file runs as a whole. For a changed source file these run: its
doctests, the tests that import it or one of its public names, and, for the methods that it defines, the tests that
exist once per method. The rules of `tests/structure` always run. `make test` runs everything.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import tercet
from tests.newcomer import PER_CARD, ROOT

SOURCES = ROOT / "src" / "tercet"
MOST_NAMES = 12  # methods whose conformance tests run; a file of `core` concerns them all
ALWAYS = ("tests/structure", "tests/core/test_catalog.py")


def git(*arguments: str) -> list[str]:
    found = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return found.stdout.split("\n")[:-1] if found.returncode == 0 else []


def changed_files(base: str | None = None) -> list[str]:
    """Files that differ from `base` and still exist, and files that git does not track yet."""
    if base is None:
        (base,) = (
            git("merge-base", "HEAD", "@{upstream}") or git("merge-base", "HEAD", "origin/main") or ["HEAD"]
        )
    files = {*git("diff", "--name-only", base), *git("ls-files", "--others", "--exclude-standard")}
    if not files:
        files = {*git("diff", "--name-only", "HEAD~1")}
    return sorted(file for file in files if (ROOT / file).is_file())


def module_of(file: str) -> str | None:
    """The module of a source file; None for other files."""
    path = ROOT / file
    if path.suffix != ".py" or not path.is_relative_to(SOURCES):
        return None
    parts = path.relative_to(SOURCES.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def public_names(modules: set[str]) -> set[tuple[str, str]]:
    """(package, name) of the public names that changed modules define."""
    found = set()
    for stub in SOURCES.rglob("__init__.pyi"):
        package = ".".join(stub.parent.relative_to(SOURCES.parent).parts)
        for statement in ast.parse(stub.read_text(encoding="utf-8")).body:
            if isinstance(statement, ast.ImportFrom) and statement.module in modules:
                found |= {(package, alias.asname or alias.name) for alias in statement.names}
    return found


def imports_of(file: Path) -> Iterator[tuple[str, str]]:
    """(module, name) of every `from module import name` in a file, wherever it stands."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from ((node.module, alias.name) for alias in node.names)


def tests_of(modules: set[str]) -> list[str]:
    """Test files that import a changed module, or one of its public names."""
    wanted = public_names(modules)
    return [
        str(file.relative_to(ROOT))
        for file in sorted((ROOT / "tests").rglob("test_*.py"))
        if any(
            (module, name) in wanted or module in modules or f"{module}.{name}" in modules
            for module, name in imports_of(file)
        )
    ]


def main(arguments: list[str]) -> int:
    base = None
    if "--base" in arguments:
        at = arguments.index("--base")
        base = arguments[at + 1]
        del arguments[at : at + 2]
    files = changed_files(base)
    modules = {module for module in map(module_of, files) if module}
    own = [file for file in files if file.startswith("tests/") and Path(file).name.startswith("test_")]
    doctests = [file for file in files if module_of(file)]
    chosen = sorted({*own, *tests_of(modules), *doctests, *ALWAYS})
    names = [card.name for card in tercet.methods() if (card.module, card.name) in public_names(modules)]
    print(f"{len(files)} changed files; {len(chosen)} test files; {len(names)} changed methods")
    code = pytest.main(["-q", *arguments, *chosen])
    if names and len(names) <= MOST_NAMES:
        code = pytest.main(["-q", *arguments, *PER_CARD, "-k", " or ".join(names)]) or code
    return int(code)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
