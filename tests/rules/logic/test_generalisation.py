"""Least general generalisations, relative ones, and Golem."""

import numpy as np
import pytest

from tercet.rules.logic import (
    Clause,
    Golem,
    Literal,
    Substitution,
    Variable,
    equivalent,
    lgg,
    parse_clause,
    parse_term,
    rlgg,
    saturate,
    subsumes,
    term_list,
)

from .melons import better, relations
from .random_terms import random_clause, random_term

FACTS = """
    parent(ann, mary). parent(ann, tom). parent(tom, eve). parent(tom, ian).
    female(ann). female(mary). female(eve).
"""
DAUGHTERS = ["daughter(mary, ann)", "daughter(eve, tom)"]


def test_melons():
    """Case 3 of the notes, and the next step: another pair makes the first melon a variable."""
    first = "更好(1, 10) :- 根蒂更蜷(1, 10), 敲声更沉(1, 10), 脐部更凹(1, 10), 触感更硬(1, 10)."
    second = "更好(1, 15) :- 根蒂更蜷(1, 15), 脐部更凹(1, 15), 触感更硬(1, 15)."
    both = lgg(first, second)
    assert str(both) == "更好(1, A) :- 根蒂更蜷(1, A), 脐部更凹(1, A), 触感更硬(1, A)."
    third = "更好(2, 10) :- 色泽更深(2, 10), 根蒂更蜷(2, 10), 脐部更凹(2, 10)."
    assert str(lgg(both, third)) == "更好(A, B) :- 根蒂更蜷(A, B), 脐部更凹(A, B)."
    assert equivalent(lgg(first, second, third), lgg(both, third))


@pytest.mark.parametrize(
    ("s", "t", "both"),
    [
        ("a", "a", "a"),
        ("f(a, b)", "f(b, a)", "f(A, B)"),
        ("f(a, a)", "f(b, b)", "f(A, A)"),
        ("f(a)", "g(a)", "A"),
        ("f(a)", "f(a, a)", "A"),
        ("[1, 2, 3]", "[1, 5]", "[1, A|B]"),
        ("f(X, X)", "f(Y, a)", "f(A, B)"),
        ("1", "1.0", "A"),
    ],
)
def test_terms(s, t, both):
    assert str(lgg(s, t)) == both


def test_generalisations_of_terms_are_least():
    """Both are instances of it, and it is an instance of every other term that both are instances of."""
    rng = np.random.default_rng(0)

    def is_instance(special, general):
        return subsumes(Clause(Literal("t", [general])), Clause(Literal("t", [special]))) is not None

    for _ in range(200):
        general = random_term(rng, 3, "XYZ")
        s, t = (
            Substitution({name: random_term(rng, 1, "UVW") for name in "XYZ"}).apply(general) for _ in "ab"
        )
        both = lgg(s, t)
        assert is_instance(s, both)
        assert is_instance(t, both)
        assert is_instance(both, general)


def test_generalisations_of_clauses_are_least():
    rng = np.random.default_rng(1)
    for _ in range(60):
        general = random_clause(rng, size=2, depth=1, names="XYZ")
        C, D = (
            Clause(one.head, (*one.body, *random_clause(rng, 1, 0, "UV").body))
            for one in (
                Substitution({name: random_term(rng, 1, "UVW") for name in "XYZ"}).apply(general)
                for _ in "ab"
            )
        )
        both = lgg(C, D)
        assert subsumes(both, C) is not None
        assert subsumes(both, D) is not None
        assert subsumes(general, both) is not None
        assert equivalent(both, lgg(D, C))
        assert equivalent(lgg(C, C), C)


def test_kinds_of_expressions():
    assert lgg(Literal("p", ["a"]), Literal("q", ["a"])) is None
    assert lgg("p(a).", "q(a).") is None
    assert str(lgg(Literal("p", ["a"], negated=True), Literal("p", ["b"], negated=True))) == "\\+ p(A)"
    assert lgg(Literal("p", ["a"], negated=True), Literal("p", ["b"])) is None
    assert str(lgg("p :- q(a).")) == "p :- q(a)."
    assert lgg(term_list(range(3000)), term_list(range(1, 3001))) is not None
    with pytest.raises(ValueError, match="of one kind"):
        lgg(parse_term("a"), parse_clause("p"))
    with pytest.raises(ValueError, match="at least one"):
        lgg()
    big = Clause(Literal("p"), [Literal("q", [k]) for k in range(20)])
    with pytest.raises(ValueError, match="400 literals; max_literals=100"):
        lgg(big, big, max_literals=100)


