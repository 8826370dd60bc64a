"""FOIL: gain, known problems, recursion, negation, encoding length, bad input."""

import itertools
import pickle

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from tercet.rules.logic import (
    FOIL,
    Clause,
    ILPProblem,
    Literal,
    Program,
    attribute_facts,
    parse_clause,
    parse_program,
)
from tercet.rules.logic._engine.body_query import Bindings
from tercet.rules.logic._engine.candidate_literals import Search, Space, Types
from tercet.rules.logic._engine.examples import Examples, covered
from tercet.rules.logic._engine.relations import FactBase
from tercet.rules.logic.terms import Variable

from .melons import COLUMNS, GOOD, MELONS, better, relations

FAMILY = [
    ("ann", "tom"), ("ann", "sue"), ("tom", "eve"), ("tom", "ian"), ("sue", "jim"), ("eve", "bob"), ("ian", "lea"),
    ("max", "kim"), ("kim", "pat"), ("kim", "joe"),
]  # fmt: skip
PARENTS = [Literal("parent", pair) for pair in FAMILY]


def closure():
    found = set(FAMILY)
    while more := {(a, d) for a, b in found for c, d in found if b == c} - found:
        found |= more
    return [Literal("ancestor", pair) for pair in sorted(found)]


def grandparents():
    return [Literal("grandparent", (a, d)) for a, b in FAMILY for c, d in FAMILY if b == c]


def is_definition(model, *clauses):
    wanted = [parse_clause(clause) for clause in clauses]
    return len(model.clauses_) == len(wanted) and all(
        any(clause.is_variant(one) for clause in model.clauses_) for one in wanted
    )


def test_grandparent():
    model = FOIL().fit(PARENTS, grandparents())
    assert is_definition(model, "grandparent(A, B) :- parent(A, C), parent(C, B)")
    assert model.target_ == ("grandparent", 2)
    assert model.uncovered_ == []
    assert model.history_["left"][-1] == 0
    assert parse_program(model.to_prolog()) == model.clauses_


def test_ancestor_with_recursion():
    model = FOIL(negation=False).fit(PARENTS, closure())
    assert is_definition(
        model, "ancestor(A, B) :- parent(A, B)", "ancestor(A, B) :- parent(A, C), ancestor(C, B)"
    ) or is_definition(
        model, "ancestor(A, B) :- parent(A, B)", "ancestor(A, B) :- parent(C, B), ancestor(A, C)"
    )
    assert model.predict(closure()).all()
    # A longer line than any in the examples, and one with people who were not there.
    assert model.predict(["ancestor(lea, ann)", "ancestor(nobody, ann)"]).tolist() == [False, False]
    assert not Program(model.clauses_).left_recursive()


def test_recursion_goes_down_an_order():
    """A relation with a cycle orders nothing: no recursive clause may rest on it."""
    cycle = [("a", "b"), ("b", "c"), ("c", "a"), ("d", "e")]
    reached = [("a", x) for x in "abc"] + [("b", x) for x in "abc"] + [("c", x) for x in "abc"] + [("d", "e")]
    model = FOIL(negation=False, encoding_length=False).fit(
        [Literal("e", pair) for pair in cycle], [Literal("r", pair) for pair in reached]
    )
    assert not any(clause.is_recursive for clause in model.clauses_)
    pairs = itertools.product("abcde", repeat=2)
    assert model.predict([Literal("r", pair) for pair in pairs]).sum() == len(reached)  # every proof ends


def test_lists_as_relations():
    """member/2 from components(list, head, tail), as in Quinlan's paper: the tail is smaller than the list."""
    lists = {
        "[]": [],
        "[a]": "a",
        "[b]": "b",
        "[c]": "c",
        "[a,b]": "ab",
        "[b,c]": "bc",
        "[c,a]": "ca",
        "[a,b,c]": "abc",
    }
    names = {"".join(v): k for k, v in lists.items()}
    facts = [
        Literal("components", [name, items[0], names["".join(items[1:])]])
        for name, items in lists.items()
        if items
    ]
    positives = [Literal("member", [x, name]) for name, items in lists.items() for x in items]
    model = FOIL(types={"components": ("list", "item", "list"), "member": ("item", "list")}).fit(
        facts, positives
    )
    assert model.predict(positives).all()
    assert any(clause.is_recursive for clause in model.clauses_)
    assert is_definition(
        model, "member(A, B) :- components(B, A, C)", "member(A, B) :- components(B, C, D), member(A, D)"
    )


