"""What lies at the borders of token labelling: empty sentences, a single label, huge values, weights by name."""

import pickle
import warnings

import numpy as np
import pytest

from tercet.sequence import CRF, MEMM, StructuredPerceptron
from tercet.sequence.crf import feature_weights

X = [["the", "cat", "sat"], ["a", "dog", "ran"], ["the", "dog", "sat"]]
Y = [["D", "N", "V"], ["D", "N", "V"], ["D", "N", "V"]]
WITH_EMPTY, LABELS = [[], X[0], [], [], *X[1:], []], [[], Y[0], [], None, *Y[1:], []]
MODELS = {
    "crf": CRF(),
    "l1": CRF(c1=0.1),
    "online": CRF("ap", random_state=0),
    "sgd": CRF("l2sgd", random_state=0),
    "iis": CRF("iis", epsilon=0.1),
    "memm": MEMM(),
    "perceptron": StructuredPerceptron(random_state=0),
}


@pytest.mark.parametrize("name", MODELS)
def test_empty_sentences_say_nothing(name):
    model, plain = (pickle.loads(pickle.dumps(MODELS[name])) for _ in "ab")
    plain.fit(X, Y)
    model.fit(WITH_EMPTY, LABELS)
    np.testing.assert_array_equal(model._all_weights(), plain._all_weights())
    assert model.predict(WITH_EMPTY) == [[], Y[0], [], [], *Y[1:], []]
    assert model.score(WITH_EMPTY, LABELS, of="sequences") == model.score(WITH_EMPTY, LABELS) == 1.0
    assert model.k_best([[], X[0]], k=2)[0] == [([], 0.0)]
    for nothing in ([], [[]], [[], []]):
        assert model.predict(nothing) == nothing
    if model.probabilistic:
        found = model.predict_proba([[], X[0]])
        assert [part.shape for part in found] == [(0, 3), (3, 3)]
        assert model.predict_marginals([[]]) == [[]]
        expected = [0.0, plain.log_likelihood(X[:1], Y[:1])[0], 0.0]
        np.testing.assert_array_equal(model.log_likelihood([[], X[0], []], [[], Y[0], []]), expected)


def test_empty_sentences_with_weights_and_in_parts():
    weight = [9.0, 1.0, 9.0, 9.0, 2.0, 0.0, 9.0]
    model = CRF().fit(WITH_EMPTY, LABELS, sample_weight=weight)
    np.testing.assert_array_equal(
        model._all_weights(), CRF().fit(X[:2], Y[:2], sample_weight=[1.0, 2.0])._all_weights()
    )
    online = CRF("ap").partial_fit(WITH_EMPTY, LABELS)
    np.testing.assert_array_equal(online._all_weights(), CRF("ap").partial_fit(X, Y)._all_weights())
    with pytest.raises(ValueError, match="X has no tokens: 0 in 2 sequences"):
        online.partial_fit([[], []], [[], []])


def test_empty_tables():
    rows = [np.eye(2), np.empty((0, 2)), np.ones((1, 2))]
    model = CRF().fit(rows, [["A", "B"], [], ["A"]])
    assert model.predict(rows) == [["A", "B"], [], ["A"]]


@pytest.mark.parametrize("name", MODELS)
def test_a_single_label(name):
    model = pickle.loads(pickle.dumps(MODELS[name])).fit(X, [["A"] * 3] * 3)
    assert model.classes_.tolist() == ["A"]
    assert model.predict(X) == [["A"] * 3] * 3
    if model.probabilistic:
        np.testing.assert_allclose(np.concatenate(model.predict_proba(X)), 1.0)
        np.testing.assert_allclose(model.log_likelihood(X, [["A"] * 3] * 3), 0.0, atol=1e-12)


def test_iis_of_large_values_is_refused():
    with pytest.raises(ValueError, match=r"every total of all features, here up to 1e\+50.*Use 'iis-t'"):
        CRF("iis").fit([[{"size": 1e50}, {"small": 1.0}]], [["A", "B"]])


@pytest.mark.parametrize("name", sorted(set(MODELS) - {"iis"}))
def test_large_values_are_learned_from(name):
    large = [[{"size": 1e50}, {"size": 1.0, "small": 1.0}]] * 2
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.filterwarnings("ignore", message=".*did not converge")
        model = pickle.loads(pickle.dumps(MODELS[name])).fit(large, [["A", "B"]] * 2)
        assert np.isfinite(model._all_weights()).all()
        assert set(model.predict_single(large[0])) <= {"A", "B"}


def test_huge_values_are_named_when_predicting_too():
    model = CRF().fit([[{"size": 1.0}, {"small": 1.0}]], [["A", "B"]])
    with pytest.raises(
        ValueError, match=r"CRF: attribute 'size' has the value 1e\+300; allowed are numbers up to"
    ):
        model.predict([[{"size": 1e300}]])


def test_iis_of_fractional_values_says_what_runs():
    halves = [[{"a": 0.5}, {"b": 1.0}]]
    with pytest.warns(UserWarning, match=r"algorithm='iis' counts features.*'iis-t'\) runs in its place"):
        model = CRF("iis", epsilon=0.1).fit(halves, [["A", "B"]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        other = CRF("iis-t", epsilon=0.1).fit(halves, [["A", "B"]])
        CRF("iis", epsilon=0.1).fit([[{"a": 2.0}, {"b": 1.0}]], [["A", "B"]])
    np.testing.assert_array_equal(model._all_weights(), other._all_weights())


def test_weights_by_name_are_made_once_for_each_fit():
    model = CRF().fit(X, Y)
    for name in ("state_features_", "transition_features_"):
        assert getattr(model, name) is getattr(model, name)
    before = model.state_features_
    assert "D" in {label for _, label in before}
    model.fit(X, [["d", "n", "v"]] * 3)  # the same numbers under other names
    assert {label for _, label in model.state_features_} == {"d", "n", "v"}
    model.state_weights_ = model.state_weights_ * 2
    assert model.state_features_["cat", "n"] == 2 * before["cat", "N"]
    model.state_weights_[:] = 0.0  # in place
    assert set(model.state_features_.values()) == {0.0}
    online = CRF("ap").partial_fit(X, Y)
    few = len(online.state_features_)
    online.partial_fit([["big", "cat"]], [["D", "N"]])
    assert len(online.state_features_) > few
    assert model.prune().state_features_ == {}


def test_weights_by_name_are_no_part_of_a_model_file():
    model = CRF().fit(X, Y)
    before = pickle.dumps(model)
    wanted = dict(model.state_features_)
    assert model in feature_weights._made
    assert pickle.dumps(model) == before
    assert pickle.loads(before).state_features_ == wanted


def test_tuples_of_equal_length_are_labels():
    tags = [[("D", 1), ("N", 2), ("V", 3)]] * 3
    model = CRF().fit(X, tags)
    assert model.classes_.shape == (3,)
    assert model.predict(X) == tags
