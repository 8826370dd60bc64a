"""One against the rest (一对其余)."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.parallel import delayed

from tercet.core.catalog import method
from tercet.core.estimator import check_is_fitted
from tercet.core.fitted_checks import Each, Having
from tercet.core.input_errors import Explaining
from tercet.core.meta import (
    MetaClassifier,
    Part,
    clone,
    confidence,
    estimators_have,
    partial_fit_part,
)
from tercet.core.parameters import CountOrZero, Jobs, check_parameters


@method(
    zh="一对其余",
    task="classification",
    model="the class whose two-class model has the highest score",
    strategy="that of the estimator, on one class against all others",
    algorithms="one fit for each class",
    texts=["watermelon notes ch. 1, 1.8"],
    peers=["sklearn.multiclass.OneVsRestClassifier"],
)
class OneVsRestClassifier(MetaClassifier):
    """One-vs-rest: an estimator for each class against all others.

    If exactly one of them says yes, that is the class; if several do or none does, the surest of them decides.
    With y an indicator matrix (a column for each label) it learns every label by itself.

    Parameters
    ----------
    estimator : estimator
        Any classifier with `decision_function` or `predict_proba`, or a regressor.
    n_jobs : int, optional
        Threads to use; the result does not depend on it.
    verbose : int, default=0
        How much joblib says about the progress.

    Attributes
    ----------
    estimators_ : list
        One for each class; only one when there are two classes.
    classes_ : array of shape (n_classes,)
    label_binarizer_ : LabelBinarizer
        Makes a column for each class.
    multilabel_ : bool
        Whether y was an indicator matrix.

    Examples
    --------
    >>> from tercet.linear_model import Perceptron
    >>> X, y = [[9, 9], [8, 9], [-5, 5], [-6, 5], [-9, -9], [-8, -9]], ["a", "a", "b", "b", "c", "c"]
    >>> OneVsRestClassifier(Perceptron()).fit(X, y).predict([[7, 8], [-5, 6], [-7, -7]])
    array(['a', 'b', 'c'], dtype='<U1')
    """

    multi_output = True
    task_name = "fit-class"

    def __init__(self, estimator: Any, *, n_jobs: Jobs = None, verbose: CountOrZero | bool = 0) -> None:
        self.estimator = estimator
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _encode(self, y: Any) -> Any:
        """One column of zeros and ones for each class."""
        with Explaining(y=y):
            if type_of_target(y).endswith("multioutput"):
                raise ValueError(
                    "Multioutput target data is not supported with label binarization: y must be labels, or an "
                    f"indicator matrix of zeros and ones; got {type_of_target(y)!r}."
                )
            check_classification_targets(y)
            self.label_binarizer_ = LabelBinarizer(sparse_output=True)
            columns = self.label_binarizer_.fit_transform(y).tocsc()
        self.classes_ = self.label_binarizer_.classes_
        return columns

    fitted_shapes = {
        "label_binarizer_": Having({"classes_": "classes"}, ("inverse_transform",)),
        "estimators_": Each(Having({}, ("predict",)), "planes | classes"),
    }

    def _fit_all(self, X: Any, y: Any, params: dict[str, Any]) -> None:
        counts = np.asarray(y.sum(axis=0)).ravel()
        if len(self.classes_) == 1 and not self.multilabel_:
            only = f"y has only one class, {self.classes_[0]}, and it will always be predicted."
            warnings.warn(f"{type(self).__name__}: {only}", UserWarning, stacklevel=3)
            counts = counts[:0]
        for k in np.flatnonzero((counts == 0) | (counts == y.shape[0])):
            there = f"{'' if counts[k] else 'not '}{self.classes_[k]}"
            warnings.warn(f"Label {there} is present in all training examples.", UserWarning, stacklevel=3)
        self.estimators_ = self._fit_parts(X, map(Part, _dense_columns(y)), y.shape[1], params)

    @available_if(estimators_have("partial_fit"))
    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, **partial_fit_params: Any
    ) -> Self:
        """Go on learning with a batch of rows.

        Parameters
        ----------
        X : anything that the estimator takes
            The batch.
        y : array of shape (n_samples,)
            Its labels.
        classes : array of shape (n_classes,), optional
            All labels there will be; needed in the first call.
        sample_weight : array of shape (n_samples,), optional
            How much each row counts.
        **partial_fit_params
            More for the estimator's `partial_fit`, when metadata routing is enabled.

        Returns
        -------
        self
        """
        check_parameters(self)
        first = self._first_call(classes)
        if first:
            self.label_binarizer_ = LabelBinarizer(sparse_output=True).fit(self.classes_)
            count = 1 if self.n_classes_ == 2 else self.n_classes_
            self.estimators_ = [clone(self.estimator) for _ in range(count)]
        X, index = self._check_batch(X, y, first=first)
        params = self._route("partial_fit", X, sample_weight, partial_fit_params)
        columns = _dense_columns(self.label_binarizer_.transform(self.classes_[index]).tocsc())
        calls = (
            delayed(partial_fit_part)(estimator, X, Part(column), params)
            for estimator, column in zip(self.estimators_, columns)
        )
        self.estimators_ = self._parallel(calls, len(self.estimators_))
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row, or its labels as an indicator matrix.

        Parameters
        ----------
        X : anything that the estimator takes
            The data.

        Returns
        -------
        labels : array of shape (n_samples,) or (n_samples, n_classes)
        """
        check_is_fitted(self)
        X = self._check(X, reset=False)
        scores = np.column_stack([confidence(estimator, X, 0.5) for estimator in self.estimators_])
        if self.label_binarizer_.y_type_ == "multiclass":
            return self.classes_[scores.argmax(axis=1)]
        return self.label_binarizer_.inverse_transform(sparse.csc_array((scores > 0).astype(int)))

    @available_if(estimators_have("predict_proba"))
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes: scaled to sum to 1, or of each label by itself.

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
        proba = np.column_stack([estimator.predict_proba(X)[:, 1] for estimator in self.estimators_])
        if proba.shape[1] == 1:
            return np.column_stack([1 - proba, proba])
        if not self.multilabel_:
            sums = proba.sum(axis=1, keepdims=True)
            np.divide(proba, sums, out=proba, where=sums != 0)
        return proba

    @available_if(estimators_have("decision_function"))
    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of the classes.

        Parameters
        ----------
        X : anything that the estimator takes
            The data.

        Returns
        -------
        scores : array of shape (n_samples,) for two classes, else (n_samples, n_classes)
        """
        check_is_fitted(self)
        X = self._check(X, reset=False)
        scores = np.column_stack([np.ravel(estimator.decision_function(X)) for estimator in self.estimators_])
        return scores[:, 0] if scores.shape[1] == 1 else scores

    @property
    def multilabel_(self) -> bool:
        """Whether y was an indicator matrix."""
        return self.label_binarizer_.y_type_.startswith("multilabel")


def _dense_columns(Y: Any) -> Any:
    """The columns of a sparse indicator matrix, one by one."""
    return (Y[:, [k]].toarray().ravel() for k in range(Y.shape[1]))
