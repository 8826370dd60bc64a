# Written by `make names`.
from sklearn.cross_decomposition import (
    CCA,
    PLSSVD,
    PLSCanonical,
    PLSRegression,
)

__all__ = [
    "CCA",
    "PLSSVD",
    "PLSCanonical",
    "PLSRegression",
]
