from tercet.multiclass.cascade_classifier import CascadeClassifier
from tercet.multiclass.one_vs_one_classifier import OneVsOneClassifier
from tercet.multiclass.one_vs_rest_classifier import OneVsRestClassifier
from tercet.multiclass.output_code_classifier import OutputCodeClassifier
from tercet.multiclass.output_codes import code_distances, code_matrix
from tercet.multiclass.threshold_moving_classifier import ThresholdMovingClassifier, rescale

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
