"""The objective of the random field: against enumeration, finite differences and the text's numbers."""

import itertools

import numpy as np
import pytest
from scipy import sparse

from tercet.core.steps import Steps
from tercet.sequence.base import Sequences
from tercet.sequence.crf._engine import features as crf_features
from tercet.sequence.crf._engine import objective as crf_objective
from tercet.sequence.crf._engine.features import Features, choose_features, merge_features
from tercet.sequence.crf._engine.marginals import chain_marginals
from tercet.sequence.crf._engine.minimisation import MeanObjective, minimise
from tercet.sequence.crf._engine.objective import ChainObjective
from tercet.sequence.crf.iterative_scaling import SCALINGS, crf_iterative_scaling

# Li ch. 11, the learning example: features #(0->0), #(1->1), #(y=0, x=0), #(y=1, x=1)
X = [[0, 1, 0], [1, 1], [0, 1, 1, 0], [1, 0], [0, 0], [1, 1, 0]]
Y = [[0, 1, 0], [1, 1], [0, 0, 1, 1], [0, 1], [0, 0], [1, 1, 1]]
W_MLE = [0.8087253227, 0.8339205152, 0.3252535496, 0.6221632946]
W_L2 = [0.5580747879, 0.6110929263, 0.1322080525, 0.4260498076]


def text(l2=0.0, rows=sparse.csr_array):
    """The example with states first, as weights are kept."""
    data = Sequences.of([np.eye(2)[x] for x in X])
    features = Features(np.array([0, 1]), np.array([0, 1], np.int32), np.array([[0, 0], [1, 1]]), 2, 2)
    return ChainObjective(data.with_rows(rows(data.rows)), np.concatenate(Y), None, features, l2)


def random_data(rng, n=12, labels=3, attributes=5, most=5, unknown=0.0, features="all", n_jobs=None, l2=0.3):
    """Sequences of random rows and labels, some unknown, and their objective."""
    lengths = rng.integers(1, most + 1, size=n)
    rows = sparse.random_array((lengths.sum(), attributes), density=0.5, rng=rng, format="csr")
    rows.data += 0.3
    data = Sequences.of(rows, lengths)
    y = rng.integers(labels, size=lengths.sum())
    y[rng.random(y.size) < unknown] = -1
    everything = features == "all"
    chosen = choose_features(data, y, None, labels, all_states=everything, all_transitions=everything)
    weight = rng.uniform(0.5, 2.0, size=n)
    return ChainObjective(data, y, weight, chosen, l2, n_jobs)


def enumerated(objective, w):
    """f(w) by all label sequences of all x."""
    features, X = objective.features, objective.X
    states, steps = np.zeros((features.n_attributes, features.n_labels)), features.transition_table(w)
    states[features.attribute, features.label] = w[: features.label.size]
    value = objective.l2 * w @ w
    for s in range(len(X)):
        score = np.asarray(X[s] @ states)
        known = objective.y[X.borders[s] : X.borders[s + 1]]
        every, agreeing = [], []
        for path in itertools.product(range(features.n_labels), repeat=len(score)):
            at = np.array(path)
            total = score[np.arange(at.size), at].sum() + steps[at[:-1], at[1:]].sum()
            every.append(total)
            if ((known == at) | (known < 0)).all():
                agreeing.append(total)
        value += objective.weight[s] * (np.logaddexp.reduce(every) - np.logaddexp.reduce(agreeing))
    return value


@pytest.mark.parametrize("rows", [sparse.csr_array, np.asarray])
def test_text_example_at_zero(rows):
    f, g = text(rows=rows).value_and_gradient(np.zeros(4))
    assert f / 6 == pytest.approx(1.8483924814931874, abs=1e-14)
    np.testing.assert_allclose(text(rows=rows).empirical / 6, [5 / 6, 1.0, 1 / 3, 2 / 3])
    expected = np.array([2 / 3, 2 / 3, 5 / 12, 5 / 12])
    np.testing.assert_allclose(g / 6, expected - [5 / 6, 1.0, 1 / 3, 2 / 3], atol=1e-14)


@pytest.mark.parametrize("algorithm", ["lbfgs", "gd", "newton-cg", "bfgs", *SCALINGS])
@pytest.mark.parametrize(
    ("l2", "w", "f"), [(0.0, W_MLE, 1.5937975766477979), (0.3, W_L2, 1.6566968747663677)]
)
def test_text_example_by_every_algorithm(algorithm, l2, w, f):
    objective = text(l2)

    if algorithm in SCALINGS:
        # without a penalty it takes thousands of passes from zero
        start = np.round(w, 4) if l2 == 0 else None
        found = crf_iterative_scaling(
            MeanObjective(objective), algorithm=algorithm, start=start, max_iter=5000, tol=1e-9
        ).x
    else:
        options = {"max_iter": 5000, "epsilon": 1e-10, "delta": 0.0}
        found = minimise(objective, algorithm=algorithm, steps=Steps, **options)
    np.testing.assert_allclose(found, w, atol=1e-6)
    assert objective.value(found) / 6 == pytest.approx(f, abs=1e-12)


