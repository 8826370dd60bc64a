"""Our own checks over every estimator of the catalogue."""

import functools
import io
import itertools
import multiprocessing
import pickle
import pickletools
import re
import sys
import threading
import typing
import warnings

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import skops.io
from scipy import sparse
from sklearn.base import clone
from sklearn.callback import ProgressBar, ScoringMonitor
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import get_scorer
from sklearn.utils.validation import has_fit_parameter

from tercet import EarlyStopping
from tercet.core import chunks
from tercet.core.parameters import Range, allows, hints
from tercet.core.steps import fitted_attributes
from tercet.io import trusted_types
from tests.conformance import population
from tests.conformance.population import (
    CARDS,
    cut,
    data,
    fitted,
    is_sequential,
    is_tabular,
    make,
    output,
    takes,
)
from tests.systems import posix

every_estimator = pytest.mark.parametrize("card", CARDS, ids=lambda card: card.name)
# Sequences of symbols come as lists: their own tests have their kinds of input.
every_tabular = pytest.mark.parametrize("card", list(filter(is_tabular, CARDS)), ids=lambda card: card.name)


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


@pytest.fixture
def small_chunks(monkeypatch):
    """Cut even small data into many chunks."""
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 1 << 11)
    monkeypatch.setattr(chunks, "GRAIN", 8)


def same(one, other):
    """Whether two fitted attributes are equal to the bit."""
    if isinstance(one, np.ndarray) and one.dtype != object:
        return np.array_equal(one, other, equal_nan=one.dtype.kind == "f") and one.dtype == other.dtype
    if isinstance(one, list | tuple | np.ndarray):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[k], other[k]) for k in one)
    if hasattr(one, "get_params"):
        return same(fitted_attributes(one), fitted_attributes(other))
    if isinstance(one, float) and np.isnan(one):
        return np.isnan(other)
    if sparse.issparse(one):
        return (one != other).nnz == 0
    if type(one).__module__.startswith("tercet.") and hasattr(one, "__dict__"):
        return type(one) is type(other) and same(vars(one), vars(other))
    if callable(one) or type(one).__eq__ is object.__eq__:
        return type(one) is type(other)
    return bool(one == other)


def differences(one, other):
    a, b = fitted_attributes(one), fitted_attributes(other)
    return sorted({*a} ^ {*b} | {name for name in {*a} & {*b} if not same(a[name], b[name])})


class Listener:
    """Counts tasks, and asks to stop after the first pass."""

    def __init__(self, stop=False):
        self.stop, self.begun, self.ended, self.fitted = stop, [], [], []

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        self.begun.append((context.task_name, context.task_id))

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None, X=None, y=None):
        self.ended.append((context.task_name, context.task_id))
        if context.parent is not None and context.max_subtasks == 0:
            self.fitted.append(fitted_estimator)
            return self.stop
        return False


@every_estimator
def test_callbacks(card):
    X, y = data(card)
    listener = Listener()
    model = make(card).set_callbacks(listener).fit(X, y)
    assert listener.begun
    assert sorted(listener.begun) == sorted(listener.ended)
    assert differences(fitted(card), model) == [], "listening changed the result"
    iterative = takes(card, "max_iter") and hasattr(model, "history_")
    if iterative:
        assert listener.fitted, "no pass was reported"
        assert all(fitted is not None for fitted in listener.fitted)
        assert np.isfinite(output(listener.fitted[0], X)).all()
        columns = {len(column) for column in model.history_.values()}
        assert len(columns) == 1
        assert columns.pop() >= 1
        stopped = make(card).set_callbacks(Listener(stop=True)).fit(X, y)
        assert len(next(iter(stopped.history_.values()))) <= len(next(iter(model.history_.values())))


def signature(model, X, y=None):
    """A number that a model of other rows would not have, for methods that no target scores."""
    if hasattr(model, "labels_"):
        return float((np.unique(model.labels_, return_counts=True)[1] ** 2).sum())
    return float(np.nansum(output(model, X) ** 2))


