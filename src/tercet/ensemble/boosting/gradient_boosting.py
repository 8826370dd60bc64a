"""Gradient boosting (梯度提升; Li ch. 8, Alg 8.4): every tree is fitted to the negative gradient of the loss.

F_0 = argmin over c of sum L(y, c)
for m = 1 .. M:
    r = -dL/dF at F_{m-1}
    the tree of round m is fitted to r by least squares: regions R_mj
    c_mj = argmin over c of sum over R_mj of L(y, F_{m-1} + c)
    F_m = F_{m-1} + learning rate * sum_j c_mj [x in R_mj]
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.model_selection import train_test_split

from tercet.core.estimator import check_is_fitted, generator
from tercet.core.fitted_checks import Floats, Having, Labels, Sizes, Whole
from tercet.core.parallel import each
from tercet.ensemble._engine.packed_trees import PackedTrees, kept_table
from tercet.ensemble.boosting.best_rounds import best_round, check_best_iteration, rounds_to_use
from tercet.ensemble.boosting.boosting_losses import BoostingLoss
from tercet.ensemble.boosting.boosting_scores import (
    BoostingScores,
    LossStopping,
    LossTable,
    split_seed,
)
from tercet.ensemble.boosting.initial_model import first_scores, fitted_init
from tercet.ensemble.boosting.row_sampling import drawn_mask
from tercet.ensemble.member_checks import check_trees
from tercet.penalties import soft_threshold
from tercet.tree import (
    DecisionTreeRegressor,
    PresortedColumns,
    Tree,
    TreeInput,
    cost_complexity_pruning,
    grow_binary,
)

LEAST_HESSIAN = 1e-8  # of a row
PENALTIES = ("l2_regularization", "l1_regularization", "min_gain")


class BaseGradientBoosting(TreeInput):
    """Base class of gradient boosting: the rounds, early stopping, scores of rows."""

    multi_output = False
    splitter: ClassVar[str] = "best"
    max_bins: ClassVar[int | None] = None
    categorical_features: Any
    learning_rate: Any
    criterion: Any
    n_estimators: Any
    subsample: Any
    init: Any
    random_state: Any
    verbose: Any
    warm_start: Any
    validation_fraction: Any
    n_iter_no_change: Any
    tol: Any
    ccp_alpha: Any
    second_order: Any
    l1_regularization: Any
    l2_regularization: Any
    min_gain: Any
    keep_best: Any
    n_jobs: Any
    estimators_: np.ndarray

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        monitor: Callable[..., Any] | None = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
    ) -> Self:
        """Fit trees one after the other to the negative gradients of the loss.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            The training data; NaN and None are missing values.
        y : array of shape (n_samples,)
            The targets.
        sample_weight : array of shape (n_samples,), optional
            How much each row counts; 2 is as good as having the row twice.
        monitor : callable, optional
            Called after each round with its number, this estimator and its variables; a true answer ends learning.
        X_val, y_val : arrays, optional
            Rows for early stopping, in place of a `validation_fraction` of X.

        Returns
        -------
        self
        """
        return self._learn(X, y, sample_weight, monitor=monitor, held_out=(X_val, y_val))

    def _loss_of(self) -> BoostingLoss:
        """The loss with what it must know of the targets."""
        raise NotImplementedError

    def _fit(
        self,
        X: Any,
        y: np.ndarray,
        sample_weight: np.ndarray | None,
        monitor: Callable[..., Any] | None = None,
        held_out: tuple[Any, Any] = (None, None),
    ) -> None:
        X, y = self._dense(X), np.asarray(y, dtype=np.float64)
        if self.criterion != "deprecated":
            warnings.warn(
                f"{type(self).__name__}: criterion is deprecated, as in scikit-learn: it has no effect.",
                FutureWarning,
                stacklevel=4,
            )
        self.n_outputs_, self.max_features_ = 1, self._n_tried_features(X.shape[1])
        self._check_options(X.shape[1])
        self._check_penalties()
        weight = np.ones(len(y)) if sample_weight is None else sample_weight.astype(np.float64)
        random, loss = generator(self.random_state), self._loss_of()
        X, y, weight, held = self._hold_out(X, y, weight, held_out, random)
        kept = self._kept_rounds()
        if not len(kept):
            self.init_ = fitted_init(self, X, y, weight, loss, sample_weight is not None)
        trees = list(kept)
        F = self._scores_of(X, trees, loss)
        F_val = None if held is None else self._scores_of(held[0], trees, loss)
        grow = self._growth(X, random)
        scores = BoostingScores.of(self, len(kept))
        stop = LossStopping(self.n_iter_no_change, self.tol)
        table = LossTable(self.verbose, self.n_estimators - len(kept), scores.oob)
        for step in self.steps(self.n_estimators - len(kept), name="round", unpack=self._state):
            m = len(trees)
            inside = drawn_mask(weight, self.subsample, random)
            scores.before(loss, y, F, weight, inside, first=m == 0)
            trees.append(self._round(X, y, F, weight, inside, loss, grow))
            measures = scores.after(loss, y, F, weight, inside)
            table.add(m, scores)
            if held is not None and F_val is not None:
                F_val += self._sum_of_trees(held[0], trees[-1:], loss.n_scores)
                measures["validation_loss"] = scores.hold(loss.mean(held[1], F_val, np.ones(len(held[1]))))
            step.report((trees, m + 1, scores), **measures)
            if held is not None and stop.reached(measures["validation_loss"]):
                break
            if monitor is not None:
                self.__dict__.update(self._state((trees, m + 1, scores)))
                if monitor(m, self, {"raw_predictions": F, "y": y, "sample_weight": weight}):
                    break
        self.__dict__.update(self._state((trees, len(trees), scores)))
        if held is not None and self.n_iter_no_change is not None:
            self.best_iteration_, least = best_round(
                [-loss for loss in scores.valid], len(trees), stopping=True
            )
            self.best_score_ = -least

    def _round(
        self,
        X: np.ndarray,
        y: np.ndarray,
        F: np.ndarray,
        weight: np.ndarray,
        inside: np.ndarray,
        loss: BoostingLoss,
        grow: Callable[..., Any],
    ) -> list[Any]:
        """Step 2 of Alg 8.4, one tree for each score; F is moved."""
        loss.prepare(y[inside], F[inside], weight[inside])
        r, before, members = loss.negative_gradient(y, F), F.copy(), []
        for k in range(loss.n_scores):
            own = weight * inside
            if self.second_order:  # least squares of r / h with weights h: a split gains G²/H
                h = np.maximum(loss.curvature(y, before, r[:, k], k), LEAST_HESSIAN)
                tree = grow(r[:, k] / h, own * h)
            else:
                h, tree = None, grow(r[:, k], own)
            leaf = tree.apply(X)
            used = np.flatnonzero(own > 0)
            leaves, place = np.unique(leaf[used], return_inverse=True)
            rows = np.split(used[np.argsort(place, kind="stable")], np.cumsum(np.bincount(place))[:-1])
            if h is not None and loss.newton and (self.l1_regularization or self.l2_regularization):
                tree.value[leaves, 0, 0] = self._penalised_values(rows, r[:, k], h, weight)
            else:
                tree.value[leaves, 0, 0] = loss.leaf_values(rows, y, before, r, weight, k)
            F[:, k] += self.learning_rate * tree.value[leaf, 0, 0]
            members.append(self._member().with_tree(tree, X.shape[1], None, self.categories_))
        if not np.isfinite(F).all():
            raise ValueError(
                f"{type(self).__name__}: the scores are beyond floating-point numbers with "
                f"learning_rate={self.learning_rate!r}. Lower it, or scale the targets."
            )
        return members

    def _penalised_values(
        self, rows: list[np.ndarray], r: np.ndarray, h: np.ndarray, weight: np.ndarray
    ) -> np.ndarray:
        """The values of leaves, T(sum of r) / (sum of h + lambda), where T moves a number towards 0 by alpha."""
        sums = np.array([(weight[i] @ r[i], weight[i] @ h[i]) for i in rows])
        return soft_threshold(sums[:, 0], self.l1_regularization) / (sums[:, 1] + self.l2_regularization)

    def _check_penalties(self) -> None:
        asked = [name for name in PENALTIES if getattr(self, name)]
        if asked and not self.second_order:
            raise ValueError(
                f"{type(self).__name__}: {asked[0]}={getattr(self, asked[0])!r} is a penalty of the second-order "
                "expansion of the loss. Use second_order=True."
            )
        if asked and self.max_leaf_nodes is not None:
            raise ValueError(
                f"{type(self).__name__}: {asked[0]}={getattr(self, asked[0])!r} goes with growth depth first. Use "
                f"max_depth and max_leaf_nodes=None; got max_leaf_nodes={self.max_leaf_nodes}."
            )

    fitted_shapes = {
        "n_outputs_": Whole("1", 1),
        "n_estimators_": Whole("rounds", 1),
        "estimators_": Labels("rounds scores"),
        "init_": lambda model: (
            Floats("scores")
            if isinstance(model.init_, np.ndarray)
            else Having({}, ("predict_proba" if isinstance(model, ClassifierMixin) else "predict",))
        ),
    }

    def _check_fitted(self, sizes: Sizes) -> None:
        if "estimators_" not in vars(self):
            return
        name, n_scores = type(self).__name__, self._loss_of().n_scores
        if sizes["scores"] != n_scores:
            raise ValueError(
                f"{name}: estimators_ has {sizes['scores']} trees for each round; expected are {n_scores}."
            )
        check_trees(name, [member.tree_ for member in self.estimators_.flat], self.n_features_in_, (1,))
        check_best_iteration(self, len(self.estimators_))

    def _member(self) -> DecisionTreeRegressor:
        """An unfitted tree with the parameters of the ensemble."""
        return DecisionTreeRegressor(
            max_depth=self.max_depth,
            min_samples_split=self.min_samples_split,
            min_samples_leaf=self.min_samples_leaf,
            min_weight_fraction_leaf=self.min_weight_fraction_leaf,
            max_features=self.max_features,
            max_leaf_nodes=self.max_leaf_nodes,
            min_impurity_decrease=self.min_impurity_decrease,
            ccp_alpha=self.ccp_alpha,
        )

    def _growth(self, X: np.ndarray, random: np.random.Generator) -> Callable[..., Tree]:
        """A function of targets and weights that grows a tree; the columns are sorted once for all of them."""
        kinds = self._n_categories()
        fast = self.max_leaf_nodes is None
        penalties = self.l2_regularization, self.l1_regularization, self.min_gain
        more: dict[str, Any] = {"penalties": penalties} if any(penalties) else {}
        columns = PresortedColumns(X, kinds, self.n_jobs) if fast else None
        X64 = X if fast else np.ascontiguousarray(X, dtype=np.float64)

        def grow(target: np.ndarray, weight: np.ndarray) -> Tree:
            target = np.ascontiguousarray(target)
            shared: dict[str, Any] = {
                "n_classes": (1,),
                "criterion": "squared_error",
                "limits": self._limits(X, weight),
                "seed": int(random.integers(2**31 - 1)) if self.max_features_ < X.shape[1] else 0,
                "n_jobs": self.n_jobs,
            }
            if columns is not None:
                arrays = columns.grow(target, weight, **shared, **more)
            else:
                arrays = grow_binary(X64, target, weight, n_categories=kinds, **shared)
            tree = Tree.from_arrays(arrays, verify=False)
            return cost_complexity_pruning(tree, self.ccp_alpha) if self.ccp_alpha > 0 else tree

        return grow

    def _hold_out(
        self, X: np.ndarray, y: np.ndarray, weight: np.ndarray, given: tuple[Any, Any], random: Any
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray] | None]:
        """The rows to learn from, and those that decide when to stop (None without early stopping)."""
        if (given[0] is None) != (given[1] is None):
            raise ValueError(f"{type(self).__name__}: X_val and y_val must be given together.")
        if given[0] is not None:
            X_val, y_val = self._check(*given, reset=False)
            return X, y, weight, (self._dense(X_val), self._encode_validation(y_val))
        if self.n_iter_no_change is None:
            return X, y, weight, None
        classes = isinstance(self, ClassifierMixin)
        parts = train_test_split(
            X,
            y,
            weight,
            test_size=self.validation_fraction,
            random_state=split_seed(self.random_state, random),
            stratify=y if classes else None,
        )
        if classes and len(np.unique(parts[2])) < len(np.unique(y)):
            raise ValueError(
                f"{type(self).__name__}: The training data after the early stopping split is missing some classes. "
                "Try using another random seed."
            )
        if not np.any(parts[4]):
            raise ValueError(
                f"{type(self).__name__}: after the early stopping split no row to learn from has a weight. "
                "Try using another random seed or a smaller validation_fraction."
            )
        return parts[0], parts[2], parts[4], (parts[1], parts[3])

    def _encode_validation(self, y: np.ndarray) -> np.ndarray:
        return np.asarray(y, dtype=np.float64)

    def _kept_rounds(self) -> list[list[Any]]:
        """The rounds of an earlier fit, with `warm_start`."""
        kept = [list(row) for row in getattr(self, "estimators_", ())] if self.warm_start else []
        if self.n_estimators < len(kept):
            raise ValueError(
                f"{type(self).__name__}: n_estimators={self.n_estimators} must be larger or equal to "
                f"estimators_.shape[0]={len(kept)} when warm_start==True"
            )
        return kept

    def _decode(self, y: np.ndarray) -> np.ndarray:
        """Targets as they were given."""
        return y

    def _used_rounds(self) -> np.ndarray:
        """The rounds that predictions come from."""
        return rounds_to_use(self, self.estimators_)

    def _sum_of_trees(self, X: np.ndarray, rounds: Any, n_scores: int, keep: bool = False) -> np.ndarray:
        """The sum of the trees of some rounds, times the learning rate; `keep` keeps the table of their nodes."""
        total = np.zeros((X.shape[0], n_scores))
        if not len(rounds):
            return total
        trees = [[row[k].tree_ for row in rounds] for k in range(n_scores)]
        for k, packed in enumerate(self._tables(trees, keep)):
            if packed is not None:
                total[:, k] = packed.sums(X, self.n_jobs)[:, 0]
            else:
                parts = each(lambda tree: tree.predict(X)[:, 0, 0], trees[k], n_jobs=self.n_jobs)
                total[:, k] = self.learning_rate * np.sum(parts, axis=0)
        return total

    def _tables(self, trees: list[list[Tree]], keep: bool) -> list[PackedTrees | None]:
        """A table of the trees of each score."""
        rate = self.learning_rate

        def make() -> tuple[float, list[PackedTrees | None]]:
            return rate, [PackedTrees.of(some, [rate * tree.value[:, 0] for tree in some]) for some in trees]

        if not keep:
            return make()[1]
        known, found = kept_table(self, [tree for some in trees for tree in some], make)
        return found if known == rate else make()[1]

    def _state(self, state: tuple[list[Any], int, Any]) -> dict[str, Any]:
        """The fitted attributes after so many rounds."""
        trees, count, scores = state
        members = np.empty((count, len(trees[0]) if trees else 0), dtype=object)
        for m in range(count):
            members[m] = trees[m]
        found = {"estimators_": members, "n_estimators_": count, "n_trees_per_iteration_": members.shape[1]}
        return {**found, **scores.attributes(count)}

    def _raw(self, X: Any) -> np.ndarray:
        """The scores F of rows, of shape (n, n_scores)."""
        check_is_fitted(self)
        X = self._dense(self._check(X, reset=False))
        return self._scores_of(X, self._used_rounds(), self._loss_of(), keep=True)

    def _scores_of(self, X: np.ndarray, rounds: Any, loss: BoostingLoss, keep: bool = False) -> np.ndarray:
        return first_scores(self, X, loss) + self._sum_of_trees(X, rounds, loss.n_scores, keep)

    def _staged_raw(self, X: Any) -> Iterator[np.ndarray]:
        """The scores after the first round, after the second, and so on."""
        check_is_fitted(self)
        X, loss = self._dense(self._check(X, reset=False)), self._loss_of()
        F = first_scores(self, X, loss)
        for row in self.estimators_:
            F = F + self._sum_of_trees(X, [row], loss.n_scores)
            yield F

    def apply(self, X: Any) -> np.ndarray:
        """The leaf that each row comes to in every tree.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        array of shape (n_samples, n_estimators, n_scores)
        """
        check_is_fitted(self)
        X = self._dense(self._check(X, reset=False))
        leaves = [[member.tree_.apply(X) for member in row] for row in self.estimators_]
        return np.array(leaves, dtype=np.float64).transpose(2, 0, 1)

    @property
    def feature_importances_(self) -> np.ndarray:
        """The total decrease of the squared error by the tests of each feature, averaged over trees, of sum 1."""
        check_is_fitted(self)
        trees = [member.tree_ for member in self._used_rounds().ravel() if member.tree_.node_count > 1]
        if not trees:
            return np.zeros(self.n_features_in_)
        mean = np.mean([tree.compute_feature_importances(normalize=False) for tree in trees], axis=0)
        return mean / mean.sum() if mean.sum() > 0 else mean
