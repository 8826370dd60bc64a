"""Unification, composition and resolution."""

import itertools

import numpy as np
import pytest

from tercet.rules.logic import (
    Compound,
    Literal,
    Substitution,
    Variable,
    parse_clause,
    parse_literal,
    parse_term,
    resolve,
    term_list,
    unify,
)
from tercet.rules.logic._engine.matching import one_way

from .random_terms import random_term


def test_the_texts_case():
    assert str(unify("p(X, f(Y), a)", "p(g(b), f(Z), Z)")) == "{X/g(b), Y/a, Z/a}"
    assert unify("X", "f(X)") is None


@pytest.mark.parametrize(
    ("s", "t", "answer"),
    [
        ("a", "a", "{}"),
        ("a", "b", None),
        ("f(X)", "g(X)", None),
        ("f(X)", "f(X, Y)", None),
        ("f(X, X)", "f(Y, g(Y))", None),
        ("f(X, Y)", "f(Y, X)", "{X/Y}"),
        ("[H|T]", "[1, 2]", "{H/1, T/[2]}"),
        ("f(X, g(Y), Z)", "f(g(Z), X, Z)", "{X/g(Z), Y/Z}"),
        ("1", "1.0", None),
        ("f(X, Y, Z)", "f(g(Y), g(Z), g(X))", None),
    ],
)
def test_cases(s, t, answer):
    found = unify(s, t)
    assert (None if found is None else str(found)) == answer


def test_signs_and_predicates_must_agree():
    p = parse_literal("p(X)")
    assert unify(p, parse_literal("p(a)")) == {Variable("X"): parse_term("a")}
    assert unify(p, p.negation()) is None
    assert unify(p, parse_literal("q(a)")) is None


def test_the_unifier_is_a_most_general_one():
    """It unifies, is idempotent, and every other unifier among ground substitutions is an instance of it."""
    rng = np.random.default_rng(1)
    constants = [parse_term(text) for text in ("a", "b", "f1(a)")]
    unified = 0
    for _ in range(300):
        s, t = random_term(rng, 2, "XY"), random_term(rng, 2, "XYZ")
        theta = unify(s, t)
        both = Compound("pair", [s, t])
        if theta is not None:
            unified += 1
            assert theta.apply(s) == theta.apply(t)
            assert theta.is_idempotent
            assert theta.compose(theta) == theta
        for values in itertools.product(constants, repeat=3):
            sigma = Substitution(dict(zip(map(Variable, "XYZ"), values)))
            if sigma.apply(s) == sigma.apply(t):
                assert theta is not None
                whole = Literal("w", [theta.apply(both)])
                assert one_way(whole, Literal("w", [sigma.apply(both)]), {}) is not None
                # A most general unifier comes before every unifier: σ = θσ.
                assert theta.compose(sigma).restricted(sigma) == sigma
    assert unified > 50


def test_composition_is_doing_one_after_the_other():
    rng = np.random.default_rng(2)
    for _ in range(200):
        sigma, tau = (
            Substitution({name: random_term(rng, 2) for name in "XYZ" if rng.random() < 0.7}) for _ in "ab"
        )
        term = random_term(rng, 3)
        assert sigma.compose(tau).apply(term) == tau.apply(sigma.apply(term))
    rho = Substitution({"Z": "f(X)"})
    assert sigma.compose(tau).compose(rho) == sigma.compose(tau.compose(rho))


def test_substitutions_are_mappings():
    theta = Substitution({"X": "a", Variable("Y"): parse_term("Y")})
    assert dict(theta) == {Variable("X"): parse_term("a")}
    assert Substitution() == {}
    assert hash(Substitution({"X": "a"})) == hash(theta)


def test_long_lists_unify():
    one, other = term_list(range(5000), Variable("T")), term_list([*range(5000), "end"])
    assert str(unify(one, other)) == "{T/[end]}"


def test_resolution_steps():
    resolvents = resolve("grand(X, Z) :- parent(X, Y), parent(Y, Z)", "parent(tom, eve)")
    assert [str(clause) for clause in resolvents] == [
        "grand(tom, Z) :- parent(eve, Z).",
        "grand(X, eve) :- parent(X, tom).",
    ]
    # Variables of one name in two clauses are different variables.
    assert [str(c) for c in resolve("p(X) :- q(X)", "q(f(X)) :- r(X)")] == ["p(f(A)) :- r(A)."]
    assert resolve("p(X) :- \\+ q(X)", "q(a)") == []
    assert resolve("p(X) :- q(X, X)", "q(Y, f(Y))") == []
    assert resolve("p :- q", parse_clause("r")) == []
