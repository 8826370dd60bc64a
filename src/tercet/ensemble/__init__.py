"""Ensembles: boosting, bagging and forests, and ways to combine the answers of several methods."""

from tercet.core.lazy import lazy_package

lazy_package(__name__)
