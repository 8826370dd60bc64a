"""Bayesian networks: graphs, parameters, EM, tables of rows, and bad input."""

import gzip
import itertools
import re
import sys

import networkx
import numpy as np
import pandas as pd
import polars as pl
import pytest

from tercet.graphical import (
    BayesianNetwork,
    BayesianNetworkClassifier,
    d_separated,
    directed,
    moral_graph,
    read_bif,
    topological_order,
)
from tests.graphical.networks import SPRINKLER, condition, joint_table, random_network


def test_d_separation_holds_in_the_distribution_and_only_there():
    for seed in range(4):
        network = random_network(seed, d=5)
        joint, names = joint_table(network), network.nodes_
        for a, b in itertools.combinations(range(5), 2):
            for size in range(4):
                for C in itertools.combinations([k for k in range(5) if k not in (a, b)], size):
                    axes = tuple(k for k in range(5) if k not in (a, b, *C))
                    table = joint.sum(axis=axes, keepdims=True)
                    c = table.sum(axis=(a, b), keepdims=True)
                    gap = table * c - table.sum(axis=a, keepdims=True) * table.sum(axis=b, keepdims=True)
                    independent = np.abs(gap).max() < 1e-12
                    assert network.d_separated([names[a]], [names[b]], [names[k] for k in C]) is bool(
                        independent
                    )


def test_graphs():
    edges = [("C", "S"), ("C", "R"), ("S", "W"), ("R", "W")]
    assert directed(edges, ["C", "S", "R", "W"])["W"] == ("S", "R")
    assert topological_order({"b": ["a"], "a": []}) == ["a", "b"]
    assert moral_graph(edges)["S"] == {"C", "R", "W"}
    assert directed(np.array([[0, 1], [0, 0]])) == {0: (), 1: (0,)}
    network = BayesianNetwork.from_tables(SPRINKLER)
    assert network.markov_blanket("C") == {"S", "R"}
    assert network.topological_order()[0] == "C"
    assert d_separated(edges, "S", "R", "C")
    for call, says in (
        (lambda: directed([("a", "b"), ("b", "c"), ("c", "a")]), "cycle: 'a' -> 'b' -> 'c' -> 'a'"),
        (lambda: BayesianNetwork([(0, 1), (1, 0)]).fit([[0, 1], [1, 0]]), "cycle: 0 -> 1 -> 0"),
        (lambda: directed([("a",)]), "pair"),
        (lambda: directed([("a", "b")], ["a"]), "'b', which is no node"),
        (lambda: network.markov_blanket("X"), "'X' is not a variable"),
        (lambda: network.d_separated(["X"], ["C"]), "'X' is not a node"),
    ):
        with pytest.raises(ValueError, match=says):
            call()


def test_networkx_in_and_out(monkeypatch):
    network = BayesianNetwork.from_tables(SPRINKLER)
    graph = network.to_networkx()
    assert networkx.is_directed_acyclic_graph(graph)
    assert sorted(graph.edges) == sorted(network.edges_)
    assert graph.nodes["W"]["table"].shape == (2, 2, 2)
    assert directed(graph, network.nodes_) == directed(network.edges_, network.nodes_)
    rows = network.sample(200, random_state=0)
    numbered = networkx.relabel_nodes(graph, {name: k for k, name in enumerate(network.nodes_)})
    assert sorted(BayesianNetwork(numbered).fit(rows).edges_) == sorted(numbered.edges)
    with pytest.raises(ValueError, match="must be directed"):
        directed(graph.to_undirected())
    with pytest.raises(ValueError, match=r"cycle: 0 -> 1 -> 0"):
        BayesianNetwork(networkx.DiGraph([(0, 1), (1, 0)])).fit(rows)
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(ImportError, match="pip install networkx"):
        network.to_networkx()


