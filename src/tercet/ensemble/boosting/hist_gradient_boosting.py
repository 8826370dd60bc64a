"""Base of second-order gradient boosting on binned columns (XGBoost; Machine Learning in Depth ch. 8).

The loss is expanded to second order: a leaf with the sums G and H of gradients and hessians has the value
-G / (H + lambda), and a split must gain

    G_L² / (H_L + lambda) + G_R² / (H_R + lambda) - G² / (H + lambda) > gamma.

Columns are binned once, and a node is split from the histograms of its bins, best leaf first.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from itertools import chain
from typing import Annotated, Any, Self

import numpy as np
from sklearn.base import ClassifierMixin

from tercet.core.estimator import NO_TARGET, check_is_fitted, generator
from tercet.core.fitted_checks import Each, Floats, Having, Sizes, Whole
from tercet.core.parallel import all_cores
from tercet.core.parameters import Range
from tercet.core.streams import is_streamed
from tercet.ensemble._engine.packed_trees import kept_table
from tercet.ensemble.boosting.best_rounds import check_best_iteration, rounds_to_use
from tercet.ensemble.boosting.boosting_losses import BoostingLoss
from tercet.ensemble.boosting.boosting_scores import hold_out_seed
from tercet.ensemble.boosting.feature_constraints import interaction_groups, signs_of
from tercet.ensemble.boosting.held_out_rows import held_out_mask
from tercet.ensemble.boosting.infinite_values import without_infinity
from tercet.ensemble.boosting.leafwise_rounds import LeafwiseRounds
from tercet.ensemble.boosting.round_scores import RoundScores
from tercet.ensemble.boosting.row_sampling import check_sampling, drawn_rows, one_side_sample
from tercet.ensemble.boosting.start_scores import StartScores
from tercet.ensemble.boosting.streamed_fit import fit_streamed, refusal
from tercet.ensemble.boosting.tree_sums import packed_rounds, sum_of_trees
from tercet.ensemble.member_checks import check_trees
from tercet.tree import (
    BinnedColumns,
    CategoryRule,
    HistogramTree,
    Limits,
    LocalTree,
    Tree,
    TreeInput,
    binned_by_hessians,
)

MANY = 1 << 18  # numbers from which on several threads pay
LEAST_HESSIAN = 1e-3  # of a leaf
Bins = Annotated[int, Range(2, 255)]
Share = Annotated[float, Range(0, 1, "(]")]


class BaseHistGradientBoosting(TreeInput):
    """Base class of histogram gradient boosting: the rounds, constraints, early stopping, scores of rows."""

    multi_output = False
    learning_rate: Any
    max_iter: Any
    l1_regularization: Any
    l2_regularization: Any
    max_features_by_tree: Any
    max_features_by_level: Any
    min_gain: Any
    max_bins: Any
    rebin: Any
    monotonic_cst: Any
    interaction_cst: Any
    warm_start: Any
    early_stopping: Any
    scoring: Any
    validation_fraction: Any
    n_iter_no_change: Any
    tol: Any
    random_state: Any
    subsample: Any
    sampling: Any
    top_rate: Any
    other_rate: Any
    cat_smooth: Any
    cat_l2: Any
    max_cat_threshold: Any
    max_cat_to_onehot: Any
    min_data_per_group: Any
    keep_best: Any
    n_jobs: Any

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
        init_score: Any = None,
        init_score_val: Any = None,
    ) -> Self:
        """Fit trees one after the other to gradients and hessians of the loss.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            The training data; NaN and None are missing values.
        y : array of shape (n_samples,)
            The targets.
        sample_weight : array of shape (n_samples,), optional
            How much each row counts.
        X_val, y_val, sample_weight_val : arrays, optional
            Rows for early stopping, in place of a `validation_fraction` of X.
        init_score, init_score_val : arrays of shape (n_samples,) or (n_samples, n_scores), optional
            Scores F from which boosting starts, such as those of another model, in place of the best constant; for
            the rows, and for those of X_val. They are no part of the model: add them to its scores yourself.

        Returns
        -------
        self
        """
        held_out = X_val, y_val, sample_weight_val
        return self._learn(X, y, sample_weight, held_out=held_out, init_score=(init_score, init_score_val))

    def _loss_of(self) -> Any:
        raise NotImplementedError

    def _fit(
        self,
        X: Any,
        y: np.ndarray,
        sample_weight: np.ndarray | None,
        held_out: tuple[Any, Any, Any] = (None, None, None),
        init_score: tuple[Any, Any] = (None, None),
    ) -> None:
        check_sampling(self)
        self._check_rebin()
        if is_streamed(X):
            fit_streamed(self, X, y, sample_weight, held_out, init_score)
            return
        X, y, loss = self._dense(X), np.asarray(y, dtype=np.float64), self._loss_of()
        weight = np.ones(len(y)) if sample_weight is None else sample_weight.astype(np.float64)
        start = StartScores(self, loss, len(y), *init_score)
        if not weight.all():  # a row without weight is not there
            start.keep(weight > 0)
            X, y, weight = X[weight > 0], y[weight > 0], weight[weight > 0]
        self.n_outputs_, self.n_trees_per_iteration_ = 1, loss.n_scores
        self.is_categorical_ = self._n_categories() > 0 if self._n_categories().any() else None
        trees = self._kept_rounds()
        if not trees:  # added rounds are judged by the rows that judged the first
            self._random_seed = hold_out_seed(self.random_state)
        random = generator(self.random_state)
        X, y, weight, held = self._hold_out(X, y, weight, held_out, start)
        jobs = self._jobs(X)
        grower = self._grower(X.shape[1], jobs)
        seed, target = int(random.integers(2**31 - 1)), None
        if loss.n_scores == 1:
            target = y if y.ndim == 1 else y[:, 0]  # of a ranker: relevances beside the numbers of queries
        bins = None
        if self.rebin == "never":
            bins = BinnedColumns.of(X, self.max_bins, self._n_categories(), weight, seed, jobs, target)
        if not trees:
            self.init_ = loss.start(y, weight) if start.rows is None else np.zeros(loss.n_scores)
            self.train_score_, self.validation_score_ = np.empty(0), np.empty(0)
        F = start.plus(self._scores_by_round(X, trees))
        F_val = None if held is None else start.plus(self._scores_by_round(held[0], trees), held_out=True)
        scores = RoundScores(self, loss, X, y, weight, held)
        if not trees:
            scores.add(F, F_val)
        fused = None if bins is None else LeafwiseRounds.of(self, loss, bins, y, weight, F, grower)
        for step in self.steps(self.max_iter - len(trees), name="round", unpack=self._state):
            if fused is not None:
                trees.append(fused.round(random))
            else:
                trees.append(self._round(X, bins, y, F, weight, loss, grower, random))
            if held is not None and F_val is not None:
                F_val += self._sum_of_trees(held[0], trees[-1:])
            measures = scores.add(F, F_val, trees, None if fused is None else fused.loss)
            step.report((trees, len(trees), scores), **measures)
            if self.do_early_stopping_ and scores.stop():
                break
        self.__dict__.update(self._state((trees, len(trees), scores)))
        self.best_iteration_, self.best_score_ = scores.best(len(trees))

    def _round(
        self,
        X: np.ndarray,
        bins: BinnedColumns | None,
        y: np.ndarray,
        F: np.ndarray,
        weight: np.ndarray,
        loss: BoostingLoss,
        grower: dict[str, Any],
        random: np.random.Generator,
    ) -> list[Tree]:
        """One tree for each score; F is moved."""
        r, before, made = loss.negative_gradient(y, F), F.copy(), []
        if self.sampling == "goss":
            rows, weight = one_side_sample(r, weight, self.top_rate, self.other_rate, random)
        else:
            rows = drawn_rows(len(y), self.subsample, random)
        for k in range(loss.n_scores):
            h = weight * loss.curvature(y, before, r[:, k], k)
            seed = int(random.integers(2**31 - 1)) if grower["limits"].draws_columns else 0
            growth, terms = HistogramTree(seed=seed, **grower), (-weight * r[:, k], h)
            if self.rebin == "node":
                local = LocalTree(X, self._n_categories(), self.max_bins, growth)
                arrays, leaf = local.grow_with_leaves(*terms, rows)
            else:
                given = self.max_bins, self._n_categories(), *terms, grower["n_jobs"]
                own = binned_by_hessians(X, *given) if bins is None else bins
                arrays, leaf = growth.grow_with_leaves(own, *terms, rows)
            tree = Tree.from_arrays(arrays, verify=False)
            if loss.newton and tree.node_count == 1:
                tree.value[:] = 0.0  # no split gains: the hessians may be 0, and the step without a limit
            if not loss.newton:
                members = [np.flatnonzero(leaf == t) for t in np.unique(leaf[leaf >= 0])]
                values = loss.leaf_values(members, y, before, r, weight, k)
                tree.value[np.unique(leaf[leaf >= 0]), 0, 0] = values
            tree.value *= self.learning_rate
            inside = leaf >= 0
            F[inside, k] += tree.value[leaf[inside], 0, 0]
            if rows is not None:
                F[~inside, k] += tree.predict(X[~inside])[:, 0, 0]
            made.append(tree)
        return made

    fitted_shapes = {
        "n_trees_per_iteration_": Whole("scores", 1),
        "trees_": Each(Each(Having({}, ("apply", "predict")), "scores"), "rounds"),
        "init_": Floats("scores"),
    }

    def _check_fitted(self, sizes: Sizes) -> None:
        if "trees_" not in vars(self):
            return
        name, n_scores = type(self).__name__, self._loss_of().n_scores
        if sizes["scores"] != n_scores:
            raise ValueError(
                f"{name}: trees_ has {sizes['scores']} trees for each round; expected are {n_scores}."
            )
        check_trees(name, [tree for row in self.trees_ for tree in row], self.n_features_in_, (1,))
        check_best_iteration(self, len(self.trees_))

    def _check_rebin(self) -> None:
        if self.rebin == "node" and (self.monotonic_cst is not None or self.interaction_cst is not None):
            raise ValueError(
                f"{type(self).__name__}: rebin='node' takes no constraints. Use rebin='tree', or "
                "monotonic_cst=None and interaction_cst=None."
            )

    def _jobs(self, X: Any) -> int | None:
        """Threads: all cores by default, as scikit-learn has it, where there is work for them."""
        return all_cores(self.n_jobs) if X.shape[0] * X.shape[1] >= MANY else self.n_jobs

    def _grower(self, d: int, n_jobs: int | None) -> dict[str, Any]:
        """The parameters of growth."""
        shares = self.max_features_by_tree, self.max_features_by_level, self.max_features
        by_tree, by_level, by_node = column_counts(d, *shares)
        limits = Limits(
            max_depth=Limits.max_depth if self.max_depth is None else int(self.max_depth),
            min_samples_split=2 * self.min_samples_leaf,
            min_samples_leaf=self.min_samples_leaf,
            min_weight_leaf=LEAST_HESSIAN,
            max_leaf_nodes=self.max_leaf_nodes,
            max_features=by_node,
            tree_features=by_tree,
            level_features=by_level,
        )
        categories = CategoryRule(
            smooth=float(self.cat_smooth),
            few=int(np.ceil(self.cat_smooth)),
            group=int(self.min_data_per_group),
            most=int(self.max_cat_threshold),
            single=int(self.max_cat_to_onehot),
            penalty=float(self.cat_l2),
        )
        return {
            "limits": limits,
            "penalty": self.l2_regularization,
            "l1": self.l1_regularization,
            "min_gain": self.min_gain,
            "n_jobs": n_jobs,
            "categories": categories,
            "packed": True,
            "monotonic": signs_of(self, d),
            "groups": interaction_groups(type(self).__name__, self.interaction_cst, d),
        }

    def _kept_rounds(self) -> list[Any]:
        """The rounds of an earlier fit, with `warm_start`."""
        kept = list(self.trees_) if self.warm_start and hasattr(self, "trees_") else []
        if self.max_iter < len(kept):
            raise ValueError(
                f"{type(self).__name__}: max_iter={self.max_iter} must be larger than or equal to "
                f"n_iter_={len(kept)} when warm_start==True."
            )
        return kept

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        checked = super()._check(without_infinity(X), y, reset=reset)
        rows = checked if y is NO_TARGET else checked[0]
        for j, known in enumerate(() if reset else self.categories_):
            if known is not None:  # categories that were not seen are missing values
                rows[rows[:, j] >= len(known), j] = np.nan
        return checked

    def _learn_categories(self, columns: Any) -> list[np.ndarray | None]:
        """The categories of each column; negative numbers among them are missing values."""
        for j, here in enumerate(self._categorical(columns)):
            if here and columns.labels[j] is None:
                columns.values[j] = np.where(columns.values[j] < 0, np.nan, columns.values[j])
        return super()._learn_categories(columns)

    def _hold_out(
        self, X: np.ndarray, y: np.ndarray, weight: np.ndarray, given: tuple[Any, Any, Any], start: Any
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, tuple[Any, Any, Any] | None]:
        """The rows to learn from, and those that decide when to stop."""
        X_val, y_val, weight_val = given
        self._stops_early(len(y), X_val, y_val)
        if X_val is not None:
            X_val, y_val = self._check(X_val, y_val, reset=False)
            y_val = self._encode_validation(y_val)
            mass = np.ones(len(y_val)) if weight_val is None else np.asarray(weight_val, dtype=np.float64)
            start.check_held_out(len(y_val))
            return X, y, weight, (self._dense(X_val), y_val, mass)
        if not self.do_early_stopping_ or self.validation_fraction is None:
            return X, y, weight, None
        strata = y if isinstance(self, ClassifierMixin) else None
        mask = held_out_mask(len(y), self.validation_fraction, self._random_seed, strata)
        inside, out = np.flatnonzero(~mask), np.flatnonzero(mask)
        start.split(inside, out)
        return X[inside], y[inside], weight[inside], (X[out], y[out], weight[out])

    def _stops_early(self, n: int, X_val: Any, y_val: Any) -> bool:
        """Set `do_early_stopping_`, and check the rows that were given for it."""
        self.do_early_stopping_ = (
            bool(self.early_stopping)
            if not isinstance(self.early_stopping, str)
            else n > 10_000 or X_val is not None
        )
        if (X_val is None) != (y_val is None):
            there, missing = ("y_val", "X_val") if X_val is None else ("X_val", "y_val")
            raise ValueError(f"{type(self).__name__}: {there} is provided, but {missing} was not provided.")
        if X_val is not None and not self.do_early_stopping_:
            raise ValueError(
                f"{type(self).__name__}: X_val and y_val are passed to fit while at the same time "
                "early_stopping=False: they decide when to stop, and nothing else."
            )
        return self.do_early_stopping_

    def _refuse_targets(self, least: float, total: float) -> None:
        """Refuse targets that the loss does not take, by the least of them and their sum."""

    def _streaming_refusal(self) -> str:
        return refusal(self)

    def _encode_validation(self, y: np.ndarray) -> np.ndarray:
        return np.asarray(y, dtype=np.float64)

    def _decode(self, y: np.ndarray) -> np.ndarray:
        """Targets as they were given."""
        return y

    def _state(self, state: tuple[list[Any], int, Any]) -> dict[str, Any]:
        """The fitted attributes after so many rounds."""
        trees, count, scores = state
        return {"trees_": trees[:count], "n_iter_": count, **scores.attributes(count)}

    def _used_rounds(self) -> list[list[Tree]]:
        """The rounds that predictions come from."""
        return rounds_to_use(self, self.trees_)

    def _sum_of_trees(self, X: np.ndarray, rounds: Any, keep: bool = False) -> np.ndarray:
        """The sum of the trees of some rounds, of shape (n, n_scores); `keep` keeps the table of their nodes."""
        n_scores = self.n_trees_per_iteration_
        if not len(rounds):
            return np.zeros((X.shape[0], n_scores))
        tables = functools.partial(packed_rounds, rounds, n_scores)
        packed = kept_table(self, list(chain.from_iterable(rounds)), tables) if keep else tables()
        return sum_of_trees(X, rounds, packed, self._jobs(X))

    def _scores_of(self, X: np.ndarray, rounds: Any, keep: bool = False) -> np.ndarray:
        return np.tile(self.init_, (X.shape[0], 1)) + self._sum_of_trees(X, rounds, keep)

    def _scores_by_round(self, X: np.ndarray, rounds: Any) -> np.ndarray:
        """`_scores_of`, added up as the rounds did: a warm start goes on from the same bits."""
        F = self._scores_of(X, [])
        for row in rounds:
            F += self._sum_of_trees(X, [row])
        return F

    def _raw(self, X: Any) -> np.ndarray:
        """The scores F of rows, of shape (n, n_scores)."""
        check_is_fitted(self)
        return self._scores_of(self._dense(self._check(X, reset=False)), self._used_rounds(), keep=True)

    def _staged_raw(self, X: Any) -> Iterator[np.ndarray]:
        """The scores after the first round, after the second, and so on."""
        check_is_fitted(self)
        X = self._dense(self._check(X, reset=False))
        F = self._scores_of(X, [])
        for row in self.trees_:
            F = F + self._sum_of_trees(X, [row])
            yield F

    @property
    def feature_importances_(self) -> np.ndarray:
        """The total gain of the tests of each feature in the rounds that predictions come from, of sum 1."""
        check_is_fitted(self)
        total = np.zeros(self.n_features_in_)
        for tree in (tree for row in self._used_rounds() for tree in row):
            inner = tree.n_children > 0
            mass = tree.weighted_n_node_samples * np.abs(tree.impurity)
            first = tree.child[inner]
            gain = np.maximum(mass[first] + mass[first + 1] - mass[inner], 0.0)
            total += np.bincount(tree.feature[inner], gain, minlength=total.size)
        return total / total.sum() if total.sum() > 0 else total


def column_counts(d: int, by_tree: float, by_level: float, by_node: float) -> tuple[int | None, ...]:
    """How many of d columns a tree, its levels and its nodes try, each a share of the one before; None: all.

    Examples
    --------
    >>> column_counts(10, 0.5, 1.0, 0.4), column_counts(10, 1.0, 1.0, 1.0)
    ((5, None, 2), (None, None, None))
    """
    counts: list[int | None] = []
    for share in (by_tree, by_level, by_node):
        counts.append(None if share >= 1.0 else max(1, int(np.ceil(share * d))))
        d = d if counts[-1] is None else counts[-1]
    return tuple(counts)
