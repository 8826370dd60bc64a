"""`tercet list` and `tercet info`: the catalogue on the screen."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import Any

from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tercet.cli import printing
from tercet.cli.errors import USAGE, Refusal
from tercet.cli.lookup import Match, group, look_up
from tercet.cli.translation import language, tr
from tercet.core.catalog import SCIKIT_LEARN, TEXTS, Card, methods, text_named, text_of
from tercet.core.lazy import scikit_learn_table


def list_methods(
    *,
    task: str | None,
    family: str | None,
    text: str | None,
    chapter: str | None,
    table: str | None,
    everything: bool,
    json: bool,
) -> int:
    """Print the methods that fit, family by family; those of a table of the texts with their three elements.

    With `everything` also what is passed on of scikit-learn.
    """
    if table is not None:
        cards = _in_table(table)
    else:
        cards = [*methods(), *passed_on()] if everything else methods()
    if task is not None:
        found = _named(task, {name: name for card in cards for name in (card.task, tr(card.task))})
        if not found:
            names = _row(card.task for card in cards)
            raise Refusal(tr("there is no task {asked!r}; there are {names}", asked=task, names=names), USAGE)
        cards = [card for card in cards if found in (card.task, tr(card.task))]
    if family is not None:
        groups = {alias: group(card) for card in cards for alias in (group(card), group(card).split(".")[-1])}
        found = _named(family, groups | {card.family: card.family for card in cards})
        if not found:
            names = _row(groups.values())
            raise Refusal(
                tr("there is no family {asked!r}; there are {names}", asked=family, names=names), USAGE
            )
        cards = [card for card in cards if f"{group(card)}.".startswith(f"{found}.")]
    if text is not None or chapter is not None:
        cards = _taught(cards, text or "li", chapter)
    if json:
        printing.print_json([asdict(card) for card in cards])
    elif table is not None:
        _print_elements(cards)
    elif everything:
        _print_table(
            sorted(cards, key=lambda card: (group(card), library(card) != "Tercet", card.name)), library
        )
        line = "from tercet.preprocessing import StandardScaler"
        printing.remark("all of them can be imported from `tercet`, as in: {line}", line=line)
    else:
        _print_table(cards)
    return 0


def _in_table(asked: str) -> list[Card]:
    """The cards that a table of the texts has rows of, in the order of the chapters that teach them."""
    tables: dict[str, list[Card]] = {}
    for card in methods():
        for number in re.findall(r"Table (\d+\.\d+)", "; ".join(card.texts)):
            tables.setdefault(number, []).append(card)
    found = tables.get(re.sub(r"(?i)\s|table|表", "", asked))
    if found is None:
        names = ", ".join(sorted(tables, key=lambda number: [int(part) for part in number.split(".")]))
        raise Refusal(tr("there is no table {asked!r}; there are {names}", asked=asked, names=names), USAGE)
    return sorted(found, key=lambda card: _reading_order(chapter_of(card.texts[0])[1]))


def _print_elements(cards: list[Card]) -> None:
    from tercet.cli.info_page import tercet

    for card in cards:
        head = Text.assemble((card.name, "bold cyan"), "  ", (card.zh, "bold"))
        kinds = Text(" · ".join(tr(word) for word in (card.task, card.approach) if word), style="dim")
        printing.print_layout(Group(head, kinds, Padding(tercet(card), (0, 0, 1, 2))))


def passed_on() -> list[Card]:
    """Cards of the estimators of scikit-learn that have no card: a name, a task, and where they are.

    Examples
    --------
    >>> [card.name for card in passed_on() if card.module == "sklearn.isotonic"]
    ['IsotonicRegression']
    """
    known = {(card.module, card.name) for card in methods()}
    return [
        Card(
            name=name,
            zh="",
            title="",
            task=task,
            kind=SCIKIT_LEARN,
            family=module.partition(".")[0],
            module=f"sklearn.{module}",
        )
        for module, names in scikit_learn_table()["tasks"].items()
        for name, task in names.items()
        if (f"sklearn.{module}", name) not in known
    ]


def library(card: Card) -> str:
    """The library that a card's class or function is of."""
    return "scikit-learn" if card.kind == SCIKIT_LEARN else "Tercet"


