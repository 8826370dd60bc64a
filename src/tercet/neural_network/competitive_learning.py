"""Competitive learning (竞争型学习): of all units only the winner learns."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.metrics.pairwise import euclidean_distances

from tercet.core.catalog import method
from tercet.core.estimator import Clusterer, check_is_fitted, check_weight, generator
from tercet.core.fitted_checks import Floats, Whole
from tercet.core.kernel import kernel
from tercet.core.parallel import all_cores
from tercet.core.parameters import Count, Jobs, NonNegative, Seed, check_parameters
from tercet.core.rows import read_only
from tercet.core.scaling import LARGE
from tercet.core.steps import stopped_early
from tercet.core.validation import check_array
from tercet.neural_network.best_matching_units import Units, nearest_two
from tercet.neural_network.online_visits import Decay, Rate, decayed, visit_order

MEMORY = 1e-3  # how much one visit counts for the share of visits that a unit has won


@method(
    zh="竞争型学习",
    task="clustering",
    model="each row belongs to the nearest of k units: C(x) = argmin_j |x - w_j|",
    strategy="least sum of squared distances to the units",
    algorithms={
        "online": "the winner moves towards each row that is visited: w += η (x - w), with decreasing η"
    },
    texts=["watermelon notes ch. 3, sec. 3.5"],
)
class CompetitiveLearning(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Clusterer):
    """Competitive learning: the unit nearest to a row wins, and it alone moves towards the row.

    One pass visits every row x. The winner c = argmin_j |x - w_j| learns by w_c += η (x - w_c), where η decreases
    from visit to visit. This is stochastic gradient descent on the sum of squared distances, that is, an online
    k-means.

    A unit that is far from all rows never wins and never moves: a dead unit. With `conscience` a unit that wins too
    often is handicapped: the winner has the least |x - w_j|² - C s² (1/k - p_j), where p_j is the share of the
    latest visits that unit j has won, and s² the mean squared distance of the rows from their mean (DeSieno's
    rule).

    Parameters
    ----------
    n_clusters : int, default=8
        The number k of units.
    init : {"k-means++", "random"} or array of shape (n_clusters, n_features), default="k-means++"
        The first units: rows drawn far apart, rows drawn at random, or given points.
    eta0 : float, default=0.5
        The learning rate of the first visit, in (0, 1].
    eta_end : float, default=0.01
        The learning rate of the last visit.
    eta_decay : {"exponential", "linear", "inverse", "constant"}, default="exponential"
        How the learning rate goes from `eta0` to `eta_end`; "inverse" is η0 / (1 + a t), and "constant" stays at
        `eta0`.
    conscience : float, default=0.0
        The factor C of the handicap; 0 is none, and the larger it is, the more evenly the rows are shared out.
    max_iter : int, default=20
        The number of passes.
    shuffle : bool, default=True
        Whether each pass visits the rows in a new random order.
    random_state : int, optional
        Seed of the random number generator.
    n_jobs : int, optional
        Threads for `labels_`, `predict` and `score`, by default all cores; the result does not depend on it.

    Attributes
    ----------
    cluster_centers_ : array of shape (n_clusters, n_features)
        The units w_j.
    labels_ : array of shape (n_samples,)
        The nearest unit of each row; ties go to the first.
    inertia_ : float
        Sum of squared distances of the rows from their units.
    n_passes_ : int
        Passes that the learning rate has seen, those of `partial_fit` included.
    n_iter_ : int
        Passes of `fit`.

    Examples
    --------
    >>> X = [[0.0, 0], [0, 1], [1, 0], [8, 8], [8, 9], [9, 8]]
    >>> model = CompetitiveLearning(2, random_state=0).fit(X)
    >>> model.cluster_centers_[np.argsort(model.cluster_centers_[:, 0])].round(1)
    array([[0.3, 0.3],
           [8.3, 8.3]])
    """

    def __init__(
        self,
        n_clusters: Count = 8,
        *,
        init: Literal["k-means++", "random"] | list | tuple | np.ndarray = "k-means++",
        eta0: Rate = 0.5,
        eta_end: Rate = 0.01,
        eta_decay: Decay = "exponential",
        conscience: NonNegative = 0.0,
        max_iter: Count = 20,
        shuffle: bool = True,
        random_state: Seed = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.eta0 = eta0
        self.eta_end = eta_end
        self.eta_decay = eta_decay
        self.conscience = conscience
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state
        self.n_jobs = n_jobs

    sparse_input = False
    largest_value = LARGE
    relative_weights = True
    batch_rounding = 1e-12  # distances from the units are products by BLAS
    streams_instead = "KMeans or SOM, or partial_fit with pieces of the rows"
    width_checked_attributes: ClassVar[tuple[str, ...]] = ("cluster_centers_",)
    fitted_shapes = {
        "cluster_centers_": Floats("clusters features", finite=True),
        "_shares": Floats("clusters", finite=True, low=0.0),
        "_spread": Floats("", finite=True, low=0.0),
        "_seed": Whole(),
        "n_passes_": Whole(),
    }
    cluster_centers_: np.ndarray
    inertia_: float
    n_passes_: int
    _shares: np.ndarray  # of the visits that each unit has won lately
    _spread: float  # mean squared distance of the rows of the first batch from their mean
    _seed: int

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Move the units by the rows X.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The rows.
        y : ignored
            Nothing is learned from it; callbacks may score by it.
        sample_weight : array of shape (n_samples,), optional
            Weight of each row: how often it is visited, in proportion and on average.

        Returns
        -------
        self
        """
        return self._learn(X, y, sample_weight)

    def _fit(self, X: np.ndarray, y: None, sample_weight: np.ndarray | None) -> None:
        rng = self._begin(X, sample_weight)
        W, shares = self.cluster_centers_.astype(np.float64), self._shares

        def fitted(W: np.ndarray) -> dict[str, Any]:
            return self._assigned(X, W.astype(X.dtype), sample_weight)

        for step in self.steps(self.max_iter, unpack=fitted):
            order = visit_order(len(X), sample_weight, rng, self.shuffle)
            squares = winner_pass(
                read_only(X), order, self._rates(step.index, order.size), self._handicap(), MEMORY, W, shares
            )
            step.report(W.copy(), inertia=squares / order.size)
        self.n_passes_ = step.count
        self.__dict__.update(fitted(W))

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Move the units by one pass over a batch of rows.

        A call is one of the `max_iter` passes over which the learning rate decreases; further ones go on with
        `eta_end`.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The batch; the first one must have at least n_clusters rows.
        y : ignored
        sample_weight : array of shape (n_samples,), optional
            Weight of each row: how often it is visited, in proportion and on average.

        Returns
        -------
        self
        """
        check_parameters(self)
        first = not hasattr(self, "cluster_centers_")
        X = np.ascontiguousarray(self._check(X, reset=first))
        weight = check_weight(sample_weight, X, relative=True)
        if first:
            self._begin(X, weight)
            self.n_passes_ = 0
        rng = np.random.default_rng((self._seed, self.n_passes_))
        W, shares = self.cluster_centers_.astype(np.float64), np.array(self._shares)
        order = visit_order(len(X), weight, rng, self.shuffle)
        rates = self._rates(self.n_passes_, order.size)
        winner_pass(read_only(X), order, rates, self._handicap(), MEMORY, W, shares)
        self._shares, self.n_passes_ = shares, self.n_passes_ + 1
        self.__dict__.update(self._assigned(X, W.astype(self.cluster_centers_.dtype), weight))
        return self

    def _begin(self, X: np.ndarray, weight: np.ndarray | None) -> np.random.Generator:
        """Set the first units."""
        rng, k = generator(self.random_state), self.n_clusters
        self._seed = int(rng.integers(2**31 - 1))
        mass = np.ones(len(X)) if weight is None else weight.astype(np.float64)
        rows = X.astype(np.float64, copy=False)
        middle = mass @ rows / mass.sum()
        self._spread = float(mass @ ((rows - middle) ** 2).sum(axis=1) / mass.sum())
        self._shares = np.full(k, 1.0 / k)
        if not isinstance(self.init, str):
            given = check_array(self.init, dtype=np.float64, input_name="init")
            if given.shape != (k, X.shape[1]):
                raise ValueError(
                    f"CompetitiveLearning: init must have the shape ({k}, {X.shape[1]}), one row for each of "
                    f"n_clusters={k} units; got {given.shape}."
                )
            self.cluster_centers_ = given.astype(X.dtype)
            return rng
        if len(X) < k:
            raise ValueError(
                f"CompetitiveLearning: n_clusters={k} needs as many rows; n_samples={len(X)} should be >= "
                f"n_clusters={k}."
            )
        self.cluster_centers_ = X[first_rows(rows, mass, k, rng, far=self.init == "k-means++")]
        return rng

    def _rates(self, passes: int, visits: int) -> np.ndarray:
        """The learning rate of each visit of a pass."""
        progress = (passes * visits + np.arange(visits)) / max(self.max_iter * visits - 1, 1)
        return decayed(self.eta_decay, self.eta0, self.eta_end, progress)

    def _handicap(self) -> float:
        """C s², the size of the handicap."""
        return float(self.conscience * self._spread)

    def _assigned(self, X: np.ndarray, W: np.ndarray, weight: np.ndarray | None) -> dict[str, Any]:
        labels, _, gaps = nearest_two(X, Units(W.astype(np.float64)), all_cores(self.n_jobs))
        squares = gaps**2 if weight is None else gaps**2 * weight
        return {"cluster_centers_": W, "labels_": labels, "inertia_": float(squares.sum())}

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """Move the units by the rows X, and return the nearest unit of each."""
        self.fit(X, sample_weight=sample_weight)
        return self.predict(X) if stopped_early(self) else self.labels_

    def predict(self, X: Any) -> np.ndarray:
        """The nearest unit of each row."""
        return self._nearest(X)[0]

    def transform(self, X: Any) -> np.ndarray:
        """The distances of each row from all units."""
        check_is_fitted(self)
        X = self._check(X, reset=False)
        units = self.cluster_centers_.astype(np.float64)
        return euclidean_distances(X.astype(np.float64), units).astype(X.dtype)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the sum of squared distances of the rows from their nearest units."""
        squares = self._nearest(X)[1] ** 2
        weight = check_weight(sample_weight, np.asarray(X), relative=True)
        return -float((squares if weight is None else squares * weight).sum())

    def _nearest(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        check_is_fitted(self)
        X = self._check(X, reset=False)
        labels, _, gaps = nearest_two(
            X, Units(self.cluster_centers_.astype(np.float64)), all_cores(self.n_jobs)
        )
        return labels, gaps

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)


