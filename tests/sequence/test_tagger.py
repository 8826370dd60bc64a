"""The tagger: counts of the text, the list of all paths as judge, unknown symbols and labels."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tercet.core.steps import ConvergenceWarning
from tercet.sequence.crf.constraints import masks_of
from tercet.sequence.hmm import hmm_tagger as module
from tercet.sequence.hmm.direct_enumeration import DirectEnumeration
from tercet.sequence.hmm.hmm_tagger import HMMTagger

X10 = [[0, 1, 1, 2], [2, 1], [0, 0, 2]]
Y10 = [[0, 0, 1, 2], [1, 2], [0, 1, 2]]
SENTENCES = [
    "the/D dog/N barks/V",
    "the/D cat/N sleeps/V",
    "a/D dog/N sees/V the/D cat/N",
    "she/P walks/V slowly/R",
    "she/P sees/V a/D walking/N man/N",
    "he/P sleeps/V quickly/R",
]
X = [[word.split("/")[0] for word in line.split()] for line in SENTENCES]
Y = [[word.split("/")[1] for word in line.split()] for line in SENTENCES]


def corpus(seed, sequences=12, words=6, labels=3, longest=6):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, longest + 1, sequences)
    return (
        [rng.integers(words, size=n).tolist() for n in lengths],
        [[f"L{k}" for k in rng.integers(labels, size=n)] for n in lengths],
    )


def every_path(model, sequence):
    """The list of all paths under the model's tables; symbols it knows, None for one not known."""
    B = np.column_stack([model.emissionprob_, np.ones(len(model.classes_))])
    columns = [len(model.symbols_) if s is None else model.symbols_.index(s) for s in sequence]
    with np.errstate(divide="ignore"):
        return DirectEnumeration(np.log(model.startprob_), np.log(model.transmat_), np.log(B[:, columns].T))


# Counting -----------------------------------------------------------------------------------------------------


def test_counts_of_the_text():
    model = HMMTagger(alpha=0, unseen="error").fit(X10, Y10)
    np.testing.assert_allclose(model.transmat_, [[1 / 3, 2 / 3, 0], [0, 0, 1], [1 / 3] * 3])
    np.testing.assert_allclose(model.emissionprob_, [[2 / 3, 1 / 3, 0], [1 / 3] * 3, [0, 1 / 3, 2 / 3]])
    np.testing.assert_allclose(model.startprob_, [2 / 3, 1 / 3, 0])
    assert not model.unseenprob_.any()
    assert not hasattr(model, "n_iter_")


def test_lidstone():
    a = 0.5
    model = HMMTagger(alpha=a, unseen="error").fit(X10, Y10)
    np.testing.assert_allclose(model.transmat_[0], (np.array([1, 2, 0]) + a) / (3 + 3 * a))
    np.testing.assert_allclose(model.transmat_[2], 1 / 3)
    np.testing.assert_allclose(model.startprob_, (np.array([2, 1, 0]) + a) / (3 + 3 * a))


def test_rare_symbols_stand_for_unseen_ones():
    model = HMMTagger(alpha=0).fit(X, Y)
    np.testing.assert_allclose(model.emissionprob_.sum(axis=1) + model.unseenprob_, 1.0)
    n = model.classes_.index("N")  # dog dog cat cat walking man: two of six words came once
    assert model.unseenprob_[n] == pytest.approx(2 / 8)
    assert model.unseenprob_[model.classes_.index("D")] == 0
    assert model.predict([["she", "xyz", "quietly"]]) == [["P", "V", "R"]]
    plain = HMMTagger(alpha=0, rare=2).fit(X, Y)
    assert plain.unseenprob_[n] == pytest.approx(6 / 12)


def test_last_letters():
    words = ["running", "eating", "sitting", "quietly", "loudly", "softly", "x"]
    model = HMMTagger(unseen="suffix").fit([[w] for w in words], [["V"]] * 3 + [["R"]] * 3 + [["N"]])
    assert model.predict([["sleeping"], ["badly"], ["ing"]]) == [["V"], ["R"], ["V"]]
    np.testing.assert_allclose(model.suffixprob_.sum(axis=1), 1.0)
    assert model.suffixes_[0] == ""
    marginal = model.predict_marginals([["???"], [("no", "string")]])
    usual = HMMTagger().fit([[w] for w in words], [["V"]] * 3 + [["R"]] * 3 + [["N"]])
    for got, want in zip(marginal, usual.predict_marginals([["???"], [5]])):
        assert got[0] == pytest.approx(want[0])


