"""The quadratic discriminant of one class (单类二次判别函数): an ellipsoid around the rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal, Self

import numpy as np
from scipy import linalg
from scipy.stats import chi2
from sklearn.base import OutlierMixin

from tercet.core.catalog import method
from tercet.core.estimator import NO_TARGET, Estimator, check_is_fitted
from tercet.core.fitted_checks import Floats
from tercet.core.parallel import one_blas_thread
from tercet.core.parameters import Count, CountOrZero, Fraction, Jobs, NonNegative, OpenFraction, Range
from tercet.core.row_sums import mass_of
from tercet.core.validation import finite_predictions, target_for_callbacks
from tercet.discriminant_analysis.base import check_squares
from tercet.discriminant_analysis.covariance import (
    covariance,
    principal_axes,
    squared_distances,
    standard_deviations,
)
from tercet.discriminant_analysis.quadratic_form import QuadraticForm
from tercet.discriminant_analysis.scatter import EPS, class_means, one_class, pooled_scatter

Contamination = Annotated[float, Range(0, 0.5, "(]")]
REPEATS = 5  # of finding robust axes in the coordinates of the last ones
SupportFraction = Annotated[float, Range(0.5, 1, "[]")]


@method(
    zh="单类二次判别函数",
    task="outlier detection",
    approach="generative",
    model="g(x) = K² - (x-m)ᵀΣ⁻¹(x-m): inside of an ellipsoid where g(x) >= 0",
    strategy="mean and unbiased covariance of one class; robust: those of a part with the least determinant",
    algorithms="closed form; robust: concentration steps",
    texts=["Pattern Recognition ch. 5, sec. 5.3, eq. 5-12, 5-13"],
)
class OneClassQuadraticDiscriminant(OutlierMixin, Estimator):
    """Quadratic discriminant of one class: rows within a Mahalanobis distance K of the mean belong to it.

    g(x) = K² - (x-m)ᵀΣ⁻¹(x-m), where K² sets the bias of the decision. It suits one compact class, about normal, in
    the middle of rows of other kinds, of which there may be none to learn from.

    Parameters
    ----------
    threshold : {"contamination", "chi2"} or float, default="contamination"
        K²: such that a part `contamination` of the training rows is outside; the quantile of the chi-squared
        distribution at `level`, which holds this part of a normal class; or a number.
    contamination : float in (0, 0.5], default=0.1
        The part of the training rows that is to be outside, for threshold="contamination".
    level : float in (0, 1), default=0.975
        The part of a normal class that is to be inside, for threshold="chi2".
    ddof : int, default=1
        The covariance is divided by N - ddof: 1 is unbiased as in the text, 0 is maximum likelihood.
    shrinkage : "auto", float in [0, 1] or None, default=None
        How far to move the covariance to a multiple of the identity; "auto" takes the amount of Ledoit and Wolf.
    reg_param : float in [0, 1], default=0.0
        Makes the covariance (1-r) Σ + r I.
    tol : float, default=1e-4
        Rows that, in units of the features' spread, have a singular value up to tol are not of full rank: an error.
    support_fraction : float in [0.5, 1], optional
        Robust estimation: m and Σ of this part of the rows, those nearest to the mean, found by concentration steps
        from robust starts and scaled for consistency with a normal distribution. By default all rows count.
    max_iter : int, default=100
        Maximum number of concentration steps.
    n_jobs : int, optional
        Threads to use; the result does not depend on it.

    Attributes
    ----------
    location_ : array of shape (n_features,)
        The mean m.
    covariance_ : array of shape (n_features, n_features)
        The covariance Σ.
    precision_ : array of shape (n_features, n_features)
        Its inverse.
    threshold_ : float
        K².
    offset_ : float
        -K²: the score at the border.
    rotation_ : array of shape (n_features, n_features)
        Principal axes of the ellipsoid, as columns.
    scaling_ : array of shape (n_features,)
        Variances along them.
    n_iter_ : int
        Concentration steps; 1 without `support_fraction`.
    history_ : dict
        For each concentration step the logarithm of the determinant ("log_det"), with `support_fraction`.

    Examples
    --------
    >>> X = [[0, 0], [2, 0], [0, 2], [2, 2], [1, 1]]
    >>> model = OneClassQuadraticDiscriminant(threshold=4.0).fit(X)
    >>> model.decision_function([[3, 3], [2.5, 2.5], [1, 2]]).round(9)
    array([-4. , -0.5,  3. ])
    >>> model.predict([[3, 3], [2.5, 2.5], [1, 2]])
    array([-1, -1,  1])
    """

    sparse_input = False
    streams_instead = "GaussianMixture, whose score_samples finds outliers"
    fitted_shapes = {
        "location_": Floats("features", finite=True),
        "covariance_": "features features",
        "precision_": "features features",
        "rotation_": "features features",
        "scaling_": Floats("features", low=0.0),
        "threshold_": Floats("", finite=True),
        "offset_": Floats("", finite=True),
    }

    def __init__(
        self,
        threshold: NonNegative | Literal["contamination", "chi2"] = "contamination",
        *,
        contamination: Contamination = 0.1,
        level: OpenFraction = 0.975,
        ddof: CountOrZero = 1,
        shrinkage: Fraction | Literal["auto"] | None = None,
        reg_param: Fraction = 0.0,
        tol: NonNegative = 1e-4,
        support_fraction: SupportFraction | None = None,
        max_iter: Count = 100,
        n_jobs: Jobs = None,
    ) -> None:
        self.threshold = threshold
        self.contamination = contamination
        self.level = level
        self.ddof = ddof
        self.shrinkage = shrinkage
        self.reg_param = reg_param
        self.tol = tol
        self.support_fraction = support_fraction
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    location_: np.ndarray
    covariance_: np.ndarray
    precision_: np.ndarray
    threshold_: float
    offset_: float
    rotation_: np.ndarray
    scaling_: np.ndarray

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the ellipsoid of the rows X.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The training data.
        y : ignored
            Callbacks may score by it.
        sample_weight : array of shape (n_samples,), optional
            Weight of each row; a weight of 2 is equivalent to repeating the row.

        Returns
        -------
        self
        """
        return self._learn(X, y, sample_weight)

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        X = super()._check(X, reset=reset)
        return X if y is NO_TARGET else (X, target_for_callbacks(y, X.shape[0]))

    def _fit(self, X: np.ndarray, y: Any, sample_weight: np.ndarray | None) -> None:
        name = type(self).__name__
        check_squares(X, name)
        if sample_weight is not None:
            there = sample_weight > 0
            X, sample_weight = X[there], sample_weight[there].astype(np.float64)
        mass = mass_of(X, sample_weight)
        if mass <= self.ddof:
            raise ValueError(
                f"{name}: ddof must be less than the number of samples; got ddof={self.ddof} and {mass:g} sample."
            )
        if self.support_fraction is None:
            found = self._ellipsoid(X, sample_weight)
            self.__dict__.update(self._with_threshold(found, X, sample_weight), n_iter_=1)
        else:
            self._concentrate(X, np.ones(len(X)) if sample_weight is None else sample_weight)

    def _concentrate(self, X: np.ndarray, weight: np.ndarray) -> None:
        """Concentration steps: the ellipsoid of the rows that the last one has nearest to its centre.

        The determinant of the covariance never rises, since these rows are at most as far from the last mean as the
        last rows were (Rousseeuw and Van Driessen 1999).
        """
        part = float(self.support_fraction)  # type: ignore[arg-type]
        factor = consistency_factor(part, X.shape[1])

        def fitted(found: dict[str, np.ndarray]) -> dict[str, Any]:
            scaled = {name: factor * found[name] for name in ("covariance_", "scaling_")}
            scaled["precision_"] = found["precision_"] / factor
            return self._with_threshold({**found, **scaled}, X, weight)

        with one_blas_thread():  # the products are of few columns
            nearest = self._best_start(X, weight, part)
        for step in self.steps(self.max_iter, name="concentration", unpack=fitted):
            found = self._ellipsoid(X, nearest)
            step.report(found, log_det=float(np.log(found["scaling_"]).sum()))
            before, nearest = nearest, nearest_part(self._squares(X, found), weight, part)
            if step.converged(np.array_equal(before, nearest)):
                break
        self.__dict__.update(fitted(found))

    def _best_start(self, X: np.ndarray, weight: np.ndarray, part: float) -> np.ndarray:
        """Of several robust shapes, the one with the least determinant after two concentration steps."""
        found, flat = [], None
        for start in robust_distances(X, weight):
            nearest = nearest_part(start, weight, part)
            try:
                for _ in range(2):
                    ellipsoid = self._ellipsoid(X, nearest)
                    nearest = nearest_part(self._squares(X, ellipsoid), weight, part)
            except linalg.LinAlgError as error:  # another start may have rows of full rank
                flat = error
                continue
            found.append((float(np.log(ellipsoid["scaling_"]).sum()), nearest))
        if not found:
            raise flat  # type: ignore[misc]
        return min(found, key=lambda pair: pair[0])[1]

    def _ellipsoid(self, X: np.ndarray, weight: np.ndarray | None) -> dict[str, np.ndarray]:
        """Mean, covariance, its inverse, principal axes and variances, of weighted rows."""
        if weight is not None and not (weight > 0).all():
            X, weight = X[weight > 0], weight[weight > 0]
        one, mass = one_class(X), mass_of(X, weight)
        mean = class_means(X, one, weight, n_jobs=self.n_jobs)[1]
        if self.shrinkage is None:
            C = pooled_scatter(X, one, weight, mean, n_jobs=self.n_jobs) / mass
        else:
            C = covariance(X, weight, shrinkage=self.shrinkage, n_jobs=self.n_jobs)
        C = C * (mass / (mass - self.ddof))
        if self.reg_param:
            C = (1 - self.reg_param) * C + self.reg_param * np.eye(C.shape[0])
        self._check_rank(C, len(X))
        variances, axes = principal_axes(C)
        found = {"location_": mean[0], "covariance_": C, "precision_": axes / variances @ axes.T}
        found |= {"rotation_": axes, "scaling_": variances}
        return {name: value.astype(X.dtype, copy=False) for name, value in found.items()}

    def _check_rank(self, C: np.ndarray, n: int) -> None:
        """An error where Σ, in units of the features' spread, is not of full rank."""
        d, std = C.shape[0], standard_deviations(C)
        least = (
            linalg.eigvalsh(C / np.outer(std, std), subset_by_index=[0, 0])[0] if C.diagonal().all() else 0.0
        )
        if not least > max(self.tol**2, d * EPS):
            raise linalg.LinAlgError(
                f"{type(self).__name__}: the covariance matrix of {n} samples with {d} features is not full rank. "
                f"Use shrinkage='auto', or raise reg_param={self.reg_param}."
            )

    def _with_threshold(
        self, ellipsoid: dict[str, Any], X: np.ndarray, weight: np.ndarray | None
    ) -> dict[str, Any]:
        """The fitted attributes: an ellipsoid and its K²."""
        threshold = self._threshold(ellipsoid, X, weight)
        return {**ellipsoid, "threshold_": threshold, "offset_": -threshold}

    def _threshold(self, ellipsoid: dict[str, Any], X: np.ndarray, weight: np.ndarray | None) -> float:
        """K² as given, by the chi-squared distribution, or by the part of the rows that is to be outside."""
        if self.threshold == "chi2":
            return float(chi2.ppf(self.level, X.shape[1]))
        if self.threshold != "contamination":
            return float(self.threshold)
        return threshold_of_part(self._squares(X, ellipsoid), weight, self.contamination)

    def _squares(self, X: np.ndarray, ellipsoid: dict[str, Any]) -> np.ndarray:
        """Squared Mahalanobis distances from the centre of an ellipsoid."""
        root = ellipsoid["rotation_"] / np.sqrt(ellipsoid["scaling_"])  # root rootᵀ = Σ⁻¹
        return squared_distances(X, ellipsoid["location_"][None], root[None], n_jobs=self.n_jobs)[:, 0]

    def mahalanobis(self, X: Any) -> np.ndarray:
        """Squared Mahalanobis distances of rows from the mean.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The data.

        Returns
        -------
        distances : array of shape (n_samples,)
        """
        check_is_fitted(self, "location_")
        X = self._check(X, reset=False)
        check_squares(X, type(self).__name__, least=0.0)
        return finite_predictions(self._squares(X, self.__dict__), type(self).__name__)

    def score_samples(self, X: Any) -> np.ndarray:
        """Negative squared Mahalanobis distances: the larger, the more like the class.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The data.

        Returns
        -------
        scores : array of shape (n_samples,)
        """
        return -self.mahalanobis(X)

    def decision_function(self, X: Any) -> np.ndarray:
        """The discriminant g(x) = K² - (x-m)ᵀΣ⁻¹(x-m): negative outside of the ellipsoid.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The data.

        Returns
        -------
        scores : array of shape (n_samples,)
        """
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> np.ndarray:
        """+1 for rows inside of the ellipsoid, -1 for outliers.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The data.

        Returns
        -------
        sides : array of shape (n_samples,)
        """
        return np.where(self.decision_function(X) >= 0, 1, -1)

    def boundary(self) -> QuadraticForm:
        """The discriminant as the W, w and w₀ of xᵀWx + wᵀx + w₀.

        Returns
        -------
        QuadraticForm
        """
        check_is_fitted(self, "location_")
        P, m = self.precision_, self.location_
        return QuadraticForm(-P, 2 * P @ m, float(self.threshold_ - m @ P @ m))


