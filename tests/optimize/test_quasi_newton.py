"""DFP, BFGS and Broyden's class: the properties that the appendix proves."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import rosen, rosen_der

from tercet.optimize import Quadratic, minimize, quasi_newton_conditions, sherman_morrison
from tercet.optimize.quasi_newton import QuasiNewton, bfgs_update, broyden_update, dfp_update

seeds = st.integers(0, 10_000)
alphas = st.floats(0, 1)


def positive(rng, n):
    root = rng.normal(size=(n, n))
    return root @ root.T + np.eye(n)


def a_move(rng, n):
    """δ and y with y·δ > 0."""
    delta, y = rng.normal(size=(2, n))
    return (delta, y) if delta @ y > 0 else (delta, -y)


@given(seeds, alphas, st.integers(2, 6))
def test_updates_keep_the_secant_condition_symmetry_and_positivity(seed, alpha, n):
    rng = np.random.default_rng(seed)
    G = positive(rng, n)
    delta, y = a_move(rng, n)
    new = broyden_update(G, delta, y, alpha)
    scale = np.abs(new).max()
    np.testing.assert_allclose(new @ y, delta, rtol=1e-8, atol=1e-10 * scale)
    np.testing.assert_allclose(new, new.T, atol=1e-10 * scale)
    assert np.linalg.eigvalsh(new).min() > -1e-10 * scale
    B = bfgs_update(G, delta, y)
    np.testing.assert_allclose(B @ delta, y, rtol=1e-8, atol=1e-10 * np.abs(B).max())


@given(seeds, alphas)
def test_broyden_is_the_mixture_of_dfp_and_bfgs(seed, alpha):
    rng = np.random.default_rng(seed)
    G = positive(rng, 4)
    delta, y = a_move(rng, 4)
    rho = 1 / (y @ delta)
    V = np.eye(4) - rho * np.outer(delta, y)
    by_text = V @ G @ V.T + rho * np.outer(delta, delta)  # (B.31)
    scale = np.abs(by_text).max() + np.abs(G).max()
    np.testing.assert_allclose(broyden_update(G, delta, y, 0.0), by_text, atol=1e-10 * scale)
    np.testing.assert_allclose(broyden_update(G, delta, y, 1.0), dfp_update(G, delta, y), atol=1e-10 * scale)
    mixture = alpha * dfp_update(G, delta, y) + (1 - alpha) * by_text
    np.testing.assert_allclose(broyden_update(G, delta, y, alpha), mixture, atol=1e-10 * scale)


@given(seeds)
def test_the_inverse_of_b_is_g(seed):
    rng = np.random.default_rng(seed)
    B = positive(rng, 4)
    delta = rng.normal(size=4)
    y = positive(rng, 4) @ delta
    G = broyden_update(np.linalg.inv(B), delta, y, 0.0)
    np.testing.assert_allclose(bfgs_update(B, delta, y) @ G, np.eye(4), atol=1e-7)


@given(seeds, st.integers(2, 5))
def test_quadratic_termination_with_the_same_iterates_for_every_alpha(seed, n):
    rng = np.random.default_rng(seed)
    f, x0 = Quadratic(positive(rng, n), rng.normal(size=n)), rng.normal(size=n)
    options = {"line_search": "exact", "initial": np.eye(n), "tol": 1e-9, "keep": True}
    runs = [minimize(f, x0, method="broyden", alpha=alpha, **options) for alpha in (0.0, 0.3, 0.7, 1.0)]
    for run in runs:
        assert run.nit <= n
        np.testing.assert_allclose(run.trajectory, runs[0].trajectory, atol=1e-7)
        if run.nit == n:
            np.testing.assert_allclose(run.hess_inv @ f.A, np.eye(n), atol=1e-5)


@given(seeds)
def test_both_forms_of_bfgs_walk_the_same_way(seed):
    x0 = np.random.default_rng(seed).uniform(-2, 2, size=3)
    passes = []
    for form in ("inverse", "b"):
        found = minimize(
            rosen,
            x0,
            jac=rosen_der,
            method="bfgs",
            form=form,
            keep=True,
            callback=lambda step: step.index == 7,
        )
        passes.append(np.array(found.trajectory))
    np.testing.assert_allclose(passes[0], passes[1], rtol=1e-6, atol=1e-6)


@given(seeds, alphas, st.sampled_from([None, "armijo", "exact"]))
def test_f_falls_and_the_matrix_stays_positive_definite(seed, alpha, search):
    x0 = np.random.default_rng(seed).uniform(-2, 2, size=3)
    found = minimize(
        rosen,
        x0,
        jac=rosen_der,
        method="broyden",
        alpha=alpha,
        line_search=search,
        callback=lambda step: step.index == 30,
    )
    values = [rosen(x0), *found.history["fun"]]
    assert all(after <= before for before, after in pairwise(values))
    assert np.linalg.eigvalsh(found.hess_inv).min() > 0


@given(seeds, alphas)
def test_every_member_of_the_class_converges(seed, alpha):
    x0 = np.random.default_rng(seed).uniform(-2, 2, size=3)
    found = minimize(rosen, x0, jac=rosen_der, method="broyden", alpha=alpha)
    assert found.success
    assert np.abs(rosen_der(found.x)).max() <= 1e-6


def test_without_curvature_there_is_no_update():
    rule = QuasiNewton(2, 0.0, initial=np.diag([2.0, 3.0]))
    rule.update(1.0, np.array([1.0, 0.0]), np.array([-1.0, 0.0]))
    rule.update(1.0, np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    np.testing.assert_array_equal(rule.matrix, np.diag([2.0, 3.0]))


def test_bfgs_needs_no_more_evaluations_than_scipy():
    ours = peers = 0
    for x0 in np.random.default_rng(0).uniform(-2, 2, size=(20, 2)):
        ours += minimize(rosen, x0, jac=rosen_der, method="bfgs", tol=1e-5).nfev
        peers += scipy.optimize.minimize(rosen, x0, jac=rosen_der, method="BFGS", options={"gtol": 1e-5}).nfev
    assert ours <= peers


@given(seeds, st.integers(1, 6))
def test_sherman_morrison(seed, n):
    rng = np.random.default_rng(seed)
    A, u, v = positive(rng, n), rng.normal(size=n), rng.normal(size=n)
    changed = A + np.outer(u, v)
    if np.linalg.cond(changed) < 1e6:
        np.testing.assert_allclose(sherman_morrison(np.linalg.inv(A), u, v) @ changed, np.eye(n), atol=1e-7)
    symmetric = sherman_morrison(np.linalg.inv(A), u)
    np.testing.assert_allclose(symmetric @ (A + np.outer(u, u)), np.eye(n), atol=1e-8)


def test_sherman_morrison_of_a_singular_sum():
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        sherman_morrison(np.eye(2), [1, 0], [-1, 0])


@pytest.mark.parametrize("form", ["inverse", "b"])
def test_updates_satisfy_the_quasi_newton_conditions(form):
    rng = np.random.default_rng(0)
    M = rng.normal(size=(4, 4))
    start, delta = M @ M.T + np.eye(4), rng.normal(size=4)
    y = delta + 0.1 * rng.normal(size=4)
    update = dfp_update if form == "inverse" else bfgs_update
    good = quasi_newton_conditions(update(start, delta, y), delta, y, form=form)
    assert good.holds(1e-10)
    assert good.curvature == pytest.approx(delta @ y)
    before = quasi_newton_conditions(start, delta, y, form=form)
    assert before.positive_definite
    assert not before.holds()
    left, right = (y, delta) if form == "inverse" else (delta, y)
    np.testing.assert_allclose(before.secant, start @ left - right)
    # without δᵀy > 0 no update stays positive definite
    assert not quasi_newton_conditions(update(start, delta, -y), delta, -y, form=form).positive_definite


def test_quasi_newton_conditions_of_wrong_shapes():
    with pytest.raises(ValueError, match=r"shapes \(n, n\), \(n,\) and \(n,\); got"):
        quasi_newton_conditions(np.eye(2), [1.0, 2.0, 3.0], [1.0, 2.0])
    with pytest.raises(ValueError, match="form must be"):
        quasi_newton_conditions(np.eye(2), [1.0, 2.0], [1.0, 2.0], form="c")
