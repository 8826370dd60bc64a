"""Mixtures of Bernoulli, multinomial and categorical distributions."""

import itertools
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats
from scipy.special import logsumexp

from tercet.core import chunks
from tercet.core.steps import ConvergenceWarning
from tercet.mixture import BernoulliMixture, CategoricalMixture, MultinomialMixture

KINDS = [BernoulliMixture, MultinomialMixture, CategoricalMixture]
every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)


def drawn(kind, n=400, d=6, k=3, seed=0):
    """Rows of k groups that differ, and their groups."""
    rng = np.random.default_rng(seed)
    groups, columns = np.arange(n) % k, np.arange(d)
    own = columns % k == np.arange(k)[:, None]  # the columns in which a group differs from the others
    if kind is BernoulliMixture:
        return (rng.random((n, d)) < np.where(own, 0.85, 0.15)[groups]).astype(float), groups
    if kind is MultinomialMixture:
        p = np.where(own, 3.0, 1.0)
        return rng.multinomial(20, (p / p.sum(axis=1, keepdims=True))[groups]).astype(float), groups
    usual = np.where(rng.random((n, d)) < 0.7, (groups[:, None] + columns) % 4, rng.integers(0, 4, (n, d)))
    return usual.astype(float), groups


def model_of(kind, k=3, **more):
    return kind(k, **{"random_state": 0, "tol": 1e-7, "max_iter": 1000, **more})


def agreement(labels, groups):
    k = groups.max() + 1
    return max(np.mean(np.array(p)[labels] == groups) for p in itertools.permutations(range(k)))


def flat(model):
    tables = model.probs_ if isinstance(model.probs_, list) else [model.probs_]
    return np.concatenate([model.weights_, *(np.ravel(t) for t in tables)])


# --- right -----------------------------------------------------------------------------------------------------


@every_kind
def test_groups_are_found(kind):
    X, groups = drawn(kind)
    model = model_of(kind, n_init=3).fit(X)
    assert agreement(model.labels_, groups) > 0.85
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_array_equal(model.predict_proba(X).argmax(axis=1), model.labels_)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert model.converged_


@every_kind
@pytest.mark.parametrize("algorithm", ["em", "hard", "squarem"])
@pytest.mark.parametrize("alpha", [0.0, 0.7])
def test_the_objective_never_falls(kind, algorithm, alpha):
    X, _ = drawn(kind, seed=3)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="EM: the objective fell")
        model = model_of(kind, algorithm=algorithm, alpha=alpha, weight_prior=alpha).fit(X)
    assert (np.diff(model.lower_bounds_) >= -1e-10).all()
    assert len(model.lower_bounds_) == model.n_iter_


@every_kind
def test_leaps_end_at_the_same_top(kind):
    X, _ = drawn(kind, seed=5)
    start = model_of(kind, tol=1e-2).fit(X)
    given = {"weights_init": start.weights_, "probs_init": start.probs_, "tol": 1e-11}
    plain, fast = (model_of(kind, algorithm=a, **given).fit(X) for a in ("em", "squarem"))
    assert fast.lower_bound_ >= plain.lower_bound_ - 1e-7
    assert fast.n_iter_ <= plain.n_iter_
    np.testing.assert_allclose(flat(fast), flat(plain), atol=1e-3)


def test_a_pass_by_hand():
    """Exercise 9.4, written out: E with the old tables, M by (smoothed) shares."""
    X = np.array([[0, 1], [0, 0], [1, 2], [1, 2], [0, 2]])
    pi = np.array([0.6, 0.4])
    tables = [np.array([[0.7, 0.3], [0.2, 0.8]]), np.array([[0.3, 0.3, 0.4], [0.1, 0.2, 0.7]])]
    gamma = pi * tables[0][:, X[:, 0]].T * tables[1][:, X[:, 1]].T
    likelihood = np.log(gamma.sum(axis=1))
    gamma /= gamma.sum(axis=1, keepdims=True)
    for alpha in (0.0, 1.0):
        with pytest.warns(ConvergenceWarning):
            model = CategoricalMixture(
                2, weights_init=pi, probs_init=tables, max_iter=1, tol=0, alpha=alpha
            ).fit(X)
        np.testing.assert_allclose(model.weights_, gamma.sum(axis=0) / 5)
        for j, size in enumerate((2, 3)):
            counts = gamma.T @ np.eye(size)[X[:, j]] + alpha
            np.testing.assert_allclose(model.probs_[j], counts / counts.sum(axis=1, keepdims=True))
        prior = alpha * sum(np.log(t).sum() for t in tables)
        assert model.lower_bound_ == pytest.approx((likelihood.sum() + prior) / 5)