def threshold_of_part(squares: np.ndarray, weight: np.ndarray | None, part: float) -> float:
    """The threshold that leaves at most a part of the weight above it, as much as is possible.

    It is half-way between the last value inside and the first one outside.

    Examples
    --------
    >>> threshold_of_part(np.array([1.0, 9.0, 4.0, 2.0]), None, 0.25)
    6.5
    """
    order = np.argsort(-squares, kind="stable")
    sizes = squares[order]
    above = np.cumsum(np.ones(squares.size) if weight is None else weight[order])
    inside = sizes[above > part * above[-1] * (1 + 1e-12)]
    if not inside.size:
        return float(sizes[-1])
    outside = sizes[sizes > inside[0]]
    return float(inside[0] if not outside.size else inside[0] / 2 + outside[-1] / 2)


def nearest_part(squares: np.ndarray, weight: np.ndarray, part: float) -> np.ndarray:
    """The weights of the nearest rows that make up a part of the weight, the last one's cut; 0 for the rest.

    Examples
    --------
    >>> nearest_part(np.array([3.0, 1.0, 2.0]), np.array([1.0, 1.0, 1.0]), 0.5)
    array([0. , 1. , 0.5])
    """
    order = np.argsort(squares, kind="stable")
    before = np.cumsum(weight[order]) - weight[order]
    kept = np.empty(weight.size)
    kept[order] = np.clip(part * weight.sum() - before, 0.0, weight[order])
    return kept


