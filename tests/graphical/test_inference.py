"""Every method of inference against the definition, on random networks and fields."""

import itertools
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

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
from tests.graphical.networks import SPRINKLER, asia, condition, joint_table, random_network, xor_chain

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


ASIA_QUESTIONS = [
    ("lung", {"dysp": "yes"}),
    ("lung", {"xray": "yes"}),
    ("tub", {"either": "yes"}),
    ("either", {"xray": "yes", "dysp": "no"}),
    (["lung", "tub"], {"asia": "yes", "dysp": "yes"}),
]


@pytest.mark.parametrize(("variables", "evidence"), ASIA_QUESTIONS)
def test_gibbs_draws_deterministic_nodes_together_with_their_parents(variables, evidence):
    network = asia()
    exact = network.query(variables, evidence).table
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for seed in range(5):
            near = network.query(variables, evidence, method="gibbs", random_state=seed).table
            np.testing.assert_allclose(near, exact, atol=0.025)


def test_gibbs_on_asia_has_the_published_number():
    assert asia().query("lung", {"dysp": "yes"})["yes"] == pytest.approx(0.1028, abs=5e-5)


@pytest.mark.parametrize("noise", [0.0, 1e-6, 1e-3, 0.05])
@pytest.mark.parametrize("n", [3, 6])
def test_gibbs_with_variables_that_nearly_determine_each_other(n, noise):
    network = xor_chain(n, noise)
    for evidence in ({"x0": 0, f"x{n - 1}": 1}, {f"x{n - 1}": 1}):
        exact = network.query(["n1", f"n{n - 1}"], evidence).table
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for seed in range(3):
                near = gibbs_inference(network, ["n1", f"n{n - 1}"], evidence, random_state=seed).table
                np.testing.assert_allclose(near, exact, atol=0.03)


def test_gibbs_says_when_a_block_would_be_too_large():
    network = xor_chain(40)
    with pytest.warns(ConvergenceWarning, match=r"may not reach all states.* 77 variables .*'junction_tree'"):
        near = gibbs_inference(network, ["n1"], {"x0": 0, "x39": 1}, random_state=0).table
    np.testing.assert_allclose(near, [0.7, 0.3], atol=0.03)  # blocks that overlap still mix
    # nothing of the chain below x2 has a part in the answer: no block, no warning
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        near = gibbs_inference(network, ["n1"], {"x2": 1}, random_state=0).table
    np.testing.assert_allclose(near, network.query("n1", {"x2": 1}).table, atol=0.03)


def test_gibbs_chains_that_disagree_are_said():
    side = [(i, j) for i in range(6) for j in range(6)]
    pairs = [((i, j), near) for i, j in side for near in ((i + 1, j), (i, j + 1)) if near in side]
    cold = {pair: [[6.0, 1.0], [1.0, 6.0]] for pair in pairs}  # below the critical temperature: two phases
    with pytest.warns(
        ConvergenceWarning, match=r"disagree on how often \(0, 0\) is .: R-hat is .* at most 1\.1"
    ):
        gibbs_inference(MarkovRandomField(cold), [(0, 0)], n_samples=2000, burn_in=100, random_state=0)


@pytest.mark.parametrize("sharp", [1.0, 0.3])
def test_gibbs_on_ordinary_networks_is_right_and_does_not_warn(sharp):
    for seed in range(6):
        network = random_network(seed, d=8, sharp=sharp)
        row = network.sample(1, random_state=seed)[0]
        evidence = {"v6": row[6], "v7": row[7]}
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            near = network.query("v1", evidence, method="gibbs", random_state=seed).table
        np.testing.assert_allclose(near, network.query("v1", evidence).table, atol=0.04)