def test_the_densities_are_right():
    X, _ = drawn(BernoulliMixture)
    model = model_of(BernoulliMixture).fit(X)
    logs = stats.bernoulli.logpmf(X[:, None], model.probs_).sum(axis=2) + np.log(model.weights_)
    np.testing.assert_allclose(model.score_samples(X), logsumexp(logs, axis=1))
    X, _ = drawn(MultinomialMixture)
    model = model_of(MultinomialMixture).fit(X)
    logs = [stats.multinomial.logpmf(X, 20, p) + np.log(w) for p, w in zip(model.probs_, model.weights_)]
    np.testing.assert_allclose(model.score_samples(X), logsumexp(logs, axis=0))
    np.testing.assert_allclose(
        model.score_samples(X / 3), model.score_samples(sparse.csr_array(X / 3)), rtol=1e-12
    )
    assert model.score(X, sample_weight=np.arange(len(X))) == pytest.approx(
        np.average(logsumexp(logs, axis=0), weights=np.arange(len(X)))
    )


def test_bernoulli_is_categorical_with_two_values():
    X, _ = drawn(BernoulliMixture)
    X[::7, 2] = np.nan
    probs = np.random.default_rng(0).uniform(0.2, 0.8, (3, 6))
    tables = [np.column_stack([1 - p, p]) for p in probs.T]
    one = model_of(BernoulliMixture, probs_init=probs, weights_init=[0.5, 0.3, 0.2]).fit(X)
    other = model_of(CategoricalMixture, probs_init=tables, weights_init=[0.5, 0.3, 0.2]).fit(X)
    np.testing.assert_allclose(one.probs_, np.column_stack([t[:, 1] for t in other.probs_]), rtol=1e-9)
    np.testing.assert_allclose(one.lower_bounds_, other.lower_bounds_, rtol=1e-9)
    assert one.bic(X) == pytest.approx(other.bic(X))


def test_one_component_is_counting():
    X, _ = drawn(CategoricalMixture)
    model = CategoricalMixture(alpha=0.0, tol=1e-12).fit(X)
    for j, table in enumerate(model.probs_):
        values, counts = np.unique(X[:, j], return_counts=True)
        np.testing.assert_array_equal(model.categories_[j], values)
        np.testing.assert_allclose(table, [counts / len(X)])
    X, _ = drawn(MultinomialMixture)
    np.testing.assert_allclose(MultinomialMixture(alpha=0.0).fit(X).probs_[0], X.sum(axis=0) / X.sum())


def test_criteria_choose_the_number_of_components():
    X, _ = drawn(BernoulliMixture, n=1000, k=3)
    scores = [model_of(BernoulliMixture, k, n_init=3, tol=1e-4).fit(X).bic(X) for k in range(1, 6)]
    assert int(np.argmin(scores)) + 1 == 3
    model = model_of(BernoulliMixture).fit(X)
    n, L = len(X), 1000 * model.score(X)
    assert model.aic(X) == pytest.approx(-2 * L + 2 * 20)
    assert model.bic(X) == pytest.approx(-2 * L + 20 * np.log(n))
    assert model.bic(X, sample_weight=np.full(n, 2.0)) == pytest.approx(-4 * L + 20 * np.log(2 * n))


# --- starts, weights, threads ----------------------------------------------------------------------------------


@every_kind
@pytest.mark.parametrize("init", ["kmeans", "k-means++", "random", "random_from_data"])
def test_every_start_works(kind, init):
    X, _ = drawn(kind)
    for alpha in (0.0, 1.0):
        model = model_of(kind, init_params=init, alpha=alpha).fit(X)
        assert np.isfinite(model.lower_bound_)
        np.testing.assert_array_equal(flat(model), flat(model_of(kind, init_params=init, alpha=alpha).fit(X)))


@every_kind
def test_weights_are_repetitions(kind):
    X, _ = drawn(kind, n=60)
    weight = np.random.default_rng(1).integers(0, 3, len(X))
    start = model_of(kind, tol=1e-1, alpha=1.0).fit(X)
    given = {"weights_init": start.weights_, "probs_init": start.probs_, "tol": 1e-9}
    if kind is CategoricalMixture:
        given["categories"] = [c.tolist() for c in start.categories_]
    some = model_of(kind, **given).fit(X, sample_weight=weight)
    many = model_of(kind, **given).fit(np.repeat(X, weight, axis=0))
    np.testing.assert_allclose(flat(some), flat(many), rtol=1e-6, atol=1e-9)
    assert some.score(X, sample_weight=weight) == pytest.approx(many.score(np.repeat(X, weight, axis=0)))


