from tercet.rules.logic._engine.machine import ProofLimitError
from tercet.rules.logic.clause import Clause
from tercet.rules.logic.foil import FOIL
from tercet.rules.logic.frames import attribute_facts, comparison_facts, row_facts
from tercet.rules.logic.golem import Golem
from tercet.rules.logic.ilp_problem import ILPProblem, Verdict
from tercet.rules.logic.inverse_resolution import (
    absorption,
    identification,
    inter_construction,
    intra_construction,
)
from tercet.rules.logic.lgg import lgg
from tercet.rules.logic.literal import Literal
from tercet.rules.logic.program import Program
from tercet.rules.logic.prolog import (
    parse_clause,
    parse_goal,
    parse_literal,
    parse_program,
    parse_term,
    to_prolog,
)
from tercet.rules.logic.proof import Proof, SearchTree
from tercet.rules.logic.resolution import resolve
from tercet.rules.logic.rlgg import rlgg, saturate
from tercet.rules.logic.substitution import Substitution
from tercet.rules.logic.subsumption import equivalent, reduce_clause, subsumes
from tercet.rules.logic.terms import Compound, Constant, Variable, term_list
from tercet.rules.logic.tokens import PrologSyntaxError
from tercet.rules.logic.unification import unify

__all__ = [
    "FOIL",
    "Clause",
    "Compound",
    "Constant",
    "Golem",
    "ILPProblem",
    "Literal",
    "Program",
    "PrologSyntaxError",
    "Proof",
    "ProofLimitError",
    "SearchTree",
    "Substitution",
    "Variable",
    "Verdict",
    "absorption",
    "attribute_facts",
    "comparison_facts",
    "equivalent",
    "identification",
    "inter_construction",
    "intra_construction",
    "lgg",
    "parse_clause",
    "parse_goal",
    "parse_literal",
    "parse_program",
    "parse_term",
    "reduce_clause",
    "resolve",
    "rlgg",
    "row_facts",
    "saturate",
    "subsumes",
    "term_list",
    "to_prolog",
    "unify",
]
