"""Partial dependence of several features in one figure, with scikit-learn's parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import is_classifier

from tercet.core.estimator import generator
from tercet.core.meta import rows_at
from tercet.inspection.columns import as_table, column_at, column_index, column_names
from tercet.inspection.partial_dependence import partial_dependence


class PartialDependenceDisplay:
    """Figure of the partial dependence on several features, or pairs of them, one picture for each.

    Parameters
    ----------
    pd_results : list of Bunch
        As `partial_dependence` gives them.
    features : list of tuples of int
        The one or two columns of each.
    feature_names : list of str
        The names of all columns.
    target_idx : int, default=0
        Which of several outputs is drawn.
    deciles : dict, optional
        For each column the deciles of its values, which are drawn as ticks.
    kind : {"average", "individual", "both"} or list of them, default="average"
        What is drawn of each result.
    subsample : int, float or None, default=1000
        How many curves of single rows are drawn; a float is a fraction.
    random_state : int, optional
        Decides which they are.
    is_categorical : list of tuples of bool, optional
        Which of the columns of each result are categories; of single ones the means are drawn as bars.
    centered : bool, default=False
        Whether all curves begin at 0.
    look : dict, optional
        Settings of matplotlib, as `tercet.plot.plot_partial_dependence` takes them.

    Attributes
    ----------
    figure_, axes_ : matplotlib Figure and array of Axes
        Of the last `plot`.

    Examples
    --------
    >>> from tercet.tree import DecisionTreeRegressor
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0.0, 0.0, 2.0, 6.0]
    >>> model = DecisionTreeRegressor().fit(X, y)
    >>> display = PartialDependenceDisplay.from_estimator(model, X, [0, (0, 1)])
    >>> [ax.get_xlabel() for ax in display.axes_.ravel()]
    ['x0', 'x0']
    """

    def __init__(
        self,
        pd_results: Sequence[Any],
        *,
        features: Sequence[tuple[int, ...]],
        feature_names: Sequence[str],
        target_idx: int = 0,
        deciles: dict[int, Any] | None = None,
        kind: Any = "average",
        subsample: Any = 1000,
        random_state: Any = None,
        is_categorical: Sequence[Any] | None = None,
        centered: bool = False,
        look: dict[str, Any] | None = None,
    ) -> None:
        self.pd_results = pd_results
        self.features = features
        self.feature_names = feature_names
        self.target_idx = target_idx
        self.deciles = deciles
        self.kind = kind
        self.subsample = subsample
        self.random_state = random_state
        self.is_categorical = is_categorical
        self.centered = centered
        self.look = look

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        features: Sequence[Any],
        *,
        sample_weight: Any = None,
        categorical_features: Any = None,
        feature_names: Any = None,
        target: Any = None,
        response_method: Any = "auto",
        n_cols: int = 3,
        grid_resolution: int = 100,
        percentiles: tuple[float, float] = (0.05, 0.95),
        custom_values: dict[Any, Any] | None = None,
        method: Any = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
        line_kw: dict[str, Any] | None = None,
        ice_lines_kw: dict[str, Any] | None = None,
        pd_line_kw: dict[str, Any] | None = None,
        contour_kw: dict[str, Any] | None = None,
        ax: Any = None,
        kind: Any = "average",
        centered: bool = False,
        subsample: Any = 1000,
        random_state: Any = None,
    ) -> Self:
        """Compute the partial dependence on each of some features or pairs of them, and draw it.

        Parameters
        ----------
        estimator, X, sample_weight, categorical_features, feature_names, response_method, grid_resolution, \
