"""Naive Bayes for categories (朴素贝叶斯法): the tables of Li ch. 4."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.column_parsing import label_text
from tercet.core.columns import Columns, MixedColumns
from tercet.core.estimator import NO_TARGET, Estimator
from tercet.core.fitted_checks import Each, OneOf
from tercet.core.kernel import kernel
from tercet.core.parallel import Chunks, total
from tercet.core.parameters import ArrayLike, CountOrZero, Jobs, NonNegative
from tercet.core.row_sums import class_masses
from tercet.core.rows import kernel_form
from tercet.core.streams import is_streamed
from tercet.naive_bayes.base import BayesClassifier, PartialFitMixin, check_class_prior, log
from tercet.naive_bayes.discrete_nb import raised_alpha

MAX_INTEGER = 1000  # a column of integers up to this has all values in between, however few rows there are


@method(
    zh="朴素贝叶斯法",
    task="classification",
    approach="generative",
    model="P(c | x) ∝ P(c) Π_j P(x_j | c), a table of probabilities for each column and class",
    strategy="maximum posterior probability; the tables by maximum likelihood (alpha = 0) or Bayesian estimates",
    loss="log",
    convex=False,
    algorithms="count the values of each column in each class",
    texts=[
        "Li ch. 4, Alg 4.1, eq. 4.1-4.11",
        "Li ch. 12, Table 12.1",
        "Machine Learning in Depth ch. 1, 1.4",
        "watermelon notes ch. 5, eq. 5.6-5.7",
    ],
    peers=["sklearn.naive_bayes.CategoricalNB"],
)
class CategoricalNB(MixedColumns, PartialFitMixin, BayesClassifier):
    """Naive Bayes for categories: numbers from 0 on, strings, or any values.

    P(x_j = a | c) = (N_cja + α) / (N_cj + α S_j), with N_cj the rows of class c in which column j is known, N_cja
    those with the value a, and S_j the number of values the column can have: α = 0 is maximum likelihood, α = 1
    Laplace's smoothing. A column of whole numbers can have all from 0 to the largest; any other, those
    that are there, unless `categories` says otherwise. What is missing is left out. Where no class is possible
    (α = 0) the posterior is the prior. In `partial_fit` values that no batch before had get tables of their own.

    Parameters
    ----------
    alpha : float, default=1.0
        What is added to every count: λ in the texts.
    force_alpha : bool, default=True
        If False, an alpha below 1e-10 is raised to that.
    fit_prior : bool, default=True
        Whether the prior probabilities are the shares of the classes, or all the same.
    class_prior : array of shape (n_classes,), optional
        Prior probabilities to use in place of those.
    min_categories : int or array of shape (n_features,), optional
        A column of whole numbers has at least so many values.
    smooth_prior : bool, default=False
        Whether alpha is added to the counts of the classes too, P(c) = (N_c + α) / (N + α K), as the texts'
        Bayesian estimate does.
    categories : {"auto", "seen"} or list of lists, default="auto"
        For each column the values that it can have, or None to learn them. "seen" counts only values that occur, so
        that whole numbers from 1 on, as the texts number them, have no value 0.
    unknown : {"ignore", "error"}, default="ignore"
        What to do with a value at prediction that the column cannot have: leave it out, or refuse it.
    n_jobs : int, optional
        Threads to use; the result does not depend on it.

    Attributes
    ----------
    category_count_ : list of arrays of shape (n_classes, n_categories)
        For each column how much weight each value has in each class.
    feature_log_prob_ : list of arrays of shape (n_classes, n_categories)
        For each column the logarithms of P(x_j | c).
    n_categories_ : array of shape (n_features,)
        How many values each column can have.
    categories_ : list of arrays
        The values of each column, in the order of its tables.
    class_count_ : array of shape (n_classes,)
        Weight of the rows of each class.
    class_log_prior_ : array of shape (n_classes,)
        Logarithms of the prior probabilities.

    Examples
    --------
    >>> X = [[1, "S"], [1, "M"], [1, "M"], [1, "S"], [1, "S"], [2, "S"], [2, "M"], [2, "M"]]
    >>> X += [[2, "L"], [2, "L"], [3, "L"], [3, "M"], [3, "M"], [3, "L"], [3, "L"]]
    >>> y = [-1, -1, 1, 1, -1, -1, -1, 1, 1, 1, 1, 1, 1, 1, -1]
    >>> model = CategoricalNB(alpha=0).fit(X, y)
    >>> model.predict_proba([[2, "S"]])
    array([[0.75, 0.25]])
    """

    def __init__(
        self,
        *,
        alpha: NonNegative = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: ArrayLike | None = None,
        min_categories: CountOrZero | list | tuple | np.ndarray | None = None,
        smooth_prior: bool = False,
        categories: Literal["auto", "seen"] | list | tuple = "auto",
        unknown: Literal["ignore", "error"] = "ignore",
        n_jobs: Jobs = None,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.min_categories = min_categories
        self.smooth_prior = smooth_prior
        self.categories = categories
        self.unknown = unknown
        self.n_jobs = n_jobs

    streaming = True
    category_count_: list[np.ndarray]
    feature_log_prob_: list[np.ndarray]
    fitted_shapes = {
        "category_count_": Each("classes values*@", "features"),
        "feature_log_prob_": Each("classes values*@", "features"),
        "_own_codes": OneOf((False, True)),
    }

    def _fit(self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        X = self._fill_integers(self._forget_weightless(X, sample_weight))
        K = self.classes_.size
        self.class_count_ = np.zeros(K)
        self.category_count_ = [np.zeros((K, len(values))) for values in self._category_values()]
        self._partial_fit(X, y, sample_weight)

    def _partial_fit(self, X: np.ndarray, y: np.ndarray, weight: np.ndarray | None) -> None:
        """Alg 4.1 (1): count, then estimate. α = 0 is maximum likelihood, (4.8) and (4.9)."""
        prior, K = check_class_prior(self), self.classes_.size
        self.class_count_ = self.class_count_ + class_masses(y, weight, K)
        sizes = [counts.shape[1] for counts in self.category_count_]
        # a chunk has enough rows that adding up its tables costs little beside counting
        rows = max(1 << 14, K * sum(sizes) // (4 * max(len(sizes), 1)))
        if X.shape[0] <= rows and not is_streamed(X):  # nothing to add up
            more = _counts((X, y, weight), K, sizes)
        else:
            more = total(_counts, Chunks(X, y, weight, rows=rows), K, sizes, n_jobs=self.n_jobs)
        self.category_count_ = [counts + new for counts, new in zip(self.category_count_, more)]
        alpha = raised_alpha(self, self.alpha)
        self.feature_log_prob_ = [log_table(counts, alpha) for counts in self.category_count_]  # (4.10)
        self.n_categories_ = np.array([counts.shape[1] for counts in self.category_count_])
        # numbers from 0 on are their own codes: prediction need not look them up
        self._own_codes = all(
            values.dtype.kind == "f" and np.array_equal(values, np.arange(values.size))
            for values in self._category_values()
        )
        if prior is None:
            prior = np.ones(K) if not self.fit_prior else self.class_count_ + alpha * self.smooth_prior
            prior = prior / prior.sum()  # (4.11)
        self.class_log_prior_ = log(prior)

    def _tables(self, X: np.ndarray) -> tuple[Any, ...]:
        K = self.classes_.size
        for values, table in zip(self._category_values(), self.feature_log_prob_, strict=True):
            if table.shape != (K, len(values)):  # a forged file, say
                raise ValueError(
                    f"CategoricalNB: a table has the shape {table.shape}, not {(K, len(values))}."
                )
        if self.unknown == "error":
            self._refuse_unknown(X)
        sizes = np.array([len(values) for values in self._category_values()])
        stacked = np.concatenate([table.T for table in self.feature_log_prob_], dtype=np.float64)
        return np.ascontiguousarray(stacked), sizes

    def _score(self, X: Any, table: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Alg 4.1 (2): log P(c) + Σ_j log P(x_j | c)."""
        out = np.tile(np.asarray(self.class_log_prior_, dtype=np.float64), (len(X), 1))
        add_entries(kernel_form(X), table, sizes, out)
        return out

    def _refuse_unknown(self, X: np.ndarray) -> None:
        for j, values in enumerate(self._category_values()):
            if (X[:, j] >= len(values)).any():
                name = getattr(self, "feature_names_in_", range(self.n_features_in_))[j]
                raise ValueError(
                    f"CategoricalNB: column {name!r} holds a value that is not one of its "
                    f"{len(values)} categories, {values.tolist()[:12]}; unknown='ignore' would leave it out."
                )

    # the categories of each column

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        codes = isinstance(X, np.ndarray) and X.dtype.kind in "biuf" and self.unknown == "ignore"
        if codes and not reset and y is NO_TARGET and getattr(self, "_own_codes", False):
            return Estimator._check(self, X, reset=False)  # no column has to be encoded
        return super()._check(X, y, reset=reset)

    def _categorical(self, columns: Columns) -> list[bool]:
        return [True] * len(columns.values)

    def _learn_categories(self, columns: Columns) -> list[np.ndarray | None]:
        found = super()._learn_categories(columns)
        self._check_min_categories(len(found))
        return found

    @property
    def _only_seen(self) -> bool:
        return isinstance(self.categories, str) and self.categories == "seen"

    def _category_values(self) -> list[np.ndarray]:
        return [np.empty(0) if values is None else values for values in self.categories_]

    def _check_min_categories(self, d: int) -> np.ndarray:
        if self._only_seen and self.min_categories is not None:
            raise ValueError(
                "CategoricalNB: categories='seen' counts only values that occur, and does not go with "
                f"min_categories={self.min_categories!r}."
            )
        given = 0 if self.min_categories is None else self.min_categories
        least = np.asarray(given)
        allowed = f"a whole number of at least 0, or one for each of {d} columns; got {self.min_categories!r}"
        if least.dtype.kind not in "iu":
            raise ValueError(f"CategoricalNB: 'min_categories' should have integral type: {allowed}.")
        if least.shape not in ((), (d,)):
            raise ValueError(f"CategoricalNB: 'min_categories' should have shape ({d},): {allowed}.")
        if (least < 0).any():
            raise ValueError(f"CategoricalNB: min_categories must be {allowed}.")
        return np.broadcast_to(least, d)

    def _fill_integers(self, X: Any) -> Any:
        """Integers from 0 on are their own codes: those in between are categories too, unless they are too many."""
        least = self._check_min_categories(X.shape[1])
        if self._only_seen:
            return X
        if is_streamed(X):
            sizes = self._integer_sizes(X.shape[0], least)
            before = [None if size is None else self.categories_[j] for j, size in enumerate(sizes)]
            for j, size in enumerate(sizes):
                if size is not None:
                    self.categories_[j] = np.arange(float(size))
            return X.map(functools.partial(_filled, sizes, before), width=X.shape[1])
        X = X.copy()
        for j, size in enumerate(self._integer_sizes(len(X), least)):
            if size is not None:
                fill_column(X[:, j], self._category_values()[j], size)
                self.categories_[j] = np.arange(float(size))
        return X

    def _integer_sizes(self, n_rows: int, least: np.ndarray) -> list[int | None]:
        """How many categories the columns of integers from 0 on get; None for those that stay as they are."""
        found: list[int | None] = []
        for j, values in enumerate(self._category_values()):
            if self._declared[j] or not values.size or not natural_numbers(values):
                found.append(None)
                continue
            size = max(int(values[-1]) + 1, int(least[j]))
            filled = values.size < size <= max(MAX_INTEGER, 10 * n_rows, least[j])
            found.append(size if filled else None)
        return found

    def _extend_categories(self, X: Any, sample_weight: Any) -> None:
        """Extend the tables by categories that are new; the arrays of before are left as they are."""
        columns, declared = self._columns(X, reset=False), self._declared
        if sample_weight is not None:  # rows of weight 0 bring no categories
            weighted = np.broadcast_to(np.asarray(sample_weight) > 0, columns.height)
            columns = replace(
                columns, values=[np.where(weighted, values, np.nan) for values in columns.values]
            )
        found = self._learn_categories(columns)
        self._declared, values, tables = declared, list(self._category_values()), list(self.category_count_)
        for j, new in enumerate(found):
            old = values[j]
            if declared[j] or new is None or not new.size:
                continue
            if "U" in (old.dtype.kind, new.dtype.kind):
                old, new = as_strings(old), as_strings(new)
            if np.isin(new, old).all():
                continue
            both = np.union1d(old, new)
            whole = natural_numbers(both) and natural_numbers(old) and not self._only_seen
            if whole and old.size and old.size == old[-1] + 1:
                size = int(both[-1]) + 1
                both = np.arange(float(size)) if size <= max(MAX_INTEGER, 10 * columns.height) else both
            counts = np.zeros((self.classes_.size, both.size))
            counts[:, np.searchsorted(both, old)] = tables[j]
            values[j], tables[j] = both, counts
        self.categories_, self.category_count_ = [*values], tables

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        return tags


