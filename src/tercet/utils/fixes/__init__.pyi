# Written by `make names`.
from sklearn.utils.fixes import (
    pd_fillna,
    tarfile_extractall,
)

__all__ = [
    "pd_fillna",
    "tarfile_extractall",
]
