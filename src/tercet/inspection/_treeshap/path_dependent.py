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

Sixteen rows go through a tree side by side. Their state at an edge is one of three: all tests of the feature so
far let them pass, this edge is the first that does not, or an earlier one did not. The factors for the three are
computed once for a tree and a block of rows.
"""

from __future__ import annotations

import numpy as np

from tercet.core.kernel import inner, kernel
from tercet.inspection._treeshap.path_table import THRESHOLD, one_fraction, slot_at

LANES = 16  # rows side by side


def quadrature(most: int) -> tuple[np.ndarray, np.ndarray]:
    """Points and weights on [0, 1]: line k - 1 of both has the k points that integrate degrees below 2 k."""
    count = max(1, (most + 1) // 2)
    points, weights = np.full((count, count), 0.5), np.zeros((count, count))
    for k in range(1, count + 1):
        x, w = np.polynomial.legendre.leggauss(k)
        points[k - 1, :k], weights[k - 1, :k] = (x + 1.0) / 2.0, w / 2.0
    return points, weights


@kernel
def add_contributions(X, table, points, weights, out):
    """Add the contributions of each feature to each score, out of shape (n, n_features, n_scores)."""
    deepest, n_values = table.max_depth.max() + 1, table.value.shape[1]
    size = np.diff(table.first_edge).max()
    most = points.shape[1]
    down, up = np.empty((size, 2, most)), np.empty((size, 2, most))
    product = np.ones((deepest, most, LANES))
    total = np.zeros((deepest, n_values, most, LANES))
    passing, branch = np.ones((deepest, LANES)), np.empty((deepest, LANES), np.int64)
    blocks = in_lanes(X)
    for tree in range(table.root.size):
        first, last = table.first_edge[tree], table.first_edge[tree + 1]
        if first == last:
            continue
        count = max(1, (table.n_path[tree] + 1) // 2)
        edge_factors(table, first, last, points[count - 1], weights[count - 1], count, down, up)
        for b in range(blocks.shape[0]):
            part = out[b * LANES : (b + 1) * LANES]
            walk(blocks[b], table, tree, count, down, up, product, total, passing, branch, part)


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
def edge_factors(table, first, last, t, w, count, down, up):
    """Factors of the products on the way down, and of the integrals on the way up, at every edge and point.

    They are for rows that pass the edge (0), and for those that it is the first to stop (1). A row that an earlier
    edge of the feature has stopped has the factor `share` on the way down, and adds nothing on the way up.
    """
    path = np.zeros(table.depth[first:last].max() + 1, np.int64)
    for e in range(first, last):
        path[table.depth[e]] = e
        above = table.zero[path[table.above[e]]] if table.above[e] > 0 else 1.0
        zero = table.zero[e]
        for q in range(count):
            here, before = t[q] + zero * (1.0 - t[q]), t[q] + above * (1.0 - t[q])
            down[e - first, 0, q], down[e - first, 1, q] = here / before, zero * (1.0 - t[q]) / before
            past = (1.0 - above) / before
            up[e - first, 0, q] = w[q] * ((1.0 - zero) / here - past)
            up[e - first, 1, q] = w[q] * (-1.0 / (1.0 - t[q]) - past)


@inner
def walk(lanes, table, tree, count, down, up, product, total, passing, branch, out):
    """Let sixteen rows go through a tree; out has as many of them as there are."""
    first, last, score = table.first_edge[tree], table.first_edge[tree + 1], table.score[tree]
    n_values = table.value.shape[1]
    path = np.empty(product.shape[0], np.int64)
    through, stopped, share = np.empty(LANES), np.empty(LANES), np.empty(LANES)
    sums = np.empty((n_values, LANES))
    find_branches(lanes, table, table.root[tree], branch[0])
    for e in range(first, last):
        d = table.depth[e]
        states(table, e, passing[table.above[e]], branch[d - 1], through, stopped, share)
        f, g = down[e - first], up[e - first]
        before, sums_before = product[d - 1], total[d - 1]
        if not table.leaf[e]:
            here, path[d] = product[d], e
            for q in range(count):
                for k in range(LANES):
                    here[q, k] = before[q, k] * (through[k] * f[0, q] + stopped[k] * f[1, q] + share[k])
            total[d, :, :count] = 0.0
            passing[d] = through
            find_branches(lanes, table, table.node[e], branch[d])
            continue
        value = table.value[table.node[e]]
        sums[:] = 0.0
        for q in range(count):
            for c in range(n_values):
                v, line, into = value[c], sums_before[c, q], sums[c]
                for k in range(LANES):
                    term = v * before[q, k] * (through[k] * f[0, q] + stopped[k] * f[1, q] + share[k])
                    line[k] += term
                    into[k] += term * (through[k] * g[0, q] + stopped[k] * g[1, q])
        add_sums(sums, table.feature[e], score, out)
        # edges that all paths have gone through now
        following = table.depth[e + 1] if e + 1 < last else 1
        for back in range(d - 1, following - 1, -1):
            leave(table, path[back], back, first, count, up, total, passing, sums)
            add_sums(sums, table.feature[path[back]], score, out)


@inner
def leave(table, e, d, first, count, up, total, passing, sums):
    """The integrals over all leaves below edge e, whose sums are added to those of the edge above."""
    g, ahead, through = up[e - first], passing[table.above[e]], passing[d]
    sums[:] = 0.0
    for c in range(sums.shape[0]):
        into = sums[c]
        for q in range(count):
            line, before = total[d, c, q], total[d - 1, c, q]
            for k in range(LANES):
                before[k] += line[k]
                into[k] += line[k] * (through[k] * g[0, q] + (ahead[k] - through[k]) * g[1, q])


@inner
def states(table, e, ahead, branch, through, stopped, share):
    """Whether each row passes edge e, is stopped by it first, or was stopped before (then the edge's share)."""
    slot, part = table.slot[e], table.share[e]
    for k in range(LANES):
        through[k] = ahead[k] if branch[k] == slot else 0.0
        stopped[k] = ahead[k] - through[k]
        share[k] = part * (1.0 - ahead[k])


@inner
def find_branches(lanes, table, t, branch):
    """The branches that the rows take at node t."""
    line = lanes[table.test[t]]
    if table.kind[t] == THRESHOLD:  # the loop vectorises
        threshold, missing = table.threshold[t], table.missing[t]
        for k in range(LANES):
            slot = np.int64(line[k] > threshold)
            branch[k] = missing if line[k] != line[k] else slot
    else:
        for k in range(LANES):
            branch[k] = slot_at(table, t, line[k])


@inner
def add_sums(sums, feature, score, out):
    for k in range(out.shape[0]):
        for c in range(sums.shape[0]):
            out[k, feature, score + c] += sums[c, k]


@kernel
def add_divided_contributions(X, table, points, weights, out):
    """The same one row at a time, where rows without a value may go to all children in parts."""
    deepest, n_values, most = table.max_depth.max() + 1, table.value.shape[1], points.shape[1]
    product, total = np.ones((deepest, most)), np.zeros((deepest, n_values, most))
    one, zero = np.ones(deepest), np.ones(deepest)
    branch, path = np.empty(deepest, np.int64), np.empty(deepest, np.int64)
    for tree in range(table.root.size):
        first, last = table.first_edge[tree], table.first_edge[tree + 1]
        count = max(1, (table.n_path[tree] + 1) // 2)
        t, w, score = points[count - 1], weights[count - 1], table.score[tree]
        for i in range(X.shape[0] if first < last else 0):
            branch[0] = slot_at(table, table.root[tree], X[i, table.test[table.root[tree]]])
            for e in range(first, last):
                d, up = table.depth[e], table.above[e]
                path[d], zero[d] = e, table.zero[e]
                one[d] = one_fraction(table, e, branch[d - 1]) * (one[up] if up > 0 else 1.0)
                total[d] = 0.0
                for q in range(count):
                    before = one[up] * t[q] + zero[up] * (1.0 - t[q]) if up > 0 else 1.0
                    here = one[d] * t[q] + zero[d] * (1.0 - t[q])
                    product[d, q] = product[d - 1, q] * here / before if before > 0.0 else 0.0
                    if table.leaf[e]:
                        for c in range(n_values):
                            total[d, c, q] = table.value[table.node[e], c] * product[d, q]
                if not table.leaf[e]:
                    branch[d] = slot_at(table, table.node[e], X[i, table.test[table.node[e]]])
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
def add_interactions(X, table, points, weights, out):
    """Add the interactions of every two features, out of shape (n, n_features, n_features, n_scores).

    They are half of the integral with both factors left out: (o_i - z_i) (o_j - z_j) prod of the others.
    """
    deepest = table.max_depth.max() + 1
    one, zero, branch = np.ones(deepest), np.ones(deepest), np.empty(deepest, np.int64)
    path, ends = np.empty(deepest, np.int64), np.empty(deepest, np.int64)
    for tree in range(table.root.size):
        first, last = table.first_edge[tree], table.first_edge[tree + 1]
        count = max(1, (table.n_path[tree] + 1) // 2)
        t, w = points[count - 1], weights[count - 1]
        for i in range(X.shape[0] if first < last else 0):
            branch[0] = slot_at(table, table.root[tree], X[i, table.test[table.root[tree]]])
            for e in range(first, last):
                d, up = table.depth[e], table.above[e]
                path[d], zero[d] = e, table.zero[e]
                one[d] = one_fraction(table, e, branch[d - 1]) * (one[up] if up > 0 else 1.0)
                if not table.leaf[e]:
                    branch[d] = slot_at(table, table.node[e], X[i, table.test[table.node[e]]])
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
                out[i, score : score + table.value.shape[1]] += table.value[root]
                continue
            branch[0] = slot_at(table, root, X[i, table.test[root]])
            for e in range(table.first_edge[tree], table.first_edge[tree + 1]):
                d = table.depth[e]
                part = one_fraction(table, e, branch[d - 1]) if known[table.feature[e]] else table.share[e]
                weight[d] = weight[d - 1] * part
                if table.leaf[e]:
                    for c in range(table.value.shape[1]):
                        out[i, score + c] += weight[d] * table.value[table.node[e], c]
                else:
                    branch[d] = slot_at(table, table.node[e], X[i, table.test[table.node[e]]])
