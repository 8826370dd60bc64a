"""Regression trees (回归树): CART with the least squared error (Li ch. 5, Alg 5.5)."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.columns import Features
from tercet.core.estimator import Regressor
from tercet.core.parameters import Count, Fraction, Jobs, NonNegative, OpenFraction, Seed
from tercet.core.streams import is_streamed
from tercet.tree.base import (
    AtLeastTwo,
    BaseDecisionTree,
    Folds,
    MaxFeatures,
    MinSamplesLeaf,
    MinSamplesSplit,
    Pruning,
)


@method(
    zh="回归决策树",
    task="regression",
    model="tests of features from a root to a leaf, which has one value for all rows that get there",
    strategy="squared, absolute or Poisson error of the leaves, with a price for each leaf when pruned",
    loss="squared",
    convex=False,
    algorithms="binary tests with the greatest fall of the error (CART)",
    texts=["Li ch. 5, Alg 5.5, 5.7", "Machine Learning in Depth ch. 8", "watermelon notes ch. 2"],
    peers=["sklearn.tree.DecisionTreeRegressor", "snapml.DecisionTreeRegressor"],
)
class DecisionTreeRegressor(BaseDecisionTree, Regressor):
    """Tree of tests that ends in a mean or a median.

    Every node is cut at the feature j and the threshold s with the least
    sum over x_j <= s of (y - c1)² + sum over x_j > s of (y - c2)², where c1 and c2 are the means of the two sides;
    ties take the first feature and the smallest threshold. Absolute error has medians for means and |y - c| for
    squares.

    Columns of strings, or of a frame's categorical dtype, are categories, and tests divide them into two sets. NaN
    and None are missing values: they go to the side where the test gains most by it.

    Parameters
    ----------
    criterion : {"squared_error", "absolute_error", "poisson"}, default="squared_error"
        The error of a leaf: (y - mean)², |y - median|, or y log(y / mean) for counts and other y >= 0.
        "friedman_mse", which always was the first, is deprecated.
    splitter : {"best", "random"}, default="best"
        "random" draws one threshold for each feature and takes the best of these.
    max_depth : int, optional
        The largest number of tests on a path to a leaf.
    min_samples_split, min_samples_leaf : int or float, default=2 and 1
        The fewest rows of a node that is split, and of a leaf; a float is a fraction of all rows.
    min_weight_fraction_leaf : float, default=0.0
        The least fraction of the total weight in a leaf.
    max_features : int, float, "sqrt" or "log2", optional
        How many features each node tries, drawn at random; a float is a fraction of them.
    random_state : int, optional
        Decides every draw: of features, thresholds, held-out rows and folds.
    max_leaf_nodes : int, optional
        The largest number of leaves; growth is then best first.
    min_impurity_decrease : float, default=0.0
        The least decrease of the impurity, times the node's fraction of all rows, of a split.
    ccp_alpha : float, default=0.0
        The complexity parameter of cost-complexity pruning (see `cost_complexity_pruning_path`).
    monotonic_cst : array of -1, 0 and 1, optional
        Features with which the answer must not fall (1) or rise (-1).
    algorithm : {"cart"}, default="cart"
        The only one for numbers.
    categorical_features : "from_dtype", list or mask, optional
        Which columns are categories: by their dtype, or by name, index or mask.
    category_tests : {"subset", "value"}, default="subset"
        "cart" tests whether a category is in a set; or whether it is one value, against the rest, as the texts do.
    min_impurity : float, default=0.0
        A node of less impurity than this is a leaf, whatever the gain of a split.
    pruning : {"cost", "reduced_error", "pre", "validation", "cv"}, optional
        What to do to the grown tree: minimise error + `alpha` for each leaf; replace subtrees by leaves where
        held-out rows are answered better; keep tests only where they are at once; or take the subtree of the
        cost-complexity sequence that is best on held-out rows or in cross-validation.
    alpha : float, default=0.0
        The price of a leaf for pruning="cost", in the error of all rows.
    validation_fraction : float, default=0.2
        The fraction of the rows to hold out where the pruning needs some and `fit` is not given any.
    pruning_ties : bool, default=False
        Whether pruning="reduced_error" also takes the leaf where it is as good.
    cv : int, splitter or list of pairs, default=5
        The folds of pruning="cv": how many, or which rows to grow from and to hold out.
    max_bins : int, optional
        Bin numeric features first (histogram growth): faster on many rows, a little coarser. A source that does not
        fit into memory is always binned, into 255 bins by default: thresholds lie between bins of about equal
        weight, not between all values, and the tree is that of the same `max_bins` in memory.
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
    categories_ : list of arrays
        The values of each column of categories; None for numbers.
    alpha_, alphas_, losses_ : float and arrays
        With pruning="validation" or "cv": the chosen alpha, all candidates, and their losses.

    Examples
    --------
    >>> X = [[1], [2], [3], [4], [5], [6]]
    >>> model = DecisionTreeRegressor(max_depth=1).fit(X, [1.0, 1.2, 1.1, 3.0, 3.2, 5.0])
    >>> model.tree_.threshold[0], model.predict([[2], [5]]).round(4)
    (np.float64(3.5), array([1.1   , 3.7333]))
    """

    streaming = True

    def __init__(
        self,
        *,
        criterion: Literal["squared_error", "absolute_error", "poisson"] = "squared_error",
        splitter: Literal["best", "random"] = "best",
        max_depth: Count | None = None,
        min_samples_split: MinSamplesSplit = 2,
        min_samples_leaf: MinSamplesLeaf = 1,
        min_weight_fraction_leaf: Fraction = 0.0,
        max_features: MaxFeatures = None,
        random_state: Seed = None,
        max_leaf_nodes: AtLeastTwo | None = None,
        min_impurity_decrease: NonNegative = 0.0,
        ccp_alpha: NonNegative = 0.0,
        monotonic_cst: list | tuple | np.ndarray | None = None,
        algorithm: Literal["cart"] = "cart",
        categorical_features: Features = "from_dtype",
        category_tests: Literal["subset", "value"] = "subset",
        min_impurity: NonNegative = 0.0,
        pruning: Pruning = None,
        alpha: NonNegative = 0.0,
        validation_fraction: OpenFraction = 0.2,
        pruning_ties: bool = False,
        cv: Folds = 5,
        max_bins: AtLeastTwo | None = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.criterion = current_criterion(criterion)
        self.splitter = splitter
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.random_state = random_state
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.ccp_alpha = ccp_alpha
        self.monotonic_cst = monotonic_cst
        self.algorithm = algorithm
        self.categorical_features = categorical_features
        self.category_tests = category_tests
        self.min_impurity = min_impurity
        self.pruning = pruning
        self.alpha = alpha
        self.validation_fraction = validation_fraction
        self.pruning_ties = pruning_ties
        self.cv = cv
        self.max_bins = max_bins
        self.n_jobs = n_jobs

    def _fit(
        self, X: Any, y: Any, sample_weight: np.ndarray | None, held_out: tuple[Any, Any] = (None, None)
    ) -> None:
        if is_streamed(X):
            self._fit_streamed(X, y, sample_weight)
            return
        if self.criterion == "poisson":
            self._check_counts(y)
        sample, held, seed = self._prepare(X, y, sample_weight, held_out)
        tree = self._grow_cart(*sample, seed)  # Alg 5.5
        self.tree_ = self._prune(tree, sample, held, seed, self._grow_cart)  # Alg 5.7

    def _check_counts(self, y: np.ndarray) -> None:
        name = type(self).__name__
        if y.min() < 0:
            raise ValueError(
                f"{name}: Some values of y are negative, the least is {y.min()}; the Poisson deviance "
                "(criterion='poisson') needs y >= 0."
            )
        if y.sum() <= 0:
            raise ValueError(
                f"{name}: the sum of y is not positive; the Poisson deviance (criterion='poisson') needs a y > 0."
            )

    def predict(self, X: Any, check_input: bool = True) -> np.ndarray:
        """The value of the leaf that each row comes to.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            The rows.
        check_input : bool, default=True
            False takes X for an array of floats as `fit` saw them.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_outputs)
        """
        value = self._leaf_values(X, check_input)[:, :, 0]
        return value[:, 0] if self.n_outputs_ == 1 else value


def current_criterion(criterion: Any) -> Any:
    """The criterion itself; "squared_error" for its deprecated other name, with a warning.

    Examples
    --------
    >>> current_criterion("absolute_error")
    'absolute_error'
    """
    if isinstance(criterion, str) and criterion == "friedman_mse":
        warnings.warn(
            'criterion="friedman_mse" is deprecated, as in scikit-learn, which removes it in 1.11; it is the same '
            'as criterion="squared_error".',
            FutureWarning,
            stacklevel=3,
        )
        return "squared_error"
    return criterion
