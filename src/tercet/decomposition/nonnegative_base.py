"""What the classes of non-negative matrix factorisation share: input, starts, penalties, answers."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from tercet.core.estimator import NO_TARGET, Estimator, check_is_fitted
from tercet.core.fitted_checks import Declarations, Floats, Whole
from tercet.core.memory import available
from tercet.core.parallel import all_cores
from tercet.core.scaling import largest, scale_exponent
from tercet.core.steps import stopped_early
from tercet.core.validation import check_array, target_for_callbacks
from tercet.decomposition._nmf.factorization import Penalty
from tercet.decomposition._nmf.half import Half, halves
from tercet.decomposition.base import checked_scores
from tercet.decomposition.matrix_losses import refuse_negative_entries
from tercet.decomposition.nndsvd import nonnegative_singular_vectors, random_factors, random_numbers

BETAS = {"frobenius": 2.0, "kullback-leibler": 1.0, "itakura-saito": 0.0}


class NonnegativeFactorization(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """Base of the estimators of X ≈ WH with W, H >= 0."""

    positive_only = True
    missing_input = True
    width_checked_attributes = ("components_",)
    fitted_shapes: ClassVar[Declarations] = {
        "components_": Floats("components features", finite=True, low=0.0),
        "n_components_": Whole("components", 1),
        "reconstruction_err_": "",
    }
    n_components: Any
    init: Any
    beta_loss: Any
    alpha_W: float
    alpha_H: Any
    l1_ratio: float
    random_state: Any
    n_jobs: int | None
    solver: Any
    components_: np.ndarray
    n_components_: int
    reconstruction_err_: float
    n_iter_: int
    _trained: tuple[np.ndarray, np.ndarray]

    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Learn the factors of the rows X.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features), or source
            Numbers of at least 0; NaN is a value that is not known (not in a source).
        y : ignored
            Nothing is learned from it; callbacks may score by it.
        **params : W and H
            The start, with `init="custom"`.

        Returns
        -------
        self
        """
        self._learn(X, y, **params)
        self.__dict__.pop("_trained", None)
        return self

    def fit_transform(self, X: Any, y: Any = None, W: Any = None, H: Any = None) -> np.ndarray:
        """Learn the factors of the rows X, and return W.

        This is the W that the fit ends with. `fit(X).transform(X)` solves for W again with the learned H, and
        agrees with it only as far as the fit has converged, and where W is unique.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Numbers of at least 0; NaN is a value that is not known.
        y : ignored
            Nothing is learned from it; callbacks may score by it.
        W, H : arrays of shape (n_samples, n_components) and (n_components, n_features), optional
            The start, with `init="custom"`.

        Returns
        -------
        W : array of shape (n_samples, n_components)
        """
        self._learn(X, y, W=W, H=H)
        trained = self.__dict__.pop("_trained", None)  # None where X is a source
        return self.transform(X) if trained is None or stopped_early(self) else trained[0]

    def inverse_transform(self, X: Any) -> Any:
        """WH of transformed rows.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_components)
            The rows W.

        Returns
        -------
        X_original : array of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        X = checked_scores(X, len(self.components_), type(self).__name__, accept_sparse="csr")
        return X @ self.components_

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        X = super()._check(X, reset=reset)
        refuse_unknown(X, type(self).__name__, columns=reset)
        return X if y is NO_TARGET else (X, target_for_callbacks(y, X.shape[0]))

    def _encode(self, y: Any) -> None:
        return None

    @property
    def _beta(self) -> float:
        return BETAS[self.beta_loss] if isinstance(self.beta_loss, str) else float(self.beta_loss)

    @property
    def _threads(self) -> int:
        return all_cores(self.n_jobs)

    @property
    def _n_features_out(self) -> int:
        return self.components_.shape[0]

    @property
    def _n_components(self) -> int:
        return self.n_components_

    def _refuse_zeros(self, X: Any) -> None:
        if self._beta > 0:
            return
        values = X.data if sparse.issparse(X) else X
        if (sparse.issparse(X) and X.nnz < X.shape[0] * X.shape[1]) or (values == 0).any():
            raise ValueError(
                "When beta_loss <= 0 and X contains zeros, the solver may diverge. Please add small values to X, "
                f"or use a positive beta_loss; got beta_loss={self.beta_loss!r}."
            )

    def _penalties(self, shape: tuple[int, int], powers: tuple[int, int] = (0, 0)) -> tuple[Penalty, Penalty]:
        """The penalties of W and H, for factors that were divided by 2 to these powers."""
        n, d = shape
        alphas = self.alpha_W, self.alpha_W if isinstance(self.alpha_H, str) else self.alpha_H
        with np.errstate(over="ignore", under="ignore"):
            shrink = float(np.exp2(-sum(powers) * self._beta))
            both = [
                Penalty(size * alpha * self.l1_ratio, size * alpha * (1 - self.l1_ratio)).scaled(
                    shrink, float(np.exp2(power))
                )
                for alpha, size, power in zip(alphas, (d, n), powers)
            ]
        return both[0], both[1]

    def _rank(self, X: Any, H: Any) -> int:
        if isinstance(self.n_components, str) and H is not None and np.ndim(H) == 2:
            return np.shape(H)[0]
        if isinstance(self.n_components, int) and self.n_components * 8 * sum(X.shape) > available():
            raise ValueError(
                f"{type(self).__name__}: n_components={self.n_components} is too large: W and H of {sum(X.shape)} "
                "rows and columns do not fit in memory."
            )
        return (
            X.shape[1]
            if self.n_components is None or isinstance(self.n_components, str)
            else self.n_components
        )

    def _start(self, X: Any, W: Any, H: Any, power: int) -> tuple[np.ndarray, np.ndarray]:
        """W and H' to start from, for X that was divided by 2^power."""
        name, (n, d) = type(self).__name__, X.shape
        if self.init == "custom":
            k = self._rank(X, H)
            H = given_factor(H, (k, d), X.dtype, f"{name} (input H)")
            W = given_factor(W, (n, k), X.dtype, f"{name} (input W)")
            return W, np.ldexp(H.T, -power)
        if W is not None or H is not None:
            warnings.warn(
                "When init!='custom', provided W or H are ignored. Set  init='custom' to use them as "
                "initialization.",
                RuntimeWarning,
                stacklevel=6,
            )
        k = self._rank(X, None)
        init = self._chosen_init((n, d), k)
        pair = halves(X, self._threads)
        rng = random_numbers(self.random_state)
        if init == "random":
            return random_factors(known_mean(pair[0]), (n, d), k, X.dtype, rng)
        return nonnegative_singular_vectors(pair, k, init, rng)

    def _chosen_init(self, shape: tuple[int, int], k: int) -> str:
        """The start that `init` means, or an error where there are too many components for it."""
        most = min(shape)
        init = self.init or ("nndsvda" if k <= most else "random")
        if init != "random" and k > most:
            raise ValueError(
                f"{type(self).__name__}: init = '{init}' can only be used when n_components <= min(n_samples, "
                f"n_features) = {most}; got n_components={k}."
            )
        return init

    def _streaming_refusal(self) -> str:
        if self.init == "custom":
            return "init='custom' takes W of every row. Use init='random' or 'nndsvda'."
        if self._beta <= 0:
            return (
                f"beta_loss={self.beta_loss!r} is for tables without zeros, which no source promises. Use a "
                "positive beta_loss."
            )
        return ""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def even_exponent(X: Any) -> int:
    """`scale_exponent` of a table, rounded up to an even number: its half is a whole number, too."""
    values = X.data if sparse.issparse(X) else X
    return even_power(float(np.fmax.reduce(values, axis=None, initial=0.0)))


