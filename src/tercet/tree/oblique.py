"""Multivariate decision trees (多变量决策树): every test is a hyperplane."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import numpy as np
from sklearn.utils.validation import column_or_1d

from tercet.core.catalog import method
from tercet.core.estimator import NO_TARGET, check_is_fitted
from tercet.core.parallel import each, one_blas_thread
from tercet.core.parameters import Count, CountOrZero, Fraction, Jobs, NonNegative, OpenFraction, Seed
from tercet.tree.base import AtLeastTwo, DecisionTree, Few, FewToSplit, Folds
from tercet.tree.classifier import DecisionTreeClassifier
from tercet.tree.gains import ENTROPY, GAIN, GINI, MIDDLE, TIE, Data, gains, mass
from tercet.tree.growth import Growth, Part
from tercet.tree.hyperplanes import Cloud, climb, directions, threshold
from tercet.tree.structure import LINEAR, THRESHOLD, Tree

MANY = 1 << 12  # rows times columns from which restarts are worth threads of their own


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
    texts=["002 ch. 2, 2.6"],
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
        The most tests on a way to a leaf.
    min_samples_split, min_samples_leaf : int or float, default=2 and 1
        The fewest rows of a node that is split, and of a leaf; a float is a part of all rows.
    min_weight_fraction_leaf : float, default=0.0
        The least part of the total weight in a leaf.
    random_state : int, optional
        Decides every draw: of directions, planes, held-out rows and folds.
    max_leaf_nodes : int, optional
        The most leaves; the nodes that gain most are split first.
    min_impurity_decrease : float, default=0.0
        The least fall of the impurity, times the node's part of all rows, that is worth a split.
    class_weight : dict or "balanced", optional
        Weights of the classes.
    ccp_alpha : float, default=0.0
        The price of a leaf in cost-complexity pruning (see `cost_complexity_pruning_path`).
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
        With pruning="validation" or "cv": the chosen price of a leaf, all that were tried, and what they lost.

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
    splitter: Any = "best"
    max_features: Any = None
    monotonic_cst: Any = None
    categorical_features: Any = None
    max_bins: Any = None

    def __init__(
        self,
        algorithm: Literal["oc1", "least_squares", "lda", "perceptron", "logistic"] = "oc1",
        *,
        criterion: Literal["gini", "entropy"] = "gini",
        max_depth: Count | None = None,
        min_samples_split: FewToSplit = 2,
        min_samples_leaf: Few = 1,
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
            y = column_or_1d(y, warn=True)
        return super()._check(X, y, reset=reset)

    def _check_options(self, d: int) -> None:
        DecisionTree._check_options(self, d)

    def _grow(self, X: np.ndarray, y: np.ndarray, weight: np.ndarray | None, seed: int) -> Tree:
        weight = np.ones(len(y)) if weight is None else weight.astype(np.float64)
        code = GINI if self.criterion == "gini" else ENTROPY
        growth = Oblique(X.shape[1], self.n_classes_, code, y, weight, self._limits(X, weight))
        growth.X, growth.rng = X.astype(np.float64), np.random.default_rng(seed)
        low, high = (np.fmax.reduce(side, axis=0) for side in (-growth.X, growth.X))
        self.spread_ = np.nan_to_num(low + high)
        growth.algorithm, growth.n_jobs = self.algorithm, self.n_jobs
        growth.n_restarts, growth.n_jumps = self.n_restarts, self.n_jumps
        with one_blas_thread():  # the matrices of most nodes are small
            return growth.tree(Part(np.arange(len(y)), weight))

    @property
    def feature_importances_(self) -> np.ndarray:
        """How much the tests lower the impurity, divided among features by their weights times their ranges."""
        check_is_fitted(self)
        tree = copy.copy(self.tree_)
        tree.coef = tree.coef * self.spread_  # weights are in one over the unit of their feature
        return tree.compute_feature_importances()


class Plane(NamedTuple):
    """A linear test (one of a single feature has no weights), the side of each row, and what it gains."""

    gain: float
    threshold: float
    right: np.ndarray
    missing: int
    coef: np.ndarray | None = None
    feature: int = -2
    n_children: int = 2

    def arrays(self) -> dict[str, Any]:
        kind = THRESHOLD if self.coef is None else LINEAR
        names = ("feature", "threshold", "missing", "coef", "n_children")
        return {"kind": kind, **{name: getattr(self, name) for name in names}}


class Oblique(Growth):
    """The growth of a tree with linear tests."""

    X: np.ndarray
    rng: np.random.Generator
    algorithm: str
    n_restarts: int
    n_jumps: int
    n_jobs: int | None

    def choose(self, part: Part) -> Plane | None:
        X, y = self.X[part.rows], self.y[part.rows]
        axis = self.of_one_feature(X, y, part.weight)
        whole = ~np.isnan(X).any(axis=1)
        line = None
        if len(np.unique(y[whole])) > 1:
            cloud = Cloud.of(X[whole], y[whole], part.weight[whole], self.n_classes, self.code, self.least)
            planes = (
                self.search(cloud, axis) if self.algorithm == "oc1" else directions(cloud, self.algorithm)
            )
            found = [self.judge(X, y, part.weight, cloud.raw(plane)) for plane in planes]
            line = max((f for f in found if f is not None), key=lambda f: f.gain, default=None)
        if axis is None or line is None:
            return axis or line
        enough = axis.gain if self.algorithm == "oc1" else 0.0
        return line if line.gain > enough + TIE else axis

    @property
    def least(self) -> tuple[int, float]:
        return self.limits.min_samples_leaf, self.limits.min_weight_leaf

    def search(self, cloud: Cloud, axis: Plane | None) -> list[np.ndarray]:
        """OC1: climb from the best test of one feature and from random planes."""
        varying = np.append(np.isfinite(cloud.scale), True)
        starts = [np.where(varying, s, 0.0) for s in self.rng.normal(size=(self.n_restarts, len(varying)))]
        if axis is not None and varying[axis.feature]:
            starts.insert(0, np.eye(len(varying))[axis.feature])
        seeds = self.rng.integers(2**31 - 1, size=len(starts))

        def run(k: int) -> tuple[float, np.ndarray]:
            return climb(cloud, starts[k], self.n_jumps, np.random.default_rng(seeds[k]))

        if not varying[:-1].any():
            return []
        many = range(len(starts))
        found = each(run, many, n_jobs=self.n_jobs) if cloud.Z.size >= MANY else [run(k) for k in many]
        best = min(value for value, _ in found)
        return [plane for value, plane in found if value <= best + TIE * cloud.weight.sum()][:1]

    def of_one_feature(self, X: np.ndarray, y: np.ndarray, weight: np.ndarray) -> Plane | None:
        """The best test of a single feature."""
        d = X.shape[1]
        data = Data.of(X, y, self.n_classes, np.zeros(d))
        rows = np.arange(len(y), dtype=np.int32)
        table = gains(data, rows, weight, data.sorted_rows(), np.arange(d), code=self.code, least=self.least)
        if table[:, GAIN].max() < 0:
            return None
        j = int(np.flatnonzero(table[:, GAIN] >= table[:, GAIN].max() - TIE)[0])
        return self.halves(X[:, j], y, weight, table[j, MIDDLE], feature=j)

    def judge(self, X: np.ndarray, y: np.ndarray, weight: np.ndarray, coef: np.ndarray) -> Plane | None:
        """The test of a direction with its best threshold; None if it parts nothing."""
        used = np.flatnonzero(coef)
        size = np.abs(coef).max(initial=0.0)
        if not used.size or not np.isfinite(size):
            return None
        coef = coef / size
        if used.size > 1 and coef[np.argmax(np.abs(coef) > 1 - 1e-9)] < 0:  # the first of the greatest
            coef = -coef
        z = X[:, used] @ coef[used]
        known = ~np.isnan(z)
        # Sums come out a little different in another order: rows that are nearer than that stay together.
        gap = 1e-12 * np.abs(X[known][:, used] * coef[used]).sum(axis=1).max()
        found, cut = threshold(z[known], y[known], weight[known], self.n_classes, self.code, self.least, gap)
        return self.halves(z, y, weight, cut, coef=coef) if np.isfinite(found) else None

    def halves(self, z: np.ndarray, y: np.ndarray, weight: np.ndarray, cut: float, **test: Any) -> Plane:
        """A test with the side of every row and its gain, once rows without a value are on the heavier side."""
        right, known = z > cut, ~np.isnan(z)
        heavier = int(weight[known & right].sum() > weight[known & ~right].sum())
        right = np.where(known, right, bool(heavier))
        sides = [np.bincount(y[s], weights=weight[s], minlength=self.n_classes) for s in (right, ~right)]
        mixed = mass(sides[0], self.code) + mass(sides[1], self.code)
        gain = (mass(sides[0] + sides[1], self.code) - mixed) / weight.sum()
        return Plane(gain, float(cut), right, heavier, **test)

    def divide(self, part: Part, test: Plane) -> Iterator[Part]:
        for side in (~test.right, test.right):
            weight = part.weight[side]
            yield Part(part.rows[side], weight, float(weight.sum() / part.weight.sum()))
