"""The structured perceptron: its rule, its bound, its cousins."""

import itertools

import numpy as np
import pytest

from tercet.sequence import CRF, StructuredPerceptron


def separable(n=40, seed=0):
    """Sentences that a chain of weights tells apart: the tag follows from the word and the tag before."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        T = int(rng.integers(2, 8))
        words, tags = [], []
        for t in range(T):
            kind = int(rng.integers(0, 3))
            words.append([f"w{kind}{int(rng.integers(0, 4))}"])
            tags.append("ABC"[kind] if t == 0 or tags[-1] != "A" or kind != 1 else "D")
        X.append(words)
        y.append(tags)
    return X, y


def test_all_sequences_are_right_at_the_end():
    X, y = separable()
    model = StructuredPerceptron(averaged=False, max_iter=500, random_state=0).fit(X, y)
    assert model.history_["mistakes"][-1] == 0
    assert model.predict(X) == y
    assert model.score(X, y, of="sequences") == 1.0
    assert model.n_mistakes_ == sum(model.history_["mistakes"])


def test_first_step_by_hand():
    # All weights zero: the best path is the first label throughout; the labels' features go up, the path's down.
    model = StructuredPerceptron(
        averaged=False, shuffle=False, max_iter=1, tol=1.0, all_possible_states=True
    ).fit([["a", "b", "a"]], [["X", "Y", "Y"]])
    assert model.state_features_ == {("a", "X"): -1.0, ("a", "Y"): 1.0, ("b", "X"): -1.0, ("b", "Y"): 1.0}
    assert model.transition_features_ == {("X", "X"): -2.0, ("X", "Y"): 1.0, ("Y", "X"): 0.0, ("Y", "Y"): 1.0}
    assert model.n_mistakes_ == 1


def test_bound_on_mistakes():
    # Collins: at most (R / γ)² mistakes, with γ and R for any weights that separate the data: here the last ones.
    X, y = separable(15)
    model = StructuredPerceptron(averaged=False, max_iter=2000, random_state=1, all_possible_states=True).fit(
        X, y
    )
    w = np.concatenate([model.state_weights_, model.transition_weights_])
    margin = np.inf
    for tokens, tags in zip(X, y):
        scores = {tuple(path): value for path, value in model.k_best([tokens], 2)[0]}
        own = scores.pop(tuple(tags))
        margin = min(margin, own - max(scores.values()))
    gamma = margin / np.linalg.norm(w)
    # Two paths of a sentence differ in at most all their states and transitions.
    R2 = max(2 * (2 * len(tokens) - 1) ** 2 for tokens in X)
    assert gamma > 0
    assert model.n_mistakes_ <= R2 / gamma**2


def test_the_mean_of_all_weights():
    X, y = separable(30, seed=3)
    X = [[[f"w{kind}{k}"] for kind in range(3) for k in range(4)], *X]  # shows all words and tags
    y = [["A", "B", "C", "D"] * 3, *y]
    options = {"shuffle": False, "max_iter": 3, "tol": 1.0, "all_possible_states": True}  # a single pass
    mean = StructuredPerceptron(averaged=True, **options).fit(X, y)
    assert mean.n_iter_ == 1
    after = [StructuredPerceptron(averaged=False, **options).fit(X[:k], y[:k]) for k in range(1, len(X) + 1)]
    for name in ("state_weights_", "transition_weights_"):
        expected = sum(getattr(model, name) for model in after) / (len(X) + 1)  # the first weights are zero
        np.testing.assert_allclose(getattr(mean, name), expected, atol=1e-12)
    assert np.abs(mean.state_weights_ - after[-1].state_weights_).max() > 0.1


def test_seeds_and_weights():
    X, y = separable(20, seed=2)
    one, two = (StructuredPerceptron(random_state=5, max_iter=5).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(one.state_weights_, two.state_weights_)
    other = StructuredPerceptron(random_state=6, max_iter=5).fit(X, y)
    assert not np.array_equal(one.state_weights_, other.state_weights_)
    without = StructuredPerceptron(shuffle=False, max_iter=4).fit(X, y, sample_weight=[1.0] * 19 + [0.0])
    plain = StructuredPerceptron(shuffle=False, max_iter=4).fit(X[:19], y[:19])
    assert without.transition_features_ == plain.transition_features_


def test_it_takes_the_steps_of_the_averaged_perceptron_of_the_random_field():
    X, y = separable(25, seed=4)
    model = StructuredPerceptron(random_state=0, max_iter=7, all_possible_transitions=False, tol=0.0).fit(
        X, y
    )
    peer = CRF("ap", random_state=0, max_iterations=model.n_iter_, epsilon=0).fit(X, y)
    np.testing.assert_allclose(model.state_weights_, peer.state_weights_, atol=1e-12)


def test_constraints():
    X, y = [["a", "b", "c"]] * 3, [["B", "I", "O"]] * 3
    model = StructuredPerceptron(constraints="iob2", random_state=0).fit(X, y)
    for path in model.predict([["c", "b", "b"], ["b", "b", "b"]]):
        assert path[0] != "I"
        assert all(a != "O" or b != "I" for a, b in itertools.pairwise(path))


def test_there_are_no_probabilities():
    model = StructuredPerceptron(random_state=0).fit([["a", "b"]], [["X", "Y"]])
    assert not hasattr(model, "predict_proba")
    assert not hasattr(model, "predict_marginals")


def test_unknown_labels_are_refused():
    with pytest.raises(ValueError, match="needs all labels; that of token 1 is unknown"):
        StructuredPerceptron().fit([["a", "b", "c"]], [["X", None, "Y"]])
