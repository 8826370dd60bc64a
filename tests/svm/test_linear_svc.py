"""Linear machines: agreement with liblinear, exactness, weights, and data that make trouble."""

import warnings

import numpy as np
import pytest
import sklearn.svm
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning

from tercet.optimize import solve_qp
from tercet.svm import SVC, HingeSVC, LinearSVC
from tercet.svm._linear.crammer_singer import CrammerSinger
from tercet.svm._linear.dual_coordinate import DualCoordinateDescent, visiting_order
from tercet.svm._linear.problem import LinearProblem

EXACT = {"tol": 1e-9, "max_iter": 100_000, "random_state": 0, "C": 0.5}
KINDS = [
    {"loss": "hinge"},
    {"dual": True},
    {"dual": False},
    {"penalty": "l1", "dual": False},
    {"multi_class": "crammer_singer"},
    {"dual": False, "intercept_scaling": 3.0, "class_weight": "balanced"},
    {"loss": "hinge", "class_weight": {0: 2.0, 1: 3.0}},
    {"dual": True, "fit_intercept": False},
]


def data(classes=2, n=120, d=6, seed=0):
    return make_classification(
        n, d, n_informative=4, n_redundant=0, n_classes=classes, class_sep=0.8, random_state=seed
    )


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("classes", [2, 3])
def test_agrees_with_liblinear(kind, classes):
    X, y = data(classes)
    theirs = sklearn.svm.LinearSVC(**EXACT, **kind).fit(X, y)
    for table in (X, sparse.csr_array(X)):
        ours = LinearSVC(**EXACT, **kind).fit(table, y)
        assert ours.coef_.shape == theirs.coef_.shape
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-7)
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-7)
        np.testing.assert_allclose(ours.decision_function(table), theirs.decision_function(X), atol=1e-6)


def test_sample_weights_agree_with_liblinear():
    X, y = data()
    weight = np.random.default_rng(0).integers(0, 4, y.size).astype(float)
    for kind in KINDS[:5]:
        theirs = sklearn.svm.LinearSVC(**EXACT, **kind).fit(X, y, sample_weight=weight)
        ours = LinearSVC(**EXACT, **kind).fit(X, y, sample_weight=weight)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-7)
        twice = LinearSVC(**EXACT, **kind).fit(
            np.repeat(X, weight.astype(int), axis=0), np.repeat(y, weight.astype(int))
        )
        np.testing.assert_allclose(ours.coef_, twice.coef_, atol=1e-7)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_the_dual_has_no_gap(loss):
    X, y = data(n=150)
    side = np.where(y == 1, 1.0, -1.0)
    problem = LinearProblem(X, side, side, np.full(y.size, 2.0), 1.0, squared=loss != "hinge")
    solver = DualCoordinateDescent(problem, 1e-6, np.random.default_rng(0))
    falls = [solver.objective]
    while not solver.done and len(falls) < 2000:
        solver.epoch()
        falls.append(solver.objective)
        assert -solver.objective <= problem.objective(solver.v) + 1e-9
    assert solver.done
    assert np.all(np.diff(falls) <= 1e-9)
    assert solver.objective == pytest.approx(-problem.dual_objective(solver.beta, solver.v), rel=1e-10)
    assert problem.objective(solver.v) + solver.objective <= 1e-6 * problem.objective(solver.v)
    np.testing.assert_allclose(solver.v, problem.transpose_times(solver.beta), atol=1e-10)
    low, high = problem.bounds
    assert np.all((solver.beta >= low) & (solver.beta <= high))