def test_given_tables_are_checked():
    for tables, says in (
        ({"a": [0.5, 0.6]}, r"table of 'a' must sum to 1: \[0.5, 0.6\] sums to 1.1"),
        (
            {"a": [0.5, 0.5], "b": (["a"], [[1, 0], [0.5, 0.2]])},
            r"'b' must sum to 1 for the parents' states number \[1\]: \[0.5, 0.2\] sums to 0.7",
        ),
        ({"a": [-0.5, 1.5]}, "must hold probabilities"),
        ({"a": (["b"], [[0.5, 0.5]])}, "'b', which is no node"),
        ({"a": [0.5, 0.5], "b": (["a"], [[0.5, 0.5]])}, r"shape \(2, 2\)"),
        ({"a": [[0.5, 0.5]]}, "an axis for each"),
        ({"a": "text"}, "must be numbers"),
        ({"a": (["b"], np.eye(2)), "b": (["a"], np.eye(2))}, "cycle: 'a' -> 'b' -> 'a'"),
    ):
        with pytest.raises(ValueError, match=says):
            BayesianNetwork.from_tables(tables)
    with pytest.raises(ValueError, match="their names are"):
        BayesianNetwork.from_tables({"a": [0.5, 0.5]}, ["yes"])


def test_parameters_are_frequencies():
    rng = np.random.default_rng(0)
    X, w = rng.integers(3, size=(200, 3)), rng.random(200)
    network = BayesianNetwork([(0, 2), (1, 2)], alpha=0).fit(X, sample_weight=w)
    for a, b in itertools.product(range(3), repeat=2):
        here = (X[:, 0] == a) & (X[:, 1] == b)
        wanted = np.bincount(X[here, 2], w[here], minlength=3) / w[here].sum()
        np.testing.assert_allclose(network.tables_[2][a, b], wanted)
    bdeu = BayesianNetwork([(0, 2), (1, 2)], prior="bdeu", equivalent_sample_size=27).fit(X)
    one = BayesianNetwork([(0, 2), (1, 2)], alpha=1.0).fit(X)
    np.testing.assert_allclose(bdeu.tables_[2], one.tables_[2])
    assert network.n_parameters_ == 2 + 2 + 18
    assert network.edges_ == [(0, 2), (1, 2)]
    # the log-likelihood is the score without a penalty
    plain = BayesianNetwork([(0, 2), (1, 2)], alpha=0).fit(X)
    assert plain.score(X) * 200 == pytest.approx(-plain.network_score(X, "nll"))


@pytest.mark.parametrize("share", [0.2, 0.5])
def test_em_never_falls_and_finds_the_tables(share):
    truth = random_network(1, d=5)
    X = truth.sample(4000, random_state=0)
    Z = X.copy()
    Z[np.random.default_rng(0).random(Z.shape) < share] = np.nan
    edges = [(int(a[1:]), int(b[1:])) for a, b in truth.edges_]
    network = BayesianNetwork(edges, alpha=0, tol=1e-9).fit(Z)
    assert (np.diff(network.history_["log_likelihood"]) >= -1e-10).all()
    assert np.abs(joint_table(network) - joint_table(truth)).sum() < (0.25 if share > 0.3 else 0.15)
    assert network.score(Z) == pytest.approx(network.history_["log_likelihood"][-1], abs=1e-6)
    whole = BayesianNetwork(edges, alpha=0).fit(X)
    assert whole.score(X) >= network.score(X)


def test_em_of_one_missing_cell_by_hand():
    # a with 3 of 4 known as 1: the fixed point of p = (3 + p) / 5 is 3/4 for the row of which nothing is known
    X = [[1.0], [1.0], [1.0], [0.0], [np.nan]]
    network = BayesianNetwork([], alpha=0, tol=1e-14).fit(X)
    assert network.tables_[0][1] == pytest.approx(0.75)


def test_a_hidden_variable_is_learned():
    rng = np.random.default_rng(0)
    hidden = rng.integers(2, size=3000)
    X = np.column_stack([np.where(rng.random(3000) < 0.9, hidden, 1 - hidden) for _ in range(4)])
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["h"] = pd.Categorical([None] * 3000, categories=["x", "y"])
    network = BayesianNetwork([("h", name) for name in "abcd"], random_state=0, alpha=0.01).fit(frame)
    table = network.table("a").table
    assert abs(table[0, 0] - table[1, 0]) > 0.6


