"""Partial dependence (部分依赖) and individual conditional expectation (ICE)."""

from __future__ import annotations

from itertools import product
from typing import Any, Literal

import numpy as np
from scipy.stats.mstats import mquantiles
from sklearn.base import is_classifier, is_regressor
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from tercet.core.estimator import check_weight
from tercet.core.meta import rows_at
from tercet.core.parallel import each
from tercet.ensemble import RandomForestRegressor
from tercet.inspection.columns import as_table, column_at, column_index, with_columns
from tercet.inspection.contributions import known_scores
from tercet.inspection.tree_sums import GRADIENT_BOOSTING, HISTOGRAM_BOOSTING, additive_trees
from tercet.tree import BaseDecisionTree


def partial_dependence(
    estimator: Any,
    X: Any,
    features: Any,
    *,
    sample_weight: Any = None,
    categorical_features: Any = None,
    feature_names: Any = None,
    response_method: Literal["auto", "predict_proba", "decision_function"] = "auto",
    percentiles: tuple[float, float] = (0.05, 0.95),
    grid_resolution: int = 100,
    custom_values: dict[Any, Any] | None = None,
    method: Literal["auto", "recursion", "brute"] = "auto",
    kind: Literal["average", "individual", "both"] = "average",
    n_jobs: int | None = None,
) -> Bunch:
    """The mean response when some features have given values and the others are as they are in X.

    Parameters
    ----------
    estimator : fitted classifier or regressor
        Any; of trees, see `method`.
    X : array, frame or sparse matrix of shape (n_samples, n_features)
        The rows, from which the values of the grid come, too.
    features : int, str, or sequence of them
        The column, or the columns whose values are combined, by place or name.
    sample_weight : array of shape (n_samples,), optional
        How much each row counts for the mean.
    categorical_features : mask, or sequence of places or names, optional
        Columns all of whose values are on the grid. Strings and a frame's categories always are.
    feature_names : sequence of str, optional
        The names of the columns of an array.
    response_method : {"auto", "predict_proba", "decision_function"}, default="auto"
        The response of a classifier; "auto" takes the first of the two that it has. Of two classes it is that of
        the second.
    percentiles : pair of float, default=(0.05, 0.95)
        The quantiles of a column that its grid begins and ends at.
    grid_resolution : int, default=100
        How many values the grid of a column has; one with fewer different values has those.
    custom_values : dict, optional
        The values of the grid for some features.
    method : {"auto", "recursion", "brute"}, default="auto"
        "brute" asks for predictions of all rows at every point of the grid. "recursion", for models of trees,
        goes through the trees once for each point and follows all branches where another feature is tested, by
        their shares of the training rows; the response is that of `additive_trees`, the start of boosting
        included (scikit-learn leaves that constant out). "auto" chooses it for boosting
        and for regression trees and forests, when no `sample_weight` is given and the kind is "average".
    kind : {"average", "individual", "both"}, default="average"
        The mean over the rows, a curve for each of them (ICE), or both.
    n_jobs : int, optional
        Threads. The result does not depend on it.

    Returns
    -------
    Bunch
        `grid_values`, a list of the values of each feature; `average` of shape (n_outputs, len(values[0]), ...)
        and `individual` of shape (n_outputs, n_samples, len(values[0]), ...), as asked for.

    Examples
    --------
    >>> from tercet.tree import DecisionTreeRegressor
    >>> X, y = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0.0, 0.0, 2.0, 6.0]
    >>> found = partial_dependence(DecisionTreeRegressor().fit(X, y), X, 0)
    >>> found.grid_values[0].tolist(), found.average.tolist()
    ([0.0, 1.0], [[0.0, 4.0]])
    """
    _check_request(estimator, response_method, method, kind)
    table = as_table(X)
    given = (
        [features]
        if isinstance(features, str | int | np.integer)
        else list(np.ravel(np.asarray(features, object)))
    )
    places = [column_index(table, feature, feature_names) for feature in given]
    if not places:
        raise ValueError("features must name at least one column; got none.")
    custom = {column_index(table, key, feature_names): value for key, value in (custom_values or {}).items()}
    marked = _categorical_places(table, categorical_features, feature_names)
    values = [_grid(table, j, marked, percentiles, grid_resolution, custom) for j in places]
    points = [dict(zip(places, point)) for point in product(*values)]
    shape = tuple(len(line) for line in values)
    if _chosen_method(estimator, method, kind, sample_weight, response_method) == "recursion":
        grid = with_columns(
            rows_at(table, np.zeros(len(points), dtype=np.intp)),
            {j: np.array([point[j] for point in points]) for j in places},
        )
        average = _outputs(estimator, _by_recursion(estimator, grid, places, response_method, n_jobs))
        return Bunch(grid_values=values, average=average.T.reshape(-1, *shape))
    weight = None if sample_weight is None else check_weight(sample_weight, table)
    responses = each(
        lambda point: _outputs(estimator, _response(estimator, with_columns(table, point), response_method)),
        points,
        n_jobs=n_jobs,
    )
    found = Bunch(grid_values=values)
    if kind != "individual":
        means = np.array([np.average(one, axis=0, weights=weight) for one in responses])
        found.average = means.T.reshape(-1, *shape)
    if kind != "average":
        found.individual = np.stack(responses, axis=-1).transpose(1, 0, 2).reshape(-1, table.shape[0], *shape)
    return found


