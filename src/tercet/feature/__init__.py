"""From tables to numbers: what the columns are, and features made of them."""

from tercet.core.lazy import lazy_package

# Looking at a table does without scikit-learn.
lazy_package(__name__)
