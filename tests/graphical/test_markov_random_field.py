"""Cliques, Markov properties and factorisation: against enumeration, and the theorem that joins them."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tercet.graphical import (
    MarkovRandomField,
    directed,
    exponential_potential,
    factorise,
    independent,
    is_clique,
    markov_blanket,
    markov_property,
    markov_statements,
    maximal_cliques,
    separates,
    undirected,
)

KINDS = ("pairwise", "local", "global")
SQUARE = [(0, 1), (1, 2), (2, 3), (3, 0)]


@st.composite
def graphs(draw, most=5):
    n = draw(st.integers(1, most))
    pairs = list(itertools.combinations(range(n), 2))
    return n, [pair for pair in pairs if draw(st.booleans())]


@given(graphs(7))
def test_maximal_cliques_are_those_of_enumeration(graph):
    n, edges = graph
    around = undirected(edges, range(n))
    subsets = [set(c) for size in range(1, n + 1) for c in itertools.combinations(range(n), size)]
    cliques = [c for c in subsets if all(v in around[u] for u, v in itertools.permutations(c, 2))]
    assert [c for c in subsets if is_clique(around, c)] == cliques
    largest = [c for c in cliques if not any(c < other for other in cliques)]
    assert maximal_cliques(edges, range(n)) == sorted(largest, key=sorted)


@given(graphs())
def test_separation_is_that_of_paths(graph):
    n, edges = graph
    around = undirected(edges, range(n))

    def reaches(u, v, C, seen):
        return u == v or any(reaches(w, v, C, {*seen, w}) for w in around[u] - C - seen)

    for u, v in itertools.combinations(range(n), 2):
        rest = set(range(n)) - {u, v}
        for size in range(len(rest) + 1):
            for C in map(set, itertools.combinations(sorted(rest), size)):
                assert separates(around, C, {u}, {v}) is not reaches(u, v, C, {u})


def test_graphs_in_all_forms():
    wanted = {0: frozenset({1}), 1: frozenset({0}), 2: frozenset()}
    matrix = np.array([[0, 1, 0], [0, 0, 0], [0, 0, 0]])
    for form in ({0: [1], 1: [], 2: []}, matrix, {0: {1}, 1: {0}, 2: set()}):
        assert undirected(form) == wanted
    assert undirected(np.array([[0, 1]]), nodes=range(3)) == wanted
    assert list(undirected([("b", "a"), ("a", 1)])) == ["b", "a", 1]
    assert maximal_cliques([]) == []
    assert markov_blanket(SQUARE, 0) == {1, 3}
    with pytest.raises(ValueError, match=r"two different nodes; got \(1, 1\)"):
        undirected([(1, 1)])
    with pytest.raises(ValueError, match=r"not in nodes: \[2\]"):
        undirected([(1, 2)], nodes=[1])
    with pytest.raises(ValueError, match="4 is not a node"):
        markov_blanket(SQUARE, 4)
    with pytest.raises(ValueError, match="share no node"):
        separates(SQUARE, {1}, {1}, {2})
    with pytest.raises(ValueError, match="kind must be"):
        markov_statements(SQUARE, "weak")


@settings(deadline=None, max_examples=30)
@given(graphs(), st.integers(0, 10_000))
def test_hammersley_and_clifford(graph, seed):
    # A product of positive potentials has every Markov property, and comes apart again.
    n, edges = graph
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 4, n)
    cliques = [tuple(sorted(c)) for c in maximal_cliques(edges, range(n))]
    potentials = {c: rng.random([sizes[v] for v in c]) + 0.1 for c in cliques}
    joint = MarkovRandomField(potentials).joint()
    assert joint.sum() == pytest.approx(1)
    assert all(markov_property(joint, edges, kind, nodes=range(n)) for kind in KINDS)
    found = factorise(joint, edges, nodes=range(n))
    assert list(found) == cliques
    np.testing.assert_allclose(MarkovRandomField(found).joint(), joint, atol=1e-12)
    # and some other positive P has none of them, unless the graph claims nothing
    other = rng.random(joint.shape) + 0.1
    other /= other.sum()
    complete = len(edges) == n * (n - 1) // 2
    assert [markov_property(other, edges, kind, nodes=range(n)) for kind in KINDS] == [complete] * 3
    assert (factorise(other, edges, nodes=range(n)) is not None) == complete


@settings(deadline=None, max_examples=15)
@given(graphs(4), st.integers(0, 10_000))
def test_global_statements_imply_all_the_others(graph, seed):
    n, edges = graph
    rng = np.random.default_rng(seed)
    tables = {tuple(sorted(c)): rng.random([2] * len(c)) + 0.1 for c in maximal_cliques(edges, range(n))}
    joint = MarkovRandomField(tables).joint()
    for sides in itertools.product("ABC-", repeat=n):
        A, B, C = ([v for v in range(n) if sides[v] == name] for name in "ABC")
        if A and B and separates(undirected(edges, range(n)), C, A, B):
            assert independent(joint, A, B, C)


def test_a_distribution_with_zeros_may_be_markov_and_not_factorise():
    # Uniform on eight of the sixteen assignments of a square: every property, but no product of potentials.
    cells = ["0000", "1000", "1100", "1110", "0001", "0011", "0111", "1111"]
    joint = np.zeros([2] * 4)
    for cell in cells:
        joint[tuple(map(int, cell))] = 1 / 8
    assert all(markov_property(joint, SQUARE, kind) for kind in KINDS)
    assert factorise(joint, SQUARE) is None
    assert factorise(joint, [*SQUARE, (0, 2)]) is not None


def test_without_positivity_the_pairwise_property_is_weaker():
    # Three copies of one coin: any two are independent given the third, which tells all.
    joint = np.zeros([2] * 3)
    joint[0, 0, 0] = joint[1, 1, 1] = 0.5
    got = [markov_property(joint, [], kind, nodes=range(3)) for kind in KINDS]
    assert got == [True, False, False]
    # Two pairs of copies of two coins, in a path that joins neither: local, but not global.
    joint = np.zeros([2] * 5)
    for u, v in itertools.product((0, 1), repeat=2):
        joint[u, u, u and v, v, v] += 0.25  # x1 = x2, x4 = x5, x3 = x2 x4
    path = [(0, 1), (1, 2), (2, 3), (3, 4)]
    assert [markov_property(joint, path, kind) for kind in KINDS] == [True, True, False]
    assert factorise(joint, path) is None


def test_a_product_with_zeros_factorises():
    field = MarkovRandomField({(0, 1): [[1, 0], [2, 3]], (1, 2): [[0, 1], [1, 1]]})
    found = factorise(field.joint(), [(0, 1), (1, 2)])
    np.testing.assert_allclose(MarkovRandomField(found).joint(), field.joint(), atol=1e-12)


def test_a_field_answers_from_its_table():
    field = MarkovRandomField(
        {("A", "B"): [[3, 1], [1, 2]], ("B", "C"): [[2, 1], [1, 4]], ("C", "A"): [[1, 2], [2, 1]]},
        values={"A": ["no", "yes"]},
    )
    assert pytest.approx(38) == field.Z
    np.testing.assert_allclose(field.marginal(["C", "A"]) * 38, [[7, 8], [14, 9]])
    assert field.probability({"A": "no"}) == pytest.approx(21 / 38)
    np.testing.assert_allclose(field.conditional(["A"], {"C": 1}), [14 / 23, 9 / 23])
    best = field.mode()
    assert field.probability(best) == pytest.approx(field.joint().max())
    energies = [field.energy(dict(zip("ABC", y))) for y in itertools.product(["no", "yes"], (0, 1), (0, 1))]
    np.testing.assert_allclose(np.exp(-np.array(energies)) / field.Z, field.joint().ravel())


def test_energies():
    alpha, beta = {("u", "v"): 0.5, ("v", "w"): -1.0}, {"u": 0.2, "v": -0.1, "w": 0.0}
    field = MarkovRandomField.from_energies(alpha, beta)
    for x in itertools.product((-1, 1), repeat=3):
        u, v, w = x
        H = 0.5 * u * v - v * w + 0.2 * u - 0.1 * v
        assert field.energy(dict(zip("uvw", x))) == pytest.approx(H)
    table = exponential_potential([[0, 0.5, 0], [0, 0, -1.0], [0, 0, 0]], [0.2, -0.1, 0.0])
    np.testing.assert_allclose(table / table.sum(), field.joint())
    assert exponential_potential(0.5, [1.0], values=(0, 1)) == pytest.approx([1, np.exp(-1)])


def test_bad_fields():
    pair = {("A", "B"): np.ones((2, 2))}
    with pytest.raises(ValueError, match=r"\('A', 'B'\) is not a clique"):
        MarkovRandomField(pair, graph={"A": [], "B": []})
    with pytest.raises(ValueError, match=r"axis for each node; its shape is \(2,\)"):
        MarkovRandomField({("A", "B"): [1, 2]})
    with pytest.raises(ValueError, match="finite and not negative"):
        MarkovRandomField({("A",): [1, -2]})
    with pytest.raises(ValueError, match=r"'A' has 2 values; .* room for 3"):
        MarkovRandomField({**pair, ("A",): [1, 2, 3]})
    with pytest.raises(ValueError, match="how many values 'C' has"):
        MarkovRandomField(pair, graph=[("A", "B"), ("B", "C")])
    with pytest.raises(ValueError, match="a table of at most"):
        MarkovRandomField({(k,): [1, 1] for k in range(30)}).joint()
    with pytest.raises(ValueError, match="the potentials allow none"):
        MarkovRandomField({("A",): [0, 0]}).joint()
    field = MarkovRandomField({("A", "B"): [[1, 1], [0, 0]]})
    with pytest.raises(ValueError, match="'C' is not a node"):
        field.marginal(["C"])
    with pytest.raises(ValueError, match="'A' cannot be 2"):
        field.probability({"A": 2})
    with pytest.raises(ValueError, match="must not share nodes"):
        field.conditional(["A"], {"A": 0})
    with pytest.raises(ValueError, match=r"probability of \{'A': 1\} is 0"):
        field.conditional(["B"], {"A": 1})
    with pytest.raises(ValueError, match="exactly the nodes"):
        field.energy({"A": 0})
    assert field.energy({"A": 1, "B": 0}) == np.inf
    with pytest.raises(ValueError, match="add up to 1"):
        independent([[1.0, 1.0]], [0], [1])
    with pytest.raises(ValueError, match="joint has 2 axes; there are 3 nodes"):
        markov_property(np.full((2, 2), 0.25), [(0, 1), (1, 2)])


def test_products_too_large_for_a_number():
    huge = MarkovRandomField({(0, 1): [[1e300, 1], [1, 1e300]], (2, 1): [[2e300, 0], [1, 1e-300]]})
    np.testing.assert_allclose(huge.joint()[0, 0], [1.0, 5e-301])
    assert huge.mode() == {0: 0, 1: 0, 2: 0}
    assert huge.marginal([0]).tolist() == pytest.approx([1.0, 1e-300], rel=1e-9)


def test_tables_of_edges_are_no_adjacency_matrices():
    """A frame of three edges and three columns is square, and so is an array of two edges."""
    edges = pd.DataFrame({"source": [0, 1, 2], "target": [1, 2, 0], "weight": [0.5, 2.0, 3.0]})
    for read in (undirected, directed):
        with pytest.raises(TypeError, match="got a data frame"):
            read(edges)
        with pytest.raises(ValueError, match="may be an adjacency matrix or two edges"):
            read(np.array([[0, 2], [1, 0]]))
    assert undirected(np.array([[0, 1], [1, 0]])) == {0: {1}, 1: {0}}


@pytest.mark.parametrize(("A", "B"), [([0], [0]), ([0], [2]), ([0], [-1])])
def test_axes_that_are_none(A, B):
    with pytest.raises(ValueError, match="must be different axes, from 0 to 1"):
        independent(np.full((2, 2), 0.25), A, B)
