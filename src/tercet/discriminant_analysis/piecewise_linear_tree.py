"""The tree-structured piecewise-linear classifier (树状分段线性分类器): hyperplanes, one inside the other."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import linalg

from tercet.core.catalog import method
from tercet.core.estimator import Classifier, check_is_fitted, generator
from tercet.core.fitted_checks import Having
from tercet.core.kernel import kernel
from tercet.core.parallel import one_blas_thread
from tercet.core.parameters import Count, CountOrZero, Jobs, Seed
from tercet.core.row_products import row_products
from tercet.core.rows import kernel_form
from tercet.core.scaling import LARGE, largest, scale_exponent, times_power
from tercet.core.stopping import check_stop
from tercet.neighbors import NearestNeighbors
from tercet.tree import AtLeastTwo, Tree, TreeBuilder

RIDGE = 1e-10  # of the mean square of a feature: collinear features make the normal equations singular


@method(
    zh="树状分段线性分类器",
    task="classification",
    model="hyperplanes w·x + w₀ = 0 from a root to a leaf; a leaf has the class of its rows",
    strategy="pure leaves; at a node the least impurity of its two sides",
    algorithms={
        "perceptron": "perceptron passes from the perpendicular bisector of the closest pair of opposite rows",
        "least_squares": "the hyperplane of least squared error for targets +1 and -1",
        "bisector": "the perpendicular bisector itself",
    },
    texts=["Pattern Recognition ch. 5, sec. 5.2.2, Fig 5-4, 5-5"],
)
class PiecewiseLinearTree(Classifier):
    """Tree of hyperplanes that divides the rows until each part has one class.

    At a node the closest pair of rows of different classes is found, and the perpendicular bisector of the pair is
    the first hyperplane. A linear method for two classes starts from there; the hyperplane with the least Gini
    impurity of the two sides is kept. It divides the rows, and the same is done on each side, until all rows of a
    part have one class. The number of subclasses need not be known: each leaf is one. Among several classes, each
    goes with the one of the pair on whose side of the bisector most of its rows lie.

    Parameters
    ----------
    algorithm : {"perceptron", "least_squares", "bisector"}, default="perceptron"
        How a node gets its hyperplane. Where the result does not lower the impurity below that of the bisector, the
        bisector is taken.
    pair : {"nearest", "mutual"}, default="nearest"
        The pair to start from. "nearest" is the closest of all pairs. "mutual" goes from a random row to the
        nearest row of another class and back until two rows are nearest to each other, which is much faster with
        many rows and features.
    max_depth : int, optional
        Maximum number of hyperplanes on the way to a leaf.
    min_samples_split : int, default=2
        Minimum number of rows of a node that is divided.
    min_samples_leaf : int, default=1
        Minimum number of rows on each side of a hyperplane.
    max_iter : int, default=50
        Maximum number of passes of the perceptron at a node.
    random_state : int, optional
        Seed of the order of the perceptron's rows, and of the start of "mutual".
    n_jobs : int, optional
        Threads for the search of neighbours; the result does not depend on it.

    Attributes
    ----------
    tree_ : Tree
        The nodes, in arrays; `tree_.coef` has the weights of the hyperplanes.
    classes_ : array of shape (n_classes,)
        The labels.
    n_iter_ : int
        Passes, one for each level of the tree.
    history_ : dict
        For each level the number of leaves and the part of the weight that is misclassified so far ("error").

    Examples
    --------
    >>> X = [[0, 0], [0, 1], [1, 0], [1, 1], [3, 3], [3, 4], [4, 3]]
    >>> y = ["a", "a", "a", "b", "a", "b", "b"]
    >>> model = PiecewiseLinearTree(random_state=0).fit(X, y)
    >>> model.predict(X)
    array(['a', 'a', 'a', 'b', 'a', 'b', 'b'], dtype='<U1')
    >>> model.get_n_leaves() > 2
    True
    """

    sparse_input = False
    largest_value = LARGE
    fitted_shapes = {"tree_": Having({"n_features": "features"}, ("apply", "predict"))}

    def __init__(
        self,
        algorithm: Literal["perceptron", "least_squares", "bisector"] = "perceptron",
        *,
        pair: Literal["nearest", "mutual"] = "nearest",
        max_depth: CountOrZero | None = None,
        min_samples_split: AtLeastTwo = 2,
        min_samples_leaf: Count = 1,
        max_iter: Count = 50,
        random_state: Seed = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.algorithm = algorithm
        self.pair = pair
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs

    tree_: Tree

    def _fit(self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        exponent, rng = scale_exponent(largest(X)), generator(self.random_state)
        sample = Sample.of(times_power(X, -exponent), y, sample_weight, self.classes_.size)
        builder = TreeBuilder(X.shape[1])
        level = [(_leaf(builder, builder.add_root(), sample), sample)]
        error, leaves = level[0][1].error, 1
        depth = len(sample.points) if self.max_depth is None else self.max_depth
        for step in self.steps(depth, name="level"):
            below = []
            for node, part in level:
                with one_blas_thread():  # most nodes are small
                    plane = self._hyperplane(part, rng) if self._is_divided(part) else None
                if plane is None:
                    continue
                children = builder.split(
                    node, threshold=plane.threshold, coef=times_power(plane.coef, -exponent)
                )
                sides = part.some(~plane.right), part.some(plane.right)
                below += [(_leaf(builder, child, side), side) for child, side in zip(children, sides)]
                error, leaves = error - part.error + sides[0].error + sides[1].error, leaves + 1
            step.report(
                {"tree_": builder.tree([self.classes_.size])}, leaves=leaves, error=error / sample.mass
            )
            level = below
            if not level:
                break
        self.tree_ = builder.tree([self.classes_.size])

    def _is_divided(self, part: Sample) -> bool:
        """Whether a node has rows of several classes, and enough of them."""
        enough = max(self.min_samples_split, 2 * self.min_samples_leaf)
        return part.rows.sum() >= enough and part.label.min() < part.label.max()

    def _hyperplane(self, part: Sample, rng: np.random.Generator) -> Plane | None:
        """The hyperplane of a node; None where its sides would be too small."""
        find = closest_opposite_pair if self.pair == "nearest" else mutual_pair
        p, q = find(part.points, part.label, rng, self.n_jobs)
        middle, normal = part.points[p] / 2 + part.points[q] / 2, part.points[p] - part.points[q]
        unit = float(np.sqrt(((part.points - middle) ** 2).sum(axis=1).mean()))
        Z = np.column_stack([(part.points - middle) / unit, np.ones(len(part.points))])
        bisector = np.append(normal / np.linalg.norm(normal), 0.0)
        if self.algorithm == "bisector":
            found = bisector
        else:
            target = two_groups(Z @ bisector > 0, part.label, part.weight, p, q)
            if self.algorithm == "perceptron":
                found = perceptron_from(bisector, Z, target, part.table, self.max_iter, rng)
            else:
                found = least_squares_plane(Z, target, part.weight)
                if not impurity(part.table, Z @ found > 0) < impurity(part.table, Z @ bisector > 0):
                    found = bisector
        axis = np.zeros(normal.size)
        axis[np.abs(normal).argmax()] = np.sign(normal[np.abs(normal).argmax()])
        planes = ((found[:-1], Z @ found > 0), (bisector[:-1], Z @ bisector > 0), (axis, None))
        for coef, right in planes:  # the last divides the pair whatever the rounding
            plane = _between_the_sides(part.points, coef, right, p, q)
            if plane is not None and self._is_large_enough(part, plane.right):
                return plane
        return None

    def _is_large_enough(self, part: Sample, right: np.ndarray) -> bool:
        rows = int(part.rows[right].sum())
        return min(rows, int(part.rows.sum()) - rows) >= self.min_samples_leaf

    def apply(self, X: Any) -> np.ndarray:
        """The leaf that each row ends in, as its number in `tree_`.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The data.

        Returns
        -------
        leaves : array of shape (n_samples,)
        """
        check_is_fitted(self)
        return self.tree_.apply(self._check(X, reset=False), self.n_jobs)

    def decision_path(self, X: Any) -> Any:
        """The nodes that each row goes through, as ones in a sparse matrix.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The data.

        Returns
        -------
        path : CSR matrix of shape (n_samples, n_nodes)
        """
        check_is_fitted(self)
        return self.tree_.decision_path(self._check(X, reset=False))

    def get_n_leaves(self) -> int:
        """The number of leaves, each of which is a subclass of its class."""
        check_is_fitted(self)
        return self.tree_.n_leaves

    def get_depth(self) -> int:
        """The largest number of hyperplanes on the way to a leaf."""
        check_is_fitted(self)
        return self.tree_.max_depth

    def predict_proba(self, X: Any) -> np.ndarray:
        """The shares of the classes among the training rows of each row's leaf.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The data.

        Returns
        -------
        proba : array of shape (n_samples, n_classes)
        """
        return self.tree_.value[self.apply(X), 0]

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The data.

        Returns
        -------
        labels : array of shape (n_samples,)
        """
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class Plane(NamedTuple):
    """A hyperplane, coef·x = threshold, and which points are on its right side, coef·x > threshold."""

    coef: np.ndarray
    threshold: float
    right: np.ndarray


