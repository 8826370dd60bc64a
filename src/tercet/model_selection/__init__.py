"""Which method is better, and how sure one can be."""

from tercet.core.lazy import lazy_package

lazy_package(__name__)
