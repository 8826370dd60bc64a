"""What encoders of categorical columns share: categories, codes, and what happens to unknown ones."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.validation import _check_feature_names_in

from tercet.core.estimator import NO_TARGET, Estimator, check_is_fitted
from tercet.core.fitted_checks import Declarations, Each, Labels
from tercet.core.validation import check_target, target_for_callbacks
from tercet.feature.encoding.category_columns import (
    UNKNOWN,
    encode,
    factorize,
    given_categories,
    mark_missing,
    read_columns,
)


class CategoryEncoder(TransformerMixin, Estimator):
    """A transformer of categorical columns, which are codes into `categories_` for `_fit`.

    Values that are missing are a category of their own, the last one. At `transform` a category that was not seen
    has the code -1.
    """

    sparse_input = False
    missing_input = True
    encodes_rows = True
    supervised: ClassVar[bool] = False
    tells_missing: ClassVar[bool] = False  # a missing value that `fit` has not seen has the code MISSING
    categories: Any = "auto"
    categories_: list[np.ndarray]
    _training_codes: Any
    fitted_shapes: ClassVar[Declarations] = {"categories_": Each(Labels("values@"), "features")}

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the categories of the columns.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            Columns of categories: strings, numbers, or values of a frame's categorical dtype.
        y : ignored
            There for pipelines; callbacks may score by it.

        Returns
        -------
        self
        """
        return self._learn(X, y)

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Learn from rows, and encode them.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            Columns of categories.
        y : array of shape (n_samples,), optional
            The target, where the encoding needs one.
        **fit_params : dict
            Further arguments of `fit`.

        Returns
        -------
        encodings : array of shape (n_samples, n_outputs)
        """
        self._training_codes = None
        try:
            self.fit(X, y, **fit_params)
        finally:
            codes = self.__dict__.pop("_training_codes")
        return self._encoded(codes)

    def transform(self, X: Any) -> Any:
        """Encode rows.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            Columns of categories.

        Returns
        -------
        encodings : array of shape (n_samples, n_outputs)
        """
        check_is_fitted(self, "categories_")
        return self._encoded(self._check(X, reset=False))

    def _encoded(self, codes: np.ndarray) -> Any:
        """The encodings of codes."""
        raise NotImplementedError(f"{type(self).__name__} has no _encoded(codes).")

    def _refuses_unknown(self) -> bool:
        """Whether a category that is not known is an error."""
        return getattr(self, "handle_unknown", "ignore") == "error"

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        columns = read_columns(self, X, reset=reset)
        codes = self._learned_codes(columns) if reset else self._known_codes(columns, "transform")
        if reset and "_training_codes" in vars(self):  # `fit_transform` need not look them up again
            self._training_codes = codes
        if y is NO_TARGET:
            return codes
        if not self.supervised:
            return codes, target_for_callbacks(y, len(codes))
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y is None."
            )
        return codes, check_target(self, y, len(codes), multi_output=False, numeric=False)

    def _encode(self, y: Any) -> Any:
        return y if self.supervised else None

    def _learned_codes(self, columns: list[np.ndarray]) -> np.ndarray:
        """Set `categories_`; the codes of the rows that they were learned from."""
        codes = np.empty((len(columns[0]), len(columns)), dtype=np.int64, order="F")
        if isinstance(self.categories, str):
            self.categories_ = []
            for j, values in enumerate(columns):
                known, codes[:, j] = factorize(values)
                self.categories_.append(known)
            return codes
        if len(self.categories) != len(columns):
            raise ValueError(
                "Shape mismatch: if categories is an array, it has to be of shape (n_features,): X has "
                f"{len(columns)} columns, and categories gives those of {len(self.categories)}."
            )
        who = type(self).__name__
        self.categories_ = [
            given_categories(values, given, j, who)
            for j, (values, given) in enumerate(zip(columns, self.categories))
        ]
        return self._known_codes(columns, "fit")

    def _known_codes(self, columns: list[np.ndarray], stage: str) -> np.ndarray:
        """The codes of rows; -1, or an error, where a category is not known."""
        codes = np.empty((len(columns[0]), len(columns)), dtype=np.int64, order="F")
        for j, (values, known) in enumerate(zip(columns, self.categories_)):
            codes[:, j] = encode(values, known)
            if self.tells_missing:
                mark_missing(values, codes[:, j])
            if self._refuses_unknown() and (codes[:, j] == UNKNOWN).any():
                strange = list(dict.fromkeys(values[codes[:, j] == UNKNOWN].tolist()))[:10]
                raise ValueError(f"Found unknown categories {strange} in column {j} during {stage}")
        return codes

    def _names(self, input_features: Any) -> list[str]:
        """The names of the columns of X."""
        check_is_fitted(self, "n_features_in_")
        return list(_check_feature_names_in(self, input_features))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.target_tags.required = self.supervised
        return tags
