"""Every estimator of the regression family survives pickle and skops with the same predictions."""

import pickle

import numpy as np
import pytest
import skops.io

from tercet.linear_model import (
    GammaRegressor,
    GeneralizedLinearRegressor,
    LinearRegression,
    LogLinearRegression,
    PenalizedRegressor,
    PoissonRegressor,
    PolynomialRegression,
    Ridge,
    RidgeClassifier,
    RidgeCV,
    TweedieRegressor,
)

MODELS = [
    LinearRegression(),
    LinearRegression(solver="gd", tol=0.1),
    PolynomialRegression(2),
    Ridge(),
    RidgeCV(),
    RidgeClassifier(),
    LogLinearRegression(),
    GeneralizedLinearRegressor(family="poisson"),
    PoissonRegressor(),
    GammaRegressor(),
    TweedieRegressor(power=1.5),
    PenalizedRegressor("l1"),
]


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_round_trip(model):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(40, 3))
    model.fit(X, rng.integers(1, 4, 40))
    dumped = skops.io.dumps(model)
    unknown = skops.io.get_untrusted_types(data=dumped)
    assert all(name == f"{type(model).__module__}.{type(model).__name__}" for name in unknown)
    for again in (pickle.loads(pickle.dumps(model)), skops.io.loads(dumped, trusted=unknown)):
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
