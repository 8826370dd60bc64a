"""Compressed sensing (压缩感知): few measurements of signals that are sparse in a basis, and their recovery."""

from __future__ import annotations

import numbers
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from tercet.core.catalog import method
from tercet.core.estimator import NO_TARGET, Estimator, check_is_fitted
from tercet.core.fitted_checks import Declarations, Floats
from tercet.core.parallel import each
from tercet.core.parameters import ArrayLike, Count, Jobs, NonNegative, OpenFraction, Seed
from tercet.core.row_products import row_products
from tercet.core.scaling import LARGE
from tercet.core.validation import check_array, finite_predictions, target_for_callbacks
from tercet.decomposition.compressed_sensing.measurement_matrix import measurement_matrix
from tercet.decomposition.compressed_sensing.sparse_recovery import (
    basis_pursuit,
    basis_pursuit_denoising,
    iterative_hard_thresholding,
    l0_minimization,
)
from tercet.decomposition.dictionary.bases import basis_matrix
from tercet.optimize import matching_pursuit


@method(
    zh="压缩感知",
    task="compressed sensing",
    model="y = Φx, x = Ψs: y = As with A = ΦΨ, fewer measurements than numbers in x, few s that are not zero",
    strategy="the sparsest s with As = y, or its relaxations by the L1 norm",
    algorithms={
        "omp": "orthogonal matching pursuit",
        "basis-pursuit": "min |s|_1 with As = y, a linear program",
        "bpdn": "basis pursuit denoising: the lasso by proximal gradient descent",
        "iht": "normalised iterative hard thresholding",
        "l0": "exhaustive search over supports",
    },
    texts=["watermelon notes ch. 10, eq. 10.18-10.21"],
)
class CompressedSensing(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """Compressed sensing: `transform` measures rows, `inverse_transform` recovers them from their measurements.

    Parameters
    ----------
    n_measurements : int or float, optional
        How many numbers are measured of a row, or which part of the features; by default half of them.
    measurement : {"gaussian", "bernoulli", "dct", "fourier"} or array of shape (n_measurements, n_features), \
default="gaussian"
        The measurement matrix Φ; see `measurement_matrix`.
    basis : {"dct", "identity"} or array of shape (n_atoms, n_features), default="dct"
        The basis Ψ in which rows are sparse: atoms in rows, so that x = s·atoms.
    algorithm : {"omp", "basis-pursuit", "bpdn", "iht", "l0"}, default="omp"
        How s is recovered.
    n_nonzero_coefs : int, optional
        Non-zeros of s for "omp" and "iht", and the most for "l0"; by default a quarter of the measurements, and at
        least one.
    alpha : float, optional
        Strength of the penalty for "bpdn".
    random_state : int, optional
        Decides Φ.
    n_jobs : int, optional
        Threads over rows; the result does not depend on it.

    Attributes
    ----------
    measurement_matrix_ : array of shape (n_measurements, n_features)
        Φ.
    sensing_matrix_ : array of shape (n_measurements, n_atoms)
        A = ΦΨ.

    Examples
    --------
    >>> t = np.arange(32)
    >>> x = 3 * np.cos(np.pi * 3 * (t + 0.5) / 32) - 2 * np.cos(np.pi * 11 * (t + 0.5) / 32)
    >>> model = CompressedSensing(12, n_nonzero_coefs=2, random_state=0).fit([x])
    >>> y = model.transform([x])
    >>> y.shape, bool(np.allclose(model.inverse_transform(y), x))
    ((1, 12), True)
    """

    sparse_input: ClassVar[bool] = False
    largest_value: ClassVar[float] = LARGE
    fitted_shapes: ClassVar[Declarations] = {
        "measurement_matrix_": Floats("measurements features", finite=True),
        "sensing_matrix_": Floats("measurements atoms", finite=True),
        "_atoms": Floats("atoms features", finite=True),
    }
    width_checked_attributes = ("measurement_matrix_",)

    def __init__(
        self,
        n_measurements: Count | OpenFraction | None = None,
        *,
        measurement: ArrayLike = "gaussian",
        basis: ArrayLike = "dct",
        algorithm: Literal["omp", "basis-pursuit", "bpdn", "iht", "l0"] = "omp",
        n_nonzero_coefs: Count | None = None,
        alpha: NonNegative | None = None,
        random_state: Seed = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.n_measurements = n_measurements
        self.measurement = measurement
        self.basis = basis
        self.algorithm = algorithm
        self.n_nonzero_coefs = n_nonzero_coefs
        self.alpha = alpha
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw the measurement matrix for rows like these.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Rows, of which only the length counts.
        y : ignored

        Returns
        -------
        self
        """
        return self._learn(X, y)

    def _fit(self, X: np.ndarray, y: Any, sample_weight: Any) -> None:
        name, d = type(self).__name__, X.shape[1]
        atoms = basis_matrix(self.basis, d, f"{name}: basis")
        if isinstance(self.measurement, str):
            Phi = measurement_matrix(self._count(d), d, self.measurement, random_state=self.random_state)  # type: ignore[arg-type]
        else:
            Phi = check_array(self.measurement, dtype=np.float64, input_name=f"{name}: measurement")
        for what, table in (("measurement", Phi), ("basis", atoms)):
            if table.shape[1] != d:
                raise ValueError(f"{name}: {what} has {table.shape[1]} columns; X has {d} features.")
        if self.n_nonzero_coefs is not None and self.n_nonzero_coefs > len(atoms):
            raise ValueError(
                f"{name}: n_nonzero_coefs={self.n_nonzero_coefs}: the basis has only {len(atoms)} atoms."
            )
        self.measurement_matrix_, self._atoms = Phi, atoms.astype(np.float64)
        self.sensing_matrix_ = Phi @ atoms.T

    def _count(self, d: int) -> int:
        many = 0.5 if self.n_measurements is None else self.n_measurements
        return int(many) if isinstance(many, numbers.Integral) else max(1, round(many * d))

    def transform(self, X: Any) -> np.ndarray:
        """Measurements Φx of rows.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        Y : array of shape (n_samples, n_measurements)
        """
        check_is_fitted(self)
        X = self._check(X, reset=False)
        with np.errstate(over="ignore", invalid="ignore"):
            Y = row_products(X, self.measurement_matrix_.astype(X.dtype, copy=False))
        return finite_predictions(Y, type(self).__name__)

    def recover(self, Y: Any) -> np.ndarray:
        """Sparse coefficients s of rows from their measurements.

        Parameters
        ----------
        Y : array of shape (n_samples, n_measurements)
            The measurements.

        Returns
        -------
        S : array of shape (n_samples, n_atoms)
        """
        check_is_fitted(self)
        A = self.sensing_matrix_
        Y = check_array(Y, dtype=(np.float64, np.float32), input_name="Y")
        if Y.shape[1] != len(A):
            raise ValueError(f"{type(self).__name__}: Y has {Y.shape[1]} columns; expected are {len(A)}.")
        many = min(self.n_nonzero_coefs or max(1, len(A) // 4), A.shape[1])
        if self.algorithm == "omp":
            gram, cov = A.T @ A, row_products(Y, A.T)
            return matching_pursuit(gram, cov, most=many, n_jobs=self.n_jobs).codes
        return np.array(
            each(self._recover_row, list(Y.astype(np.float64)), min(many, A.shape[1]), n_jobs=self.n_jobs)
        )

    def _recover_row(self, y: np.ndarray, many: int) -> np.ndarray:
        A = self.sensing_matrix_
        if self.algorithm == "basis-pursuit":
            return basis_pursuit(A, y)
        if self.algorithm == "bpdn":
            return basis_pursuit_denoising(A, y, alpha=self.alpha)
        if self.algorithm == "iht":
            return iterative_hard_thresholding(A, y, many)
        return l0_minimization(A, y, max_nonzero=many)

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Rows recovered from their measurements: x = Ψs with the sparse s of `recover`.

        Parameters
        ----------
        X : array of shape (n_samples, n_measurements)
            The measurements.

        Returns
        -------
        rows : array of shape (n_samples, n_features)
        """
        return row_products(self.recover(X), np.ascontiguousarray(self._atoms.T))

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        X = super()._check(X, reset=reset)
        return X if y is NO_TARGET else (X, target_for_callbacks(y, X.shape[0]))

    def _encode(self, y: Any) -> None:
        return None

    @property
    def _n_features_out(self) -> int:
        return len(self.measurement_matrix_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
