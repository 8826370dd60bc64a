"""Cards of the methods: model, strategy and algorithm, and the methods that were left out."""

from __future__ import annotations

from typing import Any

from tercet.cli import translation
from tercet.cli.report.figures import own_picture
from tercet.cli.report.leaderboard import measure_of
from tercet.cli.report.markup import Markup, join, tag
from tercet.cli.report.number_format import decimals, fixed, known, seconds
from tercet.cli.report.phrases import anchor, places, said, settings, term, titles
from tercet.cli.translation import tr
from tercet.core import catalog

SPLITS_SHOWN = 100


def cards(result: dict[str, Any], details: Any) -> Markup:
    """One folded card for each method, the best one open."""
    best = next((e for e in result["leaderboard"] if not e["baseline"]), None)
    return join([_card(entry, result, details, entry is best) for entry in result["leaderboard"]])


def skipped(result: dict[str, Any]) -> Markup:
    """Methods that were left out, and why."""
    rows = [
        tag(
            "tr",
            tag("th", titles(entry)[0], tag("small", titles(entry)[1]), scope="row"),
            tag("td", said(entry["why"])),
        )
        for entry in result["skipped"]
    ]
    head = tag("thead", tag("tr", [tag("th", text, scope="col") for text in (tr("method"), tr("why"))]))
    caption = tag("caption", tr("Methods of the catalogue that did not run"), class_="unseen")
    table = tag("table", caption, head, tag("tbody", rows), class_="skipped")
    return tag("div", table, class_="scroll", tabindex="0", role="region", aria_label=tr("skipped methods"))


def _card(entry: dict[str, Any], result: dict[str, Any], details: Any, opened: bool) -> Markup:
    name, other = titles(entry)
    card = entry.get("card")
    digits = places(result)
    score = tag("span", fixed(entry["score"], digits), class_="score")
    body: list[Any] = []
    if card:
        body += [tag("p", term(card.get("title")), class_="lead"), _tercet(card)]
    else:
        body.append(
            tag(
                "p",
                tr(
                    "What one gets without looking at the columns: the most frequent class, the mean, or clusters "
                    "drawn by lot."
                ),
                class_="lead",
            )
        )
    body.append(_facts(entry, result, card, digits))
    if entry.get("warnings"):
        items = [tag("li", said(text)) for text in entry["warnings"]]
        body += [tag("h4", tr("Warnings")), tag("ul", items, class_="warnings")]
    body.append(own_picture(details, entry["name"]))
    head = tag("summary", tag("span", name, class_="title"), tag("span", other, class_="other"), score)
    return tag(
        "details", head, tag("div", body, class_="body"), class_="method", id=anchor(entry), open=opened
    )


def _tercet(card: dict[str, Any]) -> Markup:
    lines = [(tr("Model"), term(card.get("model"))), (tr("Strategy"), term(card.get("strategy")))]
    ways = [
        tag("li", tag("code", key), " ", tag("span", term(text)))
        if key
        else tag("li", term(text), class_="plain")
        for key, text in (card.get("algorithms") or {}).items()
    ]
    items = [tag("div", tag("dt", name), tag("dd", text)) for name, text in lines if text]
    if ways:
        items.append(tag("div", tag("dt", tr("Algorithm")), tag("dd", tag("ul", ways))))
    return tag("dl", items, class_="tercet")


def _facts(entry: dict[str, Any], result: dict[str, Any], card: dict[str, Any] | None, digits: int) -> Markup:
    facts: list[tuple[str, Any]] = []
    if card and card.get("texts"):
        facts.append((tr("Taught in"), tag("ul", [tag("li", _place(place)) for place in card["texts"]])))
    if card:
        facts.append((tr("Import"), tag("code", f"from {card['module']} import {card['name']}")))
        values = [tag("code", text) for text in settings(entry)]
        facts.append((tr("Settings"), join([(v, " ") for v in values]) if values else tr("defaults")))
    scores = [value for value in entry.get("scores") or [] if known(value)]
    if scores:
        shown = "  ".join(fixed(value, digits) for value in scores[:SPLITS_SHOWN])
        more = " …" if len(scores) > SPLITS_SHOWN else ""
        facts.append((tr("Each split"), tag("span", shown + more, class_="splits")))
    others = {name: value for name, value in (entry.get("others") or {}).items() if known(value)}
    if others:
        told = [f"{term(measure_of(name)[0])} {fixed(v, decimals([v]))}" for name, v in others.items()]
        facts.append((tr("Other measures"), tr(", ").join(told)))
    times = tr(
        "{fit} to fit, {predict} to predict",
        fit=seconds(entry.get("fit_time")),
        predict=seconds(entry.get("predict_time")),
    )
    facts.append((tr("Time"), times))
    return tag("dl", [tag("div", tag("dt", name), tag("dd", value)) for name, value in facts], class_="about")


def _place(place: str) -> Markup:
    text = catalog.text_of(place)
    title = text.title(translation.language())
    return tag("span", tag("cite", title), " ", place.removeprefix(f"{text.name} "))
