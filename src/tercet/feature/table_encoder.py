"""Tables as matrices: missing values imputed, numbers scaled, a feature for every category and word."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from tercet.core.lazy import optional_module
from tercet.core.messages import Message
from tercet.core.parameters import Range, check_parameters
from tercet.core.validation import validate_data
from tercet.datasets.readers import listed
from tercet.feature.categorical_features import CategoricalFeatures
from tercet.feature.interval_features import IntervalFeatures
from tercet.feature.numeric_features import NumericFeatures
from tercet.feature.records import Records
from tercet.feature.schema import Schema, feature_schema
from tercet.feature.sparse_features import SparseFeatures
from tercet.feature.text.text_features import TextFeatures

Features = NumericFeatures | IntervalFeatures | CategoricalFeatures | TextFeatures | SparseFeatures
SCHEMAS = ("schema", "schema_")
MAX_DENSE = 2000  # output features, beyond which zeros are not stored


class TableEncoder(TransformerMixin, BaseEstimator):
    """Make numeric features of the columns of a table.

    Numbers are filled in with the median and standardised, dates become days and the parts that come round again
    (month, weekday, hour), categories become columns of zeros and ones, texts tf-idf weights of their words. All
    that is learned is learned from the rows of `fit`.

    Parameters
    ----------
    schema : Schema or dict, optional
        What the columns are, as `infer_schema` (or `Schema.to_dict`) gives it; by default `fit` infers it.
    scale : {"standard", "minmax", "intervals", None}
        Numbers with mean 0 and deviation 1, or in [0, 1] (values outside are cut off); or the intervals that they
        are in, ten at most, with about equally many rows each; or as they are.
    missing : {"impute", "keep"}
        Fill in missing values, with a further feature that marks them where they are 1 % or more; or keep NaN.
    categories : {"onehot", "codes", "keep"}
        A feature for every category (a single one for two), or one feature with the number of the category; or the
        categories themselves, for methods that take them: then the result is a polars frame, unless there is a
        sparse block, in which what is missing, or was not there to learn from, is null.
    max_categories : int
        So many of the most frequent categories are kept, the rest is one category, "other".
    redundant : bool
        Whether every category of three or more has a feature, though all but one tell the last; methods that
        invert a covariance matrix need False.
    text_features : int
        So many of the most frequent words of a text column are kept.
    sparse : {"auto"} or bool
        Whether the result is a CSR array; "auto": when there are texts, a sparse block, or thousands of categories.

    Attributes
    ----------
    source_ : int array
        For every output feature the column it comes from: its place among the used columns; features of the sparse
        block are counted after the columns.
    n_features_in_ : int
        Columns seen by `fit`.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({"size": [1.0, 3.0, 1.0, 3.0], "colour": ["red", "blue", "green", "red"]})
    >>> encoder = TableEncoder().fit(frame)
    >>> encoder.get_feature_names_out().tolist()
    ['size', 'colour=blue', 'colour=green', 'colour=red']
    >>> encoder.transform(frame)[0]
    array([-1.,  0.,  0.,  1.])
    """

    def __init__(
        self,
        schema: Any = None,
        *,
        scale: Literal["standard", "minmax", "intervals"] | None = "standard",
        missing: Literal["impute", "keep"] = "impute",
        categories: Literal["onehot", "codes", "keep"] = "onehot",
        max_categories: Annotated[int, Range(1, np.inf, "[)")] = 50,
        redundant: bool = True,
        text_features: Annotated[int, Range(1, np.inf, "[)")] = 500,
        sparse: Literal["auto"] | bool = "auto",
    ) -> None:
        self.schema = schema
        self.scale = scale
        self.missing = missing
        self.categories = categories
        self.max_categories = max_categories
        self.redundant = redundant
        self.text_features = text_features
        self.sparse = sparse

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn medians, scales, categories and words from the rows of X; y is ignored."""
        check_parameters(self)
        optional_module("polars", "TableEncoder needs", "cli")
        records = self._records(X, reset=True)
        keep = self.missing == "keep"
        self.frame_ = self.categories == "keep" and records.sparse is None
        how = "onehot" if self.categories == "keep" and not self.frame_ else self.categories
        cut = self.scale == "intervals"
        parts: list[Features] = [
            IntervalFeatures.fit(records, keep) if cut else NumericFeatures.fit(records, self.scale, keep),
            CategoricalFeatures.fit(records, how, self.max_categories, keep or self.frame_, self.redundant),
            TextFeatures.fit(records, self.text_features),
            SparseFeatures.fit(records, self.scale in ("standard", "minmax")),
        ]
        self.columns_ = list(records.names)
        self.kinds_ = list(records.kinds)
        self.learned_ = [vars(part) for part in parts]
        self.source_ = np.concatenate([part.source() for part in parts])
        self.sparse_ = bool(self.sparse)
        if self.sparse == "auto":
            many = self.source_.size > MAX_DENSE and 2 * parts[1].width > self.source_.size
            self.sparse_ = bool(records.words or records.sparse is not None or many)
        self.sparse_ = self.sparse_ and not self.frame_
        return self

    def transform(self, X: Any) -> Any:
        """The features of the rows of X.

        Returns
        -------
        array, csr_array or polars frame of shape (n, features)
        """
        check_is_fitted(self, "learned_")
        records = self._records(X, reset=False)
        parts = [part for part in self._parts() if part.width]
        if self.sparse_ and parts:
            return sparse.csr_array(
                sparse.hstack([_compressed(part, records) for part in parts], format="csr")
            )
        features, start = np.empty((len(records), self.source_.size)), 0
        for part in parts:
            part.write(records, features[:, start : start + part.width])
            start += part.width
        if self.frame_:
            return self._frame(features)
        return sparse.csr_array(features) if self.sparse_ else features

    def _frame(self, features: np.ndarray) -> Any:
        """Features as a frame, the numbers of categories and of intervals as what they stand for."""
        import polars as pl

        known: list[list[str]] = []
        for part in self._parts():
            known += (
                part.labels if isinstance(part, IntervalFeatures | CategoricalFeatures) else [[]] * part.width
            )
        columns = []
        for j, name in enumerate(_distinct(self.get_feature_names_out())):
            column = pl.Series(name, features[:, j], nan_to_null=True)
            if labels := _distinct(known[j]):
                column = pl.Series(name, labels, dtype=pl.Enum(labels)).gather(column.cast(pl.UInt32))
            columns.append(column)
        return pl.DataFrame(columns)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the output features: "size", "colour=red", "when month sin", "remark:word" ...

        Parameters
        ----------
        input_features : array of str, optional
            Names for the columns of an array, which has none.
        """
        check_is_fitted(self, "learned_")
        columns = self.columns_
        if input_features is not None:
            columns = self._given_names(input_features)
        names = [name for part in self._parts() if part.width for name in part.names(columns)]
        return np.array(names, dtype=object)

    def describe(self) -> list[Message]:
        """What is done to which columns."""
        check_is_fitted(self, "learned_")
        return [note for part in self._parts() if part.width for note in part.describe(self.columns_)]

    def _parts(self) -> list[Features]:
        first = IntervalFeatures if self.scale == "intervals" else NumericFeatures
        kinds: tuple[Any, ...] = (first, CategoricalFeatures, TextFeatures, SparseFeatures)
        return [kind(**state) for kind, state in zip(kinds, self.learned_)]

    def _records(self, X: Any, *, reset: bool) -> Records:
        """X as records, of the same columns as in `fit`."""
        if isinstance(X, Records):
            return self._accepted(X, reset)
        if reset and self.schema is not None:
            self.schema_ = self.schema
            self.n_features_in_ = len(self._schema().columns) + self._schema().n_sparse
        elif reset:
            X = self._validated(X, reset)
            self.schema_ = feature_schema(X)
        schema = self._schema()
        return schema.to_records(X if reset or self.schema is not None else self._validated(X, reset))

    def _accepted(self, records: Records, reset: bool) -> Records:
        if reset:
            self.n_features_in_ = records.shape[1]
            self.schema_ = self.schema  # for tables that come later
        elif list(records.names) != self.columns_ or list(records.kinds) != self.kinds_:
            there, known = listed(list(records.names)), listed(self.columns_)
            raise ValueError(f"the records have the columns {there}; expected are {known}.")
        return records

    def _schema(self) -> Schema:
        if self.schema_ is None:
            raise ValueError("TableEncoder was fitted on records without a schema and knows records only.")
        return Schema.from_dict(self.schema_) if isinstance(self.schema_, dict) else self.schema_

    def _validated(self, X: Any, reset: bool) -> Any:
        """Frames as they are, all else as an array; scikit-learn remembers and compares names and widths."""
        if hasattr(X, "columns") or hasattr(X, "frame"):
            validate_data(self, getattr(X, "frame", X), reset=reset, skip_check_array=True)
            return X
        return validate_data(self, X, reset=reset, accept_sparse="csr", dtype=None, ensure_all_finite=False)

    def _given_names(self, given: Any) -> list[str]:
        given = [str(name) for name in given]
        own = getattr(self, "feature_names_in_", None)
        if own is not None and list(own) != given:
            raise ValueError("input_features is not equal to feature_names_in_")
        if len(given) != self.n_features_in_:
            raise ValueError(
                f"input_features should have length equal to {self.n_features_in_}, got {len(given)}"
            )
        if self.schema_ is None:
            return given
        return [name for name, column in zip(given, self._schema().columns) if column.used]

    def __getstate__(self) -> dict[str, Any]:
        # A schema is saved as JSON: a model file then holds no type of ours but this one, and stays small.
        state = dict(super().__getstate__())
        for key in SCHEMAS:
            schema = state.get(key)
            if schema is not None:
                plain = schema.to_dict() if isinstance(schema, Schema) else schema
                state[key] = json.dumps(plain, ensure_ascii=False)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        found = {key: json.loads(state[key]) for key in SCHEMAS if state.get(key) is not None}
        super().__setstate__({**state, **found})

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.input_tags.sparse = True
        return tags


def _distinct(names: Any) -> list[str]:
    """Names as they are, the second of equals with a number."""
    found: dict[str, None] = {}
    for name in names:
        again = str(name)
        while again in found:
            again = f"{name} ({len(found)})"
        found[again] = None
    return list(found)


def _compressed(part: Features, records: Records) -> sparse.csr_array:
    if not isinstance(part, NumericFeatures | IntervalFeatures):
        return part.compress(records)
    features = np.empty((len(records), part.width))
    part.write(records, features)
    return sparse.csr_array(features)
