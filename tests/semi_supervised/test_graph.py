"""Label propagation and label spreading."""

import warnings

import numpy as np
import pytest
import sklearn.semi_supervised as peer
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from tercet.core.callbacks import Recorder
from tercet.kernels import Laplacian
from tercet.semi_supervised import (
    LabelPropagation,
    LabelSpreading,
    affinity_matrix,
    graph_energy,
    harmonic_function,
    spreading_limit,
    spreading_matrix,
    spreading_step,
)

KINDS = [LabelPropagation, LabelSpreading]
kinds = pytest.mark.parametrize("kind", KINDS)


def rows(n=120, seed=0, classes=3, labelled=0.2):
    rng = np.random.default_rng(seed)
    member = rng.integers(classes, size=n)
    X = rng.normal(size=(n, 3)) + 2.0 * np.eye(3)[member % 3]
    y = np.where(rng.random(n) < labelled, member, -1)
    y[:classes] = member[:classes] = np.arange(classes)
    return X, y, member


@kinds
@pytest.mark.parametrize("options", [{"gamma": 2}, {"kernel": "knn", "n_neighbors": 6}], ids=["rbf", "knn"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_as_scikit_learn(kind, options):
    X, y, _ = rows()
    ours = kind(**options, tol=1e-6).fit(X, y)
    theirs = getattr(peer, kind.__name__)(**options, tol=1e-6).fit(X, y)
    reached = theirs.label_distributions_.sum(axis=1) > 0
    np.testing.assert_allclose(
        ours.label_distributions_[reached], theirs.label_distributions_[reached], atol=1e-12
    )
    np.testing.assert_array_equal(ours.transduction_[reached], theirs.transduction_[reached])
    assert ours.n_iter_ == theirs.n_iter_
    new = rows(seed=1)[0]
    if reached.all():
        np.testing.assert_allclose(ours.predict_proba(new), theirs.predict_proba(new), atol=1e-10)


@kinds
@pytest.mark.parametrize("kernel", ["rbf", "knn"])
def test_passes_lead_to_the_closed_form(kind, kernel):
    X, y, _ = rows()
    options = {"kernel": kernel, "gamma": 1, "n_neighbors": 12}
    passes = kind(**options, tol=1e-13, max_iter=20_000).fit(X, y)
    closed = kind(**options, algorithm="closed-form").fit(X, y)
    np.testing.assert_allclose(passes.label_distributions_, closed.label_distributions_, atol=1e-9)
    np.testing.assert_array_equal(passes.transduction_, closed.transduction_)


@kinds
def test_a_large_sparse_system(kind):
    X, y, member = rows(n=2600, labelled=0.05)
    options = {"kernel": "knn", "n_neighbors": 12}
    closed = kind(**options, algorithm="closed-form").fit(X, y)
    passes = kind(**options, tol=1e-10, max_iter=20_000).fit(X, y)
    np.testing.assert_allclose(passes.label_distributions_, closed.label_distributions_, atol=1e-6)
    assert (closed.transduction_ == member).mean() > 0.75


def test_the_harmonic_function_has_the_least_energy():
    rng = np.random.default_rng(0)
    W = affinity_matrix(rng.normal(size=(12, 2)), 0.7)
    given = np.where(np.arange(12) < 3, rng.normal(size=12), np.nan)
    f = harmonic_function(W, given)
    least = graph_energy(W, f)
    for _ in range(20):
        other = f + 0.1 * rng.normal(size=12) * np.isnan(given)
        assert graph_energy(W, other) > least
    inner = np.isnan(given)
    np.testing.assert_allclose(f[inner], (W @ f / W.sum(axis=1))[inner])  # the mean of the neighbours
    assert given[~inner].min() <= f.min() <= f.max() <= given[~inner].max()  # the maximum principle
    pairs = 0.5 * (W * (f[:, None] - f) ** 2).sum()
    assert pairs == pytest.approx(least)


def test_the_limit_of_spreading_minimises_the_regulariser_over_all_rows():
    rng = np.random.default_rng(0)
    W, alpha = affinity_matrix(rng.normal(size=(8, 2))), 0.3
    Y = np.zeros((8, 2))
    Y[0, 0] = Y[1, 1] = 1
    d, mu = np.sqrt(W.sum(axis=1)), (1 - alpha) / alpha

    def cost(F):  # (11.16), its last sum over all rows
        apart = F[:, None] / d[:, None, None] - F / d[:, None]
        return 0.5 * (W * (apart**2).sum(axis=2)).sum() + mu * ((F - Y) ** 2).sum()

    F = spreading_limit(W, Y, alpha)
    for _ in range(20):
        assert cost(F + 0.05 * rng.normal(size=F.shape)) > cost(F)
    np.testing.assert_allclose(spreading_step(W, F, Y, alpha), F)  # a fixed point
    model = LabelSpreading("precomputed", alpha=alpha, algorithm="closed-form")
    found = model.fit(W, [0, 1] + [-1] * 6).label_distributions_
    np.testing.assert_allclose(found, F / F.sum(axis=1, keepdims=True))


@kinds
@pytest.mark.parametrize("algorithm", ["iterative", "closed-form"])
def test_a_graph_in_pieces(kind, algorithm):
    W = sparse.block_diag([np.ones((3, 3)), np.ones((2, 2)), np.zeros((1, 1))], format="csr")
    y = np.array(["a", "b", "b", None, None, None], dtype=object)
    with pytest.warns(ConvergenceWarning, match=r"no label has come to 3 of 6 rows \(row 3 is the first\)"):
        model = kind("precomputed", algorithm=algorithm).fit(W, y)
    assert model.transduction_.tolist()[3:] == ["b", "b", "b"]  # the most frequent label
    with pytest.warns(ConvergenceWarning, match=r"and so the label 7\."):
        kind("precomputed", algorithm=algorithm).fit(W, [4, 7, 7, -1, -1, -1])
    np.testing.assert_allclose(model.label_distributions_[3:], [[1 / 3, 2 / 3]] * 3)
    assert np.isfinite(model.predict_proba(np.zeros((1, 6)))).all()
    dense = kind("precomputed", algorithm=algorithm)
    with pytest.warns(ConvergenceWarning):
        dense.fit(W.toarray(), y)
    np.testing.assert_allclose(dense.label_distributions_, model.label_distributions_, atol=1e-12)
    with pytest.raises(ValueError, match=r"no path leads from the nodes \[3, 4, 5\]"):
        harmonic_function(W, [1, -1] + [np.nan] * 4)


@kinds
@pytest.mark.parametrize("kernel", ["rbf", "knn"])
def test_same_bits_for_any_number_of_threads(kind, kernel, monkeypatch):
    import tercet.semi_supervised._graph.passes as passes

    monkeypatch.setattr(passes, "SPAN", 200)
    X, y, _ = rows(n=300)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one, three = (kind(kernel, gamma=1, n_jobs=n).fit(X, y).label_distributions_ for n in (1, 3))
    np.testing.assert_array_equal(one, three)


@kinds
def test_sparse_rows_and_weights(kind):
    X, y, _ = rows()
    X = np.where(X > 0, X, 0.0)
    model = kind(gamma=1).fit(X, y)
    np.testing.assert_allclose(
        kind(gamma=1).fit(sparse.csr_array(X), y).label_distributions_, model.label_distributions_, atol=1e-12
    )
    weight = np.random.default_rng(1).integers(1, 4, size=len(y))
    weighted = kind(gamma=1, tol=1e-10, max_iter=5000).fit(X, y, sample_weight=weight)
    repeated = kind(gamma=1, tol=1e-10, max_iter=5000).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    first = np.cumsum(weight) - weight
    np.testing.assert_allclose(weighted.label_distributions_, repeated.label_distributions_[first], atol=1e-8)
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-8)


@kinds
def test_kernels(kind):
    X, y, _ = rows()
    named = kind(gamma=1).fit(X, y)
    function = kind(lambda a, b: np.exp(-((a[:, None] - b) ** 2).sum(axis=2))).fit(X, y)
    np.testing.assert_allclose(function.label_distributions_, named.label_distributions_, atol=1e-10)
    np.testing.assert_allclose(function.predict_proba(X[:5]), named.predict_proba(X[:5]), atol=1e-10)
    matrix = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    given = kind("precomputed").fit(matrix, y)
    np.testing.assert_allclose(given.label_distributions_, named.label_distributions_, atol=1e-10)
    np.testing.assert_allclose(given.predict_proba(matrix[:5]), named.predict_proba(X[:5]), atol=1e-10)
    assert kind(Laplacian(gamma=1.0)).fit(X, y).predict(X).shape == y.shape
    with pytest.raises(ValueError, match=r"must give a weight of at least 0 for each pair"):
        kind(lambda a, b: a @ b.T).fit(X, y)
    with pytest.raises(ValueError, match=r"X must be the square matrix of the weights"):
        kind("precomputed").fit(np.abs(X), y)


def test_given_labels_stay_in_propagation_and_may_change_in_spreading():
    X = np.concatenate([np.linspace(0, 1, 20), np.linspace(5, 6, 20)])[:, None]
    y = np.full(40, -1)
    y[[0, 5, 10, 15]], y[[20, 25]] = 0, 1
    y[7] = 1  # a wrong label amid the others
    stays = LabelPropagation(gamma=50).fit(X, y)
    changes = LabelSpreading(gamma=50, alpha=0.9, max_iter=500).fit(X, y)
    assert stays.transduction_[7] == 1
    assert changes.transduction_[7] == 0


def test_class_mass_normalisation():
    X, y, _ = rows(n=300)
    plain = LabelPropagation(gamma=0.2).fit(X, y)
    mass = LabelPropagation(gamma=0.2, class_mass_normalization=True).fit(X, y)
    known = y >= 0
    shares = np.bincount(y[known]) / known.sum()
    scores = plain.label_distributions_[~known]
    wanted = (scores * shares / scores.sum(axis=0)).argmax(axis=1)
    np.testing.assert_array_equal(mass.transduction_[~known], wanted)
    np.testing.assert_array_equal(mass.transduction_[known], y[known])


@kinds
def test_labels_reach_farther_with_each_pass(kind):
    """On a chain without loops, a label takes one pass for each edge."""
    W = np.diag(np.ones(5), 1) + np.diag(np.ones(5), -1)
    recorder = Recorder()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kind("precomputed", max_iter=2, tol=0).set_callbacks(recorder).fit(W, [0, -1, -1, -1, -1, 1])
    reached = [
        int((frame.attributes["label_distributions_"] != 0.5).any(axis=1).sum()) for frame in recorder.frames
    ]
    assert reached == [4, 6]


def test_the_matrix_of_a_graph_without_edges():
    np.testing.assert_array_equal(spreading_matrix(np.eye(2)), np.zeros((2, 2)))
    with pytest.raises(ValueError, match="sigma must be a positive number"):
        affinity_matrix([[0.0]], 0.0)
    with pytest.raises(ValueError, match="W must be a square matrix"):
        graph_energy([[1.0, 2.0]], [1.0])
