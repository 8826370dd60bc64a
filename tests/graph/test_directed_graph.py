"""Directed graphs: what they are made of, connectivity, periods, random walks."""

import itertools
import pickle

import networkx
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from tercet.graph import DirectedGraph, random_walk, transition_matrix, walk_distributions

EDGES = {"A": ["B", "C", "D"], "B": ["A", "D"], "C": ["A"], "D": ["B", "C"]}
PAIRS = [(source, target) for source, targets in EDGES.items() for target in targets]
A = np.array([[0, 1, 1, 1], [1, 0, 0, 1], [1, 0, 0, 0], [0, 1, 1, 0]], dtype=float)


@pytest.mark.parametrize(
    "given",
    [
        EDGES,
        {source: dict.fromkeys(targets, 1) for source, targets in EDGES.items()},
        PAIRS,
        [(*pair, 1.0) for pair in PAIRS],
        pd.DataFrame(A, columns=list("ABCD"), index=list("ABCD")),
        pd.DataFrame(PAIRS, columns=["from", "to"]),
        networkx.DiGraph(PAIRS),
        np.array(PAIRS),
    ],
)
def test_forms_of_one_graph(given):
    graph = DirectedGraph(given)
    assert graph.nodes == list("ABCD")
    assert np.array_equal(graph.adjacency.toarray(), A)
    assert graph.n_edges == 8


@pytest.mark.parametrize(
    "given",
    [
        A,
        A.tolist(),
        sparse.csr_matrix(A),
        sparse.csc_array(A),
        sparse.coo_array(A),
        A.astype(bool),
        A.astype(np.uint8),
    ],
)
def test_matrices(given):
    graph = DirectedGraph(given)
    assert graph.names is None
    assert graph.nodes == [0, 1, 2, 3]
    assert np.array_equal(graph.adjacency.toarray(), A)
    assert DirectedGraph(given, nodes=list("wxyz")).path("y", "z") == ["y", "w", "z"]


def test_csr_is_not_copied():
    given = sparse.csr_array(A)
    graph = DirectedGraph(given)
    assert np.shares_memory(graph.adjacency.data, given.data)
    assert np.shares_memory(graph.adjacency.indices, given.indices)
    with_zero = sparse.csr_array(([1.0, 0.0], [1, 0], [0, 1, 2]), shape=(2, 2))
    assert DirectedGraph(with_zero).n_edges == 1
    assert with_zero.nnz == 2, "the caller's matrix was changed"


