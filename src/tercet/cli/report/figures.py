"""Figures: performance of the best method, and the models of the top methods."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tercet.cli.report.leaderboard import range_of
from tercet.cli.report.markup import Markup, join, tag
from tercet.cli.report.number_format import known
from tercet.cli.report.phrases import called, cut, term, titles
from tercet.cli.translation import tr

MAX_CHARACTERS = 400_000  # characters of one picture; a heavier one would make the page slow to open
CLUSTERINGS = 3
LEARNING_CURVES = 3
PAPER = 0.78

# A picture is made when it is asked for: its name, how to read it, and the call that draws it.
Picture = tuple[str, str, Callable[[Any], Any]]


def pictures_possible() -> bool:
    """Whether matplotlib is installed."""
    return importlib.util.find_spec("matplotlib") is not None


def intervals(result: dict[str, Any]) -> Markup | None:
    """All methods on one axis."""
    rows = [
        entry
        for entry in result["leaderboard"]
        if all(known(entry.get(key)) for key in ("score", "low", "high")) and not entry["baseline"]
    ]
    baseline = next((e["score"] for e in result["leaderboard"] if e["baseline"]), None)
    if len(rows) < 2 or not pictures_possible():
        return None
    means, lows, highs = ([entry[key] for entry in rows] for key in ("score", "low", "high"))
    names = [titles(entry)[0] for entry in rows]
    tied = [bool(entry.get("tied")) or entry is rows[0] for entry in rows]
    picture = (
        tr("Intervals of all methods"),
        tr("Mean {metric} of every method with its 95% interval.", metric=term(result["metric_title"])),
        lambda plot: _ticks_in_range(
            plot.plot_intervals(
                names, means, lows, highs, baseline=baseline, tied=tied, metric=result["metric_title"]
            ),
            "xaxis",
            result,
        ),
    )
    return _figure(picture, wide=True)


def gallery(result: dict[str, Any], details: Any) -> Markup:
    """All figures that the details allow."""
    if not pictures_possible():
        return tag(
            "p", tr("No pictures: matplotlib is not installed (pip install 'tercet[cli]')."), class_="trouble"
        )
    drawn = [_figure(picture) for picture in _pictures(result, details)]
    if not drawn:
        return tag("p", tr("The time was too short for pictures; a larger --budget leaves some for them."))
    return tag("div", drawn, class_="gallery")


def own_picture(details: Any, method: str) -> Markup | None:
    """A figure of a method's model; None if it has none."""
    if method not in (getattr(details, "models", None) or {}) or not pictures_possible():
        return None
    model, names = details.models[method]
    classes = getattr(details, "classes", None) or ()
    labels = classes if len(classes) == len(getattr(model, "classes_", ())) > 0 else None
    return _figure(
        (tr("What it learned"), "", lambda plot: plot.plot_model(model, feature_names=names, labels=labels)),
        optional=True,
    )


def _pictures(result: dict[str, Any], details: Any) -> Iterator[Picture]:
    def have(*names: str) -> bool:
        return all(getattr(details, name, None) is not None for name in names)

    task, metric = result["task"], term(result["metric_title"])
    labels = [str(label) for label in details.classes] if have("classes") else None
    if task == "classification" and have("truth", "predicted"):
        yield (
            tr("Confusion matrix"),
            tr("Rows are the true classes, columns what was said; every row of the data was held out once."),
            lambda plot: plot.plot_confusion(details.truth, details.predicted, labels=labels),
        )
    if task == "regression" and have("truth", "predicted"):
        yield (
            tr("Predicted against true"),
            tr("Held-out predictions; a perfect method has all points on the diagonal."),
            lambda plot: plot.plot_predictions(details.truth, details.predicted),
        )
        yield (
            tr("Residuals"),
            tr("What is left over should have no shape: a curve or a funnel is something not learned."),
            lambda plot: plot.plot_residuals(details.truth, details.predicted),
        )
    if task == "classification" and have("truth"):
        yield from _score_curves(result, details, labels)
    if have("importance"):
        yield (
            tr("Permutation importance"),
            tr("What is lost of the {metric} when one column is shuffled.", metric=metric),
            lambda plot: plot.plot_importance(
                details.importance["names"], details.importance["mean"], details.importance["std"]
            ),
        )
    if have("regions"):
        target = result["data"].get("target") or {}
        yield _regions(details.regions, task, labels, target.get("name"))
    if have("dependence"):
        yield from _dependence(details.dependence, labels)
    curves = list((getattr(details, "curves", None) or {}).items())[:LEARNING_CURVES]
    if curves:
        yield _curves({_called(result, method): curve for method, curve in curves}, result)
    yield from _clusters(result, details)


