"""Rule learning: propositional rules by sequential covering, and first-order clauses (`tercet.rules.logic`)."""

import tercet  # noqa: F401 (waits for a thread that is importing it)
from tercet.core.lazy import lazy_package

lazy_package(__name__)
