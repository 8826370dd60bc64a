"""Rule learning: propositional rules and first-order clauses."""

from tercet.core.lazy import lazily

__getattr__, __dir__ = lazily(__name__, {"logic": "tercet.rules.logic"})
__all__ = ["logic"]
