"""Run the tests of what changed: `python -m tests.changed [--base REV] [PYTEST OPTIONS]`.

Changed files are those that differ from REV, committed or not. By default REV is where the branch left its
upstream, or else the last commit. A changed test file runs as a whole, and a changed helper of tests runs the test
files that import it. For a changed source file these run: its doctests, the tests that import it or one of its
public names (or, where none does, those of the nearest modules that import it), and, for the methods that it
defines or serves, the tests that exist once per method. Data, documentation and benchmarks have tests of their own
(`TESTS_OF_FILES`). The rules of `tests/structure` always run. `make test` runs everything.
"""

from __future__ import annotations

import ast
import fnmatch
import functools
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import tercet
from tests.newcomer import PER_CARD, ROOT

SOURCES = ROOT / "src" / "tercet"
MOST_NAMES = 12  # methods whose conformance tests run; a file of `core` concerns them all
ALWAYS = ("tests/structure", "tests/core/test_catalog.py")
# Tests of files that no test imports; the first pattern that matches counts.
TESTS_OF_FILES = {
    "src/tercet/cli/zh/*": ["tests/cli/test_translation.py"],
    "src/tercet/cli/*": ["tests/cli/test_app.py"],
    "src/tercet/__main__.py": ["tests/cli/test_app.py"],
    "src/tercet/catalog.json": ["tests/core/test_catalog.py"],
    "src/tercet/scikit_learn_methods.py": ["tests/core/test_catalog.py", "tests/cli/test_catalogue.py"],
    "src/tercet/core/kernel_runs.json": ["tests/core/test_kernel_runs.py"],
    "src/tercet/scikit_learn_names.json": ["tests/core/test_lazy.py", "tests/peers/test_public_names.py"],
    "src/tercet/*.pyi": ["tests/core/test_lazy.py", "tests/peers/test_public_names.py"],
    "src/tercet/*/__init__.py": ["tests/core/test_lazy.py"],
    "src/tercet/datasets/*": ["tests/datasets"],
    "tests/golden/*": ["tests/golden"],
    "docs/*": ["tests/docs"],
    "benchmarks/*": ["tests/test_benchmarks.py"],
    "README*": ["tests/test_readme.py"],
    "Makefile": ["tests/test_run.py"],
    "pyproject.toml": ["tests/test_run.py", "tests/test_project_urls.py"],
}


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


def module_of(file: str | Path) -> str | None:
    """The module of a Python file of the package or of the tests; None for other files."""
    path = ROOT / file
    top = next((top for top in (SOURCES, ROOT / "tests") if path.is_relative_to(top)), None)
    if path.suffix != ".py" or top is None:
        return None
    parts = path.relative_to(top.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@functools.cache
def public_places() -> dict[tuple[str, str], str]:
    """The module that defines each public name, by (package, name)."""
    return {
        (
            ".".join(stub.parent.relative_to(SOURCES.parent).parts),
            alias.asname or alias.name,
        ): statement.module
        for stub in SOURCES.rglob("__init__.pyi")
        for statement in ast.parse(stub.read_text(encoding="utf-8")).body
        if isinstance(statement, ast.ImportFrom) and statement.module
        for alias in statement.names
    }


def public_names(modules: set[str]) -> set[tuple[str, str]]:
    """(package, name) of the public names that modules define."""
    return {name for name, module in public_places().items() if module in modules}


def imports_of(file: Path) -> Iterator[str]:
    """The modules that a file imports, wherever the statement stands; those of public names, too."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            for alias in node.names:
                yield public_places().get((node.module, alias.name), f"{node.module}.{alias.name}")


@functools.cache
def importers() -> dict[str, set[Path]]:
    """The files of the package and of the tests that import each module."""
    found: dict[str, set[Path]] = {}
    for top in (SOURCES, ROOT / "tests"):
        for file in sorted(top.rglob("*.py")):
            for module in imports_of(file):
                found.setdefault(module, set()).add(file)
    return found


def is_test(file: Path) -> bool:
    return file.name.startswith("test_") and file.is_relative_to(ROOT / "tests")


def nearest(module: str, wanted: Callable[[str], set]) -> set:
    """What `wanted` gives for a module, or else for the nearest ones that import it, step by step."""
    seen, level = {module}, {module}
    while level:
        found = set().union(*(wanted(name) for name in level))
        if found:
            return found
        above = {module_of(file) for name in level for file in importers().get(name, ()) if not is_test(file)}
        level = {name for name in above if name} - seen
        seen |= level
    return set()


def files_of_tests(file: str) -> set[str]:
    """The test files to run for one changed file."""
    path = ROOT / file
    if is_test(path):
        return {file}
    module = module_of(file)
    found: set[str] = set()
    if module is not None:
        found = nearest(
            module,
            lambda name: {str(test.relative_to(ROOT)) for test in importers().get(name, ()) if is_test(test)},
        )
    if file.startswith("src/tercet/datasets/texts/"):
        return found  # `examples_of` runs them
    if not found:
        pattern = next((pattern for pattern in TESTS_OF_FILES if fnmatch.fnmatch(file, pattern)), None)
        found = set(TESTS_OF_FILES[pattern]) if pattern else set()
    if not found:  # a conftest, say, or a module whose names the tests take from a package
        folder = path.parent
        if path.is_relative_to(SOURCES):
            folder = ROOT / "tests" / path.relative_to(SOURCES).parts[0]
        found = (
            {str(folder.relative_to(ROOT))} if folder.is_dir() and folder.parent == ROOT / "tests" else set()
        )
    return found


def methods_of(files: list[str]) -> list[str]:
    """The methods that changed files define, or else those of the nearest modules that import them."""
    modules = [module for file in files if (module := module_of(file)) and module.startswith("tercet.")]
    names = set().union(*(nearest(module, lambda name: public_names({name})) for module in modules))
    return sorted(card.name for card in tercet.methods() if (card.module, card.name) in names)


def examples_of(files: list[str]) -> list[str]:
    """The chapters of worked examples among changed files."""
    folder = "src/tercet/datasets/texts/"
    return [Path(file).stem for file in files if file.startswith(folder) and "__init__" not in file]


def main(arguments: list[str]) -> int:
    base = None
    if "--base" in arguments:
        at = arguments.index("--base")
        base = arguments[at + 1]
        del arguments[at : at + 2]
    files = changed_files(base)
    doctests = [file for file in files if file.startswith("src/") and module_of(file)]
    chosen = sorted({*doctests, *ALWAYS}.union(*map(files_of_tests, files)))
    names = methods_of(files)
    tried = names[:: -(-len(names) // MOST_NAMES)] if names else []
    print(f"{len(files)} changed files; {len(chosen)} test files; {len(names)} methods concerned")
    codes = [pytest.main(["-q", *arguments, *chosen])]
    if tried:
        if len(tried) < len(names):
            print(f"Tests that exist once per method: for {', '.join(tried)}; `make test` runs them for all.")
        codes.append(pytest.main(["-q", *arguments, *PER_CARD, "-k", " or ".join(tried)]))
    if chapters := examples_of(files):
        codes.append(
            pytest.main(["-q", *arguments, "tests/texts", "-k", " or ".join(f"{c}:" for c in chapters)])
        )
    return int(next((code for code in codes if code not in (0, 5)), 0))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
