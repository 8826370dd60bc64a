"""Discretisation: bins of equal width and frequency, by k-means, by given edges, and by classes."""

import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import chi2
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer as Peer

from tercet.feature import KBinsDiscretizer
from tercet.feature.discretization.bin_edges import weighted_quantiles
from tercet.feature.discretization.chi_merge import chi_merge_cuts
from tercet.feature.discretization.mdl import mdl_cuts
from tercet.linear_model import LogisticRegression

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))
X[:, 2] = X[:, 2].round(1)
Y = np.digitize(X[:, 0] + 0.3 * RNG.normal(size=300), [-0.5, 0.6])


@pytest.mark.parametrize("encode", ["onehot", "onehot-dense", "ordinal"])
@pytest.mark.parametrize("strategy", ["uniform", "quantile", "kmeans"])
@pytest.mark.parametrize("weighted", [False, True])
def test_agrees_with_scikit_learn(encode, strategy, weighted):
    weight = RNG.integers(0, 4, size=300) if weighted else None
    options = {"n_bins": 4, "encode": encode, "strategy": strategy}
    ours, theirs = (kind(**options).fit(X, sample_weight=weight) for kind in (KBinsDiscretizer, Peer))
    for a, b in zip(ours.bin_edges_, theirs.bin_edges_):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    one, other = ours.transform(X), theirs.transform(X)
    assert type(one) is type(other)
    back = ours.inverse_transform(one), theirs.inverse_transform(other)
    np.testing.assert_allclose(*back, rtol=1e-12)
    if encode == "onehot":
        one, other = one.toarray(), other.toarray()
    assert np.array_equal(one, other)
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()


def test_the_same_rows_are_drawn_as_by_scikit_learn():
    ours, theirs = (kind(subsample=50, random_state=3).fit(X) for kind in (KBinsDiscretizer, Peer))
    for a, b in zip(ours.bin_edges_, theirs.bin_edges_):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def entropy(labels):
    share = np.unique(labels, return_counts=True)[1] / len(labels)
    return -np.sum(share * np.log2(share))


def plain_mdl(x, y):
    """Fayyad and Irani's recursion as it is printed."""
    best = None
    for place in range(1, len(x)):
        if x[place] > x[place - 1]:
            score = (place * entropy(y[:place]) + (len(y) - place) * entropy(y[place:])) / len(y)
            if best is None or score < best[0] - 1e-12:
                best = score, place
    if best is None:
        return []
    score, place = best
    k, k1, k2 = (len(set(part.tolist())) for part in (y, y[:place], y[place:]))
    delta = np.log2(3.0**k - 2) - (k * entropy(y) - k1 * entropy(y[:place]) - k2 * entropy(y[place:]))
    if entropy(y) - score <= (np.log2(len(y) - 1) + delta) / len(y):
        return []
    cut = (x[place - 1] + x[place]) / 2
    return [*plain_mdl(x[:place], y[:place]), cut, *plain_mdl(x[place:], y[place:])]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("decimals", [1, 3])
def test_mdl_is_the_recursion(seed, decimals):
    rng = np.random.default_rng(seed)
    x = np.sort(rng.random(150).round(decimals))
    y = (np.digitize(x, [0.3, 0.55, 0.8]) + (rng.random(150) < 0.1)) % 3
    found = mdl_cuts(x, y, np.ones(150), 3)
    assert found.size >= 1
    np.testing.assert_allclose(found, plain_mdl(x, y), rtol=1e-12)


def test_mdl_cuts_lie_between_rows_of_different_classes():
    """Fayyad and Irani's theorem: a cut of least entropy is a boundary point."""
    x = np.sort(RNG.random(200))
    y = (RNG.random(200) < np.where(x < 0.4, 0.1, 0.9)).astype(int)
    for cut in mdl_cuts(x, y, np.ones(200), 2):
        place = np.searchsorted(x, cut)
        assert y[place - 1] != y[place]


def test_mdl_with_a_limit_keeps_the_best_cut():
    x = np.arange(90.0)
    y = np.repeat([0, 1, 0], 30)
    whole = mdl_cuts(x, y, np.ones(90), 2)
    assert whole.tolist() == [29.5, 59.5]
    assert set(mdl_cuts(x, y, np.ones(90), 2, max_bins=2)) < set(whole)
    assert mdl_cuts(x, y, np.ones(90), 2, max_bins=1).size == 0


def plain_chi_merge(x, y, significance, min_bins, max_bins):
    """Kerber's loop over all neighbours."""
    values, k = np.unique(x), int(y.max()) + 1
    counts = [np.bincount(y[x == value], minlength=k).astype(float) for value in values]
    lows = values.tolist()

    def statistic(a, b):
        table = np.array([a, b])
        expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
        return ((table - expected) ** 2 / np.maximum(expected, 0.5)).sum()

    while len(counts) > min_bins:
        found = [statistic(a, b) for a, b in pairwise(counts)]
        best = int(np.argmin(found))
        if found[best] >= chi2.isf(significance, k - 1) and len(counts) <= max_bins:
            break
        counts[best] = counts[best] + counts.pop(best + 1)
        lows.pop(best + 1)
    return [(values[values < low].max() + low) / 2 for low in lows[1:]]