@every_estimator
def test_progress_bar_and_monitor(card, capsys):
    X, y = data(card)
    metric = {"classification": "accuracy", "regression": "r2"}.get(card.task)
    score = get_scorer(metric) if metric else signature
    monitor = ScoringMonitor(scoring={"measure": score})
    model = make(card).set_callbacks(ProgressBar(), monitor).fit(X, y)
    assert card.name in capsys.readouterr().out
    whole = [row["measure"] for row in monitor.get_logs().data if row["task_id_path"] == (0,)]
    assert whole == [score(model, X, y)], "the last state shown is not the fitted model"


@every_estimator
def test_early_stopping(card):
    X, y = data(card, n=120)
    if is_sequential(card) and not isinstance(X, list):
        X, y = cut(X), cut(y)  # whole sequences are held out
    plain = make(card).fit(X, y)
    scoring = None if hasattr(plain, "score") else signature
    model = make(card).set_callbacks(EarlyStopping(scoring, patience=2))
    if card.name in {"MDS", "OPTICS", "SpectralEmbedding", "TSNE"}:
        with pytest.raises(ValueError, match="has an answer only for the rows that it learns from"):
            model.fit(X, y)
        return
    if not hasattr(plain, "history_"):
        with pytest.raises(ValueError, match=r"no passes to stop at|set it on the estimator inside"):
            model.fit(X, y)
        return
    model.fit(X, y)
    scores = model.validation_scores_
    assert np.isfinite(scores).all()
    assert scores[model.best_iter_ - 1] == max(scores)
    assert len(scores) - model.best_iter_ <= 2
    assert np.isfinite(output(model, X)).all()


@every_estimator
@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_same_bits_for_any_n_jobs(card, form, small_chunks):
    if not takes(card, "n_jobs"):
        assert "n_jobs" not in make(card).get_params()
        return
    X, y = data(card, n=9000 if is_sequential(card) else 200)
    if form == "sparse":
        if not make(card).__sklearn_tags__().input_tags.sparse:
            return
        X = sparse.csr_array(X)
    if is_sequential(card) and not isinstance(X, list):
        X, y = cut(X), cut(y)
    one = make(card, n_jobs=1).fit(X, y)
    other = make(card, n_jobs=7).fit(X, y)
    assert differences(one, other) == []
    assert np.array_equal(output(one, X), output(other, X))


@every_tabular
def test_float32(card):
    X, y = data(card)
    double = fitted(card)
    X32 = X.astype(np.float32)
    single = make(card).fit(X32, y.astype(np.float32) if card.task == "regression" else y)
    floats = [
        v for v in fitted_attributes(single).values() if isinstance(v, np.ndarray) and v.dtype.kind == "f"
    ]
    if hasattr(single, "coef_"):
        assert single.coef_.dtype == np.float32
    # where its ordering begins, no row is near; a column without a range has no ends: infinity
    if card.name not in ("OPTICS", "RangeCleaner"):
        assert all(np.isfinite(v).all() for v in floats)
    a, b = output(double, X), output(single, X32)
    # the path of the perceptron rule forks at the first rounding, its answer does not
    if card.name not in ("LayeredPerceptron", "Perceptron"):
        np.testing.assert_allclose(b, a, rtol=2e-2, atol=2e-2)


# Only stored entries of a sparse matrix are known: its zeros are missing, those of an array are numbers.
STORED_ARE_KNOWN = {"AlternatingLeastSquares", "MatrixCompletion"}


def without_zeros(X):
    """An array as a sparse matrix of the same known entries has it."""
    return np.where(X == 0, np.nan, X)


@every_tabular
def test_sparse_equals_dense(card):
    model = make(card)
    X, y = data(card)
    X = np.where(X < 0.3, 0.0, X)
    if not model.__sklearn_tags__().input_tags.sparse:
        with pytest.raises((TypeError, ValueError), match=r"[Ss]parse"):
            model.fit(sparse.csr_array(X), y)
        return
    options = {"tol": 1e-9} if takes(card, "tol") else {}  # two ways to one optimum, not to one path
    Z = without_zeros(X) if card.name in STORED_ARE_KNOWN else X
    dense = make(card, **options).fit(Z, y)
    for kind in (sparse.csr_matrix, sparse.csc_array):  # (scikit-learn's checks fit all formats)
        other = make(card, **options).fit(kind(X), y)
        np.testing.assert_allclose(output(other, kind(X)), output(dense, Z), rtol=1e-4, atol=1e-5)