def _check_request(estimator: Any, response_method: str, method: str, kind: str) -> None:
    check_is_fitted(estimator)
    if not (is_classifier(estimator) or is_regressor(estimator)):
        raise ValueError("'estimator' must be a fitted regressor or classifier.")
    if is_classifier(estimator) and isinstance(estimator.classes_, list):
        raise ValueError("Multiclass-multioutput estimators are not supported")
    for name, value, allowed in (
        ("response_method", response_method, ("auto", "predict_proba", "decision_function")),
        ("method", method, ("auto", "recursion", "brute")),
        ("kind", kind, ("average", "individual", "both")),
    ):
        if value not in allowed:
            raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}; got {value!r}.")
    if is_regressor(estimator) and response_method != "auto":
        raise ValueError("The response_method parameter is ignored for regressors and must be 'auto'.")


def _chosen_method(estimator: Any, method: str, kind: str, weight: Any, response_method: str) -> str:
    """The method that "auto" stands for; refuses "recursion" where it cannot be."""
    if kind != "average" or weight is not None:
        if method == "recursion":
            reason = f"kind={kind!r}" if kind != "average" else "sample_weight"
            raise ValueError(
                f"The 'recursion' method only applies when 'kind' is set to 'average', without sample_weight; got "
                f"{reason}."
            )
        return "brute"
    if method != "auto":
        return method
    boosting = isinstance(estimator, GRADIENT_BOOSTING + HISTOGRAM_BOOSTING)
    if is_regressor(estimator) and boosting and estimator.loss in ("poisson", "gamma"):
        return "brute"  # the trees add up to the logarithm of the response
    if boosting and getattr(estimator, "init", None) is None and response_method != "predict_proba":
        return "recursion"
    trees = isinstance(estimator, BaseDecisionTree | RandomForestRegressor) and is_regressor(estimator)
    return "recursion" if trees and estimator.n_outputs_ == 1 else "brute"


def _by_recursion(
    estimator: Any, grid: Any, places: list[int], response_method: str, n_jobs: int | None
) -> np.ndarray:
    """The scores at the points of the grid, of shape (n_points, n_scores)."""
    parts = additive_trees(estimator)
    if response_method == "predict_proba" and parts.kind != "probability":
        raise ValueError(
            "With the 'recursion' method, the response_method must be 'decision_function'. Got predict_proba."
        )
    return known_scores(parts, parts.encode(grid), places, n_jobs)


def _response(estimator: Any, X: Any, response_method: str) -> np.ndarray:
    """What an estimator says about rows."""
    if is_regressor(estimator):
        return np.asarray(estimator.predict(X))
    methods = ("predict_proba", "decision_function") if response_method == "auto" else (response_method,)
    for name in methods:
        if hasattr(estimator, name):
            return np.asarray(getattr(estimator, name)(X))
    raise AttributeError(
        f"{type(estimator).__name__} has none of the following attributes: {', '.join(methods)}."
    )


def _outputs(estimator: Any, response: np.ndarray) -> np.ndarray:
    """A response as an array of shape (n, n_outputs); of two classes the second."""
    columns = response.reshape(len(response), -1)
    return columns[:, 1:] if is_classifier(estimator) and columns.shape[1] == 2 else columns


def _categorical_places(table: Any, asked: Any, names: Any) -> set[int]:
    """The columns that are categories, as asked for."""
    if asked is None:
        return set()
    given = list(np.asarray(asked, dtype=object).ravel())
    if not given:
        raise ValueError("categorical_features must not be an empty list; None stands for no categories.")
    if all(isinstance(item, bool | np.bool_) for item in given):
        if len(given) != table.shape[1]:
            raise ValueError(
                f"categorical_features as a mask must have {table.shape[1]} values; got {len(given)}."
            )
        return {j for j, here in enumerate(given) if here}
    return {column_index(table, item, names) for item in given}


def _grid(
    table: Any, j: int, marked: set[int], percentiles: Any, resolution: int, custom: dict[int, Any]
) -> np.ndarray:
    """The values of one feature: those given, all there are, or equally spaced ones between two quantiles."""
    if j in custom:
        words = any(isinstance(value, str) for value in custom[j])
        values = np.asarray(custom[j], dtype=object if words else None)
        if values.ndim != 1:
            raise ValueError(
                f"custom_values of feature {j} must be a list of values; got {values.ndim} dimensions."
            )
        return values
    if len(percentiles) != 2 or not 0 <= percentiles[0] < percentiles[1] <= 1:
        raise ValueError(
            f"percentiles must be two numbers in [0, 1], the first below the second; got {percentiles}."
        )
    if resolution < 2:
        raise ValueError(f"'grid_resolution' must be strictly greater than 1; got {resolution}.")
    column = column_at(table, j)
    if column.dtype.kind == "O" and all(isinstance(v, int | float | np.number) or v is None for v in column):
        column = np.array([np.nan if v is None else float(v) for v in column])
    if column.dtype.kind not in "biuf":
        return np.array(
            sorted({v for v in column.tolist() if v is not None and v == v}, key=str), dtype=object
        )
    known = column[~np.isnan(column)] if column.dtype.kind == "f" else column
    distinct = np.unique(known)
    if not distinct.size:
        raise ValueError(f"feature {j} has no values: all of them are missing.")
    if j in marked or distinct.size < resolution:
        return distinct
    low, high = mquantiles(known, prob=percentiles)
    if np.isclose(low, high):
        raise ValueError(f"the quantiles {percentiles} of feature {j} are equal ({low}); choose others.")
    return np.linspace(low, high, resolution)
