"""Iterative scaling (迭代尺度法) for maximum entropy models: IIS and GIS.

A model P_w(y|x) = exp(sum_i w_i f_i(x, y)) / Z_w(x) is given by its joint features: a sparse matrix with one row
for each pair (x, y), context by context, and one column for each f_i. `empirical` are the expectations of the
features in the data, and `context_weight` is the empirical distribution of x.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import OptimizeResult

from tercet.core.catalog import method as card
from tercet.core.functions import log_sum_exp, monotone_root
from tercet.core.steps import Steps, history_table

MAX_EXPONENT = 30.0  # of δ f#: a step multiplies no probability by more than exp(30)
EXPONENT_TOLERANCE = 1e-7  # of δ f#: convergence of δ is quadratic, so that the next iterate is exact
MAX_ITERATIONS = 100  # for δ; a few are enough
BLOCK_SIZE = 1 << 18  # terms at a time: they stay in the cache, and interrupts are prompt


@card(
    zh="改进的迭代尺度法",
    task="optimisation",
    model="P(y|x) = exp(sum of w_i f_i(x, y)) / Z(x)",
    strategy="log-likelihood, by maximising a lower bound that separates over the features",
    algorithms={"iis": "improved iterative scaling", "gis": "generalised iterative scaling"},
    texts=["Li ch. 6, Alg 6.1", "Machine Learning in Depth ch. 6"],
    peers=["nltk MaxentClassifier"],
)
def iterative_scaling(
    features: Any,
    empirical: Any,
    context_weight: Any,
    *,
    method: Literal["iis", "gis"] = "iis",
    l2: Any = 0.0,
    start: Any = None,
    negative: Literal["error", "shift"] = "error",
    tol: float = 1e-6,
    max_iter: int = 1000,
    steps: Callable[..., Steps] | None = None,
) -> OptimizeResult:
    """Iterative scaling: weights of a log-linear model whose expected features match the empirical ones.

    Each pass solves, for every feature at the same P_w,

        sum over x, y of P(x) P_w(y|x) f_i(x, y) exp(δ_i f#(x, y)) + l2_i (w_i + δ_i) = empirical_i

    with f# the sum of all features of (x, y), and moves all weights by δ at once; the log-likelihood (less the
    penalty) never falls. GIS uses the largest f# for all pairs, without a correction feature: its
    slack enters Jensen's inequality with exponent 0. Where f# is constant the two are the same. Steps are limited
    to |δ_i| max f# <= 30, so that the weight of a feature that never occurs in the data stays finite.

    Parameters
    ----------
    features : sparse matrix or array of shape (n_contexts * n_labels, n_features)
        f_i(x, y), not negative; the labels of a context are neighbours.
    empirical : array of shape (n_features,)
        Expectations of the features in the data.
    context_weight : array of shape (n_contexts,)
        The share of each context in the data; the sum is 1.
    method : {"iis", "gis"}, default="iis"
        The algorithm.
    l2 : float or array of shape (n_features,), default=0.0
        Strength of the penalty l2 |w|^2 / 2 on the mean negative log-likelihood.
    start : array of shape (n_features,), optional
        First weights; zero by default.
    negative : {"error", "shift"}, default="error"
        What to do with negative features: refuse them, or add a constant to each, which leaves the model as
        it is but makes the matrix dense.
    tol : float, default=1e-6
        Converged when no expectation differs by more than this from the data's (the largest component of the
        objective's gradient).
    max_iter : int, default=1000
        Maximum number of passes.
    steps : callable, optional
        Makes the loop, as in `minimize`.

    Returns
    -------
    OptimizeResult
        With `x` (the weights), `fun` (mean negative log-likelihood and penalty), `jac`, `expected` (of the
        features under the model), `nit`, `success`, `message` and `history`.

    Examples
    --------
    >>> F = np.eye(3)[:2]  # one context, two labels, one indicator feature for each
    >>> found = iterative_scaling(F[:, :2], [0.25, 0.75], [1.0])
    >>> np.exp(found.x) / np.exp(found.x).sum()
    array([0.25, 0.75])
    """
    F, context_weight = joint_matrix(features, context_weight)
    empirical = np.asarray(empirical, dtype=float)
    lowest = F.min(axis=0).toarray().ravel()
    if lowest.min(initial=0) < 0:
        i = int(lowest.argmin())
        if negative != "shift":
            raise ValueError(
                f"iterative scaling needs features that are not negative; feature {i} has the value {lowest[i]}. "
                "Use negative='shift', scale the data to [0, 1], or take another algorithm."
            )
        shift = np.minimum(lowest, 0.0)
        F, empirical = sparse.csr_array(F.toarray() - shift), empirical - shift
    w = np.zeros(F.shape[1]) if start is None else np.array(start, dtype=float)
    l2 = np.broadcast_to(np.asarray(l2, dtype=float), w.shape)
    terms = ScalingTerms.of(F, method)

    def evaluate(w: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        value, joint = log_linear(F, context_weight, empirical, w)
        expected = F.T @ joint
        return value + float(l2 @ w**2) / 2, expected - empirical + l2 * w, joint

    loop = (steps or Steps)(
        max_iter, hint="Iterative scaling is slow; raise max_iter or tol, or use 'lbfgs'."
    )
    fun, gradient, joint = evaluate(w)
    for step in loop:
        w = w + scaling_step(terms, terms.coefficients(joint), empirical, w, l2)
        fun, gradient, joint = evaluate(w)
        gap = float(np.abs(gradient).max(initial=0.0))
        step.report(w, fun=fun, grad_norm=gap)
        if step.converged(gap <= tol):
            break
    done = loop.is_converged is True
    message = (
        "Converged: the expectations agree." if done else f"Not converged in max_iter={max_iter} passes."
    )
    return OptimizeResult(
        x=w, fun=fun, jac=gradient, expected=gradient + empirical - l2 * w, nit=loop.count, success=done,
        status=0 if done else 1, message=message, history=history_table([loop]),
    )  # fmt: skip


class ScalingTerms(NamedTuple):
    """The equation of each feature as sum_u a_u exp(δ s_u), with entries of equal f# merged.

    Attributes
    ----------
    feature, sharp : arrays of shape (n_terms,)
        The feature of each term, and its f#.
    rows, values, starts : arrays
        The entries of the joint matrix, sorted by term; those of a term begin at `starts`.

    Examples
    --------
    Two pairs (x, y) and two features; f# is 1 in the first row and 2 in the second:

    >>> F = sparse.csr_array([[1.0, 0.0], [1.0, 1.0]])
    >>> terms = ScalingTerms.of(F)
    >>> terms.feature.tolist(), terms.sharp.tolist()
    ([0, 0, 1], [1.0, 2.0, 2.0])
    >>> terms.coefficients(np.array([0.25, 0.75])).tolist()
    [0.25, 0.75, 0.75]
    """

    feature: np.ndarray
    sharp: np.ndarray
    rows: np.ndarray
    values: np.ndarray
    starts: np.ndarray

    @classmethod
    def of(cls, F: sparse.csr_array, method: str = "iis") -> ScalingTerms:
        """The terms of a joint feature matrix; those of GIS all have the largest f#."""
        if method not in ("iis", "gis"):
            raise ValueError(f"method must be 'iis' or 'gis'; got {method!r}.")
        sharp = np.asarray(F.sum(axis=1)).ravel()
        if method == "gis":
            sharp = np.full_like(sharp, sharp.max(initial=0.0))
        order = np.argsort(sharp, kind="stable")  # the columns of rows in this order are sorted by f# already
        entries = F[order].tocsc()
        row = order[entries.indices]
        feature = np.repeat(np.arange(F.shape[1]), np.diff(entries.indptr))
        value = sharp[row]
        new = np.ones(row.size, dtype=bool)
        new[1:] = (feature[1:] != feature[:-1]) | (value[1:] != value[:-1])
        return cls(feature[new], value[new], row, entries.data, np.flatnonzero(new))

    def coefficients(self, joint: np.ndarray) -> np.ndarray:
        """The coefficients a_u for probabilities P(x) P_w(y|x) of the rows."""
        a = np.empty(self.starts.size)
        for first in range(0, a.size, BLOCK_SIZE):
            starts = self.starts[first : first + BLOCK_SIZE]
            end = self.starts[first + BLOCK_SIZE] if first + BLOCK_SIZE < a.size else self.rows.size
            here = slice(starts[0], end)
            a[first : first + BLOCK_SIZE] = np.add.reduceat(
                self.values[here] * joint[self.rows[here]], starts - starts[0]
            )
        return a


