"""The hashing trick for records of named features (特征哈希)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.base import TransformerMixin
from sklearn.utils.metadata_routing import UNUSED

from tercet.core.catalog import method
from tercet.core.estimator import NO_TARGET, Estimator
from tercet.core.fitted_checks import Whole
from tercet.core.input_errors import shown
from tercet.core.parameters import Range, check_parameters, number_type
from tercet.core.steps import listeners
from tercet.core.validation import target_for_callbacks
from tercet.feature.hashing.hashed_entries import BATCH, HashedEntries
from tercet.feature.text.count_vectorizer import in_sparse_interface
from tercet.feature.text.document_input import as_objects

Width = Annotated[int, Range(1, np.iinfo(np.int32).max, "[]")]


@method(
    zh="特征哈希",
    task="feature extraction",
    model="x_ij = sum of ± values of the names whose hash is column j",
    strategy="MurmurHash3 of the name is its column; no vocabulary is kept",
    texts=["Machine Learning in Depth ch. 3"],
    peers=["sklearn.feature_extraction.FeatureHasher"],
)
class FeatureHasher(TransformerMixin, Estimator):
    """Records of named features as a sparse matrix: the hash of a name is its column.

    Nothing is learned, so that data need not be seen twice. Names that share a column are added up.

    Parameters
    ----------
    n_features : int, default=2**20
        Number of columns.
    input_type : {"dict", "pair", "string"}, default="dict"
        What a record is: a dict of names and values, pairs of these, or strings, which count as 1. A value that is
        a string makes the name "name=value" with the value 1.
    dtype : dtype, default=numpy.float64
        Type of the values.
    alternate_sign : bool, default=True
        Entries get a sign by the hash, so that those of a shared column cancel on average.

    Attributes
    ----------
    none : nothing is learned
        `transform` may be called without `fit`.

    Examples
    --------
    >>> model = FeatureHasher(n_features=10)
    >>> model.transform([{"dog": 1, "cat": 2, "elephant": 4}, {"dog": 2, "run": 5}]).toarray()
    array([[ 0.,  0., -4., -1.,  0.,  0.,  0.,  0.,  0.,  2.],
           [ 0.,  0.,  0., -2., -5.,  0.,  0.,  0.,  0.,  0.]])
    """

    def __init__(
        self,
        n_features: Width = 2**20,
        *,
        input_type: Literal["dict", "pair", "string"] = "dict",
        dtype: Any = np.float64,
        alternate_sign: bool = True,
    ) -> None:
        self.n_features = n_features
        self.input_type = input_type
        self.dtype = dtype
        self.alternate_sign = alternate_sign

    sparse_input = False
    fitted_shapes = {"n_features": Whole("", 1)}
    # Records are data under another name than X: nothing to route.
    __metadata_request__transform = {"raw_X": UNUSED}

    def fit(self, X: Any = None, y: Any = None) -> Self:
        """Check the parameters; there is nothing to learn.

        Parameters
        ----------
        X : iterable, optional
            Not looked at.
        y : ignored
            There for pipelines; callbacks may score by it.

        Returns
        -------
        self
        """
        check_parameters(self)  # what is wrong with them is told first
        if X is not None or y is not None:
            checked_records(X)
        if listeners(self) and X is not None:  # they take rows of it
            X = as_objects(X)
        return self._learn(X, y)

    def _fit(self, X: Any, y: Any, sample_weight: np.ndarray | None) -> None:
        return None

    def transform(self, raw_X: Any) -> Any:
        """The matrix of records.

        Parameters
        ----------
        raw_X : iterable
            Records, looked at once.

        Returns
        -------
        X : CSR matrix of shape (n_samples, n_features)
        """
        entries = HashedEntries(self.n_features, self.alternate_sign)
        for record in checked_records(raw_X):
            self._add(entries, record)
            entries.flush(BATCH)
        found = entries.matrix(number_type(self))
        if not found.shape[0]:
            raise ValueError("Cannot vectorize empty sequence.")
        return in_sparse_interface(found)

    def _add(self, entries: HashedEntries, record: Any) -> None:
        """Add the names and values of a record."""
        if self.input_type != "dict" and not isinstance(record, Iterable):
            what = "strings" if self.input_type == "string" else "pairs of names and numbers"
            raise TypeError(
                f"FeatureHasher: X must hold lists of {what}; got {shown(record)}. Set input_type."
            )
        if self.input_type == "string":
            if isinstance(record, str | bytes):
                raise ValueError(
                    "Samples can not be a single string. The input must be an iterable over iterables of strings."
                )
            entries.add_names(record)
        elif self.input_type == "pair":
            pairs = list(record)
            if not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in pairs):
                raise TypeError(
                    "FeatureHasher: X must hold lists of pairs of names and numbers with input_type='pair'; got "
                    f"{shown(record)}."
                )
            entries.add_pairs([name for name, _ in pairs], [value for _, value in pairs])
        elif type(record) is dict or isinstance(record, Mapping):
            entries.add_pairs(record.keys(), record.values())
        else:
            raise TypeError(
                f"FeatureHasher: X must hold dicts with input_type='dict'; got {shown(record)}. Set input_type."
            )

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        if y is NO_TARGET:
            return X
        return X, target_for_callbacks(y, len(X)) if hasattr(X, "__len__") else None

    def _encode(self, y: Any) -> None:
        return None

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = self.input_type == "string"
        tags.input_tags.dict = self.input_type == "dict"
        tags.requires_fit = False
        return tags


def checked_records(X: Any) -> Iterable[Any]:
    """Records, or an error where X is none."""
    if isinstance(X, str | bytes | Mapping) or sparse.issparse(X) or not isinstance(X, Iterable):
        raise TypeError(f"FeatureHasher: X must be a list or another iterable of records; got {shown(X)}.")
    return X