@every_tabular
def test_frames(card):
    X, y = data(card)
    plain = fitted(card)
    names = [f"column {k}" for k in range(X.shape[1])]
    for frame in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)):
        model = make(card).fit(frame, y)
        assert list(model.feature_names_in_) == names
        np.testing.assert_allclose(output(model, frame), output(plain, X), rtol=1e-9, atol=1e-9)


@functools.cache
def kernels(n_modules):
    """Every kernel of the modules that are imported so far, which are so many (none as plain Python)."""
    return [
        value
        for name, module in list(sys.modules.items())
        if name.startswith("tercet.")
        for value in vars(module).values()
        if type(value).__name__ == "CPUDispatcher"
    ]


def compiled():
    """For how many types each kernel is compiled in this process."""
    return {kernel: len(kernel.overloads) for kernel in kernels(len(sys.modules))}


def arrays(form, X, y, file):
    """The same rows in other forms, each with two properties that an array of NumPy's may have."""
    if form == "read-only file":
        np.save(file, X)
        y = y.copy()
        y.setflags(write=False)
        return np.load(file, mmap_mode="r"), y
    if form == "Fortran integers":
        return np.asfortranarray((X * 10).round().astype(int)), y
    return np.repeat(X, 2, axis=1)[:, ::2], y


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("arrays")


@every_tabular
@pytest.mark.parametrize("form", ["read-only file", "Fortran integers", "strided"])
def test_kinds_of_arrays(card, form, folder):
    X, y = data(card)
    given, target = arrays(form, X, y, folder / f"{card.name}.npy")
    if form == "Fortran integers":
        X = np.ascontiguousarray(given, dtype=float)
        plain = make(card).fit(X, y)
    else:
        plain = fitted(card)
    expected, before = output(plain, X), compiled() if form == "read-only file" else {}
    model = make(card).fit(given, target)
    np.testing.assert_allclose(output(model, given), expected, rtol=1e-5, atol=1e-6)
    assert np.array_equal(given, X), "the fit changed its rows"
    if form == "read-only file":
        again = {kernel.__name__ for kernel, count in compiled().items() if count > before.get(kernel, 0)}
        assert again == set(), "kernels are compiled again for rows that may not be written to"


@every_estimator
def test_saved_models_predict_the_same(card):
    X, _ = data(card)
    model = fitted(card)
    expected = output(model, X)
    assert np.array_equal(output(pickle.loads(pickle.dumps(model)), X), expected)
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    assert np.array_equal(output(joblib.load(file), X), expected)
    blob = skops.io.dumps(model)
    unknown = skops.io.get_untrusted_types(data=blob)
    assert set(unknown) <= set(trusted_types())
    assert np.array_equal(output(skops.io.loads(blob, trusted=unknown), X), expected)


PUBLIC = re.compile(r"tercet\.[a-z_]+")


@every_estimator
def test_pickles_name_public_paths(card):
    """So that moving a file inside the package breaks no saved model."""
    names = [
        argument.split()[0] if opcode.name == "GLOBAL" else argument
        for opcode, argument, _ in pickletools.genops(pickle.dumps(fitted(card)))
        if opcode.name in ("GLOBAL", "SHORT_BINUNICODE") and str(argument).startswith("tercet.")
    ]
    assert f"{card.module}" in names
    assert {name for name in names if not PUBLIC.fullmatch(name)} == set()


ASKED = ("predict_proba", "decision_function", "predict", "transform", "score_samples")
RANDOM_ANSWERS = {("BernoulliRBM", "score_samples")}  # flips a feature of each row, drawn by its place


def dense_answer(ask, X):
    """What a method says of rows, as an array."""
    found = ask(X)
    return found.toarray() if sparse.issparse(found) else np.asarray(found)


