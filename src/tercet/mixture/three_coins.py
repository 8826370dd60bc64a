"""The three-coin model (三硬币模型), with which the text introduces EM."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from tercet.core.catalog import method
from tercet.core.parameters import Count, Jobs, NonNegative, Seed
from tercet.mixture.base import Mixture
from tercet.mixture.bernoulli_mixture import bernoulli_probabilities, binary, split_missing
from tercet.mixture.components import Components
from tercet.mixture.discrete_mixture import chunks_of, finite_log, logarithm


@method(
    zh="三硬币模型",
    task="density estimation",
    approach="generative",
    model="P(y) = π p^y (1 - p)^(1 - y) + (1 - π) q^y (1 - q)^(1 - y)",
    strategy="maximum likelihood",
    algorithms="E: the probability of coin B for each row; M: weighted frequencies of heads",
    texts=["Li ch. 9, Ex 9.1, eq. 9.1-9.8"],
)
class ThreeCoins(Mixture):
    """Three coins: A chooses between B and C, and only what the chosen one shows is seen.

    A shows heads with probability π; then B is tossed, with probability p of heads, else C, with q. A row of X
    is one trial, its columns are tosses of the chosen coin: 1 for heads, NaN for a toss that nobody looked at.
    The text has one column. Then the likelihood depends on the share of heads, π p + (1 - π) q, alone, which EM
    reaches in one pass: π, p and q themselves cannot be known, and where they end is a matter of the start. From
    p = q EM cannot move π, nor part p from q. With three tosses or more in a row the model can be identified,
    but for the names of B and C.

    Parameters
    ----------
    init : tuple of 3 numbers, optional
        The first (π, p, q); drawn at random by default.
    binarize : float or None, default=0.0
        Values above count as heads, others as tails; None takes values from 0 to 1 as they are.
    tol : float, default=1e-6
        Stop when the mean log-likelihood rises by less.
    max_iter : int, default=100
        The most passes of one start.
    n_init : int, default=1
        How many starts to try; the best end is kept.
    random_state : int, optional
        Decides what is drawn.
    n_jobs : int, optional
        Threads to use; the result does not depend on it.

    Attributes
    ----------
    pi_, p_, q_ : float
        The probabilities of heads of the coins A, B and C.
    labels_ : array of shape (n_samples,)
        The more probable coin of each row: 0 for B, 1 for C.
    converged_ : bool
        Whether the best start met the stopping rule.
    lower_bound_ : float
        The mean log-likelihood of the best start, before its last M step.
    lower_bounds_ : list of float
        The same for all passes of the best start.

    Examples
    --------
    >>> X = np.array([[1, 1, 0, 1, 0, 0, 1, 0, 1, 1]]).T
    >>> model = ThreeCoins(init=(0.4, 0.6, 0.7)).fit(X)
    >>> round(model.pi_, 4), round(model.p_, 4), round(model.q_, 4)
    (0.4064, 0.5368, 0.6432)
    """

    missing_input = True
    n_components: ClassVar[int] = 2  # type: ignore[misc]
    warm_start: ClassVar[bool] = False  # type: ignore[misc]
    verbose: ClassVar[int] = 0  # type: ignore[misc]

    def __init__(
        self,
        *,
        init: list | tuple | np.ndarray | None = None,
        binarize: NonNegative | None = 0.0,
        tol: NonNegative = 1e-6,
        max_iter: Count = 100,
        n_init: Count = 1,
        random_state: Seed = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.init = init
        self.binarize = binarize
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs

    pi_: float
    p_: float
    q_: float

    @property
    def weights_(self) -> np.ndarray:  # type: ignore[override]
        """The probabilities of the coins B and C."""
        return np.array([self.pi_, 1 - self.pi_])

    def _fit(self, X: Any, y: None, sample_weight: np.ndarray | None) -> None:
        super()._fit(binary(X, self.binarize, "ThreeCoins"), y, sample_weight)

    def _rows(self, X: Any) -> Any:
        return binary(super()._rows(X), self.binarize, "ThreeCoins")

    def _check_n_samples(self, rows: int, which: str = "") -> None:
        """One row is enough."""

    def _warn_degenerate(self, per: float) -> None:
        """A coin may well never be chosen."""

    def _initial_parameters(
        self, X: Any, weight: Any, components: Components, rng: np.random.Generator
    ) -> dict[str, Any]:
        if self.init is None:
            return coin_parameters(*rng.uniform(0.1, 0.9, 3))
        try:
            given = np.array(self.init, dtype=np.float64)
        except (TypeError, ValueError):
            given = np.empty(0)
        if given.shape != (3,) or not ((given >= 0) & (given <= 1)).all():
            raise ValueError(f"ThreeCoins: init must be 3 probabilities from 0 to 1; got {self.init!r}.")
        return coin_parameters(*given)

    fitted_shapes = {"pi_": "", "p_": "", "q_": ""}

    def _components(self, n_features: int) -> CoinComponents:
        return CoinComponents(n_features)

    def _attributes(self, theta: Any) -> dict[str, Any]:
        return {
            "pi_": float(theta["weights"][0]),
            "p_": float(theta["heads"][0]),
            "q_": float(theta["heads"][1]),
        }

    def _theta(self) -> dict[str, Any]:
        return coin_parameters(self.pi_, self.p_, self.q_)

    def _n_parameters(self) -> int:
        return min(3, self.n_features_in_)  # as many as the tosses of one row can tell


def coin_parameters(pi: float, p: float, q: float) -> dict[str, np.ndarray]:
    return {"weights": np.array([pi, 1 - pi]), "heads": np.array([p, q])}


class CoinComponents(Components):
    """The coins B and C, one of which gives a whole row."""

    def __init__(self, tosses: int) -> None:
        self.tosses = tosses

    def chunks(self, X: Any, weight: np.ndarray | None) -> Any:
        return chunks_of(X, weight)

    def log_joint(self, X: np.ndarray, theta: Any) -> np.ndarray:
        heads, known = heads_and_tosses(X)
        p, tails = theta["heads"], known - heads
        joint = np.outer(finite_log(p), heads) + np.outer(finite_log(1 - p), tails)
        joint += logarithm(theta["weights"])[:, None]
        joint[np.outer(p == 0, heads > 0) | np.outer(p == 1, tails > 0)] = -np.inf
        return joint

    def statistics(self, X: np.ndarray, shares: np.ndarray, theta: Any) -> tuple[Any, ...]:
        heads, known = heads_and_tosses(X)
        return shares.sum(axis=1), shares @ heads, shares @ known

    def maximise(self, statistics: tuple[Any, ...], theta: Any) -> dict[str, Any]:
        mass, heads, known = statistics
        return {"weights": mass / mass.sum(), "heads": bernoulli_probabilities(heads, known, 0.0)}

    def draw(self, theta: Any, counts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        p = np.repeat(theta["heads"], counts)[:, None]
        return (rng.random((p.size, self.tosses)) < p).astype(np.float64)


def heads_and_tosses(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The heads of each row, and the tosses that are known."""
    filled, missing = split_missing(X)
    known = (
        np.full(len(X), float(X.shape[1]))
        if missing is None
        else X.shape[1] - missing.sum(axis=1, dtype=np.float64)
    )
    return filled.sum(axis=1, dtype=np.float64), known
