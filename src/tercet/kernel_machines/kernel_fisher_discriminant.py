"""Kernel Fisher discriminant (核Fisher判别), kernel LDA (核线性判别分析)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from scipy import linalg
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from tercet.core.catalog import method
from tercet.core.estimator import check_is_fitted, distinct
from tercet.core.parameters import Count, Jobs, NonNegative, Positive, Real
from tercet.core.validation import check_array
from tercet.kernel_machines._engine.cholesky import CholeskyFactor, blocked_gram, blocked_product
from tercet.kernel_machines._engine.training_gram import TrainingGram
from tercet.kernel_machines.base import (
    KernelClassifier,
    KernelName,
    coefficient_dtype,
    expansion_values,
    single_blas_thread,
)
from tercet.kernels import Kernel


@method(
    zh="核Fisher判别",
    task="classification",
    approach="generative",
    model="the class whose mean is nearest to x after the projections Σ_i α_i K(x_i, x)",
    strategy="between-class over within-class scatter in the space of the kernel, J(α) = (αᵀMα)/(αᵀ(N + mu I)α)",
    algorithms={
        "linear": "(N + mu I) α = M_c - M_0 by Cholesky's factorisation",
        "eigen": "top eigenvectors of (N + mu I)⁻¹M",
    },
    texts=["Pattern Recognition ch. 5, 5.6.2, eq. 5-74..5-87", "watermelon notes ch. 4, eq. 4.46-4.53"],
)
class KernelFisherDiscriminant(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelClassifier):
    """Fisher's discriminant in the feature space of a kernel (KFD, KLDA).

    With K the Gram matrix and M_c = K 1_c / m_c the class means as rows see them, the scatter within the classes
    is N = K Kᵀ - Σ_c m_c M_c M_cᵀ. It never has an inverse, so mu I is added. A row belongs to the class whose
    projected mean is nearest, in units of the scatter that is left; for two classes that is a threshold at the
    midpoint of the projected means.

    Parameters
    ----------
    mu : float, default=0.001
        The ridge that is added to N.
    kernel : str, Kernel or callable, default="rbf"
        A name ("linear", "poly", "rbf", "laplacian", "sigmoid", "precomputed"), a kernel, or a function of two
        matrices that gives their Gram matrix.
    degree : float, default=3
        Of the kernel "poly".
    gamma : {"scale", "auto"} or float, default="scale"
        Of the kernels "rbf", "laplacian", "poly" and "sigmoid".
    coef0 : float, default=0.0
        Of the kernels "poly" and "sigmoid".
    solver : {"linear", "eigen"}, default="eigen"
        Two ways to the same projections and the same rule: "linear" has the texts' scale, and a direction for each
        class but the first; "eigen" sorts directions by how much they separate, with αᵀ(N + mu I)α = 1.
    n_components : int, optional
        Directions to keep, at most n_classes - 1, which is the default; classes are told apart in these alone.
    n_jobs : int, optional
        Threads. The result does not depend on it.

    Attributes
    ----------
    alphas_ : array of shape (n_samples, n_components)
        The α of the directions. Of two classes the second has the larger projections.
    means_ : array of shape (n_classes, n_components)
        The projected means.
    eigenvalues_ : array of shape (n_components,)
        How much the directions separate: between-class over within-class scatter ("eigen").
    dual_coef_, intercept_ : arrays of shape (n_planes, n_samples) and (n_planes,)
        The rule as scores; for two classes the second's less the first's.
    X_fit_ : rows of shape (n_samples, n_features)
        The training rows; with kernel="precomputed" the numbers of the columns.

    Examples
    --------
    >>> from tercet.kernels import Gaussian
    >>> X, y = [[0, 0], [1, 0], [0, 1], [3, 3], [4, 3], [3, 5]], [1, 1, 1, 0, 0, 0]
    >>> model = KernelFisherDiscriminant(0.1, kernel=Gaussian(gamma=0.25), solver="linear").fit(X, y)
    >>> model.alphas_[:, 0].round(4)
    array([ 6.6424,  8.0737,  8.0537, -5.1186, -5.1377, -7.3483])
    >>> model.predict([[1, 1], [2, 2]])
    array([1, 0])
    """

    def __init__(
        self,
        mu: Positive = 0.001,
        *,
        kernel: KernelName | Kernel | Callable[..., Any] = "rbf",
        degree: NonNegative = 3,
        gamma: Literal["scale", "auto"] | NonNegative = "scale",
        coef0: Real = 0.0,
        solver: Literal["linear", "eigen"] = "eigen",
        n_components: Count | None = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.mu = mu
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.solver = solver
        self.n_components = n_components
        self.n_jobs = n_jobs

    @single_blas_thread
    def _fit(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        k = self.classes_.size
        kept = k - 1 if self.n_components is None else self.n_components
        if kept > k - 1:
            raise ValueError(
                f"KernelFisherDiscriminant: n_components must be at most n_classes - 1 = {k - 1}; "
                f"got {self.n_components}."
            )
        weight = np.ones(y.size) if sample_weight is None else sample_weight.astype(np.float64)
        mass = np.bincount(y, weight, k)
        if not mass.all():
            empty = self.classes_[mass == 0].tolist()
            raise ValueError(f"KernelFisherDiscriminant: all rows of the classes {empty} have the weight 0.")
        self.__dict__.pop("eigenvalues_", None)
        kernel = self._resolve_kernel(X, sample_weight)
        self.X_fit_ = self._expansion_rows(X, np.arange(y.size))
        gram = TrainingGram(kernel, X, in_memory=True, n_jobs=self.n_jobs)
        assert gram.K is not None
        K = gram.K.copy() if gram.precomputed else gram.K
        d = np.sqrt(weight)
        largest = np.abs(weight * gram.K.diagonal()).max()
        unit = max(1.0, np.ldexp(0.5, np.frexp(largest)[1]))  # squares of K must not overflow
        K *= d
        K *= d[:, None] / unit
        # In units where every row weighs the same, classes are orthogonal directions Q of length 1.
        Q = np.zeros((y.size, k))
        Q[np.arange(y.size), y] = d / np.sqrt(mass)[y]
        KQ = blocked_product(K, Q, self.n_jobs)
        K -= blocked_product(KQ, Q.T, self.n_jobs)  # rows minus the means of their classes
        B = blocked_gram(K, self.n_jobs)  # N
        del K, gram  # frees memory for the factor
        B.flat[:: y.size + 1] += self.mu / unit / unit
        factor = CholeskyFactor(B, self.n_jobs)
        means = KQ / np.sqrt(mass)  # M_c, in the same units
        if self.solver == "linear":
            apart = means[:, 1 : kept + 1] - means[:, :1]
            directions = factor.solve(apart)
            left = directions.T @ apart  # the scatter that is left: αᵀ(N + mu I)α
        else:
            directions, left = self._by_eigenvectors(factor, KQ, mass, kept), np.eye(kept)
        self.means_ = means.T @ directions
        scores = linalg.lstsq(left, self.means_.T)[0]  # distances in its units
        directions /= unit
        dtype = coefficient_dtype(self.X_fit_)
        self.alphas_ = (d[:, None] * directions).astype(dtype)
        coef, intercept = (d[:, None] * directions @ scores).T, -0.5 * (self.means_ * scores.T).sum(axis=1)
        if k == 2:
            coef, intercept = np.diff(coef, axis=0), np.diff(intercept)
        self.dual_coef_ = np.ascontiguousarray(coef, dtype=dtype)
        self.intercept_ = intercept.astype(dtype)

    def _by_eigenvectors(
        self, factor: CholeskyFactor, KQ: np.ndarray, mass: np.ndarray, kept: int
    ) -> np.ndarray:
        """Top eigenvectors of (N + mu I)⁻¹M: M = H Hᵀ has few columns H, and so has the eigenproblem."""
        share = np.sqrt(mass / mass.sum())[:, None]
        H = KQ - (KQ @ share) @ share.T  # √m_c (M_c - M)
        side = factor.solve(H)
        values, V = linalg.eigh(H.T @ side)
        values, V = values[::-1][:kept], V[:, ::-1][:, :kept]
        self.eigenvalues_ = values
        real = values > len(H) * np.finfo(np.float64).eps * values[0]  # means on a line have one direction
        directions = side @ (V * np.where(real, 1 / np.sqrt(np.where(real, values, 1.0)), 0.0))
        turned = H[:, -1] @ directions < 0  # the last class is to lie on the positive side
        return np.where(turned, -directions, directions)

    fitted_shapes = {"alphas_": "rows* directions*", "means_": "classes directions*"}

    def transform(self, X: Any) -> np.ndarray:
        """The projections Σ_i α_i K(x_i, x).

        Parameters
        ----------
        X : rows that the kernel takes
            Arrays or sparse matrices, strings, or rows of a Gram matrix.

        Returns
        -------
        Z : array of shape (n_samples, n_components)
        """
        check_is_fitted(self, "alphas_")
        return expansion_values(self, X, self.X_fit_, self.alphas_)

    @property
    def _n_features_out(self) -> int:
        return self.alphas_.shape[1]


@method(
    zh="核空间中的类均值与类内散度",
    task="dimensionality reduction",
    model="M_c = K 1_c / m_c, N = K Kᵀ - Σ_c m_c M_c M_cᵀ",
    texts=["Pattern Recognition ch. 5, eq. 5-79..5-83", "watermelon notes ch. 4, eq. 4.52"],
)
def scatter_in_kernel(K: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Class means and within-class scatter in the feature space of a kernel, from its Gram matrix.

    Parameters
    ----------
    K : array of shape (n_samples, n_samples)
        The Gram matrix.
    y : array of shape (n_samples,)
        The labels.

    Returns
    -------
    means : array of shape (n_classes, n_samples)
        The M_c, in the order of the labels.
    N : array of shape (n_samples, n_samples)

    Examples
    --------
    >>> means, N = scatter_in_kernel([[1.0, 0.0], [0.0, 1.0]], [0, 0])
    >>> means, N
    (array([[0.5, 0.5]]), array([[ 0.5, -0.5],
           [-0.5,  0.5]]))
    """
    K, y = check_array(K, dtype=np.float64, input_name="K"), np.asarray(y)
    if y.ndim != 1 or K.shape != (y.size, y.size):
        raise ValueError(
            f"scatter_in_kernel: K must be square, with a row for each label in y; got {K.shape} and {y.shape}."
        )
    classes, index = distinct(y)
    ones = (index == np.arange(classes.size)[:, None]).astype(np.float64)
    mass = ones.sum(axis=1)
    means = ones @ K.T / mass[:, None]
    return means, K @ K.T - (means * mass[:, None]).T @ means
