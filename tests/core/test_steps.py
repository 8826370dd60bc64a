"""The iteration loop: history, convergence, callbacks, interruption."""

import os
import signal
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pytest
from sklearn.callback import ProgressBar, ScoringMonitor
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tercet.core.estimator import Regressor
from tercet.core.parameters import Count, NonNegative
from tercet.core.steps import MOST_TASKS, Fit, Steps
from tests.systems import posix


class Mean(Regressor):
    """Creeps towards the mean of y: as small as an iterative method can be."""

    def __init__(self, max_iter: Count = 20, tol: NonNegative = 0.0):
        self.max_iter = max_iter
        self.tol = tol

    def _fit(self, X, y, sample_weight):
        mean = np.zeros(1)
        for step in self.steps(self.max_iter, hint="Creep faster."):
            mean += (y.mean() - mean) / 2  # in place, on purpose
            error = abs(float(y.mean() - mean[0]))
            step.report(error=error, mean_=mean)
            if step.converged(error <= self.tol):
                break
        self.mean_ = mean

    def predict(self, X):
        return np.full(len(X), self.mean_[0])


class Nested(Mean):
    """Two loops, one inside the other."""

    def _fit(self, X, y, sample_weight):
        self.mean_ = np.zeros(1)
        for outer in self.steps(3, name="round", inner=self.max_iter):
            for inner in outer.steps(self.max_iter):
                inner.report(error=float(inner.index), mean_=self.mean_)
            outer.report(total=1.0, mean_=self.mean_)


class Listener:
    """Writes down every call."""

    def __init__(self, stop_at=None):
        self.calls, self.stop_at, self.fitted = [], stop_at, []

    def setup(self, estimator, context):
        self.calls.append(("setup", context.task_name))

    def teardown(self, estimator, context):
        self.calls.append(("teardown", context.task_name))

    def on_fit_task_begin(self, estimator, context):
        self.calls.append(("begin", context.task_name, context.task_id))

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None, X=None, y=None):
        self.calls.append(("end", context.task_name, context.task_id))
        if context.task_name == "pass":
            self.fitted.append(None if fitted_estimator is None else float(fitted_estimator.mean_[0]))
            return context.task_id == self.stop_at
        return False


X = np.zeros((4, 1))
Y = np.array([1.0, 2.0, 3.0, 10.0])


def test_history_and_count():
    with pytest.warns(ConvergenceWarning):
        model = Mean(max_iter=3).fit(X, Y)
    assert model.history_ == {"pass": [0, 1, 2], "error": [2.0, 1.0, 0.5]}
    assert model.n_iter_ == 3


def test_warning_says_what_to_change():
    with pytest.warns(
        ConvergenceWarning, match=r"Mean did not converge in 3 passes .*error=0\.5.*Creep faster"
    ):
        Mean(max_iter=3).fit(X, Y)


def test_no_warning_when_converged():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = Mean(max_iter=50, tol=0.3).fit(X, Y)
    assert model.n_iter_ == 4


def test_no_warning_without_a_stopping_rule():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [step.index for step in Steps(3)] == [0, 1, 2]


def test_callbacks_see_every_pass():
    listener = Listener()
    with pytest.warns(ConvergenceWarning):
        Mean(max_iter=3).set_callbacks(listener).fit(X, Y)
    assert listener.calls == [
        ("setup", "fit"),
        ("begin", "fit", 0),
        *[(what, "pass", k) for k in range(3) for what in ("begin", "end")],
        ("end", "fit", 0),
        ("teardown", "fit"),
    ]
    assert listener.fitted == [2.0, 3.0, 3.5]  # each pass's own state, though the loop works in place


