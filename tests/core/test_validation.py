"""The short way through the checks of data gives what scikit-learn's own checks give."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils import validation as full

from tercet.core import validation
from tercet.linear_model import LinearRegression

GOOD = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]])
ROWS = {
    "float64": GOOD,
    "float32": GOOD.astype(np.float32),
    "fortran": np.asfortranarray(GOOD),
    "strided": np.repeat(GOOD, 2, axis=0)[::2],
    "swapped bytes": GOOD.astype(">f8"),
    "integers": GOOD.astype(int),
    "objects": GOOD.astype(object),
    "strings": GOOD.astype(str),
    "lists": GOOD.tolist(),
    "frame": pd.DataFrame(GOOD, columns=["a", "b"]),
    "csr": sparse.csr_matrix(GOOD),
    "csr array": sparse.csr_array(GOOD),
    "csc": sparse.csc_matrix(GOOD),
    "csr with NaN": sparse.csr_matrix([[np.nan, 1.0], [0.0, 2.0], [1.0, 0.0]]),
    "csr of integers": sparse.csr_matrix(GOOD.astype(int)),
    "NaN": np.where(GOOD == 4.0, np.nan, GOOD),
    "infinity": np.where(GOOD == 4.0, np.inf, GOOD),
    "opposite infinities": np.where(GOOD > 4.0, np.inf, -np.inf),
    "sum overflows": np.full((3, 2), 1.7e308),
    "no rows": np.empty((0, 2)),
    "no columns": np.empty((3, 0)),
    "one dimension": GOOD[0],
    "three dimensions": GOOD[None],
    "complex": GOOD + 1j,
    "wider": np.ones((3, 3)),
    "masked": np.ma.masked_array(GOOD),
}
TARGETS = {
    "integers": np.array([0, 1, 1]),
    "floats": np.array([0.5, 1.0, 2.0]),
    "booleans": np.array([True, False, True]),
    "strings": np.array(["a", "b", "a"]),
    "objects": np.array(["a", "b", "a"], dtype=object),
    "list": [0, 1, 1],
    "strided": np.arange(6)[::2],
    "column": np.array([[0], [1], [1]]),
    "two columns": np.array([[0, 1], [1, 2], [1, 3]]),
    "NaN": np.array([0.5, np.nan, 2.0]),
    "short": np.array([0, 1]),
    "none": None,
    "scalar": np.array(1.0),
    "complex": np.array([1j, 2.0, 3.0]),
}
ASKED = [
    {"accept_sparse": "csr", "dtype": (np.float64, np.float32)},
    {"dtype": np.float64},
    {"dtype": "numeric", "ensure_all_finite": "allow-nan"},
    {"ensure_all_finite": False, "accept_sparse": ["csc", "csr"]},
    {"order": "C", "dtype": [np.float64, np.float32]},
    {"ensure_min_samples": 4},
    {"ensure_2d": False, "dtype": np.float64, "input_name": "sample_weight"},
    {"ensure_2d": False, "dtype": np.float32, "accept_sparse": "csr"},
    {"copy": True},
]


class Given(BaseEstimator):
    """Somewhere to keep the number and the names of features."""

    def fit(self, X, y=None):
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def outcome(function, *given, **options):
    """What a call comes to: its result or its error, and its warnings but for NumPy's, which ours has not."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = function(*given, **options)
        except Exception as error:
            result = type(error), str(error)
    return result, [str(one.message) for one in caught if not issubclass(one.category, RuntimeWarning)]


def same(one, two):
    if isinstance(one, tuple):
        assert len(one) == len(two)
        for a, b in zip(one, two):
            same(a, b)
    elif sparse.issparse(one):
        assert type(one) is type(two)
        np.testing.assert_array_equal(one.toarray(), two.toarray())
    elif isinstance(one, np.ndarray):
        assert type(one) is type(two)
        assert one.dtype == two.dtype
        assert one.flags.c_contiguous == two.flags.c_contiguous
        np.testing.assert_array_equal(one, two)
    elif isinstance(one, str) and isinstance(two, str):
        # ours says first what is meant, and leaves out scikit-learn's words where they are NumPy's
        assert one.endswith(two) or one.startswith(("X must be ", "y must be "))
    else:
        assert one == two


