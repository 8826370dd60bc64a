"""Improved iterative scaling for linear chains, and its algorithms S and T (条件随机场的改进的迭代尺度法)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol

import numpy as np
from scipy.optimize import OptimizeResult

from tercet.core.catalog import method
from tercet.core.steps import Steps, history_table
from tercet.optimize import ScalingTerms, scaling_step
from tercet.sequence.crf._engine.grouped_chains import (
    UNDERFLOW,
    by_length,
    edge_marginals,
    grouped_best_scores,
    grouped_marginals,
    potentials,
    scaled_passes,
)
from tercet.sequence.crf._engine.marginals import Marginals

SCALINGS = ("iis", "iis-s", "iis-t")
NEWTON_ITERATIONS = 100
MOST_TOTALS = 10_000  # of "iis": each costs forward and backward passes over all sequences
MAX_EXPONENT = (
    10.0  # of δ T: the coefficients of "iis" are exact to 1e-16 or so, which exp(10) leaves harmless
)


class ScalingObjective(Protocol):
    """Data and model of `crf_iterative_scaling`: local features as a linear map, and its transpose.

    Attributes
    ----------
    lengths : array of shape (n_sequences,)
    share : array of shape (n_sequences,)
        P̃(x), the share of each sequence in the data; the sum is 1.
    empirical : array of shape (n_weights,)
        The features' expectations in the data.
    l2 : float or array of shape (n_weights,)
        Strength of l2 |w|^2 / 2 beside the mean of -log P(y|x).
    least : float
        A number not above any feature's value; negative ones are refused.
    """

    lengths: np.ndarray
    share: np.ndarray
    empirical: np.ndarray
    l2: Any
    least: float

    def scores(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Observation scores w·f of each position, of shape (n_rows, N), and transition scores: (N, N) where all
        positions share them, else (n_rows, N, N), the first row of a sequence unused."""

    def totals(self, node: np.ndarray, edge: np.ndarray) -> np.ndarray:
        """The sum of each feature over positions and transitions with these weights, in the shapes of `scores`."""


