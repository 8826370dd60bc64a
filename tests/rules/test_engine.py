"""The scans of presorted columns against all conditions, tried one by one; the division of the rows."""

import numpy as np
import pytest
from scipy.special import xlogy

from tercet.rules import foil_gain
from tercet.rules._engine.ranked_table import (
    AT_LEAST,
    AT_MOST,
    EQUAL,
    RankedTable,
    held_out_weights,
    row_hashes,
)
from tercet.rules._engine.scans import SCORES, best_slot, cover_of, holds, restricted, scan, scan_two
from tercet.rules.rule_growth import covered, grow_rule, prefix_counts, rank_test
from tercet.rules.rule_scores import class_likelihood_ratio


def table_of(seed, n=120, missing=0.1):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=(n, 2)).round(1), rng.integers(0, 4, n), rng.integers(0, 9, n)])
    X[rng.random(X.shape) < missing] = np.nan
    categories = [None, None, np.arange(4.0), None]
    return RankedTable.of(X, categories), X, rng


def conditions(table, cover):
    """All conditions that rows of a cover can be divided by: column, comparison and rank."""
    for j, words in enumerate(table.categorical):
        here = np.unique(table.ranks[j][cover.rows])
        here = here[here >= 0]
        for r in here.tolist():
            if words:
                yield j, EQUAL, r
            elif r < here.max():
                yield j, AT_MOST, r
        if not words:
            for r in here.tolist()[1:]:
                yield j, AT_LEAST, r


@pytest.mark.parametrize("seed", range(4))
def test_the_best_condition_by_foil_gain(seed):
    table, _, rng = table_of(seed)
    y = rng.random(table.n_rows) < 0.4
    weights = np.column_stack([y, ~y]) * rng.integers(0, 4, (table.n_rows, 1)).astype(float)
    cover = restricted(table, cover_of(table, weights.sum(axis=1)), 3, AT_LEAST, 2)
    P, N = weights[cover.rows].sum(axis=0)
    base = np.log2(P / (P + N))
    best = -np.inf
    for condition in conditions(table, cover):
        rows = cover.rows[holds(table.ranks[condition[0]][cover.rows], *condition[1:])]
        p, n = weights[rows].sum(axis=0)
        if p + n < P + N:
            best = max(best, float(foil_gain(p, n, P, N)))
    found = scan_two(table, cover, weights, SCORES["foil"], base)
    slot = best_slot(found, found.counts.sum(axis=1))
    assert found.score[slot] == pytest.approx(best)
    test = rank_test(table, found, slot)
    rows = cover.rows[holds(table.ranks[test.feature][cover.rows], test.comparison, test.rank)]
    np.testing.assert_allclose(weights[rows].sum(axis=0), found.counts[slot])


@pytest.mark.parametrize("target", [-1, 1])
@pytest.mark.parametrize("score", ["entropy", "laplace"])
def test_thresholds_of_the_largest_likelihood_ratio(score, target):
    table, _, rng = table_of(7)
    y, weight = rng.integers(0, 3, table.n_rows), rng.integers(1, 4, table.n_rows).astype(float)
    cover = cover_of(table, weight)
    found = scan(table, cover, y, weight, 3, SCORES[score], target)
    totals = np.bincount(y, weight, 3)
    grouped = totals if target < 0 else np.array([totals[target], totals.sum() - totals[target]])
    for slot in np.flatnonzero(found.score > -np.inf):
        j, comparison = found.feature[slot], found.comparison[slot]
        known = table.ranks[j] >= 0
        all_known = np.bincount(y[known], weight[known], 3)
        counts = found.counts[slot]
        p = counts.max() if target < 0 else counts[target]
        if score == "laplace":
            assert found.score[slot] == pytest.approx((p + 1) / (counts.sum() + 3))
        elif target < 0:
            share = counts / counts.sum()
            assert found.score[slot] == pytest.approx(xlogy(share, share).sum() / np.log(2))
        if comparison == EQUAL:
            continue
        best = 0.0
        for condition in conditions(table, cover):
            if condition[:2] == (j, comparison):
                rows = holds(table.ranks[j], *condition[1:])
                one = np.bincount(y[rows], weight[rows], 3)
                one = one if target < 0 else np.array([one[target], one.sum() - one[target]])
                if target < 0 or one[0] * grouped[1] > one[1] * grouped[0]:
                    best = max(best, float(class_likelihood_ratio(one, grouped)))
        mine = counts if target < 0 else np.array([counts[target], counts.sum() - counts[target]])
        assert float(class_likelihood_ratio(mine, grouped)) == pytest.approx(best)
        assert (counts <= all_known + 1e-9).all()


