"""Tercet: every method is three lines: a model, a strategy, an algorithm."""

from tercet.core.lazy import lazy_package

__version__ = "0.1.0"

# Families are imported when they are first used: `import tercet` itself loads next to nothing.
lazy_package(__name__)