@pytest.mark.parametrize("negation", [True, False])
@pytest.mark.parametrize("encoding_length", [True, False])
@pytest.mark.parametrize(
    "lists", [("", "c", "bc", "abc"), ("", "a", "b", "ab"), ("", "b", "ab", "cb"), ("", "a", "b", "ba", "ab")]
)
def test_no_clause_covers_a_negative_example(lists, encoding_length, negation):
    """The clause mem(A, B) :- cons(B, C, D), \\+ cons(_, A, B) is wrong on the negative mem(a, l1) alone."""
    names = {items: f"l{k}" for k, items in enumerate(lists)}
    facts = [Literal("cons", [names[v], v[0], names[v[1:]]]) for v in lists if v]
    positives = [Literal("mem", [x, names[v]]) for v in lists for x in v]
    model = FOIL(encoding_length=encoding_length, negation=negation).fit(facts, positives)
    every = [Literal("mem", [x, name]) for x in sorted(set("".join(lists))) for name in names.values()]
    assert model.predict(every).tolist() == [atom in positives for atom in every]


def suffixes(lists):
    """Lists as `cons` facts, and which of them are suffixes of which."""
    names = {v: f"l{k}" for k, v in enumerate(lists)}
    facts = [Literal("cons", [names[v], v[0], names[v[1:]]]) for v in lists if v]
    return facts, [Literal("t", [names[w], names[v]]) for v in lists for w in lists if v.endswith(w)]


def test_recursive_calls_come_after_what_binds_their_variables():
    """A call with a variable that has no value yet goes into `\\+ cons(A, _, _)`, which then holds for none."""
    lists = ["", "ab", "ac", "b", "c", "cac"]
    facts, positives = suffixes(lists)
    model = FOIL().fit(facts, positives)
    assert any(clause.is_recursive for clause in model.clauses_)
    for clause in model.clauses_:
        known = set(clause.head.variables)
        for literal in clause.body:
            assert literal.key != ("t", 2) or known.issuperset(literal.variables)
            known |= set(literal.variables)
    every = [Literal("t", [f"l{j}", f"l{k}"]) for j in range(len(lists)) for k in range(len(lists))]
    assert model.predict(every).tolist() == [atom in positives for atom in every]


def test_uncovered_positives_are_those_that_do_not_follow():
    """t(b, l3) is covered by way of t(b, l1), for which there is no clause."""
    lists = ["", "b", "c", "cb"]
    facts, _ = suffixes(lists)
    positives = [Literal("t", [v[-1], f"l{k}"]) for k, v in enumerate(lists) if v]
    with pytest.warns(ConvergenceWarning, match=r"found for 2 of 3 .*By recursion, 3 do not follow"):
        model = FOIL().fit(facts, positives)
    assert model.uncovered_ == [atom for atom in positives if not model.predict([atom])[0]] == positives


def test_accuracy_below_1_allows_negatives():
    facts = "q(a). q(b). q(c). q(d). q(e). r(x)."
    given = [f"p({x})" for x in "abcd"], ["p(e)", "p(x)"]
    with pytest.warns(ConvergenceWarning, match=r"no clause was found for 4 of 4.*noisy, lower min_accuracy"):
        FOIL(encoding_length=False).fit(facts, *given)
    noisy = FOIL(encoding_length=False, min_accuracy=0.8).fit(facts, *given)
    assert noisy.to_prolog() == "p(A) :- q(A)."


def test_negation():
    people = "abcdefghij"
    facts = [Literal("male", [p]) for p in "abcdef"] + [
        Literal("married", pair) for pair in (("a", "g"), ("b", "h"), ("c", "i"))
    ] + [Literal("person", [p]) for p in people]  # fmt: skip
    model = FOIL(encoding_length=False).fit(facts, [Literal("bachelor", [p]) for p in "def"])
    assert is_definition(model, "bachelor(A) :- male(A), \\+ married(A, B)") or is_definition(
        model, "bachelor(A) :- \\+ married(A, B), male(A)"
    )
    assert "\\+ married(A, _1)" in model.to_prolog()
    assert model.predict([f"bachelor({p})" for p in people]).tolist() == [p in "def" for p in people]
    with pytest.warns(ConvergenceWarning, match="no clause was found for 3 of 3"):
        FOIL(negation=False, encoding_length=False).fit(facts, [Literal("bachelor", [p]) for p in "def"])


def trains():
    """Trains of cars: length, roof, load. One goes east if it has a short closed car."""
    rng = np.random.default_rng(5)
    facts, east, west = [], [], []
    for t in range(24):
        is_east = False
        for c in range(int(rng.integers(2, 5))):
            car = f"c{t}_{c}"
            long, closed = rng.random(2) < 0.5
            facts += [
                Literal("has_car", [f"t{t}", car]),
                Literal("long" if long else "short", [car]),
                Literal("closed" if closed else "open", [car]),
                Literal("load", [car, str(rng.choice(["circle", "square", "triangle"]))]),
            ]
            is_east |= bool(closed and not long)
        (east if is_east else west).append(Literal("east", [f"t{t}"]))
    return facts, east, west


