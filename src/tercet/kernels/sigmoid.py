"""The sigmoid kernel."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np

from tercet.core.catalog import method
from tercet.core.parameters import Real, check_parameters
from tercet.kernels._engine.prepared_rows import squared_norms
from tercet.kernels.base import Kernel, resolve_gamma


@method(
    zh="Sigmoid 核",
    task="kernel",
    model="K(x, z) = tanh(gamma x·z + coef0)",
    texts=["watermelon notes ch. 4, Table 6.1", "Pattern Recognition ch. 5, eq. 5-55"],
    peers=["sklearn.metrics.pairwise.sigmoid_kernel"],
)
class Sigmoid(Kernel):
    """Sigmoid (tanh) kernel; its Gram matrices need not be positive semidefinite.

    Parameters
    ----------
    gamma : float, "scale" or "auto", default=1
        Factor of the inner product; "scale" is 1 / (columns * variance of X), "auto" is 1 / columns.
    coef0 : float, default=-1
        The constant.

    Examples
    --------
    >>> from tercet.kernels import Sigmoid
    >>> Sigmoid(gamma=0.5, coef0=-1.0)([[1, 2]], [[3, -1]]).round(8)
    array([[-0.46211716]])
    """

    def __init__(self, gamma: Real | Literal["scale", "auto"] = 1.0, coef0: Real = -1.0) -> None:
        self.gamma = gamma
        self.coef0 = coef0

    def resolve(self, X: Any, sample_weight: np.ndarray | None = None) -> Self:
        check_parameters(self)
        if not isinstance(self.gamma, str):
            return self
        return type(self)(resolve_gamma(self.gamma, X, sample_weight), self.coef0)

    def tile(self, left: Any, right: Any) -> np.ndarray:
        return self._apply(left.finite_products(right))

    def _diag(self, X: Any) -> np.ndarray:
        return self._apply(squared_norms(X))

    def _apply(self, products: np.ndarray) -> np.ndarray:
        """tanh(gamma p + coef0) of inner products, in place."""
        products *= products.dtype.type(self.gamma)
        products += products.dtype.type(self.coef0)
        return np.tanh(products, out=products)

    def features(self, X: Any) -> Any:
        """None: where the kernel is not positive semidefinite, it is no inner product."""
        self._no_feature_map("where it is not positive semidefinite, it is no inner product at all")
