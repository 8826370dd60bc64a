"""Base class of forests: trees grown side by side from samples of the rows, averaged."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Annotated, Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import ClassifierMixin
from sklearn.exceptions import DataConversionWarning

from tercet.core.estimator import NO_TARGET, check_is_fitted, generator
from tercet.core.fitted_checks import Each, Floats, Having, Sizes, Whole
from tercet.core.parallel import each, engine
from tercet.core.parameters import INF, Count, Range
from tercet.core.streams import is_streamed
from tercet.ensemble._engine.packed_trees import PackedTrees, kept_table
from tercet.ensemble.base import check_drawn, rows_of_sample
from tercet.ensemble.forest.streamed_forest import fit_streamed, forest_refusal
from tercet.ensemble.member_checks import check_trees
from tercet.tree import (
    BaseDecisionTree,
    PresortedColumns,
    Tree,
    TreeInput,
    cost_complexity_pruning,
    grow_binary,
)

MaxSamples = Count | Annotated[float, Range(0, INF, "()")] | None
# Criteria of the presorted engine, which shares one sort of the columns among all trees.
PRESORTED = ("gini", "entropy", "log_loss", "squared_error")


NO_SAMPLES = (
    "%(name)s has no samples: it is not fitted, or was fitted to a source, whose rows no list is kept of."
)


class BaseForest(TreeInput):
    """Base class of random forests and extremely randomised trees.

    Every tree has its own seed, which decides the rows it is grown from (with `bootstrap`) and the features that
    its nodes try. The seeds come from `random_state` in the order of the trees: more trees leave the first ones as
    they are.
    """

    streams_instead = (
        "HistGradientBoostingClassifier or HistGradientBoostingRegressor, whose trees learn from histograms"
    )
    splitter: ClassVar[str] = "best"
    max_bins: ClassVar[int | None] = None
    multi_output = True
    categorical_features: Any
    criterion: Any
    n_estimators: Any
    bootstrap: Any
    oob_score: Any
    n_jobs: Any
    random_state: Any
    verbose: Any
    warm_start: Any
    ccp_alpha: Any
    max_samples: Any
    oob_stop: Any
    oob_tol: Any
    estimators_: list[Any]

    def _tree(self) -> BaseDecisionTree:
        """An unfitted member, with the parameters of the forest."""
        raise NotImplementedError

    @property
    def estimator(self) -> BaseDecisionTree:
        """An unfitted member, with the parameters of the forest."""
        return self._tree()

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        if sparse.issparse(y):
            raise ValueError(f"{type(self).__name__}: sparse multilabel-indicator for y is not supported.")
        if getattr(y, "ndim", 1) == 2 and y.shape[1] == 1:
            warnings.warn(
                "A column-vector y was passed when a 1d array was expected. Please change the shape of y to "
                "(n_samples,), for example using ravel().",
                DataConversionWarning,
                stacklevel=5,
            )
        return super()._check(X, y, reset=reset)

    def _fit(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        if is_streamed(X):
            fit_streamed(self, X, y, sample_weight)
            return
        X = self._dense(X)
        self.n_outputs_ = 1 if y.ndim == 1 else y.shape[1]
        self.max_features_ = self._n_tried_features(X.shape[1])
        self._check_options(X.shape[1])
        weight, self.estimator_ = self._row_weights(y, sample_weight), self._tree()
        kept = self._kept_members()
        seeds = generator(self.random_state).integers(2**31 - 1, size=self.n_estimators)
        grow = self._growth(X, y, weight)
        self._n_rows, self._draw_weight = len(X), weight
        out_of_bag = OutOfBag(self, X, y, weight) if self.oob_score else None
        new = engine(self.n_jobs).map(lambda seed: grow(int(seed)), seeds[len(kept) :], ())
        members = list(kept)
        if out_of_bag is not None:
            for member in kept:
                out_of_bag.add(member)
        for step in self.steps(self.n_estimators - len(kept), name="tree", unpack=self._state):
            members.append(next(new))
            measures = {} if out_of_bag is None else out_of_bag.add(members[-1])
            step.report((len(members), members), **measures)
            if out_of_bag is not None and out_of_bag.is_flat(self.oob_stop, self.oob_tol):
                break
        self.estimators_ = members
        if out_of_bag is not None:
            out_of_bag.finish()

    def _streaming_refusal(self) -> str:
        return forest_refusal(self)

    def _streamed_weights(self, y: Any, weight: Any) -> Any:
        """Weights of the rows of a source, those of their classes included."""
        return weight

    def _state(self, state: tuple[int, list[Any]]) -> dict[str, Any]:
        """The fitted attributes after so many trees."""
        count, members = state
        return {"estimators_": members[:count]}

    def _kept_members(self) -> list[Any]:
        """The members of an earlier fit, with `warm_start`."""
        if self.oob_score and not self.bootstrap:
            raise ValueError(
                f"{type(self).__name__}: Out of bag estimation only available if bootstrap=True; got "
                "bootstrap=False."
            )
        if self.oob_stop is not None and not self.oob_score:
            raise ValueError(
                f"{type(self).__name__}: oob_stop={self.oob_stop} stops by the out-of-bag score: "
                "it needs oob_score=True."
            )
        if self.max_samples is not None and not self.bootstrap:
            raise ValueError(
                f"{type(self).__name__}: `max_sample` cannot be set if `bootstrap=False`. Either switch to "
                f"`bootstrap=True` or set `max_sample=None`. Got max_samples={self.max_samples!r}."
            )
        kept = list(getattr(self, "estimators_", [])) if self.warm_start else []
        if self.n_estimators < len(kept):
            raise ValueError(
                f"{type(self).__name__}: n_estimators={self.n_estimators} must be larger or equal to "
                f"len(estimators_)={len(kept)} when warm_start==True."
            )
        if kept and self.n_estimators == len(kept):
            warnings.warn(
                "Warm-start fitting without increasing n_estimators does not fit new trees.", stacklevel=4
            )
        return kept

    def _row_weights(self, y: np.ndarray, sample_weight: np.ndarray | None) -> np.ndarray | None:
        """Weights of the rows, those of their classes included."""
        return sample_weight

    def _growth(self, X: np.ndarray, y: np.ndarray, weight: np.ndarray | None) -> Callable[[int], Any]:
        """A function of a seed that grows a member; the columns are sorted once for all of them."""
        n, kinds, classes = len(X), self._n_categories(), self._classes_of_outputs()
        signs = None if self.monotonic_cst is None else np.asarray(self.monotonic_cst)
        fast = self.splitter == "best" and self.criterion in PRESORTED and self.n_outputs_ == 1
        fast = fast and self.max_leaf_nodes is None and (signs is None or not signs.any())
        columns = PresortedColumns(X, kinds, self.n_jobs) if fast else None
        # column by column, as the engines read it: else every tree would turn the rows for itself
        X64 = X if fast else np.asfortranarray(X, dtype=np.float64)
        self._n_drawn = check_drawn(self, rows_of_sample(self.max_samples, n, weight), n)

        def grow(seed: int) -> Any:
            own = self._member_weight(seed, n, y, weight)
            limits = self._limits(X, own)
            shared: dict[str, Any] = {
                "n_classes": classes,
                "criterion": self.criterion,
                "limits": limits,
                # as a tree of this random_state draws it, which fitted to the same rows is the same tree
                "seed": int(generator(seed).integers(2**31 - 1)),
            }
            if columns is not None:
                arrays = columns.grow(y, own, **shared)
            else:
                arrays = grow_binary(
                    X64, y, own, splitter=self.splitter, monotonic=signs, n_categories=kinds, **shared
                )
            member = self._tree().set_params(random_state=seed)
            tree = Tree.from_arrays(arrays, verify=False)
            if self.ccp_alpha > 0:
                tree = cost_complexity_pruning(tree, self.ccp_alpha)
            return member.with_tree(tree, X.shape[1], getattr(self, "classes_", None), self.categories_)

        return grow

    def _member_weight(
        self, seed: int, n: int, y: np.ndarray, weight: np.ndarray | None
    ) -> np.ndarray | None:
        """How often each row is in the sample of a tree; without `bootstrap` the weights of all rows."""
        if not self.bootstrap:
            return weight
        return np.bincount(self._drawn(seed, n, weight), minlength=n).astype(np.float64)

    def _drawn(self, seed: int, n: int, weight: np.ndarray | None) -> np.ndarray:
        """The rows that the tree of this seed is grown from, drawn with replacement by their weights."""
        random = np.random.default_rng([seed, 1])
        if weight is None:
            return random.integers(n, size=self._n_drawn)
        return random.choice(n, size=self._n_drawn, p=weight / weight.sum())

    fitted_shapes = {
        "n_outputs_": Whole("outputs", 1),
        "estimators_": Each(Having({"n_features_in_": "features", "n_outputs_": "outputs"}), "members"),
        "_n_rows": Whole("rows", 1),
        "_n_drawn": Whole(low=1),
        "_draw_weight": Floats("rows | None", finite=True, low=0.0),
    }

    def _check_fitted(self, sizes: Sizes) -> None:
        if "estimators_" in vars(self):
            trees = [member.tree_ for member in self.estimators_]
            check_trees(type(self).__name__, trees, self.n_features_in_, self._classes_of_outputs())

    @property
    def estimators_samples_(self) -> list[np.ndarray]:
        """The rows that each tree was grown from."""
        check_is_fitted(self, "_n_rows", msg=NO_SAMPLES)
        n = self._n_rows
        if not self.bootstrap:
            return [np.arange(n, dtype=np.int32) for _ in self.estimators_]
        drawn = (self._drawn(member.random_state, n, self._draw_weight) for member in self.estimators_)
        return [rows.astype(np.int32) for rows in drawn]

    def _packed(self) -> PackedTrees | None:
        """All trees as one table of nodes; None where tests are not all thresholds."""
        trees = [member.tree_ for member in self.estimators_]
        values = (tree.value.reshape(tree.node_count, -1) for tree in trees)
        return kept_table(self, trees, lambda: PackedTrees.of(trees, list(values)))

    def _mean_values(self, X: Any) -> np.ndarray:
        """The mean over the trees of the values of the leaves, of shape (n_samples, n_outputs, n_values)."""
        check_is_fitted(self)
        X = self._check(X, reset=False)
        shape = self.estimators_[0].tree_.value.shape[1:]
        packed = self._packed()
        if packed is not None:
            total = packed.sums(X, self.n_jobs)
        else:
            parts = each(lambda member: member.tree_.predict(X), self.estimators_, n_jobs=self.n_jobs)
            total = sum(part.reshape(X.shape[0], -1) for part in parts)
        return (total / len(self.estimators_)).reshape(X.shape[0], *shape)

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
        check_is_fitted(self)
        X = self._check(X, reset=False)
        return np.column_stack(
            each(lambda member: member.tree_.apply(X), self.estimators_, n_jobs=self.n_jobs)
        )

    def decision_path(self, X: Any) -> tuple[sparse.csr_matrix, np.ndarray]:
        """The nodes on the paths of each row, in all trees.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        indicator : sparse matrix of shape (n_samples, n_nodes)
            One where a row passes a node; the trees stand side by side.
        n_nodes_ptr : array of shape (n_estimators + 1,)
            The columns between which each tree stands.
        """
        check_is_fitted(self)
        X = self._check(X, reset=False)
        paths = each(lambda member: member.tree_.decision_path(X), self.estimators_, n_jobs=self.n_jobs)
        borders = np.append(0, np.cumsum([path.shape[1] for path in paths]))
        return sparse.hstack(paths).tocsr(), borders

    @property
    def feature_importances_(self) -> np.ndarray:
        """The total decrease of the impurity by the tests of each feature, averaged over trees, of sum 1."""
        check_is_fitted(self)
        trees = [member.tree_ for member in self.estimators_ if member.tree_.node_count > 1]
        if not trees:
            return np.zeros(self.n_features_in_)
        mean = np.mean([tree.compute_feature_importances() for tree in trees], axis=0)
        return mean / mean.sum() if mean.sum() > 0 else mean

    def _oob_answers(self, means: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The targets of rows, and what the out-of-bag means say about them."""
        raise NotImplementedError

    def _set_oob(self, means: np.ndarray, score: float) -> None:
        """Set the out-of-bag attributes."""
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self.estimators_)

    def __getitem__(self, index: Any) -> Any:
        return self.estimators_[index]

    def __iter__(self) -> Any:
        return iter(self.estimators_)


