"""Linear discriminant analysis (线性判别分析), after Fisher and after Bayes."""

from __future__ import annotations

import functools
from typing import Any, Literal

import numpy as np
from scipy import linalg
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from tercet.core.catalog import method
from tercet.core.estimator import check_is_fitted
from tercet.core.fitted_checks import Whole
from tercet.core.parameters import ArrayLike, Count, Fraction, Jobs, NonNegative
from tercet.core.row_products import row_scores
from tercet.core.row_sums import class_masses, count_nonzero, mass_of, times_class_weight
from tercet.discriminant_analysis.base import (
    DiscriminantClassifier,
    OfProjection,
    check_covariance_parameters,
    check_priors,
    check_squares,
    refuse_streaming,
)
from tercet.discriminant_analysis.covariance import covariance, flip_signs, shrunk, whitening
from tercet.discriminant_analysis.discriminant_directions import fisher_directions, trace_ratio
from tercet.discriminant_analysis.scatter import EPS, between_scatter, class_means, deviations, pooled_scatter

FITTED = {
    *(
        "coef_",
        "intercept_",
        "means_",
        "priors_",
        "covariance_",
        "scalings_",
        "explained_variance_ratio_",
        "xbar_",
    ),
    *("within_scatter_", "between_scatter_", "eigenvalues_"),
}


