"""Write what Tercet passes on of scikit-learn: `python -m tests.scikit_learn_names` (`make names`).

The table `src/tercet/scikit_learn_names.json` has the public names of the installed scikit-learn; `core/lazy.py`
reads it. Each module that is passed on as a whole has a file that says so, and a stub for type checkers; the stubs
of our families have the import from scikit-learn and `__all__`. A test keeps all of them true.
"""

from __future__ import annotations

import ast
import functools
import importlib
import json
import pkgutil
import re
import textwrap
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import sklearn
from sklearn.base import OutlierMixin
from sklearn.utils.discovery import all_estimators

from tercet.core.lazy import ROOT, TABLE, defined_names

HIDDEN = {"externals", "tests", "conftest"}  # not scikit-learn's own, or not for its users
HEAD = "# Written by `make names`.\n"
PASSED_ON = (
    HEAD
    + """import tercet  # noqa: F401 (waits for a thread that is importing it)
from tercet.core.lazy import pass_on

pass_on(__name__)
"""
)
# Without `__all__`, and all they have is from private modules.
REPEATING = ("utils.metadata_routing",)
# Names of ours that mean something else, or do less, than the same name in another module of scikit-learn.
DIFFERENT = {
    "covariance.log_likelihood": "of a covariance; `tercet.optimize.log_likelihood` is of a log-linear model",
    **dict.fromkeys(
        (f"gaussian_process.kernels.{name}" for name in ("Kernel", "Product", "Sum")),
        "of Gaussian processes, with hyperparameters and their gradients; `tercet.kernels` are those of vectors, "
        "strings and Gram matrices",
    ),
    "metrics.cluster.entropy": "of labels; `tercet.metrics.entropy` is of probabilities",
    "metrics.pairwise.cosine_similarity": "that of `tercet.feature` is for documents, and has no `dense_output`",
}
# What the estimators of a module are for, where their base class does not say; as cards call it.
TASKS = {
    "cross_decomposition": "dimensionality reduction",
    "decomposition": "dimensionality reduction",
    "random_projection": "dimensionality reduction",
    "feature_extraction": "feature extraction",
    "feature_selection": "feature selection",
    "kernel_approximation": "feature map",
    "manifold": "embedding",
    "model_selection": "model selection",
    "compose": "preprocessing",
    "impute": "preprocessing",
    "preprocessing": "preprocessing",
}


@functools.cache
def scikit_learn_modules() -> dict[str, Any]:
    """The public modules of scikit-learn, by their names without `sklearn.`."""
    found = {"": sklearn}
    for module in pkgutil.walk_packages(sklearn.__path__, "sklearn."):
        parts = module.name.split(".")[1:]
        if not HIDDEN & {*parts} and not any(part.startswith("_") for part in parts):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a switch that is not needed any more says so
                found[".".join(parts)] = importlib.import_module(module.name)
    return found


def scikit_learn_names(inside: str) -> list[str]:
    """The public names of one module."""
    module = scikit_learn_modules()[inside]
    if inside in REPEATING:
        return sorted(
            name
            for name, value in vars(module).items()
            if str(getattr(value, "__module__", "")).startswith("sklearn.") and not name.startswith("_")
        )
    return sorted({*defined_names(module)} - HIDDEN - experimental_names())


@functools.cache
def experimental_names() -> set[str]:
    """Names that are not there, and not in `__all__`, before a switch of `sklearn.experimental` was imported."""
    switches = [
        module for inside, module in scikit_learn_modules().items() if inside.startswith("experimental.")
    ]
    return {name for switch in switches for name in vars(switch)}


@functools.cache
def public_modules() -> dict[str, list[str]]:
    """The public names by module; without names are switches, which are imported for what they do."""
    names = {inside: scikit_learn_names(inside) for inside in scikit_learn_modules()}
    return {k: names[k] for k in sorted(names) if names[k] or k.startswith("experimental")}


def is_hand_made(file: Path) -> bool:
    return file.exists() and not file.read_text(encoding="utf-8").startswith(HEAD)


def families() -> list[str]:
    """The modules of ours that names are imported from."""
    folders = sorted(file.parent.name for file in ROOT.glob("*/__init__.py") if is_hand_made(file))
    return sorted({*folders, "io"} - {"cli", "core"})


@functools.cache
def names_by_family() -> dict[str, set[str]]:
    """Our public names by module, as the stubs say; those of packages without a stub as they say themselves."""
    found = {}
    for family in families():
        stub = ROOT / family / "__init__.pyi"
        if stub.exists():
            found[family] = {alias for node in own_imports(stub) for alias in imported(node)}
        elif stub.with_suffix(".py").exists():
            found[family] = {*importlib.import_module(f"tercet.{family}").__all__}
    return found


def own_imports(stub: Path) -> list[ast.ImportFrom]:
    """The imports of a stub that are written by hand."""
    package = ".".join(stub.parent.relative_to(ROOT.parent).parts)
    return [
        node
        for node in ast.parse(stub.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ImportFrom)
        and str(node.module).startswith("tercet")
        and not (node.module == package and generated_modules(package) & {*imported(node)})
    ]


def generated_modules(package: str) -> set[str]:
    """The modules of a package that its stub imports because of the table."""
    inside = package.partition(".")[2]
    if not inside:
        return {*families(), *(module for module in public_modules() if module and "." not in module)}
    return {name for name in public_modules().get(inside, ()) if f"{inside}.{name}" in public_modules()}


def imported(node: ast.ImportFrom) -> list[str]:
    return [alias.asname or alias.name for alias in node.names]


