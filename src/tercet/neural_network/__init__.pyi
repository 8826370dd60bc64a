# Written by `make names`.
from sklearn.neural_network import (
    BernoulliRBM,
    MLPClassifier,
    MLPRegressor,
)

__all__ = [
    "BernoulliRBM",
    "MLPClassifier",
    "MLPRegressor",
]
