# Written by `make names`.
from sklearn.utils.sparsefuncs import (
    count_nonzero,
    csc_median_axis_0,
    incr_mean_variance_axis,
    inplace_column_scale,
    inplace_csr_column_scale,
    inplace_csr_row_scale,
    inplace_row_scale,
    inplace_swap_column,
    inplace_swap_row,
    inplace_swap_row_csc,
    inplace_swap_row_csr,
    mean_variance_axis,
    min_max_axis,
    sparse_matmul_to_dense,
)

__all__ = [
    "count_nonzero",
    "csc_median_axis_0",
    "incr_mean_variance_axis",
    "inplace_column_scale",
    "inplace_csr_column_scale",
    "inplace_csr_row_scale",
    "inplace_row_scale",
    "inplace_swap_column",
    "inplace_swap_row",
    "inplace_swap_row_csc",
    "inplace_swap_row_csr",
    "mean_variance_axis",
    "min_max_axis",
    "sparse_matmul_to_dense",
]
