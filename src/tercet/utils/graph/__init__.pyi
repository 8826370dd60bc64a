# Written by `make names`.
from sklearn.utils.graph import (
    single_source_shortest_path_length,
)

__all__ = [
    "single_source_shortest_path_length",
]
