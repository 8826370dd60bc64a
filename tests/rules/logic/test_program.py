"""Proofs by SLD resolution: answers, limits, left recursion, negation; and least models."""

import pickle

import numpy as np
import pytest

from tercet.rules.logic import Literal, Program, ProofLimitError, term_list

FAMILY = """
    parent(ann, tom). parent(ann, sue). parent(tom, eve). parent(tom, ian). parent(sue, jim).
    female(ann). female(sue). female(eve).
"""
ANCESTOR = "ancestor(X, Y) :- parent(X, Y). ancestor(X, Y) :- parent(X, Z), ancestor(Z, Y)."


def answers(program, goal, **limits):
    return [str(answer) for answer in program.solve(goal, **limits)]


def test_answers_come_in_the_order_of_the_clauses():
    program = Program(FAMILY + ANCESTOR)
    assert answers(program, "ancestor(ann, W), female(W)") == ["{W/sue}", "{W/eve}"]
    assert answers(program, "parent(X, jim)") == ["{X/sue}"]
    assert answers(program, "parent(ann, tom)") == ["{}"]
    assert answers(program, "unknown(ann)") == []
    assert program.holds([Literal("parent", ["ann", "sue"]), Literal("female", ["sue"])])


def test_lists_and_arithmetic():
    program = Program("""
        append([], L, L).
        append([H|T], L, [H|R]) :- append(T, L, R).
        len([], 0).
        len([_|T], N) :- len(T, M), N is M + 1.
        max(X, Y, X) :- X >= Y.
        max(X, Y, Y) :- X < Y.
    """)
    assert answers(program, "append(X, [3], [1, 2, 3])") == ["{X/[1, 2]}"]
    assert len(answers(program, "append(X, Y, [1, 2, 3])")) == 4
    assert answers(program, "len([a, b, c], N), max(N, 2, M), K is 7 // 2 + 7 mod 4 - 2 ** 2") == [
        "{K/2, M/3, N/3}"
    ]
    assert answers(program, "X is 6 / 4, Y is 6 / 3, Z is -7 // 2") == ["{X/1.5, Y/2, Z/-3}"]
    long = term_list(range(3000))
    assert [len(str(a)) for a in program.solve([Literal("len", [long, 3000])])] == [2]
    with pytest.raises(ValueError, match="Arithmetic needs numbers; got X"):
        program.holds("Y is X + 1")
    with pytest.raises(ValueError, match="has no value"):
        program.holds("Y is 1 / 0")


def test_occurs_check():
    assert not Program("p(X, f(X)).").holds("p(Y, Y)")
    assert not Program("same(X, X).").holds("same(Y, f(Y))")


def test_comparisons_of_terms():
    program = Program("p(a). p(b).")
    assert answers(program, "p(X), X \\= a") == ["{X/b}"]
    assert answers(program, "X = f(Y), Y = a, X == f(a)") == ["{X/f(a), Y/a}"]
    assert answers(program, "X == Y") == []
    assert answers(program, "X \\== Y, X = Y") == ["{X/Y}"]


def test_negation_as_failure():
    program = Program(FAMILY + "childless(X) :- person(X), \\+ parent(X, _). person(eve). person(tom).")
    assert answers(program, "childless(W)") == ["{W/eve}"]
    assert program.holds("\\+ parent(eve, ann)")
    assert not program.holds("\\+ parent(ann, X)")
    win = Program("win(X) :- move(X, Y), \\+ win(Y). move(a, b). move(b, c). move(c, d).")
    assert [name for name in "abcd" if win.holds(f"win({name})")] == ["a", "c"]


def test_proofs_are_trees():
    proof = Program(FAMILY + ANCESTOR).prove("ancestor(ann, ian)")
    assert proof.to_text() == (
        "ancestor(ann, ian)\n├─ parent(ann, tom)\n└─ ancestor(tom, ian)\n   └─ parent(tom, ian)"
    )
    assert (proof.depth, len(proof.clauses)) == (2, 4)
    assert Program(FAMILY).prove("parent(tom, ann)") is None
    two = Program(FAMILY).prove("parent(ann, X), \\+ female(X), X \\= sue")
    assert str(two) == "true\n├─ parent(ann, tom)\n├─ \\+ female(tom)\n└─ tom \\= sue"
    assert pickle.loads(pickle.dumps(proof)) == proof


def test_left_recursion_is_named():
    left = Program(FAMILY + "anc(X, Y) :- anc(X, Z), parent(Z, Y). anc(X, Y) :- parent(X, Y).")
    assert [str(clause) for clause in left.left_recursive()] == ["anc(X, Y) :- anc(X, Z), parent(Z, Y)."]
    with pytest.raises(ProofLimitError, match=r"max_depth=50.*anc\(X, Y\) :- anc\(X, Z\), parent\(Z, Y\)"):
        left.holds("anc(eve, W)", max_depth=50)
    mutual = Program("p(X) :- q(X). q(X) :- X \\= a, p(X). r(X) :- p(X).")
    assert [str(clause) for clause in mutual.left_recursive()] == ["p(X) :- q(X).", "q(X) :- X \\= a, p(X)."]
    assert Program(ANCESTOR + " nat(0). nat(s(X)) :- nat(X).").left_recursive() == []


