"""Every method of inference against the definition, on random networks and fields."""

import itertools

import numpy as np
import pytest

from tercet.graphical import (
    BayesianNetwork,
    Factor,
    JunctionTree,
    MarkovRandomField,
    belief_propagation,
    enumeration,
    gibbs_conditional,
    gibbs_inference,
    likelihood_weighting,
    most_probable_explanation,
    variable_elimination,
)
from tests.graphical.networks import SPRINKLER, condition, joint_table, random_network

EXACT = ("enumeration", "variable_elimination", "junction_tree")


@pytest.mark.parametrize("seed", range(12))
def test_exact_methods_are_the_definition(seed):
    network = random_network(seed)
    joint, rng = joint_table(network), np.random.default_rng(seed)
    for _ in range(4):
        places = rng.permutation(6)
        keep, seen = places[:2].tolist(), places[2 : 2 + rng.integers(0, 3)]
        evidence = {int(k): int(rng.integers(joint.shape[k])) for k in seen}
        named = {f"v{k}": state for k, state in evidence.items()}
        wanted = condition(joint, keep, evidence)
        for method in EXACT:
            found = network.query([f"v{k}" for k in keep], named, method=method)
            np.testing.assert_allclose(found.table, wanted, atol=1e-12)
        best = np.unravel_index(
            joint[tuple(evidence.get(k, slice(None)) for k in range(6))].argmax(),
            [joint.shape[k] for k in range(6) if k not in evidence],
        )
        mpe = network.mpe(named)
        free = [f"v{k}" for k in range(6) if k not in evidence]
        assert [mpe[name] for name in free] == list(best)
        at = tuple(evidence.get(k, slice(None)) for k in range(6))
        assert network.probability(named) == pytest.approx(joint[at].sum(), rel=1e-12)
        tree = network.junction_tree(named)
        assert np.exp(tree.log_probability) == pytest.approx(joint[at].sum(), rel=1e-12)


@pytest.mark.parametrize("order", ["min-fill", "min-weight", ["v3", "v0", "v5", "v1", "v2", "v4"]])
def test_any_order_eliminates_to_the_same(order):
    network = random_network(3)
    found = variable_elimination(network, ["v2"], {"v5": 0}, order=order)
    np.testing.assert_allclose(found.table, network.query("v2", {"v5": 0}, method="enumeration").table)


