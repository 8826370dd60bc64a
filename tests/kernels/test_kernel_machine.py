"""What machines do with kernels that have a Gram matrix inside."""

from __future__ import annotations

import numpy as np
import pytest

from tercet.kernel_machines import KernelRidge
from tercet.kernels import Gaussian, Linear, Precomputed
from tercet.svm import SVC, SVCCV, CentralSVC, MulticategorySVC, kkt_report


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3))
    y = (X[:, 0] + 0.5 * rng.standard_normal(40) > 0).astype(int)
    return X, y, Linear()(X)


@pytest.mark.parametrize(
    "model",
    [SVC(), CentralSVC(), MulticategorySVC(), KernelRidge(), SVCCV(Cs=[0.1, 1.0])],
    ids=lambda model: type(model).__name__,
)
def test_a_multiple_of_a_given_gram_matrix_is_one(model, data):
    _, y, gram = data
    ask = "predict" if isinstance(model, KernelRidge) else "decision_function"

    def answers(kernel, gram):
        model.set_params(**({"kernels": [kernel]} if isinstance(model, SVCCV) else {"kernel": kernel}))
        return getattr(model.fit(gram, y), ask)(gram)

    wanted = answers(Precomputed(), 3.0 * gram)
    np.testing.assert_allclose(answers(2.0 * Precomputed() + Precomputed(), gram), wanted, atol=1e-9)


@pytest.mark.parametrize("model", [SVC(), CentralSVC(), MulticategorySVC()], ids=lambda m: type(m).__name__)
def test_rows_may_be_numbers_of_a_compound_kernel(model, data):
    X, y, gram = data
    numbers = np.arange(40)
    model.set_params(kernel=2.0 * Precomputed(gram))
    found = model.fit(numbers, y).decision_function(numbers[:5])
    wanted = model.set_params(kernel=2.0 * Linear()).fit(X, y).decision_function(X[:5])
    np.testing.assert_allclose(found, wanted, atol=1e-9)


def test_conditions_of_a_multiple(data):
    _, y, gram = data
    model = SVC(kernel=2.0 * Precomputed(), tol=1e-8).fit(gram, y)
    assert kkt_report(model, gram, y).holds


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", Gaussian()])
def test_data_too_large_for_a_kernel_is_refused(kernel, data):
    X, y, _ = data
    with pytest.raises(ValueError, match="scale the features"):
        SVC(kernel=kernel).fit(1e200 * X, y)
