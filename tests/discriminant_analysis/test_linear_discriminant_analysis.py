"""Linear discriminant analysis: the peer's numbers, the texts' equations, and what must not matter."""

from __future__ import annotations

from itertools import product

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.covariance import OAS
from sklearn.covariance import ledoit_wolf as peer_ledoit_wolf
from sklearn.datasets import load_iris, load_wine, make_classification
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis as Peer
from sklearn.utils.estimator_checks import check_estimator

from tercet import Recorder
from tercet.core.row_products import row_products
from tercet.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    fisher_directions,
    rayleigh_quotient,
    scatter_matrices,
    trace_ratio,
)
from tercet.discriminant_analysis.covariance import covariance

SOLVERS = ["svd", "lsqr", "eigen", "fisher", "trace-ratio"]
X, y = load_wine(return_X_y=True)
two = y < 2


def agree(ours, peer, X):
    for name in (
        "coef_",
        "intercept_",
        "means_",
        "priors_",
        "covariance_",
        "xbar_",
        "explained_variance_ratio_",
    ):
        if hasattr(peer, name):
            assert_allclose(getattr(ours, name), getattr(peer, name), rtol=1e-6, atol=1e-8, err_msg=name)
    assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=1e-9)
    assert_allclose(ours.predict_log_proba(X), peer.predict_log_proba(X), rtol=1e-6, atol=1e-8)
    assert_array_equal(ours.predict(X), peer.predict(X))
    if hasattr(peer, "scalings_"):
        assert_allclose(np.abs(ours.transform(X)), np.abs(peer.transform(X)), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("rows", [slice(None), two], ids=["three classes", "two classes"])
@pytest.mark.parametrize("given_priors", [False, True])
@pytest.mark.parametrize(
    ("solver", "options"),
    [
        ("svd", {}),
        ("svd", {"store_covariance": True, "n_components": 1}),
        ("svd", {"tol": 1e-8}),
        ("lsqr", {}),
        ("lsqr", {"shrinkage": 0.3}),
        ("lsqr", {"shrinkage": "auto"}),
        ("eigen", {}),
        ("eigen", {"shrinkage": "auto"}),
        ("eigen", {"shrinkage": 0.1, "n_components": 1}),
        ("eigen", {"covariance_estimator": OAS()}),
    ],
)
def test_same_as_peer(rows, given_priors, solver, options):
    A, b = X[rows], y[rows]
    if given_priors:
        options = {**options, "priors": np.array([0.2, 0.5, 0.3])[: b.max() + 1] / [0.7, 1.0][b.max() - 1]}
    agree(
        LinearDiscriminantAnalysis(solver, **options).fit(A, b), Peer(solver=solver, **options).fit(A, b), A
    )


def test_more_features_than_rows():
    A, b = make_classification(60, 200, n_informative=8, n_classes=3, random_state=0)
    agree(LinearDiscriminantAnalysis().fit(A, b), Peer().fit(A, b), A)


@pytest.mark.parametrize("shape", [(40, 5), (10, 30), (30, 1)])
def test_ledoit_wolf(shape):
    A = np.random.default_rng(0).normal(size=shape) @ np.diag(np.linspace(1, 2, shape[1])) + 3
    std = A.std(axis=0)
    wanted = peer_ledoit_wolf((A - A.mean(axis=0)) / std)[0] * np.outer(std, std)
    assert_allclose(covariance(A, None, shrinkage="auto"), wanted, rtol=1e-10)


@pytest.mark.parametrize(("solver", "shrinkage"), [("svd", None), *product(SOLVERS[1:], [None, 0.2, "auto"])])
def test_weight_is_repetition(solver, shrinkage):
    times = np.random.default_rng(0).integers(0, 4, size=y.size)
    weighted = LinearDiscriminantAnalysis(solver, shrinkage).fit(X, y, times)
    repeated = LinearDiscriminantAnalysis(solver, shrinkage).fit(X.repeat(times, axis=0), y.repeat(times))
    assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-6, atol=1e-12)
    assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