percentiles, custom_values, method, n_jobs
            As for `partial_dependence`.
        features : sequence of int, str or pairs of them
            What to draw, each in a picture of its own.
        target : class or int, optional
            The class of a classifier for three or more, or the output of a regressor for several.
        n_cols : int, default=3
            Pictures side by side.
        verbose : int, default=0
            There for scikit-learn's sake.
        line_kw, ice_lines_kw, pd_line_kw, contour_kw : dict, optional
            Settings of matplotlib for all curves, those of single rows, that of the mean, and the levels of pairs.
        ax : matplotlib Axes or array of them, optional
            Where to draw: one for each picture.
        kind : {"average", "individual", "both"} or list of them, default="average"
            The mean, curves of single rows, or both; of pairs the mean.
        centered : bool, default=False
            Whether all curves begin at 0.
        subsample : int, float or None, default=1000
            Of how many rows curves are computed; a float is a fraction.
        random_state : int, optional
            Decides which they are.

        Returns
        -------
        display : PartialDependenceDisplay
        """
        table = as_table(X)
        pairs = [f if isinstance(f, list | tuple | np.ndarray) else (f,) for f in features]
        places = [tuple(column_index(table, f, feature_names) for f in pair) for pair in pairs]
        index = _target_index(estimator, target)
        asked = {
            "categorical_features": categorical_features,
            "feature_names": feature_names,
            "response_method": response_method,
            "percentiles": percentiles,
            "grid_resolution": grid_resolution,
            "custom_values": custom_values,
            "method": method,
            "n_jobs": n_jobs,
        }
        drawn = _drawn_rows(table, subsample, random_state)
        found = _results(estimator, table, drawn, places, kind, sample_weight, asked)
        names = [str(name) for name in column_names(table, feature_names)]
        every, mean, single = line_kw or {}, pd_line_kw or {}, ice_lines_kw or {}
        look = {"average": every | mean, "individual": every | single, "contour": contour_kw}
        display = cls(
            found,
            features=places,
            feature_names=names,
            target_idx=index,
            deciles=_deciles(table, places),
            kind=kind,
            subsample=None,  # the curves are those of the rows that were drawn
            random_state=random_state,
            centered=centered,
            look=look,
        )
        return display.plot(ax=ax, n_cols=n_cols)

    def plot(self, *, ax: Any = None, n_cols: int = 3, centered: bool | None = None) -> Self:
        """Draw all of them.

        Parameters
        ----------
        ax : matplotlib Axes or array of them, optional
            Where to draw: one for each picture.
        n_cols : int, default=3
            Pictures side by side.
        centered : bool, optional
            Whether all curves begin at 0; by default as at construction.

        Returns
        -------
        self
        """
        from tercet.plot import plot_partial_dependence, style

        count = len(self.pd_results)
        with style():
            if ax is None:
                from matplotlib.figure import Figure

                across = min(n_cols, count)
                down = -(-count // across)
                figure = Figure(figsize=(3.4 * across, 2.8 * down), layout="constrained")
                axes = np.ravel(figure.subplots(down, across, squeeze=False))
                for spare in axes[count:]:
                    spare.set_axis_off()
            else:
                axes = np.ravel(np.asarray(ax, dtype=object))
            if len(axes) < count:
                raise ValueError(f"ax must have {count} Axes, one for each picture; got {len(axes)}.")
            for k, (place, result, pair) in enumerate(zip(axes, self.pd_results, self.features)):
                self._draw_deciles(place, result, pair)
                plot_partial_dependence(
                    self._shown(result, k),
                    [self.feature_names[j] for j in pair],
                    output=self.target_idx,
                    centred=self.centered if centered is None else centered,
                    look=self.look,
                    ax=place,
                )
        self.axes_, self.figure_ = axes[:count], axes[0].figure
        return self

    def _shown(self, result: Any, k: int) -> dict[str, Any]:
        """What is drawn of result k: means or curves, some of the curves, categories as words."""
        kind, shown = self.kind if isinstance(self.kind, str) else self.kind[k], dict(result)
        for name, other in (("average", "individual"), ("individual", "average")):
            if kind == name and shown.get(name) is not None:
                shown.pop(other, None)
        if shown.get("individual") is not None and self.subsample is not None:
            rows = _drawn_rows(
                np.arange(shown["individual"].shape[1])[:, None], self.subsample, self.random_state
            )
            shown["individual"] = shown["individual"][:, rows[:, 0]]
        if self.is_categorical is not None and len(self.features[k]) == 1 and np.any(self.is_categorical[k]):
            shown["grid_values"] = [np.array([str(value) for value in shown["grid_values"][0]], dtype=object)]
        return shown

    def _draw_deciles(self, ax: Any, result: Any, pair: tuple[int, ...]) -> None:
        """Ticks at the deciles of the columns, where values are numbers."""
        for axis, j in enumerate(pair):
            given = (self.deciles or {}).get(j)
            if given is None or np.asarray(result["grid_values"][axis]).dtype.kind not in "biuf":
                continue
            along = {"color": "0.4", "linewidth": 0.8}
            if axis == 0:
                ax.vlines(given, 0, 0.04, transform=ax.get_xaxis_transform(), **along)
            else:
                ax.hlines(given, 0, 0.04, transform=ax.get_yaxis_transform(), **along)


def _deciles(table: Any, places: list[Any]) -> dict[int, np.ndarray]:
    """The deciles of those columns that are numbers."""
    found = {}
    for j in {j for pair in places for j in pair}:
        column = column_at(table, j)
        if column.dtype.kind in "biuf" and not np.isnan(column).all():
            found[j] = np.nanquantile(column.astype(float), np.arange(1, 10) / 10)
    return found


def _results(
    estimator: Any, table: Any, drawn: Any, places: list[Any], kind: Any, weight: Any, asked: dict[str, Any]
) -> list[Any]:
    """The partial dependence on each of some features: means over all rows, curves of those that were drawn."""
    kinds = [kind] * len(places) if isinstance(kind, str) else list(kind)
    if len(kinds) != len(places):
        raise ValueError(
            f"kind must be one for all or one for each of {len(places)} features; got {len(kinds)}."
        )
    found = []
    for pair, one in zip(places, kinds):
        whole = one == "average" or len(pair) == 2 or drawn is table
        rows, mass = (table, weight) if whole else (drawn, None)
        shown: Any = "average" if len(pair) == 2 else one
        found.append(partial_dependence(estimator, rows, list(pair), sample_weight=mass, kind=shown, **asked))
    return found


def _drawn_rows(table: Any, subsample: Any, random_state: Any) -> Any:
    """Some of the rows, drawn without replacement."""
    n = table.shape[0]
    whole = subsample is None
    count = n if whole else int(subsample * n) if isinstance(subsample, float) else int(subsample)
    if count < 1:
        raise ValueError(f"subsample must leave at least 1 row; got {subsample!r} of {n} rows.")
    if count >= n:
        return table
    return rows_at(table, np.sort(generator(random_state).choice(n, count, replace=False)))


def _target_index(estimator: Any, target: Any) -> int:
    """The output that stands for a class, or that is given by its place."""
    if is_classifier(estimator) and len(estimator.classes_) > 2:
        classes = list(estimator.classes_)
        if target is None:
            raise ValueError("target must be specified for multi-class")
        if target not in classes:
            raise ValueError(f"target not in est.classes_, got {target!r}; the classes are {classes[:12]}.")
        return classes.index(target)
    return 0 if target is None or is_classifier(estimator) else int(target)
