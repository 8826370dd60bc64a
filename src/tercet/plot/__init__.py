"""Pictures of what a method learned (needs matplotlib: `pip install tercet[plot]`)."""

from tercet.core.lazy import lazy_package

__getattr__, __dir__, __all__ = lazy_package(__name__)
