"""Path-dependent TreeSHAP by Gauss-Legendre quadrature.

A leaf with value v is reached by the share prod o_j of a row (o_j is 1 where all tests of feature j on the path
let the row pass, else 0) and by the share prod z_j of the training rows. When the features in S are known the tree
gives the sum over leaves of v prod_{S} o_j prod_{not S} z_j. The Shapley weights are integrals,

    |S|! (m - 1 - |S|)! / m! = integral over t in [0, 1] of t^|S| (1 - t)^(m - 1 - |S|),

so that the contribution of feature i is

    sum over leaves of v (o_i - z_i) * integral of prod_{j != i} (o_j t + z_j (1 - t)).

The integrand is a polynomial of a degree below m, the number of features on the path: m / 2 points give it exactly.
The products are shared by all leaves below an edge, down and, divided by the factor of the edge, up again: an edge
costs as many operations as there are points (Linear TreeSHAP has the idea, with polynomials in place of points).

Rows go through a tree side by side, a block of them at a time. Their state at an edge is one of three: all tests of
the feature so far let them pass, this edge is the first that does not, or an earlier one did not. The factors for
the three are computed once for a tree and a chunk of rows.
"""

from __future__ import annotations

import numpy as np

from tercet.core.array_copies import copy_array
from tercet.core.kernel import inner, kernel
from tercet.inspection._treeshap.path_table import THRESHOLD, one_fraction, slot_at

LANES = 32  # rows side by side


