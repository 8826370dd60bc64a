"""Bases of meta-estimators: fits of other estimators on threads, binary subproblems and their scores."""

from __future__ import annotations

import contextlib
import inspect
import numbers
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from joblib.parallel import get_active_backend
from sklearn import config_context, get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone, is_regressor
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import UNUSED, MetadataRouter, MethodMapping, process_routing
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_consistent_length

from tercet.core.estimator import NO_TARGET, Classifier, Estimator
from tercet.core.fitted_checks import check_fitted
from tercet.core.input_errors import Explaining, blamed_data, refuse_containers
from tercet.core.parallel import Threads, one_blas_thread
from tercet.core.parameters import blamed_parameter, check_parameters
from tercet.core.public_names import PublicPickle
from tercet.core.sample_weights import check_mass, refuse_dates
from tercet.core.steps import CallbackSupport, Fit, Task, fitted_attributes, with_callbacks
from tercet.core.validation import check_array, indexable, validate_data


class MetaEstimator(MetaEstimatorMixin, Estimator):
    """Base of estimators that fit other estimators.

    The data goes to the estimators as it came, so that anything they take (text, frames with names, missing
    values) may be given. Sub-estimators are fitted on threads, with BLAS held to one, so that the result does not
    depend on `n_jobs`; `joblib.parallel_config` chooses another backend.
    """

    task_name = "fit-estimator"

    @contextlib.contextmanager
    def _running(self, X: Any, y: Any, params: dict[str, Any]) -> Iterator[None]:
        """The course of a fit: callbacks follow it, and what fails leaves no attributes behind."""
        try:
            with Fit(self, X, y, params or None):
                yield
        except BaseException as error:  # Ctrl-C among them: a part of the estimators is no model
            for name in fitted_attributes(self):
                delattr(self, name)
            blamed = blamed_data(error, X=X, y=y) or blamed_parameter(self, error)
            if blamed is None:
                raise
            raise blamed from error

    def _parallel(self, calls: Iterable[Any], count: int, verbose: int | None = None) -> list[Any]:
        """The results of `count` calls, as `delayed` makes them.

        On threads of ours, unless the user's own parallel_config says otherwise, or joblib is to print. BLAS is
        held here for all of them: changing its number of threads while another thread is in it makes it crawl.
        """
        jobs = getattr(self, "n_jobs", None)
        verbose = getattr(self, "verbose", 0) if verbose is None else verbose
        backend, _ = get_active_backend(prefer="threads")
        here = backend.supports_sharedmem and not verbose  # not in other processes
        with one_blas_thread():
            if here:
                return list(
                    Threads(effective_n_jobs(jobs)).map(_call, Upcoming(calls, count), (get_config(),))
                )
            return Parallel(n_jobs=jobs, verbose=verbose, prefer="threads")(calls)


