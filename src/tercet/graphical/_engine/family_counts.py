"""Counts of the configurations of families (a variable and its parents), and the scores made of them."""

from __future__ import annotations

import math

import numpy as np

from tercet.core.kernel import inner, kernel

DENSE = 1 << 18  # cells of a table that is counted as it is; larger ones are of the configurations that occur


@kernel
def family_scores(columns, sizes, base, width, candidates, weight, prior, table):
    """The score of a family with each of some more parents: -log-likelihood, or -log of its marginal likelihood.

    columns : (d, n) codes; base : (n,) code of the child plus its size times that of its parents' configuration,
    below `width`; candidates : the further parent of each family, -1 for none; prior : 0 for the likelihood, else
    the equivalent sample size of BDeu, -1 for the uniform prior of K2. `table` has room for the largest family.
    `sizes[-1]` is the number of states of the child, `sizes[-2]` that of the configurations of its parents.
    """
    n = base.size
    r, q = sizes[-1], sizes[-2]
    found = np.empty(candidates.size)
    for k in range(candidates.size):
        p = candidates[k]
        states = sizes[p] if p >= 0 else 1
        cells = width * states
        for i in range(cells):
            table[i] = 0.0
        if p >= 0:
            column = columns[p]
            for i in range(n):
                table[column[i] * width + base[i]] += weight[i]
        else:
            for i in range(n):
                table[base[i]] += weight[i]
        if prior == 0:
            found[k] = -_log_likelihood(table, cells, r)
        else:
            alpha = 1.0 if prior < 0 else prior / (float(q) * states * r)
            found[k] = -_log_marginal(table, cells, r, alpha)
    return found


@inner
def _log_likelihood(table, cells, r):
    """Σ_jk N_jk log(N_jk / N_j)."""
    total = 0.0
    for j in range(0, cells, r):
        whole = 0.0
        for k in range(r):
            count = table[j + k]
            if count > 0:
                whole += count
                total += count * np.log(count)
        if whole > 0:
            total -= whole * np.log(whole)
    return total


@inner
def _log_marginal(table, cells, r, alpha):
    """log of Π_j Γ(α r) / Γ(α r + N_j) Π_k Γ(α + N_jk) / Γ(α); configurations that do not occur add nothing."""
    total = 0.0
    for j in range(0, cells, r):
        whole = 0.0
        for k in range(r):
            count = table[j + k]
            if count > 0:
                whole += count
                total += math.lgamma(alpha + count) - math.lgamma(alpha)
        if whole > 0:
            total += math.lgamma(alpha * r) - math.lgamma(alpha * r + whole)
    return total


@kernel
def family_table(columns, strides, weight, table):
    """Add the weight of every row to its cell; rows with a code below 0 in one of the columns are left out."""
    for i in range(weight.size):
        cell, known = 0, True
        for k in range(strides.size):
            code = columns[k, i]
            known = known and code >= 0
            cell += code * strides[k]
        if known:
            table[cell] += weight[i]


def configurations(columns: np.ndarray, sizes: np.ndarray, members: list[int]) -> tuple[np.ndarray, int]:
    """The configuration of some variables in each row, and how many there are; those that occur where all are
    many.
    """
    found, count = np.zeros(columns.shape[1], dtype=np.int64), 1
    for k in members:
        found = found * sizes[k] + columns[k]
        count *= int(sizes[k])
        if count > DENSE:
            occurring, found = np.unique(found, return_inverse=True)
            count = occurring.size
    return found, count


def contingency(columns: np.ndarray, sizes: np.ndarray, members: list[int], weight: np.ndarray) -> np.ndarray:
    """The weight of the rows with each configuration of some variables, an axis for each."""
    shape = [int(sizes[k]) for k in members]
    table = np.zeros(math.prod(shape))
    strides = np.ones(len(shape), dtype=np.int64)
    for k in range(len(shape) - 2, -1, -1):
        strides[k] = strides[k + 1] * shape[k + 1]
    family_table(np.ascontiguousarray(columns[members]), strides, weight, table)
    return table.reshape(shape)
