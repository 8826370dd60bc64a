"""Learning vector quantisation (学习向量量化): prototypes with labels, moved by the rows."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tercet.core.catalog import method
from tercet.core.estimator import Classifier, generator
from tercet.core.fitted_checks import Floats, Labels
from tercet.core.parameters import Count, NonNegative, OpenFraction, Seed
from tercet.core.rows import kernel_form, read_only
from tercet.core.scaling import largest, scale_exponent, times_power
from tercet.core.validation import check_array
from tercet.neighbors._engine.centroids import nearest_point
from tercet.neighbors._engine.prototype_pass import learning_pass
from tercet.neighbors._engine.search import NeighborIndex

CODES = {"lvq1": 0, "lvq2.1": 1, "glvq": 2}
FEW = 32  # prototypes from which on a search by matrix products is faster


@method(
    zh="学习向量量化（LVQ）",
    task="classification",
    model="y = t_k of the nearest prototype, k = argmin_i |x - p_i|",
    strategy="prototypes near the rows of their own class and far from others; GLVQ: Σ f((d₊ - d₋) / (d₊ + d₋))",
    algorithms={
        "lvq1": "the nearest prototype moves towards a row of its class, and away from one of another",
        "lvq2.1": "both of the two nearest move, where one is right, one wrong and the row lies between them",
        "glvq": "stochastic gradient descent on the relative distances from the nearest right and wrong prototype",
    },
    texts=["watermelon notes ch. 7, Fig 9.4"],
)
class LVQ(Classifier):
    """Learning vector quantisation: the label of the nearest prototype.

    One pass visits all rows. A row x with label y moves its nearest prototype p: p += η(x - p) where it has the
    label y, p -= η(x - p) where not (LVQ1, the texts' Fig 9.4). LVQ2.1 moves the two nearest, towards and away,
    where one of them has the label, the other has not, and the row is in a window between them. GLVQ descends the
    cost Σ f(μ), μ = (d₊ - d₋) / (d₊ + d₋), f(μ) = 1 / (1 + exp(-μ)), with the squared distances from the nearest
    prototype with the label and the nearest without; its steps are in units of the mean squared distance of the
    rows from their mean.

    Parameters
    ----------
    n_prototypes : int, default=1
        Prototypes of each class.
    algorithm : {"lvq1", "lvq2.1", "glvq"}, default="lvq1"
        How a row moves the prototypes.
    init : {"random", "mean"} or array, default="random"
        The first prototypes: rows drawn at random from the class of each; the mean of each class, and rows for its
        further prototypes; or an array of shape (q, n_features), or of q row numbers.
    prototype_labels : array of shape (q,), optional
        The labels of the prototypes, in place of `n_prototypes` for each class; every class has to be among them.
        By default those of the rows that `init` names.
    eta0 : float, optional
        The learning rate η, in (0, 1). By default 0.1, or 0.01 for LVQ2.1, which pushes prototypes apart without
        end: it refines prototypes in a few passes of small steps.
    learning_rate : {"linear", "constant"}, default="linear"
        Whether η falls, from `eta0` in the first pass to 0 after the last one of `max_iter`, or stays.
    window : float, default=0.3
        Of LVQ2.1: a row counts where its distances from the two have a ratio above (1 - window) / (1 + window).
    max_iter : int, default=100
        The most passes.
    tol : float, default=1e-4
        Stop when no prototype has moved by more in a pass than tol times the root mean squared distance of the rows
        from their mean.
    shuffle : bool, default=True
        Visit the rows in a new random order in each pass; False is the order of the data.
    random_state : int, optional
        Decides the first prototypes and the orders.

    Attributes
    ----------
    prototypes_ : array of shape (q, n_features)
    prototype_labels_ : array of shape (q,)
    classes_ : array of shape (n_classes,)
    n_iter_ : int
        Passes made.
    history_ : dict
        For each pass the mean cost f(μ), the share of rows whose nearest prototype was wrong when they came, and
        the longest move of a prototype.

    Examples
    --------
    >>> X, y = [[0.0, 0], [1, 0], [4, 4], [5, 4]], ["a", "a", "b", "b"]
    >>> model = LVQ(init=[0, 3], shuffle=False, max_iter=20).fit(X, y)
    >>> model.predict([[1, 1], [3, 4]])
    array(['a', 'b'], dtype='<U1')
    """

    sparse_input = False
    width_checked_attributes = ("prototypes_",)
    fitted_shapes = {
        "prototypes_": Floats("prototypes features", finite=True),
        "prototype_labels_": Labels("prototypes"),
    }

    def __init__(
        self,
        n_prototypes: Count = 1,
        *,
        algorithm: Literal["lvq1", "lvq2.1", "glvq"] = "lvq1",
        init: Literal["random", "mean"] | list | tuple | np.ndarray = "random",
        prototype_labels: list | tuple | np.ndarray | None = None,
        eta0: OpenFraction | None = None,
        learning_rate: Literal["linear", "constant"] = "linear",
        window: OpenFraction = 0.3,
        max_iter: Count = 100,
        tol: NonNegative = 1e-4,
        shuffle: bool = True,
        random_state: Seed = None,
    ) -> None:
        self.n_prototypes = n_prototypes
        self.algorithm = algorithm
        self.init = init
        self.prototype_labels = prototype_labels
        self.eta0 = eta0
        self.learning_rate = learning_rate
        self.window = window
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.random_state = random_state

    prototypes_: np.ndarray
    prototype_labels_: np.ndarray

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Move the prototypes by rows X with labels y.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The training data.
        y : array of shape (n_samples,)
            The labels: any numbers or strings.
        sample_weight : array of shape (n_samples,), optional
            A row of weight w moves prototypes as w visits one after the other would.

        Returns
        -------
        self
        """
        return self._learn(X, y, sample_weight)

    def _fit(self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        exponent = scale_exponent(largest(X))  # squares must neither overflow nor vanish
        X, rng = kernel_form(times_power(X, -exponent)), generator(self.random_state)
        weight = np.ones(len(X)) if sample_weight is None else sample_weight.astype(np.float64)
        there = np.flatnonzero(weight > 0)
        labels, points = self._first_prototypes(X, y, weight, rng, exponent)
        P = np.array(points, dtype=np.float64, order="C")
        mean = X[there].mean(axis=0)
        spread = float(((X[there] - mean) ** 2).sum(axis=1).mean())
        eta = self.eta0 or (0.01 if self.algorithm == "lvq2.1" else 0.1)
        names = self.classes_[labels]
        loop = self.steps(
            self.max_iter,
            unpack=lambda Q: {"prototypes_": times_power(Q, exponent), "prototype_labels_": names},
        )
        for step in loop:
            falling = 1.0 - step.index / self.max_iter if self.learning_rate == "linear" else 1.0
            pull, push = step_lengths(eta * falling, weight, self.algorithm)
            order = rng.permutation(there) if self.shuffle else there
            before = P.copy()
            loss, wrong = learning_pass(
                X, y, order, P, labels, pull, push, CODES[self.algorithm], self.window, spread
            )
            shift = float(np.sqrt(((P - before) ** 2).sum(axis=1)).max())
            step.report(
                P.copy(), loss=loss / there.size, error=wrong / there.size, shift=times_power(shift, exponent)
            )
            if shift <= self.tol * np.sqrt(spread):
                step.converged(True)
                break
        self.prototypes_, self.prototype_labels_ = times_power(P, exponent), names
        if not np.isfinite(self.prototypes_).all():
            raise ValueError("LVQ: prototypes_ are beyond floating-point numbers; scale the features.")

    def _first_prototypes(
        self, X: np.ndarray, y: np.ndarray, weight: np.ndarray, rng: np.random.Generator, exponent: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Labels, as indices of classes, and first places of the prototypes."""
        given = None if isinstance(self.init, str) else np.asarray(self.init)
        by_number = given is not None and given.ndim == 1 and given.dtype.kind in "iu"
        if by_number and (given.min(initial=0) < 0 or given.max(initial=0) >= len(X)):  # type: ignore[union-attr]
            raise ValueError(
                f"LVQ: init as row numbers must be numbers from 0 to {len(X) - 1}; got {self.init!r}."
            )
        if self.prototype_labels is not None:
            labels = self._preset_labels()
        elif by_number:
            labels = y[given]
        else:
            if self.n_prototypes > len(X):
                raise ValueError(
                    f"LVQ: parameter 'n_prototypes' is {self.n_prototypes}, more than the {len(X)} rows."
                )
            labels = np.repeat(np.arange(len(self.classes_)), self.n_prototypes)
        missing = np.setdiff1d(np.arange(len(self.classes_)), labels)
        if missing.size:
            raise ValueError(
                f"LVQ: class {self.classes_.tolist()[missing[0]]!r} has no prototype; each class needs one."
            )
        if given is None:
            points = X[self._drawn_rows(y, labels, np.flatnonzero(weight > 0), rng)]
            for c in range(len(self.classes_) if self.init == "mean" else 0):
                points[labels.tolist().index(c)] = np.average(X[y == c], axis=0, weights=weight[y == c])
            return labels, points
        points = X[given] if by_number else check_array(given, dtype=np.float64, input_name="init")
        if points.shape != (labels.size, X.shape[1]):
            raise ValueError(
                f"LVQ: init must have {labels.size} prototypes of {X.shape[1]} features, one for each label; the "
                f"shape is {points.shape}."
            )
        return labels, points if by_number else times_power(points, -exponent)

    def _preset_labels(self) -> np.ndarray:
        """`prototype_labels` as indices of classes."""
        preset = np.asarray(self.prototype_labels)
        strange = [label for label in preset.ravel().tolist() if label not in self.classes_.tolist()]
        if preset.ndim != 1 or strange:
            raise ValueError(
                f"LVQ: prototype_labels must be classes of y, {self.classes_.tolist()}; got "
                f"{self.prototype_labels!r}."
            )
        return np.searchsorted(self.classes_, preset.astype(self.classes_.dtype))

    def _drawn_rows(
        self, y: np.ndarray, labels: np.ndarray, there: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """A row of its class for each prototype, no row twice."""
        rows = np.empty(labels.size, dtype=np.int64)
        for c in range(len(self.classes_)):
            mine, wanted = there[y[there] == c], np.flatnonzero(labels == c)
            if mine.size < wanted.size:
                name = self.classes_.tolist()[c]
                raise ValueError(
                    f"LVQ: {wanted.size} prototypes of class {name!r}, which has {mine.size} rows; n_prototypes "
                    "must not be more than the rows of a class."
                )
            rows[wanted] = rng.choice(mine, wanted.size, replace=False)
        return rows

    def nearest_prototype(self, X: Any) -> np.ndarray:
        """The nearest prototype of each row, of equals the first: the cell of the Voronoi partition that it is in.

        Parameters
        ----------
        X : array of shape (n_queries, n_features)
            The rows.

        Returns
        -------
        index : array of shape (n_queries,)
        """
        check_is_fitted(self)
        X = self._check(X, reset=False)
        if len(self.prototypes_) <= FEW:
            nearest = np.empty(X.shape[0], dtype=np.int64)
            with np.errstate(over="ignore", under="ignore"):  # as plain Python; it says so where they decide
                if nearest_point(read_only(np.ascontiguousarray(X)), read_only(self.prototypes_), nearest):
                    return nearest
        return NeighborIndex(self.prototypes_, "euclidean").query(X, 1)[1][:, 0]

    def predict(self, X: Any) -> np.ndarray:
        """The label of the nearest prototype of each row.

        Parameters
        ----------
        X : array of shape (n_queries, n_features)
            The rows.

        Returns
        -------
        y : array of shape (n_queries,)
        """
        nearest = self.nearest_prototype(X)
        return self.prototype_labels_[nearest]


def step_lengths(eta: float, weight: np.ndarray, algorithm: str) -> tuple[np.ndarray, np.ndarray]:
    """How far each row pulls and pushes a prototype, as a part of the way to it.

    Of LVQ1 and LVQ2.1, w visits one after the other: 1 - (1 - η)^w and (1 + η)^w - 1, but at most 1, so that large
    weights throw no prototype out of sight.
    """
    if algorithm == "glvq":
        return eta * weight, eta * weight
    with np.errstate(over="ignore"):
        return 1.0 - (1.0 - eta) ** weight, np.minimum((1.0 + eta) ** weight - 1.0, 1.0)


def lvq_update(
    prototypes: Any,
    labels: Any,
    x: Any,
    y: Any,
    *,
    eta: float = 0.1,
    algorithm: Literal["lvq1", "lvq2.1", "glvq"] = "lvq1",
    window: float = 0.3,
    scale: float = 1.0,
) -> np.ndarray:
    """One update of the prototypes by one row, in plain form (Fig 9.4).

    Parameters
    ----------
    prototypes : array of shape (q, d)
    labels : array of shape (q,)
        Their labels.
    x : array of shape (d,)
        The row.
    y : label
        Its label.
    eta : float, default=0.1
        The learning rate.
    algorithm : {"lvq1", "lvq2.1", "glvq"}, default="lvq1"
    window : float, default=0.3
        Of LVQ2.1.
    scale : float, default=1.0
        Of GLVQ: the unit of squared distances.

    Returns
    -------
    prototypes : array of shape (q, d)
        A new array.

    Examples
    --------
    >>> lvq_update([[0.0, 0.0], [4.0, 0.0]], ["a", "b"], [1.0, 0.0], "a")
    array([[0.1, 0. ],
           [4. , 0. ]])
    """
    P, x, right = (
        np.array(prototypes, dtype=np.float64),
        np.asarray(x, dtype=np.float64),
        np.asarray(labels) == y,
    )
    squares = ((P - x) ** 2).sum(axis=1)
    if algorithm == "lvq1":
        k = squares.argmin()
        P[k] += (eta if right[k] else -eta) * (x - P[k])
    elif algorithm == "lvq2.1":
        i, j = np.argsort(squares, kind="stable")[:2]
        near = np.sqrt(squares[i] / squares[j]) if squares[j] > 0 else 1.0
        if right[i] != right[j] and near > (1 - window) / (1 + window):
            for k in (i, j):
                P[k] += (eta if right[k] else -eta) * (x - P[k])
    elif algorithm == "glvq":
        i, j = (np.flatnonzero(mask)[squares[mask].argmin()] for mask in (right, ~right))
        total = squares[i] + squares[j]
        if total > 0:
            f = 1 / (1 + np.exp(-(squares[i] - squares[j]) / total))
            rate = 4 * eta * scale * f * (1 - f) / total**2
            pull, push = min(rate * squares[j], 1.0), min(rate * squares[i], 1.0)
            P[i] += pull * (x - P[i])
            P[j] -= push * (x - P[j])
    else:
        raise ValueError(f"algorithm must be 'lvq1', 'lvq2.1' or 'glvq'; got {algorithm!r}.")
    return P
