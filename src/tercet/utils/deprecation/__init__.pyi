# Written by `make names`.
from sklearn.utils.deprecation import (
    deprecated,
)

__all__ = [
    "deprecated",
]