def test_trains():
    facts, east, west = trains()
    model = FOIL(negation=False, constants=["circle", "square"]).fit(facts, east, west)
    assert is_definition(model, "east(A) :- has_car(A, B), closed(B), short(B)")
    assert model.score(east, west) == 1.0


def test_determinate_literals_open_the_way():
    """No literal alone gains: the value is reached through two functions."""
    rng = np.random.default_rng(0)
    n = 30
    f, g = rng.integers(0, n, n), rng.integers(0, n, n)
    facts = [Literal("f", [f"x{k}", f"y{f[k]}"]) for k in range(n)]
    facts += [Literal("g", [f"y{k}", f"z{g[k]}"]) for k in range(n)]
    facts += [Literal("even", [f"z{k}"]) for k in range(0, n, 2)]
    good = [Literal("p", [f"x{k}"]) for k in range(n) if g[f[k]] % 2 == 0]
    bad = [Literal("p", [f"x{k}"]) for k in range(n) if g[f[k]] % 2]
    model = FOIL(negation=False, recursion=False).fit(facts, good, bad)
    assert is_definition(model, "p(A) :- f(A, B), g(B, C), even(C)")


def test_melons_as_relations():
    positives, negatives = better()
    model = FOIL(encoding_length=False).fit(relations(), positives, negatives)
    assert model.predict(positives).all()
    assert not model.predict(negatives).any()
    assert {name for clause in model.clauses_ for name, _ in clause.predicates} & {"色泽更深", "脐部更凹"}


def test_melons_as_attributes():
    frame = {"id": list(MELONS), **{c: [row[k] for row in MELONS.values()] for k, c in enumerate(COLUMNS)}}
    values = sorted({value for row in MELONS.values() for value in row})
    model = FOIL(constants=values, encoding_length=False).fit(
        attribute_facts(frame, key="id"),
        [Literal("好瓜", [k]) for k in GOOD],
        [Literal("好瓜", [k]) for k in MELONS if k not in GOOD],
    )
    assert model.predict([Literal("好瓜", [k]) for k in MELONS]).tolist() == [k in GOOD for k in MELONS]
    assert model.to_prolog().splitlines() == [
        "好瓜(A) :- 色泽(A, 乌黑), 根蒂(A, 蜷缩).",
        "好瓜(A) :- 色泽(A, 青绿), 敲声(A, 浊响).",
        "好瓜(A) :- 色泽(A, 乌黑), 纹理(A, 稍糊).",
    ]


def test_gain_counts_bindings():
    """F_gain = t (log2 p1/(p1+n1) - log2 p0/(p0+n0)), with t the old positive bindings that are still covered."""
    facts = FactBase(parse_literals("q(a, 1) q(a, 2) q(a, 3) q(b, 1) q(d, 1) q(d, 2) r(a)"))
    A, B = Variable("A"), Variable("B")
    examples = Examples.of(parse_literals("p(a) p(b) p(c) p(d) p(e)"), ("p", 1), facts)
    facts.add(parse_literals("p(a) p(b) p(c)"))
    space = Space(facts, Types(facts, None), ("p", 1), [("q", 2), ("r", 1)], [], True, 5, 1000)
    search = Search(
        space, examples.bindings(Literal("p", [A])), 3, {A: space.types.of(("p", 1), 0)}, lambda one: True
    )
    search.best = -1e9
    found, _ = search.run(set())
    gains = {str(one.literal): (one.p, one.n, one.t, one.gain) for one in found}
    before = np.log2(3 / 5)
    assert gains["q(A, B)"] == pytest.approx((4, 2, 2, 2 * (np.log2(4 / 6) - before)))
    assert gains["r(A)"] == pytest.approx((1, 0, 1, -before))
    assert isinstance(examples.bindings(Literal("p", [A])).extended(Literal("q", [A, B])), Bindings)


def parse_literals(text):
    return [Literal.parse(f"{one})") for one in text.replace(") ", ")").split(")") if one]


def test_coverage_by_joins_is_coverage_by_proof():
    rng = np.random.default_rng(6)
    names = "abcdef"
    for _ in range(40):
        facts = [Literal(p, [names[i], names[j]]) for p in "qr" for i, j in rng.integers(0, 6, (7, 2))]
        variables = [Variable(v) for v in "ABCD"]
        body = []
        for _ in range(int(rng.integers(1, 4))):
            args = [variables[k] if k < 4 else names[k - 4] for k in rng.integers(0, 6, 2)]
            body.append(Literal(str(rng.choice(["q", "r"])), args))
        body.append(Literal("q", [variables[k] for k in rng.integers(0, 2, 2)], negated=True))
        clause = Clause(Literal("p", variables[:2]), body)
        atoms = [Literal("p", pair) for pair in itertools.product(names, repeat=2)]
        program = Program([*facts, clause])
        assert covered(clause, Examples.of(atoms, ("p", 2), FactBase(facts))).tolist() == [
            program.holds(atom) for atom in atoms
        ]


