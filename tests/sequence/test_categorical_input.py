"""What a hidden Markov model of symbols may be given: gaps, unseen symbols, tables set by hand, files."""

import io
import pickle

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.exceptions import NotFittedError

from tercet.sequence import CategoricalHMM, forward, posteriors, viterbi
from tests.sequence.test_categorical_hmm import A2, BOXES, EX2, WATERMELON, set_by_hand

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


# Symbols that are not there ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("implementation", ["scaling", "log"])
@pytest.mark.parametrize("gap", [-1, None, np.nan])
def test_what_was_not_observed_is_summed_out(gap, implementation):
    model = set_by_hand(WATERMELON, implementation=implementation)
    holey = np.array([0, gap, 2, gap], dtype=object if gap is None else float)
    chances = [np.exp(model.score([0, a, 2, b])) for a in range(3) for b in range(3)]
    assert np.exp(model.score(holey)) == pytest.approx(sum(chances), rel=1e-12)
    assert model.predict_proba([0, gap, 2]) == pytest.approx(model.predict_proba([[0, gap, 2]])[0])
    np.testing.assert_allclose(model.predict_proba([gap])[0], model.startprob_, rtol=1e-12)
    assert model.predict(holey).tolist() == [1, 0, 0, 0]


def test_learning_with_gaps():
    rng = np.random.default_rng(0)
    true = set_by_hand(WATERMELON)
    X = true.sample(3000, random_state=1)[0][:, 0].astype(float)
    X[rng.random(3000) < 0.2] = np.nan
    model = set_by_hand(WATERMELON, init_params="", n_iter=30).fit(X)
    np.testing.assert_allclose(model.transmat_, true.transmat_, atol=0.1)
    np.testing.assert_allclose(model.emissionprob_, true.emissionprob_, atol=0.1)
    nothing = set_by_hand(WATERMELON, init_params="", n_iter=1).fit([np.nan, np.nan, np.nan])
    assert np.array_equal(nothing.emissionprob_, true.emissionprob_)


def test_unseen_symbols():
    model = CategoricalHMM(2, random_state=0).fit([[0, 1, 2], [1, 1]])
    with pytest.raises(ValueError, match="symbol 5 at row 1 of sequence 1 is not one of the 3 symbols"):
        model.predict([[0, 1], [2, 5]])
    model.set_params(unseen="ignore")
    np.testing.assert_allclose(model.predict_proba([[0, 5, 1]])[0], model.predict_proba([[0, None, 1]])[0])
    silent = set_by_hand(([0.5, 0.5], [[0.5, 0.5]] * 2, [[0.5, 0.5, 0], [0.2, 0.8, 0]]))
    with pytest.raises(ValueError, match=r"sequence 0 has probability 0: .* row 1"):
        silent.predict([0, 2, 1])
    for implementation in ("scaling", "log"):
        silent.set_params(unseen="ignore", implementation=implementation)
        assert silent.score([0, 2, 1]) == pytest.approx(silent.score([0, -1, 1]))
        assert silent.score([0, 2]) == pytest.approx(silent.score([0, -1]))


@pytest.mark.parametrize("implementation", ["scaling", "log"])
def test_impossible_observations_are_said(implementation):
    tables = ([1.0, 0.0], [[0.5, 0.5], [0.0, 1.0]], [[1.0, 0.0], [0.5, 0.5]])
    model = set_by_hand(tables, implementation=implementation)
    assert model.score([1, 0]) == -np.inf
    assert model.score([[0, 1], [1, 1]]) == -np.inf
    assert model.score([[0, 1], [1, 1]], sample_weight=[1, 0]) == pytest.approx(np.log(0.25))
    for ask in (model.predict, model.predict_proba, model.decode, model.score_samples):
        with pytest.raises(ValueError, match=r"sequence 1 has probability 0: .* row 0"):
            ask([[0, 1], [1, 1], [1]])
    with pytest.raises(ValueError, match="sequence 1 has probability 0"):
        model.set_params(init_params="").fit([[0, 1], [1, 1]])
    with pytest.raises(ValueError, match="sequence 2 has probability 0"):
        model.fit([[0, 1], [1, 1], [1, 1]], sample_weight=[1, 0, 1])
    assert forward(*tables, [1, 0]).probability == 0.0
    assert viterbi(*tables, [1, 0]).log_probability == -np.inf
    with pytest.raises(ValueError, match="probability 0"):
        posteriors(*tables, [1, 0])


