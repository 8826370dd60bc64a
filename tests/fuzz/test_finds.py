"""What the fuzzer found: inputs at the limits that ended in a raw error, in no number, or in another answer."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from tercet.cluster import HDBSCAN, KMedoids, SphericalKMeans
from tercet.decomposition import (
    PCA,
    AlternatingLeastSquares,
    DictionaryLearning,
    IncrementalPCA,
    MatrixCompletion,
    MiniBatchNMF,
)
from tercet.decomposition.completion.matrix_completion import ridge_coordinates
from tercet.discriminant_analysis import QuadraticDiscriminantAnalysis
from tercet.distributions._gaussian.moments import log_densities
from tercet.ensemble import (
    AdaBoostRegressor,
    BaggingRegressor,
    BalanceCascadeClassifier,
    ForwardStagewiseRegressor,
    GradientBoostingRegressor,
    NegativeCorrelationRegressor,
)
from tercet.feature import ReliefF, StabilitySelection
from tercet.kernel_machines import KernelRidge
from tercet.linear_model import (
    ElasticNetCV,
    LassoCV,
    LinearRegression,
    LogisticRegression,
    PolynomialRegression,
    Ridge,
    RidgeClassifier,
)
from tercet.manifold import TSNE, Isomap
from tercet.manifold._tsne import interpolation
from tercet.multiclass import CascadeClassifier, OutputCodeClassifier
from tercet.naive_bayes import GaussianNB
from tercet.neighbors import LVQ, KernelDensity, KNeighborsClassifier, NearestCentroid, NearestNeighbors
from tercet.sequence import CRF, GaussianHMM
from tercet.sequence._chain.log_space import log_smooth_in_pieces
from tercet.topic import LatentDirichletAllocation
from tercet.tree import DecisionStump, ObliqueTreeClassifier

RNG = np.random.default_rng(0)
X, labels = RNG.random((30, 4)), np.arange(30) % 3
y = X @ [1.0, -2.0, 0.5, 0.0] + 0.1 * RNG.normal(size=30)
TINY = 1e-321 * RNG.integers(0, 4, size=(30, 4))


def wide(A):
    """CSR rows with indices of 64 bits."""
    A = sparse.csr_array(A)
    A.indices, A.indptr = A.indices.astype(np.int64), A.indptr.astype(np.int64)
    return A


def test_hyperplanes_without_a_start():
    tree = ObliqueTreeClassifier(algorithm="oc1", n_restarts=0, min_samples_leaf=20).fit(X, labels)
    assert tree.predict(X).shape == (30,)


def test_reachability_beyond_floating_point():
    found = HDBSCAN(alpha=1e-3, min_cluster_size=5).fit(X).predict(1e307 * np.ones((1, 4)))
    assert found.shape == (1,)


@pytest.mark.parametrize("learning_rate", [1.0, 100.0])
def test_boosting_by_a_large_rate(learning_rate):
    model = AdaBoostRegressor(Ridge(), n_estimators=3, learning_rate=learning_rate, loss="exponential")
    model.set_params(random_state=0).fit(X, np.exp(20 * y))
    assert np.isfinite(model.predict(X)).all()


def test_density_without_a_variance():
    with pytest.raises(ValueError, match="PCA: the variance of the rows is"):
        PCA().fit(1e-161 * X[:, :1]).score_samples(X[:, :1])


def test_whitening_in_single_precision():
    model = IncrementalPCA(whiten=True).fit(1e-161 * X)
    assert np.isfinite(model.transform(np.zeros((1, 4), dtype=np.float32))).all()


@pytest.mark.parametrize("algorithm", ["soft-impute", "svt", "als"])
def test_completion_of_zeros(algorithm):
    model = MatrixCompletion(algorithm=algorithm).fit(np.zeros((6, 4)))
    np.testing.assert_array_equal(model.transform(np.zeros((2, 4))), np.zeros((2, 4)))


def test_completion_of_rows_much_smaller_than_those_it_learned_from():
    found = ridge_coordinates(np.array([[1e30], [1e30]]), np.array([1.0]), 1.0)
    np.testing.assert_allclose(found, 0.5e-30, rtol=1e-12)


def test_ratings_beyond_the_type_of_the_factors():
    model = AlternatingLeastSquares(n_components=2, random_state=0).fit(X.astype(np.float32))
    with pytest.raises(ValueError, match="numbers beyond float32"):
        model.transform(1e50 * X)


def test_codes_of_nearly_equal_atoms_take_bounded_work():
    rows = RNG.normal(size=(33, 5)) * [1e4, 1e3, 1e-9, 1.0, 1e-8]
    model = DictionaryLearning(
        fit_algorithm="approximate-ksvd", transform_algorithm="lasso_cd", transform_n_nonzero_coefs=1
    )
    assert np.isfinite(model.set_params(max_iter=20, random_state=0).fit(rows).components_).all()


def test_wide_indices():
    near = KMedoids(2, metric="manhattan", random_state=0).fit(X)
    np.testing.assert_allclose(near.transform(wide(X)), near.transform(X))
    by_rows = KNeighborsClassifier(metric="manhattan").fit(sparse.csr_array(X), labels)
    np.testing.assert_array_equal(by_rows.predict(X), by_rows.predict(wide(X)))


def test_units_of_rows_are_rounded_alike_in_any_order_of_memory():
    rows = np.round(RNG.random((40, 5)), 1)
    one, other = (SphericalKMeans(5, random_state=0).fit(A) for A in (rows, np.asfortranarray(rows)))
    np.testing.assert_array_equal(one.cluster_centers_, other.cluster_centers_)


def test_selectors_refuse_by_a_sentence():
    chosen = ReliefF(n_features_to_select=1).fit(X, labels)
    with pytest.raises(ValueError, match="infinity"), np.errstate(all="raise"):
        chosen.transform(np.array([[np.inf, -np.inf, 0, 0]], dtype=np.float32))
    words = pd.DataFrame({"a": pd.array(["x", None], dtype="string")})
    with pytest.raises((TypeError, ValueError), match="X"):
        chosen.transform(words)


@pytest.mark.parametrize(
    "model", [StabilitySelection(LogisticRegression(), n_resamples=2), RidgeClassifier()]
)
def test_labels_of_several_types(model):
    with pytest.raises(TypeError, match="y must hold numbers, or strings, not both"):
        model.fit(X[:3], np.array(["x", 1, None], dtype=object))


def test_kernels_of_read_only_rows():
    rows = X.copy()
    rows.setflags(write=False)
    model = KernelRidge(kernel="chi2").fit(rows, y)
    np.testing.assert_array_equal(model.predict(rows), KernelRidge(kernel="chi2").fit(X, y).predict(X))


def test_a_wrong_parameter_is_told_before_wrong_targets():
    with pytest.raises(ValueError, match="parameter 'eps'"):
        ElasticNetCV(eps=1 + 2j).fit(X, X[:, :2])


def test_networks_that_diverge():
    with pytest.raises(ValueError, match="learning_rate=1e\\+300"):
        NegativeCorrelationRegressor(2, learning_rate=1e300, max_iter=3, random_state=0).fit(X, y)


def test_points_that_diverge(monkeypatch):
    monkeypatch.setattr(interpolation, "MOST", 60)  # boxes of a grid that points far apart take all of
    with pytest.raises(ValueError, match="learning_rate=1e\\+300 is too large"):
        TSNE(perplexity=5, learning_rate=1e300, method="fft", random_state=0).fit(X)


def test_models_beyond_single_precision():
    with pytest.raises(ValueError, match="scalings_ is beyond"):
        QuadraticDiscriminantAnalysis().fit((1e30 * X[:, :1]).astype(np.float32), labels)
    with pytest.raises(ValueError, match="intercept_ is beyond float32"):
        Ridge().fit(np.zeros((30, 2), dtype=np.float32), 1e300 * np.ones(30))


def test_a_class_without_weight_cannot_be_balanced():
    with pytest.raises(ValueError, match="sample_weight is 0 for all rows of class 2"):
        BalanceCascadeClassifier(2, GaussianNB()).fit(X, labels, sample_weight=(labels < 2).astype(float))


def test_predictions_beyond_floating_point():
    model = ForwardStagewiseRegressor(Ridge(), n_estimators=2, learning_rate=1e300).fit(X, 1e15 * y)
    with pytest.raises(ValueError, match="beyond floating-point"):
        model.predict(1e10 * X)


def test_a_split_that_leaves_no_weight_to_learn_from():
    weight = np.eye(30)[0]
    model = GradientBoostingRegressor(subsample=0.7, validation_fraction=0.9, n_iter_no_change=2)
    with pytest.raises(ValueError, match="no row to learn from has a weight"):
        model.set_params(random_state=1).fit(X, y, sample_weight=weight)


def test_numbers_next_to_zero():
    assert np.isfinite(PolynomialRegression(2).fit(TINY, y).predict(TINY)).all()
    assert np.isfinite(KernelDensity(bandwidth=0.01).fit(TINY).score_samples(TINY)).all()
    near, far = (NearestNeighbors(n_neighbors=3).fit(A).kneighbors(A)[1] for A in (X, 1e-310 * X))
    np.testing.assert_array_equal(near, far)


@pytest.mark.parametrize("code_size", [1e12, 1e300])
def test_codes_of_too_many_letters(code_size):
    with pytest.raises(ValueError, match="code_size is too large"):
        OutputCodeClassifier(GaussianNB(), code_size=code_size).fit(X, labels)


@pytest.mark.parametrize("unit", [1e-80, 1e80])
def test_weights_of_a_descent_in_another_unit(unit):
    weight = 0.1 + RNG.random(30)
    one, other = (
        LinearRegression(solver="gd", max_iter=5000).fit(X, y, sample_weight=w)
        for w in (weight, unit * weight)
    )
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-6)


def test_the_order_of_a_cascade_goes_by_weight():
    weight = np.where(labels == 1, 3.0, 1.0)
    model = CascadeClassifier(GaussianNB(), order="frequency").fit(X, labels, sample_weight=weight)
    assert model.order_[0] == 1


def test_distances_beyond_floating_point():
    with pytest.raises(ValueError, match="beyond floating-point"):
        NearestCentroid().fit(1e-100 * X, labels).predict_proba(1e139 * X)
    rows = X.astype(np.float32)
    with pytest.raises(ValueError, match="beyond floating-point"):
        Isomap(n_neighbors=4).fit(1e300 * X).transform(rows)


def test_sizes_beyond_memory():
    with pytest.raises(ValueError, match="parameter 'n_components' is 1099511627776"):
        GaussianHMM(n_components=2**40).fit(X)
    with pytest.raises(ValueError, match="parameter 'n_prototypes' is 2147483647"):
        LVQ(n_prototypes=2**31 - 1).fit(X, labels)
    with pytest.raises(ValueError, match="1e\\+30 are more than"):
        LatentDirichletAllocation(2, learning_method="gibbs").fit(X[:1], sample_weight=[1e30])


def test_covariances_that_are_singular_by_rounding():
    covariances = np.array([np.eye(2), [[1.0, 1.0 + 1e-15], [1.0 + 1e-15, 1.0]]])
    with pytest.raises(ValueError, match="Gaussian 1 is singular by rounding"):
        log_densities(X[:, :2], np.zeros((2, 2)), covariances)


def test_a_bandwidth_that_nothing_can_be_divided_by():
    with pytest.raises(ValueError, match="parameter 'bandwidth' is 5e-324"):
        KernelDensity(bandwidth=5e-324).fit(X)


def test_batches_whose_rows_have_no_weights():
    rows = np.vstack([np.zeros((4, 3)), X[:6, :3]])
    model = MiniBatchNMF(2, beta_loss=0.1, batch_size=2, max_iter=20, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert np.isfinite(model.fit(rows).components_).all()


@pytest.mark.parametrize("kind", [ElasticNetCV, LassoCV])
def test_a_grid_down_to_nothing(kind):
    assert (kind(eps=5e-324, alphas=3, cv=2).fit(X, y).alphas_ > 0).all()


def test_thresholds_beyond_single_precision():
    stump = DecisionStump().fit(1e300 * X[:, :1], labels)
    assert (stump.predict(X[:, :1].astype(np.float32)) == stump.predict(X[:, :1])).all()


def test_posteriors_of_rows_that_no_state_is_near():
    logs = -1e82 * np.random.default_rng(0).random((6, 3))
    logs -= logs.max(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        start, moves = np.log([1.0, 0.0, 0.0]), np.log(np.array([[2, 4, 1], [1, 3, 3], [7, 0, 0]]) / 7)
    posterior, counts = np.empty_like(logs), np.zeros((3, 3))
    log_smooth_in_pieces(start, moves, logs, np.empty_like(logs), posterior, counts)
    np.testing.assert_allclose(posterior.sum(axis=1), 1.0)
    assert np.isfinite(counts).all()


@pytest.mark.parametrize("limits", [{"calibration_rate": 1.0}, {"calibration_eta": 1e308}])
def test_a_calibration_whose_steps_repeat_themselves(limits):
    sequences = [[{"w": float(value)} for value in row] for row in X[:4]]
    model = CRF(algorithm="l2sgd", max_iterations=2, **limits)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(sequences, [["a", "b"] * (X.shape[1] // 2) + ["a"] * (X.shape[1] % 2)] * 4)
    assert np.isfinite(model.predict_marginals(sequences)[0][0]["a"])


def test_an_intercept_beyond_all_numbers():
    rows = X - 1e9
    with pytest.raises(ValueError, match="intercept_ is beyond float64 numbers: scale the targets"):
        LinearRegression().fit(rows, 1e300 * y)


def test_a_mean_of_predictions_near_the_largest_number():
    model = BaggingRegressor(Ridge(), 2, bootstrap=False, random_state=0).fit(X, 1e300 * y)
    assert np.isfinite(model.predict(1e8 * X)).all()
