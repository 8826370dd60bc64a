"""Kernel densities, and tables whose columns have distributions of their own."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp
from sklearn.datasets import load_iris

from tercet.naive_bayes.bernoulli_nb import BernoulliNB
from tercet.naive_bayes.categorical_nb import CategoricalNB
from tercet.naive_bayes.gaussian_nb import GaussianNB
from tercet.naive_bayes.kernel_density_nb import MAX_POINTS, KernelDensityNB
from tercet.naive_bayes.mixed_nb import MixedNB
from tercet.naive_bayes.multinomial_nb import MultinomialNB


def log_density(q, points, h, weight=None):
    """A Gaussian kernel density by its definition."""
    weight = np.ones(len(points)) if weight is None else weight
    terms = -0.5 * ((q[:, None] - points) / h) ** 2 + np.log(weight)
    return logsumexp(terms, axis=1) - np.log(weight.sum() * h * np.sqrt(2 * np.pi))


@pytest.mark.parametrize(("n", "error"), [(300, 1e-9), (4 * MAX_POINTS, 1e-3)])
def test_gaussian_kernel_density(n, error):
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(size=n), rng.normal(5, 0.3, n), [900.0]])
    y = np.arange(len(x)) % 2
    weight = rng.integers(1, 4, len(x)).astype(float)
    model = KernelDensityNB(bandwidth=0.2).fit(x[:, None], y, weight)
    q = np.concatenate([np.linspace(-9, 9, 200), [899.7, 400.0, -80.0]])
    got = model.predict_joint_log_proba(q[:, None]) - model.class_log_prior_
    for c in (0, 1):
        wanted = log_density(q, x[y == c], 0.2, weight[y == c])
        np.testing.assert_allclose(got[:, c], wanted, rtol=1e-9, atol=error)


@pytest.mark.parametrize(
    ("kernel", "shape"), [("uniform", lambda z: 0.5 + 0 * z), ("epanechnikov", lambda z: 0.75 * (1 - z**2))]
)
def test_kernels_that_end(kernel, shape):
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=60), np.arange(60) % 2
    model = KernelDensityNB(bandwidth=0.5, kernel=kernel).fit(x[:, None], y)
    q = np.linspace(-4, 4, 77)
    got = np.exp(model.predict_joint_log_proba(q[:, None]) - model.class_log_prior_)
    for c in (0, 1):
        z = (q[:, None] - x[y == c]) / 0.5
        np.testing.assert_allclose(
            got[:, c], np.where(abs(z) <= 1, shape(z), 0).mean(axis=1) / 0.5, atol=1e-12
        )
    np.testing.assert_allclose(model.predict_proba([[99.0]]), [[0.5, 0.5]])


def test_bandwidths():
    x = np.random.default_rng(2).normal(size=(500, 1)) * 3
    y = np.zeros(500, dtype=int)
    y[:3] = 1
    own = x[y == 0, 0]
    low, high = np.quantile(own, [0.25, 0.75], method="inverted_cdf")
    silverman = 0.9 * min(own.std(), (high - low) / 1.34) * 497**-0.2
    assert KernelDensityNB().fit(x, y).bandwidth_[0, 0] == pytest.approx(silverman)
    assert KernelDensityNB(bandwidth="scott").fit(x, y).bandwidth_[0, 0] == pytest.approx(
        1.06 * own.std() * 497**-0.2
    )
    with pytest.raises(ValueError, match="bandwidth must be a positive number, or one for each of 1 columns"):
        KernelDensityNB(bandwidth=[1.0, 2.0]).fit(x, y)
    with pytest.raises(ValueError, match="priors must be 2 probabilities that sum to 1"):
        KernelDensityNB(priors=[1.0, 2.0]).fit(x, y)


def test_two_humps_are_no_bell():
    rng = np.random.default_rng(3)
    humps = [rng.normal(at, 0.2, 200) for at in (-3, 1, -1, 3)]
    X, y = np.concatenate(humps)[:, None], np.repeat([0, 1], 400)
    assert KernelDensityNB().fit(X, y).score(X, y) > 0.98
    assert GaussianNB().fit(X, y).score(X, y) < 0.8


def test_ugly_columns_have_densities():
    X = np.array([[1.0, 5, np.nan], [1, 6, np.nan], [1, 7, np.nan], [1, 5, 2]])
    y = [0, 0, 1, 1]
    model = KernelDensityNB().fit(X, y)
    assert np.isfinite(model.predict_proba([[1, 5, 2], [3, 1e9, -1e9], [np.nan] * 3])).all()
    np.testing.assert_allclose(model.predict_proba([[np.nan] * 3]), [[0.5, 0.5]])
    assert model.predict([[1, 5.5, np.nan]]).tolist() == [0]


def test_mixed_is_the_product_of_its_parts():
    rng = np.random.default_rng(4)
    n = 200
    y = rng.integers(0, 3, n)
    numbers = rng.normal(size=(n, 2)) + y[:, None]
    flags = rng.random((n, 2)) < 0.3 + 0.2 * y[:, None]
    words = rng.choice(["a", "b", "c"], (n, 1))
    counts = rng.poisson(1 + y[:, None] * [1, 0, 2])
    frame = pd.DataFrame(
        {
            "n1": numbers[:, 0],
            "w": words[:, 0],
            "f1": flags[:, 0],
            "c1": counts[:, 0],
            "n2": numbers[:, 1],
            "c2": counts[:, 1],
            "f2": flags[:, 1],
            "c3": counts[:, 2],
            "k": numbers[:, 0] ** 2,
        }
    )
    asked = {"c1": "multinomial", "c2": "multinomial", "c3": "multinomial", "k": "kde"}
    model = MixedNB(asked).fit(frame, y)
    assert model.distributions_ == [
        *("gaussian", "categorical", "bernoulli", "multinomial", "gaussian"),
        *("multinomial", "bernoulli", "multinomial", "kde"),
    ]
    parts = [
        (GaussianNB(), numbers),
        (CategoricalNB(), words),
        (BernoulliNB(), flags),
        (MultinomialNB(), counts),
        (KernelDensityNB(), frame[["k"]].to_numpy()),
    ]
    expected = model.class_log_prior_.copy()
    for part, X in parts:
        fitted = part.fit(X, y)
        expected = expected + fitted.predict_joint_log_proba(X) - fitted.class_log_prior_
    np.testing.assert_allclose(model.predict_joint_log_proba(frame), expected, rtol=1e-10)


def test_mixed_of_numbers_is_gaussian():
    X, y = load_iris(return_X_y=True)
    np.testing.assert_allclose(MixedNB().fit(X, y).predict_proba(X), GaussianNB().fit(X, y).predict_proba(X))
    np.testing.assert_allclose(
        MixedNB(["kde"] * 4).fit(X, y).predict_proba(X), KernelDensityNB().fit(X, y).predict_proba(X)
    )


def test_mixed_weights_batches_and_gaps():
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"x": rng.normal(size=80), "w": rng.choice(["p", "q", "r"], 80)})
    frame.loc[::7, "x"] = np.nan
    frame.loc[::5, "w"] = None
    y = rng.integers(0, 2, 80)
    weight = rng.integers(0, 3, 80)
    again = frame.loc[np.repeat(np.arange(80), weight)]
    one = MixedNB().fit(frame, y, weight).predict_proba(frame)
    np.testing.assert_allclose(one, MixedNB().fit(again, np.repeat(y, weight)).predict_proba(frame))
    parts = MixedNB()
    for rows in np.array_split(np.arange(80), 3):
        parts.partial_fit(frame.iloc[rows], y[rows], classes=[0, 1])
    np.testing.assert_allclose(
        parts.predict_proba(frame), MixedNB().fit(frame, y).predict_proba(frame), rtol=1e-9
    )
    strange = pd.DataFrame({"x": [np.nan, np.nan], "w": ["?", None]})
    np.testing.assert_allclose(parts.predict_proba(strange), [np.exp(parts.class_log_prior_)] * 2)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"q": "kde"}, "distributions names 'q'; there is no such column"),
        (["gaussian"], "for each of 2 columns"),
        ({"x": "normal"}, "must say 'auto' or one of 'gaussian', 'kde'"),
        ({"w": "gaussian"}, "column 'w' is not of numbers: it cannot be gaussian"),
    ],
)
def test_impossible_distributions_are_refused(asked, message):
    frame = pd.DataFrame({"x": [1.0, 2, 3], "w": ["a", "b", "a"]})
    with pytest.raises(ValueError, match=message):
        MixedNB(asked).fit(frame, [0, 1, 1])


def test_kernel_densities_cannot_be_learned_in_batches():
    with pytest.raises(ValueError, match="kernel densities need all rows at once"):
        MixedNB(["kde"]).partial_fit([[1.0], [2.0]], [0, 1], classes=[0, 1])


@pytest.mark.parametrize("bandwidth", [0.3, 0.02, 0.002])
def test_gaps_between_points_are_no_place_for_a_table(bandwidth):
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.normal(size=900), rng.normal(5, 0.3, 900)])
    y = np.arange(len(x)) % 2
    model = KernelDensityNB(bandwidth=bandwidth).fit(x[:, None], y)
    q = np.linspace(-6, 8, 3001)
    got = model.predict_joint_log_proba(q[:, None]) - model.class_log_prior_
    for c in (0, 1):
        np.testing.assert_allclose(got[:, c], log_density(q, x[y == c], bandwidth), rtol=1e-9, atol=1e-3)
