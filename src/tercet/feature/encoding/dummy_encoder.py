"""Dummy variables with a level of their own for missing values (哑变量)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.estimator import check_is_fitted
from tercet.core.fitted_checks import Each, Indices, Labels
from tercet.core.validation import check_array
from tercet.feature.discretization.bin_codes import codes_from_one_hot, dense_one_hot, sparse_one_hot
from tercet.feature.encoding.base import CategoryEncoder
from tercet.feature.encoding.category_columns import MISSING, UNKNOWN, is_missing
from tercet.feature.encoding.infrequent_categories import MaxCategories, MinFrequency, infrequent_codes

NO_COLUMN = -1
MISSING_LEVEL, RARE_LEVEL = "missing", "infrequent"


@method(
    zh="哑变量",
    task="feature extraction",
    model="a column of zeros and ones for each level but the reference level; what is missing is a level, too",
    strategy="a value that is not filled in may mean something, and is not imputed",
    texts=["Machine Learning in Depth ch. 3"],
    peers=["sklearn.preprocessing.OneHotEncoder", "pandas.get_dummies"],
)
class DummyEncoder(CategoryEncoder):
    """Dummy variables: a column for each level of a category, with missing values as a level of their own.

    Missing values (None, NaN, pandas.NA) have their column whether or not `fit` has seen some, so that rows which
    leave a value out later can be encoded. One level, the reference, has no column: a row of zeros.

    Parameters
    ----------
    categories : "auto" or list of arrays, default="auto"
        The categories of each column; by default those of the data, sorted.
    reference : {"first", "most_frequent"} or None, default="first"
        The level without a column; None gives every level one (one-hot).
    missing_level : {"always", "auto"}, default="always"
        Whether the level of missing values is there in each column, or only where `fit` has seen some.
    handle_unknown : {"missing", "ignore", "error"}, default="missing"
        A category that `fit` has not seen is as missing, has zeros only, or is an error.
    min_frequency : int or float, optional
        Categories with fewer rows (or a smaller part of the rows) are grouped into one level.
    max_categories : int, optional
        At most so many levels of each column besides that of missing values; the rarest categories are grouped.
    sparse_output : bool, default=True
        A CSR matrix, or an array.
    dtype : dtype, default=numpy.float64
        Type of the output.

    Attributes
    ----------
    categories_ : list of arrays
        The categories of each column.
    levels_ : list of arrays
        The levels of each column that have an output column, in the order of these.
    reference_levels_ : list
        The level of each column that has none; None where each has one.
    n_features_in_ : int
        Number of columns.

    Examples
    --------
    >>> model = DummyEncoder(sparse_output=False)
    >>> model.fit_transform([["f", "S"], ["m", "L"], [None, "M"]])
    array([[0., 0., 0., 1., 0.],
           [1., 0., 0., 0., 0.],
           [0., 1., 1., 0., 0.]])
    >>> model.get_feature_names_out().tolist()
    ['x0_m', 'x0_missing', 'x1_M', 'x1_S', 'x1_missing']
    """

    def __init__(
        self,
        *,
        categories: Literal["auto"] | list[Any] = "auto",
        reference: Literal["first", "most_frequent"] | None = "first",
        missing_level: Literal["always", "auto"] = "always",
        handle_unknown: Literal["missing", "ignore", "error"] = "missing",
        min_frequency: MinFrequency = None,
        max_categories: MaxCategories = None,
        sparse_output: bool = True,
        dtype: Any = np.float64,
    ) -> None:
        self.categories = categories
        self.reference = reference
        self.missing_level = missing_level
        self.handle_unknown = handle_unknown
        self.min_frequency = min_frequency
        self.max_categories = max_categories
        self.sparse_output = sparse_output
        self.dtype = dtype

    tells_missing = True
    fitted_shapes = {
        "levels_": Each(Labels("levels*@"), "features"),
        "_places": Each(Indices("values+2@", below="levels@", low=NO_COLUMN), "features"),
    }
    levels_: list[np.ndarray]
    reference_levels_: list[Any]
    _places: list[
        np.ndarray
    ]  # of each category, of missing and of unknown ones among the columns of a feature

    def _fit(self, X: np.ndarray, y: Any, sample_weight: np.ndarray | None) -> None:
        self.levels_, self.reference_levels_, self._places = [], [], []
        for codes, known in zip(X.T, self.categories_):
            levels, reference, places = self._column_levels(codes, known.tolist())
            self.levels_.append(levels)
            self.reference_levels_.append(reference)
            self._places.append(places)

    def _column_levels(self, codes: np.ndarray, known: list[Any]) -> tuple[np.ndarray, Any, np.ndarray]:
        """The levels with a column, the reference, and the place of each category among the levels."""
        counts = np.bincount(codes[codes >= 0], minlength=len(known))
        gone = np.array([is_missing(value) for value in known], dtype=bool)
        present = np.flatnonzero(~gone)
        few = infrequent_codes(counts[present], len(codes), self.min_frequency, self.max_categories)
        rare = np.empty(0, dtype=np.int64) if few is None else present[few]
        kept = np.setdiff1d(present, rare)
        levels = [known[code] for code in kept]
        sizes = counts[kept].tolist()
        places = np.full(len(known) + 2, NO_COLUMN)
        places[kept] = np.arange(kept.size)
        if rare.size:
            places[rare] = len(levels)
            levels.append(RARE_LEVEL)
            sizes.append(int(counts[rare].sum()))
        if self.missing_level == "always" or gone.any() or (codes == MISSING).any():
            places[np.append(np.flatnonzero(gone), MISSING)] = len(levels)
            levels.append(MISSING_LEVEL)
            sizes.append(int(counts[gone].sum()))
        if self.handle_unknown == "missing":
            places[UNKNOWN] = places[MISSING]
        reference = None
        if self.reference is not None and levels:
            at = 0 if self.reference == "first" else int(np.argmax(sizes))
            reference = levels.pop(at)
            places = np.where(places == at, NO_COLUMN, places - (places > at))
        found = np.empty(len(levels), dtype=object)
        found[:] = levels
        return found, reference, places

    def _check_fitted(self, sizes: dict[str, int]) -> None:
        found = self.reference_levels_
        if not isinstance(found, list) or len(found) != sizes["features"]:
            raise ValueError("DummyEncoder: reference_levels_ must be a list with an entry for each column.")

    def _encoded(self, codes: np.ndarray) -> Any:
        places = np.empty(codes.shape, dtype=np.int64)
        for j, table in enumerate(self._places):
            places[:, j] = table[codes[:, j]]  # the codes -2 and -1 take the last two entries
        one_hot = sparse_one_hot if self.sparse_output else dense_one_hot
        return one_hot(places, self._widths(), self.dtype)

    def _widths(self) -> np.ndarray:
        return np.array([len(levels) for levels in self.levels_])

    def inverse_transform(self, X: Any) -> np.ndarray:
        """The levels of rows; None where a value is missing, or unknown.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_outputs)
            Zeros and ones, as `transform` gives them.

        Returns
        -------
        levels : array of objects of shape (n_samples, n_features)
        """
        check_is_fitted(self, "levels_")
        X = check_array(X, accept_sparse="csr", input_name="X")
        codes = codes_from_one_hot(X, self._widths(), True)
        found = np.empty(codes.shape, dtype=object)
        for j, (levels, reference) in enumerate(zip(self.levels_, self.reference_levels_)):
            table = np.empty(len(levels) + 1, dtype=object)
            table[:-1], table[-1] = levels, reference
            table[[isinstance(level, str) and level == MISSING_LEVEL for level in table]] = None
            found[:, j] = table[np.where(np.isnan(codes[:, j]), len(levels), codes[:, j]).astype(np.int64)]
        return found

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The names of the output columns: that of the column and the level.

        Parameters
        ----------
        input_features : array of str, optional
            Names of the columns of X.

        Returns
        -------
        names : array of objects of shape (n_outputs,)
        """
        names = self._names(input_features)
        pairs = zip(names, self.levels_)
        return np.array([f"{name}_{level}" for name, levels in pairs for level in levels], dtype=object)