def test_a_value_of_no_weight_is_not_there():
    X = [["a"], ["b"], ["a"], ["c"]]
    model = CategoricalMixture().fit(X, sample_weight=[1, 1, 1, 0])
    assert model.categories_[0].tolist() == ["a", "b"]
    np.testing.assert_allclose(model.probs_[0], [[3 / 5, 2 / 5]])
    assert model.labels_.shape == (4,)


@every_kind
def test_any_number_of_threads(kind, monkeypatch):
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 1 << 11)
    X, _ = drawn(kind)
    one, two = (model_of(kind, n_jobs=n).fit(X) for n in (1, 3))
    np.testing.assert_array_equal(flat(one), flat(two))
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    monkeypatch.undo()
    np.testing.assert_allclose(flat(model_of(kind).fit(X)), flat(one), rtol=1e-6, atol=1e-9)


def test_warm_start():
    X, _ = drawn(BernoulliMixture)
    with pytest.warns(ConvergenceWarning):
        model = model_of(BernoulliMixture, max_iter=2, warm_start=True).fit(X)
    first = model.lower_bounds_[-1]
    with pytest.warns(ConvergenceWarning):
        model.fit(X)
    assert model.lower_bounds_[0] > first


def test_more_components_than_rows():
    with pytest.raises(ValueError, match="n_components=5"):
        BernoulliMixture(5).fit([[0, 1], [1, 0]])


