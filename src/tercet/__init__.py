"""Tercet: every method is three lines: a model, a strategy, an algorithm."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_families = ("datasets", "discriminant_analysis", "linear_model", "metrics", "multiclass", "optimize", "plot")
_names = {
    "methods": "tercet.core.catalog",
    "EarlyStopping": "tercet.core.callbacks",
    "Recorder": "tercet.core.callbacks",
}
__all__ = ["EarlyStopping", "Recorder", "__version__", "methods", *_families]

if TYPE_CHECKING:
    from tercet.core.callbacks import EarlyStopping, Recorder
    from tercet.core.catalog import methods


def __getattr__(name: str) -> Any:
    # Families are imported when they are first used: `import tercet` itself loads next to nothing.
    if name in _families:
        return importlib.import_module(f"tercet.{name}")
    if name in _names:
        return getattr(importlib.import_module(_names[name]), name)
    raise AttributeError(f"module 'tercet' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
