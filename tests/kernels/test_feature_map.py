"""Explicit maps before a linear learner."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline

from tercet.kernels import FeatureMap, Gaussian, Homogeneous, Linear, Polynomial, count_monomials
from tercet.linear_model import Perceptron


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_an_ellipse_becomes_a_line():
    angle = np.linspace(0, 6, 40)
    ring = np.column_stack([2 * np.cos(angle), np.sin(angle)])
    X, y = np.vstack([0.7 * ring, 1.3 * ring]), np.repeat([1, -1], 40)
    assert Perceptron(max_iter=200, tol=None).fit(X, y).score(X, y) < 1
    for phi in (lambda X: X**2, Homogeneous(2), None):
        model = make_pipeline(FeatureMap(phi), Perceptron(max_iter=1000, tol=None)).fit(X, y)
        assert model.score(X, y) == 1


def test_what_is_found_from_data_is_found_at_fit():
    rng = np.random.default_rng(0)
    X, other = rng.normal(size=(20, 3)), 10 * rng.normal(size=(5, 3))
    kernel = Polynomial(2, gamma="scale")
    phi = FeatureMap(kernel).fit(X)
    np.testing.assert_allclose(
        phi.transform(other) @ phi.transform(X).T, kernel.resolve(X)(other, X), rtol=1e-10, atol=1e-10
    )
    assert kernel.gamma == "scale"
    assert phi.get_feature_names_out().size == 1 + count_monomials(3, 2, lower=True)


def test_sparse_rows_stay_sparse_where_they_can():
    X = sparse.csr_array([[1.0, 0.0], [0.0, 2.0]])
    assert sparse.issparse(FeatureMap(Linear()).fit_transform(X))


def test_wrong_maps_are_named():
    with pytest.raises(ValueError, match="no explicit feature map"):
        FeatureMap(Gaussian()).fit([[1.0], [2.0]])
    with pytest.raises(ValueError, match="a row for each"):
        FeatureMap(np.sum).fit([[1.0], [2.0]])
    with pytest.raises(ValueError, match="'map' must be"):
        FeatureMap("rbf").fit([[1.0], [2.0]])
