"""The public names of the library: what its packages export, each at the place where its page is."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import tercet
from tercet.core.lazy import own_names

ROOT = Path(tercet.__file__).resolve().parent
# Beside the packages that have a stub.
MODULES = ("tercet.core.functions", "tercet.io", "tercet.losses", "tercet.penalties")


@dataclass(frozen=True)
class Name:
    """A public name: the module it is imported from, and where its page is."""

    module: str
    name: str
    home: str  # the module of its page: that of the name itself, or where an alias comes from

    @property
    def path(self) -> str:
        return f"{self.module}.{self.name}"

    @property
    def page(self) -> str:
        """The path of the page, without its ending.

        Case counts: file systems that do not tell `LASSO` from `lasso` must keep both pages.
        """
        return page_of(self.home, self.name)

    def load(self) -> Any:
        return getattr(importlib.import_module(self.module), self.name)


def page_of(module: str, name: str) -> str:
    small = name.islower()
    return f"api/{module}.{name}{'-function' if small and _has_twin(module, name) else ''}"


@cache
def _lower_names(module: str) -> dict[str, int]:
    counts: dict[str, int] = {}
    for name in exports(module):
        counts[name.lower()] = counts.get(name.lower(), 0) + 1
    return counts


def _has_twin(module: str, name: str) -> bool:
    return _lower_names(module).get(name.lower(), 0) > 1


@cache
def modules() -> list[str]:
    """The modules that names of ours are imported from: packages with a stub, and those that are listed."""
    stubs = [
        ".".join(("tercet", *file.parent.relative_to(ROOT).parts)) for file in ROOT.rglob("__init__.pyi")
    ]
    return sorted([*filter(exports, stubs), *MODULES])


@cache
def exports(module: str) -> tuple[str, ...]:
    """The public names of one module that are ours, without modules inside it."""
    names = own_names(module)
    return tuple(
        name for name in names if not inspect.ismodule(getattr(importlib.import_module(module), name))
    )


@cache
def names() -> tuple[Name, ...]:
    """All public names, module by module."""
    homes: dict[Any, str] = {}
    for module in modules():
        for name in exports(module):
            key = _identity(module, name)
            homes[key] = min(homes.get(key, module), module, key=lambda place: _distance(key, place))
    return tuple(
        Name(module, name, homes[_identity(module, name)]) for module in modules() for name in exports(module)
    )


def _identity(module: str, name: str) -> Any:
    """Two names are one if they are spelled alike and mean the same object."""
    thing = getattr(importlib.import_module(module), name)
    return name, id(thing), getattr(thing, "__module__", module) or module


def _distance(key: Any, place: str) -> tuple[bool, int, str]:
    """A name belongs to the family that its code is in; of several modules of it, to the outermost."""
    return key[2].split(".")[1:2] != place.split(".")[1:2], place.count("."), place


def pages() -> Iterator[Name]:
    """The names that have a page of their own: each thing once."""
    return (name for name in names() if name.module == name.home)
