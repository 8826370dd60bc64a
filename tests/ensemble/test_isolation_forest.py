"""Isolation forests."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import clone
from sklearn import ensemble as peer
from sklearn.metrics import roc_auc_score

from tercet.ensemble import IsolationForest


@pytest.fixture(scope="module")
def data():
    random = np.random.default_rng(0)
    X = np.vstack([random.normal(size=(120, 3)), random.uniform(-6, 6, size=(12, 3))])
    return X, np.repeat([1, -1], [120, 12])


def test_finds_outliers_as_scikit_learn_does(data):
    X, y = data
    ours = IsolationForest(n_estimators=200, random_state=0).fit(X)
    theirs = peer.IsolationForest(n_estimators=200, random_state=0).fit(X)
    assert roc_auc_score(y, ours.score_samples(X)) > roc_auc_score(y, theirs.score_samples(X)) - 0.03
    np.testing.assert_allclose(ours.score_samples(X), theirs.score_samples(X), atol=0.05)


def test_score_is_the_mean_path_length(data):
    X, _ = data
    model = IsolationForest(n_estimators=3, max_samples=64, random_state=1).fit(X)
    from tercet.ensemble.forest.isolation_forest import average_path_length

    mean = np.zeros(len(X))
    for member in model.estimators_:
        leaf = member.tree_.apply(X)
        mean += member.tree_.depth[leaf] + average_path_length(member.tree_.n_node_samples[leaf])
    np.testing.assert_allclose(
        model.score_samples(X), -(2 ** (-mean / 3 / average_path_length(np.array([64]))))
    )
    assert all(len(rows) == 64 == len(set(rows)) for rows in model.estimators_samples_)


def test_contamination_sets_the_threshold(data):
    X, _ = data
    model = IsolationForest(n_estimators=20, contamination=0.1, random_state=0).fit(X)
    assert np.mean(model.predict(X) == -1) == pytest.approx(0.1, abs=0.01)
    assert IsolationForest(n_estimators=5, random_state=0).fit(X).offset_ == -0.5


def test_columns_threads_and_warm_start(data):
    X, _ = data
    one, two = (
        IsolationForest(n_estimators=6, max_features=2, random_state=0, n_jobs=jobs).fit(X) for jobs in (1, 2)
    )
    assert one.score_samples(X).tobytes() == two.score_samples(X).tobytes()
    assert {len(columns) for columns in one.estimators_features_} == {2}
    grown = IsolationForest(n_estimators=3, random_state=0, warm_start=True).fit(X)
    grown.set_params(n_estimators=6).fit(X)
    whole = IsolationForest(n_estimators=6, random_state=0).fit(X)
    np.testing.assert_array_equal(grown.score_samples(X), whole.score_samples(X))


def test_bad_settings(data):
    X, _ = data
    for settings, message in (
        ({"contamination": 0.7}, "contamination"),
        ({"max_features": 5}, "max_features"),
    ):
        with pytest.raises(ValueError, match=message):
            IsolationForest(**settings).fit(X)


@pytest.mark.parametrize("missing", [False, True])
def test_sparse_rows_grow_the_trees_of_dense_ones(missing):
    X = sparse.random(80, 30, density=0.1, format="csr", random_state=0)
    if missing:
        X.data[3] = np.nan
    for part in (1.0, 0.5):
        model = IsolationForest(n_estimators=4, max_features=part, random_state=0)
        expected = clone(model).fit(X.toarray()).score_samples(X.toarray())
        np.testing.assert_array_equal(model.fit(X).score_samples(X), expected)
