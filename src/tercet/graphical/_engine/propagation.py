"""Propagation of evidence in a clique tree, for several rows at a time.

Tables have a column for each of `LANES` rows: index arithmetic is done once for all of them, and the arithmetic of
the numbers runs in vector registers. What is computed for a row does not depend on the rows beside it.
"""

from __future__ import annotations

import numpy as np

from tercet.core.kernel import inner, kernel

LANES = 8


@kernel
def propagate(tree, base, codes, weight, marginals, logs, cells):
    """Collect and distribute the evidence of each row; see `clique_tree` for the arrays.

    Fills `marginals` (n, states) unless it is empty, `logs` with log P(row), and adds weight · P(clique | row) to
    `cells` unless it is empty.
    """
    n, d = codes.shape
    table = np.empty((base.size, LANES))
    separator = np.empty((tree.first[-1], LANES))
    fresh = np.empty((tree.first[-1], LANES))
    scale = np.empty((tree.parent.size, LANES))
    total = np.empty(LANES)
    here = np.empty((d, LANES), np.int64)
    for begin in range(0, n, LANES):
        count = min(LANES, n - begin)
        for v in range(d):
            for lane in range(LANES):
                here[v, lane] = codes[begin + min(lane, count - 1), v]
        _enter(tree, base, here, table)
        _collect(tree, table, separator, scale, total)
        for lane in range(count):
            logs[begin + lane] = total[lane]
        if marginals.size or cells.size:
            _distribute(tree, table, separator, fresh, scale)
        if marginals.size:
            for v in range(d):
                _marginalise(tree, table, v, marginals, begin, count)
        if cells.size:
            for lane in range(LANES):
                w = weight[begin + lane] if lane < count else 0.0
                total[lane] = w if total[lane] > -np.inf else 0.0
            for i in range(base.size):
                part = 0.0
                for lane in range(LANES):
                    part += total[lane] * table[i, lane]
                cells[i] += part


@inner
def _enter(tree, base, here, table):
    """The product of factors in every lane, 0 where it contradicts the evidence."""
    for i in range(base.size):
        value = base[i]
        for lane in range(LANES):
            table[i, lane] = value
    for v in range(here.shape[0]):
        some = False
        for lane in range(LANES):
            some = some or here[v, lane] >= 0
        if not some:
            continue
        start, at = tree.start[tree.home[v]], tree.at[v]
        for i in range(tree.at[v + 1] - at):
            state = tree.state[at + i]
            for lane in range(LANES):
                keep = here[v, lane] < 0 or here[v, lane] == state
                table[start + i, lane] = table[start + i, lane] if keep else 0.0


@inner
def _collect(tree, table, separator, scale, total):
    """Messages to the root; the logarithm of the evidence in `total`."""
    for lane in range(LANES):
        total[lane] = 0.0
    for k in range(tree.parent.size - 1):
        c = tree.parent.size - 1 - k
        start, first, last = tree.start[c], tree.first[c], tree.first[c + 1]
        for i in range(first, last):
            for lane in range(LANES):
                separator[i, lane] = 0.0
        for i in range(start, tree.start[c + 1]):
            to = first + tree.up[i]
            for lane in range(LANES):
                separator[to, lane] += table[i, lane]
        for lane in range(LANES):
            scale[c, lane] = 0.0
        for i in range(first, last):
            for lane in range(LANES):
                scale[c, lane] = max(scale[c, lane], separator[i, lane])
        for lane in range(LANES):
            total[lane] += np.log(scale[c, lane])  # -inf where the evidence is impossible
            scale[c, lane] = 1.0 / scale[c, lane] if scale[c, lane] > 0 else 0.0
        for i in range(first, last):
            for lane in range(LANES):
                separator[i, lane] *= scale[c, lane]
        above, into = tree.start[tree.parent[c]], tree.into[c]
        for i in range(tree.into[c + 1] - into):
            to = first + tree.down[into + i]
            for lane in range(LANES):
                table[above + i, lane] *= separator[to, lane]
    for lane in range(LANES):
        scale[0, lane] = 0.0
    for i in range(tree.start[1]):
        for lane in range(LANES):
            scale[0, lane] += table[i, lane]
    for lane in range(LANES):
        total[lane] += np.log(scale[0, lane])
        scale[0, lane] = 1.0 / scale[0, lane] if scale[0, lane] > 0 else 0.0
    for i in range(tree.start[1]):
        for lane in range(LANES):
            table[i, lane] *= scale[0, lane]


@inner
def _distribute(tree, table, separator, fresh, scale):
    """Messages from the root: every table becomes P(clique | row)."""
    for c in range(1, tree.parent.size):
        first, last = tree.first[c], tree.first[c + 1]
        for i in range(first, last):
            for lane in range(LANES):
                fresh[i, lane] = 0.0
        above, into = tree.start[tree.parent[c]], tree.into[c]
        for i in range(tree.into[c + 1] - into):
            to = first + tree.down[into + i]
            for lane in range(LANES):
                fresh[to, lane] += table[above + i, lane]
        for i in range(first, last):
            for lane in range(LANES):
                old = separator[i, lane]
                ratio = fresh[i, lane] / old * scale[c, lane]
                fresh[i, lane] = ratio if old > 0 else 0.0
        for i in range(tree.start[c], tree.start[c + 1]):
            to = first + tree.up[i]
            for lane in range(LANES):
                table[i, lane] *= fresh[to, lane]


@inner
def _marginalise(tree, table, v, marginals, begin, count):
    """P(x_v | row), read from the variable's own clique and normalised."""
    start, at, offset = tree.start[tree.home[v]], tree.at[v], tree.offset[v]
    size = tree.offset[v + 1] - offset
    sums = np.zeros((size, LANES))
    for i in range(tree.at[v + 1] - at):
        state = tree.state[at + i]
        for lane in range(LANES):
            sums[state, lane] += table[start + i, lane]
    for lane in range(count):
        whole = 0.0
        for state in range(size):
            whole += sums[state, lane]
        if whole > 0:
            for state in range(size):
                marginals[begin + lane, offset + state] = sums[state, lane] / whole
