"""The rules of the house: where things are, what imports what, how deep and how long.

CONTRIBUTING.md says them in words. Each exception stands in a list here, with its reason.
"""

import ast
import functools
import importlib
import inspect
import re
from pathlib import Path

import pytest

import tercet
from tercet.core.lazy import own_names

ROOT = Path(tercet.__file__).resolve().parent
SHARED = {"core", "losses", "penalties", "distributions", "optimize", "kernels", "metrics"}
ON_TOP = {"cli", "plot", "studio"}
FAMILIES = sorted(
    path.name
    for path in ROOT.iterdir()
    if (path / "__init__.py").exists() and path.name not in {"core", "cli", "plot", "datasets"}
)
LONGEST_FUNCTION, DEEPEST = 60, 3

# Small classes that are read together, one beside the other.
GROUPED = {
    "tercet.neural_network.multilayer_perceptron": "the classifier and the regressor differ in their outputs only",
    **dict.fromkeys(
        [f"tercet.losses.{name}" for name in ("deviance", "likelihood", "margin", "residual")],
        "losses of one kind: a class is a formula and its derivatives",
    ),
    **dict.fromkeys(
        [
            f"tercet.distributions.{name}"
            for name in (
                "base",
                "compound",
                "location_scale",
                "multivariate",
                "one_parameter",
                "two_parameter",
            )
        ],
        "distributions of one kind: a class is its natural form",
    ),
    "tercet.penalties.bridge": "L0 and Lq",
    "tercet.penalties.norms": "the norms",
    "tercet.kernels.compound": "sums, products, powers and scalings of kernels",
    "tercet.optimize.update_rules": "SGD to Adam: each adds a line to the one before",
    "tercet.metrics.distance.value_difference": "VDM and the distance that is built on it",
}


def name_of(path):
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


SOURCES = {name_of(path): path for path in sorted(ROOT.rglob("*.py"))}


@functools.cache
def trees():
    """Syntax trees by module."""
    return {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in SOURCES.items()}


def family_of(module):
    return module.split(".")[1] if "." in module else ""


def is_engine(module):
    return any(part.startswith("_") for part in module.split(".")[2:])


def exported(family):
    module = importlib.import_module(f"tercet.{family}")
    return {name: getattr(module, name) for name in own_names(module.__name__)}


@functools.cache
def nodes(module):
    """The functions and imports of a module."""
    kinds = ast.FunctionDef | ast.Import | ast.ImportFrom
    return [node for node in ast.walk(trees()[module]) if isinstance(node, kinds)]


