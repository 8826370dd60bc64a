"""The conditional random field on any graph, and log-linear fields: against enumeration and finite differences."""

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from tercet.graphical import GraphCRF, MarkovRandomField
from tercet.sequence import CRF

RING = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (1, 3)]


def data(seed=0, n=5, d=2, classes=3):
    rng = np.random.default_rng(seed)
    X = [rng.normal(size=(n, d)) for _ in range(40)]
    y = [np.digitize(part[:, 0] + 0.5 * np.roll(part[:, 0], 1), [-0.5, 0.5])[:n] % classes for part in X]
    return X, y, [RING] * 40


def joint_of(model, X, edges):
    """P(y | x) of every labelling, by the definition."""
    nodes, K = X @ model.coef_.T + model.intercept_, len(model.classes_)
    found = {}
    for labels in itertools.product(range(K), repeat=len(X)):
        score = sum(nodes[v, k] for v, k in enumerate(labels))
        found[labels] = score + sum(model.edge_coef_[0, labels[u], labels[v]] for u, v in edges)
    weights = np.exp(np.array(list(found.values())) - max(found.values()))
    return dict(zip(found, weights / weights.sum()))


def test_marginals_and_modes_are_those_of_enumeration():
    X, y, edges = data()
    model = GraphCRF().fit(X, y, edges=edges)
    joint = joint_of(model, X[0], RING)
    wanted = np.zeros((5, 3))
    for labels, p in joint.items():
        wanted[range(5), labels] += p
    np.testing.assert_allclose(model.predict_proba(X[:1], edges=edges[:1])[0], wanted, atol=1e-10)
    best = max(joint, key=joint.get)
    assert model.predict(X[0], edges=RING).tolist() == list(best)
    single = GraphCRF(decoding="posterior").fit(X, y, edges=edges).predict(X[0], edges=RING)
    assert single.tolist() == wanted.argmax(axis=1).tolist()
    log = model.log_probability(X[0], list(best), edges=RING)
    assert np.exp(log) == pytest.approx(joint[best])
    # (11.8): given its neighbours, a label does not depend on the others
    for v in range(5):
        near = {b for a, b in RING if a == v} | {a for a, b in RING if b == v}
        seen = {}
        for rest in itertools.product(range(3), repeat=5):
            p = np.array([joint[(*rest[:v], k, *rest[v + 1 :])] for k in range(3)])
            key = tuple(rest[u] for u in sorted(near))
            np.testing.assert_allclose(seen.setdefault(key, p / p.sum()), p / p.sum(), atol=1e-10)


def test_the_optimum_is_one():
    X, y, edges = data()
    model = GraphCRF(C=0.7, tol=1e-9).fit(X, y, edges=edges)

    def objective(coef, intercept, pairs):
        model.coef_, model.intercept_, model.edge_coef_ = coef, intercept, pairs
        loss = -sum(model.log_probability(a, b, edges=RING) for a, b in zip(X[:6], y[:6]))
        return loss

    few = GraphCRF(C=0.7, tol=1e-9).fit(X[:6], y[:6], edges=edges[:6])
    start = few.coef_, few.intercept_, few.edge_coef_
    model.classes_ = few.classes_
    rng = np.random.default_rng(0)

    def value(t, direction):
        moved = [part + t * step for part, step in zip(start, direction)]
        penalty = 0.5 * ((moved[0] ** 2).sum() + (moved[2] ** 2).sum())
        return penalty + 0.7 * objective(*moved)

    for _ in range(3):
        direction = [rng.normal(size=part.shape) for part in start]
        direction[2] = direction[2] + direction[2].transpose(0, 2, 1)
        slope = (value(1e-4, direction) - value(-1e-4, direction)) / 2e-4
        assert abs(slope) < 1e-4
    np.testing.assert_allclose(few.edge_coef_, few.edge_coef_.transpose(0, 2, 1))


def test_without_edges_it_is_logistic_regression():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=80), [-0.5, 0.5])
    ours = GraphCRF(tol=1e-9).fit(X, y, sample_weight=np.arange(80) % 3)
    theirs = LogisticRegression(tol=1e-10, max_iter=5000).fit(X, y, sample_weight=np.arange(80) % 3)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)


