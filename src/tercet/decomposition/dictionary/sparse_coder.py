"""Sparse coding over a fixed dictionary (稀疏编码器)."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.fitted_checks import Declarations, Whole
from tercet.core.parameters import ArrayLike, Count, CountOrZero, Jobs, NonNegative, check_parameters
from tercet.decomposition.dictionary.base import SparseCoding
from tercet.decomposition.dictionary.bases import basis_matrix
from tercet.decomposition.dictionary.sparse_encode import ALGORITHMS, refuse_other_width


@method(
    zh="稀疏编码器",
    task="sparse coding",
    model="x ≈ Σ_k a_k b_k with few a_k that are not zero, b_k the atoms of a given dictionary",
    strategy="|x - Ba|²/2 + alpha |a|_1, or |x - Ba|² with at most so many non-zeros",
    algorithms=ALGORITHMS,
    texts=["watermelon notes ch. 10, eq. 10.15"],
    peers=["sklearn.decomposition.SparseCoder"],
)
class SparseCoder(SparseCoding):
    """Sparse coding of rows over a fixed dictionary; see `sparse_encode`.

    Parameters
    ----------
    dictionary : array of shape (n_components, n_features), "dct" or "identity", default="dct"
        The atoms, of length 1; or a basis by name, of as many atoms as the rows have features.
    transform_algorithm : {"omp", "lasso_lars", "lasso_cd", "lars", "threshold"}, default="omp"
        How rows are encoded.
    transform_n_nonzero_coefs : int, optional
        For "omp" and "lars": the most atoms of a row; by default a tenth of the features.
    transform_alpha : float, optional
        For the lasso the strength of the penalty, for "threshold" the threshold; by default 1.
    split_sign : bool, default=False
        Whether the positive and the negative parts of a code are columns of their own.
    n_jobs : int, optional
        Threads; the result does not depend on it.
    positive_code : bool, default=False
        Whether codes must not be negative.
    transform_max_iter : int, default=1000
        The most steps of the lasso for a row.

    Attributes
    ----------
    n_components_ : int
        Number of atoms.

    Examples
    --------
    >>> coder = SparseCoder([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]], transform_n_nonzero_coefs=1)
    >>> coder.transform([[1.2, 1.6], [0.0, 3.0]])
    array([[0., 0., 2.],
           [0., 3., 0.]])
    """

    fitted_shapes: ClassVar[Declarations] = {"n_components_": Whole("components", 1)}

    def __init__(
        self,
        dictionary: ArrayLike = "dct",
        *,
        transform_algorithm: Literal["omp", "lasso_lars", "lasso_cd", "lars", "threshold"] = "omp",
        transform_n_nonzero_coefs: Count | None = None,
        transform_alpha: NonNegative | None = None,
        split_sign: bool = False,
        n_jobs: Jobs = None,
        positive_code: bool = False,
        transform_max_iter: CountOrZero = 1000,
    ) -> None:
        self.dictionary = dictionary
        self.transform_algorithm = transform_algorithm
        self.transform_n_nonzero_coefs = transform_n_nonzero_coefs
        self.transform_alpha = transform_alpha
        self.split_sign = split_sign
        self.n_jobs = n_jobs
        self.positive_code = positive_code
        self.transform_max_iter = transform_max_iter

    def _fit(self, X: np.ndarray, y: Any, sample_weight: Any) -> None:
        atoms = basis_matrix(self.dictionary, X.shape[1], "dictionary")
        refuse_other_width(atoms.shape, X.shape)
        self.n_components_ = len(atoms)

    def transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Sparse codes of rows over the dictionary; nothing has to be fitted.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The signals.
        y : ignored

        Returns
        -------
        code : array of shape (n_samples, n_components)
            With `split_sign` twice as many columns: the positive parts, then the negative ones.
        """
        check_parameters(self)
        X = self._check(X, reset=False)
        return self._codes(X, basis_matrix(self.dictionary, X.shape[1], "dictionary"))

    def inverse_transform(self, X: Any) -> np.ndarray:
        """The rows whose codes these are: code times dictionary.

        Parameters
        ----------
        X : array of shape (n_samples, n_components)
            The codes.

        Returns
        -------
        rows : array of shape (n_samples, n_features)
        """
        half = 2 if self.split_sign else 1
        return self._rows(X, basis_matrix(self.dictionary, np.shape(X)[-1] // half, "dictionary"))

    @property
    def _n_features_out(self) -> int:
        return self.n_components_ * (2 if self.split_sign else 1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags
