"""Rule learning: propositional rules by sequential covering, and first-order clauses (`tercet.rules.logic`)."""

from tercet.core.lazy import lazy_package

lazy_package(__name__)
