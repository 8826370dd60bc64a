"""Packages whose names are imported when they are first used."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any


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
