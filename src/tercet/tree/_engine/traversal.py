"""Traversal of a tree by rows, and sums along its paths.

A test says which child a row goes to, by the child's place among its siblings (its slot):

- THRESHOLD  x[feature] <= threshold: slot 0, else slot 1;
- CATEGORY   slots[slot_start + x[feature]], one child for each value or one for each of two sets of values;
- LINEAR     coef[slot_start] · x <= threshold: slot 0, else slot 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tercet.core.kernel import inner, kernel

LEAF, THRESHOLD, CATEGORY, LINEAR = 0, 1, 2, 3
SHARED = -1  # value of `missing` where a row without the value goes to all children
NOWHERE = -1  # the slot of a category that no row of the node had
SPARSE_ROOM = 1 << 18  # numbers in the lanes of sparse rows
LANES = 16  # rows traversed side by side: while one waits for its node's memory, the others go on


class NodeArrays(NamedTuple):
    """The arrays of a tree that a traversal reads."""

    kind: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    child: np.ndarray
    n_children: np.ndarray
    missing: np.ndarray
    share: np.ndarray
    slot_start: np.ndarray
    slot_count: np.ndarray
    slots: np.ndarray
    coef: np.ndarray


@kernel
def only_thresholds(kind, missing):
    """Whether all tests are thresholds, and every row goes one way: traversal then takes half the time."""
    plain = True
    for t in range(kind.size):
        plain &= kind[t] == LEAF or (kind[t] == THRESHOLD and missing[t] != SHARED)
    return plain


@kernel
def shares_rows(kind, missing):
    """Whether some test sends a row without a value to all children."""
    shares = False
    for t in range(kind.size):
        shares |= kind[t] != LEAF and missing[t] == SHARED
    return shares


@kernel
def apply_thresholds(X, feature, threshold, child, missing):
    """The leaf of each row in a tree of thresholds, whose leaves have the child -1.

    Lane k holds a row and the node it is at; a row that reaches its leaf makes way for the next row.
    """
    n = X.shape[0]
    leaf, row, node = np.empty(n, np.int64), np.empty(LANES, np.int64), np.zeros(LANES, np.int64)
    active = min(LANES, n)
    following = active  # the first row that no lane has taken
    for k in range(active):
        row[k] = k
    while active > 0:
        k = 0
        while k < active:
            t = np.uint64(node[k])
            first = np.int64(child[t])
            if first >= 0:
                x = X[np.uint64(row[k]), np.uint64(feature[t])]
                slot = np.int64(x > threshold[t])
                if np.isnan(x):
                    slot = np.int64(missing[t])
                node[k] = first + slot
                k += 1
                continue
            leaf[row[k]] = node[k]
            if following < n:
                row[k], node[k] = following, 0
                following += 1
                k += 1
            else:
                active -= 1
                row[k], node[k] = row[active], node[active]
    return leaf


@kernel
def apply_sparse_thresholds(rows, n_columns, feature, threshold, child, missing):
    """The same for sparse rows: each lane has the values of its row in a dense line, cleared when it is done."""
    n = rows.indptr.size - 1
    lanes = min(LANES, n, max(np.int64(1), SPARSE_ROOM // n_columns))
    lines, leaf = np.zeros((lanes, n_columns)), np.empty(n, np.int64)
    row, node, active, following = np.empty(lanes, np.int64), np.zeros(lanes, np.int64), lanes, lanes
    for k in range(lanes):
        row[k] = k
        write_row(rows, k, lines[k], True)
    while active > 0:
        k = 0
        while k < active:
            t = np.uint64(node[k])
            first = np.int64(child[t])
            if first >= 0:
                x = lines[np.uint64(k), np.uint64(feature[t])]
                slot = np.int64(x > threshold[t])
                if np.isnan(x):
                    slot = np.int64(missing[t])
                node[k] = first + slot
                k += 1
                continue
            leaf[row[k]] = node[k]
            write_row(rows, row[k], lines[k], False)
            if following < n:
                row[k], node[k] = following, 0
                write_row(rows, following, lines[k], True)
                following += 1
                k += 1
            else:
                active -= 1
                if k < active:  # the last lane moves here
                    write_row(rows, row[active], lines[active], False)
                    write_row(rows, row[active], lines[k], True)
                row[k], node[k] = row[active], node[active]
    return leaf


@inner
def write_row(rows, i, line, fill):
    """Write the entries of a sparse row into a line, or clear them; two entries in one place are added."""
    for s in range(rows.indptr[i], rows.indptr[i + 1]):
        at = np.uint64(rows.indices[s])
        line[at] = line[at] + rows.data[s] if fill else 0.0


@kernel
def apply_tree(X, nodes):
    """The node at which each row's path ends; a row that several children share follows the largest."""
    at = np.zeros(X.shape[0], dtype=np.int64)
    for i in range(X.shape[0]):
        t = np.int64(0)
        while nodes.kind[t] != LEAF:
            slot = child_slot(X, i, nodes, t)
            if slot == -2:
                slot = np.int64(nodes.missing[t])
                if slot == SHARED:
                    slot = largest_child(nodes, t)
            elif slot < 0:
                break
            t = np.int64(nodes.child[t]) + slot
        at[i] = t
    return at