def _regions(regions: Any, task: str, labels: list[str] | None, target: str | None) -> Picture:
    model, X, y, names = regions

    def draw(plot: Any) -> Any:
        if task == "regression":
            axes = plot.plot_fit(model, X, y, feature_names=list(names), target_name=target)
        else:
            axes = plot.plot_regions(model, X, y, feature_names=list(names))
        axes.set_title("")  # the caption names it
        _name_classes(axes, getattr(model, "classes_", ()), labels)
        return axes

    if task == "classification":
        title = tr("Decision regions")
        text = tr("The method fitted again on its two most important columns alone.")
    else:
        title = tr("Fit over {name}", name=names[0])
        text = tr("The method fitted again on its most important column alone.")
    return title, text, draw


def _score_curves(result: dict[str, Any], details: Any, labels: list[str] | None) -> Iterator[Picture]:
    """ROC and precision-recall curves of whoever has scores, and calibration of whoever has probabilities.

    With two classes the methods share an axis; with more, every class of one method has its curve.
    """
    scored = getattr(details, "scores", None) or {}
    ranking = {name: one["ranking"] for name, one in scored.items() if one["ranking"] is not None}
    proba = {name: one["proba"] for name, one in scored.items() if one["proba"] is not None}
    if not ranking and getattr(details, "proba", None) is not None:
        ranking = proba = {details.best: details.proba}
    title = {"roc": tr("ROC curve"), "pr": tr("Precision and recall"), "calibration": tr("Calibration")}
    text = {
        "roc": tr("How many of a class are found for how many false alarms; the diagonal is guessing."),
        "pr": tr("How many of those found are right, over how many are found; dashed: saying it always."),
        "calibration": tr("Whether what is said with 80% is so in 80% of the cases: on the diagonal it is."),
    }
    for kind, given in (("roc", ranking), ("pr", ranking), ("calibration", proba)):
        if not given:
            continue
        truth, scores, named = _to_draw(result, details, given, len(labels or ()))
        heading = title[kind] if named is None else tr("{title} of {name}", title=title[kind], name=named)

        def draw(plot: Any, kind: str = kind, truth: Any = truth, scores: Any = scores) -> Any:
            how = {
                "roc": plot.plot_roc,
                "pr": plot.plot_precision_recall,
                "calibration": plot.plot_calibration,
            }
            return how[kind](truth, scores, labels=labels)

        yield heading, text[kind], draw


def _to_draw(
    result: dict[str, Any], details: Any, given: dict[str, Any], classes: int
) -> tuple[Any, Any, str | None]:
    """Truth and scores to draw, and whose they are if they are not the best method's."""
    name, scores = next(iter(given.items()))
    if classes == 2 and len(given) > 1:
        return details.truth, {_called(result, key): value for key, value in given.items()}, None
    return details.truth, scores, None if name == details.best else _called(result, name)


def _dependence(dependence: dict[str, Any], labels: list[str] | None) -> Iterator[Picture]:
    for column, one in dependence.items():
        grid, average = one["grid"], one["average"]
        # Of two classes there is one curve, of several that of the class that changes most.
        output = int(np.argmax(np.ptp(average, axis=1)))
        text = tr(
            "The mean prediction when this column has the given value in all rows and the others are as they are."
        )
        if labels is not None:
            label = labels[1] if len(average) == 1 and len(labels) == 2 else labels[output]
            text = tr(
                "The mean probability of {label} when this column has the given value in all rows and the others "
                "are as they are.",
                label=cut(label, 30),
            )
        found = {"grid_values": [grid], "average": average}

        def draw(plot: Any, found: Any = found, column: str = column, output: int = output) -> Any:
            return plot.plot_partial_dependence(found, column, output=output)

        yield tr("Partial dependence on {name}", name=cut(column, 40)), text, draw


def _curves(curves: dict[str, Any], result: dict[str, Any]) -> Picture:
    return (
        tr("Learning curves"),
        tr(
            "If a full line has not levelled off, more rows would help; a wide gap to the dots is overfitting."
        ),
        lambda plot: _ticks_in_range(
            plot.plot_learning_curves(curves, metric=term(result["metric_title"])), "yaxis", result
        ),
    )


