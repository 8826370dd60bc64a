# Written by `make names`.
from sklearn.gaussian_process import (
    GaussianProcessClassifier,
    GaussianProcessRegressor,
)

from tercet.gaussian_process import (
    kernels,
)

__all__ = [
    "GaussianProcessClassifier",
    "GaussianProcessRegressor",
    "kernels",
]