def test_repeated_edges_count_and_networkx_weights():
    graph = DirectedGraph([(0, 1), (0, 1), (1, 0)])
    assert graph.adjacency.toarray().tolist() == [[0, 2], [1, 0]]
    undirected = networkx.Graph([("v", "v")])
    undirected.add_edge("u", "v", weight=2.5)
    both = DirectedGraph(undirected)
    assert both.nodes == ["v", "u"]
    assert both.adjacency.toarray().tolist() == [[1, 2.5], [2.5, 0]]
    arrays = DirectedGraph.from_edges([0, 0, 2], [1, 1, 0], [1.0, 2.0, 0.0], n_nodes=4)
    assert arrays.n_edges == 1
    assert arrays.adjacency[0, 1] == 3
    assert arrays.isolated_nodes().tolist() == [2, 3]
    assert DirectedGraph(np.array([[0, 1, 2.0], [5, 0, 1.0]])).nodes == [0, 1, 5]
    columns = pd.DataFrame({"from": [7, 7, 9], "to": [9, 9, 7], "weight": [1.0, 2.0, 4.0]}).iloc[[0, 1, 2, 2]]
    assert DirectedGraph(columns).nodes == [7, 9]
    assert DirectedGraph(columns).adjacency.toarray().tolist() == [[0, 3], [8, 0]]
    assert DirectedGraph(np.array([[0, 1], [1, 2], [2, 0]])).names is None


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        (-A, {}, r"at least 0; got -1.0 for the edge 0 -> 1"),
        ([("a", "b", -2)], {}, "got -2.0 for the edge 'a' -> 'b'"),
        ([("a", "b", np.nan)], {}, "got nan for the edge 'a' -> 'b'"),
        (np.array([[7, 9, 1], [9, 7, -1]]), {}, "got -1.0 for the edge 9 -> 7"),
        (np.zeros((0, 2)), {}, "no nodes"),
        (sparse.csr_array([[0, np.inf], [1, 0]]), {}, "got inf for the edge 0 -> 1"),
        (np.full((3, 3), np.nan), {}, "got nan for the edge 0 -> 0"),
        (np.full((3, 3), 1e308) * np.array([1, 0.9, 1]), {}, "add up to infinity"),
        (A[:2], {}, r"must be square; the shape is \(2, 4\)"),
        (np.zeros((0, 0)), {}, "no nodes"),
        ([], {}, "no nodes"),
        (np.ones(3), {}, "must be square"),
        (np.full((4, 4), "a"), {}, "must be numbers; the matrix is of dtype"),
        (np.full((2, 2), 1j), {}, "must be numbers"),
        ([[1, 0], [1]], {}, "one length"),
        (A, {"nodes": ["a"]}, "each of 4 nodes; got 1 names"),
        (A, {"nodes": list("abca")}, "'a' is there twice"),
        ([(0, 1)], {"nodes": [0, 2]}, r"the edge \(0, 1\) joins a node that is not among nodes"),
        ([(0, 1, 2, 3)], {}, r"\(source, target\) or \(source, target, weight\); got \(0, 1, 2, 3\)"),
        ([(0, 1, "x")], {}, "edge weights must be numbers"),
        (pd.DataFrame(np.ones((3, 5))), {}, "data frame must be square"),
    ],
)
def test_what_is_no_graph(given, options, message):
    with pytest.raises(ValueError, match=message):
        DirectedGraph(given, **options)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("text", "graph must be a square adjacency matrix"),
        (5, "graph must be"),
        (None, "graph must be"),
        ({"home": "about"}, "targets of 'home' must be a list or a dict; got 'about'"),
        ([([0], 1)], "hashable"),
    ],
)
def test_what_is_no_kind_of_graph(given, message):
    with pytest.raises(TypeError, match=message):
        DirectedGraph(given)


def test_edges_out_of_range():
    with pytest.raises(ValueError, match="target must hold nodes from 0 to 2; got 3"):
        DirectedGraph.from_edges([0], [3], n_nodes=3)
    with pytest.raises(ValueError, match="vectors of one length"):
        DirectedGraph.from_edges([0, 1], [1])
    broken = sparse.csr_array(A)
    broken.indices = broken.indices + 3
    with pytest.raises(ValueError, match="graph is not a valid CSR matrix"):
        DirectedGraph(broken)


def test_paths_and_components():
    graph = DirectedGraph({"a": ["b"], "b": ["c"], "c": ["b", "d"], "d": [], "e": ["a"]})
    assert graph.path("e", "d") == ["e", "a", "b", "c", "d"]
    assert graph.path("d", "a") is None
    assert graph.path("b", "b") == ["b"]
    assert graph.strongly_connected_components() == [["a"], ["b", "c"], ["d"], ["e"]]
    assert graph.periods().tolist() == [0, 2, 2, 0, 0]
    assert [graph.name(k) for k in graph.dangling_nodes()] == ["d"]
    with pytest.raises(KeyError, match="'z' is not a node"):
        graph.path("a", "z")
    with pytest.raises(KeyError, match="-1 is not a node"):
        DirectedGraph(A).index(-1)
    assert pickle.loads(pickle.dumps(graph)).path("e", "d") == graph.path("e", "d")