def test_gibbs_of_a_variable_with_very_many_children():
    pairs = {("a", f"b{k}"): [[1e-3, 1.0], [1e-3, 1.0]] for k in range(300)}  # whose product would be 0
    pairs["a", "b0"] = [[1e-3, 1.0], [2e-3, 1.0]]
    near = gibbs_inference(pairs, ["a"], {f"b{k}": 0 for k in range(300)}, random_state=0).table
    np.testing.assert_allclose(near, [1 / 3, 2 / 3], atol=0.02)
    np.testing.assert_allclose(
        gibbs_conditional(pairs, "a", {f"b{k}": 0 for k in range(300)}), [1 / 3, 2 / 3]
    )
    tables = {"a": [0.5, 0.5], **{f"b{k}": (["a"], [[1e-3, 0.999], [2e-3, 0.998]]) for k in range(300)}}
    network = BayesianNetwork.from_tables(tables)
    given = {f"b{k}": 0 for k in range(150)} | {f"b{k}": 1 for k in range(150, 300)}
    assert gibbs_inference(network, ["a"], given, random_state=0)[1] == 1.0  # odds 2^150


def test_gibbs_finds_a_start_that_random_states_do_not():
    network = BayesianNetwork.from_tables(
        {
            **{f"a{k}": [1 - 1e-4, 1e-4] for k in range(4)},
            **{f"b{k}": ([f"a{k}"], [[1.0, 0.0], [0.5, 0.5]]) for k in range(4)},
        }
    )
    evidence = {f"b{k}": 1 for k in range(4)}
    assert gibbs_inference(network, ["a0"], evidence, random_state=0)[1] == 1.0


def test_likelihood_weighting_with_vanishing_weights_is_said():
    tables = {"a": [1 - 1e-3, 1e-3], "b": (["a"], [[1 - 1e-7, 1e-7], [0.1, 0.9]])}
    network = BayesianNetwork.from_tables(tables)
    with pytest.warns(
        ConvergenceWarning, match=r"effective sample size is \d+\.\d of 10000.*\['b'\].*n_samples"
    ):
        likelihood_weighting(network, "a", {"b": 1}, random_state=0)
    tables["a"] = [1.0 - 1e-9, 1e-9]
    tables["b"] = (["a"], [[1.0, 0.0], [0.1, 0.9]])
    with pytest.raises(ValueError, match=r"none of n_samples=500 samples agrees with it\. Raise n_samples"):
        likelihood_weighting(
            BayesianNetwork.from_tables(tables), "a", {"b": 1}, n_samples=500, random_state=0
        )
    tables = {"a": [1e-7, 1 - 1e-7], "b": (["a"], [[1.0, 0.0], [1e-7, 1 - 1e-7]])}
    network = BayesianNetwork.from_tables(
        tables
    )  # half of the probability is that of a state which no sample has
    with pytest.warns(ConvergenceWarning, match=r"mean weight of 10000 samples is 1e-07 of the largest"):
        likelihood_weighting(network, "a", {"b": 0}, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rare = {"a": [0.5, 0.5], **{f"b{k}": (["a"], [[0.9, 0.1], [0.1, 0.9]]) for k in range(16)}}
        half = {f"b{k}": k % 2 for k in range(16)}  # small weights, but no others are possible
        likelihood_weighting(BayesianNetwork.from_tables(rare), "a", half, random_state=0)
        for n in (1, 20, 10_000):  # few samples of equal weights are few, but not vanishing
            likelihood_weighting(network, "b", n_samples=n, random_state=0)
        likelihood_weighting(asia(), "lung", {"dysp": "yes"}, random_state=0)


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


def test_mean_field_of_a_network_names_its_variables():
    """`either` is a function of `tub` and `lung`: a start that allows all their values has no bound."""
    network = asia()
    with pytest.raises(ValueError, match="Every value of 'tub' meets assignments of probability 0"):
        network.query("lung", {"dysp": "yes"}, method="mean_field")
    start = {"either": [1, 0], "tub": [1, 0]}
    found = network.query("lung", {"dysp": "yes"}, method="mean_field", start=start)
    order = [name for name in network.factor_model().names if name != "dysp"]
    same = network.query("lung", {"dysp": "yes"}, method="mean_field", start=start, order=order)
    assert 0 < found["yes"] == same["yes"] < 1


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
        (lambda: gibbs_inference(network, "C", n_chains=0), "n_chains must be"),
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
