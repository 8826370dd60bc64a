"""EarlyStopping and Recorder."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression as Theirs
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tercet import EarlyStopping, Recorder
from tercet.core.estimator import Regressor
from tercet.core.parameters import Count
from tercet.linear_model import Perceptron, Ridge
from tercet.multiclass import OneVsRestClassifier


class Script(Regressor):
    """Predicts a number that follows a script, one entry a pass."""

    def __init__(self, script=(), max_iter: Count = 100):
        self.script = script
        self.max_iter = max_iter

    def _fit(self, X, y, sample_weight):
        self.rows_ = len(X)
        for step in self.steps(self.max_iter):
            self.value_ = float(self.script[min(step.index, len(self.script) - 1)])
            step.report(value_=self.value_)

    def predict(self, X):
        return np.full(len(X), self.value_)


X, Y = np.zeros((40, 1)), np.zeros(40)


def test_rule_of_the_text():
    """Strictly better resets the count; after `patience` passes without it the best is restored."""
    script = [5, 4, 4, 3, 3, 3, 3, 1]
    stop = EarlyStopping("neg_mean_absolute_error", patience=3)
    model = Script(script).set_callbacks(stop).fit(X, Y)
    assert model.n_iter_ == 7
    assert model.best_iter_ == 4
    assert model.value_ == 3.0
    assert model.validation_scores_ == [-5, -4, -4, -3, -3, -3, -3]


def test_evaluated_every_so_many_passes():
    stop = EarlyStopping("neg_mean_absolute_error", patience=2, every=3)
    model = Script([9, 9, 5, 1, 1, 6, 1, 1, 7, 0]).set_callbacks(stop).fit(X, Y)
    assert model.validation_scores_ == [-5, -6, -7]
    assert model.value_ == 5.0


def test_held_out_rows_are_not_trained_on():
    model = Script([1], max_iter=2).set_callbacks(EarlyStopping(validation_fraction=0.25)).fit(X, Y)
    assert model.rows_ == 30
    given = EarlyStopping(validation_data=(X[:5], Y[:5]))
    assert Script([1], max_iter=2).set_callbacks(given).fit(X, Y).rows_ == 40


@pytest.fixture
def moons():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    return X, np.where(X[:, 0] + 0.7 * rng.normal(size=300) > 0, "yes", "no")


def test_inside_cross_validation_pipeline_and_search(moons):
    stopping = EarlyStopping(patience=2)
    model = Perceptron(max_iter=60, tol=None).set_callbacks(stopping)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        folds = cross_validate(model, *moons, return_estimator=True, cv=3)["estimator"]
        assert all(m.n_iter_ < 60 and len(m.validation_scores_) == m.n_iter_ for m in folds)
        pipe = make_pipeline(StandardScaler(), clone(model)).fit(*moons)
        assert pipe[-1].n_iter_ < 60
        search = GridSearchCV(pipe, {"perceptron__eta0": [0.5, 1.0]}, cv=2, n_jobs=2).fit(*moons)
        assert search.best_estimator_[-1].n_iter_ < 60


def test_same_seed_same_rows(moons):
    fits = [Perceptron(max_iter=60, tol=None).set_callbacks(EarlyStopping()).fit(*moons) for _ in range(2)]
    assert np.array_equal(fits[0].coef_, fits[1].coef_)


def test_works_on_an_estimator_of_scikit_learn(moons):
    X, y = moons
    stop = EarlyStopping(patience=1, validation_data=(X[:50], y[:50]))
    model = Theirs(C=100.0).set_callbacks(stop).fit(X[50:], y[50:])
    assert len(model.validation_scores_) >= 2
    with pytest.raises(ValueError, match="give validation_data"):
        Theirs().set_callbacks(EarlyStopping()).fit(X, y)


def test_a_fit_without_passes_says_so(moons):
    """Better no model than one that was fitted on fewer rows for nothing."""
    X, y = moons
    with pytest.raises(ValueError, match="Ridge as it is set makes no passes to stop at; fit without it"):
        Ridge().set_callbacks(EarlyStopping()).fit(X, X[:, 0])
    meta = OneVsRestClassifier(Perceptron())
    with pytest.raises(ValueError, match="or set it on the estimator inside"):
        meta.set_callbacks(EarlyStopping()).fit(X, y)
    with pytest.raises(ValueError, match="no passes to stop at; set it on the estimator inside"):
        meta.set_callbacks(EarlyStopping(validation_data=(X, y))).fit(X, y)
    inner = OneVsRestClassifier(Perceptron(max_iter=60, tol=None).set_callbacks(EarlyStopping())).fit(X, y)
    assert all(part.best_iter_ <= part.n_iter_ < 60 for part in inner.estimators_)


def test_frames_bring_no_warnings(moons):
    X, y = moons
    frame = pd.DataFrame(X, columns=list("abc"))
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        Perceptron(max_iter=20, tol=None).set_callbacks(EarlyStopping()).fit(frame, y)
        given = EarlyStopping(validation_data=(frame[:50], y[:50]))
        Perceptron(max_iter=20, tol=None).set_callbacks(given).fit(frame, y)


def test_nothing_is_left_of_an_earlier_fit(moons):
    model = Perceptron(max_iter=20, tol=None).set_callbacks(EarlyStopping()).fit(*moons)
    assert model.best_iter_
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.set_callbacks().fit(*moons)
    assert not hasattr(model, "best_iter_")
    assert not hasattr(model, "validation_scores_")


def test_weights_are_held_out_too(moons):
    X, y = moons
    weight = np.linspace(0.1, 1, len(y))
    model = Perceptron(max_iter=20, tol=None).set_callbacks(EarlyStopping()).fit(X, y, sample_weight=weight)
    assert model.validation_scores_


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"patience": 0}, "patience"),
        ({"every": 0}, "every"),
        ({"validation_fraction": 1.0}, "validation_fraction"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(ValueError, match=message):
        EarlyStopping(**options)


def test_too_few_rows():
    with pytest.raises(ValueError, match=r"cannot hold out validation_fraction=0\.1 of 3 rows"):
        Perceptron().set_callbacks(EarlyStopping()).fit([[3, 3], [4, 3], [1, 1]], [1, 1, -1])


def test_callbacks_can_be_pickled():
    stop = pickle.loads(pickle.dumps(EarlyStopping(patience=7)))
    assert stop.patience == 7
    assert Script([1, 2], max_iter=3).set_callbacks(stop).fit(X, Y).best_iter_ == 1


def test_recorder_keeps_every_pass():
    recorder = Recorder()
    Script([5, 4, 3], max_iter=3).set_callbacks(recorder).fit(X, Y)
    assert [frame.attributes for frame in recorder.frames] == [{"value_": v} for v in (5.0, 4.0, 3.0)]
    assert [frame.estimator.predict(X[:1])[0] for frame in recorder.frames] == [5, 4, 3]
    assert [frame.index for frame in recorder.frames] == [0, 1, 2]


def test_recorder_is_bounded_and_covers_the_run():
    recorder = Recorder(capacity=8)
    Script(list(range(100)), max_iter=100).set_callbacks(recorder).fit(X, Y)
    indices = [frame.index for frame in recorder.frames]
    assert len(indices) <= 9
    assert len(set(np.diff(indices[:-1]))) == 1
    assert indices[-2] > 80
    assert indices[-1] == 99, "where it ended is not in the film"
    assert all(frame.attributes["value_"] == frame.index for frame in recorder.frames)


def test_frames_hold_no_training_data():
    recorder = Recorder()
    Script([5, 4], max_iter=2).set_callbacks(recorder).fit(X, Y)
    assert len(pickle.dumps(recorder.frames)) < 3000
