# Written by `make names`.
from sklearn.utils.sparsefuncs_fast import (
    assign_rows_csr,
    csc_mean_variance_axis0,
    csr_matmul_csr_to_dense,
    csr_mean_variance_axis0,
    csr_row_norms,
    incr_mean_variance_axis0,
    inplace_csr_row_normalize_l1,
    inplace_csr_row_normalize_l2,
)

__all__ = [
    "assign_rows_csr",
    "csc_mean_variance_axis0",
    "csr_matmul_csr_to_dense",
    "csr_mean_variance_axis0",
    "csr_row_norms",
    "incr_mean_variance_axis0",
    "inplace_csr_row_normalize_l1",
    "inplace_csr_row_normalize_l2",
]
