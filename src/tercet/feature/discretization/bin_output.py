"""What a discretiser does with its bins: codes, one-hot columns, intervals, names, a table."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.validation import _check_feature_names_in

from tercet.core.estimator import Estimator, check_is_fitted, distinct
from tercet.core.fitted_checks import Each, Floats
from tercet.core.validation import check_array
from tercet.feature.discretization.bin_codes import (
    codes_from_one_hot,
    codes_of_labels,
    dense_one_hot,
    edge_texts,
    sparse_one_hot,
)
from tercet.feature.discretization.bin_table import BinTable, bin_table
from tercet.feature.interval_features import interval_labels


class BinOutput(TransformerMixin, Estimator):
    """A transformer whose bins are given by `bin_edges_`."""

    sparse_input = False
    encode: str
    missing: str
    bin_names: str
    dtype: Any
    fitted_shapes = {
        "n_bins_": Floats("features", low=1.0),
        "bin_centers_": Each(Floats("bins@"), "features"),
    }
    bin_edges_: np.ndarray
    n_bins_: np.ndarray
    bin_centers_: list[np.ndarray]

    @property
    def missing_input(self) -> bool:  # type: ignore[override]
        """Whether NaN is data."""
        return self.missing != "error"

    def transform(self, X: Any) -> Any:
        """The bins of rows.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Numbers.

        Returns
        -------
        bins : array or CSR matrix of shape (n_samples, n_outputs)
        """
        check_is_fitted(self)
        X = self._check(X, reset=False)
        dtype = X.dtype if self.dtype is None else np.dtype(self.dtype)
        codes = self._bin_codes(X)
        if self.encode == "interval":
            return self._intervals(codes)
        if self.encode == "ordinal":
            found = codes.astype(dtype)
            if self.missing == "nan":
                found[codes == self.n_bins_] = np.nan
            return found
        one_hot = sparse_one_hot if self.encode == "onehot" else dense_one_hot
        return one_hot(codes, self._widths(), dtype)

    def _bin_codes(self, X: np.ndarray) -> np.ndarray:
        """The bin of each value; missing ones have the number after the last."""
        codes = np.empty(X.shape, dtype=np.int64)
        for j, edges in enumerate(self.bin_edges_):
            codes[:, j] = np.searchsorted(edges[1:-1], X[:, j], side="right")
            if self.missing != "error":
                codes[np.isnan(X[:, j]), j] = len(edges) - 1
        return codes

    def _widths(self) -> np.ndarray:
        """The number of output columns of each column."""
        return np.asarray(self.n_bins_, dtype=np.int64) + (self.missing == "bin")

    def _intervals(self, codes: np.ndarray) -> np.ndarray:
        found = np.empty(codes.shape, dtype=object)
        for j, labels in enumerate(self._labels()):
            table = np.array(
                [*labels[: self.n_bins_[j]], "missing" if self.missing == "bin" else np.nan], object
            )
            found[:, j] = table[codes[:, j]]
        return found

    def _labels(self) -> list[list[str]]:
        """The intervals of each column as texts, and that of missing values where they are a bin."""
        last = ["missing"] if self.missing == "bin" else []
        return [interval_labels(edge_texts(edges[1:-1])) + last for edges in self.bin_edges_]

    def inverse_transform(self, X: Any) -> np.ndarray:
        """A number for each bin: its middle, or NaN where a value is missing.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_outputs)
            Bins, as `transform` gives them.

        Returns
        -------
        X : array of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        d = len(self.bin_centers_)
        if self.encode == "interval":
            X = codes_of_labels(np.asarray(X, dtype=object), self._labels(), self.missing != "error")
        elif self.encode != "ordinal":
            X = check_array(X, accept_sparse="csr", dtype=(np.float64, np.float32), input_name="X")
            X = codes_from_one_hot(X, self._widths(), self.missing == "nan")
        X = check_array(
            X, dtype=(np.float64, np.float32), ensure_all_finite=not self.missing_input or "allow-nan"
        )
        if X.shape[1] != d:
            raise ValueError(f"Incorrect number of features. Expecting {d}, received {X.shape[1]}.")
        found = np.empty(X.shape, dtype=X.dtype)
        for j, centers in enumerate(self.bin_centers_):
            codes = np.where(np.isnan(X[:, j]), len(centers), X[:, j]).astype(np.int64)
            if codes.size and not (
                codes.min() >= 0 and codes.max() <= len(centers) - (self.missing == "error")
            ):
                raise ValueError(
                    f"KBinsDiscretizer: X has the bin {float(X[codes.argmax(), j]):g} in column {j}; there are "
                    f"{len(centers)}, from 0 on."
                )
            found[:, j] = np.append(centers, np.nan)[codes]
        return found

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
        check_is_fitted(self, "n_features_in_")
        names = _check_feature_names_in(self, input_features)
        if self.encode in ("ordinal", "interval"):
            return names
        if self.bin_names == "interval":
            parts = self._labels()
        else:
            last = ["missing"] if self.missing == "bin" else []
            parts = [[str(float(k)) for k in range(n)] + last for n in self.n_bins_]
        return np.array([f"{name}_{part}" for name, own in zip(names, parts) for part in own], dtype=object)

    def bin_table(self, X: Any = None, y: Any = None, sample_weight: Any = None) -> BinTable:
        """The bins of all columns as a table, with the rows and classes in them where these are given.

        Parameters
        ----------
        X : array of shape (n_samples, n_features), optional
            Rows to count.
        y : array of shape (n_samples,), optional
            Their classes.
        sample_weight : array of shape (n_samples,), optional
            How much each row counts.

        Returns
        -------
        table : BinTable
        """
        check_is_fitted(self)
        names = [str(name) for name in _check_feature_names_in(self, None)]
        labels = self._labels() if self.missing != "nan" else [[*own, "missing"] for own in self._labels()]
        if X is None:
            return bin_table(names, labels, None, None, None, None)
        codes = self._bin_codes(self._check(X, reset=False))
        weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        classes, kinds = (None, None) if y is None else distinct(np.asarray(y))
        return bin_table(names, labels, codes, weight, kinds, classes)

    def _check_fitted(self, sizes: dict[str, int]) -> None:
        edges = self.bin_edges_
        fits = isinstance(edges, np.ndarray) and edges.shape == (sizes["features"],) and edges.dtype == object
        for j in range(len(edges) if fits else 0):
            own = edges[j]
            real = isinstance(own, np.ndarray) and own.ndim == 1 and own.dtype.kind == "f"
            fits = fits and real and own.size == self.n_bins_[j] + 1 == len(self.bin_centers_[j]) + 1
        if not fits:
            raise ValueError(
                "KBinsDiscretizer: bin_edges_ must have an array of n_bins_ + 1 edges for each column."
            )
