"""Support vector machines (支持向量机)."""

from tercet.core.lazy import lazy_package

__getattr__, __dir__, __all__ = lazy_package(__name__)
