"""Embedded data, generators and readers."""

from tercet.core.lazy import lazy_package

# The readers do without scikit-learn, and the embedded data without polars.
lazy_package(__name__)
