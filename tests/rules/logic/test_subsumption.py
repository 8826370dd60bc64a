"""θ-subsumption and reduction."""

import itertools

import numpy as np
import pytest

from tercet.rules.logic import (
    Clause,
    Literal,
    Program,
    ProofLimitError,
    Substitution,
    Variable,
    equivalent,
    parse_clause,
    reduce_clause,
    subsumes,
)
from tercet.rules.logic.terms import subterms

from .random_terms import random_clause


def subsumes_by_enumeration(C, D):
    """The oracle: every substitution of D's terms for C's variables."""
    terms = list(dict.fromkeys(t for literal in D.literals for arg in literal.args for t in subterms(arg)))
    own = [Variable(f"V{k}") for k in range(len(C.variables))]
    apart = C.replaced(dict(zip(C.variables, own)))
    for values in itertools.product(terms, repeat=len(own)):
        image = apart.replaced(dict(zip(own, values)))
        if image.head == D.head and set(image.body) <= set(D.body):
            return True
    return False


def test_random_clauses_agree_with_enumeration():
    rng = np.random.default_rng(0)
    found = 0
    for _ in range(150):
        C = random_clause(rng, size=int(rng.integers(1, 3)), depth=0, names="XY")
        D = random_clause(rng, size=4, depth=1, names="ZU")
        D = Clause(C.head.replaced({Variable("X"): D.head.args[0], Variable("Y"): D.head.args[0]}), D.body)
        theta = subsumes(C, D)
        assert (theta is not None) == subsumes_by_enumeration(C, D)
        if theta is not None:
            found += 1
            image = theta.apply(C)
            assert image.head == D.head
            assert set(image.body) <= set(D.body)
    assert found > 10


def test_a_clause_subsumes_its_instances_and_extensions():
    rng = np.random.default_rng(1)
    for _ in range(100):
        C = random_clause(rng, size=3, depth=1)
        theta = Substitution({v: random_clause(rng, 1).head.args[0] for v in C.variables})
        D = theta.apply(C)
        assert subsumes(C, Clause(D.head, (*D.body, *random_clause(rng, 2).body))) is not None


def test_signs_and_heads():
    assert subsumes("p(X) :- \\+ q(X)", "p(a) :- q(a)") is None
    assert subsumes("p(X) :- \\+ q(X)", "p(a) :- \\+ q(a), r") is not None
    assert subsumes("p(X) :- q(X)", "r(a) :- q(a)") is None
    assert subsumes(":- q(X)", "r(a) :- q(a)") is not None
    assert subsumes("r(a) :- q(a)", ":- q(a)") is None


def test_hard_cases_end():
    """A cycle of odd length does not map into one of even length; 25 literals take no exponential time."""

    def cycle(n, letter):
        return Clause(
            None,
            [Literal("e", [Variable(f"{letter}{k}"), Variable(f"{letter}{(k + 1) % n}")]) for k in range(n)],
        )

    def both_ways(clause):
        return Clause(None, [*clause.body, *(Literal("e", reversed(one.args)) for one in clause.body)])

    assert subsumes(both_ways(cycle(9, "X")), both_ways(cycle(8, "Y"))) is None
    assert subsumes(both_ways(cycle(8, "X")), both_ways(cycle(2, "Y"))) is not None
    with pytest.raises(ProofLimitError, match="max_tries=3"):
        subsumes(both_ways(cycle(9, "X")), both_ways(cycle(8, "Y")), max_tries=3)


@pytest.mark.parametrize(
    ("clause", "reduced"),
    [
        ("p(X) :- q(X, Y), q(X, Z)", "p(X) :- q(X, Z)."),
        ("p(X) :- q(X, Y), q(Y, X)", "p(X) :- q(X, Y), q(Y, X)."),
        ("p(X) :- q(X, X), q(X, Y), q(Y, Z), q(Z, X)", "p(X) :- q(X, X)."),
        ("p(X) :- q(X), q(X)", "p(X) :- q(X)."),
        ("p :- e(A, B), e(B, C), e(C, D), e(D, D)", "p :- e(D, D)."),
        ("p(X) :- \\+ q(X, Y), q(X, Z)", "p(X) :- \\+ q(X, Y), q(X, Z)."),
    ],
)
def test_reduction(clause, reduced):
    found = reduce_clause(clause)
    assert found.is_variant(parse_clause(reduced))
    assert equivalent(found, clause)


def test_reduced_clauses_are_equivalent_and_minimal():
    rng = np.random.default_rng(2)
    for _ in range(60):
        C = random_clause(rng, size=5, depth=0, names="XYZU")
        found = reduce_clause(C)
        assert equivalent(found, C)
        assert all(not equivalent(found, found.without(literal)) for literal in found.body)


def test_reduction_relative_to_facts():
    found = reduce_clause("p(X) :- q(X, Y), r(Y), r(Z), s(a)", "r(c). s(a).")
    assert found.is_variant(parse_clause("p(X) :- q(X, Y), r(Y)"))
    with pytest.raises(ValueError, match=r"background must be ground atoms; got r\(X\)"):
        reduce_clause("p(X) :- q(X)", "r(X).")


def test_subsumption_implies_entailment():
    """What a clause proves from facts, a clause that subsumes it proves, too."""
    rng = np.random.default_rng(4)
    facts = [f"{p}({a}, {b})." for p in "qr" for a, b in rng.integers(0, 5, (8, 2))]
    general = parse_clause("h(X) :- q(X, Y), r(Y, Z)")
    for special in (
        "h(X) :- q(X, Y), r(Y, Y)",
        "h(X) :- q(X, X), r(X, Z), q(Z, X)",
        "h(3) :- q(3, 1), r(1, 1)",
    ):
        assert subsumes(general, special) is not None
        for k in range(5):
            if Program([*facts, special]).holds(f"h({k})"):
                assert Program([*facts, general]).holds(f"h({k})")
