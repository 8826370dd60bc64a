"""Metric learning: distances that are learned from labels, pairs or triplets."""

from tercet.core.lazy import lazy_package

__getattr__, __dir__, __all__ = lazy_package(__name__)
