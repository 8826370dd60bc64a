"""Bayes decision theory (贝叶斯决策论): from probabilities and costs to the decision that costs least."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike as Array

from tercet.core.catalog import method
from tercet.core.estimator import check_is_fitted
from tercet.core.meta import MetaClassifier, Part, clone, fit_part
from tercet.core.parameters import ArrayLike, NonNegative
from tercet.core.steps import Fit


@method(
    zh="贝叶斯公式",
    task="classification",
    model="P(c | x) = P(c) P(x | c) / Σ_c P(c) P(x | c)",
    texts=["002 ch. 5, eq. 5.1", "000 ch. 4, eq. 4.4, 4.5", "001 ch. 1, sec. 1.3.4"],
)
def posterior(prior: Array, likelihood: Array) -> np.ndarray:
    """Bayes' theorem: the probabilities of the classes after x was seen.

    Parameters
    ----------
    prior : array of shape (n_classes,)
        P(c).
    likelihood : array of shape (..., n_classes)
        P(x | c), a probability or a density.

    Returns
    -------
    array of shape (..., n_classes)
        P(c | x); the prior where x is impossible in every class.

    Examples
    --------
    >>> posterior([0.6, 0.4], [30 / 60, 1 / 40]).round(4)
    array([0.9677, 0.0323])
    """
    p, f = np.asarray(prior, dtype=float), np.asarray(likelihood, dtype=float)
    if p.ndim != 1 or not (p >= 0).all() or not 0 < p.sum() < np.inf:
        raise ValueError(f"prior must hold a probability for each class; got {prior!r}.")
    if f.shape[-1:] != p.shape or not (f >= 0).all() or np.isinf(f).any():
        raise ValueError(
            f"likelihood must hold a finite number of at least 0 for each of {p.size} classes; got {likelihood!r}."
        )
    p = p / p.sum()
    scale = f.max(axis=-1, keepdims=True)  # so that small densities do not vanish in the product
    joint = p * np.divide(f, scale, out=np.zeros_like(f), where=scale > 0)
    whole = joint.sum(axis=-1, keepdims=True)
    return np.divide(joint, whole, out=np.broadcast_to(p, f.shape).copy(), where=whole > 0)


@method(
    zh="条件风险",
    task="classification",
    model="R(i | x) = Σ_j λ_ij P(c_j | x)",
    texts=["002 ch. 5, eq. 5.2"],
)
def conditional_risk(posterior: Array, costs: Array | None = None) -> np.ndarray:
    """The expected cost of each decision.

    Parameters
    ----------
    posterior : array of shape (..., n_classes)
        P(c_j | x).
    costs : array of shape (n_decisions, n_classes), optional
        λ_ij, the cost of decision i where class j is true; by default 0 for the right class and 1 for others.

    Returns
    -------
    array of shape (..., n_decisions)

    Examples
    --------
    >>> conditional_risk([0.6, 0.3, 0.1], [[0, 1, 10], [2, 0, 5], [4, 3, 0]])
    array([1.3, 1.7, 3.3])
    """
    P = np.asarray(posterior, dtype=float)
    if P.ndim == 0 or not (P >= 0).all():
        raise ValueError(f"posterior must hold a probability for each class; got {posterior!r}.")
    return P @ check_costs(costs, P.shape[-1]).T


@method(
    zh="贝叶斯判定准则、后验概率最大化",
    task="classification",
    model="h*(x) = argmin_i R(i | x); argmax_c P(c | x) where every error costs the same",
    strategy="least expected cost",
    texts=["002 ch. 5, eq. 5.3", "000 ch. 4, sec. 4.1.2"],
)
def bayes_decision(posterior: Array, costs: Array | None = None, reject: float | None = None) -> np.ndarray:
    """The decision of least expected cost, or none where even that costs more than not to decide.

    Parameters
    ----------
    posterior : array of shape (..., n_classes)
        P(c_j | x).
    costs : array of shape (n_decisions, n_classes), optional
        The cost of decision i where class j is true; by default 0 for the right class and 1 for others.
    reject : float, optional
        The cost of not deciding; by default a decision is always made.

    Returns
    -------
    array of shape (...)
        Indices of the decisions, of equals the first; -1 where none is made.

    Examples
    --------
    >>> bayes_decision([[0.6, 0.4], [0.9, 0.1]], [[0, 5], [1, 0]])
    array([1, 0])
    >>> bayes_decision([[0.6, 0.4], [0.9, 0.1]], reject=0.3)
    array([-1,  0])
    """
    risk = conditional_risk(posterior, costs)
    best = risk.argmin(axis=-1)
    return best if reject is None else np.where(risk.min(axis=-1) > reject, -1, best)


@method(
    zh="贝叶斯风险",
    task="classification",
    model="R* = E_x min_i R(i | x)",
    strategy="least expected cost",
    texts=["002 ch. 5, eq. 5.3"],
)
def bayes_risk(
    posterior: Array, costs: Array | None = None, reject: float | None = None, weight: Array | None = None
) -> float:
    """The mean cost of the best decisions: with these probabilities nobody can do better.

    Parameters
    ----------
    posterior : array of shape (n_samples, n_classes)
        P(c_j | x) of each x.
    costs, reject
        As in `bayes_decision`.
    weight : array of shape (n_samples,), optional
        How probable each x is, up to a factor; by default all are equally so.

    Returns
    -------
    float

    Examples
    --------
    >>> round(bayes_risk([[0.6, 0.4], [0.9, 0.1]]), 6)
    0.25
    """
    least = conditional_risk(posterior, costs).min(axis=-1)
    given = None if weight is None else np.asarray(weight, dtype=float)
    return float(np.average(least if reject is None else np.minimum(least, reject), weights=given))


def check_costs(costs: Any, n_classes: int) -> np.ndarray:
    """A table of costs with a column for each class, or an error that says what is wrong."""
    if costs is None:
        return 1.0 - np.eye(n_classes)
    table = np.asarray(costs, dtype=float)
    if table.ndim != 2 or table.shape[1] != n_classes or not np.isfinite(table).all():
        raise ValueError(
            f"costs must be a table of finite numbers, with a row for each decision and a column for each of "
            f"{n_classes} classes; got {costs!r}."
        )
    return table


@method(
    zh="贝叶斯决策（代价矩阵与拒识）",
    task="classification",
    model="h*(x) = argmin_i Σ_j λ_ij P(c_j | x), or no decision where that costs more than to refuse",
    strategy="that of the estimator; costs come in after it has learned",
    algorithms="one fit on the data as it is",
    texts=["002 ch. 5, eq. 5.2, 5.3", "000 ch. 4, sec. 4.1.2"],
    peers=["sklearn.model_selection.TunedThresholdClassifierCV"],
)
class BayesDecisionClassifier(MetaClassifier):
    """Any classifier with probabilities, which decides by least expected cost and may refuse to.

    With costs[i][j] the cost of saying class i where class j is true, it says the i of least
    Σ_j costs[i][j] P(c_j | x), of equals the first.

    Parameters
    ----------
    estimator : estimator
        Any classifier with `predict_proba`.
    costs : array of shape (n_classes, n_classes), optional
        What each decision (row) costs for each true class (column), both in the order of `classes_`; by default 0
        for the right class and 1 for all others.
    reject : float, optional
        The cost of not deciding; where the best decision costs more, the answer is `reject_label`. By default a
        decision is always made.
    reject_label : int, float or str, optional
        What is answered then, not one of the classes; by default -1, or "reject" where the classes are strings.

    Attributes
    ----------
    estimator_ : estimator
        The fitted estimator.
    classes_ : array of shape (n_classes,)
    costs_ : array of shape (n_classes, n_classes)
        The costs in use.
    answers_ : array of shape (n_classes,) or (n_classes + 1,)
        The possible answers: the classes, and the label of what is not decided.

    Examples
    --------
    >>> from tercet.naive_bayes import GaussianNB
    >>> X, y = [[0], [1], [2], [3], [4], [5]], ["well", "well", "ill", "well", "ill", "ill"]
    >>> BayesDecisionClassifier(GaussianNB()).fit(X, y).predict([[2], [2.6], [5]])
    array(['well', 'ill', 'ill'], dtype='<U4')
    >>> costly = [[0, 1], [10, 0]]  # rows: to say ill, to say well
    >>> BayesDecisionClassifier(GaussianNB(), costs=costly).fit(X, y).predict([[2], [2.6], [5]])
    array(['ill', 'ill', 'ill'], dtype='<U4')
    >>> BayesDecisionClassifier(GaussianNB(), reject=0.2).fit(X, y).predict([[2], [2.6], [5]])
    array(['reject', 'reject', 'ill'], dtype='<U6')
    """

    def __init__(
        self,
        estimator: Any,
        *,
        costs: ArrayLike = None,
        reject: NonNegative | None = None,
        reject_label: int | float | str | None = None,
    ) -> None:
        self.estimator = estimator
        self.costs = costs
        self.reject = reject
        self.reject_label = reject_label

    def _fit_all(self, X: Any, y: np.ndarray, params: dict[str, Any]) -> None:
        name = type(self).__name__
        if not hasattr(self.estimator, "predict_proba"):
            raise ValueError(
                f"{name}: estimator must have predict_proba; got {type(self.estimator).__name__}."
            )
        self.costs_ = check_costs(self.costs, self.n_classes_)
        if len(self.costs_) != self.n_classes_:
            raise ValueError(
                f"{name}: costs must have a row for each of {self.n_classes_} classes; got {len(self.costs_)}."
            )
        self.answers_ = self._answers()
        (task,) = Fit.of(self).tasks(1, self.task_name)
        self.estimator_ = fit_part(clone(self.estimator), X, Part(self.classes_[y]), params, False, task)

    def _answers(self) -> np.ndarray:
        """The classes, and behind them the label of what is not decided."""
        if self.reject is None:
            return self.classes_
        words = self.classes_.dtype.kind in "US" or isinstance(self.classes_[0], str)
        label = self.reject_label
        if label is None:
            label = "reject" if words else -1
        if label in self.classes_.tolist():
            raise ValueError(
                f"{type(self).__name__}: reject_label={label!r} must not be one of the classes "
                f"{self.classes_.tolist()}."
            )
        if isinstance(label, str) != words:  # NumPy would make a string of a number
            return np.array([*self.classes_.tolist(), label], dtype=object)
        return np.concatenate([self.classes_, np.asarray([label])])

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes, as the estimator gives them.

        Parameters
        ----------
        X : anything that the estimator takes
            The data.

        Returns
        -------
        proba : array of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        return self.estimator_.predict_proba(self._check(X, reset=False))

    def conditional_risk(self, X: Any) -> np.ndarray:
        """The expected cost of each decision for each row.

        Parameters
        ----------
        X : anything that the estimator takes
            The data.

        Returns
        -------
        risk : array of shape (n_samples, n_classes)
        """
        return conditional_risk(self.predict_proba(X), self.costs_)

    def predict(self, X: Any) -> np.ndarray:
        """The class of least expected cost, or `reject_label` where that is more than `reject`.

        Parameters
        ----------
        X : anything that the estimator takes
            The data.

        Returns
        -------
        labels : array of shape (n_samples,)
        """
        proba = self.predict_proba(X)
        return self.answers_[bayes_decision(proba, self.costs_, self.reject)]
