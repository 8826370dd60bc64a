"""Watermelon notes, chapter 13, 13.4-13.5: first-order rules and inductive logic (一阶规则与归纳逻辑程序设计)."""

from __future__ import annotations

from typing import Any

from tercet.datasets.texts import Example

FAMILY = (
    "parent(ann, mary). parent(ann, tom). parent(tom, eve). parent(tom, ian). "
    "female(ann). female(mary). female(eve)."
)


def unifier(s: str, t: str, variable: str, inside: str) -> dict[str, Any]:
    from tercet.rules.logic import unify

    return {"unifier": str(unify(s, t)), "of X and f(X)": str(unify(variable, inside))}


def generalised(first: str, second: str) -> dict[str, Any]:
    from tercet.rules.logic import lgg

    return {"clause": str(lgg(first, second))}


def relative(examples: list[str], facts: str) -> dict[str, Any]:
    from tercet.rules.logic import rlgg, subsumes

    whole: Any = rlgg(examples, facts, reduce=False)
    reduced: Any = rlgg(examples, facts)
    return {
        "literals": len(whole.body),
        "clause": str(reduced),
        "subsumes the whole": subsumes(reduced, whole) is not None,
    }


def inverse(both: str, known: str, part: str, first: str, second: str, other: str) -> dict[str, Any]:
    from tercet.rules.logic import absorption, identification, inter_construction, intra_construction

    return {
        "absorption": [str(clause) for clause in absorption(both, known)],
        "identification": [str(clause) for clause in identification(both, part)],
        "intra-construction": [str(clause) for clause in intra_construction(first, second, "q") or ()],
        "inter-construction": [str(clause) for clause in inter_construction(first, other, "r") or ()],
    }


def learned(background: str, positives: list[str], negatives: list[str]) -> dict[str, Any]:
    from tercet.rules.logic import FOIL, ILPProblem

    model = FOIL(encoding_length=False).fit(background, positives, negatives)
    problem = ILPProblem(background, positives, negatives)
    return {
        "clauses": model.to_prolog().splitlines(),
        "complete and consistent": problem.is_solution(model.clauses_),
    }


def proved(program: str, goal: str, loop: str) -> dict[str, Any]:
    from tercet.rules.logic import Program

    proof: Any = Program(program).prove(goal)
    return {
        "proof": proof.to_text().splitlines(),
        "left recursion": [str(clause) for clause in Program(loop).left_recursive()],
    }


EXAMPLES = [
    Example(
        place="watermelon notes ch. 13, 13.4",
        title="a proof by SLD resolution, and a clause that calls itself first",
        zh="一个 SLD 归结证明，以及一个左递归子句",
        given={
            "program": FAMILY + " 祖先(X, Y) :- parent(X, Y). 祖先(X, Y) :- parent(X, Z), 祖先(Z, Y).",
            "goal": "祖先(ann, eve)",
            "loop": "祖先(X, Y) :- 祖先(X, Z), parent(Z, Y). 祖先(X, Y) :- parent(X, Y).",
        },
        call=proved,
        expected={
            "proof": ["祖先(ann, eve)", "├─ parent(ann, tom)", "└─ 祖先(tom, eve)", "   └─ parent(tom, eve)"],
            "left recursion": ["祖先(X, Y) :- 祖先(X, Z), parent(Z, Y)."],
        },
        note="derived; the section is an empty heading in the text",
    ),
    Example(
        place="watermelon notes ch. 13, 13.4",
        title="FOIL learns what a daughter is",
        zh="FOIL 学习“女儿”关系",
        given={
            "background": FAMILY,
            "positives": ["daughter(mary, ann)", "daughter(eve, tom)"],
            "negatives": [
                "daughter(tom, ann)",
                "daughter(ian, tom)",
                "daughter(eve, ann)",
                "daughter(mary, tom)",
            ],
        },
        call=learned,
        expected={
            "clauses": ["daughter(A, B) :- parent(B, A), female(A)."],
            "complete and consistent": True,
        },
        note="derived; the section is an empty heading in the text",
    ),
    Example(
        place="watermelon notes ch. 13, 13.5",
        title="the most general unifier, and the occurs check",
        zh="最一般合一与出现检查",
        given={"s": "p(X, f(Y), a)", "t": "p(g(b), f(Z), Z)", "variable": "X", "inside": "f(X)"},
        call=unifier,
        expected={"unifier": "{X/g(b), Y/a, Z/a}", "of X and f(X)": "None"},
        note="derived; the section is an empty heading in the text",
    ),
    Example(
        place="watermelon notes ch. 13, 13.5",
        title="the four operators of inverse resolution",
        zh="逆归结的四种操作",
        given={
            "both": "p :- a, b.",
            "known": "q :- a.",
            "part": "p :- a, q.",
            "first": "p :- a, b.",
            "second": "p :- a, c.",
            "other": "q :- a, c.",
        },
        call=inverse,
        expected={
            "absorption": ["p :- q, b."],
            "identification": ["q :- b."],
            "intra-construction": ["p :- a, q.", "q :- b.", "q :- c."],
            "inter-construction": ["p :- r, b.", "r :- a.", "q :- r, c."],
        },
        note="derived; the section is an empty heading in the text",
    ),
    Example(
        place="watermelon notes ch. 13, 13.5.1",
        title="the least general generalisation of two clauses",
        zh="两个子句的最小一般泛化",
        given={
            "first": "better(1, 10) :- curl(1, 10), deep(1, 10), sunk(1, 10), hard(1, 10).",
            "second": "better(1, 15) :- curl(1, 15), sunk(1, 15), hard(1, 15).",
        },
        call=generalised,
        expected={"clause": "better(1, A) :- curl(1, A), sunk(1, A), hard(1, A)."},
        note="derived; the section is an empty heading in the text",
    ),
    Example(
        place="watermelon notes ch. 13, 13.5.1",
        title="a relative least general generalisation, reduced",
        zh="相对最小一般泛化及其约简",
        given={"examples": ["daughter(mary, ann)", "daughter(eve, tom)"], "facts": FAMILY},
        call=relative,
        expected={
            "literals": 25,
            "clause": "daughter(A, B) :- parent(B, A), female(A).",
            "subsumes the whole": True,
        },
        note="derived; the section is an empty heading in the text",
    ),
]
