"""Kernel principal component analysis (核主成分分析)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np
from scipy import linalg, sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import pairwise_kernels

from tercet.core.catalog import method
from tercet.core.estimator import NO_TARGET, check_is_fitted, generator
from tercet.core.fitted_checks import Floats
from tercet.core.parallel import all_cores, one_blas_thread
from tercet.core.parameters import Count, CountOrZero, Jobs, NonNegative, Real, Seed
from tercet.core.scaling import largest
from tercet.core.symmetric_eigen import FEW, ArpackError, Solver, largest_eigenpairs
from tercet.core.validation import check_array, finite_predictions, target_for_callbacks
from tercet.kernels import FromFunction, Kernel, KernelMachine

NEGATIVE, POSITIVE = (
    1e-5,
    1e-12,
)  # parts of the largest eigenvalue: more below 0 is no rounding; less above 0 is


def _rows(model: KernelMachine) -> Any:
    return Floats("rows rows") if model._takes == "gram" else model._declared_rows()


@method(
    zh="核主成分分析",
    task="dimensionality reduction",
    model="y_k = Σ_i α_ik K(x_i, x): projections on principal components of the mapped points φ(x)",
    strategy="largest variance of each y_k in turn: the eigenvectors of the centred Gram matrix, K α = λ α",
    algorithms={
        "lanczos": "block Lanczos with thick restarts, the centring in the products",
        "dense": "all of the centred Gram matrix at once, O(n³)",
        "arpack": "Lanczos with implicit restarts, one vector at a time",
        "randomized": "range of products with a random table",
    },
    texts=["watermelon notes ch. 8, eq. 8.12-8.18"],
    peers=["sklearn.decomposition.KernelPCA"],
)
class KernelPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelMachine):
    """Kernel principal component analysis: principal components in the feature space of a kernel.

    The components of the mapped points are w_k = Σ_i α_ik φ(x_i), with K α_k = λ_k α_k for the centred Gram matrix
    K and |α_k|² = 1 / λ_k, so that w_k has length 1; a row is projected by y_k = Σ_i α_ik K(x_i, x). With
    eigen_solver="lanczos" the centred matrix is never formed, and a block of columns takes part in each product.

    Parameters
    ----------
    n_components : int, optional
        How many components; by default all whose eigenvalues are not zero.
    kernel : str, Kernel or callable, default="linear"
        A name ("linear", "poly", "rbf", "laplacian", "sigmoid", "cosine", "precomputed"), a kernel of
        `tercet.kernels`, or a function of two rows; "precomputed": X is the Gram matrix.
    gamma : float, optional
        Of the kernels "rbf", "laplacian", "poly" and "sigmoid"; by default 1 over the number of columns.
    degree : float, default=3
        Of the kernel "poly".
    coef0 : float, default=1
        Of the kernels "poly" and "sigmoid".
    kernel_params : dict, optional
        More arguments for a kernel that is a function.
    alpha : float, default=1.0
        Penalty of the ridge regression that `inverse_transform` is learned by.
    fit_inverse_transform : bool, default=False
        Learn pre-images: kernel ridge regression from the projections to the rows.
    eigen_solver : {"auto", "dense", "arpack", "randomized", "lanczos"}, default="auto"
        "auto" takes "lanczos" for more than 200 rows and few components, else "dense".
    tol : float, default=0
        Tolerance of "arpack" and "lanczos"; 0 is as near as numbers are.
    max_iter : int, optional
        The most restarts of "arpack".
    iterated_power : int or "auto", default="auto"
        Power iterations of "randomized".
    remove_zero_eig : bool, default=False
        Leave out components whose eigenvalues are zero, whatever `n_components` is.
    random_state : int, optional
        Decides where the iterations start.
    copy_X : bool, default=True
        Keep a copy of X rather than X itself in `X_fit_`; X is never changed.
    n_jobs : int, optional
        Threads to use, by default all cores; the result does not depend on it.
    center : bool, default=True
        Centre the mapped points; without it, the components of the text, which are those of K itself.

    Attributes
    ----------
    eigenvalues_ : array of shape (n_components,)
        Of the centred Gram matrix, the largest first; those within rounding of 0 are 0.
    eigenvectors_ : array of shape (n_samples, n_components)
        Unit vectors, the largest entry of each positive: sqrt(λ_k) α_k.
    X_fit_ : rows of shape (n_samples, n_features)
        The training rows; with kernel="precomputed" their Gram matrix.
    X_transformed_fit_ : array of shape (n_samples, n_components)
        Their projections, with `fit_inverse_transform`.
    dual_coef_ : array of shape (n_samples, n_features)
        Coefficients of the ridge regression, with `fit_inverse_transform`.
    gamma_ : float
        The gamma in use.

    Examples
    --------
    >>> from tercet.kernels import Gaussian
    >>> X = [[0, 0], [1, 0], [0, 1], [1, 1], [2, 2]]
    >>> KernelPCA(2, kernel=Gaussian(sigma=1.0)).fit(X).eigenvalues_.round(8)
    array([1.19272844, 0.63212056])
    """

    fitted_shapes = {
        "X_fit_": _rows,
        "eigenvalues_": Floats("components*", low=0.0),
        "eigenvectors_": Floats("rows components*", finite=True),
        "_scaled": Floats("rows components*", finite=True),
        "_offset": Floats("components*", finite=True),
        "X_transformed_fit_": Floats("rows components*", finite=True),
        "dual_coef_": Floats("rows features", finite=True),
    }
    eigenvalues_: np.ndarray
    eigenvectors_: np.ndarray
    X_fit_: Any
    X_transformed_fit_: np.ndarray
    dual_coef_: np.ndarray
    gamma_: float
    _scaled: np.ndarray
    _offset: np.ndarray

    def __init__(
        self,
        n_components: Count | None = None,
        *,
        kernel: Literal["linear", "poly", "rbf", "laplacian", "sigmoid", "cosine", "precomputed"]
        | Kernel
        | Callable[..., Any] = "linear",
        gamma: NonNegative | None = None,
        degree: NonNegative = 3,
        coef0: Real = 1,
        kernel_params: dict | None = None,
        alpha: NonNegative = 1.0,
        fit_inverse_transform: bool = False,
        eigen_solver: Literal["auto", "dense", "arpack", "randomized", "lanczos"] = "auto",
        tol: NonNegative = 0,
        max_iter: Count | None = None,
        iterated_power: CountOrZero | Literal["auto"] = "auto",
        remove_zero_eig: bool = False,
        random_state: Seed = None,
        copy_X: bool = True,
        n_jobs: Jobs = None,
        center: bool = True,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.alpha = alpha
        self.fit_inverse_transform = fit_inverse_transform
        self.eigen_solver = eigen_solver
        self.tol = tol
        self.max_iter = max_iter
        self.iterated_power = iterated_power
        self.remove_zero_eig = remove_zero_eig
        self.random_state = random_state
        self.copy_X = copy_X
        self.n_jobs = n_jobs
        self.center = center

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the components of the rows X.

        Parameters
        ----------
        X : rows that the kernel takes
            Arrays or sparse matrices, strings, or a Gram matrix.
        y : ignored
            There for pipelines; callbacks may score by it.

        Returns
        -------
        self
        """
        return self._learn(X, y)

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """`fit`, and the projections of the same rows."""
        self.fit(X, y)
        return self._projections()

    def _fit(self, X: Any, y: None, sample_weight: Any) -> None:
        given = self._takes == "gram"
        if self.fit_inverse_transform and (given or self._takes != "vectors"):
            raise ValueError(
                "Cannot fit_inverse_transform with a precomputed kernel, nor with other rows than vectors."
            )
        if self.fit_inverse_transform and sparse.issparse(X):
            raise NotImplementedError("Inverse transform not implemented for sparse matrices!")
        kernel, jobs = self._resolve_kernel(X), all_cores(self.n_jobs)
        self.gamma_ = 1 / X.shape[-1] if self.gamma is None else self.gamma
        rows = X.astype(np.float64) if getattr(X, "dtype", None) == np.float32 else X
        gram = _symmetric(X, type(self).__name__) if given else kernel.gram(rows, rows, n_jobs=jobs)
        gram = gram.astype(np.float64, copy=False)  # small eigenvalues are lost in single precision
        self.eigenvalues_, self.eigenvectors_ = self._eigenpairs(gram, jobs)
        self._keep_scaled(gram)
        self.X_fit_ = X.copy() if self.copy_X else X
        if self.fit_inverse_transform:
            self.X_transformed_fit_ = self._projections()
            self._learn_pre_images(X, jobs)

    def _eigenpairs(self, gram: np.ndarray, jobs: int) -> tuple[np.ndarray, np.ndarray]:
        """The leading eigenpairs of the centred Gram matrix; values within rounding of 0 are 0."""
        n = len(gram)
        k = n if self.n_components is None else min(self.n_components, n)
        solver: Any = self.eigen_solver
        if solver == "auto":
            solver = "lanczos" if n > FEW and 5 * k <= n else "dense"
        try:
            values, vectors = self._solve(gram, k, solver, jobs)
        except ArpackError as error:
            raise ValueError(
                f"{type(self).__name__}: eigen_solver='arpack' did not converge ({error}). Raise max_iter or tol, "
                "or use eigen_solver='lanczos'."
            ) from error
        values = without_rounding(values, largest(gram))
        if self.remove_zero_eig or self.n_components is None:
            values, vectors = values[values > 0], vectors[:, values > 0]
        return values, np.ascontiguousarray(vectors)

    def _solve(self, gram: np.ndarray, k: int, solver: Solver, jobs: int) -> tuple[np.ndarray, np.ndarray]:
        return largest_eigenpairs(
            gram,
            k,
            solver,
            centre=self.center,
            tol=float(self.tol),
            max_iter=self.max_iter,
            iterated_power=None if self.iterated_power == "auto" else int(self.iterated_power),
            rng=generator(self.random_state),
            n_jobs=jobs,
        )

    def _keep_scaled(self, gram: np.ndarray) -> None:
        """α = v / sqrt(λ), and what the means of the Gram matrix take off each projection (8.18, centred)."""
        roots = np.sqrt(self.eigenvalues_)
        scaled = np.divide(self.eigenvectors_, roots, out=np.zeros_like(self.eigenvectors_), where=roots > 0)
        self._offset = np.zeros(len(roots))
        if self.center and len(roots):
            scaled -= scaled.mean(
                axis=0
            )  # exactly centred: the mean of K(x, .) has no part in the projection
            with one_blas_thread():
                self._offset = gram.mean(axis=0) @ scaled
        self._scaled = scaled

    def _projections(self) -> np.ndarray:
        scores = self.eigenvectors_ * np.sqrt(self.eigenvalues_)
        return scores.astype(self._float(self.X_fit_), copy=False)

    @staticmethod
    def _float(X: Any) -> Any:
        return np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64

    def _learn_pre_images(self, X: np.ndarray, jobs: int) -> None:
        """Kernel ridge regression from the projections to the rows."""
        Z = self.X_transformed_fit_.astype(np.float64)
        gram = self.kernel_.gram(Z, Z, n_jobs=jobs)
        gram.flat[:: len(gram) + 1] += self.alpha
        with one_blas_thread():
            try:
                coef = linalg.solve(gram, X.astype(np.float64), assume_a="pos", overwrite_a=True)
            except linalg.LinAlgError as error:
                raise ValueError(
                    f"{type(self).__name__}: alpha={self.alpha} is too small to learn pre-images by: the Gram "
                    "matrix of the projections is not positive definite. Raise alpha."
                ) from error
        self.dual_coef_ = coef.astype(X.dtype, copy=False)

    def transform(self, X: Any) -> np.ndarray:
        """Project rows on the components (8.18).

        Parameters
        ----------
        X : rows that the kernel takes
            Arrays or sparse matrices, strings, or rows of a Gram matrix with the training rows.

        Returns
        -------
        scores : array of shape (n_samples, n_components)
        """
        check_is_fitted(self)
        X = self._check(X, reset=False)
        if not self._scaled.shape[1]:
            return np.zeros((X.shape[0], 0))
        points = np.arange(len(self._scaled)) if self._takes == "gram" else self.X_fit_
        if isinstance(X, np.ndarray) and isinstance(points, np.ndarray) and np.may_share_memory(X, points):
            X = X.copy()  # BLAS has other loops, and other bits, for products of rows with themselves
        with np.errstate(over="ignore", invalid="ignore"):
            scores = self._kernel_expansion(X, points, self._scaled) - self._offset
            scores = scores.astype(self._float(X), copy=False)
        return finite_predictions(scores, type(self).__name__)

    def inverse_transform(self, X: Any) -> np.ndarray:
        """The pre-images of projections: rows whose projections are near them.

        Parameters
        ----------
        X : array of shape (n_samples, n_components)
            The projections.

        Returns
        -------
        rows : array of shape (n_samples, n_features)
        """
        if not self.fit_inverse_transform:
            raise NotFittedError(
                "The fit_inverse_transform parameter was not set to True when instantiating and hence the inverse "
                "transform is not available."
            )
        check_is_fitted(self)
        Z = check_array(X, dtype=(np.float64, np.float32), input_name="X")
        if Z.shape[1] != self.X_transformed_fit_.shape[1]:
            raise ValueError(
                f"{type(self).__name__}: X has {Z.shape[1]} columns; expected are the "
                f"{self.X_transformed_fit_.shape[1]} components."
            )
        return self._kernel_expansion(Z, self.X_transformed_fit_, self.dual_coef_)

    def _make_kernel(self, gamma: Any, X: Any = None, sample_weight: np.ndarray | None = None) -> Kernel:
        if callable(self.kernel) and not isinstance(self.kernel, Kernel):
            return FromFunction(functools.partial(self.kernel, **(self.kernel_params or {})), of="rows")
        if self.kernel == "cosine":
            return FromFunction(functools.partial(pairwise_kernels, metric="cosine"))
        return super()._make_kernel(gamma, X, sample_weight)

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        X = super()._check(X, reset=reset)
        return X if y is NO_TARGET else (X, target_for_callbacks(y, X.shape[0]))

    def _encode(self, y: Any) -> None:
        return None

    @property
    def _n_features_out(self) -> int:
        return len(self.eigenvalues_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _symmetric(gram: np.ndarray, name: str) -> np.ndarray:
    """A Gram matrix, or an error where it is not symmetric."""
    scale = largest(gram)
    tolerance = 1e-4 if gram.dtype == np.float32 else 1e-8
    for start in range(0, len(gram), 256):
        with np.errstate(over="ignore"):
            apart = np.abs(gram[start : start + 256] - gram[:, start : start + 256].T)
        if float(apart.max(initial=0.0)) <= tolerance * scale:
            continue
        i, j = (int(at) for at in np.unravel_index(int(apart.argmax()), apart.shape))
        i += start
        raise ValueError(
            f"{name}: a Gram matrix is symmetric; with kernel='precomputed', X[{i}, {j}] is {gram[i, j]:g} and "
            f"X[{j}, {i}] is {gram[j, i]:g}."
        )
    return gram


def without_rounding(values: np.ndarray, scale: float = 0.0) -> np.ndarray:
    """Eigenvalues of a Gram matrix, those within rounding of 0 as 0; an error where one is clearly negative.

    Examples
    --------
    >>> without_rounding(np.array([5.0, 1e-17, -1e-9]))
    array([5., 0., 0.])
    """
    top = float(values.max(initial=0.0))
    low = float(values.min(initial=0.0))
    if values.size and values.max() < -1e-14 * scale:
        raise ValueError(
            f"All eigenvalues are negative (maximum is {values.max():g}). Either the matrix is not PSD, or there "
            "was an issue while computing the eigendecomposition of the matrix."
        )
    if low < -NEGATIVE * top and low < -1e-10 * scale:
        raise ValueError(
            f"There are significant negative eigenvalues ({-low / top:g} of the maximum positive). Either the "
            "matrix is not PSD, or there was an issue while computing the eigendecomposition of the matrix."
        )
    return np.where(values > max(POSITIVE * top, 1e-15 * scale), values, 0.0)
