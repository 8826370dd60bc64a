"""Embedded data, generators and readers."""

import tercet  # noqa: F401 (waits for a thread that is importing it)
from tercet.core.lazy import lazy_package

# The readers do without scikit-learn, and the embedded data without polars.
lazy_package(__name__)