class Sample(NamedTuple):
    """Distinct points, their weight in each class, how many rows each is, and the heaviest class of each."""

    points: np.ndarray
    table: np.ndarray
    rows: np.ndarray
    label: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray, y: np.ndarray, weight: np.ndarray | None, n_classes: int) -> Sample:
        """Equal rows are one point: no hyperplane divides them."""
        weight = np.ones(y.size) if weight is None else weight.astype(np.float64)
        there = weight > 0
        X = np.ascontiguousarray(X[there], dtype=np.float64) + 0.0  # no negative zeros
        points, _, index, count = np.unique(
            X, axis=0, return_index=True, return_inverse=True, return_counts=True
        )
        table = np.zeros((len(points), n_classes))
        np.add.at(table, (index.reshape(-1), y[there]), weight[there])
        return cls(points, table, count, table.argmax(axis=1))

    def some(self, mask: np.ndarray) -> Sample:
        return Sample(*(array[mask] for array in self))

    @property
    def weight(self) -> np.ndarray:
        return self.table.sum(axis=1)

    @property
    def mass(self) -> float:
        return float(self.table.sum())

    @property
    def error(self) -> float:
        """The weight of the rows that are not of the heaviest class."""
        return self.mass - float(self.table.sum(axis=0).max())


def _leaf(builder: TreeBuilder, node: int, part: Sample) -> int:
    """Set a node's value, as that of a leaf; returns its number."""
    share = part.table.sum(axis=0) / part.mass
    gini = float(1.0 - (share**2).sum())
    builder.set(node, value=[share], impurity=gini, samples=int(part.rows.sum()), weight=part.mass)
    return node


