"""Values as the buckets of their hashes (Hash 分桶)."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.validation import _check_feature_names_in

from tercet.core.catalog import method
from tercet.core.estimator import NO_TARGET, Estimator, check_is_fitted
from tercet.core.fitted_checks import Indices
from tercet.core.input_errors import shown
from tercet.core.parameters import Count, CountOrZero
from tercet.core.validation import target_for_callbacks
from tercet.feature.discretization.bin_codes import dense_one_hot, sparse_one_hot
from tercet.feature.encoding.category_columns import as_doubles, distinct_values, is_missing, read_columns
from tercet.feature.hashing.murmurhash3 import bucket_of, hash_numbers, hash_texts


@method(
    zh="Hash 分桶",
    task="feature extraction",
    model="x -> |hash(x)| mod n",
    strategy="MurmurHash3 with a fixed seed: the same bucket in every run, for values never seen, too",
    texts=["Machine Learning in Depth ch. 3"],
    peers=["sklearn.feature_extraction.FeatureHasher", "category_encoders.HashingEncoder"],
)
class HashBucketEncoder(TransformerMixin, Estimator):
    """Encode strings or numbers by the bucket that their hash falls into.

    Nothing is learned of the values: memory does not grow with the number of categories, and categories that come
    later have their buckets already. Different values may share a bucket. Whole numbers have one hash whether they
    are given as integers or as floats.

    Parameters
    ----------
    n_buckets : int or list of int, default=1024
        Number of buckets of all columns, or of each.
    encode : {"ordinal", "onehot", "onehot-dense"}, default="ordinal"
        The number of the bucket, or a column of zeros and ones for each (as a sparse matrix or an array).
    seed : int, default=0
        Seed of the hash function. With 0 the bucket of a string is the column that `FeatureHasher` gives it.
    missing : {"bucket", "nan"}, default="bucket"
        Missing values have a bucket of their own after all others, or stay missing (no bucket in one-hot columns).

    Attributes
    ----------
    n_buckets_ : array of shape (n_features,)
        The number of buckets of each column, without that of missing values.
    n_features_in_ : int
        Number of columns.

    Examples
    --------
    >>> HashBucketEncoder(8).fit_transform([["rose", 1], ["lily", 2], ["rose", None]])
    array([[4., 4.],
           [7., 4.],
           [4., 8.]])
    """

    def __init__(
        self,
        n_buckets: Count | list[Any] | tuple[Any, ...] | np.ndarray = 1024,
        *,
        encode: Literal["ordinal", "onehot", "onehot-dense"] = "ordinal",
        seed: CountOrZero = 0,
        missing: Literal["bucket", "nan"] = "bucket",
    ) -> None:
        self.n_buckets = n_buckets
        self.encode = encode
        self.seed = seed
        self.missing = missing

    sparse_input = False
    missing_input = True
    encodes_rows = True
    fitted_shapes = {"n_buckets_": Indices("features", below=str(2**31), low=1)}
    n_buckets_: np.ndarray

    def fit(self, X: Any, y: Any = None) -> Self:
        """Check the columns; nothing is learned of their values.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            Columns of strings or numbers.
        y : ignored
            There for pipelines; callbacks may score by it.

        Returns
        -------
        self
        """
        return self._learn(X, y)

    def _fit(self, X: np.ndarray, y: Any, sample_weight: np.ndarray | None) -> None:
        given = np.asarray(self.n_buckets)
        whole = given.ndim < 2 and given.dtype.kind in "iu" and given.size and given.min() > 0
        if not whole or given.max() >= 2**31 or given.size not in (1, X.shape[1]):
            raise ValueError(
                "HashBucketEncoder: parameter 'n_buckets' must be a whole number from 1 to 2147483647, or one for "
                f"each of the {X.shape[1]} columns; got {shown(self.n_buckets)}."
            )
        self.n_buckets_ = np.broadcast_to(given.astype(np.int64), X.shape[1]).copy()

    def transform(self, X: Any) -> Any:
        """The buckets of values.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            Columns of strings or numbers.

        Returns
        -------
        buckets : array or CSR matrix of shape (n_samples, n_outputs)
        """
        check_is_fitted(self, "n_buckets_")
        columns = read_columns(self, X, reset=False)
        codes = np.empty((len(columns[0]), len(columns)), dtype=np.int64)
        for j, (values, n) in enumerate(zip(columns, self.n_buckets_.tolist())):
            hashes, missing = hash_column(values, self.seed)
            codes[:, j] = np.where(missing, n, bucket_of(hashes, n))
        if self.encode == "ordinal":
            found = codes.astype(np.float64)
            if self.missing == "nan":
                found[codes == self.n_buckets_] = np.nan
            return found
        one_hot = sparse_one_hot if self.encode == "onehot" else dense_one_hot
        return one_hot(codes, self._widths(), np.float64)

    def _widths(self) -> np.ndarray:
        return self.n_buckets_ + (self.missing == "bucket")

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The names of the output columns.

        Parameters
        ----------
        input_features : array of str, optional
            Names of the columns of X.

        Returns
        -------
        names : array of objects of shape (n_outputs,)
        """
        check_is_fitted(self, "n_buckets_")
        names = _check_feature_names_in(self, input_features)
        if self.encode == "ordinal":
            return names
        last = ["missing"] if self.missing == "bucket" else []
        return np.array(
            [f"{name}_{k}" for name, n in zip(names, self.n_buckets_.tolist()) for k in [*range(n), *last]],
            dtype=object,
        )

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        columns = read_columns(self, X, reset=reset)
        for values in columns:
            if values.dtype == object:
                distinct_values(values.tolist())  # an error where they cannot be hashed
        rows = np.broadcast_to(np.zeros(1), (len(columns[0]), len(columns)))
        return rows if y is NO_TARGET else (rows, target_for_callbacks(y, len(rows)))

    def _encode(self, y: Any) -> None:
        return None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


def hash_column(values: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The hashes of the values of a column, and which are missing."""
    if values.dtype.kind in "biuf":
        missing = np.isnan(values) if values.dtype.kind == "f" else np.zeros(values.size, dtype=bool)
        numbers = np.where(missing, 0, values) if missing.any() else values
        if numbers.dtype == np.float32:
            distinct, codes = np.unique(numbers, return_inverse=True)
            return hash_numbers(as_doubles(distinct), seed)[codes], missing
        return hash_numbers(numbers, seed), missing
    listed = values.tolist()
    table = distinct_values(listed)
    for code, value in enumerate(table):
        table[value] = code
    gone = np.array([is_missing(value) for value in table], dtype=bool)
    hashes = np.zeros(len(table), dtype=np.int32)
    numeric = np.array([isinstance(value, int | float | np.number) for value in table], dtype=bool) & ~gone
    known = list(table)
    for place in np.flatnonzero(numeric).tolist():  # integers and floats have different types: one by one
        hashes[place] = hash_numbers(np.array([known[place]]), seed)[0]
    places = np.flatnonzero(~(numeric | gone))
    texts = [known[place] for place in places.tolist()]
    hashes[places] = hash_texts(
        [text if isinstance(text, str | bytes) else str(text) for text in texts], seed
    )
    codes = np.fromiter(map(table.__getitem__, listed), dtype=np.int64, count=len(listed))
    return hashes[codes], gone[codes]