# --- sparse rows, gaps, categories ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [BernoulliMixture, MultinomialMixture])
def test_sparse_is_dense(kind):
    X, _ = drawn(kind)
    X *= np.random.default_rng(2).random(X.shape) < 0.5
    dense = model_of(kind).fit(X)
    wide = sparse.csr_array(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    for form in (sparse.csr_matrix(X), sparse.csr_array(X), sparse.coo_array(X), sparse.csc_array(X), wide):
        model = model_of(kind).fit(form)
        np.testing.assert_allclose(flat(model), flat(dense), rtol=1e-7, atol=1e-10)
        np.testing.assert_allclose(model.predict_proba(form), dense.predict_proba(X), atol=1e-8)
        model.partial_fit(form)
        assert model.n_batches_ == 2


def test_gaps_in_sparse_rows():
    X, _ = drawn(BernoulliMixture)
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    probs = np.random.default_rng(0).uniform(0.2, 0.8, (3, 6))
    dense = model_of(BernoulliMixture, probs_init=probs).fit(X)
    thin = model_of(BernoulliMixture, probs_init=probs).fit(sparse.csr_array(X))
    np.testing.assert_allclose(thin.predict_proba(sparse.csr_array(X)), thin.predict_proba(X), atol=1e-12)
    assert thin.lower_bound_ == pytest.approx(dense.lower_bound_, abs=1e-6)


@pytest.mark.parametrize("kind", [BernoulliMixture, CategoricalMixture])
def test_what_is_missing_is_summed_out(kind):
    X, _ = drawn(kind, d=3)
    model = model_of(kind).fit(X)
    gap = X[:1].copy()
    gap[0, 1] = np.nan
    values = [0.0, 1.0] if kind is BernoulliMixture else model.categories_[1]
    filled = np.repeat(X[:1], len(values), axis=0)
    filled[:, 1] = values
    assert model.score_samples(gap)[0] == pytest.approx(logsumexp(model.score_samples(filled)))
    np.testing.assert_allclose(model.predict_proba(np.full((1, 3), np.nan)), [model.weights_])
    full = np.column_stack([X, np.where(np.arange(len(X)) < 5, 1.0, np.nan)])
    assert np.isfinite(model_of(kind).fit(full).lower_bound_)


def test_a_column_of_gaps():
    X = np.column_stack([drawn(CategoricalMixture, n=50)[0], np.full(50, np.nan)])
    model = model_of(CategoricalMixture).fit(X)
    assert model.probs_[-1].shape == (3, 0)
    assert np.isnan(model.sample(3)[0][:, -1]).all()


def test_strings_frames_and_values_never_seen():
    table = pd.DataFrame(
        {"colour": ["red", "red", "blue", None, "blue"] * 8, "size": [1, 1, 2, 2, np.nan] * 8}
    )
    model = CategoricalMixture(2, alpha=0.1, random_state=0, tol=1e-8).fit(table)
    assert [values.tolist() for values in model.categories_] == [["blue", "red"], [1.0, 2.0]]
    strange = model.predict_proba(pd.DataFrame({"colour": ["green"], "size": [1.0]}))
    missing = model.predict_proba(pd.DataFrame({"colour": [None], "size": [1.0]}))
    np.testing.assert_array_equal(strange, missing)
    rows, y = model.sample(50)
    assert set(rows[:, 0]) == {"blue", "red"}
    assert rows.dtype == object
    assert (np.diff(y) >= 0).all()
    declared = CategoricalMixture(categories=[["blue", "green", "red"], None]).fit(table)
    np.testing.assert_allclose(declared.probs_[0], [[17 / 35, 1 / 35, 17 / 35]])


def test_binarize():
    X = np.array([[0.2, 7.0], [3.0, np.nan], [0.4, 0.1]])
    model = BernoulliMixture(binarize=1.0, alpha=0.0).fit(X)
    np.testing.assert_allclose(model.probs_, [[1 / 3, 1 / 2]])
    soft = BernoulliMixture(binarize=None, alpha=0.0).fit(X[:, :1] / 4)
    np.testing.assert_allclose(soft.probs_, [[0.3]])
    with pytest.raises(ValueError, match=r"from 0 to 1; there is 7\.0"):
        BernoulliMixture(binarize=None).fit(X)


@every_kind
def test_impossible_rows(kind):
    """With alpha=0 a value that never came is impossible: said as -inf, and the posterior is no NaN."""
    X = np.array([[1, 0, 0], [1, 0, 1], [1, 0, 0], [1, 0, 1.0]])
    more = {"categories": [[0.0, 1.0]] * 3} if kind is CategoricalMixture else {}
    model = kind(2, alpha=0.0, random_state=0, **more).fit(X)
    strange = np.array([[0, 1, 0.0]])
    assert model.score_samples(strange)[0] == -np.inf
    np.testing.assert_allclose(model.predict_proba(strange), [[0.5, 0.5]])
    assert np.isfinite(model.score_samples(X)).all()
    assert model.score(np.vstack([X, strange])) == -np.inf


# --- sampling, batches, files ---------------------------------------------------------------------------------


@every_kind
def test_samples_have_the_shares_of_the_model(kind):
    X, _ = drawn(kind)
    model = model_of(kind).fit(X)
    rows, y = model.sample(4000)
    assert rows.shape == (4000, X.shape[1])
    np.testing.assert_allclose(np.bincount(y) / 4000, model.weights_, atol=0.05)
    np.testing.assert_allclose(rows.mean(axis=0), X.mean(axis=0), atol=0.15 * max(1, X.mean()))
    again = model.sample(4000)[0]
    np.testing.assert_array_equal(rows, again)
    with pytest.raises(ValueError, match="Invalid value for 'n_samples'"):
        model.sample(0)


@every_kind
def test_batches_come_near_the_whole(kind):
    X, _ = drawn(kind, n=6000, seed=1)
    whole = model_of(kind).fit(X)
    model = kind(3, random_state=0)
    for start in range(0, 6000, 200):
        model.partial_fit(X[start : start + 200])
    assert (model.n_batches_, model.seen_weight_) == (30, 6000.0)
    assert model.score(X) > whole.score(X) - 0.02
    assert agreement(model.predict(X), whole.labels_) > 0.95


@every_kind
def test_weights_of_batches_are_repetitions(kind):
    X, _ = drawn(kind, n=90)
    weight = np.random.default_rng(1).integers(0, 3, 30)
    first = model_of(kind).fit(X[:60])
    some, many = pickle.loads(pickle.dumps(first)), pickle.loads(pickle.dumps(first))
    some.partial_fit(X[60:], sample_weight=weight)
    many.partial_fit(np.repeat(X[60:], weight, axis=0))
    np.testing.assert_allclose(flat(some), flat(many), rtol=1e-9)


def test_a_batch_that_is_refused_leaves_no_trace():
    X, _ = drawn(MultinomialMixture)
    model = model_of(MultinomialMixture).fit(X)
    before = flat(model)
    with pytest.raises(ValueError, match="Negative values"):
        model.partial_fit(-X)
    np.testing.assert_array_equal(flat(model), before)
    assert model.n_batches_ == 1


def test_forged_tables_are_refused():
    X, _ = drawn(CategoricalMixture)
    model = model_of(CategoricalMixture).fit(X)
    model.probs_[0] = model.probs_[0][:, :1]
    with pytest.raises(ValueError, match="do not fit"):
        model.predict(X)
    model = model_of(BernoulliMixture).fit(X)
    model.probs_ = model.probs_[:, :2]
    with pytest.raises(ValueError, match="probs_ has the shape"):
        model.predict(X)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"weights_init": [0.5, 0.6]}, "weights_init must sum to 1; it sums to 1.1"),
        ({"weights_init": [1.0]}, r"weights_init must be numbers of the shape \(2,\)"),
        ({"probs_init": [[0.5, 0.5]]}, r"probs_init must be numbers of the shape \(2, 2\)"),
        ({"probs_init": [[0.5, 0.5], [0.2, 0.9]]}, "probs_init must sum to 1; row 1 sums to 1.1"),
        ({"probs_init": [[1.5, -0.5], [0.1, 0.9]]}, "probabilities from 0 to 1"),
        ({"learning_decay": 0.5}, r"learning_decay.*in \(0.5, 1\]"),
        ({"init_params": "luck"}, "init_params"),
        ({"alpha": -1.0}, "alpha"),
    ],
)
def test_wrong_parameters(parameters, words):
    with pytest.raises(ValueError, match=words):
        MultinomialMixture(2, **parameters).fit([[1, 2], [3, 4], [5, 6]])


