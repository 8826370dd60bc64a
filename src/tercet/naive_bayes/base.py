"""What all Bayes classifiers share: from the joint probability P(c) P(x | c) to the answer."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from tercet.core.estimator import Classifier, check_is_fitted, check_weight, distinct
from tercet.core.parallel import Chunks, each
from tercet.core.parameters import check_parameters


class BayesClassifier(Classifier):
    """A classifier that knows log P(c, x) for every class c: the answer is the class of the greatest posterior.

    A subclass writes `_fit`, which sets `class_prior_`'s logarithm as `class_log_prior_`, and
    `_joint_log_likelihood(X)`, of shape (n, n_classes). Where all classes are impossible (all joint probabilities
    are zero) the posterior is the prior.
    """

    class_log_prior_: np.ndarray

    def _joint_log_likelihood(self, X: Any) -> np.ndarray:
        raise NotImplementedError(f"{type(self).__name__} has no _joint_log_likelihood(X).")

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
        check_is_fitted(self)
        X = self._check(X, reset=False)
        self._check_prior()
        return self._joint_log_likelihood(X)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """The logarithm of `predict_proba`, exact where the probability itself is 0 in floating point."""
        joint = self._possible(self.predict_joint_log_proba(X))
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
        best = self._possible(self.predict_joint_log_proba(X)).argmax(axis=1)
        return self.classes_[best]

    def _check_prior(self) -> None:
        """Kernels check no bounds: a prior of other classes (in a forged file, say) must not get to them."""
        if np.shape(self.class_log_prior_) != self.classes_.shape:
            raise ValueError(
                f"{type(self).__name__}: class_log_prior_ must have {self.classes_.size} entries; "
                f"it has the shape {np.shape(self.class_log_prior_)}."
            )

    def _possible(self, joint: np.ndarray) -> np.ndarray:
        """Joint log-probabilities, the prior's where no class is possible."""
        lost = np.isneginf(joint.max(axis=1))
        return np.where(lost[:, None], self.class_log_prior_, joint) if lost.any() else joint

    def _encode(self, y: Any) -> np.ndarray:
        self.classes_, index = distinct(y)  # a single class may be all there is: then it is the answer
        return index


class Batches(BayesClassifier):
    """One that can go on learning: a subclass writes `_add(X, y, weight)`, and `_begin` if that is not `_fit`."""

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
                self._widen(X, sample_weight)
            X, y = self._check_batch(X, y, first=first)
            (self._begin if first else self._add)(X, y, check_weight(sample_weight, X))
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        return self

    def _begin(self, X: Any, y: np.ndarray, weight: np.ndarray | None) -> None:
        """Learn from the first batch, which need not have all classes."""
        self._fit(X, y, weight)

    def _widen(self, X: Any, sample_weight: Any) -> None:
        """Make room for what a later batch may have that is new."""

    def _add(self, X: Any, y: np.ndarray, weight: np.ndarray | None) -> None:
        raise NotImplementedError


class ChunkedBayes(BayesClassifier):
    """One whose rows are scored a chunk at a time, on several threads.

    A subclass writes `_tables(X)`, what scoring needs, made once, and `_score((X,), *tables)`, the joint
    log-probabilities of a chunk.
    """

    n_jobs: Any

    def _tables(self, X: Any) -> tuple[Any, ...]:
        raise NotImplementedError

    def _score(self, chunk: tuple[Any], *tables: Any) -> np.ndarray:
        raise NotImplementedError

    def _joint_log_likelihood(self, X: Any) -> np.ndarray:
        return np.concatenate(each(self._score, Chunks(X), *self._tables(X), n_jobs=self.n_jobs))

    def predict(self, X: Any) -> np.ndarray:
        """The class of the greatest posterior probability; of equals, the first."""
        check_is_fitted(self)
        X = self._check(X, reset=False)
        self._check_prior()
        # the table of all rows and classes is never there: it may be larger than X
        best = each(self._best, Chunks(X), *self._tables(X), n_jobs=self.n_jobs)
        return self.classes_[np.concatenate(best)]

    def _best(self, chunk: tuple[Any], *tables: Any) -> np.ndarray:
        joint = self._score(chunk, *tables)
        best = joint.argmax(axis=1)
        lost = np.isneginf(joint[np.arange(best.size), best])
        return np.where(lost, self.class_log_prior_.argmax(), best)


def broad_chunks(n_classes: int, *arrays: Any) -> Chunks:
    """Chunks of enough rows that a table of all classes costs little beside them."""
    chunks = Chunks(*arrays)
    rows = 8 * n_classes
    return chunks if chunks.borders[1] >= min(rows, arrays[0].shape[0]) else Chunks(*arrays, rows=rows)


def log(p: np.ndarray) -> np.ndarray:
    """The logarithm, -inf without a warning where p is 0."""
    with np.errstate(divide="ignore"):
        return np.log(p)


def numbers(value: Any, what: str) -> np.ndarray:
    """An array of numbers, or an error that begins with what they are."""
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{what} must be numbers; got {value!r}.") from None
