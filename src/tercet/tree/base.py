"""What trees of classes and trees of numbers share: limits, growth, pruning, and walks to the answers."""

from __future__ import annotations

import functools
import math
import numbers
from collections.abc import Iterable
from typing import Annotated, Any, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.base import ClassifierMixin, clone
from sklearn.model_selection import check_cv
from sklearn.utils import Bunch
from sklearn.utils.validation import check_X_y, validate_data

from tercet.core.columns import MixedColumns
from tercet.core.estimator import NO_TARGET, check_is_fitted, generator
from tercet.core.memory import available
from tercet.core.parameters import INF, Count, OpenFraction, Range
from tercet.tree import engine
from tercet.tree.engine import Limits
from tercet.tree.held_out import Rows, Splitter, folds, hold_out
from tercet.tree.pruning import (
    choose_subtree,
    cost_complexity_path,
    cost_complexity_pruning,
    cost_pruning,
    pessimistic_pruning,
    pre_pruning,
    reduced_error_pruning,
)
from tercet.tree.structure import Tree

HELD_OUT = ("reduced_error", "pre", "validation")  # prunings that need rows which the tree was not grown from
Pruning = Literal["cost", "reduced_error", "pre", "validation", "cv"] | None
AtLeastTwo = Annotated[int, Range(2, INF, "[)")]
Folds = AtLeastTwo | list | tuple | Splitter
Few = Count | OpenFraction  # rows, or a part of them
FewToSplit = AtLeastTwo | Annotated[float, Range(0, 1, "(]")]
Columns = Count | Annotated[float, Range(0, 1, "(]")] | Literal["sqrt", "log2"] | None


