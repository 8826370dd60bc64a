# Written by `make names`.
from sklearn.isotonic import (
    IsotonicRegression,
    check_increasing,
    isotonic_regression,
)

__all__ = [
    "IsotonicRegression",
    "check_increasing",
    "isotonic_regression",
]
