"""The losses of pairs that rankers are boosted with: RankNet's, and LambdaRank's, weighted by the change of NDCG.

For two items of one query with relevances y_i > y_j and scores F_i, F_j, the loss is log(1 + exp(F_j - F_i)).
LambdaRank weights it by how much NDCG changes when the two items change places:

    rho = 1 / (1 + exp(F_i - F_j))
    -dL/dF_i = dL/dF_j = rho |delta NDCG|,  d²L/dF² = rho (1 - rho) |delta NDCG|

with |delta NDCG| = |gain_i - gain_j| |discount_i - discount_j| / best DCG, and 1 for RankNet.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from tercet.core.kernel import kernel
from tercet.core.parallel import each
from tercet.ensemble.boosting.boosting_losses import NewtonLoss
from tercet.metrics.ranking import discounts, gains

BLOCK_ROWS = 4096  # rows of the queries of one task, about


class LambdaRankLoss(NewtonLoss):
    """The loss of pairs of items; targets are relevances and query numbers, of shape (n, 2), query by query.

    Parameters
    ----------
    k : int or None
        The places that count: pairs with none of these are left out.
    gain : {"exponential", "linear"}
        What a relevance y is worth: 2^y - 1, or y.
    weighted : bool
        Whether pairs are weighted by the change of NDCG.
    n_jobs : int, optional
        Threads.
    """

    def __init__(self, k: int | None, gain: str, weighted: bool, n_jobs: int | None = None) -> None:
        self.k, self.gain, self.weighted, self.n_jobs = k, gain, weighted, n_jobs
        self.hessians = np.zeros(0)
        self.known: list[
            tuple[np.ndarray, Queries]
        ] = []  # targets that were seen: their gains and best DCGs stay

    def ranking(self, y: np.ndarray, F: np.ndarray) -> Queries:
        """The items of each query in the order of their scores."""
        found = next((queries for target, queries in self.known if target is y), None)
        if found is None:
            found = Queries.of(y, F[:, 0], self.gain, self.k)
            self.known = [*self.known[-1:], (y, found)]
        return found.by_score(y[:, 1], F[:, 0])

    def start(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return np.zeros(1)

    def negative_gradient(self, y: np.ndarray, F: np.ndarray) -> np.ndarray:
        ranking = self.ranking(y, F)
        r, h = np.zeros(len(y)), np.zeros(len(y))
        most = ranking.discount.size if self.k is None else self.k

        def add(span: tuple[int, int]) -> None:
            add_lambdas(*ranking, most, self.weighted, span[0], span[1], r, h)

        each(add, ranking.spans(), n_jobs=self.n_jobs)
        self.hessians = h
        return r[:, None]

    def curvature(self, y: Any, F: Any, r: Any, k: int) -> Any:
        return self.hessians

    def losses(self, y: np.ndarray, F: np.ndarray) -> np.ndarray:
        """-NDCG of the query of each row, such that the mean over rows is the mean over queries."""
        ranking = self.ranking(y, F)
        found = np.zeros(len(ranking.starts) - 1)

        def put(span: tuple[int, int]) -> None:
            put_ndcg(*ranking, span[0], span[1], found)

        each(put, ranking.spans(), n_jobs=self.n_jobs)
        sizes = np.diff(ranking.starts)
        return -np.repeat(found * len(y) / (sizes * sizes.size), sizes)


class Queries(NamedTuple):
    """Items ranked in each query: gains, scores, their order, where queries start, best DCGs, discounts."""

    gain: np.ndarray
    score: np.ndarray
    order: np.ndarray
    starts: np.ndarray
    best: np.ndarray
    discount: np.ndarray

    @classmethod
    def of(cls, y: np.ndarray, score: np.ndarray, gain: str, k: int | None) -> Self:
        """Items with these relevances and query numbers, of shape (n, 2), not ranked yet."""
        query, worth = y[:, 1], gains(y[:, 0], gain)
        starts = np.append(np.flatnonzero(np.append(True, query[1:] != query[:-1])), len(y))
        sizes = np.diff(starts)
        discount = discounts(int(sizes.max()), k)
        place = np.arange(len(y)) - np.repeat(starts[:-1], sizes)
        ideal = worth[np.lexsort((-worth, query))] * discount[place]
        best = np.add.reduceat(ideal, starts[:-1])
        return cls(worth, score, place, starts, best, discount)

    def by_score(self, query: np.ndarray, score: np.ndarray) -> Self:
        """The same items in the order of these scores; of equals the first row comes first."""
        return self._replace(score=score.copy(), order=np.lexsort((-score, query)))

    def spans(self) -> list[tuple[int, int]]:
        """Ranges of queries with some thousand rows each; they depend on the data alone."""
        block = self.starts[:-1] // BLOCK_ROWS
        first = np.flatnonzero(np.append(True, block[1:] != block[:-1]))
        return list(zip(first.tolist(), [*first[1:].tolist(), len(block)]))


@kernel
def add_lambdas(gain, score, order, starts, best, discount, most, weighted, first, last, r, h):
    """Negative gradients and hessians of the queries from `first` to `last`, added to those of their rows."""
    for q in range(first, last):
        start, n = starts[q], starts[q + 1] - starts[q]
        if best[q] <= 0.0:
            continue
        for a in range(min(most, n)):
            i = order[start + a]
            for b in range(a + 1, n):
                j = order[start + b]
                difference = gain[i] - gain[j]
                if difference == 0.0:
                    continue
                delta = abs(difference) * (discount[a] - discount[b]) / best[q] if weighted else 1.0
                sign = (
                    1.0 if difference > 0.0 else -1.0
                )  # whether the item that stands first is the better one
                rho = 1.0 / (1.0 + np.exp(sign * (score[i] - score[j])))
                r[i] += sign * rho * delta
                r[j] -= sign * rho * delta
                h[i] += rho * (1.0 - rho) * delta
                h[j] += rho * (1.0 - rho) * delta


@kernel
def put_ndcg(gain, score, order, starts, best, discount, first, last, found):
    """NDCG of the queries from `first` to `last`; items of equal score share the mean gain of their places."""
    for q in range(first, last):
        start, n = starts[q], starts[q + 1] - starts[q]
        total, a = 0.0, 0
        while a < n:
            b, worth, places = a, 0.0, 0.0
            while b < n and score[order[start + b]] == score[order[start + a]]:
                worth += gain[order[start + b]]
                places += discount[b]
                b += 1
            total += worth / (b - a) * places
            a = b
        found[q] = total / best[q] if best[q] > 0.0 else 1.0


def query_numbers(name: str, n: int, qid: Any, group: Any, what: str = "") -> np.ndarray:
    """The number of each row's query, from the ids of the rows or the sizes of consecutive queries.

    Examples
    --------
    >>> query_numbers("", 4, ["b", "a", "b", "a"], None), query_numbers("", 3, None, [1, 2])
    (array([1, 0, 1, 0]), array([0, 1, 1]))
    """
    if qid is not None and group is not None:
        raise ValueError(f"{name}: qid{what} and group{what} say the same; give one of them.")
    if group is not None:
        sizes = np.asarray(group)
        if sizes.ndim != 1 or sizes.dtype.kind not in "iu" or (sizes < 1).any() or sizes.sum() != n:
            raise ValueError(
                f"{name}: group{what} must be the numbers of rows of consecutive queries, of sum {n}; got "
                f"{np.ravel(sizes)[:8].tolist()} of sum {sizes.sum() if sizes.dtype.kind in 'iu' else 'unknown'}."
            )
        return np.repeat(np.arange(sizes.size), sizes)
    if qid is None:
        return np.zeros(n, dtype=np.int64)
    ids = np.asarray(qid)
    if ids.shape != (n,):
        raise ValueError(
            f"{name}: qid{what} must be the query of each of {n} rows, of shape ({n},); got the shape {ids.shape}."
        )
    return np.unique(ids, return_inverse=True)[1].reshape(-1)
