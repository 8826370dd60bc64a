"""Mixtures of multinomial distributions (多项混合模型): rows of counts, as of the words of a text."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy import sparse
from scipy.special import gammaln

from tercet.core.catalog import method
from tercet.core.fitted_checks import Floats, Items
from tercet.core.functions import softmax
from tercet.core.parameters import ArrayLike, Count, Jobs, NonNegative, Seed
from tercet.core.scaling import LARGE
from tercet.core.streams import is_streamed
from tercet.mixture.components import posterior
from tercet.mixture.discrete_mixture import (
    Decay,
    DiscreteMixture,
    InitParams,
    ProbabilityTables,
    chunks_of,
    finite_log,
    logarithm,
    scores,
    sums,
)

MOST = 1 << 16  # counts up to here find the logarithm of their factorial in a table


@method(
    zh="多项混合模型",
    task="clustering",
    approach="generative",
    model="P(x) = Σ_k π_k n! Π_j p_kj^x_j / x_j!, n = Σ_j x_j",
    strategy="maximum likelihood (alpha = 0) or maximum posterior probability",
    loss="log",
    convex=False,
    algorithms={
        "em": "E: posterior probabilities of the components; M: expected counts divided by their sums",
        "hard": "classification EM: each row assigned to its most probable component, then counts",
        "squarem": "EM accelerated by squared extrapolation (SQUAREM)",
    },
    texts=["Li ch. 9, 9.1.4", "watermelon notes ch. 5, eq. 5.14, 5.15"],
    peers=["stepmix.StepMix"],
)
class MultinomialMixture(DiscreteMixture):
    """Mixture of multinomial distributions: groups of rows of counts, dense or sparse.

    P(x) = Σ_k π_k n! Π_j p_kj^x_j / x_j! with n = Σ_j x_j, learned by EM. In the M step
    p_kj = (n_kj + α) / (n_k + dα), with n_kj the expected count of column j in the rows of component k, and n_k the
    sum over the d columns. Counts need not be whole. Where a row is impossible in all components, they are equally
    probable. `sample` draws rows of the mean length of those learned from.

    Parameters
    ----------
    n_components : int, default=1
        The number of components.
    alpha : float, default=1.0
        Pseudo-count of each column: 0 is maximum likelihood, 1 Laplace's smoothing.
    weight_prior : float, default=0.0
        Pseudo-count of each component.
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
        The share of each column in the counts.
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
    >>> X = [[5, 1, 0], [6, 0, 1], [4, 1, 1], [0, 2, 7], [1, 1, 8]]
    >>> model = MultinomialMixture(2, alpha=0.1, random_state=0).fit(X)
    >>> sorted(model.probs_.round(2).tolist())
    [[0.06, 0.16, 0.78], [0.78, 0.11, 0.11]]
    """

    sparse_input = True
    largest_value = LARGE
    positive_only = True
    streaming = True
    width_checked_attributes = ("probs_",)
    fitted_shapes = {
        "probs_": "components features",
        "_sums": Items((Floats("components", finite=True), Floats("components features", finite=True))),
    }

    def __init__(
        self,
        n_components: Count = 1,
        *,
        alpha: NonNegative = 1.0,
        weight_prior: NonNegative = 0.0,
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

    def _components(self, n_features: int) -> MultinomialComponents:
        model = MultinomialComponents(
            self.n_components, self.alpha, self.weight_prior, self.algorithm == "hard"
        )
        if hasattr(self, "_sums"):
            model.length = round(float(np.sum(self._sums[1]) / np.sum(self._sums[0])))
        return model

    def _n_parameters(self) -> int:
        return len(self.weights_) * self.n_features_in_ - 1


class MultinomialComponents(ProbabilityTables):
    """Components with a share of the counts for each column."""

    length: int = 1  # of the rows that are drawn: that of those learned from, on average

    def chunks(self, X: Any, weight: np.ndarray | None) -> Any:
        return chunks_of(X, weight, X.map(orders, dtype=np.float64) if is_streamed(X) else orders(X))

    def expect(self, chunk: Any, theta: Any) -> tuple[Any, ...]:
        X, weight, ways = chunk
        shares, likelihood = posterior(self._joint(X, theta), hard=self.hard)
        likelihood += ways
        if weight is not None:
            shares *= weight
            likelihood *= weight
        return (likelihood.sum(), *self.statistics(X, shares, theta))

    def log_joint(self, X: Any, theta: Any) -> np.ndarray:
        return self._joint(X, theta) + orders(X)

    def _joint(self, X: Any, theta: Any) -> np.ndarray:
        """Without the number of orders, which is the same for all components."""
        p = theta["probs_"]
        joint = scores(finite_log(p), X)
        joint += logarithm(theta["weights_"])[:, None]
        if (p == 0).any():
            joint[scores(p == 0, X) > 0] = -np.inf
        return joint

    def statistics(self, X: Any, shares: np.ndarray, theta: Any) -> tuple[Any, ...]:
        return shares.sum(axis=1), sums(shares, X)

    def probabilities(self, counts: tuple[Any, ...], alpha: float) -> np.ndarray:
        table = counts[0] + alpha
        whole = table.sum(axis=1, keepdims=True)
        return np.divide(table, whole, out=np.full(table.shape, 1 / table.shape[1]), where=whole > 0)

    def draw(self, theta: Any, counts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        p = theta["probs_"] / theta["probs_"].sum(axis=1, keepdims=True)  # single precision sums to 1 roughly
        return rng.multinomial(self.length, np.repeat(p, counts, axis=0)).astype(np.float64)

    def unpack(self, vector: np.ndarray) -> dict[str, Any]:
        k = self.n_components
        return {"weights_": softmax(vector[:k]), "probs_": softmax(vector[k:].reshape(k, -1))}


def orders(X: Any) -> np.ndarray:
    """log n! / Π x_j! of each row: in how many orders its counts may have come."""
    n = np.asarray(X.sum(axis=1), dtype=np.float64).ravel()
    if sparse.issparse(X):
        each = sparse.csr_array((log_factorial(X.data), X.indices, X.indptr), shape=X.shape).sum(axis=1)
        return gammaln(n + 1) - np.asarray(each).ravel()
    pieces = [log_factorial(X[i : i + 4096]).sum(axis=1) for i in range(0, X.shape[0], 4096)]
    return gammaln(n + 1) - np.concatenate(pieces)


def log_factorial(x: np.ndarray) -> np.ndarray:
    """log x!, by table for whole numbers that are not too large."""
    top = x.max(initial=0)
    if top <= MOST:
        whole = x.astype(np.int64)
        if (whole == x).all():
            return gammaln(np.arange(int(top) + 1) + 1.0)[whole]
    return gammaln(x.astype(np.float64) + 1)
