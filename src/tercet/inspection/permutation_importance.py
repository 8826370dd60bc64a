"""Permutation importance (置换重要性): how much the score falls when the values of a column change places."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.metrics import check_scoring
from sklearn.utils import Bunch
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from tercet.core.estimator import generator
from tercet.core.meta import columns_at, rows_at
from tercet.core.parallel import each
from tercet.ensemble import BaggingClassifier, BaggingRegressor
from tercet.inspection.columns import as_table, column_at, with_columns
from tercet.inspection.tree_sums import FORESTS


def permutation_importance(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    scoring: Any = None,
    n_repeats: int = 5,
    n_jobs: int | None = None,
    random_state: Any = None,
    sample_weight: Any = None,
    max_samples: Any = 1.0,
) -> Any:
    """How much the score of an estimator falls when the values of a column change places.

    Rows that the estimator was not fitted on tell what it relies on for new rows.

    Parameters
    ----------
    estimator : fitted estimator
        Any that the scoring can score.
    X : array, frame or sparse matrix of shape (n_samples, n_features)
        The rows.
    y : array of shape (n_samples,) or (n_samples, n_outputs), or None
        Their targets.
    scoring : str, callable, list, tuple or dict, optional
        The score, or several by their names; by default the estimator's own `score`.
    n_repeats : int, default=5
        How often each column is permuted.
    n_jobs : int, optional
        Threads, over columns. The result does not depend on it.
    random_state : int, optional
        Decides the permutations.
    sample_weight : array of shape (n_samples,), optional
        How much each row counts for the score.
    max_samples : int or float, default=1.0
        How many rows each repetition draws, without replacement; a float is a fraction.

    Returns
    -------
    Bunch, or a dict of them for several scores
        `importances` of shape (n_features, n_repeats), with `importances_mean` and `importances_std`.

    Examples
    --------
    >>> from tercet.tree import DecisionTreeClassifier
    >>> X, y = [[0, 3], [1, 3], [2, 3], [3, 3]], [0, 0, 1, 1]
    >>> found = permutation_importance(DecisionTreeClassifier().fit(X, y), X, y, random_state=0)
    >>> found.importances.shape, found.importances_mean[1].item()
    ((2, 5), 0.0)
    """
    if not isinstance(n_repeats, numbers.Integral) or n_repeats < 1:
        raise ValueError(f"n_repeats must be an integer of at least 1; got {n_repeats!r}.")
    table = as_table(X)
    check_consistent_length(table, y, sample_weight)
    n, d = table.shape
    count = _rows_drawn(max_samples, n)
    scorer = check_scoring(estimator, scoring=scoring)
    weight = None if sample_weight is None else np.asarray(sample_weight)
    base = scorer(estimator, table, y, **({} if weight is None else {"sample_weight": weight}))
    seed = int(generator(random_state).integers(2**31 - 1))

    def column_scores(j: int) -> list[Any]:
        random, found = np.random.default_rng([seed, j]), []
        for _ in range(n_repeats):
            rows = np.arange(n) if count == n else random.choice(n, count, replace=False)
            drawn = table if count == n else rows_at(table, rows)
            shuffled = with_columns(drawn, {j: column_at(drawn, j)[random.permutation(count)]})
            target = None if y is None else y if count == n else rows_at(y, rows)
            mass = {} if weight is None else {"sample_weight": weight[rows]}
            found.append(scorer(estimator, shuffled, target, **mass))
        return found

    scores = each(column_scores, range(d), n_jobs=n_jobs)
    if not isinstance(base, dict):
        return _importances(base - np.array(scores, dtype=float))
    return {
        name: _importances(base[name] - np.array([[one[name] for one in line] for line in scores]))
        for name in base
    }


def _rows_drawn(max_samples: Any, n: int) -> int:
    if isinstance(max_samples, int | np.integer) and not isinstance(max_samples, bool):
        if 1 <= max_samples <= n:
            return int(max_samples)
        raise ValueError(f"max_samples must be <= n_samples={n} and at least 1; got {max_samples}.")
    if not isinstance(max_samples, float | np.floating) or not 0 < max_samples <= 1:
        raise ValueError(f"max_samples must be an int, or a float in (0, 1]; got {max_samples!r}.")
    return max(1, int(max_samples * n))


def _importances(importances: np.ndarray) -> Bunch:
    return Bunch(
        importances_mean=importances.mean(axis=1),
        importances_std=importances.std(axis=1),
        importances=importances,
    )


def out_of_bag_importance(
    model: Any, X: Any, y: Any, *, n_repeats: int = 1, random_state: Any = None, n_jobs: int | None = None
) -> Bunch:
    """Breiman's permutation importance: each member of an ensemble is asked about the rows it has not seen.

    For every member the error on its out-of-bag rows is compared with the error when the values of a column change
    places among them: the share of wrong classes, or the mean squared error. No other rows are needed.

    Parameters
    ----------
    model : fitted random forest, extra trees or bagging
        With `bootstrap=True`.
    X : array, frame or sparse matrix of shape (n_samples, n_features)
        The rows that it was fitted on, in their order.
    y : array of shape (n_samples,)
        Their targets.
    n_repeats : int, default=1
        How often each column is permuted for each member.
    random_state : int, optional
        Decides the permutations.
    n_jobs : int, optional
        Threads, over members. The result does not depend on it.

    Returns
    -------
    Bunch
        `importances` of shape (n_features, n_members), `importances_mean`, `importances_std`, and `z_scores`, the
        means over their standard errors.

    Examples
    --------
    >>> from tercet.ensemble import RandomForestRegressor
    >>> X = np.column_stack([np.arange(40.0), np.arange(40.0) % 3])
    >>> forest = RandomForestRegressor(20, random_state=0).fit(X, X[:, 0] ** 2)
    >>> means = out_of_bag_importance(forest, X, X[:, 0] ** 2, random_state=0).importances_mean
    >>> bool(means[0] > 100 * means[1])
    True
    """
    if not isinstance(model, (*FORESTS, BaggingClassifier, BaggingRegressor)):
        raise TypeError(
            f"{type(model).__name__} has no out-of-bag rows; random forests, extra trees and bagging have."
        )
    check_is_fitted(model)
    name = type(model).__name__
    if not model.bootstrap:
        raise ValueError(f"{name}: out-of-bag rows need bootstrap=True; got bootstrap={model.bootstrap}.")
    if not isinstance(n_repeats, numbers.Integral) or n_repeats < 1:
        raise ValueError(f"n_repeats must be an integer of at least 1; got {n_repeats!r}.")
    rows, target, errors = _member_errors(model, X, y)
    samples = model.estimators_samples_
    seed = int(generator(random_state).integers(2**31 - 1))

    def member_importances(m: int) -> np.ndarray:
        out = np.setdiff1d(np.arange(rows.shape[0]), samples[m])
        found = np.zeros(rows.shape[1])
        if not out.size:
            return found
        part, truth = rows_at(rows, out), target[out]
        base = errors(m, part, truth)
        for j in _used_columns(model, m, rows.shape[1]):
            random = np.random.default_rng([seed, m, j])
            for _ in range(n_repeats):
                shuffled = with_columns(part, {j: column_at(part, j)[random.permutation(out.size)]})
                found[j] += (errors(m, shuffled, truth) - base) / n_repeats
        return found

    found = _importances(np.column_stack(each(member_importances, range(len(samples)), n_jobs=n_jobs)))
    spread = found.importances_std / np.sqrt(len(samples))
    found.z_scores = np.divide(found.importances_mean, spread, out=np.zeros(len(spread)), where=spread > 0)
    return found


def _member_errors(model: Any, X: Any, y: Any) -> tuple[Any, np.ndarray, Any]:
    """Rows, targets, and a function of a member, rows and targets that gives the member's error."""
    target = np.asarray(y)
    if target.ndim != 1:
        raise ValueError(f"{type(model).__name__}: y must be one column; it has the shape {target.shape}.")
    forest, classes = isinstance(model, FORESTS), isinstance(model, ClassifierMixin)
    rows = model._dense(model._check(X, reset=False)) if forest else as_table(X)
    if rows.shape[0] != model._n_rows or len(target) != model._n_rows:
        raise ValueError(
            f"{type(model).__name__}: X and y must be the {model._n_rows} rows that it was fitted on; got "
            f"{rows.shape[0]} rows and {len(target)} targets."
        )

    def predict(m: int, part: Any) -> np.ndarray:
        member = model.estimators_[m]
        if not forest:
            columns = model.estimators_features_[m]
            whole = len(columns) == rows.shape[1] and not model.bootstrap_features
            return np.asarray(member.predict(part if whole else columns_at(part, columns)))
        value = member.tree_.predict(part)[:, 0]
        return model.classes_[value.argmax(axis=1)] if classes else value[:, 0]

    def errors(m: int, part: Any, truth: np.ndarray) -> float:
        predicted = predict(m, part)
        return float(np.mean(predicted != truth) if classes else np.mean((predicted - truth) ** 2))

    return rows, target, errors


def _used_columns(model: Any, m: int, d: int) -> list[int]:
    """The columns that a member can tell apart; permuting another changes nothing."""
    member = model.estimators_[m]
    seen = np.arange(d) if isinstance(model, FORESTS) else np.asarray(model.estimators_features_[m])
    tested = getattr(getattr(member, "tree_", None), "feature", None)
    return sorted(
        {int(seen[j]) for j in (np.unique(tested[tested >= 0]) if tested is not None else range(len(seen)))}
    )