class MetaClassifier(MetaEstimator, Classifier):
    """Base of classifiers built on one estimator; a subclass implements `_fit_all(X, y, params)`."""

    __metadata_request__fit = {"sample_weight": UNUSED}
    __metadata_request__partial_fit = {"sample_weight": UNUSED}

    estimator: Any
    estimators_: Any

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> Self:
        """Learn from rows X with labels y.

        Parameters
        ----------
        X : anything that the estimator takes
            The training data.
        y : array of shape (n_samples,)
            The labels: any numbers or strings.
        sample_weight : array of shape (n_samples,), optional
            How much each row counts; passed on to the estimator.
        **fit_params
            More for the estimator's `fit`, when metadata routing is enabled.

        Returns
        -------
        self
        """
        check_parameters(self)
        if not hasattr(self.estimator, "fit"):
            name, got = type(self).__name__, self.estimator
            raise ValueError(f"{name}: parameter 'estimator' must be an estimator with fit; got {got!r}.")
        X, y = self._check(X, y)
        params = self._route("fit", X, sample_weight, fit_params)
        target = self._encode(y)
        with self._running(X, y, params):
            self._fit_all(X, target, params)
        return self

    def _fit_all(self, X: Any, y: Any, params: dict[str, Any]) -> None:
        raise NotImplementedError(f"{type(self).__name__} has no _fit_all(X, y, params).")

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        """Check feature names, number of features and y; the sub-estimators check the values in X."""
        refuse_containers(X=X)
        with Explaining(X=X):
            (X,) = indexable(X)  # CSR from other sparse formats, an array from what cannot be indexed
        if _count(X) == 0:
            raise ValueError("X has no rows. Found array with 0 sample(s) while a minimum of 1 is required.")
        if y is not NO_TARGET:
            y = validate_data(self, X="no_validation", y=y, multi_output=self.multi_output)
            with Explaining(X=X, y=y):
                check_consistent_length(X, y)
        if getattr(X, "ndim", 2) == 2:  # after y, whose check forgets the names
            validate_data(self, X, skip_check_array=True, reset=reset)
        return X if y is NO_TARGET else (X, y)

    def _route(self, method: str, X: Any, sample_weight: Any, params: dict[str, Any]) -> dict[str, Any]:
        """Metadata to pass to the estimator's method."""
        if sample_weight is not None:
            params = {**params, "sample_weight": check_row_weights(sample_weight, X)}
        if not params:
            return {}
        if get_config()["enable_metadata_routing"]:
            return process_routing(self, method, **params).estimator[method]
        name = type(self.estimator).__name__
        for key in params:
            if key != "sample_weight":
                raise ValueError(
                    f"{key!r} can be passed to {name}.{method} only with metadata routing enabled."
                )
            if key not in inspect.signature(getattr(self.estimator, method)).parameters:
                raise ValueError(f"sample_weight was given, but {name}.{method} takes none.")
        return params

    def _fit_parts(self, X: Any, parts: Iterable[Part], count: int, params: dict[str, Any]) -> list[Any]:
        """Fit a clone of the estimator on each part."""
        tasks = Fit.of(self).tasks(count, self.task_name)
        pairwise = get_tags(self.estimator).input_tags.pairwise
        calls = (
            delayed(fit_part)(clone(self.estimator), X, part, params, pairwise, task)
            for part, task in zip(parts, tasks)
        )
        return self._parallel(calls, count)

    @property
    def n_classes_(self) -> int:
        """Number of classes."""
        return len(self.classes_)

    def get_metadata_routing(self) -> MetadataRouter:
        """Where metadata goes; see scikit-learn's guide to metadata routing.

        Returns
        -------
        MetadataRouter
        """
        mapping = MethodMapping().add(caller="fit", callee="fit")
        if hasattr(type(self), "partial_fit"):
            mapping.add(caller="partial_fit", callee="partial_fit")
        router = MetadataRouter(owner=self).add_self_request(self)
        return router.add(estimator=self.estimator, method_mapping=mapping)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator).input_tags
        tags.input_tags.pairwise, tags.input_tags.sparse = inner.pairwise, inner.sparse
        tags.input_tags.allow_nan, tags.input_tags.positive_only = inner.allow_nan, inner.positive_only
        return tags


class Upcoming(Sequence[Any]):
    """The first `count` items of an iterable, each made when it is taken: only those at work are in memory."""

    def __init__(self, items: Iterable[Any], count: int) -> None:
        self.items, self.size = iter(items), count
        self.lock, self.made, self.ready = threading.Lock(), 0, dict[int, Any]()

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, k: Any) -> Any:
        if k >= self.size:
            raise IndexError(k)
        with self.lock:
            while self.made <= k:
                self.ready[self.made] = next(self.items)
                self.made += 1
            return self.ready.pop(k)


def _call(call: Any, config: dict[str, Any]) -> Any:
    """A delayed call, under the scikit-learn configuration of the thread that asks for it."""
    function, given, named = call
    with config_context(**config):
        return function.function(*given, **named)


class Part:
    """Binary subproblem: its labels, and the rows it uses (None: all)."""

    def __init__(self, target: np.ndarray, rows: np.ndarray | None = None) -> None:
        self.target, self.rows = target, rows

    def cut(self, X: Any, params: dict[str, Any], pairwise: bool) -> tuple[Any, dict[str, Any]]:
        """X and the metadata on these rows; of a Gram matrix also these columns."""
        if self.rows is None:
            return X, params
        n = _count(X)
        params = {
            name: rows_at(value, self.rows) if np.shape(value)[:1] == (n,) else value
            for name, value in params.items()
        }
        X = rows_at(X, self.rows)
        return (columns_at(X, self.rows) if pairwise else X), params


