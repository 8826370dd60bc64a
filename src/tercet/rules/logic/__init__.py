"""First-order rules: Horn clauses, unification and resolution, proofs, and inductive logic programming."""

from tercet.core.lazy import lazy_package

lazy_package(__name__)
