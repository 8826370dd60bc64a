"""Metric learning from must-link and cannot-link pairs (基于必连与勿连约束的度量学习)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from tercet.core.catalog import method
from tercet.core.parallel import Chunks, all_cores, total
from tercet.core.parameters import Count, Jobs, NonNegative, Seed
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
    texts=["watermelon notes ch. 8, eq. 8.26"],
    peers=["metric_learn.MMC"],
)
class MMC(PairLearner):
    """Mahalanobis metric for clustering: near what belongs together, as long as the rest stays apart.

    Minimises Σ_ML w |x_i - x_j|²_M over positive semidefinite M with Σ_CL w |x_i - x_j|_M ≥ 1, where ML are the
    must-link and CL the cannot-link pairs (Xing et al., 2002). The same M, up to a factor, minimises the convex
    function tr(SM) - ln Σ_CL w |x_i - x_j|_M, where S is the scatter of the must-link pairs. With M = L'L and L
    square there is no local minimum beside the global one.

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
    ) -> None:
        pairs = self._pairs(X, y, sample_weight, links)
        S = must_link_scatter(pairs, self.reg, type(self).__name__)
        kind = DiagonalSearch if self.diagonal else FullSearch
        search = kind(S, pairs.apart, pairs.apart_weight, all_cores(self.n_jobs))

        def components(x: np.ndarray) -> dict[str, Any]:
            return {"components_": square_root(search.matrix(x)).astype(X.dtype)}

        passes = LBFGSPasses(self.steps(self.max_iter, unpack=components))
        found = passes.run(search, search.start(), tol=self.tol, bounds=search.bounds)
        passes.finish(bool(found.success))
        self._keep(square_root(search.matrix(found.x)), X.dtype)


def must_link_scatter(pairs: Pairs, reg: float, name: str) -> np.ndarray:
    """S = Σ_ML w vv', with its regularisation; an error where it has no inverse."""
    S = (pairs.alike.T * pairs.alike_weight) @ pairs.alike
    S.flat[:: len(S) + 1] += reg * np.trace(S) / len(S)
    values = linalg.eigvalsh(S)
    if not values[0] > len(S) * np.finfo(np.float64).eps * values[-1]:
        raise ValueError(
            f"{name}: the must-link pairs do not differ in some direction, in which M has no bound. Give reg > 0, "
            f"such as its default 1e-6; got {reg!r}."
        )
    return S


class FullSearch:
    """tr(SM) - ln Σ w |v|_M as a function of L in coordinates in which S is the identity: M = S^-½ L'L S^-½.

    Parameters
    ----------
    S : array of shape (n_features, n_features)
        The scatter of the must-link pairs, positive definite.
    V, weight : arrays of shapes (n_pairs, n_features) and (n_pairs,)
        The differences of the cannot-link pairs, and their weights.
    """

    bounds: Any = None

    def __init__(self, S: np.ndarray, V: np.ndarray, weight: np.ndarray, n_jobs: int | None) -> None:
        values, basis = linalg.eigh(S)
        self.root = (basis / np.sqrt(values)) @ basis.T  # S^-½
        self.chunks, self.n_jobs = Chunks(V @ self.root, weight), n_jobs

    def start(self) -> np.ndarray:
        """M in proportion to S^-1, with tr(SM) = 1/2 as at the end."""
        d = len(self.root)
        return (np.eye(d) * np.sqrt(0.5 / d)).ravel()

    def matrix(self, x: np.ndarray) -> np.ndarray:
        """M, with a factor by which Σ_CL w |v|_M is 1."""
        L = x.reshape(self.root.shape)
        L = L / total(separations, self.chunks, L, n_jobs=self.n_jobs)[0] @ self.root
        return L.T @ L

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        L = x.reshape(self.root.shape)
        apart, T = total(separations, self.chunks, L, n_jobs=self.n_jobs)
        return float((L**2).sum() - np.log(apart)), (2.0 * L - L @ T / apart).ravel()


class DiagonalSearch:
    """The same as a function of the diagonal of M, in units in which that of S is 1."""

    def __init__(self, S: np.ndarray, V: np.ndarray, weight: np.ndarray, n_jobs: int | None) -> None:
        self.scale = np.diagonal(S)
        self.chunks, self.n_jobs = Chunks(V**2 / self.scale, weight), n_jobs
        self.bounds = [(0.0, None)] * len(S)

    def start(self) -> np.ndarray:
        """M in proportion to the inverse of the diagonal of S."""
        return np.full(self.scale.size, 0.5 / self.scale.size)

    def matrix(self, x: np.ndarray) -> np.ndarray:
        """M, with a factor by which Σ_CL w |v|_M is 1."""
        a = np.maximum(x, 0.0)
        return (
            np.diag(a / self.scale) / total(diagonal_separations, self.chunks, a, n_jobs=self.n_jobs)[0] ** 2
        )

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        apart, slopes = total(diagonal_separations, self.chunks, x, n_jobs=self.n_jobs)
        return float(x.sum() - np.log(apart)), 1.0 - slopes / (2.0 * apart)


def separations(chunk: Any, L: np.ndarray) -> tuple[float, np.ndarray]:
    """Σ w |Lv| over a chunk of cannot-link pairs, and Σ w vv' / |Lv|."""
    V, weight = chunk
    length = np.sqrt(((V @ L.T) ** 2).sum(axis=1))
    return float(weight @ length), (V.T * (weight / np.maximum(length, TINY))) @ V


def diagonal_separations(chunk: Any, a: np.ndarray) -> tuple[float, np.ndarray]:
    """Σ w (Σ_k a_k v_k²)^½ over a chunk of squared differences, and Σ w v_k² / |v|_M for each k."""
    squares, weight = chunk
    length = np.sqrt(squares @ a)
    return float(weight @ length), (weight / np.maximum(length, TINY)) @ squares


TINY = 1e-150  # the least length to divide by: a pair whose points M makes equal pulls at it without limit
