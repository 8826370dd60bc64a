"""Engines of growth and traversal: what exists only for speed.

`grow` takes checked arrays and returns the arrays of a binary tree. Five engines do that:

- presorted  every column is sorted once and every threshold is tried (`presorted`);
- histogram  columns are binned first, and only the edges of bins are tried (`histogram`);
- random     one threshold is drawn for a column, and nothing is sorted (`random_growth`);
- sparse     the best or random thresholds, from the entries that are not zero (`sparse_growth`);
- general    one node at a time, slower, for what the others do not do: several outputs, the absolute and the
             Poisson error, best-first growth, monotonic columns, random thresholds with missing values (`general`).

The gain table of ID3, C4.5 and `InformationSelector` is in `gain_table`; the traversal of grown trees in
`traversal`. `tercet.tree.best_split` and `tercet.tree.grow_tree` are the plain forms, which the engines are tested
against.
"""

from tercet.tree._engine.dispatch import grow, takes_sparse
from tercet.tree._engine.limits import NO_LIMITS, Limits

__all__ = ["NO_LIMITS", "Limits", "grow", "takes_sparse"]
