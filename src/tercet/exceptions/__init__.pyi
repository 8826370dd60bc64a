# Written by `make names`.
from sklearn.exceptions import (
    ConvergenceWarning,
    DataConversionWarning,
    DataDimensionalityWarning,
    EfficiencyWarning,
    EstimatorCheckFailedWarning,
    FitFailedWarning,
    NotFittedError,
    PositiveSpectrumWarning,
    SkipTestWarning,
    UndefinedMetricWarning,
    UnsetMetadataPassedError,
)

__all__ = [
    "ConvergenceWarning",
    "DataConversionWarning",
    "DataDimensionalityWarning",
    "EfficiencyWarning",
    "EstimatorCheckFailedWarning",
    "FitFailedWarning",
    "NotFittedError",
    "PositiveSpectrumWarning",
    "SkipTestWarning",
    "UndefinedMetricWarning",
    "UnsetMetadataPassedError",
]
