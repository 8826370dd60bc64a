"""Quadratic discriminants (二次判别函数): for each class a Mahalanobis distance and a threshold."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy import linalg

from tercet.core.catalog import method
from tercet.core.chunks import is_one_chunk
from tercet.core.estimator import check_is_fitted
from tercet.core.fitted_checks import Each, Floats
from tercet.core.parameters import ArrayLike, CountOrZero, Fraction, Jobs, NonNegative
from tercet.core.validation import finite_predictions
from tercet.discriminant_analysis.base import (
    DiscriminantClassifier,
    check_covariance_parameters,
    check_priors,
    check_squares,
    refuse_streaming,
)
from tercet.discriminant_analysis.covariance import (
    covariance,
    principal_axes,
    shrunk,
    squared_distances,
    standard_deviations,
)
from tercet.discriminant_analysis.quadratic_form import QuadraticForm
from tercet.discriminant_analysis.scatter import EPS, class_means, class_scatters, pooled_scatter


@method(
    zh="二次判别函数",
    task="classification",
    approach="generative",
    model="g_k(x) = K_k² - (x-μ_k)ᵀΣ_k⁻¹(x-μ_k), the largest wins",
    strategy="maximum likelihood of one Gaussian per class; K_k by Bayes' rule or free",
    algorithms={"svd": "principal axes of each class", "eigen": "the same, with shrinkage or any estimator"},
    texts=["Pattern Recognition ch. 5, sec. 5.3, eq. 5-10, 5-11"],
    peers=["sklearn.discriminant_analysis.QuadraticDiscriminantAnalysis"],
)
class QuadraticDiscriminantAnalysis(DiscriminantClassifier):
    """Quadratic discriminant analysis: a Gaussian for each class, and quadratic boundaries between them.

    `decision_function` is g_k/2 (for two classes the second minus the first), which with the thresholds of
    Bayes' rule, K_k² = 2 ln π_k - ln|Σ_k|, is the logarithm of the posterior up to a constant.

    Parameters
    ----------
    solver : {"svd", "eigen"}, default="svd"
        Only "eigen" takes shrinkage or a covariance estimator.
    shrinkage : "auto", float in [0, 1] or None, default=None
        How far to move each covariance to a multiple of the identity; "auto" takes the amount of Ledoit and
        Wolf.
    priors : array of shape (n_classes,), optional
        Prior probabilities; by default the shares of the classes.
    reg_param : float in [0, 1], default=0.0
        Makes each covariance (1-r) Σ_k + r I.
    store_covariance : bool, default=False
        Keep `covariance_`.
    tol : float, default=1e-4
        A class whose rows, in units of the features' spread, have a singular value up to tol is refused as
        not of full rank.
    covariance_estimator : estimator, optional
        Something with `fit` and `covariance_`, in place of shrinkage.
    ddof : int, default=0
        Covariances are divided by N_k - ddof: 0 is maximum likelihood, 1 unbiased as in the text.
    thresholds : float or array of shape (n_classes,), optional
        The K_k², free to set which errors are the lesser evil; by default those of Bayes' rule.
    n_jobs : int, optional
        Threads to use; the result does not depend on it.

    Attributes
    ----------
    means_ : array of shape (n_classes, n_features)
    priors_ : array of shape (n_classes,)
    covariance_ : list of arrays of shape (n_features, n_features)
        The covariances, if asked for.
    rotations_ : list of arrays of shape (n_features, n_features)
        Principal axes of each class, as columns.
    scalings_ : list of arrays of shape (n_features,)
        Variances along them.
    thresholds_ : array of shape (n_classes,)
        The K_k² in use.

    Examples
    --------
    >>> X = [[0, 0], [2, 0], [0, 2], [2, 2], [1, 1], [5, 5], [7, 5], [5, 9], [7, 9], [6, 7]]
    >>> y = [1, 1, 1, 1, 1, 2, 2, 2, 2, 2]
    >>> model = QuadraticDiscriminantAnalysis(ddof=1, thresholds=0).fit(X, y)
    >>> model.mahalanobis([[3, 3], [4, 4]]).round(2)
    array([[ 8.  , 13.  ],
           [18.  ,  6.25]])
    >>> model.predict([[3, 3], [4, 4]])
    array([1, 2])
    """

    def __init__(
        self,
        *,
        solver: Literal["svd", "eigen"] = "svd",
        shrinkage: Fraction | Literal["auto"] | None = None,
        priors: ArrayLike = None,
        reg_param: Fraction = 0.0,
        store_covariance: bool = False,
        tol: NonNegative = 1e-4,
        covariance_estimator: Any = None,
        ddof: CountOrZero = 0,
        thresholds: ArrayLike = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.solver = solver
        self.shrinkage = shrinkage
        self.priors = priors
        self.reg_param = reg_param
        self.store_covariance = store_covariance
        self.tol = tol
        self.covariance_estimator = covariance_estimator
        self.ddof = ddof
        self.thresholds = thresholds
        self.n_jobs = n_jobs

    streaming = True

    def _streaming_refusal(self) -> str:
        return refuse_streaming(self)

    def _fit(self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        name, K = type(self).__name__, self.classes_.size
        check_squares(X, name)
        check_covariance_parameters(name, self.solver, self.shrinkage, self.covariance_estimator)
        mass, means = class_means(X, y, sample_weight, K, n_jobs=self.n_jobs)
        priors = check_priors(self.priors, mass, K, name)
        covariances, variances, axes = [], [], []
        together = self.shrinkage != "auto" and self.covariance_estimator is None and not is_one_chunk(X)
        scatters = class_scatters(X, y, sample_weight, mass, means, n_jobs=self.n_jobs) if together else None
        for k in range(K):
            if mass[k] <= self.ddof:
                raise ValueError(
                    f"{name}: ddof must be less than the number of samples in every class; "
                    f"got ddof={self.ddof} and {mass[k]:g} in class {self.classes_[k]}."
                )
            if scatters is not None:
                n = X.shape[0]
                C = self._regularised(shrunk(scatters[k] / mass[k], float(self.shrinkage or 0.0)), mass[k])
            else:
                mine = y == k if sample_weight is None else (y == k) & (sample_weight > 0)
                n = np.count_nonzero(mine)
                weight = None if sample_weight is None else sample_weight[mine]
                C = self._covariance(X[mine], weight, means[k], mass[k])
            v, A = principal_axes(C)
            self._check_rank(C, v, n, X.dtype, self.classes_[k])
            covariances.append(C.astype(X.dtype, copy=False))
            variances.append(v.astype(X.dtype, copy=False))
            axes.append(A.astype(X.dtype, copy=False))
        self.means_, self.priors_ = means.astype(X.dtype, copy=False), priors.astype(X.dtype, copy=False)
        self.rotations_, self.scalings_ = axes, variances
        if self.store_covariance:
            self.covariance_ = covariances
        self.thresholds_ = self._thresholds()

    def _covariance(self, X: np.ndarray, weight: Any, mean: np.ndarray, mass: float) -> np.ndarray:
        """Σ_k as asked."""
        if self.shrinkage is None and self.covariance_estimator is None:
            one = np.zeros(X.shape[0], dtype=np.intp)
            C = pooled_scatter(X, one, weight, mean[None], n_jobs=self.n_jobs) / mass
        else:
            options = {"estimator": self.covariance_estimator, "n_jobs": self.n_jobs}
            C = covariance(X, weight, shrinkage=self.shrinkage, **options)
        return self._regularised(C, mass)

    def _regularised(self, C: np.ndarray, mass: float) -> np.ndarray:
        """Σ_k with the degrees of freedom and the regularisation that were asked for."""
        if self.ddof:
            C = C * (mass / (mass - self.ddof))
        return (1 - self.reg_param) * C + self.reg_param * np.eye(C.shape[0]) if self.reg_param else C

    def _check_rank(self, C: np.ndarray, variances: np.ndarray, n: int, dtype: Any, label: Any) -> None:
        """An error where Σ_k, in units of the features' spread, is not of full rank."""
        d, std = C.shape[0], standard_deviations(C)
        least = max(self.tol**2, d * EPS)
        # the variances along the axes, in the smallest and largest units there are, settle most cases
        if variances[-1] > least * std.max() ** 2:
            return
        if linalg.eigvalsh(C / np.outer(std, std), subset_by_index=[0, 0])[0] > least:
            if variances.astype(dtype).min() > 0:
                return
            raise ValueError(
                f"QuadraticDiscriminantAnalysis: the features of class {label} are too different in scale for "
                f"floating point numbers: standard deviations are from {std.min():.3g} to {std.max():.3g}. Scale X."
            )
        few = f"y has only 1 sample in class {label}, covariance is ill defined. " if n == 1 else ""
        other = f"Raise reg_param={self.reg_param}"
        if self.solver == "svd" and n <= d:
            other = f"When using `solver='svd'` a class needs more samples than features. {other}"
        if self.solver == "svd":
            other += ", or use solver='eigen' with shrinkage"
        elif self.covariance_estimator is None and self.shrinkage != "auto":
            other += f", or raise shrinkage={self.shrinkage or 0.0}"
        raise linalg.LinAlgError(
            f"{few}The covariance matrix of class {label} ({n} samples, {d} features) is not full rank. {other}."
        )

    def _thresholds(self) -> np.ndarray:
        """K_k² as given, or by Bayes' rule: 2 ln π_k - ln|Σ_k|."""
        if self.thresholds is None:
            log_volume = np.array([np.log(v).sum() for v in self.scalings_])
            with np.errstate(divide="ignore"):  # a class may be ruled out
                return 2 * np.log(self.priors_) - log_volume
        try:
            return np.broadcast_to(np.asarray(self.thresholds, self.means_.dtype), self.classes_.shape).copy()
        except ValueError:
            raise ValueError(
                f"{type(self).__name__}: thresholds must be one number or one for each of "
                f"{self.classes_.size} classes; got {self.thresholds!r}."
            ) from None

    def mahalanobis(self, X: Any) -> np.ndarray:
        """Squared Mahalanobis distances to the classes (K² minus one of them is a one-class discriminant).

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The data.

        Returns
        -------
        distances : array of shape (n_samples, n_classes)
        """
        check_is_fitted(self, "scalings_")
        X = self._check(X, reset=False)
        check_squares(X, type(self).__name__, least=0.0)
        roots = np.array(self.rotations_) / np.sqrt(self.scalings_)[:, None, :]  # root rootᵀ = Σ_k⁻¹
        return squared_distances(X, self.means_, roots, n_jobs=self.n_jobs)

    def boundary(self, first: Any = None, second: Any = None) -> QuadraticForm:
        """The surface between two classes, as the W, w and w₀ of xᵀWx + wᵀx + w₀.

        Parameters
        ----------
        first, second : labels, optional
            The classes; by default the first two. The form is g_first - g_second: positive where the first
            wins.

        Returns
        -------
        QuadraticForm
        """
        check_is_fitted(self, "scalings_")
        labels = [
            self.classes_[0] if first is None else first,
            self.classes_[1] if second is None else second,
        ]
        (P, m, K), (Q, n, L) = (self._terms(label) for label in labels)
        return QuadraticForm(Q - P, 2 * (P @ m - Q @ n), float(n @ Q @ n - m @ P @ m + K - L))

    def _terms(self, label: Any) -> tuple[np.ndarray, np.ndarray, float]:
        """Σ_k⁻¹, μ_k and K_k² of a class."""
        where = np.flatnonzero(self.classes_ == label)
        if not where.size:
            raise ValueError(f"boundary: {label!r} is not one of the classes {self.classes_.tolist()}.")
        k = where[0]
        axes = self.rotations_[k]
        return axes / self.scalings_[k] @ axes.T, self.means_[k], self.thresholds_[k]

    fitted_shapes = {
        "means_": "classes features",
        "priors_": "classes",
        "rotations_": Each("features directions@", "classes"),
        "scalings_": Each(Floats("directions@", low=0.0), "classes"),
        "thresholds_": "classes",
    }

    def decision_function(self, X: Any) -> np.ndarray:
        """Half of the discriminants g_k; for two classes the second minus the first.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The data.

        Returns
        -------
        scores : array of shape (n_samples,) or (n_samples, n_classes)
        """
        distances = finite_predictions(self.mahalanobis(X), type(self).__name__)
        scores = (self.thresholds_ - distances) / 2
        return scores[:, 1] - scores[:, 0] if self.classes_.size == 2 else scores
