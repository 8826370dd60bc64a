"""The multicategory support vector machine (多类支持向量机): one function for all classes at once."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tercet.core.catalog import method
from tercet.core.estimator import Classifier
from tercet.core.kernel import inner, kernel
from tercet.core.parameters import ArrayLike, Count, Jobs, NonNegative, Positive, Real
from tercet.kernels import Kernel, KernelMachine

WORK = 30_000_000  # entries that the moves of a pass may look at: someone may want to stop after it


@method(
    zh="多类支持向量机",
    task="classification",
    model="f = (f_1 ... f_k), f_j(x) = h_j(x) + b_j, sum of f_j = 0; the class is argmax_j f_j(x)",
    strategy="mean of L(y_i)·(f(x_i) - y_i)_+ plus lam / 2 times the sum of ||h_j||²",
    algorithms="dual by pairs within a class and by moves of all classes at once",
    texts=["003 ch. 5, eq. 5-57"],
)
class MulticategorySVC(KernelMachine, Classifier):
    """Support vector machine of several classes without detour over pairs (Lee, Lin and Wahba).

    A row of class c is coded by the vector y with 1 at c and -1/(k-1) elsewhere. The k functions sum to zero
    and minimise

        1/n Σ_i Σ_j L[c_i, j] (f_j(x_i) - y_ij)_+  +  lam/2 Σ_j ||h_j||²

    With two classes this is the ordinary machine, `SVC(C=1 / (2 n lam))`. The Gram matrix is kept in memory.

    Parameters
    ----------
    lam : float, default=0.01
        How much large ||h_j|| cost.
    kernel : str, Kernel or callable, default="rbf"
        How alike two rows are; see `tercet.kernels.as_kernel`.
    degree, gamma, coef0 : int, float or {"scale", "auto"}, and float, default=3, "scale" and 0.0
        Parameters of the kernels that have a name.
    cost : array of shape (n_classes, n_classes), optional
        L: what it costs to take a row of the class of this line for one of that column. Its diagonal counts as
        0; all others are 1 when it is not given.
    class_weight : dict or "balanced", optional
        Weights of the classes; they multiply the weights of the rows.
    tol : float, default=1e-4
        Stop when the conditions of the optimum hold within tol, in units of f.
    max_iter : int, default=10000
        The most passes; a pass has as many moves as there are rows and classes, or fewer where these are many.
    n_jobs : int, optional
        Threads for the Gram matrix. The result does not depend on it.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    support_, support_vectors_ : arrays of shape (n_support,) and (n_support, n_features)
        The rows that some h_j needs.
    dual_coef_ : array of shape (n_support, n_classes)
        h_j(x) = Σ_i dual_coef_[i, j] K(x_i, x).
    intercept_ : array of shape (n_classes,)
        The b_j.
    objective_ : float
        The strategy's value.
    violation_ : float
        How far the conditions of the optimum are from holding, in units of f.

    Examples
    --------
    >>> X, y = [[-2], [-1.5], [0], [0.3], [2], [2.2]], ["a", "a", "b", "b", "c", "c"]
    >>> model = MulticategorySVC(lam=0.1, gamma=1.0, tol=1e-9).fit(X, y)
    >>> model.predict([[-3], [1]])
    array(['a', 'b'], dtype='<U1')
    >>> round(model.objective_, 8)
    0.24839086
    """

    def __init__(
        self,
        *,
        lam: Positive = 0.01,
        kernel: str | Kernel | Callable = "rbf",
        degree: NonNegative = 3,
        gamma: NonNegative | Literal["scale", "auto"] = "scale",
        coef0: Real = 0.0,
        cost: ArrayLike | None = None,
        class_weight: dict | Literal["balanced"] | None = None,
        tol: Positive = 1e-4,
        max_iter: Count = 10_000,
        n_jobs: Jobs = None,
    ) -> None:
        self.lam = lam
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.cost = cost
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    def _fit(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        n, k = y.size, self.classes_.size
        weight = self._balance(self.class_weight, y, sample_weight)
        weight = np.ones(n) if weight is None else np.asarray(weight, dtype=np.float64)
        gram = np.ascontiguousarray(
            self._resolve_kernel(X, sample_weight)(X, n_jobs=self.n_jobs), dtype=np.float64
        )
        scale = self.lam * weight.sum()
        target = np.full((n, k), -1 / (k - 1))
        target[np.arange(n), y] = 1.0
        upper = np.asfortranarray(self._cost(k)[y] * weight[:, None])  # kernels look at a class at a time

        # h_j = -(1/scale) Σ_i (alpha_ij - mean over j of alpha_ij) K(x_i, .); `asks` is what each alpha wants b_j
        # to be, y_ij - h_j(x_i): in the optimum at least b_j where alpha may rise, at most b_j where it may fall.
        alpha, asks = np.zeros((n, k), order="F"), target.copy(order="F")
        moves = min(n * k, WORK // (n * k) + 1)
        diag = gram.diagonal().copy()
        least = 1e-12 * (float(np.abs(diag).max()) or 1.0)  # a curvature below it is rounding
        for step in self.steps(self.max_iter, unpack=functools.partial(self._model, X, scale)):
            move(gram, diag, upper, scale, least, self.tol, moves, alpha, asks)
            H = target - asks
            low, high, violation = borders(alpha, upper, asks)
            b = _balanced(low, high)
            self.objective_ = self._objective(H, b, target, upper, alpha, scale)
            self.violation_ = float(violation)
            step.report((alpha.copy(), b), objective=self.objective_, violation=self.violation_)
            if step.converged(violation <= self.tol):
                break
        self.__dict__.update(self._model(X, scale, (alpha, b)))

    def _model(self, X: Any, scale: float, state: tuple[np.ndarray, np.ndarray]) -> dict[str, Any]:
        """The fitted attributes that the multipliers and b give."""
        alpha, b = state
        coef = (alpha.mean(axis=1, keepdims=True) - alpha) / scale
        support = np.flatnonzero(np.abs(coef).max(axis=1) > 0)
        return {
            "support_": support,
            "support_vectors_": self._expansion_rows(X, support),
            "dual_coef_": coef[support],
            "intercept_": b,
        }

    def _cost(self, k: int) -> np.ndarray:
        cost = np.ones((k, k)) if self.cost is None else np.array(self.cost, dtype=np.float64)
        if cost.shape != (k, k) or not np.isfinite(cost).all() or cost.min() < 0:
            raise ValueError(
                f"{type(self).__name__}: cost must be a table of {k} x {k} numbers that are not negative, one line "
                f"and column for each class; got {self.cost!r}."
            )
        np.fill_diagonal(cost, 0.0)
        return cost

    def _objective(self, H, b, target, upper, alpha, scale) -> float:
        """The strategy (5-57): Σ_j ||h_j||² is -Σ_ij (alpha_ij - mean) h_j(x_i) / scale."""
        slack = np.maximum(H + b - target, 0.0)
        norms = -((alpha - alpha.mean(axis=1, keepdims=True)) * H).sum() / scale
        return float(((upper * slack).sum() + scale / 2 * norms) * self.lam / scale)

    def decision_function(self, X: Any) -> np.ndarray:
        """The functions f_j; the largest names the class.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes), or (n_samples,) for two classes: f_1, whose sign decides
        """
        check_is_fitted(self)
        f = self._functions(X)
        return f[:, 1] if self.classes_.size == 2 else f

    def predict(self, X: Any) -> np.ndarray:
        """The class with the largest f_j(x).

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        check_is_fitted(self)
        return self.classes_[self._functions(X).argmax(axis=1)]

    def _functions(self, X: Any) -> np.ndarray:
        X = self._check(X, reset=False)
        return self._kernel_expansion(X, self.support_vectors_, self.dual_coef_) + self.intercept_


