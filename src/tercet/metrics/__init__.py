"""Measures: distances, information, impurity, labelled spans."""

from tercet.core.lazy import lazy_package

lazy_package(__name__)
