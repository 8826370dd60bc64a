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

WORK = 30_000_000  # entries that the moves of a pass may read: Ctrl-C is noticed after it


@method(
    zh="多类支持向量机",
    task="classification",
    model="f = (f_1 ... f_k), f_j(x) = h_j(x) + b_j, sum of f_j = 0; the class is argmax_j f_j(x)",
    strategy="mean of L(y_i)·(f(x_i) - y_i)_+ plus lam / 2 times the sum of ||h_j||²",
    algorithms="dual by pairs within a class and by moves of all classes at once",
    texts=["Pattern Recognition ch. 5, eq. 5-57"],
)
class MulticategorySVC(KernelMachine, Classifier):
    """Support vector machine of several classes at once, without binary problems (Lee, Lin and Wahba).

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

    fitted_shapes = {
        "support_vectors_": KernelMachine._declared_rows,
        "dual_coef_": "rows* classes",
        "intercept_": "classes",
    }

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

        # h_j = -(1/scale) Σ_i (alpha_ij - mean over j of alpha_ij) K(x_i, .), and v_ij = y_ij - h_j(x_i). KKT: b_j
        # is at most v_ij where alpha_ij can increase, and at least v_ij where it can decrease.
        alpha, v = np.zeros((n, k), order="F"), target.copy(order="F")
        moves = min(n * k, WORK // (n * k) + 1)
        diag = gram.diagonal().copy()
        min_curvature = 1e-12 * (float(np.abs(diag).max()) or 1.0)  # a smaller one is rounding
        for step in self.steps(self.max_iter, unpack=functools.partial(self._attributes, X, scale)):
            descend(gram, diag, upper, scale, min_curvature, self.tol, moves, alpha, v)
            H = target - v
            low, high, violation = bias_intervals(alpha, upper, v)
            b = zero_sum_biases(low, high)
            self.objective_ = self._objective(H, b, target, upper, alpha, scale)
            self.violation_ = float(violation)
            step.report((alpha.copy(), b), objective=self.objective_, violation=self.violation_)
            if step.converged(violation <= self.tol):
                break
        self.__dict__.update(self._attributes(X, scale, (alpha, b)))

    def _attributes(self, X: Any, scale: float, state: tuple[np.ndarray, np.ndarray]) -> dict[str, Any]:
        """The fitted attributes from the multipliers and b."""
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


def bias_intervals(
    alpha: np.ndarray, upper: np.ndarray, v: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float]:
    """For each class the least and the greatest b_j by the KKT conditions, and their violation.

    Where a class has free variables (0 < alpha < upper), both are the mean of their v. Shapes: (n, k), (k,).
    """
    with np.errstate(invalid="ignore"):
        most = np.where(alpha < upper, v, np.inf).min(axis=0)
        least = np.where(alpha > 0, v, -np.inf).max(axis=0)
    of_sum = max(-most.sum(), least.sum()) if np.isfinite([most.sum(), least.sum()]).any() else 0.0
    violation = max(0.0, float((least - most).max()), float(of_sum))
    free = (alpha > 0) & (alpha < upper)
    count = free.sum(axis=0)
    mean = np.where(free, v, 0.0).sum(axis=0) / np.maximum(count, 1)
    return np.where(count > 0, mean, least), np.where(count > 0, mean, most), violation


def zero_sum_biases(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """b_j that sum to zero, all at the same fraction of their intervals (cut to what the others allow).

    For two classes that is the middle of the interval of b, as in an ordinary machine.
    """
    others = ~np.eye(low.size, dtype=bool)
    before, after = (np.where(others, end, 0.0).sum(axis=1) for end in (low, high))
    low, high = np.maximum(low, -after), np.minimum(high, -before)
    known = np.where(np.isfinite(low), low, high), np.where(np.isfinite(high), high, low)
    starts, ends = (np.where(np.isfinite(end), end, 0.0) for end in known)  # 0: no condition
    far = 1.0 + max(abs(starts.sum()), abs(ends.sum()))  # as good as infinite
    low, high = np.where(np.isfinite(low), low, starts - far), np.where(np.isfinite(high), high, ends + far)
    width = (high - low).sum()
    part = -low.sum() / width if width > 0 else 0.5
    b = low + min(max(part, 0.0), 1.0) * (high - low)
    return b - b.mean()


@kernel
def descend(gram, diag, upper, scale, min_curvature, tol, limit, alpha, v):
    """Up to `limit` steps that keep the sums of alpha over the classes equal to one another.

    Two variables of one class change by opposite amounts, or one variable of every class by the same amount.
    Shapes: gram (n, n), diag (n,), upper, alpha and v (n, k).
    """
    n, k = alpha.shape
    rise, fall = np.empty(k, dtype=np.int64), np.empty(k, dtype=np.int64)
    for _ in range(limit):
        worst, column, up, down = tol, -1, 0.0, 0.0
        for j in range(k):
            lowest, highest = np.inf, -np.inf
            rise[j], fall[j] = -1, -1
            for i in range(n):
                if alpha[i, j] < upper[i, j] and v[i, j] < lowest:
                    lowest, rise[j] = v[i, j], i
                if alpha[i, j] > 0 and v[i, j] > highest:
                    highest, fall[j] = v[i, j], i
            if highest - lowest > worst:
                worst, column = highest - lowest, j
            up -= lowest
            down += highest
        if up > worst or down > worst:
            sign = 1.0 if up > down else -1.0
            step_all_classes(
                gram, diag, upper, scale, min_curvature, rise if up > down else fall, sign, alpha, v
            )
        elif column >= 0:
            step_pair(gram, diag, upper, scale, min_curvature, column, rise[column], alpha, v)
        else:
            return


@inner
def step_pair(gram, diag, upper, scale, min_curvature, j, i, alpha, v):
    """alpha_ij increases and another of class j, chosen by second-order gain, decreases as much."""
    n, k = alpha.shape
    part = 1.0 - 1.0 / k
    best, other = 0.0, -1
    for r in range(n):
        slope = v[r, j] - v[i, j]
        if alpha[r, j] > 0 and slope > 0:
            curvature = max(diag[i] + diag[r] - 2 * gram[i, r], min_curvature)
            if slope * slope / curvature > best:
                best, other = slope * slope / curvature, r
    curvature = max(diag[i] + diag[other] - 2 * gram[i, other], min_curvature) * part
    above, below = upper[i, j] - alpha[i, j], alpha[other, j]
    step = min((v[other, j] - v[i, j]) * scale / curvature, above, below)
    alpha[i, j] = upper[i, j] if step == above else alpha[i, j] + step
    alpha[other, j] = 0.0 if step == below else alpha[other, j] - step
    for c in range(k):
        rate = step / scale * (part if c == j else -1.0 / k)
        for r in range(n):
            v[r, c] += rate * (gram[i, r] - gram[other, r])


@inner
def step_all_classes(gram, diag, upper, scale, min_curvature, at, sign, alpha, v):
    """alpha of row at[j] and class j, for all j, rises (sign 1) or falls (sign -1) by the same step."""
    n, k = alpha.shape
    slope, curvature, step = 0.0, 0.0, np.inf
    for j in range(k):
        slope -= sign * v[at[j], j] * scale
        curvature += diag[at[j]]
        for c in range(k):
            curvature -= gram[at[j], at[c]] / k
        step = min(step, upper[at[j], j] - alpha[at[j], j] if sign > 0 else alpha[at[j], j])
    step = min(step, slope / max(curvature, min_curvature))
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
            v[r, j] += rate * (gram[at[j], r] - mean[r])
