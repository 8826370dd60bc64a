"""Ensembles: boosting, bagging and forests, and ways to combine the answers of several methods."""

from tercet.core.lazy import lazy_package

__getattr__, __dir__, __all__ = lazy_package(__name__)
