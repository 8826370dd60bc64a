# Written by `make names`.
from sklearn.multioutput import (
    ClassifierChain,
    MultiOutputClassifier,
    MultiOutputRegressor,
    RegressorChain,
)

__all__ = [
    "ClassifierChain",
    "MultiOutputClassifier",
    "MultiOutputRegressor",
    "RegressorChain",
]
