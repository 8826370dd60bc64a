"""Metadata routing from `fit` to splitters and scorers, as scikit-learn defines it."""

from __future__ import annotations

from typing import Any

from sklearn import get_config
from sklearn.utils.metadata_routing import process_routing


def routing_enabled() -> bool:
    """Whether scikit-learn is set to route metadata."""
    return bool(get_config()["enable_metadata_routing"])


def route(estimator: Any, sample_weight: Any, params: dict[str, Any]) -> Any:
    """What each receiver gets of a fit's metadata; None when routing is not enabled."""
    if routing_enabled():
        return process_routing(estimator, "fit", sample_weight=sample_weight, **params)
    if params:
        raise ValueError(
            f"{type(estimator).__name__}.fit: {sorted(params)} can be passed only with metadata routing enabled: "
            "it is only supported if enable_metadata_routing=True in sklearn.set_config."
        )
    return None
