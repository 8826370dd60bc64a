"""The one iteration loop, and the only module that knows scikit-learn's callback protocol.

    for step in self.steps(self.max_iter):
        b, mistakes = sweep(rows, y, w, b, self.eta0)
        step.report(mistakes=mistakes, coef_=w, intercept_=b)
        if step.converged(mistakes == 0):
            break

gives an iterative method its callbacks (progress bar, scoring monitor, early stopping, recorder), `history_`,
`n_iter_`, the warning when it does not converge, and on Ctrl-C the fitted attributes of the last whole pass.

scikit-learn calls its protocol experimental; everything of it that Tercet uses is in this file.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.callback import CallbackSupportMixin as CallbackSupport
from sklearn.callback import with_callbacks
from sklearn.exceptions import ConvergenceWarning

from tercet.core import kernel
from tercet.core.stopping import check_stop

__all__ = [
    "CallbackSupport",
    "ConvergenceWarning",
    "Fit",
    "Iterative",
    "Steps",
    "Task",
    "running_fit",
    "with_callbacks",
]

QUIET: Any = {
    "over": "ignore",
    "invalid": "ignore",
    "divide": "ignore",
}  # what overflows inside a fit is no news
MOST_TASKS = 10_000  # a task costs about 20 microseconds and stays in memory: longer loops share them


class EngineLost(RuntimeError):
    """The machines that a fit ran on are gone; the estimator has the model of the last whole pass."""


KEEPING = (
    KeyboardInterrupt,
    EngineLost,
)  # what ends a fit and leaves the fitted attributes of the last whole pass


class Steps:
    """The passes of one loop; iterating gives a step, the same object for every pass.

    Parameters
    ----------
    limit : int
        The most passes to make.
    fit : Fit, optional
        The fit that this loop belongs to. Without one the loop stands alone (as in `optimize.minimize`).
    unpack : callable, optional
        Turns what the loop reports as its state into a dict of fitted attributes; called only when someone
        wants to see them.
    hint : str, optional
        What to change when the loop ends without convergence; the warning says it.
    inner : int or None, default=0
        How many passes a loop inside each pass will make (None: not known); 0 when there is none.
    watch : callable, optional
        Called with the step after every report; a true answer ends the loop.
    """

    def __init__(
        self,
        limit: int,
        *,
        fit: Fit | None = None,
        name: str = "pass",
        unpack: Callable[[Any], dict[str, Any]] | None = None,
        hint: str | None = None,
        inner: int | None = 0,
        watch: Callable[[Steps], Any] | None = None,
        parent: Steps | None = None,
    ) -> None:
        self.limit, self.name, self.hint = int(limit), name, hint
        self.index = -1
        self.count = 0  # passes begun so far
        self.state: Any = None
        self.measures: dict[str, Any] = {}
        self.history: list[dict[str, Any]] = []
        self.is_converged: bool | None = None
        self.stopped = False
        self._fit, self._unpack, self._watch, self._parent = fit, unpack, watch, parent
        self._inner = inner
        self._outer: dict[str, int] = {} if parent is None else {**parent._outer, parent.name: parent.index}
        self._task: Any = None
        self._stride = -(-self.limit // MOST_TASKS) if self.limit else 1
        self._context: Any = fit.open(self) if fit is not None else None

    def __iter__(self) -> Iterator[Steps]:
        while self.count < self.limit and not self.stopped:
            check_stop()
            self.index, self.count = self.count, self.count + 1
            if self._context is not None and self._task is None:
                self._begin()
            yield self
            if self._context is not None and self.count % self._stride == 0:
                self._end()
        self._end()
        if self.is_converged is False and not self.stopped:
            self.warn(f"did not converge in {self.count} passes")

    def report(self, state: Any = None, /, **measures: Any) -> None:
        """Tell what this pass came to.

        Parameters
        ----------
        state : object, optional
            The model after this pass, in the loop's own form; it must not be changed in place afterwards.
        **measures
            Numbers for the history; names that end in an underscore are fitted attributes (arrays among them
            are copied, so that the loop may go on changing them).
        """
        attributes = {}
        for name in [name for name in measures if name[-1] == "_"]:
            value = measures.pop(name)
            attributes[name] = value.copy() if isinstance(value, np.ndarray) else value
        self.state = attributes if state is None else state
        self.measures = measures
        self.history.append(measures)
        if self._fit is not None:
            self._fit.latest = self
            if self._context is not None and self.count % self._stride == 0:
                self._end()
        if self._watch is not None and self._watch(self):
            self.stopped = True

    def converged(self, answer: Any) -> bool:
        """Tell whether the stopping rule is met. A loop that ends without it warns."""
        self.is_converged = bool(answer)
        if self.is_converged:
            self._end()
        return self.is_converged

    def warn(self, reason: str) -> None:
        """Warn of an end without convergence: who, why, the last numbers and what to change."""
        who = type(self._fit.estimator).__name__ if self._fit is not None else "minimize"
        last = ", ".join(f"{name}={float(value):.6g}" for name, value in self.measures.items())
        hint = self.hint or "Raise max_iter or tol, or scale the features."
        warnings.warn(
            f"{who} {reason}{f' (last pass: {last})' if last else ''}. {hint}",
            ConvergenceWarning,
            stacklevel=3,
        )

    def steps(self, limit: int, **options: Any) -> Steps:
        """A loop inside this pass."""
        return Steps(limit, fit=self._fit, parent=self, **options)

    def attributes(self) -> dict[str, Any]:
        """The fitted attributes after the last report."""
        if self._unpack is not None:
            return self._unpack(self.state)
        return dict(self.state) if isinstance(self.state, dict) else {}

    def _reconstruction(self) -> dict[str, Any]:
        attributes = self.attributes()
        return {**attributes, "_reported": tuple(attributes)}

    def _begin(self) -> None:
        assert self._fit is not None
        self._task = self._context.subcontext(task_name=self.name, max_subtasks=self._inner)
        self._task.call_on_fit_task_begin(estimator=self._fit.estimator, **self._fit.data)

    def _end(self) -> None:
        if self._task is None:
            return
        assert self._fit is not None
        task, self._task = self._task, None
        lazy = self._reconstruction if self.history else None
        stop = task.call_on_fit_task_end(
            estimator=self._fit.estimator, reconstruction_attributes=lazy, **self._fit.data
        )
        self.stopped = self.stopped or stop


class Fit:
    """One call of `fit`: what its loops share, kept beside the estimator for as long as the call lasts."""

    _running: weakref.WeakKeyDictionary[Any, Fit] = weakref.WeakKeyDictionary()

    def __init__(
        self, estimator: Any, X: Any = None, y: Any = None, metadata: dict[str, Any] | None = None
    ) -> None:
        self.estimator = estimator
        self.data = {"X": X, "y": y, "metadata": metadata}
        self.loops: list[Steps] = []
        self.latest: Steps | None = None
        self.root: Any = None
        self.outer: tuple[type, ...] = ()

    def __enter__(self) -> Fit:
        self._running[self.estimator] = self
        self.outer = kernel.running_fits
        kernel.running_fits = (type(self.estimator), *self.outer[:3])
        for name in ("n_iter_", "history_", "best_iter_", "validation_scores_"):  # of an earlier fit
            vars(self.estimator).pop(name, None)
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self._running.pop(self.estimator, None)
        kernel.running_fits = self.outer
        cut_short = kind is not None and issubclass(kind, KEEPING) and self.latest is not None
        if cut_short and self.latest is not None:
            vars(self.estimator).update(self.latest.attributes())
        if kind is None or cut_short:
            self._finish()

    @classmethod
    def of(cls, estimator: Any) -> Fit:
        """The running fit of an estimator."""
        try:
            return cls._running[estimator]
        except KeyError:
            raise RuntimeError(f"{type(estimator).__name__}: steps() works only inside fit().") from None

    def steps(self, limit: int, **options: Any) -> Steps:
        return Steps(limit, fit=self, **options)

    def tasks(self, count: int, name: str) -> list[Task]:
        """A task for each of the estimators that a meta-estimator fits, in any order or at the same time."""
        if not listeners(self.estimator):
            return [Task()] * count
        self.root = self._open_root(count)
        return [Task(self, self.root.subcontext(task_name=name)) for _ in range(count)]

    def open(self, loop: Steps) -> Any:
        """The context under which a loop's passes are tasks; None when nobody listens."""
        self.loops.append(loop)
        if not listeners(self.estimator):
            return None
        if loop._parent is not None:
            return loop._parent._task
        if self.root is None:
            self.root = self._open_root(-(-loop.limit // loop._stride))
            return self.root
        self.root.max_subtasks = None  # a second loop after the first: no longer known in advance
        return self.root

    def _open_root(self, tasks: int) -> Any:
        root = self.estimator._init_callback_context(max_subtasks=tasks)
        return root.call_on_fit_task_begin(estimator=self.estimator, **self.data)

    def _finish(self) -> None:
        """Set `history_` and `n_iter_`, and tell the callbacks that the fit is over."""
        estimator = self.estimator
        for loop in self.loops:
            loop._end()
        if self.loops:
            estimator.history_ = history_table(self.loops)
            if "n_iter_" not in vars(estimator):
                outer = {id(loop._parent) for loop in self.loops}
                estimator.n_iter_ = max(loop.count for loop in self.loops if id(loop) not in outer)
        if listeners(estimator) or hasattr(estimator, "_parent_callback_ctx"):
            if self.root is None:
                self.root = self._open_root(0)
            lazy = functools.partial(fitted_attributes, estimator)
            self.root.call_on_fit_task_end(estimator=estimator, reconstruction_attributes=lazy, **self.data)


class Iterative(CallbackSupport):
    """An estimator that learns in passes, which callbacks follow."""

    def steps(self, limit: int, **options: Any) -> Steps:
        """The passes of an iterative method, for use inside `_fit`; see `core.steps.Steps`."""
        return Steps(limit, fit=Fit.of(self), **options)


@contextlib.contextmanager
def running_fit(
    estimator: Any, X: Any, y: Any, weight: np.ndarray | None, shown: Any = None
) -> Iterator[tuple[Any, Any, np.ndarray | None]]:
    """A `Fit` inside a `with` block, which gets the data without what callbacks hold out.

    Callbacks get the same data; where `shown` is given, they get it in place of X, with nothing held out.
    """
    data = shown, y, weight
    for callback in listeners(estimator):
        if hasattr(callback, "hold_out"):
            X, y, weight = callback.hold_out(estimator, X, y, weight)
    if shown is None:
        data = X, y, weight
    metadata = None if data[2] is None else {"sample_weight": data[2]}
    with Fit(estimator, *data[:2], metadata):
        yield X, y, weight


def refuse_holding_out(estimator: Any) -> None:
    """Refuse callbacks that hold out rows of a source, or score them."""
    for callback in listeners(estimator):
        if hasattr(callback, "hold_out") and getattr(callback, "validation_data", None) is None:
            raise ValueError(
                f"{type(callback).__name__} cannot hold out rows of a source; give it validation_data=(X, y)."
            )


class Task:
    """The fit of one estimator as a part of another's; without a context, nobody listens."""

    def __init__(self, fit: Fit | None = None, context: Any = None) -> None:
        self._fit, self._context = fit, context

    @contextlib.contextmanager
    def around(self, estimator: Any = None) -> Iterator[None]:
        """Pass the callbacks that want it on to an estimator while it is fitted in a `with` block.

        Without one, the block is a part of the fit that callbacks hear of, and no more.
        """
        if self._fit is None:
            yield
            return
        passed = contextlib.nullcontext()
        with passed if estimator is None else self._context.propagate_callback_context(estimator):
            self._context.call_on_fit_task_begin(estimator=self._fit.estimator, **self._fit.data)
            yield
            self._context.call_on_fit_task_end(estimator=self._fit.estimator, **self._fit.data)


def listeners(estimator: Any) -> list[Any]:
    """The callbacks that are set on an estimator."""
    return getattr(estimator, "_skl_callbacks", [])


def without_fit(estimator: Any) -> Any:
    """A copy that holds nothing of the fit that is under way: no callbacks, and through them no data."""
    alone = copy.copy(estimator)
    for name in [name for name in vars(alone) if "callback" in name or name == "_reported"]:
        del vars(alone)[name]
    return alone


def fitted_attributes(estimator: Any) -> dict[str, Any]:
    """What a fit has learned: the public attributes whose names end in an underscore."""
    return {name: value for name, value in vars(estimator).items() if name[-1] == "_" and name[0] != "_"}


def stopped_early(estimator: Any) -> bool:
    """Whether `EarlyStopping` has chosen the pass of the model: what the last pass left behind belongs to another
    model, and lacks the rows that were held out."""
    return "best_iter_" in vars(estimator)


def reported_attributes(estimator: Any, fitted: Any) -> dict[str, Any]:
    """What a pass has learned, from the copy of the estimator that a callback is shown."""
    names = getattr(fitted, "_reported", None)
    if names is None:  # not an estimator of ours: what the copy has and the estimator has not
        now, then = vars(estimator), fitted_attributes(fitted)
        return {name: value for name, value in then.items() if now.get(name) is not value}
    return {name: getattr(fitted, name) for name in names}


def history_table(loops: list[Steps]) -> dict[str, list[Any]]:
    """The reports of all loops as columns of equal length; the loop's name heads the number of the pass."""
    history = loops[0].history if len(loops) == 1 and not loops[0]._outer else []
    if history and all(measures.keys() == history[0].keys() for measures in history):  # most often
        columns = {name: [_plain(measures[name]) for measures in history] for name in history[0]}
        return {loops[0].name: list(range(len(history))), **columns}
    reports = [
        {**loop._outer, loop.name: k, **measures} for loop in loops for k, measures in enumerate(loop.history)
    ]
    names = dict.fromkeys(name for report in reports for name in report)
    return {name: [_plain(report.get(name, np.nan)) for report in reports] for name in names}


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
