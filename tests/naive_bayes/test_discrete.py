"""Multinomial, Bernoulli and complement naive Bayes."""

import numpy as np
import pytest
import sklearn.naive_bayes as peers
from scipy import sparse

from tercet.core import chunks
from tercet.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB
from tercet.naive_bayes._engine import class_sums

KINDS = [MultinomialNB, BernoulliNB, ComplementNB]
every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
every_form = pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
LEARNED = ("class_count_", "class_log_prior_", "feature_count_", "feature_log_prob_")
NAN = np.nan


def words(n=120, d=6, classes=3, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(classes, size=n)
    return rng.poisson(rng.gamma(0.7, size=(classes, d))[y]).astype(float), y


def with_gaps(X, share=0.2, seed=1):
    return np.where(np.random.default_rng(seed).random(X.shape) < share, NAN, X)


def assert_same_model(one, other, rtol=1e-10):
    for name in LEARNED:
        np.testing.assert_allclose(
            getattr(one, name), getattr(other, name), rtol=rtol, atol=1e-12, err_msg=name
        )


@every_kind
@every_form
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"alpha": 0.3, "fit_prior": False},
        {"alpha": [0.1, 0.2, 0.5, 1, 2, 3], "class_prior": [0.2, 0.3, 0.5]},
        {"alpha": 0.0, "force_alpha": False},
        {"norm": True},
        {"binarize": 1.0},
    ],
    ids=str,
)
def test_agrees_with_scikit_learn(kind, form, options):
    only = {"norm": ComplementNB, "binarize": BernoulliNB}
    options = {name: value for name, value in options.items() if only.get(name, kind) is kind}
    if kind is BernoulliNB and np.ndim(options.get("alpha", 0)):
        options["alpha"] = 2.0  # scikit-learn's takes no array here, though it says so
    X, y = words()
    weight = np.random.default_rng(2).random(len(y))
    labels = np.array(["red", "green", "blue"])[y]
    ours, peer = kind(**options), getattr(peers, kind.__name__)(**options)
    with pytest.warns() if options.get("force_alpha") is False else np.errstate():
        ours.fit(form(X), labels, sample_weight=weight)
        peer.fit(form(X), labels, sample_weight=weight)
    assert_same_model(ours, peer)
    if kind is ComplementNB:
        np.testing.assert_allclose(ours.feature_all_, peer.feature_all_)
    for name in ("predict_joint_log_proba", "predict_log_proba", "predict_proba"):
        np.testing.assert_allclose(getattr(ours, name)(form(X)), getattr(peer, name)(form(X)), atol=1e-9)
    np.testing.assert_array_equal(ours.predict(form(X)), peer.predict(form(X)))


@every_kind
@every_form
def test_batches_give_the_model_of_all_rows(kind, form):
    X, y = words()
    X, weight = with_gaps(X), np.random.default_rng(3).random(len(y))
    whole, batches = kind().fit(form(X), y, weight), kind()
    for rows in np.array_split(np.argsort(y), 7):  # some batches lack some classes
        batches.partial_fit(form(X[rows]), y[rows], classes=[0, 1, 2], sample_weight=weight[rows])
    assert_same_model(batches, whole)
    np.testing.assert_allclose(batches.predict_proba(X), whole.predict_proba(X))


@every_kind
def test_partial_fit_must_be_told_the_classes_and_keeps_them(kind):
    X, y = words()
    with pytest.raises(ValueError, match="classes must be passed"):
        kind().partial_fit(X, y)
    model = kind().partial_fit(X, y, classes=[0, 1, 2, 9])
    assert 9 not in model.predict(
        X
    )  # a class that has not come yet; scikit-learn's complement says nothing else
    with pytest.raises(ValueError, match=r"y holds \[7\]"):
        model.partial_fit(X[:2], [7, 0])


@every_kind
def test_a_batch_that_is_refused_leaves_no_trace(kind):
    X, y = words()
    model, plain = kind(alpha=[1.0]), kind().partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="alpha"):
        model.partial_fit(X, y, classes=[0, 1, 2])
    model.set_params(alpha=1.0).partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="class_prior"):
        model.set_params(class_prior=[1.0]).partial_fit(X, y)
    assert_same_model(model, plain)


@every_kind
@every_form
def test_weights_are_repetitions_and_zero_is_absence(kind, form):
    X, y = words()
    X = with_gaps(X)
    weight = np.random.default_rng(4).integers(0, 3, len(y))
    some = np.repeat(np.arange(len(y)), weight)
    assert_same_model(kind().fit(form(X), y, weight), kind().fit(form(X[some]), y[some]))


