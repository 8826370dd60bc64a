"""Any classifier with probabilities, deciding by least expected cost (贝叶斯决策)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.catalog import method
from tercet.core.estimator import check_is_fitted
from tercet.core.fitted_checks import Having, Labels
from tercet.core.meta import MetaClassifier, Part, clone, fit_part
from tercet.core.parameters import ArrayLike, NonNegative
from tercet.core.scoring import rejection_label
from tercet.core.steps import Fit
from tercet.naive_bayes.decision_theory import bayes_decision, check_costs, conditional_risk


@method(
    zh="贝叶斯决策（代价矩阵与拒识）",
    task="classification",
    model="h*(x) = argmin_i Σ_j λ_ij P(c_j | x), or no decision where that costs more than to refuse",
    strategy="that of the estimator; costs come in after it has learned",
    algorithms="one fit on the data as it is",
    texts=["watermelon notes ch. 5, eq. 5.2, 5.3", "Li ch. 4, sec. 4.1.2"],
    peers=["sklearn.model_selection.TunedThresholdClassifierCV"],
)
class BayesDecisionClassifier(MetaClassifier):
    """Meta-classifier that turns probabilities into decisions of least expected cost, with a reject option.

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
        What is answered then, not one of the classes; by default -1 (or a smaller number, if that is a class), or
        "reject" where the classes are strings. `score` counts it as an error.

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

    fitted_shapes = {
        "costs_": "classes answers",
        "answers_": Labels("answers | answers+1"),
        "estimator_": Having({}, ("predict_proba",)),
    }

    def _answers(self) -> np.ndarray:
        """The classes, and behind them the label of what is not decided."""
        if self.reject is None:
            return self.classes_
        words = self.classes_.dtype.kind in "US" or isinstance(self.classes_[0], str)
        label = rejection_label(self.classes_, self.reject_label, type(self).__name__)
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
        decided = bayes_decision(self.predict_proba(X), self.costs_, self.reject)
        # of the classes' own dtype where nothing is rejected: a label of another type makes the answers objects
        return (self.answers_ if (decided < 0).any() else self.classes_)[decided]

    def _rejected(self, predicted: np.ndarray) -> np.ndarray | None:
        return None if len(self.answers_) == len(self.classes_) else predicted == self.answers_[-1]
