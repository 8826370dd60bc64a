"""Multi-class learning from two-class learners, and classes of unequal size."""

from tercet.multiclass.cascade import CascadeClassifier
from tercet.multiclass.one_vs_one import OneVsOneClassifier
from tercet.multiclass.one_vs_rest import OneVsRestClassifier
from tercet.multiclass.output_code import OutputCodeClassifier, code_distances, code_matrix
from tercet.multiclass.threshold import ThresholdMovingClassifier, rescale

__all__ = [
    "CascadeClassifier",
    "OneVsOneClassifier",
    "OneVsRestClassifier",
    "OutputCodeClassifier",
    "ThresholdMovingClassifier",
    "code_distances",
    "code_matrix",
    "rescale",
]