def test_threads_do_not_matter(solver):
    A, b = make_classification(30_000, 24, n_informative=10, n_classes=3, random_state=0)
    models = [
        LinearDiscriminantAnalysis(solver, n_jobs=n).fit(A, b, np.arange(b.size) % 3) for n in (1, 2, 7)
    ]
    for model in models[1:]:
        assert_array_equal(model.coef_, models[0].coef_)
        assert_array_equal(model.intercept_, models[0].intercept_)


def test_scatter_matrices_add_up():
    S = scatter_matrices(X, y)
    assert_allclose(S.total, np.cov(X.T, ddof=0) * len(X), rtol=1e-9)
    assert_allclose(S.within + S.between, S.total)
    by_hand = sum(np.cov(X[y == k].T, ddof=0) * (y == k).sum() for k in range(3))
    assert_allclose(S.within, by_hand, rtol=1e-9)


def test_fisher_solves_the_generalised_eigenproblem():
    model = LinearDiscriminantAnalysis("fisher").fit(X, y)
    Sw, Sb, W = model.within_scatter_, model.between_scatter_, model.scalings_
    assert W.shape == (13, 2)
    assert_allclose(W.T @ Sw @ W, np.eye(2), atol=1e-10)
    assert_allclose(Sb @ W, Sw @ W * model.eigenvalues_, rtol=1e-6, atol=1e-6)
    assert (W[np.abs(W).argmax(axis=0), [0, 1]] > 0).all()
    assert_array_equal(model.transform(X), row_products(X, W.T))


def test_any_two_scatter_matrices_do():
    S = scatter_matrices(X, y)
    wanted_values, wanted = fisher_directions(S.within, S.between, n_components=2)
    for pair in ({"within": S.within, "total": S.total}, {"between": S.between, "total": S.total}):
        values, W = fisher_directions(**pair, n_components=2)
        assert_allclose(values, wanted_values, rtol=1e-5)
        assert_allclose(W, wanted, rtol=1e-4, atol=1e-8)
    with pytest.raises(ValueError, match="two of within, between and total"):
        fisher_directions(S.within)


def test_two_class_direction_has_the_largest_quotient():
    A, b = X[two], y[two]
    model = LinearDiscriminantAnalysis("fisher").fit(A, b)
    mu0, mu1 = model.means_
    assert_allclose(model.coef_[0], np.linalg.solve(model.within_scatter_, mu1 - mu0), rtol=1e-6)
    assert_allclose(model.intercept_[0], -model.coef_[0] @ (mu0 + mu1) / 2)
    apart = np.outer(mu0 - mu1, mu0 - mu1)
    best = rayleigh_quotient(model.coef_[0], apart, model.within_scatter_)
    assert_allclose(best, (mu1 - mu0) @ model.coef_[0])
    others = np.random.default_rng(0).normal(size=(200, 13)) * model.coef_[0]
    assert all(rayleigh_quotient(w, apart, model.within_scatter_) <= best for w in others)


def test_fisher_with_priors_is_bayes_rule():
    share = np.bincount(y) / y.size
    fisher = LinearDiscriminantAnalysis("fisher", priors=share).fit(X, y)
    bayes = LinearDiscriminantAnalysis().fit(X, y)
    assert_allclose(fisher.predict_proba(X), bayes.predict_proba(X), atol=1e-8)
    assert_allclose(fisher.predict_log_proba(X), bayes.predict_log_proba(X), rtol=1e-5, atol=1e-8)


@given(
    hnp.arrays(np.float64, (12, 3), elements=st.floats(-10, 10, width=16)),
    st.integers(0, 2**32 - 1),
)
@settings(max_examples=50, deadline=None)
def test_nearest_projected_mean_wins(noise, seed):
    rng = np.random.default_rng(seed)
    b = np.arange(12) % 3
    A = noise + rng.normal(size=(12, 3)) + 5 * np.eye(3)[b]
    model = LinearDiscriminantAnalysis("fisher").fit(A, b)
    Z = model.transform(A)
    far = ((Z[:, None] - model.transform(model.means_)[None]) ** 2).sum(axis=2)
    nearest = np.sort(far, axis=1)
    clear = nearest[:, 1] - nearest[:, 0] > 1e-8
    assert_array_equal(model.predict(A)[clear], far.argmin(axis=1)[clear])


