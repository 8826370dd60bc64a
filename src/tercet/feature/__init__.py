"""From tables to numbers: what the columns are, and features made of them."""

import tercet  # noqa: F401 (waits for a thread that is importing it)
from tercet.core.lazy import lazy_package

# Looking at a table does without scikit-learn.
lazy_package(__name__)
