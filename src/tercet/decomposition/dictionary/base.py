"""Base of the estimators of sparse coding: codes of rows, and rows of codes."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from tercet.core.estimator import NO_TARGET, Estimator, check_is_fitted
from tercet.core.scaling import LARGE
from tercet.core.validation import check_array, finite_predictions, target_for_callbacks
from tercet.decomposition._dictionary.encoding import encode
from tercet.decomposition.dictionary.sparse_encode import make_coder, refuse_other_width


class SparseCoding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """A transformer of rows into sparse codes over a dictionary."""

    sparse_input: ClassVar[bool] = False
    largest_value: ClassVar[float] = LARGE
    transform_algorithm: str
    transform_n_nonzero_coefs: int | None
    transform_alpha: float | None
    transform_max_iter: int
    split_sign: bool
    positive_code: bool
    n_jobs: int | None
    components_: np.ndarray

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from the rows X.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The signals.
        y : ignored
            Nothing is learned from it; callbacks may score by it.

        Returns
        -------
        self
        """
        return self._learn(X, y)

    def transform(self, X: Any) -> np.ndarray:
        """Sparse codes of rows over the dictionary, by `transform_algorithm`.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The signals.

        Returns
        -------
        code : array of shape (n_samples, n_components)
            With `split_sign` twice as many columns: the positive parts, then the negative ones.
        """
        check_is_fitted(self)
        return self._codes(self._check(X, reset=False), self.components_)

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
        check_is_fitted(self)
        return self._rows(X, self.components_)

    def _codes(self, X: np.ndarray, dictionary: np.ndarray) -> np.ndarray:
        refuse_other_width(dictionary.shape, X.shape)
        alpha = self.transform_alpha if self.transform_alpha is not None else getattr(self, "alpha", None)
        many = self.transform_n_nonzero_coefs
        if many is not None and many > len(dictionary):
            raise ValueError(
                f"{type(self).__name__}: transform_n_nonzero_coefs={many}: the dictionary has only "
                f"{len(dictionary)} atoms; allowed are 1 to {len(dictionary)}."
            )
        coder = make_coder(
            self.transform_algorithm,
            many,
            alpha,
            self.transform_max_iter,
            self.positive_code,
            self.n_jobs,
            (X.shape[1], len(dictionary)),
        )
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            code = encode(X, dictionary, coder).astype(X.dtype, copy=False)
        return self._split(finite_predictions(code, type(self).__name__))

    def _split(self, code: np.ndarray) -> np.ndarray:
        """Positive and negative parts as columns of their own, with `split_sign`."""
        return np.hstack([np.maximum(code, 0.0), np.maximum(-code, 0.0)]) if self.split_sign else code

    def _rows(self, code: Any, dictionary: np.ndarray) -> np.ndarray:
        code = check_array(code, dtype=(np.float64, np.float32), input_name="X")
        wanted = len(dictionary) * (2 if self.split_sign else 1)
        if code.shape[1] != wanted:
            raise ValueError(
                "The number of components in the code is different from the number of components in the "
                f"dictionary. Expected {wanted}, got {code.shape[1]}."
            )
        if self.split_sign:
            code = code[:, : len(dictionary)] - code[:, len(dictionary) :]
        return code @ dictionary

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        X = super()._check(X, reset=reset)
        return X if y is NO_TARGET else (X, target_for_callbacks(y, X.shape[0]))

    def _encode(self, y: Any) -> None:
        return None

    @property
    def _n_features_out(self) -> int:
        return len(self.components_) * (2 if self.split_sign else 1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
