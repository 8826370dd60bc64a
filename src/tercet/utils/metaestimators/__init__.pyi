# Written by `make names`.
from sklearn.utils.metaestimators import (
    available_if,
)

__all__ = [
    "available_if",
]
