"""The choice of k: the same scores as a fit for every k and fold, from one search for each fold."""

import numpy as np
import pytest
from sklearn.model_selection import KFold, LeaveOneOut, StratifiedKFold, cross_val_score

from tercet.neighbors import (
    KNeighborsClassifier,
    KNeighborsClassifierCV,
    KNeighborsRegressor,
    KNeighborsRegressorCV,
)
from tercet.neighbors._engine.search import NeighborIndex

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 2))
y = (X[:, 0] + 0.6 * RNG.normal(size=90) > 0).astype(int) + (X[:, 1] > 1)
t = np.sin(2 * X[:, 0]) + 0.2 * RNG.normal(size=90)
KS = [1, 2, 3, 6, 10, 25]


@pytest.mark.parametrize("weights", ["uniform", "distance", lambda d: np.exp(-d)])
@pytest.mark.parametrize("scoring", [None, "neg_log_loss", "f1_macro"])
def test_scores_are_those_of_fits_one_by_one(weights, scoring):
    cv = StratifiedKFold(4, shuffle=True, random_state=0)
    model = KNeighborsClassifierCV(KS, cv=cv, scoring=scoring, weights=weights).fit(X, y)
    for k, scores in zip(KS, model.scores_):
        one = KNeighborsClassifier(k, weights=weights)
        np.testing.assert_allclose(scores, cross_val_score(one, X, y, cv=cv, scoring=scoring), rtol=1e-10)
    means = model.scores_.mean(axis=1)
    assert model.best_k_ == KS[int(means.argmax())]
    assert model.best_score_ == means.max()
    best = KNeighborsClassifier(model.best_k_, weights=weights).fit(X, y)
    assert np.array_equal(model.predict_proba(X), best.predict_proba(X))
    assert np.array_equal(model.kneighbors(X)[1], best.kneighbors(X)[1])


def test_regression():
    cv = KFold(3)
    model = KNeighborsRegressorCV(KS, cv=cv, scoring="neg_mean_squared_error").fit(X, t)
    for k, scores in zip(KS, model.scores_):
        one = cross_val_score(KNeighborsRegressor(k), X, t, cv=cv, scoring="neg_mean_squared_error")
        np.testing.assert_allclose(scores, one, rtol=1e-10)
    assert np.array_equal(model.predict(X), KNeighborsRegressor(model.best_k_).fit(X, t).predict(X))


def test_leave_one_out_is_one_search(monkeypatch):
    searches = []
    query = NeighborIndex.query
    monkeypatch.setattr(
        NeighborIndex, "query", lambda self, Q, k, n: searches.append(k) or query(self, Q, k, n)
    )
    for cv in ("loo", LeaveOneOut()):
        searches.clear()
        model = KNeighborsClassifierCV(KS, cv=cv).fit(X, y)
        assert searches == [26]
        assert model.scores_.shape == (6, 1)
    for k, score in zip(KS, model.scores_[:, 0]):
        expected = cross_val_score(KNeighborsClassifier(k), X, y, cv=LeaveOneOut()).mean()
        assert score == pytest.approx(expected)


def test_a_fold_is_searched_once(monkeypatch):
    searches = []
    query = NeighborIndex.query
    monkeypatch.setattr(
        NeighborIndex, "query", lambda self, Q, k, n: searches.append(k) or query(self, Q, k, n)
    )
    KNeighborsRegressorCV(KS, cv=4).fit(X, t)
    assert searches == [25] * 4


def test_weights_count_in_the_folds_and_in_the_scores():
    w = RNG.integers(0, 3, 90)
    ids = np.repeat(np.arange(90), w)
    fold = np.arange(90) % 3
    splits = [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(3)]
    again = [(np.flatnonzero(fold[ids] != f), np.flatnonzero(fold[ids] == f)) for f in range(3)]
    for kind, target in ((KNeighborsClassifierCV, y), (KNeighborsRegressorCV, t)):
        weighted = kind(KS, cv=splits).fit(X, target, sample_weight=w)
        repeated = kind(KS, cv=again).fit(X[ids], target[ids])
        np.testing.assert_allclose(weighted.scores_, repeated.scores_, rtol=1e-10)
        np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-10)


def test_several_outputs_and_precomputed_distances():
    Y = np.column_stack([y, y[::-1]])
    assert KNeighborsClassifierCV(KS, scoring=None).fit(X, Y).predict(X).shape == (90, 2)
    D = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
    given = KNeighborsClassifierCV(KS, metric="precomputed").fit(D, y)
    np.testing.assert_allclose(given.scores_, KNeighborsClassifierCV(KS).fit(X, y).scores_)


def test_default_numbers_stop_at_the_rows():
    assert KNeighborsRegressorCV(cv=2).fit(X[:8], t[:8]).ks_.tolist() == [1, 2, 3, 4]
    assert KNeighborsRegressorCV().fit(X, t).ks_.max() == 41


def test_bad_numbers_are_named():
    with pytest.raises(ValueError, match=r"n_neighbors = 80, and a fold learns from n_samples_fit = 72"):
        KNeighborsClassifierCV([1, 80]).fit(X, y)
    for ks in ([], [0], [1.5]):
        with pytest.raises(ValueError, match="ks must be positive integers"):
            KNeighborsClassifierCV(ks).fit(X, y)
