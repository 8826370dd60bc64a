"""Packages whose names are imported when they are first used, and what they pass on of scikit-learn.

A first fit should load the method's own modules, not those of its whole family: loading a module that defines
kernels costs some milliseconds, and a family has a hundred.

Every public name of scikit-learn is found under `tercet` in the module of the same name: ours where there is one,
otherwise scikit-learn's own object. Three places say which:

- a family's stub, `__init__.pyi`, has the imports that an eager `__init__.py` would have: our names;
- `scikit_learn_names.json` lists the public names of scikit-learn's modules, so that `dir` does without importing
  them. `make names` writes it, the stubs that type checkers read, and the modules that have no code of ours
  (`pass_on`);
- scikit-learn itself is asked for any other name, such as one that a later version has.
"""

from __future__ import annotations

import ast
import functools
import importlib
import json
import sys
import threading
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.abc import Loader
else:
    Loader = object  # (that of `importlib.abc` takes longer to load than all the rest)

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "scikit_learn_names.json"
_lock = threading.RLock()


@functools.cache
def scikit_learn_table() -> dict[str, Any]:
    """The table of scikit-learn's public names, of the version that it was made from.

    Returns
    -------
    table : dict
        "version" of scikit-learn, as in "1.9"; "modules", the public names of each module; "ours", for each module
        that has no code of ours, its names that are ours, with their families; "tasks", what each estimator of
        scikit-learn is for, by its module.

    Examples
    --------
    >>> table = scikit_learn_table()
    >>> table["modules"]["isotonic"], table["ours"]["kernel_ridge"]
    (['IsotonicRegression', 'check_increasing', 'isotonic_regression'], {'KernelRidge': 'kernel_machines'})
    """
    table: dict[str, Any] = json.loads(TABLE.read_text(encoding="utf-8"))
    return table


def is_passed_on(module: str) -> bool:
    """Whether a module, without `tercet.`, has no code of ours: all of it comes from the table.

    Examples
    --------
    >>> is_passed_on("preprocessing"), is_passed_on("linear_model"), is_passed_on("metrics.pairwise")
    (True, False, True)
    """
    return module in scikit_learn_table()["ours"]


def own_names(package: str) -> list[str]:
    """The public names of a module that are ours, not passed on from scikit-learn.

    Examples
    --------
    >>> own_names("tercet.preprocessing")
    ['KBinsDiscretizer', 'OrdinalEncoder', 'TargetEncoder']
    """
    inside = package.partition(".")[2]
    if is_passed_on(inside):
        return sorted(scikit_learn_table()["ours"][inside])
    module = importlib.import_module(package)
    if not isinstance(module, _LazyPackage):
        return defined_names(module)
    return [name for name in sorted(module._places) if not is_passed_on(f"{inside}.{name}".lstrip("."))]


def defined_names(module: ModuleType) -> list[str]:
    """What a module says is public, or else the public names of what it defines.

    Examples
    --------
    >>> import sklearn.dummy
    >>> defined_names(sklearn.dummy)
    ['DummyClassifier', 'DummyRegressor']
    """
    own = (
        name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__
    )
    return sorted(getattr(module, "__all__", (name for name in own if not name.startswith("_"))))