@pytest.mark.parametrize(
    "model", [MultinomialNB(), BernoulliNB(), ComplementNB(), ComplementNB(norm=True)], ids=str
)
@every_form
def test_what_is_not_known_is_as_if_the_column_were_not_there(model, form):
    X, y = words()
    gone = [1, 4]
    rest = np.delete(np.arange(6), gone)
    asked = X.copy()
    asked[:, gone] = NAN
    part = model.fit(X[:, rest], y).predict_proba(X[:, rest])
    full = model.fit(form(X), y)
    np.testing.assert_allclose(full.predict_proba(form(asked)), part, rtol=1e-9)
    np.testing.assert_array_equal(full.predict(form(asked)), part.argmax(axis=1))
    one = X.copy()  # rows with and without gaps beside each other
    one[::2, gone] = NAN
    np.testing.assert_allclose(full.predict_proba(form(one))[::2], part[::2], rtol=1e-9)
    np.testing.assert_allclose(full.predict_proba(form(one))[1::2], full.predict_proba(X)[1::2], rtol=1e-9)


def test_missing_values_in_the_counts():
    X = [[1, NAN], [NAN, 1], [1, 0], [0, NAN], [0, 1]]
    y = [0, 0, 0, 1, 1]
    model = BernoulliNB().fit(X, y)
    np.testing.assert_array_equal(model.missing_count_, [[1, 1], [0, 1]])
    np.testing.assert_allclose(np.exp(model.feature_log_prob_), [[3 / 4, 2 / 4], [1 / 4, 2 / 3]])
    np.testing.assert_array_equal(MultinomialNB().fit(X, y).feature_count_, [[2, 1], [0, 1]])


def test_each_feature_may_have_its_own_alpha():
    X, y = [[1, 0], [1, 1], [0, 1]], [0, 0, 1]
    found = np.exp(BernoulliNB(alpha=[1, 3]).fit(X, y).feature_log_prob_)
    np.testing.assert_allclose(found, [[3 / 4, 4 / 8], [1 / 3, 4 / 7]])
    found = np.exp(MultinomialNB(alpha=[1, 3]).fit(X, y).feature_log_prob_)
    np.testing.assert_allclose(found, [[3 / 7, 4 / 7], [1 / 5, 4 / 5]])


@every_kind
def test_a_column_that_nobody_knows_changes_nothing(kind):
    X, y = words()
    gap = np.column_stack([X, np.full(len(y), NAN)])
    model = kind().fit(gap, y)
    assert all(np.isfinite(getattr(model, name)).all() for name in LEARNED)
    np.testing.assert_allclose(model.predict_proba(gap), kind().fit(X, y).predict_proba(X), rtol=1e-9)


@every_form
def test_maximum_likelihood(form):
    X, y = form(np.array([[2.0, 1, 0, 0], [1, 0, 0, 0], [0, 1, 3, 0]])), ["a", "a", "b"]
    model = MultinomialNB(alpha=0).fit(X, y)
    np.testing.assert_allclose(np.exp(model.feature_log_prob_), [[0.75, 0.25, 0, 0], [0, 0.25, 0.75, 0]])
    rows = form(np.array([[1.0, 1, 0, 0], [0, 5, 0, 0], [1, 0, 1, 0], [0, 0, 0, 1]]))
    # seen in a only; the same in both; impossible in both, twice: the prior
    np.testing.assert_allclose(
        model.predict_proba(rows), [[1, 0], [2 / 3, 1 / 3], [2 / 3, 1 / 3], [2 / 3, 1 / 3]]
    )
    assert model.predict(rows).tolist() == ["a"] * 4
    assert np.isneginf(model.predict_joint_log_proba(rows)[2:]).all()
    gap = form(np.array([[NAN, 0, 1, 0], [1, NAN, NAN, NAN]]))
    np.testing.assert_allclose(model.predict_proba(gap), [[0, 1], [1, 0]])


@every_form
def test_maximum_likelihood_of_ones_and_zeros(form):
    model = BernoulliNB(alpha=0).fit(form(np.array([[1.0, 0], [1, 1], [0, 1], [0, 1]])), [0, 0, 1, 1])
    np.testing.assert_allclose(np.exp(model.feature_log_prob_), [[1, 0.5], [0, 1]])
    asked = form(np.array([[1.0, 1], [0, 1], [0, 0], [NAN, 0], [NAN, 1]]))
    np.testing.assert_allclose(
        model.predict_proba(asked), [[1, 0], [0, 1], [0.5, 0.5], [1, 0], [1 / 3, 2 / 3]]
    )


