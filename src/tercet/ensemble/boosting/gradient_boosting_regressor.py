"""Gradient boosting of regression trees (梯度提升回归树 GBDT; Li ch. 8, Alg 8.3 and 8.4)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.columns import Features
from tercet.core.estimator import Regressor
from tercet.core.parameters import Count, CountOrZero, Fraction, Jobs, NonNegative, OpenFraction, Range, Seed
from tercet.ensemble.boosting.boosted_numbers import BoostedNumbers
from tercet.ensemble.boosting.boosting_losses import BoostingLoss
from tercet.ensemble.boosting.gradient_boosting import BaseGradientBoosting
from tercet.ensemble.boosting.loss_choice import regression_loss
from tercet.losses import Loss
from tercet.tree import AtLeastTwo, MaxFeatures, MinSamplesLeaf, MinSamplesSplit

Share = Annotated[float, Range(0, 1, "(]")]


@method(
    zh="梯度提升回归",
    task="regression",
    model="F(x) = F_0 + learning rate * sum of trees",
    strategy="squared, absolute, Huber, quantile or Poisson loss, or any other that is differentiable",
    loss="squared",
    convex=False,
    algorithms="each tree is fitted to the negative gradient, its leaves by a line search (Alg 8.4)",
    texts=["Li ch. 8, Alg 8.3, 8.4", "Machine Learning in Depth ch. 2, 8", "watermelon notes ch. 2"],
    peers=["sklearn.ensemble.GradientBoostingRegressor"],
)
class GradientBoostingRegressor(BoostedNumbers, BaseGradientBoosting, Regressor):
    """Gradient boosting: a sum of regression trees, each fitted to the negative gradient of the loss.

    With the squared loss that is the residual, and with learning_rate=1 and init="zero" the boosting tree of the
    text (Alg 8.3). Columns are sorted once for all trees.

    Where an interval minimises the absolute or the quantile loss of a leaf, its value is the midpoint (scikit-learn
    takes the least minimiser), so that negated targets give negated predictions. Gradients of these losses have few
    distinct values, so that several splits often have the same gain: the first feature is taken (scikit-learn draws
    one by random_state). Both models fit equally well, but on targets with outliers single predictions may differ.
    The Huber loss takes Friedman's step from the median of a leaf, as scikit-learn does.

    Parameters
    ----------
    loss : {"squared_error", "absolute_error", "huber", "quantile", "poisson"} or Loss, default="squared_error"
        What is minimised; an object of `tercet.losses`, or one like it, stands for any other loss. "poisson" is for
        counts: the answer is exp(F).
    learning_rate : float, default=0.1
        Shrinks every tree.
    n_estimators : int, default=100
        The most rounds.
    subsample : float, default=1.0
        The fraction of the rows that a round draws.
    criterion : str, optional
        There for scikit-learn's sake, where it is deprecated.
    min_samples_split, min_samples_leaf : int or float, default=2 and 1
        The fewest rows of a node that is split, and of a leaf; a float is a fraction of all rows.
    min_weight_fraction_leaf : float, default=0.0
        The least fraction of the total weight in a leaf.
    max_depth : int or None, default=3
        The largest number of tests on a path to a leaf.
    min_impurity_decrease : float, default=0.0
        The least decrease of the impurity, times the node's fraction of all rows, of a split.
    init : estimator or "zero", optional
        Where boosting starts: the best constant, 0, or the predictions of an estimator.
    random_state : int, optional
        Decides the rows of the rounds, the features that nodes try, and the rows held out.
    max_features : int, float, "sqrt" or "log2", optional
        How many features each node tries, drawn at random; a float is a fraction of them.
    alpha : float, default=0.9
        The quantile of "quantile", and that of the absolute residuals beyond which "huber" is linear.
    verbose : int, default=0
        1 prints a table of the losses of some rounds, 2 of all.
    max_leaf_nodes : int, optional
        The largest number of leaves of a tree; growth is then best first.
    warm_start : bool, default=False
        Whether `fit` keeps the rounds of the fit before, and only adds those that are missing.
    validation_fraction : float, default=0.1
        The fraction of the rows to hold out for early stopping, if `fit` is not given any.
    n_iter_no_change : int, optional
        Stop when the loss of held-out rows has not fallen by `tol` in so many rounds.
    tol : float, default=1e-4
        The least fall of that loss that counts.
    ccp_alpha : float, default=0.0
        The complexity parameter of cost-complexity pruning.
    categorical_features : "from_dtype", list or mask, optional
        Which columns are categories: by their dtype, or by name, index or mask.
    second_order : bool, default=False
        Whether splits are chosen by gradients and hessians, as in XGBoost's exact greedy search: every threshold is
        tried, and one gains G_L² / H_L + G_R² / H_R - G² / H. By default trees fit the gradients by least squares.
    l2_regularization, l1_regularization : float, default=0.0
        lambda and alpha, the penalties of the leaf values with `second_order`: a leaf is -T(G) / (H + lambda), and
        a split gains T(G_L)² / (H_L + lambda) + T(G_R)² / (H_R + lambda) - T(G)² / (H + lambda), where T moves a
        sum towards 0 by alpha. Losses without a second derivative keep their leaf values.
    min_gain : float, default=0.0
        gamma, what a split must gain with `second_order`.
    keep_best : bool, default=True
        Whether predictions after early stopping come from the rounds up to the best one (`best_iteration_`); False
        takes all rounds that were made, as scikit-learn does. `staged_predict` goes through all of them.
    n_jobs : int, optional
        Threads. The model does not depend on it.

    Attributes
    ----------
    estimators_ : array of DecisionTreeRegressor of shape (n_estimators_, 1)
        The trees.
    n_estimators_, n_trees_per_iteration_ : int
        The rounds made, and the trees of one.
    init_ : array or estimator
        Where boosting started.
    train_score_ : array of shape (n_estimators_,)
        The loss of the rows of each round, after it.
    validation_score_ : array of shape (n_estimators_,)
        The loss of the held-out rows after each round, with early stopping.
    best_iteration_ : int
        The round of their least loss, counted from 1; without early stopping the last round.
    best_score_ : float
        That loss; without early stopping that of the training rows.
    oob_improvement_, oob_scores_, oob_score_ : arrays and float
        With `subsample` below 1: the fall of the loss of the rows that a round left out, that loss, and the last.
    feature_importances_ : array of shape (n_features,)
        The total decrease of the squared error by the tests of each feature, of sum 1.

    Examples
    --------
    >>> X, y = np.arange(1.0, 11.0)[:, None], [5.56, 5.70, 5.91, 6.40, 6.80, 7.05, 8.90, 8.70, 9.00, 9.05]
    >>> model = GradientBoostingRegressor(n_estimators=6, learning_rate=1.0, max_depth=1, init="zero").fit(
    ...     X, y
    ... )
    >>> model.train_score_.round(3)[[0, 5]] * 10, model.predict([[2.0], [9.0]]).round(2)
    (array([1.93, 0.17]), array([5.63, 8.95]))
    """

    def __init__(
        self,
        *,
        loss: Literal["squared_error", "absolute_error", "huber", "quantile", "poisson"]
        | Loss = "squared_error",
        learning_rate: NonNegative = 0.1,
        n_estimators: Count = 100,
        subsample: Share = 1.0,
        criterion: str | None = "deprecated",
        min_samples_split: MinSamplesSplit = 2,
        min_samples_leaf: MinSamplesLeaf = 1,
        min_weight_fraction_leaf: Fraction = 0.0,
        max_depth: Count | None = 3,
        min_impurity_decrease: NonNegative = 0.0,
        init: Any = None,
        random_state: Seed = None,
        max_features: MaxFeatures = None,
        alpha: OpenFraction = 0.9,
        verbose: CountOrZero | bool = 0,
        max_leaf_nodes: AtLeastTwo | None = None,
        warm_start: bool = False,
        validation_fraction: OpenFraction = 0.1,
        n_iter_no_change: Count | None = None,
        tol: NonNegative = 1e-4,
        ccp_alpha: NonNegative = 0.0,
        categorical_features: Features = "from_dtype",
        second_order: bool = False,
        l2_regularization: NonNegative = 0.0,
        l1_regularization: NonNegative = 0.0,
        min_gain: NonNegative = 0.0,
        keep_best: bool = True,
        n_jobs: Jobs = None,
    ) -> None:
        self.loss = loss
        self.learning_rate = learning_rate
        self.n_estimators = n_estimators
        self.subsample = subsample
        self.criterion = criterion
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_depth = max_depth
        self.min_impurity_decrease = min_impurity_decrease
        self.init = init
        self.random_state = random_state
        self.max_features = max_features
        self.alpha = alpha
        self.verbose = verbose
        self.max_leaf_nodes = max_leaf_nodes
        self.warm_start = warm_start
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.ccp_alpha = ccp_alpha
        self.categorical_features = categorical_features
        self.second_order = second_order
        self.l2_regularization = l2_regularization
        self.l1_regularization = l1_regularization
        self.min_gain = min_gain
        self.keep_best = keep_best
        self.n_jobs = n_jobs

    monotonic_cst = None

    def _loss_of(self) -> BoostingLoss:
        return regression_loss(self.loss, self.alpha)

    def apply(self, X: Any) -> np.ndarray:
        """The leaf that each row comes to in every tree.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        array of shape (n_samples, n_estimators)
        """
        return super().apply(X)[:, :, 0]
