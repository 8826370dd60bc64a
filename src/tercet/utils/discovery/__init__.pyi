# Written by `make names`.
from sklearn.utils.discovery import (
    all_displays,
    all_estimators,
    all_functions,
)

__all__ = [
    "all_displays",
    "all_estimators",
    "all_functions",
]
