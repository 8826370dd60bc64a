"""Random forest of regression trees (随机森林; watermelon notes ch. 2 and 6)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.columns import Features
from tercet.core.parameters import Count, CountOrZero, Fraction, Jobs, NonNegative, Seed
from tercet.ensemble.forest.base import MaxSamples
from tercet.ensemble.forest.forest_regressor import ForestRegressor
from tercet.tree import AtLeastTwo, MaxFeatures, MinSamplesLeaf, MinSamplesSplit, current_criterion


@method(
    zh="随机森林回归",
    task="regression",
    model="the mean of the trees",
    strategy="squared, absolute or Poisson error of the leaves",
    algorithms="trees from bootstrap samples; every node tries some features, drawn at random",
    texts=["Machine Learning in Depth ch. 8", "watermelon notes ch. 2, 6"],
    peers=["sklearn.ensemble.RandomForestRegressor", "snapml.RandomForestRegressor"],
)
class RandomForestRegressor(ForestRegressor):
    """Random forest: regression trees grown from bootstrap samples with random features, averaged.

    Each tree is grown from n rows drawn with replacement; its nodes try `max_features` features, drawn at random
    at every node, and take the best of their tests. The rows that a tree has not seen, about 0.368 of all, are its
    out-of-bag rows. The error of the forest grows with the correlation of its trees and falls with their strength.

    Parameters
    ----------
    n_estimators : int, default=100
        The number of trees.
    criterion : {"squared_error", "absolute_error", "poisson"}, default="squared_error"
        The error of a leaf: (y - mean)², |y - median|, or y log(y / mean) for counts and other y >= 0.
        "friedman_mse", which always was the first, is deprecated.
    max_depth : int, optional
        The largest number of tests on a path to a leaf.
    min_samples_split, min_samples_leaf : int or float, default=2 and 1
        The fewest rows of a node that is split, and of a leaf; a float is a fraction of all rows.
    min_weight_fraction_leaf : float, default=0.0
        The least fraction of the total weight in a leaf.
    max_features : int, float, "sqrt", "log2" or None, default=1.0
        How many features each node tries, drawn at random; a float is a fraction of them.
    max_leaf_nodes : int, optional
        The largest number of leaves of a tree; growth is then best first.
    min_impurity_decrease : float, default=0.0
        The least decrease of the impurity, times the node's fraction of all rows, of a split.
    bootstrap : bool, default=True
        Whether a tree is grown from rows drawn with replacement (by their weights), or from all rows.
    oob_score : bool or callable, default=False
        Whether to predict each row by the trees that were not grown from it; a callable is the score to compute.
    n_jobs : int, optional
        Threads. The forest does not depend on it.
    random_state : int, optional
        Decides the rows of the trees, and the features that their nodes try.
    verbose : int, default=0
        There for scikit-learn's sake; register a `ProgressBar` callback to watch a fit.
    warm_start : bool, default=False
        Whether `fit` keeps the trees of the fit before, and only adds those that are missing.
    ccp_alpha : float, default=0.0
        The complexity parameter of cost-complexity pruning.
    max_samples : int or float, optional
        How many rows are drawn for a tree; a float is a fraction of them (of the sum of weights, if given).
    monotonic_cst : array of -1, 0 and 1, optional
        Features with which the answer must not fall (1) or rise (-1).
    categorical_features : "from_dtype", list or mask, optional
        Which columns are categories: by their dtype, or by name, index or mask.
    oob_stop : int, optional
        Stop before `n_estimators` trees when so many of them bring the out-of-bag score (`oob_score`) nothing.
    oob_tol : float, default=1e-4
        The least rise of that score that counts.
    keep_targets : bool, default=False
        Whether the targets of each leaf are kept, for `predict_quantiles`.

    Attributes
    ----------
    estimators_ : list of DecisionTreeRegressor
        The trees.
    feature_importances_ : array of shape (n_features,)
        The total decrease of the impurity by the tests of each feature, averaged over trees, of sum 1.
    oob_score_, oob_prediction_ : float and array
        With `oob_score`: the score and the answers of the trees that were not grown from a row.
    estimators_samples_ : list of arrays
        The rows that each tree was grown from.
    n_outputs_, max_features_ : int
        Outputs learned, and features tried at a node.

    Notes
    -----
    From a source that does not fit into memory, trees grow by another algorithm: columns are cut into at most 255
    bins of about equal weight, and tests lie between bins. How often a row is in the sample of a tree is a Poisson
    number (of the mean 1, or `max_samples` / n, times the row's weight), which the seed of the tree and the number
    of the row decide: the sizes of samples are random, and without a list of drawn rows there are no
    `estimators_samples_`.

    Examples
    --------
    >>> X = [[1, 5], [2, 6], [3, 4], [7, 9], [8, 8], [9, 7]]
    >>> model = RandomForestRegressor(n_estimators=20, random_state=0).fit(X, [1.0, 1.2, 1.1, 3.0, 3.2, 5.0])
    >>> model.predict([[0, 3], [9, 7]]).round(1)
    array([1. , 4.5])
    """

    streaming = True

    def __init__(
        self,
        n_estimators: Count = 100,
        *,
        criterion: Literal["squared_error", "absolute_error", "poisson"] = "squared_error",
        max_depth: Count | None = None,
        min_samples_split: MinSamplesSplit = 2,
        min_samples_leaf: MinSamplesLeaf = 1,
        min_weight_fraction_leaf: Fraction = 0.0,
        max_features: MaxFeatures = 1.0,
        max_leaf_nodes: AtLeastTwo | None = None,
        min_impurity_decrease: NonNegative = 0.0,
        bootstrap: bool = True,
        oob_score: bool | Callable = False,
        n_jobs: Jobs = None,
        random_state: Seed = None,
        verbose: CountOrZero | bool = 0,
        warm_start: bool = False,
        ccp_alpha: NonNegative = 0.0,
        max_samples: MaxSamples = None,
        monotonic_cst: list | tuple | np.ndarray | None = None,
        categorical_features: Features = "from_dtype",
        oob_stop: Count | None = None,
        oob_tol: NonNegative = 1e-4,
        keep_targets: bool = False,
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = current_criterion(criterion)
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.ccp_alpha = ccp_alpha
        self.max_samples = max_samples
        self.monotonic_cst = monotonic_cst
        self.categorical_features = categorical_features
        self.oob_stop = oob_stop
        self.oob_tol = oob_tol
        self.keep_targets = keep_targets