def multicategory_loss(y: int, f: Any, cost: Any = None) -> float:
    """What f = (f_1 ... f_k) costs at a row of class y (5-57, first term).

    Parameters
    ----------
    y : int
        The number of the true class.
    f : array of shape (n_classes,)
        The functions' values, which sum to zero.
    cost : array of shape (n_classes, n_classes), optional
        See `MulticategorySVC`.

    Examples
    --------
    >>> round(multicategory_loss(0, [0.6, -0.1, -0.5]), 12)
    0.4
    """
    f = np.asarray(f, dtype=np.float64)
    price = np.ones(f.size) if cost is None else np.array(cost, dtype=np.float64)[y]
    return float(sum(price[j] * max(f[j] + 1 / (f.size - 1), 0.0) for j in range(f.size) if j != y))


def borders(alpha: np.ndarray, upper: np.ndarray, asks: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """For each class the least and the greatest b that suit its variables, and by how much none suits all.

    Where a variable is strictly inside its bounds, the mean of what those ask for is both.
    """
    with np.errstate(invalid="ignore"):
        most = np.where(alpha < upper, asks, np.inf).min(axis=0)  # b_j may not be above: alpha would rise
        least = np.where(alpha > 0, asks, -np.inf).max(axis=0)
    together = max(-most.sum(), least.sum()) if np.isfinite([most.sum(), least.sum()]).any() else 0.0
    violation = max(0.0, float((least - most).max()), float(together))
    free = (alpha > 0) & (alpha < upper)
    count = free.sum(axis=0)
    mean = np.where(free, asks, 0.0).sum(axis=0) / np.maximum(count, 1)
    return np.where(count > 0, mean, least), np.where(count > 0, mean, most), violation


def _balanced(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The b_j that sum to zero, all at the same part of the way from low to high that the others leave them.

    Of two classes that is the middle of the b that fit both, as in an ordinary machine.
    """
    others = ~np.eye(low.size, dtype=bool)
    before, after = (np.where(others, end, 0.0).sum(axis=1) for end in (low, high))
    low, high = np.maximum(low, -after), np.minimum(high, -before)
    known = np.where(np.isfinite(low), low, high), np.where(np.isfinite(high), high, low)
    starts, ends = (np.where(np.isfinite(end), end, 0.0) for end in known)  # 0: no row says anything of it
    far = 1.0 + max(abs(starts.sum()), abs(ends.sum()))  # as good as no end: the others need not so much
    low, high = np.where(np.isfinite(low), low, starts - far), np.where(np.isfinite(high), high, ends + far)
    room = (high - low).sum()
    part = -low.sum() / room if room > 0 else 0.5
    b = low + min(max(part, 0.0), 1.0) * (high - low)
    return b - b.mean()


@kernel
def move(gram, diag, upper, scale, least, tol, limit, alpha, asks):
    """Up to `limit` moves that keep the sums of alpha over the classes equal to one another.

    Two variables of one class change places, or one of every class rises (or falls) with the others.
    """
    n, k = alpha.shape
    rise, fall = np.empty(k, dtype=np.int64), np.empty(k, dtype=np.int64)
    for _ in range(limit):
        worst, column, up, down = tol, -1, 0.0, 0.0
        for j in range(k):
            lowest, highest = np.inf, -np.inf
            rise[j], fall[j] = -1, -1
            for i in range(n):
                if alpha[i, j] < upper[i, j] and asks[i, j] < lowest:
                    lowest, rise[j] = asks[i, j], i
                if alpha[i, j] > 0 and asks[i, j] > highest:
                    highest, fall[j] = asks[i, j], i
            if highest - lowest > worst:
                worst, column = highest - lowest, j
            up -= lowest
            down += highest
        if up > worst or down > worst:
            sign = 1.0 if up > down else -1.0
            together(gram, diag, upper, scale, least, rise if up > down else fall, sign, alpha, asks)
        elif column >= 0:
            pair(gram, diag, upper, scale, least, column, rise[column], alpha, asks)
        else:
            return


@inner
def pair(gram, diag, upper, scale, least, j, i, alpha, asks):
    """alpha_ij rises and another of class j, whose loss of objective is the greatest, falls as much."""
    n, k = alpha.shape
    part = 1.0 - 1.0 / k
    best, other = 0.0, -1
    for r in range(n):
        slope = asks[r, j] - asks[i, j]
        if alpha[r, j] > 0 and slope > 0:
            curve = max(diag[i] + diag[r] - 2 * gram[i, r], least)
            if slope * slope / curve > best:
                best, other = slope * slope / curve, r
    curve = max(diag[i] + diag[other] - 2 * gram[i, other], least) * part
    room, left = upper[i, j] - alpha[i, j], alpha[other, j]
    step = min((asks[other, j] - asks[i, j]) * scale / curve, room, left)
    alpha[i, j] = upper[i, j] if step == room else alpha[i, j] + step
    alpha[other, j] = 0.0 if step == left else alpha[other, j] - step
    for c in range(k):
        rate = step / scale * (part if c == j else -1.0 / k)
        for r in range(n):
            asks[r, c] += rate * (gram[i, r] - gram[other, r])


@inner
def together(gram, diag, upper, scale, least, at, sign, alpha, asks):
    """alpha of row at[j] and class j, for all j, rises (sign 1) or falls (sign -1) by the same step."""
    n, k = alpha.shape
    slope, curve, step = 0.0, 0.0, np.inf
    for j in range(k):
        slope -= sign * asks[at[j], j] * scale
        curve += diag[at[j]]
        for c in range(k):
            curve -= gram[at[j], at[c]] / k
        step = min(step, upper[at[j], j] - alpha[at[j], j] if sign > 0 else alpha[at[j], j])
    step = min(step, slope / max(curve, least))
    for j in range(k):
        full, left = upper[at[j], j] - alpha[at[j], j], alpha[at[j], j]
        alpha[at[j], j] += sign * step
        if sign > 0 and step == full:
            alpha[at[j], j] = upper[at[j], j]
        if sign < 0 and step == left:
            alpha[at[j], j] = 0.0
    mean, rate = np.zeros(n), sign * step / scale
    for j in range(k):
        for r in range(n):
            mean[r] += gram[at[j], r] / k
    for j in range(k):
        for r in range(n):
            asks[r, j] += rate * (gram[at[j], r] - mean[r])
