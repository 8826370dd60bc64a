"""The page of `tercet info` about one method."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from tercet.cli import printing
from tercet.cli.translation import language, tr
from tercet.core.catalog import methods

if TYPE_CHECKING:
    from tercet.cli.lookup import Match
    from tercet.core.catalog import Card

WIDTH = 100  # of running text


def show(card: Card, known: dict[str, Any], also: Sequence[Match] = ()) -> None:
    """Print the page of a card, with its `facts` and other methods that have the same algorithm."""
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
    body += _section(tr("See also"), [Text.assemble((m.card.name, "bold"), f"  {m.how}") for m in also])
    printing.print_layout(Group(*body))


def tercet(card: Card) -> Table:
    """The three elements of a method and its traits, a line each."""
    table = Table.grid(padding=(0, 2))
    table.add_column(justify="right", style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    if card.model:
        table.add_row(tr("model"), Text(tr(card.model)))
    if card.strategy:
        table.add_row(tr("strategy"), Text(tr(card.strategy)))
    if card.loss:
        table.add_row(tr("loss"), Text(_loss_line(card.loss)))
    if card.convex is not None:
        words = "convex: a local minimum is a global one" if card.convex else "not convex"
        table.add_row(tr("problem"), Text(tr(words)))
    for k, (name, words) in enumerate(card.algorithms.items()):
        line = Text.assemble((f"{name}: " if name else "", "bold"), tr(words))
        table.add_row("" if k else tr("algorithm"), line)
    for name, words in card.traits.items():
        table.add_row(tr(name), Text(tr(words)))
    return table


def _loss_line(name: str) -> str:
    """A loss by its name in the language in use, and its formula where it has a card."""
    cards = {_snake_case(card.name): card for card in methods(task="loss")}
    known = cards.get(name)
    if known is None:
        return name
    return f"{known.zh if language() == 'zh' else name}: {tr(known.model)}"


def _snake_case(name: str) -> str:
    """A class name as the parameter `loss` has it.

    Examples
    --------
    >>> _snake_case("SquaredHinge")
    'squared_hinge'
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def _section(title: str, lines: list[RenderableType]) -> list[RenderableType]:
    return [Text(""), Text(title, style="bold"), *map(_block, lines)] if lines else []


def _block(thing: RenderableType) -> Padding:
    return Padding(thing, (0, 0, 0, 2))


def _wrapped(text: str, indent: str = "") -> Text:
    """Paragraphs of a docstring; what is set in, or in a list, keeps its lines."""
    width = min(WIDTH, printing.line_width() - 8)
    fixed = [one.startswith((" ", "- ")) for one in paragraphs(text)]
    lines = [tr(one).replace("``", "`") for one in paragraphs(text)]
    done = [one if keep else fill(one, width) for one, keep in zip(lines, fixed)]
    return Text(textwrap.indent("\n\n".join(done), indent))


def paragraphs(text: str) -> list[str]:
    """The paragraphs, each on one line unless it is set in or a list.

    Examples
    --------
    >>> paragraphs("One\\nline.\\n\\n- a list\\n- of two")
    ['One line.', '- a list\\n- of two']
    """
    found = [one for one in text.split("\n\n") if one.strip()]
    return [one if one.startswith((" ", "- ")) else " ".join(one.split()) for one in found]


def fill(text: str, width: int) -> str:
    """Lines of at most so many cells; between Chinese characters a line may end, but not before a mark.

    Examples
    --------
    >>> print(fill("one two three 权值，最后一个。", 9))
    one two
    three 权
    值，最后
    一个。
    """
    lines = [""]
    for piece in re.findall(
        r"[（“]*(?:[\u4e00-\u9fff]|[^\s\u3000-\u9fff\uff00-\uffef]+|.)[，。；：、）”？]*|\s+", text
    ):
        if lines[-1] and cell_len(lines[-1] + piece.rstrip()) > width:
            lines[-1] = lines[-1].rstrip()
            lines.append("")
        lines[-1] += piece if lines[-1] else piece.lstrip()
    return "\n".join(lines)


def _parameters(known: list[dict[str, Any]]) -> list[RenderableType]:
    lines: list[RenderableType] = []
    for k, one in enumerate(known):
        default = "" if one["default"] is None else f" = {one['default']}"
        lines.append(Text.assemble((one["name"], "bold"), default, (f"  {tr(one['allowed'])}", "dim")))
        # Parameters that share their words say them once.
        shared = known[k + 1 : k + 2] and known[k + 1]["meaning"] == one["meaning"]
        if one["meaning"] and not shared:
            lines.append(_wrapped(one["meaning"], "    "))
    return lines


def _entry(known: dict[str, Any]) -> RenderableType:
    line = Text.assemble(
        (", ".join(known["names"]), "bold"), (f"  {tr(known['kind'])}" if known["kind"] else "", "dim")
    )
    return Group(line, _wrapped(known["text"], "    ")) if known["text"] else line


def _places(card: Card, titles: dict[str, str]) -> list[RenderableType]:
    lines: list[RenderableType] = []
    for text, title in titles.items():
        places = [place.removeprefix(f"{text} ") for place in card.texts if place.startswith(f"{text} ")]
        lines.append(Text.assemble((f"{text} ", "bold"), (title, "dim"), f"  {'; '.join(places)}"))
    return lines


def _worked(known: dict[str, Any]) -> list[RenderableType]:
    name = "zh" if language() == "zh" else "title"
    return [Text.assemble((e["place"], "bold"), f"  {e[name]}") for e in known["worked"]]


def _first(worked: list[dict[str, str]]) -> str:
    return worked[0]["place"] if worked else ""
