"""The front door: results, stopping rules, callbacks, objectives, errors."""

import functools
import inspect
import warnings

import numpy as np
import pytest
import scipy.optimize
from scipy.optimize import rosen, rosen_der, rosen_hess, rosen_hess_prod

from tercet.core.estimator import Estimator, Regressor
from tercet.core.steps import ConvergenceWarning, Steps
from tercet.optimize import (
    METHODS,
    Quadratic,
    bfgs,
    broyden,
    dfp,
    fista,
    genetic_algorithm,
    gradient_descent,
    ista,
    lbfgs,
    minimize,
    newton,
    newton_cg,
    noisy_descent,
    owlqn,
    proximal_gradient,
    simulated_annealing,
    stochastic_gradient,
)
from tercet.optimize.objective import CountedObjective

DESCENTS = ["newton", "newton-cg", "dfp", "bfgs", "broyden", "lbfgs"]


@pytest.mark.parametrize("method", DESCENTS)
@pytest.mark.parametrize("start", [[-1.2, 1.0], [2.0, -3.0]])
def test_rosenbrock(method, start):
    found = minimize(rosen, start, jac=rosen_der, hess=rosen_hess, method=method, tol=1e-7)
    assert found.success
    assert found.criterion == "gradient"
    assert np.abs(found.jac).max() <= 1e-7
    peer = scipy.optimize.minimize(rosen, start, jac=rosen_der, method="BFGS")
    assert found.fun <= peer.fun + 1e-10
    np.testing.assert_allclose(found.jac, rosen_der(found.x), atol=1e-12)
    assert found.fun == pytest.approx(rosen(found.x), abs=1e-15)


@pytest.mark.parametrize("method", ["gd", *DESCENTS])
def test_logistic_regression_agrees_with_scipy(method):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    y = np.sign(X @ rng.normal(size=5) + rng.normal(size=200))

    def loss(w):
        margin = y * (X @ w)
        return np.logaddexp(0, -margin).mean() + 0.01 * w @ w, -X.T @ (
            y / (1 + np.exp(margin))
        ) / 200 + 0.02 * w

    found = minimize(loss, np.zeros(5), jac=True, method=method, tol=1e-8)
    peer = scipy.optimize.minimize(loss, np.zeros(5), jac=True, method="BFGS", options={"gtol": 1e-9})
    np.testing.assert_allclose(found.x, peer.x, atol=1e-6)


@pytest.mark.parametrize("method", ["gd", *DESCENTS])
def test_history_trajectory_and_callback_show_every_pass(method):
    seen = []
    found = minimize(
        Quadratic([[3, 1], [1, 2]], [1, 1]),
        [4, -5],
        method=method,
        keep=True,
        callback=lambda s: seen.append(s.index),
    )
    assert seen == list(range(found.nit)) == found.history["pass"]
    assert len(found.trajectory) == found.nit + 1
    np.testing.assert_array_equal(found.trajectory[0], [4, -5])
    np.testing.assert_array_equal(found.trajectory[-1], found.x)
    assert found.history["fun"][-1] == found.fun
    assert len({id(x) for x in found.trajectory}) == found.nit + 1


def test_a_callback_can_stop_the_search():
    found = minimize(rosen, [-1.2, 1], jac=rosen_der, callback=lambda step: step.index == 2)
    assert (found.nit, found.status, found.success) == (3, 3, False)
    assert "callback" in found.message


def test_the_last_pass_without_convergence_warns():
    with pytest.warns(ConvergenceWarning, match="3 passes"):
        found = minimize(rosen, [-1.2, 1], jac=rosen_der, max_iter=3)
    assert (found.nit, found.status, found.criterion) == (3, 1, None)
    assert "max_iter=3" in found.message


def test_a_start_at_the_minimum_does_not_move():
    found = minimize(rosen, [1.0, 1.0], jac=rosen_der)
    assert (found.nit, found.nfev, found.success, found.criterion) == (0, 1, True, "gradient")


