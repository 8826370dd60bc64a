"""How weights of (attribute, label, label) are learned."""

import itertools

import numpy as np
import pytest
import scipy.optimize
from scipy import sparse
from sklearn.base import clone

from tercet.sequence import CRF, ParametricCRF
from tercet.sequence.base import Sequences
from tercet.sequence.crf._engine import features as crf_features
from tercet.sequence.crf._engine import objective as crf_objective
from tercet.sequence.crf._engine.features import choose_features, merge_features
from tercet.sequence.crf._engine.marginals import best_paths, chain_marginals
from tercet.sequence.crf._engine.objective import ChainObjective
from tercet.sequence.crf._engine.online import Corpus, StochasticGradient
from tercet.sequence.crf._engine.transition_tables import TransitionTables
from tercet.sequence.text.attributes import sequences_in
from tests.sequence.crf_data import steps_corpus

EXACT = {"epsilon": 1e-9, "delta": 1e-13}
BOTH = {"transition_attributes": "step:*"}
X, Y = steps_corpus()


def random_data(rng, n=12, labels=3, attributes=6, most=5, unknown=0.0, everything=True, **more):
    """Sequences of random rows, the last three columns of which act on transitions, and their objective."""
    lengths = rng.integers(1, most + 1, size=n)
    rows = sparse.random_array((lengths.sum(), attributes), density=0.4, rng=rng, format="csr")
    rows.data = rng.integers(1, 3, size=rows.nnz) / 2
    data, y = Sequences.of(rows, lengths), rng.integers(labels, size=lengths.sum())
    y[rng.random(y.size) < unknown] = -1
    acting = np.arange(attributes - 3, attributes)
    chosen = choose_features(
        data, y, None, labels, all_states=everything, all_transitions=everything, transition_columns=acting
    )
    return ChainObjective(data, y, rng.uniform(0.5, 2.0, size=n), chosen, **{"l2": 0.3, **more})


def enumerated(objective, w):
    """f(w) by all label sequences of all x."""
    features, X = objective.features, objective.X
    states, steps, both = features.split(w)
    value, N = objective.l2 * w @ w, features.n_labels
    tables = np.zeros((features.n_attributes, N)), np.zeros((N, N)), np.zeros((features.n_attributes, N * N))
    tables[0][features.attribute, features.label] = states
    tables[1][tuple(features.transitions.T)] = steps
    tables[2][features.bigrams.attribute, features.bigrams.label] = both
    for s in range(len(X)):
        rows = X[s].toarray() if sparse.issparse(X[s]) else X[s]
        known = objective.y[X.borders[s] : X.borders[s + 1]]
        node, edge = rows @ tables[0], (rows @ tables[2]).reshape(-1, N, N) + tables[1]
        every, agreeing = [], []
        for path in itertools.product(range(N), repeat=len(rows)):
            at = np.array(path)
            total = node[np.arange(at.size), at].sum()
            total += edge[np.arange(1, at.size), at[:-1], at[1:]].sum()
            every.append(total)
            if ((known == at) | (known < 0)).all():
                agreeing.append(total)
        value += objective.weight[s] * (np.logaddexp.reduce(every) - np.logaddexp.reduce(agreeing))
    return value


