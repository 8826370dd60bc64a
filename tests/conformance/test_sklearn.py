"""scikit-learn's own conformance suite over every estimator of the catalogue."""

import warnings

import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.conformance.population import CARDS, make

ORDER = "an online method: the result depends on the order of the rows, and a repeated row is two visits"
FLAT = "the check's data leave a class no density: its covariance has no inverse, and the method says so"
EXEMPT = {
    "QuadraticDiscriminantAnalysis": {
        "check_sample_weights_shape": FLAT,
        "check_sample_weights_not_overwritten": FLAT,
        "check_sample_weight_equivalence_on_dense_data": FLAT,
    },
    "Perceptron": {
        "check_sample_weight_equivalence_on_dense_data": ORDER,
        "check_sample_weight_equivalence_on_sparse_data": ORDER,
    },
}


def exempt(estimator):
    return EXEMPT.get(type(estimator).__name__, {})


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


@parametrize_with_checks([make(card) for card in CARDS], expected_failed_checks=exempt)
def test_scikit_learn_conformance(estimator, check):
    check(estimator)