def robust_distances(X: np.ndarray, weight: np.ndarray) -> Iterator[np.ndarray]:
    """Squared distances of rows from a centre in several robust shapes (after Hubert, Rousseeuw and Verdonck 2012).

    Outliers have little influence on correlations of signs, ranks, bounded values and directions, nor on the
    covariance of the inner half. Each has axes, along which medians are the centre and median absolute deviations
    the spread. Axes in which rows look normal show outliers that no feature shows, the more so when axes are found
    anew in the coordinates of the last ones.
    """
    share = weight / weight.sum()
    first = standardised(X, weight)
    yield (first**2).sum(axis=1)
    for correlations in (
        sign_correlations,
        rank_correlations,
        bounded_correlations,
        direction_correlations,
        half_covariance,
    ):
        Z = first
        for _ in range(REPEATS):
            Z = standardised(Z @ np.linalg.eigh(correlations(Z, share))[1], weight)
        yield (Z**2).sum(axis=1)


def sign_correlations(Z: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Of normal variables, the correlations."""
    return np.sin(np.pi / 2 * (np.sign(Z).T * share) @ np.sign(Z))


def rank_correlations(Z: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Spearman's, but for a factor."""
    ranks = np.column_stack([weighted_ranks(z, share) for z in Z.T]) - 0.5
    return (ranks.T * share) @ ranks


def bounded_correlations(Z: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Products of values that have been bounded by the hyperbolic tangent."""
    return (np.tanh(Z).T * share) @ np.tanh(Z)


def direction_correlations(Z: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Products of the rows' directions from the centre."""
    square = (Z**2).sum(axis=1)
    return (Z.T * (share / np.where(square > 0, square, 1.0))) @ Z


def half_covariance(Z: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Products of the half of the rows that is nearest to the centre."""
    return (Z.T * nearest_part((Z**2).sum(axis=1), share, 0.5)) @ Z


def standardised(X: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Columns less their medians, in units of their median absolute deviations."""
    apart = X - medians(X, weight)
    spread = medians(np.abs(apart), weight)
    return apart / np.where(spread > 0, spread, 1.0)


def weighted_ranks(x: np.ndarray, share: np.ndarray) -> np.ndarray:
    """The part of the weight below each value, and half of that at it.

    Examples
    --------
    >>> weighted_ranks(np.array([7.0, 5.0, 7.0, 9.0]), np.full(4, 0.25))
    array([0.5  , 0.125, 0.5  , 0.875])
    """
    _, at = np.unique(x, return_inverse=True)
    mass = np.bincount(at.reshape(-1), share)
    return (np.cumsum(mass) - mass / 2)[at.reshape(-1)]


def medians(X: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The weighted median of each column; of two middle values the lower.

    Examples
    --------
    >>> medians(np.array([[1.0], [5.0], [2.0]]), np.array([1.0, 3.0, 1.0]))
    array([5.])
    """
    columns = np.ascontiguousarray(X.T)
    if (weight == weight[0]).all():
        middle = (weight.size - 1) // 2
        return np.partition(columns, middle, axis=1)[:, middle]
    order = np.argsort(columns, axis=1, kind="stable")
    reached = np.cumsum(weight[order], axis=1) >= weight.sum() / 2 * (1 - 1e-12)
    at = np.take_along_axis(order, reached.argmax(axis=1)[:, None], axis=1)
    return np.take_along_axis(columns, at, axis=1)[:, 0]


def consistency_factor(part: float, d: int) -> float:
    """What makes the covariance of the nearest part of normal rows that of all of them.

    Examples
    --------
    >>> consistency_factor(1.0, 3), round(consistency_factor(0.5, 1), 4)
    (1.0, 7.0101)
    """
    return 1.0 if part >= 1 else float(part / chi2.cdf(chi2.ppf(part, d), d + 2))
