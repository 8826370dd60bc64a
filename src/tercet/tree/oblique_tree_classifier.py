"""Oblique (multivariate) decision trees (多变量决策树): every test is a hyperplane."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from sklearn.utils.validation import column_or_1d

from tercet.core.catalog import method
from tercet.core.estimator import NO_TARGET, check_is_fitted
from tercet.core.input_errors import Explaining, refuse_mixed_labels
from tercet.core.parallel import each, one_blas_thread
from tercet.core.parameters import Count, CountOrZero, Fraction, Jobs, NonNegative, OpenFraction, Seed
from tercet.tree._engine import Limits
from tercet.tree._engine.gain_table import (
    ENTROPY,
    GAIN,
    GINI,
    MIDPOINT,
    TIE,
    LabelledColumns,
    gain_table,
    weighted_impurity,
)
from tercet.tree.base import AtLeastTwo, Folds, MinSamplesLeaf, MinSamplesSplit
from tercet.tree.decision_tree_classifier import DecisionTreeClassifier
from tercet.tree.hyperplanes import NodeSample, best_threshold, discriminant_directions, hill_climb
from tercet.tree.node_growth import NodeGrowth, NodeRows
from tercet.tree.tree import Tree

PARALLEL_SIZE = 1 << 12  # rows times columns from which restarts are worth threads of their own


@method(
    zh="多变量决策树",
    task="classification",
    model="tests w·x <= t from a root to a leaf, which has P(y | x) for all rows that get there",
    strategy="impurity of the leaves: Gini index or entropy",
    algorithms={
        "oc1": "the best value of each coefficient in turn, random perturbations, restarts",
        "least_squares": "the direction of the regression on two groups of classes",
        "lda": "the first direction of linear discriminant analysis",
        "perceptron": "the direction of a perceptron between two groups of classes",
        "logistic": "the direction of a logistic regression between two groups of classes",
    },
    texts=["watermelon notes ch. 2, 2.6"],
)
class ObliqueTreeClassifier(DecisionTreeClassifier):
    """Tree whose tests are hyperplanes, w·x <= t.

    "oc1" looks for the plane that lowers the impurity most: it starts from the best test of one feature, then sets
    each coefficient to its best value in turn, all others fixed; where that gets stuck it moves along random
    directions; and it starts again from random planes. The test is never worse than the best of one feature. The
    other algorithms take w from a linear classifier (of several classes: the heaviest against the rest, or two
    groups by their means, whichever is better) and t as is best for the impurity; where that gains nothing, the
    best test of one feature is taken. Rows without a value that a test asks for go to its heavier side.

    Parameters
    ----------
    algorithm : {"oc1", "least_squares", "lda", "perceptron", "logistic"}, default="oc1"
        How a node comes by its weights.
    criterion : {"gini", "entropy"}, default="gini"
        The impurity.
    max_depth : int, optional
        The largest number of tests on a path to a leaf.
    min_samples_split, min_samples_leaf : int or float, default=2 and 1
        The fewest rows of a node that is split, and of a leaf; a float is a fraction of all rows.
    min_weight_fraction_leaf : float, default=0.0
        The least fraction of the total weight in a leaf.
    random_state : int, optional
        Decides every draw: of directions, planes, held-out rows and folds.
    max_leaf_nodes : int, optional
        The largest number of leaves; growth is then best first.
    min_impurity_decrease : float, default=0.0
        The least decrease of the impurity, times the node's fraction of all rows, of a split.
    class_weight : dict or "balanced", optional
        Weights of the classes.
    ccp_alpha : float, default=0.0
        The complexity parameter of cost-complexity pruning (see `cost_complexity_pruning_path`).
    n_restarts, n_jumps : int, default=5 and 5
        For "oc1": the random planes to start from as well, and the random directions to try where a start is stuck.
    pruning, alpha, validation_fraction, pruning_ties, confidence, cv
        How to prune the grown tree, as in `DecisionTreeClassifier`.
    n_jobs : int, optional
        Threads. The tree does not depend on it.

    Attributes
    ----------
    tree_ : Tree
        The nodes, in arrays; `tree_.coef` has the weights of the linear tests.
    classes_, n_classes_ : array and int
        The classes and their number.
    feature_importances_ : array of shape (n_features,)
        How much the tests lower the impurity, divided among features by their weights times their ranges.
    spread_ : array of shape (n_features,)
        The range of each column.
    n_outputs_, max_features_ : int
        1, and the number of features.
    categories_ : list
        None for every column: they are numbers.
    alpha_, alphas_, losses_ : float and arrays
        With pruning="validation" or "cv": the chosen alpha, all candidates, and their losses.

    Examples
    --------
    >>> X = [[0, 1], [1, 2], [2, 3], [1, 0], [2, 1], [3, 2]]
    >>> model = ObliqueTreeClassifier(random_state=0).fit(X, [1, 1, 1, 0, 0, 0])
    >>> model.get_n_leaves()
    2
    >>> model.predict([[5, 7], [7, 5]])
    array([1, 0])
    """

    multi_output = False
    always_random = True
    splitter: Any = "best"
    max_features: Any = None
    monotonic_cst: Any = None
    categorical_features: Any = None
    max_bins: Any = None

    streaming = False
    streams_instead = "DecisionTreeClassifier, which grows from histograms"

    def __init__(
        self,
        algorithm: Literal["oc1", "least_squares", "lda", "perceptron", "logistic"] = "oc1",
        *,
        criterion: Literal["gini", "entropy"] = "gini",
        max_depth: Count | None = None,
        min_samples_split: MinSamplesSplit = 2,
        min_samples_leaf: MinSamplesLeaf = 1,
        min_weight_fraction_leaf: Fraction = 0.0,
        random_state: Seed = None,
        max_leaf_nodes: AtLeastTwo | None = None,
        min_impurity_decrease: NonNegative = 0.0,
        class_weight: dict | Literal["balanced"] | None = None,
        ccp_alpha: NonNegative = 0.0,
        n_restarts: CountOrZero = 5,
        n_jumps: CountOrZero = 5,
        pruning: Literal["cost", "reduced_error", "pre", "pessimistic", "validation", "cv"] | None = None,
        alpha: NonNegative = 0.0,
        validation_fraction: OpenFraction = 0.2,
        pruning_ties: bool = False,
        confidence: OpenFraction = 0.25,
        cv: Folds = 5,
        n_jobs: Jobs = None,
    ) -> None:
        self.algorithm: Any = algorithm
        self.criterion: Any = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.random_state = random_state
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.class_weight = class_weight
        self.ccp_alpha = ccp_alpha
        self.n_restarts = n_restarts
        self.n_jumps = n_jumps
        self.pruning = pruning
        self.alpha = alpha
        self.validation_fraction = validation_fraction
        self.pruning_ties = pruning_ties
        self.confidence = confidence
        self.cv = cv
        self.n_jobs = n_jobs

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        if y is not NO_TARGET and y is not None:
            with Explaining(y=y):
                refuse_mixed_labels(y)
                y = column_or_1d(y, warn=True)
        return super()._check(X, y, reset=reset)

    def _fit(
        self, X: Any, y: Any, sample_weight: np.ndarray | None, held_out: tuple[Any, Any] = (None, None)
    ) -> None:
        weight = self._with_class_weight(y, sample_weight)
        sample, held, seed = self._prepare(X, y, weight, held_out)
        low, high = (np.fmax.reduce(side, axis=0) for side in (-sample.X, sample.X))
        self.spread_ = np.nan_to_num((low + high).astype(np.float64))
        tree = self._grow(*sample, seed)
        self.tree_ = self._prune(tree, sample, held, seed, self._grow)

    fitted_shapes = {"spread_": "features"}

    def _grow(self, X: np.ndarray, y: np.ndarray, weight: np.ndarray | None, seed: int) -> Tree:
        X, weight = X.astype(np.float64), np.ones(len(y)) if weight is None else weight.astype(np.float64)
        limits, code = self._limits(X, weight), GINI if self.criterion == "gini" else ENTROPY
        splitter = ObliqueSplitter(
            X,
            y,
            self.n_classes_,
            code,
            limits,
            self.algorithm,
            self.n_restarts,
            self.n_jumps,
            np.random.default_rng(seed),
            self.n_jobs,
        )
        growth = NodeGrowth(splitter, X.shape[1], self.n_classes_, code, y, weight, limits)
        with one_blas_thread():  # the matrices of most nodes are small
            return growth.grow(NodeRows(np.arange(len(y)), weight))

    @property
    def feature_importances_(self) -> np.ndarray:
        """How much the tests lower the impurity, divided among features by their weights times their ranges."""
        check_is_fitted(self)
        tree = copy.copy(self.tree_)
        tree.coef = tree.coef * self.spread_  # weights are in one over the unit of their feature
        return tree.compute_feature_importances()


class LinearSplit(NamedTuple):
    """A test w·x <= threshold, or of a single feature (`coef` is None), the side of each row, and the gain."""

    gain: float
    threshold: float
    right: np.ndarray
    missing: int
    coef: np.ndarray | None = None
    feature: int = -2
    n_children: int = 2

    def test(self) -> dict[str, Any]:
        """The arguments of `TreeBuilder.split`."""
        return {name: getattr(self, name) for name in ("feature", "threshold", "missing", "coef")}


@dataclass
class ObliqueSplitter:
    """The tests of an oblique tree; the options are those of `ObliqueTreeClassifier`."""

    X: np.ndarray
    y: np.ndarray
    n_classes: int
    code: int
    limits: Limits
    algorithm: str
    n_restarts: int
    n_jumps: int
    rng: np.random.Generator
    n_jobs: int | None

    def best_split(self, node: NodeRows) -> LinearSplit | None:
        """The best hyperplane that was found, or the best test of one feature where that is no worse."""
        X, y = self.X[node.rows], self.y[node.rows]
        axis = self._axis_parallel(X, y, node.weight)
        complete = ~np.isnan(X).any(axis=1)
        oblique = None
        if len(np.unique(y[complete])) > 1:
            weight = node.weight[complete]
            sample = NodeSample.of(X[complete], y[complete], weight, self.n_classes, self.code, self._least)
            if self.algorithm == "oc1":
                planes = self._oc1(sample, axis)
            else:
                planes = discriminant_directions(sample, self.algorithm)
            splits = [self._with_best_threshold(X, y, node.weight, sample.unscaled(p)) for p in planes]
            oblique = max((s for s in splits if s is not None), key=lambda s: s.gain, default=None)
        if axis is None or oblique is None:
            return axis or oblique
        enough = axis.gain if self.algorithm == "oc1" else 0.0
        return oblique if oblique.gain > enough + TIE else axis

    def children(self, node: NodeRows, split: LinearSplit) -> Iterator[NodeRows]:
        """The rows of the two sides."""
        for side in (~split.right, split.right):
            weight = node.weight[side]
            yield NodeRows(node.rows[side], weight, float(weight.sum() / node.weight.sum()))

    @property
    def _least(self) -> tuple[int, float]:
        return self.limits.min_samples_leaf, self.limits.min_weight_leaf

    def _oc1(self, sample: NodeSample, axis: LinearSplit | None) -> list[np.ndarray]:
        """OC1: hill climbing from the best test of one feature and from random planes."""
        varying = np.append(np.isfinite(sample.scale), True)
        starts = [np.where(varying, s, 0.0) for s in self.rng.normal(size=(self.n_restarts, len(varying)))]
        if axis is not None and varying[axis.feature]:
            starts.insert(0, np.eye(len(varying))[axis.feature])
        seeds = self.rng.integers(2**31 - 1, size=len(starts))

        def run(k: int) -> tuple[float, np.ndarray]:
            return hill_climb(sample, starts[k], self.n_jumps, np.random.default_rng(seeds[k]))

        if not varying[:-1].any() or not starts:
            return []
        runs, parallel = range(len(starts)), sample.Z.size >= PARALLEL_SIZE
        found = each(run, runs, n_jobs=self.n_jobs) if parallel else [run(k) for k in runs]
        best = min(value for value, _ in found)
        return [plane for value, plane in found if value <= best + TIE * sample.weight.sum()][:1]

    def _axis_parallel(self, X: np.ndarray, y: np.ndarray, weight: np.ndarray) -> LinearSplit | None:
        """The best test of a single feature."""
        d = X.shape[1]
        data = LabelledColumns.of(X, y, self.n_classes, np.zeros(d))
        rows, features = np.arange(len(y), dtype=np.int32), np.arange(d)
        orders = data.sorted_rows()
        table = gain_table(data, rows, weight, orders, features, code=self.code, least=self._least)
        if table[:, GAIN].max() < 0:
            return None
        j = int(np.flatnonzero(table[:, GAIN] >= table[:, GAIN].max() - TIE)[0])
        return self._evaluated(X[:, j], y, weight, table[j, MIDPOINT], feature=j)

    def _with_best_threshold(
        self, X: np.ndarray, y: np.ndarray, weight: np.ndarray, coef: np.ndarray
    ) -> LinearSplit | None:
        """The test of a direction with its best threshold; None if no threshold splits the rows."""
        used = np.flatnonzero(coef)
        size = np.abs(coef).max(initial=0.0)
        if not used.size or not np.isfinite(size):
            return None
        coef = coef / size
        if used.size > 1 and coef[np.argmax(np.abs(coef) > 1 - 1e-9)] < 0:  # the first of the largest
            coef = -coef
        z = X[:, used] @ coef[used]
        known = ~np.isnan(z)
        # Sums come out a little different in another order: rows that are nearer than that stay together.
        gap = 1e-12 * np.abs(X[known][:, used] * coef[used]).sum(axis=1).max()
        limits = self.n_classes, self.code, self._least, gap
        impurity, threshold = best_threshold(z[known], y[known], weight[known], *limits)
        return self._evaluated(z, y, weight, threshold, coef=coef) if np.isfinite(impurity) else None

    def _evaluated(
        self, z: np.ndarray, y: np.ndarray, weight: np.ndarray, threshold: float, **test: Any
    ) -> LinearSplit:
        """A test with the side of every row and its gain, once rows without a value are on the heavier side."""
        right, known = z > threshold, ~np.isnan(z)
        heavier = int(weight[known & right].sum() > weight[known & ~right].sum())
        right = np.where(known, right, bool(heavier))
        sides = [np.bincount(y[s], weights=weight[s], minlength=self.n_classes) for s in (right, ~right)]
        after = weighted_impurity(sides[0], self.code) + weighted_impurity(sides[1], self.code)
        gain = (weighted_impurity(sides[0] + sides[1], self.code) - after) / weight.sum()
        return LinearSplit(gain, float(threshold), right, heavier, **test)