def test_unseen_symbols_say_nothing_where_none_was_rare():
    model = HMMTagger(alpha=0).fit([["a", "b"]] * 3, [["A", "B"]] * 3)
    assert model.predict([["?", "?"], ["a", "?"]]) == [["A", "B"], ["A", "B"]]


# The list of all paths as judge -------------------------------------------------------------------------------


@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.1, 1.0]))
def test_answers_are_those_of_the_list_of_all_paths(seed, alpha):
    sequences, labels = corpus(seed)
    model = HMMTagger(alpha=alpha, unseen="error").fit(sequences, labels)
    proba, marginals = model.predict_proba(sequences), model.predict_marginals(sequences)
    best, likely = model.predict(sequences), model.set_params(algorithm="map").predict(sequences)
    for k, sequence in enumerate(sequences):
        every = every_path(model, sequence)
        chance, _ = every.best()
        np.testing.assert_allclose(proba[k], every.posteriors(), atol=1e-12)
        assert marginals[k] == [dict(zip(model.classes_, row)) for row in proba[k].tolist()]
        states = [model.classes_.index(label) for label in best[k]]
        assert every.log_joint[every.index(states)] == pytest.approx(np.log(chance))
        assert likely[k] == [model.classes_[i] for i in proba[k].argmax(axis=1)]
        chances, paths = every.best(3)
        found = model.k_best([sequence], 3)[0]
        np.testing.assert_allclose(np.exp([score for _, score in found]), chances / every.total, atol=1e-12)
        assert found[0][0] == best[k]
        assert len(found) == len(paths)


def test_an_unknown_symbol_says_nothing():
    sequences, labels = corpus(1)
    model = HMMTagger(unseen="error").fit(sequences, labels)
    asked = [0, None, 2, float("nan")]
    want = every_path(model, [0, None, 2, None]).posteriors()
    np.testing.assert_allclose(model.predict_proba([asked])[0], want, atol=1e-12)
    with_none = HMMTagger(alpha=0).fit([["a", None, "b"]], [["A", "A", "B"]])
    assert with_none.symbols_ == ["a", "b"]
    np.testing.assert_allclose(with_none.transmat_[0], [0.5, 0.5])


# Labels that are not known ------------------------------------------------------------------------------------


def hidden(labels, seed, share=0.5):
    rng = np.random.default_rng(seed)
    return [[None if rng.random() < share else label for label in some] for some in labels]


def expected_counts(model, sequences, labels):
    """Of all sequences, by the list of all paths that agree with the labels."""
    n, m = len(model.classes_), len(model.symbols_)
    start, trans, words = np.zeros(n), np.zeros((n, n)), np.zeros((m, n))
    for sequence, some in zip(sequences, labels):
        every = every_path(model, sequence)
        want = np.array([-1 if label is None else model.classes_.index(label) for label in some])
        good = ((every.paths == want) | (want < 0)).all(axis=1)
        weight = np.exp(every.log_joint) * good
        weight /= weight.sum()
        for path, w in zip(every.paths[good], weight[good]):
            start[path[0]] += w
            np.add.at(trans, (path[:-1], path[1:]), w)
            np.add.at(words, ([model.symbols_.index(s) for s in sequence], path), w)
    return start, trans, words


@settings(max_examples=25)
@given(st.integers(0, 10_000))
def test_em_ends_where_the_expected_counts_agree(seed):
    sequences, labels = corpus(seed, sequences=8, longest=4)
    labels = [["L0", "L1", "L2"], *hidden(labels, seed)]
    sequences = [[0, 1, 2], *sequences]
    model = HMMTagger(0.5, unseen="error", n_iter=2000, tol=1e-13).fit(sequences, labels)
    start, trans, words = expected_counts(model, sequences, labels)
    for table, counts in (
        (model.startprob_, start),
        (model.transmat_, trans),
        (model.emissionprob_, words.T),
    ):
        want = (counts + 0.5) / (counts + 0.5).sum(axis=-1, keepdims=True)
        np.testing.assert_allclose(table, want, atol=1e-4)