@every_tabular
def test_a_prediction_does_not_depend_on_the_batch(card):
    """A row alone, among 7 and among 10 000; to the bit, or to what the estimator says of its BLAS products."""
    if is_sequential(card):
        pytest.skip("the rows of a table are one sequence: what is said of a row depends on the others")
    model, (X, _) = fitted(card), data(card, n=10_000, seed=1)
    for name in ASKED:
        if not hasattr(model, name) or (card.name, name) in RANDOM_ANSWERS:
            continue
        ask = functools.partial(dense_answer, getattr(model, name))
        many, few = ask(X)[:7], ask(X[:7])
        alone = np.concatenate([ask(X[i : i + 1]) for i in range(7)])
        if many.dtype.kind != "f" or not model.batch_rounding:
            assert np.array_equal(many, few), name
            assert np.array_equal(alone, few), name
        else:
            np.testing.assert_allclose(many, few, rtol=model.batch_rounding, atol=model.batch_rounding)
            np.testing.assert_allclose(alone, few, rtol=model.batch_rounding, atol=model.batch_rounding)


# What `fit_transform` returns differs from `fit(X).transform(X)`, and this sentence of its docstring says so.
FIT_TRANSFORM_DIFFERS = {
    "DictionaryLearning": "`fit(X).transform(X)` encodes the rows by `transform_algorithm` instead",
    "LocallyLinearEmbedding": "`fit(X).transform(X)` only approximates these points",
    "MatrixCompletion": "agrees with it as far as the algorithm has converged",
    "MiniBatchNMF": "agrees with it only as far as the fit has converged",
    "NMF": "agrees with it only as far as the fit has converged",
    "TargetEncoder": "encodes every training row by statistics of other rows only",
}


@pytest.mark.parametrize(
    "card", [card for card in CARDS if hasattr(card.load(), "fit_transform")], ids=lambda card: card.name
)
def test_fit_transform_is_fit_then_transform(card):
    X, y = data(card)
    forms = [X]
    if is_tabular(card) and make(card).__sklearn_tags__().input_tags.allow_nan:
        forms.append(np.where(np.random.default_rng(0).random(X.shape) < 0.2, np.nan, X))
    equal = []
    for rows in forms:
        model = make(card)
        at_once = dense_answer(functools.partial(make(card).fit_transform, y=y), rows)
        model.fit(rows, y)
        in_two = dense_answer(model.transform, rows) if hasattr(model, "transform") else model.embedding_
        assert at_once.shape == in_two.shape
        equal.append(np.allclose(at_once, in_two, rtol=1e-9, atol=1e-12, equal_nan=True))
    assert all(equal) == (card.name not in FIT_TRANSFORM_DIFFERS)
    docs = " ".join(f"{card.load().__doc__} {card.load().fit_transform.__doc__}".split())
    assert FIT_TRANSFORM_DIFFERS.get(card.name, "") in docs


@pytest.mark.parametrize("name", ["DictionaryLearning", "MatrixCompletion", "MiniBatchNMF", "NMF"])
def test_fit_transform_answers_for_the_rows_that_early_stopping_holds_out(name):
    """What is left behind by the last pass is neither of all rows nor of the best pass."""
    (card,) = [card for card in CARDS if card.name == name]
    X, y = data(card)
    model = make(card).set_callbacks(EarlyStopping(signature, patience=2))
    np.testing.assert_array_equal(model.fit_transform(X, y), model.transform(X))


@pytest.mark.parametrize(
    "card",
    [card for card in CARDS if hasattr(card.load(), "fit_predict") and hasattr(card.load(), "predict")],
    ids=lambda card: card.name,
)
def test_fit_predict_answers_for_the_rows_that_early_stopping_holds_out(card):
    X, y = data(card)
    model = make(card)
    if not hasattr(fitted(card), "history_"):
        assert model.fit_predict(X, y).shape == (60,)
        return
    scoring = None if hasattr(model, "score") else signature
    model.set_callbacks(EarlyStopping(scoring, patience=2))
    np.testing.assert_array_equal(model.fit_predict(X, y), model.predict(X))


@every_estimator
def test_clone_forgets_what_was_learned(card):
    X, y = data(card)
    model = fitted(card)
    copy = clone(model)
    assert fitted_attributes(copy) == {}
    assert differences(model, copy.fit(X, y)) == []