@pytest.mark.parametrize("unknown", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("labels", [2, 3, 9])
def test_value_by_enumeration_and_gradient_by_differences(labels, unknown):
    rng = np.random.default_rng(labels)
    objective = random_data(rng, n=6, labels=labels, most=3 if labels == 9 else 5, unknown=unknown)
    w = rng.normal(size=objective.features.size)
    f, g = objective.value_and_gradient(w)
    assert f == pytest.approx(enumerated(objective, w), rel=1e-12)
    for p in rng.normal(size=(3, w.size)):
        slope = (objective.value(w + 1e-5 * p) - objective.value(w - 1e-5 * p)) / 2e-5
        assert slope == pytest.approx(g @ p, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("features", ["all", "seen"])
def test_pieces_tables_and_threads_change_nothing(monkeypatch, features):
    def both(**more):
        rng = np.random.default_rng(0)
        objective = random_data(rng, n=40, labels=4, unknown=0.2, features=features, **more)
        return objective, rng.normal(size=objective.features.size)

    objective, w = both()
    f, g = objective.value_and_gradient(w)
    again, _ = both(n_jobs=2)
    assert again.value(w) == f
    np.testing.assert_array_equal(again.gradient(w), g)
    monkeypatch.setattr(crf_objective, "CHUNK", 8)
    monkeypatch.setattr(crf_objective, "BLOCK", 32)
    monkeypatch.setattr(crf_features, "WORK", 10)
    one, two = both(n_jobs=1)[0], both(n_jobs=3)[0]
    block = one.blocks[0]
    assert min(len(one.blocks), len(block.chunks), len(block.sums.parts)) > 2
    np.testing.assert_array_equal(one.gradient(w), two.gradient(w))
    np.testing.assert_allclose(one.gradient(w), g, rtol=1e-12, atol=1e-13)
    monkeypatch.setattr(crf_features, "LARGE_TABLE", 0)
    monkeypatch.setattr(crf_features, "SPARSITY", 0)
    assert sparse.issparse(one.features.state_table(w))
    np.testing.assert_allclose(one.gradient(w), g, rtol=1e-12, atol=1e-13)
    dense = ChainObjective(one.X.with_rows(one.X.rows.toarray()), one.y, one.weight, one.features, one.l2)
    np.testing.assert_allclose(dense.gradient(w), g, rtol=1e-12, atol=1e-13)


def test_scores_that_no_double_can_hold_at_once():
    rng = np.random.default_rng(0)
    scores, steps = rng.normal(size=(9, 3)) * 2000, rng.normal(size=(3, 3)) * 2000
    borders, weight = np.array([0, 4, 5, 9]), np.array([1.0, 2.0, 3.0])
    found = chain_marginals(scores, borders, steps, weight)
    edge = np.zeros((3, 3))
    for s in range(3):
        part = scores[borders[s] : borders[s + 1]]
        paths = np.array(list(itertools.product(range(3), repeat=len(part))))
        total = part[np.arange(len(part)), paths].sum(axis=1) + steps[paths[:, :-1], paths[:, 1:]].sum(axis=1)
        log_z = np.logaddexp.reduce(total)
        assert found.log_z[s] == pytest.approx(log_z, rel=1e-13)
        p = np.exp(total - log_z)
        for t in range(len(part)):
            np.testing.assert_allclose(
                found.node[borders[s] + t], np.bincount(paths[:, t], p, minlength=3), atol=1e-9
            )
            if t:
                np.add.at(edge, (paths[:, t - 1], paths[:, t]), weight[s] * p)
    np.testing.assert_allclose(found.edge, edge, atol=1e-9)


def test_merged_features_keep_their_places():
    old = Features(np.array([0, 2]), np.array([1, 0], np.int32), np.array([[0, 1]]), 3, 2)
    new = Features(np.array([0, 1, 3]), np.array([0, 1, 1], np.int32), np.array([[0, 0], [0, 1]]), 4, 2)
    both, places = merge_features(old, new)
    assert list(zip(both.attribute, both.label)) == [(0, 0), (0, 1), (1, 1), (2, 0), (3, 1)]
    np.testing.assert_array_equal(both.transitions, [[0, 0], [0, 1]])
    np.testing.assert_array_equal(places, [1, 3, 6])
    assert both.n_attributes == 4


def test_iterative_scaling_refuses_unknown_labels():
    objective = random_data(np.random.default_rng(0), unknown=0.3)
    with pytest.raises(ValueError, match="needs the labels of all tokens"):
        MeanObjective(objective)
