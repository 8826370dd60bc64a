"""Engines of first-order logic: a proof machine on coded clauses, and joins of tables of facts."""
