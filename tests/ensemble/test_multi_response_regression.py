"""Multi-response linear regression."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tercet.ensemble import MultiResponseRegression


@pytest.mark.parametrize("n_classes", [2, 3])
def test_least_squares_to_the_indicators(n_classes):
    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.ones(n_classes), size=50)  # columns add up to 1: many solutions, one prediction
    y = np.array(["a", "b", "c"])[P.argmax(axis=1)]
    model = MultiResponseRegression().fit(P, y)
    A = np.column_stack([P, np.ones(50)])
    fitted = A @ np.linalg.lstsq(A, (y[:, None] == model.classes_) * 1.0)[0]
    scores = model.decision_function(P)
    assert_allclose(scores, fitted if n_classes > 2 else fitted[:, 1] - fitted[:, 0], atol=1e-9)
    assert_array_equal(model.predict(P), model.classes_[fitted.argmax(axis=1)])


def test_weights_that_are_not_negative():
    rng = np.random.default_rng(1)
    P = rng.dirichlet(np.ones(3), size=60)
    model = MultiResponseRegression(positive=True).fit(P, rng.integers(3, size=60))
    assert model.coef_.min() >= 0