@pytest.mark.parametrize("rule", ["gradient", "value", "step"])
@pytest.mark.parametrize("norm", [2, np.inf])
def test_each_stopping_rule_says_that_it_fired(rule, norm):
    found = minimize(
        Quadratic([[1, 0], [0, 9]]), [9, 1], method="gd", stop=rule, norm=norm, tol=1e-4, keep=True
    )
    assert found.criterion == rule
    last, before = found.trajectory[-1], found.trajectory[-2]
    f = Quadratic([[1, 0], [0, 9]])
    sizes = {
        "gradient": [np.linalg.norm(f.gradient(x), norm) for x in (before, last)],
        "step": [np.linalg.norm(x - y, norm) for x, y in [(before, found.trajectory[-3]), (last, before)]],
        "value": [f.value(found.trajectory[-3]) - f.value(before), f.value(before) - f.value(last)],
    }[rule]
    assert sizes[1] <= 1e-4 < sizes[0]


def test_rules_with_their_own_tolerances():
    stop = {"gradient": 1e-12, "value": 1e-3}
    assert minimize(Quadratic([[1, 0], [0, 9]]), [9, 1], method="gd", stop=stop).criterion == "value"


@pytest.mark.parametrize("method", ["gd", *DESCENTS])
def test_the_end_of_floating_point_is_no_failure(method):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(100, 4))
    y = np.sign(X @ rng.normal(size=4) + rng.normal(size=100))

    def loss(w):
        margin = y * (X @ w)
        return np.logaddexp(0, -margin).sum() + w @ w / 2, -X.T @ (y / (1 + np.exp(margin))) + w

    found = minimize(loss, np.zeros(4), jac=True, method=method, tol=0, max_iter=500)
    assert found.success
    assert np.abs(found.jac).max() < 1e-11
    assert found.nit < 200


@pytest.mark.parametrize("method", DESCENTS)
def test_float32_objectives_stop_at_their_own_precision(method):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 6)).astype(np.float32)
    y = np.sign(X @ rng.normal(size=6) + rng.normal(size=300)).astype(np.float32)

    def loss(w):
        w = w.astype(np.float32)
        margin = y * (X @ w)
        return np.logaddexp(0, -margin).sum() + w @ w / 2, -X.T @ (y / (1 + np.exp(margin))) + w

    found = minimize(loss, np.zeros(6), jac=True, method=method, tol=0, max_iter=500)
    assert found.success
    assert np.abs(found.jac).max() < 1e-4


@pytest.mark.parametrize("method", ["gd", "newton-cg", "dfp", "bfgs", "lbfgs"])
def test_a_wrong_gradient_is_reported(method):
    with pytest.warns(ConvergenceWarning, match=r"minimize stopped .* no lower point .*Check the gradient"):
        found = minimize(rosen, [-1.2, 1], jac=lambda x: -rosen_der(x), method=method)
    assert (found.success, found.status) == (False, 2)


def test_divergence_is_reported():
    with pytest.warns(ConvergenceWarning, match="not finite"):
        found = minimize(rosen, [-1.2, 1], jac=rosen_der, method="gd", line_search=1.0)
    assert (found.success, found.status) == (False, 4)


@pytest.mark.parametrize("method", ["gd", "bfgs", "lbfgs", "newton"])
def test_a_function_without_a_minimum_is_reported(method):
    with pytest.warns(ConvergenceWarning, match="f seems to be unbounded below"):
        found = minimize(lambda x: -x.sum(), [0.0, 0.0], method=method)
    assert (found.success, found.status, found.criterion) == (False, 5, "unbounded")


def test_a_fall_far_down_to_a_minimum_is_no_abyss():
    found = minimize(Quadratic(1e-10 * np.eye(2), [1e8, -1e8]), [0.0, 0.0], method="lbfgs")
    assert found.success
    assert found.fun == pytest.approx(-1e26)


def test_a_warning_names_the_estimator_whose_loop_it_is():
    class Model(Regressor):
        def _fit(self, X, y, sample_weight):
            minimize(rosen, [-1.2, 1], jac=lambda x: -rosen_der(x), steps=self.steps)

    with pytest.warns(
        ConvergenceWarning, match=r"Model stopped in pass 1: the line search .*scale the features"
    ):
        Model().fit([[1.0], [2.0]], [1.0, 2.0])


@pytest.mark.parametrize(
    ("method", "allowed"),
    [
        ("gd", "line_search, norm, stop"),
        ("lbfgs", "line_search, memory, norm, stop"),
        ("adam", ".*beta1, beta2"),
    ],
)
def test_an_unknown_option_is_named_with_those_there_are(method, allowed):
    with pytest.raises(
        ValueError, match=f"method='{method}' has no option 'momentun'; its options are {allowed}"
    ):
        minimize(rosen, [0.0, 0.0], method=method, momentun=0.9)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"jac": lambda x: np.ones(3)},
            r"gradient \(jac\) must have shape \(2,\), after x; got shape \(3,\)",
        ),
        (
            {"method": "newton", "hess": lambda x: np.ones(2)},
            r"Hessian \(hess\) must have shape \(2, 2\), after x; got shape \(2,\)",
        ),
    ],
)
def test_derivatives_of_a_wrong_shape_are_named(given, message):
    with pytest.raises(ValueError, match=message):
        minimize(rosen, [0.0, 0.5], **given)