def test_trace_ratio_rises_to_its_best():
    S = scatter_matrices(X, y)
    model = LinearDiscriminantAnalysis("trace-ratio").fit(X, y)
    ratios, W = np.array(model.history_["ratio"]), model.scalings_
    assert (np.diff(ratios) >= -1e-12 * ratios[-1]).all()
    assert_allclose(W.T @ W, np.eye(2), atol=1e-10)
    assert_allclose(ratios[-1], rayleigh_quotient(W, S.between, S.within))
    orthonormal, _ = np.linalg.qr(fisher_directions(S.within, S.between, n_components=2)[1])
    assert ratios[-1] > rayleigh_quotient(orthonormal, S.between, S.within)
    # At the optimum the top eigenvalues of S_b - ρS_w sum to 0.
    values = np.linalg.eigvalsh(S.between - ratios[-1] * S.within)
    assert abs(values[-2:].sum()) < 1e-6 * np.abs(values).max()


def test_every_pass_can_predict():
    recorder = Recorder()
    model = LinearDiscriminantAnalysis("trace-ratio").set_callbacks(recorder).fit(X, y)
    assert len(recorder.frames) == model.n_iter_
    assert_array_equal(recorder.frames[-1].estimator.predict(X), model.predict(X))
    assert recorder.frames[0].estimator.transform(X).shape == (len(X), 2)


def test_refit_leaves_nothing_behind():
    model = LinearDiscriminantAnalysis("fisher").fit(X, y).set_params(solver="lsqr").fit(X, y)
    fresh = LinearDiscriminantAnalysis("lsqr").fit(X, y)
    assert set(vars(model)) == set(vars(fresh))


@pytest.mark.parametrize("solver", SOLVERS)
def test_class_of_no_prior_is_ruled_out(solver):
    model = LinearDiscriminantAnalysis(solver, priors=[0.0, 0.5, 0.5]).fit(X, y)
    assert set(model.predict(X)) == {1, 2}
    assert (model.predict_proba(X)[:, 0] == 0).all()


def test_trace_ratio_of_one_direction_is_the_eigenvalue():
    S = scatter_matrices(*load_iris(return_X_y=True))
    ratio, w = trace_ratio(S.within, S.between, 1)
    values, W = fisher_directions(S.within, S.between, n_components=1)
    assert_allclose(ratio, values[0])
    assert_allclose(w, W / np.linalg.norm(W), rtol=1e-6)


