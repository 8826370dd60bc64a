# Written by `make names`.
from sklearn.utils.extmath import (
    cartesian,
    density,
    fast_logdet,
    make_nonnegative,
    randomized_range_finder,
    row_norms,
    safe_sparse_dot,
    safe_sqr,
    softmax,
    squared_norm,
    stable_cumsum,
    svd_flip,
    weighted_mode,
)

from tercet.decomposition import (
    randomized_svd,
)

__all__ = [
    "cartesian",
    "density",
    "fast_logdet",
    "make_nonnegative",
    "randomized_range_finder",
    "randomized_svd",
    "row_norms",
    "safe_sparse_dot",
    "safe_sqr",
    "softmax",
    "squared_norm",
    "stable_cumsum",
    "svd_flip",
    "weighted_mode",
]
