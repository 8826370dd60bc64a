# Written by `make names`.
from sklearn.utils.parallel import (
    Parallel,
    delayed,
)

__all__ = [
    "Parallel",
    "delayed",
]
