"""Isolation forest (孤立森林): rows that random tests soon tell from all others are outliers."""

from __future__ import annotations

import numbers
import warnings
from typing import Annotated, Any, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.base import OutlierMixin

from tercet.core.catalog import method
from tercet.core.columns import Features
from tercet.core.estimator import NO_TARGET, check_is_fitted, generator
from tercet.core.fitted_checks import Each, Floats, Having, Indices, Sizes, Whole
from tercet.core.parallel import engine
from tercet.core.parameters import Count, CountOrZero, Jobs, Range, Seed
from tercet.core.validation import target_for_callbacks
from tercet.ensemble._engine.packed_trees import PackedTrees, kept_table
from tercet.ensemble.member_checks import check_trees
from tercet.tree import ExtraTreeRegressor, Limits, Tree, TreeInput, grow_binary

Share = Annotated[float, Range(0, 1, "(]")]
EULER = 0.57721566490153286


@method(
    zh="孤立森林",
    task="outlier detection",
    model="s(x) = 2^(-E[h(x)] / c(n)), h the length of the path of x in a tree of random tests",
    strategy="none: outliers are few and different, so that random tests soon isolate them",
    algorithms="trees of random features and thresholds on small samples of the rows",
    texts=["watermelon notes ch. 6"],
    peers=["sklearn.ensemble.IsolationForest"],
)
class IsolationForest(OutlierMixin, TreeInput):
    """Isolation forest: the fewer random tests isolate a row, the more of an outlier it is.

    Every tree takes `max_samples` rows and tests a random feature at a random threshold until each row stands alone
    or the depth is log2 of their number. With the mean path length E[h(x)] over trees and that of an unsuccessful
    search, c(n) = 2 H(n-1) - 2 (n-1)/n, the score is 2^(-E[h(x)] / c(n)).

    Parameters
    ----------
    n_estimators : int, default=100
        The number of trees.
    max_samples : "auto", int or float, default="auto"
        How many rows a tree takes; a float is a fraction of them; "auto" is at most 256.
    contamination : "auto" or float, default="auto"
        The fraction of outliers among the rows, which sets the threshold of the score; "auto" sets it to 1/2.
    max_features : int or float, default=1.0
        How many columns a tree gets; a float is a fraction of them.
    bootstrap : bool, default=False
        Whether rows are drawn with replacement.
    n_jobs : int, optional
        Threads. The forest does not depend on it.
    random_state : int, optional
        Decides the rows of the trees, and all tests.
    verbose : int, default=0
        There for scikit-learn's sake; register a `ProgressBar` callback to watch a fit.
    warm_start : bool, default=False
        Whether `fit` keeps the trees of the fit before, and only adds those that are missing.
    categorical_features : "from_dtype", list or mask, optional
        Which columns are categories: by their dtype, or by name, index or mask.

    Attributes
    ----------
    estimators_ : list of ExtraTreeRegressor
        The trees.
    estimators_features_, estimators_samples_ : lists of arrays
        The columns and the rows of each tree.
    max_samples_ : int
        The rows of a tree.
    offset_ : float
        Rows whose `score_samples` is below it are outliers.

    Examples
    --------
    >>> X = [[-1.1], [0.3], [0.5], [100.0]]
    >>> IsolationForest(random_state=0).fit(X).predict([[0.1], [0.0], [90.0]])
    array([ 1,  1, -1])
    """

    multi_output = False
    max_depth = max_leaf_nodes = monotonic_cst = None
    min_samples_split, min_samples_leaf, min_weight_fraction_leaf, min_impurity_decrease = 2, 1, 0.0, 0.0

    def __init__(
        self,
        *,
        n_estimators: Count = 100,
        max_samples: Literal["auto"] | Count | Share = "auto",
        contamination: Literal["auto"] | Annotated[float, Range(0, 0.5, "(]")] = "auto",
        max_features: Count | Share = 1.0,
        bootstrap: bool = False,
        n_jobs: Jobs = None,
        random_state: Seed = None,
        verbose: CountOrZero | bool = 0,
        warm_start: bool = False,
        categorical_features: Features = "from_dtype",
    ) -> None:
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.contamination = contamination
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.categorical_features = categorical_features

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            The rows; NaN and None are missing values.
        y : ignored
            There for pipelines; callbacks may score by it.
        sample_weight : array of shape (n_samples,), optional
            Rows are drawn in proportion to it.

        Returns
        -------
        self
        """
        return self._learn(X, y, sample_weight)

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        X = super()._check(X, reset=reset)
        return X if y is NO_TARGET else (X, target_for_callbacks(y, X.shape[0]))

    def _encode(self, y: Any) -> None:
        return None

    def _fit(self, X: Any, y: None, sample_weight: np.ndarray | None) -> None:
        # a tree takes few of the rows: sparse ones are dense only then
        rows = X if sparse.issparse(X) else np.ascontiguousarray(X, dtype=np.float64)
        n, d = rows.shape
        self.max_samples_, self.estimator_ = self._rows_drawn(n), ExtraTreeRegressor(max_features=1)
        self._n_rows, self._draw_weight = n, sample_weight
        columns = int(self.max_features) if isinstance(self.max_features, numbers.Integral) else None
        self._n_columns = max(1, int(self.max_features * d)) if columns is None else columns
        if self._n_columns > d:
            raise ValueError(
                f"{type(self).__name__}: max_features must be <= n_features={d}; got {self._n_columns}."
            )
        kept = list(getattr(self, "estimators_", [])) if self.warm_start else []
        if self.n_estimators < len(kept):
            raise ValueError(
                f"{type(self).__name__}: n_estimators={self.n_estimators} must be larger or equal to "
                f"len(estimators_)={len(kept)} when warm_start==True"
            )
        self._seeds = generator(self.random_state).integers(2**31 - 1, size=self.n_estimators)
        new = engine(self.n_jobs).map(
            lambda seed: self._grown(rows, int(seed)), list(self._seeds[len(kept) :]), ()
        )
        members = list(kept)
        for step in self.steps(self.n_estimators - len(kept), name="tree", unpack=self._state):
            members.append(next(new))
            step.report((len(members), members))
        self.estimators_ = members
        self.offset_ = -0.5
        if not isinstance(self.contamination, str):
            self.offset_ = float(np.percentile(self._scores(rows), 100.0 * self.contamination))

    def _state(self, state: tuple[int, list[Any]]) -> dict[str, Any]:
        """The fitted attributes after so many trees."""
        return {"estimators_": state[1][: state[0]], "offset_": -0.5}

    def _grown(self, X: Any, seed: int) -> Any:
        """The tree of a seed: random features, random thresholds."""
        rows, columns = self._drawn_rows(seed), self._drawn_columns(seed, X.shape[1])
        if sparse.issparse(X):  # few columns have an entry in these rows: growth looks at no others
            some = X[rows] if len(columns) == X.shape[1] else X[rows][:, columns]
            some = some.toarray() if np.isnan(some.data).any() else some
        else:
            some = np.ascontiguousarray(X[np.ix_(rows, columns)])
        limits = Limits(max_depth=int(np.ceil(np.log2(max(len(rows), 2)))), max_features=1)
        # Any target that tells all rows apart: only the tests matter.
        target = np.random.default_rng([seed, 4]).random(len(rows))
        arrays = grow_binary(
            some,
            target,
            n_classes=(1,),
            criterion="squared_error",
            splitter="random",
            limits=limits,
            n_categories=self._n_categories()[columns],
            seed=seed,
        )
        member = ExtraTreeRegressor(max_features=1, max_depth=limits.max_depth, random_state=seed)
        known = [self.categories_[j] for j in columns]
        return member.with_tree(Tree.from_arrays(arrays, verify=False), len(columns), None, known)

    def _rows_drawn(self, n: int) -> int:
        if isinstance(self.max_samples, str):
            return min(256, n)
        if isinstance(self.max_samples, numbers.Integral):
            if self.max_samples > n:
                warnings.warn(
                    f"max_samples={self.max_samples} is more than the {n} rows there are: max_samples will be set "
                    "to n_samples for estimation.",
                    stacklevel=5,
                )
            return min(int(self.max_samples), n)
        return max(1, int(self.max_samples * n))

    def _drawn_rows(self, seed: int) -> np.ndarray:
        random = np.random.default_rng([seed, 1])
        p = None if self._draw_weight is None else self._draw_weight / self._draw_weight.sum()
        most = (
            self.max_samples_ if p is None or self.bootstrap else min(self.max_samples_, int((p > 0).sum()))
        )
        return random.choice(self._n_rows, most, replace=bool(self.bootstrap), p=p)

    def _drawn_columns(self, seed: int, d: int) -> np.ndarray:
        if self._n_columns == d:
            return np.arange(d)
        return np.random.default_rng([seed, 2]).choice(d, self._n_columns, replace=False)

    fitted_shapes = {
        "_n_columns": Whole("columns", 1),
        "estimators_": Each(Having({"n_features_in_": "columns"}), "members"),
        "max_samples_": Whole(low=1),
        "offset_": Floats("", finite=True),
        "_n_rows": Whole("rows", 1),
        "_draw_weight": Floats("rows | None", finite=True, low=0.0),
        "_seeds": Indices("seeds", below="2147483647"),
    }

    def _check_fitted(self, sizes: Sizes) -> None:
        if "estimators_" not in vars(self):
            return
        name, members = type(self).__name__, self.estimators_
        if not len(members) <= len(self._seeds) or self._n_columns > self.n_features_in_:
            raise ValueError(
                f"{name}: {len(members)} trees of {self._n_columns} columns do not go with "
                f"{len(self._seeds)} seeds and {self.n_features_in_} features."
            )
        check_trees(name, [member.tree_ for member in members], self._n_columns, (1,))

    @property
    def estimators_samples_(self) -> list[np.ndarray]:
        """The rows of each tree."""
        check_is_fitted(self)
        return [self._drawn_rows(int(seed)) for seed in self._seeds[: len(self.estimators_)]]

    @property
    def estimators_features_(self) -> list[np.ndarray]:
        """The columns of each tree."""
        check_is_fitted(self)
        d = self.n_features_in_
        return [self._drawn_columns(int(seed), d) for seed in self._seeds[: len(self.estimators_)]]

    def _tables(self, trees: list[Tree]) -> tuple[list[np.ndarray], PackedTrees | None]:
        """The path lengths at the nodes of the trees, and where all have the same columns one table of them."""
        lengths = [tree.depth + average_path_length(tree.n_node_samples) for tree in trees]
        if self._n_columns < self.n_features_in_:
            return lengths, None
        return lengths, PackedTrees.of(trees, [length[:, None] for length in lengths])

    def _scores(self, X: Any) -> np.ndarray:
        """-2^(-E[h(x)] / c(n)) of rows that are checked."""
        trees = [member.tree_ for member in self.estimators_]
        lengths, packed = kept_table(self, trees, lambda: self._tables(trees))
        if packed is not None:
            total = packed.sums(X, self.n_jobs)[:, 0]
        else:
            columns, X = self.estimators_features_, self._dense(X)
            total = sum(
                length[tree.apply(np.ascontiguousarray(X[:, some]))]
                for tree, length, some in zip(trees, lengths, columns)
            )
        usual = average_path_length(np.array([self.max_samples_]))[0]
        return -(2.0 ** (-total / (len(trees) * usual))) if usual > 0 else np.full(X.shape[0], -0.5)

    def score_samples(self, X: Any) -> np.ndarray:
        """The opposite of the anomaly score: the lower, the more of an outlier.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        array of shape (n_samples,)
        """
        check_is_fitted(self)
        X = self._check(X, reset=False)
        return self._scores(X if sparse.issparse(X) else np.asarray(X, dtype=np.float64))

    def decision_function(self, X: Any) -> np.ndarray:
        """`score_samples` less `offset_`: negative for outliers.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        array of shape (n_samples,)
        """
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> np.ndarray:
        """-1 for outliers, 1 for others.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        array of shape (n_samples,)
        """
        return np.where(self.decision_function(X) < 0, -1, 1)


def average_path_length(n: np.ndarray) -> np.ndarray:
    """c(n) = 2 H(n-1) - 2 (n-1)/n, the mean path of an unsuccessful search in a binary tree of n rows.

    Examples
    --------
    >>> average_path_length(np.array([1, 2, 256])).round(4)
    array([ 0.    ,  1.    , 10.2448])
    """
    n = np.asarray(n, dtype=np.float64)
    large = np.maximum(n, 3.0)
    length = 2.0 * (np.log(large - 1.0) + EULER) - 2.0 * (large - 1.0) / large
    return np.where(n > 2, length, np.where(n == 2, 1.0, 0.0))