def _taught(cards: list[Card], text: str, chapter: str | None) -> list[Card]:
    """The cards that a text, a place in it ("Li ch. 7") or a chapter of it teaches."""
    known_text = text_named(text)
    name, asked = (known_text.name, "") if known_text else (text, f"{' '.join(text.lower().split())}, ")

    def is_there(place: str) -> bool:
        return f"{place}, ".lower().startswith(asked) if asked else text_of(place).name == name

    taught = [(card, chapter_of(place)) for card in cards for place in card.texts if is_there(place)]
    if not any(is_there(place) for card in methods() for place in card.texts):
        names = ", ".join(entry.key for entry in TEXTS.values())
        raise Refusal(
            tr(
                "no text, and no place in one, is called {asked!r}; the texts are {names}",
                asked=text,
                names=names,
            ),
            USAGE,
        )
    if chapter is not None:
        wanted = section(chapter)
        there = {place[1] for _, place in taught}
        if wanted not in there:
            known = ", ".join(sorted(there, key=_reading_order)) or "-"
            raise Refusal(
                tr(
                    "there is no such method from chapter {asked!r} of text {text}; there are some from {names}",
                    asked=chapter,
                    text=name,
                    names=known,
                ),
                USAGE,
            )
        taught = [(card, place) for card, place in taught if place[1] == wanted]
    return list({id(card): card for card, _ in taught}.values())


def _named(asked: str, names: dict[str, str]) -> str | None:
    return {name.lower(): found for name, found in names.items()}.get(asked.lower())


def _row(names: Iterable[str]) -> str:
    return ", ".join(sorted(set(names)))


def section(asked: str) -> str | None:
    """A chapter as the cards write it, or None if it is no chapter.

    Examples
    --------
    >>> section("7"), section("ch07"), section("app_c"), section("附录 C"), section("seven")
    ('ch. 7', 'ch. 7', 'app. C', 'app. C', None)
    """
    plain = re.sub(r"[\s._第章]", "", asked.lower()).replace("附录", "app")
    found = re.fullmatch(r"(?:ch|chapter)?0*(\d{1,2})|(?:app|appendix)?([a-z])", plain)
    if not found:
        return None
    return f"ch. {found[1]}" if found[1] else f"app. {found[2].upper()}"


def chapter_of(place: str) -> tuple[str, str]:
    """The text and the chapter of a place.

    Examples
    --------
    >>> chapter_of("Li ch. 2, Alg 2.1")
    ('Li', 'ch. 2')
    """
    text = text_of(place).name
    return text, place.removeprefix(text).partition(",")[0].strip()


def _reading_order(chapter: str) -> tuple[bool, int, str]:
    word, _, number = chapter.partition(" ")
    return word != "ch.", int(number) if number.isdigit() else 0, chapter


def _print_table(cards: list[Card], owner: Callable[[Card], str] | None = None) -> None:
    """Print cards, with the library that each is of where `owner` says it."""
    groups: dict[str, list[Card]] = {}
    for card in cards:
        groups.setdefault(group(card), []).append(card)
    wide = printing.line_width() >= 130
    printing.print_layout(_columns(groups, owner) if wide else _stanzas(groups, owner))
    printing.stdout().print(f"\n{_counts(len(cards), len(groups))}", markup=False)
    if owner:
        owners = [owner(card) for card in cards]
        parts = (f"{name} {owners.count(name)}" for name in ("Tercet", "scikit-learn"))
        printing.stdout().print(", ".join(parts), markup=False)


def _counts(n: int, m: int) -> str:
    some = tr("1 method") if n == 1 else tr("{n} methods", n=n)
    return (
        tr("{methods} in 1 family", methods=some)
        if m == 1
        else tr("{methods} in {m} families", methods=some, m=m)
    )


def _columns(groups: dict[str, list[Card]], owner: Callable[[Card], str] | None) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for title in (tr("method"), *([tr("library")] if owner else []), tr("Chinese"), tr("task")):
        table.add_column(title, no_wrap=True)
    for title in (tr("model"), tr("texts")):
        table.add_column(title, overflow="fold")
    for name, members in groups.items():
        table.add_row()
        table.add_row(_heading(name, members))
        for card in members:
            model = tr(card.model) if owner else "\n".join([tr(card.model), *_imported(card)])
            whose = (owner(card),) if owner else ()
            row = (card.name, *whose, card.zh, tr(card.task), model, _places(card))
            table.add_row(*(Text(cell) for cell in row))
    return table


