"""Decision trees and random forests of a source: histograms of binned rows, whose nodes are kept in pages."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import tercet
from tercet.core import chunks
from tercet.datasets import Source
from tercet.ensemble import ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor
from tercet.ensemble.forest.streamed_forest import poisson_counts
from tercet.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier
from tercet.tree._engine import binned_pages, histogram_growth
from tests.streaming.conftest import table, write_parts

N = 4000


@pytest.fixture(autouse=True)
def small_pages(small_chunks, monkeypatch):
    """Many pages, and many nodes that are too large to be collected."""
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 1 << 16)
    monkeypatch.setattr(binned_pages, "STRIP_ROWS", 1 << 8)
    monkeypatch.setattr(binned_pages, "PAGE_BYTES", 1 << 15)
    monkeypatch.setattr(histogram_growth, "SUBTREE_ROWS", 300)


@pytest.fixture(scope="module")
def rows():
    """Six columns: with missing values, one of few values, one of categories."""
    found = table(N, 6)
    X, rng = found["X"], np.random.default_rng(1)
    X[rng.random(X.shape) < 0.05] = np.nan
    X[:, 1] = np.round(X[:, 1])
    X[:, 5] = rng.integers(0, 9, N)
    found["few"] = np.floor(3 * found["weight"]) - 1.0  # some are 0
    return found


@pytest.fixture(scope="module")
def folder(rows, tmp_path_factory):
    return write_parts(tmp_path_factory.mktemp("trees"), rows, rows["X"])


def source(folder, *columns):
    return Source(folder, columns=[f"f{j}" for j in range(6)] + list(columns))


def assert_same_tree(found, expected):
    """The same tests for the same rows; sums of many rows may be rounded in another order."""
    assert found.node_count == expected.node_count

    def walk(a, b):
        for name in ("feature", "threshold", "missing", "n_node_samples", "n_children"):
            assert getattr(found, name)[a] == getattr(expected, name)[b], name
        np.testing.assert_allclose(found.value[a], expected.value[b], rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(found.impurity[a], expected.impurity[b], rtol=1e-9, atol=1e-13)
        for k in range(found.n_children[a]):
            walk(found.child[a] + k, expected.child[b] + k)

    walk(0, 0)


CASES = [
    (DecisionTreeClassifier(max_bins=255), "two", None),
    (DecisionTreeClassifier(max_bins=40, class_weight="balanced", ccp_alpha=1e-3), "two", "weight"),
    (DecisionTreeClassifier(criterion="entropy", max_bins=60, categorical_features=[5]), "three", None),
    (
        DecisionTreeClassifier(max_bins=60, max_features=2, random_state=0, min_samples_leaf=0.001),
        "three",
        "few",
    ),
    (DecisionTreeRegressor(max_bins=100, min_samples_leaf=4), "number", None),
    (DecisionTreeRegressor(max_bins=100, max_depth=4, min_weight_fraction_leaf=0.01), "number", "weight"),
    (
        DecisionTreeRegressor(max_bins=50, min_impurity_decrease=1e-3, pruning="cost", alpha=2.0),
        "number",
        "few",
    ),
]


@pytest.mark.parametrize("memory", [None, "100kB"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case[0])[:70])
def test_a_tree_is_the_one_of_the_same_bins_in_memory(case, memory, rows, folder, monkeypatch):
    model, target, weight = case
    whole = clone(model).fit(rows["X"], rows[target], None if weight is None else rows[weight])
    if memory is not None:  # fewer histograms and rows at a time, and pages on disk
        monkeypatch.setenv("TERCET_MEMORY", memory)
    columns = [target, *([] if weight is None else [weight])]
    with tercet.engine("stream"):
        grown = clone(model).fit(source(folder, *columns), y=target, sample_weight=weight)
    assert_same_tree(grown.tree_, whole.tree_)
    if memory is None:
        answers = np.asarray(grown.predict(source(folder)))
        np.testing.assert_array_equal(answers, grown.predict(rows["X"]))


def test_a_tree_of_a_source_is_nearly_as_good_as_the_exact_one(folder, rows):
    new = table(N, 6, seed=3)
    X = np.column_stack([new["X"][:, 0], np.round(new["X"][:, 1]), new["X"][:, 2:]])
    for model, target in [
        (DecisionTreeClassifier(min_samples_leaf=30), "two"),
        (DecisionTreeRegressor(min_samples_leaf=30), "number"),
    ]:
        exact = clone(model).fit(rows["X"], rows[target]).score(X, new[target])
        with tercet.engine("stream"):
            binned = clone(model).fit(source(folder, target), y=target)
        assert binned.score(X, new[target]) > exact - 0.02


FORESTS = [
    (RandomForestClassifier(6, random_state=0, min_samples_leaf=5, class_weight="balanced"), "three"),
    (
        RandomForestRegressor(6, random_state=0, max_samples=0.5, max_features=3, min_samples_leaf=5),
        "number",
    ),
]


@pytest.mark.parametrize(("model", "target"), FORESTS, ids=str)
def test_a_forest_of_a_source(model, target, rows, folder, monkeypatch):
    """As good as one in memory; the same trees whatever the pieces, the pages, the memory and the threads."""
    new = table(N, 6, seed=3)
    X = np.column_stack([new["X"][:, 0], np.round(new["X"][:, 1]), new["X"][:, 2:]])
    with tercet.engine("stream"):
        grown = clone(model).fit(source(folder, target, "weight"), y=target, sample_weight="weight")
        monkeypatch.setattr(binned_pages, "PAGE_BYTES", 1 << 17)
        monkeypatch.setattr(chunks, "CHUNK_BYTES", 1 << 17)
        monkeypatch.setenv("TERCET_MEMORY", "100kB")
        pieces = [rows["X"][:700], rows["X"][700:701], rows["X"][701:]]
        other = Source(lambda: iter(pieces))
        again = clone(model).set_params(n_jobs=2)
        again.fit(other, y=rows[target], sample_weight=rows["weight"])
        more = clone(model).set_params(n_estimators=3, warm_start=True)
        more.fit(source(folder, target, "weight"), y=target, sample_weight="weight")
        more.set_params(n_estimators=5)
        more.fit(source(folder, target, "weight"), y=target, sample_weight="weight")
    monkeypatch.delenv("TERCET_MEMORY")
    for one, two in zip(grown.estimators_, again.estimators_, strict=True):
        assert_same_tree(one.tree_, two.tree_)
    for one, two in zip(grown.estimators_, more.estimators_):
        assert_same_tree(two.tree_, one.tree_)
    assert not np.array_equal(grown[0].tree_.threshold, grown[1].tree_.threshold)
    exact = clone(model).fit(rows["X"], rows[target], rows["weight"])
    assert grown.score(X, new[target]) > exact.score(X, new[target]) - 0.02
    np.testing.assert_array_equal(np.asarray(grown.predict(source(folder))), grown.predict(rows["X"]))
    with pytest.raises(ValueError, match="was fitted to a source"):
        _ = grown.estimators_samples_


def test_how_often_rows_are_drawn():
    """Poisson numbers: their mean and their variance are the rate."""
    u = (np.arange(100_000) + 0.5) / 100_000
    for rate in (0.3, 1.0, 7.0, 200.0):
        counts = poisson_counts(u, rate)
        assert abs(counts.mean() / rate - 1) < 1e-3
        assert abs(counts.var() / rate - 1) < 1e-2
    mixed = poisson_counts(np.full(3, 0.9), np.array([0.0, 1.0, 1e4]))
    np.testing.assert_array_equal(mixed, [0.0, 2.0, 10128.0])


def test_what_trees_need_in_memory(rows, folder, monkeypatch):
    given = source(folder, "two")
    for model, message in [
        (DecisionTreeClassifier(max_leaf_nodes=9), "max_leaf_nodes .* Use max_depth"),
        (DecisionTreeClassifier(splitter="random"), "Use splitter='best'"),
        (DecisionTreeClassifier(algorithm="c45"), "Use algorithm='cart'"),
        (DecisionTreeClassifier(pruning="cv"), "Use pruning='cost' or ccp_alpha"),
        (DecisionTreeRegressor(criterion="absolute_error"), "Use criterion='squared_error'"),
        (ExtraTreeClassifier(), "Use DecisionTreeClassifier"),
        (ExtraTreesClassifier(), "Use RandomForestClassifier"),
        (RandomForestClassifier(oob_score=True), "oob_score keeps the votes of every row"),
        (RandomForestClassifier(class_weight="balanced_subsample"), "Use class_weight='balanced'"),
    ]:
        with pytest.raises(TypeError, match=message):
            model.fit(given, y="two")
    with tercet.engine("stream"):
        with pytest.raises(ValueError, match="learns one target from a source; y has 2 columns"):
            DecisionTreeRegressor().fit(source(folder, "number", "count"), y=["number", "count"])
        with pytest.raises(ValueError, match="has 9 categories; of a source at most max_bins=4"):
            DecisionTreeClassifier(max_bins=4, categorical_features=["f5"]).fit(given, y="two")
        with pytest.raises(TypeError, match="sparse rows in memory only"):
            RandomForestRegressor().fit(
                Source(sparse.random_array((N, 6), density=0.9, format="csr")), y=rows["number"]
            )