def test_many_rows_take_the_way_of_large_data():
    """Rows beyond the cache are visited in runs, shrunk, copied together and looked at again in the end."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((6_000, 1_000), density=0.1, rng=rng, format="csr")
    y = X @ rng.standard_normal(1_000) + 0.3 * rng.standard_normal(6_000) > 0
    model = LinearSVC(loss="hinge", C=0.1, tol=1e-4, random_state=0).fit(X, y)
    theirs = sklearn.svm.LinearSVC(loss="hinge", C=0.1, tol=1e-4, random_state=0).fit(X, y)

    def value(m):
        margin = np.where(y, 1, -1) * m.decision_function(X)
        return 0.1 * np.maximum(0, 1 - margin).sum() + (np.sum(m.coef_**2) + m.intercept_[0] ** 2) / 2

    assert value(model) <= value(theirs) * (1 + 1e-5)
    assert np.all(np.diff(model.history_["objective"]) <= 1e-6)


def test_visiting_order_is_a_permutation():
    rows = np.arange(0, 30_001, 3)
    for size in (1.0, 1e4):
        found = visiting_order(rows, size, np.random.default_rng(0))
        np.testing.assert_array_equal(np.sort(found), rows)
        assert not np.array_equal(found, rows)


def test_l1_leaves_few_weights():
    X, y = make_classification(200, 50, n_informative=3, n_redundant=0, random_state=0)
    many = LinearSVC(C=1.0, random_state=0).fit(X, y)
    few = LinearSVC(penalty="l1", C=0.02, random_state=0).fit(X, y)
    none = LinearSVC(penalty="l1", C=1e-6, random_state=0).fit(X, y)
    assert np.all(many.coef_ != 0)
    assert 0 < np.count_nonzero(few.coef_) < 20
    assert not none.coef_.any()


@pytest.mark.parametrize("kind", KINDS[:5], ids=str)
def test_same_bits_for_any_number_of_threads(kind):
    X, y = data(4, n=200)
    models = [LinearSVC(C=0.1, tol=1e-2, random_state=3, n_jobs=n, **kind).fit(X, y) for n in (1, 2, 5)]
    for other in models[1:]:
        np.testing.assert_array_equal(other.coef_, models[0].coef_)


def test_float32_stays_float32_and_read_only_data_do():
    X, y = data()
    small = LinearSVC(loss="hinge", random_state=0).fit(X.astype(np.float32), y)
    assert small.coef_.dtype == small.intercept_.dtype == np.float32
    X.setflags(write=False)
    np.testing.assert_allclose(
        LinearSVC(loss="hinge", random_state=0).fit(X, y).coef_, small.coef_, atol=1e-3
    )


def test_what_cannot_be_solved_is_refused():
    X, y = data()
    for bad in (
        {"loss": "hinge", "dual": False},
        {"penalty": "l1", "dual": True},
        {"penalty": "l1", "loss": "hinge"},
    ):
        with pytest.raises(ValueError, match="Unsupported set of arguments"):
            LinearSVC(**bad).fit(X, y)
    for bad in (
        {"C": 0},
        {"C": -1.0},
        {"C": np.inf},
        {"intercept_scaling": 0},
        {"tol": 0.0},
        {"multi_class": "ovo"},
    ):
        with pytest.raises(ValueError, match="must be"):
            LinearSVC(**bad).fit(X, y)
    with pytest.raises(ValueError, match="one class"):
        LinearSVC().fit(X, np.zeros(len(X)))


@pytest.mark.parametrize("kind", KINDS[:5], ids=str)
def test_troublesome_data(kind):
    """Constant columns, duplicates that contradict one another, rows of zeros, scales from huge to tiny."""
    X, y = data()
    X = np.column_stack([X, np.ones(len(X)), np.zeros(len(X))])
    X, y = np.vstack([X, X[:20], np.zeros((3, X.shape[1]))]), np.concatenate([y, 1 - y[:20], [0, 1, 1]])
    for scale in (1.0, 1e-8, 1e6, 10.0 ** np.arange(-4, 4)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = LinearSVC(random_state=0, max_iter=300, **kind).fit(X * scale, y)
        assert np.isfinite(model.coef_).all()
        assert model.n_iter_ <= 300


def test_scales_that_stop_liblinear_do_not_stop_the_hinge():
    X, y = data()
    X = X * 10.0 ** np.arange(-2, 4)
    with pytest.warns(ConvergenceWarning):
        sklearn.svm.LinearSVC(loss="hinge", random_state=0).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = LinearSVC(loss="hinge", random_state=0).fit(X, y)
    assert model.n_iter_ < 1000


def test_an_end_without_convergence_warns():
    X, y = data(n=400)
    for kind in KINDS[:5]:
        with pytest.warns(ConvergenceWarning, match="LinearSVC did not converge in 1 passes"):
            LinearSVC(max_iter=1, tol=1e-12, random_state=0, **kind).fit(X, y)
    assert not LinearSVC(max_iter=0).fit(X, y).coef_.any()


def test_verbose_says_how_it_goes(capsys):
    X, y = data()
    LinearSVC(verbose=1, random_state=0).fit(X, y)
    assert "[LinearSVC] pass 1: objective=" in capsys.readouterr().out


def test_crammer_and_singer_keep_their_constraints():
    X, y = data(4, n=150)
    cost = np.random.default_rng(1).uniform(0.1, 2, y.size)
    problem = LinearProblem(X, y, np.ones(y.size), cost, 1.0)
    solver = CrammerSinger(problem, 4, 1e-3, np.random.default_rng(0))
    for _ in range(3000):
        solver.epoch()
        if solver.done:
            break
    assert solver.done
    own = np.zeros_like(solver.alpha)
    own[np.arange(y.size), y] = cost
    assert np.all(solver.alpha <= own + 1e-12)
    np.testing.assert_allclose(solver.alpha.sum(axis=1), 0, atol=1e-10)
    X1 = np.column_stack([X, np.ones(len(X))])
    np.testing.assert_allclose(solver.v, solver.alpha.T @ X1, atol=1e-9)
    scores = X1 @ solver.v.T
    margins = scores + 1.0 - scores[np.arange(y.size), y][:, None]
    margins[np.arange(y.size), y] = 0.0
    primal = (solver.v**2).sum() / 2 + cost @ margins.max(axis=1)
    assert 0 <= primal + solver.objective <= 1e-3 * primal


# --- the hinge form ------------------------------------------------------------------------------------------


def soft_margin(X, y, C):
    """w, b and the least value of the soft margin by quadratic programming (Li eq. 7.32-7.34)."""
    n, d = X.shape
    Q = np.diag([1.0] * d + [0.0] * (n + 1))
    G = np.block(
        [[-y[:, None] * np.column_stack([X, np.ones(n)]), -np.eye(n)], [np.zeros((n, d + 1)), -np.eye(n)]]
    )
    found = solve_qp(Q, np.r_[np.zeros(d + 1), np.full(n, C)], G, np.r_[-np.ones(n), np.zeros(n)])
    return found.x[:d], found.x[d], found.fun


@pytest.mark.parametrize("C", [0.1, 1.0, 20.0])
def test_hinge_loss_with_a_penalty_is_a_soft_margin(C):
    """Thm 7.4: with lam = 1/(2C) the solutions are the same, and the objectives differ by the factor C."""
    X, y = data(n=60, d=4)
    w, b, least = soft_margin(X, np.where(y == 1, 1.0, -1.0), C)
    model = HingeSVC(lam=1 / (2 * C), tol=1e-8, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.coef_[0], w, atol=1e-6)
    np.testing.assert_allclose(model.intercept_[0], b, atol=1e-6)
    assert C * model.objective_[0] == pytest.approx(least, rel=1e-8)
    mean = HingeSVC(lam=1 / (2 * C * len(y)), risk="mean", tol=1e-8, random_state=0).fit(X, y)
    np.testing.assert_allclose(mean.coef_, model.coef_, atol=1e-8)
    assert mean.objective_[0] * len(y) == pytest.approx(model.objective_[0])


def test_subgradients_arrive_slowly_at_the_same_place():
    X, y = data(n=200)
    exact = HingeSVC(lam=2.0, random_state=0).fit(X, y)
    model = HingeSVC(lam=2.0, algorithm="subgradient", tol=5e-4, random_state=0).fit(sparse.csr_array(X), y)
    assert exact.objective_[0] <= model.objective_[0] <= 1.002 * exact.objective_[0]
    np.testing.assert_allclose(model.coef_, exact.coef_, atol=0.05)
    dense = HingeSVC(lam=2.0, algorithm="subgradient", tol=5e-4, random_state=0).fit(X, y)
    np.testing.assert_allclose(dense.coef_, model.coef_, atol=1e-10)


def test_subgradients_find_the_intercept():
    X, y = np.array([[3.0, 3], [4, 3], [1, 1]]), np.array([1, 1, -1])  # Example 7.1
    for C, w, b in ((0.1, 0.2, -0.3), (0.2, 0.4, -1.6)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = HingeSVC(1 / (2 * C), algorithm="subgradient", tol=1e-3, random_state=0).fit(X, y)
        np.testing.assert_allclose(model.coef_, [[w, w]], atol=2e-3)
        np.testing.assert_allclose(model.intercept_, b, atol=0.02)
        least = HingeSVC(1 / (2 * C), random_state=0, tol=1e-10).fit(X, y).objective_[0]
        assert least * (1 - 1e-9) <= model.objective_[0] <= least * (1 + 1e-3)  # what tol promises


def test_hinge_form_of_several_classes_and_weights():
    X, y = data(3)
    weight = np.random.default_rng(0).uniform(0, 2, y.size)
    weight[:5] = 0
    model = HingeSVC(lam=0.5, tol=1e-7, random_state=0).fit(X, y, sample_weight=weight)
    for k in range(3):
        alone = SVC(kernel="linear", C=1.0, tol=1e-9).fit(X, y == k, sample_weight=weight)
        np.testing.assert_allclose(model.coef_[k], alone.coef_[0], atol=1e-5)
        np.testing.assert_allclose(model.intercept_[k], alone.intercept_[0], atol=1e-5)
    free = HingeSVC(lam=0.5, fit_intercept=False, tol=1e-8, random_state=0).fit(X, y)
    theirs = sklearn.svm.LinearSVC(loss="hinge", C=1.0, fit_intercept=False, tol=1e-9, max_iter=10**6).fit(
        X, y
    )
    np.testing.assert_allclose(free.coef_, theirs.coef_, atol=1e-5)
    assert not free.intercept_.any()


# --- numbers that are hard to compute with -------------------------------------------------------------------


def squared_value(model, X, y):
    slack = np.maximum(0, 1 - np.where(y == 1, 1, -1) * model.decision_function(X))
    return (model.coef_[0] @ model.coef_[0] + model.intercept_[0] ** 2) / 2 + slack @ slack


@pytest.mark.parametrize("change", [lambda X: X * 1e4, lambda X: X + 1e4], ids=["large", "far"])
def test_the_dual_and_the_primal_of_large_features_meet(change):
    X, y = data()
    X = change(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dual, primal = (LinearSVC(dual=form, random_state=0).fit(X, y) for form in (True, False))
    assert squared_value(dual, X, y) == pytest.approx(squared_value(primal, X, y), rel=1e-4)


@pytest.mark.parametrize(
    "change",
    [lambda X: X + 1.7e9, lambda X: np.hstack([X, X]) * 1e10, lambda X: X * 1e60],
    ids=["far", "large", "huge"],
)
def test_a_hessian_that_rounding_makes_singular(change):
    X, y = data()
    X = change(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LinearSVC(dual=False).fit(X, y)
        theirs = sklearn.svm.LinearSVC(dual=False).fit(X, y)
    assert squared_value(model, X, y) <= squared_value(theirs, X, y) * (1 + 1e-4)


def test_tiny_features_keep_the_weights_of_all_classes_in_balance():
    X, y = data(3)
    for scale in (1.0, 1e-8, 1e-12):
        model = LinearSVC(multi_class="crammer_singer", fit_intercept=False, random_state=0, max_iter=5000)
        W = model.fit(X * scale, y).coef_
        assert np.abs(W.sum(axis=0)).max() <= 1e-12 * np.abs(W).max()


def test_short_steps_are_no_convergence():
    X, y = data()
    with pytest.warns(ConvergenceWarning, match="HingeSVC did not converge"):
        HingeSVC(algorithm="subgradient", random_state=0, max_iter=100).fit(X * 100, y)


def test_numbers_that_overflow_are_refused():
    X, y = data()
    none = np.where(y == 1, 0.0, 1.0)
    for kind in KINDS[:5]:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(ValueError, match=r"adds up to 0; it must be above 0 and at most 1e\+150"):
                LinearSVC(class_weight={0: 0, 1: 1}, **kind).fit(X, y, sample_weight=none)
            with pytest.raises(ValueError, match=r"adds up to inf; it must be above 0 and at most 1e\+150"):
                LinearSVC(C=1e308, **kind).fit(X, y)
            if kind.get("penalty") != "l1":  # which squares no sums
                with pytest.raises(ValueError, match="of X are too large: their squares, added up, must be"):
                    LinearSVC(**kind).fit(X * 1e160, y)
            model = LinearSVC(class_weight="balanced", max_iter=5000, random_state=0, **kind)
            assert np.isfinite(model.fit(X, y, sample_weight=none * 1e6).coef_).all()
    for algorithm in ("coordinate", "subgradient"):
        with pytest.raises(ValueError, match="adds up to 0; it must be above 0"):
            HingeSVC(class_weight={0: 0}, algorithm=algorithm).fit(X, y, sample_weight=none)
        with pytest.raises(ValueError, match="row 0 of X are too large"):
            HingeSVC(algorithm=algorithm).fit(X * 1e160, y)


def test_balance_counts_weights():
    X, y = data()
    weight = np.random.default_rng(0).integers(0, 4, y.size)
    model = HingeSVC(class_weight="balanced", tol=1e-7, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it converges, as far as rounding lets it
        once = model.fit(X, y, sample_weight=weight).coef_
        twice = model.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight)).coef_
    np.testing.assert_allclose(once, twice, atol=1e-6)


def test_few_stored_numbers_make_the_same_hessian():
    rng = np.random.default_rng(0)
    X = sparse.random_array((400, 30), density=0.05, rng=rng, format="csr")
    y = X @ rng.standard_normal(30) + 0.1 * rng.standard_normal(400) > 0
    weight = rng.integers(0, 3, 400)
    few, many = (LinearSVC(dual=False, tol=1e-8).fit(table, y, weight) for table in (X, X.toarray()))
    np.testing.assert_allclose(few.coef_, many.coef_, atol=1e-10)
    np.testing.assert_allclose(few.intercept_, many.intercept_, atol=1e-10)


def test_a_pass_may_be_cut_anywhere(monkeypatch):
    X, y = data(3)
    kinds = [*(LinearSVC(random_state=0, **kind) for kind in KINDS[:5])]
    kinds += [HingeSVC(algorithm=name, random_state=0) for name in ("coordinate", "subgradient")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        whole = [model.set_params(max_iter=60).fit(X, y).coef_ for model in kinds]
        monkeypatch.setattr("tercet.svm._linear.dual_coordinate.PART", 20)
        cut = [model.fit(X, y).coef_ for model in kinds]
    for a, b in zip(whole, cut):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def test_the_order_of_the_numbers_in_memory_does_not_matter():
    X, y = data(3)
    for kind in KINDS[:5]:
        models = [
            LinearSVC(random_state=0, C=0.05, tol=1e-3, **kind).fit(table, y)
            for table in (X, np.asfortranarray(X))
        ]
        np.testing.assert_array_equal(models[0].coef_, models[1].coef_)
