from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose
from scipy import stats
from scipy.spatial.distance import jensenshannon
from sklearn.metrics import mutual_info_score

from tercet.distributions import Beta, Dirichlet, Gamma, Gaussian, joint_table
from tercet.metrics.information import (
    conditional_entropy,
    cross_entropy,
    entropy,
    information_gain,
    information_gain_ratio,
    joint_entropy,
    js_divergence,
    kl_density,
    kl_dirichlet,
    kl_divergence,
    kl_gaussian,
    label_conditional_entropy,
    label_entropy,
    mutual_information,
)

# Li Table 5.1: age, job, house, credit; class
LOAN = np.array(
    [
        ["youth", "no", "no", "fair", "no"],
        ["youth", "no", "no", "good", "no"],
        ["youth", "yes", "no", "good", "yes"],
        ["youth", "yes", "yes", "fair", "yes"],
        ["youth", "no", "no", "fair", "no"],
        ["middle", "no", "no", "fair", "no"],
        ["middle", "no", "no", "good", "no"],
        ["middle", "yes", "yes", "good", "yes"],
        ["middle", "no", "yes", "excellent", "yes"],
        ["middle", "no", "yes", "excellent", "yes"],
        ["old", "no", "yes", "excellent", "yes"],
        ["old", "no", "yes", "good", "yes"],
        ["old", "yes", "no", "good", "yes"],
        ["old", "yes", "no", "excellent", "yes"],
        ["old", "no", "no", "fair", "no"],
    ]
)
FEATURES = ["age", "job", "house", "credit"]
weights = arrays(float, 5, elements=st.floats(0, 10)).filter(lambda w: w.sum() > 1e-3)


# the texts' numbers


def test_information_gain_of_the_text():
    labels = LOAN[:, 4]
    assert label_entropy(labels, base=2) == pytest.approx(0.9709505945, abs=1e-10)
    gain = {"age": 0.0830074999, "job": 0.3236501982, "house": 0.4199730940, "credit": 0.3629895625}
    left = {"age": 0.8879430946, "job": 0.6473003963, "house": 0.5509775004, "credit": 0.6079610319}
    for k, name in enumerate(FEATURES):
        assert information_gain(labels, LOAN[:, k], base=2) == pytest.approx(gain[name], abs=1e-10)
        assert label_conditional_entropy(labels, LOAN[:, k], base=2) == pytest.approx(left[name], abs=1e-10)
        ratio = gain[name] / label_entropy(LOAN[:, k], base=2)
        assert information_gain_ratio(labels, LOAN[:, k]) == pytest.approx(ratio, abs=1e-9)


def test_information_gain_below_the_root():
    rest = LOAN[LOAN[:, 2] == "no"]
    assert label_entropy(rest[:, 4], base=2) == pytest.approx(0.9182958341, abs=1e-10)
    for k, gain in [(0, 0.2516291674), (1, 0.9182958341), (3, 0.4738513896)]:
        assert information_gain(rest[:, 4], rest[:, k], base=2) == pytest.approx(gain, abs=1e-10)


def test_maximum_entropy_examples_of_the_text():
    assert entropy([0.2] * 5) == pytest.approx(1.6094379124, abs=1e-10)
    assert entropy([3 / 20, 3 / 20, 7 / 30, 7 / 30, 7 / 30]) == pytest.approx(1.5878370583, abs=1e-10)
    # by duality: zero gap at these multipliers
    w0, w1 = 0.4552872326, 0.4418327523
    dual = -2 * np.exp(-w1 - w0 - 1) - 3 * np.exp(-w0 - 1) - 0.3 * w1 - w0
    assert dual == pytest.approx(-1.5878370583, abs=1e-9)


def test_conditional_entropy_of_a_maximum_entropy_model():
    p_x = np.array([0.4, 0.6])
    model = np.array([[0.75, 0.14389277, 0.10610723], [0.29796426, 0.40407148, 0.29796426]])
    assert conditional_entropy(p_x[:, None] * model, given=0) == pytest.approx(0.9457187002, abs=1e-8)