def test_relative_generalisation():
    """Case 4 of the notes: 25 literals before reduction, two after it."""
    assert len(rlgg(DAUGHTERS, FACTS, reduce=False).body) == 25
    found = rlgg(DAUGHTERS, FACTS)
    assert found.is_variant(parse_clause("daughter(X, Y) :- female(X), parent(Y, X)"))
    bounded = rlgg(DAUGHTERS, FACTS, max_depth=1, max_degree=1)
    assert found.is_variant(bounded)


def test_the_bounds_keep_determinate_literals():
    facts = """father(a, b). father(b, c). father(d, e). father(e, f).
               likes(a, x). likes(a, y). likes(d, x). likes(d, z)."""
    examples = ["grand(a, c)", "grand(d, f)"]
    one = rlgg(examples, facts, max_depth=1, reduce=False)
    assert one.predicates == {("father", 2)}  # what a likes is not determined by a
    assert one.is_variant(parse_clause("grand(A, B) :- father(A, C), father(C, B)"))
    assert len(rlgg(examples, facts, reduce=False).body) == 16 + 16
    three = rlgg([*examples, "grand(b, g)"], facts + " father(c, g).", max_depth=2)
    assert three.is_variant(parse_clause("grand(A, B) :- father(A, C), father(C, B)"))
    lists = rlgg(["last([1, 2], 2)", "last([3, 4], 4)"], "even(2). even(4).", max_depth=1)
    assert lists.is_variant(parse_clause("last([X, Y], Y) :- even(Y)"))


def test_relative_generalisation_covers_its_examples():
    rng = np.random.default_rng(2)
    for _ in range(15):
        facts = [Literal(p, [int(a), int(b)]) for p in "qr" for a, b in rng.integers(0, 6, (6, 2))]
        examples = [Literal("p", [int(k)]) for k in rng.choice(6, 2, replace=False)]
        for bounds in ({}, {"max_depth": 2, "max_degree": 2}):
            clause = rlgg(examples, facts, **bounds)
            for example in examples:
                ground = Clause(example, dict.fromkeys(facts))
                assert subsumes(clause, ground) is not None


def test_bad_input():
    assert rlgg(["p(a)", "q(a)"], "r(a).") is None
    with pytest.raises(ValueError, match="max_depth must be an integer"):
        rlgg(DAUGHTERS, FACTS, max_depth=0)
    with pytest.raises(ValueError, match="at least one example"):
        rlgg([], FACTS)
    with pytest.raises(ValueError, match="examples must be ground atoms"):
        rlgg(["p(X)"], FACTS)


def test_saturation_starts_from_what_is_linked():
    clause = saturate("p(a)", "q(a, b). q(b, c). q(c, d). r(z). t.", max_depth=2)
    assert str(clause) == "p(a) :- q(a, b), t, q(b, c)."
    rules = saturate("p(a)", "q(a). s(X) :- q(X).")
    assert str(rules) == "p(a) :- q(a), s(a)."


def test_golem_on_melons():
    positives, negatives = better()
    model = Golem(random_state=0).fit(relations(), positives, negatives)
    assert model.predict(positives).all()
    assert not model.predict(negatives).any()
    assert "更好(A, B) :- 根蒂更蜷(A, B), 脐部更凹(A, B)." in model.to_prolog().splitlines()
    again = Golem(random_state=0).fit(relations(), positives, negatives)
    assert again.clauses_ == model.clauses_


def test_golem_on_lists():
    """Compound terms: the clause is a pattern of the head."""
    positives = ["second([a, b, c], b)", "second([c, d], d)", "second([x, y, z, w], y)"]
    negatives = ["second([a, b, c], c)", "second([c, d], c)", "second([a], a)"]
    model = Golem(random_state=0).fit("letter(a).", positives, negatives)
    assert [c.is_variant(parse_clause("second([A, B|C], B)")) for c in model.clauses_] == [True]
    assert model.predict(["second([p, q, r], q)", "second([p, q, r], r)"]).tolist() == [True, False]


def test_golem_says_what_it_could_not_cover():
    with pytest.warns(UserWarning, match="no clause was found for 2 of 2"):
        model = Golem(random_state=0).fit("q(a). q(b). q(c).", ["p(a)", "p(b)"], ["p(c)"])
    assert model.clauses_ == []
    assert [str(atom) for atom in model.uncovered_] == ["p(a)", "p(b)"]
    assert not model.predict(["p(a)"]).any()


def test_variables_stand_for_pairs():
    assert lgg("f(a, b, a)", "f(c, d, c)") == parse_term("f(A, B, A)")
    assert Variable("A") in lgg("p(a) :- q(a).", "p(b) :- q(b).").variables
