"""Expected, empirical and structural risk, and the hypotheses that minimise them (Li ch. 1.3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tercet.core.catalog import method

Loss = Callable[[Any, Any], Any]
Hypothesis = Callable[[Any], Any]


@dataclass(frozen=True, eq=False)
class RiskMinimum:
    """The hypothesis of least risk among finitely many.

    Attributes
    ----------
    index : int
        Its place in the list; the first of equals.
    hypothesis : callable
        The hypothesis itself.
    risk : float
        What was minimised.
    risks : ndarray of shape (n_hypotheses,)
        The same for all of them.
    """

    index: int
    hypothesis: Hypothesis
    risk: float
    risks: np.ndarray


def _zero_one(y: Any, f: Any) -> np.ndarray:
    return (np.asarray(y) != np.asarray(f)).astype(float)


def _mean_loss(loss: Loss | None, y: Any, f: Any, weights: Any = None) -> float:
    values = np.asarray((loss or _zero_one)(y, f), dtype=float)
    if values.shape != np.shape(y):
        raise ValueError(f"loss must give one number for each row: shape {np.shape(y)}; got {values.shape}.")
    if np.isnan(values).any():
        raise ValueError("loss gives NaN for some rows.")
    return float(np.average(values, weights=weights))


@method(
    zh="期望风险",
    task="theory",
    model="a hypothesis f and a joint distribution P(x, y)",
    strategy="R(f) = E L(y, f(x))",
    texts=[
        "Li ch. 1, eq. 1.13, 1.27",
        "Machine Learning in Depth ch. 1, 1.2",
        "Pattern Recognition ch. 5, eq. 5-100",
        "watermelon notes ch. 9, eq. 9.1",
    ],
)
def expected_risk(
    joint: Any, hypothesis: Any, loss: Loss | None = None, *, x: Any = None, y: Any = None
) -> float:
    """Expected loss under a known table P(x, y).

    Parameters
    ----------
    joint : array of shape (n_x, n_y)
        Probabilities; they sum to 1.
    hypothesis : callable, or array of shape (n_x,)
        f, or its values at the n_x values of x.
    loss : callable, default=None
        loss(y, f), elementwise; 0-1 loss when None.
    x, y : arrays of shape (n_x,) and (n_y,), default=None
        The values; 0, 1, 2 ... when None.

    Examples
    --------
    >>> expected_risk([[0.5, 0.125], [0.125, 0.25]], [0, 1])
    0.25
    """
    P = np.asarray(joint, dtype=float)
    if P.ndim != 2 or not (P >= 0).all() or not np.isclose(P.sum(), 1.0):
        raise ValueError(
            f"joint must be a table of probabilities that sum to 1; got shape {P.shape}, sum {P.sum():g}."
        )
    xs, ys = (np.arange(n) if values is None else np.asarray(values) for n, values in zip(P.shape, (x, y)))
    f = np.asarray([hypothesis(value) for value in xs] if callable(hypothesis) else hypothesis)
    if f.shape[:1] != P.shape[:1] or ys.shape != P.shape[1:]:
        raise ValueError(f"hypothesis and y must fit joint's shape {P.shape}; got {f.shape} and {ys.shape}.")
    losses = np.column_stack(
        [np.asarray((loss or _zero_one)(np.full(len(f), value), f), float) for value in ys]
    )
    return float((P * losses).sum())


@method(
    zh="经验风险",
    task="theory",
    model="a hypothesis f and N rows",
    strategy="R_emp(f) = (1/N) Σ L(yᵢ, f(xᵢ))",
    texts=[
        "Li ch. 1, eq. 1.14, 1.18, 1.19",
        "Machine Learning in Depth ch. 1, 1.2",
        "Pattern Recognition ch. 5, eq. 5-101",
        "watermelon notes ch. 9, eq. 9.2",
    ],
)
def empirical_risk(y: Any, predictions: Any, loss: Loss | None = None, *, sample_weight: Any = None) -> float:
    """Mean loss on some rows: the training error on those learned from, the test error on others.

    Examples
    --------
    >>> round(empirical_risk([0, 1, 1, 2, 2, 2], [0, 1, 2, 2, 2, 0]), 6)
    0.333333
    >>> empirical_risk([1.0, 2.0], [1.5, 2.5], lambda y, f: (y - f) ** 2)
    0.25
    """
    return _mean_loss(loss, np.asarray(y), np.asarray(predictions), sample_weight)


@method(
    zh="结构风险",
    task="theory",
    model="a hypothesis f, N rows and a complexity J(f)",
    strategy="R_srm(f) = (1/N) Σ L(yᵢ, f(xᵢ)) + λ J(f), λ ≥ 0",
    texts=["Li ch. 1, eq. 1.16", "Li ch. 12, eq. 12.4", "Machine Learning in Depth ch. 1, 1.2"],
)
def structural_risk(
    y: Any,
    predictions: Any,
    complexity: float,
    lam: float,
    loss: Loss | None = None,
    *,
    sample_weight: Any = None,
) -> float:
    """Mean loss and lambda times the complexity of the hypothesis.

    Examples
    --------
    >>> structural_risk([1.0, 2.0], [1.5, 2.5], complexity=4.0, lam=0.1, loss=lambda y, f: (y - f) ** 2)
    0.65
    """
    if not 0 <= lam < np.inf:
        raise ValueError(f"lam must be a finite number of at least 0; got {lam!r}.")
    return empirical_risk(y, predictions, loss, sample_weight=sample_weight) + lam * float(complexity)


@method(
    zh="经验风险最小化",
    task="theory",
    model="finitely many hypotheses",
    strategy="minimum of the empirical risk; with log loss it is maximum likelihood",
    algorithms="enumeration",
    texts=[
        "Li ch. 1, eq. 1.15, 1.30",
        "Machine Learning in Depth ch. 1, 1.2",
        "watermelon notes ch. 9, eq. 9.24",
    ],
)
def empirical_risk_minimization(
    hypotheses: Sequence[Hypothesis], X: Any, y: Any, loss: Loss | None = None, *, sample_weight: Any = None
) -> RiskMinimum:
    """The hypothesis of least mean loss.

    It comes close to the best hypothesis of the class when the rows are many (`agnostic_sample_size`): a class of
    finite VC dimension is PAC learnable in this way, also where no hypothesis is right (`vc_sample_size`).

    Parameters
    ----------
    hypotheses : sequence of callables
        Each f(X) gives predictions for all rows.
    X, y : rows and their targets.
    loss : callable, default=None
        loss(y, f), elementwise; 0-1 loss when None.
    sample_weight : array of shape (n_samples,), default=None
        Weights of the rows.

    Examples
    --------
    >>> X = np.arange(6)
    >>> found = empirical_risk_minimization([lambda x, t=t: x > t for t in range(6)], X, X > 3)
    >>> found.index, found.risk
    (3, 0.0)
    """
    return structural_risk_minimization(
        hypotheses, X, y, lambda f: 0.0, 0.0, loss, sample_weight=sample_weight
    )


@method(
    zh="结构风险最小化",
    task="theory",
    model="finitely many hypotheses, or nested sets of them, with a complexity J",
    strategy="minimum of the structural risk; with log loss and J = −log prior it is maximum a posteriori",
    algorithms="enumeration",
    texts=[
        "Li ch. 1, eq. 1.17, 1.24",
        "Machine Learning in Depth ch. 1, 1.2",
        "Pattern Recognition ch. 5, 5.7.1",
    ],
)
def structural_risk_minimization(
    hypotheses: Sequence[Hypothesis],
    X: Any,
    y: Any,
    complexity: Callable[[Hypothesis], float],
    lam: float = 1.0,
    loss: Loss | None = None,
    *,
    sample_weight: Any = None,
) -> RiskMinimum:
    """The hypothesis of least mean loss + lambda J(f).

    With `complexity` the confidence term of :func:`vc_confidence` at the VC dimension of each hypothesis' set and
    `lam` = 1, it is the principle of nested sets.

    Parameters
    ----------
    hypotheses : sequence of callables
        Each f(X) gives predictions for all rows.
    X, y : rows and their targets.
    complexity : callable
        J(f) of a hypothesis.
    lam : float, default=1.0
        Weight of the complexity, at least 0.
    loss : callable, default=None
        loss(y, f), elementwise; 0-1 loss when None.
    sample_weight : array of shape (n_samples,), default=None
        Weights of the rows.

    Examples
    --------
    >>> x, y = np.arange(4.0), np.array([0.0, 1.1, 1.9, 3.2])
    >>> fits = [np.polynomial.Polynomial.fit(x, y, degree) for degree in range(4)]
    >>> squared = lambda y, f: (y - f) ** 2
    >>> structural_risk_minimization(fits, x, y, lambda f: f.degree(), 0.05, squared).index
    1
    """
    if not len(hypotheses):
        raise ValueError("hypotheses must have at least one hypothesis.")
    risks = np.array(
        [
            structural_risk(y, f(X), complexity(f) if lam else 0.0, lam, loss, sample_weight=sample_weight)
            for f in hypotheses
        ]
    )
    best = int(np.argmin(risks))
    return RiskMinimum(best, hypotheses[best], float(risks[best]), risks)