def first_rows(X: np.ndarray, mass: np.ndarray, k: int, rng: np.random.Generator, *, far: bool) -> np.ndarray:
    """The numbers of k rows drawn in proportion to their weights; with `far`, also to their squared distances from
    those drawn before (k-means++).

    Examples
    --------
    >>> X = np.array([[0.0], [0.0], [9.0]])
    >>> sorted(first_rows(X, np.array([1.0, 0.0, 1.0]), 2, np.random.default_rng(0), far=True).tolist())
    [0, 2]
    """
    chosen: list[int] = []
    odds, gaps = mass.copy(), np.full(len(X), np.inf)
    for _ in range(k):
        if not odds.any():  # fewer distinct rows than units
            odds = np.ones(len(X))
            odds[chosen] = 0.0
        height = np.cumsum(odds / odds.max())
        row = int(np.searchsorted(height, rng.random() * height[-1], side="right"))
        chosen.append(min(row, int(np.flatnonzero(odds)[-1])))
        if far:
            gaps = np.minimum(gaps, ((X - X[chosen[-1]]) ** 2).sum(axis=1))
            odds = mass * (gaps / (gaps.max() or 1.0))
        else:
            odds[chosen[-1]] = 0.0
    return np.array(chosen)


@kernel
def winner_pass(X, order, eta, handicap, memory, W, shares):
    """Visit the rows in their order: the winner moves towards each. Returns the sum of squared distances before."""
    k, d = W.shape
    total = 0.0
    for v in range(order.size):
        x = X[order[v]]
        winner, least, gap_of_winner = 0, np.inf, 0.0
        for j in range(k):
            w, gap = W[j], 0.0
            for f in range(d):
                gap += (x[f] - w[f]) * (x[f] - w[f])
            biased = gap - handicap * (1.0 / k - shares[j])
            if biased < least:
                winner, least, gap_of_winner = j, biased, gap
        total += gap_of_winner
        w = W[winner]
        for f in range(d):
            w[f] += eta[v] * (x[f] - w[f])
        if handicap > 0:
            for j in range(k):
                shares[j] += memory * ((1.0 if j == winner else 0.0) - shares[j])
    return total
