"""Base classes of trees and of what is made of trees: input, stopping criteria, pruning, prediction."""

from __future__ import annotations

import functools
import math
import numbers
from collections.abc import Callable, Iterable
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.base import ClassifierMixin, clone
from sklearn.utils import Bunch

from tercet.core.columns import MixedColumns
from tercet.core.estimator import NO_TARGET, check_is_fitted, generator
from tercet.core.fitted_checks import Having, Sizes, Whole
from tercet.core.folds import checked_folds
from tercet.core.memory import available
from tercet.core.parameters import INF, Count, OpenFraction, Range
from tercet.core.validation import check_target, validate_data
from tercet.tree import _engine
from tercet.tree._engine import Limits, takes_sparse
from tercet.tree._engine.paged_statistics import PagedStatistics
from tercet.tree.pruning import (
    choose_subtree,
    cost_complexity_path,
    cost_complexity_pruning,
    cost_pruning,
    pessimistic_pruning,
    pre_pruning,
    reduced_error_pruning,
)
from tercet.tree.streamed_growth import grow_from_pages, growth_refusal, read_binned_rows
from tercet.tree.tree import Tree
from tercet.tree.validation_split import Splitter, WeightedSample, cross_validation_folds, holdout_split

HOLDOUT_PRUNINGS = ("reduced_error", "pre", "validation")  # they need rows that the tree was not grown from
Pruning = Literal["cost", "reduced_error", "pre", "validation", "cv"] | None
AtLeastTwo = Annotated[int, Range(2, INF, "[)")]
Folds = AtLeastTwo | list | tuple | Splitter
MinSamplesLeaf = Count | OpenFraction  # rows, or a fraction of them
MinSamplesSplit = AtLeastTwo | Annotated[float, Range(0, 1, "(]")]
MaxFeatures = Count | Annotated[float, Range(0, 1, "(]")] | Literal["sqrt", "log2"] | None


class TreeInput(MixedColumns):
    """Base class of what is grown from tables: trees and forests. Input checks, and stopping criteria in numbers.

    A subclass has the parameters of `DecisionTreeRegressor` that are named here.

    Examples
    --------
    >>> from tercet.ensemble import RandomForestRegressor
    >>> model = RandomForestRegressor(2, max_features=0.5, random_state=0).fit([[1, 1], [2, 2]], [1, 2])
    >>> isinstance(model, TreeInput), model.max_features
    (True, 0.5)
    """

    sparse_input = True
    streams_arrays = False  # their categories are encoded, and trees of sources are another algorithm
    max_depth: Any
    min_samples_split: Any
    min_samples_leaf: Any
    min_weight_fraction_leaf: Any
    max_features: Any
    max_leaf_nodes: Any
    min_impurity_decrease: Any
    monotonic_cst: Any
    max_features_: int
    n_outputs_: int

    def _classes_of_outputs(self) -> tuple[int, ...]:
        return (1,) * self.n_outputs_

    def _n_categories(self) -> np.ndarray:
        return np.array([0 if known is None else max(len(known), 1) for known in self.categories_])

    def _limits(self, X: np.ndarray, weight: np.ndarray | None) -> Limits:
        """The stopping criteria in numbers of rows and columns, where the parameters may be fractions."""
        n, d = X.shape
        return self._limits_of(n, d, n if weight is None else weight.sum())

    def _limits_of(self, n: int, d: int, mass: float) -> Limits:
        """The same for so many rows and columns, and the weight of the rows."""
        leaf, split = _n_rows(self.min_samples_leaf, n), _n_rows(self.min_samples_split, n)
        return Limits(
            max_depth=Limits.max_depth if self.max_depth is None else int(self.max_depth),
            min_samples_split=max(2, split, 2 * leaf),
            min_samples_leaf=leaf,
            min_weight_leaf=float(self.min_weight_fraction_leaf * mass),
            min_impurity_decrease=float(self.min_impurity_decrease),
            max_leaf_nodes=self.max_leaf_nodes,
            max_features=None if self.max_features_ >= d else self.max_features_,
        )

    def _n_tried_features(self, d: int) -> int:
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
            raise ValueError(
                f"{name}: 'min_samples_split' must be at least 2, or a fraction: it must be an int in the range "
                f"[2, inf) or a float in the range (0.0, 1.0]; got {self.min_samples_split}."
            )
        if signs is None:
            return
        signs, unsupported = np.asarray(signs), f"{name}: Monotonicity constraints are not supported with"
        if self.n_outputs_ > 1:
            raise ValueError(f"{unsupported} multiple outputs; y has {self.n_outputs_} columns.")
        if max(self._classes_of_outputs()) > 2:
            raise ValueError(
                f"{unsupported} multiclass classification; y has {max(self._classes_of_outputs())} classes."
            )
        if signs.shape != (d,):
            shape = signs.size if signs.ndim == 1 else signs.shape
            raise ValueError(
                f"{name}: monotonic_cst has shape {shape} but the input data X has {d} features."
            )
        if not np.isin(signs, (-1, 0, 1)).all():
            raise ValueError(
                f"{name}: monotonic_cst must be None or an array-like of -1, 0 or 1; got {signs.tolist()}."
            )
        if (signs[self._n_categories() > 0] != 0).any():
            raise ValueError(
                f"{name}: monotonic_cst must be 0 for a feature of categories: they have no order."
            )

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        if not self._is_numeric(X, reset):
            checked = super()._check(X, y, reset=reset)
            return checked if y is NO_TARGET else (checked[0], _single_column(checked[1]))
        # No columns of categories: no column has to be looked at by itself.
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
        y = check_target(self, y, X.shape[0], multi_output=self.multi_output, numeric=numeric)
        return X, _single_column(y)

    def _is_numeric(self, X: Any, reset: bool) -> bool:
        """Whether X is an array or a sparse matrix of numbers without columns of categories."""
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

    def _checked_rows(self, X: Any, check_input: bool) -> Any:
        check_is_fitted(self)
        if check_input:
            return self._check(X, reset=False)
        return (
            X
            if sparse.issparse(X)
            else np.asarray(X, dtype=None if np.asarray(X).dtype.kind == "f" else float)
        )


