"""Semi-supervised Gaussian mixture (生成式方法)."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np

from tercet.cluster import kmeans_plusplus
from tercet.core.catalog import method
from tercet.core.estimator import check_is_fitted, generator
from tercet.core.fitted_checks import Floats, Indices, Labels, Sizes
from tercet.core.functions import log_sum_exp
from tercet.core.parallel import Chunks, each, total
from tercet.core.parameters import Annotated, Count, Jobs, NonNegative, Range, Seed
from tercet.core.validation import check_array
from tercet.mixture import GaussianComponents, GaussianParameters, gaussian_shapes
from tercet.optimize import check_ascent
from tercet.semi_supervised.partial_labels import (
    SemiSupervisedClassifier,
    check_labeled_weight,
    warn_all_labeled,
)


@method(
    zh="半监督高斯混合模型",
    task="classification",
    approach="generative",
    model="p(x) = Σ_i α_i N(x | μ_i, Σ_i), each component of one class; the class of the greatest Σ p(Θ = i | x)",
    strategy="maximum likelihood of labelled and unlabelled rows together",
    algorithms="EM: E: responsibilities, of labelled rows within their class; M: weighted means and covariances",
    texts=["watermelon notes ch. 11, sec. 11.2, eq. 11.1-11.6"],
    peers=["pomegranate.BayesClassifier"],
)
class SemiSupervisedGaussianMixture(SemiSupervisedClassifier):
    """Gaussian mixture whose components belong to classes, learned from rows with labels and without.

    Maximises Σ_l log Σ_{i of class y_j} α_i N(x_j | μ_i, Σ_i) + λ Σ_u log Σ_i α_i N(x_j | μ_i, Σ_i) by EM: the
    responsibilities of a labelled row are within its class (with one component for a class, they are 0 and 1),
    those of the others as in any mixture. The likelihood never falls (but for `reg_covar`). It helps where
    classes are Gaussian, and does harm where they are not. NaN in X stands for a value that is not known.
    Learning is inductive.

    Parameters
    ----------
    n_components : int, default=1
        Components of each class.
    covariance_type : {"full", "tied", "diag", "spherical"}, default="full"
        A matrix for each component, one for all, a diagonal for each, or a number for each.
    unlabeled_weight : float, default=1.0
        λ: how much a row without a label counts beside one with a label, in [0, 1].
    tol : float, default=1e-3
        Stop when the mean log-likelihood rises by less.
    reg_covar : float, default=1e-6
        Added to the variances.
    max_iter : int, default=100
        The most passes.
    weights_init : array of shape (n_components_,), optional
        α at the start; by default the shares of the labelled rows.
    means_init : array of shape (n_components_, n_features), optional
        μ at the start; by default the means of the labelled rows of each class (of several components, of the rows
        that are nearest to one of as many seeds).
    covariances_init : array in the form of `covariances_`, optional
        Σ at the start; by default the covariance of all rows within the classes, as far as the labels tell.
    random_state : int, optional
        Decides the seeds of several components.
    n_jobs : int, optional
        Threads; the result does not depend on it.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    component_classes_ : array of shape (n_components_,)
        The class of each component, as an index into `classes_`.
    weights_, means_, covariances_ : arrays
        α, of shape (n_components_,), μ, (n_components_, n_features), and Σ, as `covariance_type` says.
    precisions_, precisions_cholesky_ : arrays
        The inverses of the covariances, and their Cholesky factors.
    lower_bound_ : float
        The mean log-likelihood at the last pass.
    lower_bounds_ : list
        Of all passes.
    transduction_ : array of shape (n_samples,)
        The labels that were given, and the most probable classes of the other rows.
    converged_ : bool
    n_iter_ : int

    Examples
    --------
    >>> X = [[0.0], [1.0], [5.0], [0.5], [2.0], [4.5], [6.0], [5.5]]
    >>> y = [0, 0, 1, -1, -1, -1, -1, -1]
    >>> model = SemiSupervisedGaussianMixture(reg_covar=0.0, tol=1e-9).fit(X, y)
    >>> model.means_.ravel().round(3), model.transduction_
    (array([0.875, 5.25 ]), array([0, 0, 1, 0, 0, 1, 1, 1]))
    """

    sparse_input = False
    missing_input = True
    batch_rounding = 1e-10  # densities are products by BLAS, of covariances that may be nearly singular

    def __init__(
        self,
        n_components: Count = 1,
        *,
        covariance_type: Literal["full", "tied", "diag", "spherical"] = "full",
        unlabeled_weight: Annotated[float, Range(0, 1)] = 1.0,
        tol: NonNegative = 1e-3,
        reg_covar: NonNegative = 1e-6,
        max_iter: Count = 100,
        weights_init: list | tuple | np.ndarray | None = None,
        means_init: list | tuple | np.ndarray | None = None,
        covariances_init: list | tuple | np.ndarray | float | None = None,
        random_state: Seed = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.unlabeled_weight = unlabeled_weight
        self.tol = tol
        self.reg_covar = reg_covar
        self.max_iter = max_iter
        self.weights_init = weights_init
        self.means_init = means_init
        self.covariances_init = covariances_init
        self.random_state = random_state
        self.n_jobs = n_jobs

    fitted_shapes = {
        **gaussian_shapes("covariance_type"),
        "weights_": Floats("components", low=0.0),
        "component_classes_": Indices("components", below="classes"),
        "transduction_": Labels("samples"),
    }
    component_classes_: np.ndarray
    weights_: np.ndarray
    means_: np.ndarray
    covariances_: np.ndarray
    precisions_cholesky_: np.ndarray
    transduction_: np.ndarray

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows X with labels y.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The rows; NaN stands for a value that is not known.
        y : array of shape (n_samples,)
            The labels; -1 (or None among strings) for rows without one.
        sample_weight : array of shape (n_samples,), optional
            How much each row counts; 2 is as good as having the row twice.

        Returns
        -------
        self
        """
        return self._learn(X, y, sample_weight)

    def _fit(self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        check_labeled_weight(y, sample_weight, self.classes_, type(self).__name__)
        if (y >= 0).all():
            warn_all_labeled(type(self).__name__)
        given = X
        weight = np.ones(y.size) if sample_weight is None else sample_weight.astype(np.float64)
        weight = np.where(y < 0, self.unlabeled_weight * weight, weight)
        X, codes, weight = X[weight > 0], y[weight > 0], weight[weight > 0]
        self.component_classes_ = np.repeat(np.arange(self.classes_.size), self.n_components)
        components = self._components(X.shape[1])
        theta = self._start(X, codes, weight, components)
        # a row may belong to the components of its class, or to all
        groups = [(c, np.flatnonzero(self.component_classes_ == c)) for c in range(self.classes_.size)]
        groups.append((-1, np.arange(self.component_classes_.size)))
        chunks = [
            (*chunk, members)
            for c, members in groups
            if (codes == c).any()
            for chunk in components.chunks(X[codes == c], weight[codes == c])
        ]
        mass, before = float(weight.sum()), -np.inf

        def fitted(theta: GaussianParameters) -> dict[str, Any]:
            return self._attributes(theta, given, y)

        loop = self.steps(self.max_iter, unpack=fitted)
        for step in loop:
            likelihood, *statistics = total(
                expected, chunks, components, theta, n_jobs=self.n_jobs
            )  # E (11.5)
            value = float(likelihood) / mass
            check_ascent(before if components.monotone else -np.inf, value)
            following = components.maximise(tuple(statistics), theta)  # M (11.6)
            step.report(following, lower_bound=value)
            theta = following
            if step.converged(abs(value - before) < self.tol):
                break
            before = value
        self.__dict__.update(
            fitted(theta),
            converged_=bool(loop.is_converged),
            lower_bound_=value,
            lower_bounds_=[float(measures["lower_bound"]) for measures in loop.history],
        )

    def _components(self, d: int) -> GaussianComponents:
        return GaussianComponents(
            self.covariance_type, self.component_classes_.size, d, reg_covar=self.reg_covar
        )

    def _start(
        self, X: np.ndarray, codes: np.ndarray, weight: np.ndarray, components: GaussianComponents
    ) -> GaussianParameters:
        """Parameters from the labelled rows, but for those that are given."""
        k, d = self.component_classes_.size, X.shape[1]
        known = np.flatnonzero(codes >= 0)
        filled = np.where(np.isnan(X), _known_means(X, weight), X).astype(np.float64)
        labels = self._assigned(filled[known], codes[known], weight[known])
        mass = np.bincount(labels, weight[known], minlength=k)
        sums = [np.bincount(labels, weight[known] * x, minlength=k) for x in filled[known].T]
        means: np.ndarray = np.stack(sums, axis=1) / mass[:, None]
        share = weight / weight.sum()
        spread = share @ (filled - share @ filled) ** 2
        # of the labelled rows about their means, and of the others about the nearest
        rest = np.flatnonzero(codes < 0)
        nearest = np.empty(codes.size, dtype=np.int64)
        nearest[known] = labels
        if rest.size:
            scale = np.maximum(np.sqrt(spread), 1e-300)
            near = [((filled[rest] - mean) / scale) ** 2 for mean in means]
            nearest[rest] = np.stack([square.sum(axis=1) for square in near]).argmin(axis=0)
        apart = filled - means[nearest]
        pooled = (weight[:, None] * apart).T @ apart / weight.sum()
        pooled[np.diag_indices(d)] += self.reg_covar + 1e-6 * spread.mean() + 1e-300
        covariances = self._given("covariances_init", _compact(pooled, self.covariance_type, k))
        weights = self._given("weights_init", mass / mass.sum())
        if not (weights > 0).all() or not np.isclose(weights.sum(), 1.0):
            raise ValueError(
                f"{type(self).__name__}: weights_init must be {k} positive numbers that sum to 1; got {weights}."
            )
        means = self._given("means_init", means)
        return GaussianParameters.of_covariances(self.covariance_type, weights, means, covariances)

    def _given(self, name: str, otherwise: np.ndarray) -> np.ndarray:
        """A part of the start that is given, in the shape of what is found."""
        value = getattr(self, name)
        if value is None:
            return otherwise
        found = check_array(value, dtype=np.float64, ensure_2d=False, allow_nd=True, input_name=name)
        if found.shape != otherwise.shape:
            raise ValueError(
                f"{type(self).__name__}: {name} must have the shape {otherwise.shape}; got {found.shape}."
            )
        return found

    def _assigned(self, X: np.ndarray, codes: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """The component of each labelled row: the one of its class, or that of the nearest of several seeds."""
        m = self.n_components
        if m == 1:
            return codes
        rng, found = generator(self.random_state), np.empty(codes.size, dtype=np.int64)
        for c, label in enumerate(self.classes_.tolist()):
            rows = np.flatnonzero(codes == c)
            if np.unique(X[rows], axis=0).shape[0] < m:
                raise ValueError(
                    f"{type(self).__name__}: n_components={m} needs as many different labelled rows of each class; "
                    f"the class {label!r} has {np.unique(X[rows], axis=0).shape[0]}."
                )
            seeds, _ = kmeans_plusplus(X[rows], m, sample_weight=weight[rows], random_state=rng)
            apart = ((X[rows][:, None, :] - seeds) ** 2).sum(axis=-1)
            found[rows] = c * m + apart.argmin(axis=1)
        return found

    def _attributes(self, theta: GaussianParameters, X: np.ndarray, y: np.ndarray) -> dict[str, Any]:
        codes = np.where(y >= 0, y, self._posterior(X, theta).argmax(axis=1))
        return {
            "weights_": theta.weights,
            "means_": theta.means,
            "covariances_": theta.covariances,
            "precisions_": theta.precisions,
            "precisions_cholesky_": theta.cholesky,
            "transduction_": self.classes_[codes],
        }

    def _theta(self) -> GaussianParameters:
        return GaussianParameters.of_precisions(
            self.covariance_type, self.weights_, self.means_, self.precisions_cholesky_
        )

    def _check_fitted(self, sizes: Sizes) -> None:
        try:
            self._theta()
        except np.linalg.LinAlgError:
            raise ValueError(f"{type(self).__name__}: precisions_cholesky_ are singular.") from None
        if set(self.component_classes_.tolist()) != set(range(self.classes_.size)):
            raise ValueError(f"{type(self).__name__}: component_classes_ leave out a class.")

    def _log_joint(self, X: np.ndarray, theta: GaussianParameters) -> np.ndarray:
        """log Σ_{i of class c} α_i N(x | μ_i, Σ_i), of shape (n_samples, n_classes)."""
        components, classes = self._components(X.shape[1]), self.component_classes_

        def of_chunk(chunk: Any) -> np.ndarray:
            joint = components.log_joint(chunk[0], theta).T
            parts = [joint[:, classes == c] for c in range(self.classes_.size)]
            return np.column_stack([log_sum_exp(part) for part in parts])

        chunks = Chunks(X, rows=components.rows_at_once())
        with np.errstate(over="ignore", invalid="ignore"):  # too far from all components for a number
            return np.concatenate(each(of_chunk, chunks, n_jobs=self.n_jobs))

    def _posterior(self, X: np.ndarray, theta: GaussianParameters) -> np.ndarray:
        joint = self._log_joint(X, theta)
        impossible = ~np.isfinite(joint.max(axis=1))  # too far from all: by the weights alone
        if impossible.any():
            mass = np.bincount(self.component_classes_, theta.weights, minlength=self.classes_.size)
            with np.errstate(divide="ignore"):
                joint = np.where(impossible[:, None], np.log(mass), joint)
        shares = np.exp(joint - joint.max(axis=1, keepdims=True))
        return shares / shares.sum(axis=1, keepdims=True)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Posterior probabilities of the classes (11.2), (11.3).

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        probabilities : array of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        return self._posterior(self._check(X, reset=False), self._theta())

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each row.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        labels : array of shape (n_samples,)
        """
        proba = self.predict_proba(X)
        return self.classes_[proba.argmax(axis=1)]

    def score_samples(self, X: Any) -> np.ndarray:
        """The log-likelihood of each row, its class not known."""
        check_is_fitted(self)
        return log_sum_exp(self._log_joint(self._check(X, reset=False), self._theta()))


def expected(chunk: Any, components: GaussianComponents, theta: GaussianParameters) -> tuple[Any, ...]:
    """The E step of rows that may belong to some components: log-likelihood, and the statistics of all."""
    X, weight, members = chunk
    if members.size == len(theta.weights):
        return components.expect((X, weight), theta)
    tied = components.kind == "tied"
    covariances = theta.covariances if tied else theta.covariances[members]
    cholesky = theta.cholesky if tied else theta.cholesky[members]
    part = GaussianParameters(
        components.kind,
        theta.offsets[members],
        theta.means[members],
        cholesky,
        covariances,
        theta.weights[members],
    )
    likelihood, counts, sums, products = components.expect((X, weight), part)
    found = [np.zeros(theta.weights.shape), np.zeros(theta.means.shape), np.zeros(theta.covariances.shape)]
    found[0][members], found[1][members] = counts, sums
    if tied:
        found[2] = products
    else:
        found[2][members] = products
    return (likelihood, *found)


def _compact(matrix: np.ndarray, kind: str, k: int) -> np.ndarray:
    """One covariance matrix for k components, in the form of a type of covariances."""
    if kind == "tied":
        return matrix
    if kind == "full":
        return np.tile(matrix, (k, 1, 1))
    diagonal = np.diagonal(matrix)
    return np.tile(diagonal, (k, 1)) if kind == "diag" else np.full(k, diagonal.mean())


def _known_means(X: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Weighted means of the known values of the columns; 0 of a column without any."""
    known = ~np.isnan(X)
    mass = weight @ known
    return np.divide(weight @ np.where(known, X, 0.0), mass, out=np.zeros(X.shape[1]), where=mass > 0)