def test_weights_are_repeated_rows():
    network = random_network(2)
    X = network.sample(300, random_state=0)
    X[::7, 2] = np.nan
    w = np.random.default_rng(1).integers(0, 3, size=300)
    for algorithm in ("hill-climbing", "chow-liu", "pc", "exact"):
        one = BayesianNetwork(algorithm=algorithm, tol=1e-12).fit(X, sample_weight=w)
        other = BayesianNetwork(algorithm=algorithm, tol=1e-12).fit(np.repeat(X, w, axis=0))
        assert one.edges_ == other.edges_
        for a, b in zip(one.tables_, other.tables_):
            np.testing.assert_allclose(a, b, atol=1e-8)


def test_batch_queries_are_single_ones():
    network = random_network(4, d=7, sharp=0.5)
    joint, rng = joint_table(network), np.random.default_rng(0)
    X = network.sample(40, random_state=1)
    X[rng.random(X.shape) < 0.5] = np.nan
    whole = np.concatenate(network.predict_marginals(X), axis=1)
    sizes = [len(states) for states in network.states_]
    borders = np.concatenate([[0], np.cumsum(sizes)])
    logs = network.score_samples(X)
    for i, row in enumerate(X):
        evidence = {k: int(v) for k, v in enumerate(row) if not np.isnan(v)}
        at = tuple(evidence.get(k, slice(None)) for k in range(7))
        assert np.exp(logs[i]) == pytest.approx(joint[at].sum(), rel=1e-10)
        for k in range(7):
            got = whole[i, borders[k] : borders[k + 1]]
            wanted = np.eye(sizes[k])[evidence[k]] if k in evidence else condition(joint, [k], evidence)
            np.testing.assert_allclose(got, wanted, atol=1e-12)
    for k in range(7):
        single = network.predict_proba(pd.DataFrame(X, columns=network.nodes_), target=f"v{k}")
        for i, row in enumerate(X):
            evidence = {j: int(v) for j, v in enumerate(row) if not np.isnan(v) and j != k}
            np.testing.assert_allclose(single[i], condition(joint, [k], evidence), atol=1e-12)
    for n_jobs in (2, 7):
        network.n_jobs = n_jobs
        many = network.predict_marginals(np.tile(X, (30, 1)))
        assert np.array_equal(np.concatenate(many, axis=1)[:40], whole)
    filled = network.impute(X).astype(float)
    known = ~np.isnan(X)
    assert np.array_equal(filled[known], X[known])
    for i, j in np.argwhere(~known):
        assert filled[i, j] == whole[i, borders[j] : borders[j + 1]].argmax()


def test_a_wide_network_reduces_each_row_by_its_evidence(monkeypatch):
    from tercet.graphical import network_inference

    network = random_network(4, d=7)
    X = network.sample(12, random_state=1)
    X[::2, 3] = np.nan
    X[1::3, 0] = np.nan
    expected = *network.predict_marginals(X), network.predict_proba(X, target=2), network.score_samples(X)
    monkeypatch.setattr(network_inference, "TREE_CELLS", 0)
    network.tables_ = [table.copy() for table in network.tables_]
    found = *network.predict_marginals(X), network.predict_proba(X, target=2), network.score_samples(X)
    for a, b in zip(found, expected):
        np.testing.assert_allclose(a, b, atol=1e-10)


def test_frames_and_states():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "sky": rng.choice(["sun", "rain"], size=200),
            "wind": rng.choice([1, 2, 3], size=200),
            "heat": rng.normal(size=200),
        }
    )
    edges = [("sky", "wind"), ("sky", "heat")]
    network = BayesianNetwork(edges, n_bins=4).fit(frame)
    assert network.states_[0] == ["rain", "sun"]
    assert network.states_[1] == [1, 2, 3]
    assert len(network.states_[2]) == 4
    assert network.states_[2][0].startswith("<= ")
    same = BayesianNetwork(edges, n_bins=4).fit(pl.DataFrame(frame.to_dict("list")))
    assert [t.tolist() for t in same.tables_] == [t.tolist() for t in network.tables_]
    cut = network.query("sky", {"heat": 100.0}).table  # a number stands for its interval
    np.testing.assert_allclose(cut, network.query("sky", {"heat": network.states_[2][-1]}).table)
    without = frame.drop(columns="sky")
    np.testing.assert_allclose(
        network.predict_proba(without, target="sky"), network.predict_proba(frame, target="sky")
    )
    polars = pl.DataFrame(without.to_dict("list"))
    np.testing.assert_allclose(
        network.predict_proba(polars, target="sky"), network.predict_proba(frame, target="sky")
    )
    strange = frame.head(3).assign(sky=["sun", "snow", "rain"])
    with pytest.warns(UserWarning, match="column 'sky' holds 'snow' in row 1, a state that was not there"):
        found = network.predict_marginals(strange)[0]
    assert 0 < found[1, 0] < 1
    refusing = BayesianNetwork(edges, n_bins=4, handle_unknown="error").fit(frame)
    with pytest.raises(ValueError, match=r"'snow'.*handle_unknown='missing'"):
        refusing.predict_proba(strange)
    with pytest.raises(ValueError, match="column 'wind' holds '9' in row 0"):
        refusing.score_samples(frame.head(1).assign(wind=9))
    with pytest.raises(ValueError, match="'sky' cannot be 'snow'"):
        network.query("wind", {"sky": "snow"})


