"""Matrix decomposition: singular values, principal components, non-negative factors."""

from tercet.core.lazy import lazy_package

lazy_package(__name__)