def test_divergences_of_the_text():
    assert kl_divergence([0.5, 0.5], [0.9, 0.1]) == pytest.approx(0.5108256238, abs=1e-10)
    assert kl_divergence([0.9, 0.1], [0.5, 0.5]) == pytest.approx(0.3680642072, abs=1e-10)
    assert kl_gaussian(0, 1, 1, 4) == pytest.approx(0.4431471806, abs=1e-10)
    assert js_divergence([0.5, 0.5], [0.9, 0.1]) == pytest.approx(0.1017492251, abs=1e-10)
    assert js_divergence([0.5, 0.5], [0.9, 0.1], base=2) == pytest.approx(0.1467931024, abs=1e-10)
    assert js_divergence([1, 0], [0, 1]) == pytest.approx(0.6931471806, abs=1e-10)
    data, made = [0.1, 0.2, 0.3, 0.4], [0.25] * 4
    assert js_divergence(data, made) == pytest.approx(0.0278656135, abs=1e-10)
    assert 2 * js_divergence(data, made) - 2 * np.log(2) == pytest.approx(-1.3305631342, abs=1e-10)
    assert kl_divergence(made, data) == pytest.approx(0.1217772743, abs=1e-10)
    mu, var = np.array([1, -0.5]), np.array([1, 0.25])
    assert kl_gaussian(mu, np.diag(var), [0, 0], np.eye(2)) == pytest.approx(0.9431471806, abs=1e-10)


# properties


@given(weights)
def test_entropy_is_between_zero_and_log_k(w):
    h = entropy(w, normalise=True)
    assert -1e-12 <= h <= np.log(5) + 1e-12
    assert entropy(w, normalise=True, base=2) == pytest.approx(h / np.log(2), abs=1e-12)
    assert h == pytest.approx(stats.entropy(w), abs=1e-10)


@given(weights, weights)
def test_divergence_properties(a, b):
    q, p = a / a.sum(), b / b.sum()
    d = kl_divergence(q, p)
    assert d >= 0
    assert kl_divergence(q, q) == pytest.approx(0, abs=1e-12)
    assert np.isinf(d) == bool(np.any((p == 0) & (q > 0)))
    if np.isfinite(d):
        assert cross_entropy(q, p) == pytest.approx(entropy(q) + d, abs=1e-9)
    js = js_divergence(q, p)
    assert js == pytest.approx(js_divergence(p, q), abs=1e-12)
    assert 0 <= js <= np.log(2) + 1e-12
    assert js == pytest.approx(jensenshannon(q, p) ** 2, abs=1e-7)


@given(st.integers(0, 2**32 - 1))
def test_chain_rules(seed):
    joint = np.random.default_rng(seed).dirichlet(np.full(12, 0.3)).reshape(3, 4)
    h_x, h_y = entropy(joint.sum(axis=1)), entropy(joint.sum(axis=0))
    both = joint_entropy(joint)
    gain = mutual_information(joint)
    assert conditional_entropy(joint, given=0) == pytest.approx(both - h_x, abs=1e-10)
    assert gain == pytest.approx(h_y - conditional_entropy(joint, given=0), abs=1e-10)
    assert gain == pytest.approx(mutual_information(joint.T), abs=1e-10)
    assert -1e-12 <= gain <= min(h_x, h_y) + 1e-10
    assert both <= h_x + h_y + 1e-10


def test_along_an_axis_and_in_log_space():
    q, p = np.random.default_rng(0).dirichlet(np.ones(4), size=(2, 3))
    assert_allclose(entropy(q), [entropy(row) for row in q])
    assert_allclose(entropy(q.T, axis=0), entropy(q))
    assert_allclose(kl_divergence(q, p), [kl_divergence(a, b) for a, b in zip(q, p)])
    assert_allclose(kl_divergence(np.log(q), np.log(p), log=True), kl_divergence(q, p))
    assert_allclose(entropy(np.log(q), log=True), entropy(q))
    # p underflows to zero, its logarithm does not
    assert kl_divergence([0.0, -np.inf], [-2000.0, 0.0], log=True) == pytest.approx(2000)
    assert kl_divergence([1.0, 0.0], [0.0, 1.0]) == np.inf
    unnormalised = kl_divergence(np.log(3 * q), np.log(7 * p), log=True, normalise=True)
    assert_allclose(unnormalised, kl_divergence(q, p))


