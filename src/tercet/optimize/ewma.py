"""Exponentially weighted moving averages (指数加权移动平均)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from tercet.core.catalog import method

__all__ = ["ewma", "ewma_weights"]


@method(
    zh="指数加权移动平均",
    task="optimisation",
    model="v_t = (1 - beta) sum of beta^(t - i) g_i",
    texts=["Li ch. 29, sec. 29.2, eq. 29.4, 29.7"],
    peers=["pandas.DataFrame.ewm"],
)
def ewma(values: ArrayLike, beta: float, *, bias_correction: bool = False) -> np.ndarray:
    """Exponentially weighted moving average: v_t = beta v_(t-1) + (1 - beta) g_t from v_0 = 0.

    Parameters
    ----------
    values : array-like of shape (n,) or (n, ...)
        g_1, g_2, ...
    beta : float
        In [0, 1): how much of the past is kept.
    bias_correction : bool, default=False
        Divide by 1 - beta^t, so that the weights sum to one.

    Returns
    -------
    averages : array of the shape of `values`

    Examples
    --------
    >>> ewma([1.0, 1.0, 1.0], 0.5), ewma([1.0, 1.0, 1.0], 0.5, bias_correction=True)
    (array([0.5  , 0.75 , 0.875]), array([1., 1., 1.]))
    """
    from scipy.signal import lfilter  # slow to import, and needed here only

    values = np.asarray(values, dtype=float)
    _check_beta(beta)
    averages = lfilter([1.0 - beta], [1.0, -beta], values, axis=0)
    if bias_correction:
        sums = 1.0 - beta ** np.arange(1, len(values) + 1)
        averages /= sums.reshape(-1, *[1] * (values.ndim - 1))
    return averages


def ewma_weights(n: int, beta: float) -> np.ndarray:
    """Weights (1 - beta) beta^(n - i) of the n values in their last average, first to last (Li eq. 29.4).

    Examples
    --------
    >>> ewma_weights(3, 0.5)
    array([0.125, 0.25 , 0.5  ])
    """
    _check_beta(beta)
    return (1.0 - beta) * beta ** np.arange(n - 1.0, -1.0, -1.0)


def _check_beta(beta: float) -> None:
    if not 0 <= beta < 1:
        raise ValueError(f"beta must be in [0, 1); got {beta!r}.")
