"""Random fields that learn one sequence at a time."""

import numpy as np
import pytest

from tercet.core.steps import ConvergenceWarning
from tercet.sequence import CRF
from tercet.sequence.crf._engine.features import choose_features
from tercet.sequence.crf._engine.objective import ChainObjective
from tercet.sequence.crf._engine.online import Corpus, StochasticGradient
from tercet.sequence.text.attributes import sequences_in
from tests.sequence.crf_data import corpus, crfsuite, differences

X, Y = corpus()


@pytest.mark.parametrize(
    ("algorithm", "ours", "theirs"),
    [
        ("ap", {}, {}),
        ("pa", {}, {}),
        ("pa", {"pa_type": 0, "averaging": False}, {"type": 0, "averaging": 0}),
        ("pa", {"pa_type": 1, "c": 0.1}, {"type": 1, "c": 0.1}),
        ("pa", {"pa_type": 2, "error_sensitive": False}, {"type": 2, "error_sensitive": 0}),
        ("arow", {"variance": 0.5, "gamma": 2.0}, {"variance": 0.5, "gamma": 2.0}),
    ],
)
@pytest.mark.parametrize("passes", [1, 2])
def test_one_sequence_as_crfsuite_learns_it(tmp_path, algorithm, ours, theirs, passes):
    # of one sequence there is but one order, whatever the seeds
    longest = int(np.argmax(list(map(len, X))))
    sentence, tags = [X[longest]], [list("ABCABCABC")[: len(X[longest])]]
    _, info = crfsuite(tmp_path / "model", sentence, tags, algorithm, max_iterations=passes, **theirs)
    with pytest.warns(ConvergenceWarning):
        model = CRF(algorithm, max_iterations=passes, epsilon=0.0, **ours).fit(sentence, tags)
    assert differences(model, info) < 2e-6


def test_stochastic_steps_follow_the_gradient():
    """A tiny step from each sequence, all from the same weights, adds up to the gradient."""
    model = CRF()
    rows, y = model._check(sequences_in(X), Y)
    codes, rng = model._encode(y), np.random.default_rng(0)
    features, weight = choose_features(rows, codes, None, 3), rng.uniform(0.5, 2.0, size=len(X))
    data, w = Corpus(rows, codes, weight, features), rng.normal(size=features.size)
    f, g = ChainObjective(rows, codes, weight, features).value_and_gradient(w)
    loss, moved = 0.0, np.zeros(w.size)
    for s in range(len(X)):
        step = StochasticGradient(w, 0.0, len(X), 1e-6)
        loss += step.learn(data, np.array([s]))
        moved += (w - step.weights) / 1e-6
    assert loss == pytest.approx(f)
    np.testing.assert_allclose(moved, g, atol=1e-7)


@pytest.mark.parametrize("scale", [1.0, 3000.0])
def test_steps_where_scaled_numbers_fail(scale):
    model = CRF()
    rows, y = model._check(sequences_in(X), Y)
    codes, rng = model._encode(y), np.random.default_rng(0)
    features = choose_features(rows, codes, None, 3)
    w = scale * rng.normal(size=features.size)
    f = ChainObjective(rows, codes, None, features).value(w)
    step = StochasticGradient(w, 0.0, len(X), 0.0)
    loss = step.learn(Corpus(rows, codes, None, features), np.arange(len(X)))
    assert loss == pytest.approx(f, rel=1e-12)


@pytest.mark.parametrize("c2", [0.1, 1.0])
def test_stochastic_gradient_comes_close_to_the_optimum(c2):
    best = CRF(c2=c2).fit(X, Y).objective(X, Y)
    found = CRF("l2sgd", c2=c2, random_state=0, period=100, delta=1e-3).fit(X, Y)
    assert best <= found.objective(X, Y) < 1.01 * best


@pytest.mark.parametrize("algorithm", ["l2sgd", "ap", "pa", "arow"])
def test_parts_of_the_data_one_after_another(algorithm):
    parts = [slice(0, 15), slice(15, 30), slice(30, 40)]
    model = CRF(algorithm, random_state=0)
    for _ in range(5):
        for part in parts:
            model.partial_fit(X[part], Y[part], classes=["A", "B", "C"])
    assert model.classes_.tolist() == ["A", "B", "C"]
    assert model.state_features_.keys() == CRF().fit(X, Y).state_features_.keys()
    assert model.score(X, Y) > 0.75


