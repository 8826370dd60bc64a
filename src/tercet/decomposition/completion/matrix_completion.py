"""Matrix completion (矩阵补全): missing entries by the assumption that the matrix is of low rank."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.base import OneToOneFeatureMixin, TransformerMixin

from tercet.core.catalog import method
from tercet.core.estimator import NO_TARGET, Estimator, check_is_fitted, generator
from tercet.core.fitted_checks import Declarations, Floats
from tercet.core.memory import available
from tercet.core.parallel import all_cores
from tercet.core.parameters import Count, Jobs, NonNegative, Positive, Seed
from tercet.core.steps import stopped_early
from tercet.core.validation import target_for_callbacks
from tercet.decomposition._completion.observed_entries import observed_entries, refuse_duplicates, transposed
from tercet.decomposition._completion.row_systems import Problem, factor_table, solve_rows
from tercet.decomposition._completion.shrinkage import (
    Triplets,
    extrapolated,
    no_triplets,
    product_at,
    shrunken,
    sparse_plus_low_rank,
    with_values,
)

DENSE_CELLS = 4_000_000  # of a sparse matrix that is worked on as an array


@method(
    zh="矩阵补全",
    task="matrix completion",
    model="X of low rank, of which some entries are known",
    strategy="min |X|_* with X = A at the known entries, or |X - A|²/2 there + alpha |X|_*",
    algorithms={
        "soft-impute": "fill in what is missing, shrink the singular values, again and again; alpha > 0",
        "svt": "singular value thresholding: X = D_τ(Y), Y += δ (A - X) at the known entries",
        "admm": "thresholds and projections onto the known entries by turns: the smallest nuclear norm itself",
        "als": "two factors by turns with a ridge penalty, which is the problem of soft-impute for a bounded rank",
    },
    texts=["watermelon notes ch. 10, eq. 10.22-10.24"],
    peers=["fancyimpute.SoftImpute", "cmfrec.CMF"],
)
class MatrixCompletion(OneToOneFeatureMixin, TransformerMixin, Estimator):
    """Completion of a matrix of low rank from some of its entries, by its nuclear norm.

    The rank (10.22) is relaxed to the nuclear norm |X|_* (10.24): either X equals the known entries A, or

        min ½ Σ_known (x_ij - a_ij)² + alpha |X|_*,

    which suits noisy entries. The nuclear norm need not give the matrix of the smallest rank: [[1, 2], [3, ?]]
    becomes 1 (|X|_* = 5) and not 6, with which the rank is 1 (|X|_* = 7.07). Guarantees want many known entries in
    random places and no row or column that stands out. A row of which nothing is known becomes zeros.

    Parameters
    ----------
    algorithm : {"soft-impute", "svt", "admm", "als"}, default="soft-impute"
        For noisy entries "soft-impute", or "als" for large matrices; for exact ones "admm", or "svt" for large
        ones.
    alpha : float, optional
        Strength of the penalty for "soft-impute" and "als"; by default a fiftieth of the largest singular value of
        the known entries.
    max_rank : int, optional
        The largest rank; by default min(n_samples, n_features), and for "als" at most 20.
    tau : float, optional
        Threshold of "svt": its limit is the minimum of tau |X|_* + |X|²/2, so that a large one comes close to the
        smallest nuclear norm; by default 5 √(n_samples n_features) times the mean size of the entries.
    keep_observed : bool, default=True
        Whether `transform` leaves known entries as they are; else all are those of the matrix of low rank.
    max_iter : int, default=1000
        The most passes.
    tol : float, default=1e-5
        Stop when a pass changes the matrix by no more than tol times its size ("svt": when the known entries are
        met up to tol times their size).
    random_state : int, optional
        Decides the factors that "als" starts from.
    n_jobs : int, optional
        Threads for "als" and for `transform`, by default all cores; the result does not depend on it.

    Attributes
    ----------
    components_ : array of shape (rank, n_features)
        Right singular vectors of the completed matrix.
    singular_values_ : array of shape (rank,)
        Its singular values.
    alpha_ : float
        The strength that was used; 0 for "svt" and "admm".
    tau_ : float
        The threshold of "svt"; infinite for the others.
    error_ : float
        Root mean square error of the completed matrix at the known entries.
    n_iter_ : int
        Passes made.
    history_ : dict
        After each pass the rank, the nuclear norm and the `error`, the root mean square at the known entries.

    Examples
    --------
    >>> X = np.array([[1.0, 2.0], [3.0, np.nan]])
    >>> MatrixCompletion(algorithm="admm", tol=1e-10).fit_transform(X).round(4)
    array([[1., 2.],
           [3., 1.]])
    >>> table = np.outer(np.arange(1.0, 7.0), np.arange(1.0, 6.0))
    >>> table[2, 3] = np.nan
    >>> MatrixCompletion(alpha=0.01).fit_transform(table)[2].round(1)
    array([ 3., 6., 9., 12., 15.])
    """

    missing_input: ClassVar[bool] = True
    batch_rounding: ClassVar[float] = 1e-9
    largest_value: ClassVar[float] = 1e100
    fitted_shapes: ClassVar[Declarations] = {
        "components_": Floats("rank* features", finite=True),
        "singular_values_": Floats("rank*", finite=True, low=0.0),
        "alpha_": Floats("", finite=True, low=0.0),
        "tau_": Floats("", low=0.0),
        "error_": Floats("", finite=True, low=0.0),
    }
    components_: np.ndarray
    singular_values_: np.ndarray

    def __init__(
        self,
        algorithm: Literal["soft-impute", "svt", "admm", "als"] = "soft-impute",
        *,
        alpha: NonNegative | None = None,
        max_rank: Count | None = None,
        tau: Positive | None = None,
        keep_observed: bool = True,
        max_iter: Count = 1000,
        tol: NonNegative = 1e-5,
        random_state: Seed = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.algorithm = algorithm
        self.alpha = alpha
        self.max_rank = max_rank
        self.tau = tau
        self.keep_observed = keep_observed
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the row space of a matrix from its known entries.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Known are the stored entries of a sparse matrix, zeros among them, and of an array all that is not NaN.
        y : ignored
            Nothing is learned from it; callbacks may score by it.

        Returns
        -------
        self
        """
        return self._learn(X, y)

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Learn the row space of a matrix, and return the completed matrix.

        This is the matrix that the algorithm found. `fit(X).transform(X)` solves for each row again, within the row
        space, and agrees with it as far as the algorithm has converged.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The matrix, as for `fit`.
        y : ignored
            Nothing is learned from it; callbacks may score by it.

        Returns
        -------
        completed : array of shape (n_samples, n_features)
        """
        self._refuse_dense(X)
        self._learn(X, y, keep_matrix=True)
        completed = self.__dict__.pop("_completed")
        return self.transform(X) if stopped_early(self) else completed

    def _fit(self, X: Any, y: Any, sample_weight: Any, keep_matrix: bool = False) -> None:
        kind, X = X.dtype, observed_entries(X).astype(np.float64)
        refuse_unknown_columns(X, type(self).__name__)
        most = self._rank(X.shape)
        # one unit for all: thresholds and penalties are sizes of entries
        unit = float(np.abs(X.data).max(initial=0.0)) or 1.0
        A = with_values(X, X.data / unit)
        self.alpha_, self.tau_ = 0.0, np.inf
        if self.algorithm in ("soft-impute", "als"):
            largest = (
                shrunken(A, 0.0, 1).s.max(initial=0.0) if min(A.shape) > 1 else float(np.linalg.norm(A.data))
            )
            self.alpha_ = float(largest) / 50 * unit if self.alpha is None else float(self.alpha)
        loop = self.steps(
            self.max_iter,
            unpack=lambda Z: {
                "components_": Z.Vt.astype(kind),
                "singular_values_": (Z.s * unit).astype(kind),
            },
            hint="Raise max_iter or tol.",
        )
        passes = {"soft-impute": self._soft_impute, "svt": self._svt, "admm": self._admm, "als": self._als}
        Z = no_triplets(A.shape)
        for step, (Z, settled) in zip(loop, passes[self.algorithm](A, most, unit)):
            error = float(np.sqrt(np.mean((A.data - product_at(A, Z)) ** 2))) * unit
            step.report(Z, rank=len(Z.s), nuclear_norm=float(Z.s.sum()) * unit, error=error)
            if self.tol > 0 and step.converged(settled):
                break
        self.components_, self.singular_values_ = Z.Vt.astype(kind), (Z.s * unit).astype(kind)
        self.error_ = error
        if keep_matrix:
            warn_of_unknown_rows(X, type(self).__name__)
            self._completed = self._with_observed(X, Z._replace(s=Z.s * unit).matrix(), kind)

    def _soft_impute(self, A: Any, most: int, unit: float) -> Iterator[tuple[Triplets, bool]]:
        """Known entries, and the last matrix where they are missing; then shrink its singular values by alpha.

        It is proximal gradient descent, so momentum (FISTA, restarted where it leads uphill) saves most passes.
        """
        Z, alpha = no_triplets(A.shape), self.alpha_ / unit
        ahead, t, least = Z, 1.0, np.inf
        whole = A.shape[0] * A.shape[1] <= DENSE_CELLS
        known = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr)), A.indices
        while True:
            if whole:
                filled: Any = ahead.matrix()
                filled[known] = A.data
            else:
                filled = sparse_plus_low_rank(with_values(A, A.data - product_at(A, ahead)), ahead)
            new = shrunken(filled, alpha, most, Z)
            loss = 0.5 * float(((A.data - product_at(A, new)) ** 2).sum()) + alpha * float(new.s.sum())
            faster = 1.0 if loss > least else (1 + np.sqrt(1 + 4 * t * t)) / 2
            settled = distance(new, Z) <= self.tol * float(np.linalg.norm(new.s))
            ahead = new if faster == 1.0 else extrapolated(new, Z, (t - 1) / faster)
            Z, t, least = new, faster, loss
            yield Z, settled

    def _svt(self, A: Any, most: int, unit: float) -> Iterator[tuple[Triplets, bool]]:
        """X = D_τ(Y), and Y += δ (A - X) at the known entries (Cai, Candès and Shen, 2010)."""
        n, d = A.shape
        size = float(np.linalg.norm(A.data))
        tau = 5 * np.sqrt(n * d) * float(np.abs(A.data).mean()) if self.tau is None else self.tau / unit
        self.tau_ = tau * unit
        delta = min(1.2 * n * d / A.nnz, 1.9)  # the theory's limit is 2
        spectral = float(shrunken(A, 0.0, 1).s.max(initial=0.0)) if min(n, d) > 1 else size
        Y = A.data * (delta * np.ceil(tau / (delta * spectral))) if spectral > 0 else A.data
        Z: Triplets | None = None
        while True:
            sums: Any = with_values(A, Y)
            Z = shrunken(sums.toarray() if n * d <= DENSE_CELLS else sums, tau, most, Z)
            residual = A.data - product_at(A, Z)
            Y = Y + delta * residual
            yield Z, float(np.linalg.norm(residual)) <= self.tol * size

    def _admm(self, A: Any, most: int, unit: float) -> Iterator[tuple[Triplets, bool]]:
        """The smallest nuclear norm with the known entries (10.24): thresholds and projections by turns."""
        if A.shape[0] * A.shape[1] > DENSE_CELLS:
            raise ValueError(
                f"{type(self).__name__}: algorithm='admm' works on the whole matrix; {A.shape[0]} x {A.shape[1]} "
                f"is more than {DENSE_CELLS} entries. Use 'svt', 'soft-impute' or 'als'."
            )
        known = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr)), A.indices
        X = A.toarray()
        dual, threshold = np.zeros(A.shape), max(0.1 * float(np.linalg.norm(X, 2)), 1e-300)
        while True:
            Z = shrunken(X - dual, threshold, most)
            low = Z.matrix()
            new = low + dual
            new[known] = A.data
            dual = dual + low - new
            change = float(np.linalg.norm(new - X)) + float(np.linalg.norm(low - new))
            X = new
            yield Z, change <= self.tol * float(np.linalg.norm(new))

    def _als(self, A: Any, most: int, unit: float) -> Iterator[tuple[Triplets, bool]]:
        """|X|_* = min (|P|² + |Q|²)/2 over X = PQ': two ridge regressions by turns."""
        k, threads = most, all_cores(self.n_jobs)
        problem = Problem(False, 1.0, self.alpha_ / unit, False, 0)
        columns = transposed(A)
        P, Q = factor_table(A.shape[0], k, np.float64), factor_table(A.shape[1], k, np.float64)
        Q[:, :k] = generator(self.random_state).normal(size=(A.shape[1], k)) / np.sqrt(k)
        zeros, Z = tuple(np.zeros(n) for n in A.shape), no_triplets(A.shape)
        while True:
            solve_rows(A, Q, k, zeros[1], problem, P, threads)
            solve_rows(columns, P, k, zeros[0], problem, Q, threads)
            new = product_triplets(P[:, :k], Q[:, :k])
            settled = distance(new, Z) <= self.tol * float(np.linalg.norm(new.s))
            # of all factors of a product these have the smallest penalty
            root = np.sqrt(new.s)
            P[:, :k], Q[:, :k] = 0.0, 0.0
            P[:, : root.size], Q[:, : root.size] = new.U * root, new.Vt.T * root
            Z = new
            yield Z, settled

    def transform(self, X: Any) -> np.ndarray:
        """Rows with their missing entries filled in.

        Each row by itself gets the coordinates in the row space that fit its known entries best, with the penalty
        of the fit. Rows that took part in the fit get what they have in the matrix of `fit_transform`, as far as
        the algorithm has converged.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The rows, as for `fit`.

        Returns
        -------
        completed : array of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        X = self._check(X, reset=False)
        self._refuse_dense(X)
        kind, X = X.dtype, observed_entries(X).astype(np.float64)
        warn_of_unknown_rows(X, type(self).__name__)
        s = self.singular_values_.astype(np.float64)
        # |X|_* = min over W of (tr XW⁻¹X' + tr W)/2, at W = V diag(s) V'; |X|²/2 of "svt" adds 1/tau to W⁻¹
        basis = np.sqrt(s / (1 + s / self.tau_))[:, None] * self.components_
        # Exact algorithms stop before they meet the known entries exactly. To meet them here would blow up what is
        # along small singular values: an error of that size is allowed, which is the penalty of the same size.
        # (Models of older files do not know it.)
        alpha = self.alpha_ or getattr(self, "error_", 0.0)
        completed = np.empty(X.shape)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            for i in range(X.shape[0]):
                at, values = X.indices[X.indptr[i] : X.indptr[i + 1]], X.data[X.indptr[i] : X.indptr[i + 1]]
                completed[i] = ridge_coordinates(basis[:, at], values, alpha) @ basis
        return self._with_observed(X, completed, kind)

    def _refuse_dense(self, X: Any) -> None:
        """An error where a sparse matrix would become an array that memory has no room for."""
        if sparse.issparse(X) and X.shape[0] * X.shape[1] * 8 > available():
            raise ValueError(
                f"{type(self).__name__}: the completed matrix of {X.shape[0]} x {X.shape[1]} does not fit in "
                "memory; fit, and transform fewer rows at a time."
            )

    def _with_observed(self, X: Any, completed: np.ndarray, kind: np.dtype) -> np.ndarray:
        """The completed matrix with the known entries of the CSR matrix X, where they are kept."""
        completed[np.diff(X.indptr) == 0] = 0.0  # rounding of the fit may have left something
        if self.keep_observed:
            completed[np.repeat(np.arange(X.shape[0]), np.diff(X.indptr)), X.indices] = X.data
        with np.errstate(over="ignore", under="ignore"):
            completed = completed.astype(kind, copy=False)
        if not np.isfinite(completed).all():
            raise ValueError(f"{type(self).__name__}: a completed entry is beyond floating-point numbers.")
        return completed

    def _rank(self, shape: tuple[int, int]) -> int:
        most = min(shape)
        if self.max_rank is not None and self.max_rank > most:
            raise ValueError(
                f"{type(self).__name__}: max_rank={self.max_rank} is more than the rank of a matrix of shape "
                f"{shape} can be; allowed are 1 to {most}."
            )
        return self.max_rank or (min(most, 20) if self.algorithm == "als" else most)

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        refuse_duplicates(X, type(self).__name__)
        X = super()._check(X, reset=reset)
        return X if y is NO_TARGET else (X, target_for_callbacks(y, X.shape[0]))

    def _encode(self, y: Any) -> None:
        return None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def refuse_unknown_columns(X: Any, name: str) -> None:
    """An error where a column has no known entry: nothing says what belongs there."""
    counts = np.bincount(X.indices, minlength=X.shape[1])
    if not counts.all():
        raise ValueError(
            f"{name}: column {int(np.argmin(counts))} of X has no known entry; each column needs at least one. "
            "Leave the column out."
        )


def warn_of_unknown_rows(X: Any, name: str) -> None:
    """A warning where a row has no known entry."""
    counts = np.diff(X.indptr)
    if not counts.all():
        warnings.warn(
            f"{name}: row {int(np.argmin(counts))} of X has no known entry ({int((counts == 0).sum())} such rows "
            "in all): it is filled with zeros.",
            UserWarning,
            stacklevel=3,
        )


def distance(new: Triplets, old: Triplets) -> float:
    """|new - old| of two matrices of low rank, by their factors."""
    if not old.s.size or not new.s.size:
        return float(np.sqrt((new.s**2).sum() + (old.s**2).sum()))
    R = np.linalg.qr(np.hstack([new.U * new.s, -old.U * old.s]), mode="r")
    return float(np.linalg.norm(R @ np.vstack([new.Vt, old.Vt])))


def product_triplets(P: np.ndarray, Q: np.ndarray) -> Triplets:
    """The decomposition of PQ', without the product; singular values that are rounding are left out."""
    (left, R), (right, S) = np.linalg.qr(P), np.linalg.qr(Q)
    U, s, Vt = np.linalg.svd(R @ S.T)
    keep = s > 1e-12 * s.max(initial=0.0)
    return Triplets((left @ U)[:, keep], s[keep], (Vt @ right.T)[keep])


def ridge_coordinates(basis: np.ndarray, values: np.ndarray, alpha: float) -> np.ndarray:
    """The a with the least ½ |values - a basis|² + alpha |a|²/2; for alpha = 0 the shortest of the best."""
    if alpha > 0:  # as rows of least squares: the squares of large entries would leave nothing of alpha
        rows = np.vstack([basis.T, np.sqrt(alpha) * np.eye(len(basis))])
        return np.linalg.lstsq(rows, np.append(values, np.zeros(len(basis))))[0]
    return np.linalg.lstsq(basis.T, values, rcond=1e-9)[0]
