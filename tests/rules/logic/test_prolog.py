"""Terms, clauses and their Prolog text."""

import copy
import pickle

import numpy as np
import pytest

from tercet.rules.logic import (
    Clause,
    Compound,
    Constant,
    Literal,
    Program,
    PrologSyntaxError,
    Substitution,
    Variable,
    parse_clause,
    parse_goal,
    parse_literal,
    parse_program,
    parse_term,
    term_list,
    to_prolog,
)

from .random_terms import random_clause


def test_equal_parts_make_equal_terms():
    assert parse_term("f(X, [a, 1, 2.5|T])") == parse_term("f(X,[a,1,2.5|T])")
    assert hash(parse_term("f(X, a)")) == hash(parse_term("f( X , a )"))
    assert len({Constant(1), Constant(1.0), Constant("1"), Variable("X"), Constant("X")}) == 5
    assert Constant(True) == Constant("true")
    assert Constant(np.int64(3)) == Constant(3)


@pytest.mark.parametrize(
    "thing",
    [Variable("X"), Constant("a"), parse_term("f(X)"), parse_literal("p(X)"), parse_clause("p(X) :- q(X)")],
    ids=lambda thing: type(thing).__name__,
)
def test_nothing_can_be_changed(thing):
    name = thing.parts[0]
    with pytest.raises(AttributeError, match="cannot be changed"):
        setattr(thing, name, 1)
    with pytest.raises(AttributeError, match="cannot be changed"):
        delattr(thing, name)
    again = pickle.loads(pickle.dumps(thing))
    assert again == thing
    assert hash(again) == hash(thing)
    assert copy.deepcopy(thing) == thing
    assert b"tercet.rules.logic.terms" not in pickle.dumps(thing)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Variable("x"), "capital letter"),
        (lambda: Constant(float("nan")), "finite number"),
        (lambda: Constant(None), "string or a finite number"),
        (lambda: Compound("f", []), "needs a name and arguments"),
        (lambda: Literal("", []), "must be a string"),
        (lambda: Clause(Literal("p", [], negated=True)), "must not be negated"),
        (lambda: Clause("p"), "made of literals"),
        (lambda: Program(":- p."), "is a goal"),
        (lambda: Program(3), "Prolog text or clauses"),
    ],
)
def test_wrong_parts_are_refused(make, says):
    with pytest.raises(ValueError, match=says):
        make()


def test_text_that_is_read_is_written_the_same():
    text = (
        "更好(X, Y) :- 根蒂更蜷(X, Y), \\+ 脐部更凹(Y, X).\n"
        "p([]).\n"
        "p([H|T]) :- p(T), H > 0, X is H + 2 * (T - 1), X =< 3.\n"
        "'Two words'('It\\'s', \"x\", -1.5e-07)."
    )
    once = to_prolog(parse_program(text))
    assert once.splitlines()[:3] == text.splitlines()[:3]
    assert once.splitlines()[3] == "'Two words'('It\\'s', x, -1.5e-07)."
    assert to_prolog(parse_program(once)) == once


def test_random_clauses_are_read_as_they_were_written():
    rng = np.random.default_rng(0)
    for _ in range(200):
        clause = random_clause(rng, size=int(rng.integers(0, 4)), depth=3)
        assert parse_clause(str(clause)) == clause


@pytest.mark.parametrize(
    "value", ["it's", "a\\b", "new\nline", "Upper", "_x", "mod", "x y", "3", "é", "瓜", "+"]
)
def test_any_name_survives_its_quotes(value):
    assert parse_term(str(Constant(value))) == Constant(value)
    assert parse_literal(str(Literal(value, ["a"]))) == Literal(value, ["a"])


def test_comments_declarations_and_goals():
    program = parse_program("% one\n:- dynamic p/1.\n/* two\nlines */ p(a). ?- p(X).\n:- p(X), q.")
    assert [str(clause) for clause in program] == ["p(a).", ":- p(X).", ":- p(X), q."]
    assert [str(one) for one in parse_goal("p(X), not(q(X)), not r(X), \\+ X = a")] == [
        "p(X)",
        "\\+ q(X)",
        "\\+ r(X)",
        "X \\= a",
    ]
    assert parse_clause("p(_, _, X)").variables == [Variable("_1"), Variable("_2"), Variable("X")]


