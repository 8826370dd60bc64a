"""One against the rest, one against one: the peer's answers, ties, and what goes through to the estimators."""

from __future__ import annotations

import pickle
import threading
import time

import numpy as np
import pandas as pd
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import config_context, get_config
from sklearn import multiclass as peers
from sklearn.callback import ProgressBar
from sklearn.datasets import load_iris, make_multilabel_classification
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import check_estimator

from tercet.core.steps import Steps
from tercet.discriminant_analysis import LinearDiscriminantAnalysis
from tercet.multiclass import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier
from tercet.multiclass.one_vs_one_classifier import count_votes

X, y = load_iris(return_X_y=True)
X = X + np.random.default_rng(0).normal(size=X.shape)  # so that classes overlap and votes split
names = np.array(["setosa", "versicolor", "virginica"])[y]
BASES = [LogisticRegression(), GaussianNB(), SVC(), LinearDiscriminantAnalysis()]
KINDS = [OneVsRestClassifier, OneVsOneClassifier, OutputCodeClassifier]


@pytest.mark.parametrize("rows", [slice(None), y > 0], ids=["three classes", "two classes"])
@pytest.mark.parametrize("base", BASES, ids=lambda base: type(base).__name__)
@pytest.mark.parametrize("kind", KINDS)
def test_same_as_peer(kind, base, rows):
    options = {"random_state": 0} if kind is OutputCodeClassifier else {}
    ours = kind(base, **options).fit(X[rows], names[rows])
    peer = getattr(peers, kind.__name__)(base, **options).fit(X[rows], names[rows])
    assert_array_equal(ours.classes_, peer.classes_)
    assert len(ours.estimators_) == len(peer.estimators_)
    assert_array_equal(ours.predict(X), peer.predict(X))
    if hasattr(peer, "predict_proba"):
        assert_allclose(ours.predict_proba(X), peer.predict_proba(X))
    if hasattr(peer, "decision_function") and hasattr(base, "decision_function"):
        assert_allclose(ours.decision_function(X), peer.decision_function(X))
    if kind is OutputCodeClassifier and hasattr(base, "decision_function"):
        assert_array_equal(ours.code_book_, peer.code_book_)


@pytest.mark.parametrize("kind", [OneVsRestClassifier, OneVsOneClassifier])
def test_regressor_as_base(kind):
    assert kind(Ridge()).fit(X, names).score(X, names) > 0.7
    rest = OneVsRestClassifier(Ridge()).fit(X, names)
    assert_array_equal(rest.predict(X), peers.OneVsRestClassifier(Ridge()).fit(X, names).predict(X))


def test_methods_follow_the_base():
    assert not hasattr(OneVsRestClassifier(SVC()), "predict_proba")
    assert not hasattr(OneVsRestClassifier(GaussianNB()), "decision_function")
    assert not hasattr(OneVsOneClassifier(LogisticRegression()), "partial_fit")
    assert hasattr(OneVsOneClassifier(SGDClassifier()), "partial_fit")


def test_votes_decide_and_confidences_break_ties():
    # Classes (0,1), (0,2), (1,2); first row: 0 beats 1, 1 beats 2, 2 beats 0, and 2 is surest.
    votes, sums = count_votes(np.array([[-1.0, 5.0, -2.0], [-1.0, -1.0, -9.0]]), 3)
    assert_array_equal(votes, [[1, 1, 1], [2, 1, 0]])
    assert_allclose(sums, [[-4, 1, 3], [2, 8, -10]])
    model = OneVsOneClassifier(SVC()).fit(X, y)
    scores, votes = model.decision_function(X), model.votes(X)
    assert (votes.sum(axis=1) == 3).all()
    assert (np.abs(scores - votes) < 1 / 3).all()
    assert (votes[np.arange(len(X)), model.predict(X)] == votes.max(axis=1)).all()


def test_probabilities_break_ties_alike_for_all_classes():
    """A class wins or loses its place in a tie whatever its number: the classes are renamed, the answers follow."""
    model = OneVsOneClassifier(GaussianNB()).fit(X, y)
    other = OneVsOneClassifier(GaussianNB()).fit(X, 2 - y)
    assert_array_equal(model.predict(X), 2 - other.predict(X))