class BaseDecisionTree(TreeInput):
    """Base class of decision trees: parameters, stopping criteria, pruning and prediction.

    A subclass has the parameters of `DecisionTreeRegressor` at least. Its `_fit` grows the tree from what
    `_prepare` returns, and `_prune` prunes it.

    Examples
    --------
    >>> from tercet.tree import DecisionTreeRegressor
    >>> model = DecisionTreeRegressor().fit([[1], [2], [3]], [1, 1, 2])
    >>> isinstance(model, BaseDecisionTree), model.get_n_leaves(), model.apply([[1], [3]]).tolist()
    (True, 2, [1, 2])
    """

    streams_instead = (
        "HistGradientBoostingClassifier or HistGradientBoostingRegressor, whose trees learn from histograms"
    )
    always_random: ClassVar[bool] = False  # whether growth draws numbers whatever the parameters are
    criterion: Any
    splitter: Any
    random_state: Any
    min_impurity: Any = 0.0
    category_tests: Any = "subset"
    ccp_alpha: Any
    pruning: Any
    alpha: Any
    validation_fraction: Any
    pruning_ties: Any
    confidence: Any
    cv: Any
    max_bins: Any
    n_jobs: Any
    n_classes_: Any

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
        X : array, frame or sparse matrix of shape (n_samples, n_features), or source
            The training data; NaN and None are missing values. From a source that does not fit into memory, a tree
            grows by histograms, with `max_bins` bins (255 by default).
        y : array of shape (n_samples,) or (n_samples, n_outputs), or name of a column of a source
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

    def _prepare(
        self, X: Any, y: Any, sample_weight: np.ndarray | None, held_out: tuple[Any, Any]
    ) -> tuple[WeightedSample, WeightedSample | None, int]:
        """The sample to grow from, the one to prune by (None where no pruning asks for it), and the seed."""
        self.n_outputs_ = 1 if y.ndim == 1 else y.shape[1]
        self.max_features_ = self._n_tried_features(X.shape[1])
        sample = WeightedSample(X if self._grows_sparse(X) else self._dense(X), y, sample_weight)
        given_folds = self.pruning == "cv" and not isinstance(self.cv, numbers.Integral)
        if sample_weight is not None and not given_folds:  # folds that are given count all rows
            sample = sample.take(sample_weight > 0)
        self._check_options(sample.X.shape[1])
        seed = self._seed(sample.X.shape[1])
        if self.pruning not in HOLDOUT_PRUNINGS:
            return sample, None, seed
        return *self._hold_out(sample, *held_out, seed), seed

    def _seed(self, d: int) -> int:
        """What decides all draws; 0 where there are none."""
        some = self.splitter == "random" or self.max_features_ < d
        drawn = some or self.always_random or self.pruning is not None
        return int(generator(self.random_state).integers(2**31 - 1)) if drawn else 0

    def _streaming_refusal(self) -> str:
        if getattr(self, "algorithm", "cart") != "cart":
            return f"algorithm={self.algorithm!r} needs all rows of a node at once. Use algorithm='cart'."
        if self.category_tests != "subset":
            return "category_tests='value' needs all rows of a node at once. Use category_tests='subset'."
        if self.pruning not in (None, "cost", "pessimistic"):
            return f"pruning={self.pruning!r} holds rows out. Use pruning='cost' or ccp_alpha."
        return growth_refusal(self)

    def _fit_streamed(self, X: Any, y: Any, weight: Any) -> None:
        """Growth from rows of a source, by histograms; pruning sees the tree alone."""
        d = X.shape[1]
        self.n_outputs_, self.max_features_ = 1, self._n_tried_features(d)
        self._check_options(d)
        seed, n_classes = self._seed(d), self._classes_of_outputs()[0]
        with read_binned_rows(self, X, y, weight, self.max_bins, seed) as data:
            statistics = PagedStatistics.of(data, data.row_weights, n_classes, self.n_jobs)
            limits = self._limits_of(statistics.rows, d, statistics.mass)
            tree = grow_from_pages(self, data, statistics, data.row_weights, limits, seed)
        none = WeightedSample(None, None, None)  # type: ignore[arg-type]
        self.tree_ = self._prune(self._without_pure_splits(tree), none, None, seed, self._grow_cart)

    def _grow_cart(self, X: np.ndarray, y: np.ndarray, weight: np.ndarray | None, seed: int) -> Tree:
        """Alg 5.5 and 5.6: binary tests, the best of all features and thresholds at every node.

        `tercet.tree.grow_tree` is the same in plain form; the engines find the same tests faster.
        """
        tree = Tree.from_arrays(
            _engine.grow(
                X,
                y,
                weight,
                n_classes=self._classes_of_outputs(),
                criterion=self.criterion,
                limits=self._limits(X, weight),
                n_categories=self._n_categories(),
                category_tests=self.category_tests,
                splitter=self.splitter,
                seed=seed,
                monotonic=None if self.monotonic_cst is None else np.asarray(self.monotonic_cst),
                max_bins=self.max_bins,
                n_jobs=self.n_jobs,
            ),
            verify=False,
        )
        return self._without_pure_splits(tree)

    def _without_pure_splits(self, tree: Tree) -> Tree:
        """Make leaves of nodes whose impurity is below `min_impurity`; no test above depends on what is below."""
        return tree.collapsed(tree.impurity < self.min_impurity) if self.min_impurity > 0 else tree

    fitted_shapes = {
        "n_outputs_": Whole("outputs", 1),
        "tree_": Having({"n_features": "features", "n_outputs": "outputs"}, ("apply", "decision_path")),
    }

    def _check_fitted(self, sizes: Sizes) -> None:
        if "tree_" not in vars(self):
            return
        there = tuple(self.tree_.n_classes.tolist())
        if there != self._classes_of_outputs():
            raise ValueError(
                f"{type(self).__name__}: tree_ has {there} values for each output; expected are "
                f"{self._classes_of_outputs()}."
            )

    def _hold_out(
        self, sample: WeightedSample, X_val: Any, y_val: Any, seed: int
    ) -> tuple[WeightedSample, WeightedSample]:
        """The sample to grow from, and the one to prune by: given to `fit`, or a part of the first."""
        if (X_val is None) != (y_val is None):
            raise ValueError(f"{type(self).__name__}: X_val and y_val must be given together.")
        if X_val is not None:
            X_val, y_val = self._check(X_val, y_val, reset=False)
            return sample, WeightedSample(self._dense(X_val), self._encode_validation(y_val), None)
        if len(sample.y) < 2:
            raise ValueError(
                f"{type(self).__name__}: pruning={self.pruning!r} holds rows out; n_samples=1 is too few for that."
            )
        return holdout_split(sample, self.validation_fraction, seed, isinstance(self, ClassifierMixin))

    def _prune(
        self,
        tree: Tree,
        sample: WeightedSample,
        held: WeightedSample | None,
        seed: int,
        grow: Callable[..., Tree],
    ) -> Tree:
        """Prune a grown tree as `pruning` and `ccp_alpha` ask; `grow` grows those of cross-validation."""
        if self.pruning == "cost":
            tree = cost_pruning(tree, self.alpha)
        elif self.pruning == "pessimistic":
            tree = pessimistic_pruning(tree, self.confidence)
        elif self.pruning == "reduced_error" and held is not None:
            tree = reduced_error_pruning(tree, *held, ties=self.pruning_ties)
        elif self.pruning == "pre" and held is not None:
            tree = pre_pruning(tree, *held)
        elif self.pruning in ("validation", "cv"):
            if held is not None:
                choice = choose_subtree(tree, *held)
            else:
                folds, regrow = self._folds(sample, seed), functools.partial(grow, seed=seed)
                choice = choose_subtree(tree, *sample, folds=folds, grow=regrow)
            self.alpha_, self.alphas_, self.losses_ = choice.alpha, choice.alphas, choice.losses
            tree = choice.tree
        return tree if self.ccp_alpha == 0 else cost_complexity_pruning(tree, self.ccp_alpha)

    def _folds(self, sample: WeightedSample, seed: int) -> Iterable[tuple[np.ndarray, np.ndarray]]:
        n, classes = len(sample.y), isinstance(self, ClassifierMixin)
        if not isinstance(self.cv, numbers.Integral):
            return checked_folds(self, sample.X, sample.y, classifier=classes)
        if n < int(self.cv):
            raise ValueError(
                f"{type(self).__name__}: cv={self.cv} folds need as many rows; got n_samples={n}."
            )
        return cross_validation_folds(sample.y, int(self.cv), seed, classes)

    def _encode_validation(self, y: np.ndarray) -> np.ndarray:
        """Targets of held-out rows as `_fit` has them."""
        return np.asarray(y, dtype=np.float64)

    def with_tree(
        self, tree: Tree, n_features: int, classes: Any = None, categories: list[Any] | None = None
    ) -> Self:
        """This estimator as if it had grown `tree`: how ensembles make members of the trees they grow.

        Parameters
        ----------
        tree : Tree
            The tree.
        n_features : int
            The columns of the rows it was grown from.
        classes : array, or list of arrays, optional
            The classes of a classifier; a list for several outputs.
        categories : list of arrays, optional
            The values of each column of categories; None for numbers.

        Returns
        -------
        self
        """
        self.tree_, self.n_features_in_, self.n_outputs_ = tree, n_features, tree.n_outputs
        self.max_features_ = self._n_tried_features(n_features)
        self.categories_ = [None] * n_features if categories is None else categories
        if isinstance(classes, list):
            self.classes_ = classes
            self.n_classes_ = np.array([len(one) for one in classes])
        elif classes is not None:
            self.classes_, self.n_classes_ = classes, len(classes)
        return self

    def _grows_sparse(self, X: Any) -> bool:
        """Whether the tree is grown from a sparse matrix as it is."""
        if not sparse.issparse(X) or self.pruning is not None or getattr(self, "algorithm", "cart") != "cart":
            return False
        limits = self._limits(X, None)
        parts = self.n_outputs_, self.criterion, self.splitter, limits, self.monotonic_cst, self.max_bins
        return takes_sparse(X, *parts) and not self._n_categories().any()

    def _leaf_values(self, X: Any, check_input: bool) -> np.ndarray:
        """The values of the leaves, of shape (n_samples, n_outputs, n_values)."""
        X = self._checked_rows(X, check_input)
        return self.tree_.predict(X, self.n_jobs)

    def apply(self, X: Any, check_input: bool = True) -> np.ndarray:
        """The index of the leaf of each row.

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
        X = self._checked_rows(X, check_input)
        return self.tree_.apply(X, self.n_jobs)

    def decision_path(self, X: Any, check_input: bool = True) -> Any:
        """The nodes on the path of each row from the root to its leaf.

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
        X = self._checked_rows(X, check_input)
        return self.tree_.decision_path(X)

    def get_depth(self) -> int:
        """The largest number of tests on a path from the root to a leaf."""
        check_is_fitted(self)
        return self.tree_.max_depth

    def get_n_leaves(self) -> int:
        """The number of leaves."""
        check_is_fitted(self)
        return self.tree_.n_leaves

    @property
    def feature_importances_(self) -> np.ndarray:
        """The total decrease of the impurity by the tests of each feature, normalised to sum 1."""
        check_is_fitted(self)
        return self.tree_.compute_feature_importances()

    def cost_complexity_pruning_path(self, X: Any, y: Any, sample_weight: Any = None) -> Bunch:
        """The effective alphas of cost-complexity pruning, and the total leaf impurity of each pruned tree.

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
        whole = clone(self)
        whole.ccp_alpha, whole.pruning = 0.0, None
        whole.fit(X, y, sample_weight)
        alphas, subtrees = cost_complexity_path(whole.tree_, merge=False)
        return Bunch(ccp_alphas=alphas, impurities=subtrees.impurities)


def _n_rows(asked: Any, n: int) -> int:
    """A number of rows that is given as such or as a fraction of all n."""
    return int(asked) if isinstance(asked, numbers.Integral) else math.ceil(asked * n)


def _single_column(y: np.ndarray) -> np.ndarray:
    """Targets of one column as a vector."""
    return y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