def even_power(most: float) -> int:
    """`scale_exponent` of the largest number, rounded up to an even one."""
    return -(-scale_exponent(most) // 2) * 2


def known_mean(half: Half) -> float:
    """The mean of the known cells."""
    gone = 0 if half.missing is None else half.missing.nnz
    return float(half.X.sum(dtype=np.float64)) / max(half.X.shape[0] * half.X.shape[1] - gone, 1)


def refuse_unknown(X: Any, name: str, *, columns: bool) -> None:
    """Refuse rows, and columns, of which no value is known."""
    values = X.data if sparse.issparse(X) else X
    gone = np.isnan(values)
    if not gone.any():
        return
    if sparse.issparse(X):
        gone = sparse.csr_array((gone.astype(np.int64), X.indices, X.indptr), shape=X.shape)
    for axis, what in ((1, "row"), (0, "column")) if columns else ((1, "row"),):
        empty = np.asarray(gone.sum(axis=axis)).ravel() == X.shape[axis]
        if empty.any():
            raise ValueError(
                f"{name}: {what} {int(empty.argmax())} of X has only missing values (NaN); each {what} needs at "
                f"least one that is known. Leave the {what} out."
            )


def given_factor(A: Any, shape: tuple[int, int], dtype: Any, whom: str) -> np.ndarray:
    """A factor that the caller gave, or an error that says what is wrong with it."""
    if A is None:
        raise ValueError(f"{whom}: with init='custom' an array of shape {shape} must be given; got None.")
    found = check_array(A, dtype=[np.float64, np.float32], input_name=whom)
    for axis, what in enumerate(("first", "second")):
        if found.shape[axis] != shape[axis]:
            raise ValueError(
                f"Array with wrong {what} dimension passed to {whom}. Expected {shape[axis]}, but got "
                f"{found.shape[axis]}."
            )
    refuse_negative_entries(found, whom)
    if largest(found) == 0:
        raise ValueError(f"Array passed to {whom} is full of zeros.")
    if np.asarray(A).dtype.kind == "f" and np.asarray(A).dtype != dtype:
        raise TypeError(
            f"H and W should have the same dtype as X, {np.dtype(dtype)}; got {np.asarray(A).dtype} for {whom}."
        )
    return found.astype(dtype, copy=False)