@pytest.mark.filterwarnings("ignore:HMMTagger did not converge")
@pytest.mark.parametrize("alpha", [0.0, 0.1])
@pytest.mark.parametrize("seed", range(5))
def test_the_likelihood_never_falls(seed, alpha):
    sequences, labels = corpus(seed, sequences=30)
    model = HMMTagger(alpha, n_iter=60, tol=0).fit(sequences[:20] + sequences, labels[:20] + [None] * 30)
    values = np.array(model.history_["log_likelihood"])
    assert (np.diff(values) >= -1e-10).all()
    assert model.n_iter_ == len(values)


def test_unlabelled_sequences_help():
    rng = np.random.default_rng(0)
    words = {"A": [f"a{k}" for k in range(30)], "B": [f"b{k}" for k in range(30)]}
    labels = [["A", "B"] * 3 if rng.random() < 0.5 else ["B", "A"] * 3 for _ in range(300)]
    sequences = [[words[label][rng.integers(30)] for label in some] for some in labels]
    few = HMMTagger().fit(sequences[:4], labels[:4]).score(sequences, labels)
    more = HMMTagger().fit(sequences, labels[:4] + [None] * 296).score(sequences, labels)
    assert more == 1.0
    assert few < more


def test_an_end_without_convergence_is_told():
    sequences, labels = corpus(3)
    with pytest.warns(ConvergenceWarning, match=r"HMMTagger did not converge.*Raise n_iter or tol"):
        HMMTagger(n_iter=2, tol=0).fit(sequences, hidden(labels, 1))


def test_minus_one_is_unknown_among_whole_numbers():
    labels = [[0, -1, 1], [1, 0]]
    one = HMMTagger().fit([["a", "b", "c"], ["c", "a"]], labels)
    other = HMMTagger().fit([["a", "b", "c"], ["c", "a"]], [[0, None, 1], [1, 0]])
    assert one.classes_ == [0, 1]
    assert np.array_equal(one.transmat_, other.transmat_)
    assert HMMTagger().fit([["a", "b"]], [["x", -1]]).classes_ == [-1, "x"]


# Weights, threads, forms --------------------------------------------------------------------------------------

TABLES = ("startprob_", "transmat_", "emissionprob_", "unseenprob_")


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_weight_two_is_twice_and_weight_zero_is_not_there(share):
    sequences, labels = corpus(5)
    labels = hidden(labels, 0, share)
    weight = np.array([2.0, 0.0, 1.0] * 4)
    rows = np.repeat(np.arange(12), weight.astype(int))
    one = HMMTagger(tol=1e-9, n_iter=500).fit(sequences, labels, sample_weight=weight)
    two = HMMTagger(tol=1e-9, n_iter=500).fit([sequences[k] for k in rows], [labels[k] for k in rows])
    assert one.symbols_ == two.symbols_
    for name in TABLES:
        np.testing.assert_allclose(getattr(one, name), getattr(two, name), rtol=1e-7, atol=1e-10)
    right = one.score(sequences, labels, sample_weight=weight)
    assert right == pytest.approx(one.score([sequences[k] for k in rows], [labels[k] for k in rows]))


def test_any_number_of_threads_gives_the_same_bits(monkeypatch):
    monkeypatch.setattr(module, "ROWS", 16)
    sequences, labels = corpus(6, sequences=40)
    labels = hidden(labels, 1)
    one, two = (HMMTagger(n_jobs=jobs).fit(sequences, labels) for jobs in (1, 3))
    for name in TABLES:
        assert np.array_equal(getattr(one, name), getattr(two, name))
    assert one.predict(sequences) == two.predict(sequences)
    assert one.predict_marginals(sequences) == two.predict_marginals(sequences)


def test_symbols_and_labels_of_any_kind():
    sequences = [[("a", 1), 2, "b", None], [frozenset({3}), 2.5]]
    labels = [[("x",), 1, "y", 1], [1, "y"]]
    model = HMMTagger().fit(sequences, labels)
    assert set(model.symbols_) == {("a", 1), 2, "b", frozenset({3}), 2.5}
    assert model.predict(sequences) == labels
    again = pickle.loads(pickle.dumps(model))
    assert again.predict_marginals(sequences) == model.predict_marginals(sequences)