@pytest.mark.parametrize("unknown", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("labels", [2, 3, 4])
def test_value_by_enumeration_and_gradient_by_differences(labels, unknown):
    rng = np.random.default_rng(labels)
    objective = random_data(rng, n=6, labels=labels, most=4, unknown=unknown)
    w = rng.normal(size=objective.features.size)
    f, g = objective.value_and_gradient(w)
    assert f == pytest.approx(enumerated(objective, w), rel=1e-12)
    for p in rng.normal(size=(3, w.size)):
        slope = (objective.value(w + 1e-5 * p) - objective.value(w - 1e-5 * p)) / 2e-5
        assert slope == pytest.approx(g @ p, rel=1e-6, abs=1e-6)


def test_the_scale_of_each_weight_is_its_curvature():
    objective = random_data(np.random.default_rng(0), most=2)  # of longer ones, neighbouring steps depend
    zero, h = np.zeros(objective.features.size), 1e-4
    found = [
        (objective.gradient(zero + h * e) - objective.gradient(zero - h * e))[k] / (2 * h)
        for k, e in enumerate(np.eye(zero.size))
    ]
    np.testing.assert_allclose(objective.curvature(), found, rtol=1e-6)


@pytest.mark.parametrize("everything", [True, False])
def test_pieces_tables_and_threads_change_nothing(monkeypatch, everything):
    def both(**more):
        rng = np.random.default_rng(0)
        objective = random_data(rng, n=40, labels=4, unknown=0.1, everything=everything, **more)
        return objective, rng.normal(size=objective.features.size)

    objective, w = both()
    f, g = objective.value_and_gradient(w)
    again, _ = both(n_jobs=2)
    assert again.value(w) == f
    np.testing.assert_array_equal(again.gradient(w), g)
    monkeypatch.setattr(crf_objective, "CHUNK", 8)
    monkeypatch.setattr(crf_objective, "BLOCK_TRANSITIONS", 0)
    monkeypatch.setattr(crf_objective, "FEWEST_TOKENS", 32)
    monkeypatch.setattr(crf_features, "WORK", 5)
    one, two = both(n_jobs=1)[0], both(n_jobs=3)[0]
    assert min(len(one.blocks), len(one.blocks[0].chunks), len(one.transitions.blocks[0].sums.parts)) > 2
    np.testing.assert_array_equal(one.gradient(w), two.gradient(w))
    np.testing.assert_allclose(one.gradient(w), g, rtol=1e-12, atol=1e-13)
    monkeypatch.setattr(crf_features, "LARGE_TABLE", 0)
    monkeypatch.setattr(crf_features, "SPARSITY", 0)
    np.testing.assert_allclose(one.gradient(w), g, rtol=1e-12, atol=1e-13)
    dense = ChainObjective(one.X.with_rows(one.X.rows.toarray()), one.y, one.weight, one.features, one.l2)
    np.testing.assert_allclose(dense.gradient(w), g, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("scale", [1.0, 2000.0])
def test_probabilities_of_steps_of_several_kinds(scale):
    """Also where no double can hold all scores at once."""
    rng = np.random.default_rng(0)
    scores, tables = rng.normal(size=(9, 3)) * scale, rng.normal(size=(2, 3, 3)) * scale
    borders, weight, kind = np.array([0, 4, 5, 9]), np.array([1.0, 2.0, 3.0]), rng.integers(2, size=9)
    steps = TransitionTables(tables, kind)
    found, (best, values) = (
        chain_marginals(scores, borders, steps, weight),
        best_paths(scores, borders, steps),
    )
    edge = np.zeros((2, 3, 3))
    for s in range(3):
        a, b = borders[s], borders[s + 1]
        paths = np.array(list(itertools.product(range(3), repeat=b - a)))
        total = scores[np.arange(a, b), paths].sum(axis=1)
        total += tables[kind[a + 1 : b], paths[:, :-1], paths[:, 1:]].sum(axis=1)
        log_z = np.logaddexp.reduce(total)
        np.testing.assert_array_equal(best[a:b], paths[total.argmax()])
        assert values[s] == pytest.approx(total.max())
        assert found.log_z[s] == pytest.approx(log_z, rel=1e-13)
        p = np.exp(total - log_z)
        for t in range(b - a):
            np.testing.assert_allclose(found.node[a + t], np.bincount(paths[:, t], p, minlength=3), atol=1e-9)
            if t:
                np.add.at(edge, (kind[a + t], paths[:, t - 1], paths[:, t]), weight[s] * p)
    np.testing.assert_allclose(found.edge, edge, atol=1e-9)


def test_the_text_form_of_the_model():
    """The same features as functions of (label before, label, x, i)."""
    data, labels = steps_corpus(8, seed=3, most=4)
    model = CRF(c2=0.3, **BOTH, **EXACT).fit(data, labels)
    steps = [lambda a, b, x, i, pair=pair: (a, b) == pair for pair in model.transition_features_]

    def value(token, name):
        size = token["step"]["size"] * (name == "step:size")
        return size + (name == f"step:sign:{token['step']['sign']}") + (name == f"word:{token['word']}")

    for name, *pair in model.bigram_features_:
        steps.append(lambda a, b, x, i, name=name, pair=pair: value(x[i], name) * ([a, b] == pair))
    states = [
        lambda y, x, i, name=name, label=label: value(x[i], name) * (y == label)
        for name, label in model.state_features_
    ]
    text = ParametricCRF(steps, states, labels=list("ABC"), l2=2 * 0.3 / len(data), tol=1e-9)
    text.fit(data, labels)
    ours = [model.transition_weights_, model.bigram_weights_, model.state_weights_]
    np.testing.assert_allclose(np.concatenate(ours), text.weights_, atol=1e-6)
    assert model.objective(data, labels) / len(data) == pytest.approx(text.loss_)


def test_an_attribute_that_all_tokens_have_is_a_second_transition_weight():
    """u and v[one] are added, and the penalty u² + v² makes them equal: a plain model with half of it there."""
    more = {"all_possible_transitions": True}
    words = [[{"word": token["word"]} for token in sentence] for sentence in X]
    twice = [[{**token, "one": 1.0} for token in sentence] for sentence in words]
    model = CRF(c2=0.4, transition_attributes="one", **more, **EXACT).fit(twice, Y)
    np.testing.assert_allclose(model.bigram_weights_, model.transition_weights_, atol=1e-7)
    plain = CRF(**more)
    rows, y = plain._check(sequences_in(words), Y)
    codes = plain._encode(y)
    features = choose_features(rows, codes, None, 3, all_transitions=True)
    objective = ChainObjective(rows, codes, None, features)
    c2 = np.repeat([0.4, 0.2], [features.label.size, len(features.transitions)])

    def penalised(w):
        f, g = objective.value_and_gradient(w)
        return f + c2 @ w**2, g + 2 * c2 * w

    found = scipy.optimize.minimize(penalised, np.zeros(features.size), jac=True, options={"gtol": 1e-9})
    states, steps, _ = features.split(found.x)
    np.testing.assert_allclose(model.state_weights_, states, atol=1e-6)
    np.testing.assert_allclose(2 * model.transition_weights_, steps, atol=1e-6)
    assert model.objective(twice, Y) == pytest.approx(found.fun)


@pytest.mark.parametrize("algorithm", ["gd", "newton-cg", "bfgs", "iis", "iis-s", "iis-t"])
def test_every_algorithm_minimises_the_same(algorithm):
    # whole numbers for exact iterative scaling
    data = [[{"word": t["word"], "step": {"sign": t["step"]["sign"]}} for t in s] for s in X[:3]]
    best = CRF(c2=0.5, **BOTH, **EXACT).fit(data, Y[:3]).objective(data, Y[:3])
    found = CRF(algorithm, c2=0.5, **BOTH, epsilon=1e-5, delta=0.0).fit(data, Y[:3])
    assert found.bigram_weights_.size
    assert found.objective(data, Y[:3]) == pytest.approx(best, rel=1e-7)


def test_exact_zeros_by_an_l1_penalty():
    model = CRF(c1=0.5, c2=0.1, **BOTH, **EXACT).fit(X, Y)
    assert 0 < np.count_nonzero(model.bigram_weights_) < model.bigram_weights_.size
    rows, y = model._check(sequences_in(X), Y)
    w = model._all_weights()
    g = ChainObjective(rows, model._encode(y), None, model._features(), 0.1).gradient(w)
    np.testing.assert_allclose(g[w != 0], -0.5 * np.sign(w[w != 0]), atol=1e-4)
    assert np.abs(g[w == 0]).max() < 0.5 + 1e-4
    few = {k: v for k, v in model.bigram_features_.items() if v}
    assert clone(model).fit(X, Y).prune().bigram_features_ == few


def prepared(model, data=X, labels=Y):
    rows, y = model._check(sequences_in(data), labels)
    codes = model._encode(y)
    return rows, codes, model._choose_features(rows, codes, None)


def test_stochastic_steps_follow_the_gradient():
    """A tiny step from each sequence, all from the same weights, adds up to the gradient."""
    rows, codes, features = prepared(CRF(**BOTH))
    rng = np.random.default_rng(0)
    weight, w = rng.uniform(0.5, 2.0, size=len(X)), rng.normal(size=features.size)
    data = Corpus(rows, codes, weight, features)
    f, g = ChainObjective(rows, codes, weight, features).value_and_gradient(w)
    loss, moved = 0.0, np.zeros(w.size)
    for s in range(len(X)):
        step = StochasticGradient(w, 0.0, len(X), 1e-6)
        loss += step.learn(data, np.array([s]))
        moved += (w - step.weights) / 1e-6
    assert loss == pytest.approx(f)
    np.testing.assert_allclose(moved, g, atol=1e-7)


def test_stochastic_steps_where_scaled_numbers_fail():
    rows, codes, features = prepared(CRF(**BOTH))
    w = 3000.0 * np.random.default_rng(0).normal(size=features.size)
    f = ChainObjective(rows, codes, None, features).value(w)
    step = StochasticGradient(w, 0.0, len(X), 0.0)
    assert step.learn(Corpus(rows, codes, None, features), np.arange(len(X))) == pytest.approx(f, rel=1e-12)
    step = StochasticGradient(w, 0.0, len(X), 1e-3)
    step.learn(Corpus(rows, codes, None, features), np.array([4]))
    alone = ChainObjective(rows[[4]], rows.with_rows(codes)[4], None, features).gradient(w)
    np.testing.assert_allclose((w - step.weights) / 1e-3, alone, atol=1e-5)


def learned(algorithm, options, features):
    """The weights after one pass in the order of the data, with features by name and paths by enumeration."""
    w, variance = dict.fromkeys(features, 0.0), dict.fromkeys(features, options.get("variance", 1.0))

    def counts(sentence, path):
        found = {}
        for t, (token, label) in enumerate(zip(sentence, path)):
            named = [((f"word:{token['word']}", label), 1.0)]
            if t:
                pair, step = (path[t - 1], label), token["step"]
                named += [(("", *pair), 1.0), ((f"step:sign:{step['sign']}", *pair), 1.0)]
                named += [(("step:size", *pair), step["size"])]
            for name, value in named:
                if name in features:
                    found[name] = found.get(name, 0.0) + value
        return found

    for sentence, tags in zip(X, Y):
        paths = list(itertools.product("ABC", repeat=len(tags)))
        scores = [sum(w[k] * v for k, v in counts(sentence, path).items()) for path in paths]
        top = max(scores)
        # of equals the smallest labels from the end, as Viterbi's algorithm has it
        best = min((path for path, s in zip(paths, scores) if s > top - 1e-9), key=lambda path: path[::-1])
        errors = sum(a != b for a, b in zip(best, tags))
        if not errors:
            continue
        right, said = counts(sentence, tags), counts(sentence, best)
        change = {k: right.get(k, 0.0) - said.get(k, 0.0) for k in {**right, **said}}
        gap = sum(-w[k] * v for k, v in change.items())
        step = 1.0
        if algorithm == "pa":
            cost, size = gap + np.sqrt(errors), sum(v * v for v in change.values())
            kind, c = options.get("pa_type", 1), options.get("c", 1.0)
            step = cost / (size + 0.5 / c) if kind == 2 else min(cost / size, c) if kind else cost / size
        if algorithm == "arow":
            step = (gap + errors) / (sum(v * v * variance[k] for k, v in change.items()) + options["gamma"])
        for k, v in change.items():
            w[k] += step * v * (variance[k] if algorithm == "arow" else 1.0)
            variance[k] = 1 / (1 / variance[k] + v * v / options.get("gamma", 1.0))
    return w


@pytest.mark.parametrize(
    ("algorithm", "options"),
    [
        ("ap", {"averaging": False}),
        ("pa", {"averaging": False}),
        ("pa", {"averaging": False, "pa_type": 0}),
        ("pa", {"averaging": False, "pa_type": 2, "c": 0.3}),
        ("arow", {"variance": 0.7, "gamma": 2.0}),
    ],
)
def test_learning_from_mistakes_step_by_step(algorithm, options):
    model = CRF(algorithm, **options, **BOTH).partial_fit(X, Y)
    steps = {("", *pair): w for pair, w in model.transition_features_.items()}
    found = {**model.state_features_, **steps, **model.bigram_features_}
    assert found == pytest.approx(learned(algorithm, options, found), abs=1e-12)


def test_stochastic_gradient_comes_close_to_the_optimum():
    best = CRF(c2=0.5, **BOTH).fit(X, Y).objective(X, Y)
    found = CRF("l2sgd", c2=0.5, random_state=0, period=100, delta=1e-3, **BOTH).fit(X, Y)
    assert best <= found.objective(X, Y) < 1.01 * best


def test_merged_bigrams_keep_their_places():
    rng = np.random.default_rng(0)
    (old, new), w = (random_data(rng, n=3, everything=False).features for _ in range(2)), np.arange(200.0)
    for one, other in ((old, new), (old._replace(bigrams=None), new), (old, new._replace(bigrams=None))):
        both, places = merge_features(one, other)
        wider = np.full(both.size, -1.0)
        wider[places] = w[: one.size]
        again, places = merge_features(both, both)
        np.testing.assert_array_equal(places, np.arange(both.size))
        assert again.size == both.size
        states = wider[: both.label.size]
        kept = states >= 0
        np.testing.assert_array_equal(both.attribute[kept], one.attribute)
        np.testing.assert_array_equal(states[kept], w[: one.label.size])
        if one.bigrams is not None:
            kept = both.split(wider)[2] >= 0
            np.testing.assert_array_equal(both.bigrams.attribute[kept], one.bigrams.attribute)
            np.testing.assert_array_equal(both.bigrams.label[kept], one.bigrams.label)
