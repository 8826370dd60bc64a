"""Classifiers in which all columns lean on one of them: SPODE and AODE (超父独依赖, 平均独依赖)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.model_selection import check_cv

from tercet.core.catalog import method
from tercet.core.columns import Features
from tercet.core.estimator import NO_TARGET
from tercet.core.kernel import kernel
from tercet.core.parallel import Chunks, total
from tercet.core.parameters import ArrayLike, Count, Jobs, NonNegative
from tercet.naive_bayes.base import Batches
from tercet.naive_bayes.tables import TableClassifier, column_place, over_rows

TINY = 1e-300  # for logarithms of what may be 0
TEXTS = ["002 ch. 5, eq. 5.8"]


class SuperParentClassifier(TableClassifier):
    """Sums over super-parents i of P(c, x_i) Π_{j≠i} P(x_j | c, x_i), from one table of pairs."""

    pair_count_: np.ndarray

    def _learn_tables(self, values: np.ndarray, y: np.ndarray, weight: np.ndarray) -> None:
        before = getattr(self, "pair_count_", None)
        pairs = self._pairs(values, y, weight)
        self.pair_count_ = pairs if before is None else before + pairs

    def _check_tables(self) -> None:
        super()._check_tables()
        V, k = int(self._starts[-1]), len(self.classes_)
        if np.shape(self.pair_count_) != (V, V, k):
            raise ValueError(f"{type(self).__name__}: pair_count_ must have the shape {(V, V, k)}.")

    def _joint_log_likelihood(self, X: np.ndarray) -> np.ndarray:
        values = self._values(X)
        table = self._logarithms(self.pair_count_)
        return over_rows(self._scores, values, *table, self._parents(), n_jobs=self.n_jobs)

    def _parents(self) -> np.ndarray:
        """Which columns may be super-parents."""
        raise NotImplementedError

    def _least(self) -> float:
        """How many rows must share a parent's value."""
        return 0.0

    def _scores(self, chunk: tuple, *tables: np.ndarray) -> np.ndarray:
        values, (conditional, joint, alone, prior, count, parents) = chunk[0], tables
        return super_parents(values, conditional, joint, alone, prior, count, parents, self._least())

    def _logarithms(self, pairs: np.ndarray) -> tuple[np.ndarray, ...]:
        """log P(x_j | c, x_i), log P(c, x_i), log P(x_j | c), log P(c), and how often each value came."""
        starts, sizes, alpha = self._starts, self.n_values_, self.alpha
        V, k = pairs.shape[0], pairs.shape[2]
        conditional = np.empty_like(pairs)
        single = pairs[np.arange(V), np.arange(V)]
        joint, alone = np.empty((V, k)), np.empty((V, k))
        with np.errstate(divide="ignore", invalid="ignore"):
            for j, size in enumerate(sizes):
                here = slice(starts[j], starts[j + 1])
                # Rows without a value of j are in neither count.
                known = pairs[:, here].sum(axis=1, keepdims=True)
                conditional[:, here] = np.log((pairs[:, here] + alpha) / (known + alpha * size))
                own = single[here]
                joint[here] = np.log((own + alpha) / (own.sum() + alpha * k * size))
                alone[here] = np.log((own + alpha) / (own.sum(axis=0) + alpha * size))
        for table in (conditional, joint, alone):
            table[np.isnan(table)] = -np.inf
        if self.class_prior is not None:  # P(c, x_i) = P(c) P(x_i | c)
            joint = self.class_log_prior_ + alone
        return conditional, joint, alone, self.class_log_prior_, single.sum(axis=1)


