"""One hyperplane of a perceptron on its way: in primal, dual and penalised form.

The kernels tell where mistakes happened; averages, pockets and records are made from that alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.kernel import implement, inner, kernel, verb
from tercet.core.rows import Dense, row_add, row_dot, rows

PART = 1 << 22  # numbers visited between two checks for Ctrl-C
CACHE = 1 << 22  # numbers that stay in cache: below that many, rows are visited in any order at full speed
RUN = 16  # neighbours that stay together in a shuffle of larger data


class Plane:
    """What Alg 2.1 keeps: w, b and the course they took."""

    def __init__(
        self, model: Any, X: Any, positive: np.ndarray, ours: Any, theirs: Any, w: np.ndarray, b: np.ndarray
    ) -> None:
        self.X, self.w, self.b = X, w, b
        self.rows = self.along = rows(X)
        ours, theirs = (model.eta0 if weight is None else model.eta0 * weight for weight in (ours, theirs))
        self.pull = np.where(positive, ours, -theirs).astype(X.dtype, copy=False)
        self.on_plane = {"mistake": 0, "positive": 1, "negative": -1}[model.on_plane]
        self.learn_b = float(model.fit_intercept)
        self.variant, self.record = model.variant, model.record
        self.mistakes, self.loss, self.visited, self.done = 0, 0.0, 0, False
        self.best_loss, self.idle = np.inf, 0
        self._begin()

    def _begin(self) -> None:
        self.lag = np.zeros_like(self.w), np.zeros_like(self.b)
        self.run, self.longest, self.pocket = 0, -1, (self.w.copy(), self.b.copy())
        self.trace: list[tuple[np.ndarray, ...]] = []

    def sweep(self, order: np.ndarray) -> None:
        """One pass: `order` holds row numbers, or numbers in [0, 1) that pick among the misclassified."""
        listed = order.dtype.kind == "i"
        self.mistakes, self.loss = 0, 0.0
        length = max(1, PART // max(1, self.rows.shape[1] * (1 if listed else self.rows.shape[0])))
        parts = np.split(order, range(length, order.size, length))
        picks = np.empty(min(length, order.size), dtype=np.int64)
        for part in parts:
            before = self.w.copy(), self.b.copy()
            mistakes, loss = self._sweep(sweep if listed else sweep_misclassified, part, picks)
            found = picks[:mistakes].copy()
            times, points = (found, part[found]) if listed else (np.arange(mistakes), found)
            self._note(times, points, part.size if listed else mistakes, before)
            self.mistakes += mistakes
            self.loss += loss

    def _sweep(self, sweep: Any, order: np.ndarray, picks: np.ndarray) -> tuple[int, float]:
        return sweep(
            self.rows, self.along, self.pull, order, self.on_plane, self.learn_b, self.w, self.b, picks
        )

    def _note(self, times: np.ndarray, points: np.ndarray, size: int, before: tuple) -> None:
        """Follow the course of the model through the mistakes of one part of a pass."""
        if self.variant == "averaged":
            for lag, moved in zip(self.lag, self._moved(points, self.visited + times)):
                lag += moved
        elif self.variant == "pocket":
            survived = np.diff(times, prepend=-1 - self.run) - 1
            self.run = self.run + size if times.size == 0 else size - 1 - times[-1]
            if times.size and survived.max() > self.longest:
                k = survived.argmax()
                self.longest = survived[k]
                self.pocket = tuple(m + d for m, d in zip(before, self._moved(points[:k], 1.0)))
        if self.record:
            self.trace.append((points, *self._course(points, *before)))
        self.visited += size

    def _moved(self, points: np.ndarray, factor: Any) -> tuple[np.ndarray, Any]:
        """How far corrections at some points, each taken `factor` times, move w and b."""
        pull = self.pull[points] * factor
        return self.X[points].T @ pull, self.learn_b * pull.sum()

    def _course(self, points: np.ndarray, w: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """w and b after each of some corrections."""
        pull, X = self.pull[points], self.X[points]
        X = X.toarray() if sparse.issparse(X) else X
        return w + np.cumsum(pull[:, None] * X, axis=0), b + self.learn_b * np.cumsum(pull)

    def judge(self, tol: float | None, patience: int) -> None:
        """Done after a clean pass, or when the mean loss has not fallen by tol for a while."""
        self.done = self.mistakes == 0 and not isinstance(self, PenalisedPlane)
        if tol is not None:
            loss = self.loss / self.pull.size + self._penalty()
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
        if self.variant == "averaged":
            pairs = zip((self.w, self.b), self.lag)
            return self._primal(*(last - lag / max(1, self.visited) for last, lag in pairs))
        if self.variant == "pocket" and self.longest >= self.run:
            return self._primal(*self.pocket)
        return self.model()

    def _primal(self, w: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return w, b

    def updates(self) -> dict[str, np.ndarray]:
        """Every correction: the point, and the model after it."""
        names = ("point", "alpha" if isinstance(self, DualPlane) else "coef", "intercept")
        return {name: np.concatenate(column) for name, column in zip(names, zip(*self.trace))}


class DualPlane(Plane):
    """Alg 2.2: w is a sum over the rows, w = sum of alpha_i y_i x_i, and only inner products are needed."""

    def _begin(self) -> None:
        gram = self.X @ self.X.T
        n = self.pull.size
        self.rows = Dense(np.ascontiguousarray(gram.toarray() if sparse.issparse(gram) else gram))
        self.along = rows(sparse.eye_array(n, format="csr", dtype=self.X.dtype))
        self.w = np.zeros(n, dtype=self.X.dtype)
        super()._begin()

    def _moved(self, points: np.ndarray, factor: Any) -> tuple[np.ndarray, Any]:
        pull = self.pull[points] * factor
        return np.bincount(points, pull, minlength=self.w.size), self.learn_b * pull.sum()

    def _course(self, points: np.ndarray, w: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        counts = np.zeros((points.size, w.size), dtype=w.dtype)
        counts[np.arange(points.size), points] = np.abs(self.pull[points])
        return np.abs(w) + np.cumsum(counts, axis=0), b + self.learn_b * np.cumsum(self.pull[points])

    def _primal(self, w: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.X.T @ w, b


class PenalisedPlane(Plane):
    """Every visited row shrinks w: by a factor (L2), by an amount that stops at zero (L1), or both."""

    def __init__(self, model: Any, *rest: Any):
        super().__init__(model, *rest)
        l1_ratio = {"l2": 0.0, "l1": 1.0}.get(model.penalty, model.l1_ratio)
        self.l1, self.l2 = model.alpha * l1_ratio, model.alpha * (1 - l1_ratio)
        self.keep, self.clip = max(0.0, 1 - model.eta0 * self.l2), model.eta0 * self.l1
        self.owed, self.paid = np.zeros(1), np.zeros(self.w.size)

    def _sweep(self, sweep: Any, order: np.ndarray, picks: np.ndarray) -> tuple[int, float]:
        return sweep_penalised(
            self.rows, self.pull, order, self.on_plane, self.learn_b, self.w, self.b, picks,
            self.keep, self.clip, self.owed, self.paid,
        )  # fmt: skip

    def _penalty(self) -> float:
        return self.l1 * float(np.abs(self.w).sum()) + self.l2 * float(self.w @ self.w) / 2


def visits(X: Any, weight: Any, order: Any, shuffle: bool, rng: np.random.Generator) -> np.ndarray:
    """The order of one pass: row numbers, or numbers that pick among the misclassified rows."""
    n, d = X.shape
    if isinstance(order, str) and order != "cyclic":
        return rng.random(n) if order == "random" else np.zeros(n)
    if not isinstance(order, str):
        rows = np.asarray(order)
        if (
            rows.ndim != 1
            or rows.dtype.kind not in "iu"
            or rows.size == 0
            or rows.min() < 0
            or rows.max() >= n
        ):
            raise ValueError(f"Perceptron: order must list row numbers from 0 to {n - 1}; got {order!r}.")
        return rows.astype(np.int64)
    rows = np.arange(n) if weight is None else np.flatnonzero(weight > 0)
    if shuffle and n * d <= CACHE:
        rng.shuffle(rows)
    elif shuffle:  # scattered rows would be read from memory several times slower than runs of them
        whole = rows.size // RUN * RUN
        runs = rows[:whole].reshape(-1, RUN)[rng.permutation(whole // RUN)]
        rows = np.append(runs.ravel(), rows[whole:])
    return rows


@inner
def mistaken(side, score, on_plane):
    """Whether y(w·x + b) <= 0, or < 0 for the side to which the hyperplane itself is said to belong."""
    return side * score < 0 or (score == 0 and side != 0 and side * on_plane <= 0)


@kernel
def sweep(rows, along, pull, order, on_plane, learn_b, w, b, picks):
    """Alg 2.1 and 2.2: visit rows in order; every mistake moves the hyperplane.

    Row i scores with `rows` and moves w along row i of `along` by pull[i] = eta0 y. In the primal form the two
    are the same; in the dual form they are the Gram matrix and the unit matrix.
    """
    mistakes, loss = 0, 0.0
    for t in range(order.size):
        i = order[t]
        side, score = pull[i], row_dot(rows, i, w) + b[0]
        if mistaken(side, score, on_plane):
            row_add(along, i, side, w)
            b[0] += side * learn_b
            loss += abs(score)
            picks[mistakes] = t
            mistakes += 1
    return mistakes, loss


@kernel
def sweep_misclassified(rows, along, pull, draws, on_plane, learn_b, w, b, picks):
    """For each draw u from [0, 1) correct one of the m misclassified rows, the one of rank u m; 0 is the first."""
    wrong = np.empty(pull.size, dtype=np.int64)
    loss = 0.0
    for t in range(draws.size):
        m = 0
        for i in range(pull.size):
            side, score = pull[i], row_dot(rows, i, w) + b[0]
            if mistaken(side, score, on_plane):
                wrong[m] = i
                m += 1
        if m == 0:
            return t, loss
        i = wrong[int(draws[t] * m)]
        loss += abs(row_dot(rows, i, w) + b[0])
        row_add(along, i, pull[i], w)
        b[0] += pull[i] * learn_b
        picks[t] = i
    return draws.size, loss


@kernel
def sweep_penalised(rows, pull, order, on_plane, learn_b, w, b, picks, keep, clip, owed, paid):
    """`sweep` with a penalty: w shrinks by the factor `keep`, and towards zero by `clip`, at each visited row.

    The factor is collected in `scale`. The L1 part is paid late: a weight gives what all rows so far ask for,
    less what it has given already, when a row uses it next (cumulative penalty of Tsuruoka et al., 2009).
    """
    mistakes, loss, scale = 0, 0.0, 1.0
    for t in range(order.size):
        i = order[t]
        side, score = pull[i], scale * row_dot(rows, i, w) + b[0]
        scale *= keep
        if scale < 1e-9:
            w *= scale
            scale = 1.0
        if mistaken(side, score, on_plane):
            row_add(rows, i, side / scale, w)
            b[0] += side * learn_b
            loss += abs(score)
            picks[mistakes] = t
            mistakes += 1
        if clip > 0:
            owed[0] += clip
            row_clip(rows, i, scale, owed[0], w, paid)
    w *= scale
    return mistakes, loss


@verb
def row_clip(rows: Any, i: int, scale: float, owed: float, w: np.ndarray, paid: np.ndarray) -> None:
    """Let the weights that row i uses pay what they owe, without passing zero."""
    used = slice(None) if isinstance(rows, Dense) else rows.indices[rows.indptr[i] : rows.indptr[i + 1]]
    before = scale * w[used]
    w[used] = (
        np.where(
            before > 0,
            np.maximum(0.0, before - (owed + paid[used])),
            np.minimum(0.0, before + np.where(before < 0, owed - paid[used], 0.0)),
        )
        / scale
    )
    paid[used] += scale * w[used] - before


@inner
def clip_one(j, scale, owed, w, paid):
    before = scale * w[j]
    if before > 0:
        w[j] = max(0.0, before - (owed + paid[j])) / scale
    elif before < 0:
        w[j] = min(0.0, before + (owed - paid[j])) / scale
    paid[j] += scale * w[j] - before


@implement(row_clip)
def _row_clip(rows, i, scale, owed, w, paid):
    if getattr(rows, "instance_class", None) is Dense:

        def dense(rows, i, scale, owed, w, paid):
            for j in range(w.size):
                clip_one(j, scale, owed, w, paid)

        return dense

    def compressed(rows, i, scale, owed, w, paid):
        for s in range(rows.indptr[i], rows.indptr[i + 1]):
            clip_one(rows.indices[s], scale, owed, w, paid)

    return compressed
