"""Embedded data, generators and readers."""

from tercet.core.lazy import lazy_package

# The readers do without scikit-learn, and the embedded data without polars.
__getattr__, __dir__, __all__ = lazy_package(__name__)
