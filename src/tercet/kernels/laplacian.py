"""The Laplacian kernel."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np

from tercet.core.catalog import method
from tercet.core.parameters import NonNegative, Positive, check_parameters
from tercet.kernels._engine.prepared_rows import PreparedRows, common_float, kernel_layout, scaled_rows
from tercet.kernels.base import Kernel, numeric_gamma, resolve_gamma


@method(
    zh="拉普拉斯核",
    task="kernel",
    model="K(x, z) = exp(-|x - z| / sigma) = exp(-gamma |x - z|)",
    texts=["watermelon notes ch. 4, Table 6.1"],
    peers=["sklearn.metrics.pairwise.laplacian_kernel"],
)
class Laplacian(Kernel):
    """Laplacian kernel: falls with the distance, where the Gaussian falls with its square.

    Parameters
    ----------
    sigma : float, optional
        The distance at which the kernel is 1 / e: gamma = 1 / sigma.
    gamma : float, "scale" or "auto", optional
        Factor of the distance; "scale" is 1 / (columns * variance of X), "auto" is 1 / columns.
    norm : {"l2", "l1"}, default="l2"
        The distance: Euclidean as in the text, or the sum of absolute differences, as scikit-learn has it.

    Examples
    --------
    >>> from tercet.kernels import Laplacian
    >>> Laplacian(sigma=2.0)([[1, 2]], [[3, -1]]).round(8)
    array([[0.16484071]])
    """

    def __init__(
        self,
        sigma: Positive | None = None,
        gamma: NonNegative | Literal["scale", "auto"] | None = None,
        norm: Literal["l2", "l1"] = "l2",
    ) -> None:
        self.sigma = sigma
        self.gamma = gamma
        self.norm = norm

    def resolve(self, X: Any, sample_weight: np.ndarray | None = None) -> Self:
        check_parameters(self)
        if self.sigma is not None and self.gamma is not None:
            raise ValueError(f"Laplacian takes sigma or gamma; got {self.sigma} and {self.gamma}.")
        if self.sigma is not None or (self.gamma is not None and not isinstance(self.gamma, str)):
            return self
        return type(self)(gamma=resolve_gamma(self.gamma or "scale", X, sample_weight), norm=self.norm)

    @property
    def rate(self) -> float:
        """gamma in K(x, z) = exp(-gamma |x - z|)."""
        return numeric_gamma(self.gamma) if self.sigma is None else 1.0 / float(self.sigma)

    def prepare(self, X: Any, Z: Any) -> tuple[PreparedRows, PreparedRows]:
        if self.norm == "l2":
            return scaled_rows(X, Z, self.rate)
        left = _with_l1_norms(X, common_float(X, Z))
        return left, left if Z is X else _with_l1_norms(Z, common_float(X, Z))

    def tile(self, left: PreparedRows, right: PreparedRows) -> np.ndarray:
        if self.norm == "l1":
            values = left.l1_distances(right)
            with np.errstate(over="ignore"):
                values *= -values.dtype.type(min(self.rate, np.finfo(values.dtype).max))
        else:
            values = left.exponents(right)
            left.refine(right, values)  # the square root magnifies what cancellation leaves
            values *= -2
            np.sqrt(values, out=values)
            np.negative(values, out=values)
        return np.exp(values, out=values)

    def _diag(self, X: Any) -> np.ndarray:
        return np.ones(X.shape[0], dtype=X.dtype)


def _with_l1_norms(X: Any, dtype: Any) -> PreparedRows:
    """Rows with their L1 norms."""
    X = kernel_layout(X, dtype)
    return PreparedRows(X, np.asarray(abs(X).sum(axis=1)).reshape(-1))
