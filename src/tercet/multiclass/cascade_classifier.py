"""A cascade of two-class models (逐类剥离的多分类)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.utils.metaestimators import available_if

from tercet.core.catalog import method
from tercet.core.estimator import check_is_fitted
from tercet.core.fitted_checks import Each, Having, Labels
from tercet.core.meta import MetaClassifier, Part, confidence, estimators_have, rows_at
from tercet.core.parameters import ArrayLike, CountOrZero, Jobs


@method(
    zh="逐类剥离的多分类",
    task="classification",
    model="is it A? if not, is it B? ... one two-class model after the other",
    strategy="that of the estimator, on one class against those that come after it",
    algorithms="one fit for each class but the last, on fewer rows each time",
    texts=["Machine Learning in Depth ch. 2, sec. 2.2.4"],
)
class CascadeClassifier(MetaClassifier):
    """A cascade of two-class models: A against the rest, then B against what is left, and so on.

    With P_k the probability that model k gives to its class, P(class k) = P_k prod_{j<k} (1 - P_j).

    Parameters
    ----------
    estimator : estimator
        Any classifier with `decision_function` or `predict_proba`, or a regressor.
    order : {"sorted", "frequency"} or array of all classes, default="sorted"
        Which class comes off first: as they are sorted, the most frequent, or as given.
    decide : {"probable", "first"}, default="probable"
        Take the most probable class, or the first whose model says yes, as the text does. Without probabilities
        it is always the first.
    n_jobs : int, optional
        Threads; the result does not depend on it.
    verbose : int, default=0
        How much joblib says about the progress.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    order_ : array of shape (n_classes,)
        The classes in the order in which they come off.
    estimators_ : list of n_classes - 1 estimators

    Examples
    --------
    >>> from tercet.linear_model import LogisticRegression
    >>> X, y = [[1], [2], [4], [5], [7], [8]], ["a", "a", "b", "b", "c", "c"]
    >>> model = CascadeClassifier(LogisticRegression(C=100), order=["c", "a", "b"]).fit(X, y)
    >>> model.predict([[1.5], [4.5], [7.5]])
    array(['a', 'b', 'c'], dtype='<U1')
    """

    task_name = "fit-class"

    def __init__(
        self,
        estimator: Any,
        *,
        order: Literal["sorted", "frequency"] | ArrayLike = "sorted",
        decide: Literal["probable", "first"] = "probable",
        n_jobs: Jobs = None,
        verbose: CountOrZero | bool = 0,
    ) -> None:
        self.estimator = estimator
        self.order = order
        self.decide = decide
        self.n_jobs = n_jobs
        self.verbose = verbose

    fitted_shapes = {"order_": Labels("classes"), "estimators_": Each(Having({}, ("predict",)), "classes-1")}

    def _fit_all(self, X: Any, y: np.ndarray, params: dict[str, Any]) -> None:
        order = self._class_order(y, params.get("sample_weight"))
        self.order_ = self.classes_[order]
        rank = np.argsort(order)[y]  # the place of a row's class in the cascade
        parts = []
        for k in range(order.size - 1):
            left = np.flatnonzero(rank >= k)
            parts.append(Part((rank[left] == k).astype(int), left))
        self.estimators_ = self._fit_parts(X, parts, len(parts), params)

    def _class_order(self, y: np.ndarray, sample_weight: Any = None) -> np.ndarray:
        """Indices of the classes in the order of the cascade."""
        if isinstance(self.order, str):
            if self.order == "sorted":
                return np.arange(self.classes_.size)
            if self.order == "frequency":
                return np.argsort(-np.bincount(y, sample_weight, self.classes_.size), kind="stable")
        elif np.ndim(self.order) == 1 and sorted(np.asarray(self.order).tolist()) == self.classes_.tolist():
            return np.searchsorted(self.classes_, np.asarray(self.order))
        raise ValueError(
            f"CascadeClassifier: parameter 'order' must be 'sorted', 'frequency' or the classes "
            f"{self.classes_.tolist()} in some order; got {self.order!r}."
        )

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row: the most probable, or the first whose model says yes (else the last).

        Parameters
        ----------
        X : anything that the estimator takes
            The data.

        Returns
        -------
        labels : array of shape (n_samples,)
        """
        check_is_fitted(self)
        if self.decide == "probable" and hasattr(self, "predict_proba"):
            return self.classes_[self.predict_proba(X).argmax(axis=1)]
        X = self._check(X, reset=False)
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        found = np.full(n, len(self.estimators_))
        left = np.arange(n)
        for k, estimator in enumerate(self.estimators_):
            if left.size == 0:
                break
            yes = confidence(estimator, rows_at(X, left), 0.5) > 0
            found[left[yes]] = k
            left = left[~yes]
        return self.order_[found]

    @available_if(estimators_have("predict_proba"))
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes, multiplied along the cascade.

        Parameters
        ----------
        X : anything that the estimator takes
            The data.

        Returns
        -------
        proba : array of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        X = self._check(X, reset=False)
        columns: list[Any] = []
        rest: Any = 1.0
        for estimator in self.estimators_:
            yes = estimator.predict_proba(X)[:, 1]
            columns.append(rest * yes)
            rest = rest * (1 - yes)
        return np.column_stack([*columns, rest])[:, np.argsort(self.order_)]