def test_parts_are_a_pass_over_the_whole():
    """With all pairs known beforehand, two halves teach the perceptron what the whole does."""
    first = ([[token for sentence in X for token in sentence]], [[label for tags in Y for label in tags]])
    whole, halves = (
        CRF("ap", all_possible_states=True, all_possible_transitions=True).partial_fit(*first)
        for _ in range(2)
    )
    whole.partial_fit(X, Y)
    halves.partial_fit(X[:20], Y[:20]).partial_fit(X[20:], Y[20:])
    assert whole.online_["seen"] == halves.online_["seen"] == 41
    np.testing.assert_array_equal(whole.state_weights_, halves.state_weights_)
    np.testing.assert_array_equal(whole.transition_weights_, halves.transition_weights_)


def test_a_fit_in_between_is_a_new_beginning():
    """What `partial_fit` had noted of other weights must not meet those of `fit`."""
    more = {"random_state": 0, "max_iterations": 100}
    once = CRF("ap", **more).partial_fit(X[20:], Y[20:])
    again = CRF("ap", **more).partial_fit(X, Y)
    with pytest.warns(ConvergenceWarning):
        again.set_params(max_iterations=1).fit(X[:5], Y[:5])
    assert not hasattr(again, "online_")
    assert again.partial_fit(X[20:], Y[20:]).state_features_ == once.state_features_


def test_parts_after_pruning():
    model = CRF("arow").partial_fit(X[:20], Y[:20])
    few = model.prune(0.3).state_weights_.size + model.transition_weights_.size
    assert all(model.online_[name].shape == (few,) for name in ("weights", "sums", "variance"))
    model.partial_fit(X[20:], Y[20:])
    assert model.online_["weights"].size == model.state_weights_.size + model.transition_weights_.size
    assert model.score(X, Y) > 0.5


def test_another_algorithm_goes_on():
    """Only AROW has a variance for each weight: after the perceptron, they begin at that of the parameter."""
    model = CRF("ap", variance=0.5).partial_fit(X[:20], Y[:20])
    assert "variance" not in model.online_
    model.set_params(algorithm="arow").partial_fit(X[20:], Y[20:])
    assert model.online_["variance"].size == model.online_["weights"].size
    assert 0 < model.online_["variance"].min() < model.online_["variance"].max() == 0.5


def test_forged_parts_are_refused():
    model = CRF("ap").partial_fit(X[:20], Y[:20])
    model.online_["sums"] = np.zeros(2)
    with pytest.raises(ValueError, match=r"online_\['sums'\] has the shape \(2,\); there are"):
        model.partial_fit(X[20:], Y[20:])


def test_sequences_without_weight_are_not_there():
    weight = np.repeat([1.0, 0.0], [10, 30])
    weighted = CRF("ap").partial_fit(X, Y, sample_weight=weight, classes=["A", "B", "C"])
    fewer = CRF("ap").partial_fit(X[:10], Y[:10], classes=["A", "B", "C"])
    assert weighted.state_features_ == fewer.state_features_
    assert weighted.online_["seen"] == fewer.online_["seen"] == 10


def test_classes_of_several_kinds():
    model = CRF("ap").partial_fit([["a", "b"]], [[1, "x"]], classes=[1, "x"])
    assert model.classes_.tolist() == [1, "x"]


def test_new_labels_and_other_algorithms_are_refused():
    model = CRF("ap").partial_fit(X[:5], Y[:5], classes=["A", "B", "C"])
    with pytest.raises(ValueError, match="y has the label 'D'"):
        model.partial_fit(X[:1], [["D"] * len(X[0])])
    with pytest.raises(ValueError, match="are not those of the first call"):
        model.partial_fit(X[:1], Y[:1], classes=["A", "B"])
    with pytest.raises(AttributeError, match="partial_fit"):
        _ = CRF().partial_fit
    with pytest.raises(ValueError, match="needs all labels; that of token 1 is unknown"):
        CRF("ap").fit([["a", "b", "a"]], [["A", None, "B"]])


def test_a_perceptron_that_makes_no_mistake_is_done():
    model = CRF("ap", random_state=0).fit([["a", "b"], ["b", "a"]], [["A", "B"], ["B", "A"]])
    assert model.history_["wrong"][-1] == 0.0
    assert model.n_iter_ < 20
