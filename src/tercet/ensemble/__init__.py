"""Ensembles: boosting, bagging and forests, and ways to combine the answers of several methods."""

import tercet  # noqa: F401 (waits for a thread that is importing it)
from tercet.core.lazy import lazy_package

lazy_package(__name__)