@every_estimator
def test_fits_in_several_threads_at_once(card):
    X, y = data(card)
    expected = fitted(card)
    models = [make(card) for _ in range(4)]
    workers = [threading.Thread(target=model.fit, args=(X, y)) for model in models]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(timeout=600)
    assert [differences(expected, model) for model in models] == [[]] * 4


families = [
    [*cards]
    for _, cards in itertools.groupby(
        sorted(CARDS, key=lambda card: card.family), key=lambda card: card.family
    )
]


def threaded_fit(card):
    """What a model says that was fitted by two threads, where its estimator has some."""
    X, y = data(card)
    return output(make(card, n_jobs=2).fit(X, y) if takes(card, "n_jobs") else fitted(card), X)


def fit_and_send(cards, pipe):
    """Fit anew in a child process."""
    population._fitted.cache_clear()
    for card in cards:
        pipe.send(threaded_fit(card))


@posix
@pytest.mark.parametrize("cards", families, ids=lambda cards: ",".join(card.name for card in cards))
def test_fits_after_fork(cards):
    """Once the estimators of a family have fitted with threads, a process forked from this one can do so, too."""
    expected = [threaded_fit(card) for card in cards]
    fork = multiprocessing.get_context("fork")
    here, there = fork.Pipe(duplex=False)
    process = fork.Process(target=fit_and_send, args=(cards, there))
    process.start()
    there.close()
    for card, value in zip(cards, expected):
        assert here.poll(600), f"{card.name} hangs"
        assert np.array_equal(here.recv(), value), card.name
    process.join(timeout=600)


def a_wrong_value(hint):
    """A value that a type hint does not allow."""
    candidates = [-1e9, "no such value", object(), 0.5, -3, None, [], 1e300]
    for note in typing.get_args(hint):
        if isinstance(note, Range):
            candidates = [note.low - 1, note.high + 1, *candidates]
    return next((value for value in candidates if not allows(hint, value)), None)


@every_estimator
def test_wrong_parameters_are_named(card):
    X, y = data(card)
    parameters = {name: hint for name, hint in hints(card.load()).items() if hint is not typing.Any}
    assert parameters or not make(card).get_params()
    for name, hint in parameters.items():
        wrong = a_wrong_value(hint)
        if wrong is None and allows(hint, None):
            continue
        with pytest.raises(ValueError, match=f"{card.name}: parameter '{name}' must be"):
            make(card).set_params(**{name: wrong}).fit(X, y)


@every_estimator
def test_every_parameter_has_a_type(card):
    untyped = set(make(card).get_params(deep=False)) - set(hints(card.load()))
    assert untyped == set()


@every_estimator
def test_docstring(card):
    text = card.load().__doc__
    assert ">>>" in text, "no example"
    if make(card).get_params(deep=False):
        assert "Parameters\n" in text
    for name in make(card).get_params(deep=False):
        assert f"{name} :" in text or f"{name}," in text or f", {name}" in text, f"{name} is not described"
    assert "Attributes\n" in text


@every_estimator
def test_sample_weight_must_make_sense(card):
    X, y = data(card)
    if card.task not in ("classification", "regression") and not has_fit_parameter(
        make(card), "sample_weight"
    ):
        # an item that is there twice takes two places of a ranking: no weight can say that
        assert card.task == "ranking" or not hasattr(make(card), "score"), "a sum over rows takes weights"
        return
    with pytest.raises(ValueError, match="sample_weight"):
        make(card).fit(X, y, sample_weight=np.ones(3))
    with pytest.raises(ValueError, match="sample_weight"):
        make(card).fit(X, y, sample_weight=np.full(len(y), np.nan))
    with pytest.raises(ValueError, match="sample_weight"):
        make(card).fit(X, y, sample_weight=-np.ones(len(y)))


@pytest.mark.parametrize(
    "card", [card for card in CARDS if card.task == "regression"], ids=lambda card: card.name
)
def test_a_missing_target_is_refused(card):
    X, y = data(card, n=20)
    gap = y.astype(object)
    gap[3] = None
    with pytest.raises(ValueError, match=r"row 3|NaN"):
        make(card).fit(X, gap)
