"""Histogram gradient boosting for rankings (LambdaMART 排序学习)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, Self

import numpy as np

from tercet.core.catalog import method
from tercet.core.columns import Features
from tercet.core.estimator import Estimator
from tercet.core.input_errors import Explaining
from tercet.core.parameters import Count, Jobs, NonNegative, OpenFraction, Seed
from tercet.ensemble.boosting.hist_gradient_boosting import BaseHistGradientBoosting, Bins, Share
from tercet.ensemble.boosting.lambda_rank import LambdaRankLoss, query_numbers
from tercet.metrics import ndcg
from tercet.tree import AtLeastTwo

MOST_RELEVANT = 100.0  # whose gain 2^y - 1 is still a number that can be added up


@method(
    zh="直方图梯度提升排序",
    task="ranking",
    model="F(x) = learning rate * sum of trees; items of a query are ranked by F",
    strategy="log(1 + exp(F_j - F_i)) over pairs with y_i > y_j, weighted by the change of NDCG",
    algorithms={
        "lambdarank": "pairs weighted by how NDCG changes when they change places (LambdaMART)",
        "pairwise": "all pairs alike (RankNet)",
    },
    texts=["Machine Learning in Depth ch. 8, 8.3 to 8.7"],
    peers=["lightgbm.LGBMRanker", "xgboost.XGBRanker"],
)
class HistGradientBoostingRanker(BaseHistGradientBoosting, Estimator):
    """Histogram gradient boosting that learns to rank the items of queries by their relevance.

    Rows are items, y says how relevant they are to their query (0, 1, 2 ...), and `qid` or `group` which rows are
    of one query; without either all rows are the items of a single query. The trees are those of
    `HistGradientBoostingRegressor`, from gradients and hessians of pairs of items. There are no sample weights: an
    item that is there twice takes two places.

    Parameters
    ----------
    loss : {"lambdarank", "pairwise"}, default="lambdarank"
        Whether pairs are weighted by the change of NDCG when they change places, or alike.
    k : int, optional
        The places that count in NDCG, and in the pairs, one of which must be among them; all by default.
    gain : {"exponential", "linear"}, default="exponential"
        What a relevance y is worth: 2^y - 1, or y.
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
        Whether to stop when NDCG no longer rises; "auto" does with over 10 000 rows, or rows given for it.
    validation_fraction : float or int or None, default=0.1
        The fraction of the queries, or how many, to hold out for it; None scores the training rows.
    n_iter_no_change : int, default=10
        Stop when so many rounds bring nothing.
    tol : float, default=1e-7
        The least rise of the score that counts.
    random_state : int, optional
        Decides the queries held out, the features that nodes try, and the rows of the rounds.
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
        The tree of each round.
    n_iter_, n_trees_per_iteration_ : int
        The rounds made, and the trees of one.
    train_score_, validation_score_ : arrays of shape (n_iter_ + 1,)
        NDCG after each round, from that of the start on; the second is empty without early stopping.
    best_iteration_ : int
        The round of the best score that decides on early stopping, counted from 1; without it the last round.
    best_score_ : float
        The NDCG after that round, of the rows held out if there are any.
    do_early_stopping_ : bool
    is_categorical_ : array of shape (n_features,) or None
        Which features are categories.
    feature_importances_ : array of shape (n_features,)
        The total gain of the tests of each feature, of sum 1.

    Examples
    --------
    >>> X, y = np.array([[1.0], [2.0], [3.0], [3.0], [1.0], [2.0]]), [0, 1, 2, 1, 0, 1]
    >>> model = HistGradientBoostingRanker(max_iter=5, min_samples_leaf=1).fit(X, y, qid=[0, 0, 0, 1, 1, 1])
    >>> model.predict([[1.0], [2.0], [3.0]]).argsort()
    array([0, 1, 2])
    """

    scoring = "loss"

    def __init__(
        self,
        loss: Literal["lambdarank", "pairwise"] = "lambdarank",
        *,
        k: Count | None = None,
        gain: Literal["exponential", "linear"] = "exponential",
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
        validation_fraction: Count | OpenFraction | None = 0.1,
        n_iter_no_change: Count = 10,
        tol: NonNegative = 1e-7,
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
        self.k = k
        self.gain = gain
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
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
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

    def fit(  # type: ignore[override]
        self,
        X: Any,
        y: Any,
        qid: Any = None,
        *,
        group: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        qid_val: Any = None,
        group_val: Any = None,
        init_score: Any = None,
        init_score_val: Any = None,
    ) -> Self:
        """Fit trees one after the other to gradients and hessians of pairs of items.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            The items; NaN and None are missing values.
        y : array of shape (n_samples,)
            How relevant each is: numbers from 0 on.
        qid : array of shape (n_samples,), optional
            The query that each item belongs to. Without `qid` and `group` all rows are taken as one query.
        group : array of ints, optional
            In place of `qid`, the numbers of rows of consecutive queries.
        X_val, y_val, qid_val, group_val : arrays, optional
            Rows for early stopping, in place of a `validation_fraction` of the queries.
        init_score, init_score_val : arrays of shape (n_samples,), optional
            Scores F from which boosting starts, such as those of another model, for the rows, and for those of
            X_val. They are no part of the model: add them to its scores yourself.

        Returns
        -------
        self
        """
        more = {"queries": (qid, group), "held_out": (X_val, y_val, qid_val, group_val)}
        return self._learn(X, y, None, **more, init_score=(init_score, init_score_val))

    def _loss_of(self) -> Any:
        return LambdaRankLoss(self.k, self.gain, self.loss == "lambdarank", self.n_jobs)

    def _encode(self, y: Any) -> np.ndarray:
        with Explaining(y=y):
            y = np.asarray(y, dtype=np.float64)
        if y.min() < 0 or y.max() > MOST_RELEVANT:
            raise ValueError(
                f"{type(self).__name__}: y must be relevances from 0 to {MOST_RELEVANT:g}; got numbers from "
                f"{y.min():g} to {y.max():g}."
            )
        return y

    def _fit(  # type: ignore[override]
        self,
        X: Any,
        y: np.ndarray,
        sample_weight: None,
        queries: tuple[Any, Any] = (None, None),
        held_out: tuple[Any, ...] = (None,) * 4,
        init_score: tuple[Any, Any] = (None, None),
    ) -> None:
        # The loss is one of queries: rows of a query stand together, and the targets name it.
        target, order = self._by_query(y, *queries)
        first = None if init_score[0] is None else np.asarray(init_score[0])
        if first is not None and len(first) == len(y):
            first = first[order]
        given: Any = held_out
        super()._fit(self._dense(X)[order], target, None, given, (first, init_score[1]))

    def _by_query(self, y: np.ndarray, qid: Any, group: Any, what: str = "") -> tuple[np.ndarray, np.ndarray]:
        """Relevances and query numbers, query by query, and the order of the rows in that."""
        queries = query_numbers(type(self).__name__, len(y), qid, group, what)
        order = np.argsort(queries, kind="stable")
        return np.column_stack([y, queries])[order], order

    def _hold_out(self, X: np.ndarray, y: np.ndarray, weight: np.ndarray, given: Any, start: Any) -> Any:
        X_val, y_val, qid, group = given
        name, ids = type(self).__name__, np.unique(y[:, 1])
        auto = isinstance(self.early_stopping, str)
        self.do_early_stopping_ = (
            X_val is not None or (len(y) > 10_000 and ids.size > 1) if auto else bool(self.early_stopping)
        )
        if (X_val is None) != (y_val is None):
            raise ValueError(f"{name}: X_val and y_val must be given together.")
        if X_val is not None:
            X_val, y_val = self._check(X_val, y_val, reset=False)
            target, order = self._by_query(self._encode(y_val), qid, group, "_val")
            start.check_held_out(len(y_val))
            start.held = None if start.held is None else start.held[order]
            return X, y, weight, (self._dense(X_val)[order], target, np.ones(len(y_val)))
        if not self.do_early_stopping_ or self.validation_fraction is None:
            return X, y, weight, None
        asked = self.validation_fraction
        count = int(asked) if isinstance(asked, int) else max(1, round(asked * ids.size))
        if count >= ids.size:
            raise ValueError(
                f"{name}: validation_fraction={asked!r} holds out {count} of {ids.size} queries; at least one must "
                "be left. Give X_val and y_val, or set early_stopping=False."
            )
        drawn = np.random.default_rng(self._random_seed).choice(ids, count, replace=False)
        out = np.isin(y[:, 1], drawn)
        start.split(~out, out)
        return X[~out], y[~out], weight[~out], (X[out], y[out], weight[out])

    def predict(self, X: Any) -> np.ndarray:
        """The scores F(x); the items of a query are ranked by them, the largest first.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            The items.

        Returns
        -------
        array of shape (n_samples,)
        """
        return self._raw(X)[:, 0]

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """`predict` after the first round, after the second, and so on.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            The items.

        Yields
        ------
        array of shape (n_samples,)
        """
        for F in self._staged_raw(X):
            yield F[:, 0]

    def score(self, X: Any, y: Any, qid: Any = None, *, group: Any = None) -> float:
        """The mean NDCG of the queries.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            The items.
        y : array of shape (n_samples,)
            How relevant each is.
        qid, group : arrays, optional
            The queries, as in `fit`: without either all rows are one.

        Returns
        -------
        float
        """
        F = self.predict(X)
        queries = query_numbers(type(self).__name__, len(F), qid, group)
        return ndcg(self._encode(y), F, queries, k=self.k, gain=self.gain)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = tags.target_tags.positive_only = True
        return tags
