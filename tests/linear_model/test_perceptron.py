"""The perceptron: traces, theorems, and agreement with scikit-learn."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Perceptron as Peer

from tercet.linear_model import Perceptron, learn_online, linear_separability, novikoff_bound
from tercet.linear_model._perceptron.visiting_order import visiting_order

TINY_X, TINY_Y = np.array([[3.0, 3.0], [4.0, 3.0], [1.0, 1.0]]), np.array([1, 1, -1])


def separable(seed, n=60, d=4, margin=0.2):
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(n, d)), rng.normal(size=d)
    score = X @ w / np.linalg.norm(w) + 0.3
    X += np.outer(np.sign(score) * margin, w / np.linalg.norm(w))
    return X, np.where(score > 0, 1, -1)


def overlapping(seed=0, n=300, classes=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    score = X[:, :classes] + 0.5 * rng.normal(size=(n, classes))
    return X, score.argmax(axis=1)


@given(st.integers(0, 10_000), st.sampled_from([0.01, 0.5, 1.0]), st.booleans())
@settings(max_examples=20, deadline=None)
def test_mistakes_stay_below_novikoffs_bound(seed, eta0, shuffle):
    X, y = separable(seed)
    model = Perceptron(tol=None, eta0=eta0, shuffle=shuffle, record=True, random_state=seed).fit(X, y)
    assert model.score(X, y) == 1
    bound = novikoff_bound(X, y)
    k = np.arange(1, model.updates_[0]["point"].size + 1)
    assert k.size <= bound.bound
    w = np.column_stack([model.updates_[0]["coef"], model.updates_[0]["intercept"]])
    assert np.all((w**2).sum(axis=1) <= k * (eta0 * bound.radius) ** 2 * (1 + 1e-9))  # (2.13)


@given(st.integers(0, 10_000), st.sampled_from(["cyclic", "first", "random"]))
@settings(max_examples=15, deadline=None)
def test_primal_and_dual_take_the_same_way(seed, order):
    X, y = separable(seed, n=25)
    options = {"tol": None, "order": order, "record": True, "random_state": seed}
    primal, dual = Perceptron(**options).fit(X, y), Perceptron(form="dual", **options).fit(X, y)
    np.testing.assert_array_equal(primal.updates_[0]["point"], dual.updates_[0]["point"])
    np.testing.assert_allclose(primal.coef_, dual.coef_, atol=1e-9)
    counts = np.bincount(primal.updates_[0]["point"], minlength=25)
    np.testing.assert_array_equal(dual.alpha_[0], counts)
    np.testing.assert_allclose(dual.gram_, X @ X.T)


def test_eta0_scales_the_model_and_leaves_the_points():
    X, y = separable(3)
    one, half = (Perceptron(tol=None, eta0=eta, record=True).fit(X, y) for eta in (1.0, 0.5))
    np.testing.assert_array_equal(one.updates_[0]["point"], half.updates_[0]["point"])
    np.testing.assert_allclose(one.coef_, 2 * half.coef_)


def test_another_start_gives_another_hyperplane():
    model = Perceptron(shuffle=False, tol=None)
    model.fit(TINY_X, TINY_Y, coef_init=[[5.0, -1.0]], intercept_init=[0.5])
    assert model.score(TINY_X, TINY_Y) == 1
    assert not np.array_equal(model.coef_, [[1.0, 1.0]])


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"penalty": "l2", "alpha": 0.01, "max_iter": 8, "tol": None},
        {"penalty": "l1", "alpha": 0.001, "max_iter": 8, "tol": None},
        {"penalty": "elasticnet", "alpha": 0.01, "max_iter": 8, "tol": None},
        {"fit_intercept": False},
        {"class_weight": "balanced"},
        {"class_weight": {0: 3.0, 1: 0.5}},
        {"tol": None, "max_iter": 7},
        {"eta0": 0.3, "n_iter_no_change": 2},
    ],
)
@pytest.mark.parametrize("classes", [2, 3])
def test_agrees_with_scikit_learn(options, classes):
    X, y = overlapping(classes=classes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        ours, peer = (kind(shuffle=False, **options).fit(X, y) for kind in (Perceptron, Peer))
        thin = Perceptron(shuffle=False, **options).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-9)
    np.testing.assert_allclose(ours.intercept_, peer.intercept_, atol=1e-9)
    assert ours.n_iter_ == peer.n_iter_
    assert ours.t_ == peer.t_
    np.testing.assert_allclose(thin.coef_, ours.coef_, atol=1e-9)


def test_partial_fit_agrees_with_scikit_learn():
    X, y = overlapping(classes=3)
    ours, peer = Perceptron(shuffle=False), Peer(shuffle=False)
    for rows in np.array_split(np.arange(len(y)), 7):
        for model in (ours, peer):
            model.partial_fit(X[rows], y[rows], classes=[0, 1, 2])
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-9)
    assert ours.t_ == peer.t_


def test_warm_start_goes_on():
    X, y = overlapping()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        twice = Perceptron(shuffle=False, tol=None, max_iter=3, warm_start=True).fit(X, y).fit(X, y)
        once = Perceptron(shuffle=False, tol=None, max_iter=6).fit(X, y)
    np.testing.assert_allclose(twice.coef_, once.coef_)


def test_tol_asks_to_stop_before_a_clean_pass():
    X, y = separable(1, margin=0.001)
    early, clean = Perceptron(tol=0.5, n_iter_no_change=2).fit(X, y), Perceptron(tol=None).fit(X, y)
    assert early.n_iter_ < clean.n_iter_
    assert clean.history_["mistakes"][-1] == 0
    assert clean.score(X, y) == 1


def test_data_that_are_not_separable_never_stop():
    X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    with pytest.warns(ConvergenceWarning, match="linearly separable"):
        model = Perceptron(tol=None, max_iter=50).fit(X, y)
    assert model.n_iter_ == 50


def test_averaged_is_the_mean_over_all_visits():
    X, y = separable(5, n=20)
    w, b, total, visits = np.zeros(4), 0.0, np.zeros(5), 0
    for _ in range(100):
        mistakes = 0
        for x, side in zip(X, y):
            if side * (x @ w + b) <= 0:
                w, b, mistakes = w + side * x, b + side, mistakes + 1
            total += np.append(w, b)
            visits += 1
        if mistakes == 0:
            break
    model = Perceptron(shuffle=False, tol=None, variant="averaged").fit(X, y)
    np.testing.assert_allclose(np.append(model.coef_, model.intercept_), total / visits)


def test_pocket_keeps_the_longest_survivor():
    X, y = overlapping(seed=4, n=60)
    side = np.where(y == 1, 1, -1)
    w, b, run, best, pocket = np.zeros(5), 0.0, 0, -1, None
    for _ in range(4):
        for x, s in zip(X, side):
            if s * (x @ w + b) <= 0:
                if run > best:
                    best, pocket = run, np.append(w, b)
                w, b, run = w + s * x, b + s, 0
            else:
                run += 1
    pocket = np.append(w, b) if run > best else pocket
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = Perceptron(shuffle=False, tol=None, max_iter=4, variant="pocket").fit(X, y)
    np.testing.assert_allclose(np.append(model.coef_, model.intercept_), pocket)
    clean = separable(2)
    assert Perceptron(tol=None, variant="pocket").fit(*clean).score(*clean) == 1


@pytest.mark.parametrize("n_jobs", [1, 2, 7])
def test_same_bits_for_any_n_jobs(n_jobs):
    X, y = overlapping(classes=4)
    one, many = Perceptron().fit(X, y), Perceptron(n_jobs=n_jobs).fit(X, y)
    assert np.array_equal(one.coef_, many.coef_)


@pytest.mark.parametrize("variant", ["plain", "averaged", "pocket"])
def test_sweeping_in_parts_changes_nothing(monkeypatch, variant):
    X, y = separable(11, n=2000, d=3, margin=0.01)
    options = {"tol": None, "record": True, "shuffle": False, "variant": variant}
    whole = Perceptron(**options).fit(X, y)
    monkeypatch.setattr("tercet.linear_model.perceptron.PART", 90)  # 30 rows at a time
    parts = Perceptron(**options).fit(X, y)
    assert np.array_equal(whole.updates_[0]["point"], parts.updates_[0]["point"])
    np.testing.assert_allclose(whole.coef_, parts.coef_, rtol=1e-12)


def test_rows_of_weight_zero_do_not_exist():
    X, y = overlapping(classes=3)
    weight = np.ones(len(y))
    weight[::3] = 0
    part = weight > 0
    whole = Perceptron(shuffle=False).fit(X, y, sample_weight=weight)
    rest = Perceptron(shuffle=False).fit(X[part], y[part])
    np.testing.assert_allclose(whole.coef_[:, 0] / whole.coef_[0, 0], rest.coef_[:, 0] / rest.coef_[0, 0])
    listed = Perceptron(order=list(range(len(y))), tol=None, max_iter=1)
    with pytest.warns(ConvergenceWarning):
        listed.fit(np.zeros((len(y), 2)), y, sample_weight=weight)
    assert listed.history_["mistakes"][0] <= 3 * part.sum()


def test_shuffle_is_seeded_and_covers_large_data(monkeypatch):
    monkeypatch.setattr("tercet.linear_model._perceptron.visiting_order.CACHE", 10)
    rng = np.random.default_rng(0)
    order = visiting_order(np.zeros((100, 3)), None, "cyclic", True, rng)
    assert sorted(order) == list(range(100))
    assert np.mean(np.diff(order) == 1) > 0.8  # runs stay together
    assert not np.array_equal(order, np.arange(100))
    X, y = separable(0)
    models = [Perceptron(tol=None, random_state=s).fit(X, y).coef_ for s in (1, 1, 2)]
    assert np.array_equal(models[0], models[1])
    assert not np.array_equal(models[0], models[2])


def test_early_stopping_watches_held_out_rows():
    X, y = overlapping(n=600)
    model = Perceptron(early_stopping=True, n_iter_no_change=3, tol=1e-3).fit(X, y)
    assert model.n_iter_ < 50
    assert model.score(X, y) > 0.6


def test_float32_stays():
    X, y = separable(0)
    model = Perceptron(tol=None).fit(X.astype(np.float32), y)
    assert model.coef_.dtype == model.intercept_.dtype == np.float32
    assert model.score(X.astype(np.float32), y) == 1


def test_the_plane_itself_in_prediction():
    model = Perceptron(shuffle=False).fit(TINY_X, TINY_Y)
    assert model.decision_function([[1.5, 1.5]]) == [0]
    assert model.predict([[1.5, 1.5]]) == [-1]  # as in scikit-learn
    assert model.set_params(on_plane="positive").predict([[1.5, 1.5]]) == [1]


@pytest.mark.parametrize("form", ["primal", "dual"])
@pytest.mark.parametrize("order", ["first", "random"])
def test_pocket_among_misclassified_rows_keeps_the_fewest_mistakes(order, form):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = X @ [1.0, -2.0, 0.5] + 0.5 * rng.normal(size=60) > 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        options = {"order": order, "form": form, "tol": None, "max_iter": 5, "record": True}
        model = Perceptron(variant="pocket", **options).fit(X, y)
    updates = model.updates_[0]
    side = np.where(y, 1.0, -1.0)
    W = updates["coef"] if form == "primal" else (updates["alpha"] * side) @ X
    wrong = [np.sum(side * (X @ w + b) <= 0) for w, b in zip(W, updates["intercept"])]
    assert np.sum(side * model.decision_function(X) <= 0) == min(wrong)
    assert model.score(X, y) > 0.8


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order": [0, 3]}, "from 0 to 2"),
        ({"order": "last"}, "'order'"),
        ({"eta0": 0.0}, "'eta0'"),
        ({"form": "dual", "penalty": "l2"}, "penalty='l2'"),
        ({"variant": "averaged", "penalty": "l1"}, "variant='plain'"),
        ({"order": "first", "penalty": "l1"}, "rows visited in turn"),
    ],
)
def test_errors_name_the_parameter(options, message):
    with pytest.raises(ValueError, match=message):
        Perceptron(**options).fit(TINY_X, TINY_Y)


def test_more_errors():
    with pytest.raises(ValueError, match=r"\(1, 2\)"):
        Perceptron().fit(TINY_X, TINY_Y, coef_init=[1.0])
    with pytest.raises(ValueError, match="starts from zero"):
        Perceptron(form="dual").fit(TINY_X, TINY_Y, coef_init=[[1.0, 1.0]])
    with pytest.raises(ValueError, match="classes must be passed"):
        Perceptron().partial_fit(TINY_X, TINY_Y)
    with pytest.raises(ValueError, match="balanced"):
        Perceptron(class_weight="balanced").partial_fit(TINY_X, TINY_Y, classes=[-1, 1])
    model = Perceptron().partial_fit(TINY_X, TINY_Y, classes=[-1, 1])
    with pytest.raises(ValueError, match="not the same"):
        model.partial_fit(TINY_X, TINY_Y, classes=[0, 1])
    with pytest.raises(ValueError, match=r"y holds \[5\]"):
        model.partial_fit(TINY_X, [1, 5, -1])
    assert not hasattr(Perceptron(form="dual"), "partial_fit")


def test_verbose_prints_passes(capsys):
    Perceptron(verbose=1, shuffle=False).fit(TINY_X, TINY_Y)
    assert "pass 6: 0 mistakes" in capsys.readouterr().out


def test_online_learning_counts_mistakes_before_it_learns():
    X, y = separable(7)
    trace = learn_online(Perceptron(shuffle=False), zip(X, y), classes=[-1, 1])
    once = Perceptron(shuffle=False).partial_fit(X, y, classes=[-1, 1])
    np.testing.assert_allclose(trace.model.coef_, once.coef_)
    assert trace.loss.sum() == np.sum(trace.prediction != trace.target)
    assert trace.regret(0.0)[-1] == trace.cumulative_loss[-1] <= novikoff_bound(X, y).bound
    assert linear_separability(X, y)
    with pytest.raises(ValueError, match="needs classes"):
        learn_online(Perceptron(), zip(X, y))


def test_sparse_weights_are_the_same_model():
    X, y = np.array([[3.0, 3.0, 0.0], [4.0, 3.0, 0.0], [1.0, 1.0, 0.0]]), [1, 1, -1]
    model = Perceptron(random_state=0).fit(X, y)
    before = model.decision_function(X)
    assert sparse.issparse(model.sparsify().coef_)
    np.testing.assert_array_equal(model.decision_function(X), before)
    assert sparse.issparse(model.coef_)
    np.testing.assert_array_equal(model.partial_fit(X, y).predict(X), y)  # goes on from them
    assert isinstance(model.sparsify().densify().coef_, np.ndarray)
