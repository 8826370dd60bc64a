"""Metric learning from must-link and cannot-link pairs (基于必连与勿连约束的度量学习)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.catalog import method
from tercet.core.parallel import Chunks, all_cores, total
from tercet.core.parameters import Count, Jobs, NonNegative, Seed
from tercet.core.scaling import common_exponent, times_power
from tercet.metric_learning.base import square_root
from tercet.metric_learning.lbfgs_passes import LBFGSPasses
from tercet.metric_learning.pair_learner import PairLearner
from tercet.metric_learning.tuple_input import Pairs


@method(
    zh="基于必连与勿连约束的度量学习（MMC）",
    task="dimensionality reduction",
    model="distance |x_i - x_j|_M, M positive semidefinite",
    strategy="must-link pairs near, Σ_ML |x_i - x_j|²_M least, while cannot-link pairs are apart, Σ_CL |x_i - "
    "x_j|_M ≥ 1",
    convex=True,
    algorithms={"L-BFGS": "over L of M = L'L, or over the diagonal of M"},
    texts=["002 ch. 8, eq. 8.26"],
    peers=["metric_learn.MMC"],
)
class MMC(PairLearner):
    """Mahalanobis metric for clustering: near what belongs together, as long as the rest stays apart.

    Minimises Σ_ML w |x_i - x_j|²_M over positive semidefinite M with Σ_CL w |x_i - x_j|_M ≥ 1, where ML are the
    must-link and CL the cannot-link pairs (Xing et al., 2002). The same M, up to a factor, minimises tr(SM) - ln
    Σ_CL w |x_i - x_j|_M, S the scatter of the must-link pairs, which is convex and has no constraint but the sign
    of M. With M = L'L and L square there is no local minimum beside the global one.

    Parameters
    ----------
    diagonal : bool, default=False
        Learn a diagonal M: a weight for each feature.
    reg : float, default=1e-6
        What is added to the diagonal of S, in units of its mean. 0 leaves M without a bound in directions in which
        no must-link pair differs.
    max_iter : int, default=500
        The most passes.
    tol : float, default=1e-8
        Stop when the objective, relative to its size, or the gradient changes by no more.
    n_constraints : int, optional
        From labels: how many must-link and as many cannot-link pairs to draw. By default all pairs of rows up to
        20 000, else 10 000 of each.
    random_state : int, optional
        Decides which pairs are drawn.
    n_jobs : int, optional
        Threads to use; the result does not depend on it.

    Attributes
    ----------
    components_ : array of shape (n_features, n_features)
        The symmetric square root L of M.
    n_iter_ : int

    Examples
    --------
    >>> X = [[0.0, 0.0], [0.0, 2.0], [1.0, 0.0], [1.0, 2.0]]
    >>> model = MMC(diagonal=True).fit(X, must_link=[(0, 1), (2, 3)], cannot_link=[(0, 2), (1, 3)])
    >>> model.get_mahalanobis_matrix().round(3)
    array([[0.25, 0.  ],
           [0.  , 0.  ]])
    >>> MMC().fit(X, [0, 0, 1, 1]).transform([[1.0, 1.0]]).shape
    (1, 2)
    """

    def __init__(
        self,
        *,
        diagonal: bool = False,
        reg: NonNegative = 1e-6,
        max_iter: Count = 500,
        tol: NonNegative = 1e-8,
        n_constraints: Count | None = None,
        random_state: Seed = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.diagonal = diagonal
        self.reg = reg
        self.max_iter = max_iter
        self.tol = tol
        self.n_constraints = n_constraints
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: np.ndarray | None,
        links: Any = None,
        rows: tuple[int, ...] = (),
    ) -> None:
        pairs = self._pairs(X, y, sample_weight, links, rows)
        exponent = common_exponent(pairs.alike, pairs.apart)
        S, V, weight = scaled_problem(pairs, exponent, self.reg)
        d = len(S)
        chunks = Chunks(V, weight)
        search = (
            DiagonalSearch(S, chunks, self.n_jobs) if self.diagonal else FullSearch(S, chunks, self.n_jobs)
        )

        def components(x: np.ndarray) -> dict[str, Any]:
            L = square_root(search.matrix(x)) / search.separation(x)  # Σ_CL |v|_M is 1
            return {"components_": times_power(L, -exponent).astype(X.dtype)}

        passes = LBFGSPasses(self.steps(self.max_iter, unpack=components))
        start = np.full(d, 1.0) if self.diagonal else np.eye(d).ravel()
        start = start * search.good_scale(start)
        bounds = [(0.0, None)] * d if self.diagonal else None
        found = passes.run(search, start, tol=self.tol, bounds=bounds)
        passes.finish(bool(found.success))
        self._keep(components(found.x)["components_"], X.dtype)


def scaled_problem(pairs: Pairs, exponent: int, reg: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """S with its regularisation, and the cannot-link differences with their weights, for rows times 2^-exponent."""
    near = times_power(pairs.alike, -exponent)
    S = (near.T * pairs.alike_weight) @ near
    S.flat[:: len(S) + 1] += reg * np.trace(S) / len(S)
    return S, times_power(pairs.apart, -exponent), pairs.apart_weight


class FullSearch:
    """tr(SM) - ln Σ w |v|_M as a function of L, M = L'L."""

    def __init__(self, S: np.ndarray, chunks: Chunks, n_jobs: int | None) -> None:
        self.S, self.chunks, self.n_jobs = S, chunks, all_cores(n_jobs)

    def matrix(self, x: np.ndarray) -> np.ndarray:
        """M."""
        L = x.reshape(self.S.shape)
        return L.T @ L

    def good_scale(self, x: np.ndarray) -> float:
        """The factor of x at which the objective is least: tr(SM) is then 1/2."""
        square = float((self.S * self.matrix(x)).sum())
        return np.sqrt(0.5 / square) if square > 0 else 1.0

    def separation(self, x: np.ndarray) -> float:
        """Σ_CL w |v|_M."""
        return float(total(separations, self.chunks, x.reshape(self.S.shape), n_jobs=self.n_jobs)[0])

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        L = x.reshape(self.S.shape)
        apart, T = total(separations, self.chunks, L, n_jobs=self.n_jobs)
        LS = L @ self.S
        return float((L * LS).sum() - np.log(apart)), (2.0 * LS - L @ T / apart).ravel()


