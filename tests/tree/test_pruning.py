"""Pruning: the texts' numbers, the theorems by counting all subtrees, and scikit-learn."""

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.model_selection import KFold
from sklearn.tree import DecisionTreeClassifier as TheirClassifier
from sklearn.tree import DecisionTreeRegressor as TheirRegressor

from tercet.datasets import load_watermelon
from tercet.tree.node_losses import node_losses
from tercet.tree.pruning import (
    choose_subtree,
    cost_complexity_path,
    cost_complexity_pruning,
    cost_pruning,
    pessimistic_errors,
    pessimistic_pruning,
    pre_pruning,
    reduced_error_pruning,
)
from tercet.tree.tree import LEAF, TreeBuilder
from tests.tree.sample_trees import (
    chain,
    entropy,
    from_counts,
    from_sklearn,
    gini,
    grow_mixed,
    mixed_rows,
    prunings,
)

HOUSE, JOB = 2, 1


def loans(impurity):
    """The tree of Li Example 5.3: yes 9, no 6."""
    nodes = {
        "root": ([6, 9], (HOUSE, {0: "no house", 1: "house"})),
        "no house": ([6, 3], (JOB, {0: "no job", 1: "job"})),
        "house": ([0, 6], None),
        "no job": ([6, 0], None),
        "job": ([0, 3], None),
    }
    return from_counts(nodes, impurity)


def same(one, other):
    return one.node_count == other.node_count and np.array_equal(one.value, other.value)


def test_cost_pruning_finds_the_root_where_one_level_at_a_time_would_not():
    tree = loans(entropy)
    border = 7.2821294584
    assert cost_pruning(tree, 8, base=2).n_leaves == 1
    assert cost_pruning(tree, border - 1e-8, base=2).n_leaves == 3
    assert cost_pruning(tree, border + 1e-8, base=2).n_leaves == 1
    nats = 10.0951750051 / 2
    assert cost_pruning(tree, nats - 1e-8).n_leaves == 3
    assert cost_pruning(tree, nats + 1e-8).n_leaves == 1
    # (5.13) is about entropy, whatever the tree was grown by.
    assert same(cost_pruning(loans(gini), 8, base=2), cost_pruning(tree, 8, base=2))


def test_equally_cheap_trees_end_early():
    counts = {"r": ([2, 2], (0, {0: "a", 1: "b"})), "a": ([2, 0], None), "b": ([0, 2], None)}
    assert cost_pruning(from_counts(counts), 4.0, base=2).n_leaves == 1


@pytest.mark.parametrize(("impurity", "alpha"), [(gini, 0.24), (entropy, 0.4854752972)])
def test_the_path_of_the_loans(impurity, alpha):
    alphas, ends = cost_complexity_path(loans(impurity))
    np.testing.assert_allclose(alphas, [0, alpha], rtol=1e-9)
    assert ends.n_leaves.tolist() == [3, 1]
    np.testing.assert_allclose(ends.impurities, [0, impurity([6, 9])], atol=1e-15)


def test_the_path_of_the_regression_tree():
    x, y = np.arange(1.0, 7), np.array([1, 1.2, 1.1, 3.0, 3.2, 5.0])
    grow = TreeBuilder(1)
    parts = {0: slice(0, 6), 1: slice(0, 3), 2: slice(3, 6), 3: slice(3, 5), 4: slice(5, 6)}
    said = {
        t: {"value": [[y[s].mean()]], "impurity": y[s].var(), "samples": y[s].size, "weight": y[s].size}
        for t, s in parts.items()
    }
    grow.add_root(**said[0])
    for t, cut in ((0, 3.5), (2, 5.5)):
        for child in grow.split(t, feature=0, threshold=cut, n_children=2):
            grow.set(child, **said[child])
    tree = grow.tree()
    np.testing.assert_allclose(tree.predict(x[:, None])[:, 0, 0], [1.1] * 3 + [3.1] * 2 + [5.0])
    alphas, ends = cost_complexity_path(tree)
    np.testing.assert_allclose(6 * alphas, [0, 2.4066667, 10.4016667], rtol=1e-7)
    assert ends.n_leaves.tolist() == [3, 2, 1]
    right = tree.weighted_n_node_samples * tree.impurity
    assert right[2] - right[3:].sum() == pytest.approx(2.4066667)
    assert (right[0] - right[[1, 3, 4]].sum()) / 2 == pytest.approx(6.4041667)