@pytest.mark.parametrize(
    ("significance", "min_bins", "max_bins"), [(0.05, 1, np.inf), (0.3, 1, 5), (1e-6, 4, 10)]
)
def test_chi_merge_is_the_loop(significance, min_bins, max_bins):
    rng = np.random.default_rng(1)
    x = np.sort(rng.random(120).round(2))
    y = (np.digitize(x, [0.35, 0.7]) + (rng.random(120) < 0.2)) % 3
    found = chi_merge_cuts(x, y, np.ones(120), 3, significance, min_bins, max_bins)
    expected = plain_chi_merge(x, y, significance, min_bins, max_bins)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert min_bins <= found.size + 1 <= max_bins


def test_chi_merge_of_a_printed_example():
    """Twelve rows of two classes, at the 90 % level (Kantardzic, Data Mining, Section 3.8)."""
    x = np.array([1.0, 3, 7, 8, 9, 11, 23, 37, 39, 45, 46, 59])
    y = np.array([0, 1, 0, 0, 0, 1, 1, 0, 1, 0, 0, 0])
    assert chi_merge_cuts(x, y, np.ones(12), 2, 0.1).tolist() == [10.0, 42.0]


@pytest.mark.parametrize("strategy", ["mdl", "chimerge"])
def test_weights_are_repeated_rows(strategy):
    weight = RNG.integers(0, 4, size=300)
    model = KBinsDiscretizer(strategy=strategy, encode="ordinal")
    repeated = model.fit(np.repeat(X, weight, axis=0), np.repeat(Y, weight)).bin_edges_
    for a, b in zip(model.fit(X, Y, sample_weight=weight).bin_edges_, repeated):
        np.testing.assert_allclose(a, b, rtol=1e-12)


@pytest.mark.parametrize("strategy", ["mdl", "chimerge"])
def test_classes_decide_the_bins(strategy):
    model = KBinsDiscretizer(strategy=strategy, significance=1e-4, encode="ordinal").fit(X, Y)
    cuts = model.bin_edges_[0][1:-1]
    assert np.abs(cuts[:, None] - [-0.5, 0.6]).min(axis=0).max() < 0.4
    assert model.n_bins_[1] <= 2  # a column of noise
    assert KBinsDiscretizer(strategy=strategy).fit(X, np.zeros(300)).n_bins_.tolist() == [1, 1, 1]
    with pytest.raises(ValueError, match="requires y"):
        KBinsDiscretizer(strategy=strategy).fit(X)
    with pytest.raises(ValueError, match="Unknown label type"):
        KBinsDiscretizer(strategy=strategy).fit(X, X[:, 0])


@pytest.mark.parametrize("strategy", ["mdl", "chimerge"])
def test_classes_without_a_known_value_do_not_count(strategy):
    given = X.copy()
    given[Y == 1, 0] = np.nan
    model = KBinsDiscretizer(strategy=strategy, missing="nan")
    alone = model.fit(X[Y != 1], Y[Y != 1]).bin_edges_[0]
    assert np.array_equal(model.fit(given, Y).bin_edges_[0], alone)


def test_given_edges():
    model = KBinsDiscretizer(edges=[-np.inf, 18, 30, np.inf], encode="ordinal").fit([[3.0], [20.0]])
    assert model.transform([[17.9], [18.0], [29.0], [30.0], [99.0]]).ravel().tolist() == [0, 1, 1, 2, 2]
    assert model.inverse_transform([[0], [1], [2]]).ravel().tolist() == [18, 24, 30]
    own = KBinsDiscretizer(edges=[[0, 1, 2], [0, 5]]).fit([[0.5, 1.0]])
    assert own.n_bins_.tolist() == [2, 1]
    with pytest.raises(ValueError, match="'edges' must be an array for each of the 3 columns; got 2"):
        KBinsDiscretizer(edges=[[0, 1], [0, 1]]).fit(X)
    with pytest.raises(ValueError, match=r"two rising numbers for each column; got \[2, 1\] for column 0"):
        KBinsDiscretizer(edges=[2, 1]).fit(X)