@method(
    zh="平均独依赖估计 AODE",
    task="classification",
    approach="generative",
    model="P(c | x) ∝ Σ_i P(c, x_i) Π_j P(x_j | c, x_i) over the columns i whose value came often enough",
    strategy="maximum posterior probability, with Laplace's correction",
    algorithms="count every two values in every class",
    texts=TEXTS,
    peers=["weka.classifiers.bayes.AODE"],
)
class AODE(SuperParentClassifier, Batches):
    """Averaged one-dependence estimator: every column in turn is the super-parent of all others.

    P(c, x_i) = (#(c, x_i) + α) / (#D + α K N_i) and P(x_j | c, x_i) = (#(c, x_i, x_j) + α) / (#(c, x_i) + α N_j). A
    column is a parent where its value came in at least `min_count` rows; where none did, the answer is that of
    naive Bayes. Columns of numbers are cut into intervals; missing and unseen values are left out. In
    `partial_fit` the first batch decides the values of each column.

    Parameters
    ----------
    min_count : float, default=30
        The rows (or their weight) that must share a value before it may be a parent: m' in the texts.
    alpha : float, default=1.0
        Laplace's correction, added to every count.
    n_bins : int, default=5
        Numbers with more distinct values than this are cut into so many intervals.
    class_prior : array of shape (n_classes,), optional
        Probabilities of the classes; by default they are learned.
    categorical_features : "from_dtype", list or mask, default="from_dtype"
        The columns whose numbers are categories, by place, name or mask; columns of strings always are.
    n_jobs : int, optional
        Threads to use; the result does not depend on it.

    Attributes
    ----------
    pair_count_ : array of shape (n_values, n_values, n_classes)
        How much weight every two values have together in each class; values are numbered from column to column.
    n_values_ : array of shape (n_features,)
        How many values each column has.
    categories_ : list
        The categories of each column; None for one of numbers.
    cuts_ : list
        Where each column of numbers is cut; None for one of categories.
    class_count_ : array of shape (n_classes,)
        The weight of each class.
    class_log_prior_ : array of shape (n_classes,)
        Logarithms of the classes' probabilities.

    Examples
    --------
    >>> X = [["sun", "hot"], ["sun", "mild"], ["rain", "mild"], ["rain", "hot"], ["sun", "hot"]]
    >>> AODE(min_count=1).fit(X, ["out", "out", "in", "in", "out"]).predict([["sun", "mild"]])
    array(['out'], dtype='<U3')
    """

    def __init__(
        self,
        *,
        min_count: NonNegative = 30,
        alpha: NonNegative = 1.0,
        n_bins: Count = 5,
        class_prior: ArrayLike | None = None,
        categorical_features: Features = "from_dtype",
        n_jobs: Jobs = None,
    ) -> None:
        self.min_count = min_count
        self.alpha = alpha
        self.n_bins = n_bins
        self.class_prior = class_prior
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs

    def _fit(self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        self.__dict__.pop("pair_count_", None)
        super()._fit(X, y, sample_weight)

    def _parents(self) -> np.ndarray:
        return np.ones(len(self.n_values_), dtype=bool)

    def _least(self) -> float:
        return float(self.min_count)


@method(
    zh="超父独依赖估计 SPODE",
    task="classification",
    approach="generative",
    model="P(c | x) ∝ P(c, x_p) Π_j P(x_j | c, x_p), p the super-parent",
    strategy="maximum posterior probability, with Laplace's correction",
    algorithms="count every two values in every class; the parent by cross-validation",
    texts=TEXTS,
)
class SPODE(SuperParentClassifier):
    """Super-parent one-dependence estimator: all columns depend on the class and on one of them.

    P(c, x_p) = (#(c, x_p) + α) / (#D + α K N_p) and P(x_j | c, x_p) = (#(c, x_p, x_j) + α) / (#(c, x_p) + α N_j).
    Where the parent's value is missing or new, the answer is that of naive Bayes.

    Parameters
    ----------
    parent : str or int, optional
        The super-parent: a column's name or place. By default the one that is right most often in cross-validation;
        of equals, the one with the greater likelihood.
    cv : int, splitter or iterable, default=5
        The folds of that cross-validation: so many, in which equal rows stay together; or what scikit-learn takes.
    alpha : float, default=1.0
        Laplace's correction, added to every count.
    n_bins : int, default=5
        Numbers with more distinct values than this are cut into so many intervals.
    class_prior : array of shape (n_classes,), optional
        Probabilities of the classes; by default they are learned.
    categorical_features : "from_dtype", list or mask, default="from_dtype"
        The columns whose numbers are categories, by place, name or mask; columns of strings always are.
    n_jobs : int, optional
        Threads to use; the result does not depend on it.

    Attributes
    ----------
    parent_ : int
        The place of the super-parent.
    parent_scores_ : array of shape (n_features,)
        How often each parent was right in cross-validation; NaN when the parent was given.
    pair_count_ : array of shape (n_values, n_values, n_classes)
        How much weight every two values have together in each class; values are numbered from column to column.
    n_values_ : array of shape (n_features,)
        How many values each column has.
    categories_ : list
        The categories of each column; None for one of numbers.
    cuts_ : list
        Where each column of numbers is cut; None for one of categories.
    class_count_ : array of shape (n_classes,)
        The weight of each class.
    class_log_prior_ : array of shape (n_classes,)
        Logarithms of the classes' probabilities.

    Examples
    --------
    >>> X = [["sun", "hot"], ["sun", "mild"], ["rain", "mild"], ["rain", "hot"], ["sun", "hot"]]
    >>> model = SPODE(parent=1).fit(X, ["out", "out", "in", "in", "out"])
    >>> model.predict_proba([["sun", "mild"]]).round(3)
    array([[0.333, 0.667]])
    """

    def __init__(
        self,
        *,
        parent: int | str | None = None,
        cv: Any = 5,
        alpha: NonNegative = 1.0,
        n_bins: Count = 5,
        class_prior: ArrayLike | None = None,
        categorical_features: Features = "from_dtype",
        n_jobs: Jobs = None,
    ) -> None:
        self.parent = parent
        self.cv = cv
        self.alpha = alpha
        self.n_bins = n_bins
        self.class_prior = class_prior
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs

    def _fit(self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        self.__dict__.pop("pair_count_", None)
        d = X.shape[1]
        self.parent_, self.parent_scores_ = 0, np.full(d, np.nan)
        if self.parent is not None:
            names = getattr(self, "feature_names_in_", None)
            self.parent_ = column_place(type(self).__name__, "parent", self.parent, names, d)
        super()._fit(X, y, sample_weight)

    def _learn_tables(self, values: np.ndarray, y: np.ndarray, weight: np.ndarray) -> None:
        super()._learn_tables(values, y, weight)
        if self.parent is None and values.shape[1] > 1:
            self._choose(values, y, weight)

    def _choose(self, values: np.ndarray, y: np.ndarray, weight: np.ndarray) -> None:
        """The best parent in cross-validation; the counts without a fold are the whole less the fold's own."""
        right, likely = np.zeros(values.shape[1]), np.zeros(values.shape[1])
        for out in self._folds(values, y, weight):
            held = values[out], y[out], weight[out]
            tables = self._logarithms(self.pair_count_ - self._pairs(*held))
            hits, logs = total(_tally, Chunks(*held, rows=4096), *tables, n_jobs=self.n_jobs)
            right, likely = right + hits, likely + logs
        self.parent_scores_ = right / weight.sum()
        near = np.flatnonzero(right >= right.max() - 1e-9 * weight.sum())
        self.parent_ = int(near[likely[near].argmax()])

    def _folds(self, values: np.ndarray, y: np.ndarray, weight: np.ndarray) -> Iterator[np.ndarray]:
        """The rows of each fold that is left out."""
        if not isinstance(self.cv, int | np.integer):
            yield from (test for _, test in check_cv(self.cv, y, classifier=True).split(values, y))
            return
        if self.cv < 2:
            raise ValueError(f"SPODE: parameter 'cv' must be at least 2 folds; got {self.cv}.")
        # Equal rows of a class stay together and are dealt out in order: a weight of 2 is then as good as two rows.
        here = np.flatnonzero(weight > 0)
        order = here[np.lexsort((*values[here].T, y[here]))]
        changed = np.ones(len(order), dtype=bool)
        changed[1:] = (np.diff(values[order], axis=0) != 0).any(axis=1) | (np.diff(y[order]) != 0)
        fold = (np.cumsum(changed) - 1) % min(int(self.cv), int(changed.sum()))
        yield from (order[fold == k] for k in np.unique(fold))

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        checked = super()._check(X, y, reset=reset)
        if not reset and not 0 <= self.parent_ < self.n_features_in_:
            raise ValueError(f"SPODE: parent_ must be the place of a column; got {self.parent_}.")
        return checked

    def _parents(self) -> np.ndarray:
        return np.arange(len(self.n_values_)) == self.parent_


def _tally(chunk: tuple, *tables: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of each super-parent in turn: the weight of the rows it is right about, and the classes' log-likelihood."""
    values, y, weight = chunk
    right, likely = np.zeros(values.shape[1]), np.zeros(values.shape[1])
    conditional, joint, alone, prior, count = tables
    for j in range(values.shape[1]):
        chosen = np.arange(values.shape[1]) == j
        score = super_parents(values, conditional, joint, alone, prior, count, chosen, 0.0)
        best = score.max(axis=1, keepdims=True)
        best[np.isneginf(best)] = 0.0
        proba = np.exp(score - best)
        own = proba[np.arange(len(y)), y] / np.maximum(proba.sum(axis=1), TINY)
        right[j] = weight @ (score.argmax(axis=1) == y)
        likely[j] = weight @ np.log(np.maximum(own, TINY))
    return right, likely


@kernel
def super_parents(values, conditional, joint, alone, prior, count, parents, least):
    """log Σ_i P(c, x_i) Π_j P(x_j | c, x_i) of each row and class; naive Bayes where no column may be a parent."""
    n, d = values.shape
    k = prior.size
    out = np.empty((n, k))
    terms = np.empty((d, k))
    for r in range(n):
        row = values[r]
        m = 0
        for i in range(d):
            a = row[i]
            if a >= 0 and parents[i] and count[a] > 0 and count[a] >= least:
                for c in range(k):
                    terms[m, c] = joint[a, c]
                for j in range(d):
                    if j != i and row[j] >= 0:
                        for c in range(k):
                            terms[m, c] += conditional[a, row[j], c]
                m += 1
        if m == 0:
            for c in range(k):
                out[r, c] = prior[c]
            for j in range(d):
                if row[j] >= 0:
                    for c in range(k):
                        out[r, c] += alone[row[j], c]
            continue
        for c in range(k):
            top = terms[0, c]
            for i in range(1, m):
                top = max(top, terms[i, c])
            out[r, c] = top
            if top > -np.inf:
                mass = 0.0
                for i in range(m):
                    mass += np.exp(terms[i, c] - top)
                out[r, c] = top + np.log(mass)
    return out
