"""The CRF in the text's forms, against enumeration, finite differences and each other."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime

from tercet.sequence.crf._engine.grouped_chains import by_length, grouped_best_scores, grouped_marginals
from tercet.sequence.crf.matrix_crf import MatrixCRF
from tercet.sequence.crf.parametric_crf import ParametricCRF, indicator_features

X = [[0, 1, 0], [1, 1], [0, 1, 1, 0], [1, 0], [0, 0], [1, 1, 0]]
Y = [[0, 1, 0], [1, 1], [0, 0, 1, 1], [0, 1], [0, 0], [1, 1, 1]]
W_MLE = [0.3252535496, 0.6221632946, 0.8087253227, 0.8339205152]


def learner(**options):
    stays = [lambda a, b, x, i: a == b == 0, lambda a, b, x, i: a == b == 1]
    echoes = [lambda b, x, i: b == x[i] == 0, lambda b, x, i: b == x[i] == 1]
    return ParametricCRF(stays, echoes, labels=[0, 1], **options)


def wild(n_labels=3, seed=0, ends=None):
    """Features that depend on places, on distant tokens and on the labels in odd ways."""
    rng = np.random.default_rng(seed)
    A, B = rng.normal(size=(2, n_labels + 2, n_labels + 2))
    transitions = [lambda a, b, x, i: A[a, b] * np.sin(i), lambda a, b, x, i: B[a, b] * x[max(i - 2, 0)]]
    states = [lambda b, x, i: A[b, b] * x[-1] + i, lambda b, x, i: B[b, 0] * x[min(i, len(x) - 1)]]
    weights = rng.normal(size=4)
    return ParametricCRF(transitions, states, labels=list(range(n_labels)), weights=weights, ends=ends)


def log_sum(values):
    return np.logaddexp.reduce(list(values))


@settings(deadline=None, max_examples=25)
@given(st.integers(1, 4), st.integers(1, 3), st.integers(0, 10_000), st.booleans())
def test_all_quantities_agree_with_enumeration(n, n_labels, seed, with_ends):
    model = wild(n_labels, seed, ends=(n_labels, n_labels + 1) if with_ends else None)
    x = np.random.default_rng(seed).normal(size=n)
    chain = model.matrix_form(x)
    paths = dict(chain.enumerate())
    assert len(paths) == n_labels**n
    for y, log_weight in paths.items():
        assert model.log_weight(x, y) == pytest.approx(log_weight, abs=1e-10)
    log_z = log_sum(paths.values())
    assert chain.log_Z == pytest.approx(log_z)
    P = {y: np.exp(v - log_z) for y, v in paths.items()}
    node, edge = np.zeros((n, n_labels)), np.zeros((n - 1, n_labels, n_labels))
    for y, p in P.items():
        assert chain.probability(y) == pytest.approx(p)
        assert model.probability(x, y) == pytest.approx(p)
        for i, b in enumerate(y):
            node[i, b] += p
            if i:
                edge[i - 1, y[i - 1], b] += p
    np.testing.assert_allclose(chain.node_marginals(), node, atol=1e-12)
    np.testing.assert_allclose(chain.edge_marginals(), edge, atol=1e-12)
    expected = sum(p * model.features(x, y) for y, p in P.items())
    np.testing.assert_allclose(model.expected_features(x), expected, atol=1e-10)
    found = chain.viterbi()
    assert found.score == pytest.approx(max(paths.values()))
    assert paths[tuple(found.path)] == pytest.approx(found.score)


def test_the_parametric_score_is_the_sum_that_the_text_writes():
    model, x, y = wild(), [0.3, -1.0, 2.0, 0.7], [2, 0, 0, 1]
    lam, mu = model.weights_[:2], model.weights_[2:]
    total = sum(w * t(y[i - 1], y[i], x, i) for w, t in zip(lam, model.transitions) for i in range(1, 4))
    total += sum(w * s(y[i], x, i) for w, s in zip(mu, model.states) for i in range(4))
    assert model.log_weight(x, y) == pytest.approx(total)


def test_ends_let_transitions_fire_at_both_ends():
    # T11.2: without them no transition feature fires at the first place, and none after the last.
    seen = lambda a, b, x, i: (a, b) in [("^", 0), (1, "$")]  # noqa: E731
    inside = ParametricCRF([seen], labels=[0, 1], weights=[1.0])
    assert inside.features("xy", [0, 1]).tolist() == [0.0]
    around = ParametricCRF([seen], labels=[0, 1], weights=[1.0], ends=("^", "$"))
    assert around.features("xy", [0, 1]).tolist() == [2.0]
    assert around.features("xy", [1, 0]).tolist() == [0.0]
    # 11.35 with the sum to n + 1: the expectation counts the ends too
    paths = [
        around.probability("xy", y) * around.features("xy", y) for y in itertools.product((0, 1), repeat=2)
    ]
    np.testing.assert_allclose(around.expected_features("xy"), np.sum(paths, axis=0))


def test_where_the_texts_identities_for_z_hold():
    # T11.1: α_n·1 and 1·β_1 are Z only where the last, or the first, step weighs 1 for every label.
    rng = np.random.default_rng(1)
    M = rng.random((4, 3, 3)) + 0.1
    chain = MatrixCRF(M, start=2, stop=1)
    Z = np.linalg.multi_dot(M)[2, 1]
    alpha, beta = chain.alpha, chain.beta
    for value in (chain.Z, alpha[-1, 1], alpha[0] @ beta[0], M[0, 2] @ beta[1], alpha[1] @ beta[1]):
        assert value == pytest.approx(Z)
    assert abs(alpha[3].sum() - Z) > 1e-3
    assert abs(beta[1].sum() - Z) > 1e-3
    M[3, :, 1] = 1.0
    chain = MatrixCRF(M, start=2, stop=1)
    assert chain.alpha[3].sum() == pytest.approx(chain.Z)
    M[0, 2] = 1.0
    chain = MatrixCRF(M, start=2, stop=1)
    assert chain.beta[1].sum() == pytest.approx(chain.Z)


def test_a_field_is_markov_given_x():
    # Def 11.4: given its neighbours a label does not depend on the others.
    from tercet.graphical import markov_property

    chain = wild(2, 3).matrix_form([0.5, -0.2, 1.0, 0.1, 0.9])
    joint = np.exp(np.reshape([w for _, w in chain.enumerate()], [2] * 5) - chain.log_Z)
    steps = [(i, i + 1) for i in range(4)]
    assert all(markov_property(joint, steps, kind) for kind in ("pairwise", "local", "global"))
    assert not markov_property(joint, steps[:-1], "pairwise", nodes=range(5))


def test_long_chains_neither_overflow_nor_vanish():
    model = learner(weights=[3.0, 2.0, 1.0, 4.0])
    x = np.random.default_rng(0).integers(0, 2, 3000)
    chain = model.matrix_form(x)
    assert 0 < chain.log_Z < np.inf
    np.testing.assert_allclose(chain.node_marginals().sum(axis=1), 1.0)
    objective = model.objective([x], [x])
    assert objective.value(model.weights_) == pytest.approx(chain.log_Z - model.log_weight(x, x), rel=1e-10)


def test_matrices_are_checked():
    good = np.ones((3, 2, 2))
    with pytest.raises(ValueError, match=r"shape \(n \+ 1, N, N\)"):
        MatrixCRF(np.ones((3, 2, 3)))
    with pytest.raises(ValueError, match="not negative"):
        MatrixCRF(-good)
    with pytest.raises(ValueError, match=r"start must be in \[0, 2\); got 2"):
        MatrixCRF(good, start=2)
    with pytest.raises(ValueError, match="labels must name 2"):
        MatrixCRF(good, labels="abc")
    with pytest.raises(ValueError, match="y must have 2 labels"):
        MatrixCRF(good).log_weight([0])
    with pytest.raises(ValueError, match="'c' is not a label"):
        MatrixCRF(good, labels="ab").log_weight("ac")
    with pytest.raises(ValueError, match=r"2\^40 label sequences"):
        MatrixCRF(np.ones((41, 2, 2))).enumerate()


def test_a_chain_without_any_path_says_so():
    chain = MatrixCRF([[[1, 0], [1, 1]], [[0, 0], [1, 1]], np.ones((2, 2))])
    assert chain.Z == 0.0
    for ask in (chain.viterbi, chain.node_marginals, chain.edge_marginals, lambda: chain.probability([0, 0])):
        with pytest.raises(ValueError, match="No sequence of labels"):
            ask()


def test_ties_go_to_the_first_label():
    assert MatrixCRF(np.ones((4, 3, 3))).viterbi().path == [0, 0, 0]


def test_gradient_is_that_of_finite_differences():
    model = wild(3, 5)
    model.l2 = 0.3
    rng = np.random.default_rng(0)
    xs = [rng.normal(size=n) for n in (1, 2, 4, 2)]
    ys = [rng.integers(0, 3, x.size).tolist() for x in xs]
    f = model.objective(xs, ys, sample_weight=[1, 2, 0.5, 3])
    w = rng.normal(size=4)
    np.testing.assert_allclose(f.gradient(w), approx_fprime(w, f.value, 1e-7), atol=1e-5)
    # 11.50: the mean of -log P
    plain = ParametricCRF(model.transitions, model.states, [0, 1, 2], w)
    losses = [-np.log(plain.probability(x, y)) for x, y in zip(xs, ys)]
    assert f.value(w) == pytest.approx(np.average(losses, weights=[1, 2, 0.5, 3]) + 0.15 * w @ w)


@pytest.mark.parametrize("algorithm", ["lbfgs", "newton", "newton-cg", "dfp", "bfgs"])
def test_every_algorithm_finds_the_same_weights(algorithm):
    model = learner(algorithm=algorithm, tol=1e-9).fit(X, Y)
    np.testing.assert_allclose(model.weights_, W_MLE, rtol=2e-6)
    assert model.loss_ == pytest.approx(1.5937975766477979, abs=1e-12)
    assert model.history_["fun"][-1] == pytest.approx(model.loss_)


def test_weights_of_sequences_are_repetitions():
    twice = learner(l2=0.1, tol=1e-10, algorithm="newton").fit([*X, X[2]], [*Y, Y[2]])
    weighted = learner(l2=0.1, tol=1e-10, algorithm="newton").fit(X, Y, [1, 1, 2, 1, 1, 1])
    np.testing.assert_allclose(weighted.weights_, twice.weights_, atol=1e-8)
    without = learner(l2=0.1, tol=1e-10, algorithm="newton").fit(X[1:], Y[1:])
    zero = learner(l2=0.1, tol=1e-10, algorithm="newton").fit(X, Y, [0, 1, 1, 1, 1, 1])
    np.testing.assert_allclose(zero.weights_, without.weights_, atol=1e-8)


def test_indicator_features_learn_a_rule():
    rng = np.random.default_rng(0)
    xs = ["".join(rng.choice(list("abc"), 6)) for _ in range(20)]
    ys = [["V" if c == "a" else "C" for c in x] for x in xs]
    transitions, states = indicator_features(["C", "V"], "abc")
    model = ParametricCRF(transitions, states, l2=0.01).fit(xs, ys)
    assert model.labels_ == ["C", "V"]
    assert model.predict(xs) == ys
    assert model.weights_[len(transitions) + 3] > 1  # [V, a]


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (X, [[np.inf, 1, 0], *Y[1:]], r"y\[0\] has the label inf; a label must not be NaN or infinite"),
        (X, [Y[0], [1, np.nan], *Y[2:]], r"y\[1\] has the label nan"),
        (
            X,
            [np.zeros((len(x), 2)) for x in X],
            r"y\[0\] must hold one label for each position; it has array",
        ),
        (X, [0, 1], r"y must be a list of sequences of labels; y\[0\] is 0\."),
        (X, None, "y must be a list of sequences of labels; got None"),
        (None, Y, "X must be a list of sequences; got None"),
        (5, Y, "X must be a list of sequences; got 5"),
        ([1, 2], Y, r"X must be a list of sequences; X\[0\] is 1\."),
    ],
)
def test_what_is_no_list_of_sequences(X, y, message):
    model = ParametricCRF([lambda a, b, x, i: a == b], [lambda b, x, i: b == x[i]], l2=0.1)
    with pytest.raises((TypeError, ValueError), match=message):
        model.fit(X, y)
    if X is None:
        with pytest.raises(TypeError, match=message):
            model.predict(X)


def test_bad_models_and_data():
    with pytest.raises(ValueError, match="algorithm must be one of lbfgs"):
        ParametricCRF(algorithm="sgd")
    with pytest.raises(ValueError, match=r"l2 must not be negative; got -1"):
        ParametricCRF(l2=-1)
    with pytest.raises(ValueError, match="needs its labels"):
        ParametricCRF(weights=[])
    with pytest.raises(ValueError, match="2 transition and 2 state"):
        learner(weights=[1.0])
    with pytest.raises(ValueError, match="no labels yet"):
        ParametricCRF().predict([[0]])
    with pytest.raises(ValueError, match="no labels yet"):
        ParametricCRF([lambda *a: 1.0]).features("ab", [0, 0])
    with pytest.raises(ValueError, match=r"states\[0\] does not"):
        ParametricCRF([], [lambda b, x, i: np.nan], labels=[0]).table("a")
    with pytest.raises(ValueError, match="empty"):
        learner().fit([[0], []], [[0], []])
    with pytest.raises(ValueError, match="y must have 2 labels, as x has; got 1"):
        learner().fit([[0, 1]], [[0]])
    with pytest.raises(ValueError, match="2 is not a label"):
        learner().fit([[0, 1]], [[0, 2]])
    with pytest.raises(ValueError, match="neither transition nor state features"):
        ParametricCRF().fit(X, Y)
    with pytest.raises(ValueError, match="as many sequences"):
        learner().fit(X, Y[1:])
    with pytest.raises(ValueError, match="sample_weight"):
        learner().fit(X, Y, [0] * 6)


@pytest.mark.parametrize("far", [1.0, 2000.0])
@pytest.mark.parametrize("shared", [True, False])
def test_batches_agree_with_single_chains(far, shared):
    # Scores that are far apart are too much for scaled products: the same numbers come from logarithms.
    rng = np.random.default_rng(0)
    lengths = np.array([3, 1, 4, 3])
    node = far * rng.normal(size=(11, 3))
    edge = far * rng.normal(size=(3, 3) if shared else (11, 3, 3))
    groups = by_length(lengths, 3)
    found, best = grouped_marginals(node, edge, groups), grouped_best_scores(node, edge, groups)
    first = 0
    for k, n in enumerate(lengths):
        logs = np.full((n + 1, 3, 3), -np.inf)
        steps = np.broadcast_to(edge, (n - 1, 3, 3)) if shared else edge[first + 1 : first + n]
        logs[0, 0], logs[1:n], logs[n, :, 0] = node[first], steps + node[first + 1 : first + n, None, :], 0
        chain = MatrixCRF(logs, log=True)
        assert found.log_z[k] == pytest.approx(chain.log_Z, rel=1e-12)
        assert best[k] == pytest.approx(chain.viterbi().score, rel=1e-12)
        np.testing.assert_allclose(found.node[first : first + n], chain.node_marginals(), atol=1e-9)
        edges = found.edge[k] if shared else found.edge[first + 1 : first + n].sum(axis=0)
        np.testing.assert_allclose(edges, chain.edge_marginals().sum(axis=0), atol=1e-9)
        first += n
