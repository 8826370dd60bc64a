"""Division of classes into subclasses (子类划分), and the base class of the discriminants that are built on it."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from tercet.cluster import KMeans
from tercet.core.catalog import method
from tercet.core.estimator import Classifier, check_is_fitted, check_weight, generator
from tercet.core.fitted_checks import Indices, Labels
from tercet.core.folds import checked_folds, take_rows
from tercet.core.parallel import each
from tercet.core.parameters import Count
from tercet.core.scaling import LARGE
from tercet.core.validation import check_X_y

SubclassCounts = Count | dict | list | tuple | range


@method(
    zh="子类划分",
    task="classification",
    model="ω_i = {ω_i¹, ω_i², ..., ω_i^{l_i}}",
    strategy="each subclass has one mode: k-means within each class",
    algorithms="k-means with l_i clusters for the rows of class i",
    texts=["Pattern Recognition ch. 5, sec. 5.2.2, eq. 5-2"],
)
def divide_into_subclasses(
    X: Any,
    y: Any,
    n_subclasses: int | dict = 2,
    sample_weight: Any = None,
    *,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Divide each class into subclasses by k-means.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        The data.
    y : array of shape (n_samples,)
        The classes.
    n_subclasses : int or dict, default=2
        Subclasses of each class: one number, or a dict from classes to numbers. A class has at most as many
        subclasses as distinct rows.
    sample_weight : array of shape (n_samples,), optional
        Weight of each row.
    random_state : int, optional
        Seed of the random number generator.
    n_jobs : int, optional
        Threads to use; the result does not depend on it.

    Returns
    -------
    subclasses : array of shape (n_samples,)
        For each row the number of its subclass, from 0 in each class.

    Examples
    --------
    >>> X, y = [[0.0], [1.0], [10.0], [5.0], [6.0]], ["a", "a", "a", "b", "b"]
    >>> divide_into_subclasses(X, y, {"a": 2, "b": 1}, random_state=0)
    array([0, 0, 1, 0, 0])
    """
    X, y = check_X_y(X, y, accept_sparse="csr", dtype=(np.float64, np.float32))
    weight = check_weight(sample_weight, X)
    classes, index = np.unique(y, return_inverse=True)
    counts = subclass_counts("divide_into_subclasses", n_subclasses, classes)
    return divided_classes(X, index, weight, counts, generator(random_state), n_jobs)


def subclass_counts(owner: str, n_subclasses: Any, classes: np.ndarray) -> np.ndarray:
    """The number of subclasses of each class, from one number or a dict."""
    labels = classes.tolist()
    given = (
        [n_subclasses.get(c) for c in labels]
        if isinstance(n_subclasses, dict)
        else [n_subclasses] * len(labels)
    )
    for label, count in zip(labels, given):
        if not isinstance(count, int | np.integer) or isinstance(count, bool) or count < 1:
            raise ValueError(
                f"{owner}: n_subclasses must give each class a whole number of at least 1; class {label!r} has "
                f"{count!r}."
            )
    return np.array(given, dtype=np.int64)


def divided_classes(
    X: Any,
    y: np.ndarray,
    weight: np.ndarray | None,
    counts: np.ndarray,
    rng: np.random.Generator,
    n_jobs: Any,
) -> np.ndarray:
    """The subclass of each row within its class, numbered in the order in which they first appear."""
    subclass = np.zeros(y.size, dtype=np.int64)
    seeds = rng.integers(2**31 - 1, size=counts.size)
    for k, count in enumerate(counts):
        mine = np.flatnonzero(y == k)
        count = min(int(count), mine.size)
        if count < 2 or (weight is not None and not weight[mine].any()):
            continue
        model = KMeans(count, n_init=4, random_state=int(seeds[k]), n_jobs=n_jobs)
        with warnings.catch_warnings():  # a class may have fewer distinct rows than clusters
            warnings.simplefilter("ignore", ConvergenceWarning)
            labels = model.fit(X[mine], sample_weight=None if weight is None else weight[mine]).labels_
        subclass[mine] = in_order_of_appearance(labels)
    return subclass


def in_order_of_appearance(labels: np.ndarray) -> np.ndarray:
    """Numbers from 0 for labels, in the order in which they first appear.

    Examples
    --------
    >>> in_order_of_appearance(np.array([2, 0, 2, 1]))
    array([0, 1, 0, 2])
    """
    _, first, index = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first, kind="stable"), kind="stable")[index.reshape(-1)]


