"""Infinite feature values, which only have to be on the right side of thresholds."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.validation import is_finite


def without_infinity(X: Any) -> Any:
    """Infinite numbers as very large ones, which are on the same side of every threshold."""
    if isinstance(X, np.ndarray) and X.dtype.kind == "f":
        if is_finite(X) or not np.isinf(X).any():
            return X
        most = np.finfo(X.dtype).max / 4
        return np.clip(X, -most, most)
    if hasattr(X, "select_dtypes"):  # a frame of pandas
        columns = X.select_dtypes("floating").columns
        floats = X[columns].to_numpy(dtype=np.float64, na_value=np.nan)
        if np.isinf(floats).any():
            most = np.finfo(np.float64).max / 4
            return X.assign(**{name: X[name].clip(-most, most) for name in columns})
    return X