class _LazyPackage(ModuleType):
    """A package whose names are imported when they are first asked for.

    A name is one of ours, or else a module inside, or else what scikit-learn's module of the same name has.

    Attributes
    ----------
    _places : our public names, each with the module that has it and its name there.
    _missing : names that were asked for in vain, each with the end of the message about it.
    """

    _places: dict[str, tuple[str, str]]
    _missing: dict[str, str]

    def __setattr__(self, name: str, value: Any) -> None:
        # Importing `tercet.cluster.k_means` sets the attribute `k_means` of `tercet.cluster` to the module; the
        # function `k_means` is what the package promises.
        if not (isinstance(value, ModuleType) and self._promises(name)):
            super().__setattr__(name, value)

    def _promises(self, name: str) -> bool:
        """Whether a public name is something else than a module."""
        if name in self._places:
            return self._places[name][0] != self.__name__
        inside = f"{self._inside}.{name}".lstrip(".")
        tables = scikit_learn_table()["modules"]
        return name in tables.get(self._inside, ()) and inside not in tables

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            return sorted({*self._places, *self._passed_on()})
        if name.startswith("_") and not self._promises(name):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        found = self._find(name)
        self.__dict__[name] = found  # from now on an attribute like any other
        return found

    def __dir__(self) -> list[str]:
        inside = f"{self._inside}." if self._inside else ""
        modules = scikit_learn_table()["modules"] if self._has_peer() else ()
        parts = (module.removeprefix(inside) for module in modules if module.startswith(inside))
        return sorted({*self.__all__, *(part for part in parts if part and "." not in part)})

    @property
    def _inside(self) -> str:
        """The name without `tercet.`."""
        return self.__name__.partition(".")[2]

    def _has_peer(self) -> bool:
        """Whether scikit-learn has a module of the same name."""
        return self._inside in scikit_learn_table()["modules"] or self.__dict__.get("__file__") is None

    def _passed_on(self) -> list[str]:
        """The public names of scikit-learn's module; as the table has them for the version that is installed."""
        table = scikit_learn_table()
        names: list[str] = table["modules"].get(self._inside, [])
        if not self._has_peer() or _scikit_learn_version().startswith(f"{table['version']}."):
            return names
        peer = _scikit_learn_module(self._inside)
        hidden = ("externals",)  # what other projects wrote
        return sorted({name for name in (*names, *defined_names(peer)) if hasattr(peer, name)} - {*hidden})

    def _find(self, name: str) -> Any:
        if name in self._places:
            place, own_name = self._places[name]
            if threading.active_count() > 1:
                _import_circles()
            if place == self.__name__:  # `from tercet.rules import logic`: a package inside this one
                return importlib.import_module(f"{place}.{own_name}")
            return getattr(importlib.import_module(place), own_name)
        if not self._promises(name) and self._has_module(name):
            return importlib.import_module(f"{self.__name__}.{name}")
        if self._has_peer():
            peer, inside = _scikit_learn_module(self._inside), f"{self._inside}.{name}".lstrip(".")
            # (`sklearn.setup_module` is for its tests)
            found = hasattr(peer, name) and (self._inside or name in peer.__all__)
            if found and not isinstance(getattr(peer, name), ModuleType):
                return getattr(peer, name)
            if found and _exists(inside):  # a module that the table does not have yet
                return importlib.import_module(f"tercet.{inside}")
        if name not in self._missing:
            self._missing[name] = self._about_missing(name)
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}{self._missing[name]}")

    def _has_module(self, name: str) -> bool:
        if is_passed_on(f"{self._inside}.{name}".lstrip(".")):
            return True
        spec = PathFinder.find_spec(f"{self.__name__}.{name}", self.__path__)
        return spec is not None and spec.origin is not None

    def _about_missing(self, name: str) -> str:
        """What to add to the message about a name that there is not: where it is, or what is spelled like it."""
        from tercet.core.catalog import SCIKIT_LEARN, methods
        from tercet.core.spelling_suggestions import spelling_suggestions

        both = f"; neither Tercet nor scikit-learn {_scikit_learn_version()} has it here"
        both = both if self._has_peer() else ""
        tables = scikit_learn_table()["modules"].items()
        elsewhere = [f"tercet.{module}".rstrip(".") for module, names in tables if name in names]
        elsewhere += [card.module for card in methods() if card.name == name and card.kind != SCIKIT_LEARN]
        if elsewhere:
            return f"{both}. It is in {min(elsewhere, key=len)}."
        longer = [one for one in dir(self) if len(name) > 3 and one.startswith(name)]  # RIPPER, say
        close = spelling_suggestions(name, dir(self), 3) or longer[:3]
        return f"{both}. Did you mean {' or '.join(map(repr, close))}?" if close else f"{both}."


