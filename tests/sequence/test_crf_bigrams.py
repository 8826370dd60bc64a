"""Attributes that act on transitions: weights of (attribute, label, label)."""

import io
import itertools
import pickle

import numpy as np
import pytest
import skops.io
from scipy import sparse
from sklearn.base import clone

from tercet.core.steps import ConvergenceWarning
from tercet.io import trusted_types
from tercet.sequence import (
    CRF,
    read_crfsuite,
    write_crfsuite,
)
from tests.sequence.crf_data import steps_corpus

EXACT = {"epsilon": 1e-9, "delta": 1e-13}
BOTH = {"transition_attributes": "step:*"}
X, Y = steps_corpus()


@pytest.fixture(scope="module")
def model():
    return CRF(c2=0.1, **BOTH, **EXACT).fit(X, Y)


def score(model, sentence, path):
    """The score of a path by the model's weights, name by name."""
    states, steps, both = model.state_features_, model.transition_features_, model.bigram_features_
    total = 0.0
    for t, (token, label) in enumerate(zip(sentence, path)):
        total += states.get((f"word:{token['word']}", label), 0.0)
        if t:
            before, step = path[t - 1], token["step"]
            total += steps.get((before, label), 0.0)
            total += both.get((f"step:sign:{step['sign']}", before, label), 0.0)
            total += step["size"] * both.get(("step:size", before, label), 0.0)
    return total


def test_answers_by_enumeration(model):
    sentence = X[np.argmax([len(sentence) == 4 for sentence in X])]
    log_p = {path: score(model, sentence, path) for path in itertools.product("ABC", repeat=4)}
    log_z = np.logaddexp.reduce(list(log_p.values()))
    ranked = sorted(log_p, key=log_p.__getitem__, reverse=True)
    assert model.predict_single(sentence) == list(ranked[0])
    for (labels, value), path in zip(model.k_best([sentence], k=5)[0], ranked, strict=False):
        assert labels == list(path)
        assert value == pytest.approx(log_p[path] - log_z)
    assert len(model.k_best([sentence], k=1000)[0]) == 81
    for t, row in enumerate(model.predict_marginals_single(sentence)):
        for label, p in row.items():
            assert p == pytest.approx(sum(np.exp(v - log_z) for path, v in log_p.items() if path[t] == label))
    known = [ranked[2][0], None, ranked[2][2], None]
    agreeing = [v for path, v in log_p.items() if path[0] == known[0] and path[2] == known[2]]
    assert model.log_likelihood([sentence], [known])[0] == pytest.approx(
        np.logaddexp.reduce(agreeing) - log_z
    )


def test_constraints(model):
    matrix = np.ones((3, 3), dtype=bool)
    matrix[2, 0] = False
    assert any(pair == ("C", "A") for tags in model.predict(X) for pair in itertools.pairwise(tags))
    tied = clone(model).set_params(constraints=matrix).fit(X, Y)
    assert tied.bigram_features_ == model.bigram_features_
    for sentence, found, proba in zip(X[:8], tied.predict(X), tied.predict_proba(X)):
        log_p = {
            path: score(model, sentence, path)
            for path in itertools.product("ABC", repeat=len(sentence))
            if ("C", "A") not in itertools.pairwise(path)
        }
        assert tuple(found) == max(log_p, key=log_p.__getitem__)
        assert tied.k_best([sentence], k=1)[0][0][0] == found
        log_z = np.logaddexp.reduce(list(log_p.values()))
        first = [sum(np.exp(v - log_z) for path, v in log_p.items() if path[0] == label) for label in "ABC"]
        np.testing.assert_allclose(proba[0], first)
    nothing = clone(model).set_params(constraints=np.zeros((3, 3), dtype=bool)).fit(X, Y)
    for ask in (nothing.predict, nothing.predict_proba):
        with pytest.raises(ValueError, match="the constraints leave no path for sequence"):
            ask(X)


def test_unknown_labels_are_summed_over():
    rng = np.random.default_rng(0)
    partly = [[label if rng.random() < 0.6 else None for label in tags] for tags in Y]
    partly[0] = [None] * len(Y[0])
    everything = {"all_possible_transitions": True, "all_possible_states": True}
    model = CRF(c2=0.3, **BOTH, **everything, **EXACT).fit(X, partly)
    assert model.bigram_weights_.size == 9 * 4  # three signs and the size
    at = model.objective(X, partly)
    for weights in (model.state_weights_, model.transition_weights_, model.bigram_weights_):
        for k in range(0, weights.size, 4):
            weights[k] += 1e-4
            up = model.objective(X, partly)
            weights[k] -= 2e-4
            down = model.objective(X, partly)
            weights[k] += 1e-4
            assert (up - down) / 2e-4 == pytest.approx(0.0, abs=1e-5)
            assert min(up, down) > at


