"""Naive Bayes for tables of mixed columns: each has the distribution that suits it."""

from __future__ import annotations

import functools
from typing import Any, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.columns import Columns, MixedColumns
from tercet.core.fitted_checks import Each, OneOf, Sizes
from tercet.core.parameters import ArrayLike, CountOrZero, Jobs, NonNegative
from tercet.core.row_sums import class_masses
from tercet.core.spelling_suggestions import spelling_suggestions
from tercet.core.streams import is_streamed
from tercet.naive_bayes.base import BayesClassifier, PartialFitMixin, check_priors, log
from tercet.naive_bayes.bernoulli_nb import BernoulliNB
from tercet.naive_bayes.categorical_nb import CategoricalNB
from tercet.naive_bayes.gaussian_nb import GaussianNB
from tercet.naive_bayes.kernel_density_nb import KernelDensityNB
from tercet.naive_bayes.multinomial_nb import MultinomialNB

BY_KIND = {"number": "gaussian", "integer": "gaussian", "boolean": "bernoulli", "category": "categorical"}
NAMES = ("gaussian", "kde", "bernoulli", "categorical", "multinomial")


@method(
    zh="混合属性朴素贝叶斯",
    task="classification",
    approach="generative",
    model="P(c | x) ∝ P(c) Π_j P_j(x_j | c), each column with a distribution of its own",
    strategy="maximum posterior probability; maximum likelihood or Laplace's correction",
    algorithms="one pass over the columns of each distribution",
    texts=["watermelon notes ch. 5, sec. 5.3, eq. 5.7", "Li ch. 4, Alg 4.1"],
)
class MixedNB(MixedColumns, PartialFitMixin, BayesClassifier):
    """Naive Bayes for mixed columns: numbers, categories, yes or no, counts, side by side.

    By default a column of strings or of a frame's categorical dtype is categorical, one of booleans Bernoulli, one
    of numbers Gaussian. What is missing is left out, and so is a category that was not there to learn from.
    In `partial_fit` the first batch decides the categories and distributions of the columns.

    Parameters
    ----------
    distributions : "auto", list or dict, default="auto"
        For each column "gaussian", "kde" (a kernel density), "bernoulli", "categorical", "multinomial" (all such
        columns are the counts of one multinomial) or "auto"; in a dict, by name or place, for those that are not to
        be "auto".
    alpha : float, default=1.0
        What is added to every count: 0 is maximum likelihood, 1 Laplace's correction.
    smooth_prior : bool, default=False
        Whether alpha is added to the counts of the classes too, P(c) = (N_c + α) / (N + α K).
    priors : array of shape (n_classes,), optional
        Prior probabilities to use in place of those.
    var_smoothing : float, default=1e-9
        This share of the largest variance of a Gaussian column is added to all their variances.
    ddof : int, default=0
        Squares are divided by the number of values less ddof: 0 is maximum likelihood, 1 unbiased.
    bandwidth : {"silverman", "scott"} or float, default="silverman"
        The widths of the kernel densities.
    n_jobs : int, optional
        Threads to use; the result does not depend on it.

    Attributes
    ----------
    distributions_ : list of str
        The distribution of each column.
    parts_ : dict
        For each distribution the classifier of its columns.
    categories_ : list
        The categories of each column; None for one of numbers.
    class_count_ : array of shape (n_classes,)
        Weight of the rows of each class.
    class_log_prior_ : array of shape (n_classes,)
        Logarithms of the prior probabilities.

    Examples
    --------
    >>> X = [["red", 1.2], ["red", 0.8], ["blue", 3.1], ["blue", None], ["blue", 2.6]]
    >>> model = MixedNB().fit(X, ["cherry", "cherry", "plum", "plum", "plum"])
    >>> model.distributions_
    ['categorical', 'gaussian']
    >>> model.predict([["red", None], [None, 2.9]])
    array(['cherry', 'plum'], dtype='<U6')
    """

    streaming = True
    categorical_features = "from_dtype"

    def __init__(
        self,
        distributions: Literal["auto"] | list | tuple | dict = "auto",
        *,
        alpha: NonNegative = 1.0,
        smooth_prior: bool = False,
        priors: ArrayLike | None = None,
        var_smoothing: NonNegative = 1e-9,
        ddof: CountOrZero = 0,
        bandwidth: Literal["silverman", "scott"] | NonNegative = "silverman",
        n_jobs: Jobs = None,
    ) -> None:
        self.distributions = distributions
        self.alpha = alpha
        self.smooth_prior = smooth_prior
        self.priors = priors
        self.var_smoothing = var_smoothing
        self.ddof = ddof
        self.bandwidth = bandwidth
        self.n_jobs = n_jobs

    distributions_: list[str]
    parts_: dict[str, Any]
    fitted_shapes = {"distributions_": Each(OneOf(NAMES), "features")}

    def _fit(self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        X = self._start(X, sample_weight)
        self._add_to_prior(y, sample_weight)
        for name, part in self.parts_.items():
            columns = self._columns_of(name, X)
            if is_streamed(X):
                part.classes_, part.n_features_in_ = np.arange(self.classes_.size), columns.shape[1]
                part._fit(part._check_streamed(columns), y, sample_weight)
            else:
                part.fit(columns, y, sample_weight)

    def _fit_first_batch(self, X: np.ndarray, y: np.ndarray, weight: np.ndarray | None) -> None:
        self._partial_fit(self._start(X, weight), y, weight)

    def _partial_fit(self, X: np.ndarray, y: np.ndarray, weight: np.ndarray | None) -> None:
        if "kde" in self.parts_:
            raise ValueError(
                "MixedNB: kernel densities need all rows at once; fit takes them, not partial_fit."
            )
        self._add_to_prior(y, weight)
        for name, part in self.parts_.items():
            part.partial_fit(self._columns_of(name, X), y, np.arange(self.classes_.size), weight)

    def _streaming_refusal(self) -> str:
        asked = self.distributions.values() if isinstance(self.distributions, dict) else self.distributions
        if not isinstance(self.distributions, str) and "kde" in asked:
            return "kernel densities need all rows at once. Use 'gaussian' in distributions."
        return ""

    def _start(self, X: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
        """An unfitted classifier for the columns of each distribution; X without categories that have no weight."""
        X = self._forget_weightless(X, weight)
        self.class_count_ = np.zeros(self.classes_.size)
        self.parts_ = {name: self._part(name) for name in NAMES if name in self.distributions_}
        return X

    def _add_to_prior(self, y: np.ndarray, weight: np.ndarray | None) -> None:
        """P(c) = (N_c + α) / (N + α K) (4.11), or N_c / N (4.8) without `smooth_prior`."""
        priors = check_priors(self)
        self.class_count_ = self.class_count_ + class_masses(y, weight, self.classes_.size)
        counts = self.class_count_ + self.alpha * self.smooth_prior
        self.class_log_prior_ = log(counts / counts.sum() if priors is None else priors)

    def _joint_log_likelihood(self, X: np.ndarray) -> np.ndarray:
        """log P(c) + Σ log P(x | c) over the parts."""
        out = np.tile(self.class_log_prior_, (len(X), 1))
        for name, part in self.parts_.items():
            # A class without weight is impossible by the prior alone, whatever a part says.
            prior = np.where(np.isneginf(part.class_log_prior_), 0.0, part.class_log_prior_)
            joint = part.predict_joint_log_proba(self._columns_of(name, X))
            out = out + np.where(np.isneginf(self.class_log_prior_), 0.0, joint - prior)
        return out

    def _most_probable(self, X: np.ndarray) -> np.ndarray:
        return self._prior_where_impossible(self._joint_log_likelihood(X)).argmax(axis=1)

    def _part(self, name: str) -> Any:
        """The classifier of the columns of one distribution."""
        jobs = self.n_jobs
        if name == "gaussian":
            return GaussianNB(var_smoothing=self.var_smoothing, ddof=self.ddof, n_jobs=jobs)
        if name == "kde":
            return KernelDensityNB(bandwidth=self.bandwidth, n_jobs=jobs)
        if name == "bernoulli":
            return BernoulliNB(alpha=self.alpha, n_jobs=jobs)
        if name == "multinomial":
            return MultinomialNB(alpha=self.alpha, n_jobs=jobs)
        sizes = [len(known) for known in self.categories_ if known is not None]
        return CategoricalNB(alpha=self.alpha, categories=[np.arange(float(k)) for k in sizes], n_jobs=jobs)

    def _check_fitted(self, sizes: Sizes) -> None:
        for name, part in vars(self).get("parts_", {}).items():
            places = [j for j, chosen in enumerate(self.distributions_) if chosen == name]
            if (part.n_features_in_, len(part.classes_)) != (len(places), sizes["classes"]):
                raise ValueError(f"MixedNB: parts_[{name!r}] does not fit the columns of that distribution.")
            if name == "categorical" and any(self.categories_[j] is None for j in places):
                raise ValueError("MixedNB: categories_ must have those of all categorical columns.")

    def _columns_of(self, name: str, X: Any) -> Any:
        """The columns of one distribution; an unknown category becomes NaN."""
        places = [j for j, chosen in enumerate(self.distributions_) if chosen == name]
        sizes = None
        if name == "categorical":
            sizes = np.array([len(self.categories_[j]) for j in places])  # type: ignore[arg-type]
        if is_streamed(X):
            return X.map(functools.partial(_chosen, places, sizes), width=len(places))
        return _chosen(places, sizes, X)

    def _categorical(self, columns: Columns) -> list[bool]:
        self.distributions_ = self._choose_distributions(columns)
        for name, kind, chosen in zip(columns.names, columns.kinds, self.distributions_):
            if kind == "category" and chosen != "categorical":
                raise ValueError(f"MixedNB: column {name!r} is not of numbers: it cannot be {chosen}.")
        return [chosen == "categorical" for chosen in self.distributions_]

    def _choose_distributions(self, columns: Columns) -> list[str]:
        """The distribution of each column, by what is asked or by its dtype."""
        d = len(columns.names)
        asked: list[Any] = ["auto"] * d
        if isinstance(self.distributions, dict):
            for column, wish in self.distributions.items():
                place = columns.names.index(column) if column in columns.names else column
                if not isinstance(place, int) or not -d <= place < d:
                    hint = spelling_suggestions(str(column), [str(name) for name in columns.names], 3)
                    raise ValueError(
                        f"MixedNB: distributions names {column!r}; there is no such column"
                        + (f"; near it: {', '.join(hint)}." if hint else ".")
                    )
                asked[place] = wish
        elif not isinstance(self.distributions, str):
            asked = list(self.distributions)
        if len(asked) != d or any(wish not in ("auto", *NAMES) for wish in asked):
            raise ValueError(
                f"MixedNB: distributions must say 'auto' or one of {', '.join(map(repr, NAMES))} for each of {d} "
                f"columns; got {self.distributions!r}."
            )
        return [BY_KIND[kind] if wish == "auto" else wish for wish, kind in zip(asked, columns.kinds)]


def _chosen(places: list[int], sizes: np.ndarray | None, X: np.ndarray) -> np.ndarray:
    """Columns of rows, in C order; codes from `sizes` on become NaN."""
    part = np.ascontiguousarray(X[:, places])
    if sizes is not None:
        part[part >= sizes] = np.nan
    return part
