"""Callbacks of our own, beside scikit-learn's `ProgressBar` and `ScoringMonitor`.

Set them on an estimator with `set_callbacks`, alone or inside a `Pipeline` or a search.
"""

from __future__ import annotations

import copy
import weakref
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics import check_scoring, log_loss
from sklearn.model_selection import train_test_split

from tercet.core.steps import reported_attributes, without_fit

# A method that answers for rows that it has not learned from has at least one of these.
ANSWERS = ("predict", "transform", "score", "score_samples", "kneighbors")


class EarlyStopping:
    """Stop when the score on held-out data has not risen for `patience` passes, and keep the best model.

    The rule of the texts (Li, Alg 23.5): a pass whose validation score is strictly better than every one
    before is remembered and the count starts again; when `patience` evaluations in a row bring none better,
    the fit ends with the remembered parameters. The estimator gets `validation_scores_` and `best_iter_`.

    Parameters
    ----------
    scoring : str or callable, optional
        A scorer of scikit-learn. By default the log-likelihood (`"neg_log_loss"`) of a classifier that has
        probabilities, else the estimator's own `score`.
    patience : int, default=5
        Evaluations without improvement before the end.
    every : int, default=1
        Passes between two evaluations.
    validation_fraction : float, default=0.1
        Part of the training rows that is held out, in each fit anew (so also inside cross-validation).
    validation_data : tuple (X, y) or (X, y, sample_weight), optional
        Data to validate on instead, in the form that the estimator itself takes.
    random_state : int, default=0
        Decides which rows are held out.

    Examples
    --------
    >>> from tercet.linear_model import Perceptron
    >>> from tercet.datasets import two_moons
    >>> X, y = two_moons(200, noise=0.2, random_state=0)
    >>> model = Perceptron(max_iter=50).set_callbacks(EarlyStopping(patience=3)).fit(X, y)
    >>> model.n_iter_ < 50
    True
    """

    def __init__(
        self,
        scoring: Any = None,
        *,
        patience: int = 5,
        every: int = 1,
        validation_fraction: float = 0.1,
        validation_data: Any = None,
        random_state: Any = 0,
    ) -> None:
        if patience < 1 or every < 1:
            raise ValueError(f"patience and every must be at least 1; got {patience} and {every}.")
        if not 0 < validation_fraction < 1:
            raise ValueError(f"validation_fraction must be in (0, 1); got {validation_fraction}.")
        self.scoring, self.patience, self.every = scoring, patience, every
        self.validation_fraction, self.validation_data = validation_fraction, validation_data
        self.random_state = random_state
        self._watches: weakref.WeakKeyDictionary[Any, _Watch] = weakref.WeakKeyDictionary()

    def hold_out(self, estimator: Any, X: Any, y: Any, weight: Any) -> tuple[Any, Any, Any]:
        """Called by an estimator of ours before it learns: what is left to learn from."""
        if self.validation_data is not None:
            self._watches[estimator] = _Watch(*self.validation_data)
            return X, y, weight
        if not any(hasattr(estimator, name) for name in ANSWERS):
            raise ValueError(
                f"EarlyStopping: {type(estimator).__name__} has an answer only for the rows that it learns from, "
                "so none can be held out; fit without it, or give validation_data and a scoring that reads the "
                "fitted attributes."
            )
        if y is None and estimator.__sklearn_tags__().target_tags.required:
            raise ValueError("EarlyStopping holds out labelled rows; without y, give it validation_data.")
        scorable = getattr(estimator, "_scorable", None)  # not a row without a label
        rows = np.arange(X.shape[0]) if scorable is None else np.flatnonzero(scorable(y))
        try:
            rest, held = train_test_split(
                rows,
                test_size=self.validation_fraction,
                random_state=self.random_state,
                stratify=y[rows] if is_classifier(estimator) else None,
            )
            rest = np.concatenate([rest, np.setdiff1d(np.arange(X.shape[0]), rows)])
        except ValueError as error:
            raise ValueError(
                f"EarlyStopping cannot hold out validation_fraction={self.validation_fraction} "
                f"of {X.shape[0]} rows: {error}"
            ) from error
        (X, kept), (y, kept_y), (weight, kept_weight) = (
            (None, None) if rows is None else (rows[rest], rows[held]) for rows in (X, y, weight)
        )
        self._watches[estimator] = _Watch(kept, kept_y, kept_weight)
        return X, y, weight

    def setup(self, estimator: Any, context: Any) -> None:
        if estimator not in self._watches:  # an estimator that does not hold out rows by itself
            if self.validation_data is None:
                raise ValueError(
                    f"EarlyStopping: {type(estimator).__name__} does not hold out rows; give validation_data"
                    f"{', or set it on the estimator inside' if _is_meta(estimator) else ''}."
                )
            self._watches[estimator] = _Watch(*self.validation_data)
        watch = self._watches[estimator]
        likely = self.scoring is None and is_classifier(estimator) and hasattr(estimator, "predict_proba")
        watch.scorer = log_likelihood if likely else check_scoring(estimator, self.scoring)

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        pass

    def on_fit_task_end(self, estimator: Any, context: Any, *, fitted_estimator: Any = None) -> bool:
        watch = self._watches.get(estimator)
        if watch is not None and watch.passes == 0 and _is_fit(context):
            inside = _is_meta(estimator)
            raise ValueError(
                f"EarlyStopping: {type(estimator).__name__} as it is set makes no passes to stop at; "
                f"{'set it on the estimator inside' if inside else 'fit without it, on all rows'}."
            )
        if watch is None or fitted_estimator is None or not _is_pass(context):
            return False
        watch.passes += 1
        if watch.passes % self.every:
            return False
        watch.look(estimator, fitted_estimator)
        return watch.waited >= self.patience

    def teardown(self, estimator: Any, context: Any) -> None:
        watch = self._watches.pop(estimator, None)
        if watch is not None and watch.best:
            vars(estimator).update(watch.best)
            estimator.best_iter_ = watch.best_pass
            estimator.validation_scores_ = watch.scores

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_watches": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _watches=weakref.WeakKeyDictionary())


