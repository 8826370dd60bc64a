# Written by `make names`.
from sklearn.calibration import (
    CalibratedClassifierCV,
    CalibrationDisplay,
    calibration_curve,
)

__all__ = [
    "CalibratedClassifierCV",
    "CalibrationDisplay",
    "calibration_curve",
]
