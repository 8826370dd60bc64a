"""Measures: distances, information, impurity, labelled spans."""

from tercet.core.lazy import lazily

_modules = {
    "distance": (
        "METRICS",
        "MinkovDM",
        "chebyshev",
        "correlation",
        "cosine",
        "euclidean",
        "mahalanobis",
        "manhattan",
        "minkowski",
        "pairwise_distances",
        "squared_euclidean",
        "vdm",
    ),
    "impurity": (
        "classification_error",
        "gini",
        "gini_index",
        "half_entropy",
        "label_gini",
    ),
    "information": (
        "conditional_entropy",
        "cross_entropy",
        "entropy",
        "information_gain",
        "information_gain_ratio",
        "joint_entropy",
        "js_divergence",
        "kl_density",
        "kl_dirichlet",
        "kl_divergence",
        "kl_gaussian",
        "label_conditional_entropy",
        "label_entropy",
        "mutual_information",
    ),
    "sequence": (
        "allowed_transitions",
        "convert_scheme",
        "guess_scheme",
        "sequence_accuracy",
        "span_f1",
        "span_precision",
        "span_recall",
        "span_report",
        "span_scores",
        "spans_to_tags",
        "tag_accuracy",
        "tag_scores",
        "tags_to_spans",
    ),
}
__all__ = sorted(name for names in _modules.values() for name in names)
__getattr__, __dir__ = lazily(
    __name__, {name: f"{__name__}.{module}" for module, names in _modules.items() for name in names}
)
