"""SPODE, AODE, TAN, KDB and the one-dependence estimator: the formulas, each other, and ugly tables."""

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification

from tercet.naive_bayes.aode import AODE
from tercet.naive_bayes.kdb import KDB
from tercet.naive_bayes.one_dependence_classifier import OneDependenceClassifier
from tercet.naive_bayes.spode import SPODE
from tercet.naive_bayes.tan import TAN, maximum_spanning_tree

ALL = [
    AODE(),
    AODE(min_count=1),
    SPODE(),
    SPODE(parent=0),
    OneDependenceClassifier(parents={1: 0}),
    TAN(),
    KDB(),
]
every = pytest.mark.parametrize("model", ALL, ids=repr)


@pytest.fixture
def table():
    """Strings of three columns, two of which lean on each other within the classes."""
    rng = np.random.default_rng(0)
    a, y = rng.integers(0, 3, 200), rng.integers(0, 3, 200)
    b = np.where(rng.random(200) < 0.8, (a + y) % 3, rng.integers(0, 3, 200))
    c = np.where(rng.random(200) < 0.5, y, rng.integers(0, 2, 200))
    X = np.array([list(map(str, row)) for row in zip(a, b, c)], dtype=object)
    return X, np.array(["x", "y", "z"])[y]


def frequency(X, y, c, **values):
    """How many rows of class c have these values."""
    good = y == c
    for column, value in values.items():
        good = good & (X[:, int(column[1:])] == value)
    return good.sum()


def by_hand(X, y, x, alpha, least, parents=None):
    """AODE straight from its formulas."""
    scores = []
    d = X.shape[1]
    sizes = [len(set(X[:, j])) for j in range(d)]
    classes = np.unique(y)
    for c in classes:
        total = 0.0
        for i in range(d) if parents is None else parents:
            if (X[:, i] == x[i]).sum() < least:
                continue
            both = frequency(X, y, c, **{f"x{i}": x[i]})
            term = (both + alpha) / (len(X) + alpha * len(classes) * sizes[i])
            for j in range(d):
                if j != i:
                    three = frequency(X, y, c, **{f"x{i}": x[i], f"x{j}": x[j]})
                    term *= (three + alpha) / (both + alpha * sizes[j])
            total += term
        scores.append(total)
    return np.array(scores)


@pytest.mark.parametrize("least", [0, 60, 1000])
def test_aode_is_its_formula(table, least):
    X, y = table
    model = AODE(min_count=least, alpha=0.5).fit(X, y)
    for x in X[:20]:
        expected = by_hand(X, y, x, 0.5, least)
        if not expected.any():  # no value came often enough: naive Bayes
            naive = OneDependenceClassifier(alpha=0.5).fit(X, y)
            np.testing.assert_allclose(model.predict_proba([x]), naive.predict_proba([x]), rtol=1e-12)
            continue
        np.testing.assert_allclose(np.exp(model.predict_joint_log_proba([x]))[0], expected, rtol=1e-12)


def test_spode_is_one_term_of_aode(table):
    X, y = table
    model = SPODE(parent=1).fit(X, y)
    for x in X[:20]:
        expected = by_hand(X, y, x, 1.0, 0, parents=[1])
        np.testing.assert_allclose(np.exp(model.predict_joint_log_proba([x]))[0], expected, rtol=1e-12)


def test_the_chosen_parent_is_the_best_in_cross_validation(table):
    X, y = table
    model = SPODE().fit(X, y)
    assert model.parent_scores_[model.parent_] == model.parent_scores_.max()
    # b leans on a, so a or b must be the parent; the columns are not equally good.
    assert model.parent_ in (0, 1)
    assert np.ptp(model.parent_scores_) > 0.05
    given = SPODE(parent=model.parent_).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), given.predict_proba(X))
    assert np.isnan(given.parent_scores_).all()


def test_scores_of_parents_are_accuracies_on_the_rows_that_are_left_out(table):
    X, y = table
    few = np.arange(len(y)) % 5 == 0
    splits = [(np.flatnonzero(~few), np.flatnonzero(few)), (np.flatnonzero(few), np.flatnonzero(~few))]
    first, second = (SPODE(cv=[split]).fit(X, y).parent_scores_ for split in splits)
    both = SPODE(cv=splits).fit(X, y).parent_scores_
    np.testing.assert_allclose(both, np.average([first, second], axis=0, weights=[few.sum(), (~few).sum()]))


def test_one_dependence_without_parents_is_naive_bayes(table):
    X, y = table
    model = OneDependenceClassifier(alpha=2.0).fit(X, y)
    for x, c in itertools.product(X[:5], range(3)):
        k = model.classes_[c]
        n = (y == k).sum()
        expected = (n + 2) / (len(y) + 6)
        for j, value in enumerate(x):
            expected *= (frequency(X, y, k, **{f"x{j}": value}) + 2) / (n + 2 * model.n_values_[j])
        assert np.exp(model.predict_joint_log_proba([x]))[0, c] == pytest.approx(expected)


