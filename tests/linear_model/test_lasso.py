"""Lasso and elastic net: agreement with scikit-learn, the texts' mappings, paths and cross-validation."""

import inspect

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn import linear_model as peer
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GroupKFold, KFold

from tercet.core.callbacks import Recorder
from tercet.linear_model import ElasticNet, ElasticNetCV, Lasso, LassoCV, enet_path, lasso_path

B7_X = [[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]
B7_Y = [3.6, 2.4, -4.4, -1.6]


def data(n=80, d=20, seed=0, targets=None):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 2.0
    W = rng.normal(size=(d, targets or 1)) * (rng.random((d, targets or 1)) < 0.4)
    y = X @ W + rng.normal(size=(n, targets or 1)) + 3.0
    return X, y if targets else y.ravel()


@pytest.mark.parametrize("solver", ["cd", "ista", "fista"])
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("ratio", [1.0, 0.3])
@pytest.mark.parametrize("intercept", [False, True])
def test_agrees_with_scikit_learn(solver, positive, ratio, intercept):
    X, y = data()
    weight = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    options = {"alpha": 0.1, "l1_ratio": ratio, "positive": positive, "fit_intercept": intercept}
    ours = ElasticNet(**options, solver=solver, tol=1e-9, max_iter=100_000).fit(X, y, weight)
    theirs = peer.ElasticNet(**options, tol=1e-12, max_iter=100_000).fit(X, y, weight)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, abs=1e-5)
    assert ours.dual_gap_ <= 1e-6
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-5)


@pytest.mark.parametrize(
    "options", [{"selection": "random", "random_state": 0}, {"precompute": True}, {"n_jobs": 2}]
)
@pytest.mark.parametrize("d", [20, 400])
def test_options_do_not_change_the_solution(options, d):
    X, y = data(d=d)
    plain, other = (Lasso(0.2, tol=1e-10, **o).fit(X, y) for o in ({}, options))
    np.testing.assert_allclose(other.coef_, plain.coef_, atol=1e-6)


