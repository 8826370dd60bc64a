"""Self-training, co-training and tri-training."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.semi_supervised import SelfTrainingClassifier as Peer

from tercet.core.callbacks import EarlyStopping, Recorder
from tercet.linear_model import LogisticRegression, Perceptron, RidgeClassifier
from tercet.naive_bayes import GaussianNB, MultinomialNB
from tercet.semi_supervised import (
    ActiveLearner,
    CoTrainingClassifier,
    SelfTrainingClassifier,
    TriTrainingClassifier,
)
from tercet.semi_supervised.tri_training_classifier import pair_error


def rows(n=200, classes=2, seed=0, labelled=4):
    """Rows of two independent views, each with what tells the classes apart."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(classes, size=n)
    X = rng.normal(size=(n, 6)) + 2.2 * np.eye(3)[truth % 3][:, [0, 1, 2, 0, 1, 2]]
    y = np.full(n, -1)
    for c in range(classes):
        y[np.flatnonzero(truth == c)[:labelled]] = c
    return X, y, truth


@pytest.mark.parametrize(
    "options", [{}, {"criterion": "k_best", "k_best": 7, "max_iter": None}, {"threshold": 0.95}]
)
def test_self_training_as_scikit_learn(options):
    X, y, _ = rows(classes=3)
    base = GaussianNB()
    ours, theirs = (kind(base, **options).fit(X, y) for kind in (SelfTrainingClassifier, Peer))
    np.testing.assert_array_equal(ours.transduction_, theirs.transduction_)
    np.testing.assert_array_equal(ours.labeled_iter_, theirs.labeled_iter_)
    assert ours.n_iter_ == theirs.n_iter_
    assert ours.termination_condition_ == theirs.termination_condition_
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X))


class Silent(ClassifierMixin, BaseEstimator):
    """A classifier that says nothing but the class, and takes no weights."""

    def fit(self, X, y):
        self.model_ = GaussianNB().fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X):
        return self.model_.predict(X)


def test_self_training_weights_and_errors():
    X, y, _ = rows()
    weight = np.random.default_rng(0).integers(1, 3, size=len(y)).astype(float)
    model = SelfTrainingClassifier(GaussianNB()).fit(X, y, sample_weight=weight)
    last = GaussianNB().fit(
        X[model.labeled_iter_ >= 0],
        model.transduction_[model.labeled_iter_ >= 0],
        sample_weight=weight[model.labeled_iter_ >= 0],
    )
    np.testing.assert_allclose(model.predict_proba(X), last.predict_proba(X))
    with pytest.raises(AttributeError, match=r"Perceptron gives no confidences; it must have predict_proba"):
        SelfTrainingClassifier(Perceptron()).fit(X, y)
    with pytest.raises(ValueError, match=r"'estimator' must be a classifier with fit; got None"):
        SelfTrainingClassifier().fit(X, y)
    with pytest.raises(ValueError, match=r"sample_weight was given, but Silent.fit takes none"):
        SelfTrainingClassifier(Silent()).fit(X, y, sample_weight=weight)


class Memory(GaussianNB):
    """Naive Bayes that remembers the rows of every fit."""

    seen: list = []

    def fit(self, X, y, sample_weight=None):
        self.seen.append((np.asarray(X), np.asarray(y)))
        return super().fit(X, y, sample_weight)


def test_co_training_step_by_step():
    """Fig 13.6 in plain form: what a view labels is learned by the other."""
    X, y, _ = rows(n=60)
    Memory.seen.clear()
    model = CoTrainingClassifier(
        Memory(), pool_size=10, n_positive=2, n_negative=1, max_iter=3, random_state=0
    ).fit(X, y)
    views = [X[:, :3], X[:, 3:]]
    assert [view.tolist() for view in model.views_] == [[0, 1, 2], [3, 4, 5]]
    pool_order = np.random.default_rng(0).permutation(np.flatnonzero(y < 0))
    pool, waiting = list(pool_order[:10]), list(pool_order[10:])
    labels = [y.copy(), y.copy()]
    fits = iter(Memory.seen)
    for _ in range(3):
        found = [{}, {}]
        for j in range(2):
            known = np.flatnonzero(labels[j] >= 0)
            seen, said = next(fits)
            np.testing.assert_array_equal(seen, views[j][known])
            np.testing.assert_array_equal(said, labels[j][known])
            proba = GaussianNB().fit(seen, said).predict_proba(views[j][pool])
            for c, wanted in ((1, 2), (0, 1)):
                rest = [k for k in range(len(pool)) if pool[k] not in found[j]]
                for k in sorted(rest, key=lambda k: -proba[k, c])[:wanted]:
                    found[j][pool[k]] = c
            pool = [i for i in pool if i not in found[j]]
        for j in range(2):
            for i, c in found[j].items():
                labels[1 - j][i] = c
        refill = len(found[0]) + len(found[1])
        assert refill == 6  # 2p + 2n
        pool, waiting = pool + waiting[:refill], waiting[refill:]
    np.testing.assert_array_equal(model.transduction_, np.maximum(*labels))
    assert (model.labeled_iter_ > 0).sum() == 18


@pytest.mark.parametrize("classes", [2, 3])
def test_co_training_learns_from_the_other_view(classes):
    X, y, truth = rows(n=400, classes=classes, labelled=2)
    model = CoTrainingClassifier(GaussianNB(), max_iter=60, n_negative=1, random_state=0).fit(X, y)
    alone = GaussianNB().fit(X[y >= 0], y[y >= 0])
    assert (model.predict(X) == truth).mean() > (alone.predict(X) == truth).mean()
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    found = model.labeled_iter_ > 0
    assert (model.transduction_[found] == truth[found]).mean() > 0.85