def test_a_callback_can_stop_the_loop():
    listener = Listener(stop_at=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # stopped on purpose: no complaint
        model = Mean(max_iter=10).set_callbacks(listener).fit(X, Y)
    assert model.n_iter_ == 2
    assert model.mean_[0] == 3.0


def test_converged_pass_is_ended_once():
    listener = Listener()
    Mean(max_iter=50, tol=0.3).set_callbacks(listener).fit(X, Y)
    ends = [call for call in listener.calls if call[:2] == ("end", "pass")]
    assert [call[2] for call in ends] == [0, 1, 2, 3]


def test_nested_loops():
    listener = Listener()
    model = Nested(max_iter=2).set_callbacks(listener).fit(X, Y)
    assert model.n_iter_ == 2
    assert model.history_["round"] == [0, 1, 2, 0, 0, 1, 1, 2, 2]
    assert np.isnan(model.history_["error"][0])
    assert model.history_["error"][3:] == [0.0, 1.0] * 3
    names = [call[1] for call in listener.calls if call[0] == "begin"]
    assert names == ["fit"] + ["round", "pass", "pass"] * 3
    begun = sorted(call[1:] for call in listener.calls if call[0] == "begin")
    assert begun == sorted(call[1:] for call in listener.calls if call[0] == "end")


def test_long_loops_share_tasks():
    listener = Listener()
    model = Nested(max_iter=3 * MOST_TASKS + 5).set_callbacks(listener).fit(X, Y)
    assert model.n_iter_ == 3 * MOST_TASKS + 5
    passes = [call for call in listener.calls if call[:2] == ("end", "pass")]
    assert MOST_TASKS * 3 / 2 < len(passes) <= MOST_TASKS * 3


def test_progress_bar_and_monitor_alone_in_pipeline_and_search(capsys):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    monitor = ScoringMonitor(scoring="r2")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        Mean(5).set_callbacks(ProgressBar(), monitor).fit(X, y)
        scores = [row["r2"] for row in monitor.get_logs().data if row["task_name"] == "pass"]
        assert len(scores) == 5
        assert np.all(np.diff(scores) > 0)
        make_pipeline(StandardScaler(), Mean(5)).set_callbacks(ProgressBar()).fit(X, y)
        search = GridSearchCV(Mean(), {"max_iter": [1, 9]}, cv=2, n_jobs=2)
        search.set_callbacks(ProgressBar(max_propagation_depth=None)).fit(X, y)
    assert search.best_params_ in ({"max_iter": 1}, {"max_iter": 9})
    printed = capsys.readouterr().out
    assert "Mean - fit" in printed
    assert "GridSearchCV - fit" in printed


def test_steps_outside_fit():
    with pytest.raises(RuntimeError, match="only inside fit"):
        Mean().steps(3)


def test_nothing_of_the_fit_stays_on_the_estimator():
    with pytest.warns(ConvergenceWarning):
        model = Mean(3).fit(X, Y)
    assert set(vars(model)) == {"max_iter", "tol", "n_features_in_", "mean_", "history_", "n_iter_"}
    assert len(Fit._running) == 0


class Interrupted(Mean):
    def _fit(self, X, y, sample_weight):
        mean = np.zeros(1)
        for step in self.steps(10):
            mean += 1
            if step.index == 4:
                mean += 100  # half a pass
                raise KeyboardInterrupt
            step.report(mean_=mean)


def test_interrupt_leaves_the_last_whole_pass():
    model = Interrupted()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    assert model.mean_[0] == 4.0
    assert model.predict(X)[0] == 4.0
    assert model.n_iter_ == 5


@posix
def test_interrupt_from_outside_ends_a_fit():
    """A real Ctrl-C during a long fit with threads, sent once passes are under way."""
    code = """
        import numpy as np
        from tercet.core.steps import Steps
        from tercet.linear_model import Perceptron
        report = Steps.report
        def noisy(self, *args, **kwargs):
            report(self, *args, **kwargs)
            if self.index == 3:
                print("under way", flush=True)
        Steps.report = noisy
        rng = np.random.default_rng(0)
        X = rng.normal(size=(20_000, 20)); y = rng.integers(0, 2, 20_000)
        model = Perceptron(max_iter=10_000_000, tol=None)
        try:
            model.fit(X, y)
        except KeyboardInterrupt:
            print("interrupted", 3 < model.n_iter_ < 10_000_000, model.predict(X[:2]).shape, flush=True)
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True, env=os.environ
    )
    assert process.stdout.readline() == "under way\n"
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=600)[0] == "interrupted True (2,)\n"