def test_multilabel():
    A, Y = make_multilabel_classification(80, n_classes=4, random_state=0)
    Y[:, 3] = 0
    with pytest.warns(UserWarning, match="Label not 3 is present in all training examples"):
        ours = OneVsRestClassifier(LogisticRegression(max_iter=1000)).fit(A, Y)
    with pytest.warns(UserWarning, match="Label not 3"):
        peer = peers.OneVsRestClassifier(LogisticRegression(max_iter=1000)).fit(A, Y)
    assert ours.multilabel_
    assert_array_equal(ours.predict(A), peer.predict(A))
    assert_allclose(ours.predict_proba(A), peer.predict_proba(A))
    indicator = OneVsRestClassifier(GaussianNB()).fit(A, sparse.csr_matrix(Y[:, :3])).predict(A)
    assert sparse.issparse(indicator)
    assert_array_equal(indicator.toarray(), OneVsRestClassifier(GaussianNB()).fit(A, Y[:, :3]).predict(A))


@pytest.mark.parametrize("kind", [OneVsRestClassifier, OneVsOneClassifier])
@pytest.mark.parametrize("labels", [[0, 1, 2], [1, 2]])
def test_partial_fit(kind, labels):
    mine = np.isin(y, labels)
    A, b = X[mine], y[mine]
    base = SGDClassifier(random_state=0)
    ours, peer = kind(base), getattr(peers, kind.__name__)(base)
    for k in range(3):
        batch = slice(k, None, 3) if k else b == b[0]  # the first batch has one class only
        ours.partial_fit(A[batch], b[batch], classes=labels)
        peer.partial_fit(A[batch], b[batch], classes=labels)
    assert_allclose(ours.decision_function(A), peer.decision_function(A))
    assert_array_equal(ours.predict(A), peer.predict(A))
    with pytest.raises(ValueError, match="classes must be passed"):
        kind(base).partial_fit(A, b)
    with pytest.raises(ValueError, match="not the same as on last call"):
        ours.partial_fit(A, b, classes=[0, 7])
    with pytest.raises(ValueError, match=r"y holds \[7\]; the classes are"):
        ours.partial_fit(A[:1], [7])


@pytest.mark.parametrize("kind", KINDS)
def test_weight_is_repetition(kind):
    options = {"code": "one-vs-one"} if kind is OutputCodeClassifier else {}
    times = np.random.default_rng(0).integers(0, 4, size=y.size)
    weighted = kind(GaussianNB(), **options).fit(X, y, times)
    repeated = kind(GaussianNB(), **options).fit(X.repeat(times, axis=0), y.repeat(times))
    assert_array_equal(weighted.predict(X), repeated.predict(X))
    with pytest.raises(
        ValueError, match=r"sample_weight was given, but KNeighborsClassifier\.fit takes none"
    ):
        kind(KNeighborsClassifier(), **options).fit(X, y, times)
    with pytest.raises(ValueError, match=r"sample_weight.shape == \(3,\), expected \(150,\)"):
        kind(GaussianNB(), **options).fit(X, y, np.ones(3))
    with pytest.raises(ValueError, match=r"'groups' can be passed .* only with metadata routing"):
        kind(GaussianNB(), **options).fit(X, y, groups=y)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_metadata_routing(n_jobs):
    times = np.random.default_rng(0).integers(1, 4, size=y.size)
    wanted = OneVsOneClassifier(GaussianNB()).fit(X, y, times).decision_function(X)
    with sklearn.config_context(enable_metadata_routing=True):
        base = GaussianNB().set_fit_request(sample_weight=True)
        nested = OneVsOneClassifier(OneVsRestClassifier(base), n_jobs=n_jobs)
        assert_array_equal(nested.fit(X, y, sample_weight=times).votes(X).sum(axis=1), 3)
        got = OneVsOneClassifier(base, n_jobs=n_jobs).fit(X, y, sample_weight=times)
        with pytest.raises(TypeError, match="not routed to any object"):
            OneVsOneClassifier(GaussianNB().set_fit_request(sample_weight=False)).fit(X, y, times)
    assert_allclose(got.decision_function(X), wanted)