@method(
    zh="条件随机场的改进的迭代尺度法",
    task="optimisation",
    model="P(y|x) = exp(w·F(y, x)) / Z(x)",
    strategy="log-likelihood, raised through a lower bound that falls apart into single features",
    algorithms={
        "iis": "improved iterative scaling",
        "iis-s": "algorithm S of improved iterative scaling",
        "iis-t": "algorithm T of improved iterative scaling",
    },
    texts=["Li ch. 11, Alg 11.1", "Li ch. 11, eq. 11.36-11.48"],
)
def crf_iterative_scaling(
    objective: ScalingObjective,
    *,
    algorithm: Literal["iis", "iis-s", "iis-t"] = "iis",
    S: float | None = None,
    start: Any = None,
    tol: float = 1e-6,
    max_iter: int = 1000,
    steps: Callable[..., Steps] | None = None,
) -> OptimizeResult:
    """Improved iterative scaling for a linear-chain CRF: its expected features come to equal those of the data.

    Each pass solves, for every feature k at the same P_w, a polynomial equation in exp(δ_k),

        sum over t of a_kt exp(δ_k t) + l2_k (w_k + δ_k) = empirical_k,

    by Newton's iteration on its logarithm, and moves all weights at once; the log-likelihood (less the penalty)
    never falls. a_kt is the expectation of f_k in the cases whose total of all features is t. What the total is
    makes the algorithm: in "iis" that of the pair, T(x, y), which must be a whole number; in "iis-t" the largest of
    x, T(x) = max over y of T(x, y); in "iis-s" one constant S, the largest of all, so that without a penalty
    δ_k = log(empirical_k / expected_k) / S. From the first to the last, passes are cheaper and more are needed.
    S and T(x) are maxima over all label sequences, found by Viterbi's algorithm, not only over those of the data.

    Parameters
    ----------
    objective : ScalingObjective
        The model and its data, as from `ParametricCRF.objective`.
    algorithm : {"iis", "iis-s", "iis-t"}, default="iis"
        What the total is.
    S : float, optional
        The constant of "iis-s"; by default the largest total, and no smaller one will do. A larger one makes
        smaller steps.
    start : array of shape (n_weights,), optional
        First weights; zero by default.
    tol : float, default=1e-6
        Converged when no component of the gradient is larger: no expectation differs by more from the data's.
    max_iter : int, default=1000
        The most passes.
    steps : callable, optional
        Makes the loop, as in `minimize`.

    Returns
    -------
    OptimizeResult
        With `x` (the weights), `fun` (mean of -log P(y|x) and penalty), `jac`, `nit`, `success`, `message` and
        `history`.

    Examples
    --------
    >>> from tercet.sequence import ParametricCRF
    >>> model = ParametricCRF(states=[lambda y, x, i: y == x[i]], labels=[0, 1])
    >>> data = model.objective([[0, 0], [1, 0]], [[0, 0], [1, 1]])
    >>> crf_iterative_scaling(data).x.round(4), np.log(3).round(4)  # right three times out of four
    (array([1.0986]), np.float64(1.0986))
    """
    if algorithm not in SCALINGS:
        raise ValueError(f"algorithm must be one of {', '.join(map(repr, SCALINGS))}; got {algorithm!r}.")
    empirical = np.asarray(objective.empirical, dtype=float)
    l2 = np.broadcast_to(np.asarray(objective.l2, dtype=float), empirical.shape)
    _check_scalable(objective, empirical, l2)
    w = np.zeros(empirical.size) if start is None else np.array(start, dtype=float)
    coefficients = FeatureTotals(objective, algorithm, S)
    loop = (steps or Steps)(
        max_iter, hint="Iterative scaling is slow; raise max_iter or tol, or use 'lbfgs'."
    )

    def evaluate(w: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        log_z, a = coefficients.expect(w)
        fun = float(objective.share @ log_z - w @ empirical + l2 @ w**2 / 2)
        return fun, a.sum(axis=0) - empirical + l2 * w, a

    fun, gradient, a = evaluate(w)
    for step in loop:
        w = w + coefficients.solve(a, empirical, w, l2)
        fun, gradient, a = evaluate(w)
        gap = float(np.abs(gradient).max(initial=0.0))
        step.report(w, fun=fun, grad_norm=gap)
        if step.converged(gap <= tol):
            break
    done = loop.is_converged is True
    message = (
        "Converged: the expectations agree." if done else f"Not converged in max_iter={max_iter} passes."
    )
    return OptimizeResult(
        x=w, fun=fun, jac=gradient, nit=loop.count, success=done, status=0 if done else 1, message=message,
        history=history_table([loop]),
    )  # fmt: skip


class FeatureTotals:
    """Expected features by the total of all features, T(x, y), T(x) or S: the coefficients a_kt of the equations.

    Parameters
    ----------
    objective : ScalingObjective
    algorithm : {"iis", "iis-s", "iis-t"}
    S : float, optional

    Attributes
    ----------
    totals : array of shape (n_totals,)
        The values t that the total takes, in order.
    """

    def __init__(self, objective: ScalingObjective, algorithm: str, S: float | None = None) -> None:
        self.objective, self.exact = objective, algorithm == "iis"
        self.node, self.edge = objective.scores(np.ones(len(objective.empirical)))  # the counts of features
        self.groups = by_length(objective.lengths, self.node.shape[1])
        most = grouped_best_scores(self.node, self.edge, self.groups)
        if self.exact:
            _check_whole_counts(self.node, self.edge)
            if most.max() > MOST_TOTALS:
                raise ValueError(
                    "Exact iterative scaling ('iis') has a term for every total of all features, here up to "
                    f"{most.max():g}; allowed are totals up to {MOST_TOTALS}. Use 'iis-t' or 'iis-s'."
                )
            self.node, self.edge = (np.rint(count).astype(np.int64) for count in (self.node, self.edge))
            self.totals = np.arange(round(most.max()) + 1.0)
            return
        if S is not None and (algorithm != "iis-s" or most.max() - 1e-9 > S):
            raise ValueError(
                f"S is for 'iis-s', and not smaller than the largest total {most.max():g}; got {S!r}."
            )
        t = np.full_like(most, most.max() if S is None else S) if algorithm == "iis-s" else most.round(9)
        self.totals, self.group = np.unique(t, return_inverse=True)

    def expect(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """log Z(x) of all sequences, and a_kt, of shape (n_totals, n_weights)."""
        o = self.objective
        node, edge = o.scores(w)
        if self.exact:
            return self._expect_exactly(node, edge)
        found = grouped_marginals(node, edge, self.groups)
        weights = [o.share * (self.group == t) for t in range(self.totals.size)]
        return found.log_z, np.array([self._sum(found, weight) for weight in weights])

    def _sum(self, found: Marginals, weight: np.ndarray) -> np.ndarray:
        rows = np.repeat(weight, self.objective.lengths)
        if self.edge.ndim == 2:
            return self.objective.totals(rows[:, None] * found.node, np.tensordot(weight, found.edge, 1))
        return self.objective.totals(rows[:, None] * found.node, rows[:, None, None] * found.edge)

    def _expect_exactly(self, node: np.ndarray, edge: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """E[f_k; T(x, y) = t] for t = 0 ... m - 1, from E[f_k u^T] at the m roots u of 1.

        With u^count beside each potential a path carries u^T(x, y), so that one forward-backward pass gives the
        polynomial sum_t a_kt u^t at u; its values at the roots are the discrete Fourier transform of the a_kt.
        """
        o, m = self.objective, self.totals.size
        shared, share = edge.ndim == 2, np.repeat(o.share, o.lengths)
        log_z, pieces = np.empty(o.lengths.size), []
        for group in self.groups:
            like, trans, offset = potentials(node, edge, group)
            scale = np.ones(group.rows.shape)
            scaled_passes(like, trans, scale, group.active)
            if not scale.min() > UNDERFLOW:
                raise ValueError(
                    "The weights are too large for exact iterative scaling ('iis'); use 'iis-t'."
                )
            log_z[group.chains] = np.log(scale).sum(axis=1) + offset
            pieces.append((group, like, trans, scale))
        at_roots = np.empty((m // 2 + 1, len(o.empirical)), dtype=complex)
        for r in range(m // 2 + 1):  # the other half are conjugates of these
            root_power = np.exp(-2j * np.pi * (r * np.arange(m) % m) / m)  # of each count
            nodes, edges = np.zeros(node.shape, dtype=complex), np.zeros(edge.shape, dtype=complex)
            for group, like, trans, scale in pieces:
                like = like * root_power[self.node[group.rows]]
                trans = trans * root_power[self.edge if shared else self.edge[group.rows]]
                alpha, beta = scaled_passes(like, trans, scale, group.active, given=True)
                inside = group.inside
                rows = group.rows[inside]
                nodes[rows] = share[rows][:, None] * (alpha * beta)[inside]
                pairs = edge_marginals(alpha, beta, like, trans, scale, group)
                if shared:
                    edges += np.tensordot(o.share[group.chains], pairs, 1)
                else:
                    edges[rows] = share[rows][:, None, None] * pairs[inside]
            at_roots[r] = o.totals(nodes.real, edges.real) + 1j * o.totals(nodes.imag, edges.imag)
        return log_z, np.maximum(np.fft.irfft(at_roots, m, axis=0), 0.0)

    def solve(self, a: np.ndarray, target: np.ndarray, w: np.ndarray, l2: np.ndarray) -> np.ndarray:
        """The δ that solves every feature's equation."""
        n, k = a.shape
        none = np.empty(0)
        terms = ScalingTerms(np.repeat(np.arange(k), n), np.tile(self.totals, k), none, none, none)
        delta = scaling_step(terms, a.T.ravel(), target, w, l2)
        reach = MAX_EXPONENT / max(self.totals[-1], 1.0) if self.exact else np.inf
        return np.clip(delta, -reach, reach)


def crf_iis_update(empirical: Any, expected: Any, totals: Any) -> np.ndarray:
    """The update δ of improved iterative scaling for a CRF, in plain form (Alg 11.1, algorithms S and T).

    For each feature k, δ_k = log β_k solves

        sum over t of a_kt β_k^t = empirical_k    (11.45-11.48)

    where a_kt is the expectation of f_k in the sequences whose total T(x) of all features is t. With one total S
    for all of them (algorithm S) this is δ_k = log(empirical_k / expected_k) / S (11.41, 11.43).

    Parameters
    ----------
    empirical : array of shape (n_features,)
        The expectations of the features in the data; positive.
    expected : array of shape (n_totals, n_features)
        a_kt: the expectations under P̃(x) P_w(y|x), by total.
    totals : array of shape (n_totals,)
        The totals t; positive.

    Returns
    -------
    delta : array of shape (n_features,)

    Examples
    --------
    >>> crf_iis_update([0.5, 0.5], [[0.25, 0.5]], [2.0])
    array([0.34657359, 0.        ])
    >>> np.exp(crf_iis_update([2.0], [[1.0], [1.0]], [1.0, 2.0])).round(4)  # β + β² = 2
    array([1.])
    """
    empirical, expected, totals = (np.asarray(value, dtype=float) for value in (empirical, expected, totals))
    delta = np.zeros(empirical.size)
    for _ in range(NEWTON_ITERATIONS):  # Newton's iteration on log of the sum = log empirical_k
        terms = expected * np.exp(np.outer(totals, delta))
        total = terms.sum(axis=0)
        change = np.log(empirical / total) * total / (totals @ terms)
        delta += change
        if np.abs(change).max() < 1e-12:
            break
    return delta


def _check_scalable(objective: ScalingObjective, empirical: np.ndarray, l2: np.ndarray) -> None:
    if objective.least < 0:
        raise ValueError(
            f"Iterative scaling needs features that are not negative; one has the value {objective.least}. "
            "Shift it, or take another algorithm."
        )
    never = np.flatnonzero((empirical <= 0) & (l2 == 0))
    if never.size:
        raise ValueError(
            f"Iterative scaling would send the weights of {never.size} features to minus infinity, as the data "
            f"never show them (feature {never[0]} first). Leave them out, or use an L2 penalty."
        )


def _check_whole_counts(node: np.ndarray, edge: np.ndarray) -> None:
    for counts in (node, edge):
        off = np.abs(counts - counts.round())
        if off.max(initial=0.0) > 1e-9:
            raise ValueError(
                "Exact iterative scaling ('iis') counts the total of all features, which must be whole numbers; "
                f"one total is {counts.ravel()[off.argmax()]:g}. Use 'iis-t' or 'iis-s'."
            )


__all__ = ["SCALINGS", "FeatureTotals", "ScalingObjective", "crf_iis_update", "crf_iterative_scaling"]
