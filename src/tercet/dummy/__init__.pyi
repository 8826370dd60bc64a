# Written by `make names`.
from sklearn.dummy import (
    DummyClassifier,
    DummyRegressor,
)

__all__ = [
    "DummyClassifier",
    "DummyRegressor",
]