def test_missing_values():
    given = X.copy()
    given[::7, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        KBinsDiscretizer().fit(given)
    own = KBinsDiscretizer(missing="bin", encode="ordinal").fit(given)
    known = ~np.isnan(given[:, 1])
    assert (own.transform(given)[~known, 1] == own.n_bins_[1]).all()
    alone = KBinsDiscretizer(encode="ordinal").fit(given[known])
    np.testing.assert_allclose(own.bin_edges_[1], alone.bin_edges_[1])
    back = own.inverse_transform(own.transform(given))
    assert np.array_equal(np.isnan(back[:, 1]), ~known)
    kept = KBinsDiscretizer(missing="nan", encode="ordinal").fit(given).transform(given)
    assert np.array_equal(np.isnan(kept[:, 1]), ~known)
    columns = KBinsDiscretizer(3, missing="bin").fit(given)
    assert [name for name in columns.get_feature_names_out() if "missing" in name] == [
        "x0_missing",
        "x1_missing",
        "x2_missing",
    ]
    assert (columns.transform(given).toarray()[:, 7] == ~known).all()
    zeros = KBinsDiscretizer(3, missing="nan").fit(given)
    assert (zeros.transform(given).toarray().sum(axis=1) == 3 - ~known).all()
    assert np.isnan(zeros.inverse_transform(zeros.transform(given))[~known, 1]).all()


def test_columns_without_anything_to_cut():
    given = np.column_stack([np.full(8, 3.0), np.full(8, np.nan), np.arange(8.0)])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = KBinsDiscretizer(2, missing="bin", encode="ordinal").fit(given)
    assert [str(w.message) for w in caught] == [
        "Feature 0 is constant and will be replaced with 0.",
        "Feature 1 is missing in all rows and will be replaced with 0.",
    ]
    assert model.transform(given)[:, 1].tolist() == [1] * 8
    assert model.inverse_transform(model.transform(given))[0].tolist()[0] == 3.0


def test_intervals_and_their_names():
    frame = pd.DataFrame({"age": [18.0, 22.0, 31.0, 58.0, np.nan]})
    model = KBinsDiscretizer(2, encode="interval", missing="bin").fit(frame)
    found = model.transform(frame)
    assert found.ravel().tolist() == ["< 26.5", "< 26.5", "≥ 26.5", "≥ 26.5", "missing"]
    assert np.array_equal(model.inverse_transform(found)[:4, 0], [22.25, 22.25, 42.25, 42.25])
    named = KBinsDiscretizer(3, bin_names="interval", encode="onehot-dense").fit(frame.dropna())
    assert named.get_feature_names_out().tolist() == ["age_< 22", "age_[22, 31)", "age_≥ 31"]
    assert (
        named.set_output(transform="pandas").transform(frame.dropna()).columns.tolist()[1] == "age_[22, 31)"
    )
    with pytest.raises(ValueError, match="X has 'old' in column 0; the intervals are"):
        model.inverse_transform([["old"]])


def test_table_of_bins():
    model = KBinsDiscretizer(3, strategy="uniform", encode="ordinal").fit(X)
    table = model.bin_table(X, Y > 0)
    assert sum(table["rows"]) == 900
    assert pd.DataFrame(table).groupby("feature")["share"].sum().round(12).tolist() == [1, 1, 1]
    codes = model.transform(X)[:, 0]
    assert table["class True"][0] == ((codes == 0) & (Y > 0)).sum()
    assert len(str(table).splitlines()) == 10
    assert list(model.bin_table()) == ["feature", "bin", "interval"]
    values = np.array(table["iv"]).reshape(3, 3).sum(axis=1)
    assert values[0] > 10 * values[1] > 0  # information values: only the first column tells the classes


def test_frames_pipelines_and_columns():
    frame = pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]})
    model = KBinsDiscretizer(3, encode="ordinal").fit(frame)
    assert np.array_equal(model.transform(frame), KBinsDiscretizer(3, encode="ordinal").fit_transform(X))
    assert model.set_output(transform="polars").transform(frame).columns == ["a", "b", "c"]
    steps = make_pipeline(KBinsDiscretizer(strategy="mdl"), LogisticRegression()).fit(X, Y)
    assert steps.score(X, Y) > 0.8
    chosen = make_column_transformer((KBinsDiscretizer(3, encode="ordinal"), ["a"]), remainder="drop")
    assert chosen.fit_transform(frame).shape == (300, 1)


def test_weighted_quantiles_are_those_of_repeated_rows():
    values, weight = RNG.random(40), RNG.integers(0, 5, size=40).astype(float)
    levels = np.linspace(0, 1, 9)
    repeated = np.repeat(values, weight.astype(int))
    for average, method in ((True, "averaged_inverted_cdf"), (False, "inverted_cdf")):
        expected = np.quantile(repeated, levels, method=method)
        np.testing.assert_allclose(weighted_quantiles(values, weight, levels, average), expected, rtol=1e-12)


def test_parameters_that_do_not_fit():
    with pytest.raises(ValueError, match="max_bins=2 is less than min_bins=3"):
        KBinsDiscretizer(strategy="chimerge", min_bins=3, max_bins=2).fit(X, Y)
    with pytest.raises(ValueError, match="'dtype' must be"):
        KBinsDiscretizer(dtype=np.int32).fit(X)
    with pytest.raises(ValueError, match="Expecting 3, received 2"):
        KBinsDiscretizer(encode="ordinal").fit(X).inverse_transform(X[:, :2] * 0)
    with pytest.raises(ValueError, match=r"X has the bin 9 in column 0; there are 5"):
        KBinsDiscretizer(encode="ordinal").fit(X).inverse_transform(X * 0 + 9)