def test_a_sequence_that_underflows_is_done_with_logarithms():
    eps = 1e-10
    tables = ([0.5, 0.5], np.eye(2), [[eps, 1 - eps], [1 - eps, eps]])
    O = [0] * 40 + [1] * 80
    scaled, logs = set_by_hand(tables), set_by_hand(tables, implementation="log")
    assert scaled.score(O) == pytest.approx(logs.score(O), rel=1e-12)
    assert scaled.score(O) == pytest.approx(np.log(0.5) + 40 * np.log(eps), rel=1e-6)
    np.testing.assert_allclose(scaled.predict_proba(O)[:, 0], 1.0)
    weighted = [[0, 0], O, [1]]
    one = set_by_hand(tables, init_params="", n_iter=1).fit(weighted, sample_weight=[1, 2, 3])
    two = set_by_hand(tables, init_params="", n_iter=1).fit([[0, 0], O, O, [1], [1], [1]])
    np.testing.assert_allclose(one.emissionprob_, two.emissionprob_, rtol=1e-12)


# Shapes and kinds of input ----------------------------------------------------------------------------------------


def test_sequences_of_length_one_and_a_single_state():
    model = CategoricalHMM(n_iter=3).fit([[0], [2], [2], [1]])
    assert model.transmat_.tolist() == [[1.0]]
    np.testing.assert_allclose(model.emissionprob_, [[0.25, 0.25, 0.5]])
    assert model.score([[2]]) == pytest.approx(np.log(0.5))
    assert model.predict([[2, 1]])[0].tolist() == [0, 0]
    two = CategoricalHMM(2, random_state=0).fit([[0], [1]])
    np.testing.assert_allclose(two.transmat_.sum(axis=1), 1.0)


def test_thousands_of_short_sequences_and_one_very_long():
    rng = np.random.default_rng(0)
    model = set_by_hand(WATERMELON)
    short = rng.integers(0, 3, (3000, 5))
    scores = [model.score(row) for row in short[:20]]
    assert model.score(list(short[:20])) == pytest.approx(sum(scores), rel=1e-12)
    assert model.score(short.ravel(), lengths=[5] * 3000) == pytest.approx(
        model.score(list(short)), rel=1e-12
    )
    long = np.tile(short.ravel()[:10_000], 10)
    logs = set_by_hand(WATERMELON, implementation="log")
    assert model.score(long) == pytest.approx(logs.score(long), rel=1e-10)
    np.testing.assert_allclose(model.predict_proba(long[:5000]), logs.predict_proba(long[:5000]), atol=1e-10)
    assert model.predict(long).shape == (100_000,)


@pytest.mark.parametrize(
    "given_as",
    [
        lambda x: x,
        lambda x: np.array(x),
        lambda x: np.array(x)[:, None],
        lambda x: np.array(x, dtype=float),
        lambda x: np.array(x, dtype=np.uint8),
        lambda x: pd.Series(x, index=np.arange(4) + 9),
        lambda x: pd.DataFrame({"symbol": x}),
    ],
)
def test_symbols_may_come_in_many_ways(given_as):
    model = set_by_hand(WATERMELON)
    assert model.predict(given_as([0, 1, 2, 0])).tolist() == [1, 0, 0, 1]
    fixed = np.array([0, 1, 2, 0])
    fixed.setflags(write=False)
    assert model.predict(fixed).tolist() == [1, 0, 0, 1]


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (["a", "b"], "symbols must be whole numbers"),
        ([0.5, 1.0], "symbols must be whole numbers"),
        ([0, np.inf], "symbols must be whole numbers"),
        ([0, -2], "from 0 to"),
        ([0, 2**31], "from 0 to"),
        (np.zeros((3, 2), dtype=int), "one column"),
        ([], "no rows"),
        ([[0], []], "Sequence 1 of 2 is empty"),
    ],
)
def test_bad_symbols_are_refused(X, message):
    with pytest.raises(ValueError, match=message):
        CategoricalHMM(2).fit(X)
    with pytest.raises(ValueError, match=message):
        set_by_hand(WATERMELON).predict(X)