def natural_numbers(values: np.ndarray) -> bool:
    """Whether these are integers from 0 on."""
    return bool(values.dtype.kind == "f" and (values >= 0).all() and (values == np.floor(values)).all())


def as_strings(values: np.ndarray) -> np.ndarray:
    """Values as strings, in the order that they have."""
    return np.array([label_text(value) for value in values.tolist()], dtype=str)


def log_table(counts: np.ndarray, alpha: float) -> np.ndarray:
    """(4.10): log (N_cja + α) / (N_cj + α S_j); equal for all values where nothing was counted."""
    smooth = counts + alpha
    total = smooth.sum(axis=1, keepdims=True)
    size = max(counts.shape[1], 1)
    return log(np.divide(smooth, total, out=np.full_like(smooth, 1 / size), where=total > 0))


def fill_column(codes: np.ndarray, values: np.ndarray, size: int) -> None:
    """Turn codes of integers into these integers, in place; codes of unknown values into `size`."""
    known = codes < values.size
    unknown = ~known & ~np.isnan(codes)
    codes[known] = values[codes[known].astype(np.intp)]
    codes[unknown] = size


def _filled(sizes: list[int | None], values: list[Any], X: np.ndarray) -> np.ndarray:
    X = X.copy()
    for j, size in enumerate(sizes):
        if size is not None:
            fill_column(X[:, j], values[j], size)
    return X


def _counts(chunk: tuple[Any, ...], n_classes: int, sizes: list[int]) -> tuple[np.ndarray, ...]:
    """The counts N_cja of each column."""
    X, y, weight = chunk
    mass = np.ones(len(X)) if weight is None else weight.astype(np.float64)
    tables = tuple(np.zeros((n_classes, size)) for size in sizes)
    for j, counts in enumerate(tables):
        add_counts(X[:, j], y, mass, counts)
    return tables


@kernel
def add_counts(x, y, mass, counts):
    """counts[c, a] += the weight of the rows of class c with the value a; NaN and unknown values are left out."""
    for i in range(x.size):
        if 0 <= x[i] < counts.shape[1]:
            counts[y[i], int(x[i])] += mass[i]


@kernel
def add_entries(X, table, sizes, out):
    """Add Σ_j log P(x_j | c) to the scores of rows, over the columns whose value their table has; the tables are
    stacked."""
    for i in range(X.shape[0]):
        x, score, start = X[i], out[i], 0
        for j in range(x.size):
            if 0 <= x[j] < sizes[j] and int(x[j]) == x[j]:
                entry = table[start + int(x[j])]
                for c in range(score.size):
                    score[c] += entry[c]
            start += sizes[j]