def test_weights_are_repetitions():
    weight = np.random.default_rng(0).integers(0, 4, size=len(X))
    repeated = CRF(c2=0.2, min_freq=2, **BOTH, **EXACT).fit(
        [s for s, w in zip(X, weight) for _ in range(w)], [t for t, w in zip(Y, weight) for _ in range(w)]
    )
    weighted = CRF(c2=0.2, min_freq=2, **BOTH, **EXACT).fit(X, Y, sample_weight=weight)
    assert weighted.bigram_features_ == pytest.approx(repeated.bigram_features_, abs=1e-6)
    assert weighted.transition_features_ == pytest.approx(repeated.transition_features_, abs=1e-6)
    assert weighted.objective(X, Y, sample_weight=weight) == pytest.approx(weighted.history_["fun"][-1])


@pytest.mark.parametrize("algorithm", ["lbfgs", "l2sgd", "ap"])
def test_same_bits_for_any_number_of_threads(algorithm):
    options = {"random_state": 3, "max_iterations": 8, "epsilon": 0.0, "delta": 0.0, **BOTH}
    with pytest.warns(ConvergenceWarning):
        one, two = (CRF(algorithm, n_jobs=n, **options).fit(X, Y) for n in (1, 2))
    np.testing.assert_array_equal(one._all_weights(), two._all_weights())
    np.testing.assert_array_equal(np.concatenate(one.predict_proba(X)), np.concatenate(two.predict_proba(X)))


def test_what_gets_a_weight():
    """Acting attributes have no weights of states, and those of first tokens none at all."""
    data = [[["w", "+first"], ["w", "+a"]], [["w", "+a"], ["w", "+b"], ["w", "+a"]]]
    labels = [["A", "B"], ["B", "A", "B"]]
    model = CRF(transition_attributes="+*").fit(data, labels)
    assert {name for name, _ in model.state_features_} == {"w"}
    assert model.bigram_features_.keys() == {("+a", "A", "B"), ("+b", "B", "A")}
    frequent = CRF(transition_attributes="+*", min_freq=2).fit(data, labels)
    assert frequent.bigram_features_.keys() == {("+a", "A", "B")}
    every = CRF(transition_attributes=["+*"], all_possible_transitions=True).fit(data, labels)
    assert len(every.bigram_features_) == 12
    some = CRF(transition_attributes=["+b", "+fir?t"]).fit(data, labels)
    assert some.bigram_features_.keys() == {("+b", "B", "A")}
    assert ("+a", "B") in some.state_features_
    assert CRF(transition_attributes="*").fit(data, labels).state_features_ == {}
    assert some.set_params(transition_attributes=None).fit(data, labels).bigram_weights_.size == 0


def test_sequences_of_single_tokens_have_no_steps():
    model = CRF(**BOTH).fit([s[:1] for s in X], [t[:1] for t in Y])
    assert model.bigram_weights_.size == model.transition_weights_.size == 0
    both = CRF(**BOTH).fit([*X, *([s[:1] for s in X] * 20)], [*Y, *([t[:1] for t in Y] * 20)])
    assert both.predict([X[0][:1]])[0][0] in "ABC"
    assert both.k_best([X[0][:1]], k=9)[0][0][0] == both.predict([X[0][:1]])[0]


def test_tables_of_numbers_are_alike():
    def row(token):
        step = token["step"]
        words = [float(token["word"] == f"w{k}") for k in range(3)]
        return [*words, *(float(step["sign"] == sign) for sign in ("stay", "on", "any")), step["size"]]

    tables = [np.array([row(token) for token in sentence]) for sentence in X]
    wanted = CRF(**BOTH, **EXACT).fit(X, Y)
    for given in (tables, [sparse.csr_array(table) for table in tables]):
        model = CRF(transition_attributes=["x3", "x4", "x5", "x6"], **EXACT).fit(given, Y)
        assert sorted(model.bigram_weights_) == pytest.approx(sorted(wanted.bigram_weights_), abs=1e-6)
        np.testing.assert_allclose(
            np.concatenate(model.predict_proba(given)), np.concatenate(wanted.predict_proba(X)), atol=1e-6
        )


