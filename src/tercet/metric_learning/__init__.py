"""Metric learning: distances that are learned from labels, pairs or triplets."""

from tercet.core.lazy import lazy_package

lazy_package(__name__)
