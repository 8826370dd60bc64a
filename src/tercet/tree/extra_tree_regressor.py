"""Extremely randomised regression tree (极端随机树): one random threshold for each feature it tries."""

from __future__ import annotations

from typing import Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.columns import Features
from tercet.core.parameters import Count, Fraction, Jobs, NonNegative, Seed
from tercet.tree.base import AtLeastTwo, MaxFeatures, MinSamplesLeaf, MinSamplesSplit
from tercet.tree.decision_tree_regressor import DecisionTreeRegressor, current_criterion


@method(
    zh="极端随机回归树",
    task="regression",
    model="tests of features from a root to a leaf, which has one value for all rows that get there",
    strategy="squared, absolute or Poisson error of the leaves",
    algorithms="one random threshold for each of some random features; the best of them is the test",
    texts=["Machine Learning in Depth ch. 8"],
    peers=["sklearn.tree.ExtraTreeRegressor"],
)
class ExtraTreeRegressor(DecisionTreeRegressor):
    """Extremely randomised regression tree, of use in an ensemble.

    A `DecisionTreeRegressor` whose nodes try one threshold of each feature, drawn between its least and its
    greatest value there, and take the best of these tests.

    Parameters
    ----------
    criterion : {"squared_error", "absolute_error", "poisson"}, default="squared_error"
        The error of a leaf; "friedman_mse", which always was the first, is deprecated.
    splitter : {"random", "best"}, default="random"
        "best" tries all thresholds of the features.
    max_depth : int, optional
        The largest number of tests on a path to a leaf.
    min_samples_split, min_samples_leaf : int or float, default=2 and 1
        The fewest rows of a node that is split, and of a leaf; a float is a fraction of all rows.
    min_weight_fraction_leaf : float, default=0.0
        The least fraction of the total weight in a leaf.
    max_features : int, float, "sqrt", "log2" or None, default=1.0
        How many features each node tries, drawn at random; a float is a fraction of them.
    random_state : int, optional
        Decides every draw: of features and thresholds.
    max_leaf_nodes : int, optional
        The largest number of leaves; growth is then best first.
    min_impurity_decrease : float, default=0.0
        The least decrease of the impurity, times the node's fraction of all rows, of a split.
    ccp_alpha : float, default=0.0
        The complexity parameter of cost-complexity pruning (see `cost_complexity_pruning_path`).
    monotonic_cst : array of -1, 0 and 1, optional
        Features with which the answer must not fall (1) or rise (-1).
    categorical_features : "from_dtype", list or mask, optional
        Which columns are categories: by their dtype, or by name, index or mask.
    n_jobs : int, optional
        Threads. The tree does not depend on it.

    Attributes
    ----------
    tree_ : Tree
        The nodes, in arrays.
    feature_importances_ : array of shape (n_features,)
        The total decrease of the impurity by the tests of each feature, normalised to sum 1.
    n_outputs_, max_features_ : int
        Outputs learned, and features tried at a node.

    Examples
    --------
    >>> X = [[1, 5], [2, 6], [3, 4], [7, 9], [8, 8], [9, 7]]
    >>> model = ExtraTreeRegressor(random_state=0).fit(X, [1.0, 1.0, 1.0, 3.0, 3.0, 3.0])
    >>> model.predict([[0, 3], [9, 9]])
    array([1., 3.])
    """

    streaming = False
    streams_instead = "DecisionTreeRegressor, which grows from histograms"

    def __init__(
        self,
        *,
        criterion: Literal["squared_error", "absolute_error", "poisson"] = "squared_error",
        splitter: Literal["random", "best"] = "random",
        max_depth: Count | None = None,
        min_samples_split: MinSamplesSplit = 2,
        min_samples_leaf: MinSamplesLeaf = 1,
        min_weight_fraction_leaf: Fraction = 0.0,
        max_features: MaxFeatures = 1.0,
        random_state: Seed = None,
        max_leaf_nodes: AtLeastTwo | None = None,
        min_impurity_decrease: NonNegative = 0.0,
        ccp_alpha: NonNegative = 0.0,
        monotonic_cst: list | tuple | np.ndarray | None = None,
        categorical_features: Features = "from_dtype",
        n_jobs: Jobs = None,
    ) -> None:
        super().__init__(
            criterion=current_criterion(criterion),
            splitter=splitter,
            max_depth=max_depth,
            min_samples_split=min_samples_split,
            min_samples_leaf=min_samples_leaf,
            min_weight_fraction_leaf=min_weight_fraction_leaf,
            max_features=max_features,
            random_state=random_state,
            max_leaf_nodes=max_leaf_nodes,
            min_impurity_decrease=min_impurity_decrease,
            ccp_alpha=ccp_alpha,
            monotonic_cst=monotonic_cst,
            categorical_features=categorical_features,
            n_jobs=n_jobs,
        )
