"""Packages whose names are imported when they are first used.

A first fit should load the method's own modules, not those of its whole family: loading a module that defines
kernels costs some milliseconds, and a family has a hundred.
"""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any


class _LazyPackage(ModuleType):
    """A package in which a public name is never hidden by the submodule of that name.

    Importing `tercet.cluster.k_means` sets the attribute `k_means` of `tercet.cluster` to the module; the function
    `k_means` is what the package promises.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if not (isinstance(value, ModuleType) and name in self.__dict__["_functions_named_as_modules"]):
            super().__setattr__(name, value)


def lazily(package: str, places: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` for a package: each name with the module that has it.

    A name whose place is itself a module of that name (`{"linear_model": "tercet.linear_model"}`) is the module.

    Examples
    --------
    >>> get, names = lazily("tercet", {"methods": "tercet.core.catalog", "core": "tercet.core"})
    >>> get("methods").__name__, get("core").__name__, names()
    ('methods', 'tercet.core', ['core', 'methods'])
    """

    def get(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = importlib.import_module(places[name])
        return module if places[name] == f"{package}.{name}" else getattr(module, name)

    return get, lambda: sorted(places)


def lazy_package(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package, as its stub `__init__.pyi` says.

    The stub has the imports that an eager `__init__.py` would have; type checkers and editors read the same file.

    Examples
    --------
    >>> get, names, public = lazy_package("tercet.cluster")
    >>> get("KMeans").__name__, "KMeans" in public
    ('KMeans', True)
    """
    module = sys.modules[package]
    stub = Path(str(module.__file__)).with_suffix(".pyi")
    places = {
        alias.asname or alias.name: (str(statement.module), alias.name)
        for statement in ast.parse(stub.read_text(encoding="utf-8")).body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }
    submodules = {
        place.rpartition(".")[2] for place, _ in places.values() if place.rpartition(".")[0] == package
    }
    module.__dict__["_functions_named_as_modules"] = submodules & set(places)
    module.__class__ = _LazyPackage

    def get(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        place, own_name = places[name]
        if place == package:  # `from tercet.rules import logic`: a package inside this one
            return importlib.import_module(f"{package}.{own_name}")
        found = getattr(importlib.import_module(place), own_name)
        setattr(module, name, found)  # from now on an attribute like any other
        return found

    return get, lambda: sorted(places), sorted(places)