@pytest.mark.parametrize("rows", ROWS)
def test_rows_come_through_as_from_scikit_learn(rows):
    for options in ASKED:
        X = ROWS[rows]
        (mine, said), (theirs, expected) = (
            outcome(module.check_array, X, **options) for module in (validation, full)
        )
        same(mine, theirs)
        assert said == expected
        assert (mine is X) == (theirs is X)
        with config_context(assume_finite=True):
            same(outcome(validation.check_array, X, **options)[0], outcome(full.check_array, X, **options)[0])


@pytest.mark.parametrize("rows", ["opposite infinities", "sum overflows"])
def test_rows_are_refused_without_warnings_of_numpy(rows):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for call in (
            validation.check_array,
            lambda X, **options: validation.validate_data(Given(), X, **options),
        ):
            with pytest.raises(ValueError, match="infinity"):
                call(ROWS[rows], dtype=np.float32)


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("names", [None, ["a", "b"], ["b", "a"]])
def test_names_and_numbers_of_features(rows, names):
    for reset in (True, False):
        for more in ({}, {"skip_check_array": True}):
            sides = []
            for module in (validation, full):
                estimator = Given()
                estimator.n_features_in_ = 2
                if names is not None:
                    estimator.feature_names_in_ = np.array(names, dtype=object)
                options = more or {"accept_sparse": "csr"}
                result, said = outcome(module.validate_data, estimator, ROWS[rows], reset=reset, **options)
                kept = {name: list(np.ravel(value)) for name, value in vars(estimator).items()}
                sides.append((None if more else result, said, kept))
            same(sides[0][0], sides[1][0])
            assert sides[0][1:] == sides[1][1:]


@pytest.mark.parametrize("target", TARGETS)
def test_targets_come_through_as_from_scikit_learn(target):
    y = TARGETS[target]
    for multi_output in (False, True):
        for numeric in (False, True):
            options = {"multi_output": multi_output, "y_numeric": numeric}
            for X in (GOOD, "no_validation"):
                sides = [
                    outcome(module.validate_data, Given(), X, y, **options) for module in (validation, full)
                ]
                same(sides[0][0], sides[1][0])
                assert sides[0][1] == sides[1][1]
            alone = outcome(
                validation.check_target, Given(), y, 3, multi_output=multi_output, numeric=numeric
            )
            if y is not None:  # both X and y of check_X_y are in the message otherwise
                both = outcome(full.check_X_y, GOOD, y, estimator=Given(), **options)
                same(alone[0] if isinstance(alone[0], tuple) else (GOOD, alone[0]), both[0])


def test_fitted_or_not():
    model = LinearRegression()
    for attributes in (None, "coef_", ["coef_", "intercept_"]):
        with pytest.raises(NotFittedError, match="LinearRegression"):
            validation.check_is_fitted(model, attributes)
    model.fit(GOOD, [1.0, 2.0, 3.0])
    for attributes in (None, "coef_", ["coef_", "intercept_"]):
        validation.check_is_fitted(model, attributes)
    with pytest.raises(NotFittedError):
        validation.check_is_fitted(model, "rank")
    with pytest.raises(TypeError, match="is a class"):
        validation.check_is_fitted(LinearRegression)
    with pytest.raises(TypeError, match="not an estimator"):
        validation.check_is_fitted(3)


def test_plain_rows_do_not_go_the_long_way(monkeypatch):
    """What nearly every call gets must not pay for scikit-learn's looks at frames and foreign arrays."""

    def never(*given, **options):
        raise AssertionError("the long way")

    model = LinearRegression().fit(GOOD, np.array([1.0, 2.0, 3.0]))
    expected = model.predict(GOOD)
    for name in ("check_array", "validate_data", "check_is_fitted"):
        monkeypatch.setattr(full, name, never)
    for X in (GOOD, np.asfortranarray(GOOD), sparse.csr_matrix(GOOD)):
        model.fit(X, np.array([1.0, 2.0, 3.0]))
        np.testing.assert_allclose(model.predict(X), expected)
    with pytest.raises(AssertionError, match="long way"):
        model.predict(pd.DataFrame(GOOD))
