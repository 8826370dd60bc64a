"""Sample trees for the tests of pruning, rules, export and pictures."""

import itertools

import numpy as np

from tercet.tree.tree import CATEGORY, LINEAR, SHARED, THRESHOLD, Tree, TreeBuilder


def gini(counts):
    p = np.asarray(counts, dtype=float) / np.sum(counts)
    return 1 - (p**2).sum()


def entropy(counts):
    p = np.asarray(counts, dtype=float) / np.sum(counts)
    return -sum(q * np.log2(q) for q in p if q > 0)


def from_counts(nodes, impurity=gini, n_features=None):
    """A tree from {name: (counts, test)}, the root first; a test is (feature, {code: child's name})."""
    grow = TreeBuilder(n_features or 1 + max(test[0] for _, test in nodes.values() if test))
    first, *_ = nodes
    place = {first: grow.add_root(**_said(nodes[first][0], impurity))}
    for name, (counts, test) in nodes.items():
        if test is None:
            continue
        feature, branches = test
        slots = np.full(1 + max(branches), -1)
        slots[list(branches)] = range(len(branches))
        share = [np.sum(nodes[child][0]) / np.sum(counts) for child in branches.values()]
        options = {"n_children": len(branches), "slots": slots, "missing": SHARED}
        numbers = grow.split(place[name], feature=feature, **options)
        for t, child, part in zip(numbers, branches.values(), share):
            place[child] = t
            grow.set(t, **_said(nodes[child][0], impurity), share=part)
    return grow.tree(n_classes=[len(nodes[first][0])])


def _said(counts, impurity):
    total = np.sum(counts)
    value = [np.asarray(counts) / total]
    return {"value": value, "impurity": impurity(counts), "samples": int(total), "weight": float(total)}


def grow_mixed(
    X, y, rng, *, depth=4, n_classes=2, impurity=gini, kinds=(THRESHOLD, CATEGORY, LINEAR), shared=True
):
    """A tree of random tests on real rows: columns 0 and 1 hold numbers, column 2 codes 0, 1, 2."""
    grow = TreeBuilder(X.shape[1])

    def said(rows, share=1.0):
        if n_classes == 1:
            value, spread = [[y[rows].mean()]], y[rows].var()
        else:
            counts = np.bincount(y[rows], minlength=n_classes)
            value, spread = [counts / counts.sum()], impurity(counts)
        return {
            "value": value, "impurity": spread, "samples": len(rows), "weight": float(len(rows)), "share": share
        }  # fmt: skip

    everything = np.arange(len(X))
    waiting = [(grow.add_root(**said(everything)), everything, 0, 0)]
    while waiting:
        t, rows, level, tried = waiting.pop(0)
        kind = rng.choice(kinds)
        if level == depth or len(rows) < 2 or tried == 3:
            continue
        options = {"missing": SHARED if shared else 0}
        if kind == CATEGORY:
            known, side = np.unique(X[rows, 2].astype(int), return_inverse=True)
            slots = np.full(4, -1)
            slots[known] = range(len(known))
            options |= {"feature": 2, "slots": slots, "n_children": len(known)}
        else:
            coef = np.zeros(X.shape[1])
            coef[:2] = rng.normal(size=2) if kind == LINEAR else [0, 1]
            cut = X[rng.choice(rows)] @ coef + 1e-6  # no row on the border, where rounding decides
            side = (X[rows] @ coef > cut).astype(int)
            options |= {"threshold": cut, "n_children": 2}
            options |= {"coef": coef} if kind == LINEAR else {"feature": 1}
        if len(np.unique(side)) != options["n_children"] or options["n_children"] < 2:
            waiting.append((t, rows, level, tried + 1))
            continue
        for k, child in enumerate(grow.split(t, **options)):
            mine = rows[side == k]
            grow.set(child, **said(mine, len(mine) / len(rows)))
            waiting.append((child, mine, level + 1, 0))
    return grow.tree([n_classes])


def mixed_rows(rng, n, n_classes=2):
    X = np.column_stack([rng.integers(0, 6, n), rng.integers(0, 9, n), rng.integers(0, 3, n)]).astype(float)
    return X, rng.integers(0, n_classes, n)


def chain(depth):
    """A tree in which every test cuts off one leaf."""
    n = 2 * depth + 1
    kind = np.zeros(n)
    kind[0], kind[2::2] = THRESHOLD, THRESHOLD
    kind[-1] = 0
    inner = kind > 0
    child = np.full(n, -1)
    child[inner] = np.arange(1, n, 2)
    left = np.append(depth + 1 - np.arange(depth), 1)  # rows at the inner nodes, and at the last leaf
    rows = np.ones(n)
    rows[0], rows[2::2] = left[0], left[1:]
    first = np.minimum(rows, 2) / rows  # all but one row of a node are of one class
    value = np.stack([1 - first / 2, first / 2], axis=1)
    value[~inner] = [1, 0]
    return Tree(
        1,
        value[:, None, :],
        (2,),
        kind=kind,
        feature=np.where(inner, 0, -2),
        threshold=np.where(inner, np.cumsum(inner) - 0.5, -2),
        child=child,
        n_children=np.where(inner, 2, 0),
        impurity=1 - (value**2).sum(axis=1),
        n_node_samples=rows,
        weighted_n_node_samples=rows,
    )


def from_sklearn(model):
    """scikit-learn's tree in our order of nodes."""
    theirs = model.tree_
    order = [0]
    child = {}
    for t in order:
        if theirs.children_left[t] >= 0:
            child[t] = len(order)
            order += [theirs.children_left[t], theirs.children_right[t]]
    inner = np.array([t in child for t in order])
    return Tree(
        theirs.n_features,
        theirs.value[order],
        theirs.n_classes,
        kind=inner * THRESHOLD,
        feature=theirs.feature[order],
        threshold=theirs.threshold[order],
        child=[child.get(t, -1) for t in order],
        n_children=inner * 2,
        missing=np.where(inner, 1 - theirs.missing_go_to_left[order], 0),
        impurity=theirs.impurity[order],
        n_node_samples=theirs.n_node_samples[order],
        weighted_n_node_samples=theirs.weighted_n_node_samples[order],
    )


def prunings(tree, t=0):
    """All ways to cut a tree: the sets of the nodes it ends at."""
    if tree.n_children[t] == 0:
        return [{t}]
    below = itertools.product(*(prunings(tree, c) for c in tree.children(t)))
    return [{t}, *(set().union(*parts) for parts in below)]
