# Written by `make names`.
from sklearn.impute import (
    IterativeImputer,
    KNNImputer,
    MissingIndicator,
    SimpleImputer,
)

__all__ = [
    "IterativeImputer",
    "KNNImputer",
    "MissingIndicator",
    "SimpleImputer",
]
