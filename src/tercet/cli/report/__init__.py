"""The report of a comparison: one self-contained HTML file."""

from __future__ import annotations

import base64
import hashlib
import platform
from datetime import datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from tercet.cli import translation
from tercet.cli.report import alerts, data_profile, errors, figures, leaderboard, method_cards
from tercet.cli.report.markup import Markup, join, tag
from tercet.cli.report.number_format import seconds
from tercet.cli.report.phrases import called, cut, sentence, term, verdict
from tercet.cli.report.recommendation import recommendation
from tercet.cli.translation import tr

__all__ = ["render"]

LANGUAGE_TAGS = {"en": "en", "zh": "zh-Hans"}
PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "polars")


def render(result: dict[str, Any], details: Any = None) -> str:
    """The page, in the language in use.

    Parameters
    ----------
    result : dict
        What `tercet compare --json` writes.
    details : object, optional
        The arrays and models behind it, for the pictures; any of its fields may be missing or None.

    Returns
    -------
    page : str
        HTML with its style and script inside and no address outside.

    Examples
    --------
    >>> translation.set_language("en")
    >>> data = {"source": "t.csv", "rows": 2, "total_rows": 2, "columns": []}
    >>> told = {"tercet": "0.1.0", "created": "", "command": "tercet compare t.csv"}
    >>> how = {"task": "regression", "task_why": "a target of numbers", "cv": 5}
    >>> measure = {"metric": "r2", "metric_title": "R²", "greater_is_better": True}
    >>> cost = {"seed": 0, "budget": 1.0, "jobs": 1, "time": {"total": 1.0}, "leaderboard": [], "skipped": []}
    >>> page = render({"data": data, **told, **how, **measure, **cost})
    >>> page[:15], "No method finished" in page
    ('<!DOCTYPE html>', True)
    """
    take, wrong, costs = recommendation(result), errors.errors(result), errors.thresholds(result)
    sections = [
        ("alerts", tr("Alerts"), [alerts.alerts(result)]),
        ("take", tr("Take this"), [take] if take else None),
        ("leaderboard", tr("Leaderboard"), [leaderboard.leaderboard(result), figures.intervals(result)]),
        ("best", _best_title(result), [figures.gallery(result, details)]),
        ("errors", tr("Where it errs"), [wrong, costs] if wrong or costs else None),
        ("data", tr("The data"), [data_profile.profile(result)]),
        ("methods", tr("The methods"), [method_cards.cards(result, details)]),
        ("skipped", tr("Skipped"), [method_cards.skipped(result)] if result["skipped"] else None),
        ("reproduce", tr("How to reproduce it"), [_reproduce(result)]),
    ]
    shown = [(key, title, body) for key, title, body in sections if body]
    contents = tag("ul", [tag("li", tag("a", title, href=f"#{key}")) for key, title, _ in shown])
    main = tag(
        "main",
        _header(result),
        [tag("section", tag("h2", title), body, id=key) for key, title, body in shown],
        tag("footer", sentence("Made by Tercet {version}.", version=result["tercet"])),
        id="top",
    )
    brand = tag("a", _mark(), "Tercet", href="#top", class_="brand")
    page = tag(
        "body",
        tag("a", tr("Skip to the leaderboard"), href="#leaderboard", class_="skip"),
        tag("div", tag("nav", brand, contents, aria_label=tr("contents")), main, class_="page"),
        tag("script", Markup(_file("page.js"))),
    )
    language = LANGUAGE_TAGS[translation.language()]
    return f"<!DOCTYPE html>\n{tag('html', _head(result), page, lang=language)}\n"


def _head(result: dict[str, Any]) -> Markup:
    script = hashlib.sha256(_file("page.js").encode()).digest()
    # Only the script that is named by its hash may run: markup that slipped into the data could not.
    policy = (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
        f"script-src 'sha256-{base64.b64encode(script).decode()}'"
    )
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="generator", content=f"Tercet {result['tercet']}"),
        tag("link", rel="icon", href="data:,"),
        tag("title", f"{result['data']['source']} · Tercet"),
        tag("style", Markup(_file("page.css"))),
    )