@pytest.mark.parametrize("algorithm", ["l2sgd", "ap", "pa", "arow"])
def test_parts_of_the_data_one_after_another(algorithm):
    model = CRF(algorithm, random_state=0, **BOTH)
    for _ in range(5):
        for part in (slice(0, 4), slice(4, 20), slice(20, 30)):
            model.partial_fit(X[part], Y[part], classes=["A", "B", "C"])
    whole = CRF(**BOTH).fit(X, Y)
    assert model.bigram_features_.keys() == whole.bigram_features_.keys()
    assert model.score(X, Y) > 0.75
    kept = model.prune(0.2)._all_weights().size
    assert model.online_["weights"].size == kept < whole._all_weights().size
    assert model.partial_fit(X, Y).bigram_features_.keys() == whole.bigram_features_.keys()


def test_parts_that_bring_the_first_bigrams():
    words = [[{"word": token["word"]} for token in sentence] for sentence in X]
    model = CRF("ap", **BOTH).partial_fit(words[:10], Y[:10])
    before = model.transition_features_
    assert model.bigram_weights_.size == 0
    model.partial_fit(X[10:], Y[10:]).partial_fit(words, Y)
    assert model.bigram_weights_.size
    assert before.keys() <= model.transition_features_.keys()


def test_inspection(model):
    table = model.bigram_features_
    weight, before, label, name = model.top_bigrams(1)[0]
    assert table[name, before, label] == weight == max(table.values())
    assert model.top_bigrams(-1)[0][0] == min(table.values())
    assert len(model.top_bigrams(7)) == 7
    assert name.startswith("step:")
    plain = CRF.of_weights(
        model.classes_.tolist(), model.attributes_, model.transition_features_, model.state_features_
    )
    assert plain.top_bigrams() == []
    assert model.size_ - plain.size_ == model.bigram_triples_.nbytes + model.bigram_weights_.nbytes
    again = CRF.of_weights(
        model.classes_.tolist(), model.attributes_, model.transition_features_, model.state_features_, table
    )
    assert again.predict(X) == model.predict(X) != plain.predict(X)
    assert again.bigram_features_ == table


def test_persistence(model):
    safe = skops.io.loads(skops.io.dumps(model), trusted=trusted_types())
    for copy in (pickle.loads(pickle.dumps(model)), safe):
        np.testing.assert_array_equal(
            np.concatenate(copy.predict_proba(X)), np.concatenate(model.predict_proba(X))
        )
        assert copy.bigram_features_ == model.bigram_features_
    forged = pickle.loads(pickle.dumps(model))
    forged.bigram_triples_ = forged.bigram_triples_ + 1000
    with pytest.raises(ValueError, match="bigram_triples_ must be indices below"):
        forged.predict(X)


def test_tables_are_made_anew(model):
    changed = pickle.loads(pickle.dumps(model))
    before = changed.predict_proba(X)
    changed.bigram_weights_ = -changed.bigram_weights_
    assert np.abs(np.concatenate(before) - np.concatenate(changed.predict_proba(X))).max() > 0.1


def test_crfsuite_has_no_such_weights(model):
    with pytest.raises(ValueError, match=r"no weights of \(attribute, label, label\).*of \d+ is for 'step:"):
        write_crfsuite(model, io.StringIO())
    file, none = io.StringIO(), CRF(c1=1e4, **BOTH).fit(X, Y).prune()
    write_crfsuite(none, file)
    assert read_crfsuite(file.getvalue().split("\n")).bigram_features_ == {}


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (3, "parameter 'transition_attributes' must be a string"),
        (["step:*", 3], r"must be a pattern or a list of patterns, which are strings; got \['step:\*', 3\]"),
        ("stop:*", r"transition_attributes='stop:\*' fit no attribute of X; these are \['word:w"),
        ([], r"transition_attributes=\[\] fit no attribute of X"),
    ],
)
def test_bad_patterns(asked, message):
    with pytest.raises(ValueError, match=message):
        CRF(transition_attributes=asked).fit(X, Y)


def test_bad_values():
    with pytest.raises(ValueError, match="attribute 'step:size' is nan"):
        CRF(**BOTH).fit([[{"step": {"size": float("nan")}}, {"word": "a"}]], [["A", "B"]])
    with pytest.raises(ValueError, match="min_freq=99 leaves no feature"):
        CRF(**BOTH, min_freq=99).fit(X, Y)
    with pytest.raises(ValueError, match="a weight is for 'down', which is no label or attribute"):
        CRF.of_weights(["A", "B"], ["up"], {}, {}, {("down", "A", "B"): 1.0})
    with pytest.raises(ValueError, match="Negative values in data"):
        CRF("iis", **BOTH).fit([[{"a": 1}, {"step": {"b": -1.0}}]], [["A", "B"]])
    with pytest.raises(ValueError, match="needs all labels; that of token 1 is unknown"):
        CRF("ap", **BOTH).fit([X[0], X[0]], [[Y[0][0], *([None] * (len(Y[0]) - 1))], Y[0]])