@pytest.mark.parametrize("solver", ["svd", "fisher", "eigen", "lsqr"])
def test_units_and_copies_of_features_do_not_matter(solver):
    plain = LinearDiscriminantAnalysis(solver).fit(X, y)
    twice = np.column_stack([X, X[:, 0]]) if solver != "eigen" else X
    scale = np.logspace(-6, 6, twice.shape[1]) if solver != "lsqr" else 1.0
    other = LinearDiscriminantAnalysis(solver).fit(twice * scale, y)
    assert_allclose(other.predict_proba(twice * scale), plain.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("solver", ["svd", "fisher", "eigen"])
@pytest.mark.parametrize("n", [170, 12])
def test_constant_feature_is_left_out(solver, n):
    rows = np.random.default_rng(0).permutation(len(y))[:n]
    A, b = X[rows, :6], y[rows]
    constant = np.column_stack([A, np.full(n, 0.1)])
    plain = LinearDiscriminantAnalysis(solver).fit(A, b)
    model = LinearDiscriminantAnalysis(solver).fit(constant, b)
    assert_allclose(model.predict_proba(constant), plain.predict_proba(A), atol=1e-8)


@pytest.mark.parametrize("solver", SOLVERS)
def test_float32_stays(solver):
    model = LinearDiscriminantAnalysis(solver).fit(X.astype(np.float32), y)
    wanted = LinearDiscriminantAnalysis(solver).fit(X.astype(np.float32).astype(np.float64), y)
    assert {model.coef_.dtype, model.means_.dtype, model.priors_.dtype} == {np.dtype(np.float32)}
    assert model.predict_proba(X.astype(np.float32)).dtype == np.float32
    assert_allclose(model.coef_, wanted.coef_, rtol=1e-4, atol=1e-6)


def test_output_names():
    model = LinearDiscriminantAnalysis().set_output(transform="pandas").fit(X, y)
    assert list(model.transform(X).columns) == ["lineardiscriminantanalysis0", "lineardiscriminantanalysis1"]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"solver": "newton"}, ValueError, "'solver' must be one of 'svd'.*got 'newton'"),
        ({"shrinkage": 0.2}, NotImplementedError, "shrinkage is not supported with solver='svd'"),
        ({"n_components": 3}, ValueError, r"min\(n_features, n_classes - 1\) = 2; got 3"),
        ({"covariance_estimator": OAS()}, ValueError, "not supported with solver='svd'"),
        ({"solver": "lsqr", "shrinkage": 0.1, "covariance_estimator": OAS()}, ValueError, "Only one of"),
        ({"shrinkage": 2.0, "solver": "lsqr"}, ValueError, r"'shrinkage' must be .* in \[0, 1\]"),
        ({"priors": [0.5, 0.5]}, ValueError, "one number for each of 3 classes"),
        ({"priors": [-0.5, 0.5, 1]}, ValueError, "priors must be non-negative"),
        ({"solver": "lsqr", "covariance_estimator": OAS()}, ValueError, "OAS.fit takes no sample_weight"),
    ],
)
def test_errors(options, error, message):
    with pytest.raises(error, match=message):
        LinearDiscriminantAnalysis(**options).fit(X, y, np.ones(y.size))


def test_other_errors():
    with pytest.raises(ValueError, match="number of samples must be more than the number of classes"):
        LinearDiscriminantAnalysis().fit(X[[0, -1]], y[[0, -1]])
    with pytest.raises(ValueError, match="class number 2 has no sample of positive weight"):
        LinearDiscriminantAnalysis().fit(X, y, y < 2)
    with pytest.raises(NotImplementedError, match="use 'svd', 'eigen' or 'fisher'"):
        LinearDiscriminantAnalysis("lsqr").fit(X, y).transform(X)
    with pytest.warns(UserWarning, match="priors do not sum to 1"):
        model = LinearDiscriminantAnalysis(priors=[1, 1, 2]).fit(X, y)
    assert_allclose(model.priors_, [0.25, 0.25, 0.5])


@pytest.mark.parametrize("options", [{"solver": "eigen", "shrinkage": "auto"}, {"solver": "fisher"}])
def test_conformance(options):
    results = check_estimator(LinearDiscriminantAnalysis(**options), on_fail=None, on_skip=None)
    assert [r["check_name"] for r in results if r["status"] == "failed"] == []


def test_there_is_no_projection_with_lsqr():
    model = LinearDiscriminantAnalysis("lsqr").fit(X, y)
    assert not hasattr(model, "transform")
    assert hasattr(model.set_params(solver="svd").fit(X, y), "transform")
    names = model.set_output(transform="pandas").transform(X).columns
    assert list(names) == ["lineardiscriminantanalysis0", "lineardiscriminantanalysis1"]


@pytest.mark.parametrize("size", [1e200, 1e-200])
def test_features_whose_squares_are_no_numbers(size):
    with pytest.raises(ValueError, match="squares are beyond floating point numbers"):
        LinearDiscriminantAnalysis().fit(X * size, y)


def test_a_covariance_estimator_need_be_no_estimator_of_scikit_learn():
    class Plain:
        def fit(self, X):
            self.covariance_ = np.cov(X.T, bias=True)

    ours = LinearDiscriminantAnalysis("lsqr", covariance_estimator=Plain()).fit(X, y)
    assert_allclose(ours.covariance_, LinearDiscriminantAnalysis("lsqr").fit(X, y).covariance_)
