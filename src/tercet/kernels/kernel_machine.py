"""The base class of kernel machines: estimators that use their rows through a kernel only.

What they learn is a kernel expansion, f(x) = Σ_j coef_j K(x, x_j) + b. Such a class has the parameters `kernel`,
`gamma`, `degree`, `coef0` and `n_jobs`, derives from `KernelMachine` first and from `Classifier`, `Regressor` ...
after it, and in its `_fit(X, y, sample_weight)` says

    kernel = self._resolve_kernel(X, sample_weight)       # gamma="scale" becomes a number
    gram = kernel(X, n_jobs=self.n_jobs)                  # X itself when it is a Gram matrix
    self.support_vectors_ = self._expansion_rows(X, rows) # the training rows that predictions need

and in its predictions `self._kernel_expansion(self._check(X, reset=False), self.support_vectors_, coef)`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_consistent_length, validate_data

from tercet.core.estimator import NO_TARGET, Estimator
from tercet.kernels.as_kernel import as_kernel
from tercet.kernels.base import Kernel
from tercet.kernels.linear import Linear


class KernelMachine(Estimator):
    """Base of estimators with a kernel: input checks by what the kernel takes, and kernel expansions."""

    batch_rounding = 1e-12  # kernel rows are products by BLAS
    kernel: Any
    gamma: Any
    degree: Any
    coef0: Any
    _settled: Any  # the resolved kernel, or the gamma of a named one; model files know it by this name

    @property
    def kernel_(self) -> Kernel:
        """The kernel of the fit, its data-dependent parameters resolved."""
        resolved = vars(self).get("_settled")
        if resolved is None:
            raise AttributeError(f"{type(self).__name__} has no kernel_ before fit.")
        return resolved if isinstance(resolved, Kernel) else self._make_kernel(resolved["gamma"])

    def _resolve_kernel(self, X: Any, sample_weight: np.ndarray | None = None) -> Kernel:
        """Resolve data-dependent parameters (gamma="scale") on the training rows; to be called by `_fit`."""
        kernel = self._make_kernel(self.gamma, X, sample_weight)
        # Of a named kernel, a model file holds a number and no further type to be trusted.
        self._settled = (
            kernel if isinstance(self.kernel, Kernel) else {"gamma": getattr(kernel, "gamma", 0.0)}
        )
        return kernel

    def _make_kernel(self, gamma: Any, X: Any = None, sample_weight: np.ndarray | None = None) -> Kernel:
        """The kernel of the parameters, with this gamma; resolved where rows X are given."""
        return as_kernel(
            self.kernel, gamma=gamma, degree=self.degree, coef0=self.coef0, X=X, sample_weight=sample_weight
        )

    @property
    def _takes(self) -> str:
        """What rows are: "vectors", "strings", rows of a "gram" matrix, or "numbers" of rows of a given one."""
        if isinstance(self.kernel, str):
            return "gram" if self.kernel == "precomputed" else "vectors"
        takes = getattr(self.kernel, "takes", "vectors")
        return "numbers" if takes == "gram" and self.kernel.holds_gram else takes

    @property
    def _is_linear(self) -> bool:
        """Whether f(x) = w·x + b."""
        return isinstance(self.kernel, Linear) or (isinstance(self.kernel, str) and self.kernel == "linear")

    def _expansion_rows(self, X: Any, rows: np.ndarray) -> Any:
        """The training rows x_j of the expansion, as the kernel takes them; of a Gram matrix, column numbers."""
        return rows.astype(np.int64) if self._takes == "gram" else X[rows]

    def _kernel_expansion(self, X: Any, points: Any, coef: np.ndarray) -> np.ndarray:
        """Σ_j coef_j K(x, point j) of checked rows X: of shape (n,), or (n, k) for coef of shape (n_points, k)."""
        if sparse.issparse(points):
            points.check_format(full_check=True)  # no file may send a kernel out of bounds
        return self.kernel_.times(X, points, coef, n_jobs=getattr(self, "n_jobs", None))

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        takes, name = self._takes, type(self).__name__
        if takes == "vectors":
            return super()._check(X, y, reset=reset)
        if takes == "gram":
            if sparse.issparse(X):
                raise TypeError(
                    f"{name}: Sparse precomputed kernels are not supported; give a Gram matrix as an array."
                )
            found = super()._check(X, y, reset=reset)
            gram = found if y is NO_TARGET else found[0]
            if reset and gram.shape[0] != gram.shape[1]:
                raise ValueError(
                    f"{name}: Precomputed matrix must be a square matrix: K of all training rows with each other; "
                    f"got {gram.shape[0]} x {gram.shape[1]}."
                )
            return found
        rows = self.kernel.check(X)
        if reset:
            self.n_features_in_ = 1
        else:
            self._check_widths(1)
        if y is NO_TARGET:
            return rows
        y = validate_data(self, X="no_validation", y=y, multi_output=self.multi_output)
        check_consistent_length(rows, y)
        return rows, y

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        takes = self._takes
        tags.input_tags.pairwise = takes == "gram"
        tags.input_tags.sparse = self.sparse_input and takes == "vectors"
        tags.input_tags.string = takes == "strings"
        tags.input_tags.one_d_array = takes == "strings"
        return tags