def test_impossible_rows_are_named():
    network = BayesianNetwork.from_tables(SPRINKLER)
    X = [[np.nan, 0, 0, 0], [np.nan, 0, 0, 1]]
    with pytest.raises(
        ValueError, match=r"row 1 is impossible, its probability is 0: \{'S': 0, 'R': 0, 'W': 1\}"
    ):
        network.predict_marginals(X)
    with pytest.raises(ValueError, match="row 1 is impossible"):
        network.predict_proba(X, target="C")
    assert network.score_samples(X)[1] == -np.inf


def test_wide_em_is_refused_with_its_size(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.integers(2, size=(50, 16)).astype(float)
    X[rng.random(X.shape) < 0.2] = np.nan
    edges = [(i, j) for i in range(8) for j in range(8, 16)]
    monkeypatch.setenv("TERCET_MEMORY", "2e5")
    with pytest.raises(ValueError, match=r"would need a table of .* cells"):
        BayesianNetwork(edges).fit(X)


def test_classifier_is_the_network_of_rows_and_labels():
    network = random_network(6, d=6)
    rows = network.sample(400, random_state=0)
    X, y = rows[:, :5], rows[:, 5].astype(int)
    edges = [(int(a[1:]), int(b[1:])) for a, b in network.edges_]
    whole = BayesianNetwork(edges).fit(rows)
    named = [tuple("class" if k == 5 else k for k in edge) for edge in edges]
    model = BayesianNetworkClassifier(named).fit(X, y)
    asked = np.column_stack([X, np.full(len(X), np.nan)])
    np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(asked, target=5), atol=1e-12)
    gaps = X.copy()
    gaps[::2, 1] = np.nan
    asked = np.column_stack([gaps, np.full(len(X), np.nan)])
    np.testing.assert_allclose(model.predict_proba(gaps), whole.predict_proba(asked, target=5), atol=1e-12)
    assert model.query("class", {0: X[0, 0]}).table.sum() == pytest.approx(1)
    naive = BayesianNetworkClassifier(max_parents=1, alpha=1.0).fit(X, y)
    assert naive.edges_ == [("class", k) for k in range(5)]


def test_classifier_with_impossible_rows_keeps_the_prior():
    X, y = [["a"], ["a"], ["b"], ["b"]], [0, 0, 1, 1]
    model = BayesianNetworkClassifier([(0, "class")], alpha=0, handle_unknown="missing").fit(X, y)
    np.testing.assert_allclose(model.predict_proba([["a"], ["b"], [None]]), [[1, 0], [0, 1], [0.5, 0.5]])
    never = BayesianNetworkClassifier([("class", 0), ("class", 1)], alpha=0).fit(
        [["a", "p"], ["b", "q"]], [0, 1]
    )
    np.testing.assert_allclose(never.predict_proba([["a", "q"]]), [[0.5, 0.5]])
    with pytest.raises(ValueError, match="class_name='class' is the name of a column"):
        BayesianNetworkClassifier().fit(pd.DataFrame({"class": [0, 1]}), [0, 1])


