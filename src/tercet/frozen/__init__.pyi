# Written by `make names`.
from sklearn.frozen import (
    FrozenEstimator,
)

__all__ = [
    "FrozenEstimator",
]
