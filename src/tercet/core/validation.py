"""scikit-learn's checks of data, with a short way for data that is plainly in order.

Its checks of a float array take some 50 to 150 microseconds whatever its size, more than many a prediction. What
nearly every call gets, a NumPy array or CSR matrix of finite floats without names of columns, is let through here
after a look at its type, shape and sum. Everything else, and all that is wrong, goes to scikit-learn's functions of
the same names.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import get_config
from sklearn.utils import validation as full

from tercet.core.input_errors import Explaining, refuse_mixed_labels
from tercet.core.parallel import one_blas_thread
from tercet.core.sources import RowSource

COMPRESSED_ROWS = (sparse.csr_matrix, sparse.csr_array)
FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
NOT_GIVEN = "no_validation"
# scikit-learn's checks add up infinities of both signs before they refuse them.
QUIET: Any = {"over": "ignore", "invalid": "ignore"}
# What check_array may be asked for that says nothing about plain float arrays of one row and column or more.
INDIFFERENT = {"accept_sparse", "ensure_2d", "estimator", "input_name", "multi_output", "y_numeric"}


def validate_data(
    estimator: Any, X: Any = NOT_GIVEN, y: Any = NOT_GIVEN, *, reset: bool = True, **options: Any
) -> Any:
    """scikit-learn's `validate_data`: checked X, or X and y, and the names and number of features."""
    check_structure(X)
    found = None if _has_names(estimator) else _plain_data(estimator, X, y, reset, options)
    if found is None:
        given = {name: value for name, value in (("X", X), ("y", y)) if not _is_not_given(value)}
        with Explaining(**given):
            refuse_mixed_labels(y)
            with np.errstate(**QUIET):
                found = full.validate_data(estimator, X, y, reset=reset, **options)
        check_structure(found[0] if isinstance(found, tuple) else found)
        if isinstance(found, tuple):
            _refuse_missing_targets(found[1])
    return found


def _is_not_given(value: Any) -> bool:
    return isinstance(value, str) and value == NOT_GIVEN


def _refuse_missing_targets(y: Any) -> None:
    """An array of objects is checked before None in it becomes NaN."""
    if isinstance(y, np.ndarray) and y.dtype.kind == "f" and not np.isfinite(y).all():
        row = int(np.argmin(np.isfinite(y).reshape(len(y), -1).all(axis=1)))
        raise ValueError(f"Input y contains NaN: the target of row {row} is missing (None) or not a number.")


def _has_names(estimator: Any) -> bool:
    return getattr(estimator, "feature_names_in_", None) is not None


def _plain_data(estimator: Any, X: Any, y: Any, reset: bool, options: dict[str, Any]) -> Any:
    """X, or X and y, where both are plainly in order and as wide as expected; else None."""
    wanted = not _is_not_given(y)
    many = {"multi_output": options.get("multi_output", False), "numeric": options.get("y_numeric", False)}
    if _is_not_given(X):
        return plain_target(y, len(y), **many) if isinstance(y, np.ndarray) and y.ndim else None
    if options.get("skip_check_array", False):
        if wanted or type(X) is not np.ndarray or X.ndim != 2:
            return None
    elif not is_plain(X, options):
        return None
    target = plain_target(y, X.shape[0], **many) if wanted else None
    if wanted and target is None:
        return None
    if reset:
        estimator.n_features_in_ = X.shape[1]
    elif getattr(estimator, "n_features_in_", None) != X.shape[1]:
        return None
    return (X, target) if wanted else X


def check_array(X: Any, **options: Any) -> Any:
    """scikit-learn's `check_array`."""
    check_structure(X)
    if is_plain(X, options):
        return X
    with Explaining(**{options.get("input_name") or "X": X}), np.errstate(**QUIET):
        X = full.check_array(X, **options)
    return check_structure(X)


def check_X_y(X: Any, y: Any, **options: Any) -> tuple[Any, np.ndarray]:
    """scikit-learn's `check_X_y`."""
    check_structure(X)
    with Explaining(X=X, y=y), np.errstate(**QUIET):
        X, y = full.check_X_y(X, y, **options)
    return check_structure(X), y


def indexable(*arrays: Any) -> list[Any]:
    """scikit-learn's `indexable`: CSR from other sparse formats, an array from what has no rows to index."""

    def checked(X: Any) -> Any:
        return check_structure(X) if sparse.issparse(X) or isinstance(X, RowSource) else X

    return [checked(X) for X in full.indexable(*map(checked, arrays))]


