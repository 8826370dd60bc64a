"""The base class of kernel machines: estimators that use their rows through a kernel only.

What they learn is a kernel expansion, f(x) = Σ_j coef_j K(x, x_j) + b. Such a class has the parameters `kernel`,
`gamma`, `degree`, `coef0` and `n_jobs`, derives from `KernelMachine` first and from `Classifier`, `Regressor` ...
after it, and in its `_fit(X, y, sample_weight)` says

    kernel = self._resolve_kernel(X, sample_weight)       # gamma="scale" becomes a number
    gram = kernel(X, n_jobs=self.n_jobs)                  # X itself when it is a Gram matrix
    self.support_vectors_ = self._expansion_rows(X, rows) # the training rows that predictions need

and in its predictions `self._kernel_expansion(self._check(X, reset=False), self.support_vectors_, coef)`.

Centring avoids cancellation in the linear kernel: inner products of rows with a large mean (a year, a time stamp)
are large numbers that differ in their last digits. Where an unpenalised intercept b makes the coefficients of
f(x) = Σ_j coef_j x_j·x + b sum to 0, a machine learned from the rows x - o has the same coefficients and the same
w = Σ_j coef_j x_j for any offset o, and its b is larger by w·o.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_consistent_length

from tercet.core.estimator import NO_TARGET, Estimator
from tercet.core.fitted_checks import Floats, Having, Indices, Keys, Labels
from tercet.core.input_errors import Explaining
from tercet.core.validation import check_structure, validate_data
from tercet.kernels._engine.prepared_rows import squared_norms
from tercet.kernels.base import Kernel
from tercet.kernels.from_function import FromFunction
from tercet.kernels.gaussian import Gaussian
from tercet.kernels.laplacian import Laplacian
from tercet.kernels.linear import Linear
from tercet.kernels.polynomial import Polynomial
from tercet.kernels.precomputed import Precomputed
from tercet.kernels.sigmoid import Sigmoid

NAMES = ("linear", "poly", "polynomial", "rbf", "laplacian", "sigmoid", "precomputed")
FAR = 100.0  # the square of the mean beside the variance, of all features together


def _resolved(model: Any) -> Any:
    return (
        Keys({"gamma": Floats("", finite=True)})
        if isinstance(model._settled, dict)
        else Having({}, ("times",))
    )


class KernelMachine(Estimator):
    """Base of estimators with a kernel: input checks by what the kernel takes, and kernel expansions.

    Examples
    --------
    >>> from tercet.svm import SVR
    >>> model = SVR(kernel="rbf", gamma="scale").fit([[0.0], [2.0]], [1.0, 3.0])
    >>> isinstance(model, KernelMachine), model.kernel_.gamma
    (True, 1.0)
    """

    batch_rounding = 1e-12  # kernel rows are products by BLAS
    takes_objects: ClassVar[bool] = False  # whether a user's function may take rows that are no numbers
    kernel: Any
    gamma: Any
    degree: Any
    coef0: Any
    _settled: Any  # the resolved kernel, or the gamma of a named one; model files know it by this name
    fitted_shapes = {"_settled": _resolved}

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
        if vars(self).get("_objects", False):
            return "objects"
        takes = getattr(self.kernel, "takes", "vectors")
        return "numbers" if takes == "gram" and self.kernel.holds_gram else takes

    @property
    def _is_linear(self) -> bool:
        """Whether f(x) = w·x + b."""
        return isinstance(self.kernel, Linear) or (isinstance(self.kernel, str) and self.kernel == "linear")

    def _expansion_rows(self, X: Any, rows: np.ndarray) -> Any:
        """The training rows x_j of the expansion, as the kernel takes them; of a Gram matrix, column numbers."""
        return rows.astype(np.int64) if self._takes == "gram" else X[rows]

    def _declared_rows(self) -> Any:
        """What is relied on in the rows of a loaded expansion (see `core.fitted_checks`)."""
        by_kind: dict[str, Any] = {
            "vectors": Floats("rows* features", finite=True),
            "gram": Indices("rows*", below="features"),
            "numbers": Indices("rows*", below=str(2**62)),  # NumPy looks them up, and checks them
        }
        return by_kind.get(self._takes, Labels("rows*"))

    def _kernel_expansion(self, X: Any, points: Any, coef: np.ndarray) -> np.ndarray:
        """Σ_j coef_j K(x, point j) of checked rows X: of shape (n,), or (n, k) for coef of shape (n_points, k)."""
        check_structure(points, "A fitted attribute")  # no file may send a kernel out of bounds
        return self.kernel_.times(X, points, coef, n_jobs=getattr(self, "n_jobs", None))

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        if self.takes_objects and reset:
            self.__dict__.pop("_objects", None)
            if callable(self.kernel) and not isinstance(self.kernel, Kernel) and not are_numbers(X):
                self._objects = True
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
        rows = object_rows(X) if takes == "objects" else self.kernel.check(X)
        if not reset:
            self._check_widths(1)
        elif takes != "objects":
            self.n_features_in_ = 1
        if y is NO_TARGET:
            return rows
        y = validate_data(self, X="no_validation", y=y, multi_output=self.multi_output)
        with Explaining(X=rows, y=y):
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


def are_numbers(X: Any) -> bool:
    """Whether rows are a table of finite numbers."""
    if sparse.issparse(X):
        return True
    try:
        values = np.asarray(X)
        values = values.astype(np.float64) if values.dtype.kind == "O" else values
    except (ValueError, TypeError):  # no numbers, or rows of different lengths
        return False
    return values.ndim == 2 and values.dtype.kind in "fiub" and bool(np.isfinite(values).all())


def object_rows(X: Any) -> np.ndarray:
    """Rows that are no table of numbers, as an array; those of a list as an array of objects."""
    if isinstance(X, np.ndarray):
        return X
    if hasattr(X, "__array__"):
        return np.asarray(X, dtype=object)
    rows = np.empty(len(X), dtype=object)
    rows[:] = list(X)
    return rows


def as_kernel(
    kernel: Any,
    *,
    gamma: Any = "scale",
    degree: float = 3,
    coef0: float = 0.0,
    X: Any = None,
    sample_weight: np.ndarray | None = None,
) -> Kernel:
    """A kernel from what scikit-learn's machines take: a name, a callable or a kernel.

    Parameters
    ----------
    kernel : str, callable or Kernel
        A name: "linear", "poly", "rbf", "laplacian", "sigmoid" or "precomputed"; a callable that takes two matrices
        and gives their Gram matrix; or a kernel, for which the other parameters mean nothing.
    gamma : float, "scale", "auto" or None, default="scale"
        Of "poly", "rbf", "laplacian" and "sigmoid"; None is "auto".
    degree : float, default=3
        Of "poly".
    coef0 : float, default=0
        Of "poly" and "sigmoid".
    X : rows, optional
        The data from which "scale" and "auto" are found; without it they stay what they are.

    Examples
    --------
    >>> as_kernel("rbf", gamma="auto", X=np.ones((3, 4)))
    Gaussian(gamma=0.25)
    """
    found = _kernel_by_name(kernel, "auto" if gamma is None else gamma, degree, coef0)
    return found if X is None else found.resolve(X, sample_weight)


def _kernel_by_name(kernel: Any, gamma: Any, degree: float, coef0: float) -> Kernel:
    """The kernel, its gamma as it is."""
    if isinstance(kernel, Kernel):
        return kernel
    if callable(kernel):
        return FromFunction(kernel)
    if kernel == "linear":
        return Linear()
    if kernel in ("poly", "polynomial"):
        return Polynomial(degree, gamma, coef0)
    if kernel == "rbf":
        return Gaussian(gamma=gamma)
    if kernel == "laplacian":
        return Laplacian(gamma=gamma, norm="l1")
    if kernel == "sigmoid":
        return Sigmoid(gamma, coef0)
    if kernel == "precomputed":
        return Precomputed()
    raise ValueError(f"kernel must be a Kernel, a callable or one of {', '.join(NAMES)}; got {kernel!r}.")


# Centring ---------------------------------------------------------------------------------------------------


def centring_offset(
    kernel: Kernel, X: Any, rows: np.ndarray | None = None, weight: np.ndarray | None = None
) -> np.ndarray | None:
    """The mean of (some of) the rows X where centring pays: the kernel is linear and the mean far from 0.

    None elsewhere. Of sparse rows only columns without a zero are centred: zeros stay zeros.

    Parameters
    ----------
    kernel : Kernel
    X : array or CSR matrix of shape (n, d), or what else the kernel takes
    rows : array of row numbers, optional
    weight : array of shape (n,), or one for each of `rows`, optional

    Returns
    -------
    array of shape (d,) or None

    Examples
    --------
    >>> centring_offset(Linear(), np.array([[2019.0], [2021.0]]))
    array([2020.])
    """
    if not isinstance(kernel, Linear) or not (isinstance(X, np.ndarray) or sparse.issparse(X)):
        return None
    X = X if rows is None else X[rows]
    n, d = X.shape
    if sparse.issparse(X):
        full = np.bincount(X.indices, minlength=d) == n if X.has_canonical_format else np.zeros(d, dtype=bool)
    else:
        full = np.ones(d, dtype=bool)
    if n == 0 or not full.any():
        return None
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        share = np.full(n, 1.0 / n) if weight is None else weight / weight.sum()
        # Sums that are not BLAS's: its bits depend on its threads.
        means = share @ X if sparse.issparse(X) else np.einsum("i,ij->j", share, X)
        mean = np.where(full, means, 0.0)
        variance = (share * squared_norms(subtract_offset(mean, X))).sum()
        return mean if FAR * variance < mean @ mean < np.inf else None


def subtract_offset(offset: np.ndarray | None, X: Any) -> Any:
    """The rows X - offset, in the precision of X; X itself without an offset.

    Examples
    --------
    >>> subtract_offset(np.array([2020.0]), np.array([[2019.0], [2021.0]]))
    array([[-1.],
           [ 1.]])
    """
    if offset is None:
        return X
    if not sparse.issparse(X):
        return (X - offset).astype(X.dtype, copy=False)
    centred = X.copy()
    centred.data = (X.data - offset[X.indices]).astype(X.dtype, copy=False)
    return centred


def primal_weights(coef: Any, points: Any) -> Any:
    """w = Σ_j coef_j x_j for coefficients that sum to 0, without cancellation.

    Examples
    --------
    >>> primal_weights(np.array([-1.0, 1.0]), np.array([[2019.0], [2021.0]]))
    array([2.])
    """
    offset = centring_offset(Linear(), points)
    return safe_sparse_dot(
        coef, points if offset is None else subtract_offset(offset, points.astype(np.float64, copy=False))
    )


def intercept_shift(coef: np.ndarray, X: Any, rows: np.ndarray, offset: np.ndarray | None) -> float:
    """w·offset, by which the intercept is larger for centred rows; w from coefficients of some rows of X.

    Examples
    --------
    >>> intercept_shift(
    ...     np.array([-1.0, 1.0]), np.array([[2019.0], [2021.0]]), np.arange(2), np.array([2020.0])
    ... )
    4040.0
    """
    if offset is None:
        return 0.0
    here = np.flatnonzero(coef)
    return float(coef[here] @ subtract_offset(offset, X[rows[here]].astype(np.float64)) @ offset)
