"""Base class of bagging: members fitted side by side on samples of the rows and of the columns.

Watermelon notes ch. 6.
"""

from __future__ import annotations

import inspect
import numbers
import warnings
from typing import Annotated, Any, Self

import numpy as np
from sklearn import config_context, get_config
from sklearn.base import ClassifierMixin
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    get_routing_for_object,
    process_routing,
)

from tercet.core.callbacks import EarlyStopping
from tercet.core.estimator import NO_TARGET, check_is_fitted, generator
from tercet.core.fitted_checks import Each, Floats, Having, Indices, Sizes, Whole
from tercet.core.meta import columns_at, rows_at
from tercet.core.parallel import each, engine
from tercet.core.parameters import Count, Range
from tercet.ensemble.base import BaseEnsemble, check_drawn, rows_of_sample, takes_weights
from tercet.ensemble.member_checks import check_member_widths

OUT_OF_BAG = ("oob_score_", "oob_decision_function_", "oob_prediction_")
HELD_OUT_PRUNINGS = ("reduced_error", "pre", "validation")
CountOrShare = Count | Annotated[float, Range(0, 1, "(]")]


class BaseBagging(BaseEnsemble):
    """Base class of bagging.

    Every member has its own seed, which decides its rows, its columns and its own random state; the seeds come from
    `random_state` in the order of the members. Members that take weights get how often each row was drawn.
    """

    n_estimators: Any
    max_samples: Any
    max_features: Any
    bootstrap: Any
    bootstrap_features: Any
    oob_score: Any
    oob_use: Any
    warm_start: Any
    n_jobs: Any
    random_state: Any
    verbose: Any
    param_distributions: Any
    estimators_features_: list[np.ndarray]

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        checked = super()._check(X, y, reset=reset)
        shape = np.shape(checked if y is NO_TARGET else checked[0])
        if len(shape) != 2:
            raise ValueError(
                f"{type(self).__name__}: Expected 2D array X, got an array of shape {shape}. Reshape your data: "
                "X.reshape(-1, 1) is one column, X.reshape(1, -1) is one row."
            )
        if shape[1] == 0:
            raise ValueError(
                f"{type(self).__name__}: X has 0 feature(s) (shape={shape}) while a minimum of 1 is required."
            )
        return checked

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> Self:
        """Fit the members on samples of the rows and of the columns.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            The training data: anything with rows and columns that the members take.
        y : array of shape (n_samples,)
            The labels or targets.
        sample_weight : array of shape (n_samples,), optional
            Rows are drawn in proportion to it.
        **fit_params
            More for the members' `fit`, when metadata routing is enabled.

        Returns
        -------
        self
        """
        return self._learn(X, y, sample_weight, params=self._routed("fit", fit_params).get("fit", {}))

    def _fit(
        self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None, params: dict[str, Any] | None = None
    ) -> None:
        self.estimator_ = self._base()
        if sample_weight is not None and not self.bootstrap:
            warnings.warn(
                f"When fitting {type(self).__name__} with sample_weight it is recommended to use bootstrap=True: "
                "rows that are drawn without replacement do not follow their weights.",
                stacklevel=4,
            )
        self._n_rows, self._draw_weight = X.shape[0], sample_weight
        self._n_drawn = self._rows_drawn(X.shape[0], sample_weight)
        self._n_columns = self._columns_drawn(X.shape[1])
        kept = self._kept_members()
        self._check_oob_use(X.shape[0])
        for name in OUT_OF_BAG:  # of an earlier fit
            self.__dict__.pop(name, None)
        self._seeds = generator(self.random_state).integers(2**31 - 1, size=self.n_estimators)
        target, config = self._decode(y), get_config()

        def fitted(seed: Any) -> tuple[Any, np.ndarray]:
            with config_context(**config):  # which belongs to a thread
                return self._fitted_member(X, target, int(seed), params or {})

        new = engine(self.n_jobs).map(fitted, self._seeds[len(kept) :], ())
        members = list(kept)
        columns = list(self.estimators_features_[: len(kept)]) if kept else []
        for step in self.steps(self.n_estimators - len(kept), name="member", unpack=self._state):
            member, features = next(new)
            members.append(member)
            columns.append(features)
            step.report((len(members), members, columns))
        self.__dict__.update(self._state((len(members), members, columns)))
        if self.oob_score:
            self._score_out_of_bag(X, y)

    def _state(self, state: tuple[int, list[Any], list[np.ndarray]]) -> dict[str, Any]:
        """The fitted attributes after so many members."""
        count, members, columns = state
        return {"estimators_": members[:count], "estimators_features_": columns[:count]}

    def _fitted_member(
        self, X: Any, y: np.ndarray, seed: int, params: dict[str, Any]
    ) -> tuple[Any, np.ndarray]:
        """The member of a seed, and its columns."""
        n, columns, rows = X.shape[0], self._drawn_columns(seed, X.shape[1]), self._drawn_rows(seed)
        member = self._member(np.random.default_rng([seed, 3])).set_params(**self._drawn_parameters(seed))
        part = X if self._takes_all(columns, X.shape[1]) else columns_at(X, columns)
        counts = np.bincount(rows, minlength=n).astype(np.float64)
        own_callbacks = list(getattr(member, "_skl_callbacks", ()))
        params = {**params, **self._held_out(member, part, y, counts)}
        if consumes_weights(member):
            member.fit(part, y, **{**params, "sample_weight": counts})
        else:
            own = {
                name: rows_at(value, rows) if np.shape(value)[:1] == (n,) else value
                for name, value in params.items()
            }
            member.fit(rows_at(part, rows), y[rows], **own)
        if self.oob_use == "early_stopping" and hasattr(member, "set_callbacks"):
            member.set_callbacks(*own_callbacks)  # the added one holds rows
        return member, columns

    def _held_out(self, member: Any, X: Any, y: np.ndarray, counts: np.ndarray) -> dict[str, Any]:
        """What `fit` of a member gets so that it uses its out-of-bag rows; a member may be set to use them, too."""
        if self.oob_use is None:
            return {}
        left = counts == 0 if self._draw_weight is None else (counts == 0) & (self._draw_weight > 0)
        if isinstance(self, ClassifierMixin):  # classes that the member does not see tell it nothing
            left &= np.isin(y, y[counts > 0])
        held = np.flatnonzero(left)
        if not held.size:
            if self.oob_use == "prune":
                member.set_params(pruning=None)
            return {}
        given = rows_at(X, held), y[held]
        if self.oob_use == "prune" and member.pruning is None:
            member.set_params(pruning="reduced_error")
        elif not takes_held_out_rows(member):
            watchers = [*getattr(member, "_skl_callbacks", ()), EarlyStopping(validation_data=given)]
            member.set_callbacks(*watchers)
            return {}
        return dict(zip(("X_val", "y_val"), given))

    def _check_oob_use(self, n: int) -> None:
        """Refuse members that can make no use of out-of-bag rows, and samples that leave none."""
        if self.oob_use is None:
            return
        name = f"{type(self).__name__}: oob_use={self.oob_use!r}"
        if not self.bootstrap and self._n_drawn >= n:
            raise ValueError(
                f"{name} needs rows that are not drawn. Use bootstrap=True, or a smaller max_samples."
            )
        trouble = oob_trouble(self.estimator_, self.oob_use)
        if trouble:
            raise ValueError(f"{name}: the members ({type(self.estimator_).__name__}) {trouble}")
        if self.oob_score:
            warnings.warn(
                f"{name}: the out-of-bag rows have a part in the members, so that oob_score_ is too good. Use rows "
                "that are held out.",
                stacklevel=5,
            )

    def _routed(self, method: str, params: dict[str, Any]) -> Any:
        """Metadata for the methods of the members, by name of the method."""
        if not params:
            return {}
        if not get_config()["enable_metadata_routing"]:
            raise ValueError(
                f"{type(self).__name__}.{method} got {sorted(params)}: that is only supported if "
                "enable_metadata_routing=True is set."
            )
        return process_routing(self, method, **params).estimator

    def get_metadata_routing(self) -> MetadataRouter:
        """Where metadata goes; see scikit-learn's guide to metadata routing.

        Returns
        -------
        MetadataRouter
        """
        base = self._base()
        asked = "predict_proba" if hasattr(base, "predict_proba") else "predict"
        logs = "predict_log_proba" if hasattr(base, "predict_log_proba") else asked
        mapping = MethodMapping().add(caller="fit", callee="fit")
        mapping.add(caller="decision_function", callee="decision_function")
        mapping.add(caller="predict", callee=asked).add(caller="predict_proba", callee=asked)
        mapping.add(caller="predict_log_proba", callee=logs)
        return MetadataRouter(owner=self).add(estimator=base, method_mapping=mapping)

    def _drawn_parameters(self, seed: int) -> dict[str, Any]:
        """The values that the member of a seed has for the parameters that are perturbed."""
        random = np.random.default_rng([seed, 4])
        asked: dict[str, Any] = self.param_distributions or {}
        empty = [name for name, values in asked.items() if not hasattr(values, "rvs") and not len(values)]
        if empty:
            raise ValueError(
                f"{type(self).__name__}: param_distributions has no values for {empty[0]!r}; expected is a "
                "list, or a distribution with rvs."
            )
        return {
            name: values.rvs(random_state=random)
            if hasattr(values, "rvs")
            else values[random.integers(len(values))]
            for name, values in sorted(asked.items())
        }

    def _takes_all(self, columns: np.ndarray, d: int) -> bool:
        return not self.bootstrap_features and len(columns) == d

    fitted_shapes = {
        "estimators_": Each(Having({}, ("predict",)), "members"),
        "estimators_features_": Each(Indices("columns", below="features"), "members"),
        "_n_rows": Whole("rows", 1),
        "_n_drawn": Whole(low=1),
        "_n_columns": Whole("columns", 1),
        "_draw_weight": Floats("rows | None", finite=True, low=0.0),
        "_seeds": Indices("seeds", below="2147483647"),
    }

    def _check_fitted(self, sizes: Sizes) -> None:
        if "estimators_" not in vars(self):
            return
        if len(self._seeds) < len(self.estimators_):
            raise ValueError(
                f"{type(self).__name__}: there are {len(self._seeds)} seeds for {len(self.estimators_)} members."
            )
        check_member_widths(type(self).__name__, self.estimators_, sizes.get("columns"))

    def _drawn_rows(self, seed: int) -> np.ndarray:
        """The rows of the member of a seed."""
        random = np.random.default_rng([seed, 1])
        if self._draw_weight is None and self.bootstrap:
            return random.integers(self._n_rows, size=self._n_drawn)
        p = None if self._draw_weight is None else self._draw_weight / self._draw_weight.sum()
        return random.choice(self._n_rows, self._n_drawn, replace=bool(self.bootstrap), p=p)

    def _drawn_columns(self, seed: int, d: int) -> np.ndarray:
        """The columns of the member of a seed."""
        if not self.bootstrap_features and self._n_columns == d:
            return np.arange(d)
        random = np.random.default_rng([seed, 2])
        return random.choice(d, self._n_columns, replace=bool(self.bootstrap_features))

    def _rows_drawn(self, n: int, weight: np.ndarray | None) -> int:
        """How many rows a member gets."""
        most = n if weight is None else int((weight / weight.sum() > 0).sum())  # rows that can be drawn
        if self.max_samples is None:
            return n if self.bootstrap else most
        count = rows_of_sample(self.max_samples, n, weight)
        if not self.bootstrap and count > most:
            raise ValueError(
                f"{type(self).__name__}: Effective max_samples={count} must be <= n_samples={most} to be able to "
                f"sample without replacement. (bootstrap=False, max_samples={self.max_samples!r})"
            )
        return check_drawn(self, count, n)

    def _columns_drawn(self, d: int) -> int:
        """How many columns a member gets."""
        asked = self.max_features
        count = int(asked) if isinstance(asked, numbers.Integral) else max(1, int(asked * d))
        if count > d and not self.bootstrap_features:
            raise ValueError(f"{type(self).__name__}: max_features must be <= n_features={d}; got {count}.")
        return count

    def _kept_members(self) -> list[Any]:
        """The members of an earlier fit, with `warm_start`."""
        name = type(self).__name__
        if self.oob_score and not self.bootstrap:
            raise ValueError(f"{name}: Out of bag estimation only available if bootstrap=True.")
        if self.oob_score and self.warm_start:
            raise ValueError(f"{name}: Out of bag estimate only available if warm_start=False.")
        kept = list(getattr(self, "estimators_", [])) if self.warm_start else []
        if self.n_estimators < len(kept):
            raise ValueError(
                f"{name}: n_estimators={self.n_estimators} must be larger or equal to len(estimators_)={len(kept)} "
                "when warm_start==True"
            )
        if kept and self.n_estimators == len(kept):
            warnings.warn(
                "Warm-start fitting without increasing n_estimators does not fit new trees.", stacklevel=4
            )
        return kept

    def _decode(self, y: np.ndarray) -> np.ndarray:
        """Targets as the members get them."""
        return y

    def _answers(self, answer: Any, X: Any) -> list[Any]:
        """`answer(m, rows)` of each member m."""
        check_is_fitted(self)
        X, config = self._check(X, reset=False), get_config()

        def of_member(m: int) -> Any:
            with config_context(**config):
                return answer(m, X)

        return each(of_member, range(len(self.estimators_)), n_jobs=self.n_jobs)

    def _rows_for(self, X: Any, m: int) -> Any:
        """The columns of the rows that member m looks at."""
        columns = self.estimators_features_[m]
        return X if self._takes_all(columns, X.shape[1]) else columns_at(X, columns)

    @property
    def estimators_samples_(self) -> list[np.ndarray]:
        """The rows that each member was fitted on."""
        check_is_fitted(self)
        return [self._drawn_rows(int(seed)) for seed in self._seeds[: len(self.estimators_)]]

    def _score_out_of_bag(self, X: Any, y: np.ndarray) -> None:
        raise NotImplementedError

    def _out_of_bag(self, X: Any, answer: Any, width: int) -> tuple[np.ndarray, np.ndarray]:
        """Sums of `answer(m, rows)` over the members that did not see a row, and how many they are."""
        n = X.shape[0]
        sums, votes = np.zeros((n, width)), np.zeros(n)
        for m, seen in enumerate(self.estimators_samples_):
            rows = np.setdiff1d(np.arange(n), seen)
            if rows.size:
                sums[rows] += answer(m, rows_at(X, rows))
                votes[rows] += 1
        if not votes.all():
            warnings.warn(
                "Some inputs do not have OOB scores. This probably means too few estimators were used to compute "
                "any reliable oob estimates.",
                UserWarning,
                stacklevel=6,
            )
        return sums, votes


