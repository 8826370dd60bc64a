"""Support vector machines (支持向量机)."""

from tercet.core.lazy import lazy_package

lazy_package(__name__)
