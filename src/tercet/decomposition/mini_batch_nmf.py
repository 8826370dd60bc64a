"""Non-negative matrix factorisation by mini-batches (小批量非负矩阵分解)."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np

from tercet.core.catalog import method
from tercet.core.estimator import check_is_fitted
from tercet.core.fitted_checks import Declarations, Floats, Whole
from tercet.core.parallel import one_blas_thread
from tercet.core.parameters import Count, Fraction, Jobs, NonNegative, Real, Seed, check_parameters
from tercet.core.row_states import PagedStates, array_in_memory
from tercet.core.scaling import times_power
from tercet.core.streams import first_rows, is_streamed
from tercet.core.validation import finite_predictions
from tercet.decomposition._nmf.batch_tables import BatchTable, StreamedBatches
from tercet.decomposition._nmf.factorization import (
    Penalty,
    multiplicative,
    penalized,
    solve_rows_multiplicatively,
    step_power,
)
from tercet.decomposition._nmf.half import Half, halves, split_missing
from tercet.decomposition._nmf.streamed_table import StreamedTable
from tercet.decomposition.nndsvd import random_numbers
from tercet.decomposition.nonnegative_base import NonnegativeFactorization, even_exponent, even_power


@method(
    zh="小批量非负矩阵分解",
    task="matrix factorisation",
    model="X ≈ WH with W, H >= 0: a row is a sum of components, the rows of H, with the weights W",
    strategy="squared loss, divergence or another beta-divergence of X from WH; L1 and L2 penalties",
    algorithms="multiplicative rules, of which H keeps sums over the batches that fade with time",
    texts=["Li ch. 17, eq. 17.24-17.27"],
    peers=["sklearn.decomposition.MiniBatchNMF"],
)
class MiniBatchNMF(NonnegativeFactorization):
    """Non-negative matrix factorisation by mini-batches, for tables that are large or come in pieces.

    The rows of a batch get their W by multiplicative rules; H is the quotient of two sums over the batches, of its
    numerators and denominators, in which older batches count less.

    Parameters
    ----------
    n_components : int, "auto" or None, default="auto"
        The rank k. "auto": that of a given H, else the number of features; None: the number of features.
    init : {"random", "nndsvd", "nndsvda", "nndsvdar", "custom"}, optional
        The start, as in `NMF`.
    batch_size : int, default=1024
        Rows of a batch.
    beta_loss : {"frobenius", "kullback-leibler", "itakura-saito"} or float, default="frobenius"
        The loss, as in `NMF`.
    tol : float, default=1e-4
        Stop when a batch changes H by no more than tol times its size. 0 leaves the other rules.
    max_no_improvement : int or None, default=10
        Stop after so many batches in a row without a smaller mean of the costs.
    max_iter : int, default=200
        The most passes over all rows.
    alpha_W, alpha_H : float, default=0.0 and "same"
        The weights of the penalties, as in `NMF`.
    l1_ratio : float, default=0.0
        The share of the L1 penalty; the rest is L2.
    forget_factor : float, default=0.7
        How much the sums of a pass count in the next one; 0 forgets all.
    fresh_restarts : bool, default=False
        Whether W of a batch is solved for from the beginning each time.
    fresh_restarts_max_iter : int, default=30
        The most passes of that.
    transform_max_iter : int, optional
        The most passes of `transform`, by default max_iter.
    random_state : int, optional
        Decides what is drawn.
    verbose : int, default=0
        Print a line for each batch.
    n_jobs : int, optional
        Threads to use, by default all cores; the result does not depend on it.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        H.
    n_components_ : int
        The rank k.
    reconstruction_err_ : float
        √(2 D(X||WH)) over the known cells; for the squared loss, |X - WH|.
    n_iter_ : int
        Passes begun.
    n_steps_ : int
        Batches used.

    Notes
    -----
    Of a source, batches are read one after the other, and W is kept in temporary files where memory is short. The
    factors agree with those in memory but for rounding. There are no missing values then.

    Examples
    --------
    >>> X = [[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]]
    >>> model = MiniBatchNMF(1, batch_size=2, random_state=0).fit(X)
    >>> model.inverse_transform(model.transform([[4.0, 8.0]])).round(2)
    array([[4., 8.]])
    """

    fitted_shapes: ClassVar[Declarations] = {
        "n_steps_": Whole(),
        "_numerator": Floats("components features", finite=True, low=0.0),
        "_denominator": Floats("components features", finite=True, low=0.0),
    }
    n_steps_: int
    _numerator: np.ndarray
    _denominator: np.ndarray

    streaming = True
    streams_missing = False

    batch_rounding = 1e-12  # powers are rounded otherwise at the ends of vectors

    def __init__(
        self,
        n_components: Count | Literal["auto"] | None = "auto",
        *,
        init: Literal["random", "nndsvd", "nndsvda", "nndsvdar", "custom"] | None = None,
        batch_size: Count = 1024,
        beta_loss: Literal["frobenius", "kullback-leibler", "itakura-saito"] | Real = "frobenius",
        tol: NonNegative = 1e-4,
        max_no_improvement: Count | None = 10,
        max_iter: Count = 200,
        alpha_W: NonNegative = 0.0,
        alpha_H: NonNegative | Literal["same"] = "same",
        l1_ratio: Fraction = 0.0,
        forget_factor: Fraction = 0.7,
        fresh_restarts: bool = False,
        fresh_restarts_max_iter: Count = 30,
        transform_max_iter: Count | None = None,
        random_state: Seed = None,
        verbose: int | bool = 0,
        n_jobs: Jobs = None,
    ) -> None:
        self.n_components = n_components
        self.init = init
        self.batch_size = batch_size
        self.beta_loss = beta_loss
        self.tol = tol
        self.max_no_improvement = max_no_improvement
        self.max_iter = max_iter
        self.alpha_W = alpha_W
        self.alpha_H = alpha_H
        self.l1_ratio = l1_ratio
        self.forget_factor = forget_factor
        self.fresh_restarts = fresh_restarts
        self.fresh_restarts_max_iter = fresh_restarts_max_iter
        self.transform_max_iter = transform_max_iter
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs

    def _fit(self, X: Any, y: None, sample_weight: Any, W: Any = None, H: Any = None) -> None:
        if is_streamed(X):
            here = array_in_memory(X)
            if here is None:
                self._fit_streamed(X)
                return
            X = here  # one batch after the other is nothing for a cluster
        self._refuse_zeros(X)
        n, power = X.shape[0], even_exponent(X)
        X = times_power(X, -power)
        W, Ht = (np.array(A, order="C") for A in self._start(X, W, H, power))
        table = BatchTable(X, W, self.batch_size, self._threads)
        sums = self._pass_batches(table, Ht, n, power)
        whole = Half(*split_missing(X), self._threads, by_row=True)
        if self.fresh_restarts:
            W = self._solve(whole, sums.Ht, self.transform_max_iter or self.max_iter, power)
        with one_blas_thread():
            loss = whole.loss(W, sums.Ht, self._beta)
        self.reconstruction_err_ = float(np.sqrt(2 * loss) * np.exp2(power * self._beta / 2))
        self._trained = W, self.components_

    def _fit_streamed(self, X: Any) -> None:
        """The same over rows of a source: batches are read one after the other, and W is kept in pages."""
        k = self._rank(first_rows(X, 1), None)
        rows = min(self.batch_size, X.shape[0])
        with StreamedTable(X, k, even_power, rows=rows, states=PagedStates) as table:
            Ht = table.start(self._chosen_init(X.shape, k), random_numbers(self.random_state))
            batches = StreamedBatches(table, self._threads)
            sums, loss = self._pass_batches(batches, Ht, X.shape[0], table.power), 0.0
            for number, part in table.walk():
                half, W = Half(part, None, self._threads, by_row=True), batches.W(number)
                if self.fresh_restarts:
                    W = self._solve(half, sums.Ht, self.transform_max_iter or self.max_iter, table.power)
                with one_blas_thread():
                    loss += half.loss(W, sums.Ht, self._beta)
            self.reconstruction_err_ = float(np.sqrt(2 * loss) * np.exp2(table.power * self._beta / 2))

    def _pass_batches(self, table: Any, Ht: np.ndarray, n: int, power: int) -> RunningSums:
        """Passes over the batches; W of each is changed in the table."""
        sums = RunningSums(Ht, self.forget_factor ** (min(self.batch_size, n) / n), self._beta)
        costs, used = FadingCosts(self, n), 0
        loop = self.steps(
            self.max_iter,
            unpack=lambda Ht: {"components_": times_power(np.ascontiguousarray(Ht.T), power)},
            hint=f"Maximum number of iterations {self.max_iter} reached. Increase it to improve convergence.",
        )
        for step in loop:
            for number, batch in table.batches():
                before = sums.Ht.copy()
                W, cost = self._batch_step(batch, table.W(number), sums, power)
                table.set_W(number, W)
                used += 1
                empty = not W.any() and table.has_weights()  # rows of zeros say nothing of H
                if done := costs.settled(cost, before, sums.Ht, batch[0].X.shape[0], used) and not empty:
                    break
            step.report(sums.Ht.copy(), cost=cost)
            if (self.tol > 0 or done) and step.converged(done):
                break
        self._set_sums(sums, power)
        self.n_steps_ = used
        return sums

    def _set_sums(self, sums: RunningSums, power: int) -> None:
        """Set the fitted attributes, in the unit of X."""
        self._numerator, self._denominator = sums.numerator.T.copy(), sums.denominator.T.copy()
        if power:  # the sums are in another unit: later batches begin with H itself
            self._numerator, self._denominator = times_power(sums.Ht.T, power), np.ones_like(sums.Ht.T)
        self.components_ = np.ascontiguousarray(times_power(sums.Ht.T, power))
        if not np.isfinite(self.components_).all():
            raise ValueError(
                f"{type(self).__name__}: components_ are beyond floating-point numbers. Scale the features."
            )
        self.n_components_ = len(self.components_)

    def _batch_step(
        self, batch: tuple[Half, Half], W: np.ndarray | None, sums: RunningSums, power: int
    ) -> tuple[np.ndarray, float]:
        """W of a batch and then H; also the cost of a row before H has changed."""
        rows, columns = batch
        penalty_W, penalty_H = self._penalties(rows.X.shape, (0, power))
        with one_blas_thread():
            if W is None or self.fresh_restarts:
                W = self._solve(rows, sums.Ht, self.fresh_restarts_max_iter, power)
            else:
                W = W.copy()
                multiplicative(rows, W, sums.Ht, self._beta, penalty_W)
            if self._beta < 1:
                W[np.finfo(np.float64).eps * W.max(initial=0.0) > W] = 0
            cost = rows.loss(W, sums.Ht, self._beta) + penalty_W.of(W) + penalty_H.of(sums.Ht)
            sums.update(columns, W, penalty_H)
        return W, cost / rows.X.shape[0]

    def _solve(self, rows: Half, Ht: np.ndarray, limit: int, power: int) -> np.ndarray:
        """W of some rows for a given H, each by itself."""
        penalty = self._penalties(rows.X.shape, (0, power))[0]
        # a tenth: here no slower row beside it makes a row go on
        return solve_rows_multiplicatively(
            rows, Ht, self._beta, penalty, limit, self.tol / 10, rule="change"
        )[0]

    def partial_fit(self, X: Any, y: Any = None, W: Any = None, H: Any = None) -> Self:
        """Learn from one more batch of rows.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Numbers of at least 0; NaN is a value that is not known.
        y : ignored
            There for pipelines.
        W, H : arrays of shape (n_samples, n_components) and (n_components, n_features), optional
            The start, with `init="custom"`; for the first call only.

        Returns
        -------
        self
        """
        check_parameters(self)
        first = not hasattr(self, "components_")
        X = self._check(X, reset=first)
        self._refuse_zeros(X)
        n = X.shape[0]
        fade = self.forget_factor ** (min(self.batch_size, n) / n)
        if first:
            sums = RunningSums(np.array(self._start(X, W, H, 0)[1], order="C"), fade, self._beta)
            self.n_steps_ = 0
        else:
            sums = RunningSums(self.components_.T, fade, self._beta)
            sums.numerator, sums.denominator = self._numerator.T.copy(), self._denominator.T.copy()
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            self._batch_step(halves(X, self._threads), None, sums, 0)
        self._set_sums(sums, 0)
        self.n_steps_ += 1
        return self

    def transform(self, X: Any) -> np.ndarray:
        """The weights W of rows for the components that were learned.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Numbers of at least 0; NaN is a value that is not known.

        Returns
        -------
        W : array of shape (n_samples, n_components)
        """
        check_is_fitted(self)
        X = self._check(X, reset=False)
        powers = even_exponent(X), even_exponent(self.components_)
        filled, missing = split_missing(times_power(X, -powers[0]))
        rows = Half(filled, missing, self._threads, by_row=True)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"), one_blas_thread():
            H = times_power(self.components_, -powers[1]).astype(filled.dtype, copy=False)
            Ht = np.ascontiguousarray(H.T)
            W = self._solve(rows, Ht, self.transform_max_iter or self.max_iter, powers[1])
        return finite_predictions(times_power(W, powers[0] - powers[1]), type(self).__name__)


class RunningSums:
    """H' as a quotient of sums over batches, in which older ones fade."""

    def __init__(self, Ht: np.ndarray, fade: float, beta: float) -> None:
        self.Ht, self.fade, self.beta = np.array(Ht, order="C"), fade, beta
        self.numerator, self.denominator = self.Ht.copy(), np.ones_like(self.Ht)

    def update(self, columns: Half, W: np.ndarray, penalty: Penalty) -> None:
        """Add what a batch says, and form the quotient."""
        power = step_power(self.beta)
        top, bottom = columns.terms(self.Ht, W, self.beta)
        bottom = penalized(bottom, self.Ht, penalty)
        whole = self.Ht if power == 1 else self.Ht ** (1 / power)
        known = (whole > 0) & ~np.isnan(top)  # what is 0 stays so, and rows of zeros in W say nothing
        added = np.multiply(top, whole, out=np.zeros_like(whole), where=known)
        self.numerator = (self.fade * self.numerator + added).astype(W.dtype, copy=False)
        self.denominator = (self.fade * self.denominator + bottom).astype(W.dtype, copy=False)
        there = self.denominator > 0
        Ht = np.divide(self.numerator, self.denominator, out=np.zeros_like(self.Ht), where=there)
        self.Ht = Ht if power == 1 else Ht**power
        if self.beta <= 1:
            self.Ht[self.Ht < np.finfo(np.float64).eps * self.Ht.max(initial=0.0)] = 0


class FadingCosts:
    """Stopping rules: a small change of H, or no smaller mean of the costs for some batches."""

    def __init__(self, model: MiniBatchNMF, n: int) -> None:
        self.model, self.n = model, n
        self.mean, self.least, self.idle = np.nan, np.inf, 0

    def settled(self, cost: float, before: np.ndarray, after: np.ndarray, size: int, count: int) -> bool:
        """Whether a batch was the last one."""
        model = self.model
        if count > 1:
            share = min(size / (self.n + 1), 1.0)
            self.mean = cost if count == 2 else self.mean * (1 - share) + cost * share
        if model.verbose:
            print(f"Minibatch step {count}: mean batch cost: {cost:.6g}, ewa cost: {self.mean:.6g}")
        if count == 1:
            return False
        if model.tol > 0 and np.linalg.norm(after - before) <= model.tol * np.linalg.norm(after):
            return True
        self.idle = 0 if self.mean < self.least else self.idle + 1
        self.least = min(self.least, self.mean)
        return model.max_no_improvement is not None and self.idle >= model.max_no_improvement
