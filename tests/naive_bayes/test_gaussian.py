"""Gaussian naive Bayes."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.naive_bayes import GaussianNB as Peer

from tercet.core import chunks
from tercet.datasets import load_watermelon
from tercet.naive_bayes import GaussianNB


def blobs(n=150, d=4, classes=3, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(classes, size=n)
    return rng.normal(size=(classes, d))[y] + rng.normal(size=(n, d)) * rng.random(d), y


def with_gaps(X, share=0.3, seed=1):
    return np.where(np.random.default_rng(seed).random(X.shape) < share, np.nan, X)


def assert_same_model(one, other, rtol=1e-9):
    for name in ("class_count_", "class_prior_", "theta_", "var_"):
        np.testing.assert_allclose(
            getattr(one, name), getattr(other, name), rtol=rtol, atol=1e-12, err_msg=name
        )


@pytest.mark.parametrize("options", [{}, {"var_smoothing": 0.1}, {"priors": [0.2, 0.3, 0.5]}])
@pytest.mark.parametrize("weighted", [False, True])
def test_agrees_with_scikit_learn(options, weighted):
    X, y = blobs()
    weight = np.random.default_rng(2).random(len(y)) if weighted else None
    if weighted and "var_smoothing" in options:
        options = {"var_smoothing": 1e-9}  # scikit-learn's share of the variance knows no weights
    ours, peer = GaussianNB(**options).fit(X, y, weight), Peer(**options).fit(X, y, weight)
    assert_same_model(ours, peer, rtol=1e-8)
    for name in ("predict_joint_log_proba", "predict_log_proba", "predict_proba"):
        np.testing.assert_allclose(getattr(ours, name)(X), getattr(peer, name)(X), rtol=1e-7, atol=1e-9)
    np.testing.assert_array_equal(ours.predict(X), peer.predict(X))
    if not weighted:
        assert ours.epsilon_ == pytest.approx(peer.epsilon_)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_single_precision_in_and_out(dtype):
    X, y = blobs()
    model = GaussianNB().fit(X.astype(dtype), y)
    assert model.theta_.dtype == model.var_.dtype == model.predict_proba(X.astype(dtype)).dtype == dtype
    np.testing.assert_allclose(model.theta_, Peer().fit(X, y).theta_, rtol=1e-4, atol=1e-6)


def test_watermelon_densities_with_both_divisors():
    X, y = load_watermelon("3.0alpha", return_X_y=True)
    model = GaussianNB(ddof=1, var_smoothing=0).fit(X, y)
    good = norm(model.theta_[1], np.sqrt(model.var_[1]))
    np.testing.assert_allclose(good.mean(), [0.57375, 0.27875])
    assert good.std()[0] == pytest.approx(0.1292105148)
    np.testing.assert_allclose(good.pdf([0.697, 0.460]), [1.9590, 0.7881], atol=5e-5)
    np.testing.assert_allclose(GaussianNB(var_smoothing=0).fit(X, y).var_[1] * 8 / 7, model.var_[1])


def test_batches_give_the_model_of_all_rows():
    X, y = blobs()
    X = with_gaps(X) + 1e6  # means far from zero: squares must not be taken about zero
    weight = np.random.default_rng(3).random(len(y))
    whole = GaussianNB(ddof=1).fit(X, y, weight)
    batches = GaussianNB(ddof=1)
    for rows in np.array_split(np.argsort(y), 7):  # some batches lack some classes
        batches.partial_fit(X[rows], y[rows], classes=[0, 1, 2], sample_weight=weight[rows])
    assert_same_model(batches, whole, rtol=1e-7)
    assert batches.epsilon_ == pytest.approx(whole.epsilon_, rel=1e-7)


def test_a_batch_that_is_refused_leaves_no_trace():
    X, y = blobs()
    model, plain = GaussianNB(priors=[1.0]), GaussianNB().partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="priors"):
        model.partial_fit(X, y, classes=[0, 1, 2])
    model.set_params(priors=None).partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="priors"):
        model.set_params(priors=[1.0]).partial_fit(X, y)
    assert_same_model(model, plain)


def test_a_large_mean_leaves_the_variance():
    X, y = blobs()
    np.testing.assert_allclose(GaussianNB().fit(X + 1e8, y).var_, GaussianNB().fit(X, y).var_, rtol=1e-6)


def test_missing_values_are_left_out():
    X, y = blobs()
    gaps = with_gaps(X)
    model = GaussianNB(var_smoothing=0).fit(gaps, y)
    for c in range(3):
        np.testing.assert_allclose(model.theta_[c], np.nanmean(gaps[y == c], axis=0), rtol=1e-10)
        np.testing.assert_allclose(model.var_[c], np.nanvar(gaps[y == c], axis=0), rtol=1e-10)
    # a row is judged by what is known, as by a model of those columns
    X[:, 1] = np.nan
    full = GaussianNB(var_smoothing=0).fit(gaps, y)
    part = GaussianNB(var_smoothing=0).fit(np.delete(gaps, 1, axis=1), y)
    np.testing.assert_allclose(full.predict_proba(X), part.predict_proba(np.delete(X, 1, axis=1)), rtol=1e-9)
    np.testing.assert_allclose(full.predict_proba(np.full((1, 4), np.nan))[0], full.class_prior_)


def test_a_column_that_nobody_knows_changes_nothing():
    X, y = blobs()
    gap = np.column_stack([X, np.full(len(y), np.nan)])
    model, plain = GaussianNB().fit(gap, y), GaussianNB().fit(X, y)
    assert np.isfinite(model.theta_).all()
    assert np.isfinite(model.var_).all()
    np.testing.assert_allclose(model.predict_proba(gap), plain.predict_proba(X))
    np.testing.assert_allclose(model.predict_proba(np.nan_to_num(gap, nan=7.0)), plain.predict_proba(X))


def test_a_class_without_known_values_takes_those_of_all():
    X, y = blobs()
    X[y == 2, 0] = np.nan
    model = GaussianNB(var_smoothing=0).fit(X, y)
    assert model.theta_[2, 0] == pytest.approx(np.nanmean(X[:, 0]))
    assert model.var_[2, 0] == pytest.approx(np.nanvar(X[:, 0]))


@pytest.mark.parametrize("smoothing", [0.0, 1e-9])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_columns_without_variance(smoothing, dtype):
    X = np.array([[0.1, 5], [0.1, 6], [0.1, 7], [0.2, 5], [0.2, 6], [0.2, 9]], dtype=dtype)
    y = [0, 0, 0, 1, 1, 1]
    model = GaussianNB(var_smoothing=smoothing).fit(X, y)
    assert (model.var_ > 0).all()
    with np.errstate(divide="raise", invalid="raise", over="raise"):
        np.testing.assert_array_equal(model.predict(X), y)
        assert np.isfinite(model.predict_proba([*X.tolist(), [0.15, 6]])).all()
    flat = GaussianNB(var_smoothing=smoothing).fit(np.ones((4, 2)), ["a", "a", "a", "b"])
    np.testing.assert_allclose(flat.predict_proba([[1, 1]]), [[0.75, 0.25]])
    np.testing.assert_allclose(flat.predict_proba([[2, 1], [1e9, 1]]).sum(axis=1), 1.0)


def test_weights_are_repetitions_and_zero_is_absence():
    X, y = blobs()
    X = with_gaps(X)
    weight = np.random.default_rng(4).integers(0, 3, len(y))
    some = np.repeat(np.arange(len(y)), weight)
    for ddof in (0, 1):
        weighted, repeated = (
            GaussianNB(ddof=ddof).fit(X, y, weight),
            GaussianNB(ddof=ddof).fit(X[some], y[some]),
        )
        assert_same_model(weighted, repeated)


def test_a_class_of_no_weight_is_never_said():
    X, y = blobs()
    model = GaussianNB().fit(X, y, sample_weight=(y != 1).astype(float))
    assert 1 not in model.predict(X)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 0.0)


def test_same_bits_for_any_number_of_threads(monkeypatch):
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 1 << 10)
    X, y = blobs(1000)
    X = with_gaps(X)
    one = GaussianNB(n_jobs=1).fit(X, y)
    for jobs in (2, 5):
        other = GaussianNB(n_jobs=jobs).fit(X, y)
        np.testing.assert_array_equal(one.var_, other.var_)
        np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))
    np.testing.assert_allclose(one.predict_proba(X[:1]), one.predict_proba(X)[:1], rtol=1e-12)


def test_one_row_is_a_model_of_one_class():
    model = GaussianNB().fit([[1.0, 2.0]], ["only"])
    assert model.predict([[3.0, 4.0]]).tolist() == ["only"]
    np.testing.assert_allclose(model.predict_proba([[3.0, 4.0]]), 1.0)


@pytest.mark.parametrize("priors", [[0.5, 0.5], [0.5, 0.4, 0.3], [1.5, -0.5, 0.0], "high"])
def test_wrong_priors(priors):
    X, y = blobs()
    with pytest.raises(ValueError, match=r"GaussianNB: .*priors must be"):
        GaussianNB(priors=priors).fit(X, y)


def test_a_forged_model_is_refused():
    X, y = blobs()
    model = GaussianNB().fit(X, y)
    model.var_ = model.var_[:2]
    with pytest.raises(ValueError, match=r"var_ \(2, 4\)"):
        model.predict(X)
    model.var_ = np.ones((3, 2))
    with pytest.raises(ValueError, match="var_ has the shape"):
        model.predict(X)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scale", [1e200, 1e-200])
def test_variances_beyond_floating_point_are_refused(scale):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 2)), np.arange(20) % 2
    with pytest.raises(ValueError, match=r"feature 1 has values from .*their variance is beyond the range"):
        GaussianNB().fit(np.column_stack([np.zeros(20), X[:, 1] * scale]), y)
    model = GaussianNB().partial_fit(X, y, [0, 1])
    before = model.var_.copy()
    if scale > 1:
        with pytest.raises(ValueError, match="variance is beyond the range"):
            model.partial_fit(X * scale, y)
        np.testing.assert_array_equal(model.var_, before)
    else:  # beside larger values they are nothing
        model.partial_fit(X * scale, y)
        assert (model.var_ < before).all()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scale", [1e30, 1e-30, 1e120, 1e-120])
def test_variances_that_only_float64_holds(scale):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), np.arange(40) % 2
    X[:, 0] += 2 * y
    expected = GaussianNB().fit(X, y).predict_proba(X)
    dtype = np.float64 if not 1e-38 < scale < 1e38 else np.float32
    rows = (X * scale).astype(dtype)
    np.testing.assert_allclose(GaussianNB().fit(rows, y).predict_proba(rows), expected, atol=1e-4)


def test_rows_without_weight_have_no_variance():
    X, weight = np.arange(10.0).reshape(5, 2), [0, 0, 2, 0, 0]
    model = GaussianNB().fit(X, [0, 0, 1, 1, 0], weight)
    assert model.predict(X).tolist() == [1] * 5
    np.testing.assert_array_equal(model.theta_[1], X[2])
