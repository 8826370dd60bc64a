# Written by `make names`.
from sklearn.utils.arrayfuncs import (
    cholesky_delete,
    min_pos,
)

__all__ = [
    "cholesky_delete",
    "min_pos",
]
