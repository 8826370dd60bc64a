"""Base of ensembles of named estimators of any kind (异质集成): their parameters, fits and metadata."""

from __future__ import annotations

import inspect
import time
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from sklearn import get_config
from sklearn.base import TransformerMixin, is_classifier, is_regressor
from sklearn.utils import Bunch, assert_all_finite, column_or_1d, get_tags
from sklearn.utils.metadata_routing import UNUSED, MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_consistent_length

from tercet.core.estimator import check_is_fitted
from tercet.core.fitted_checks import Each, Having, Sizes
from tercet.core.input_errors import Explaining, refuse_containers, refuse_mixed_labels
from tercet.core.meta import MetaEstimator, check_row_weights
from tercet.core.parallel import one_blas_thread
from tercet.core.parameters import check_parameters
from tercet.core.steps import Task, with_callbacks
from tercet.core.validation import indexable

DROPPED = "drop"
Member = tuple[str, Any]


class HeterogeneousEnsemble(TransformerMixin, MetaEstimator):
    """Base of ensembles of named estimators; a subclass implements `_fit_all(X, y, params, given)`.

    `params` is the metadata of each member by name, `given` all metadata of the call.
    """

    __metadata_request__fit = {"sample_weight": UNUSED}

    estimators: list[Member]
    estimators_: list[Any]
    feature_names_in_: np.ndarray
    task_name = "fit-member"

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> Self:
        """Fit the members, and what combines them.

        Parameters
        ----------
        X : anything that the members take
            The training data.
        y : array of shape (n_samples,)
            The labels or targets.
        sample_weight : array of shape (n_samples,), optional
            How much each row counts; every member has to take weights.
        **fit_params
            More for the members' `fit`, when metadata routing is enabled.

        Returns
        -------
        self
        """
        check_parameters(self)
        if fit_params and not get_config()["enable_metadata_routing"]:
            raise ValueError(
                f"{type(self).__name__}.fit got {sorted(fit_params)}: what is not X, y or sample_weight "
                "is only supported if enable_metadata_routing=True is set."
            )
        self._check_members()
        refuse_containers(X=X)
        with Explaining(X=X):
            (X,) = indexable(X)
        given = {}
        if sample_weight is not None:
            given["sample_weight"] = check_row_weights(sample_weight, X)
        given.update(fit_params)
        with Explaining(X=X, y=y):
            check_consistent_length(X, y)
        params = self._route(given)
        with self._running(X, y, given):
            if y is None:
                raise ValueError(
                    f"This {type(self).__name__} estimator requires y to be passed, but the target y is None."
                )
            refuse_containers(y=y)
            refuse_mixed_labels(y)
            with Explaining(y=y):
                target = self._target(y)
            self._fit_all(X, target, params, given)
        return self

    def _fit_all(
        self, X: Any, y: np.ndarray, params: dict[str, dict[str, Any]], given: dict[str, Any]
    ) -> None:
        raise NotImplementedError(f"{type(self).__name__} has no _fit_all(X, y, params, given).")

    def _target(self, y: Any) -> np.ndarray:
        """y as the members get it: numbers here, indices of classes in a classifier."""
        y = column_or_1d(y, warn=True)
        y = y.astype(np.float64) if y.dtype.kind not in "fiub" else y  # None becomes NaN
        assert_all_finite(y, input_name="y")
        return y

    fitted_shapes = {"estimators_": Each(Having({}, ("predict",)), "members*")}

    def _check_fitted(self, sizes: Sizes) -> None:
        """Members of a loaded classifier answer with indices of its classes."""
        known = vars(self).get("classes_")
        if not isinstance(known, np.ndarray):
            return
        for member in [
            *self.estimators_,
            *([self.final_estimator_] if hasattr(self, "final_estimator_") else []),
        ]:
            own = np.asarray(getattr(member, "classes_", np.empty(0, np.int64)))
            wrong = own.dtype.kind not in "iu" or own.ndim != 1
            if wrong or (own.size and not 0 <= own.min() <= own.max() < len(known)):
                raise ValueError(
                    f"{type(self).__name__}: a member's classes_ are {own.tolist()[:5]}; expected are indices of "
                    f"the {len(known)} classes."
                )

    def _active(self) -> Iterator[Member]:
        """The members that are not dropped."""
        return ((name, member) for name, member in self.estimators if not is_dropped(member))

    def _check_members(self) -> None:
        """Refuse what is no list of named estimators of the right kind."""
        kind = type(self).__name__
        pairs = [item for item in self.estimators if isinstance(item, tuple | list) and len(item) == 2]
        if not pairs or len(pairs) < len(self.estimators) or not all(isinstance(n, str) for n, _ in pairs):
            raise ValueError(
                "Invalid 'estimators' attribute, 'estimators' should be a non-empty list of (string, estimator) "
                f"tuples; {kind} got {self.estimators!r}."
            )
        names = [name for name, _ in pairs]
        if len(set(names)) < len(names):
            raise ValueError(f"{kind}: Names provided are not unique: {names!r}.")
        taken = sorted(set(names) & set(self.get_params(deep=False)))
        if taken:
            raise ValueError(f"{kind}: Estimator names conflict with constructor arguments: {taken!r}.")
        nested = [name for name in names if "__" in name]
        if nested:
            raise ValueError(f"{kind}: Estimator names must not contain __: got {nested!r}.")
        if not list(self._active()):
            raise ValueError(
                f"{kind}: All estimators are dropped. At least one is required to be an estimator."
            )
        for name, member in self._active():
            self._check_member(name, member)

    def _check_member(self, name: str, member: Any) -> None:
        right, what = (is_classifier, "classifier") if is_classifier(self) else (is_regressor, "regressor")
        if not hasattr(member, "fit") or not right(member):
            raise ValueError(f"The estimator {type(member).__name__} ({name!r}) should be a {what}.")

    def _route(self, given: dict[str, Any]) -> dict[str, dict[str, Any]]:
        """Metadata for the `fit` of each member, by name."""
        names = [name for name, _ in self._active()]
        if not given:
            return {name: {} for name in names}
        if get_config()["enable_metadata_routing"]:
            routed = process_routing(self, "fit", **given)
            return {name: routed[name]["fit"] for name in names}
        for _, member in self._active():
            check_takes_weight(member)
        return {name: dict(given) for name in names}

    def _keep(self, fitted: list[Any]) -> None:
        """Set `estimators_`, `named_estimators_` and the names of the features."""
        self.estimators_ = fitted
        rest = iter(fitted)
        self.named_estimators_ = Bunch(
            **{name: member if is_dropped(member) else next(rest) for name, member in self.estimators}
        )
        if hasattr(self, "feature_names_in_"):  # of an earlier fit
            del self.feature_names_in_
        named = [member for member in fitted if hasattr(member, "feature_names_in_")]
        if named:
            self.feature_names_in_ = named[-1].feature_names_in_

    @property
    def n_features_in_(self) -> int:
        """Number of features that the first member has seen."""
        if not hasattr(self, "estimators_"):
            raise AttributeError(f"{type(self).__name__} object has no attribute n_features_in_")
        return self.estimators_[0].n_features_in_

    @property
    def named_estimators(self) -> Bunch:
        """The estimators by name, as they were given."""
        return Bunch(**dict(self.estimators))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters of this estimator and of its members, by name.

        Parameters
        ----------
        deep : bool, default=True
            Whether to give the members and their parameters, too: `lr` and `lr__C`.

        Returns
        -------
        params : dict
        """
        params = super().get_params(deep=deep)
        if deep:
            for name, member in named_members(self.estimators):
                params[name] = member
                if hasattr(member, "get_params") and not isinstance(member, type):
                    inner = member.get_params(deep=True)
                    params.update({f"{name}__{key}": value for key, value in inner.items()})
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters of this estimator, members by their names ("drop" leaves one out), and their parameters.

        Parameters
        ----------
        **params
            As `get_params` names them.

        Returns
        -------
        self
        """
        if "estimators" in params:  # first of all: the other names are of its members
            self.estimators = params.pop("estimators")
        members = named_members(self.estimators)
        new = {name: params.pop(name) for name, _ in members if name in params}
        if new:
            self.estimators = [(name, new.get(name, member)) for name, member in members]
        return super().set_params(**params)

    def get_metadata_routing(self) -> MetadataRouter:
        """Where metadata goes; see scikit-learn's guide to metadata routing.

        Returns
        -------
        MetadataRouter
        """
        router = MetadataRouter(owner=self)
        for name, member in self._active():
            router.add(method_mapping=MethodMapping().add(caller="fit", callee="fit"), **{name: member})
        return router

    def _names_out(self, names: list[str], widths: list[int], input_features: Any) -> np.ndarray:
        """Names of transformed columns: of the class, the member, and the column where it has several."""
        check_is_fitted(self, "estimators_")
        check_input_names(self, input_features)
        head = type(self).__name__.lower()
        found = [
            f"{head}_{name}{k if width > 1 else ''}"
            for name, width in zip(names, widths)
            for k in range(width)
        ]
        return np.asarray(found, dtype=object)

    def _sk_visual_block_(self) -> Any:  # drawn in a notebook
        from sklearn.utils._repr_html.estimator import _VisualBlock

        names, members = zip(*self.estimators)
        return _VisualBlock("parallel", members, names=names)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        members = [member for _, member in named_members(self.estimators) if hasattr(member, "fit")]
        if members:
            inner = [get_tags(member).input_tags for member in members]
            tags.input_tags.sparse = all(tag.sparse for tag in inner)
            tags.input_tags.allow_nan = all(tag.allow_nan for tag in inner)
            tags.input_tags.pairwise = all(tag.pairwise for tag in inner)
            tags.input_tags.positive_only = any(tag.positive_only for tag in inner)
        return tags