@pytest.mark.parametrize("kind", KINDS)
def test_threads_do_not_matter(kind):
    options = {"random_state": 0} if kind is OutputCodeClassifier else {}
    scores = [
        kind(LinearDiscriminantAnalysis(), n_jobs=n, **options).fit(X, y).decision_function(X)
        for n in (1, 2, 7)
    ]
    assert_array_equal(scores[0], scores[1])
    assert_array_equal(scores[0], scores[2])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "form", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array, pd.DataFrame, np.ndarray.tolist]
)
def test_kinds_of_input(kind, form):
    options = {"code": "one-vs-one"} if kind is OutputCodeClassifier else {}
    A = np.abs(X).round(1)
    wanted = kind(MultinomialNB(), **options).fit(A, y).predict(A)
    model = kind(MultinomialNB(), **options).fit(form(A), y)
    assert_array_equal(model.predict(form(A)), wanted)
    assert model.n_features_in_ == 4


@pytest.mark.parametrize("kind", KINDS)
def test_text_goes_through(kind):
    options = {"code": "exhaustive"} if kind is OutputCodeClassifier else {}
    texts = ["a red apple", "a green apple", "the blue sea", "the deep sea", "tall old tree", "old oak tree"]
    model = kind(make_pipeline(CountVectorizer(), MultinomialNB()), **options)
    assert list(model.fit(texts, [0, 0, 1, 1, 2, 2]).predict(["apple", "sea", "tree"])) == [0, 1, 2]


def test_gram_matrix():
    K = rbf_kernel(X)
    ours = OneVsOneClassifier(SVC(kernel="precomputed")).fit(K, y)
    peer = peers.OneVsOneClassifier(SVC(kernel="precomputed")).fit(K, y)
    assert_allclose(ours.decision_function(K), peer.decision_function(K))
    for ours_rows, peer_rows in zip(ours.pairwise_indices_, peer.pairwise_indices_):
        assert_array_equal(ours_rows, peer_rows)


class Listener:
    """An auto-propagated callback that writes down the tasks it sees."""

    max_propagation_depth = None

    def __init__(self):
        self.begun, self.ended, self.set_up = [], [], 0

    def setup(self, estimator, context):
        self.set_up += 1

    def teardown(self, estimator, context):
        self.set_up -= 1

    def on_fit_task_begin(self, estimator, context):
        self.begun.append((context.estimator_name, context.task_name, context.source_task_name))

    def on_fit_task_end(self, estimator, context):
        self.ended.append((context.estimator_name, context.task_name, context.source_task_name))


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_callbacks_reach_the_estimators(n_jobs):
    listener = Listener()
    model = OneVsOneClassifier(LinearDiscriminantAnalysis("trace-ratio"), n_jobs=n_jobs)
    model.set_callbacks(listener).fit(X, y)
    assert listener.begun.count(("OneVsOneClassifier", "fit", None)) == 1
    assert listener.begun.count(("LinearDiscriminantAnalysis", "fit", "fit-pair")) == 3
    assert listener.begun.count(("LinearDiscriminantAnalysis", "pass", None)) >= 3
    assert sorted(map(str, listener.begun)) == sorted(map(str, listener.ended))
    assert listener.set_up == 0
    plain = OneVsOneClassifier(LinearDiscriminantAnalysis("trace-ratio")).fit(X, y)
    assert_array_equal(model.decision_function(X), plain.decision_function(X))
    assert not hasattr(model.estimators_[0], "_skl_callbacks")


def test_progress_bar(capsys):
    OneVsRestClassifier(LinearDiscriminantAnalysis("trace-ratio")).set_callbacks(ProgressBar()).fit(X, y)
    shown = capsys.readouterr().out
    assert "OneVsRestClassifier - fit" in shown
    assert "fit-class | LinearDiscriminantAnalysis - fit" in shown


def test_base_without_callbacks_is_named():
    with pytest.warns(UserWarning, match="KNeighborsClassifier does not support callbacks"):
        OneVsRestClassifier(KNeighborsClassifier()).set_callbacks(Listener()).fit(X, y)


