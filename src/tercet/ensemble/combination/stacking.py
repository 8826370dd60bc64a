"""Base of stacking: a second level that learns from the out-of-fold predictions of the first (学习法).

The text predicts the rows that the first level was fitted on, which overfits: the second level trusts the member
that overfits most. Here the predictions come from cross-validation.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import get_config
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.parallel import delayed

from tercet.core.estimator import check_is_fitted
from tercet.core.fitted_checks import Each, Having, OneOf
from tercet.core.parallel import one_blas_thread
from tercet.core.steps import Fit
from tercet.ensemble.combination.heterogeneous import (
    HeterogeneousEnsemble,
    check_input_names,
    check_takes_weight,
    fit_member,
)
from tercet.ensemble.combination.out_of_fold import columns, join_folds, partition, predict_fold

METHODS = ("predict_proba", "decision_function", "predict")


class Stacking(HeterogeneousEnsemble):
    """Base of ensembles whose members are combined by an estimator that learns from their outputs."""

    fitted_shapes = {
        "final_estimator_": Having({}, ("predict",)),
        "stack_method_": Each(OneOf(METHODS), "members*"),
    }

    final_estimator: Any
    final_estimator_: Any
    cv: Any
    passthrough: bool
    classes_: Any
    stack_method: str = "predict"
    stack_method_: list[str]

    def _default_final(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no _default_final().")

    def _final(self) -> Any:
        """A new estimator of the second level."""
        final = clone(self._default_final() if self.final_estimator is None else self.final_estimator)
        right, what = (is_classifier, "classifier") if is_classifier(self) else (is_regressor, "regressor")
        if not right(final):
            raise ValueError(f"'final_estimator' parameter should be a {what}. Got {final!r}.")
        return final

    @property
    def _prefit(self) -> bool:
        """Whether the members come fitted."""
        return isinstance(self.cv, str) and self.cv == "prefit"

    def _route(self, given: dict[str, Any]) -> dict[str, dict[str, Any]]:
        return {} if self._prefit else super()._route(given)

    def _fit_all(
        self, X: Any, y: np.ndarray, params: dict[str, dict[str, Any]], given: dict[str, Any]
    ) -> None:
        final = self._final()
        if given and not get_config()["enable_metadata_routing"]:
            check_takes_weight(final)
        members = list(self._active())
        methods = [_method(name, member, self.stack_method) for name, member in members]
        if self._prefit:
            for _, member in members:
                check_is_fitted(member)
            fitted = [member for _, member in members]
            (task,) = Fit.of(self).tasks(1, self.task_name)
            classes = getattr(self, "classes_", None)
            blocks = [columns(member, X, name, classes) for member, name in zip(fitted, methods)]
        else:
            *tasks, task = Fit.of(self).tasks(len(members) + 1, self.task_name)
            fitted, blocks = self._fit_and_predict_folds(X, y, methods, params, tasks)
        self._keep(fitted)
        self.stack_method_ = methods
        self._widths = [block.shape[1] for block in blocks]
        self.final_estimator_ = fit_member(final, self._stack(X, blocks), y, given, task)

    def _fit_and_predict_folds(
        self, X: Any, y: np.ndarray, methods: list[str], params: dict[str, Any], tasks: list[Any]
    ) -> tuple[list[Any], list[np.ndarray]]:
        """The members fitted on all rows, and the out-of-fold outputs of their clones."""
        members = list(self._active())
        splits = partition(self, X, y, is_classifier(self))
        classes = getattr(self, "classes_", None)
        whole = (
            delayed(fit_member)(clone(member), X, y, params[name], task)
            for (name, member), task in zip(members, tasks)
        )
        held_out = (
            delayed(predict_fold)(clone(member), X, y, split, method, params[name], classes)
            for (name, member), method in zip(members, methods)
            for split in splits
        )
        done = self._parallel(itertools.chain(whole, held_out), len(members) * (1 + len(splits)))
        k, fitted, parts = len(splits), done[: len(members)], done[len(members) :]
        blocks = [join_folds(name, parts[i * k : (i + 1) * k], splits) for i, (name, _) in enumerate(members)]
        return fitted, blocks

    def _stack(self, X: Any, blocks: list[np.ndarray]) -> Any:
        """The rows of the second level: the members' outputs, and X itself where it is passed through."""
        if not self.passthrough:
            return np.hstack(blocks)
        if sparse.issparse(X):
            return sparse.hstack([*blocks, X], format=X.format)
        return np.hstack([*blocks, X])

    def _level_two(self, X: Any) -> Any:
        check_is_fitted(self)
        classes = getattr(self, "classes_", None)
        pairs = zip(self.estimators_, self.stack_method_)
        with one_blas_thread():
            return self._stack(X, [columns(member, X, method, classes) for member, method in pairs])

    def transform(self, X: Any) -> Any:
        """Outputs of the members, which the final estimator learns from.

        Parameters
        ----------
        X : anything that the members take
            The data.

        Returns
        -------
        Z : array or sparse matrix of shape (n_samples, n_columns)
        """
        return self._level_two(X)

    def _predict(self, X: Any, params: dict[str, Any]) -> Any:
        if params and get_config()["enable_metadata_routing"]:
            params = process_routing(self, "predict", **params).final_estimator_["predict"]
        return self._ask_final("predict", X, **params)

    def _ask_final(self, method: str, X: Any, **params: Any) -> Any:
        Z = self._level_two(X)
        return getattr(self.final_estimator_, method)(Z, **params)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns of `transform`.

        Parameters
        ----------
        input_features : array of str, optional
            Names of the features, for those that are passed through; by default those of the fit, or x0, x1, ...

        Returns
        -------
        names : array of str
        """
        check_is_fitted(self, "estimators_")
        found = self._names_out([name for name, _ in self._active()], self._widths, input_features)
        if not self.passthrough:
            return found
        check_input_names(self, input_features)
        if input_features is None:
            generated = [f"x{k}" for k in range(self.n_features_in_)]
            input_features = getattr(self, "feature_names_in_", generated)
        return np.concatenate([found, np.asarray(input_features, dtype=object)])

    def get_metadata_routing(self) -> MetadataRouter:
        """Where metadata goes; see scikit-learn's guide to metadata routing.

        Returns
        -------
        MetadataRouter
        """
        final = getattr(self, "final_estimator_", self.final_estimator)
        mapping = MethodMapping().add(caller="predict", callee="predict")
        return super().get_metadata_routing().add(final_estimator_=final, method_mapping=mapping)

    def _sk_visual_block_(self) -> Any:  # drawn in a notebook
        from sklearn.utils._repr_html.estimator import _VisualBlock

        names, members = zip(*self.estimators)
        first = _VisualBlock("parallel", members, names=names, dash_wrapped=False)
        final = self._default_final() if self.final_estimator is None else self.final_estimator
        second = _VisualBlock("parallel", [final], names=["final_estimator"], dash_wrapped=False)
        return _VisualBlock("serial", (first, second), dash_wrapped=False)


def _method(name: str, member: Any, wanted: str) -> str:
    """The method whose output the second level gets."""
    for found in METHODS if wanted == "auto" else (wanted,):
        if hasattr(member, found):
            return found
    raise ValueError(f"Underlying estimator {name} does not implement the method {wanted}.")


def final_has(attribute: str) -> Any:
    """For `available_if`: whether the fitted final estimator, or the one to be fitted, can do something."""

    def check(stack: Stacking) -> bool:
        final = getattr(stack, "final_estimator_", stack.final_estimator)
        getattr(stack._default_final() if final is None else final, attribute)
        return True

    return check