def test_co_training_views():
    import pandas as pd

    X, y, _ = rows()
    options = {"max_iter": 5, "random_state": 0}
    split = CoTrainingClassifier(GaussianNB(), **options).fit(X, y)
    given = CoTrainingClassifier(GaussianNB(), views=([0, 1, 2], [3, 4, 5]), **options).fit(X, y)
    np.testing.assert_array_equal(split.predict_proba(X), given.predict_proba(X))
    two = CoTrainingClassifier(GaussianNB(), **options).fit(X[:, :3], y, X2=X[:, 3:])
    np.testing.assert_array_equal(two.predict_proba(X[:, :3], X[:, 3:]), given.predict_proba(X))
    frame = pd.DataFrame(X, columns=list("abcdef"))
    named = CoTrainingClassifier(GaussianNB(), views=(list("abc"), list("def")), **options).fit(frame, y)
    np.testing.assert_array_equal(named.predict_proba(frame), given.predict_proba(X))
    other = CoTrainingClassifier(GaussianNB(), LogisticRegression(), **options).fit(X, y)
    assert [type(one).__name__ for one in other.estimators_] == ["GaussianNB", "LogisticRegression"]
    scores = CoTrainingClassifier(RidgeClassifier(), **options).fit(X, y)  # no probabilities, but scores
    assert scores.predict(X).shape == y.shape
    counts = sparse.csr_array(np.floor(np.abs(X)))
    assert CoTrainingClassifier(MultinomialNB(), **options).fit(counts, y).predict(counts).shape == y.shape
    with pytest.raises(ValueError, match=r"came to views of \[0, 6\] columns"):
        CoTrainingClassifier(GaussianNB(), views=([], range(6))).fit(X, y)
    with pytest.raises(
        ValueError, match=r"views must be two sets of columns, neither of them empty; X, with 1 feat"
    ):
        CoTrainingClassifier(GaussianNB()).fit(X[:, :1], y)
    with pytest.raises(ValueError, match=r"column numbers from 0 to 5; got \[4, 6\]"):
        CoTrainingClassifier(GaussianNB(), views=([0], [4, 6])).fit(X, y)
    with pytest.raises(ValueError, match=r"X2 must have as many rows as X, 200; it has 3"):
        CoTrainingClassifier(GaussianNB()).fit(X, y, X2=X[:3])
    with pytest.raises(ValueError, match=r"X2 was given in fit, and must be given here"):
        two.predict(X[:, :3])


def test_who_has_no_confidences():
    X, y, _ = rows()
    with pytest.raises(
        AttributeError, match=r"Silent gives no confidences; it must have predict_proba or decision"
    ):
        CoTrainingClassifier(Silent()).fit(X, y)
    assert TriTrainingClassifier(Silent(), random_state=0).fit(X, y).predict(X).shape == y.shape
    with pytest.raises(AttributeError, match=r"Silent gives no confidences"):
        ActiveLearner(Silent(), oracle=np.maximum(y, 0)).fit(X, y)


@pytest.mark.parametrize("classes", [2, 3])
def test_tri_training(classes):
    X, y, truth = rows(n=400, classes=classes, labelled=5)
    alone = GaussianNB().fit(X[y >= 0], y[y >= 0])
    model = TriTrainingClassifier(GaussianNB(), random_state=0).fit(X, y)
    assert len(model.estimators_) == 3
    assert (model.predict(X) == truth).mean() >= (alone.predict(X) == truth).mean() - 0.02
    votes = np.array([one.predict(X) for one in model.estimators_])
    shares = np.stack([(votes == c).mean(axis=0) for c in model.classes_], axis=1)
    np.testing.assert_allclose(model.predict_proba(X), shares)
    np.testing.assert_array_equal(model.transduction_[y < 0], model.predict(X[y < 0]))
    again = TriTrainingClassifier(GaussianNB(), random_state=0).fit(X, y)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert model.history_["taught"][-1] == 0
    # the bound on the error falls: no classifier is taught by two that err more often
    assert (np.diff(model.history_["error"]) <= 1e-12).all()


def test_errors_where_two_agree():
    assert pair_error(np.array([0, 1]), np.array([1, 0]), np.array([0, 1])) == 0.5
    assert pair_error(np.array([0, 1]), np.array([0, 0]), np.array([0, 1])) == 0.0


def test_callbacks_follow_the_passes():
    X, y, truth = rows()
    recorder = Recorder()
    model = SelfTrainingClassifier(GaussianNB(), threshold=0.99).set_callbacks(recorder).fit(X, y)
    assert len(recorder.frames) == model.n_iter_
    labelled = [(frame.attributes["transduction_"] >= 0).sum() for frame in recorder.frames]
    assert labelled == sorted(labelled)
    stopped = SelfTrainingClassifier(GaussianNB(), threshold=0.99).set_callbacks(
        EarlyStopping(validation_data=(X, truth), patience=1)
    )
    assert len(stopped.fit(X, y).validation_scores_) >= 1
    # rows without a label are not held out
    y = np.where(np.arange(len(y)) % 4 == 0, truth, -1)
    held = (
        SelfTrainingClassifier(GaussianNB()).set_callbacks(EarlyStopping(validation_fraction=0.2)).fit(X, y)
    )
    assert np.isfinite(held.validation_scores_).all()
    assert len(held.transduction_) == len(y) - 10