@method(
    zh="线性判别分析",
    task="classification",
    approach="generative",
    model="the class whose mean is nearest to x after the projection Wᵀx",
    strategy="between-class over within-class scatter, J(W) = (WᵀS_bW)/(WᵀS_wW)",
    algorithms={
        "svd": "whiten the within-class scatter, then singular vectors of the class means",
        "lsqr": "solve Σ w_k = μ_k",
        "eigen": "generalised eigenvectors of S_t - S_w and S_w",
        "fisher": "S_b w = λ S_w w with scatter sums, threshold halfway between the projected means",
        "trace-ratio": "top eigenvectors of S_b - ρS_w, again with the ratio ρ they reach",
    },
    texts=["watermelon notes ch. 1, eq. 1.22-1.29", "Pattern Recognition ch. 5, sec. 5.6, eq. 5-70..5-73"],
    peers=["sklearn.discriminant_analysis.LinearDiscriminantAnalysis"],
)
class LinearDiscriminantAnalysis(ClassNamePrefixFeaturesOutMixin, TransformerMixin, DiscriminantClassifier):
    """Linear discriminant analysis: projections of largest between-class over within-class scatter.

    The first three solvers see Gaussian classes with one covariance Σ = Σ_k π_k Σ_k and use Bayes' rule. The
    other two are Fisher's: they work with sums, not averages (so that a large class weighs more), scale W to
    WᵀS_wW = I, and take the nearest projected mean. For two classes `coef_` is then S_w⁻¹(μ₁-μ₀), and
    `intercept_` puts the threshold at the midpoint.

    Parameters
    ----------
    solver : {"svd", "lsqr", "eigen", "fisher", "trace-ratio"}, default="svd"
        "trace-ratio" maximises tr(WᵀS_bW)/tr(WᵀS_wW) over orthonormal W, which is another problem than the
        eigenproblem when W has several columns.
    shrinkage : "auto", float in [0, 1] or None, default=None
        How far to move each class's covariance to a multiple of the identity; "auto" takes the amount of
        Ledoit and Wolf. Not for "svd".
    priors : array of shape (n_classes,), optional
        Prior probabilities. By default the shares of the classes; for Fisher's solvers equal, which is the
        midpoint rule.
    n_components : int, optional
        Directions that `transform` gives, at most min(n_classes - 1, n_features), which is the default.
        Fisher's solvers also classify in these directions alone.
    store_covariance : bool, default=False
        Keep `covariance_` with the "svd" solver too.
    tol : float, default=1e-4
        Directions in which the pooled rows, in units of the features' spread, have a singular value up to tol
        are left out ("svd", "fisher", "trace-ratio").
    covariance_estimator : estimator, optional
        Something with `fit` and `covariance_`, in place of shrinkage.
    n_jobs : int, optional
        Threads to use; the result does not depend on it.

    Attributes
    ----------
    coef_, intercept_ : arrays
        The linear scores; one row for two classes.
    means_ : array of shape (n_classes, n_features)
    priors_ : array of shape (n_classes,)
    covariance_ : array of shape (n_features, n_features)
        Weighted mean of the class covariances.
    scalings_ : array of shape (n_features, n_directions)
        W. Not with "lsqr". The entry of largest size in each column is positive; scikit-learn leaves the signs,
        and those of what `transform` gives, to the LAPACK at hand.
    explained_variance_ratio_ : array of shape (n_components,)
        Share of each direction in the separation of the classes. Not with "lsqr" and "trace-ratio".
    xbar_ : array of shape (n_features,)
        Mean of the class means, weighted by the priors ("svd").
    within_scatter_, between_scatter_ : arrays of shape (n_features, n_features)
        S_w and S_b of Fisher's solvers.
    eigenvalues_ : array
        The λ of the columns of W ("fisher").

    Examples
    --------
    >>> X = [[0, 0], [1, 0], [0, 1], [3, 3], [4, 3], [3, 5]]
    >>> model = LinearDiscriminantAnalysis(solver="fisher").fit(X, [1, 1, 1, 2, 2, 2])
    >>> model.coef_.round(4)
    array([[3.871 , 2.1613]])
    >>> model.predict([[1, 2], [3, 2]])
    array([1, 2])
    """

    streaming = True
    coef_: np.ndarray
    intercept_: np.ndarray

    def __init__(
        self,
        solver: Literal["svd", "lsqr", "eigen", "fisher", "trace-ratio"] = "svd",
        shrinkage: Fraction | Literal["auto"] | None = None,
        priors: ArrayLike = None,
        n_components: Count | None = None,
        store_covariance: bool = False,
        tol: NonNegative = 1e-4,
        covariance_estimator: Any = None,
        *,
        n_jobs: Jobs = None,
    ) -> None:
        self.solver = solver
        self.shrinkage = shrinkage
        self.priors = priors
        self.n_components = n_components
        self.store_covariance = store_covariance
        self.tol = tol
        self.covariance_estimator = covariance_estimator
        self.n_jobs = n_jobs

    def _fit(self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        K = self.classes_.size
        check_squares(X, type(self).__name__)
        self._max_components = self._n_features_out = self._check_parameters(X.shape, sample_weight)
        for name in FITTED & vars(self).keys():  # another solver may have left more than this one learns
            delattr(self, name)
        by_fisher = self.solver in ("fisher", "trace-ratio")
        mass, means = class_means(X, y, sample_weight, K, n_jobs=self.n_jobs)
        self.means_, share = means, mass / mass.sum()
        self.priors_ = check_priors(self.priors, None if by_fisher else mass, K, type(self).__name__)
        self._unit = 1.0
        if self.solver == "svd":
            self._solve_svd(X, y, sample_weight, share)
        else:
            self.covariance_ = self._covariance(X, y, sample_weight, share if by_fisher else self.priors_)
        if self.solver == "lsqr":
            self._solve_lsqr()
        elif self.solver == "eigen":
            self._solve_eigen(X, sample_weight)
        elif by_fisher:
            self._solve_fisher(mass)
        for name in FITTED & vars(self).keys():
            setattr(self, name, getattr(self, name).astype(X.dtype, copy=False))

    def _streaming_refusal(self) -> str:
        return refuse_streaming(self) or (
            "tol below 1e-6 needs all rows at once. Raise tol."
            if self.solver == "svd" and self.tol < 1e-6
            else ""
        )

    def _check_parameters(self, shape: tuple[int, int], weight: np.ndarray | None) -> int:
        """Refuse parameters that do not fit the data; the number of components."""
        name, K = type(self).__name__, self.classes_.size
        if (shape[0] if weight is None else count_nonzero(weight)) <= K:
            raise ValueError("The number of samples must be more than the number of classes.")
        most = min(K - 1, shape[1])
        if self.n_components is not None and self.n_components > most:
            raise ValueError(
                f"{name}: n_components cannot be larger than min(n_features, n_classes - 1) = {most}; "
                f"got {self.n_components}."
            )
        check_covariance_parameters(name, self.solver, self.shrinkage, self.covariance_estimator)
        return most if self.n_components is None else self.n_components

    def _covariance(self, X: Any, y: np.ndarray, weight: Any, share: np.ndarray) -> np.ndarray:
        """Σ_k share_k Σ_k, each Σ_k shrunk or estimated as asked."""
        options = {"shrinkage": self.shrinkage, "estimator": self.covariance_estimator, "n_jobs": self.n_jobs}
        if self.shrinkage == "auto" or self.covariance_estimator is not None:
            groups = ((X[y == k], None if weight is None else weight[y == k]) for k in range(share.size))
            return sum(p * covariance(*group, **options) for p, group in zip(share, groups))
        # A fixed amount of shrinkage is linear in Σ, so one sum over all rows is enough.
        each = times_class_weight(share / class_masses(y, weight, share.size), y, weight)
        return shrunk(pooled_scatter(X, y, each, self.means_, n_jobs=self.n_jobs), self.shrinkage or 0.0)

    def _solve_svd(self, X: Any, y: np.ndarray, weight: Any, share: np.ndarray) -> None:
        """Whiten the within-class scatter, then take the singular vectors of the class means."""
        mass = mass_of(X, weight)
        if X.shape[0] > X.shape[1] and self.tol >= 1e-6:
            # Squaring the rows halves the digits, of which tol uses few, and lets them be added up in chunks.
            C = pooled_scatter(X, y, weight, self.means_, n_jobs=self.n_jobs) / mass
            T = whitening(C, self.tol)
        else:
            Z = deviations(X, y, weight, self.means_) / np.sqrt(mass)
            std = np.sqrt((Z**2).sum(axis=0))
            std[std <= X.shape[0] * EPS * np.abs(self.means_).max(axis=0)] = 1.0
            _, s, axes = linalg.svd(Z / std, full_matrices=False)
            T = (axes[s > self.tol] / std).T / s[s > self.tol]
        if self.store_covariance:
            self.covariance_ = self._covariance(X, y, weight, self.priors_)
        self.xbar_ = self.priors_ @ self.means_
        centres = (self.means_ - self.xbar_) @ T
        _, s, axes = linalg.svd(np.sqrt(self.priors_)[:, None] * centres, full_matrices=False)
        whole = max((s**2).sum(), np.finfo(np.float64).tiny)
        self.explained_variance_ratio_ = (s**2 / whole)[: self._max_components]
        self.scalings_ = flip_signs(T @ axes[s > self.tol * s.max(initial=0)].T)
        W = self.scalings_
        self.__dict__.update(self._linear_scores((self.means_ - self.xbar_) @ W @ W.T, self.xbar_))

    def _solve_lsqr(self) -> None:
        """Solve Σ w_k = μ_k."""
        self.__dict__.update(self._linear_scores(linalg.lstsq(self.covariance_, self.means_.T)[0].T))

    def _solve_eigen(self, X: Any, weight: Any) -> None:
        """Generalised eigenvectors of S_t - S_w and S_w."""
        options = {"shrinkage": self.shrinkage, "estimator": self.covariance_estimator, "n_jobs": self.n_jobs}
        of_all = covariance(X, weight, **options)
        values, self.scalings_ = fisher_directions(within=self.covariance_, total=of_all)
        self.explained_variance_ratio_ = (values / values.sum())[: self._max_components]
        self.__dict__.update(self._linear_scores(self.means_ @ self.scalings_ @ self.scalings_.T))

    def _solve_fisher(self, mass: np.ndarray) -> None:
        """Fisher's criterion or the trace ratio on sums of squares, and the nearest projected mean."""
        within = self.within_scatter_ = self.covariance_ * mass.sum()
        between = self.between_scatter_ = between_scatter(mass, self.means_)
        self._unit = float(mass.sum())  # scores are in units of the scatter, not of the covariance
        if self.solver == "fisher":
            values, W = fisher_directions(within=within, between=between, tol=self.tol)
            self.eigenvalues_ = values[: self._max_components]
            self.explained_variance_ratio_ = self.eigenvalues_ / values.sum()
        else:
            steps = functools.partial(self.steps, unpack=self._nearest_mean, hint="Scale the features.")
            _, W = trace_ratio(within, between, self._max_components, tol=self.tol, steps=steps)
        self.__dict__.update(self._nearest_mean(W[:, : self._max_components]))

    def _nearest_mean(self, W: np.ndarray) -> dict[str, np.ndarray]:
        """The rule that a projection gives, with distances in units of the scatter that is left in it."""
        metric = W.T @ self.within_scatter_ @ W
        return {
            "scalings_": W,
            **self._linear_scores(linalg.solve(metric, W.T @ self.means_.T, assume_a="pos").T @ W.T),
        }

    def _linear_scores(self, coef: np.ndarray, origin: np.ndarray | float = 0.0) -> dict[str, np.ndarray]:
        """Scores w_k·(x - origin) - w_k·(μ_k - origin)/2 + ln π_k as coefficients and intercepts."""
        with np.errstate(divide="ignore"):  # a class may be ruled out
            shift = np.log(self.priors_) / self._unit
        intercept = shift - 0.5 * (coef * (self.means_ + origin)).sum(axis=1)
        if self.classes_.size == 2:
            return {"coef_": np.diff(coef, axis=0), "intercept_": np.diff(intercept)}
        return {"coef_": coef, "intercept_": intercept}

    fitted_shapes = {
        "means_": "classes features",
        "priors_": "classes",
        "xbar_": "features",
        "scalings_": "features directions*",
        "coef_": "planes features",
        "intercept_": "planes",
        "_max_components": Whole(),
        "_unit": "",
    }

    def transform(self, X: Any) -> np.ndarray:
        """The data projected on the directions that separate the classes best.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The data.

        Returns
        -------
        Z : array of shape (n_samples, n_components)
        """
        check_is_fitted(self)
        X = self._check(X, reset=False)
        if self.solver == "svd":
            X = X - self.xbar_
        return row_scores(X, self.scalings_[:, : self._max_components].T, refuse=type(self).__name__)

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores w·x + b: of shape (n_samples,) for two classes, else (n_samples, n_classes).

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The data.

        Returns
        -------
        scores : array
            Logarithms of the posteriors up to a constant (of Fisher's solvers divided by the total weight); for
            two classes that of the second less that of the first.
        """
        check_is_fitted(self)
        scores = row_scores(self._check(X, reset=False), self.coef_, self.intercept_)
        return scores[:, 0] if self.classes_.size == 2 else scores


# Afterwards: scikit-learn's `set_output` wraps the method when the class is made.
LinearDiscriminantAnalysis.transform = OfProjection(LinearDiscriminantAnalysis.transform)  # type: ignore[method-assign, assignment]