def closest_opposite_pair(
    points: np.ndarray, label: np.ndarray, rng: Any = None, n_jobs: int | None = None
) -> tuple[int, int]:
    """The two closest points of different labels, as their numbers; the neighbour search keeps memory linear.

    Examples
    --------
    >>> closest_opposite_pair(np.array([[0.0], [1.0], [3.0], [4.5]]), np.array([0, 0, 1, 1]))
    (1, 2)
    """
    best = np.inf, 0, 0
    for k in np.unique(label)[:-1]:
        mine, others = np.flatnonzero(label == k), np.flatnonzero(label > k)
        index = NearestNeighbors(n_neighbors=1, n_jobs=n_jobs).fit(points[mine])
        distance, nearest = index.kneighbors(points[others])
        at = int(distance[:, 0].argmin())
        if distance[at, 0] < best[0]:
            best = float(distance[at, 0]), int(mine[nearest[at, 0]]), int(others[at])
    return best[1], best[2]


def mutual_pair(
    points: np.ndarray, label: np.ndarray, rng: np.random.Generator, n_jobs: int | None = None
) -> tuple[int, int]:
    """Two points of different labels of which each is the nearest with another label to the other one.

    Examples
    --------
    >>> mutual_pair(np.array([[0.0], [1.0], [3.0], [4.5]]), np.array([0, 0, 1, 1]), np.random.default_rng(0))
    (1, 2)
    """
    p, least = int(rng.integers(label.size)), np.inf
    q = p
    while True:
        check_stop()
        squares = ((points - points[p]) ** 2).sum(axis=1)
        squares[label == label[p]] = np.inf
        nearest = int(squares.argmin())
        if not squares[nearest] < least:
            return min(p, q), max(p, q)
        p, q, least = nearest, p, float(squares[nearest])


