# Written by `make names`.
from sklearn.utils.random import (
    sample_without_replacement,
)

__all__ = [
    "sample_without_replacement",
]
