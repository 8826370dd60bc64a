"""k-modes: the cost, the starts, missing and unseen values."""

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

from tercet.cluster import KModes


def table(n=40, seed=0):
    """Rows of words in three groups, one word in five at random."""
    rng = np.random.default_rng(seed)
    words = np.array(["a", "b", "c"], dtype=object)
    group = np.arange(n) % 3
    X = np.repeat(words[group][:, None], 5, axis=1)
    noise = rng.random(X.shape) < 0.2
    X[noise] = words[rng.integers(3, size=int(noise.sum()))]
    return X


@pytest.mark.parametrize("init", ["Cao", "Huang", "random"])
def test_the_end_is_a_fixed_point_and_the_cost_never_rises(init):
    X = table()
    model = KModes(3, init=init, random_state=0).fit(X)
    differences = (X[:, None] != model.cluster_centroids_).sum(axis=2)
    np.testing.assert_array_equal(model.labels_, differences.argmin(axis=1))
    assert model.cost_ == differences.min(axis=1).sum()
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    history = model.history_
    for start in set(history.get("start", [0])):
        costs = [
            c for c, s in zip(history["cost"], history.get("start", [0] * len(history["cost"]))) if s == start
        ]
        assert (np.diff(costs) <= 0).all()
    for c in range(3):
        mine = X[model.labels_ == c]
        for j in range(5):
            values, counts = np.unique(mine[:, j].astype(str), return_counts=True)
            assert model.cluster_centroids_[c, j] == values[counts.argmax()]


def test_near_the_best_of_all_modes():
    X = table(9)[:, :2]
    choices = list(itertools.product("abc", repeat=2))
    best = min(
        sum(min((row != np.array(m)).sum() for m in modes) for row in X)
        for modes in itertools.combinations(choices, 2)
    )
    assert KModes(2, init="random", n_init=20, random_state=0).fit(X).cost_ == best


def test_numbers_frames_and_order():
    X = table()
    codes = np.searchsorted(["a", "b", "c"], X.astype(str)) * 10
    words, numbers = KModes(3).fit(X), KModes(3).fit(codes)
    np.testing.assert_array_equal(words.labels_, numbers.labels_)
    assert numbers.cluster_centroids_.dtype == np.float64
    frame = pd.DataFrame(X, columns=list("vwxyz"))
    np.testing.assert_array_equal(KModes(3).fit(frame).predict(frame), words.labels_)
    order = np.random.default_rng(0).permutation(len(X))
    np.testing.assert_array_equal(KModes(3).fit(X[order]).labels_, words.labels_[order])
    twice = KModes(3).fit(np.vstack([X, X[:7]]))
    weighted = KModes(3).fit(X, sample_weight=np.r_[np.full(7, 2.0), np.ones(33)])
    np.testing.assert_array_equal(twice.labels_[:40], weighted.labels_)
    assert twice.cost_ == weighted.cost_


def test_missing_and_unseen_values_match_nothing():
    X = table()
    X[3, 1] = None
    X[4, :] = None
    model = KModes(3).fit(X)
    assert not (model.cluster_centroids_ == None).any()  # noqa: E711
    new = X[:3].copy()
    new[:, 0] = "never seen"
    np.testing.assert_array_equal(model.predict(new), model.labels_[:3])
    assert model.predict([[None] * 5]).tolist() == [0]


def test_given_modes():
    X = table()
    start = [["c"] * 5, ["a"] * 5, ["b"] * 5]
    model = KModes(3, init=start).fit(X)
    np.testing.assert_array_equal(model.cluster_centroids_, np.array(start, dtype=object))
    with pytest.raises(ValueError, match=r"init must have the shape \(3, 5\)"):
        KModes(3, init=start[:2]).fit(X)
    with pytest.raises(ValueError, match=r"init has 'q' in column 4; its values are \['a', 'b', 'c'\]"):
        KModes(3, init=[["a"] * 4 + ["q"]] * 3).fit(X)


def test_bad_input():
    with pytest.raises(ValueError, match="n_clusters=8 needs as many rows"):
        KModes().fit(table(5))
    with pytest.warns(ConvergenceWarning, match="distinct clusters .1. found"):
        model = KModes(3).fit([["x", 1]] * 5)
    assert model.cost_ == 0
    far = KModes(2, init=[["a", "a"], ["b", "b"]]).fit([["a", "b"], ["a", "b"], ["a", "a"], ["b", "a"]])
    assert np.unique(far.labels_).size == 2
