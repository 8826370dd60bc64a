# Written by `make names`.
from sklearn.callback import (
    AutoPropagatedCallback,
    CallbackContext,
    CallbackSupportMixin,
    FitCallback,
    ProgressBar,
    ScoringMonitor,
    ScoringMonitorLog,
    with_callbacks,
)

__all__ = [
    "AutoPropagatedCallback",
    "CallbackContext",
    "CallbackSupportMixin",
    "FitCallback",
    "ProgressBar",
    "ScoringMonitor",
    "ScoringMonitorLog",
    "with_callbacks",
]
