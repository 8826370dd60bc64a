"""LambdaRank: derivatives against a sum over pairs, NDCG against scikit-learn, queries, early stopping."""

import numpy as np
import pytest
import sklearn
from sklearn.metrics import ndcg_score
from sklearn.model_selection import GroupKFold, cross_val_score

from tercet.ensemble import HistGradientBoostingRanker
from tercet.ensemble.boosting.lambda_rank import LambdaRankLoss
from tercet.metrics import dcg, ndcg


def queries(n_queries=30, size=8, seed=0):
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), size)
    X = rng.normal(size=(qid.size, 4))
    y = np.digitize(X[:, 0] - X[:, 1] + 0.3 * rng.normal(size=qid.size), [-0.5, 0.7, 1.8])
    return X, y, qid


def plain_derivatives(y, query, score, k, weighted):
    """Sums over all pairs, from the definition: the change of NDCG is computed by changing places."""
    r, h = np.zeros(y.size), np.zeros(y.size)
    for q in np.unique(query):
        rows = np.flatnonzero(query == q)
        ranking = rows[np.argsort(-score[rows], kind="stable")]
        best = dcg(np.sort(y[rows])[::-1], k=k)
        if best == 0:
            continue
        for a, i in enumerate(ranking):
            for b, j in enumerate(ranking):
                if y[i] <= y[j] or (k is not None and min(a, b) >= k):
                    continue
                swapped = ranking.copy()
                swapped[[a, b]] = swapped[[b, a]]
                change = abs(dcg(y[swapped], k=k) - dcg(y[ranking], k=k)) / best if weighted else 1.0
                rho = 1 / (1 + np.exp(score[i] - score[j]))
                r[[i, j]] += np.array([1, -1]) * rho * change
                h[[i, j]] += rho * (1 - rho) * change
    return r, h


@pytest.mark.parametrize(("k", "weighted"), [(None, True), (3, True), (3, False)])
def test_lambdas_are_the_sums_over_pairs(k, weighted):
    _, y, query = queries(4, 6)
    y[query == 2] = 0  # nothing to learn from
    score = np.random.default_rng(1).normal(size=y.size)
    loss = LambdaRankLoss(k, "exponential", weighted)
    target = np.column_stack([y, query]).astype(float)
    r, h = plain_derivatives(y, query, score, k, weighted)
    np.testing.assert_allclose(loss.negative_gradient(target, score[:, None])[:, 0], r, atol=1e-12)
    np.testing.assert_allclose(loss.curvature(target, score[:, None], r, 0), h, atol=1e-12)


def test_ndcg_is_scikit_learns():
    _, y, query = queries(6, 7)
    y[::7] = 3  # something relevant in each: scikit-learn gives 0 where nothing is
    score = np.random.default_rng(1).normal(size=y.size).round(1)  # with ties
    for k in (None, 3):
        expected = ndcg_score(y.reshape(6, 7), score.reshape(6, 7), k=k)
        assert ndcg(y, score, query, k=k, gain="linear") == pytest.approx(expected)
        inside = LambdaRankLoss(k, "linear", True).losses(np.column_stack([y, query]) * 1.0, score[:, None])
        assert -inside.mean() == pytest.approx(expected)


@pytest.mark.parametrize("loss", ["lambdarank", "pairwise"])
def test_learns_to_rank(loss):
    X, y, qid = queries()
    model = HistGradientBoostingRanker(loss, k=4, max_iter=10, min_samples_leaf=5).fit(X, y, qid=qid)
    assert model.train_score_[-1] > 0.9 > model.train_score_[0]
    assert model.score(X, y, qid) == pytest.approx(model.train_score_[-1])
    X_new, y_new, qid_new = queries(seed=1)
    assert model.score(X_new, y_new, qid=qid_new) > 0.8