def test_a_chain_is_the_linear_chain():
    rng = np.random.default_rng(0)
    y = [np.repeat(rng.integers(2, size=4), 3) for _ in range(12)]
    X = [np.column_stack([labels + 0.8 * rng.normal(size=12), np.ones(12)]) for labels in y]
    chains = [[(i, i + 1) for i in range(11)]] * 12
    ours = GraphCRF(C=1.0, directed=True, fit_intercept=False, tol=1e-9, max_iter=2000).fit(
        X, y, edges=chains
    )
    theirs = CRF(c2=0.5, max_iterations=2000, epsilon=1e-9).fit(X, y)
    for a, b in zip(ours.predict_proba(X, edges=chains), theirs.predict_proba(X)):
        np.testing.assert_allclose(a, b, atol=1e-3)


def test_loopy_marginals_are_exact_on_trees_and_near_on_loops():
    X, y, _ = data()
    tree = [[(0, 1), (1, 2), (1, 3), (3, 4)]] * 40
    exact, loopy = (GraphCRF(algorithm=name, tol=1e-8).fit(X, y, edges=tree) for name in ("exact", "loopy"))
    np.testing.assert_allclose(loopy.coef_, exact.coef_, atol=1e-3)
    for a, b in zip(exact.predict_proba(X, edges=tree), loopy.predict_proba(X, edges=tree)):
        np.testing.assert_allclose(a, b, atol=1e-3)
    near = GraphCRF(algorithm="loopy").fit(X, y, edges=[RING] * 40)
    found = near.predict_proba(X, edges=[RING] * 40)
    near.algorithm = "exact"
    for a, b in zip(found, near.predict_proba(X, edges=[RING] * 40)):
        np.testing.assert_allclose(a, b, atol=0.1)
    assert near.score(X, y, edges=[RING] * 40) > 0.6


def test_one_graph_of_parts_is_several_graphs():
    X, y, edges = data()
    together = np.concatenate([np.array(RING) + 5 * k for k in range(40)])
    one = GraphCRF(tol=1e-9).fit(np.concatenate(X), np.concatenate(y), edges=together)
    many = GraphCRF(tol=1e-9).fit(X, y, edges=edges)
    np.testing.assert_allclose(one.coef_, many.coef_, atol=1e-6)
    assert isinstance(many.predict(X, edges=edges), list)
    weight = np.arange(40) % 3
    weighted = GraphCRF(tol=1e-9).fit(X, y, sample_weight=weight, edges=edges)
    repeated = GraphCRF(tol=1e-9).fit(
        [part for part, w in zip(X, weight) for _ in range(w)],
        [part for part, w in zip(y, weight) for _ in range(w)],
        edges=[RING] * int(weight.sum()),
    )
    np.testing.assert_allclose(weighted.edge_coef_, repeated.edge_coef_, atol=1e-5)


def test_features_of_edges():
    X, y, edges = data()
    strength = [np.random.default_rng(k).random((6, 2)) for k in range(40)]
    model = GraphCRF().fit(X, y, edges=edges, edge_features=strength)
    assert model.edge_coef_.shape == (2, 3, 3)
    same = GraphCRF().fit(X, y, edges=edges, edge_features=[np.ones((6, 1))] * 40)
    np.testing.assert_allclose(same.edge_coef_, GraphCRF().fit(X, y, edges=edges).edge_coef_)
    with pytest.raises(ValueError, match="edge_features must have 2 columns, as in fit; got 1"):
        model.predict(X, edges=edges)


