"""Accept-reject sampling (接受-拒绝抽样法)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tercet.core.catalog import method
from tercet.core.estimator import generator
from tercet.sampling.user_functions import log_density, positive_count, proposal

BATCH = 1_000_000  # proposals at a time, at most


@dataclass(frozen=True, eq=False)
class AcceptRejectSample:
    """What :func:`accept_reject` returns.

    Attributes
    ----------
    samples : array
        The accepted points.
    acceptance_rate : float
        Accepted of all proposals, up to the last accepted one. It estimates (∫ p) / c.
    n_proposed : int
        How many proposals that were.
    c : float
        The constant of the envelope c q.
    c_estimated : bool
        Whether it is the largest p / q that was met, and not given.

    Examples
    --------
    >>> from tercet.distributions import Uniform
    >>> found = accept_reject(lambda x: 6 * x * (1 - x), Uniform(), 2000, c=1.5, random_state=0)
    >>> round(found.acceptance_rate, 1), round(found.normaliser, 1)
    (0.7, 1.0)
    """

    samples: np.ndarray = field(repr=False)
    acceptance_rate: float
    n_proposed: int
    c: float
    c_estimated: bool

    @property
    def normaliser(self) -> float:
        """Estimate of ∫ p, which is 1 for a normalised density (and q one)."""
        return self.acceptance_rate * self.c


@method(
    zh="接受-拒绝抽样法",
    task="sampling",
    model="c q(x) >= p(x) everywhere",
    algorithms="x* ~ q, u ~ U(0, 1); accept x* if u <= p(x*) / (c q(x*)), until n are accepted",
    texts=["Li ch. 19, Alg 19.1"],
    peers=["scipy.stats.sampling.RatioUniforms"],
)
def accept_reject(
    p: Any,
    q: Any,
    size: int,
    c: float | None = None,
    log: bool = False,
    max_proposals: int | None = None,
    random_state: Any = None,
) -> AcceptRejectSample:
    """Draws from a density p by draws from a proposal q, of which p / (c q) are accepted (Algorithm 19.1).

    Parameters
    ----------
    p : callable or distribution
        The density, of one point or of an array of points. It need not be normalised.
    q : distribution or pair (draw, density)
        The proposal: an object with `sample` and `logpdf` (or scipy's `rvs` and `logpdf`), or functions
        `draw(size, rng)` and `density(x)`.
    size : int
        How many points to accept.
    c : float, optional
        The constant of the envelope: c q(x) >= p(x) everywhere. A point above it is an error. By default the
        largest p / q among the proposals; what was accepted under a lower one is then thinned. That is a lower
        bound of the constant: peaks that no proposal met are cut off.
    log : bool, default=False
        Whether p and the density of a pair give logarithms.
    max_proposals : int, optional
        After how many proposals to give up; by default a million and 1000 for each point.
    random_state : int, Generator or None
        Decides the draws.

    Returns
    -------
    AcceptRejectSample

    Examples
    --------
    >>> from scipy import stats
    >>> found = accept_reject(lambda x: np.exp(-(x**2) / 2), stats.cauchy(), 1000, random_state=0)
    >>> found.c_estimated, found.samples.shape
    (True, (1000,))
    """
    n, rng = positive_count(size, "size"), generator(random_state)
    most = 1_000_000 + 1000 * n if max_proposals is None else positive_count(max_proposals, "max_proposals")
    if c is not None and not 0 < c < np.inf:
        raise ValueError(f"c must be finite and above 0; got {c!r}.")
    draw, log_q = proposal(q, "q", log)
    log_p = log_density(p, "p", log)
    log_c = -np.inf if c is None else float(np.log(c))
    first = log_c
    kept = _Candidates()
    proposed, batch = 0, min(max(2 * n, 1000), BATCH, most)
    while kept.count < n and proposed < most:
        x = draw(batch, rng)
        log_u = np.log1p(-rng.random(batch))  # u in (0, 1]
        ratio = _log_ratios(log_p, log_q, x)
        if c is None:
            largest = float(ratio.max())
            first = largest if proposed == 0 else first
            log_c = max(log_c, largest)
        else:
            _check_envelope(ratio - log_c, x, c)
        kept.add(x, ratio, log_u, proposed)
        kept.thin(log_c)
        proposed += batch
        rate = max(kept.count, 1) / proposed
        batch = int(min(max(1.1 * (n - kept.count) / rate, 1000), BATCH, most - proposed))
    if kept.count < n:
        raise ValueError(_refusal(kept.count, n, proposed, log_c, first if c is None else None))
    if c is None and log_c - first > np.log(2.0):
        warnings.warn(
            f"The largest p / q rose from {np.exp(first):.6g} to {np.exp(log_c):.6g} while points were drawn: it "
            "may have no bound, and the sample be wrong. Take a q with heavier tails, or give c.",
            UserWarning,
            stacklevel=2,
        )
    last = int(kept.places[n - 1]) + 1
    return AcceptRejectSample(kept.points[:n], n / last, last, float(np.exp(log_c)), c is None)


class _Candidates:
    """Proposals that are below the envelope, with what it takes to judge them again under a higher one."""

    def __init__(self) -> None:
        self.parts: list[tuple[np.ndarray, ...]] = []
        self.count = 0

    def add(self, x: np.ndarray, ratio: np.ndarray, log_u: np.ndarray, before: int) -> None:
        possible = ratio > -np.inf
        self.parts.append((x[possible], (ratio - log_u)[possible], before + np.flatnonzero(possible)))

    def thin(self, log_c: float) -> None:
        """Keep those with log u + log c <= log(p / q)."""
        self.parts = [tuple(column[part[1] >= log_c] for column in part) for part in self.parts]
        self.count = sum(len(part[0]) for part in self.parts)

    @property
    def points(self) -> np.ndarray:
        return np.concatenate([part[0] for part in self.parts])

    @property
    def places(self) -> np.ndarray:
        return np.concatenate([part[2] for part in self.parts])


def _log_ratios(log_p: Any, log_q: Any, x: np.ndarray) -> np.ndarray:
    """log(p / q) at the proposals."""
    at_q = log_q(x)
    if (at_q == -np.inf).any():
        raise ValueError(f"q must be positive where it draws; it is 0 at x = {x[at_q == -np.inf][0]}.")
    return log_p(x) - at_q


def _check_envelope(log_ratio: np.ndarray, x: np.ndarray, c: float) -> None:
    k = int(np.argmax(log_ratio))
    if log_ratio[k] > 1e-9:
        raise ValueError(
            f"c must be at least p(x) / q(x) everywhere; got {c!r}, and p(x) / (c q(x)) = "
            f"{np.exp(log_ratio[k]):.6g} at x = {x[k]}. Give {c * np.exp(log_ratio[k]):.6g} or more."
        )


def _refusal(count: int, n: int, proposed: int, log_c: float, first: float | None) -> str:
    if log_c == -np.inf:
        return f"None of {proposed} proposals were accepted: p is 0 at all. q must draw where p is positive."
    text = (
        f"{count or 'None'} of {proposed} proposals were accepted; {n} points were asked for. The envelope c q "
        f"with c = {np.exp(log_c):.6g} is far above p"
    )
    if first is not None and log_c - first > np.log(2.0):
        return f"{text}: p / q, at first up to {np.exp(first):.6g}, may have no bound. Take a q with heavier tails."
    return f"{text}: take a q nearer to p, a smaller c, or more max_proposals."
