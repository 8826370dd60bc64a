"""The maximum-entropy Markov model: against enumeration, logistic regression, and itself."""

import itertools

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import check_grad
from sklearn.linear_model import LogisticRegression

from tercet.sequence import CRF, MEMM
from tercet.sequence.base import Sequences
from tercet.sequence.crf._engine.features import choose_features
from tercet.sequence.crf.local_chain import LocalObjective


def sentences(n=30, labels=3, attributes=6, seed=0):
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        T = int(rng.integers(1, 7))
        X.append([[f"a{a}" for a in rng.choice(attributes, 2, replace=False)] for _ in range(T)])
        y.append([f"L{k}" for k in rng.integers(0, labels, T)])
    return X, y


@pytest.fixture(scope="module")
def fitted():
    X, y = sentences()
    return MEMM(c2=0.05, all_possible_transitions=True, epsilon=1e-9, delta=0).fit(X, y), X, y


def tables(model, tokens):
    """P(y_1 | x) and P(y_t = j | y_t-1 = i, x), straight from the weights by name."""
    labels = model.classes_.tolist()
    w, u = model.state_features_, model.transition_features_
    first, steps = None, []
    for t, token in enumerate(tokens):
        score = np.array([sum(w.get((a, k), 0.0) for a in token) for k in labels])
        if t == 0:
            first = np.exp(score) / np.exp(score).sum()
        else:
            rows = score + np.array([[u.get((i, j), 0.0) for j in labels] for i in labels])
            steps.append(np.exp(rows) / np.exp(rows).sum(axis=1, keepdims=True))
    return first, steps


def enumerated(model, tokens):
    first, steps = tables(model, tokens)
    paths = {}
    for path in itertools.product(range(len(first)), repeat=len(tokens)):
        p = first[path[0]]
        for (i, j), step in zip(itertools.pairwise(path), steps):
            p *= step[i, j]
        paths[path] = p
    return paths


def test_paths_and_probabilities_against_enumeration(fitted):
    model, X, _ = fitted
    labels = model.classes_
    for tokens in X[:8]:
        paths = enumerated(model, tokens)
        assert sum(paths.values()) == pytest.approx(1)
        best = max(paths, key=lambda path: paths[path])
        assert model.predict([tokens]) == [labels[list(best)].tolist()]
        node = np.zeros((len(tokens), len(labels)))
        for path, p in paths.items():
            node[np.arange(len(tokens)), list(path)] += p
        np.testing.assert_allclose(model.predict_proba([tokens])[0], node, atol=1e-12)
        ranked = sorted(paths.items(), key=lambda item: -item[1])[:4]
        found = model.k_best([tokens], 4)[0]
        np.testing.assert_allclose([np.exp(v) for _, v in found], [p for _, p in ranked], rtol=1e-9)
        told = labels[list(ranked[-1][0])].tolist()
        assert model.log_likelihood([tokens], [told])[0] == pytest.approx(np.log(ranked[-1][1]))


def test_constraints_keep_only_some_paths(fitted):
    model, X, _ = fitted
    allowed = np.array([[True, True, False], [False, True, True], [True, False, True]])
    walled = MEMM(**{**model.get_params(), "constraints": allowed})
    walled.__dict__.update({k: v for k, v in vars(model).items() if k.endswith("_")})
    tokens = max(X, key=len)
    paths = {
        path: p
        for path, p in enumerated(model, tokens).items()
        if all(allowed[i, j] for i, j in itertools.pairwise(path))
    }
    best = max(paths, key=lambda path: paths[path])
    assert walled.predict([tokens]) == [model.classes_[list(best)].tolist()]
    node = np.zeros((len(tokens), 3))
    for path, p in paths.items():
        node[np.arange(len(tokens)), list(path)] += p / sum(paths.values())
    np.testing.assert_allclose(walled.predict_proba([tokens])[0], node, atol=1e-12)
    assert len(walled.k_best([tokens], 10_000)[0]) == len(paths)


def test_greedy_takes_the_best_step_each_time(fitted):
    model, X, _ = fitted
    greedy = MEMM(**{**model.get_params(), "decoding": "greedy"})
    greedy.__dict__.update({k: v for k, v in vars(model).items() if k.endswith("_")})
    for tokens in X:
        first, steps = tables(model, tokens)
        path = [int(np.argmax(first))]
        for step in steps:
            path.append(int(np.argmax(step[path[-1]])))
        assert greedy.predict([tokens]) == [model.classes_[path].tolist()]


