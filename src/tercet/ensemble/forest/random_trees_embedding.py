"""Embedding by random trees: the leaves that a row comes to, as columns of 0 and 1."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import TransformerMixin

from tercet.core.catalog import method
from tercet.core.columns import Features
from tercet.core.estimator import NO_TARGET, check_is_fitted, generator
from tercet.core.parameters import Count, CountOrZero, Fraction, Jobs, NonNegative, Seed
from tercet.core.validation import target_for_callbacks
from tercet.ensemble.forest.base import BaseForest
from tercet.tree import AtLeastTwo, BaseDecisionTree, ExtraTreeRegressor, MinSamplesLeaf, MinSamplesSplit


@method(
    zh="随机树嵌入",
    task="feature map",
    model="one column for each leaf of each tree: 1 where a row comes to it",
    strategy="none: rows that are near each other come to the same leaves of random trees",
    algorithms="trees of random features and thresholds",
    texts=["watermelon notes ch. 6"],
    peers=["sklearn.ensemble.RandomTreesEmbedding"],
)
class RandomTreesEmbedding(TransformerMixin, BaseForest):
    """Embedding by trees of random tests: the leaves of a row as columns of 0 and 1, for a linear model to follow.

    Parameters
    ----------
    n_estimators : int, default=100
        The number of trees.
    max_depth : int or None, default=5
        The largest number of tests on a path to a leaf.
    min_samples_split, min_samples_leaf : int or float, default=2 and 1
        The fewest rows of a node that is split, and of a leaf; a float is a fraction of all rows.
    min_weight_fraction_leaf : float, default=0.0
        The least fraction of the total weight in a leaf.
    max_leaf_nodes : int, optional
        The largest number of leaves of a tree; growth is then best first.
    min_impurity_decrease : float, default=0.0
        The least decrease of the impurity of the random targets, times the node's fraction of all rows, of a split.
    sparse_output : bool, default=True
        Whether `transform` returns a sparse matrix or an array.
    n_jobs : int, optional
        Threads. The trees do not depend on it.
    random_state : int, optional
        Decides all tests.
    verbose : int, default=0
        There for scikit-learn's sake; register a `ProgressBar` callback to watch a fit.
    warm_start : bool, default=False
        Whether `fit` keeps the trees of the fit before, and only adds those that are missing.
    categorical_features : "from_dtype", list or mask, optional
        Which columns are categories: by their dtype, or by name, index or mask.

    Attributes
    ----------
    estimators_ : list of ExtraTreeRegressor
        The trees.
    estimator_ : regressor
        An unfitted one.
    feature_importances_ : array of shape (n_features,)
        The total decrease of the impurity of the random targets by the tests of each feature, of sum 1.
    n_outputs_, max_features_ : int
        1 and 1: the random target, and the features tried at a node.

    Examples
    --------
    >>> X = [[0, 0], [1, 0], [0, 1], [-1, 0], [0, -1]]
    >>> RandomTreesEmbedding(n_estimators=5, max_depth=1, random_state=0).fit_transform(X).toarray().sum(
    ...     axis=1
    ... )
    array([5., 5., 5., 5., 5.])
    """

    splitter = "random"
    criterion = "squared_error"
    max_features, bootstrap, oob_score, ccp_alpha = 1, False, False, 0.0
    max_samples = monotonic_cst = oob_stop = None
    oob_tol = 0.0

    def __init__(
        self,
        n_estimators: Count = 100,
        *,
        max_depth: Count | None = 5,
        min_samples_split: MinSamplesSplit = 2,
        min_samples_leaf: MinSamplesLeaf = 1,
        min_weight_fraction_leaf: Fraction = 0.0,
        max_leaf_nodes: AtLeastTwo | None = None,
        min_impurity_decrease: NonNegative = 0.0,
        sparse_output: bool = True,
        n_jobs: Jobs = None,
        random_state: Seed = None,
        verbose: CountOrZero | bool = 0,
        warm_start: bool = False,
        categorical_features: Features = "from_dtype",
    ) -> None:
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.sparse_output = sparse_output
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.categorical_features = categorical_features

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            The rows; NaN and None are missing values.
        y : ignored
            There for pipelines; callbacks may score by it.
        sample_weight : array of shape (n_samples,), optional
            How much each row counts where leaves are limited by weight.

        Returns
        -------
        self
        """
        return self._learn(X, y, sample_weight)

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """`fit`, and `transform` of the same rows.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            The rows.
        y : ignored
        sample_weight : array of shape (n_samples,), optional
            As in `fit`.

        Returns
        -------
        sparse matrix or array of shape (n_samples, n_leaves)
        """
        return self.fit(X, y, sample_weight).transform(X)

    def _tree(self) -> BaseDecisionTree:
        return ExtraTreeRegressor(
            max_depth=self.max_depth,
            min_samples_split=self.min_samples_split,
            min_samples_leaf=self.min_samples_leaf,
            min_weight_fraction_leaf=self.min_weight_fraction_leaf,
            max_features=1,
            max_leaf_nodes=self.max_leaf_nodes,
            min_impurity_decrease=self.min_impurity_decrease,
        )

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        X = super()._check(X, reset=reset)
        return X if y is NO_TARGET else (X, target_for_callbacks(y, X.shape[0]))

    def _encode(self, y: Any) -> None:
        return None

    def _fit(self, X: Any, y: Any, sample_weight: np.ndarray | None) -> None:
        # Any target that tells all rows apart: only the tests matter.
        super()._fit(X, generator(self.random_state).random(X.shape[0]), sample_weight)

    def _leaves(self) -> list[np.ndarray]:
        """The leaves of each tree, by their numbers."""
        return [np.flatnonzero(member.tree_.n_children == 0) for member in self.estimators_]

    def transform(self, X: Any) -> Any:
        """The leaves that rows come to, as columns of 0 and 1, tree after tree.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        sparse matrix or array of shape (n_samples, n_leaves)
        """
        at, leaves = self.apply(X), self._leaves()
        start = np.append(0, np.cumsum([one.size for one in leaves]))
        columns = np.column_stack([start[t] + np.searchsorted(one, at[:, t]) for t, one in enumerate(leaves)])
        n, trees = columns.shape
        found = sparse.csr_matrix(
            (np.ones(n * trees), columns.ravel(), np.arange(0, n * trees + 1, trees)),
            shape=(n, int(start[-1])),
        )
        return found if self.sparse_output else found.toarray()

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The names of the columns: of the method, the tree and the leaf.

        Parameters
        ----------
        input_features : ignored
            There for scikit-learn's sake.

        Returns
        -------
        array of str
        """
        check_is_fitted(self)
        return np.array(
            [f"randomtreesembedding_{t}_{leaf}" for t, one in enumerate(self._leaves()) for leaf in one],
            dtype=object,
        )