def test_forms_of_input():
    model = HMMTagger().fit(X, Y)
    flat = [word for words in X for word in words]
    lengths = [len(words) for words in X]
    other = HMMTagger().fit(flat, [label for labels in Y for label in labels], lengths=lengths)
    for name in TABLES:
        assert np.array_equal(getattr(model, name), getattr(other, name))
    assert model.predict(flat, lengths) == [label for labels in model.predict(X) for label in labels]
    arrays = HMMTagger().fit([np.array(w) for w in X], [np.array(w, dtype=object) for w in Y])
    assert arrays.predict(tuple(tuple(w) for w in X)) == model.predict(X)
    assert model.score(flat, [label for labels in Y for label in labels], lengths=lengths) == model.score(
        X, Y
    )
    assert model.score([["the", "dog"]], [["D", None]]) == 1.0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: HMMTagger().fit(X), "requires y to be passed, but the target y is None"),
        (lambda: HMMTagger().fit([], []), "X has no sequences"),
        (lambda: HMMTagger().fit([["a"], []], [["A"], []]), "Sequence 1 of 2 is empty"),
        (lambda: HMMTagger().fit(["the", "dog"], ["D", "N"]), "sequence 0 is 'the'"),
        (lambda: HMMTagger().fit([["a", "b"]], [["A"]]), "Sequence 0 has 2 symbols but 1 labels"),
        (lambda: HMMTagger().fit([["a"], ["b"]], [["A"]]), "labels for each of 2 sequences; got 1"),
        (lambda: HMMTagger().fit([["a"]], [None]), "y has no label"),
        (lambda: HMMTagger().fit([["a", ["b"]]], [["A", "A"]]), r"symbol 1 of sequence 0 is \['b'\]"),
        (lambda: HMMTagger().fit([["a"], ["b"]], [["A"], [["A"]]]), r"label 0 of sequence 1 is \['A'\]"),
        (lambda: HMMTagger(alpha=-1).fit(X, Y), "'alpha' must be"),
        (lambda: HMMTagger(unseen="no").fit(X, Y), "'unseen' must be one of"),
        (lambda: HMMTagger().fit(["a", "b"], ["A", "B"], lengths=[1, 2]), "lengths add up to 3, but X has 2"),
        (lambda: HMMTagger().fit(X, Y).predict([["a"], []]), "Sequence 1 of 2 is empty"),
        (
            lambda: HMMTagger(unseen="error").fit(X, Y).predict([["a"], ["a", "unicorn"]]),
            "'unicorn', symbol 1 of sequence 1, was not in the training data",
        ),
        (lambda: HMMTagger().fit(X, Y).score([["a"]], [[None]]), "no known label"),
    ],
)
def test_refuses(call, words):
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.parametrize("constraints", ["iobes", {"O": ["O", "S"], "B": ["E"]}])
def test_constraints_against_the_list_of_all_paths(constraints):
    rng = np.random.default_rng(0)
    X = [rng.integers(6, size=n).tolist() for n in rng.integers(1, 6, size=12)]
    Y = [["BIEOS"[(word + rng.integers(2)) % 5] for word in words] for words in X]
    model = HMMTagger(constraints=constraints).fit(X, Y)
    begin, go, end = masks_of(constraints, model.classes_)
    for words in X:
        every = every_path(model, words)
        paths = every.paths
        good = begin[paths[:, 0]] & end[paths[:, -1]] & go[paths[:, :-1], paths[:, 1:]].all(axis=1)
        weight = np.exp(every.log_joint) * good / (np.exp(every.log_joint) @ good)
        named = [model.classes_[k] for k in paths[weight.argmax()]]
        assert model.predict([words]) == [named]
        assert model.k_best([words], 1)[0][0] == (named, pytest.approx(np.log(weight.max())))
        posterior = [np.bincount(states, weight, 5) for states in paths.T]
        np.testing.assert_allclose(model.predict_proba([words])[0], posterior, atol=1e-12)
    assert model.predict([[99]])[0][0] in "BIEOS"
    with pytest.raises(ValueError, match="constraints='iob7': scheme must be one of"):
        HMMTagger(constraints="iob7").fit(X, Y)


def test_what_cannot_be_is_named():
    model = HMMTagger(alpha=0, unseen="error").fit([["a", "b"]], [["A", "B"]])
    assert model.predict([["a", "b"]]) == [["A", "B"]]
    with pytest.raises(ValueError, match=r"sequence 1 has probability 0.*row 0"):
        model.predict([["a", "b"], ["b", "a"]])
    assert model.k_best([["b", "a"]], 2) == [[]]


@pytest.mark.parametrize("name", TABLES)
def test_tables_of_another_shape_do_not_get_to_a_kernel(name):
    model = HMMTagger().fit(X, Y)
    setattr(model, name, getattr(model, name)[..., :2])
    with pytest.raises(ValueError, match=f"{name} has the shape"):
        model.predict(X)