def test_thresholds_lie_between_values():
    table = RankedTable.of(np.array([[1.0], [2.0], [np.nextafter(2.0, 3.0)], [1e308], [np.nan]]), [None])
    assert table.threshold(0, AT_MOST, 0, 1) == (1.5, 0)
    assert table.threshold(0, AT_LEAST, 0, 1) == (1.5, 1)
    assert table.threshold(0, AT_MOST, 1, 2) == (2.0, 1)  # no number is between
    assert table.threshold(0, AT_LEAST, 1, 2) == (np.nextafter(2.0, 3.0), 2)
    assert table.threshold(0, AT_LEAST, 0, 3) == (0.5e308 + 0.5, 3)  # rows between the two are decided by it


def test_a_grown_rule_covers_no_negative_row():
    table, X, _ = table_of(3, missing=0.0)
    y = (X[:, 0] > 0.2) & (X[:, 2] == 1)
    weights = np.column_stack([y, ~y]).astype(float)
    tests = grow_rule(table, weights)
    covers = covered(table, tests)
    assert y[covers].all()
    assert covers.any()
    counts = prefix_counts(table, tests, weights)
    np.testing.assert_array_equal(counts[0], weights.sum(axis=0))
    np.testing.assert_array_equal(counts[-1], weights[covers].sum(axis=0))
    assert len(grow_rule(table, weights, max_conds=1)) == 1
    assert grow_rule(table, weights[:, ::-1] * 0) == ()


@pytest.mark.parametrize("share", [0.2, 0.33, 0.5])
def test_rows_are_divided_in_proportion(share):
    table, _, rng = table_of(1, n=300)
    y = rng.integers(0, 2, 300) * rng.integers(0, 2, 300)
    held = held_out_weights(row_hashes(table, y), y, np.ones(300), share, np.random.default_rng(0))
    for label in (0, 1):
        assert abs(held[y == label].sum() - share * (y == label).sum()) <= 1.5
    distinct = np.unique(row_hashes(table, y), return_counts=True)[1]
    assert np.count_nonzero((held > 0) & (held < 1)) <= 300 - np.count_nonzero(distinct == 1)


def test_a_weight_divides_as_a_repetition_does():
    table, X, rng = table_of(2, n=60)
    y, weight = rng.integers(0, 2, 60), rng.integers(0, 4, 60)
    held = held_out_weights(row_hashes(table, y), y, weight.astype(float), 0.33, np.random.default_rng(5))
    rows = rng.permutation(np.repeat(np.arange(60), weight))
    again = RankedTable.of(X[rows], [None, None, np.arange(4.0), None])
    one = np.ones(len(rows))
    # ranks are those of the rows that are there
    hashes = row_hashes(table, y)[rows] if len(np.unique(rows)) < 60 else row_hashes(again, y[rows])
    repeated = held_out_weights(hashes, y[rows], one, 0.33, np.random.default_rng(5))
    np.testing.assert_allclose(np.bincount(rows, repeated, 60), held)


def test_weights_in_another_unit_divide_alike():
    table, _, rng = table_of(4, n=90)
    y = rng.integers(0, 2, 90)
    hashes = row_hashes(table, y)
    _, first = np.unique(hashes, return_index=True)
    weight = np.zeros(90)
    weight[first] = 1.0
    one = held_out_weights(hashes, y, weight, 0.33, np.random.default_rng(1))
    small = held_out_weights(hashes, y, weight / 512, 0.33, np.random.default_rng(1))
    np.testing.assert_allclose(small * 512, one)
    assert not held_out_weights(hashes, y, 0 * weight, 0.33, np.random.default_rng(1)).any()
