"""EasyEnsemble and BalanceCascade: which rows members get, and what their answers add up to."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tercet.core.columns import Columns
from tercet.ensemble import AdaBoostClassifier, BalanceCascadeClassifier, EasyEnsembleClassifier
from tercet.naive_bayes import GaussianNB
from tercet.svm import LinearSVC

BOTH = [EasyEnsembleClassifier, BalanceCascadeClassifier]


def rows(sizes=(600, 15), seed=0, apart=1.5):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat(np.array(["many", "some", "few"])[: len(sizes)], sizes))
    centre = {"many": 0.0, "some": apart, "few": 2 * apart}
    return rng.normal(size=(len(y), 3)) + np.array([centre[label] for label in y])[:, None], y


def small(kind, **options):
    return kind(5, AdaBoostClassifier(n_estimators=8), random_state=0, **options)


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("sizes", [(600, 15), (300, 60, 12)])
def test_members_get_classes_of_equal_size(kind, sizes):
    X, y = rows(sizes)
    model = small(kind).fit(X, y)
    assert len(model) == 5
    for drawn in model.estimators_samples_:
        assert np.unique(y[drawn], return_counts=True)[1].tolist() == [sizes[-1]] * len(sizes)
        assert len(np.unique(drawn)) == len(drawn)
    smallest = np.flatnonzero(y == np.array(["many", "some", "few"])[len(sizes) - 1])
    assert set(smallest) <= set.intersection(*(set(drawn) for drawn in model.estimators_samples_))
    mean = np.mean([member.predict_proba(X) for member in model.estimators_], axis=0)
    np.testing.assert_allclose(model.predict_proba(X), mean, rtol=1e-12)
    assert balanced_accuracy_score(y, model.predict(X)) > 0.8


@pytest.mark.parametrize("kind", BOTH)
def test_rare_rows_are_found_that_one_model_misses(kind):
    X, y = rows((2000, 20), apart=1.0)
    fresh, truth = rows((2000, 200), seed=1, apart=1.0)
    plain = AdaBoostClassifier(n_estimators=8).fit(X, y)
    found = small(kind).fit(X, y)
    scores = [balanced_accuracy_score(truth, model.predict(fresh)) for model in (plain, found)]
    assert scores[1] > scores[0] + 0.1


@pytest.mark.parametrize("kind", BOTH)
def test_seeds_decide_and_jobs_do_not(kind):
    X, y = rows()
    one, two, other = (
        kind(4, AdaBoostClassifier(n_estimators=5), random_state=seed, n_jobs=jobs).fit(X, y)
        for seed, jobs in ((3, 1), (3, 2), (4, 1))
    )
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))
    assert not np.array_equal(one.predict_proba(X), other.predict_proba(X))


def test_the_papers_sum_of_weak_learners():
    X, y = rows()
    model = EasyEnsembleClassifier(3, AdaBoostClassifier(n_estimators=6, algorithm="m1"), random_state=0)
    model.fit(X, y)
    total = sum(
        alpha * np.where(h.predict(X) == model.classes_[1], 1.0, -1.0)
        for member in model
        for alpha, h in zip(member.estimator_weights_, member.estimators_)
    )
    np.testing.assert_allclose(3 * model.decision_function(X), total, atol=1e-9)


def test_strategy_replacement_and_warm_start():
    X, y = rows((300, 60, 12))
    model = EasyEnsembleClassifier(2, GaussianNB(), sampling_strategy={"many": 40}, random_state=0).fit(X, y)
    assert np.unique(y[model.estimators_samples_[0]], return_counts=True)[1].tolist() == [12, 40, 60]
    again = EasyEnsembleClassifier(
        2, GaussianNB(), sampling_strategy={"many": 300}, replacement=True, random_state=0
    )
    assert len(np.unique(again.fit(X, y).estimators_samples_[0])) < 372
    warm = EasyEnsembleClassifier(2, GaussianNB(), warm_start=True, random_state=0).fit(X, y)
    first = warm.estimators_[0]
    warm.set_params(n_estimators=4).fit(X, y)
    assert warm.estimators_[0] is first
    whole = EasyEnsembleClassifier(4, GaussianNB(), random_state=0).fit(X, y)
    np.testing.assert_array_equal(warm.predict_proba(X), whole.predict_proba(X))
    with pytest.raises(ValueError, match=r"n_estimators=1 must be at least len\(estimators_\)=4"):
        warm.set_params(n_estimators=1).fit(X, y)


def test_the_cascade_leaves_the_hardest_rows():
    X, y = rows((1024, 16), apart=1.0)
    model = BalanceCascadeClassifier(4, GaussianNB(), random_state=0).fit(X, y)
    assert model.classes_.tolist() == ["many", "some"]
    # f = (16 / 1024)^(1/3) = 1/4 of the larger class stays each time
    assert model.n_rows_left_.tolist() == [[1024, 16], [256, 16], [64, 16], [16, 16]]
    assert (model.thresholds_[:, 1] == 0).all()
    left = np.flatnonzero(y == "many")
    for member, theta, drawn in zip(model.estimators_, model.thresholds_, model.estimators_samples_):
        assert set(drawn[y[drawn] == "many"]) <= set(left)
        proba = member.predict_proba(X[left])
        margin = proba[:, 0] - proba[:, 1]
        kept = max(round(len(left) / 4), 16)
        assert theta[0] == pytest.approx(np.sort(margin)[kept - 1])
        left = left[np.argsort(margin, kind="stable")[:kept]]


def test_thresholds_shift_the_scores():
    X, y = rows((1024, 16), apart=1.0)
    plain, shifted = (
        BalanceCascadeClassifier(4, AdaBoostClassifier(n_estimators=5), use_thresholds=use, random_state=0)
        for use in (False, True)
    )
    plain.fit(X, y)
    shifted.fit(X, y)
    shift = plain.thresholds_[:, 0].mean() - plain.thresholds_[:, 1].mean()
    np.testing.assert_allclose(shifted.decision_function(X), plain.decision_function(X) + shift, atol=1e-12)
    positive = shifted.decision_function(X) > 0
    np.testing.assert_array_equal(shifted.predict(X), shifted.classes_[positive.astype(int)])
    assert not hasattr(shifted, "predict_proba")
    assert roc_auc_score(y == "some", plain.decision_function(X)) == pytest.approx(
        roc_auc_score(y == "some", shifted.decision_function(X))
    )


@pytest.mark.parametrize("kind", BOTH)
def test_one_to_a_hundred_thousand(kind):
    X = np.r_[np.random.default_rng(0).normal(size=100_000), 5.0, 6.0][:, None]
    y = np.r_[np.zeros(100_000, int), 1, 1]
    model = kind(3, AdaBoostClassifier(n_estimators=2), random_state=0).fit(X, y)
    assert [len(drawn) for drawn in model.estimators_samples_] == [4, 4, 4]
    assert model.predict([[0.0], [6.0]]).tolist() == [0, 1]


@pytest.mark.parametrize("kind", BOTH)
def test_weights_of_drawn_rows(kind):
    X, y = rows((200, 10))
    weight = np.where(np.arange(210) % 2, 1.0, 0.0)
    weight[y == "some"] = 2.0
    model = small(kind).fit(X, y, sample_weight=weight)
    assert all((weight[drawn] > 0).all() for drawn in model.estimators_samples_)
    with pytest.raises(ValueError, match=r"KNeighborsClassifier.* take no sample_weight"):
        kind(2, KNeighborsClassifier(1)).fit(X, y, sample_weight=weight)


@pytest.mark.parametrize("kind", BOTH)
def test_tables_pipelines_and_searches(kind):
    X, y = rows((120, 12))
    frame = pd.DataFrame(X, columns=list("abc"))
    np.testing.assert_array_equal(small(kind).fit(frame, y).predict(frame), small(kind).fit(X, y).predict(X))
    model = kind(2, LinearSVC(), random_state=0).fit(sparse.csr_array(X), y)  # no probabilities: votes
    assert set(np.unique(model.predict_proba(sparse.csr_array(X)))) <= {0.0, 0.5, 1.0}
    pipeline = make_pipeline(StandardScaler(), small(kind))
    assert cross_val_score(pipeline, X, y, cv=3, scoring="balanced_accuracy").mean() > 0.7
    name = kind.__name__.lower()
    search = GridSearchCV(pipeline, {f"{name}__estimator__n_estimators": [1, 4]}, cv=2).fit(X, y)
    assert f"{name}__estimator__n_estimators" in search.best_params_


@pytest.mark.parametrize("kind", BOTH)
def test_a_frame_of_numbers_is_read_once_for_the_trees_of_a_member(kind, monkeypatch):
    X, y = rows((120, 12))
    frame, read, whole = pd.DataFrame(X, columns=list("abc")), [], Columns.of_frame
    monkeypatch.setattr(Columns, "of_frame", lambda given: read.append(given) or whole(given))
    model = small(kind).fit(frame, y)
    assert sum(len(member.estimators_) for member in model.estimators_) > 30
    np.testing.assert_array_equal(model.predict_proba(frame), small(kind).fit(X, y).predict_proba(X))
    assert len(read) <= 4 * 5  # 5 members: their fits, the cascade's scores, and predict_proba


class OnlyLabels(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.repeat(self.classes_[:1], len(X))


def test_refusals():
    X, y = rows()
    with pytest.raises(ValueError, match="'estimator' must be an estimator with fit, or None; got 3"):
        EasyEnsembleClassifier(2, 3).fit(X, y)
    with pytest.raises(ValueError, match=r"wants 700 rows of class 'many'.*from 1 to 600"):
        EasyEnsembleClassifier(2, sampling_strategy={"many": 700}).fit(X, y)

    with pytest.raises(ValueError, match=r"OnlyLabels.* must have decision_function or predict_proba"):
        BalanceCascadeClassifier(2, OnlyLabels()).fit(X, y)


@pytest.mark.parametrize("kind", BOTH)
def test_importances(kind):
    X, y = rows((300, 30))
    model = small(kind).fit(X, y)
    assert model.feature_importances_.shape == (3,)
    np.testing.assert_allclose(model.feature_importances_.sum(), 1.0)
