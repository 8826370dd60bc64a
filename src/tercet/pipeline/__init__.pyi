# Written by `make names`.
from sklearn.pipeline import (
    FeatureUnion,
    Pipeline,
    make_pipeline,
    make_union,
)

__all__ = [
    "FeatureUnion",
    "Pipeline",
    "make_pipeline",
    "make_union",
]
