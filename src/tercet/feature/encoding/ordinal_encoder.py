"""Categories as whole numbers (序号编码)."""

from __future__ import annotations

import numbers
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import OneToOneFeatureMixin

from tercet.core.catalog import method
from tercet.core.fitted_checks import Each, Indices
from tercet.core.validation import check_array, check_is_fitted
from tercet.feature.encoding.base import CategoryEncoder
from tercet.feature.encoding.category_columns import is_nan
from tercet.feature.encoding.infrequent_categories import (
    MaxCategories,
    MinFrequency,
    grouped_codes,
    infrequent_codes,
)

INFREQUENT = "infrequent_sklearn"  # what scikit-learn calls the group when codes are decoded


@method(
    zh="序号编码",
    task="feature extraction",
    model="x -> code of the category, 0 to K-1",
    strategy="the order of the categories: sorted, or as given",
    texts=["Machine Learning in Depth ch. 3"],
    peers=["sklearn.preprocessing.OrdinalEncoder"],
)
class OrdinalEncoder(OneToOneFeatureMixin, CategoryEncoder):
    """Encode categories as integers: the place of each among the sorted categories of its column.

    Parameters
    ----------
    categories : "auto" or list of arrays, default="auto"
        The categories of each column in their order; by default those of the data, sorted.
    dtype : dtype, default=numpy.float64
        Type of the codes.
    handle_unknown : {"error", "use_encoded_value"}, default="error"
        What happens to a category that `fit` has not seen: an error, or `unknown_value`.
    unknown_value : int or NaN, optional
        The code of unknown categories; not one of the known.
    encoded_missing_value : int or NaN, default=NaN
        The code of missing values.
    min_frequency : int or float, optional
        Categories with fewer rows (or a smaller part of the rows) are grouped into one.
    max_categories : int, optional
        At most so many codes for each column; the rarest categories are grouped.

    Attributes
    ----------
    categories_ : list of arrays
        The categories of each column; NaN last where values are missing.
    infrequent_categories_ : list of arrays
        The categories of each column that are grouped, or None; with `min_frequency` or `max_categories`.
    n_features_in_ : int
        Number of columns.

    Examples
    --------
    >>> model = OrdinalEncoder()
    >>> model.fit_transform([["red", "S"], ["blue", "L"], ["red", None]])
    array([[1., 1.],
           [0., 0.],
           [1., 2.]])
    >>> model.inverse_transform([[0, 1]])
    array([['blue', 'S']], dtype=object)
    """

    def __init__(
        self,
        *,
        categories: Literal["auto"] | list[Any] = "auto",
        dtype: Any = np.float64,
        handle_unknown: Literal["error", "use_encoded_value"] = "error",
        unknown_value: int | float | None = None,
        encoded_missing_value: int | float = np.nan,
        min_frequency: MinFrequency = None,
        max_categories: MaxCategories = None,
    ) -> None:
        self.categories = categories
        self.dtype = dtype
        self.handle_unknown = handle_unknown
        self.unknown_value = unknown_value
        self.encoded_missing_value = encoded_missing_value
        self.min_frequency = min_frequency
        self.max_categories = max_categories

    fitted_shapes = {"_infrequent": Each(Indices("few@ | None", below="values@"), "features")}
    _infrequent: list[np.ndarray | None]

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the categories of the columns.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            Columns of categories.
        y : ignored
            There for pipelines; callbacks may score by it.

        Returns
        -------
        self
        """
        return self._learn(X, y)

    def _fit(self, X: np.ndarray, y: Any, sample_weight: np.ndarray | None) -> None:
        self._check_unknown_value()
        self.__dict__.pop("_infrequent", None)  # of an earlier fit
        if self.min_frequency is not None or self.max_categories is not None:
            self._infrequent = [
                infrequent_codes(
                    np.bincount(codes[codes >= 0], minlength=len(known))[: self._width(known)],
                    len(codes),
                    self.min_frequency,
                    self.max_categories,
                )
                for codes, known in zip(X.T, self.categories_)
            ]
        self._check_codes()

    @property
    def infrequent_categories_(self) -> list[np.ndarray | None]:
        """The categories of each column that are grouped."""
        pairs = zip(self.categories_, self._infrequent)
        return [None if few is None else known[few] for known, few in pairs]

    def _encoded(self, codes: np.ndarray) -> np.ndarray:
        found = np.empty(codes.shape, dtype=self.dtype)
        for j, known in enumerate(self.categories_):
            # The code -1 of an unknown category takes the last entry of the table.
            table = np.zeros(len(known) + 1, dtype=self.dtype)
            width = self._width(known)
            table[:width] = grouped_codes(width, self._few(j))
            if width < len(known):
                table[width] = self.encoded_missing_value
            if self.handle_unknown == "use_encoded_value":
                table[-1] = self.unknown_value
            found[:, j] = table[codes[:, j]]
        return found

    def inverse_transform(self, X: Any) -> np.ndarray:
        """The categories of codes; None for unknown ones.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Codes.

        Returns
        -------
        categories : array of shape (n_samples, n_features)
        """
        check_is_fitted(self, "categories_")
        X = check_array(X, ensure_all_finite="allow-nan")
        if X.shape[1] != len(self.categories_):
            raise ValueError(
                f"Shape of the passed X data is not correct. Expected {len(self.categories_)} columns, got "
                f"{X.shape[1]}."
            )
        unknown = self.handle_unknown == "use_encoded_value"
        grouped = any(self._few(j) is not None for j in range(X.shape[1]))
        dtype = np.result_type(*[known.dtype for known in self.categories_])
        found = np.empty(X.shape, dtype=object if unknown or grouped else dtype)
        for j, known in enumerate(self.categories_):
            found[:, j] = self._decoded(X[:, j], j, known, unknown)
        return found

    def _decoded(self, codes: np.ndarray, j: int, known: np.ndarray, unknown: bool) -> np.ndarray:
        """The categories of the codes of a column."""
        width, few = self._width(known), self._few(j)
        labels = known[:width] if few is None else np.delete(known[:width], few)
        missing = (
            _equal(codes, self.encoded_missing_value) if width < len(known) else np.zeros(len(codes), bool)
        )
        strange = _equal(codes, self.unknown_value) & ~missing if unknown else np.zeros(len(codes), bool)
        rare = codes == labels.size if few is not None else np.zeros(len(codes), bool)
        plain = ~(missing | strange | rare)
        wrong = plain & ~((codes >= 0) & (codes < labels.size) & (codes == np.floor(codes)))
        if wrong.any():
            raise ValueError(
                f"OrdinalEncoder: X has the code {codes[wrong][0]} in column {j}; its codes are whole numbers "
                f"from 0 to {labels.size - 1 + (few is not None)}."
            )
        found = np.empty(len(codes), dtype=object if (strange | rare).any() else known.dtype)
        found[plain] = labels[codes[plain].astype(np.int64)]
        for rows, value in ((missing, known[-1]), (strange, None), (rare, INFREQUENT)):
            if rows.any():
                found[rows] = value
        return found

    def _width(self, known: np.ndarray) -> int:
        """The number of categories without NaN, which has a code of its own."""
        return len(known) - int(is_nan(known[-1]))

    def _few(self, j: int) -> np.ndarray | None:
        return self._infrequent[j] if "_infrequent" in vars(self) else None

    def _check_unknown_value(self) -> None:
        """Refuse an unknown value that is missing, or given to no purpose."""
        value = self.unknown_value
        if self.handle_unknown == "use_encoded_value":
            if is_nan(value):
                if np.dtype(self.dtype).kind != "f":
                    raise ValueError(
                        "When unknown_value is np.nan, the dtype parameter should be a float dtype. Got "
                        f"{self.dtype}."
                    )
            elif not isinstance(value, numbers.Integral):
                raise TypeError(
                    "unknown_value should be an integer or np.nan when handle_unknown is 'use_encoded_value', got "
                    f"{value}."
                )
        elif self.handle_unknown == "error" and value is not None:
            raise TypeError(
                f"unknown_value should only be set when handle_unknown is 'use_encoded_value', got {value}."
            )

    def _check_codes(self) -> None:
        """Refuse codes for unknown or missing values that known categories have."""
        missing = [j for j, known in enumerate(self.categories_) if self._width(known) < len(known)]
        sizes = [self._n_codes(j) for j in range(len(self.categories_))]
        if self.handle_unknown == "use_encoded_value" and any(_in_use(self.unknown_value, k) for k in sizes):
            raise ValueError(
                f"The used value for unknown_value {self.unknown_value} is one of the values already used for "
                "encoding the seen categories."
            )
        if missing and is_nan(self.encoded_missing_value) and np.dtype(self.dtype).kind != "f":
            raise ValueError(
                f"There are missing values in features {missing}. For OrdinalEncoder to encode missing values with "
                f"dtype: {self.dtype}, set encoded_missing_value to a non-nan value, or set dtype to a float"
            )
        taken = [j for j in missing if _in_use(self.encoded_missing_value, sizes[j])]
        if taken:
            names = getattr(self, "feature_names_in_", None)
            raise ValueError(
                f"encoded_missing_value ({self.encoded_missing_value}) is already used to encode a known category "
                f"in features: {taken if names is None else names[taken]}"
            )

    def _n_codes(self, j: int) -> int:
        """The number of codes of known categories; as in scikit-learn that of a group is not counted."""
        few = self._few(j)
        return self._width(self.categories_[j]) - (0 if few is None else len(few))


def _in_use(value: Any, n_codes: int) -> bool:
    return bool(0 <= value < n_codes)


def _equal(codes: np.ndarray, value: Any) -> np.ndarray:
    return np.isnan(codes) if is_nan(value) else codes == value
