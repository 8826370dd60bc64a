"""Exponential families and other distributions, parameter estimation, and joint probability tables."""

from tercet.core.lazy import lazy_package

lazy_package(__name__)