def test_tables_that_do_not_fit_the_columns():
    with pytest.raises(ValueError, match="a table for each of 2 columns; got 1"):
        CategoricalMixture(probs_init=[[[1.0]]]).fit([["a", "b"]])
    with pytest.raises(ValueError, match=r"probs_init\[1\] must be numbers of the shape \(1, 1\)"):
        CategoricalMixture(probs_init=[[[1.0]], [[0.5, 0.5]]]).fit([["a", "b"]])


@every_kind
def test_parameters_changed_after_the_fit_do_no_harm(kind):
    """What was learned counts, not what the parameters say now."""
    X, _ = drawn(kind)
    model = model_of(kind).fit(X)
    before, size = model.predict_proba(X), model.bic(X)
    model.set_params(n_components=7)
    np.testing.assert_array_equal(model.predict_proba(X), before)
    assert model.bic(X) == size
    assert model.partial_fit(X).weights_.shape == (3,)


def test_a_gap_in_a_row_of_no_weight():
    X, _ = drawn(BernoulliMixture)
    weight = np.ones(len(X))
    weight[0] = 0
    X[0, 0] = np.nan
    model = model_of(BernoulliMixture).fit(X, sample_weight=weight)
    np.testing.assert_array_equal(model.labels_, model.predict(X))


@every_kind
@pytest.mark.filterwarnings("error:EM")  # the objective fell
def test_single_precision_climbs(kind):
    rng = np.random.default_rng(0)
    X = {
        BernoulliMixture: rng.random((2000, 300)) < rng.random((2000, 1)),
        MultinomialMixture: 50 * rng.poisson(3, (500, 200)),
        CategoricalMixture: rng.integers(0, 3, (500, 50)),
    }[kind].astype(np.float32)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".* did not converge")
        model = kind(3, random_state=0, tol=0.0, max_iter=40).fit(X)
    assert np.diff(model.lower_bounds_).min() > -1e-8 * abs(model.lower_bound_)


def test_samples_of_a_model_in_single_precision():
    rng = np.random.default_rng(0)
    X = rng.poisson(np.append(rng.gamma(1, 1, 6), 0), (500, 7)).astype(np.float32)
    for seed in range(5):  # whether the shares add up to a little more than 1 is a matter of luck
        rows, _ = MultinomialMixture(3, alpha=0.0, random_state=seed).fit(X).sample(20)
        assert (rows.sum(axis=1) == round(float(X.sum(axis=1).mean()))).all()


@every_kind
@pytest.mark.parametrize(("k", "d"), [(4, 6), (2, 5)])
def test_warm_starts_of_another_form_begin_anew(kind, k, d):
    X, _ = drawn(kind)
    model = model_of(kind, 2, warm_start=True).fit(X).set_params(n_components=k)
    np.testing.assert_array_equal(flat(model.fit(X[:, :d])), flat(model_of(kind, k).fit(X[:, :d])))
