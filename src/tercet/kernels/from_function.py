"""Kernels that the user writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from scipy import sparse

from tercet.core.catalog import method
from tercet.kernels._engine.prepared_rows import PreparedRows
from tercet.kernels._engine.prepared_strings import as_strings
from tercet.kernels.base import Kernel


@method(
    zh="自定义核",
    task="kernel",
    model="K(x, z) = function(x, z)",
    texts=["Li ch. 7, 7.3.1", "Pattern Recognition ch. 5, 5.5.2"],
    peers=["sklearn.metrics.pairwise.pairwise_kernels"],
)
class FromFunction(Kernel):
    """Kernel computed by a user's function.

    Parameters
    ----------
    function : callable
        Takes two matrices and gives their Gram matrix, or (with of="rows") two rows and gives a number.
    of : {"matrices", "rows"}, default="matrices"
        What the function takes.
    takes : {"vectors", "strings"}, default="vectors"
        What rows are.

    Examples
    --------
    >>> from tercet.kernels import FromFunction
    >>> FromFunction(lambda s, t: float(s == t), of="rows", takes="strings")(["a", "b", "a"])
    array([[1., 0., 1.],
           [0., 1., 0.],
           [1., 0., 1.]])
    """

    def __init__(
        self,
        function: Callable[..., Any],
        of: Literal["matrices", "rows"] = "matrices",
        takes: Literal["vectors", "strings"] = "vectors",
    ) -> None:
        self.function = function
        self.of = of
        self.takes = takes

    def check(self, X: Any) -> Any:
        return super().check(X) if self.takes == "vectors" else as_strings(X, "FromFunction")

    def prepare(self, X: Any, Z: Any) -> tuple[Any, Any]:
        return PreparedRows(X), PreparedRows(Z)

    def gram(self, X: Any, Z: Any, *, n_jobs: int | None = None) -> np.ndarray:
        # one call: the function may cost much to begin with, and may not be safe in threads
        return self.tile(PreparedRows(X), PreparedRows(Z))

    def tile(self, left: Any, right: Any) -> np.ndarray:
        X, Z = left.values, right.values
        shape = X.shape[0], Z.shape[0]
        if self.of == "matrices":
            found = self.function(_as_given(X), _as_given(Z))
            found = found.toarray() if sparse.issparse(found) else np.asarray(found)
        else:
            pairs = ([self.function(X[i], Z[j]) for j in range(shape[1])] for i in range(shape[0]))
            found = np.array(list(pairs), dtype=np.float64).reshape(shape)
        wrong = found.shape != shape or found.dtype.kind not in "fiub"
        if wrong or not np.all(np.isfinite(found)):
            got = f"{found.dtype} of {found.shape}" if wrong else "NaN or infinity"
            raise ValueError(f"The kernel function must give finite numbers of shape {shape}; got {got}.")
        return found.astype(np.float32 if found.dtype == np.float32 else np.float64)

    def times(self, X: Any, Z: Any, coef: np.ndarray, *, n_jobs: int | None = None) -> np.ndarray:
        return super().times(X, Z, coef, n_jobs=1)

    def _diag(self, X: Any) -> np.ndarray:
        rows = (PreparedRows(X[i : i + 1]) for i in range(X.shape[0]))
        return np.array([self.tile(row, row)[0, 0] for row in rows])

    def features(self, X: Any) -> Any:
        """None: the function does not say how it maps points."""
        self._no_feature_map("the function does not say how it maps points")


def _as_given(X: Any) -> Any:
    """Rows as the user gave them: objects came in a list."""
    return X.tolist() if isinstance(X, np.ndarray) and X.dtype.kind == "O" and X.ndim == 1 else X
