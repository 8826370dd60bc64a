"""What every family stands on."""

from __future__ import annotations

from typing import Any

__all__ = ["ConstantClassifier"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tercet.core.meta import ConstantClassifier

    return ConstantClassifier