def test_a_calibrated_tree_answers_all_pairs():
    network = random_network(5, d=8)
    joint = joint_table(network)
    for heuristic in ("min-fill", "min-weight"):
        tree = JunctionTree(network, {"v1": 0}, heuristic)
        for a, b in itertools.combinations([0, 2, 3, 4, 5, 6, 7], 2):
            found = tree.query([f"v{b}", f"v{a}"]).table
            np.testing.assert_allclose(found, condition(joint, [b, a], {1: 0}), atol=1e-12)
    for clique, belief in zip(tree.cliques, tree.beliefs):
        np.testing.assert_allclose(belief, tree.query(clique).table, atol=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_messages_on_trees_are_exact(seed):
    rng = np.random.default_rng(seed)
    factors = {(int(rng.integers(k)), k): rng.random((2, 3) if k % 2 else (2, 2)) + 0.1 for k in range(1, 7)}
    sizes = {0: 2} | {k: 3 if k % 2 else 2 for k in range(1, 7)}
    factors = {(p, c): rng.random((sizes[p], sizes[c])) + 0.05 for p, c in factors}
    factors[0,] = rng.random(2)
    field = MarkovRandomField(factors)
    found = belief_propagation(field, {3: 1})
    assert found.is_tree
    assert found.n_iter == 1
    for node in field.nodes:
        wanted = field.conditional([node], {3: 1}) if node != 3 else [0.0, 1.0, 0.0]
        np.testing.assert_allclose(found.marginals[node], wanted, atol=1e-12)
    whole = belief_propagation(field)
    assert np.exp(whole.log_Z) == pytest.approx(field.Z)
    best = belief_propagation(field, algorithm="max")
    assert best.mode == field.mode()
    assert np.exp(best.log_Z) == pytest.approx(field.weights().max())


def test_max_product_decodes_ties_together():
    # two best assignments: the states of the beliefs alone would mix them
    field = {("a", "b"): [[1.0, 0.0], [0.0, 1.0]], ("b", "c"): [[1.0, 0.0], [0.0, 1.0]]}
    mode = belief_propagation(field, algorithm="max").mode
    assert mode["a"] == mode["b"] == mode["c"]


def test_loopy_messages_come_near_and_say_when_they_do_not():
    rng = np.random.default_rng(0)
    weak = MarkovRandomField(
        {(u, v): np.exp(0.2 * rng.normal(size=(2, 2))) for u, v in itertools.combinations(range(5), 2)}
    )
    found = belief_propagation(weak, damping=0.3)
    assert not found.is_tree
    assert found.converged
    for node in weak.nodes:
        np.testing.assert_allclose(found.marginals[node], weak.marginal([node]), atol=5e-3)
    assert found.log_Z == pytest.approx(np.log(weak.Z), abs=5e-3)
    # a frustrated field: parallel messages swing for ever unless they are damped
    frustrated = {pair: np.array([[1.0, 9.0], [9.0, 1.0]]) for pair in itertools.combinations(range(4), 2)}
    frustrated[0,] = np.array([3.0, 1.0])
    with pytest.warns(UserWarning, match="did not converge in max_iter=5 rounds"):
        assert not belief_propagation(frustrated, max_iter=5).converged


def test_sampling_comes_near():
    network = BayesianNetwork.from_tables(SPRINKLER)
    exact = network.query(["S", "R"], {"W": 1}).table
    for found in (
        likelihood_weighting(network, ["S", "R"], {"W": 1}, n_samples=40_000, random_state=0),
        gibbs_inference(network, ["S", "R"], {"W": 1}, n_samples=40_000, random_state=0),
    ):
        np.testing.assert_allclose(found.table, exact, atol=0.02)
    again = gibbs_inference(network, ["S", "R"], {"W": 1}, n_samples=40_000, random_state=0)
    assert np.array_equal(found.table, again.table)
    field = MarkovRandomField({(0, 1): [[3, 1], [1, 2]], (1, 2): [[2, 1], [1, 4]]})
    near = field.query([0], {2: 1}, method="gibbs", n_samples=40_000, random_state=1).table
    np.testing.assert_allclose(near, field.conditional([0], {2: 1}), atol=0.02)
    rows = network.sample(40_000, random_state=0)
    assert rows.mean(axis=0)[3] == pytest.approx(0.6471, abs=0.01)


def test_gibbs_conditionals_are_those_of_the_blanket():
    network = BayesianNetwork.from_tables(SPRINKLER)
    assert gibbs_conditional(network, "C", {"S": 1, "R": 0})[1] == pytest.approx(1 / 21)
    with pytest.raises(ValueError, match="'R' is in the Markov blanket of 'C'"):
        gibbs_conditional(network, "C", {"S": 1})


def test_mean_field_and_messages_answer_queries_of_several():
    chain = MarkovRandomField({(0, 1): [[3, 1], [1, 2]], (1, 2): [[2, 1], [1, 4]]})
    parts = [chain.query(k, method="belief_propagation").table for k in (0, 2)]
    both = chain.query([0, 2], method="belief_propagation").table
    np.testing.assert_allclose(both, np.outer(*parts))
    q = chain.query([0], {2: 1}, method="mean_field").table
    np.testing.assert_allclose(q, chain.conditional([0], {2: 1}), atol=0.05)
    marginals = chain.marginals({2: 1})
    for method in ("belief_propagation", "enumeration"):
        for node, table in chain.marginals({2: 1}, method=method).items():
            np.testing.assert_allclose(table, marginals[node], atol=1e-12)


def test_interventions_cut_what_leads_to_them():
    network = BayesianNetwork.from_tables(SPRINKLER)
    assert network.query("C", {"S": 1})[1] == pytest.approx(1 / 6)
    assert network.query("C", do={"S": 1})[1] == pytest.approx(0.5)
    # P(W | do(S = 1)) = Σ_C P(C) Σ_R P(R | C) P(W | S = 1, R)
    assert network.query("W", do={"S": 1})[1] == pytest.approx(0.5 * (0.9 + 0.99))
    for method in (*EXACT, "likelihood_weighting", "gibbs"):
        options = {"random_state": 0} if method not in EXACT else {}
        near = network.query("R", {"W": 1}, do={"S": 1}, method=method, **options)[1]
        assert near == pytest.approx(0.99 / 1.89, abs=1e-9 if method in EXACT else 0.03)
    assert set(network.sample(50, do={"S": 1}, random_state=0)[:, 1]) == {1.0}
    with pytest.raises(ValueError, match="both observed and set"):
        network.query("W", {"S": 1}, do={"S": 1})
    with pytest.raises(ValueError, match="no direction"):
        MarkovRandomField({(0, 1): np.ones((2, 2))}).query(0, do={1: 0})


def test_impossible_evidence_is_said():
    network = BayesianNetwork.from_tables(SPRINKLER)
    given = {"S": 0, "R": 0, "W": 1}
    for method in (*EXACT, "belief_propagation", "likelihood_weighting", "gibbs"):
        with pytest.raises(ValueError, match=r"evidence \{.*'W': 1\} is impossible"):
            network.query("C", given, method=method)
    with pytest.raises(ValueError, match="impossible"):
        network.mpe(given)
    assert network.probability(given) == 0.0
    with pytest.raises(ValueError, match="Every assignment has the weight 0"):
        JunctionTree({(0,): [0.0, 0.0]})


def test_wrong_questions_are_named():
    network = BayesianNetwork.from_tables(SPRINKLER, ["no", "yes"])
    for call, says in (
        (lambda: network.query("X"), "'X' is not a variable; the variables are \\['C', 'S', 'R', 'W'\\]"),
        (lambda: network.query("C", {"W": 1}), "'W' cannot be 1; its states are \\['no', 'yes'\\]"),
        (lambda: network.query(["C", "C"]), "comes twice"),
        (lambda: network.query("C", method="guess"), "method must be one of"),
        (lambda: network.mpe(method="gibbs"), "method must be"),
        (lambda: variable_elimination(network, "C", order="best"), "order must be"),
        (
            lambda: variable_elimination(network, "C", {"W": "yes"}, order=["S"]),
            "order must have every variable",
        ),
        (lambda: JunctionTree(network, heuristic="x"), "heuristic must be"),
        (lambda: belief_propagation(network, damping=1.0), "damping must be"),
        (lambda: belief_propagation(network, algorithm="mean"), "algorithm must be"),
        (lambda: gibbs_inference(network, "C", n_samples=0), "n_samples must be"),
        (lambda: enumeration([1, 2], "C"), "model must be"),
        (lambda: likelihood_weighting({("a",): [1, 2]}, "a"), "no direction"),
    ):
        with pytest.raises(ValueError, match=says):
            call()


def test_a_model_too_wide_is_refused_before_anything_is_made(monkeypatch):
    monkeypatch.setenv("TERCET_MEMORY", "1e6")
    pairs = {(i, j): np.ones((4, 4)) for i, j in itertools.combinations(range(14), 2)}
    wide = MarkovRandomField(pairs)
    for call in (
        lambda: wide.query(0),
        lambda: wide.junction_tree(),
        lambda: enumeration(wide, 0),
        lambda: wide.mpe(),
    ):
        with pytest.raises(ValueError, match=r"would need a table of .* cells \(.* [GM]B\); 1 MB of memory"):
            call()
    assert wide.query(0, method="gibbs", n_samples=10, random_state=0).table.sum() == pytest.approx(1)


def test_large_fields_need_no_table_of_all_assignments():
    chain = MarkovRandomField({(i, i + 1): np.array([[2.0, 1.0], [1.0, 2.0]]) for i in range(200)})
    assert chain.log_Z == pytest.approx(200 * np.log(3) + np.log(2))
    assert chain.marginal([0])[0] == pytest.approx(0.5)
    assert chain.conditional([1], {0: 0})[0] == pytest.approx(2 / 3)
    assert chain.probability({0: 0, 1: 0}) == pytest.approx(1 / 3)
    assert len(set(chain.mode().values())) == 1


def test_factors():
    a, b = Factor(("A", "B"), [[3, 1], [1, 2]]), Factor(("B", "C"), [[2, 1], [1, 4]], {"C": ["x", "y"]})
    both = a * b
    assert both.variables == ("A", "B", "C")
    np.testing.assert_allclose(both.table, np.einsum("ab,bc->abc", a.table, b.table))
    assert both.sum("A", "B")["y"] == pytest.approx(4 * 1 + 3 * 4)
    assert both.max("B", "C").table.tolist() == [6.0, 8.0]
    assert both.argmax() == {"A": 1, "B": 1, "C": "y"}
    assert both.reduce({"C": "x"}).normalise().table.sum() == pytest.approx(1)
    assert both.rows()[0] == (0, 0, "x", 6.0)
    assert both[{"A": 0, "B": 1, "C": "y"}] == 4.0
    assert np.asarray(both).shape == (2, 2, 2)
    assert repr(a).splitlines()[0].split() == ["A", "B", "value"]
    for call, says in (
        (lambda: Factor(("A",), [[1]]), "axis for each variable"),
        (lambda: Factor(("A",), [1, 2], {"A": ["x"]}), "has 1 states"),
        (lambda: a.sum("C"), "not in this factor"),
        (lambda: b.reduce({"C": "z"}), "'C' cannot be 'z'"),
    ):
        with pytest.raises(ValueError, match=says):
            call()


def test_most_probable_explanation_of_a_list_of_factors():
    parts = [Factor(("A", "B"), [[3, 1], [1, 2]]), Factor(("B",), [1, 5])]
    assert most_probable_explanation(parts) == {"A": 1, "B": 1}