@pytest.mark.parametrize("lengths", [(3,), (4, 6), (2, 3), (6, 10, 15), (1,)])
def test_the_period_is_the_common_divisor_of_cycle_lengths(lengths):
    """Cycles through one node."""
    edges, fresh = [], 1
    for length in lengths:
        nodes = [0, *range(fresh, fresh + length - 1), 0]
        fresh += length - 1
        edges += list(itertools.pairwise(nodes))
    graph = DirectedGraph(edges)
    assert graph.period() == np.gcd.reduce(lengths)
    assert set(graph.periods()) == {graph.period()}
    assert graph.is_aperiodic() == (graph.period() == 1)
    assert graph.is_strongly_connected()


@pytest.mark.parametrize("seed", range(20))
def test_periods_and_components_by_powers_of_the_matrix(seed):
    rng = np.random.default_rng(seed)
    n = 6
    A = rng.random((n, n)) < (0.15, 0.25, 0.4)[seed % 3]
    power, lengths, reach = np.eye(n, dtype=bool), [[] for _ in range(n)], np.eye(n, dtype=bool)
    for length in range(1, 41):
        power = power @ A
        reach |= power
        for i in np.flatnonzero(np.diag(power)):
            lengths[i].append(length)
    graph = DirectedGraph(A)
    assert graph.periods().tolist() == [int(np.gcd.reduce(found)) if found else 0 for found in lengths]
    together = {tuple(np.flatnonzero(reach[i] & reach[:, i]).tolist()) for i in range(n)}
    assert {tuple(group) for group in graph.strongly_connected_components()} == together
    assert graph.is_strongly_connected() == bool(reach.all())
    for i, j in itertools.product(range(n), repeat=2):
        assert (graph.path(i, j) is not None) == reach[i, j]


def test_no_cycle_is_not_aperiodic():
    graph = DirectedGraph([(0, 1)])
    assert graph.period() == 0
    assert not graph.is_aperiodic()


def test_transition_matrix():
    M = transition_matrix(EDGES).toarray()
    assert np.allclose(
        M, [[0, 1 / 2, 1, 0], [1 / 3, 0, 0, 1 / 2], [1 / 3, 0, 0, 1 / 2], [1 / 3, 1 / 2, 0, 0]]
    )
    assert np.array_equal(transition_matrix(EDGES, convention="row").toarray(), M.T)
    weighted = transition_matrix([(0, 1, 3.0), (0, 2, 1.0), (1, 0, 1e-320)])
    assert np.array_equal(weighted.toarray(), [[0, 1, 0], [0.75, 0, 0], [0.25, 0, 0]])
    filled = [
        transition_matrix([(0, 1), (0, 2), (1, 0)], dangling=d).toarray()[:, 2]
        for d in ("uniform", "self-loop")
    ]
    assert np.allclose(filled, [[1 / 3] * 3, [0, 0, 1]])
    with pytest.raises(
        ValueError, match="dangling must be one of 'vanish', 'uniform', 'self-loop'; got 'no'"
    ):
        transition_matrix(EDGES, dangling="no")
    with pytest.raises(ValueError, match="convention must be"):
        transition_matrix(EDGES, convention="no")
    with pytest.raises(ValueError, match="start must have 4 numbers"):
        walk_distributions(M, [1, 0], 2)


def test_walks_visit_nodes_in_their_shares():
    graph = DirectedGraph([("u", "v", 3.0), ("u", "w", 1.0), ("v", "u"), ("w", "u")])
    walk = random_walk(graph, 4000, start="u", random_state=0)
    assert walk == random_walk(graph, 4000, start="u", random_state=0)
    assert len(walk) == 4001
    assert walk.count("u") == 2001
    assert abs(walk.count("v") / 2000 - 0.75) < 0.04
    assert len(random_walk([(0, 1)], 10, start=0)) == 2
    with pytest.raises(ValueError, match="n_steps must be a whole number of at least 0; got -1"):
        random_walk(graph, -1)


TRIPLES = [("a", "b", 1.0), ("b", "c", 2.0), ("c", "a", 4.0)]


