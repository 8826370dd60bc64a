"""The page about one method that `tercet info` shows."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from tercet.cli import say
from tercet.cli.words import language, tr

if TYPE_CHECKING:
    from tercet.core.catalog import Card

WIDTH = 100  # of running text: longer lines are hard to read


def show(card: Card, known: dict[str, Any]) -> None:
    """Print the page of a card, with its `facts`."""
    kinds = [tr(card.task), tr(card.approach) if card.approach else "", known["import"]]
    head = Text.assemble((card.name, "bold cyan"), "  ", (card.zh, "bold"))
    body: list[RenderableType] = [
        head,
        Text(tr(card.title)),
        Text(" · ".join(word for word in kinds if word), style="dim"),
        Panel(tercet(card), expand=False, border_style="cyan"),
    ]
    if known["details"]:
        body.append(_block(_wrapped(known["details"])))
    body += _section(tr("Parameters"), _parameters(known["parameters"]))
    body += _section(tr("Attributes"), [_entry(entry) for entry in known["attributes"]])
    body += _section(tr("Returns"), [_entry(entry) for entry in known["returns"]])
    body += _section(tr("In the texts"), _places(card, known["titles"]))
    body += _section(
        tr("Worked examples (tercet book '{place}')", place=_first(known["worked"])), _worked(known)
    )
    body += _section(tr("Example"), [Text(known["example"])] if known["example"] else [])
    body += _section(tr("Elsewhere"), [Text(peer) for peer in card.peers])
    say.show(Group(*body))


def tercet(card: Card) -> Table:
    """The three elements of a method, a line each."""
    table = Table.grid(padding=(0, 2))
    table.add_column(justify="right", style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    if card.model:
        table.add_row(tr("model"), Text(tr(card.model)))
    if card.strategy:
        table.add_row(tr("strategy"), Text(tr(card.strategy)))
    for k, (name, words) in enumerate(card.algorithms.items()):
        line = Text.assemble((f"{name}: " if name else "", "bold"), tr(words))
        table.add_row("" if k else tr("algorithm"), line)
    return table


def _section(title: str, lines: list[RenderableType]) -> list[RenderableType]:
    return [Text(""), Text(title, style="bold"), *map(_block, lines)] if lines else []


def _block(thing: RenderableType) -> Padding:
    return Padding(thing, (0, 0, 0, 2))


def _wrapped(text: str, indent: str = "") -> Text:
    """Paragraphs of a docstring; what is set in, or in a list, keeps its lines."""
    width = min(WIDTH, say.width() - 8)
    done = []
    for paragraph in text.split("\n\n"):
        fixed = paragraph.startswith((" ", "- "))
        done.append(paragraph if fixed else textwrap.fill(" ".join(paragraph.split()), width))
    return Text(textwrap.indent("\n\n".join(done), indent))


def _parameters(known: list[dict[str, Any]]) -> list[RenderableType]:
    lines: list[RenderableType] = []
    for k, one in enumerate(known):
        default = "" if one["default"] is None else f" = {one['default']}"
        lines.append(Text.assemble((one["name"], "bold"), default, (f"  {one['allowed']}", "dim")))
        # Parameters that share their words say them once.
        shared = known[k + 1 : k + 2] and known[k + 1]["meaning"] == one["meaning"]
        if one["meaning"] and not shared:
            lines.append(_wrapped(one["meaning"], "    "))
    return lines


def _entry(known: dict[str, Any]) -> RenderableType:
    line = Text.assemble((", ".join(known["names"]), "bold"), (f"  {known['kind']}", "dim"))
    return Group(line, _wrapped(known["text"], "    ")) if known["text"] else line


def _places(card: Card, titles: dict[str, str]) -> list[RenderableType]:
    lines: list[RenderableType] = []
    for text, title in titles.items():
        places = [place.partition(" ")[2] for place in card.texts if place.startswith(text)]
        lines.append(Text.assemble((f"{text} ", "bold"), (title, "dim"), f"  {'; '.join(places)}"))
    return lines


def _worked(known: dict[str, Any]) -> list[RenderableType]:
    name = "zh" if language() == "zh" else "title"
    return [Text.assemble((e["place"], "bold"), f"  {e[name]}") for e in known["worked"]]


def _first(worked: list[dict[str, str]]) -> str:
    return worked[0]["place"] if worked else ""