def test_labels_with_weights_and_peers():
    rng = np.random.default_rng(1)
    x, y, w = rng.integers(0, 4, 200), rng.choice(["a", "b", "c"], 200), rng.integers(0, 3, 200)
    assert information_gain(y, x) == pytest.approx(mutual_info_score(y, x))
    assert information_gain(y, x, sample_weight=w) == pytest.approx(
        information_gain(np.repeat(y, w), np.repeat(x, w))
    )
    assert label_entropy(y, sample_weight=w) == pytest.approx(label_entropy(np.repeat(y, w)))
    assert information_gain_ratio(y, x, sample_weight=w) == pytest.approx(
        information_gain_ratio(np.repeat(y, w), np.repeat(x, w))
    )
    counts = joint_table(x, y)[0] * 200
    assert mutual_information(counts, normalise=True) == pytest.approx(information_gain(y, x))
    assert label_conditional_entropy(y, x) == pytest.approx(label_entropy(y) - information_gain(y, x))
    assert information_gain_ratio(y, np.zeros(200)) == 0


# closed forms and integration


def test_gaussian_closed_form():
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=(2, 3, 3))
    cov_q, cov_p = a @ a.T + np.eye(3), b @ b.T + np.eye(3)
    mean_q, mean_p = rng.normal(size=(2, 3))
    q, p = stats.multivariate_normal(mean_q, cov_q), stats.multivariate_normal(mean_p, cov_p)
    x = q.rvs(200_000, random_state=0)
    gaps = q.logpdf(x) - p.logpdf(x)
    assert kl_gaussian(mean_q, cov_q, mean_p, cov_p) == pytest.approx(gaps.mean(), abs=4 * gaps.std() / 447)
    assert kl_gaussian(mean_q, cov_q, mean_q, cov_q) == pytest.approx(0, abs=1e-12)
    assert kl_gaussian(2.0, 3.0, -1.0, 0.5) == pytest.approx(Gaussian(2, 3).kl(Gaussian(-1, 0.5)))


def test_dirichlet_closed_form_by_rows():
    q, p = np.array([[1.0, 2, 3], [0.5, 0.5, 4]]), np.array([[2.0, 2, 1], [1, 1, 1]])
    expected = [Dirichlet(a).kl(Dirichlet(b)) for a, b in zip(q, p)]
    assert_allclose(kl_dirichlet(q, p), expected, rtol=1e-12)
    assert_allclose(kl_dirichlet(q, q), 0, atol=1e-12)


@pytest.mark.parametrize(
    ("q", "p", "limits"),
    [
        (Gaussian(0, 1), Gaussian(1, 4), {}),
        (Gamma(2.5, 1.0), Gamma(1.5, 2.0), {"lower": 0}),
        (Beta(2, 3), Beta(4, 1.5), {"lower": 0, "upper": 1}),
    ],
    ids=repr,
)
def test_numeric_divergence(q, p, limits):
    assert kl_density(q.logpdf, p.logpdf, **limits) == pytest.approx(q.kl(p), rel=1e-7)


def test_numeric_divergence_is_infinite_where_p_is_impossible():
    assert kl_density(Gaussian(0, 1).logpdf, Gamma(2, 1).logpdf) == np.inf


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: entropy([0.5, 0.6]), r"p must sum to 1 \(or give normalise=True\), got a sum of 1.1"),
        (lambda: entropy([1.5, -0.5]), "p must hold finite numbers, at least 0"),
        (lambda: entropy([]), "p must hold finite numbers"),
        (lambda: entropy([0, 0], normalise=True), "p must not sum to 0"),
        (lambda: entropy([0.5, 0.5], base=1), "base must be finite, above 0 and not 1, got 1"),
        (lambda: kl_divergence([0.5, 0.5], [0.5, 0.4]), "p must sum to 1"),
        (lambda: js_divergence([0.5, 0.4], [0.5, 0.5]), "p must sum to 1"),
        (lambda: mutual_information([0.5, 0.5]), r"joint must have two axes, got shape \(2,\)"),
        (lambda: kl_gaussian(0, -1, 0, 1), "cov_q must be positive definite, got -1"),
        (
            lambda: kl_gaussian([0, 0], np.eye(2), [0, 0], np.eye(3)),
            "cov_p must be a symmetric matrix of size 2",
        ),
        (lambda: kl_dirichlet([1, 0], [1, 1]), "alpha_q must be finite and above 0"),
    ],
)
def test_errors_name_the_value_and_what_is_allowed(call, message):
    with pytest.raises(ValueError, match=message):
        call()