def test_tan_is_one_dependence_with_its_parents(table):
    X, y = table
    tan = TAN().fit(X, y)
    given = OneDependenceClassifier(parents=tan.parents_).fit(X, y)
    np.testing.assert_allclose(tan.predict_proba(X), given.predict_proba(X), rtol=1e-12)
    assert [0, 1] in tan.edges_.tolist()
    assert (tan.parents_ == -1).sum() == 1
    assert tan.edges_.shape == (2, 2)


def test_conditional_mutual_information_by_its_definition(table):
    X, y = table
    found = TAN().fit(X, y).conditional_mutual_information_
    n = len(y)
    for i, j in itertools.permutations(range(3), 2):
        expected = 0.0
        for c in np.unique(y):
            for a, b in itertools.product(np.unique(X[:, i]), np.unique(X[:, j])):
                abc = frequency(X, y, c, **{f"x{i}": a, f"x{j}": b}) / n
                if abc:
                    pa = frequency(X, y, c, **{f"x{i}": a}) / n
                    pb = frequency(X, y, c, **{f"x{j}": b}) / n
                    expected += abc * np.log2(abc * ((y == c).sum() / n) / (pa * pb))
        assert found[i, j] == pytest.approx(expected)
    assert (found.diagonal() == 0).all()


def test_the_root_turns_the_tree_but_leaves_its_edges(table):
    X, y = table
    trees = [TAN(root=r).fit(X, y) for r in range(3)]
    assert len({frozenset(map(frozenset, t.edges_.tolist())) for t in trees}) == 1
    assert [int(np.flatnonzero(t.parents_ == -1)[0]) for t in trees] == [0, 1, 2]


def test_spanning_tree_is_the_heaviest():
    rng = np.random.default_rng(3)
    for _ in range(20):
        W = rng.random((5, 5))
        W = W + W.T
        edges = maximum_spanning_tree(W, root=int(rng.integers(5)))
        weight = sum(W[i, j] for i, j in edges)
        pairs = list(itertools.combinations(range(5), 2))
        best = max(
            sum(W[i, j] for i, j in chosen)
            for chosen in itertools.combinations(pairs, 4)
            if _connected(chosen)
        )
        assert weight == pytest.approx(best)


def _connected(edges):
    reached, grown = {0}, True
    while grown:
        new = {b for a, b in edges if a in reached} | {a for a, b in edges if b in reached}
        grown = not new <= reached
        reached |= new
    return len(reached) == 5


def test_kdb_lies_between_naive_bayes_and_the_joint_distribution(table):
    X, y = table
    naive = OneDependenceClassifier().fit(X, y)
    np.testing.assert_allclose(KDB(k=0).fit(X, y).predict_proba(X), naive.predict_proba(X), rtol=1e-12)
    one = KDB(k=1).fit(X, y)
    parents = np.array([p[0] if p.size else -1 for p in one.parents_])
    given = OneDependenceClassifier(parents=parents).fit(X, y)
    np.testing.assert_allclose(one.predict_proba(X), given.predict_proba(X), rtol=1e-12)
    # With all parents and no smoothing the product is the frequency of the whole row, class by class.
    full = KDB(k=5, alpha=0.0).fit(X, y)
    joint = np.exp(full.predict_joint_log_proba(X))
    for row, x in zip(joint, X):
        values = {f"x{j}": v for j, v in enumerate(x)}
        expected = [frequency(X, y, c, **values) / len(y) for c in full.classes_]
        np.testing.assert_allclose(row, expected, atol=1e-12)


def test_parents_are_those_that_tell_most(table):
    X, y = table
    model = KDB(k=1).fit(X, y)
    assert (np.diff(model.mutual_information_[model.order_]) <= 1e-12).all()
    for place, i in enumerate(model.order_):
        before = model.order_[:place]
        if place:
            told = model.conditional_mutual_information_[i]
            assert told[model.parents_[i][0]] == told[before].max()


@every
def test_a_weight_is_a_repetition(table, model):
    X, y = table
    weight = np.random.default_rng(1).integers(0, 4, len(y))
    again = np.repeat(np.arange(len(y)), weight)
    one = model.fit(X, y, sample_weight=weight).predict_proba(X)
    other = model.fit(X[again], y[again]).predict_proba(X)
    np.testing.assert_allclose(one, other, rtol=1e-9)


@every
def test_missing_and_unseen_values_are_left_out(table, model):
    X, y = table
    rng = np.random.default_rng(2)
    holes = np.where(rng.random(X.shape) < 0.2, None, X)
    fitted = model.fit(holes, y)
    assert np.isfinite(fitted.predict_proba(holes)).all()
    nothing = fitted.predict_proba([[None, None, None], ["?", "?", "?"]])
    np.testing.assert_allclose(nothing, np.tile(np.exp(fitted.class_log_prior_), (2, 1)))
    gone, strange = fitted.predict_proba([[None, *X[0, 1:]]]), fitted.predict_proba([["?", *X[0, 1:]]])
    np.testing.assert_array_equal(gone, strange)