class _Watch:
    """The course of one fit as early stopping sees it."""

    def __init__(self, X: Any, y: Any, weight: Any = None) -> None:
        self.X, self.y, self.named = X, y, hasattr(X, "columns")
        self.metadata = {} if weight is None else {"sample_weight": weight}
        self.scorer: Any = None
        self.scores: list[float] = []
        self.best: dict[str, Any] = {}
        self.best_score, self.best_pass = -np.inf, 0
        self.passes = self.waited = 0

    def look(self, estimator: Any, fitted: Any) -> None:
        shown = copy.copy(fitted)
        if not self.named:  # rows held out of a frame have lost its names
            vars(shown).pop("feature_names_in_", None)
        score = float(self.scorer(shown, self.X, self.y, **self.metadata))
        self.scores.append(score)
        if score > self.best_score:
            self.best_score, self.best_pass, self.waited = score, self.passes, 0
            self.best = {k: copy.copy(v) for k, v in reported_attributes(estimator, fitted).items()}
        else:
            self.waited += 1


def log_likelihood(estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
    """The mean log-likelihood of rows, which need not be of all classes."""
    proba = estimator.predict_proba(X)
    return -float(log_loss(y, proba, labels=estimator.classes_, sample_weight=sample_weight))


def _is_fit(context: Any) -> bool:
    """Whether a task is the whole fit of an estimator."""
    return context.parent is None or context.source_estimator_name is not None


def _is_meta(estimator: Any) -> bool:
    """Whether an estimator is built on others."""
    return hasattr(estimator, "estimator") or hasattr(estimator, "estimators")


def _is_pass(context: Any) -> bool:
    """Whether a task is one pass of a loop, rather than a whole fit."""
    return context.max_subtasks == 0 and context.parent is not None and context.source_estimator_name is None


@dataclass(frozen=True, eq=False)
class Frame:
    """One recorded pass: its number, the fitted attributes, and an estimator that can predict with them."""

    index: int
    attributes: dict[str, Any]
    estimator: Any


class Recorder:
    """Keep the state of every pass, for drawing and for replay.

    Parameters
    ----------
    capacity : int, default=256
        The most frames to keep. When it is reached every other frame is dropped and from then on only every
        second (fourth, eighth ...) pass is kept, so memory stays bounded and the whole run stays covered.

    Attributes
    ----------
    frames : list of Frame
        The frames of the latest fit.

    Examples
    --------
    >>> from tercet.linear_model import Perceptron
    >>> recorder = Recorder()
    >>> model = Perceptron().set_callbacks(recorder).fit([[3, 3], [4, 3], [1, 1]], [1, 1, -1])
    >>> len(recorder.frames) == model.n_iter_
    True
    >>> recorder.frames[-1].attributes["intercept_"]
    array([-3.])
    """

    def __init__(self, capacity: int = 256) -> None:
        if capacity < 2:
            raise ValueError(f"capacity must be at least 2; got {capacity}.")
        self.capacity = capacity
        self.frames: list[Frame] = []
        self._last: Frame | None = None
        self._passes, self._stride = 0, 1

    def setup(self, estimator: Any, context: Any) -> None:
        self.frames, self._last, self._passes, self._stride = [], None, 0, 1

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        pass

    def on_fit_task_end(self, estimator: Any, context: Any, *, fitted_estimator: Any = None) -> None:
        if fitted_estimator is None or not _is_pass(context):
            return
        learned = reported_attributes(estimator, fitted_estimator)
        self._last = Frame(self._passes, learned, without_fit(fitted_estimator))
        self._passes += 1
        if self._passes % self._stride:
            return
        self.frames.append(self._last)
        if len(self.frames) >= self.capacity:
            del self.frames[::2]
            self._stride *= 2

    def teardown(self, estimator: Any, context: Any) -> None:
        if self._last is not None and self._last not in self.frames[-1:]:
            self.frames.append(self._last)  # where it ended belongs to the film
