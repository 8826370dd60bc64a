"""The linear kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.catalog import method
from tercet.kernels._engine.prepared_rows import squared_norms
from tercet.kernels.base import Kernel


@method(
    zh="线性核",
    task="kernel",
    model="K(x, z) = x·z",
    texts=["Li ch. 7, 7.3.1", "watermelon notes ch. 4, Table 6.1", "Pattern Recognition ch. 5, 5.5.2"],
    peers=["sklearn.metrics.pairwise.linear_kernel"],
)
class Linear(Kernel):
    """Linear kernel: the inner product itself.

    Examples
    --------
    >>> from tercet.kernels import Linear
    >>> Linear()([[1, 2]], [[3, -1]])
    array([[1.]])
    """

    def tile(self, left: Any, right: Any) -> np.ndarray:
        return left.finite_products(right)

    def _diag(self, X: Any) -> np.ndarray:
        return squared_norms(X)

    def features(self, X: Any) -> Any:
        """The rows themselves."""
        return self.check(X)