def test_rows_of_a_query_may_stand_anywhere():
    X, y, qid = queries(10, 6)
    options = {"max_iter": 3, "min_samples_leaf": 5}
    by_id = HistGradientBoostingRanker(**options).fit(X, y, qid)
    by_size = HistGradientBoostingRanker(**options, n_jobs=2).fit(X, y, group=[6] * 10)
    np.testing.assert_array_equal(by_id.predict(X), by_size.predict(X))
    order = np.random.default_rng(0).permutation(len(y))
    mixed = HistGradientBoostingRanker(**options).fit(X[order], y[order], qid=qid[order].astype(str))
    assert mixed.score(X, y, qid) == pytest.approx(by_id.score(X, y, qid), abs=0.05)
    assert mixed.score(X[order], y[order], qid[order]) == pytest.approx(mixed.score(X, y, qid))


def test_early_stopping_by_ndcg():
    X, y, qid = queries(40)
    noise = np.random.default_rng(0).permutation(y)
    options = {"max_iter": 50, "min_samples_leaf": 5, "n_iter_no_change": 3, "random_state": 0}
    held = HistGradientBoostingRanker(early_stopping=True, validation_fraction=8, **options).fit(
        X, noise, qid
    )
    assert held.n_iter_ < 50
    assert len(held.validation_score_) == held.n_iter_ + 1
    X_val, y_val, qid_val = queries(seed=3)
    given = HistGradientBoostingRanker(**options).fit(
        X, noise, qid, X_val=X_val, y_val=y_val, qid_val=qid_val
    )
    assert given.do_early_stopping_
    assert given.best_score_ == given.validation_score_[1:].max() > given.validation_score_[-1]
    assert given.best_score_ == pytest.approx(given.score(X_val, y_val, qid_val))


def test_without_queries_all_rows_are_one():
    X, y, _ = queries(4)
    options = {"max_iter": 2, "min_samples_leaf": 5}
    alone = HistGradientBoostingRanker(**options).fit(X, y)
    one = HistGradientBoostingRanker(**options).fit(X, y, qid=np.zeros(len(y)))
    np.testing.assert_array_equal(alone.predict(X), one.predict(X))
    assert alone.score(X, y) == one.score(X, y, group=[len(y)])
    for said in (HistGradientBoostingRanker.__doc__, HistGradientBoostingRanker.fit.__doc__):
        assert "all rows are" in said.replace("\n", " ")


def test_queries_are_routed_in_cross_validation():
    X, y, qid = queries(12, 6)
    model = HistGradientBoostingRanker(max_iter=2, min_samples_leaf=5)
    with sklearn.config_context(enable_metadata_routing=True):
        model.set_fit_request(qid=True).set_score_request(qid=True)
        found = cross_val_score(
            model, X, y, cv=GroupKFold(3), params={"qid": qid, "groups": qid}, error_score="raise"
        )
    parts = list(GroupKFold(3).split(X, y, qid))
    again = [model.fit(X[a], y[a], qid=qid[a]).score(X[b], y[b], qid=qid[b]) for a, b in parts]
    np.testing.assert_allclose(found, again)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"qid": [0, 1]}, r"qid must be the query of each of 6 rows, of shape \(6,\); got the shape \(2,\)"),
        (
            {"group": [3, 2]},
            "group must be the numbers of rows of consecutive queries, of sum 6; got .* of sum 5",
        ),
        ({"qid": [0] * 6, "group": [6]}, "give one of them"),
        ({"y": [-1, 0, 1, 0, 1, 2]}, "y must be relevances from 0 to 100; got numbers from -1 to 2"),
        ({"early_stopping": True}, "holds out 1 of 1 queries"),
    ],
)
def test_bad_queries(given, message):
    model = HistGradientBoostingRanker(early_stopping=given.pop("early_stopping", "auto"))
    with pytest.raises(ValueError, match=message):
        model.fit(np.arange(6.0)[:, None], given.pop("y", [0, 1, 2, 0, 1, 2]), **given)


def test_more_categories_than_bins():
    X, y, qid = queries()
    X[:, 2] = np.arange(len(X)) % 40
    model = HistGradientBoostingRanker(categorical_features=[2], max_bins=8, max_iter=5).fit(X, y, qid=qid)
    assert np.isfinite(model.predict(X)).all()