@pytest.mark.parametrize("frame_of", [pd.DataFrame, lambda data: pl.DataFrame(data)])
@pytest.mark.parametrize("ends", ["names", "numbers"])
@pytest.mark.parametrize("n", [2, 3, 4])
def test_a_frame_of_edges_may_be_square(frame_of, ends, n):
    edges = [*TRIPLES, ("a", "c", 8.0)][:n]
    if ends == "numbers":
        edges = [("abc".index(u), "abc".index(v), w) for u, v, w in edges]
    wanted = DirectedGraph(edges)
    source, target, weight = (list(column) for column in zip(*edges))
    for names in (("source", "target", "weight"), ("From", "To", "cost"), ("src", "dst", "w")):
        graph = DirectedGraph(frame_of(dict(zip(names, (source, target, weight)))))
        assert graph.names == wanted.names
        assert (graph.adjacency != wanted.adjacency).nnz == 0
    # in another order, and among other columns
    turned = DirectedGraph(frame_of({"weight": weight, "target": target, "source": source}))
    assert (turned.adjacency != wanted.adjacency).nnz == 0
    more = frame_of({"id": source, "target": target, "source": source, "weight": weight, "cost": weight})
    assert (DirectedGraph(more).adjacency != wanted.adjacency).nnz == 0
    assert (DirectedGraph(more, weight="cost").adjacency != wanted.adjacency).nnz == 0
    unweighted = DirectedGraph(frame_of({"source": source, "target": target}))
    assert unweighted.n_edges == n
    assert not unweighted.is_weighted()


def test_names_in_columns_are_edges_whatever_the_columns_are_called():
    frame = pd.DataFrame(TRIPLES)
    assert DirectedGraph(frame).nodes == ["a", "b", "c"]
    assert DirectedGraph(frame).adjacency[2, 0] == 4.0
    assert DirectedGraph(np.array(TRIPLES, dtype=object)).adjacency[2, 0] == 4.0
    with pytest.raises(ValueError, match="edge weights must be numbers; the matrix is of dtype object"):
        DirectedGraph(np.ones((3, 3), dtype=object))
    assert DirectedGraph(np.array([["u", "v"], ["v", "u"]])).nodes == ["u", "v"]


@pytest.mark.parametrize("n", [2, 3])
def test_a_small_square_frame_of_numbers_is_a_matrix_only_if_it_says_so(n):
    A = np.arange(1, n * n + 1).reshape(n, n)
    names = list("abc")[:n]
    labelled = DirectedGraph(pd.DataFrame(A, columns=names, index=names))
    assert labelled.nodes == names
    np.testing.assert_array_equal(labelled.adjacency.toarray(), A)
    called = ["source", "target", "weight"][:n]  # nodes may be called anything
    graph = DirectedGraph(pd.DataFrame(A, columns=called, index=called))
    np.testing.assert_array_equal(graph.adjacency.toarray(), A)
    shares = DirectedGraph(pd.DataFrame(A / 7, columns=names))  # ends of edges are no fractions
    np.testing.assert_array_equal(shares.adjacency.toarray(), A / 7)
    for frame in (pd.DataFrame(A), pd.DataFrame(A, columns=names), pl.DataFrame(A, schema=names)):
        with pytest.raises(ValueError, match=rf"graph: .* of shape \({n}, {n}\) .* may be .* source, target"):
            DirectedGraph(frame)
    np.testing.assert_array_equal(DirectedGraph(A, nodes=names).adjacency.toarray(), A)


def test_larger_square_frames_are_matrices():
    A = np.arange(16).reshape(4, 4)
    for frame in (pd.DataFrame(A, columns=list("abcd")), pl.DataFrame(A, schema=list("abcd"))):
        graph = DirectedGraph(frame)
        assert graph.nodes == list("abcd")
        np.testing.assert_array_equal(graph.adjacency.toarray(), A)