def test_bif_round_trip(tmp_path):
    network = random_network(3)
    network.to_bif(tmp_path / "net.bif")
    again = read_bif(tmp_path / "net.bif")
    assert again.edges_ == network.edges_
    for a, b in zip(again.tables_, network.tables_):
        np.testing.assert_allclose(a, b, rtol=1e-15)
    assert again.states_[0] == [str(state) for state in network.states_[0]]
    with pytest.raises(ValueError, match=r"Two names are the same in BIF.*\[1, '1'\]"):
        BayesianNetwork.from_tables({"a": [0.1, 0.9]}, [1, "1"]).to_bif()


ODD_NAMES = [
    "两 个",
    "a b",
    "a_b",
    'q"t',
    "c|d",
    "table",
    "-1.5",
    "0.5",
    "1e-05",
    "+3",
    "n\nl",
    "",
    " ",
    "a;}{",
]


def names_in(text):
    """The names of variables and states of BIF text, and whether each is one that other programs read.

    pgmpy takes away quotes and splits at blanks; pyAgrum takes identifiers and, for states, whole numbers.
    """
    words = {"network", "variable", "probability", "property", "type", "discrete", "default", "table"}
    variables = re.findall(r"^variable (.*) \{$", text, re.MULTILINE)
    states = [re.split(", ", own) for own in re.findall(r"\] \{ (.*) \};$", text, re.MULTILINE)]
    identifier = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
    legal = all(identifier.fullmatch(name) and name not in words for name in variables)
    for own in states:
        legal &= all((identifier.fullmatch(s) and s not in words) or s.isdecimal() for s in own)
        legal &= len(set(own)) == len(own)
    return variables, states, legal and len(set(variables)) == len(variables) and text.isascii()


def test_bif_of_intervals_has_names_that_other_programs_read():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a b": rng.normal(size=300), "c": rng.choice([-1.5, 2.0], 300)})
    X["d"] = 2 * X["a b"] + 0.1 * rng.normal(size=300)
    network = BayesianNetwork(n_bins=4).fit(X)
    assert network.edges_  # intervals as conditions, too
    text = network.to_bif()
    variables, states, legal = names_in(text)
    assert legal
    assert variables == ["a_b", "c", "d"]
    assert [re.sub(r"[0-9.]+", "n", s) for s in states[0]] == ["le_-n", "gt_-n_le_-n", "gt_-n_le_n", "gt_n"]
    assert states[1] == ["s_-1.5", "2"]
    again = read_bif(text)
    assert again.nodes_ == network.nodes_
    assert again.states_ == [[str(state) for state in known] for known in network.states_]
    assert again.edges_ == network.edges_
    assert all(np.allclose(a, b, rtol=1e-15) for a, b in zip(again.tables_, network.tables_))


def test_bif_of_odd_names_is_legal_and_comes_back():
    tables = {name: np.full(len(ODD_NAMES), 1 / len(ODD_NAMES)) for name in ODD_NAMES}
    tables["last"] = (ODD_NAMES[:1], np.eye(len(ODD_NAMES)))
    network = BayesianNetwork.from_tables(tables, ODD_NAMES)
    text = network.to_bif()
    assert names_in(text)[2]
    again = read_bif(text)
    assert again.nodes_ == network.nodes_
    assert again.states_ == network.states_
    assert again.edges_ == [("两 个", "last")]
    numbered = BayesianNetwork(n_bins=3).fit(np.random.default_rng(0).normal(size=(50, 3)))
    assert names_in(numbered.to_bif())[2]
    assert read_bif(numbered.to_bif()).nodes_ == ["0", "1", "2"]
    plain = BayesianNetwork.from_tables({"a-b.c_1": [0.5, 0.5]}, ["yes", 0]).to_bif()
    assert "property" not in plain  # identifiers and whole numbers stay as they are


def test_bif_properties_that_do_not_fit_are_said():
    text = "variable a {\n type discrete [ 2 ] { x, y };\n property original_states = p;\n}\n"
    with pytest.raises(ValueError, match="line 4: variable 'a' has 2 states, but 1 original_states"):
        read_bif(text)
    text = "variable %s { type discrete [ 1 ] { x }; property original_name = c; } probability ( %s ) { table 1; } "
    with pytest.raises(ValueError, match="two variables have one original_name"):
        read_bif(text % ("a", "a") + text % ("b", "b"))
    text = "variable a { type discrete [ 2 ] { x, y }; property original_name = a%20b; }\n"
    with pytest.raises(ValueError, match="line 2: The table of 'a b' must sum to 1"):
        read_bif(text + "probability ( a ) { table 0.5, 0.6; }")