class Subclasses:
    """Subclasses of all classes under one numbering: those of the first class come first."""

    def __init__(self, counts: np.ndarray) -> None:
        self.counts = counts
        self.owner = np.repeat(np.arange(counts.size), counts)  # the class of each subclass
        self.starts = np.cumsum(counts) - counts

    @classmethod
    def of_rows(cls, y: np.ndarray, subclass: np.ndarray, n_classes: int) -> tuple[Self, np.ndarray]:
        """The subclasses that rows belong to, and the number of each row's."""
        counts = np.zeros(n_classes, dtype=np.int64)
        np.maximum.at(counts, y, subclass + 1)
        found = cls(counts)
        return found, found.starts[y] + subclass

    def means(self, X: Any, number: np.ndarray, weight: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """The weight of each subclass, and the weighted mean of its rows."""
        m, n = self.owner.size, number.size
        weight = np.ones(n) if weight is None else weight.astype(np.float64)
        mass = np.bincount(number, weight, m)
        table = sparse.csr_array((weight, (number, np.arange(n))), shape=(m, n))
        sums = table @ X
        sums = sums.toarray() if sparse.issparse(sums) else sums
        with np.errstate(invalid="ignore", divide="ignore"):
            return mass, np.asarray(sums, dtype=np.float64) / mass[:, None]


class SubclassClassifier(Classifier):
    """A classifier with several subclasses per class: a class scores as its best subclass."""

    largest_value = LARGE
    n_subclasses: Any
    subclass_labels_: np.ndarray
    n_subclasses_: np.ndarray
    fitted_shapes = {
        "subclass_labels_": Labels("subclasses"),
        "n_subclasses_": Indices("classes", below="subclasses+1", low=1),
    }

    def fit(self, X: Any, y: Any, sample_weight: Any = None, subclasses: Any = None) -> Self:
        """Learn from rows X with labels y.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The training data.
        y : array of shape (n_samples,)
            The labels: any numbers or strings.
        sample_weight : array of shape (n_samples,), optional
            Weight of each row.
        subclasses : array of shape (n_samples,), optional
            The subclass of each row within its class: any numbers or strings. Takes the place of `n_subclasses`.

        Returns
        -------
        self
        """
        return self._learn(X, y, sample_weight, subclasses=subclasses)

    def _given_subclasses(self, subclasses: Any, y: np.ndarray) -> np.ndarray | None:
        """The subclasses of the rows as numbers from 0 in each class; None where they are not given."""
        if subclasses is None:
            return None
        name, given = type(self).__name__, np.asarray(subclasses)
        if given.shape != y.shape:
            raise ValueError(
                f"{name}: subclasses must be given for each of the {y.size} rows to learn from; got the shape "
                f"{given.shape}. (A callback that holds out rows needs validation_data=(X, y) here.)"
            )
        number = np.zeros(y.size, dtype=np.int64)
        for k in range(self.classes_.size):
            number[y == k] = np.unique(given[y == k], return_inverse=True)[1].reshape(-1)
        return number

    def _chosen_counts(self, X: Any, y: np.ndarray, weight: np.ndarray | None, n_jobs: Any) -> np.ndarray:
        """The number of subclasses of each class; of several candidates the best in cross-validation."""
        if isinstance(self.n_subclasses, int | np.integer | dict):
            return subclass_counts(type(self).__name__, self.n_subclasses, self.classes_)
        candidates = list(self.n_subclasses)
        if not candidates:
            raise ValueError(f"{type(self).__name__}: n_subclasses must not be empty.")
        for candidate in candidates:
            subclass_counts(type(self).__name__, candidate, self.classes_)
        labels = self.classes_[y]
        folds = checked_folds(self, X, labels, classifier=True, weight=weight)
        seed = int(generator(self.random_state).integers(2**31 - 1))
        options = {**self.get_params(deep=False), "random_state": seed, "n_jobs": None}

        def score(pair: tuple[int, int]) -> float:
            model = type(self)(**{**options, "n_subclasses": candidates[pair[0]]})
            train, test = folds[pair[1]]
            some = (None, None) if weight is None else (weight[train], weight[test])
            model.fit(take_rows(X, train), labels[train], some[0])
            return model.score(take_rows(X, test), labels[test], some[1])

        pairs = [(c, f) for c in range(len(candidates)) for f in range(len(folds))]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            found = each(score, pairs, n_jobs=n_jobs)
        self.cv_scores_ = np.reshape(found, (len(candidates), len(folds)))
        self.best_n_subclasses_ = candidates[int(self.cv_scores_.mean(axis=1).argmax())]
        return subclass_counts(type(self).__name__, self.best_n_subclasses_, self.classes_)

    def _check_fitted(self, sizes: Any) -> None:
        if hasattr(self, "subclass_labels_") and self.n_subclasses_.sum() != len(self.subclass_labels_):
            raise ValueError(
                f"{type(self).__name__}: n_subclasses_ must add up to the number of subclass_labels_."
            )

    def _subclass_scores(self, X: Any) -> np.ndarray:
        """The score of each subclass, the larger the better."""
        raise NotImplementedError

    def _class_scores(self, X: Any) -> np.ndarray:
        """The score of each class: that of its best subclass."""
        check_is_fitted(self, "subclass_labels_")
        starts = Subclasses(self.n_subclasses_).starts
        return np.maximum.reduceat(self._subclass_scores(X), starts, axis=1)

    def predict_subclass(self, X: Any) -> np.ndarray:
        """The best subclass of each row, as an index into `subclass_labels_`.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The data.

        Returns
        -------
        subclass : array of shape (n_samples,)
        """
        check_is_fitted(self, "subclass_labels_")
        return self._subclass_scores(X).argmax(axis=1)

    def decision_function(self, X: Any) -> np.ndarray:
        """The scores of the classes; of two classes, the second's less the first's.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The data.

        Returns
        -------
        scores : array of shape (n_samples,) or (n_samples, n_classes)
        """
        scores = self._class_scores(X)
        return scores[:, 1] - scores[:, 0] if self.classes_.size == 2 else scores

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row; of equal scores the first.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The data.

        Returns
        -------
        labels : array of shape (n_samples,)
        """
        return self.classes_[self._class_scores(X).argmax(axis=1)]