def check_row_weights(sample_weight: Any, X: Any) -> np.ndarray:
    """Weights of the rows of X as finite numbers, one for each; the sub-estimators check their signs."""
    if isinstance(sample_weight, numbers.Number):
        sample_weight = np.full(_count(X), sample_weight)
    refuse_dates(sample_weight)
    weight = check_array(sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight")
    if weight.shape != (_count(X),):
        raise ValueError(f"sample_weight.shape == {weight.shape}, expected ({_count(X)},).")
    if weight.any() and weight.min() >= 0:  # the estimators say what else may be wrong
        check_mass(weight)
    return weight


def rows_at(X: Any, rows: np.ndarray) -> Any:
    """Some rows of an array, sparse matrix, frame or list."""
    if isinstance(X, list | tuple):
        return [X[i] for i in rows]
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def columns_at(X: Any, columns: np.ndarray) -> Any:
    """Some columns of an array, sparse matrix or frame."""
    if isinstance(X, list | tuple):
        X = np.asarray(X)
    twice = len(set(columns.tolist())) < len(columns)  # a frame must not have two columns of one name
    if hasattr(X, "iloc"):
        part = X.iloc[:, columns]
        return (
            part.set_axis([f"{name} {k}" for k, name in enumerate(part.columns)], axis=1) if twice else part
        )
    if hasattr(X, "get_columns") and twice:
        taken = X.get_columns()
        return type(X)([taken[j].alias(f"{taken[j].name} {k}") for k, j in enumerate(columns)])
    return X[:, columns]


def fit_part(estimator: Any, X: Any, part: Part, params: dict[str, Any], pairwise: bool, task: Task) -> Any:
    """Fit one binary estimator; a constant one where only one label occurs."""
    X, params = part.cut(X, params, pairwise)
    if np.all(part.target == part.target[0]):
        estimator, params = ConstantClassifier(), {}
    with one_blas_thread(), task.around(estimator):
        return estimator.fit(X, part.target, **params)


def partial_fit_part(estimator: Any, X: Any, part: Part, params: dict[str, Any]) -> Any:
    """Continue the fit of one binary estimator on a batch."""
    X, params = part.cut(X, params, False)
    with one_blas_thread():
        return estimator.partial_fit(X, part.target, classes=np.array([0, 1]), **params)


class ConstantClassifier(PublicPickle, CallbackSupport, ClassifierMixin, BaseEstimator):
    """Classifier that always predicts the single label it was fitted on."""

    fitted_shapes = {"y_": "1"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        check_fitted(self)

    def fit(self, X: Any, y: Any) -> Self:
        """Remember the label."""
        self.y_ = y[:1]
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The label, for every row."""
        return np.repeat(self.y_, _count(X))

    def decision_function(self, X: Any) -> np.ndarray:
        """1 for the positive label, -1 for the other."""
        return np.full(_count(X), 1.0 if self.y_[0] > 0 else -1.0)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability 1 for the label."""
        p = float(self.y_[0] > 0)
        return np.tile([1 - p, p], (_count(X), 1))


def _count(X: Any) -> int:
    return X.shape[0] if hasattr(X, "shape") else len(X)


def confidence(estimator: Any, X: Any, middle: float = 0.0) -> np.ndarray:
    """Signed score of a binary estimator, positive for the positive class.

    Scores as they are (up to 1e150, so that their squares can be added), probabilities less a half, and a
    regressor's predictions less the middle of its targets.
    """
    if is_regressor(estimator):
        return np.ravel(estimator.predict(X)) - middle
    if hasattr(estimator, "decision_function"):
        return np.clip(np.ravel(estimator.decision_function(X)).astype(np.float64), -1e150, 1e150)
    return estimator.predict_proba(X)[:, 1] - 0.5


def estimators_have(attribute: str) -> Callable[[Any], bool]:
    """For `available_if`: whether the fitted estimators, or the one to be fitted, can do something."""

    def check(meta: Any) -> bool:
        for estimator in getattr(meta, "estimators_", [meta.estimator]):
            getattr(estimator, attribute)  # its own AttributeError says what is missing
        return True

    return check
