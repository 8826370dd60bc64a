"""Principal component analysis: the theorems of Li ch. 16, agreement with scikit-learn, and bad input."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn import decomposition as peer
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from tercet.cluster import KMeans
from tercet.core import chunks
from tercet.decomposition import (
    PCA,
    IncrementalPCA,
    choose_n_components,
    contribution_rates,
    factor_loadings,
    linear_projection,
    orthogonal_complement,
    principal_components,
    projected_variance,
    sample_moments,
    standardize,
    variable_contributions,
)

SOLVERS = ["full", "covariance_eigh", "arpack", "randomized", "lanczos"]
ATTRIBUTES = ("components_", "explained_variance_", "explained_variance_ratio_", "singular_values_", "mean_")


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    return (
        rng.normal(size=(80, 3)) * [3, 2, 1] @ rng.normal(size=(3, 6)) + 0.1 * rng.normal(size=(80, 6)) + 50
    )


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("whiten", [False, True])
def test_agrees_with_scikit_learn(X, solver, whiten):
    theirs = peer.PCA(3, svd_solver="full", whiten=whiten).fit(X)
    model = PCA(3, svd_solver=solver, whiten=whiten, random_state=0, iterated_power=20).fit(X)
    for name in ATTRIBUTES:
        np.testing.assert_allclose(getattr(model, name), getattr(theirs, name), rtol=1e-8, atol=1e-9)
    assert model.noise_variance_ == pytest.approx(theirs.noise_variance_)
    np.testing.assert_allclose(model.transform(X), theirs.transform(X), atol=1e-8)
    np.testing.assert_allclose(
        model.inverse_transform(model.transform(X)), theirs.inverse_transform(theirs.transform(X))
    )
    np.testing.assert_allclose(model.get_covariance(), peer.PCA(3).fit(X).get_covariance(), atol=1e-9)
    np.testing.assert_allclose(model.get_precision() @ model.get_covariance(), np.eye(6), atol=1e-6)
    np.testing.assert_allclose(model.score_samples(X), peer.PCA(3).fit(X).score_samples(X), rtol=1e-7)


@pytest.mark.parametrize("solver", [*SOLVERS, "auto"])
@pytest.mark.parametrize("scale", [False, True])
def test_sparse_rows_are_centred_without_becoming_dense(X, solver, scale):
    table = np.where(np.abs(X - 50) < 1.5, 0.0, X - 49)
    dense = PCA(3, svd_solver="full", scale=scale).fit(table)
    model = PCA(3, svd_solver=solver, scale=scale, random_state=0, iterated_power=30)
    if solver == "full":
        with pytest.raises(TypeError, match=r"PCA only support sparse inputs.*\"full\""):
            model.fit(sparse.csr_array(table))
        return
    model.fit(sparse.csr_array(table))
    for name in (*ATTRIBUTES, "feature_variance_"):
        np.testing.assert_allclose(getattr(model, name), getattr(dense, name), rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(model.transform(sparse.csc_matrix(table)), dense.transform(table), atol=1e-7)


def test_covariance_of_very_sparse_rows():
    table = sparse.random_array((300, 40), density=0.03, rng=np.random.default_rng(0), format="csr")
    weight = 1.0 + np.arange(300) % 2
    model = PCA(5, svd_solver="covariance_eigh").fit(table, sample_weight=weight)
    dense = PCA(5, svd_solver="full").fit(table.toarray(), sample_weight=weight)
    for name in (*ATTRIBUTES, "feature_variance_"):
        np.testing.assert_allclose(getattr(model, name), getattr(dense, name), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("scale", [False, True])
def test_theorems(X, scale):
    model = PCA(scale=scale, svd_solver="full").fit(X)
    S = np.corrcoef(X.T) if scale else np.cov(X.T)
    scores, A, variances = model.transform(X), model.components_, model.explained_variance_
    np.testing.assert_allclose(np.cov(scores.T), np.diag(variances), atol=1e-9)  # P16-1
    np.testing.assert_allclose(A @ S @ A.T, np.diag(variances), atol=1e-9)
    assert variances.sum() == pytest.approx(np.trace(S))  # P16-2
    np.testing.assert_allclose(model.loadings_**2 @ model.feature_variance_, variances)  # P16-3
    np.testing.assert_allclose((model.loadings_**2).sum(axis=0), 1)
    correlations = np.corrcoef(scores.T, X.T)[:6, 6:]
    np.testing.assert_allclose(model.loadings_, correlations, atol=1e-6)
    by_eigenvectors = principal_components(np.cov(X.T), correlation=scale)  # P16-4
    np.testing.assert_allclose(by_eigenvectors.variances, variances, atol=1e-9)
    np.testing.assert_allclose(by_eigenvectors.components, A, atol=1e-6)
    few = PCA(2, scale=scale, svd_solver="full").fit(X)
    np.testing.assert_allclose(
        few.variable_contributions_, variable_contributions(variances[:2], A[:2], np.diag(S))
    )
    assert few.reconstruction_error(X) == pytest.approx(np.sqrt(79 * variances[2:].sum()))  # 16-12
    np.testing.assert_allclose(model.cumulative_variance_ratio_, contribution_rates(variances)[1])


def test_bounds_of_projected_variance(X):
    S, rng = np.cov(X.T), np.random.default_rng(1)
    for q in (1, 3):  # P16-5
        for _ in range(10):
            B = np.linalg.qr(rng.normal(size=(6, q)))[0]
            trace, least, most = projected_variance(S, B)
            assert least <= trace <= most
        assert projected_variance(S, principal_components(S, q).components.T)[0] == pytest.approx(most)


def test_components_one_after_the_other(X):
    """16-01: α_k has the largest variance of all unit vectors orthogonal to those before (16.7, 16.9)."""
    S, rng = np.cov(X.T), np.random.default_rng(2)
    variances, components = principal_components(S)
    for k in range(3):
        free = orthogonal_complement(components[:k].T) if k else np.eye(6)
        for _ in range(20):
            a = free @ rng.normal(size=free.shape[1])
            assert a @ S @ a / (a @ a) <= variances[k] * (1 + 1e-12)
        np.testing.assert_allclose(components[k] @ S @ components[:k].T, 0, atol=1e-12)  # not correlated
        assert components[k] @ S @ components[k] == pytest.approx(variances[k])
    scores = linear_projection(X, components.T)  # E y = α'μ: a population's scores are not centred
    np.testing.assert_allclose(scores.mean(axis=0), components @ X.mean(axis=0))


def test_moments_and_standardised_rows(X):
    """16-08, 16-09; the covariance of standardised rows is the correlation (16.49)."""
    found = sample_moments(X)
    np.testing.assert_allclose(found.mean, X.mean(axis=0))
    np.testing.assert_allclose(found.covariance, np.cov(X.T))
    np.testing.assert_allclose(found.correlation, np.corrcoef(X.T), atol=1e-12)
    Z = standardize(X)
    np.testing.assert_allclose(sample_moments(Z).covariance, found.correlation, atol=1e-12)
    scaled = PCA(svd_solver="full", scale=True).fit(X)
    np.testing.assert_allclose(Z @ scaled.components_.T, scaled.transform(X), atol=1e-9)
    odd = np.column_stack([X[:, 0] * 1e200, np.full(80, 0.1), X[:, 1] * 1e-200])
    Z = standardize(odd)
    np.testing.assert_allclose(Z.std(axis=0, ddof=1), [1, 0, 1])
    assert (Z[:, 1] == 0).all()
    assert sample_moments(X * 1e-160).correlation == pytest.approx(found.correlation, abs=1e-9)
    for call in (sample_moments, standardize):
        with pytest.raises(ValueError, match="X must have two rows or more"):
            call(X[:1])


def test_no_more_components_than_rows_less_one():
    X = np.random.default_rng(0).normal(size=(4, 9))
    variances = PCA(svd_solver="full").fit(X).explained_variance_  # P16-6
    assert (variances > 1e-12).sum() == 3
    assert PCA(svd_solver="covariance_eigh").fit(X).n_components_ == 4


@pytest.mark.parametrize("solver", ["full", "covariance_eigh", "lanczos"])
@pytest.mark.parametrize("scale", [False, True])
def test_a_weight_of_two_is_a_row_twice(X, solver, scale):
    weight = np.arange(80) % 3
    twice = PCA(3, svd_solver="full", scale=scale).fit(np.repeat(X, weight, axis=0))
    model = PCA(3, svd_solver=solver, scale=scale, random_state=0).fit(X, sample_weight=weight)
    for name in ATTRIBUTES:
        np.testing.assert_allclose(getattr(model, name), getattr(twice, name), rtol=1e-8, atol=1e-8)


def test_number_of_components(X):
    shares = PCA().fit(X).explained_variance_ratio_.cumsum()
    for share in (0.5, 0.95, 0.9999):
        assert PCA(share).fit(X).n_components_ == peer.PCA(share).fit(X).n_components_
    assert PCA(float(shares[1])).fit(X).n_components_ == 3  # must exceed the share, as in scikit-learn
    assert (
        choose_n_components(PCA().fit(X).explained_variance_, float(shares[1])) == 2
    )  # must reach it, as in the text
    assert PCA("mle").fit(X).n_components_ == peer.PCA("mle").fit(X).n_components_ == 3
    assert PCA("mle").fit(X * 1e-9).n_components_ == 3
    none = PCA(0, svd_solver="full").fit(X)
    assert none.transform(X).shape == (80, 0)
    assert none.score(X) == pytest.approx(peer.PCA(0, svd_solver="full").fit(X).score(X))


def test_cross_validation_chooses_the_components(X):
    search = GridSearchCV(PCA(svd_solver="full"), {"n_components": [1, 2, 3, 4, 5]}).fit(X)
    assert search.best_params_ == {"n_components": 3}


def test_components_before_clustering():
    rng = np.random.default_rng(0)
    labels = np.arange(90) % 3
    X = np.hstack(
        [
            rng.normal(size=(90, 2)) * 0.3 + np.array([[0, 0], [4, 0], [0, 4]])[labels],
            rng.normal(size=(90, 6)) * 0.3,
        ]
    )
    found = make_pipeline(PCA(2), KMeans(3, random_state=0)).fit_predict(X)
    assert adjusted_rand_score(labels, found) == 1


def test_same_bits_for_any_number_of_threads(monkeypatch):
    monkeypatch.setattr(chunks, "GRAIN", 8)
    X = np.random.default_rng(0).normal(size=(70_000, 30))
    models = [PCA(3, n_jobs=jobs).fit(X) for jobs in (1, 2, 5)]
    for model in models[1:]:
        for name in ATTRIBUTES:
            np.testing.assert_array_equal(getattr(model, name), getattr(models[0], name))
        np.testing.assert_array_equal(model.transform(X), models[0].transform(X))
    np.testing.assert_allclose(models[0].explained_variance_, peer.PCA(3).fit(X).explained_variance_)


def test_a_large_mean_costs_no_digits():
    X = np.random.default_rng(0).normal(size=(200, 3)) * [3, 2, 1]
    near, far = PCA().fit(X), PCA().fit(X + 1e7)
    np.testing.assert_allclose(far.explained_variance_, near.explained_variance_, rtol=1e-7)
    single = PCA().fit((X + 1000).astype(np.float32))
    assert single.components_.dtype == np.float32
    np.testing.assert_allclose(single.explained_variance_, near.explained_variance_, rtol=1e-3)


@pytest.mark.parametrize("solver", SOLVERS)
def test_rank_deficient_and_constant_columns(solver):
    X = np.outer(np.arange(12.0), [1, 2, 0, 0, -1]) + np.array([0, 0, 3, 0, 0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for scale in (False, True):
            model = PCA(3, svd_solver=solver, scale=scale, whiten=True, random_state=0).fit(X)
            assert model.explained_variance_ratio_[0] == pytest.approx(1)
            scores = model.transform(X)
            assert np.isfinite(scores).all()
            np.testing.assert_allclose(model.inverse_transform(scores), X, atol=1e-6)
            assert np.isfinite(model.loadings_).all()
            constant = PCA(2, svd_solver=solver, scale=scale, random_state=0).fit(np.ones((6, 4)))
            np.testing.assert_array_equal(constant.explained_variance_ratio_, 0)
            np.testing.assert_allclose(constant.transform(np.ones((6, 4))), 0, atol=1e-12)


@pytest.mark.parametrize("size", [1e-200, 1e150, 1e300])
def test_numbers_near_the_limits(X, size):
    small = X - 50
    near = PCA(2).fit(small)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        far = PCA(2, whiten=True).fit(small * size)
    np.testing.assert_allclose(far.components_, near.components_, atol=1e-9)
    np.testing.assert_allclose(far.explained_variance_ratio_, near.explained_variance_ratio_)
    np.testing.assert_allclose(far.singular_values_ / size, near.singular_values_)
    np.testing.assert_allclose(far.transform(small * size).var(axis=0, ddof=1), 1)
    scaled = PCA(2, scale=True).fit(small * size)
    np.testing.assert_allclose(scaled.explained_variance_, PCA(2, scale=True).fit(small).explained_variance_)


def test_variances_beyond_floating_point_are_announced(X):
    with pytest.warns(RuntimeWarning, match="explained_variance_ is beyond floating-point numbers"):
        PCA(1).fit(X * 1e200)


def test_what_is_refused(X):
    refused = [
        (lambda: PCA(7).fit(X), r"n_components=7 must be between 0 and min\(n_samples, n_features\)=6"),
        (lambda: PCA(6, svd_solver="arpack").fit(X), "must be strictly less than"),
        (lambda: PCA(0, svd_solver="lanczos").fit(X), "n_components=0 must be between 1"),
        (lambda: PCA("mle", svd_solver="lanczos").fit(X), "n_components='mle' cannot be a string"),
        (lambda: PCA("mle").fit(X[:5]), "only supported if n_samples >= n_features"),
        (lambda: PCA(1.5).fit(X), "parameter 'n_components' must be"),
        (lambda: PCA().fit(X[:1]), "n_samples=1"),
        (lambda: PCA().fit(X, sample_weight=np.full(80, 1e-3)), "sample_weight adds up to 0.08"),
        (lambda: PCA(2).fit(X).transform(X[:, :5]), "6 features"),
        (lambda: PCA(2).fit(X).inverse_transform(X), "X has 6 columns; expected are 2"),
        (lambda: PCA(2).fit(np.ones((5, 3))).score(X[:, :3]), "variance of the rows is 0"),
    ]
    for call, words in refused:
        with pytest.raises(ValueError, match=words):
            call()
    for solver in ("full", "covariance_eigh", "lanczos", "auto"):
        for wrong, word in (
            (np.nan, r"Input X contains NaN\.\nPCA does not"),
            (np.inf, "X contains infinity"),
        ):
            table = X.copy()
            table[7, 2] = wrong
            with pytest.raises(ValueError, match=word):
                PCA(2, svd_solver=solver).fit(table)


def test_quantities_of_a_covariance_matrix():
    S = np.array([[4.0, 1.0, 0.0], [1.0, 3.0, 0.0], [0.0, 0.0, 0.0]])
    variances, components = principal_components(S)
    loadings = factor_loadings(variances, components, S)
    assert np.isfinite(loadings).all()
    np.testing.assert_allclose((loadings**2).sum(axis=0), [1, 1, 0], atol=1e-12)
    with pytest.raises(ValueError, match=r"entry \[0, 1\] is 1 and \[1, 0\] is 2"):
        principal_components([[1.0, 1.0], [2.0, 1.0]])
    with pytest.raises(ValueError, match="has the eigenvalue -1"):
        principal_components([[0.0, 1.0], [1.0, 0.0]])
    with pytest.raises(ValueError, match="k must be an integer from 1 to 3; got 4"):
        principal_components(S, 4)
    with pytest.raises(ValueError, match="share must be above 0 and at most 1"):
        choose_n_components([1.0], 0)


def test_batches_come_to_the_components_of_all_rows(X):
    whole = peer.PCA(svd_solver="full").fit(X)
    model = IncrementalPCA(batch_size=20).fit(X)
    for name in (
        "explained_variance_",
        "explained_variance_ratio_",
        "singular_values_",
        "mean_",
        "components_",
    ):
        np.testing.assert_allclose(getattr(model, name), getattr(whole, name), atol=1e-8)
    np.testing.assert_allclose(model.var_, X.var(axis=0))
    theirs, ours = peer.IncrementalPCA(2), IncrementalPCA(2)
    for rows in (X[:30], X[30:35], X[35:]):
        theirs.partial_fit(rows)
        ours.partial_fit(rows)
        for name in ("components_", "explained_variance_", "mean_", "var_", "explained_variance_ratio_"):
            np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-8, atol=1e-9)
        assert ours.noise_variance_ == pytest.approx(theirs.noise_variance_)
        assert ours.n_samples_seen_ == theirs.n_samples_seen_
    np.testing.assert_allclose(
        IncrementalPCA(2, batch_size=20).fit(sparse.csr_array(X)).transform(sparse.csr_array(X)),
        IncrementalPCA(2, batch_size=20).fit(X).transform(X),
    )
    with pytest.raises(ValueError, match="n_components=7 invalid for n_features=6"):
        IncrementalPCA(7).fit(X)
    with pytest.raises(ValueError, match="batch number of samples 1"):
        IncrementalPCA(2).partial_fit(X[:1])
    with pytest.raises(TypeError, match="does not support sparse input"):
        IncrementalPCA(2).partial_fit(sparse.csr_array(X))