def test_one_class_alone_is_predicted_as_by_the_peer():
    with pytest.warns(UserWarning, match="only one class, setosa"):
        ours = OneVsRestClassifier(GaussianNB()).fit(X, np.full(len(y), "setosa"))
    with pytest.warns(UserWarning, match="setosa"):
        peer = peers.OneVsRestClassifier(GaussianNB()).fit(X, np.full(len(y), "setosa"))
    for method in ("predict", "predict_proba"):
        assert_array_equal(getattr(ours, method)(X), getattr(peer, method)(X))


class Interrupted(GaussianNB):
    def fit(self, X, y, sample_weight=None):
        raise KeyboardInterrupt


class InterruptedInCaller(GaussianNB):
    """Ctrl-C, which the main thread alone hears, while the fit in a helper would take a million passes."""

    passes, both = 0, None

    def fit(self, X, y, sample_weight=None):
        kind = type(self)
        kind.both.wait(timeout=600)
        if threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt
        for _ in Steps(1_000_000):
            kind.passes += 1
            time.sleep(0.001)


def three_fits(kind):
    """The parameters for one fit of each class: letters of a random code may need none."""
    return {"code": "one-vs-rest"} if kind is OutputCodeClassifier else {}


@pytest.mark.parametrize("kind", KINDS)
def test_an_interrupt_ends_the_fits_in_helpers(kind):
    InterruptedInCaller.passes, InterruptedInCaller.both = 0, threading.Barrier(2)
    with pytest.raises(KeyboardInterrupt):
        kind(InterruptedInCaller(), n_jobs=2, **three_fits(kind)).fit(X, y)
    assert InterruptedInCaller.passes < 1_000_000


@pytest.mark.parametrize("kind", KINDS)
def test_the_configuration_reaches_the_helpers(kind):
    seen = []

    class Asks(GaussianNB):
        def fit(self, X, y, sample_weight=None):
            seen.append(get_config()["assume_finite"])
            return super().fit(X, y, sample_weight)

    with config_context(assume_finite=True):
        kind(Asks(), n_jobs=3, **three_fits(kind)).fit(X, y)
    assert seen
    assert all(seen)


@pytest.mark.parametrize("kind", KINDS)
def test_an_interrupted_fit_leaves_no_model(kind):
    model = kind(GaussianNB()).fit(X, y)
    with pytest.raises(KeyboardInterrupt):
        model.set_params(estimator=Interrupted()).fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_the_pairs_are_a_tuple_as_with_the_peer():
    ours, peer = OneVsOneClassifier(GaussianNB()).fit(X, y), peers.OneVsOneClassifier(GaussianNB()).fit(X, y)
    assert type(ours.estimators_) is type(peer.estimators_) is tuple


@pytest.mark.parametrize("kind", KINDS)
def test_errors(kind):
    if kind is not OneVsRestClassifier:
        with pytest.raises(ValueError, match="only one class"):
            kind(GaussianNB()).fit(X, np.zeros(len(y)))
    with pytest.raises(ValueError, match="'estimator' must be an estimator with fit; got 3"):
        kind(3).fit(X, y)
    with pytest.raises(ValueError, match="'n_jobs' must be an integer or None; got 'two'"):
        kind(GaussianNB(), n_jobs="two").fit(X, y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        kind(GaussianNB()).fit(X, y[:-1])


@pytest.mark.parametrize("kind", KINDS)
def test_pickle(kind):
    options = {"random_state": 0} if kind is OutputCodeClassifier else {}
    model = kind(LogisticRegression(), **options).fit(X, names)
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


@pytest.mark.parametrize(
    "model",
    [
        OutputCodeClassifier(LogisticRegression(), code_size=4, random_state=0),
        OutputCodeClassifier(GaussianNB(), code="one-vs-one", decoding="loss-weighted"),
    ],
    ids=str,
)
def test_conformance(model):
    results = check_estimator(model, on_fail=None, on_skip=None)
    assert [r["check_name"] for r in results if r["status"] == "failed"] == []
