"""Histogram gradient boosting for numbers (XGBoost, LightGBM 式梯度提升; Machine Learning in Depth ch. 8)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.columns import Features
from tercet.core.estimator import Regressor
from tercet.core.parameters import Count, CountOrZero, Fraction, Jobs, NonNegative, OpenFraction, Seed
from tercet.ensemble.boosting.boosted_numbers import BoostedNumbers
from tercet.ensemble.boosting.hist_gradient_boosting import BaseHistGradientBoosting, Bins, Share
from tercet.ensemble.boosting.loss_choice import regression_loss
from tercet.losses import Loss
from tercet.tree import AtLeastTwo


@method(
    zh="直方图梯度提升回归",
    task="regression",
    model="F(x) = F_0 + learning rate * sum of trees",
    strategy="squared, absolute, quantile, Poisson or gamma loss, with a penalty on the leaf values",
    loss="squared",
    convex=False,
    algorithms="second-order boosting: leaves -G / (H + lambda), splits of binned columns by their gain",
    texts=["Machine Learning in Depth ch. 8, 8.3 to 8.7", "Li ch. 8, Alg 8.4"],
    peers=[
        "sklearn.ensemble.HistGradientBoostingRegressor",
        "lightgbm.LGBMRegressor",
        "xgboost.XGBRegressor",
    ],
)
class HistGradientBoostingRegressor(BoostedNumbers, BaseHistGradientBoosting, Regressor):
    """Histogram gradient boosting: trees grown from gradients and hessians of binned columns.

    A leaf with the sums G and H of gradients and hessians has the value -G / (H + lambda); a split must gain
    G_L² / (H_L + lambda) + G_R² / (H_R + lambda) - G² / (H + lambda) > gamma. Missing values go to the side where
    they gain more; a set of categories is split from all others; unseen ones are treated as missing.

    With the absolute and the quantile loss a leaf takes the median or quantile of its residuals, the midpoint where
    an interval minimises the loss; scikit-learn interpolates quantiles linearly, which does not minimise it. Of
    splits of the same gain, frequent with these losses, the first is taken, and no split is made without gain.

    Parameters
    ----------
    loss : {"squared_error", "absolute_error", "gamma", "poisson", "quantile"}, Loss or callable, \
            default="squared_error"
        What is minimised; an object of `tercet.losses`, or one like it with `value`, `gradient` and `curvature`,
        stands for any other loss, and so does a function `loss(y, F)` that returns gradients and hessians.
        "gamma" and "poisson" answer exp(F).
    quantile : float, optional
        The quantile of loss="quantile".
    learning_rate : float, default=0.1
        Shrinks every tree.
    max_iter : int, default=100
        The most rounds.
    max_leaf_nodes : int or None, default=31
        The most leaves of a tree; the leaf of the largest gain is split next. None with a `max_depth` is
        level-wise growth.
    max_depth : int, optional
        The largest number of tests on a path to a leaf.
    min_samples_leaf : int, default=20
        The fewest rows of a leaf.
    l2_regularization : float, default=0.0
        lambda, the L2 penalty of the leaf values.
    max_features : float, default=1.0
        The fraction of the features that a node tries, drawn at random.
    max_bins : int, default=255
        The most bins of a feature; missing values have one more.
    categorical_features : "from_dtype", list or mask, optional
        Which columns are categories: by their dtype, or by name, index or mask.
    monotonic_cst : array or dict of -1, 0 and 1, optional
        Features with which the answer must not fall (1) or rise (-1).
    interaction_cst : {"pairwise", "no_interactions"} or list of groups of features, optional
        The features that may be tested on one path of a tree.
    warm_start : bool, default=False
        Whether `fit` keeps the rounds of the fit before, and only adds those that are missing.
    early_stopping : "auto" or bool, default="auto"
        Whether to stop when the score no longer rises; "auto" does with over 10 000 rows, or rows given for it.
    scoring : str, callable or None, default="loss"
        The score that decides; None is the estimator's own.
    validation_fraction : float or None, default=0.1
        The fraction of the rows to hold out for it; None scores the training rows.
    n_iter_no_change : int, default=10
        Stop when so many rounds bring nothing.
    tol : float, default=1e-7
        The least rise of the score that counts.
    verbose : int, default=0
        There for scikit-learn's sake; register a `ProgressBar` callback to watch a fit.
    random_state : int, optional
        Decides the rows held out, the features that nodes try, and the rows of the rounds.
    min_gain : float, default=0.0
        gamma, what a split must gain.
    l1_regularization : float, default=0.0
        alpha, the L1 penalty of the leaf values: T(G), which is G moved towards 0 by alpha, takes the place of G in
        leaf values and gains.
    max_features_by_tree, max_features_by_level : float, default=1.0
        The fraction of the features that are drawn for each tree, and of those the fraction for all nodes of one
        depth, of which `max_features` are tried by a node.
    rebin : {"never", "tree", "node"}, default="never"
        When the features are binned: once for all rounds, with equal numbers of rows to a bin; or anew with equal
        sums of hessians, for each tree, or for each node from its own rows (the global and the local candidates of
        XGBoost's approximate algorithm), which takes much longer.
    subsample : float, default=1.0
        The fraction of the rows that a round draws.
    sampling : {"uniform", "goss"}, default="uniform"
        How a round draws its rows: at random, or by gradient-based one-side sampling, which takes all rows with
        large gradients, and some of the others with more weight.
    top_rate, other_rate : float, default=0.2 and 0.1
        The fractions of the rows that sampling="goss" takes for their gradients, and draws from the others; at
        most 1 together.
    cat_smooth : float, default=20.0
        The categories of a node are sorted by G / (H + cat_smooth) to find the best set; those of fewer rows than
        this are not in it.
    cat_l2 : float, default=10.0
        Added to lambda in the gain of a split by a set of categories.
    max_cat_threshold : int, default=32
        The most categories of such a set, of those that have a bin of their own; it takes half of them at most.
    max_cat_to_onehot : int, default=4
        With so many categories or fewer in a node each is tried against all others.
    min_data_per_group : int, default=100
        The fewest rows by which a set of categories grows.
    keep_best : bool, default=True
        Whether predictions after early stopping come from the rounds up to the best one (`best_iteration_`); False
        takes all rounds that were made, as scikit-learn does. `staged_predict` goes through all of them.
    n_jobs : int, optional
        Threads, by default all cores for large data; the model does not depend on it.

    Attributes
    ----------
    trees_ : list of lists of Tree
        The trees of each round.
    n_iter_, n_trees_per_iteration_ : int
        The rounds made, and the trees of one.
    train_score_, validation_score_ : arrays of shape (n_iter_ + 1,)
        The scores after each round, from that of the start on; the second is empty without early stopping.
    best_iteration_ : int
        The round of the best score that decides on early stopping, counted from 1; without it the last round.
    best_score_ : float
        The score after that round, of the rows held out if there are any.
    do_early_stopping_ : bool
    is_categorical_ : array of shape (n_features,) or None
        Which features are categories.
    feature_importances_ : array of shape (n_features,)
        The total gain of the tests of each feature, of sum 1.

    Examples
    --------
    >>> X = np.linspace(0, 1, 200)[:, None]
    >>> model = HistGradientBoostingRegressor(max_iter=20).fit(X, np.sin(6 * X[:, 0]))
    >>> model.predict([[0.25]]).round(1)
    array([0.9])
    """

    streaming = True

    def __init__(
        self,
        loss: Literal["squared_error", "absolute_error", "gamma", "poisson", "quantile"]
        | Loss
        | Callable = "squared_error",
        *,
        quantile: Fraction | None = None,
        learning_rate: NonNegative = 0.1,
        max_iter: Count = 100,
        max_leaf_nodes: AtLeastTwo | None = 31,
        max_depth: Count | None = None,
        min_samples_leaf: Count = 20,
        l2_regularization: NonNegative = 0.0,
        max_features: Share = 1.0,
        max_bins: Bins = 255,
        categorical_features: Features = "from_dtype",
        monotonic_cst: list | tuple | np.ndarray | dict | None = None,
        interaction_cst: Literal["pairwise", "no_interactions"] | list | tuple | None = None,
        warm_start: bool = False,
        early_stopping: Literal["auto"] | bool = "auto",
        scoring: str | Callable | None = "loss",
        validation_fraction: Count | OpenFraction | None = 0.1,
        n_iter_no_change: Count = 10,
        tol: NonNegative = 1e-7,
        verbose: CountOrZero | bool = 0,
        random_state: Seed = None,
        min_gain: NonNegative = 0.0,
        l1_regularization: NonNegative = 0.0,
        max_features_by_tree: Share = 1.0,
        max_features_by_level: Share = 1.0,
        rebin: Literal["never", "tree", "node"] = "never",
        subsample: Share = 1.0,
        sampling: Literal["uniform", "goss"] = "uniform",
        top_rate: Share = 0.2,
        other_rate: Share = 0.1,
        cat_smooth: NonNegative = 20.0,
        cat_l2: NonNegative = 10.0,
        max_cat_threshold: Count = 32,
        max_cat_to_onehot: Count = 4,
        min_data_per_group: Count = 100,
        keep_best: bool = True,
        n_jobs: Jobs = None,
    ) -> None:
        self.loss = loss
        self.quantile = quantile
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.l2_regularization = l2_regularization
        self.max_features = max_features
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.warm_start = warm_start
        self.early_stopping = early_stopping
        self.scoring = scoring
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state
        self.min_gain = min_gain
        self.l1_regularization = l1_regularization
        self.max_features_by_tree = max_features_by_tree
        self.max_features_by_level = max_features_by_level
        self.rebin = rebin
        self.subsample = subsample
        self.sampling = sampling
        self.top_rate = top_rate
        self.other_rate = other_rate
        self.cat_smooth = cat_smooth
        self.cat_l2 = cat_l2
        self.max_cat_threshold = max_cat_threshold
        self.max_cat_to_onehot = max_cat_to_onehot
        self.min_data_per_group = min_data_per_group
        self.keep_best = keep_best
        self.n_jobs = n_jobs

    def _loss_of(self) -> Any:
        if self.loss == "quantile" and self.quantile is None:
            raise ValueError(
                f"{type(self).__name__}: loss='quantile' needs the parameter 'quantile', from 0 to 1."
            )
        return regression_loss(self.loss, 0.5 if self.quantile is None else self.quantile)

    def _encode(self, y: Any) -> np.ndarray:
        y = super()._encode(y)
        self._refuse_targets(float(y.min()), float(y.sum()))
        return y

    def _refuse_targets(self, least: float, total: float) -> None:
        """Refuse targets that the loss does not take, by the least of them and their sum."""
        if self.loss == "gamma" and least <= 0:
            raise ValueError(
                f"{type(self).__name__}: loss='gamma' requires strictly positive y; got {least}."
            )
        if self.loss == "poisson" and (least < 0 or total <= 0):
            raise ValueError(
                f"{type(self).__name__}: loss='poisson' requires non-negative y and sum(y) > 0; the least is "
                f"{least}."
            )