class DecisionTree(MixedColumns):
    """A tree of tests of the features; a leaf answers for all rows that get there.

    A subclass has the parameters of `DecisionTreeRegressor` at least.
    """

    sparse_input = True
    criterion: Any
    splitter: Any
    max_depth: Any
    min_samples_split: Any
    min_samples_leaf: Any
    min_weight_fraction_leaf: Any
    max_features: Any
    random_state: Any
    max_leaf_nodes: Any
    min_impurity_decrease: Any
    min_impurity: Any = 0.0
    ccp_alpha: Any
    monotonic_cst: Any
    pruning: Any
    alpha: Any
    validation_fraction: Any
    pruning_ties: Any
    confidence: Any
    cv: Any
    max_bins: Any
    n_jobs: Any

    @property
    def multi_output(self) -> bool:  # type: ignore[override]
        """Whether y may have several columns."""
        return self.max_bins is None

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        check_input: bool = True,
        *,
        X_val: Any = None,
        y_val: Any = None,
    ) -> Self:
        """Grow a tree from rows X with targets y, and prune it as asked.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            The training data; NaN and None are missing values.
        y : array of shape (n_samples,) or (n_samples, n_outputs)
            The targets.
        sample_weight : array of shape (n_samples,), optional
            How much each row counts; 2 is as good as having the row twice.
        check_input : bool, default=True
            There for scikit-learn's sake; the data are always checked.
        X_val, y_val : arrays, optional
            Rows for the prunings that need some held out, in place of a `validation_fraction` of X.

        Returns
        -------
        self
        """
        return self._learn(X, y, sample_weight, held_out=(X_val, y_val))

    def _fit(
        self, X: Any, y: Any, sample_weight: np.ndarray | None, held_out: tuple[Any, Any] = (None, None)
    ) -> None:
        rows = Rows(self._dense(X), y, sample_weight)
        given = self.pruning == "cv" and not isinstance(self.cv, numbers.Integral)
        if sample_weight is not None and not given:  # folds that are given count all rows
            rows = rows.part(sample_weight > 0)
        self.n_outputs_ = 1 if y.ndim == 1 else y.shape[1]
        self.max_features_ = self._n_columns(rows.X.shape[1])
        self._check_options(rows.X.shape[1])
        seed = int(generator(self.random_state).integers(2**31 - 1))
        held = None
        if self.pruning in HELD_OUT:
            rows, held = self._hold_out(rows, *held_out, seed)
        tree = self._pruned(self._grown(*rows, seed), rows, held, seed)
        self.tree_ = tree if self.ccp_alpha == 0 else cost_complexity_pruning(tree, self.ccp_alpha)

    def _grown(self, X: np.ndarray, y: np.ndarray, weight: np.ndarray | None, seed: int) -> Tree:
        """The tree before it is pruned. No test above depends on it, so nodes that are pure enough end it now."""
        tree = self._grow(X, y, weight, seed)
        return tree.collapsed(tree.impurity < self.min_impurity) if self.min_impurity > 0 else tree

    def _grow(self, X: np.ndarray, y: np.ndarray, weight: np.ndarray | None, seed: int) -> Tree:
        return engine.grow(
            X,
            y,
            weight,
            n_classes=self._classes_of_outputs(),
            criterion=self.criterion,
            limits=self._limits(X, weight),
            n_categories=self._n_categories(),
            splitter=self.splitter,
            seed=seed,
            monotonic=None if self.monotonic_cst is None else np.asarray(self.monotonic_cst),
            max_bins=self.max_bins,
            n_jobs=self.n_jobs,
        )

    def _classes_of_outputs(self) -> tuple[int, ...]:
        return (1,) * self.n_outputs_

    def _n_categories(self) -> np.ndarray:
        return np.array([0 if known is None else max(len(known), 1) for known in self.categories_])

    def _limits(self, X: np.ndarray, weight: np.ndarray | None) -> Limits:
        """The limits on growth in rows and columns, where the parameters may speak of fractions."""
        n, d = X.shape
        leaf, split = _rows_of(self.min_samples_leaf, n), _rows_of(self.min_samples_split, n)
        return Limits(
            max_depth=Limits.max_depth if self.max_depth is None else int(self.max_depth),
            min_samples_split=max(2, split, 2 * leaf),
            min_samples_leaf=leaf,
            min_weight_leaf=float(self.min_weight_fraction_leaf * (n if weight is None else weight.sum())),
            min_impurity_decrease=float(self.min_impurity_decrease),
            max_leaf_nodes=self.max_leaf_nodes,
            max_features=None if self.max_features_ >= d else self.max_features_,
        )

    def _n_columns(self, d: int) -> int:
        asked = self.max_features
        if asked is None:
            return d
        if isinstance(asked, str):
            return max(1, int(np.sqrt(d) if asked == "sqrt" else np.log2(d)))
        if isinstance(asked, numbers.Integral):
            return int(asked)
        return max(1, int(asked * d))

    def _check_options(self, d: int) -> None:
        """Refuse parameters that do not fit the data or each other."""
        name, signs = type(self).__name__, self.monotonic_cst
        if isinstance(self.min_samples_split, numbers.Integral) and self.min_samples_split < 2:
            raise ValueError(f"{name}: min_samples_split must be at least 2, or a fraction; got 1.")
        if signs is None:
            return
        signs = np.asarray(signs)
        if signs.shape != (d,) or not np.isin(signs, (-1, 0, 1)).all():
            raise ValueError(
                f"{name}: monotonic_cst must be None or -1, 0 or 1 for each of the {d} features; got {signs!r}."
            )
        if self.n_outputs_ > 1 or max(self._classes_of_outputs()) > 2:
            raise ValueError(
                f"{name}: monotonic_cst is not supported with multiple outputs or more than two classes."
            )
        if (signs[self._n_categories() > 0] != 0).any():
            raise ValueError(
                f"{name}: monotonic_cst must be 0 for a feature of categories: they have no order."
            )

    def _hold_out(self, rows: Rows, X_val: Any, y_val: Any, seed: int) -> tuple[Rows, Rows]:
        """The rows to grow from, and those to prune by: given ones, or a part of the others."""
        if (X_val is None) != (y_val is None):
            raise ValueError(f"{type(self).__name__}: X_val and y_val must be given together.")
        if X_val is not None:
            X_val, y_val = self._check(X_val, y_val, reset=False)
            return rows, Rows(self._dense(X_val), self._places(y_val), None)
        if len(rows.y) < 2:
            raise ValueError(
                f"{type(self).__name__}: pruning={self.pruning!r} holds rows out; n_samples=1 is too few for that."
            )
        return hold_out(rows, self.validation_fraction, seed, isinstance(self, ClassifierMixin))

    def _pruned(self, tree: Tree, rows: Rows, held: Rows | None, seed: int) -> Tree:
        if self.pruning == "cost":
            return cost_pruning(tree, self.alpha)
        if self.pruning == "pessimistic":
            return pessimistic_pruning(tree, self.confidence)
        if self.pruning == "reduced_error" and held is not None:
            return reduced_error_pruning(tree, *held, ties=self.pruning_ties)
        if self.pruning == "pre" and held is not None:
            return pre_pruning(tree, *held)
        if self.pruning == "validation" and held is not None:
            choice = choose_subtree(tree, *held)
        elif self.pruning == "cv":
            grow = functools.partial(self._grown, seed=seed)
            choice = choose_subtree(tree, *rows, folds=self._folds(rows, seed), grow=grow)
        else:
            return tree
        self.alpha_, self.alphas_, self.losses_ = choice.alpha, choice.alphas, choice.losses
        return choice.tree

    def _folds(self, rows: Rows, seed: int) -> Iterable[tuple[np.ndarray, np.ndarray]]:
        n, classes = len(rows.y), isinstance(self, ClassifierMixin)
        if not isinstance(self.cv, numbers.Integral):
            return check_cv(self.cv, rows.y, classifier=classes).split(rows.X, rows.y)
        if n < int(self.cv):
            raise ValueError(
                f"{type(self).__name__}: cv={self.cv} folds need as many rows; got n_samples={n}."
            )
        return folds(rows.y, int(self.cv), seed, classes)

    def _places(self, y: np.ndarray) -> np.ndarray:
        """Targets as they are learned from."""
        return np.asarray(y, dtype=np.float64)

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        if not self._is_plain(X, reset):
            found = super()._check(X, y, reset=reset)
            return found if y is NO_TARGET else (found[0], _slim(found[1]))
        # No columns of categories: the array is good as it is, without a look at each column.
        X = validate_data(
            self,
            X,
            reset=reset,
            dtype=(np.float64, np.float32),
            accept_sparse="csr",
            ensure_all_finite="allow-nan",
        )
        if reset:
            self.categories_ = [None] * X.shape[1]
        if y is NO_TARGET:
            return X
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y is None."
            )
        numeric = not isinstance(self, ClassifierMixin)
        if sparse.issparse(y):
            raise TypeError(f"{type(self).__name__}: y must not be sparse.")
        stand_in = np.broadcast_to(np.zeros(1), (X.shape[0], 1))
        _, y = check_X_y(stand_in, y, multi_output=self.multi_output, y_numeric=numeric, estimator=self)
        return X, _slim(y)

    def _is_plain(self, X: Any, reset: bool) -> bool:
        if not sparse.issparse(X) and not (isinstance(X, np.ndarray) and X.dtype.kind in "biuf"):
            return False
        if not reset:
            return all(known is None for known in self.categories_)
        asked = self.categorical_features
        return asked is None or (isinstance(asked, str) and asked == "from_dtype")

    def _dense(self, X: Any) -> np.ndarray:
        if not sparse.issparse(X):
            return X
        need = X.shape[0] * X.shape[1] * X.dtype.itemsize
        if 3 * need > available():
            raise ValueError(
                f"{type(self).__name__}: X is sparse; an array of its shape {X.shape} takes {need:,} bytes, and "
                f"growth about as much again: more memory than there is. Select columns first."
            )
        return X.toarray()

    def _rows(self, X: Any, check_input: bool) -> Any:
        check_is_fitted(self)
        if check_input:
            return self._check(X, reset=False)
        return (
            X
            if sparse.issparse(X)
            else np.asarray(X, dtype=None if np.asarray(X).dtype.kind == "f" else float)
        )

    def _values(self, X: Any, check_input: bool) -> np.ndarray:
        X = self._rows(X, check_input)
        return self.tree_.predict(X, self.n_jobs)

    def apply(self, X: Any, check_input: bool = True) -> np.ndarray:
        """The number of the leaf that each row comes to.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            The rows.
        check_input : bool, default=True
            False takes X for an array of floats as `fit` saw them.

        Returns
        -------
        array of shape (n_samples,)
        """
        X = self._rows(X, check_input)
        return self.tree_.apply(X, self.n_jobs)

    def decision_path(self, X: Any, check_input: bool = True) -> Any:
        """The nodes on the way of each row.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            The rows.
        check_input : bool, default=True
            False takes X for an array of floats as `fit` saw them.

        Returns
        -------
        CSR matrix of shape (n_samples, n_nodes)
            Ones where the row passes the node.
        """
        X = self._rows(X, check_input)
        return self.tree_.decision_path(X)

    def get_depth(self) -> int:
        """The most tests on a way from the root to a leaf."""
        check_is_fitted(self)
        return self.tree_.max_depth

    def get_n_leaves(self) -> int:
        """The number of leaves."""
        check_is_fitted(self)
        return self.tree_.n_leaves

    @property
    def feature_importances_(self) -> np.ndarray:
        """How much the tests of each feature lower the impurity, as parts of 1."""
        check_is_fitted(self)
        return self.tree_.compute_feature_importances()

    def cost_complexity_pruning_path(self, X: Any, y: Any, sample_weight: Any = None) -> Bunch:
        """The prices of a leaf at which the tree of these data gets smaller, and the impurities of its leaves.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            The training data.
        y : array of shape (n_samples,) or (n_samples, n_outputs)
            The targets.
        sample_weight : array of shape (n_samples,), optional
            How much each row counts.

        Returns
        -------
        Bunch
            `ccp_alphas` and `impurities`, of which the first are those of the whole tree.
        """
        whole = clone(self).set_params(ccp_alpha=0.0, pruning=None).fit(X, y, sample_weight)
        alphas, ends = cost_complexity_path(whole.tree_, merge=False)
        return Bunch(ccp_alphas=alphas, impurities=ends.impurities)


def _rows_of(asked: Any, n: int) -> int:
    """A number of rows, or a fraction of them."""
    return int(asked) if isinstance(asked, numbers.Integral) else math.ceil(asked * n)


def _slim(y: np.ndarray) -> np.ndarray:
    """One column of targets is one output."""
    return y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
