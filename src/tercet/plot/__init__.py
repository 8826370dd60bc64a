"""Pictures of what a method learned (needs matplotlib: `pip install tercet[plot]`)."""

from tercet.core.lazy import lazy_package

lazy_package(__name__)