@every_form
@pytest.mark.parametrize("norm", [False, True])
def test_complement_without_smoothing(form, norm):
    X, y = form(np.array([[2.0, 1, 0, 0], [1, 1, 0, 0], [0, 1, 3, 0]])), ["a", "a", "b"]
    model = ComplementNB(alpha=0, norm=norm).fit(X, y, sample_weight=[0.1, 0.7, 0.3])
    asked = form(np.array([[1.0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [NAN, 0, 1, 0]]))
    proba = model.predict_proba(asked)
    assert np.isfinite(proba).all()
    assert model.predict(asked).tolist() == ["a", "b", "a", "b"]
    if not norm:
        np.testing.assert_allclose(proba[[0, 1, 3]], [[1, 0], [0, 1], [0, 1]])


@every_kind
def test_a_class_without_counts_has_equal_shares(kind):
    model = kind(alpha=0).fit([[0.0, 0], [0, 0], [1, 2]], [0, 0, 1])
    assert not np.isnan(model.feature_log_prob_).any()
    assert np.isfinite(model.predict_proba([[0.0, 0], [1, 1]])).all()
    never = MultinomialNB(alpha=0).fit([[0.0, 0], [0, 0], [1, 2]], [0, 0, 1])
    np.testing.assert_allclose(np.exp(never.feature_log_prob_[0]), [0.5, 0.5])


@every_kind
def test_long_texts_do_not_underflow(kind):
    X, y = words()
    proba = kind().fit(X, y).predict_log_proba(X * 1e4)
    assert np.isfinite(proba).all()
    np.testing.assert_allclose(np.exp(proba).sum(axis=1), 1.0)


@every_kind
@every_form
def test_single_precision_counts_as_double(kind, form):
    X, y = words()
    single, double = kind().fit(form(X).astype(np.float32), y), kind().fit(form(X), y)
    assert_same_model(single, double)
    np.testing.assert_allclose(
        single.predict_proba(form(X).astype(np.float32)), double.predict_proba(form(X))
    )


@every_kind
@every_form
def test_same_bits_for_any_number_of_threads(kind, form, monkeypatch):
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 1 << 10)
    monkeypatch.setattr(class_sums, "ENTRIES", 50)  # classes in runs
    X, y = words(900)
    X = form(with_gaps(X, 0.02) * 0.1)
    one = kind(n_jobs=1).fit(X, y)
    for jobs in (2, 5):
        other = kind(n_jobs=jobs).fit(X, y)
        np.testing.assert_array_equal(one.feature_count_, other.feature_count_)
        np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))
        np.testing.assert_array_equal(one.predict(X), other.predict(X))
    monkeypatch.undo()
    assert_same_model(one, kind().fit(X, y))


@pytest.mark.parametrize("classes", [1, 2, 30, 200])
@pytest.mark.parametrize("run", [1, 7, 40, 10_000])
def test_pieces_hold_every_row_once_and_share_no_class_but_a_large_one(classes, run):
    counts = np.random.default_rng(classes).geometric(0.05, classes) - 1
    counts[0] += 100
    pieces = class_sums._pieces(counts, run)
    assert [a for a, *_ in pieces[1:]] == [b for _, b, *_ in pieces[:-1]]
    assert pieces[0][0] == 0
    assert pieces[-1][1] == counts.sum()
    ends = np.cumsum(counts)
    for start, end, first, last in pieces:
        assert end > start
        assert ends[first] - counts[first] <= start
        assert end <= ends[last - 1]
        assert last - first == 1 or end - start < 2 * run


@every_kind
def test_rows_without_any_word_and_a_single_row(kind):
    X, y = words()
    model = kind().fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(
        model.predict_proba(sparse.csr_array((2, 6))), model.predict_proba(np.zeros((2, 6)))
    )
    only = kind().fit([[1.0, 2.0]], ["only"])
    assert only.predict([[3.0, 4.0]]).tolist() == ["only"]
    np.testing.assert_allclose(only.predict_proba([[3.0, 4.0]]), 1.0)


@pytest.mark.parametrize("kind", [MultinomialNB, ComplementNB])
@every_form
def test_negative_counts_are_refused_beside_missing_ones_too(kind, form):
    X, y = words()
    X[3, 2], X[4, 4] = -1, NAN
    with pytest.raises(
        ValueError, match=f"Negative values in data passed to {kind.__name__} \\(input X\\): -1 is"
    ):
        kind().fit(form(X), y)


@every_form
def test_without_binarize_values_are_probabilities(form):
    X, y = words()
    with pytest.raises(ValueError, match="from 0 to 1"):
        BernoulliNB(binarize=None).fit(form(X), y)
    ones = (X > 0).astype(float)
    assert_same_model(BernoulliNB(binarize=None).fit(form(ones), y), BernoulliNB().fit(form(X), y))


@every_kind
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": -1.0}, "parameter 'alpha' must be"),
        ({"alpha": [1.0, 2.0]}, "one for each of 6 features"),
        ({"alpha": np.full(6, NAN)}, "alpha must be a finite number"),
        ({"alpha": ["a"] * 6}, "alpha must be numbers"),
        ({"class_prior": [0.5, 0.5]}, "class_prior must be a probability for each of 3 classes"),
        ({"class_prior": [0.5, 0.7, -0.2]}, "class_prior must be"),
        ({"class_prior": "flat"}, "class_prior must be numbers"),
    ],
    ids=str,
)
def test_wrong_parameters(kind, options, message):
    with pytest.raises(ValueError, match=message):
        kind(**options).fit(*words())


@every_kind
def test_a_forged_model_is_refused(kind):
    X, y = words()
    model = kind().fit(sparse.csr_array(X), y)
    model.feature_log_prob_ = model.feature_log_prob_[:, :3]
    with pytest.raises(ValueError, match="feature_log_prob_ has the shape"):
        model.predict(sparse.csr_array(X))