def ours() -> dict[str, dict[str, str]]:
    """Modules without code of ours: the names of ours that take the place of scikit-learn's, and their families."""
    found: dict[str, dict[str, str]] = {}
    for inside, names in public_modules().items():
        if not inside or inside in names_by_family():
            continue
        found[inside] = {}
        for name in names:
            homes = [family for family, own in names_by_family().items() if name in own]
            if homes and f"{inside}.{name}" not in DIFFERENT:
                # plots and losses of a name that a method has, too, are no estimators
                (home,) = [family for family in homes if family not in ("plot", "losses", "penalties")]
                found[inside][name] = home
    return found


@functools.cache
def tasks() -> dict[str, dict[str, str]]:
    """What the estimators of scikit-learn that there are none of here are for, by module."""
    kinds = {"classifier": "classification", "regressor": "regression", "cluster": "clustering"}
    known = {name: task for kind, task in kinds.items() for name, _ in all_estimators(type_filter=kind)}
    found: dict[str, dict[str, str]] = {}
    for name, kind in all_estimators():
        path = home(name, kind)
        if name not in names_by_family().get(path, ()) and name not in ours().get(path, ()):
            other = (
                "outlier detection"
                if issubclass(kind, OutlierMixin)
                else TASKS.get(path.partition(".")[0], "")
            )
            found.setdefault(path, {})[name] = known.get(name, other)
    return {path: found[path] for path in sorted(found)}


def home(name: str, kind: type) -> str:
    """The module that a class of scikit-learn is imported from; that of its file while it is experimental."""
    modules = scikit_learn_modules()
    public = [inside for inside, names in public_modules().items() if inside and name in names]
    file = ".".join(part for part in kind.__module__.split(".")[1:] if not part.startswith("_"))
    return min((inside for inside in public if getattr(modules[inside], name) is kind), key=len, default=file)


def table() -> str:
    """The text of the table: a line for each module."""
    version = ".".join(sklearn.__version__.split(".")[:2])
    parts = {"modules": public_modules(), "ours": ours(), "tasks": tasks()}
    blocks = [f' "version": {json.dumps(version)}']
    for head, entries in parts.items():
        lines = ",\n".join(f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in entries.items())
        blocks.append(f' "{head}": {{\n{lines}\n }}')
    return "{\n" + ",\n".join(blocks) + "\n}\n"


def _order(name: str) -> tuple[int, list[Any]]:
    """The order of names in `__all__`: constants, classes, functions; numbers in names count as such."""
    kind = 0 if name.isupper() and len(name) > 1 else 1 if name[0].isupper() else 2
    return kind, [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def statement(module: str, names: Iterable[str]) -> str:
    """An import of several names, in the order that ruff wants: in that of `__all__`, but for their case."""
    ordered = sorted(names, key=lambda name: (_order(name)[0], _order(name.lower())[1], name))
    lines = "".join(f"    {name},\n" for name in ordered)
    return f"from {module} import (\n{lines})\n"


# A root that imports all families would be one circle of imports with them, in which mypy takes functions for the
# modules of the same name. It takes MYPY for true; other type checkers and `lazy_package` read the imports.
IMPORTS_OF_THE_ROOT = """MYPY = False
if not MYPY:
{imports}else:
    def __getattr__(name: str) -> Any: ...
"""


def stub(package: str, written: Path | None) -> str:
    """The text of a package's stub: what is written in it by hand, and what scikit-learn has beside it."""
    inside = package.partition(".")[2]
    own: dict[str, str] = {}
    public: set[str] = set()
    if written is not None:
        source = written.read_text(encoding="utf-8")
        for node in own_imports(written):
            own[str(node.module)] = (ast.get_source_segment(source, node) or "") + "\n"
            public |= {*imported(node)}
    elsewhere = ours().get(inside, {})
    for family in sorted({*elsewhere.values()}):
        own[f"tercet.{family}"] = statement(
            f"tercet.{family}", (name for name in elsewhere if elsewhere[name] == family)
        )
    modules = generated_modules(package)
    root = ""
    if modules and inside:
        own[package] = statement(package, modules)
    elif modules:
        root = IMPORTS_OF_THE_ROOT.format(imports=textwrap.indent(statement(package, modules), "    "))
    theirs = {*public_modules().get(inside, ())} | {*tasks().get(inside, ())} & experimental_names()
    theirs -= public | modules | {*elsewhere}
    public |= theirs | modules | {*elsewhere}
    head = "" if written is not None else HEAD
    blocks = ["from typing import Any\n"] if root else []
    blocks += [statement(f"sklearn.{inside}".rstrip("."), theirs)] if theirs else []
    blocks += ["".join(own[module] for module in sorted(own))] if own else []
    blocks += [root, "__version__: str\n"] if root else []
    listed = "".join(f'    "{name}",\n' for name in sorted(public, key=_order))
    return head + "\n".join([*blocks, f"__all__ = [\n{listed}]\n" if public else "__all__: list[str] = []\n"])


def files() -> dict[Path, str]:
    """The texts of all files that are written."""
    found = {TABLE: table()}
    for inside in public_modules():
        folder = ROOT.joinpath(*inside.split(".")) if inside else ROOT
        path = folder / "__init__.pyi"
        hand_made = is_hand_made(folder / "__init__.py")
        found[path] = stub(f"tercet.{inside}".rstrip("."), path if hand_made else None)
        if not hand_made:
            found[path.with_suffix(".py")] = PASSED_ON
    return found


def main() -> None:
    for path, text in files().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    print(f"{len(public_modules())} modules written to {TABLE.name} and to their stubs")


if __name__ == "__main__":
    main()
