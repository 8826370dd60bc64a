"""Inverse resolution: all four operators, checked by resolving back."""

import numpy as np
import pytest

from tercet.rules.logic import (
    Clause,
    Literal,
    Variable,
    absorption,
    identification,
    inter_construction,
    intra_construction,
    parse_clause,
    resolve,
)


def gives(first, second, wanted):
    wanted = parse_clause(wanted) if isinstance(wanted, str) else wanted
    return any(wanted.is_variant(clause) for clause in resolve(first, second))


def test_propositional():
    assert [str(c) for c in absorption("p :- a, b, c", "q :- a, b")] == ["p :- q, c."]
    assert [str(c) for c in identification("p :- a, b, c", "p :- a, q")] == ["q :- b, c."]
    assert [str(c) for c in intra_construction("p :- a, b, c", "p :- a, d, e", name="q")] == [
        "p :- a, q.",
        "q :- b, c.",
        "q :- d, e.",
    ]
    assert [str(c) for c in inter_construction("p :- a, b, c", "q :- a, b, d", name="r")] == [
        "p :- r, c.",
        "r :- a, b.",
        "q :- r, d.",
    ]


def test_where_an_operator_does_not_apply():
    assert absorption("p :- a", "q :- b") == []
    assert absorption("p :- a", "q") == []
    assert identification("p :- a", "r :- a, q") == []
    assert identification("p :- a", "p :- b, q") == []
    assert intra_construction("p :- a", "q :- a") is None
    assert intra_construction("p(X) :- a(X)", "p(Y) :- a(Y)") is None
    assert inter_construction("p :- a", "q :- b") is None
    with pytest.raises(ValueError, match="'a' is in the clauses"):
        intra_construction("p :- a, b", "p :- a, c", name="a")


def test_absorption_undoes_a_substitution():
    found = absorption("grand(X, Z) :- father(X, Y), father(Y, Z)", "parent(A, B) :- father(A, B)")
    assert [str(c) for c in found] == [
        "grand(X, Z) :- parent(X, Y), father(Y, Z).",
        "grand(X, Z) :- father(X, Y), parent(Y, Z).",
    ]
    for clause in found:
        assert gives(clause, "parent(A, B) :- father(A, B)", "grand(X, Z) :- father(X, Y), father(Y, Z)")
    # A variable of the other clause alone must be one that nothing else refers to.
    assert absorption("p(X) :- q(X, Y), r(Y)", "s(A) :- q(A, B)") == []
    assert [str(c) for c in absorption("p(X) :- q(X, Y), r(X)", "s(A) :- q(A, B)")] == ["p(X) :- s(X), r(X)."]


def test_absorption_of_the_melons():
    grown = "更好(1, Y) :- 根蒂更蜷(1, Y), 脐部更凹(1, Y)"
    known = "形更好(1, Z) :- 根蒂更蜷(1, Z), 脐部更凹(1, Z)"
    general, special = absorption(grown, known)
    assert str(special) == "更好(1, Y) :- 形更好(1, Y)."
    assert str(general) == "更好(A, Y) :- 形更好(A, Y)."
    assert gives(general, known, grown)


def test_first_order_identification():
    found = identification("up(X, Y) :- step(X, Z), low(Z), step(Z, Y)", "up(A, B) :- step(A, C), rest(C, B)")
    assert [str(c) for c in found] == ["rest(Z, Y) :- low(Z), step(Z, Y)."]
    assert identification("p(a) :- q(a), r(b)", "p(X) :- q(X), s(X, Y)") == [
        parse_clause("s(a, B) :- r(b)").replaced({Variable("B"): Variable("C")})
    ] or [str(c) for c in identification("p(a) :- q(a), r(b)", "p(X) :- q(X), s(X, Y)")] == [
        "s(a, Y) :- r(b)."
    ]


def test_first_order_intra_construction():
    one = "更好(X, Y) :- 根蒂更蜷(X, Y), 纹理更清(X, Y)"
    other = "更好(U, V) :- 根蒂更蜷(U, V), 敲声更沉(U, V)"
    clauses = intra_construction(one, other, name="q")
    assert [str(c) for c in clauses] == [
        "更好(X, Y) :- 根蒂更蜷(X, Y), q(X, Y).",
        "q(X, Y) :- 纹理更清(X, Y).",
        "q(U, V) :- 敲声更沉(U, V).",
    ]
    clauses = intra_construction("p(X) :- a(X, Y), b(Y)", "p(X) :- a(X, Z), c(Z, Z)")
    assert [str(c) for c in clauses] == [
        "p(X) :- a(X, Y), new1(Y).",
        "new1(Y) :- b(Y).",
        "new1(Z) :- c(Z, Z).",
    ]
    constants = intra_construction("p(a) :- q(a), r(a)", "p(b) :- q(b), s(c)", name="t")
    assert [str(c) for c in constants] == ["p(A) :- q(A), t(A).", "t(a) :- r(a).", "t(b) :- s(c)."]


def test_first_order_inter_construction():
    clauses = inter_construction(
        "uncle(X, Y) :- brother(X, Z), parent(Z, Y)", "aunt(U, V) :- sister(U, W), parent(W, V)", name="r"
    )
    assert [str(c) for c in clauses] == [
        "uncle(X, Y) :- r(Z, Y), brother(X, Z).",
        "r(Z, Y) :- parent(Z, Y).",
        "aunt(U, V) :- r(W, V), sister(U, W).",
    ]
    clauses = inter_construction("p(X) :- a(X, Y), b(Y), c(X)", "q(X) :- a(X, Y), b(Y), d(X)")
    assert [str(c) for c in clauses] == [
        "p(X) :- new1(X), c(X).",
        "new1(X) :- a(X, Y), b(Y).",
        "q(X) :- new1(X), d(X).",
    ]


def random_body(rng, size, predicates):
    letters = [Variable(name) for name in "XYZ"] + ["a", "b"]
    return [
        Literal(str(rng.choice(list(predicates))), [letters[k] for k in rng.integers(0, 5, 2)])
        for _ in range(size)
    ]


def test_whatever_comes_out_resolves_back():
    """Random clauses: what the operators give has the clauses they were made of among its resolvents."""
    rng = np.random.default_rng(0)
    made = dict.fromkeys(("absorption", "identification", "intra", "inter"), 0)
    for _ in range(150):
        head = Literal("p", [Variable("X")])
        first = Clause(head, random_body(rng, 3, "cde")).distinct()
        second = Clause(head, [*first.body[:1], *random_body(rng, 2, "cde")]).distinct()
        known = Clause(Literal("q", [Variable("X"), Variable("Y")]), random_body(rng, 1, "cde"))
        for clause in absorption(first, known):
            made["absorption"] += 1
            assert gives(clause, known, first)
        partial = Clause(head, [*first.body[:1], Literal("q", [Variable("X"), Variable("Y")])])
        for clause in identification(first, partial):
            made["identification"] += 1
            assert gives(partial, clause, first)
        if (clauses := intra_construction(first, second)) is not None:
            made["intra"] += 1
            assert gives(clauses[0], clauses[1], first)
            assert gives(clauses[0], clauses[2], second)
        other = Clause(Literal("s", [Variable("Z")]), second.body)
        if (clauses := inter_construction(first, other)) is not None:
            made["inter"] += 1
            assert gives(clauses[0], clauses[1], first)
            assert gives(clauses[2], clauses[1], other)
    assert min(made.values()) > 20
