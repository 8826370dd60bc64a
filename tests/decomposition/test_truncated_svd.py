"""Truncated SVD as a transformer."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import decomposition as peer

from tercet import Recorder
from tercet.core import chunks
from tercet.decomposition import PCA, TruncatedSVD

ALGORITHMS = ["arpack", "randomized", "lanczos"]


@pytest.fixture(scope="module")
def counts():
    """Word counts of a few topics, and rows without any word."""
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(200, 0.05), size=6)
    X = np.array([rng.multinomial(40, topics[k % 6]) for k in range(240)]).astype(float)
    X[::17] = 0
    return X


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csc_matrix])
def test_agrees_with_scikit_learn(counts, algorithm, form):
    exact = peer.TruncatedSVD(5, algorithm="arpack", random_state=0).fit(counts)
    model = TruncatedSVD(5, algorithm=algorithm, n_iter=20, random_state=0)
    scores = model.fit_transform(form(counts))
    for name in ("components_", "singular_values_", "explained_variance_", "explained_variance_ratio_"):
        np.testing.assert_allclose(getattr(model, name), getattr(exact, name), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(scores, exact.transform(counts), atol=1e-7)
    np.testing.assert_allclose(
        model.inverse_transform(scores), exact.inverse_transform(exact.transform(counts)), atol=1e-7
    )
    assert list(model.get_feature_names_out()) == [f"truncatedsvd{k}" for k in range(5)]


def test_lanczos_goes_on_until_the_tolerance_is_met(counts):
    exact = np.linalg.svd(counts, compute_uv=False)[:20]
    loose = TruncatedSVD(20, algorithm="lanczos", tol=1e-2, random_state=0).fit(counts)
    np.testing.assert_allclose(loose.singular_values_, exact, rtol=5e-3)
    tight = TruncatedSVD(20, algorithm="lanczos", random_state=0).fit(counts)
    np.testing.assert_allclose(tight.singular_values_, exact, rtol=1e-11)
    assert loose.n_iter_ <= tight.n_iter_
    assert tight.history_["residual"][-1] < 1e-12


def test_passes_of_lanczos_can_be_watched(counts):
    """Each pass shows a model that transforms rows; a restart does not change what was shown."""
    recorder = Recorder()
    model = TruncatedSVD(30, algorithm="lanczos", random_state=0).set_callbacks(recorder).fit(counts)
    assert len(recorder.frames) == model.n_iter_ > 10
    kept = [frame.attributes["singular_values_"].sum() for frame in recorder.frames]
    assert (np.diff(kept) > -1e-9).all()
    np.testing.assert_allclose(recorder.frames[-1].attributes["components_"], model.components_, atol=1e-9)
    model = PCA(12, svd_solver="lanczos", random_state=0).set_callbacks(Stop()).fit(counts)
    assert model.n_iter_ == 1
    assert model.transform(counts).shape[1] == model.n_components_ <= 12


class Stop:
    """Ends a fit after its first pass."""

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        return context.parent is not None


@pytest.mark.parametrize("algorithm", ["randomized", "lanczos"])
def test_same_bits_for_any_number_of_threads(counts, algorithm, monkeypatch):
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 1 << 12)
    models = [
        TruncatedSVD(4, algorithm=algorithm, random_state=0, n_jobs=jobs).fit(sparse.csr_array(counts))
        for jobs in (1, 2, 5)
    ]
    for model in models[1:]:
        np.testing.assert_array_equal(model.components_, models[0].components_)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_tables_without_numbers(algorithm):
    for X in (np.zeros((6, 4)), np.ones((6, 4)), sparse.csr_array((6, 4)), np.eye(6, 4) * 1e-200):
        model = TruncatedSVD(2, algorithm=algorithm, random_state=0).fit(X)
        for name in ("components_", "singular_values_", "explained_variance_ratio_"):
            assert np.isfinite(getattr(model, name)).all()
        np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(2), atol=1e-10)


def test_what_is_refused(counts):
    with pytest.raises(ValueError, match="n_components=201 must be <= n_features=200"):
        TruncatedSVD(201).fit(counts)
    with pytest.raises(
        ValueError, match=r"n_components=200 must be less than min\(n_samples, n_features\)=200"
    ):
        TruncatedSVD(200, algorithm="arpack").fit(counts)
    with pytest.raises(ValueError, match="X has 3 columns; expected are 2"):
        TruncatedSVD(random_state=0).fit(counts).inverse_transform(np.ones((1, 3)))
    with pytest.raises(ValueError, match="explained_variance_ is beyond floating-point numbers"):
        TruncatedSVD(2, random_state=0).fit(counts * 1e200)
    with pytest.raises(ValueError, match="NaN"):
        TruncatedSVD().fit(np.where(counts > 3, np.nan, counts))
