"""Non-negative matrix factorisation (非负矩阵分解)."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from tercet.core.catalog import method
from tercet.core.estimator import check_is_fitted
from tercet.core.parallel import one_blas_thread
from tercet.core.parameters import Count, Fraction, Jobs, NonNegative, Real, Seed, check_parameters
from tercet.core.row_states import array_in_memory
from tercet.core.scaling import times_power
from tercet.core.streams import first_rows, is_streamed
from tercet.core.validation import finite_predictions
from tercet.decomposition._nmf.factorization import (
    Factorization,
    Penalty,
    solve_rows,
    solve_rows_multiplicatively,
)
from tercet.decomposition._nmf.half import Half, split_missing
from tercet.decomposition._nmf.stopping_rules import ErrorDrop, GradientDrop
from tercet.decomposition._nmf.streamed_factorization import StreamedFactorization
from tercet.decomposition._nmf.streamed_table import StreamedTable
from tercet.decomposition.nndsvd import random_numbers
from tercet.decomposition.nonnegative_base import (
    NonnegativeFactorization,
    even_exponent,
    even_power,
    given_factor,
)


@method(
    zh="非负矩阵分解",
    task="matrix factorisation",
    model="X ≈ WH with W, H >= 0: a row is a sum of components, the rows of H, with the weights W",
    strategy="squared loss |X - WH|², divergence D(X||WH), or another beta-divergence; L1 and L2 penalties",
    algorithms={
        "cd": "cyclic coordinate descent, W and H by turns",
        "mu": "multiplicative rules, Algorithm 17.1; O(mnk) a pass, O(tmnk) in all, an SVD O(min(mn², m²n))",
        "hals": "the same coordinates as cd, several turns for each product of X and a factor",
        "gradient": "projected gradient steps of the length 1 / Lipschitz constant",
    },
    texts=["Li ch. 17, Alg 17.1, eq. 17.17-17.34, Thm 17.1, 17.2", "Li ch. 22, Table 22.1"],
    peers=["sklearn.decomposition.NMF"],
)
class NMF(NonnegativeFactorization):
    """Non-negative matrix factorisation: X ≈ WH with W, H >= 0.

    Minimises D(X||WH) over the known cells, plus the penalties
    alpha_W d (l1_ratio |W|₁ + ½ (1 - l1_ratio) |W|²) + alpha_H n (l1_ratio |H|₁ + ½ (1 - l1_ratio) |H|²),
    where D is ½ |X - WH|² or another beta-divergence. W and H are updated by turns, and the loss cannot rise. The
    factors are not unique: compare WH or the loss.

    Parameters
    ----------
    n_components : int, "auto" or None, default="auto"
        The rank k. "auto": that of a given H, else the number of features; None: the number of features.
    init : {"random", "nndsvd", "nndsvda", "nndsvdar", "custom"}, optional
        The start: random numbers; singular vectors without their negative parts (see `nndsvd`), with zeros left,
        set to the mean of X, or to small random numbers; or the W and H given to `fit_transform`. By default
        "nndsvda" where n_components <= min(n_samples, n_features), else "random".
    solver : {"cd", "mu", "hals", "gradient"}, default="cd"
        How W and H are updated: by coordinate descent; by the texts' multiplicative rules, the only one for other
        losses than the squared one; by coordinate descent with several turns for each product of X, which needs
        fewer passes; by projected gradient steps.
    beta_loss : {"frobenius", "kullback-leibler", "itakura-saito"} or float, default="frobenius"
        The loss: ½ |X - WH|² (beta 2), the divergence (17.21) (beta 1), the Itakura-Saito divergence (beta 0), or
        the beta-divergence of another beta. For beta <= 0, X must not contain zeros.
    tol : float, default=1e-4
        Stop when the projected gradient is at most tol times that of the first pass; with "mu" when ten passes
        lower the root of twice the loss by less than tol times that of the start. 0 leaves only max_iter.
    max_iter : int, default=200
        The most passes.
    random_state : int, optional
        Decides what is drawn.
    alpha_W, alpha_H : float, default=0.0 and "same"
        The weights of the penalties of W, which is multiplied by n_features, and of H, multiplied by n_samples;
        "same": alpha_W.
    l1_ratio : float, default=0.0
        The share of the L1 penalty; the rest is L2.
    verbose : int, default=0
        Print a line for each pass.
    shuffle : bool, default=False
        Whether coordinate descent goes through the components in random order.
    order : {"WH", "HW"}, default="WH"
        Which factor a pass updates first: W as in Algorithm 17.1, or H as in Theorem 17.1.
    normalize : {"rescale", "literal"}, optional
        Bring the columns of W to length 1 in every pass. "rescale" multiplies the rows of H by the lengths, so that
        WH and the loss stay; "literal" does as the text says and leaves H, so that the loss may rise.
    norm : {"l2", "l1"}, default="l2"
        The length that `normalize` means.
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
        Passes made.
    history_ : dict
        The loss D(X||WH) after each pass.

    Notes
    -----
    Of a source, W is kept in temporary files where memory is short, or on the workers of a cluster; one pass over
    the rows is one update of W and H, and the factors agree with those in memory but for rounding. There are no
    missing values then.

    An entry that is 0 stays 0 under the multiplicative rules, so that they may end at a point that is no minimum:
    start from positive numbers.

    Examples
    --------
    >>> X = [[1.0, 2.0, 0.0], [2.0, 4.0, 0.0], [0.0, 0.0, 3.0]]
    >>> model = NMF(2, max_iter=500, tol=1e-8)
    >>> (model.fit_transform(X) @ model.components_).round(3)
    array([[1., 2., 0.],
           [2., 4., 0.],
           [0., 0., 3.]])
    """

    streaming = True
    streams_missing = False

    batch_rounding = 1e-12  # powers are rounded otherwise at the ends of vectors

    def __init__(
        self,
        n_components: Count | Literal["auto"] | None = "auto",
        *,
        init: Literal["random", "nndsvd", "nndsvda", "nndsvdar", "custom"] | None = None,
        solver: Literal["cd", "mu", "hals", "gradient"] = "cd",
        beta_loss: Literal["frobenius", "kullback-leibler", "itakura-saito"] | Real = "frobenius",
        tol: NonNegative = 1e-4,
        max_iter: Count = 200,
        random_state: Seed = None,
        alpha_W: NonNegative = 0.0,
        alpha_H: NonNegative | Literal["same"] = "same",
        l1_ratio: Fraction = 0.0,
        verbose: int | bool = 0,
        shuffle: bool = False,
        order: Literal["WH", "HW"] = "WH",
        normalize: Literal["rescale", "literal"] | None = None,
        norm: Literal["l2", "l1"] = "l2",
        n_jobs: Jobs = None,
    ) -> None:
        self.n_components = n_components
        self.init = init
        self.solver = solver
        self.beta_loss = beta_loss
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.alpha_W = alpha_W
        self.alpha_H = alpha_H
        self.l1_ratio = l1_ratio
        self.verbose = verbose
        self.shuffle = shuffle
        self.order = order
        self.normalize = normalize
        self.norm = norm
        self.n_jobs = n_jobs

    def _fit(self, X: Any, y: None, sample_weight: Any, W: Any = None, H: Any = None) -> None:
        if is_streamed(X):
            self._fit_streamed(X)
            return
        self._check_choices(X)
        power = even_exponent(X)  # squares must neither overflow nor vanish
        X = times_power(X, -power)
        W, Ht = self._start(X, W, H, power)
        penalties = self._penalties(X.shape, (0, power))
        factors = Factorization(X, W, Ht, self.solver, self._beta, penalties, self._threads)
        with one_blas_thread():  # once for all passes: to ask BLAS takes as long as a small pass
            self._alternate(factors, self._passes(power), float(np.exp2(power * self._beta)))
        moved = self._keep(factors, power)
        self._trained = times_power(factors.W, moved), self.components_

    def _fit_streamed(self, X: Any) -> None:
        """The same over rows of a source, or on a cluster, whose W is kept beside them."""
        self._check_choices(X)
        k = self._rank(first_rows(X, 1), None)
        with StreamedTable(X, k, even_power) as table:
            Ht = table.start(self._chosen_init(X.shape, k), random_numbers(self.random_state))
            penalties = self._penalties(X.shape, (0, table.power))
            factors = StreamedFactorization(table, Ht, self.solver, self._beta, penalties, self._threads)
            self._alternate(factors, self._passes(table.power), float(np.exp2(table.power * self._beta)))
            moved = self._keep(factors, table.power)
            if array_in_memory(X) is not None:
                self._trained = times_power(table.W(), moved), self.components_

    def _passes(self, power: int) -> Any:
        return self.steps(
            self.max_iter,
            unpack=lambda Ht: {"components_": times_power(np.ascontiguousarray(Ht.T), power)},
            hint=f"Maximum number of iterations {self.max_iter} reached. Increase it to improve convergence.",
        )

    def _alternate(self, factors: Any, loop: Iterable[Any], unit: float) -> None:
        """W and H by turns (Algorithm 17.1; see `multiplicative_step`); losses are shown in the given unit."""
        k, rng = factors.k, random_numbers(self.random_state)
        forward = np.arange(k)
        stop = ErrorDrop(self.tol, factors) if self.solver == "mu" else GradientDrop(self.tol)
        if self.normalize is not None:
            factors.normalize(self.norm, rescale=self.normalize == "rescale")
        for step in loop:
            violation = 0.0
            for factor in self.order:
                turn = rng.permutation(k) if self.shuffle else forward
                violation += factors.update_W(turn) if factor == "W" else factors.update_H(turn)
                if factor == "W" and self.normalize == "literal":
                    factors.normalize(self.norm, rescale=False)
            if self.normalize == "rescale":
                factors.normalize(self.norm, rescale=True)
            measures = stop.measures(step.count, factors, violation)
            if "loss" in measures:
                measures["loss"] *= unit
            step.report(factors.Ht.copy(), **measures)
            if self.verbose:
                print(f"Iteration {step.count}: " + ", ".join(f"{n} {v:.6g}" for n, v in measures.items()))
            if self.tol > 0 and step.converged(stop.met):
                break

    def _keep(self, factors: Any, power: int) -> int:
        """Set the fitted attributes, in the unit of X; the power of two that W is to be multiplied by."""
        largest_H = float(factors.Ht.max(initial=0.0))
        # a part of the unit goes to W where H alone would be beyond floating-point numbers
        highest = np.finfo(factors.Ht.dtype).maxexp - 1
        moved = max(0, power + int(np.frexp(largest_H)[1]) - highest)
        loss = factors.exact_loss()
        self.components_ = np.ascontiguousarray(times_power(factors.Ht.T, power - moved))
        self.n_components_ = len(self.components_)
        self.reconstruction_err_ = float(np.sqrt(2 * loss) * np.exp2(power * self._beta / 2))
        if loss > 0 and not 0 < self.reconstruction_err_ < np.inf:
            warnings.warn(
                f"{type(self).__name__}: reconstruction_err_ is {self.reconstruction_err_}: it is beyond floating "
                f"point. The factors are right; scale X by 2**{-power} to see it.",
                RuntimeWarning,
                stacklevel=5,
            )
        return moved

    def _check_choices(self, X: Any) -> None:
        if self.solver != "mu" and self._beta != 2:
            raise ValueError(
                f"Invalid beta_loss parameter: solver {self.solver!r} does not handle beta_loss = "
                f"{self.beta_loss!r}; solver='mu' does."
            )
        if self.solver == "mu" and self.init == "nndsvd":
            warnings.warn(
                "The multiplicative update ('mu') solver cannot update zeros present in the initialization, and so "
                "leads to poorer results when used jointly with init='nndsvd'. You may try init='nndsvda' or "
                "init='nndsvdar' instead.",
                UserWarning,
                stacklevel=6,
            )
        if not is_streamed(X):
            self._refuse_zeros(X)

    def transform(self, X: Any) -> np.ndarray:
        """The weights W of rows for the components that were learned.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Numbers of at least 0; NaN is a value that is not known. Each row is a problem of its own.

        Returns
        -------
        W : array of shape (n_samples, n_components)
        """
        check_is_fitted(self)
        X = self._check(X, reset=False)
        return self._weights(X, self.components_)[0]

    def _weights(self, X: Any, H: np.ndarray) -> tuple[np.ndarray, int]:
        """W for a given H, and the passes that it took."""
        self._refuse_zeros(X)
        powers = even_exponent(X), even_exponent(H)
        filled, missing = split_missing(times_power(X, -powers[0]))
        half = Half(filled, missing, self._threads, by_row=True)
        B = np.ascontiguousarray(times_power(H, -powers[1]).T.astype(filled.dtype, copy=False))
        penalty = self._penalties(X.shape, (powers[0] - powers[1], powers[1]))[0]
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            W, passes, settled = self._solve(half, B, penalty)
        if not settled and self.tol > 0:
            warnings.warn(
                f"{type(self).__name__}: Maximum number of iterations {self.max_iter} reached. Increase it to "
                "improve convergence.",
                ConvergenceWarning,
                stacklevel=4,
            )
        return finite_predictions(times_power(W, powers[0] - powers[1]), type(self).__name__), passes

    def _solve(self, half: Half, B: np.ndarray, penalty: Penalty) -> tuple[np.ndarray, int, bool]:
        if self.solver != "mu":
            return solve_rows(half, B, penalty, np.arange(B.shape[1]), self.max_iter, self.tol)
        return solve_rows_multiplicatively(half, B, self._beta, penalty, self.max_iter, self.tol)


def non_negative_factorization(
    X: Any,
    W: Any = None,
    H: Any = None,
    n_components: Any = "auto",
    *,
    init: Any = None,
    update_H: bool = True,
    solver: str = "cd",
    beta_loss: Any = "frobenius",
    tol: float = 1e-4,
    max_iter: int = 200,
    alpha_W: float = 0.0,
    alpha_H: Any = "same",
    l1_ratio: float = 0.0,
    random_state: Any = None,
    verbose: Any = 0,
    shuffle: bool = False,
) -> tuple[np.ndarray, np.ndarray, int]:
    """Non-negative matrix factorisation in one call; see `NMF`.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        Numbers of at least 0.
    W, H : arrays of shape (n_samples, n_components) and (n_components, n_features), optional
        The start, with `init="custom"`; without `update_H`, H is what W is found for.
    n_components, init, solver, beta_loss, tol, max_iter : as in `NMF`
    update_H : bool, default=True
        Whether H is learned, too.
    alpha_W, alpha_H, l1_ratio, random_state, verbose, shuffle : as in `NMF`

    Returns
    -------
    W, H : arrays of shape (n_samples, n_components) and (n_components, n_features)
    n_iter : int
        Passes made.

    Examples
    --------
    >>> W, H, n_iter = non_negative_factorization([[1.0, 2.0], [2.0, 4.0]], n_components=1)
    >>> (W @ H).round(6)
    array([[1., 2.],
           [2., 4.]])
    """
    options: dict[str, Any] = {"init": init, "solver": solver, "beta_loss": beta_loss, "tol": tol}
    options.update(max_iter=max_iter, alpha_W=alpha_W, alpha_H=alpha_H, l1_ratio=l1_ratio, verbose=verbose)
    model = NMF(n_components, random_state=random_state, shuffle=shuffle, **options)
    if update_H:
        W = model.fit_transform(X, W=W, H=H)
        return W, model.components_, model.n_iter_
    check_parameters(model)
    if W is not None:
        warnings.warn(
            "When update_H=False, the provided initial W is not used.", RuntimeWarning, stacklevel=2
        )
    X = model._check(X)
    model._check_choices(X)
    k = (
        model._rank(X, H)
        if isinstance(n_components, int)
        else np.shape(H)[0]
        if np.ndim(H) == 2
        else X.shape[1]
    )
    H = given_factor(H, (k, X.shape[1]), X.dtype, "NMF (input H)")
    W, passes = model._weights(X, H)
    return W, H, passes