def scaling_step(
    terms: ScalingTerms, a: np.ndarray, target: np.ndarray, w: np.ndarray, l2: np.ndarray
) -> np.ndarray:
    """The δ that solves sum_u a_u exp(δ_i s_u) + l2_i (w_i + δ_i) = target_i for each feature i.

    Each iteration replaces the sum by the single exponential with the same value and slope at the last δ, a lower
    bound by Jensen's inequality. Its root approaches the solution from above, with quadratic convergence. One
    iteration is exact where a feature has one term.

    Examples
    --------
    One context, two labels, a feature of the first label, which is the right one three times of four:

    >>> terms = ScalingTerms.of(sparse.csr_array([[1.0], [0.0]]))
    >>> joint = np.array([0.5, 0.5])  # P(x) P_w(y|x) at w = 0
    >>> delta = scaling_step(terms, terms.coefficients(joint), np.array([0.75]), np.zeros(1), np.zeros(1))
    >>> np.exp(delta).round(6).tolist()  # 0.5 exp(delta) = 0.75
    [1.5]
    """
    n = target.size
    largest = np.zeros(n)
    last = np.flatnonzero(np.diff(terms.feature, append=-1))  # terms are sorted by feature, then by f#
    largest[terms.feature[last]] = terms.sharp[last]
    max_step = MAX_EXPONENT / np.where(largest > 0, largest, np.inf)
    delta = np.zeros(n)
    for _ in range(MAX_ITERATIONS):
        before, (total, slope) = delta, exponential_sums(terms, a, delta, n)
        with np.errstate(divide="ignore", invalid="ignore"):
            rate = np.where(total > 0, slope / total, 0.0)
        delta = single_exponential_root(total, rate, before, target, w, l2, max_step)
        if last.size == a.size or np.all(np.abs(delta - before) * largest <= EXPONENT_TOLERANCE):
            break
    return delta


