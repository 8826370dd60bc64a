"""The perceptron (感知机)."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.model_selection import train_test_split
from sklearn.utils.metaestimators import available_if

from tercet.core.catalog import method
from tercet.core.estimator import check_weight, generator
from tercet.core.fitted_checks import Floats
from tercet.core.kernel import kernel
from tercet.core.parallel import each, one_blas_thread
from tercet.core.parameters import (
    Count,
    Fraction,
    Jobs,
    NonNegative,
    OpenFraction,
    Positive,
    Real,
    Seed,
    check_parameters,
)
from tercet.core.rows import Dense, row_add, row_dot, rows
from tercet.core.scaling import LARGE
from tercet.core.stopping import check_stop
from tercet.linear_model._perceptron.penalised_sweep import misclassified, sweep_penalised
from tercet.linear_model._perceptron.trajectory import Trajectory
from tercet.linear_model._perceptron.visiting_order import visiting_order
from tercet.linear_model.base import LinearClassifier, dense_coef

PART = 1 << 22  # numbers visited between two checks for Ctrl-C


@method(
    zh="感知机",
    task="classification",
    model="f(x) = sign(w·x + b)",
    strategy="sum of -y(w·x + b) over the misclassified",
    loss="perceptron",
    convex=False,
    algorithms={"primal": "stochastic gradient descent on w, b", "dual": "counts of mistakes, Gram matrix"},
    texts=[
        "Li ch. 2, Alg 2.1, 2.2",
        "Li ch. 12, Table 12.1",
        "watermelon notes ch. 3, eq. 3.2",
        "Pattern Recognition ch. 5, eq. 5-15",
        "Studies ML ch. 5, eq. 5.1, 5.2",
    ],
    peers=["sklearn.linear_model.Perceptron"],
)
class Perceptron(LinearClassifier):
    """Linear classifier that corrects itself one mistake at a time.

    A row with y(w·x + b) <= 0 moves the hyperplane: w += eta0 y x, b += eta0 y, until a pass over the data
    makes no mistake. The rule for outputs 0 and 1 with a threshold theta, w += eta (y - yhat) x, is the same
    with b = -theta. More than two classes: one hyperplane for each against the rest.

    Parameters
    ----------
    penalty : {"l2", "l1", "elasticnet"}, optional
        A penalty that shrinks w at every visited row. A penalised fit has no clean pass to stop at.
    alpha, l1_ratio : float, default=1e-4 and 0.15
        Strength of the penalty, and the part of it that is L1 when it is "elasticnet".
    fit_intercept : bool, default=True
        Whether to learn b.
    max_iter : int, default=1000
        The most passes; data that are not separable never give a clean one.
    tol : float or None, default=1e-3
        Stop, clean or not, when the mean loss of a pass (and penalty) has not fallen tol below the best so far for
        `n_iter_no_change` passes. None is the texts' rule: go on until a clean pass.
    shuffle : bool, default=True
        Visit the rows in a new random order in each pass (runs of 16 neighbours stay together when the data
        are larger than the cache). False is the order of the data.
    verbose : int or bool, default=0
        Print a line for each pass.
    eta0 : float, default=1.0
        How far a mistake moves the hyperplane.
    n_jobs : int, optional
        Threads for the hyperplanes of several classes. The result does not depend on it.
    random_state : int, default=0
        Decides every random order.
    early_stopping : bool, default=False
        Hold out `validation_fraction` of the rows and stop when accuracy there, in place of the loss, has not
        risen by tol for `n_iter_no_change` passes.
    validation_fraction, n_iter_no_change : float, default=0.1, and int, default=5
        See `early_stopping` and `tol`.
    class_weight : dict or "balanced", optional
        Weights of the classes; they multiply eta0 (among several classes, where a class is the positive one).
    warm_start : bool, default=False
        Begin where the last fit ended.
    form : {"primal", "dual"}, default="primal"
        "dual" learns how often each row was mistaken, from inner products of rows only.
    order : {"cyclic", "first", "random"} or list of row numbers, default="cyclic"
        Which row comes next: all in turn; always the first misclassified one; one drawn from the
        misclassified (in these two a pass is at most n_samples corrections); or the rows of a list in turn.
    on_plane : {"mistake", "positive", "negative"}, default="mistake"
        What a row with w·x + b = 0 counts as while learning; in prediction it is positive with "positive" only.
        With outputs 0 and 1 the texts say "positive" (a step that is 1 at 0) or "negative".
    variant : {"plain", "averaged", "pocket"}, default="plain"
        The model to keep: the last; the mean over all visited rows; the one that survived the most rows (the one
        with the fewest mistakes where `order` visits misclassified rows only).
    record : bool, default=False
        Keep every correction in `updates_`.

    Attributes
    ----------
    coef_, intercept_ : arrays of shape (n_planes, n_features) and (n_planes,)
        The hyperplanes; there is one for two classes.
    n_iter_, t_ : int
        Passes made, and 1 + rows visited.
    alpha_, gram_ : arrays of shape (n_planes, n_samples) and (n_samples, n_samples)
        Dual form only: eta0 times the number of mistakes made on each row, and the inner products.
    updates_ : list of dict
        One for each hyperplane, with an entry per correction: "point", "coef", "intercept", and in the dual
        form "alpha" in place of "coef".

    Examples
    --------
    >>> X, y = [[3, 3], [4, 3], [1, 1]], [1, 1, -1]
    >>> model = Perceptron(shuffle=False, record=True).fit(X, y)
    >>> model.coef_, model.intercept_
    (array([[1., 1.]]), array([-3.]))
    >>> model.updates_[0]["point"].tolist()
    [0, 2, 2, 2, 0, 2, 2]
    """

    largest_value = LARGE

    def __init__(
        self,
        *,
        penalty: Literal["l2", "l1", "elasticnet"] | None = None,
        alpha: NonNegative = 0.0001,
        l1_ratio: Fraction = 0.15,
        fit_intercept: bool = True,
        max_iter: Count = 1000,
        tol: Real | None = 1e-3,
        shuffle: bool = True,
        verbose: int | bool = 0,
        eta0: Positive = 1.0,
        n_jobs: Jobs = None,
        random_state: Seed = 0,
        early_stopping: bool = False,
        validation_fraction: OpenFraction = 0.1,
        n_iter_no_change: Count = 5,
        class_weight: dict | Literal["balanced"] | None = None,
        warm_start: bool = False,
        form: Literal["primal", "dual"] = "primal",
        order: Literal["cyclic", "first", "random"] | list | tuple | np.ndarray = "cyclic",
        on_plane: Literal["mistake", "positive", "negative"] = "mistake",
        variant: Literal["plain", "averaged", "pocket"] = "plain",
        record: bool = False,
    ) -> None:
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.verbose = verbose
        self.eta0 = eta0
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.form = form
        self.order = order
        self.on_plane = on_plane
        self.variant = variant
        self.record = record

    t_: int
    fitted_shapes = {"t_": Floats("", finite=True)}

    def fit(  # type: ignore[override]
        self, X: Any, y: Any, coef_init: Any = None, intercept_init: Any = None, sample_weight: Any = None
    ) -> Self:
        """Learn from rows X with labels y.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The training data.
        y : array of shape (n_samples,)
            The labels: any numbers or strings.
        coef_init, intercept_init : arrays, optional
            Where to start from; zero by default.
        sample_weight : array of shape (n_samples,), optional
            Multiplies eta0 for each row.

        Returns
        -------
        self
        """
        check_parameters(self)
        if self.warm_start and hasattr(self, "coef_"):
            coef_init = dense_coef(self.coef_) if coef_init is None else coef_init
            intercept_init = self.intercept_ if intercept_init is None else intercept_init
        self._start = coef_init, intercept_init
        try:
            return self._learn(X, y, sample_weight)
        finally:
            del self._start

    def _fit(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        weight = sample_weight
        rng = generator(self.random_state)
        held = None
        if self.early_stopping:
            rest, out = train_test_split(
                np.arange(y.size),
                test_size=self.validation_fraction,
                stratify=y,
                random_state=rng.integers(2**31),
            )
            held, X, y, weight = (X[out], y[out]), X[rest], y[rest], None if weight is None else weight[rest]
        planes = self._hyperplanes(X, y, weight, *self._start)
        with one_blas_thread():
            self._descend(X, y, weight, planes, held, rng)
        self.__dict__.update(self._model([(p.final(), p.trajectory.visited) for p in planes]))
        if self.record:
            self.updates_ = [p.updates() for p in planes]
        if self.form == "dual":
            self.alpha_ = np.stack([np.abs(p.w) for p in planes])
            self.gram_ = planes[0].rows[0]

    def _descend(
        self,
        X: Any,
        y: np.ndarray,
        weight: Any,
        planes: list[Hyperplane],
        held: Any,
        rng: np.random.Generator,
    ) -> None:
        """Passes over the rows until every hyperplane has made one without a mistake, or made no more progress."""
        live, best, idle = planes, -np.inf, 0
        for step in self.steps(
            self.max_iter, unpack=self._model, hint="The classes may not be linearly separable."
        ):
            order = visiting_order(X, weight, self.order, self.shuffle, rng)
            if len(live) == 1:
                live[0].sweep(order)
            else:
                each(Hyperplane.sweep, live, order, n_jobs=self.n_jobs)
            mistakes, loss = sum(p.mistakes for p in live), sum(p.loss for p in live)
            step.report(
                [(p.model(), p.trajectory.visited) for p in planes], mistakes=mistakes, loss=loss / y.size
            )
            if self.verbose:
                print(f"pass {step.count}: {mistakes} mistakes, loss {loss / y.size:.6g}")
            if held is not None and self.tol is not None:
                score = self._accuracy(planes, *held)
                idle = 0 if score >= best + self.tol else idle + 1
                best = max(best, score)
            for p in live:
                p.check_convergence(None if held else self.tol, self.n_iter_no_change)
            live = [p for p in live if not p.done]
            if step.converged(not live or idle >= self.n_iter_no_change):
                break

    @available_if(lambda self: (self.form, self.variant, self.record) == ("primal", "plain", False))
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Make one pass over a batch of rows, from where the last call ended.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The batch.
        y : array of shape (n_samples,)
            Its labels.
        classes : array, optional
            All classes that will ever come; required in the first call.
        sample_weight : array of shape (n_samples,), optional
            Multiplies eta0 for each row.

        Returns
        -------
        self
        """
        check_parameters(self)
        if self.class_weight == "balanced":
            raise ValueError(
                "Perceptron: class_weight='balanced' needs all of y, which partial_fit does not see; "
                "give the weights as a dict."
            )
        first = self._first_call(classes)
        X, y = self._check_batch(X, y, first=first)
        weight = check_weight(sample_weight, X)
        start = (None, None) if first else (dense_coef(self.coef_), self.intercept_)
        planes = self._hyperplanes(X, y, weight, *start)
        rng = generator(self.random_state)
        each(
            Hyperplane.sweep,
            planes,
            visiting_order(X, weight, self.order, self.shuffle, rng),
            n_jobs=self.n_jobs,
        )
        seen = 1 if first else self.t_
        self.__dict__.update(self._model([(p.model(), p.trajectory.visited) for p in planes]), n_iter_=1)
        self.t_ = seen + y.size
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row; of two, a row on the hyperplane has the second with on_plane="positive" only.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The data.

        Returns
        -------
        labels : array of shape (n_samples,)
        """
        if self.on_plane != "positive":
            return super().predict(X)
        scores = self.decision_function(X)
        return self.classes_[(scores >= 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]

    def _hyperplanes(self, X: Any, y: np.ndarray, weight: Any, coef: Any, intercept: Any) -> list[Hyperplane]:
        """A hyperplane for each class against the rest, or one for two classes, at its start."""
        k = self.classes_.size if self.classes_.size > 2 else 1
        shape = (k, X.shape[1])
        w = np.zeros(shape) if coef is None else np.asarray(coef, dtype=float)
        b = np.zeros(k) if intercept is None else np.asarray(intercept, dtype=float)
        if w.size != k * X.shape[1] or b.size != k:
            raise ValueError(
                f"{type(self).__name__}: coef_init and intercept_init must have the shapes {shape} and ({k},); "
                f"got {w.shape} and {b.shape}."
            )
        if self.form == "dual" and w.any():
            raise ValueError(
                "Perceptron: form='dual' starts from zero weights; use form='primal' with coef_init."
            )
        if self.penalty is not None and (
            self.form == "dual"
            or self.variant != "plain"
            or self.record
            or str(self.order) in ("first", "random")
        ):
            raise ValueError(
                f"Perceptron: penalty={self.penalty!r} shrinks w at every row, and works with form='primal', "
                "variant='plain', record=False and rows visited in turn only."
            )
        kind: type[Hyperplane] = Hyperplane if self.penalty is None else PenalisedHyperplane
        kind = DualHyperplane if self.form == "dual" else kind
        positive = range(k) if k > 1 else [1]
        w, b = w.reshape(shape).astype(X.dtype), b.reshape(-1).astype(X.dtype)
        balanced = self._balance(self.class_weight, y, weight, weighed=False)
        return [
            kind(self, X, y == c, balanced, balanced if k == 1 else weight, w[j], b[j : j + 1])
            for j, c in enumerate(positive)
        ]

    def _model(self, planes: list) -> dict[str, Any]:
        """The fitted attributes for models (w, b) of the hyperplanes and the rows they have visited."""
        w, b = zip(*(model for model, _ in planes))
        visited = max(count for _, count in planes)
        return {"coef_": np.stack(w), "intercept_": np.concatenate(b), "t_": 1 + visited}

    def _accuracy(self, planes: list[Hyperplane], X: Any, y: np.ndarray) -> float:
        w, b = zip(*(p.model() for p in planes))
        scores = np.asarray(X @ np.stack(w).T) + np.concatenate(b)
        found = scores.argmax(axis=1) if len(planes) > 1 else (scores[:, 0] > 0)
        return float(np.mean(found == y))


class Hyperplane:
    """State of Alg 2.1 for one hyperplane: w, b, and its trajectory."""

    def __init__(
        self,
        model: Perceptron,
        X: Any,
        positive: np.ndarray,
        positive_weight: Any,
        negative_weight: Any,
        w: np.ndarray,
        b: np.ndarray,
    ) -> None:
        self.X, self.w, self.b = X, w, b
        self.rows = self.along = rows(X)
        etas = [model.eta0 if s is None else model.eta0 * s for s in (positive_weight, negative_weight)]
        self.signed_eta = np.where(positive, etas[0], -etas[1]).astype(X.dtype, copy=False)  # eta0 y_i
        self.on_plane = {"mistake": 0, "positive": 1, "negative": -1}[model.on_plane]
        self.fit_b = float(model.fit_intercept)
        self.mistakes, self.loss, self.done = 0, 0.0, False
        self.best_loss, self.idle = np.inf, 0
        self._start()
        self.trajectory = Trajectory(model.variant, model.record, self.w, self.b)

    def _start(self) -> None:
        """What a form needs before the first pass."""

    def sweep(self, order: np.ndarray) -> None:
        """One pass: `order` holds row numbers, or numbers in [0, 1) that pick among the misclassified."""
        listed = order.dtype.kind == "i"
        self.mistakes, self.loss = 0, 0.0
        length = max(1, PART // max(1, self.rows.shape[1] * (1 if listed else self.rows.shape[0])))
        picks = np.empty(min(length, order.size), dtype=np.int64)
        wrong = np.zeros(
            1 if listed else picks.size + 1, dtype=np.int64
        )  # misclassified rows before each update
        for part in np.split(order, range(length, order.size, length)):
            check_stop()
            before = self.w.copy(), self.b.copy()
            if listed:
                mistakes, loss = self._sweep(sweep, part, picks)
                points = part[picks[:mistakes]]
                self.trajectory.follow(self, picks[:mistakes].copy(), points, part.size, before)
            else:
                mistakes, loss = self._sweep(sweep_misclassified, part, picks, wrong)
                points, seen = picks[:mistakes].copy(), min(mistakes + 1, part.size)
                self.trajectory.follow(self, np.arange(mistakes), points, mistakes, before, wrong[:seen])
            self.mistakes += mistakes
            self.loss += loss

    def _sweep(self, sweep: Any, order: np.ndarray, *found: np.ndarray) -> tuple[int, float]:
        return sweep(
            self.rows, self.along, self.signed_eta, order, self.on_plane, self.fit_b, self.w, self.b, *found
        )

    def count_misclassified(self) -> int:
        """How many rows the current hyperplane takes for the other class."""
        scores = np.asarray(self._scores()) + self.b[0]
        return sum(misclassified(*pair, self.on_plane) for pair in zip(self.signed_eta, scores))

    def _scores(self) -> np.ndarray:
        return self.X @ self.w

    def check_convergence(self, tol: float | None, patience: int) -> None:
        """Done after a pass without mistakes, or when the mean loss has not fallen by tol for `patience` passes."""
        self.done = self.mistakes == 0 and not isinstance(self, PenalisedHyperplane)
        if tol is not None:
            loss = self.loss / self.signed_eta.size + self._penalty()
            self.idle = self.idle + 1 if loss > self.best_loss - tol else 0
            self.best_loss = min(self.best_loss, loss)
            self.done = self.done or self.idle >= patience

    def _penalty(self) -> float:
        return 0.0

    def model(self) -> tuple[np.ndarray, np.ndarray]:
        """w and b as they are now."""
        return self._primal(self.w.copy(), self.b.copy())

    def final(self) -> tuple[np.ndarray, np.ndarray]:
        """w and b of the variant that was asked for."""
        return self._primal(*self.trajectory.final(self.w.copy(), self.b.copy(), self.count_misclassified))

    def _primal(self, w: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return w, b

    def displacement(self, points: np.ndarray, factor: Any) -> tuple[np.ndarray, Any]:
        """How far updates at some points, each taken `factor` times, move w and b."""
        step = self.signed_eta[points] * factor
        return self.X[points].T @ step, self.fit_b * step.sum()

    def states(self, points: np.ndarray, w: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """w and b after each of some updates."""
        step, X = self.signed_eta[points], self.X[points]
        X = X.toarray() if sparse.issparse(X) else X
        return w + np.cumsum(step[:, None] * X, axis=0), b + self.fit_b * np.cumsum(step)

    def updates(self) -> dict[str, np.ndarray]:
        """Every update: the point, and the model after it."""
        names = ("point", "alpha" if isinstance(self, DualHyperplane) else "coef", "intercept")
        return {name: np.concatenate(column) for name, column in zip(names, zip(*self.trajectory.trace))}


class DualHyperplane(Hyperplane):
    """Alg 2.2: w = sum of alpha_i y_i x_i is given by alpha, and only inner products of rows are needed."""

    def _start(self) -> None:
        gram = self.X @ self.X.T
        n = self.signed_eta.size
        self.rows = Dense(np.ascontiguousarray(gram.toarray() if sparse.issparse(gram) else gram))
        self.along = rows(sparse.eye_array(n, format="csr", dtype=self.X.dtype))
        self.w = np.zeros(n, dtype=self.X.dtype)

    def _scores(self) -> np.ndarray:
        return self.rows[0] @ self.w

    def displacement(self, points: np.ndarray, factor: Any) -> tuple[np.ndarray, Any]:
        step = self.signed_eta[points] * factor
        return np.bincount(points, step, minlength=self.w.size), self.fit_b * step.sum()

    def states(self, points: np.ndarray, w: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        counts = np.zeros((points.size, w.size), dtype=w.dtype)
        counts[np.arange(points.size), points] = np.abs(self.signed_eta[points])
        return np.abs(w) + np.cumsum(counts, axis=0), b + self.fit_b * np.cumsum(self.signed_eta[points])

    def _primal(self, w: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.X.T @ w, b


class PenalisedHyperplane(Hyperplane):
    """Alg 2.1 with a penalty: every visited row shrinks w, by a factor (L2), by an amount that stops at 0 (L1)."""

    def __init__(self, model: Perceptron, *rest: Any):
        super().__init__(model, *rest)
        l1_ratio = {"l2": 0.0, "l1": 1.0}.get(model.penalty or "", model.l1_ratio)
        self.l1, self.l2 = model.alpha * l1_ratio, model.alpha * (1 - l1_ratio)
        self.keep, self.clip = max(0.0, 1 - model.eta0 * self.l2), model.eta0 * self.l1
        self.total_l1, self.applied_l1 = np.zeros(1), np.zeros(self.w.size)

    def _sweep(self, sweep: Any, order: np.ndarray, *found: np.ndarray) -> tuple[int, float]:
        (picks,) = found
        return sweep_penalised(
            self.rows, self.signed_eta, order, self.on_plane, self.fit_b, self.w, self.b, picks,
            self.keep, self.clip, self.total_l1, self.applied_l1,
        )  # fmt: skip

    def _penalty(self) -> float:
        return self.l1 * float(np.abs(self.w).sum()) + self.l2 * float(self.w @ self.w) / 2


@kernel
def sweep(rows, along, signed_eta, order, on_plane, fit_b, w, b, picks):
    """Alg 2.1 and 2.2: visit rows in order; every mistake moves the hyperplane.

    Row i scores with `rows` and moves w along row i of `along` by signed_eta[i] = eta0 y_i. In the primal form the
    two are the same; in the dual form they are the Gram matrix and the unit matrix.
    """
    mistakes, loss = 0, 0.0
    for t in range(order.size):
        i = order[t]
        step, score = signed_eta[i], row_dot(rows, i, w) + b[0]
        if misclassified(step, score, on_plane):  # y (w·x + b) <= 0
            row_add(along, i, step, w)  # w <- w + eta y x
            b[0] += step * fit_b  # b <- b + eta y
            loss += abs(score)
            picks[mistakes] = t
            mistakes += 1
    return mistakes, loss


@kernel
def sweep_misclassified(rows, along, signed_eta, draws, on_plane, fit_b, w, b, picks, counts):
    """For each draw u from [0, 1) correct one of the m misclassified rows, the one of rank u m; 0 is the first.

    `counts` gets m before each correction, and 0 at the end where none is left.
    """
    wrong = np.empty(signed_eta.size, dtype=np.int64)
    loss = 0.0
    for t in range(draws.size):
        m = 0
        for i in range(signed_eta.size):
            if misclassified(signed_eta[i], row_dot(rows, i, w) + b[0], on_plane):
                wrong[m] = i
                m += 1
        counts[t] = m
        if m == 0:
            return t, loss
        i = wrong[int(draws[t] * m)]
        loss += abs(row_dot(rows, i, w) + b[0])
        row_add(along, i, signed_eta[i], w)
        b[0] += signed_eta[i] * fit_b
        picks[t] = i
    return draws.size, loss