@functools.cache
def imports(module):
    """The modules that a module imports, with the names taken from them."""
    found = []
    for node in nodes(module):
        if isinstance(node, ast.Import):
            found += [(alias.name, "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found += [(node.module, alias.name) for alias in node.names]
    return [(source, name) for source, name in found if source.split(".")[0] == "tercet"]


def imported_module(source, name):
    """The module that `from source import name` reaches."""
    return f"{source}.{name}" if f"{source}.{name}" in SOURCES else source


@pytest.mark.parametrize("family", FAMILIES)
def test_a_class_is_in_the_file_of_its_name(family):
    astray = []
    for name, thing in exported(family).items():
        if not inspect.isclass(thing) or "card" not in vars(thing):
            continue
        file = thing.__module__.rpartition(".")[2].replace("_", "")
        if file != name.lower() and thing.__module__ not in GROUPED:
            astray.append(f"{name} in {thing.__module__}")
    assert astray == []


def test_lists_of_exceptions_are_true():
    assert set(GROUPED) <= set(SOURCES)


def pages():
    """The modules that define a method: something with a card."""
    return {
        module
        for module, tree in trees().items()
        for node in tree.body
        if isinstance(node, ast.ClassDef | ast.FunctionDef)
        and any(getattr(getattr(d, "func", None), "id", "") == "method" for d in node.decorator_list)
    }


def test_engines_do_not_import_pages():
    backwards, methods = [], pages()
    for module in SOURCES:
        if not is_engine(module):
            continue
        for source, name in imports(module):
            target = imported_module(source, name)
            if family_of(target) == family_of(module) and target in methods:
                backwards.append(f"{module} imports {target}")
    assert backwards == []


def test_families_import_public_names_of_other_families():
    inside = []
    for module in SOURCES:
        family = family_of(module)
        if family in {"core", *ON_TOP} or family not in {*FAMILIES}:
            continue
        for source, name in imports(module):
            target = imported_module(source, name)
            other = family_of(target)
            if other in {family, "core", ""}:
                continue
            public = target in (f"tercet.{other}", "tercet.datasets.readers")
            # One Gaussian serves two families: it is an engine of the shared package `distributions`.
            gaussian = target.startswith("tercet.distributions._gaussian")
            if not public and not gaussian and (other not in SHARED or is_engine(target)):
                inside.append(f"{module} imports {target}")
    assert inside == []


def test_core_and_strategies_import_no_family():
    upwards = []
    for module in SOURCES:
        if family_of(module) not in SHARED:
            continue
        for source, name in imports(module):
            other = family_of(imported_module(source, name))
            if other and other not in SHARED and other != "io":
                upwards.append(f"{module} imports {source}")
    assert upwards == []


def test_no_import_cycles():
    graph = {
        module: {imported_module(*pair) for pair in imports_at_the_top(module)} & set(SOURCES) - {module}
        for module in SOURCES
    }
    done, path = set(), []

    def visit(module):
        if module in path:
            pytest.fail(" -> ".join([*path[path.index(module) :], module]))
        if module in done:
            return
        path.append(module)
        for other in sorted(graph[module]):
            visit(other)
        done.add(path.pop())

    for module in graph:
        visit(module)


def imports_at_the_top(module):
    """What is imported when a module is, but for names that only the type checker sees."""
    found = []
    for node in trees()[module].body:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "tercet":
            found += [(node.module, alias.name) for alias in node.names]
    return [(source, name) for source, name in found if imported_module(source, name) != package_of(module)]


def package_of(module):
    return module if SOURCES[module].name == "__init__.py" else module.rpartition(".")[0]


@pytest.mark.parametrize("family", FAMILIES)
def test_methods_are_shallow(family):
    deep = []
    for name, thing in exported(family).items():
        if not inspect.isclass(thing) or "card" not in vars(thing):
            continue
        ours = [
            kind.__name__
            for kind in thing.__mro__[1:]
            if kind.__module__.startswith("tercet.") and family_of(kind.__module__) != "core"
        ]
        if len(ours) > DEEPEST:
            deep.append(f"{name}: {ours}")
    assert deep == []


@pytest.mark.parametrize("family", FAMILIES)
def test_one_class_name_means_one_thing(family):
    places = {}
    for module, tree in trees().items():
        if family_of(module) != family:
            continue
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(module)
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


@pytest.mark.parametrize("family", [*FAMILIES, "datasets", "plot"])
def test_every_public_name_is_documented(family):
    bare = [
        name
        for name, thing in exported(family).items()
        if (inspect.isclass(thing) or inspect.isroutine(thing)) and not inspect.getdoc(thing)
    ]
    assert bare == []


def test_functions_are_of_good_size():
    long = {}
    for module in SOURCES:
        for node in nodes(module):
            if isinstance(node, ast.FunctionDef) and node.name != "__init__":
                first = node.body[0]
                text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
                length = (
                    node.end_lineno - node.lineno + 1 - (first.end_lineno - first.lineno + 1 if text else 0)
                )
                if length > LONGEST_FUNCTION:
                    long[f"{module}.{node.name}"] = length
    assert long == {}


# Words of our own that had a term in the field (CONTRIBUTING.md has the vocabulary).
PRIVATE_WORDS = re.compile(
    r"\b(bend_of|bent|swept|LearnsSingly|hmm_answers|on its way down|seen from nearby|budding)\b"
)


def test_no_private_words():
    found = {module: {*PRIVATE_WORDS.findall(path.read_text("utf-8"))} for module, path in SOURCES.items()}
    assert {module: words for module, words in found.items() if words} == {}