def test_limits_are_said():
    loop = Program("p(X) :- p(f(X)). q(X) :- r(X), q(X). r(1). r(2).")
    with pytest.raises(ProofLimitError, match="max_depth=30"):
        loop.holds("p(a)", max_depth=30)
    with pytest.raises(ProofLimitError, match="max_inferences=500"):
        loop.holds("q(1)", max_inferences=500)
    with pytest.raises(ProofLimitError, match="time_limit=1e-09"):
        loop.holds("q(1)", time_limit=1e-9)
    with pytest.raises(ProofLimitError, match="max_depth=30"):
        loop.holds("\\+ p(a)", max_depth=30)  # what was not decided is not taken for false
    with pytest.raises(ValueError, match="max_depth must be an integer"):
        loop.holds("r(1)", max_depth=0)
    with pytest.raises(ValueError, match="time_limit must be"):
        loop.holds("r(1)", time_limit=-1.0)
    # An answer that is found before a limit stands.
    found = Program("n(0). n(X) :- n(Y), X is Y + 1.").solve("n(X)", max_depth=20)
    assert [str(next(found)) for _ in range(3)] == ["{X/0}", "{X/1}", "{X/2}"]


def test_deep_proofs_need_no_deep_stack():
    chain = Program(
        [*(f"e({k}, {k + 1})." for k in range(3000)), "t(X, Y) :- e(X, Y).", "t(X, Y) :- e(X, Z), t(Z, Y)."]
    )
    assert chain.prove("t(0, 3000)").depth == 3000


def test_search_tree_is_the_plain_form_of_the_search():
    program = Program(FAMILY + ANCESTOR)
    for goal in ("ancestor(ann, W)", "parent(X, Y), \\+ female(Y)", "ancestor(X, eve), X \\= tom"):
        tree = program.search_tree(goal)
        leaves = [str(leaf.answer) for leaf in tree.leaves() if leaf.status == "success"]
        assert leaves == answers(program, goal)
    endless = Program("p(X) :- p(X).").search_tree("p(a)", max_depth=5)
    assert [leaf.status for leaf in endless.leaves()] == ["cut"]
    assert "[cut]" in str(endless)


def test_random_programs_agree_with_their_least_models():
    """Depth-first proofs, forward chaining and the plain search tree say the same."""
    rng = np.random.default_rng(3)
    for _ in range(25):
        edges = {(int(a), int(b)) for a, b in rng.integers(0, 7, (9, 2)) if a < b}
        facts = (
            "".join(f"e({a}, {b}). " for a, b in sorted(edges)) + "n(0). n(1). n(2). n(3). n(4). n(5). n(6). "
        )
        rules = """
            t(X, Y) :- e(X, Y).
            t(X, Y) :- e(X, Z), t(Z, Y).
            lonely(X) :- n(X), \\+ t(X, _), \\+ t(_, X).
            far(X, Y) :- t(X, Y), \\+ e(X, Y), X < Y.
            top(X) :- n(X), \\+ e(_, X).
        """
        program = Program(facts + rules)
        model = {str(atom) for atom in program.least_model()}
        for predicate in ("t(X, Y)", "lonely(X)", "far(X, Y)", "top(X)"):
            goal = Literal.parse(predicate)
            proved = {str(answer.apply(goal)) for answer in program.solve(goal)}
            assert proved == {atom for atom in model if atom.startswith(predicate.split("(")[0] + "(")}


def test_least_model_ends_where_proofs_do_not():
    program = Program(
        "path(X, Z) :- path(X, Y), path(Y, Z). path(X, Y) :- e(X, Y). e(a, b). e(b, c). e(c, a)."
    )
    assert sum(atom.predicate == "path" for atom in program.least_model()) == 9
    flag = Program("go. ready :- go, \\+ stop. p(a) :- ready. p(X) :- q(X, X). q(b, b). q(b, c).")
    assert {str(atom) for atom in flag.least_model()} == {"go", "q(b, b)", "q(b, c)", "ready", "p(a)", "p(b)"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("p(X) :- q(f(X)). q(a).", "without compound terms"),
        ("p(X, Y) :- q(X). q(a).", "Y is missing"),
        ("p(X) :- q(X), \\+ p(X). q(a).", "stratified"),
        ("p(X) :- q(X), Y is X + 1. q(1).", "arithmetic"),
    ],
)
def test_least_model_refuses(text, says):
    with pytest.raises(ValueError, match=says):
        Program(text).least_model()
    with pytest.raises(ValueError, match="max_facts=5"):
        Program("p(X, Y) :- q(X), q(Y). q(1). q(2). q(3).").least_model(max_facts=5)


def test_every_argument_is_indexed():
    """A goal with any argument bound tries only the facts that have it."""
    facts = [Literal("e", [k, k + 1, k % 7]) for k in range(5000)]
    program = Program(facts)
    for goal in ("e(17, X, Y)", "e(X, 18, Y)", "e(X, 18, 3)"):
        assert len(answers(program, goal, max_inferences=20)) == 1
    with pytest.raises(ProofLimitError):
        answers(program, "e(X, Y, Z)", max_inferences=20)


def test_programs_are_values(tmp_path):
    file = tmp_path / "family.pl"
    file.write_text(FAMILY, encoding="utf-8")
    program = Program.from_file(file)
    assert program == Program(FAMILY)
    assert len(program + ANCESTOR) == len(program) + 2
    assert Program(str(program)) == program
    assert pickle.loads(pickle.dumps(program)) == program
    assert program.predicates == {("parent", 2): 5, ("female", 1): 3}
    assert len(program.facts) == 8