def test_encoding_length_stops_where_noise_begins():
    """Labels at random: without the limit clauses fit noise, with it hardly any is accepted."""
    rng = np.random.default_rng(7)
    facts = [Literal(f"a{j}", [k]) for k in range(60) for j in range(6) if rng.random() < 0.5]
    labels = rng.random(60) < 0.5
    good, bad = ([Literal("p", [k]) for k in range(60) if labels[k] == value] for value in (True, False))
    with pytest.warns(ConvergenceWarning, match="encoding_length=False allows longer"):
        short = FOIL().fit(facts, good, bad)
    with pytest.warns(ConvergenceWarning, match="no clause was found"):
        long = FOIL(encoding_length=False, min_accuracy=0.5).fit(facts, good, bad)
    assert max(len(c.body) for c in short.clauses_) < max(len(c.body) for c in long.clauses_)
    assert len(short.uncovered_) > len(long.uncovered_)


def test_background_rules_are_evaluated():
    rules = "father(X, Y) :- parent(X, Y), male(X). male(tom). male(ian). male(max)."
    background = [*PARENTS, *parse_program(rules)]
    fathers = {"tom", "ian", "max"}
    positives = [Literal("dad", pair) for pair in FAMILY if pair[0] in fathers]
    model = FOIL(negation=False).fit(background, positives)
    assert is_definition(model, "dad(A, B) :- father(A, B)")
    problem = ILPProblem(
        background, positives, [Literal("dad", pair) for pair in FAMILY if pair[0] not in fathers]
    )
    assert problem.is_solution(model.clauses_)


def test_given_negatives_decide_on_recursion():
    """A recursive clause that would prove negatives by way of atoms in neither list is not kept."""
    positives, negatives = better()
    model = FOIL(negation=False, encoding_length=False).fit(relations(), positives, negatives)
    problem = ILPProblem([*relations()], positives, negatives)
    assert problem.is_solution(model.clauses_)


def test_same_seed_same_clauses():
    models = [FOIL(max_negatives=20, random_state=3).fit(PARENTS, grandparents()) for _ in range(2)]
    assert models[0].clauses_ == models[1].clauses_
    generator = FOIL(max_negatives=20, random_state=np.random.default_rng(0)).fit(PARENTS, grandparents())
    assert generator.predict(grandparents()).all()


def test_pickled_models_predict_the_same():
    model = FOIL(negation=False).fit(PARENTS, closure())
    before = model.predict(closure())
    again = pickle.loads(pickle.dumps(model))
    assert again.clauses_ == model.clauses_
    assert (again.predict(closure()) == before).all()


def test_callbacks_hear_of_every_clause():
    model = FOIL(negation=False).fit(PARENTS, closure())
    assert model.n_iter_ == len(model.clauses_)
    assert sum(model.history_["covered"]) == len(closure())


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((PARENTS, []), "at least one"),
        (
            (PARENTS, ["p(a)"], ["p(a)", "p(b)"]),
            r"Contradictory examples: p\(a\) is both positive and negative",
        ),
        ((PARENTS, ["p(a)", "q(a)"]), "of one predicate; got p/1, q/1"),
        ((PARENTS, ["p(X)"]), r"positives must be ground atoms; got p\(X\)"),
        ((PARENTS, ["parent(ann, bob)"]), "defines parent/2"),
        ((["p(X) :- q(f(X))"], ["r(a)"]), "without compound terms"),
        (("parent(ann tom).", ["r(a)"]), "line 1, column 12"),
        ((PARENTS, ["p(a) :- q(a)"]), "column 6"),
    ],
)
def test_bad_input(arguments, says):
    with pytest.raises(ValueError, match=says):
        FOIL().fit(*arguments)


def test_bad_parameters():
    with pytest.raises(ValueError, match="'min_accuracy' must be a number"):
        FOIL(min_accuracy=2).fit(PARENTS, grandparents())
    with pytest.raises(ValueError, match="constants: zzz is not in the background"):
        FOIL(constants=["zzz"]).fit(PARENTS, grandparents())
    with pytest.raises(ValueError, match="types of 'parent' must be 2 names"):
        FOIL(types={"parent": ("person",)}).fit(PARENTS, grandparents())
    with pytest.raises(NotFittedError, match="not fitted yet"):
        FOIL().predict(["p(a)"])


def test_without_negatives_the_head_alone_is_learned():
    model = FOIL().fit("q(a). q(b).", ["p(a)", "p(b)"], [])
    assert model.to_prolog() == "p(A)."
    assert model.predict(["p(a)", "p(c)"]).tolist() == [True, True]