def test_the_root_can_be_the_weakest_link():
    counts = {
        "root": ([6, 4], (0, {0: "left", 1: "right"})),
        "left": ([5, 1], None),
        "right": ([1, 3], (1, {0: "a", 1: "b"})),
        "a": ([1, 0], None),
        "b": ([0, 3], None),
    }
    tree = from_counts(counts, entropy)
    for alpha, leaves in ((2.0133746, 3), (2.0133748, 1)):
        assert cost_pruning(tree, alpha).n_leaves == leaves
    alphas, ends = cost_complexity_path(tree)
    np.testing.assert_allclose(10 * np.log(2) * alphas, [0, 2.0133747], rtol=1e-7)
    assert ends.n_leaves.tolist() == [3, 1]


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("n_classes", [1, 3])
def test_every_subtree_of_the_path_is_the_smallest_minimiser(seed, n_classes):
    rng = np.random.default_rng(seed)
    X, y = mixed_rows(rng, 30, 3)
    tree = grow_mixed(X, y, rng, depth=3, n_classes=n_classes)
    risk = tree.weighted_n_node_samples * tree.impurity / len(X)
    everything = [(sum(risk[list(cut)]), len(cut), cut) for cut in prunings(tree)]
    alphas, ends = cost_complexity_path(tree)
    assert alphas[0] == 0
    assert (np.diff(alphas) > 0).all()
    leaves = [_ends(tree, ends[k]) for k in range(len(alphas))]
    assert leaves[-1] == {0}
    for fewer, more in zip(leaves[1:], leaves):
        assert fewer < more | _above(tree, more)  # nested: what a smaller tree ends at is there in the larger
        assert len(fewer) < len(more)
    for k, low in enumerate(alphas):
        high = alphas[k + 1] if k + 1 < len(alphas) else 2 * low + 1
        for alpha in (low, (low + high) / 2, high - 1e-6 * (high - low)):
            least = min(cost + alpha * n for cost, n, _ in everything)
            best = [(n, cut) for cost, n, cut in everything if cost + alpha * n <= least + 1e-12]
            assert min(best, key=lambda found: found[0])[1] == leaves[k]
            assert same(cost_complexity_pruning(tree, alpha), tree.collapsed(ends[k]))
        assert ends.n_leaves[k] == len(leaves[k])
        assert ends.impurities[k] == pytest.approx(sum(risk[list(leaves[k])]), abs=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_cost_pruning_is_exact(seed):
    rng = np.random.default_rng(100 + seed)
    X, y = mixed_rows(rng, 40, 3)
    tree = grow_mixed(X, y, rng, depth=3, n_classes=3)
    H = tree.weighted_n_node_samples * [entropy(p) for p in tree.value[:, 0]]
    for alpha in rng.uniform(0, 6, 10):
        least = min(sum(H[list(cut)]) + alpha * len(cut) for cut in prunings(tree))
        got = cost_pruning(tree, alpha, base=2)
        h = got.weighted_n_node_samples * [entropy(p) for p in got.value[:, 0]]
        assert h[got.kind == LEAF].sum() + alpha * got.n_leaves == pytest.approx(least, abs=1e-9)


def _ends(tree, mask):
    """The nodes at which a cut tree ends."""
    found, waiting = set(), [0]
    while waiting:
        t = waiting.pop()
        if mask[t] or tree.kind[t] == LEAF:
            found.add(t)
        else:
            waiting += tree.children(t)
    return found


def _above(tree, nodes):
    parent = tree.parent
    found = set()
    for t in nodes:
        while parent[t] >= 0:
            t = int(parent[t])
            found.add(t)
    return found


@pytest.mark.parametrize(
    "model",
    [
        TheirClassifier(random_state=0),
        TheirClassifier(criterion="entropy", min_samples_leaf=2, class_weight="balanced", random_state=0),
        TheirRegressor(min_samples_leaf=3, random_state=0),
        TheirRegressor(criterion="absolute_error", max_depth=5, random_state=0),
    ],
    ids=["gini", "entropy", "squares", "absolute"],
)
def test_the_path_is_scikit_learns(model):
    loader = load_breast_cancer if hasattr(model, "predict_proba") else load_diabetes
    X, y = loader(return_X_y=True)
    theirs = model.cost_complexity_pruning_path(X, y)
    tree = from_sklearn(model.fit(X, y))
    steps, ends = cost_complexity_path(tree, merge=False)
    # Links that are equally weak are cut from the top here; rounding may let them cut a lower one first.
    at = np.unique(theirs.ccp_alphas.round(12))
    np.testing.assert_allclose(np.unique(steps.round(12)), at, atol=2e-12)
    alphas, ends = cost_complexity_path(tree)
    last = np.searchsorted(theirs.ccp_alphas, alphas + 1e-11) - 1
    np.testing.assert_allclose(ends.impurities, theirs.impurities[last], rtol=1e-9, atol=1e-12)
    for alpha in (alphas[1:] + alphas[:-1])[:: max(1, len(alphas) // 5)] / 2:
        pruned = model.set_params(ccp_alpha=alpha).fit(X, y)
        got = cost_complexity_pruning(tree, alpha)
        assert got.n_leaves == pruned.get_n_leaves()
        shown = got.predict(X)[:, 0]
        want = pruned.predict_proba(X) if hasattr(pruned, "predict_proba") else pruned.predict(X)[:, None]
        np.testing.assert_allclose(shown, want, atol=1e-12)


def test_ties_are_cut_from_the_top_at_once():
    # Three equal halvings: every inner node gains the same for each leaf.
    counts = {
        "r": ([4, 4], (0, {0: "a", 1: "b"})),
        "a": ([3, 1], (1, {0: "c", 1: "d"})),
        "b": ([1, 3], (1, {0: "e", 1: "f"})),
        "c": ([2, 0], None), "d": ([1, 1], None), "e": ([1, 1], None), "f": ([0, 2], None),
    }  # fmt: skip
    tree = from_counts(counts)
    alphas, ends = cost_complexity_path(tree)
    risk = tree.weighted_n_node_samples * tree.impurity / 8
    g = (risk[1] - risk[3:5].sum(), (risk[0] - risk[3:].sum()) / 3)
    assert g[0] < g[1]
    np.testing.assert_allclose(alphas, [0, g[0], risk[0] - risk[1:3].sum()])
    assert ends.n_leaves.tolist() == [4, 2, 1]
    steps, single = cost_complexity_path(tree, merge=False)
    assert len(steps) == 4
    assert single.n_leaves.tolist() == [4, 3, 2, 1]
    assert ends[-1].all()
    assert [mask.sum() for mask in ends[:2]] == [4, 6]
    with pytest.raises(IndexError):
        ends[3]


def test_a_test_that_gains_nothing_is_gone_at_alpha_zero():
    counts = {
        "r": ([4, 2], (0, {0: "a", 1: "b"})),
        "a": ([2, 0], None),
        "b": ([2, 2], (1, {0: "c", 1: "d"})),
        "c": ([1, 1], None),
        "d": ([1, 1], None),
    }
    alphas, ends = cost_complexity_path(from_counts(counts))
    assert ends.n_leaves.tolist() == [2, 1]
    assert len(alphas) == 2
    alone = from_counts({"r": ([4, 2], (0, {1: "a"})), "a": ([4, 2], None)})
    assert cost_complexity_pruning(alone, 0).node_count == 1
    assert cost_complexity_path(alone)[0].tolist() == [0]


def melon_tree():
    """ID3 on the ten melons to learn from (watermelon notes ch. 2), navel first; the seven others are held out."""
    data = load_watermelon("2.0")
    columns = [
        data.feature_names.index(name) for name in ("navel", "colour", "root", "sound", "texture", "touch")
    ]
    words = [np.unique(data.data[:, j].astype(str), return_inverse=True) for j in columns]
    X = np.column_stack([codes for _, codes in words]).astype(float)
    y = 1 - data.target  # good comes first, and wins where both are as many
    learn = np.array([1, 2, 3, 6, 7, 10, 14, 15, 16, 17]) - 1
    held = np.setdiff1d(np.arange(17), learn)
    grow = TreeBuilder(6)

    def said(rows):
        counts = np.bincount(y[rows], minlength=2)
        return {
            "value": [counts / counts.sum()], "impurity": entropy(counts), "samples": len(rows), "weight": len(rows)
        }  # fmt: skip

    def gain(rows, j):
        parts = [rows[X[rows, j] == v] for v in np.unique(X[rows, j])]
        left = sum(len(part) * entropy(np.bincount(y[part])) for part in parts)
        return round(entropy(np.bincount(y[rows])) - left / len(rows), 9)

    waiting = [(grow.add_root(**said(learn)), learn, range(6))]
    while waiting:
        t, rows, free = waiting.pop()
        if len(set(y[rows])) == 1 or not free:
            continue
        j = max(free, key=lambda j: gain(rows, j))
        known = np.unique(X[rows, j]).astype(int)
        slots = np.full(len(words[j][0]), -1)
        slots[known] = range(len(known))
        children = grow.split(t, feature=j, n_children=len(known), slots=slots)
        for child, v in zip(children, known):
            mine = rows[X[rows, j] == v]
            grow.set(child, **said(mine))
            waiting.append((child, mine, [k for k in free if k != j]))
    return grow.tree([2]), X[held], y[held], X[learn], y[learn]


def accuracy(tree, X, y):
    return (tree.predict(X)[:, 0].argmax(axis=1) == y).sum()


def test_melons_pruned_by_held_out_ones():
    tree, X, y, *_ = melon_tree()
    navel, colour, root = 0, 1, 2
    assert tree.feature[0] == navel
    assert accuracy(tree, X, y) == 3
    assert accuracy(tree.collapsed(np.ones(tree.node_count, dtype=bool)), X, y) == 3
    before = pre_pruning(tree, X, y)
    assert (before.n_leaves, accuracy(before, X, y)) == (3, 5)
    assert before.value[1:, 0].argmax(axis=1).tolist() == [0, 1, 0]  # sunken good, flat bad, a little good
    strict = reduced_error_pruning(tree, X, y)
    assert accuracy(strict, X, y) == 5
    assert set(strict.feature[strict.kind != LEAF]) == {navel, root, colour}
    occam = reduced_error_pruning(tree, X, y, ties=True)
    assert same(occam, before)


@pytest.mark.parametrize("measure", ["error", "gini", "entropy"])
def test_losses_at_the_nodes_are_what_walks_count(measure):
    rng = np.random.default_rng(5)
    X, y = mixed_rows(rng, 60, 3)
    tree = grow_mixed(X, y, rng, n_classes=3)
    X, y, w = X[:30].copy(), y[:30], rng.uniform(0, 2, 30)
    X[:4, 2] = 3  # a category that no node knows
    as_leaf, stays = node_losses(tree, X, y, w, measure)
    way = tree.decision_path(X).toarray().astype(bool)
    p = tree.value[:, 0]
    with np.errstate(divide="ignore"):
        table = {
            "error": (p.argmax(axis=1)[:, None] != np.arange(3)).astype(float),
            "gini": ((np.eye(3)[None] - p[:, None]) ** 2).sum(axis=2),
            "entropy": -np.log(p),
        }[measure]
    for t in range(tree.node_count):
        assert as_leaf[t] == pytest.approx((w * table[t, y])[way[:, t]].sum())
        stop = tree.apply(X) == t
        assert stays[t] == pytest.approx((w * table[t, y])[stop].sum())
    assert np.bincount(tree.apply(X), minlength=tree.node_count)[tree.kind != LEAF].sum() > 0


def test_missing_values_count_at_all_children_by_their_shares():
    tree = loans(gini)
    X = np.array([[np.nan, 1.0, np.nan], [0, np.nan, 0.0]])
    as_leaf, stays = node_losses(tree, X, [0, 0], [1.0, 2.0])
    order = ["root", "no house", "house", "no job", "job"]
    share = {
        "root": 3,
        "no house": 9 / 15 + 2,
        "house": 6 / 15,
        "no job": 2 * 6 / 9,
        "job": 9 / 15 + 2 * 3 / 9,
    }
    wrong = {"root": 1, "no house": 0, "house": 1, "no job": 0, "job": 1}
    np.testing.assert_allclose(as_leaf, [share[name] * wrong[name] for name in order])
    np.testing.assert_allclose(stays, np.where(tree.kind == LEAF, as_leaf, 0))


@pytest.mark.parametrize("seed", range(10))
def test_reduced_error_pruning_is_the_best_pruning(seed):
    rng = np.random.default_rng(seed)
    X, y = mixed_rows(rng, 30)
    tree = grow_mixed(X, y, rng, depth=3)
    V, v = mixed_rows(rng, 25)
    V[:3, 2] = 3
    mistakes = [len(v) - accuracy(_cut(tree, cut), V, v) for cut in prunings(tree)]
    sizes = [len(cut) for cut in prunings(tree)]
    for ties in (False, True):
        got = reduced_error_pruning(tree, V, v, ties=ties)
        assert len(v) - accuracy(got, V, v) == min(mistakes)
    fewest = min(size for size, wrong in zip(sizes, mistakes) if wrong == min(mistakes))
    assert got.n_leaves == fewest
    doubled = reduced_error_pruning(tree, np.vstack([V, V[:9]]), np.append(v, v[:9]))
    weighed = reduced_error_pruning(tree, V, v, np.append(np.full(9, 2.0), np.ones(16)))
    assert same(doubled, weighed)


def _cut(tree, ends):
    mask = np.zeros(tree.node_count, dtype=bool)
    mask[list(ends)] = True
    return tree.collapsed(mask)


def test_squares_are_the_measure_of_numbers():
    rng = np.random.default_rng(3)
    X, _ = mixed_rows(rng, 40)
    y = 1e6 + X[:, 1] + rng.normal(size=40)
    tree = grow_mixed(X, y, rng, n_classes=1)
    as_leaf, _ = node_losses(tree, X, y)
    np.testing.assert_allclose(as_leaf, tree.weighted_n_node_samples * tree.impurity, rtol=1e-6, atol=1e-6)
    chosen = choose_subtree(tree, X, y)
    assert chosen.alpha == 0  # the rows it was grown from like the full tree best
    np.testing.assert_allclose(chosen.losses, cost_complexity_path(tree)[1].impurities, rtol=1e-6)


def test_upper_limits_of_mistakes():
    for mistakes, rows in ((0, 6), (1, 16), (3, 20)):
        most = pessimistic_errors(mistakes, rows, 0.25) / rows
        assert binom.cdf(mistakes, rows, most) == pytest.approx(0.25)
    # Quinlan's votes: 6, 9 and 1 rows without a mistake, against 16 rows with one.
    leaves = [float(pessimistic_errors(0, n, 0.25)) for n in (6, 9, 1)]
    np.testing.assert_allclose(np.array(leaves) / [6, 9, 1], [0.206, 0.143, 0.750], atol=6e-4)
    assert pessimistic_errors(3, 3, 0.25) == 3
    counts = {
        "r": ([15, 1], (0, {0: "a", 1: "b", 2: "c"})),
        "a": ([6, 0], None),
        "b": ([9, 0], None),
        "c": ([0, 1], None),
    }
    assert pessimistic_pruning(from_counts(counts)).n_leaves == 1
    assert pessimistic_pruning(from_counts(counts), confidence=0.9).n_leaves == 3


def test_choice_by_held_out_rows():
    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(0)
    learn = rng.permutation(150)[:75]
    held = np.setdiff1d(np.arange(150), learn)
    tree = from_sklearn(TheirClassifier(random_state=0).fit(X[learn], y[learn]))
    for measure in ("error", "gini", "entropy"):
        chosen = choose_subtree(tree, X[held], y[held], measure=measure)
        alphas, ends = cost_complexity_path(tree)
        for k in range(len(alphas)):
            p = tree.collapsed(ends[k]).predict(X[held])[:, 0]
            with np.errstate(divide="ignore"):
                loss = {
                    "error": p.argmax(axis=1) != y[held],
                    "gini": ((np.eye(3)[y[held]] - p) ** 2).sum(axis=1),
                    "entropy": -np.log(p[np.arange(75), y[held]]),
                }[measure]
            assert chosen.losses[k] == pytest.approx(loss.mean())
        best = np.flatnonzero(chosen.losses <= chosen.losses.min() + 1e-12)[-1]
        assert chosen.alpha == alphas[best]
        assert same(chosen.tree, tree.collapsed(ends[best]))


def test_choice_by_cross_validation():
    X, y = load_breast_cancer(return_X_y=True)

    def grow(X, y, weight=None):
        return from_sklearn(TheirClassifier(random_state=0).fit(X, y, sample_weight=weight))

    folds = list(KFold(4, shuffle=True, random_state=0).split(X))
    tree = grow(X, y)
    chosen = choose_subtree(tree, X, y, folds=folds, grow=grow)
    alphas, _ = cost_complexity_path(tree)
    typical = [*np.sqrt(alphas[1:] * alphas[:-1]), np.inf]
    for k in (0, 3, len(alphas) - 1):
        wrong = 0
        for kept, held in folds:
            part = cost_complexity_pruning(grow(X[kept], y[kept]), typical[k])
            wrong += len(held) - accuracy(part, X[held], y[held])
        assert chosen.losses[k] == pytest.approx(wrong / len(X))
    assert 1 < chosen.tree.n_leaves < tree.n_leaves
    with pytest.raises(ValueError, match="folds need grow"):
        choose_subtree(tree, X, y, folds=folds)


def test_long_chains_and_large_trees_are_no_matter():
    tree = chain(30_000)
    _, ends = cost_complexity_path(tree)
    assert ends.n_leaves[-1] == 1
    assert (np.diff(ends.impurities) >= -1e-12).all()
    assert cost_pruning(tree, 1e9).n_leaves == 1
    X = np.array([[0.0], [10.0], [30_000.0]])
    assert reduced_error_pruning(tree, X, np.zeros(len(X)), ties=True).n_leaves == 1


def test_bad_requests_say_so():
    tree = loans(gini)
    X = np.zeros((2, 3))
    with pytest.raises(ValueError, match="alpha must be at least 0, got -1"):
        cost_pruning(tree, -1)
    with pytest.raises(ValueError, match="alpha must be at least 0, got nan"):
        cost_complexity_pruning(tree, np.nan)
    with pytest.raises(ValueError, match="base must be above 1"):
        cost_pruning(tree, 1, base=1)
    with pytest.raises(ValueError, match="confidence must be between 0 and 1, got 0"):
        pessimistic_pruning(tree, 0)
    with pytest.raises(ValueError, match="measure of this tree must be one of error, gini, entropy"):
        reduced_error_pruning(tree, X, [0, 1], measure="squared_error")
    with pytest.raises(ValueError, match="y must be indices of classes, 0 to 1"):
        reduced_error_pruning(tree, X, [0, 2])
    with pytest.raises(ValueError, match="grown from 3 features"):
        reduced_error_pruning(tree, X[:, :2], [0, 1])
    with pytest.raises(ValueError, match="one number for each of the 2 rows"):
        pre_pruning(tree, X, [0, 1], weight=[1])
    with pytest.raises(ValueError, match="y has 2 outputs; the tree has 1"):
        pre_pruning(tree, X, [[0, 1], [0, 1]])
