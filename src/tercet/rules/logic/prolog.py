"""Prolog text: read into clauses, and written from them.

What is read: facts, rules and goals of literals, joined by commas; `\\+` and `not` before a literal; lists;
comparisons (=, \\=, ==, <, >, =<, >=, =:=, =\\=, is) and arithmetic terms. Disjunctions, if-then-else and cuts
are refused with the place where they stand: a Horn clause has none. Names may be Chinese; a word that begins
with a capital letter or an underscore is a variable.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from tercet.rules.logic.clause import Clause
from tercet.rules.logic.literal import COMPARISONS, Literal
from tercet.rules.logic.terms import LIST, NIL, Compound, Constant, Term, Variable, term_list
from tercet.rules.logic.tokens import PrologSyntaxError, Scanner, Token

__all__ = [
    "PrologSyntaxError",
    "format_clause",
    "format_literal",
    "format_term",
    "parse_clause",
    "parse_goal",
    "parse_literal",
    "parse_program",
    "parse_term",
    "to_prolog",
]

INFIX = {
    **dict.fromkeys(COMPARISONS, (700, 699, 699)),
    **dict.fromkeys(("+", "-"), (500, 500, 499)),
    **dict.fromkeys(("*", "/", "//", "mod", "rem"), (400, 400, 399)),
    "**": (200, 199, 199),
    "^": (200, 199, 200),
}
UNSUPPORTED = {
    ";": "a disjunction (;); write a clause for each case",
    "|": "a disjunction (|); write a clause for each case",
    "->": "an if-then-else (->); write a clause for each case",
    "!": "a cut (!)",
    "-->": "a grammar rule (-->)",
}
DECLARATIONS = (
    "dynamic",
    "discontiguous",
    "table",
    "module",
    "use_module",
    "set_prolog_flag",
    "ensure_loaded",
)
PLAIN = re.compile(r"[^\W\d_]\w*\Z")
DEEPEST = 100  # brackets inside brackets


def parse_program(text: str) -> list[Clause]:
    """Read all clauses of a Prolog text.

    Declarations (`:- dynamic p/2.`) are passed over. Malformed text is a `PrologSyntaxError` with line and column.

    Examples
    --------
    >>> [str(clause) for clause in parse_program("parent(ann, tom). % a fact\\nold(X) :- parent(X, _).")]
    ['parent(ann, tom).', 'old(X) :- parent(X, _1).']
    >>> parse_program("parent(ann, tom).\\nparent(tom eve).")
    Traceback (most recent call last):
    tercet.rules.logic.tokens.PrologSyntaxError: line 2, column 12: expected ',' or ')' but found 'eve'
    """
    parser = _Parser(text)
    clauses = []
    while parser.token.kind != "eof":
        clause = parser.clause()
        parser.expect_end()
        if clause is not None:
            clauses.append(clause)
    return clauses


def parse_clause(text: str) -> Clause:
    """Read one clause; its full stop may be left out.

    Examples
    --------
    >>> print(parse_clause("better(X, Y) :- deeper(X, Y), \\\\+ sound(X, dull)"))
    better(X, Y) :- deeper(X, Y), \\+ sound(X, dull).
    """
    parser = _Parser(text)
    clause = parser.clause()
    parser.expect_end(optional=True)
    parser.expect_eof("one clause")
    if clause is None:
        raise PrologSyntaxError("a declaration is no clause", 1, 1)
    return clause


def parse_goal(text: str) -> list[Literal]:
    """Read a conjunction of literals, as one asks it: "parent(X, Y), female(Y)".

    Examples
    --------
    >>> [str(literal) for literal in parse_goal("parent(X, Y), female(Y)")]
    ['parent(X, Y)', 'female(Y)']
    """
    parser = _Parser(text)
    if parser.is_atom("?-", ":-"):
        parser.next()
    literals = parser.body()
    parser.expect_end(optional=True)
    parser.expect_eof("one goal")
    return literals


def parse_literal(text: str) -> Literal:
    """Read one literal.

    Examples
    --------
    >>> print(parse_literal("parent(ann, X)"))
    parent(ann, X)
    """
    literals = parse_goal(text)
    if len(literals) != 1:
        raise PrologSyntaxError(f"one literal is needed, not {len(literals)}", 1, 1)
    return literals[0]


def parse_term(text: str) -> Term:
    """Read one term.

    Examples
    --------
    >>> parse_term("f(X, [1, 'Ann'|T])").functor
    'f'
    """
    parser = _Parser(text)
    term = parser.term(999)
    parser.expect_end(optional=True)
    parser.expect_eof("one term")
    return term


class _Parser:
    """A recursive descent parser with operator precedences."""

    def __init__(self, text: str) -> None:
        self.stream = Scanner(text).tokens()
        self.anonymous, self.depth = 0, 0
        self.token: Token = next(self.stream)

    def next(self) -> Token:
        token = self.token
        if token.kind != "eof":
            self.token = next(self.stream)
        return token

    def fail(self, message: str, token: Token | None = None) -> PrologSyntaxError:
        token = token or self.token
        return PrologSyntaxError(message, token.line, token.column)

    def is_atom(self, *values: str) -> bool:
        return self.token.kind == "atom" and self.token.value in values

    def is_mark(self, value: str) -> bool:
        return self.token.kind == "mark" and self.token.value == value

    def expect(self, mark: str, wanted: str) -> None:
        if not self.is_mark(mark):
            self.refuse_unsupported()
            raise self.fail(f"expected {wanted} but found {self.token}")
        self.next()

    def expect_end(self, optional: bool = False) -> None:
        if self.token.kind == "end":
            self.next()
        elif not (optional and self.token.kind == "eof"):
            self.refuse_unsupported()
            if self.is_atom("."):
                raise self.fail("a blank must follow the '.' at the end of a clause")
            raise self.fail(f"expected '.' at the end of a clause but found {self.token}")

    def expect_eof(self, wanted: str) -> None:
        if self.token.kind != "eof":
            raise self.fail(f"expected {wanted}, but the text goes on with {self.token}")

    def refuse_unsupported(self) -> None:
        if self.token.kind in ("atom", "mark") and self.token.value in UNSUPPORTED:
            raise self.fail(f"{UNSUPPORTED[self.token.value]} cannot be a part of a Horn clause")

    def clause(self) -> Clause | None:
        self.anonymous = 0
        if self.is_atom(":-", "?-"):
            self.next()
            if self.is_atom(*DECLARATIONS):
                while self.token.kind not in ("end", "eof"):
                    self.next()
                return None
            return Clause(None, self.body())
        start = self.token
        head = self.literal()
        if head.negated or head.is_comparison:
            raise self.fail(f"{head} cannot be the head of a clause", start)
        if self.is_atom(":-"):
            self.next()
            return Clause(head, self.body())
        return Clause(head)

    def body(self) -> list[Literal]:
        literals: list[Literal] = []
        while True:
            if self.is_mark("("):
                self.nest()
                self.next()
                literals += self.body()
                self.expect(")", "',' or ')'")
                self.depth -= 1
            else:
                literals.append(self.literal())
            if not self.is_mark(","):
                return literals
            self.next()

    def nest(self) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.fail(f"brackets are nested more than {DEEPEST} deep")

    def literal(self) -> Literal:
        self.refuse_unsupported()
        if self.is_atom("\\+") or (self.is_atom("not") and not self.token.called):
            self.next()
            return self.literal().negation()
        start = self.token
        if self.is_atom("not"):
            self.next()
            self.next()
            inner = self.literal()
            self.expect(")", "')'")
            return inner.negation()
        term = self.term(700)
        if isinstance(term, Compound):
            return Literal(term.functor, term.args)
        if isinstance(term, Constant) and isinstance(term.value, str):
            return Literal(term.value)
        raise self.fail(f"expected a literal, as in p(X), but found {start}", start)

    def term(self, limit: int) -> Term:
        left, strength = self.primary(), 0
        while True:
            name = self.token.value if self.token.kind == "atom" else ""
            if name not in INFIX or INFIX[name][0] > limit:
                return left
            level, left_limit, right_limit = INFIX[name]
            if strength > left_limit:
                raise self.fail(f"{name} cannot follow another comparison; use brackets")
            self.next()
            left, strength = Compound(name, (left, self.term(right_limit))), level

    def primary(self) -> Term:
        self.refuse_unsupported()
        token = self.next()
        if token.kind == "number":
            return self.constant(token.value, token)
        if token.kind == "variable":
            return self.variable(token.value)
        if token.kind in ("atom", "quoted"):
            return self.name(token)
        if token.kind == "mark" and token.value == "(":
            self.nest()
            term = self.term(999)
            self.expect(")", "')'")
            self.depth -= 1
            return term
        if token.kind == "mark" and token.value == "[":
            return self.list_(token)
        raise self.fail(f"expected a term but found {token}", token)

    def constant(self, value: Any, token: Token) -> Constant:
        try:
            return Constant(value)
        except ValueError:
            raise self.fail(f"{token} is too large a number", token) from None

    def variable(self, name: str) -> Variable:
        if name != "_":
            return Variable(name)
        self.anonymous += 1
        return Variable(f"_{self.anonymous}")

    def name(self, token: Token) -> Term:
        if token.called:
            self.next()
            self.nest()
            args = self.arguments(")", "',' or ')'")
            self.depth -= 1
            return Compound(token.value, args)
        if token.kind == "atom" and token.value in ("-", "+"):
            if self.token.kind == "number" and (self.token.line, self.token.column) == (
                token.line,
                token.column + 1,
            ):
                value = self.next().value
                return Constant(-value if token.value == "-" else value)
            if self.token.kind not in ("end", "eof") and not (
                self.token.kind == "mark" and self.token.value in ",)|]"
            ):
                return Compound(token.value, (self.term(200),))
        if token.kind == "atom" and (token.value in INFIX or token.value in (":-", "?-")):
            raise self.fail(f"expected a term but found the operator {token}", token)
        if not token.value:
            raise self.fail("a name must not be empty", token)
        return Constant(token.value)

    def arguments(self, end: str, wanted: str) -> list[Term]:
        if self.is_mark(end):
            raise self.fail(f"expected an argument but found {self.token}")
        args = [self.term(999)]
        while self.is_mark(","):
            self.next()
            args.append(self.term(999))
        self.expect(end, wanted)
        return args

    def list_(self, opened: Token) -> Term:
        if self.is_mark("]"):
            self.next()
            return Constant(NIL)
        self.nest()
        elements, tail = [self.term(999)], None
        while self.is_mark(","):
            self.next()
            elements.append(self.term(999))
        if self.is_mark("|"):
            self.next()
            tail = self.term(999)
        self.expect("]", "',', '|' or ']'")
        self.depth -= 1
        return term_list(elements, tail)


def to_prolog(clauses: Iterable[Clause]) -> str:
    """Clauses as Prolog text, each on a line of its own.

    Examples
    --------
    >>> print(to_prolog(parse_program("p(1).  q(X):-p(X),X>0.")))
    p(1).
    q(X) :- p(X), X > 0.
    """
    return "\n".join(format_clause(clause) for clause in clauses)


def format_clause(clause: Clause) -> str:
    """A clause as Prolog text, with its full stop."""
    body = ", ".join(format_literal(literal) for literal in clause.body)
    if clause.head is None:
        return f":- {body}."
    head = format_literal(clause.head)
    return f"{head} :- {body}." if body else f"{head}."


def format_literal(literal: Literal) -> str:
    """A literal as Prolog text."""
    text = format_term(literal.as_term(), 700)
    return f"\\+ {text}" if literal.negated else text


def format_term(term: Term, limit: int = 999) -> str:
    """A term as Prolog text; names that are no plain words are put in quotes."""
    if isinstance(term, Variable):
        return term.name
    if isinstance(term, Constant):
        if isinstance(term.value, str):
            return _name(term.value)
        return repr(term.value)
    if term.functor == LIST and len(term.args) == 2:
        return _list(term)
    if term.functor in INFIX and len(term.args) == 2:
        level, left, right = INFIX[term.functor]
        text = f"{format_term(term.args[0], left)} {term.functor} {format_term(term.args[1], right)}"
        return f"({text})" if level > limit else text
    return f"{_name(term.functor)}({', '.join(format_term(arg) for arg in term.args)})"


def _list(term: Term) -> str:
    elements = []
    while isinstance(term, Compound) and term.functor == LIST and len(term.args) == 2:
        elements.append(format_term(term.args[0]))
        term = term.args[1]
    rest = "" if term == Constant(NIL) else f"|{format_term(term)}"
    return f"[{', '.join(elements)}{rest}]"


def _name(name: str) -> str:
    plain = PLAIN.match(name) is not None and not name[0].isupper() and not name[0].istitle()
    if name == NIL or (plain and name not in ("mod", "rem", "is", "not")):
        return name
    escaped = name.replace("\\", "\\\\").replace("'", "\\'")
    for letter, code in (("\n", "n"), ("\t", "t"), ("\r", "r"), ("\a", "a"), ("\b", "b"), ("\0", "0")):
        escaped = escaped.replace(letter, f"\\{code}")
    return f"'{escaped}'"