@inner
def child_slot(X, i, nodes, t):
    """The slot that row i takes at node t; -2 when its value is missing, -1 when its category is unseen."""
    kind = nodes.kind[t]
    if kind == LINEAR:
        w = nodes.coef[nodes.slot_start[t]]
        total = 0.0
        for j in range(w.size):
            if w[j] != 0.0:
                total += w[j] * X[i, j]
        if np.isnan(total):
            return -2
        return 0 if total <= nodes.threshold[t] else 1
    x = X[i, nodes.feature[t]]
    if np.isnan(x):
        return -2
    if kind == THRESHOLD:
        return 0 if x <= nodes.threshold[t] else 1
    code = np.int64(x) if x >= 0.0 and x < nodes.slot_count[t] else np.int64(-1)
    return -1 if code < 0 else np.int64(nodes.slots[nodes.slot_start[t] + code])


@inner
def largest_child(nodes, t):
    """The slot of the child with the largest share."""
    best = np.int64(0)
    for k in range(1, nodes.n_children[t]):
        if nodes.share[nodes.child[t] + k] > nodes.share[nodes.child[t] + best]:
            best = np.int64(k)
    return best


@inner
def end_nodes(X, i, nodes, stack, fraction, ends, shares):
    """The nodes at which row i ends, and the share of it that gets to each; returns how many they are.

    Without missing values that is one node, with a share of 1. `stack` and `fraction` are workspace: a row waits at
    no node twice, so one place for each node will do.
    """
    stack[0], fraction[0], size, found = 0, 1.0, 1, 0
    while size > 0:
        size -= 1
        t, share, divided = stack[size], fraction[size], False
        while nodes.kind[t] != LEAF:
            slot = child_slot(X, i, nodes, t)
            if slot == -2:
                slot = np.int64(nodes.missing[t])
                divided = slot == SHARED
            if divided or slot < 0:
                break
            t = np.int64(nodes.child[t]) + slot
        if divided:
            for k in range(nodes.n_children[t]):
                stack[size] = nodes.child[t] + k
                fraction[size] = share * nodes.share[nodes.child[t] + k]
                size += 1
        else:
            ends[found], shares[found] = t, share
            found += 1
    return found


@inner
def traversal_workspace(n_nodes):
    """Memory for `end_nodes`."""
    stack, ends = np.empty(n_nodes, dtype=np.int64), np.empty(n_nodes, dtype=np.int64)
    return stack, np.empty(n_nodes), ends, np.empty(n_nodes)


@kernel
def predict_shared(X, nodes, value):
    """The values of the nodes that each row ends at, weighted by its shares: shape (n, n_values)."""
    out = np.zeros((X.shape[0], value.shape[1]))
    stack, fraction, ends, shares = traversal_workspace(nodes.kind.size)
    for i in range(X.shape[0]):
        for e in range(end_nodes(X, i, nodes, stack, fraction, ends, shares)):
            for k in range(value.shape[1]):
                out[i, k] += shares[e] * value[ends[e], k]
    return out


@kernel
def add_to_end_nodes(X, nodes, table, first, out):
    """Add row i of the table, times its shares, to the nodes that row i of X ends at, from column first[i] on."""
    stack, fraction, ends, shares = traversal_workspace(nodes.kind.size)
    for i in range(X.shape[0]):
        for e in range(end_nodes(X, i, nodes, stack, fraction, ends, shares)):
            for k in range(table.shape[1]):
                out[ends[e], first[i] + k] += shares[e] * table[i, k]


@kernel
def sum_along_paths(parent, own):
    """For every node the sum of `own` over itself and all nodes above it, but the root."""
    total = np.zeros(parent.size, dtype=np.int64)
    for t in range(1, parent.size):
        total[t] = total[parent[t]] + own[t]
    return total
