"""Risks, and bounds on what a method does on new rows."""

from tercet.core.lazy import lazy_package

lazy_package(__name__)
