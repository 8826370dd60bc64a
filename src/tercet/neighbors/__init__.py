"""Neighbours: search, classification, regression and density estimation by what is near."""

from tercet.core.lazy import lazy_package

lazy_package(__name__)
