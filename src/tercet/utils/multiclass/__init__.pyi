# Written by `make names`.
from sklearn.utils.multiclass import (
    check_classification_targets,
    class_distribution,
    is_multilabel,
    type_of_target,
    unique_labels,
)

__all__ = [
    "check_classification_targets",
    "class_distribution",
    "is_multilabel",
    "type_of_target",
    "unique_labels",
]