@pytest.mark.parametrize("method", ["bfgs", "lbfgs", "newton"])
def test_trial_points_outside_the_domain_are_stepped_back_from(method):
    with np.errstate(invalid="ignore", divide="ignore"):
        found = minimize(lambda x: x[0] - np.log(x[0]), [1e-3], jac=lambda x: 1 - 1 / x, method=method)
    assert found.x == pytest.approx([1], abs=1e-5)


def test_derivatives_by_differences():
    x = np.array([-1.2, 1.0, 0.7])
    f, v = CountedObjective(rosen), np.array([1.0, -2.0, 0.5])
    np.testing.assert_allclose(f.gradient(x), rosen_der(x), rtol=1e-8)
    g = CountedObjective(rosen, rosen_der)
    np.testing.assert_allclose(g.hessian(x), rosen_hess(x), rtol=1e-7, atol=1e-6)
    np.testing.assert_allclose(g.hessian_product(x, v), rosen_hess_prod(x, v), rtol=1e-7)
    h = CountedObjective(rosen, rosen_der, rosen_hess)
    np.testing.assert_allclose(h.hessian_product(x, v), rosen_hess_prod(x, v))


def test_the_three_ways_to_give_a_function_agree():
    f = Quadratic([[4, 1], [1, 3]], [1, 2])
    by_object = minimize(f, [2, 1], method="bfgs")
    by_two = minimize(f.value, [2, 1], jac=f.gradient, method="bfgs")
    by_one = minimize(lambda x: (f.value(x), f.gradient(x)), [2, 1], jac=True, method="bfgs")
    np.testing.assert_array_equal(by_object.x, by_two.x)
    np.testing.assert_array_equal(by_object.x, by_one.x)
    assert by_object.nfev == by_one.nfev == by_object.njev
    assert by_object.nfev == len(by_object.history["pass"]) + 1


def test_inside_an_estimator_the_passes_are_its_own():
    class Model(Estimator):
        def fit(self, X, y=None):
            return self._learn(X, y)

        def _fit(self, X, y, sample_weight):
            steps = functools.partial(self.steps, unpack=lambda x: {"coef_": x})
            self.coef_ = minimize(rosen, [-1.2, 1], jac=rosen_der, steps=steps).x

    model = Model().fit(np.zeros((2, 1)))
    assert model.n_iter_ == len(model.history_["fun"]) > 10
    np.testing.assert_allclose(model.coef_, 1, atol=1e-5)


def test_registered_methods_are_found():
    def jump(objective, x0, *, tol, max_iter, steps):
        return scipy.optimize.OptimizeResult(x=x0 + 1, fun=objective.value(x0 + 1))

    METHODS["jump"] = jump
    try:
        assert minimize(rosen, [0, 0], method="jump").fun == 0
    finally:
        del METHODS["jump"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "magic"}, "method must be one of 'gd'.*got 'magic'"),
        ({"stop": "tired"}, "stop must be one or several of 'gradient'.*got 'tired'"),
        ({"norm": 1}, "norm must be inf or 2; got 1"),
        ({"tol": -1.0}, "tol must be a number in .*got -1.0"),
        ({"max_iter": 0}, "max_iter must be an integer.*got 0"),
        ({"line_search": "lucky"}, "line_search must be one of 'fixed'.*got 'lucky'"),
        ({"line_search": -0.1}, "line_search must be.*got -0.1"),
        ({"memory": 0}, "memory must be an integer.*got 0"),
        ({"method": "broyden", "alpha": 1.5}, r"alpha must be a number in \[0, 1\]; got 1.5"),
        ({"method": "bfgs", "form": "c"}, "form must be.*got 'c'"),
        ({"method": "dfp", "form": "b"}, "form must be.*got 'b'"),
        ({"method": "dfp", "initial": -np.eye(2)}, "initial must be a symmetric positive definite"),
        ({"method": "owlqn", "l1": -1.0}, "l1 must be"),
        ({"x0": [[1.0, 2.0]]}, "x0 must be a vector"),
        ({"x0": [np.nan, 2.0]}, "x0 must be a vector of finite"),
        ({"fun": lambda x: x}, "fun must return one number"),
        ({"fun": lambda x: np.inf, "jac": lambda x: x}, "must be finite at x0"),
    ],
)
def test_errors_say_what_is_allowed(options, message):
    arguments = {"fun": rosen, "x0": [0.5, 0.5], **options}
    with pytest.raises(ValueError, match=message):
        minimize(**arguments)