def test_more_symbols_than_said():
    assert CategoricalHMM(2, n_features=6, random_state=0).fit([0, 1, 2]).emissionprob_.shape == (2, 6)
    with pytest.raises(ValueError, match="symbol 2 at row 2 of sequence 0 is not one of the 2 symbols"):
        CategoricalHMM(2, n_features=2).fit([0, 1, 2])


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("startprob_", [0.5, 0.6], "startprob_ must sum to 1; it sums to 1.1"),
        ("transmat_", [[0.5, 0.5], [0.4, 0.5]], "row 1 of .*transmat_ must sum to 1; it sums to 0.9"),
        ("transmat_", [[1.5, -0.5], [0.4, 0.6]], "row 0 of .*transmat_ must hold probabilities; got -0.5"),
        ("transmat_", [[0.5, 0.5]], r"transmat_ has the shape \(1, 2\); expected is \(2, 2\)"),
        (
            "emissionprob_",
            [[0.5, 0.5], [np.nan, 1]],
            "row 1 of .*emissionprob_ must hold probabilities; got nan",
        ),
        ("emissionprob_", [0.5, 0.5], r"emissionprob_ has the shape \(2,\)"),
        ("startprob_", [0.5, 0.25, 0.25], r"startprob_ has the shape \(3,\); expected is \(2,\)"),
    ],
)
def test_attributes_set_by_hand_are_checked(name, value, message):
    model = set_by_hand(WATERMELON, init_params="")
    setattr(model, name, value)
    for ask in (model.score, model.predict, model.predict_proba, model.fit):
        with pytest.raises(ValueError, match=message):
            ask([0, 1])
    with pytest.raises(ValueError, match=message):
        model.sample(3)


def test_not_fitted():
    with pytest.raises(NotFittedError):
        CategoricalHMM(2).predict([0, 1])
    half = CategoricalHMM(2)
    half.startprob_ = [0.5, 0.5]
    with pytest.raises(NotFittedError):
        half.score([0, 1])


@pytest.mark.parametrize("name", ["startprob_prior", "transmat_prior", "emissionprob_prior"])
def test_priors_are_checked(name):
    for wrong in ([[1.0] * 7] * 3, [-1.0], [np.nan]):
        with pytest.raises(ValueError, match=f"{name} must be"):
            CategoricalHMM(2, **{name: wrong}).fit([0, 1, 0])
    with pytest.raises(ValueError, match="'params' must be made of the letters 'est'"):
        CategoricalHMM(2, params="stx").fit([0, 1, 0])


# Samples and files ------------------------------------------------------------------------------------------------


def test_samples_follow_the_model():
    model = set_by_hand(EX2)
    draws = [model.sample(3, random_state=seed)[0][:, 0] for seed in range(2000)]
    np.testing.assert_allclose(1 - np.mean(draws, axis=0), [0.54, 0.532, 0.5322], atol=0.04)
    X, states = model.sample(20_000, random_state=0)
    assert X.shape == (20_000, 1)
    counts = np.zeros((3, 3))
    np.add.at(counts, (states[:-1], states[1:]), 1)
    np.testing.assert_allclose(counts / counts.sum(axis=1, keepdims=True), A2, atol=0.03)
    assert np.array_equal(X, model.sample(20_000, random_state=0)[0])
    assert model.sample(1, random_state=3, currstate=1)[1].tolist() == [1]
    with pytest.raises(ValueError, match="currstate=7 is no state"):
        model.sample(3, currstate=7)
    with pytest.raises(ValueError, match="n_samples must be a positive integer; got 0"):
        model.sample(0)
    boxes = set_by_hand(BOXES)
    X, states = boxes.sample(5000, random_state=0)
    assert (np.array(BOXES[1])[states[:-1], states[1:]] > 0).all()


def test_files(tmp_path):
    model = CategoricalHMM(3, random_state=0).fit([[0, 1, 2], [1, 1]])
    expected = model.predict_proba([0, 1, 1])
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict_proba([0, 1, 1]), expected)
    blob = skops.io.dumps(model)
    known = skops.io.get_untrusted_types(data=blob)
    assert set(known) <= {"tercet.sequence.hmm.categorical_hmm.CategoricalHMM"}
    assert np.array_equal(skops.io.loads(blob, trusted=known).predict_proba([0, 1, 1]), expected)
    named = CategoricalHMM().fit([[0, 1], [1]], [["x", "y"], ["y"]])
    blob = skops.io.dumps(named)
    again = skops.io.loads(blob, trusted=["tercet.sequence.hmm.categorical_hmm.CategoricalHMM"])
    assert again.predict([[0, 1]])[0].tolist() == ["x", "y"]
    assert io.BytesIO(blob).getbuffer().nbytes > 0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("startprob_", np.full(9, 1 / 9)),
        ("transmat_", np.full((9, 9), 1 / 9)),
        ("transmat_", np.full((3, 2), 0.5)),
        ("emissionprob_", np.full((2, 3), 1 / 3)),
        ("emissionprob_", np.ones((3, 1))),
    ],
)
def test_forged_arrays_do_not_reach_the_kernels(name, value):
    model = CategoricalHMM(3, random_state=0).fit([[0, 1, 2], [1, 1]])
    setattr(model, name, value)
    with pytest.raises(ValueError, match=r"shape|symbol"):
        model.predict([0, 1, 2])
    with pytest.raises(ValueError, match=r"shape|symbol"):
        model.score([0, 1, 2])
