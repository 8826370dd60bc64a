"""PageRank: agreement of its algorithms, dangling nodes, personal jumps, what is refused."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.callback import ProgressBar
from sklearn.exceptions import ConvergenceWarning

from tercet.graph import (
    DirectedGraph,
    PageRank,
    google_matrix,
    pagerank_algebraic,
    pagerank_iteration,
    pagerank_power,
    power_method,
    random_walk,
    transition_matrix,
)
from tercet.graph._engine import in_edges, sweeps

ALGORITHMS = ("extrapolation", "iteration", "power", "algebraic")
EDGES = {"A": ["B", "C", "D"], "B": ["A", "D"], "C": ["A"], "D": ["B", "C"]}


def random_graph(seed, n=40, density=0.08, weighted=True):
    """With dangling and isolated nodes, self-loops and several components."""
    rng = np.random.default_rng(seed)
    A = (rng.random((n, n)) < density) * (rng.random((n, n)) + 0.1 if weighted else 1.0)
    A[[3, 7]] = 0
    A[:, 7] = 0
    A[5, 5] = 2.0 if weighted else 1.0
    return A


def exact(A, d, v=None, refuge=None):
    """The formula of networkx and of the literature, solved densely: dangling rows are replaced by `refuge`."""
    n = len(A)
    v = np.full(n, 1 / n) if v is None else v
    P = A / np.where(A.sum(axis=1) > 0, A.sum(axis=1), 1.0)[:, None]
    if refuge is not None:
        P[A.sum(axis=1) == 0] = refuge
    return np.linalg.solve(np.eye(n) - d * P.T, (1 - d) * v)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("d", [0.0, 0.5, 0.85, 0.99])
def test_algorithms_agree_with_the_published_formula(algorithm, d):
    A = random_graph(0)
    n = len(A)
    model = PageRank(d, algorithm, tol=1e-13, max_iter=5000).fit(A)
    assert np.abs(model.scores_ - exact(A, d, refuge=np.full(n, 1 / n))).sum() < 1e-10
    assert model.scores_.sum() == pytest.approx(1, abs=1e-12)
    assert (model.scores_ > 0).all()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_dangling_policies_and_personal_jumps(algorithm):
    A, d = random_graph(1), 0.85
    n = len(A)
    v = np.zeros(n)
    v[[2, 9]] = 0.25, 0.75
    uniform = np.full(n, 1 / n)
    loops = A + np.diag((A.sum(axis=1) == 0).astype(float))
    wanted = {
        "personalized": exact(A, d, v, v),
        "uniform": exact(A, d, v, uniform),
        "self-loop": exact(loops, d, v),
        "vanish": exact(A, d, v),
    }
    if algorithm == "power":
        del wanted["vanish"]
        with pytest.raises(ValueError, match="'power' needs another policy than dangling='vanish'"):
            PageRank(d, algorithm, dangling="vanish").fit(A)
    for policy, scores in wanted.items():
        model = PageRank(d, algorithm, dangling=policy, personalization={2: 1, 9: 3}, tol=1e-13).fit(A)
        assert np.abs(model.scores_ - scores).sum() < 1e-10, policy
        assert (model.scores_ >= 0).all()
    again = PageRank(d, algorithm, personalization=4e300 * v, tol=1e-13).fit(A)
    assert np.abs(again.scores_ - wanted["personalized"]).sum() < 1e-10


def test_weights():
    A = random_graph(2)
    one = PageRank(weighted=False).fit(A).scores_
    assert np.abs(one - PageRank().fit(A > 0).scores_).sum() < 1e-12
    assert np.abs(one - PageRank().fit(A).scores_).sum() > 1e-3
    assert np.array_equal(PageRank().fit(4.0 * (A > 0)).scores_, PageRank().fit((A > 0) * 1).scores_)
    scaled = PageRank(tol=1e-13).fit(A * np.linspace(1e-300, 1e300, len(A))[:, None]).scores_
    assert np.abs(scaled - PageRank(tol=1e-13).fit(A).scores_).sum() < 1e-11


def test_fits_share_the_in_edges_of_a_graph():
    graph = DirectedGraph(random_graph(7))
    first = PageRank(0.5).fit(graph)
    edges = graph.in_edges()
    again = PageRank(0.5).fit(graph)
    assert graph.in_edges() is edges
    assert np.array_equal(first.scores_, again.scores_)
    assert np.array_equal(first.scores_, PageRank(0.5).fit(graph.adjacency).scores_)
    renamed = DirectedGraph(graph, nodes=[f"node {k}" for k in range(graph.n_nodes)])
    assert renamed.index("node 3") == 3
    assert renamed.in_edges() is edges
    assert set(vars(pickle.loads(pickle.dumps(graph)))) == {"adjacency", "names"}


def test_a_fit_is_stationary():
    A = random_graph(3)
    model = PageRank(tol=1e-13).fit(A)
    G = google_matrix(transition_matrix(A, dangling="uniform"), 0.85)
    assert np.abs(G @ model.scores_ - model.scores_).sum() < 1e-12
    assert np.allclose(G.sum(axis=0), 1)
    found = power_method(G, tol=1e-14)
    assert found.eigenvalue == pytest.approx(1)
    assert np.allclose(found.vector / found.vector.sum(), model.scores_)


def test_names_and_ranking():
    model = PageRank(damping=1.0).fit(EDGES)
    assert model.nodes_ == list("ABCD")
    assert model.ranking(1) == [("A", pytest.approx(1 / 3))]
    assert [name for name, _ in model.ranking()] == ["A", "B", "C", "D"] or len(set(model.scores_[1:])) > 1
    assert model.score_of("A") == model.scores_[0]
    with pytest.raises(KeyError, match="'Z' is not a node"):
        model.score_of("Z")
    personal = PageRank(personalization={"C": 1.0}).fit(EDGES)
    assert personal.score_of("C") > PageRank().fit(EDGES).score_of("C")


@pytest.mark.parametrize("small", [False, True])
def test_same_bits_for_any_n_jobs(small, monkeypatch):
    if small:  # many tasks and parts even of a small graph
        monkeypatch.setattr(sweeps, "TASK", 4)
        monkeypatch.setattr(sweeps, "BLOCKS", 3)
        monkeypatch.setattr(in_edges, "SMALL", 1)
    for weighted in (False, True):
        A = sparse.csr_array(random_graph(4, n=60, weighted=weighted))
        fits = [PageRank(n_jobs=n_jobs).fit(A) for n_jobs in (1, 2, 7)]
        assert all(np.array_equal(fits[0].scores_, other.scores_) for other in fits[1:])
        assert all(fits[0].history_ == other.history_ for other in fits[1:])
        assert np.abs(fits[0].scores_ - PageRank(algorithm="algebraic").fit(A).scores_).sum() < 1e-9


def communities(n=600, k=6, seed=0):
    """Few edges between groups: modes that the iteration is slow to forget."""
    rng = np.random.default_rng(seed)
    group = rng.integers(k, size=n)
    source = np.repeat(np.arange(n), 8)
    near = [rng.choice(np.flatnonzero(group == g)) for g in group[source]]
    target = np.where(rng.random(source.size) < 0.98, near, rng.integers(n, size=source.size))
    return DirectedGraph.from_edges(source, target, n_nodes=n)


def test_extrapolation_needs_a_fraction_of_the_passes():
    graph = communities()
    slow, quick = PageRank(algorithm="iteration").fit(graph), PageRank().fit(graph)
    assert slow.n_iter_ > 90
    assert quick.n_iter_ < slow.n_iter_ / 3
    assert np.abs(slow.scores_ - quick.scores_).sum() < 1e-9


def test_slow_modes_widen_the_window():
    """Groups that a walker hardly ever leaves, more of them than the first window has sweeps."""
    groups = np.kron(np.eye(8), np.ones((4, 4))) + (np.random.default_rng(1).random((32, 32)) < 0.02)
    model = PageRank(0.99, personalization=np.arange(1, 33)).fit(groups)
    exact = PageRank(0.99, "algebraic", personalization=np.arange(1, 33)).fit(groups)
    assert model.n_iter_ < 100  # 169 in a window of four
    assert np.abs(model.scores_ - exact.scores_).sum() < 1e-8


def test_a_bad_extrapolation_is_taken_back(monkeypatch):
    graph = communities(n=100)
    expected = PageRank().fit(graph)
    monkeypatch.setattr(
        sweeps, "least_change", lambda products: np.eye(len(products))[:2].T @ [900.0, -899.0]
    )
    model = PageRank().fit(graph)
    assert model.n_iter_ > expected.n_iter_
    assert np.abs(model.scores_ - expected.scores_).sum() < 1e-9
    assert all(a >= b for a, b in zip(model.history_["change"], model.history_["change"][1:]))


def test_a_good_start_saves_passes():
    graph = communities(n=200)
    for algorithm in ("extrapolation", "iteration", "power"):
        cold = PageRank(algorithm=algorithm).fit(graph)
        warm = PageRank(algorithm=algorithm).fit(graph, start=cold.scores_)
        assert warm.n_iter_ <= 2 < cold.n_iter_
        assert np.abs(warm.scores_ - cold.scores_).sum() < 1e-9
    named = PageRank(algorithm="iteration", max_iter=1, tol=10).fit(EDGES, start={"C": 1})
    assert named.scores_ == pytest.approx([0.0375 + 0.85, 0.0375, 0.0375, 0.0375])
    with pytest.raises(ValueError, match="'start' must have a number for each of 4 nodes"):
        PageRank().fit(EDGES, start=[1, 2])


def test_basic_definition_says_what_is_missing():
    for algorithm in ("extrapolation", "iteration", "power"):
        model = PageRank(1.0, algorithm, tol=1e-13).fit(EDGES)
        assert np.allclose(model.scores_, [3 / 9, 2 / 9, 2 / 9, 2 / 9], atol=1e-12)
    with pytest.raises(ValueError, match="aperiodic graph; this one has period 3"):
        PageRank(damping=1).fit([(0, 1), (1, 2), (2, 0)])
    with pytest.raises(ValueError, match="has 2 strongly connected components and 1 dangling nodes"):
        PageRank(damping=1).fit([(0, 1)])
    with pytest.raises(ValueError, match=r"has 2 strongly connected components\. Use a damping"):
        PageRank(damping=1).fit([(0, 0), (1, 1)])
    with pytest.raises(ValueError, match="'algebraic' needs a damping below 1"):
        PageRank(1, "algebraic").fit(EDGES)
    assert PageRank(0.99).fit([(0, 1), (1, 2), (2, 0)]).scores_ == pytest.approx([1 / 3] * 3)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_odd_graphs(algorithm):
    assert PageRank(algorithm=algorithm).fit([[0]]).scores_ == pytest.approx([1])
    assert PageRank(algorithm=algorithm).fit([[3]]).scores_ == pytest.approx([1])
    empty = PageRank(algorithm=algorithm).fit(np.zeros((3, 3)))
    assert empty.scores_ == pytest.approx([1 / 3] * 3)
    if algorithm != "power":
        nothing = PageRank(algorithm=algorithm, dangling="vanish").fit(np.zeros((3, 3)))
        assert nothing.scores_ == pytest.approx([0.05] * 3)
    apart = PageRank(algorithm=algorithm).fit([(0, 1), (1, 0), (2, 3), (3, 2)])
    assert apart.scores_ == pytest.approx([0.25] * 4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"damping": 1.5}, "parameter 'damping' must be"),
        ({"damping": np.nan}, "parameter 'damping' must be"),
        ({"algorithm": "magic"}, "parameter 'algorithm' must be one of"),
        ({"dangling": "no"}, "parameter 'dangling' must be one of"),
        ({"tol": -1}, "parameter 'tol' must be"),
        ({"max_iter": 0}, "parameter 'max_iter' must be"),
        ({"personalization": [1, 2]}, r"'personalization' must have a number for each of 4 nodes; .* \(2,\)"),
        ({"personalization": [0, 0, 0, 0]}, "'personalization' must have a positive number; all are 0"),
        ({"personalization": [1, -1, 0, 0]}, "at least 0; got -1.0"),
        ({"personalization": [1, np.nan, 0, 0]}, "at least 0; got nan"),
        ({"personalization": {"Z": 1}}, "names the node 'Z', which is not in the graph"),
        ({"personalization": {"A": "x"}}, "got 'x' for the node 'A'"),
        ({"personalization": "text"}, "vector of 4 numbers or a dict"),
    ],
)
def test_wrong_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        PageRank(**options).fit(EDGES)


def test_passes_end_and_say_so():
    for algorithm in ("extrapolation", "iteration", "power"):
        with pytest.warns(ConvergenceWarning, match="PageRank did not converge in 2 passes.*lower damping"):
            model = PageRank(algorithm=algorithm, max_iter=2).fit(random_graph(5))
        assert model.n_iter_ == 2
        assert model.history_["pass"] == [0, 1]
        assert len(model.history_["change"]) == 2


def test_callbacks_copies_and_pickles(capsys):
    A = random_graph(6)
    plain = PageRank().fit(A)
    model = PageRank().set_callbacks(ProgressBar()).fit(A)
    assert "PageRank" in capsys.readouterr().out
    for other in (model, pickle.loads(pickle.dumps(plain)), copy.copy(plain)):
        assert np.array_equal(other.scores_, plain.scores_)
    state = vars(plain) | {"scores_": plain.scores_ - 1}
    with pytest.raises(ValueError, match="scores_"):
        PageRank().__setstate__(state)


def test_plain_functions():
    M = transition_matrix(EDGES).toarray()
    R = pagerank_algebraic(M, 0.8)
    for found in (pagerank_iteration(M, 0.8), pagerank_power(sparse.csr_array(M), 0.8)):
        assert found.converged
        assert np.abs(found.scores - R).sum() < 1e-9
        assert len(found.trace) == found.n_iter + 1
    v = [1, 0, 0, 0]
    assert np.abs(pagerank_iteration(M, teleport=v).scores - pagerank_algebraic(M, teleport=v)).sum() < 1e-9
    with pytest.warns(ConvergenceWarning, match="pagerank_iteration did not converge in 3 steps"):
        assert not pagerank_iteration(M, max_iter=3).converged
    for wrong, message in (
        ({"damping": 2}, "damping must be a number from 0 to 1; got 2"),
        ({"start": [1, 2]}, "start must have 4 finite numbers"),
        ({"M": M.T * 2}, "Columns of M must sum to 1"),
        ({"M": -M}, "M must hold probabilities"),
        ({"M": M[:2]}, "M must be a square matrix"),
        ({"teleport": [1]}, "'teleport' must have a number for each of 4 nodes"),
    ):
        with pytest.raises(ValueError, match=message):
            pagerank_iteration(**{"M": M, **wrong})
    with pytest.raises(ValueError, match="damping must be less than 1"):
        pagerank_algebraic(M, 1)


def test_the_power_method_takes_frames_and_matrices_as_arrays():
    A = np.array([[2.0, 1.0], [1.0, 3.0]])
    labelled = pd.DataFrame(A, index=["a", "b"], columns=["a", "b"])
    expected = power_method(A)
    for given in (pd.DataFrame(A), labelled, np.asmatrix(A), A.astype(np.int8), sparse.csr_matrix(A)):
        found = power_method(given)
        assert type(found.vector) is np.ndarray
        np.testing.assert_array_equal(found.vector, expected.vector)
        assert found.eigenvalue == expected.eigenvalue
    with pytest.raises(ValueError, match="A must hold real numbers; its dtype is complex128"):
        power_method(A * 1j)


def test_power_method():
    negative = power_method(np.diag([1.0, -3.0, 2.0]))
    assert negative.converged
    assert negative.eigenvalue == pytest.approx(-3)
    assert np.abs(negative.vector) == pytest.approx([0, 1, 0], abs=1e-9)
    nilpotent = power_method([[0, 1], [0, 0]])
    assert nilpotent.eigenvalue == 0
    rates = [np.abs(x - [0.6180339887498949, 1]).max() for x in power_method([[2, 1], [1, 3]]).trace[2:8]]
    ratio = (5 - 5**0.5) / (5 + 5**0.5)
    assert np.array(rates[1:]) / rates[:-1] == pytest.approx(ratio, rel=0.05)
    with pytest.warns(ConvergenceWarning, match="share the largest modulus"):
        assert not power_method([[0, -1], [1, 0]], [1, 2], max_iter=20).converged
    with pytest.raises(ValueError, match="A must be a square matrix"):
        power_method([[1, 2]])
    with pytest.raises(ValueError, match="start must be a vector of 2 finite numbers"):
        power_method(np.eye(2), [0, 0])
    with pytest.raises(ValueError, match="A must hold finite numbers"):
        power_method([[np.nan, 1], [1, 1]])


def test_a_frame_of_three_weighted_edges_is_not_a_matrix():
    edges = [(0, 1, 5.0), (1, 2, 1.0), (2, 0, 2.0)]
    frame = pd.DataFrame(edges, columns=["source", "target", "weight"])
    wanted = PageRank().fit(edges)
    found = PageRank().fit(frame)
    np.testing.assert_allclose(found.scores_, wanted.scores_)
    assert found.nodes_ is None
    np.testing.assert_array_equal(
        transition_matrix(frame).toarray(), transition_matrix(DirectedGraph(edges)).toarray()
    )
    assert set(random_walk(frame, 5, start=0)) == {0, 1, 2}
