"""From tables to numbers: what the columns are, and features made of them."""

from tercet.core.lazy import lazy_package

# Looking at a table does without scikit-learn.
__getattr__, __dir__, __all__ = lazy_package(__name__)