def _stanzas(groups: dict[str, list[Card]], owner: Callable[[Card], str] | None) -> Text:
    """For a narrow screen, which has no room for five columns."""
    lines = []
    for name, members in groups.items():
        lines += [Text(), _heading(name, members)]
        for card in members:
            whose = owner(card) if owner else ""
            words = "  ".join(filter(None, (whose, card.zh, tr(card.task), _places(card))))
            lines.append(Text.assemble((card.name, "bold"), f"  {words}"))
            about = [tr(card.model)] if owner else [tr(card.model), *_imported(card)]
            lines += [Text(f"    {line}", style="dim") for line in about if line]
    return Text("\n").join(lines[1:])


def _heading(name: str, members: list[Card]) -> Text:
    title = name if tr(name) == name else f"{name} {tr(name)}"
    return Text(f"{title} ({len(members)})", style="bold cyan")


def _imported(card: Card) -> list[str]:
    """The import line of what is scikit-learn's, which the name of the family does not tell."""
    return [card.import_line] if card.kind == SCIKIT_LEARN else []


def _places(card: Card) -> str:
    """As `tercet book` takes them: li/2 is chapter 2 of Li."""
    chapters = (chapter_of(place) for place in card.texts)
    places = dict.fromkeys(f"{TEXTS[text].key}/{chapter}" for text, chapter in chapters)
    return re.sub(r"(ch|app)\. ", "", ", ".join(places))


def info(query: str, *, json: bool) -> int:
    """Print all that is known of a method, or the list of those that a query means."""
    first, *others = look_up(query)
    if others and first.by != "name":
        _print_matches(query, [first, *others], json=json)
        return 0
    known = {**facts(first.card), "matched": first.to_dict(), "also": [match.to_dict() for match in others]}
    if json:
        printing.print_json(known)
        return 0
    from tercet.cli.info_page import show

    if first.by != "name":
        printing.remark("{query} is {name}: {how}", query=query, name=first.card.name, how=first.how)
    show(first.card, known, others)
    return 0


def _print_matches(query: str, matches: list[Match], *, json: bool) -> None:
    if json:
        printing.print_json({"query": query, "matches": [match.to_dict() for match in matches]})
        return
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for title in (tr("method"), tr("Chinese"), tr("task"), tr("how it matches")):
        table.add_column(title, no_wrap=True)
    for match in matches:
        card = match.card
        row = (f"{group(card)}.{card.name}", card.zh, tr(card.task), match.how)
        table.add_row(*(Text(cell) for cell in row))
    printing.print_layout(table)
    printing.remark("`tercet info NAME` tells about one of them")


def facts(card: Card) -> dict[str, Any]:
    """The card, with what the docstring, the signature and the worked examples add to it.

    Examples
    --------
    >>> from tercet.cli.lookup import find
    >>> facts(find("Perceptron"))["parameters"][0]["allowed"]
    "one of 'l2', 'l1', 'elasticnet' or None"
    """
    from tercet.cli.docstring import attributes, entries, parameters, parts
    from tercet.datasets.texts import examples

    thing = card.load()
    doc = parts(inspect.getdoc(thing) or "")
    if card.kind == SCIKIT_LEARN:  # what is said there of parameters stands there
        page = f"https://scikit-learn.org/stable/modules/generated/{card.module}.{card.name}.html"
        code = doc.get("Examples", "")
        said = f"{tr('This is a method of scikit-learn.')} {page}"
        doc = {"": said, "Examples": code[code.find(">>> ") :]}
    return {
        **asdict(card),
        "import": card.import_line,
        "details": doc[""].strip(),
        "parameters": parameters(thing, doc.get("Parameters", "")),
        "attributes": attributes(doc.get("Attributes", "")),
        "returns": [asdict(entry) for entry in entries(doc.get("Returns", ""))],
        "example": doc.get("Examples", ""),
        "worked": [
            {"place": e.place, "title": e.title, "zh": e.zh}
            for e in examples()
            if e.uses(card.module, card.name)
        ],
        "titles": {text: TEXTS[text].title(language()) for text, _ in map(chapter_of, card.texts)},
    }