def test_a_missing_parent_is_summed_out():
    rng = np.random.default_rng(5)
    X = rng.integers(0, 3, (300, 3)).astype(str).astype(object)
    y = rng.integers(0, 2, 300)
    model = KDB(k=2, alpha=0.0).fit(X, y)
    last = int(model.order_[-1])
    first, second = (int(p) for p in model.parents_[last])
    x = np.array([None, None, None], dtype=object)
    x[last], x[first] = "1", "2"
    joint = np.exp(model.predict_joint_log_proba([x]))[0]
    for c in range(2):
        own = X[y == c]
        both = ((own[:, last] == "1") & (own[:, first] == "2")).sum() / (own[:, first] == "2").sum()
        # The first parent stands before or after the second; it leans on it only when it comes later.
        alone = (own[:, first] == "2").mean()
        assert joint[c] == pytest.approx(both * alone * (y == c).mean())
    assert second != first


@every
def test_numbers_are_cut_into_intervals(model):
    X, y = make_classification(600, 6, n_informative=4, n_redundant=2, random_state=0)
    fitted = model.fit(X[:400], y[:400])
    assert (fitted.n_values_ == 5).all()
    assert fitted.score(X[400:], y[400:]) > 0.75
    assert np.isfinite(fitted.predict_proba(X * 1e6)).all()
    counts = np.diff(np.searchsorted(np.sort(X[:400, 0]), [-np.inf, *fitted.cuts_[0], np.inf]))
    assert counts.tolist() == [80] * 5


@every
def test_same_bits_for_any_number_of_threads(model):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 4, (9000, 5)).astype(float), rng.integers(0, 3, 9000)
    one = model.set_params(n_jobs=1).fit(X, y).predict_proba(X)
    assert np.array_equal(one, model.set_params(n_jobs=3).fit(X, y).predict_proba(X))
    model.set_params(n_jobs=None)


@pytest.mark.parametrize("kind", [AODE, OneDependenceClassifier])
def test_batches_add_up(kind, table):
    X, y = table
    frame = pd.DataFrame(X, columns=list("abc")).astype("category")
    whole = kind().fit(frame, y)
    parts = kind()
    for rows in np.array_split(np.arange(len(y)), 4):
        parts.partial_fit(frame.iloc[rows], y[rows], classes=np.unique(y))
    np.testing.assert_allclose(parts.predict_proba(frame), whole.predict_proba(frame), rtol=1e-12)


def test_names_of_columns(table):
    X, y = table
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    assert SPODE(parent="b").fit(frame, y).parent_ == 1
    assert OneDependenceClassifier(parents={"b": "a", 2: 0}).fit(frame, y).parents_.tolist() == [-1, 0, 0]
    assert TAN(root="c").fit(frame, y).parents_[2] == -1
    with pytest.raises(ValueError, match=r"SPODE: parent must name a column.*'q'; the columns are a, b, c"):
        SPODE(parent="q").fit(frame, y)
    with pytest.raises(ValueError, match="TAN: root must name a column, or be a number from 0 to 2; got 7"):
        TAN(root=7).fit(X, y)


@pytest.mark.parametrize(
    ("parents", "message"),
    [
        ({0: 1, 1: 0}, "go round in a circle"),
        ([0, -1, -1], "go round in a circle"),
        ([-1, -1], "must be 3 numbers from -1 to 2"),
        ({0: 9}, "a parent in parents must name a column"),
    ],
)
def test_impossible_parents_are_refused(table, parents, message):
    with pytest.raises(ValueError, match=message):
        OneDependenceClassifier(parents=parents).fit(*table)


@every
def test_ugly_tables(model):
    y = np.array([0, 1, 0, 1])
    constant = np.column_stack([np.ones(4), [1.0, 2, 1, 2], np.full(4, np.nan)])
    assert model.fit(constant, y).predict(constant).tolist() == [0, 1, 0, 1]
    single = [["a"], ["b"], ["a"], ["b"]]
    if type(model) is not OneDependenceClassifier:
        assert model.fit(single, y).predict(single).tolist() == [0, 1, 0, 1]
    zero = type(model)(alpha=0.0).fit(constant, y)
    assert np.isfinite(zero.predict_proba([[2.0, 9.0, 1.0]])).all()


def test_tables_that_do_not_fit_the_memory_are_refused(monkeypatch, table):
    monkeypatch.setenv("TERCET_MEMORY", "1000")
    with pytest.raises(ValueError, match=r"AODE: the tables of 3 classes and 9 values need .* GB"):
        AODE().fit(*table)


def test_priors(table):
    X, y = table
    model = AODE(class_prior=[0.98, 0.01, 0.01]).fit(X, y)
    np.testing.assert_allclose(np.exp(model.class_log_prior_), [0.98, 0.01, 0.01])
    assert (model.predict(X) == "x").mean() > (AODE().fit(X, y).predict(X) == "x").mean()
    with pytest.raises(ValueError, match="class_prior must be 3 probabilities that sum to 1"):
        TAN(class_prior=[0.5, 0.1, 0.1]).fit(X, y)


@every
def test_forged_tables_are_refused(table, model):
    X, y = table
    fitted = model.fit(X, y)
    fitted.n_values_ = fitted.n_values_ + 1
    with pytest.raises(ValueError, match=r"must have the shape|do not fit|cuts"):
        fitted.predict(X)
