"""Bayes classifiers: from the joint probability P(c) P(x | c) to posterior probabilities and classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from tercet.core.estimator import Classifier, check_is_fitted, check_weight, distinct
from tercet.core.kernel import kernel
from tercet.core.parallel import Chunks, each
from tercet.core.parameters import check_parameters


class BayesClassifier(Classifier):
    """A classifier that knows log P(c, x) for every class c, and predicts the class of the greatest posterior.

    A subclass writes `_fit`, which sets `class_log_prior_`; `_tables(X)`, the arrays that scoring needs, made once
    for all rows; and `_score(X, *tables)`, log P(c, x) of a chunk of rows, of shape (n, n_classes). Where all
    classes are impossible (all joint probabilities are zero) the posterior is the prior.
    """

    n_jobs: Any
    class_log_prior_: np.ndarray
    fitted_shapes = {"class_log_prior_": "classes", "class_prior_": "classes", "class_count_": "classes"}

    def _tables(self, X: Any) -> tuple[Any, ...]:
        raise NotImplementedError(f"{type(self).__name__} has no _tables(X).")

    def _score(self, X: Any, *tables: Any) -> np.ndarray:
        raise NotImplementedError(f"{type(self).__name__} has no _score(X, *tables).")

    def predict_joint_log_proba(self, X: Any) -> np.ndarray:
        """log P(c) + log P(x | c) for each row and class.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        return self._joint_log_likelihood(self._check_query(X))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """The logarithm of `predict_proba`, exact where the probability itself is 0 in floating point."""
        joint = self._prior_where_impossible(self.predict_joint_log_proba(X))
        with np.errstate(invalid="ignore"):
            below = joint - joint.max(axis=1, keepdims=True)
        return below - np.log(np.exp(below).sum(axis=1, keepdims=True))

    def predict_proba(self, X: Any) -> np.ndarray:
        """The posterior probability of every class for every row.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: Any) -> np.ndarray:
        """The class of the greatest posterior probability; of equals, the first."""
        best = self._most_probable(self._check_query(X))
        return self.classes_[best]

    def _joint_log_likelihood(self, X: Any) -> np.ndarray:
        return joined(self._each_chunk(self._score_chunk, X))

    def _most_probable(self, X: Any) -> np.ndarray:
        """The index of the most probable class of each row.

        Chunk by chunk: the joint probabilities of all rows and classes may take more memory than X.
        """
        return joined(self._each_chunk(self._most_probable_chunk, X))

    def _each_chunk(self, function: Callable[..., Any], X: Any) -> list[np.ndarray]:
        return each(function, self._chunks(X), *self._tables(X), n_jobs=self.n_jobs)

    def _chunks(self, X: Any) -> Chunks:
        return Chunks(X)

    def _score_chunk(self, chunk: tuple[Any], *tables: Any) -> np.ndarray:
        return self._score(chunk[0], *tables)

    def _most_probable_chunk(self, chunk: tuple[Any], *tables: Any) -> np.ndarray:
        return greatest(self._score(chunk[0], *tables), int(self.class_log_prior_.argmax()))

    def _prior_where_impossible(self, joint: np.ndarray) -> np.ndarray:
        """Joint log-probabilities, replaced by the prior where no class is possible."""
        impossible = np.isneginf(joint.max(axis=1))
        return np.where(impossible[:, None], self.class_log_prior_, joint) if impossible.any() else joint

    def _check_query(self, X: Any) -> Any:
        """Checked rows to predict. Kernels check no bounds: a prior of other classes (in a forged file, say) must
        not get to them."""
        check_is_fitted(self)
        X = self._check(X, reset=False)
        if np.shape(self.class_log_prior_) != self.classes_.shape:
            raise ValueError(
                f"{type(self).__name__}: class_log_prior_ must have {self.classes_.size} entries; "
                f"it has the shape {np.shape(self.class_log_prior_)}."
            )
        return X

    def _encode(self, y: Any) -> np.ndarray:
        self.classes_, index = distinct(y)  # a single class is allowed: it is always predicted
        return index


class PartialFitMixin(Classifier):
    """Learning batch by batch: `_fit` learns from the first batch, `_partial_fit` adds a later one."""

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add a batch of rows to what was learned; one that is refused leaves no trace.

        Parameters
        ----------
        X : array of shape (n_samples, n_features), or whatever `fit` takes
            The batch.
        y : array of shape (n_samples,)
            Its labels.
        classes : array, optional
            All classes that will ever come; required in the first call.
        sample_weight : array of shape (n_samples,), optional
            How much each row counts.

        Returns
        -------
        self
        """
        check_parameters(self)
        before = dict(self.__dict__)
        try:
            first = self._first_call(classes)
            if not first:
                self._extend_categories(X, sample_weight)
            X, y = self._check_batch(X, y, first=first)
            (self._fit_first_batch if first else self._partial_fit)(X, y, check_weight(sample_weight, X))
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        return self

    def _fit_first_batch(self, X: Any, y: np.ndarray, weight: np.ndarray | None) -> None:
        """Learn from the first batch, which need not have all classes."""
        self._fit(X, y, weight)

    def _extend_categories(self, X: Any, sample_weight: Any) -> None:
        """Extend the tables by categories that no batch before had."""

    def _partial_fit(self, X: Any, y: np.ndarray, weight: np.ndarray | None) -> None:
        raise NotImplementedError(f"{type(self).__name__} has no _partial_fit(X, y, weight).")