def consumes_weights(estimator: Any) -> bool:
    """Whether a member gets how often each row was drawn as weights; else it gets the rows themselves."""
    if get_config()["enable_metadata_routing"]:
        return bool(get_routing_for_object(estimator).consumes("fit", ("sample_weight",)))
    return takes_weights(estimator)


def takes_held_out_rows(member: Any) -> bool:
    """Whether `fit` takes rows to prune or to stop by."""
    return {"X_val", "y_val"} <= set(inspect.signature(member.fit).parameters)


def oob_trouble(member: Any, use: str) -> str:
    """Why members can make no use of out-of-bag rows, and what can; "" where they can.

    Examples
    --------
    >>> from tercet.tree import DecisionTreeClassifier
    >>> oob_trouble(DecisionTreeClassifier(), "prune")
    ''
    >>> oob_trouble(DecisionTreeClassifier(), "early_stopping")
    "do not learn in rounds. Use oob_use='prune'."
    """
    params = member.get_params(deep=False)
    prunes = "pruning" in params and takes_held_out_rows(member)
    if use == "prune":
        if not prunes:
            return "cannot be pruned. Use decision trees of tercet, such as DecisionTreeClassifier()."
        if params["pruning"] not in (None, *HELD_OUT_PRUNINGS):
            return (
                f"have pruning={params['pruning']!r}, which looks at no held-out rows; it can be one of "
                + (f"{list(HELD_OUT_PRUNINGS)} or None, which stands for the first.")
            )
        return ""
    if prunes:
        return "do not learn in rounds. Use oob_use='prune'."
    if takes_held_out_rows(member):
        if params.get("early_stopping") is False:
            return "have early_stopping=False. Use early_stopping=True."
        return (
            "have n_iter_no_change=None. Use a number." if params.get("n_iter_no_change", 1) is None else ""
        )
    if not hasattr(member, "set_callbacks"):
        return "neither take X_val and y_val in fit nor follow callbacks: they cannot stop on rows that are given."
    return ""
