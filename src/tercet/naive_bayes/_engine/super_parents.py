"""Super-parent probabilities P(c, x_i) Π_j P(x_j | c, x_i) from counts of pairs, for AODE and SPODE."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from tercet.core.kernel import kernel
from tercet.core.rows import read_only
from tercet.naive_bayes._engine.pair_counts import value_counts


class SuperParentTables(NamedTuple):
    """Log-probabilities of values, which are numbered consecutively from column to column.

    conditional : log P(x_j | c, x_i), (values of i, values of j, classes).
    joint : log P(c, x_i), (values, classes).
    alone : log P(x_j | c), (values, classes), for naive Bayes where no column can be a parent.
    prior : log P(c).
    weight : the weight of the rows with each value.
    """

    conditional: np.ndarray
    joint: np.ndarray
    alone: np.ndarray
    prior: np.ndarray
    weight: np.ndarray


def super_parent_tables(
    pairs: np.ndarray, offsets: np.ndarray, alpha: float, log_prior: np.ndarray, prior_given: bool
) -> SuperParentTables:
    """Laplace-smoothed estimates, with N_j the number of values of column j:

    P(c, x_i) = (#(c, x_i) + α) / (#D + α K N_i), P(x_j | c, x_i) = (#(c, x_i, x_j) + α) / (#(c, x_i) + α N_j).
    """
    V, K = pairs.shape[0], pairs.shape[2]
    conditional = np.empty_like(pairs)
    single = value_counts(pairs)
    joint, alone = np.empty((V, K)), np.empty((V, K))
    with np.errstate(divide="ignore", invalid="ignore"):
        for start, stop in pairwise(offsets):
            column, size = slice(start, stop), stop - start
            # Rows in which column j is unknown are in neither count.
            known = pairs[:, column].sum(axis=1, keepdims=True)
            conditional[:, column] = np.log((pairs[:, column] + alpha) / (known + alpha * size))
            own = single[column]
            joint[column] = np.log((own + alpha) / (own.sum() + alpha * K * size))
            alone[column] = np.log((own + alpha) / (own.sum(axis=0) + alpha * size))
    for table in (conditional, joint, alone):
        table[np.isnan(table)] = -np.inf
    if prior_given:  # P(c, x_i) = P(c) P(x_i | c)
        joint = log_prior + alone
    return SuperParentTables(conditional, joint, alone, read_only(log_prior), single.sum(axis=1))


def check_pair_counts(owner: str, pairs: np.ndarray, offsets: np.ndarray, n_classes: int) -> None:
    """Kernels check no bounds: a table of another shape (in a forged file, say) must not get to them."""
    V = int(offsets[-1])
    if np.shape(pairs) != (V, V, n_classes):
        raise ValueError(f"{owner}: pair_count_ must have the shape {(V, V, n_classes)}.")


@kernel
def super_parent_log_joint(values, tables, parents, min_count):
    """log Σ_i P(c, x_i) Π_j P(x_j | c, x_i) of each row and class; naive Bayes where no column may be a parent."""
    conditional, joint, alone, prior, weight = tables
    n, d = values.shape
    k = prior.size
    out = np.empty((n, k))
    terms = np.empty((d, k))
    for r in range(n):
        row = values[r]
        m = 0
        for i in range(d):
            a = row[i]
            if a >= 0 and parents[i] and weight[a] > 0 and weight[a] >= min_count:
                for c in range(k):
                    terms[m, c] = joint[a, c]
                for j in range(d):
                    if j != i and row[j] >= 0:
                        for c in range(k):
                            terms[m, c] += conditional[a, row[j], c]
                m += 1
        if m == 0:
            for c in range(k):
                out[r, c] = prior[c]
            for j in range(d):
                if row[j] >= 0:
                    for c in range(k):
                        out[r, c] += alone[row[j], c]
            continue
        for c in range(k):
            top = terms[0, c]
            for i in range(1, m):
                top = max(top, terms[i, c])
            out[r, c] = top
            if top > -np.inf:
                mass = 0.0
                for i in range(m):
                    mass += np.exp(terms[i, c] - top)
                out[r, c] = top + np.log(mass)
    return out