def exponential_sums(
    terms: ScalingTerms, a: np.ndarray, delta: np.ndarray, n: int
) -> tuple[np.ndarray, np.ndarray]:
    """For each feature sum_u a_u exp(δ s_u), and its derivative."""
    total, slope = np.zeros((2, n))
    for first in range(0, a.size, BLOCK_SIZE):
        block = slice(first, first + BLOCK_SIZE)
        feature, sharp = terms.feature[block], terms.sharp[block]
        grown = delta[feature]
        grown *= sharp
        np.exp(grown, out=grown)
        grown *= a[block]
        total += np.bincount(feature, grown, n)
        grown *= sharp
        slope += np.bincount(feature, grown, n)
    return total, slope


def single_exponential_root(
    total: np.ndarray, rate: np.ndarray, at: np.ndarray, target: np.ndarray, w: np.ndarray, l2: np.ndarray,
    max_step: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """The δ that solves total exp(rate (δ - at)) + l2 (w + δ) = target, with |δ| <= max_step."""
    if not l2.any():
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.nan_to_num(np.clip(at + np.log(target / total) / rate, -max_step, max_step))

    def excess(delta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        grown = total * np.exp(rate * (delta - at))
        return grown + l2 * (w + delta) - target, grown * rate + l2

    return monotone_root(excess, -max_step, max_step, atol=1e-13)


def log_linear(F: Any, context_weight: np.ndarray, empirical: np.ndarray, w: Any) -> tuple[float, np.ndarray]:
    """Mean negative log-likelihood of the model with weights w, and P(x) P_w(y|x) for the rows of F."""
    scores = np.asarray(F @ w).reshape(context_weight.size, -1)
    log_z = log_sum_exp(scores)
    joint = context_weight[:, None] * np.exp(scores - log_z[:, None])
    return float(context_weight @ log_z - np.dot(w, empirical)), joint.ravel()


def scaling_bounds(
    features: Any, empirical: Any, context_weight: Any, w: Any, delta: Any
) -> tuple[float, float, float]:
    """The rise of the log-likelihood from w to w + δ and its lower bounds A (6.30) and B (6.31).

    Pairs (x, y) without any feature stay in B with exponent 0, without which it would not be a bound.

    Examples
    --------
    >>> rise, A, B = scaling_bounds([[1, 0], [1, 1]], [1.0, 0.25], [1.0], [0.0, 0.0], [0.0, -0.5])
    >>> rise >= A >= B
    True
    """
    F, context_weight = joint_matrix(features, context_weight)
    empirical, w, delta = (np.asarray(v, dtype=float) for v in (empirical, w, delta))
    before, joint = log_linear(F, context_weight, empirical, w)
    after, _ = log_linear(F, context_weight, empirical, w + delta)
    sharp = np.asarray(F.sum(axis=1)).ravel()
    entries = F.tocoo()
    spread = entries.data / sharp[entries.row] * np.exp(delta[entries.col] * sharp[entries.row])
    jensen = np.bincount(entries.row, spread, sharp.size) + (sharp == 0)
    gain = float(delta @ empirical) + 1
    return before - after, gain - float(joint @ np.exp(F @ delta)), gain - float(joint @ jensen)


def joint_matrix(features: Any, context_weight: Any) -> tuple[sparse.csr_array, np.ndarray]:
    """The joint features as CSR and the weights of the contexts; raises when their shapes do not match."""
    F = sparse.csr_array(features, dtype=float)
    F.sum_duplicates()
    weight = np.asarray(context_weight, dtype=float)
    if weight.ndim != 1 or weight.size == 0 or F.shape[0] % weight.size:
        raise ValueError(
            f"features must have n_contexts * n_labels rows; got {F.shape[0]} rows for {weight.size} contexts."
        )
    return F, weight


def logistic_iis(
    X: Any,
    y: np.ndarray,
    sample_weight: np.ndarray | None = None,
    *,
    n_classes: int | None = None,
    fit_intercept: bool = True,
    l2: float = 0.0,
    start: Any = None,
    steps: Callable[..., Steps] | None = None,
    **options: Any,
) -> tuple[np.ndarray, np.ndarray, OptimizeResult]:
    """Logistic regression by iterative scaling, as a log-linear model with features x_j [y = k].

    Two classes have one weight vector, for class 1; more have one for each class. Columns with negative values
    are shifted, which the intercepts absorb; without intercepts the joint features are shifted.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    y : array of shape (n,)
        Class codes 0 .. n_classes-1.
    sample_weight : array of shape (n,), optional
    n_classes : int, optional
        By default the largest code and one.
    fit_intercept : bool, default=True
        Whether each weight vector has a constant feature, which is not penalised.
    l2 : float, default=0.0
        Strength of l2 |w|^2 / 2 beside the mean loss; scikit-learn's C is 1 / (l2 sum of weights).
    start : array, optional
        First weights: those of a column side by side, the intercepts last.
    steps : callable, optional
        An estimator's `steps`; the passes then show coef_ and intercept_ to its callbacks.
    **options
        `method`, `tol` and `max_iter` of `iterative_scaling`.

    Returns
    -------
    coef, intercept, result : arrays of shape (n_planes, d) and (n_planes,), OptimizeResult
        `result.x` has both, in the order of `start`; its gradient is that of the shifted columns.

    Examples
    --------
    >>> X, y = np.arange(6.0)[:, None], np.array([0, 0, 1, 0, 1, 1])
    >>> coef, intercept, found = logistic_iis(X, y, tol=1e-4)
    >>> coef.round(2), intercept.round(2)
    (array([[1.21]]), array([-3.03]))
    """
    n, d = X.shape
    k = int(y.max()) + 1 if n_classes is None else n_classes
    weight = np.full(n, 1 / n) if sample_weight is None else sample_weight / sample_weight.sum(dtype=float)
    block = sparse.eye_array(k) if k > 2 else sparse.csr_array([[0.0], [1.0]])
    planes = block.shape[1]
    lowest = np.zeros(d)
    if fit_intercept:
        least = X.min(axis=0)
        lowest = np.minimum(least.toarray().ravel() if sparse.issparse(X) else least, 0.0, dtype=float)
        if lowest.any():
            X = (X.toarray() if sparse.issparse(X) else X) - lowest
    columns = [sparse.csr_array(X)] + ([sparse.csr_array(np.ones((n, 1)))] if fit_intercept else [])
    F = sparse.kron(sparse.hstack(columns), block, format="csr")
    empirical = F[np.arange(n) * k + y].T @ weight
    penalty = np.repeat([float(l2), 0.0], [d * planes, planes * fit_intercept])

    def split(w: np.ndarray) -> dict[str, np.ndarray]:
        table = w.reshape(-1, planes).T
        offset = table[:, d] - table[:, :d] @ lowest if fit_intercept else np.zeros(planes)
        return {"coef_": table[:, :d], "intercept_": offset}

    if start is not None and fit_intercept:
        table = np.array(start, dtype=float).reshape(d + 1, planes)
        table[d] += lowest @ table[:d]
        start = table.ravel()
    loop = None if steps is None else functools.partial(steps, unpack=split)
    result = iterative_scaling(
        F, empirical, weight, l2=penalty, negative="shift", start=start, steps=loop, **options
    )
    coef, intercept = split(result.x).values()
    if fit_intercept:
        result.x = np.vstack([coef.T, intercept]).ravel()
    return coef, intercept, result
