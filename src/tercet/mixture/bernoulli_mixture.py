"""Mixtures of Bernoulli distributions (伯努利混合模型): rows of zeros and ones."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

import numpy as np
from scipy import sparse

from tercet.core.catalog import method
from tercet.core.fitted_checks import Items
from tercet.core.functions import sigmoid, softmax
from tercet.core.parameters import ArrayLike, Count, Jobs, NonNegative, Seed
from tercet.core.streams import is_streamed
from tercet.mixture.discrete_mixture import (
    TINY,
    Decay,
    DiscreteMixture,
    InitParams,
    ProbabilityTables,
    finite_log,
    logarithm,
    scores,
    sums,
)


@method(
    zh="伯努利混合模型",
    task="clustering",
    approach="generative",
    model="P(x) = Σ_k π_k Π_j p_kj^x_j (1 - p_kj)^(1 - x_j)",
    strategy="maximum likelihood (alpha = 0) or maximum posterior probability",
    loss="log",
    convex=False,
    algorithms={
        "em": "E: posterior probabilities of the components; M: expected counts divided by their sums",
        "hard": "classification EM: each row assigned to its most probable component, then counts",
        "squarem": "EM accelerated by squared extrapolation (SQUAREM)",
    },
    texts=["Li ch. 9, 9.1.4", "watermelon notes ch. 5, eq. 5.14, 5.15"],
    peers=["pomegranate.gmm.GeneralMixtureModel", "stepmix.StepMix"],
)
class BernoulliMixture(DiscreteMixture):
    """Mixture of Bernoulli distributions: groups of rows of zeros and ones.

    P(x) = Σ_k π_k Π_j p_kj^x_j (1 - p_kj)^(1 - x_j), learned by EM. In the M step p_kj = (n_kj + α) / (n_k + 2α),
    with n_k the expected number of rows of component k in which x_j is known, n_kj of those in which it is 1. A
    missing value (NaN) takes no part. Where a row is impossible in all components, they are equally probable.

    Parameters
    ----------
    n_components : int, default=1
        The number of components.
    alpha : float, default=1.0
        Pseudo-count of ones and of zeros: 0 is maximum likelihood, 1 Laplace's smoothing.
    weight_prior : float, default=0.0
        Pseudo-count of each component.
    binarize : float or None, default=0.0
        Values above count as 1, others as 0; None takes values from 0 to 1 as they are.
    tol : float, default=1e-3
        Stop when the objective, for a row on average, rises by less.
    max_iter : int, default=100
        The most passes of one start.
    n_init : int, default=1
        How many starts to try; the best end is kept.
    init_params : {"kmeans", "k-means++", "random", "random_from_data"}, default="kmeans"
        The start: clusters of k-means; rows chosen by k-means++; random responsibilities; random rows.
    weights_init : array of shape (n_components,), optional
        The first weights π.
    probs_init : array of shape (n_components, n_features), optional
        The first probabilities p.
    algorithm : {"em", "hard", "squarem"}, default="em"
        EM; classification EM; EM with squared extrapolation (SQUAREM), for overlapping components.
    learning_decay : float, default=0.7
        How fast batches lose weight against those before, in `partial_fit`.
    random_state : int, optional
        Decides what is drawn.
    warm_start : bool, default=False
        Whether a fit begins where the last one ended.
    verbose : int, default=0
        Print a line for each `verbose_interval` passes.
    verbose_interval : int, default=10
        How many passes lie between two lines.
    n_jobs : int, optional
        Threads to use; the result does not depend on it.

    Attributes
    ----------
    weights_ : array of shape (n_components,)
        The weights π of the components.
    probs_ : array of shape (n_components, n_features)
        The probability of a 1 in each column.
    labels_ : array of shape (n_samples,)
        The most probable component of each row.
    converged_ : bool
        Whether the best start met the stopping rule.
    lower_bound_ : float
        The mean log-likelihood (plus log-prior) of the best start, before its last M step.
    lower_bounds_ : list of float
        The same for all passes of the best start.
    n_batches_, seen_weight_ : int, float
        The batches learned from (a fit is one), and the weight of their rows.

    Examples
    --------
    >>> X = [[1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1], [0, 1, 1, 1]]
    >>> model = BernoulliMixture(2, alpha=0.1, random_state=0).fit(X)
    >>> labels = model.predict([[1, 1, np.nan, np.nan], [0, 0, 1, np.nan]])
    >>> bool(labels[0] == model.labels_[0]), bool(labels[1] == model.labels_[3])
    (True, True)
    """

    sparse_input = True
    missing_input = True
    streaming = True
    streams_missing = False
    width_checked_attributes = ("probs_",)
    fitted_shapes = {
        "probs_": "components features",
        "_sums": Items(("components", "components features", "components features")),
    }

    def __init__(
        self,
        n_components: Count = 1,
        *,
        alpha: NonNegative = 1.0,
        weight_prior: NonNegative = 0.0,
        binarize: NonNegative | None = 0.0,
        tol: NonNegative = 1e-3,
        max_iter: Count = 100,
        n_init: Count = 1,
        init_params: InitParams = "kmeans",
        weights_init: ArrayLike | None = None,
        probs_init: ArrayLike | None = None,
        algorithm: Literal["em", "hard", "squarem"] = "em",
        learning_decay: Decay = 0.7,
        random_state: Seed = None,
        warm_start: bool = False,
        verbose: int | bool = 0,
        verbose_interval: Count = 10,
        n_jobs: Jobs = None,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.weight_prior = weight_prior
        self.binarize = binarize
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.init_params = init_params
        self.weights_init = weights_init
        self.probs_init = probs_init
        self.algorithm = algorithm
        self.learning_decay = learning_decay
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.verbose_interval = verbose_interval
        self.n_jobs = n_jobs

    def _components(self, n_features: int) -> BernoulliComponents:
        return BernoulliComponents(self.n_components, self.alpha, self.weight_prior, self.algorithm == "hard")

    def _encoded(self, X: Any, weight: np.ndarray | None, *, learning: bool = False) -> Any:
        if is_streamed(X):
            encoded = partial(binary, threshold=self.binarize, who=type(self).__name__)
            return X.map(encoded, width=X.shape[1])
        return binary(X, self.binarize, type(self).__name__)

    def _initial_responsibilities(
        self, X: Any, weight: np.ndarray | None, rng: np.random.Generator
    ) -> np.ndarray:
        return super()._initial_responsibilities(split_missing(X)[0], weight, rng)

    def _given_probs(self, shape: tuple[int, ...]) -> np.ndarray:
        return self._given("probs_init", self.probs_init, shape, axis=None)

    def _n_parameters(self) -> int:
        return len(self.weights_) * (self.n_features_in_ + 1) - 1


class BernoulliComponents(ProbabilityTables):
    """Components with a probability of 1 for each column."""

    has_missing = False  # as far as known: missing values show as NaN in the products

    def chunks(self, X: Any, weight: np.ndarray | None) -> Any:
        if is_streamed(X):  # whose missing values are refused
            return super().chunks(X, weight)
        self.has_missing = bool(np.isnan((X.data if sparse.issparse(X) else X).sum()))
        return super().chunks(X, weight)

    def log_joint(self, X: Any, theta: Any) -> np.ndarray:
        X, missing = split_missing(X) if self.has_missing else (X, None)
        p = theta["probs_"]
        joint = bernoulli_scores(finite_log(p), finite_log(1 - p), X, missing)
        if np.isnan(joint[0]).any():
            X, missing = split_missing(X)
            joint = bernoulli_scores(finite_log(p), finite_log(1 - p), X, missing)
        joint += logarithm(theta["weights_"])[:, None]
        if ((p == 0) | (p == 1)).any():
            joint[bernoulli_scores(p == 0, p == 1, X, missing) > 1e-9] = -np.inf
        return joint

    def statistics(self, X: Any, shares: np.ndarray, theta: Any) -> tuple[Any, ...]:
        X, missing = split_missing(X) if self.has_missing else (X, None)
        rows = shares.sum(axis=1)
        known = np.repeat(rows[:, None], X.shape[1], axis=1)
        return rows, sums(shares, X), known if missing is None else known - sums(shares, missing)

    def probabilities(self, counts: tuple[Any, ...], alpha: float) -> np.ndarray:
        ones, known = counts
        return bernoulli_probabilities(ones, known, alpha)

    def log_density(self, probs: np.ndarray) -> float:
        return float((logarithm(probs) + logarithm(1 - probs)).sum())

    def draw(self, theta: Any, counts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        p = np.repeat(theta["probs_"], counts, axis=0)
        return (rng.random(p.shape) < p).astype(np.float64)

    def pack(self, theta: Any) -> np.ndarray:
        p = np.clip(theta["probs_"].ravel(), TINY, 1 - 1e-16)
        return np.concatenate([np.log(np.maximum(theta["weights_"], TINY)), np.log(p) - np.log1p(-p)])

    def unpack(self, vector: np.ndarray) -> dict[str, Any]:
        k = self.n_components
        return {"weights_": softmax(vector[:k]), "probs_": sigmoid(vector[k:]).reshape(k, -1)}


def bernoulli_scores(ones: np.ndarray, zeros: np.ndarray, X: Any, missing: Any) -> np.ndarray:
    """Σ_j (ones_kj where x_ij = 1, zeros_kj where it is 0, nothing where it is missing), of shape (k, rows)."""
    ones, zeros = np.asarray(ones, dtype=np.float64), np.asarray(zeros, dtype=np.float64)
    found = scores(ones - zeros, X)
    found += zeros.sum(axis=1)[:, None]
    return found if missing is None else found - scores(zeros, missing)


def bernoulli_probabilities(ones: np.ndarray, known: np.ndarray, alpha: float) -> np.ndarray:
    """(n_kj + α) / (n_k + 2α); 1 is as probable as 0 where nothing is known."""
    known = np.maximum(known, 0.0) + 2 * alpha
    return np.clip(np.divide(ones + alpha, known, out=np.full(ones.shape, 0.5), where=known > 0), 0.0, 1.0)


def binary(X: Any, threshold: float | None, who: str) -> Any:
    """Zeros and ones, NaN where nothing is known."""
    values = X.data if sparse.issparse(X) else X
    if threshold is None:
        low, high = np.fmin.reduce(values, axis=None, initial=0), np.fmax.reduce(values, axis=None, initial=0)
        if low < 0 or high > 1:
            worst = low if low < 0 else high
            raise ValueError(
                f"{who}: with binarize=None all values of X must be from 0 to 1; there is {worst}."
            )
        return X
    ones = (values > threshold).astype(X.dtype)
    ones[np.isnan(values)] = np.nan
    return sparse.csr_array((ones, X.indices, X.indptr), shape=X.shape) if sparse.issparse(X) else ones


def split_missing(X: Any) -> tuple[Any, Any]:
    """X with 0 in place of missing values, and a matrix that is 1 where they are missing, or None."""
    values = X.data if sparse.issparse(X) else X
    if not np.isnan(values.sum()):
        return X, None
    where = np.isnan(values)
    filled, missing = np.where(where, 0, values), where.astype(X.dtype)
    if not sparse.issparse(X):
        return filled, missing
    here = (X.indices, X.indptr)
    return sparse.csr_array((filled, *here), shape=X.shape), sparse.csr_array((missing, *here), shape=X.shape)
