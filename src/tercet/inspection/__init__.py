"""What a fitted model relies on: contributions of features, importances, partial dependence, rules."""

from tercet.core.lazy import lazy_package

lazy_package(__name__)