def is_dropped(member: Any) -> bool:
    """Whether a member is left out."""
    return isinstance(member, str) and member == DROPPED


def named_members(estimators: Any) -> list[Member]:
    """The pairs of a list of named estimators; none where it is something else, which `fit` refuses."""
    if not isinstance(estimators, list | tuple):
        return []
    pairs = [item for item in estimators if isinstance(item, tuple | list) and len(item) == 2]
    named = [(name, member) for name, member in pairs if isinstance(name, str)]
    return named if len(named) == len(estimators) else []


def check_takes_weight(estimator: Any) -> None:
    """Refuse an estimator whose `fit` has no place for sample weights."""
    parameters = inspect.signature(estimator.fit).parameters.values()
    if not any(p.name == "sample_weight" or p.kind is p.VAR_KEYWORD for p in parameters):
        raise TypeError(f"Underlying estimator {type(estimator).__name__} does not support sample weights.")


def check_input_names(estimator: Any, input_features: Any) -> None:
    """Refuse names of features other than those of the fit."""
    if input_features is None:
        return
    names = np.asarray(input_features, dtype=object)
    known = getattr(estimator, "feature_names_in_", None)
    if known is not None and not np.array_equal(known, names):
        raise ValueError("input_features is not equal to feature_names_in_")
    count = getattr(estimator, "n_features_in_", len(names))
    if len(names) != count:
        raise ValueError(
            f"input_features should have length equal to number of features ({count}), got {len(names)}"
        )


def fit_member(
    estimator: Any, X: Any, y: np.ndarray, params: dict[str, Any], task: Task, message: str = ""
) -> Any:
    """Fit one member on all rows; a message says how long it took."""
    begin = time.perf_counter()
    with one_blas_thread(), task.around(estimator):
        estimator.fit(X, y, **params)
    if message:
        end = f"{message}, total={time.perf_counter() - begin:6.1f}s"
        print(f"[Voting] {end.rjust(70, '.') if len(end) < 70 else end}")
    return estimator