def _header(result: dict[str, Any]) -> Markup:
    data = result["data"]
    ran = [entry for entry in result["leaderboard"] if not entry["baseline"]]
    of = f" / {data['total_rows']:,}" if data["total_rows"] > data["rows"] else ""
    width = sum(1 for column in data["columns"] if column["used"]) + data.get("n_sparse", 0)
    facts = [
        (tr("task"), term(result["task"])),
        (tr("rows"), f"{data['rows']:,}{of}"),
        (tr("features"), f"{width:,}"),
        (tr("methods"), f"{len(ran):,}"),
        (tr("cross-validation"), _splits(result)),
        (tr("time"), seconds(result["time"]["total"])),
    ]
    stopped = tag("p", tr("Stopped before the end: only what was finished is here."), class_="trouble")
    return tag(
        "header",
        tag("p", tr("Comparison of methods"), class_="eyebrow"),
        tag("h1", Path(data["source"]).name or data["source"], _toward(data)),
        tag("p", verdict(result), class_="verdict"),
        stopped if result.get("interrupted") else None,
        [tag("p", text) for text in (result.get("sample") or {}).get("told", [])],
        tag("dl", [tag("div", tag("dt", name), tag("dd", value)) for name, value in facts], class_="facts"),
    )


def _toward(data: dict[str, Any]) -> Markup | None:
    target = data.get("target")
    return tag("span", " → ", cut(target["name"]), class_="toward") if target else None


def _best_title(result: dict[str, Any]) -> str:
    first = next((e for e in result["leaderboard"] if not e["baseline"]), None)
    if first is None or result["task"] == "clustering":
        return tr("Pictures")
    return tr("The best: {name}", name=called(first))


def _reproduce(result: dict[str, Any]) -> Markup:
    times = result["time"]
    try:
        created = datetime.fromisoformat(result["created"]).strftime("%Y-%m-%d %H:%M")
    except ValueError:
        created = result["created"]
    facts = [
        (tr("seed"), result["seed"]),
        (tr("cross-validation"), _splits(result)),
        (tr("budget"), seconds(result["budget"])),
        (tr("processes"), result["jobs"]),
        (tr("time in all"), seconds(times["total"])),
        (tr("reading the data"), seconds(times.get("reading"))),
        (tr("fits, summed over processes"), seconds(times.get("fits"))),
        (tr("made on"), created),
        (tr("versions"), _versions(result)),
    ]
    return join(
        tag("pre", tag("code", result["command"]), tabindex="0"),
        tag("dl", [tag("div", tag("dt", name), tag("dd", value)) for name, value in facts], class_="about"),
    )


def _splits(result: dict[str, Any]) -> str:
    """Folds and repeats, of which the budget may have allowed fewer for slow methods."""
    rounds = sorted({entry.get("rounds") or 1 for entry in result["leaderboard"] if not entry["baseline"]})
    if rounds in ([], [1]):
        return tr("{cv} folds", cv=result["cv"])
    span = f"{rounds[0]}–{rounds[-1]}" if len(rounds) > 1 else str(rounds[0])
    return tr("{cv} folds × {repeats} rounds", cv=result["cv"], repeats=span)


def _versions(result: dict[str, Any]) -> str:
    found = [f"tercet {result['tercet']}", f"Python {platform.python_version()}"]
    for package in PACKAGES:
        try:
            found.append(f"{package} {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            continue
    return ", ".join(found)


def _mark() -> Markup:
    """The logo: three lines."""
    path = tag("path", d="M3 5h14M3 10h10M3 15h14")
    return tag("svg", path, viewBox="0 0 20 20", aria_hidden="true", class_="mark")


def _file(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")