def test_bif_files_may_be_packed(tmp_path):
    network = random_network(3)
    for name in ("net.bif.gz", "net.bif"):
        network.to_bif(tmp_path / name)
        assert read_bif(tmp_path / name).edges_ == network.edges_
        assert read_bif(str(tmp_path / name)).nodes_ == network.nodes_
    packed = (tmp_path / "net.bif.gz").read_bytes()
    assert gzip.decompress(packed) == (tmp_path / "net.bif").read_bytes()
    (tmp_path / "renamed.bif").write_bytes(packed)  # what is in a file decides, not its name
    assert read_bif(tmp_path / "renamed.bif").nodes_ == network.nodes_
    (tmp_path / "cut.bif.gz").write_bytes(packed[:-20])
    with pytest.raises(ValueError, match=r"cut\.bif\.gz: gzip cannot decompress the file"):
        read_bif(tmp_path / "cut.bif.gz")
    (tmp_path / "latin.bif").write_bytes("variable é {".encode("latin-1"))
    with pytest.raises(ValueError, match=r"latin\.bif: not BIF: .* not text in UTF-8; byte 9 is 0xe9"):
        read_bif(tmp_path / "latin.bif")


GOOD = """// a comment
network "n" { property x y; }
variable a { type discrete [ 2 ] { t, f }; property position = (1, 2); }
variable b { /* two
lines */ type discrete[3] { x y z }; }
probability ( a ) { table 0.2, 0.8; }
probability ( b | a ) {
  default 0.2, 0.3, 0.5;
  (t) 0.1 0.2 0.7;
}
"""


def test_bif_of_other_programs():
    network = read_bif(GOOD)
    np.testing.assert_allclose(network.tables_[1], [[0.1, 0.2, 0.7], [0.2, 0.3, 0.5]])
    table = GOOD.replace("  default 0.2, 0.3, 0.5;\n  (t) 0.1 0.2 0.7;", "  table 0.1 0.2 0.2 0.3 0.7 0.5;")
    np.testing.assert_allclose(read_bif(table).tables_[1], [[0.1, 0.2, 0.7], [0.2, 0.3, 0.5]])


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            "variable b",
            "variabel b",
            "line 4: expected 'network', 'variable' or 'probability'; found 'variabel'",
        ),
        ("{ t, f }", "{ t }", "line 3: variable 'a' has 1 states; 2 are announced"),
        ("{ t, f }", "{ t, t }", "line 3: variable 'a' has a state twice"),
        ("table 0.2, 0.8;", "table 0.2, 0.9;", "line 6: The table of 'a' must sum to 1"),
        ("table 0.2, 0.8;", "table 0.2;", "line 6: 1 probabilities are given where 2 are expected"),
        ("table 0.2, 0.8;", "table 0.2, x;", "line 6: expected a probability; found 'x'"),
        ("table 0.2, 0.8;", "table 0.2, 7;", "line 6: expected a probability from 0 to 1; found '7'"),
        ("(t) 0.1", "(q) 0.1", "line 9: 'a' has no state 'q'"),
        ("(t) 0.1", "(t, t) 0.1", "line 9: 2 states are given for the 1 parents of 'b'"),
        ("  default 0.2, 0.3, 0.5;\n", "", "line 9: the probabilities of 'b' for {'a': 'f'} are missing"),
        ("( b | a )", "( b | c )", "line 7: 'c' is not declared"),
        ("probability ( a ) { table 0.2, 0.8; }\n", "", "line 3: variable 'a' has no probabilities"),
        ("discrete [ 2 ]", "discrete [ x ]", "line 3: expected a number of states; found 'x'"),
        ("discrete [ 2 ]", "continuous [ 2 ]", "line 3: expected 'discrete'; found 'continuous'"),
        ('"n"', '"n', "line 2: a quote is not closed"),
        ("0.7;\n}", "0.7;\n", "line 9: the text ends where"),
    ],
)
def test_malformed_bif_has_the_line(old, new, says):
    assert old in GOOD
    with pytest.raises(ValueError) as error:
        read_bif(GOOD.replace(old, new))
    assert says in str(error.value)
