"""Scores of Bayesian networks (贝叶斯网评分函数): how many bits a network and the data together take."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np

from tercet.core.parallel import each
from tercet.graphical._engine.family_counts import configurations, family_scores

Score = Literal["bic", "mdl", "aic", "nll", "bdeu", "k2"]
MAX_CELLS = 1 << 22  # of the table of one family; larger ones are not considered in a search


class FamilyScores:
    """Decomposable scores of families, smaller is better, each computed once.

    s(B | D) = f(θ) |B| - LL(B | D) (5.10-5.12): |B| is the number of free parameters, and f = 0 gives NLL, f = 1
    AIC, f = ½ ln m BIC, which is also called MDL. "bdeu" and "k2" are -log P(D | G) with Dirichlet priors.

    Parameters
    ----------
    columns : array of shape (d, n)
        Codes of complete rows.
    sizes : array of shape (d,)
        How many states each variable has.
    weight : array of shape (n,)
        How much each row counts.
    score : {"bic", "mdl", "aic", "nll", "bdeu", "k2"}
        Which score.
    equivalent_sample_size : float
        Of the prior of "bdeu".
    """

    def __init__(
        self,
        columns: np.ndarray,
        sizes: np.ndarray,
        weight: np.ndarray,
        score: Score = "bic",
        equivalent_sample_size: float = 10.0,
        n_jobs: int | None = None,
    ) -> None:
        self.columns, self.sizes = (
            np.ascontiguousarray(columns, dtype=np.int32),
            np.asarray(sizes, dtype=np.int64),
        )
        self.weight, self.score, self.n_jobs = np.ascontiguousarray(weight, dtype=np.float64), score, n_jobs
        self.prior = {"bdeu": float(equivalent_sample_size), "k2": -1.0}.get(score, 0.0)
        mass = float(self.weight.sum())
        self.penalty = {"aic": 1.0, "bic": 0.5 * math.log(max(mass, 1.0))}.get(
            {"mdl": "bic"}.get(score, score), 0.0
        )
        self.d = len(self.sizes)
        self._cache: dict[tuple[int, frozenset[int]], float] = {}

    def family(self, child: int, parents: Iterable[int]) -> float:
        """The score of one family."""
        chosen = frozenset(parents)
        found = self._cache.get((child, chosen))
        return self._extend(child, chosen, [-1])[0] if found is None else found

    def additions(self, child: int, parents: Iterable[int], candidates: Sequence[int]) -> np.ndarray:
        """The scores of a family with each of some more parents; infinity where its table would be too large."""
        chosen = frozenset(parents)
        known = [self._cache.get((child, chosen | {p})) for p in candidates]
        if all(value is not None for value in known):
            return np.array(known, dtype=np.float64)
        return self._extend(child, chosen, candidates)

    def many(self, families: Sequence[tuple[int, frozenset[int], Sequence[int]]]) -> list[np.ndarray]:
        """`additions` for several families, on several threads."""
        return each(lambda item: self.additions(*item), families, n_jobs=self.n_jobs)

    def total(self, parents: Sequence[Iterable[int]]) -> float:
        """The score of a whole network."""
        return math.fsum(self.family(k, own) for k, own in enumerate(parents))

    def parameters(self, child: int, parents: Iterable[int]) -> float:
        """The number of free parameters of a family."""
        return float(self.sizes[child] - 1) * math.prod(float(self.sizes[p]) for p in parents)

    def _extend(self, child: int, chosen: frozenset[int], candidates: Sequence[int]) -> np.ndarray:
        members = sorted(chosen)
        full = math.prod(int(self.sizes[p]) for p in members)
        r = int(self.sizes[child])
        open_ = [p for p in candidates if full * r * (int(self.sizes[p]) if p >= 0 else 1) <= MAX_CELLS]
        found = dict.fromkeys(candidates, np.inf)
        if open_:
            place, count = configurations(self.columns, self.sizes, members)
            base = place * r + self.columns[child]
            widest = max(int(self.sizes[p]) if p >= 0 else 1 for p in open_)
            sizes = np.concatenate([self.sizes, [full, r]])
            scores = family_scores(
                self.columns, sizes, base, count * r, np.array(open_, dtype=np.int64), self.weight, self.prior,
                np.empty(count * r * widest),
            )  # fmt: skip
            for p, value in zip(open_, scores):
                more = chosen | {p} if p >= 0 else chosen
                found[p] = float(value) + self.penalty * self.parameters(child, more)
        for p, value in found.items():
            self._cache[child, chosen | {p} if p >= 0 else chosen] = value
        return np.array([found[p] for p in candidates], dtype=np.float64)


class Constraints:
    """Which edges a search must have and must not have.

    Parameters
    ----------
    d : int
        The number of variables.
    required, forbidden : lists of pairs (parent, child)
        Edges.
    max_parents : int or None
        The most parents of a variable.
    """

    def __init__(
        self,
        d: int,
        required: Iterable[tuple[int, int]] = (),
        forbidden: Iterable[tuple[int, int]] = (),
        max_parents: int | None = None,
    ) -> None:
        self.required, self.allowed = np.zeros((d, d), dtype=bool), ~np.eye(d, dtype=bool)
        for p, c in required:
            self.required[p, c] = True
        for p, c in forbidden:
            self.allowed[p, c] = False
        self.allowed &= ~self.required.T
        self.max_parents = d if max_parents is None else int(max_parents)

    def parents(self) -> list[set[int]]:
        """The network of the required edges alone."""
        return [set(np.flatnonzero(column).tolist()) for column in self.required.T]

    def candidates(self, child: int) -> list[int]:
        """What may be a parent of a variable, required or not."""
        return np.flatnonzero(self.allowed[:, child]).tolist()


def closure(parents: Sequence[Iterable[int]]) -> np.ndarray:
    """reach[i, j]: whether there is a directed path from i to j; every variable reaches itself."""
    d = len(parents)
    reach = np.eye(d, dtype=bool)
    done: set[int] = set()
    waiting = [set(own) for own in parents]
    while len(done) < d:
        ready = [k for k in range(d) if k not in done and waiting[k] <= done]
        if not ready:
            raise ValueError("The edges have a cycle.")
        for k in ready:
            for p in parents[k]:
                reach[:, k] |= reach[:, p]
            done.add(k)
    return reach


def better(new: Any, old: Any) -> Any:
    """Whether a score is better than another by more than the rounding of sums in another order."""
    return new < old - 1e-9 * (1.0 + np.abs(old))
