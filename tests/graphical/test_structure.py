"""Learning the graph: scores by their definitions, searches against enumeration, tests of independence."""

import itertools
from math import lgamma

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2_contingency

from tercet.graphical import BayesianNetwork, topological_order
from tercet.graphical._engine import family_counts
from tercet.graphical.structure.chow_liu import mutual_information
from tercet.graphical.structure.network_score import FamilyScores
from tercet.graphical.structure.pc_stable import independence_test
from tests.graphical.networks import asia, random_network

SEARCHES = ("hill-climbing", "tabu", "k2", "chow-liu", "exact", "pc")


def rows(seed, n=500, d=5, **options):
    X = random_network(seed, d=d, **options).sample(n, random_state=seed)
    return np.column_stack([np.unique(column, return_inverse=True)[1] for column in X.T])


def all_graphs(d):
    """The parents of every directed acyclic graph."""
    pairs = list(itertools.combinations(range(d), 2))
    for ways in itertools.product((None, 0, 1), repeat=len(pairs)):
        edges = [pair if way else pair[::-1] for pair, way in zip(pairs, ways) if way is not None]
        parents = {k: [p for p, c in edges if c == k] for k in range(d)}
        try:
            topological_order(parents)
        except ValueError:
            continue
        yield parents


def scores_of(X, criterion, weight=None, size=10.0):
    sizes = X.max(axis=0) + 1
    weight = np.ones(len(X)) if weight is None else weight
    return FamilyScores(np.ascontiguousarray(X.T), sizes, weight, criterion, size)


def plain_score(X, child, parents, criterion, size=10.0):
    """A family's score by its formula, configuration by configuration."""
    sizes = X.max(axis=0) + 1
    r, q = sizes[child], int(np.prod([sizes[p] for p in parents]))
    likelihood = marginal = 0.0
    a = size / (r * q) if criterion == "bdeu" else 1.0
    for config in itertools.product(*(range(sizes[p]) for p in parents)):
        here = np.ones(len(X), dtype=bool)
        for p, state in zip(parents, config):
            here &= X[:, p] == state
        counts = np.bincount(X[here, child], minlength=r)
        some = counts[counts > 0]
        likelihood += (some * np.log(some / counts.sum())).sum() if some.size else 0.0
        marginal += lgamma(a * r) - lgamma(a * r + counts.sum())
        marginal += sum(lgamma(a + c) - lgamma(a) for c in counts)
    if criterion in ("bdeu", "k2"):
        return -marginal
    f = {"nll": 0.0, "aic": 1.0, "bic": 0.5 * np.log(len(X)), "mdl": 0.5 * np.log(len(X))}[criterion]
    return f * (r - 1) * q - likelihood


@pytest.mark.parametrize("criterion", ["bic", "mdl", "aic", "nll", "bdeu", "k2"])
def test_scores_are_their_formulas(criterion, monkeypatch):
    X = rows(0, n=120)
    families = [(0, []), (3, [1]), (4, [0, 2]), (2, [0, 1, 3])]
    wanted = [plain_score(X, child, parents, criterion) for child, parents in families]
    scores = scores_of(X, criterion)
    np.testing.assert_allclose([scores.family(*family) for family in families], wanted)
    np.testing.assert_allclose(scores.additions(2, [0, 1], [3, 4])[0], wanted[3])
    monkeypatch.setattr(family_counts, "DENSE", 2)  # only configurations that occur are counted
    np.testing.assert_allclose([scores_of(X, criterion).family(*family) for family in families], wanted)
    weight = np.random.default_rng(0).integers(0, 3, size=120)
    weighted = scores_of(X, criterion, weight.astype(float)).total([[], [0], [0, 1], [], [3]])
    repeated = scores_of(np.repeat(X, weight, axis=0), criterion).total([[], [0], [0, 1], [], [3]])
    assert weighted == pytest.approx(repeated)