def test_errors_of_type():
    with pytest.raises(TypeError, match="fun must be a callable"):
        minimize(3, [1.0])
    with pytest.raises(TypeError, match="jac must be a callable"):
        minimize(rosen, [1.0, 2.0], jac="yes")
    with pytest.raises(ValueError, match="A must be symmetric"):
        Quadratic([[1, 2], [0, 1]])


FUNCTIONS = {
    "gd": gradient_descent, "newton": newton, "newton-cg": newton_cg, "dfp": dfp, "bfgs": bfgs, "broyden": broyden,
    "lbfgs": lbfgs, "owlqn": owlqn, "ista": ista, "fista": fista, "proximal": proximal_gradient,
    "sgd": stochastic_gradient, "annealing": simulated_annealing, "noisy-gd": noisy_descent,
    "genetic": genetic_algorithm,
}  # fmt: skip
NEEDED = {
    "sgd": {"learning_rate": 0.1},
    "genetic": {"bounds": [(-3, 3)] * 2}, "noisy-gd": {"noise": 0.0, "step_size": 0.1},
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_method_by_itself_takes_the_options_of_minimize(name):
    """All that `minimize` documents for every method, with the same result."""
    f, seen = Quadratic([[3, 1], [1, 2]], [1, 1]), []
    options = {"tol": 1e-3, "max_iter": 200, **NEEDED.get(name, {})}
    if name in ("annealing", "noisy-gd", "genetic"):
        options["random_state"] = 0
    shared = {
        "jac": f.gradient, "hess": f.hessian, "hessp": f.hessian_product, "keep": True,
        "callback": lambda step: seen.append(step.index), "steps": Steps,
    }  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = FUNCTIONS[name](f.value, [2.0, -1.0], **shared, **options)
        passes, seen[:] = list(seen), []
        method = "fista" if name == "proximal" else name
        through = minimize(f.value, [2.0, -1.0], method=method, **shared, **options)
    np.testing.assert_array_equal(found.x, through.x)
    np.testing.assert_array_equal(found.trajectory, through.trajectory)
    assert passes == seen == found.history["pass"]
    assert (found.nfev, found.njev, found.nhev) == (through.nfev, through.njev, through.nhev)
    for option in ("stop", "norm") if "norm" in inspect.signature(FUNCTIONS[name]).parameters else ():
        value = {"stop": "value", "norm": 2}[option]
        FUNCTIONS[name](f, [2.0, -1.0], **{option: value}, **options)


@pytest.mark.parametrize("name", ["gd", "newton", "newton-cg", "dfp", "bfgs", "broyden", "lbfgs"])
def test_line_searches_of_a_method_by_itself(name):
    for search in (None, "exact", "exact-global", "wolfe", "armijo", 0.05):
        found = FUNCTIONS[name](
            Quadratic([[3, 1], [1, 2]], [1, 1]),
            [2.0, -1.0],
            line_search=search,
            stop="value",
            norm=2,
            max_iter=2000,
        )
        np.testing.assert_allclose(found.x, [0.2, 0.4], atol=2e-2)


def test_every_option_of_a_method_is_in_its_signature():
    for function in FUNCTIONS.values():
        names = inspect.signature(function).parameters
        assert {"jac", "hess", "hessp", "steps", "callback", "keep"} <= set(names) or "options" in names
    with pytest.raises(ValueError, match="max_iter must be an integer"):
        gradient_descent(rosen, [0.0, 0.0], max_iter=0)
    with pytest.raises(TypeError, match="momentun"):
        lbfgs(rosen, [0.0, 0.0], momentun=0.9)


def test_hessians_by_differences_of_values():
    x = np.array([-1.2, 1.0, 0.7])
    np.testing.assert_allclose(CountedObjective(rosen).hessian(x), rosen_hess(x), rtol=1e-6, atol=1e-3)
