# Written by `make names`.
from sklearn.utils.class_weight import (
    compute_class_weight,
    compute_sample_weight,
)

__all__ = [
    "compute_class_weight",
    "compute_sample_weight",
]