def test_it_is_logistic_regression_on_the_label_before(fitted):
    model, X, y = fitted
    c2, names, labels = model.c2, model.attributes_, model.classes_.tolist()
    rows, targets = [], []
    for tokens, tags in zip(X, y):
        for t, token in enumerate(tokens):
            before = [tags[t - 1] == label for label in labels] if t else [False] * 3
            rows.append([name in token for name in names] + before)
            targets.append(tags[t])
    # Pairs that were never seen have no weight here; with so many sentences all are seen.
    assert model.state_weights_.size == len(names) * 3
    # scikit-learn's 1/2 |w|² + C Σ loss is c2 |w|² + Σ loss for C = 1 / (2 c2).
    peer = LogisticRegression(C=1 / (2 * c2), fit_intercept=False, tol=1e-10, max_iter=5000)
    peer.fit(np.array(rows, dtype=float), targets)
    table = np.zeros((3, len(names) + 3))
    for (a, k), w in zip(model.state_pairs_, model.state_weights_):
        table[k, a] = w
    for (i, j), w in zip(model.transition_pairs_, model.transition_weights_):
        table[j, len(names) + i] = w
    np.testing.assert_allclose(table, peer.coef_, atol=2e-5)


def test_gradient():
    rng = np.random.default_rng(0)
    rows = sparse.csr_array(np.where(rng.random((40, 9)) < 0.4, rng.normal(size=(40, 9)), 0.0))
    X = Sequences(rows, np.array([0, 7, 8, 20, 40]), listed=False)
    y, weight = rng.integers(0, 4, 40), np.array([1.0, 0.5, 2.0, 3.0])
    features = choose_features(X, y, weight, 4)
    objective = LocalObjective(X, y, weight, features, 0.3)
    w = rng.normal(size=features.size)
    assert check_grad(objective.value, objective.gradient, w) < 1e-4
    dense = LocalObjective(X.with_rows(rows.toarray()), y, weight, features, 0.3)
    np.testing.assert_allclose(dense.gradient(w), objective.gradient(w), atol=1e-12)


def test_a_sequence_of_weight_two_is_there_twice():
    X, y = sentences(12)
    weight = np.array([2.0, 0.0] + [1.0] * 10)
    options = {"c2": 0.1, "epsilon": 1e-10, "delta": 0}
    weighted = MEMM(**options).fit(X, y, sample_weight=weight)
    again = [0, 0, *range(2, 12)]
    plain = MEMM(**options).fit([X[k] for k in again], [y[k] for k in again])
    for tokens in X[2:6]:
        np.testing.assert_allclose(
            weighted.predict_proba([tokens])[0], plain.predict_proba([tokens])[0], atol=1e-7
        )


def test_label_bias():
    # r-i-b and r-o-b: after the first r a state has one way on, so that what it reads there no longer matters.
    X = [list("rib")] * 3 + [list("rob")] * 1
    y = [["r1", "i", "b1"]] * 3 + [["r2", "o", "b2"]] * 1
    options = {"c2": 1e-3, "all_possible_states": False}
    memm, crf = MEMM(**options).fit(X, y), CRF(**options).fit(X, y)
    assert crf.predict([list("rob")]) == [["r2", "o", "b2"]]
    p_memm = memm.predict_proba([list("rob")])[0][0, memm.classes_.tolist().index("r2")]
    p_crf = crf.predict_proba([list("rob")])[0][0, crf.classes_.tolist().index("r2")]
    assert p_memm == pytest.approx(0.25, abs=0.01), "what is read later cannot speak for the first label"
    assert p_crf > 0.9


def test_unknown_labels_are_refused():
    with pytest.raises(ValueError, match="all labels must be known; that of token 1"):
        MEMM().fit([["a", "b", "c"]], [["X", None, "Y"]])


def test_large_scores_do_not_overflow():
    model = MEMM(c2=0.1).fit([["a", "b"]] * 3, [["X", "Y"]] * 3)
    model.state_weights_ *= 1e3
    model.transition_weights_ *= -1e3
    proba = model.predict_proba([["b", "a", "b"]])[0]
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert model.predict([["b"]]) == [["Y"]]


def test_what_constraints_leave_may_be_improbable():
    """Tokens that all but rule out each path that may be taken: the best has a probability of exp(-19190)."""
    X = [np.eye(2), np.eye(2)[::-1]]
    model = MEMM(constraints={0: [0], 1: [1]}).fit(X, [[0, 1], [1, 0]])
    loud = [5e4 * np.eye(2)]
    (path, best), (other, second) = model.k_best(loud, 2)[0]
    assert best < -1000
    assert model.predict(loud) == [path] == [[1, 1]]
    assert other == [0, 0]
    p = 1 / (1 + np.exp(second - best))
    np.testing.assert_allclose(model.predict_proba(loud)[0], [[1 - p, p]] * 2)
