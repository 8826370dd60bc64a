"""Extremely randomised classification tree (极端随机树): one random threshold for each feature it tries."""

from __future__ import annotations

from typing import Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.columns import Features
from tercet.core.parameters import Count, Fraction, Jobs, NonNegative, Seed
from tercet.tree.base import AtLeastTwo, MaxFeatures, MinSamplesLeaf, MinSamplesSplit
from tercet.tree.decision_tree_classifier import DecisionTreeClassifier


@method(
    zh="极端随机分类树",
    task="classification",
    model="tests of features from a root to a leaf, which has P(y | x) for all rows that get there",
    strategy="impurity of the leaves: Gini index or entropy",
    algorithms="one random threshold for each of some random features; the best of them is the test",
    texts=["Machine Learning in Depth ch. 8"],
    peers=["sklearn.tree.ExtraTreeClassifier"],
)
class ExtraTreeClassifier(DecisionTreeClassifier):
    """Extremely randomised classification tree, of use in an ensemble.

    A `DecisionTreeClassifier` whose nodes try √d of the d features, each with a threshold drawn between its least
    and its greatest value there, and take the best of these tests.

    Parameters
    ----------
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        The impurity; the last two are one.
    splitter : {"random", "best"}, default="random"
        "best" tries all thresholds of the features.
    max_depth : int, optional
        The largest number of tests on a path to a leaf.
    min_samples_split, min_samples_leaf : int or float, default=2 and 1
        The fewest rows of a node that is split, and of a leaf; a float is a fraction of all rows.
    min_weight_fraction_leaf : float, default=0.0
        The least fraction of the total weight in a leaf.
    max_features : int, float, "sqrt", "log2" or None, default="sqrt"
        How many features each node tries, drawn at random; a float is a fraction of them.
    random_state : int, optional
        Decides every draw: of features and thresholds.
    max_leaf_nodes : int, optional
        The largest number of leaves; growth is then best first.
    min_impurity_decrease : float, default=0.0
        The least decrease of the impurity, times the node's fraction of all rows, of a split.
    class_weight : dict, list of dict or "balanced", optional
        Weights of the classes; a list has a dict for each output.
    ccp_alpha : float, default=0.0
        The complexity parameter of cost-complexity pruning (see `cost_complexity_pruning_path`).
    monotonic_cst : array of -1, 0 and 1, optional
        Features with which the probability of the second of two classes must not fall (1) or rise (-1).
    categorical_features : "from_dtype", list or mask, optional
        Which columns are categories: by their dtype, or by name, index or mask.
    n_jobs : int, optional
        Threads. The tree does not depend on it.

    Attributes
    ----------
    tree_ : Tree
        The nodes, in arrays.
    classes_, n_classes_ : array and int
        The classes and their number; lists when there are several outputs.
    feature_importances_ : array of shape (n_features,)
        The total decrease of the impurity by the tests of each feature, normalised to sum 1.
    n_outputs_, max_features_ : int
        Outputs learned, and features tried at a node.

    Examples
    --------
    >>> X = [[1, 5], [2, 6], [3, 4], [7, 9], [8, 8], [9, 7]]
    >>> model = ExtraTreeClassifier(random_state=0).fit(X, [0, 0, 0, 1, 1, 1])
    >>> model.predict([[0, 3], [9, 9]])
    array([0, 1])
    """

    streaming = False
    streams_instead = "DecisionTreeClassifier, which grows from histograms"

    def __init__(
        self,
        *,
        criterion: Literal["gini", "entropy", "log_loss"] = "gini",
        splitter: Literal["random", "best"] = "random",
        max_depth: Count | None = None,
        min_samples_split: MinSamplesSplit = 2,
        min_samples_leaf: MinSamplesLeaf = 1,
        min_weight_fraction_leaf: Fraction = 0.0,
        max_features: MaxFeatures = "sqrt",
        random_state: Seed = None,
        max_leaf_nodes: AtLeastTwo | None = None,
        min_impurity_decrease: NonNegative = 0.0,
        class_weight: dict | list | Literal["balanced"] | None = None,
        ccp_alpha: NonNegative = 0.0,
        monotonic_cst: list | tuple | np.ndarray | None = None,
        categorical_features: Features = "from_dtype",
        n_jobs: Jobs = None,
    ) -> None:
        super().__init__(
            criterion=criterion,
            splitter=splitter,
            max_depth=max_depth,
            min_samples_split=min_samples_split,
            min_samples_leaf=min_samples_leaf,
            min_weight_fraction_leaf=min_weight_fraction_leaf,
            max_features=max_features,
            random_state=random_state,
            max_leaf_nodes=max_leaf_nodes,
            min_impurity_decrease=min_impurity_decrease,
            class_weight=class_weight,
            ccp_alpha=ccp_alpha,
            monotonic_cst=monotonic_cst,
            categorical_features=categorical_features,
            n_jobs=n_jobs,
        )