@pytest.mark.parametrize(
    ("text", "line", "column", "says"),
    [
        ("p(a.", 1, 4, "expected ',' or ')' but found '.'"),
        ("p(a).\nq(b", 2, 4, "expected ',' or ')' but found the end"),
        ("p(a)", 1, 5, "expected '.'"),
        ("p(a).q(b).", 1, 5, "a blank must follow"),
        ("p(a) q(b).", 1, 6, "expected '.' at the end of a clause but found 'q'"),
        ("p(a).\n\n  q(X) :- r(X); s(X).", 3, 15, "disjunction"),
        ("p :- a -> b.", 1, 8, "if-then-else"),
        ("p :- !, q.", 1, 6, "cut"),
        ("p --> q.", 1, 3, "grammar rule"),
        ("p('abc).", 1, 3, "has no end"),
        ("p(a). /* comment", 1, 7, "has no end"),
        ("X :- p.", 1, 1, "expected a literal"),
        ("3.", 1, 1, "expected a literal"),
        ("\\+ p(a).", 1, 1, "cannot be the head"),
        ("X = a.", 1, 1, "cannot be the head"),
        ("p(a,).", 1, 5, "expected a term"),
        ("p().", 1, 3, "expected an argument"),
        ("p([a|]).", 1, 6, "expected a term"),
        ("p([a b]).", 1, 6, "expected ',', '|' or ']'"),
        ("p :- X < Y < Z.", 1, 12, "cannot follow another comparison"),
        ("p(12ab).", 1, 3, "neither a number nor a name"),
        ("p('a\\z').", 1, 5, "no escape sequence"),
        ("p(`a).", 1, 3, "has no meaning"),
        ("p({a}).", 1, 3, "expected a term"),
        ("p(1e999).", 1, 3, "too large"),
        ("p(" * 600, 1, 203, "nested"),
    ],
)
def test_malformed_text_has_its_place(text, line, column, says):
    with pytest.raises(PrologSyntaxError) as caught:
        parse_program(text)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert says in str(caught.value)
    assert str(caught.value).startswith(f"line {line}, column {column}: ")
    assert isinstance(caught.value, ValueError)


def test_the_place_of_an_error_travels():
    with pytest.raises(PrologSyntaxError) as caught:
        parse_program("p(a).\nq(b")
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.line, again.column, str(again)) == (2, 4, str(caught.value))


def test_more_than_one_is_refused_where_one_is_read():
    with pytest.raises(PrologSyntaxError, match="one clause"):
        parse_clause("p. q.")
    with pytest.raises(PrologSyntaxError, match="one literal"):
        parse_literal("p, q")
    with pytest.raises(PrologSyntaxError, match="one term"):
        parse_term("f(X). g")


def test_long_lists_need_no_deep_stack():
    long = term_list(range(20_000))
    assert parse_term(str(long)) == long
    assert Substitution({"X": long}).apply(term_list(["a"] * 5000, Variable("X"))).is_ground


def test_variants():
    clause = parse_clause("p(X, Y) :- q(X, Z), q(Z, Y)")
    assert clause.is_variant(parse_clause("p(A, B) :- q(C, B), q(A, C)"))
    assert not clause.is_variant(parse_clause("p(A, B) :- q(A, B), q(B, A)"))
    assert not clause.is_variant(parse_clause("p(A, A) :- q(A, C), q(C, A)"))
    assert not parse_clause("p(A, A) :- q(A)").is_variant(parse_clause("p(A, B) :- q(A)"))
    assert clause.renamed({"A"}).variables == [Variable("B"), Variable("C"), Variable("D")]
    assert (clause.is_recursive, parse_clause("p(X) :- q(X), p(X)").is_recursive) == (False, True)
    assert clause.predicates == {("q", 2)}