def _ticks_in_range(axes: Any, name: str, result: dict[str, Any]) -> Any:
    """The axes without ticks beyond the range of the measure: beside a score of 1 there is room, but no score."""
    axis = getattr(axes, name)
    ends = (*range_of(result), *axis.get_view_interval())
    low, high = max(ends[0], min(ends[2:])), min(ends[1], max(ends[2:]))
    slack = 1e-9 * (high - low)
    axis.set_ticks([tick for tick in axis.get_majorticklocs() if low - slack <= tick <= high + slack])
    return axes


def _clusters(result: dict[str, Any], details: Any) -> Iterator[Picture]:
    every = getattr(details, "clusters", None) or {}
    ranks = {entry["name"]: k for k, entry in enumerate(result["leaderboard"])}
    chosen = sorted(every.items(), key=lambda item: ranks.get(item[0], len(ranks)))[:CLUSTERINGS]
    text = tr("The rows on their first two principal components.")
    truth = next((f for _, f in chosen if f.get("truth") is not None), None)
    for method, found in chosen:
        # Colours mean the same in all pictures: the classes, or else the clusters of the best method.
        reference = chosen[0][1]["labels"] if truth is None else truth["truth"]
        yield _scatter(tr("Clusters of {name}", name=_called(result, method)), text, found, reference)
        if found.get("silhouette") is not None:
            yield _silhouette(_called(result, method), found, reference)
    if truth is not None:
        yield tr("The target's own classes"), text, lambda plot: _classes(plot, truth, details)


def _classes(plot: Any, found: dict[str, Any], details: Any) -> Any:
    axes = plot.plot_clusters(found["points"], found["truth"])
    axes.set_title("")
    if axes.get_legend() is not None:
        axes.get_legend().set_title("")
        _name_classes(axes, np.unique(found["truth"]), getattr(details, "classes", None))
    return axes


def _name_classes(axes: Any, drawn: Any, labels: Any) -> None:
    """What was drawn by its position among the classes gets the class's name."""
    legend = axes.get_legend()
    if legend is not None and labels is not None and list(drawn) == list(range(len(labels))):
        for text, label in zip(legend.get_texts(), labels):
            text.set(text=cut(label, 24), parse_math=False)


def _scatter(title: str, text: str, found: Any, reference: Any) -> Picture:
    def draw(plot: Any) -> Any:
        colours = plot.match_colours(found["labels"], reference)
        return plot.plot_clusters(found["points"], found["labels"], colours=colours)

    return title, text, draw


def _silhouette(name: str, found: Any, reference: Any) -> Picture:
    return (
        tr("Silhouette of {name}", name=name),
        tr("How much nearer each row is to its own cluster than to the next; below 0 it is misplaced."),
        lambda plot: plot.plot_silhouette(
            np.asarray(found["silhouette"]),
            found["labels"],
            colours=plot.match_colours(found["labels"], reference),
        ),
    )


def _called(result: dict[str, Any], method: str) -> str:
    entry = next((e for e in result["leaderboard"] if e["name"] == method), None)
    return called(entry) if entry else method


def _figure(picture: Picture, *, wide: bool = False, optional: bool = False) -> Markup | None:
    """A picture with its title and caption; if it cannot be drawn, the reason stands in its place."""
    title, text, draw = picture
    drawing: Any
    try:
        from tercet import plot

        with warnings.catch_warnings():
            # The browser has the fonts that matplotlib misses; and a report has no place for its remarks.
            warnings.simplefilter("ignore")
            with plot.style(translate=tr):
                axes = draw(plot)
                if axes is None and optional:
                    return None
                # Drawn for a whole page, shown in half of one: the smaller the paper, the larger the letters on it.
                axes.figure.set_size_inches(axes.figure.get_size_inches() * PAPER)
                svg = plot.to_svg(axes.figure, title=title)
        if len(svg) > MAX_CHARACTERS:
            raise ValueError(tr("too large ({n} kB)", n=len(svg) // 1000))
        drawing = Markup(svg)
    except Exception as error:
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        drawing = tag("p", tr("This picture could not be drawn: {reason}", reason=reason), class_="trouble")
    caption = join(tag("b", title), " ", text)
    return tag("figure", drawing, tag("figcaption", caption), class_="wide" if wide else None)