def test_equivalent_networks_have_equal_scores():
    X = rows(1, d=3)
    for criterion in ("bic", "aic", "bdeu"):
        chains = ([(0, 1), (1, 2)], [(1, 0), (1, 2)], [(2, 1), (1, 0)])
        values = [BayesianNetwork(edges).fit(X).network_score(X, criterion) for edges in chains]
        np.testing.assert_allclose(values, values[0])


@pytest.mark.parametrize("criterion", ["bic", "bdeu"])
@pytest.mark.parametrize("seed", range(3))
def test_the_exact_search_is_that_of_enumeration(seed, criterion):
    X = rows(seed, n=200, d=4)
    scores = scores_of(X, criterion)
    best = min(scores.total([parents[k] for k in range(4)]) for parents in all_graphs(4))
    exact = BayesianNetwork(algorithm="exact", criterion=criterion).fit(X)
    assert exact.network_score(X) == pytest.approx(best)
    for algorithm in ("hill-climbing", "tabu"):
        found = BayesianNetwork(algorithm=algorithm, criterion=criterion, n_restarts=3, random_state=0).fit(X)
        assert best - 1e-9 <= found.network_score(X)
        assert found.network_score(X) <= BayesianNetwork([]).fit(X).network_score(X, criterion)
    limited = BayesianNetwork(algorithm="exact", criterion=criterion, max_parents=1).fit(X)
    wanted = min(
        scores.total([parents[k] for k in range(4)])
        for parents in all_graphs(4)
        if max(map(len, parents.values())) < 2
    )
    assert limited.network_score(X) == pytest.approx(wanted)


def test_a_search_ends_where_no_move_helps():
    X = rows(3, n=800, d=6)
    network = BayesianNetwork().fit(X)
    assert (np.diff(network.history_["score"]) < 0).all()
    scores, here = scores_of(X, "bic"), network.network_score(X)
    parents = [set(own.tolist()) for own in network.parents_]
    for a, b in itertools.permutations(range(6), 2):
        changed = [set(own) for own in parents]
        if a in parents[b]:
            changed[b].discard(a)
            turned = [set(own) for own in changed]
            turned[a].add(b)
        else:
            changed[b].add(a)
            turned = None
        for option in (changed, turned):
            if option is None:
                continue
            try:
                topological_order(dict(enumerate(map(list, option))))
            except ValueError:
                continue
            assert scores.total(option) >= here - 1e-6


def collider(n=4000):
    """a -> c <- b, c -> d."""
    rng = np.random.default_rng(0)
    a, b = rng.integers(2, size=(2, n))
    c = np.where(rng.random(n) < 0.9, a | b, 1 - (a | b))
    d = np.where(rng.random(n) < 0.9, c, 1 - c)
    return np.column_stack([a, b, c, d])


@pytest.mark.parametrize("algorithm", ["hill-climbing", "tabu", "exact", "k2"])
@pytest.mark.parametrize("criterion", ["bic", "bdeu", "k2"])
def test_structure_is_recovered_from_many_rows(algorithm, criterion):
    network = BayesianNetwork(algorithm=algorithm, criterion=criterion).fit(collider())
    assert network.moral_graph() == {0: {1, 2}, 1: {0, 2}, 2: {0, 1, 3}, 3: {2}}