def test_given_gram_matrix():
    X, y = data()
    centred = X - X.mean(axis=0)
    model = Lasso(0.1, precompute=centred.T @ centred, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(model.coef_, Lasso(0.1, tol=1e-10).fit(X, y).coef_, atol=1e-8)
    assert model.intercept_ == pytest.approx(Lasso(0.1, tol=1e-10).fit(X, y).intercept_)
    with pytest.warns(UserWarning, match="X was centered to fit intercept: recomputing Gram matrix"):
        other = Lasso(0.1, precompute=X.T @ X, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(other.coef_, model.coef_, atol=1e-8)
    weight = np.linspace(1, 2, len(y))
    with pytest.warns(UserWarning, match="the rows have weights: recomputing Gram matrix"):
        other = Lasso(0.1, precompute=centred.T @ centred, tol=1e-10).fit(X, y, weight)
    np.testing.assert_allclose(other.coef_, Lasso(0.1, tol=1e-10).fit(X, y, weight).coef_, atol=1e-8)
    with pytest.raises(ValueError, match=r"Gram matrix passed .* did not pass validation"):
        Lasso(precompute=np.eye(20)).fit(centred, y)
    with pytest.raises(ValueError, match=r"precompute must be .* got an array of shape \(2, 2\)"):
        Lasso(precompute=np.eye(2)).fit(X, y)


def test_sparse_and_float32():
    X, y = data()
    X[np.random.default_rng(0).random(X.shape) < 0.7] = 0
    dense = Lasso(0.05, tol=1e-10).fit(X, y)
    compressed = Lasso(0.05, tol=1e-10).fit(sparse.csr_matrix(X), y)
    np.testing.assert_allclose(compressed.coef_, dense.coef_, atol=1e-8)
    assert compressed.intercept_ == pytest.approx(dense.intercept_)
    single = Lasso(0.05).fit(X.astype(np.float32), y)
    assert single.coef_.dtype == np.float32
    np.testing.assert_allclose(single.coef_, dense.coef_, atol=1e-3)
    np.testing.assert_array_equal(dense.sparse_coef_.toarray()[0], dense.coef_)


def test_several_targets_are_columns():
    X, Y = data(targets=3)
    together = Lasso(0.1, tol=1e-8).fit(X, Y)
    assert together.coef_.shape == (3, 20)
    assert len(together.n_iter_) == 3
    for k in range(3):
        alone = Lasso(0.1, tol=1e-8).fit(X, Y[:, k])
        np.testing.assert_allclose(together.coef_[k], alone.coef_, atol=1e-10)
        assert together.intercept_[k] == pytest.approx(alone.intercept_)
        assert together.dual_gap_[k] == pytest.approx(alone.dual_gap_)
    assert together.predict(X).shape == (80, 3)


def test_texts_with_a_mean_of_squares():
    """Pattern Recognition eq. 5-109 and 5-112, lambda = 0.6: alpha is lambda / 2, and c lambda with a / 2 / c."""
    lasso = Lasso(0.6 / 2, fit_intercept=False).fit(B7_X, B7_Y)
    np.testing.assert_allclose(lasso.coef_, [2.7, -0.1, 0.7], atol=1e-9)
    c = 0.5 / 2 + 1 - 0.5
    net = ElasticNet(0.6 * c, l1_ratio=0.5 / 2 / c, fit_intercept=False, tol=1e-12).fit(B7_X, B7_Y)
    np.testing.assert_allclose(net.coef_, [2.19230769, -0.19230769, 0.65384615], atol=1e-8)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
def test_penalised_intercept(make):
    """Li eq. 1.26 counts w_0 in the norm."""
    X, y = data()
    X -= 2.0
    model = Lasso(0.3, penalize_intercept=True, tol=1e-10).fit(make(X), y)
    r = y - X @ model.coef_ - model.intercept_
    assert model.intercept_ > 1
    assert r.mean() == pytest.approx(0.3, abs=1e-6)
    ones = Lasso(0.3, fit_intercept=False, tol=1e-10).fit(np.column_stack([X, np.ones(len(y))]), y)
    np.testing.assert_allclose(np.append(model.coef_, model.intercept_), ones.coef_, atol=1e-7)


def test_without_penalty_it_is_least_squares():
    X, y = data()
    model, reference = Lasso(0.0).fit(X, y), peer.LinearRegression().fit(X, y)
    np.testing.assert_allclose(model.coef_, reference.coef_, atol=1e-8)


def test_warm_start_and_history():
    X, y = data(n=100, d=1000)
    model = Lasso(0.01, tol=1e-8, warm_start=True).fit(X, y)
    assert model.n_iter_ > 1
    assert len(model.history_["gap"]) == model.n_iter_
    assert model.history_["gap"][-1] == model.dual_gap_
    coef = model.coef_
    np.testing.assert_allclose(model.fit(X, y).coef_, coef, atol=1e-8)
    assert model.n_iter_ == 1


@pytest.mark.parametrize("solver", ["cd", "fista"])
def test_callbacks_see_the_model_grow(solver):
    X, y = data(n=100, d=1000)
    recorder = Recorder()
    model = Lasso(0.1, solver=solver, max_iter=5000).set_callbacks(recorder).fit(X, y)
    np.testing.assert_array_equal(recorder.frames[-1].attributes["coef_"], model.coef_)
    assert recorder.frames[-1].attributes["intercept_"] == model.intercept_
    errors = [np.mean((f.estimator.predict(X) - y) ** 2) for f in recorder.frames]
    assert errors[-1] < np.var(y)


def test_too_few_rounds_warn():
    X, y = data(n=100, d=1000)
    with pytest.warns(ConvergenceWarning, match="Lasso did not converge in 1 passes"):
        Lasso(0.001, max_iter=1, tol=1e-10).fit(X, y)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (Lasso(alpha=-1), "Lasso: parameter 'alpha' must be a number in .* got -1"),
        (ElasticNet(l1_ratio=1.5), "parameter 'l1_ratio' must be a number in .* got 1.5"),
        (Lasso(solver="lars"), "parameter 'solver' must be one of 'cd', 'ista', 'fista'; got 'lars'"),
        (ElasticNetCV(l1_ratio=[0.5, 2]), r"l1_ratio must be in \[0, 1\]; got \[0.5, 2\]"),
        (LassoCV(alphas=0), "alphas must be at least 1, or an array; got 0"),
        (LassoCV(alphas=[]), "alphas must be a number of strengths or strengths in"),
        (LassoCV(alphas=[1.0, -1.0]), r"alphas\[1\] == -1.0, must be >= 0.0"),
        (ElasticNetCV(l1_ratio=0.0), "grid generation is not supported for l1_ratio=0"),
    ],
)
def test_bad_parameters(model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(*data())


@pytest.mark.parametrize("ratio", [1.0, 0.5])
@pytest.mark.parametrize("positive", [False, True])
def test_path(ratio, positive):
    X, y = data()
    options = {"l1_ratio": ratio, "alphas": 20, "positive": positive, "return_n_iter": True}
    alphas, coefs, gaps, rounds = enet_path(X, y, tol=1e-9, **options)
    theirs = peer.enet_path(X, y, tol=1e-9, max_iter=100_000, **options)
    np.testing.assert_allclose(alphas, theirs[0])
    np.testing.assert_allclose(coefs, theirs[1], atol=1e-4)
    assert not coefs[:, 0].any()
    assert gaps.max() <= 1e-9 * np.mean(y**2)
    assert len(rounds) == 20


def test_path_on_a_wide_problem(capsys):
    X, y = data(n=60, d=900)
    alphas, coefs, _ = lasso_path(
        X - X.mean(axis=0), y - y.mean(), alphas=[0.5, 0.1, 0.05], tol=1e-8, verbose=True
    )
    for alpha, coef in zip(alphas, coefs.T):
        np.testing.assert_allclose(coef, Lasso(alpha, tol=1e-8).fit(X, y).coef_, atol=1e-4)
    assert capsys.readouterr().out.count("alpha=") == 3


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ratios", [0.5, [0.2, 0.9]])
def test_cross_validation(weighted, ratios):
    X, y = data()
    weight = np.random.default_rng(1).uniform(0.5, 2, len(y)) if weighted else None
    options = {"l1_ratio": ratios, "alphas": 15, "cv": KFold(4, shuffle=True, random_state=0)}
    ours = ElasticNetCV(**options, tol=1e-8).fit(X, y, weight)
    theirs = peer.ElasticNetCV(**options, tol=1e-8, max_iter=100_000).fit(X, y, weight)
    assert ours.alpha_ == pytest.approx(theirs.alpha_)
    assert ours.l1_ratio_ == theirs.l1_ratio_
    np.testing.assert_allclose(ours.alphas_, theirs.alphas_)
    np.testing.assert_allclose(ours.mse_path_, theirs.mse_path_, rtol=1e-4)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, abs=1e-3)