def joined(parts: list[np.ndarray]) -> np.ndarray:
    """Arrays one after the other; a single one is not copied."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


@kernel
def greatest(joint, otherwise):
    """The index of the greatest entry of each row, the first of equals; `otherwise` where all are -inf."""
    best = np.empty(joint.shape[0], dtype=np.int64)
    for i in range(joint.shape[0]):
        row = joint[i]
        found, top = np.int64(otherwise), row.dtype.type(-np.inf)
        for c in range(row.size):
            if row[c] > top:
                found, top = np.int64(c), row[c]
        best[i] = found
    return best


@kernel
def add_to_rows(table, row):
    """Add a vector to every row of a table."""
    for i in range(table.shape[0]):
        line = table[i]
        for k in range(line.size):
            line[k] += row[k]


def check_priors(model: Any, name: str = "priors") -> np.ndarray | None:
    """The parameter `name` as probabilities of the classes that sum to 1; None where it is not given."""
    value = getattr(model, name)
    if value is None:
        return None
    owner, K = type(model).__name__, model.classes_.size
    priors = as_numbers(value, f"{owner}: {name}")
    allowed = f"{name} must be {K} probabilities that sum to 1, one for each class; got {value!r}."
    if priors.shape != (K,):
        raise ValueError(f"{owner}: Number of priors must match number of classes: {allowed}")
    if not np.isclose(priors.sum(), 1.0):
        raise ValueError(f"{owner}: The sum of the priors should be 1: {allowed}")
    if not (priors >= 0).all():
        raise ValueError(f"{owner}: Priors must be non-negative: {allowed}")
    return priors


def check_class_prior(model: Any) -> np.ndarray | None:
    """The parameter `class_prior` as scikit-learn takes it: numbers of at least 0, which need not sum to 1."""
    if model.class_prior is None:
        return None
    K, name = model.classes_.size, type(model).__name__
    prior = as_numbers(model.class_prior, f"{name}: class_prior")
    allowed = f"class_prior must be a probability for each of {K} classes; got {model.class_prior!r}."
    if prior.shape != (K,):
        raise ValueError(f"{name}: Number of priors must match number of classes: {allowed}")
    if not (prior >= 0).all() or not 0 < prior.sum() < np.inf:
        raise ValueError(f"{name}: {allowed}")
    return prior


def log(p: np.ndarray) -> np.ndarray:
    """The logarithm, -inf without a warning where p is 0."""
    with np.errstate(divide="ignore"):
        return np.log(p)


def as_numbers(value: Any, what: str) -> np.ndarray:
    """An array of numbers, or an error that begins with what they are."""
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{what} must be numbers; got {value!r}.") from None