class OutOfBag:
    """Predictions of each row by the trees that were not grown from it (包外估计; watermelon notes ch. 6)."""

    def __init__(self, forest: BaseForest, X: np.ndarray, y: np.ndarray, weight: np.ndarray | None) -> None:
        self.forest, self.X, self.y, self.weight = forest, X, y, weight
        self.sums: np.ndarray | None = None
        self.votes = np.zeros(len(X))
        self.curve: list[float] = []  # the score after each tree

    def add(self, member: Any) -> dict[str, Any]:
        """Add a tree's answers for the rows that it has not seen; returns the score so far."""
        n = len(self.X)
        rows = np.setdiff1d(np.arange(n), self.forest._drawn(member.random_state, n, self.weight))
        values = member.tree_.predict(self.X[rows])
        if self.sums is None:
            self.sums = np.zeros((n, *values.shape[1:]))
        self.sums[rows] += values
        self.votes[rows] += 1
        self.curve.append(self.score())
        return {"oob_score": self.curve[-1]}

    def is_flat(self, patience: int | None, tol: float) -> bool:
        """Whether the last `patience` trees have raised the score by no more than `tol`."""
        if patience is None or len(self.curve) <= patience:
            return False
        best = float(np.fmax.reduce(self.curve[:-patience]))
        return bool(np.fmax.reduce(self.curve[-patience:]) <= best + tol)

    def means(self) -> np.ndarray:
        """The mean answers; NaN for a row that every tree has seen."""
        assert self.sums is not None
        with np.errstate(invalid="ignore"):
            return self.sums / self.votes[:, None, None]

    def score(self) -> float:
        """Accuracy or R² over the rows that some tree has not seen, or what `oob_score` computes."""
        seen = self.votes > 0
        if not seen.any():
            return np.nan
        means, y = self.means()[seen], self.y[seen]
        asked = self.forest.oob_score
        truth, predicted = self.forest._oob_answers(means, y)
        if callable(asked):
            return float(asked(truth, predicted))
        if isinstance(self.forest, ClassifierMixin):  # a row is right when all its labels are
            return float(np.mean(np.reshape(truth == predicted, (len(truth), -1)).all(axis=1)))
        spread = ((truth - truth.mean(axis=0)) ** 2).sum(axis=0)
        rest = ((truth - predicted) ** 2).sum(axis=0)
        return float(np.mean(np.where(spread > 0, 1.0 - rest / np.where(spread > 0, spread, 1.0), 0.0)))

    def finish(self) -> None:
        """Set the attributes of the forest."""
        if not self.votes.all():
            warnings.warn(
                "Some inputs do not have OOB scores. This probably means too few trees were used to compute any "
                "reliable OOB estimates.",
                UserWarning,
                stacklevel=5,
            )
        self.forest._set_oob(self.means(), self.score())