def test_constraints():
    X = rows(3, n=400, d=5)
    for algorithm in ("hill-climbing", "tabu", "k2", "exact", "pc"):
        network = BayesianNetwork(
            algorithm=algorithm,
            required_edges=[(0, 4)],
            forbidden_edges=[(0, 1), (1, 0), (2, 3)],
            max_parents=2 if algorithm != "pc" else None,
        ).fit(X)
        assert (0, 4) in network.edges_
        assert not {(0, 1), (1, 0), (2, 3)} & set(network.edges_)
        if algorithm != "pc":
            assert max(map(len, network.parents_)) <= 2
    empty = BayesianNetwork(max_parents=0).fit(X)
    assert empty.edges_ == []
    backwards = BayesianNetwork(algorithm="k2", order=[4, 3, 2, 1, 0]).fit(X)
    assert all(a > b for a, b in backwards.edges_)
    for parameters, says in (
        ({"required_edges": [(0, 1)], "forbidden_edges": [(0, 1)]}, "0 -> 1 is both required and forbidden"),
        ({"required_edges": [(0, 1), (1, 0)]}, "cycle"),
        ({"required_edges": [(0, 1), (2, 1)], "max_parents": 1}, "more parents than max_parents=1"),
        ({"required_edges": [(0, "z")]}, "required_edges names 'z', which is no variable"),
        ({"required_edges": ["ab"]}, "must be pairs"),
        ({"algorithm": "k2", "order": [0, 1]}, "order must name every variable"),
        ({"algorithm": "k2", "order": [1, 0, 2, 3, 4], "required_edges": [(0, 1)]}, "goes against order"),
        ({"algorithm": "chow-liu", "required_edges": [(0, 1)]}, "takes no required_edges"),
        ({"edges": [(0, 9)]}, "edges names 9"),
    ):
        with pytest.raises(ValueError, match=says):
            BayesianNetwork(**parameters).fit(X)
    with pytest.raises(ValueError, match=r"at most 20 variables.*there are 21"):
        BayesianNetwork(algorithm="exact").fit(np.zeros((3, 21)))
    with pytest.warns(UserWarning, match="did not converge in 2 passes"):
        BayesianNetwork(max_iter=1).fit(X)


def test_chow_liu_is_the_best_tree():
    X = rows(5, n=300, d=5)
    scores = scores_of(X, "nll")
    trees = [
        scores.total([parents[k] for k in range(5)])
        for parents in all_graphs(5)
        if max(map(len, parents.values())) < 2
    ]
    tree = BayesianNetwork(algorithm="chow-liu").fit(X)
    assert len(tree.edges_) == 4
    assert tree.network_score(X, "nll") == pytest.approx(min(trees))
    rooted = BayesianNetwork(algorithm="chow-liu", root=3).fit(X)
    assert rooted.parents_[3].size == 0
    assert rooted.network_score(X, "nll") == pytest.approx(min(trees))
    information = mutual_information(np.ascontiguousarray(X.T), X.max(axis=0) + 1, np.ones(300))
    np.testing.assert_allclose(information, information.T)
    assert (information >= 0).all()


def test_independence_tests_are_those_of_scipy():
    rng = np.random.default_rng(0)
    counts = rng.integers(1, 30, size=(1, 3, 4))
    for name, power in (("chi2", "pearson"), ("g2", "log-likelihood")):
        wanted = chi2_contingency(counts[0], correction=False, lambda_=power)
        statistic, p, freedom = independence_test(counts, name)
        np.testing.assert_allclose([statistic, p, freedom], [wanted.statistic, wanted.pvalue, wanted.dof])
    bits, p, _ = independence_test(counts, "mutual-information")
    g2, same, _ = independence_test(counts, "g2")
    assert bits == pytest.approx(g2 / (2 * counts.sum()))
    assert p == same
    assert independence_test(np.zeros((2, 2, 2)))[1] == 1.0


@pytest.mark.parametrize("test", ["g2", "chi2", "mutual-information"])
def test_without_degrees_of_freedom_nothing_is_tested(test):
    determined = np.array([[[8, 3], [0, 0]], [[0, 0], [2, 9]]])  # the condition is the first variable
    statistic, p, freedom = independence_test(determined, test)
    assert (statistic, freedom) == (0, 0)
    assert np.isnan(p)
    constant = np.array([[[8, 3], [0, 0]], [[4, 7], [0, 0]]])  # the first variable has one state in all rows
    assert independence_test(constant, test) == (0, 1.0, 0)


