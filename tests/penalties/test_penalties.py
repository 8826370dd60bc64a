from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import ElasticNet as PeerElasticNet
from sklearn.linear_model import Lasso, Ridge

from tercet.penalties import (
    L0,
    L1,
    L2,
    PENALTIES,
    ElasticNet,
    Lq,
    NoPenalty,
    Penalty,
    hard_threshold,
    penalty,
    soft_threshold,
    structural_risk,
)

CONVEX = [
    NoPenalty(),
    L1(0.7),
    L2(0.7),
    L2(0.7, half=True),
    ElasticNet(0.7, l1_ratio=0.3),
    ElasticNet(0.7, l1_ratio=0.3, half=True),
    Lq(0.7, q=1.0),
    Lq(0.7, q=1.2),
    Lq(0.7, q=2.0),
    Lq(0.7, q=4.0),
]
OTHERS = [L0(0.7), Lq(0.7, q=0.3), Lq(0.7, q=0.9)]

# Pattern Recognition ch. 5.7: X'X / l = I, least squares [3, -0.4, 1], lambda 0.6
X = np.array([[1.0, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
Y = np.array([3.6, 2.4, -4.4, -1.6])
LAMBDA = 0.6


@pytest.mark.parametrize(
    ("one", "solution", "objective"),
    [
        (L0(LAMBDA), [3, 0, 1], 1.36),
        (L1(LAMBDA), [2.7, -0.1, 0.7], 2.37),
        (L2(LAMBDA), [1.875, -0.25, 0.625], 3.81),
        (ElasticNet(LAMBDA, l1_ratio=0.5), [2.19230769, -0.19230769, 0.65384615], None),
        (Lq(LAMBDA, q=0.5), [2.9121, 0, 0.83594], None),
    ],
)
def test_regularised_regressions_of_the_text(one, solution, objective):
    least_squares = X.T @ Y / 4
    assert_allclose(least_squares, [3, -0.4, 1])
    w = one.prox(least_squares, 0.5)
    assert_allclose(w, solution, atol=5e-5 if isinstance(one, Lq) else 1e-8)
    if objective is not None:
        assert structural_risk((Y - X @ w) ** 2, one.value(w)) == pytest.approx(objective)


def test_mapping_to_scikit_learn():
    least_squares, options = X.T @ Y / 4, {"fit_intercept": False, "tol": 1e-12}
    lasso = Lasso(alpha=LAMBDA / 2, **options).fit(X, Y).coef_
    assert_allclose(L1(LAMBDA).prox(least_squares, 0.5), lasso, atol=1e-9)
    ridge = Ridge(alpha=4 * LAMBDA, **options).fit(X, Y).coef_
    assert_allclose(L2(LAMBDA).prox(least_squares, 0.5), ridge, atol=1e-9)
    alpha = 0.3
    c = alpha / 2 + 1 - alpha
    peer = PeerElasticNet(alpha=LAMBDA * c, l1_ratio=alpha / 2 / c, **options).fit(X, Y).coef_
    assert_allclose(ElasticNet(LAMBDA, l1_ratio=alpha).prox(least_squares, 0.5), peer, atol=1e-9)
    theirs = ElasticNet(LAMBDA * c, l1_ratio=alpha / 2 / c, half=True)
    assert_allclose(theirs.prox(least_squares, 1.0), peer, atol=1e-9)


@pytest.mark.parametrize("one", [*CONVEX, *OTHERS], ids=repr)
@given(w=st.floats(-20, 20), step=st.floats(1e-4, 50))
def test_prox_beats_every_other_point(one, w, step):
    u = float(one.prox([w], step)[0])

    def objective(v):
        return step * one.value([v]) + 0.5 * (v - w) ** 2

    rivals = [*np.linspace(-abs(w), abs(w), 41), 0.0, u + 1e-4, u - 1e-4]
    best = objective(u)
    assert best <= min(objective(v) for v in rivals) + 1e-9 * (1 + best)
    assert u * w >= 0
    assert abs(u) <= abs(w)


@pytest.mark.parametrize("q", [1.01, 1.3, 1.9, 2.5, 6.0])
def test_bridge_prox_solves_its_equation(q):
    a = np.concatenate([np.logspace(-8, 6, 60), [0.0]])
    for t in (1e-4, 1.0, 1e3):
        u = Lq(1.0, q=q).prox(a, t)
        # close to q = 1 the root of a small a is below the smallest number with all its digits
        lost = (u < 1e-300) & (a > 0)
        assert np.all((a[lost] / (t * q)) ** (1 / (q - 1)) < 1e-299)
        assert_allclose((u + t * q * u ** (q - 1))[~lost], a[~lost], rtol=1e-9, atol=0)


def test_bridge_prox_jumps_where_zero_stops_being_best():
    t, q = 0.5, 0.5
    edge = (2 - q) / (2 - 2 * q) * (2 * t * (1 - q)) ** (1 / (2 - q))
    u = Lq(1.0, q=q).prox([edge * (1 - 1e-9), edge * (1 + 1e-9)], t)
    assert u[0] == 0
    assert u[1] == pytest.approx((2 * t * (1 - q)) ** (1 / (2 - q)), rel=1e-6)


@pytest.mark.parametrize(
    "one", [*CONVEX, *OTHERS, Lq(0.7, q=3.0, root=True), Lq(0.7, q=1.5, root=True)], ids=repr
)
def test_gradient_against_differences(one):
    w, h = np.array([-2.0, -0.3, 0.4, 1.7]), 1e-6
    differences = [(one.value(w + h * e) - one.value(w - h * e)) / (2 * h) for e in np.eye(4)]
    assert_allclose(one.gradient(w), differences, atol=1e-7)
    assert np.all(np.isfinite(one.gradient(np.zeros(3))))


@pytest.mark.parametrize(
    "one", [*CONVEX, *OTHERS, Lq(0.7, [1, 2], q=3.0, root=True), Lq(0.7, q=0.5, root=True)], ids=repr
)
def test_curvature_and_float32(one):
    w, h = np.array([-2.0, 0.4]), 1e-5
    differences = [(one.gradient(w + h * e) - one.gradient(w - h * e)) @ e / (2 * h) for e in np.eye(2)]
    assert_allclose(one.curvature(w), differences, rtol=1e-6, atol=1e-8)
    assert np.all(np.isfinite(one.curvature(np.zeros(2))))
    small = w.astype(np.float32)
    results = [one.gradient(small), one.curvature(small)]
    if not getattr(one, "root", False):
        results.append(one.prox(small, np.float64(0.3)))
    assert {result.dtype for result in results} == {np.dtype(np.float32)}


def test_curvature_at_zero_is_that_of_the_smooth_penalty():
    assert_allclose(Lq(0.7, q=2.0).curvature(np.zeros(2)), L2(0.7).curvature(np.zeros(2)))
    assert_allclose(Lq(0.7, q=4.0).curvature(np.zeros(2)), 0)


def test_float32_with_weights_and_bridge():
    w = np.array([-2.0, 0.4, 3.0], dtype=np.float32)
    for one in (
        L1(0.5, [1, 0, 2]),
        L2(0.5, [1, 0, 2]),
        L0(0.5, [1, 0, 2]),
        Lq(0.5, [1, 0, 2], q=0.5),
        Lq(0.5, q=1.5),
    ):
        assert one.prox(w, 0.7).dtype == np.float32
        assert_allclose(one.prox(w, 0.7), one.prox(w.astype(float), 0.7), rtol=1e-5)


@pytest.mark.parametrize("kind", [L0, L1, L2, Lq, ElasticNet])
def test_weights_scale_each_coordinate(kind):
    w, weights = np.array([2.0, -1.5, 0.9]), [1.0, 0.0, 3.0]
    one = kind(0.4, weights)
    parts = [kind(0.4 * s) for s in weights]
    assert one.value(w) == pytest.approx(sum(part.value([v]) for part, v in zip(parts, w)))
    for method in ("gradient", "prox"):
        expected = [getattr(part, method)([v])[0] for part, v in zip(parts, w)]
        assert_allclose(getattr(one, method)(w), expected, atol=1e-12)
    assert one.prox(w)[1] == w[1]


@pytest.mark.parametrize(
    "one", [*CONVEX, *OTHERS, *(Lq(0.7, q=q, root=True) for q in (0.5, 1.0, 3.0))], ids=repr
)
def test_conjugate_is_the_best_linear_gain(one):
    # with a bound on w in place of infinity: an infinite conjugate is a gain that grows with the bound
    half = np.logspace(-3, 5, 4001)
    grid = np.concatenate([-half, [0.0], half])
    values = np.array([one.value([w]) for w in grid])
    for z in (-2.0, -0.65, 0.0, 0.3, 3.0):
        gains = z * grid - values
        if np.isinf(one.conjugate([z])):
            assert gains.max() > 1e3
        else:
            assert one.conjugate([z]) == pytest.approx(gains.max(), rel=1e-4, abs=1e-5)


@pytest.mark.parametrize(
    "one",
    [
        Lq(0.7, [1, 2, 3], q=1.3),
        Lq(0.7, [1, 2, 3], q=4.0),
        Lq(0.7, [1, 2, 3], q=2.5, root=True),
        Lq(0.7, [1, 2, 3], q=0.5, root=True),
    ],
    ids=repr,
)
def test_fenchel_and_young(one):
    rng = np.random.default_rng(1)
    for w in rng.normal(scale=2, size=(20, 3)):
        z = rng.normal(size=3) * 0.3
        assert one.value(w) + one.conjugate(z) >= w @ z - 1e-12
        if one.q > 1:
            # equality at the gradient; a hair inside the dual ball of a norm, where rounding cannot leave it
            slope = one.gradient(w) * (1 - 1e-12)
            assert one.value(w) + one.conjugate(slope) == pytest.approx(w @ slope, rel=1e-9)
            if one.root:
                assert one.conjugate(slope * (1 + 1e-9)) == np.inf


def test_conjugate_of_the_sharp_corner_of_a_ball():
    # below q = 1 the convex hull of the root is a weighted L1 norm, with weights^(1 / q)
    one = Lq(2.0, [1, 4], q=0.5, root=True)
    assert one.conjugate([2.0, 32.0]) == 0
    assert one.conjugate([2.0, 32.001]) == np.inf
    assert Lq(1.0, q=1.001, root=True).conjugate([0.99, 0.5]) == 0
    assert Lq(1e6, q=1.001, root=True).conjugate([9e5, 5.0]) == 0
    assert Lq(1.0, [1, 0], q=3.0, root=True).conjugate([0.5, 0.1]) == np.inf
    assert Lq(1.0, [1, 0], q=3.0).conjugate([0.0, 0.0]) == 0
    assert Lq(1.0, q=1.001).conjugate([50.0]) == np.inf


def test_conjugate_of_free_coordinates():
    assert L1(1.0, [1, 0]).conjugate([0.9, 0.0]) == 0
    assert L1(1.0, [1, 0]).conjugate([0.9, 0.1]) == np.inf
    assert L1(2.0, [1, 0]).dual_norm([-3.0, 0.0]) == pytest.approx(1.5)
    assert L2(1.0, [1, 0]).conjugate([2.0, 0.0]) == pytest.approx(1.0)
    assert L2(1.0, [1, 0]).conjugate([2.0, 0.1]) == np.inf
    assert NoPenalty().conjugate([0.0]) == 0
    assert NoPenalty().conjugate([1e-9]) == np.inf
    assert ElasticNet(0.7, l1_ratio=1.0).conjugate([0.71]) == np.inf
    assert L0().conjugate([0.0]) == Lq(q=0.5).conjugate([0.0]) == 0
    assert L0().conjugate([1e-9]) == Lq(q=0.5).conjugate([1e-9]) == np.inf


def test_duality_gap_of_a_lasso_closes():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(40, 6)), rng.normal(size=40)
    one = L1(0.1)
    w = Lasso(alpha=0.1, fit_intercept=False, tol=1e-14, max_iter=100_000).fit(x, y).coef_
    residual = y - x @ w
    theta = residual / 40 / max(1.0, one.dual_norm(x.T @ residual / 40))
    primal = residual @ residual / 80 + one.value(w)
    dual = theta @ y - 20 * theta @ theta - one.conjugate(x.T @ theta * (1 - 1e-12))
    assert primal - dual == pytest.approx(0, abs=1e-10)


def test_root_of_the_sum():
    w = np.array([3.0, -4.0])
    assert Lq(2.0, q=2, root=True).value(w) == pytest.approx(10.0)
    assert Lq(1.0, q=2).value(w) == pytest.approx(25.0)
    assert Lq(1.0, [4, 0], q=2, root=True).value(w) == pytest.approx(6.0)
    with pytest.raises(ValueError, match=r"root of Lq must be False for a proximal step.*got True"):
        Lq(q=2, root=True).prox(w)


def test_thresholds():
    assert_array_equal(soft_threshold([-2, -1, 0.5, 3], 1), [-1, 0, 0, 2])
    assert_array_equal(hard_threshold([-2, -1, 0.5, 3], 1), [-2, 0, 0, 3])
    assert_array_equal(soft_threshold([2.0, 2.0], [0.0, 5.0]), [2, 0])
    # watermelon notes ch. 10, with lambda / L = 1
    assert_array_equal(soft_threshold([3, -0.5, 1, -2], 1), [2, 0, 0, -1])
    assert not np.signbit(Lq(1.0, q=0.5).prox([-0.1])).any()


def test_map_estimates_of_the_text():
    x, y = np.array([[1.0, 0], [1, 1], [1, 2]]), np.array([1.0, 2, 4])
    step = 1 / np.linalg.eigvalsh(x.T @ x)[-1]
    for one, expected in [(L2(0.5), [0.8, 1.2666666667]), (L1(0.5), [0.6666666667, 1.5])]:
        w = np.zeros(2)
        for _ in range(2000):
            w = one.prox(w - step * x.T @ (x @ w - y), step)
        assert_allclose(w, expected, atol=1e-9)


def test_registry():
    assert {type(penalty(key)) for key in PENALTIES} == set(PENALTIES.values())
    assert isinstance(penalty(None), NoPenalty)
    assert penalty("elasticnet", strength=2.0, l1_ratio=0.1).value([1.0]) == pytest.approx(2.0)
    assert all(issubclass(kind, Penalty) for kind in PENALTIES.values())
    with pytest.raises(ValueError, match=r"name must be None or one of .*'l1'.*got 'l3'"):
        penalty("l3")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: L1(-1), "strength of L1 must be finite and at least 0, got -1"),
        (lambda: L2(np.nan), "strength of L2 must be finite and at least 0, got nan"),
        (lambda: L1(1, [1, -2]), r"weights of L1 must be finite and at least 0, got array\(\[-2.\]\)"),
        (lambda: ElasticNet(l1_ratio=1.5), r"l1_ratio of ElasticNet must lie in \[0, 1\], got 1.5"),
        (lambda: Lq(q=0), "q of Lq must be finite and above 0, got 0"),
        (lambda: structural_risk([1.0], 1.0, lam=-1), "lam must be finite and at least 0, got -1"),
    ],
)
def test_errors_name_the_value_and_what_is_allowed(make, message):
    with pytest.raises(ValueError, match=message):
        make()
