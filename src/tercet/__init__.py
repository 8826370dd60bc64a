"""Tercet: every method is three lines: a model, a strategy, an algorithm."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tercet.core.lazy import lazily

if TYPE_CHECKING:
    from tercet.core.callbacks import EarlyStopping, Recorder
    from tercet.core.catalog import methods
    from tercet.core.engines import engine

__version__ = "0.1.0"

_families = (
    "cluster",
    "datasets",
    "decomposition",
    "discriminant_analysis",
    "distributions",
    "ensemble",
    "export",
    "feature",
    "feature_extraction",
    "graph",
    "graphical",
    "inspection",
    "io",
    "kernel_machines",
    "kernel_ridge",
    "kernels",
    "linear_model",
    "losses",
    "manifold",
    "metrics",
    "mixture",
    "model_selection",
    "multiclass",
    "naive_bayes",
    "neighbors",
    "optimize",
    "penalties",
    "plot",
    "sampling",
    "sequence",
    "svm",
    "theory",
    "topic",
    "tree",
)
__all__ = ["EarlyStopping", "Recorder", "__version__", "engine", "methods", *_families]
# Families are imported when they are first used: `import tercet` itself loads next to nothing.
__getattr__, __dir__ = lazily(
    __name__,
    {
        "EarlyStopping": "tercet.core.callbacks",
        "Recorder": "tercet.core.callbacks",
        "engine": "tercet.core.engines",
        "methods": "tercet.core.catalog",
        **{family: f"tercet.{family}" for family in _families},
    },
)