@pytest.mark.parametrize("test", ["g2", "chi2"])
def test_pc_keeps_edges_of_a_node_that_others_determine(test):
    truth = asia()  # lung and tub determine either: given both, nothing can be tested about either and xray
    X = pd.DataFrame(truth.sample(20_000, random_state=1), columns=truth.nodes_)
    found = BayesianNetwork(algorithm="pc", test=test).fit(X)
    edges = {frozenset(edge) for edge in found.edges_}
    assert {frozenset(("either", "xray")), frozenset(("either", "dysp"))} <= edges
    assert {frozenset(edge) for edge in truth.edges_} <= edges | {frozenset(("asia", "tub"))}  # 1 % in Asia
    assert {("tub", "either"), ("lung", "either")} <= set(found.edges_)


def test_pc_does_not_extend_conditions_that_leave_nothing_to_test(monkeypatch):
    """Columns that determine each other: all edges stay, and no condition of two variables is tried."""
    made = []

    def counted(columns, sizes, chosen, weight):
        made.append(len(chosen) - 2)
        return family_counts.contingency(columns, sizes, chosen, weight)

    monkeypatch.setattr("tercet.graphical.structure.pc_stable.contingency", counted)
    X = np.random.default_rng(0).integers(3, size=(60, 1)) + np.arange(10)
    found = BayesianNetwork(algorithm="pc").fit(X)
    assert len(found.edges_) == 45
    assert np.bincount(made).tolist() == [45, 2 * 45 * 8]  # around either end of an edge


def test_pc_keeps_families_to_what_a_table_can_hold():
    X = np.random.default_rng(0).integers(3, size=(60, 1)) + np.arange(16)
    with pytest.warns(UserWarning, match="more parents than one table can hold"):
        found = BayesianNetwork(algorithm="pc").fit(X)
    assert max(map(len, found.parents_)) == 12  # 3^13 cells
    few = BayesianNetwork(algorithm="pc", max_parents=2).fit(X)
    assert max(map(len, few.parents_)) == 2


def test_pc_leaves_constant_columns_alone():
    X = np.column_stack([collider(), np.ones(len(collider()))])
    assert all(4 not in edge for edge in BayesianNetwork(algorithm="pc", level=0.01).fit(X).edges_)


@pytest.mark.parametrize("test", ["g2", "chi2", "mutual-information"])
def test_pc_finds_a_collider_and_does_not_depend_on_the_order(test):
    X = collider()
    network = BayesianNetwork(algorithm="pc", test=test, level=0.01).fit(X)
    assert set(network.edges_) == {(0, 2), (1, 2), (2, 3)}
    order = [3, 1, 0, 2]
    turned = BayesianNetwork(algorithm="pc", test=test, level=0.01).fit(X[:, order])
    assert {(order[p], order[q]) for p, q in turned.edges_} == set(network.edges_)
    short = BayesianNetwork(algorithm="pc", test=test, level=0.01, max_conditions=0).fit(X)
    assert len(short.edges_) > 3


@pytest.mark.parametrize("algorithm", SEARCHES)
def test_missing_cells_and_constant_columns(algorithm):
    X = rows(2, n=300, d=4).astype(float)
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    X = np.column_stack([X, np.ones(300), np.full(300, np.nan)])
    network = BayesianNetwork(algorithm=algorithm, random_state=0).fit(X)
    assert np.isfinite(network.score(X))
    assert network.states_[4] == [1]
    for n_jobs in (2, 3):
        other = BayesianNetwork(algorithm=algorithm, random_state=0, n_jobs=n_jobs).fit(X)
        assert other.edges_ == network.edges_
        assert all(np.array_equal(a, b) for a, b in zip(other.tables_, network.tables_))


def test_restarts_are_decided_by_the_seed():
    X = rows(9, n=200, d=6)
    one, two = (BayesianNetwork(n_restarts=4, random_state=5).fit(X) for _ in range(2))
    assert one.edges_ == two.edges_
    assert one.network_score(X) <= BayesianNetwork().fit(X).network_score(X) + 1e-9
