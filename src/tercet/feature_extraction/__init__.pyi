# Written by `make names`.
from sklearn.feature_extraction import (
    DictVectorizer,
    grid_to_graph,
    img_to_graph,
)

from tercet.feature import (
    FeatureHasher,
)
from tercet.feature_extraction import (
    image,
    text,
)

__all__ = [
    "DictVectorizer",
    "FeatureHasher",
    "grid_to_graph",
    "image",
    "img_to_graph",
    "text",
]