def test_bad_graphs(monkeypatch):
    X, y, edges = data()
    for call, says in (
        (
            lambda: GraphCRF().fit(X[0], y[0], edges=[(0, 9)]),
            "edges must join rows of X, from 0 to 4; got 0 to 9",
        ),
        (lambda: GraphCRF().fit(X[0], y[0], edges=[(2, 2)]), "row 2 is joined to itself"),
        (lambda: GraphCRF().fit(X[0], y[0], edges=[(0.5, 1)]), "pairs of row numbers"),
        (lambda: GraphCRF().fit(X, y, edges=edges[:3]), "edges must be such a list"),
        (lambda: GraphCRF().fit(X, y[:3], edges=edges), "y must be such a list"),
        (lambda: GraphCRF().fit(X, y, edges=[[(0, 7)]] * 40), "edges of graph 0 must join its nodes"),
        (lambda: GraphCRF().fit(X[0], y[0], edges=RING, edge_features=[[1.0]]), "edge_features must be"),
        (lambda: GraphCRF().fit(X, y).log_probability(X[0], [9] * 5), "y must have a label"),
    ):
        with pytest.raises(ValueError, match=says):
            call()
    grid = [(12 * i + j, 12 * i + j + 1) for i in range(12) for j in range(11)]
    grid += [(12 * i + j, 12 * i + j + 12) for i in range(11) for j in range(12)]
    rng = np.random.default_rng(0)
    Z, labels = rng.normal(size=(144, 1)), rng.integers(3, size=144)
    monkeypatch.setenv("TERCET_MEMORY", "1e7")
    with pytest.raises(ValueError, match=r"algorithm='loopy' needs none.* would need a table of .* cells"):
        GraphCRF().fit(Z, labels, edges=grid)
    GraphCRF(algorithm="loopy", max_iter=5).fit(Z, labels, edges=grid)


def test_log_linear_fields():
    truth = MarkovRandomField.from_energies(
        {("u", "v"): 0.5, ("v", "w"): -0.3}, {"u": 0.2, "v": -0.1, "w": 0.0}
    )
    joint = truth.joint()
    cells = np.random.default_rng(0).choice(8, size=50_000, p=joint.ravel())
    X = pd.DataFrame(2 * np.array(np.unravel_index(cells, joint.shape)).T - 1, columns=["u", "v", "w"])
    field = MarkovRandomField.from_data(X, [("u", "v"), ("v", "w")], "exponential")
    assert field.alphas["u", "v"] == pytest.approx(0.5, abs=0.02)
    assert field.alphas["v", "w"] == pytest.approx(-0.3, abs=0.02)
    assert field.betas["u"] == pytest.approx(0.2, abs=0.02)
    tables = MarkovRandomField.from_data(X, [("u", "v"), ("v", "w")])
    # maximum likelihood: the marginals of the cliques are those of the data
    for clique in (["u", "v"], ["v", "w"]):
        counts = X.groupby(clique).size().to_numpy().reshape(2, 2) / len(X)
        np.testing.assert_allclose(tables.marginal(clique), counts, atol=1e-4)
    strong = MarkovRandomField.from_data(X, [("u", "v")], penalty=1e9)
    np.testing.assert_allclose(strong.marginal(["u"]), 0.5, atol=1e-3)
    weight = np.arange(20) % 3
    rows = X.head(20)
    one = MarkovRandomField.from_data(rows, [("u", "v")], penalty=1.0, sample_weight=weight)
    other = MarkovRandomField.from_data(rows.loc[rows.index.repeat(weight)], [("u", "v")], penalty=1.0)
    np.testing.assert_allclose(one.marginal(["u", "v"]), other.marginal(["u", "v"]), atol=1e-5)
    for arguments, says in (
        ((X, [("u", "z")]), "cliques must hold different columns"),
        ((X, [("u", "v")], "quadratic"), "potentials must be"),
        ((X.assign(u="a"), [("u", "v")], "exponential"), "values that are numbers"),
        ((X.astype(float).mask(X > 0), [("u", "v")]), "missing value in column 'u'"),
        (([[1], [1, 2]], [(0,)]), "rows of equal length"),
    ):
        with pytest.raises(ValueError, match=says):
            MarkovRandomField.from_data(*arguments)
    with pytest.raises(ValueError, match="X holds 1 in column 'u'; its values are"):
        MarkovRandomField.from_data(X, [("u",)], values=[-1, 0])