class DiagonalSearch(FullSearch):
    """The same as a function of the diagonal of M, for differences v whose squares are kept."""

    def matrix(self, x: np.ndarray) -> np.ndarray:
        return np.diag(np.maximum(x, 0.0))

    def good_scale(self, x: np.ndarray) -> float:
        square = float(np.diagonal(self.S) @ x)
        return 0.5 / square if square > 0 else 1.0

    def separation(self, x: np.ndarray) -> float:
        return float(total(weighted_separations, self.chunks, np.maximum(x, 0.0), n_jobs=self.n_jobs)[0])

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        apart, slopes = total(weighted_separations, self.chunks, x, n_jobs=self.n_jobs)
        s = np.diagonal(self.S)
        return float(s @ x - np.log(apart)), s - slopes / (2.0 * apart)


def separations(chunk: Any, L: np.ndarray) -> tuple[float, np.ndarray]:
    """Σ w |Lv| over a chunk of cannot-link pairs, and Σ w vv' / |Lv|."""
    V, weight = chunk
    length = np.sqrt(((V @ L.T) ** 2).sum(axis=1))
    return float(weight @ length), (V.T * (weight / np.maximum(length, TINY))) @ V


def weighted_separations(chunk: Any, a: np.ndarray) -> tuple[float, np.ndarray]:
    """Σ w (Σ_k a_k v_k²)^½ over a chunk of cannot-link pairs, and Σ w v_k² / |v|_M for each k."""
    V, weight = chunk
    squares = V**2
    length = np.sqrt(squares @ a)
    return float(weight @ length), (weight / np.maximum(length, TINY)) @ squares


TINY = 1e-150  # the least length to divide by: a pair whose points M makes equal pulls at it without limit
