"""Extremely randomised classification trees (极端随机森林)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.columns import Features
from tercet.core.parameters import Count, CountOrZero, Fraction, Jobs, NonNegative, Seed
from tercet.ensemble.forest.base import MaxSamples
from tercet.ensemble.forest.forest_classifier import ForestClassifier
from tercet.tree import AtLeastTwo, MaxFeatures, MinSamplesLeaf, MinSamplesSplit


@method(
    zh="极端随机森林分类",
    task="classification",
    model="the mean over trees of P(y | x)",
    strategy="impurity of the leaves: Gini index or entropy",
    algorithms="one random threshold for each of some random features at every node; the best of them is the test",
    texts=["Machine Learning in Depth ch. 8", "watermelon notes ch. 2, 6"],
    peers=["sklearn.ensemble.ExtraTreesClassifier"],
)
class ExtraTreesClassifier(ForestClassifier):
    """Extremely randomised trees, which vote: thresholds are drawn, too.

    A tree takes all rows; its nodes try `max_features` features, each with one threshold drawn between the least
    and the greatest value there, and take the best of these tests. More randomness lowers the variance of the mean
    at the price of a little bias, and growth is fast.

    Parameters
    ----------
    n_estimators : int, default=100
        The number of trees.
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        The impurity; the last two are one.
    max_depth : int, optional
        The largest number of tests on a path to a leaf.
    min_samples_split, min_samples_leaf : int or float, default=2 and 1
        The fewest rows of a node that is split, and of a leaf; a float is a fraction of all rows.
    min_weight_fraction_leaf : float, default=0.0
        The least fraction of the total weight in a leaf.
    max_features : int, float, "sqrt", "log2" or None, default="sqrt"
        How many features each node tries, drawn at random; a float is a fraction of them.
    max_leaf_nodes : int, optional
        The largest number of leaves of a tree; growth is then best first.
    min_impurity_decrease : float, default=0.0
        The least decrease of the impurity, times the node's fraction of all rows, of a split.
    bootstrap : bool, default=False
        Whether a tree is grown from rows drawn with replacement (by their weights), or from all rows.
    oob_score : bool or callable, default=False
        Whether to predict each row by the trees that were not grown from it; a callable is the score to compute.
    n_jobs : int, optional
        Threads. The forest does not depend on it.
    random_state : int, optional
        Decides the rows of the trees, and the features and thresholds that their nodes try.
    verbose : int, default=0
        There for scikit-learn's sake; register a `ProgressBar` callback to watch a fit.
    warm_start : bool, default=False
        Whether `fit` keeps the trees of the fit before, and only adds those that are missing.
    class_weight : dict, list of dict, "balanced" or "balanced_subsample", optional
        Weights of the classes; the last takes the counts of each tree's own sample.
    ccp_alpha : float, default=0.0
        The complexity parameter of cost-complexity pruning.
    max_samples : int or float, optional
        How many rows are drawn for a tree; a float is a fraction of them (of the sum of weights, if given).
    monotonic_cst : array of -1, 0 and 1, optional
        Features with which the probability of the second of two classes must not fall (1) or rise (-1).
    categorical_features : "from_dtype", list or mask, optional
        Which columns are categories: by their dtype, or by name, index or mask.
    oob_stop : int, optional
        Stop before `n_estimators` trees when so many of them bring the out-of-bag score (`oob_score`) nothing.
    oob_tol : float, default=1e-4
        The least rise of that score that counts.

    Attributes
    ----------
    estimators_ : list of DecisionTreeClassifier
        The trees.
    classes_, n_classes_ : array and int
        The classes and their number; lists when there are several outputs.
    feature_importances_ : array of shape (n_features,)
        The total decrease of the impurity by the tests of each feature, averaged over trees, of sum 1.
    oob_score_, oob_decision_function_ : float and array
        With `oob_score`: the score and the answers of the trees that were not grown from a row.
    estimators_samples_ : list of arrays
        The rows that each tree was grown from.
    n_outputs_, max_features_ : int
        Outputs learned, and features tried at a node.

    Examples
    --------
    >>> X = [[1, 5], [2, 6], [3, 4], [7, 9], [8, 8], [9, 7]]
    >>> model = ExtraTreesClassifier(n_estimators=20, random_state=0).fit(X, [0, 0, 0, 1, 1, 1])
    >>> model.predict([[0, 3], [9, 9]])
    array([0, 1])
    """

    splitter = "random"

    streams_instead = "RandomForestClassifier, whose trees grow from histograms"

    def __init__(
        self,
        n_estimators: Count = 100,
        *,
        criterion: Literal["gini", "entropy", "log_loss"] = "gini",
        max_depth: Count | None = None,
        min_samples_split: MinSamplesSplit = 2,
        min_samples_leaf: MinSamplesLeaf = 1,
        min_weight_fraction_leaf: Fraction = 0.0,
        max_features: MaxFeatures = "sqrt",
        max_leaf_nodes: AtLeastTwo | None = None,
        min_impurity_decrease: NonNegative = 0.0,
        bootstrap: bool = False,
        oob_score: bool | Callable = False,
        n_jobs: Jobs = None,
        random_state: Seed = None,
        verbose: CountOrZero | bool = 0,
        warm_start: bool = False,
        class_weight: dict | list | Literal["balanced", "balanced_subsample"] | None = None,
        ccp_alpha: NonNegative = 0.0,
        max_samples: MaxSamples = None,
        monotonic_cst: list | tuple | np.ndarray | None = None,
        categorical_features: Features = "from_dtype",
        oob_stop: Count | None = None,
        oob_tol: NonNegative = 1e-4,
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
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
        self.class_weight = class_weight
        self.ccp_alpha = ccp_alpha
        self.max_samples = max_samples
        self.monotonic_cst = monotonic_cst
        self.categorical_features = categorical_features
        self.oob_stop = oob_stop
        self.oob_tol = oob_tol