def two_groups(right: np.ndarray, label: np.ndarray, weight: np.ndarray, p: int, q: int) -> np.ndarray:
    """Targets +1 and -1: each class goes to the side where most of its weight is; p's to +1 and q's to -1."""
    n = int(label.max()) + 1
    side = np.where(np.bincount(label, np.where(right, weight, -weight), n) > 0, 1.0, -1.0)
    side[label[p]], side[label[q]] = 1.0, -1.0
    return side[label]


def perceptron_from(
    plane: np.ndarray,
    Z: np.ndarray,
    target: np.ndarray,
    table: np.ndarray,
    max_iter: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """The hyperplane of least impurity on the way of the perceptron algorithm from a first one."""
    Z, plane = kernel_form(Z), plane.copy()
    weight = table.sum(axis=1)
    rate = kernel_form(target * weight / weight.mean())
    best, least = plane.copy(), impurity(table, Z @ plane > 0)
    for _ in range(max_iter):
        check_stop()
        mistakes = perceptron_pass(Z, rate, rng.permutation(target.size), plane)
        found = impurity(table, Z @ plane > 0)
        if found < least:
            best, least = plane.copy(), found
        if mistakes == 0:
            break
    return best


def least_squares_plane(Z: np.ndarray, target: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The hyperplane of least weighted squared error for the targets."""
    share = weight / weight.sum()
    normal = (Z.T * share) @ Z
    normal[np.diag_indices_from(normal)] += RIDGE
    return linalg.solve(normal, (Z.T * share) @ target, assume_a="pos")


def impurity(table: np.ndarray, right: np.ndarray) -> float:
    """The Gini impurity of two sides, weighted by their weight; infinite where one is empty.

    Examples
    --------
    >>> impurity(np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 2.0]]), np.array([False, True, True]))
    1.3333333333333333
    """
    if right.all() or not right.any():
        return np.inf
    after = 0.0
    for side in (right, ~right):
        mass = table[side].sum(axis=0)
        after += mass.sum() - (mass**2).sum() / mass.sum()
    return float(after)


def _between_the_sides(
    points: np.ndarray, coef: np.ndarray, right: np.ndarray | None, p: int, q: int
) -> Plane | None:
    """The parallel hyperplane half-way between the nearest points of its two sides; None where one is empty.

    Far from the points, rounding does not decide on which side one of them is.
    """
    z = row_products(points, coef)
    if right is None:
        low, high = float(z[q]), float(z[p])
    else:
        if right.all() or not right.any():
            return None
        low, high = float(z[~right].max()), float(z[right].min())
    threshold = low / 2 + high / 2
    if not low < high:
        return None
    return Plane(
        coef, threshold if low <= threshold < high else low, z > (threshold if threshold < high else low)
    )


@kernel
def perceptron_pass(Z, rate, order, plane):
    """One pass of the perceptron over rows (z, 1); rate[i] is the target of row i times its weight."""
    mistakes = 0
    for at in range(order.size):
        i = order[at]
        z, total = Z[i], 0.0
        for j in range(z.size):
            total += z[j] * plane[j]
        if not total * rate[i] > 0.0:
            for j in range(z.size):
                plane[j] += rate[i] * z[j]
            mistakes += 1
    return mistakes