def quadrature(most: int) -> tuple[np.ndarray, np.ndarray]:
    """Points and weights on [0, 1]: line k - 1 of both has the k points that integrate degrees below 2 k."""
    count = max(1, (most + 1) // 2)
    points, weights = np.full((count, count), 0.5), np.zeros((count, count))
    for k in range(1, count + 1):
        x, w = np.polynomial.legendre.leggauss(k)
        points[k - 1, :k], weights[k - 1, :k] = (x + 1.0) / 2.0, w / 2.0
    return points, weights


@kernel
def add_contributions(X, table, start, stop, points, weights, out):
    """Add what some trees contribute to each score by each feature, out of shape (n, n_features, n_scores)."""
    deepest, n_values, most = table.max_depth.max() + 1, table.value.shape[1], points.shape[1]
    size = np.diff(table.first_edge).max()
    down, up = np.empty((size, 2, most)), np.empty((size, 2, most))
    product, total = np.ones((deepest, most, LANES)), np.zeros((deepest, n_values, most, LANES))
    passing, branch = np.ones((deepest, LANES)), np.empty((deepest, LANES), np.int64)
    through, stopped, share = np.empty(LANES), np.empty(LANES), np.empty(LANES)
    blocks, path, tests = in_lanes(X), np.empty(deepest, np.int64), table.tests
    depth, above, leaf, feature, slot = table.depth, table.above, table.leaf, table.feature, table.slot
    sums = np.zeros((blocks.shape[0], out.shape[1], out.shape[2], LANES))
    for tree in range(start, stop):
        first, last, score = table.first_edge[tree], table.first_edge[tree + 1], table.score[tree]
        count = max(1, (table.n_path[tree] + 1) // 2)
        t, w = points[count - 1, :count], weights[count - 1, :count]
        edge_factors(depth[first:last], above[first:last], table.zero[first:last], t, w, path, down, up)
        for s in range(blocks.shape[0] * (last - first)):
            b, e = s // (last - first), first + s % (last - first)
            d, f, g = depth[e], down[e - first], up[e - first]
            if e == first or not leaf[e - 1]:  # the first branch of its node
                find_branches(blocks[b], tests, table.parent[e], branch[d - 1])
            states(slot[e], table.share[e], passing[above[e]], branch[d - 1], through, stopped, share)
            if not leaf[e]:
                path[d] = e
                copy_array(through, passing[d])
                total[d, :, :count] = 0.0
                go_down(product[d - 1], through, stopped, share, f, count, product[d])
                continue
            for c in range(n_values):
                value, into = table.value[table.node[e], c], sums[b, feature[e], score + c]
                end_path(value, product[d - 1], through, stopped, share, f, g, count, total[d - 1, c], into)
            # edges that all paths have gone through now
            following = depth[e + 1] if e + 1 < last else 1
            for back in range(d - 1, following - 1, -1):
                edge = path[back]
                for c in range(n_values):
                    into, g = sums[b, feature[edge], score + c], up[edge - first]
                    go_up(
                        total[back, c],
                        passing[above[edge]],
                        passing[back],
                        g,
                        count,
                        total[back - 1, c],
                        into,
                    )
    for i in range(X.shape[0]):
        for j in range(out.shape[1]):
            for c in range(out.shape[2]):
                out[i, j, c] += sums[i // LANES, j, c, i % LANES]


@inner
def in_lanes(X):
    """The rows as blocks of shape (n_features, LANES); the last one is filled up with its last row."""
    n, d = X.shape
    blocks = np.empty(((n + LANES - 1) // LANES, d, LANES))
    for b in range(blocks.shape[0]):
        for k in range(LANES):
            i = min(b * LANES + k, n - 1)
            for j in range(d):
                blocks[b, j, k] = X[i, j]
    return blocks


@inner
def edge_factors(depth, above, zero, t, w, path, down, up):
    """Factors of the products on the way down, and of the integrals on the way up, at every edge and point.

    They are for rows that pass the edge (0), and for those that it is the first to stop (1). A row that an earlier
    edge of the feature has stopped has the factor `share` on the way down, and adds nothing on the way up.
    """
    for e in range(depth.size):
        path[depth[e]] = e
        z, earlier = zero[e], zero[path[above[e]]] if above[e] > 0 else 1.0
        for q in range(t.size):
            here, before = t[q] + z * (1.0 - t[q]), t[q] + earlier * (1.0 - t[q])
            down[e, 0, q], down[e, 1, q] = here / before, z * (1.0 - t[q]) / before
            past = (1.0 - earlier) / before
            up[e, 0, q] = w[q] * ((1.0 - z) / here - past)
            up[e, 1, q] = w[q] * (-1.0 / (1.0 - t[q]) - past)


@inner
def states(slot, part, ahead, branch, through, stopped, share):
    """Whether each row passes an edge, is stopped by it first, or was stopped before (then the edge's share)."""
    for k in range(LANES):
        through[k] = ahead[k] if branch[k] == slot else 0.0
        stopped[k] = ahead[k] - through[k]
        share[k] = part * (1.0 - ahead[k])


@inner
def go_down(before, through, stopped, share, f, count, product):
    """The products behind an edge."""
    for q in range(count):
        for k in range(LANES):
            product[q, k] = before[q, k] * (through[k] * f[0, q] + stopped[k] * f[1, q] + share[k])


@inner
def end_path(value, before, through, stopped, share, f, g, count, above, into):
    """Add the products at a leaf to the sums above it, and the integrals to the contributions."""
    for q in range(count):
        for k in range(LANES):
            term = value * before[q, k] * (through[k] * f[0, q] + stopped[k] * f[1, q] + share[k])
            above[q, k] += term
            into[k] += term * (through[k] * g[0, q] + stopped[k] * g[1, q])


@inner
def go_up(below, ahead, through, g, count, above, into):
    """Add the sums over all leaves below an edge to those above it, and the integrals to the contributions."""
    for q in range(count):
        for k in range(LANES):
            above[q, k] += below[q, k]
            into[k] += below[q, k] * (through[k] * g[0, q] + (ahead[k] - through[k]) * g[1, q])


@inner
def find_branches(lanes, tests, t, branch):
    """The branches that the rows take at node t."""
    line = lanes[tests.feature[t]]
    if tests.kind[t] == THRESHOLD:  # the loop vectorises
        threshold, missing = tests.threshold[t], tests.missing[t]
        for k in range(LANES):
            slot = np.int64(line[k] > threshold)
            branch[k] = missing if line[k] != line[k] else slot
    else:
        for k in range(LANES):
            branch[k] = slot_at(tests, t, line[k])


@inner
def branch_of(row, tests, t):
    """The branch that a row takes at node t."""
    return slot_at(tests, t, row[tests.feature[t]])


@kernel
def add_divided_contributions(X, table, start, stop, points, weights, out):
    """The same one row at a time, where rows without a value may go to all children in parts."""
    deepest, n_values, most = table.max_depth.max() + 1, table.value.shape[1], points.shape[1]
    product, total = np.ones((deepest, most)), np.zeros((deepest, n_values, most))
    one, zero = np.ones(deepest), np.ones(deepest)
    branch, path = np.empty(deepest, np.int64), np.empty(deepest, np.int64)
    for tree in range(start, stop):
        first, last = table.first_edge[tree], table.first_edge[tree + 1]
        count = max(1, (table.n_path[tree] + 1) // 2)
        t, w, score = points[count - 1], weights[count - 1], table.score[tree]
        for i in range(X.shape[0] if first < last else 0):
            branch[0] = branch_of(X[i], table.tests, table.root[tree])
            for e in range(first, last):
                d, up = table.depth[e], table.above[e]
                path[d], zero[d] = e, table.zero[e]
                one[d] = one_fraction(table.slot[e], branch[d - 1], table.missing_share[e]) * (
                    one[up] if up > 0 else 1.0
                )
                total[d] = 0.0
                for q in range(count):
                    before = one[up] * t[q] + zero[up] * (1.0 - t[q]) if up > 0 else 1.0
                    here = one[d] * t[q] + zero[d] * (1.0 - t[q])
                    product[d, q] = product[d - 1, q] * here / before if before > 0.0 else 0.0
                    if table.leaf[e]:
                        for c in range(n_values):
                            total[d, c, q] = table.value[table.node[e], c] * product[d, q]
                if not table.leaf[e]:
                    branch[d] = branch_of(X[i], table.tests, table.node[e])
                    continue
                following = table.depth[e + 1] if e + 1 < last else 1
                for back in range(d, following - 1, -1):
                    leave_one(table, path[back], back, count, t, w, one, zero, total, out[i], score)


@inner
def leave_one(table, e, d, count, t, w, one, zero, total, out, score):
    """Add the integrals over all leaves below edge e for one row."""
    up = table.above[e]
    for q in range(count):
        here = one[d] * t[q] + zero[d] * (1.0 - t[q])
        gain = (one[d] - zero[d]) / here if here > 0.0 else 0.0
        if up > 0:
            before = one[up] * t[q] + zero[up] * (1.0 - t[q])
            gain -= (one[up] - zero[up]) / before if before > 0.0 else 0.0
        for c in range(total.shape[1]):
            total[d - 1, c, q] += total[d, c, q]
            out[table.feature[e], score + c] += w[q] * gain * total[d, c, q]


@kernel
def add_interactions(X, table, start, stop, points, weights, out):
    """Add the interactions of every two features, out of shape (n, n_features, n_features, n_scores).

    They are half of the integral with both factors left out: (o_i - z_i) (o_j - z_j) prod of the others.
    """
    deepest = table.max_depth.max() + 1
    one, zero, branch = np.ones(deepest), np.ones(deepest), np.empty(deepest, np.int64)
    path, ends = np.empty(deepest, np.int64), np.empty(deepest, np.int64)
    for tree in range(start, stop):
        first, last = table.first_edge[tree], table.first_edge[tree + 1]
        count = max(1, (table.n_path[tree] + 1) // 2)
        t, w = points[count - 1], weights[count - 1]
        for i in range(X.shape[0] if first < last else 0):
            branch[0] = branch_of(X[i], table.tests, table.root[tree])
            for e in range(first, last):
                d, up = table.depth[e], table.above[e]
                path[d], zero[d] = e, table.zero[e]
                one[d] = one_fraction(table.slot[e], branch[d - 1], table.missing_share[e]) * (
                    one[up] if up > 0 else 1.0
                )
                if not table.leaf[e]:
                    branch[d] = branch_of(X[i], table.tests, table.node[e])
                    continue
                size = last_edges(table, path, d, ends)
                for q in range(count):
                    add_pairs(table, tree, e, t[q], w[q], path, ends[:size], one, zero, out[i])


@inner
def last_edges(table, path, d, ends):
    """The depths of the last edge of each feature on a path that ends at depth d; returns how many they are."""
    size = 0
    for k in range(d, 0, -1):
        new = True
        for s in range(size):
            new &= table.feature[path[ends[s]]] != table.feature[path[k]]
        if new:
            ends[size] = k
            size += 1
    return size


@inner
def add_pairs(table, tree, e, t, w, path, ends, one, zero, out):
    """Add what the leaf of edge e and one point of the integral say about every two features of the path."""
    product = w / 2.0
    for k in ends:
        product *= one[k] * t + zero[k] * (1.0 - t)
    if product == 0.0:
        return
    score, value = table.score[tree], table.value[table.node[e]]
    for k in ends:
        part = product * (one[k] - zero[k]) / (one[k] * t + zero[k] * (1.0 - t))
        for s in ends:
            if s != k:
                both = part * (one[s] - zero[s]) / (one[s] * t + zero[s] * (1.0 - t))
                i, j = table.feature[path[k]], table.feature[path[s]]
                for c in range(value.size):
                    out[i, j, score + c] += both * value[c]


@kernel
def known_means(X, known, table, out):
    """Add to `out` the mean scores when only the `known` features of each row are, of shape (n, n_scores).

    Where another feature is tested all branches are followed, by their shares of the training rows.
    """
    deepest = table.max_depth.max() + 1
    weight, branch = np.ones(deepest), np.empty(deepest, np.int64)
    for tree in range(table.root.size):
        score, root = table.score[tree], table.root[tree]
        for i in range(X.shape[0]):
            if table.first_edge[tree] == table.first_edge[tree + 1]:
                for c in range(table.value.shape[1]):
                    out[i, score + c] += table.value[root, c]
                continue
            branch[0] = branch_of(X[i], table.tests, root)
            for e in range(table.first_edge[tree], table.first_edge[tree + 1]):
                d = table.depth[e]
                part = (
                    one_fraction(table.slot[e], branch[d - 1], table.missing_share[e])
                    if known[table.feature[e]]
                    else table.share[e]
                )
                weight[d] = weight[d - 1] * part
                if table.leaf[e]:
                    for c in range(table.value.shape[1]):
                        out[i, score + c] += weight[d] * table.value[table.node[e], c]
                else:
                    branch[d] = branch_of(X[i], table.tests, table.node[e])