def test_cross_validated_lasso():
    X, y = data()
    ours, theirs = LassoCV(alphas=[0.5, 0.01, 0.1]).fit(X, y), peer.LassoCV(alphas=[0.5, 0.01, 0.1]).fit(X, y)
    np.testing.assert_allclose(ours.alphas_, [0.5, 0.1, 0.01])
    assert ours.alpha_ == theirs.alpha_
    runs = [LassoCV(alphas=10, n_jobs=k).fit(X, y) for k in (1, 2, 7)]
    for run in runs[1:]:
        np.testing.assert_array_equal(run.mse_path_, runs[0].mse_path_)
        np.testing.assert_array_equal(run.coef_, runs[0].coef_)


def test_memory_is_left_alone():
    X, y = data()
    X.setflags(write=False)
    y.setflags(write=False)
    before = X.copy()
    Lasso(0.1, copy_X=False).fit(X, y)
    LassoCV(alphas=3, copy_X=False).fit(X, y)
    np.testing.assert_array_equal(X, before)


def interrupted(kind, monkeypatch, passes):
    """A class of models that get Ctrl-C after some passes."""
    steps = kind.steps

    def watch(step):
        if step.count == passes:
            raise KeyboardInterrupt

    monkeypatch.setattr(kind, "steps", lambda *given, **options: steps(*given, watch=watch, **options))
    return kind


def test_an_interrupted_fit_keeps_what_it_found(monkeypatch):
    X, y = data(
        n=600, d=400
    )  # more features than the first working set takes, so that there is a second round
    model = interrupted(Lasso, monkeypatch, passes=2)(alpha=1e-9, tol=0, max_iter=10**9)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.n_iter_ == 2
    assert model.score(X, y) == pytest.approx(peer.LinearRegression().fit(X, y).score(X, y), abs=1e-6)


@pytest.mark.parametrize("kind", [LassoCV, ElasticNetCV])
def test_nothing_learned_in_the_folds_is_not_fitted(kind, monkeypatch):
    X, y = data()

    def interrupt(*given):
        raise KeyboardInterrupt

    monkeypatch.setattr(kind, "_fold_errors", interrupt)
    model = kind()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)


@pytest.mark.parametrize("name", ["LassoCV", "ElasticNetCV"])
def test_groups_are_routed_to_the_splitter(name):
    X, y = data()
    groups, weight = np.arange(80) % 7, np.linspace(0.5, 2, 80)
    ours, theirs = {"LassoCV": LassoCV, "ElasticNetCV": ElasticNetCV}[name], getattr(peer, name)
    with config_context(enable_metadata_routing=True):
        ours, theirs = (
            kind(cv=GroupKFold(3), alphas=10, tol=1e-9).fit(X, y, sample_weight=weight, groups=groups)
            for kind in (ours, theirs)
        )
    np.testing.assert_allclose(ours.mse_path_, theirs.mse_path_, rtol=1e-5)
    assert ours.alpha_ == pytest.approx(theirs.alpha_)
    with pytest.raises(ValueError, match=r"'groups'.* only supported if enable_metadata_routing"):
        ours.fit(X, y, groups=groups)


@pytest.mark.parametrize("kind", [Lasso, ElasticNet, LassoCV, ElasticNetCV])
def test_signatures_are_those_of_scikit_learn(kind):
    theirs = getattr(peer, kind.__name__)
    assert list(inspect.signature(kind.fit).parameters) == list(inspect.signature(theirs.fit).parameters)
    path = lasso_path if kind is LassoCV else enet_path
    assert kind.path is path
    assert kind().path is path
    wanted = set(inspect.signature(theirs.path).parameters) - {"n_alphas", "params"}
    assert wanted <= set(inspect.signature(path).parameters)


def test_check_input_changes_nothing():
    X, y = data()
    np.testing.assert_array_equal(Lasso().fit(X, y, check_input=False).coef_, Lasso().fit(X, y).coef_)


@pytest.mark.parametrize("kind", [LassoCV, ElasticNetCV])
def test_folds_without_weight_are_refused(kind):
    X, y = np.random.default_rng(0).normal(size=(2, 10, 3))
    with pytest.raises(ValueError, match="fold 0 has no rows of positive weight to score"):
        kind(cv=5).fit(X, y[:, 0], sample_weight=np.eye(10)[3])
