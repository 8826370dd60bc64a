"""Multi-class learning from two-class learners, and classes of unequal size."""

from tercet.core.lazy import lazy_package

lazy_package(__name__)