def optional_module(name: str, needed_for: str, extra: str) -> ModuleType:
    """A module of a package that Tercet installs only with one of its extras.

    Raises
    ------
    ModuleNotFoundError
        With the extra to install, where the package is not there.

    Examples
    --------
    >>> optional_module("json", "Reports need", "cli").__name__
    'json'
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        package = name.partition(".")[0]
        if (error.name or package).partition(".")[
            0
        ] != package:  # the package is there, and lacks another one
            raise
        raise ModuleNotFoundError(
            f'{needed_for} {package}, which is not installed: pip install "tercet[{extra}]".', name=package
        ) from None


def lazy_package(package: str) -> None:
    """Make a package lazy: its names are those that its stub `__init__.pyi` imports, and scikit-learn's.

    Type checkers and editors read the same stub.

    Examples
    --------
    >>> from tercet import cluster
    >>> cluster.KMeans.__name__, "KMeans" in cluster.__all__, "Birch" in cluster.__all__
    ('KMeans', True, True)
    """
    module = sys.modules[package]
    stub = Path(str(module.__file__)).with_suffix(".pyi")
    _make_lazy(
        module,
        {
            alias.asname or alias.name: (str(statement.module), alias.name)
            for statement in ast.walk(ast.parse(stub.read_text(encoding="utf-8")))
            if isinstance(statement, ast.ImportFrom) and str(statement.module).partition(".")[0] == "tercet"
            for alias in statement.names
        },
    )


def _make_lazy(module: ModuleType, places: dict[str, tuple[str, str]]) -> None:
    module.__dict__.update(_places=places, _missing={})
    module.__class__ = _LazyPackage


@functools.cache
def _scikit_learn_version() -> str:
    """The version that is installed."""
    known = getattr(sys.modules.get("sklearn"), "__version__", None)  # None while another thread imports it
    if known is not None:
        return str(known)
    from importlib.metadata import version  # loads more than all the rest

    return version("scikit-learn")


def pass_on(name: str) -> None:
    """Make a module one of scikit-learn's names, and of ours in their place.

    Each of these modules is a file that calls this. A finder on `sys.meta_path` would need no files, but only the
    code of `tercet` could install it, and a thread that imports `tercet.pipeline` does not wait for another one
    that has begun to import `tercet` and has not run its code yet. The files import `tercet` first, to wait for
    that thread before they take the lock of this module, which it needs: otherwise each would wait for the other.

    Examples
    --------
    >>> from tercet import kernel_ridge
    >>> pass_on("tercet.kernel_ridge")
    >>> kernel_ridge.KernelRidge.__module__
    'tercet.kernel_machines.kernel_ridge'
    """
    module = sys.modules[name]
    inside = name.partition(".")[2]
    table = scikit_learn_table()
    ours = table["ours"].get(inside, {})
    _make_lazy(module, {name: (f"tercet.{family}", name) for name, family in ours.items()})
    said = f"\n\nOurs are {', '.join(ours)}." if ours else ""
    module.__doc__ = f"The public names of `sklearn.{inside}`.{said}"
    if not table["modules"].get(inside):  # `enable_iterative_imputer` is imported for what it does
        _scikit_learn_module(inside)


def _scikit_learn_module(inside: str) -> ModuleType:
    """Import a module of scikit-learn, in one thread at a time: its modules import each other in circles."""
    with _lock:
        return importlib.import_module(f"sklearn.{inside}".rstrip("."))


@functools.cache
def _import_circles() -> None:
    """Import modules that import each other in circles, in one thread while the others wait.

    Threads whose first imports enter a circle at two places would see modules that are not complete.
    """
    with _lock:
        for name in ("sklearn.metrics", "sklearn.model_selection", "sklearn.pipeline", "numba"):
            importlib.import_module(name)


class _LaterModules(Loader):
    """Finds and loads modules of scikit-learn that the table does not have; comes after all other finders.

    `from tercet.svm import SCV` looks for a module `tercet.svm.SCV`, too, when the package has no such name. Python
    would then say nothing but "cannot import name"; the error that is raised here says what there is.
    """

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        package, _, last = name.rpartition(".")
        parent = sys.modules.get(package)
        if not isinstance(parent, _LazyPackage) or last.startswith("_"):
            return None
        inside = name.partition(".")[2]
        if parent._has_peer() and _exists(inside):
            return ModuleSpec(name, self, origin=f"sklearn.{inside}", is_package=True)
        if last in parent._missing:
            # (of the name of the module that was looked for, Python would take the error for its own)
            raise ModuleNotFoundError(
                f"cannot import name {last!r} from {package!r}{parent._missing[last]}", name=package
            )
        return None

    def create_module(self, spec: ModuleSpec) -> None:
        """A module of the usual kind will do."""

    def exec_module(self, module: ModuleType) -> None:
        pass_on(module.__name__)


def _exists(inside: str) -> bool:
    """Whether scikit-learn has a module, which is not imported: a finder must not import anything."""
    spec = sys.modules["sklearn"].__spec__ if "sklearn" in sys.modules else PathFinder.find_spec("sklearn")
    for part in inside.split("."):
        if spec is None or not spec.submodule_search_locations:
            return False
        spec = PathFinder.find_spec(f"{spec.name}.{part}", spec.submodule_search_locations)
    return spec is not None


sys.meta_path.append(_LaterModules())