def check_structure(X: Any, name: str = "X") -> Any:
    """X, unless it is a sparse matrix whose indices point outside of it; errors call it `name`.

    Neither SciPy nor compiled kernels look where an index points: one out of range reads, or writes, other memory.
    One pass over the indices: 1.2 ms for 200 000 rows with 6 million entries, of which `MultinomialNB` takes 28 ms
    and `LogisticRegression` 460 ms to learn.
    """
    if not sparse.issparse(X):
        if isinstance(X, RowSource):
            raise TypeError(
                f"{name} is a source; this takes arrays: those of `source.to_arrays(y=...)` or of "
                "`source.sample(100_000, y=...)`, or the pieces of `for rows in source`."
            )
        return X
    if X.format == "coo":
        wrong = next(filter(None, (_wrong_indices(*axis) for axis in zip(X.coords, X.shape))), "")
    elif X.format in ("csr", "csc", "bsr"):
        block = X.blocksize if X.format == "bsr" else (1, 1)
        lines, across = (n // size for n, size in zip(X.shape, block))
        wrong = _wrong_structure(X, *((across, lines) if X.format == "csc" else (lines, across)))
    else:  # other formats are checked once they are converted
        return X
    if wrong:
        raise ValueError(f"{name} is not a valid {X.format.upper()} matrix of shape {X.shape}: {wrong}.")
    return X


def _wrong_structure(X: Any, lines: int, across: int) -> str:
    """What is wrong with the arrays of a compressed matrix of so many lines, and so many places in each."""
    indptr, entries = X.indptr, len(X.data)
    if X.data.ndim != (3 if X.format == "bsr" else 1) or X.indices.shape != (entries,):
        return f"data of shape {X.data.shape} do not belong to indices of shape {X.indices.shape}"
    if indptr.dtype.kind != "i" or indptr.shape != (lines + 1,) or indptr[0] != 0:
        return f"indptr must have {lines + 1} integers and begin with 0"
    if (indptr[1:] < indptr[:-1]).any():
        return "indptr must not fall"
    if indptr[-1] > entries:
        return f"indptr ends at {indptr[-1]}, beyond the {entries} entries"
    return _wrong_indices(X.indices, across)


def _wrong_indices(indices: np.ndarray, size: int) -> str:
    """What is wrong with indices that should be from 0 to size - 1."""
    if indices.dtype.kind != "i":
        return f"indices must be integers; got {indices.dtype}"
    # in one pass: as unsigned numbers, negative ones are large
    if not indices.size or int(indices.view(f"u{indices.itemsize}").max()) < size:
        return ""
    strange = indices[(indices < 0) | (indices >= size)][0]
    return f"indices must be from 0 to {size - 1}; got {strange}"


def check_target(estimator: Any, y: Any, n: int, *, multi_output: bool, numeric: bool) -> np.ndarray:
    """Targets of n rows, as scikit-learn's `check_X_y` has them."""
    target = plain_target(y, n, multi_output=multi_output, numeric=numeric)
    if target is None:
        placeholder = np.broadcast_to(np.zeros(1), (n, 1))
        with Explaining(X=placeholder, y=y):
            refuse_mixed_labels(y)
            _, target = check_X_y(
                placeholder, y, multi_output=multi_output, y_numeric=numeric, estimator=estimator
            )
        _refuse_missing_targets(target)
    return target


def is_plain(X: Any, options: dict[str, Any]) -> bool:
    """Whether `check_array(X, **options)` would give X itself: finite floats, not empty, in two dimensions
    (or in one, where that is allowed)."""
    kind = type(X)
    sparse_rows = kind in COMPRESSED_ROWS and options.get("accept_sparse") == "csr" and "order" not in options
    if kind is not np.ndarray and not sparse_rows:
        return False
    flat = X.ndim == 1 and kind is np.ndarray and options.get("ensure_2d") is False
    if not (X.ndim == 2 or flat) or X.dtype not in FLOATS or 0 in X.shape:
        return False
    finite: Any = True
    for name, value in options.items():
        if name == "dtype":
            if value is not None and value != "numeric" and X.dtype not in _dtypes(value):
                return False
        elif name == "ensure_all_finite":
            finite = value
        elif name == "order":
            if not (value is None or (value == "C" and X.flags.c_contiguous)):
                return False
        elif name not in INDIFFERENT:
            return False
    return finite is False or is_finite(X if kind is np.ndarray else X.data)


def _dtypes(value: Any) -> Any:
    return value if isinstance(value, list | tuple) else (value,)


def is_finite(X: np.ndarray) -> bool:
    """Whether the sum of an array is finite: then all of it is. A sum that overflows proves nothing."""
    if get_config()["assume_finite"]:
        return True
    with np.errstate(over="ignore", invalid="ignore"):
        return math.isfinite(np.add.reduce(np.asarray(X), axis=None))  # the sum of an np.matrix is a matrix


def are_numbers(value: Any, *, infinite: bool) -> bool:
    """Whether the floats of an attribute or a list of them are numbers; finite ones unless `infinite` will do."""
    if isinstance(value, list):
        return all(are_numbers(part, infinite=infinite) for part in value)
    if not isinstance(value, np.ndarray | np.floating) or value.dtype.kind != "f":
        return True
    array = np.asarray(value)
    return is_finite(array) or not (np.isnan(array) if infinite else ~np.isfinite(array)).any()


def plain_target(y: Any, n: int, *, multi_output: bool, numeric: bool) -> np.ndarray | None:
    """Targets that need no conversion, as a contiguous array; None where scikit-learn has to look."""
    if type(y) is not np.ndarray or not y.size or y.shape[:1] != (n,) or y.ndim > (2 if multi_output else 1):
        return None
    kind = y.dtype.kind
    if kind in "iub" or (kind == "f" and is_finite(y)) or (kind == "U" and not numeric and y.ndim == 1):
        return y if multi_output else np.ascontiguousarray(y)
    return None


def target_for_callbacks(y: Any, n: int) -> np.ndarray | None:
    """A target that nothing is learned from: as an array, or None where it is not one of n rows."""
    if y is None:
        return None
    try:
        y = np.asarray(y)
    except ValueError:  # lists of unequal lengths
        return None
    return y if y.shape[:1] == (n,) else None


def refuse_negative(X: Any, name: str) -> None:
    """As scikit-learn's check, which one NaN lets pass whatever else is there."""
    values = X.data if sparse.issparse(X) else X
    least = values.min(initial=0.0)
    if np.isnan(least):
        least = np.fmin.reduce(values, axis=None)
    if least < 0:
        raise ValueError(f"Negative values in data passed to {name} (input X): {least:g} is the smallest.")


def refuse_large(X: Any, most: float, name: str) -> None:
    """Refuse values with which sums or squares are beyond floating-point numbers."""
    if X.dtype.kind != "f":
        return
    most = min(most, 1e18) if X.dtype == np.float32 else most
    values = X.data if sparse.issparse(X) else X
    if values.flags.forc:  # once through memory where all is well, as a rule
        flat = values.ravel(order="K")
        with np.errstate(over="ignore", under="ignore", invalid="ignore"), one_blas_thread():
            if float(np.dot(flat, flat)) <= most**2:
                return
    high, low = (float(end(values, axis=None, initial=0.0)) for end in (np.fmax.reduce, np.fmin.reduce))
    size = max(high, -low)
    if size > most:
        raise ValueError(
            f"{name}: X has values of size {size:.3g}; allowed are at most {most:g}, whose squares are "
            "floating-point numbers. Scale the features."
        )


def narrow_indices(A: Any) -> Any:
    """CSR rows with indices of 32 bits where they fit: scikit-learn's Manhattan distances take no others."""
    if not sparse.issparse(A) or max(A.nnz, A.shape[1]) > np.iinfo(np.int32).max:
        return A
    if A.indices.dtype == A.indptr.dtype == np.int32:
        return A
    return type(A)((A.data, A.indices.astype(np.int32), A.indptr.astype(np.int32)), shape=A.shape)


def finite_predictions(values: np.ndarray, name: str) -> np.ndarray:
    """Predictions, or an error in the name of an estimator where one is beyond floating-point numbers."""
    if not is_finite(values):
        wrong = ~np.isfinite(values).reshape(len(values), -1).all(axis=1)
        if wrong.any():
            raise ValueError(
                f"{name}: the prediction for row {int(wrong.argmax())} of X is beyond floating-point numbers: the "
                "row is too far from those learned from. Scale the features, or leave the row out."
            )
    return values


def check_is_fitted(estimator: Any, attributes: Any = None, **options: Any) -> None:
    """scikit-learn's `check_is_fitted`."""
    known = {} if isinstance(estimator, type) else getattr(estimator, "__dict__", {})
    if attributes is None:
        if not hasattr(estimator, "__sklearn_is_fitted__"):
            for name in reversed(known):  # what was learned came last
                if name[-1] == "_" and name[:2] != "__":
                    return
    elif isinstance(attributes, str) and attributes in known:
        return
    full.check_is_fitted(estimator, attributes, **options)


def tidy(X: Any) -> Any:
    """CSR with each entry once and in order; kernels count on it. The caller's matrix is left as it is."""
    if sparse.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X
