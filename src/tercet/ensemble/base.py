"""Base class of ensembles whose members are clones of one estimator."""

from __future__ import annotations

import inspect
import numbers
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.utils import get_tags

from tercet.core.column_parsing import from_lists, is_frame
from tercet.core.estimator import NO_TARGET, Estimator, check_is_fitted
from tercet.core.fitted_checks import Declarations, Each, Having
from tercet.core.input_errors import Explaining
from tercet.core.meta import MetaClassifier
from tercet.tree import BaseDecisionTree

# What predictions of members that come one after the other rely on in a loaded model.
BOOSTED_SHAPES: Declarations = {
    "estimators_": Each(Having({}, ("predict",)), "members"),
    "estimator_weights_": "members",
    "estimator_errors_": "members",
}


MOST_DRAWN = 10_000_000  # rows for one member, where the data has few


class BaseEnsemble(MetaEstimatorMixin, Estimator):
    """Ensemble whose members are clones of `estimator`, each with seeds of its own.

    The rows go to the members as they came: whatever the members take (frames, missing values, sparse matrices)
    the ensemble takes. Members are there by index: `ensemble[0]`, `len(ensemble)`, `for member in ensemble`.

    Examples
    --------
    >>> from tercet.ensemble import BaggingClassifier
    >>> model = BaggingClassifier(n_estimators=3, random_state=0).fit([[0], [1], [2], [3]], [0, 0, 1, 1])
    >>> isinstance(model, BaseEnsemble), len(model), model[0] is model.estimators_[0]
    (True, 3, True)
    """

    estimator: Any
    estimators_: list[Any]

    def _default_estimator(self) -> Any:
        """What `estimator=None` stands for."""
        raise NotImplementedError

    def _base(self) -> Any:
        """The estimator that members are clones of."""
        if self.estimator is None:
            return self._default_estimator()
        if not hasattr(self.estimator, "fit"):
            raise ValueError(
                f"{type(self).__name__}: parameter 'estimator' must be an estimator with fit, or None; "
                f"got {self.estimator!r}."
            )
        return self.estimator

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        if isinstance(X, list | tuple):
            with Explaining(X=X):
                X = from_lists(X)
        checked = MetaClassifier._check(self, X, y, reset=reset)
        if sparse.issparse(X) and X.format == "csc":  # members get what was given
            return X if y is NO_TARGET else (X, checked[1])
        return checked

    def _member(self, random: np.random.Generator) -> Any:
        """A clone with every `random_state` in it drawn from `random`."""
        member = clone(self.estimator_)
        seeds = {
            name: int(random.integers(2**31 - 1))
            for name in sorted(member.get_params(deep=True))
            if name == "random_state" or name.endswith("__random_state")
        }
        return member.set_params(**seeds) if seeds else member

    def _mean_importances(self, weights: np.ndarray) -> np.ndarray:
        """The importances of the members, averaged with these weights."""
        check_is_fitted(self)
        first = self.estimators_[0]
        if not hasattr(first, "feature_importances_"):
            raise AttributeError(
                f"{type(self).__name__}: the members ({type(first).__name__}) have no feature_importances_."
            )
        total = sum(weight * member.feature_importances_ for weight, member in zip(weights, self.estimators_))
        return np.asarray(total / weights.sum())

    def __len__(self) -> int:
        return len(self.estimators_)

    def __getitem__(self, index: Any) -> Any:
        return self.estimators_[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.estimators_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        base = get_tags(self._default_estimator() if self.estimator is None else self.estimator)
        tags.input_tags.sparse = base.input_tags.sparse
        tags.input_tags.allow_nan = base.input_tags.allow_nan
        tags.input_tags.string, tags.input_tags.categorical = (
            base.input_tags.string,
            base.input_tags.categorical,
        )
        tags.input_tags.positive_only = base.input_tags.positive_only
        return tags


def check_drawn(owner: Any, count: int, n: int) -> int:
    """The number of rows to draw for a member, unless no machine could draw them: a share of huge weights, say."""
    most = max(MOST_DRAWN, 100 * n)
    if count > most:
        raise ValueError(
            f"{type(owner).__name__}: max_samples={owner.max_samples!r} means {count:.3g} rows for each member; "
            f"allowed are at most {most}. (A share is one of the sum of sample_weight: divide it by its mean.)"
        )
    return count


def rows_of_sample(asked: Any, n: int, weight: np.ndarray | None) -> int:
    """How many rows `max_samples` means: a number, or a fraction of n or of the sum of the weights."""
    if asked is None:
        return n
    if isinstance(asked, numbers.Integral):
        return int(asked)
    total = n if weight is None else float(weight.sum())
    count = max(1, int(asked * total))
    if count < max(10, n ** (1 / 3)):
        whole = f"number of samples is {n}" if weight is None else f"total sum of sample weights is {total}"
        warnings.warn(
            f"Using the fractional value max_samples={asked} when the {whole} results in a low number ({count}) of "
            "bootstrap samples. We recommend passing `max_samples` as an integer.",
            stacklevel=2,
        )
    return count


def takes_weights(estimator: Any) -> bool:
    """Whether an estimator's `fit` takes `sample_weight`."""
    return "sample_weight" in inspect.signature(estimator.fit).parameters


def as_tree_input(member: Any, X: Any, *, reset: bool = True) -> Any:
    """Rows of numbers as trees read them, checked once for all members; other rows as they are.

    So are frames with categories, which each member learns for itself.
    """
    if not isinstance(member, BaseDecisionTree):
        return X
    if isinstance(X, np.ndarray) and X.dtype.kind in "biuf":
        return (clone(member) if reset else member)._check(X, reset=reset)
    if is_frame(X) and (reset or not hasattr(member, "feature_names_in_")):
        reader = clone(member)
        rows = reader._check(X)
        return rows if all(known is None for known in reader.categories_) else X
    return X
