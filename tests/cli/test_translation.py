"""Everything that the command says can be said in Chinese."""

import ast
import functools
import importlib
import json
import re
import string
from pathlib import Path

import pytest

import tercet
from tercet.cli import translation
from tercet.cli.catalogue import facts
from tercet.cli.info_page import paragraphs
from tercet.core.catalog import Card
from tercet.datasets.texts import chapters, examples

SOURCE = Path(tercet.__file__).parent
CLI = SOURCE / "cli"
SPEAKERS = {
    "tr",
    "remark",
    "Message",
    "TableError",
    "refuse",
    "_refuse",
}  # their first argument is a template
# Letters that a formula needs in any language.
MATHS = {
    "alpha",
    "beta",
    "dl",
    "dt",
    "dx",
    "dz",
    "eps",
    "eta",
    "gamma",
    "lam",
    "ln",
    "log",
    "max",
    "min",
    "mu",
    "phi",
    "rho",
    "sw",
    "theta",
    "xi",
}
# What a type may be is in the language in use already; a class is called by its name.
TRANSLATED = re.compile("(one of|an?|True or|'|None|False|LabelBinarizer)")


@functools.cache
def templates(file: Path) -> list[str]:
    """The literal templates in a file."""
    found = []
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and node.args:
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            first = node.args[0]
            if name in SPEAKERS and isinstance(first, ast.Constant) and isinstance(first.value, str):
                found.append(first.value)
    return found


def placeholders(template: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(template) if name is not None}


def speaking() -> list[Path]:
    """Files that may have templates; they are parsed in the tests, by one worker each."""
    calls = re.compile(rf"\b({'|'.join(sorted(SPEAKERS))})\(")
    return [file for file in sorted(SOURCE.rglob("*.py")) if calls.search(file.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("file", speaking(), ids=lambda file: str(file.relative_to(SOURCE)))
def test_every_template_has_its_chinese(file):
    chinese = translation.chinese()
    silent = [text for text in templates(file) if _english(text) and text not in chinese]
    assert silent == []
    uneven = [
        text
        for text in templates(file)
        if text in chinese and placeholders(text) != placeholders(chinese[text])
    ]
    assert uneven == []


def _bare(template: str) -> str:
    return "".join(part for part, *_ in string.Formatter().parse(template))


def _english(text: str) -> bool:
    """Whether a template has a word in it, besides its values."""
    return bool(re.search(r"[A-Za-z]{2,}", _bare(text)))


@pytest.mark.parametrize("file", sorted((CLI / "zh").glob("*.json")), ids=lambda file: file.name)
def test_translations_are_chinese(file):
    entries = json.loads(file.read_text(encoding="utf-8"))
    assert entries
    # A formula stays as it is, and so does a name of capitals, as in AUC.
    english = {
        text for text in entries if entries[text] == text and _speaks(re.sub(r"[A-Z]{2,}", "", _bare(text)))
    }
    assert english == set()


def _speaks(text: str) -> bool:
    """Whether a line is more than a formula or a name."""
    return text != "LabelBinarizer" and any(
        word not in MATHS for word in re.findall(r"\b[a-z]{2,}\b(?!\()", text.lower())
    )


def test_translations_do_not_contradict_each_other():
    seen: dict[str, dict[str, str]] = {}
    for file in sorted((CLI / "zh").glob("*.json")):
        for text, chinese in json.loads(file.read_text(encoding="utf-8")).items():
            seen.setdefault(text, {})[file.name] = chinese
    assert {text: found for text, found in seen.items() if len(set(found.values())) > 1} == {}


def without_chinese(lines: list[str]) -> list[str]:
    chinese = translation.chinese()
    return [line for line in lines if _speaks(line) and line not in chinese]


def card_lines_without_chinese(card: Card) -> list[str]:
    lines = [card.title, card.strategy, *card.algorithms.values(), card.task, card.module.partition(".")[2]]
    return without_chinese([*lines, card.model, card.approach, *card.traits, *card.traits.values()])


@pytest.mark.parametrize("family", sorted({card.family for card in tercet.methods()}))
def test_every_card_has_its_chinese(family):
    silent = {card.name: card_lines_without_chinese(card) for card in tercet.methods(family=family)}
    assert {name: lines for name, lines in silent.items() if lines} == {}


@pytest.mark.parametrize("chapter", chapters())
def test_every_example_has_its_chinese(chapter):
    chinese = translation.chinese()
    module = importlib.import_module(f"tercet.datasets.texts.{chapter}")
    lines = [module.__doc__.partition("\n")[0].rstrip(".")]
    for example in examples(chapter):
        lines += [example.note] if example.note else []
        lines += [f"value|{name}" for name in example.expected if _speaks(name)]
    assert [line for line in lines if line not in chinese] == []


def docstring_lines_without_chinese(card: Card) -> list[str]:
    known = facts(card)
    lines = [*paragraphs(known["details"])]
    for one in known["parameters"]:
        lines += [one["meaning"], "" if TRANSLATED.match(one["allowed"]) else one["allowed"]]
    for one in known["attributes"]:
        lines += [one["text"], one["kind"]]
    return without_chinese(lines)


@pytest.mark.parametrize(
    "card", [card for card in tercet.methods() if card.learns], ids=lambda card: card.name
)
def test_every_page_of_an_estimator_has_its_chinese(card):
    assert docstring_lines_without_chinese(card) == []


def test_a_note_among_the_values_is_translated(monkeypatch):
    from tercet.core.messages import Message

    monkeypatch.setattr(
        translation, "chinese", lambda: {"{n} rows: {why}": "{n} 行：{why}", "no target": "没有目标"}
    )
    translation.set_language("zh")
    try:
        assert translation.tr("{n} rows: {why}", n=3, why=Message("no target")) == "3 行：没有目标"
        assert translation.tr(Message("{n} rows: {why}", n=3, why=Message("no target"))) == "3 行：没有目标"
        assert translation.tr("something new") == "something new"
    finally:
        translation.set_language("en")
    assert translation.tr(Message("{n} rows: {why}", n=3, why="x")) == "3 rows: x"


def test_language_follows_the_environment(monkeypatch):
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    assert translation.locale_language() == "zh"
    monkeypatch.setenv("LC_ALL", "en_GB.UTF-8")
    assert translation.locale_language() == "en"
    with pytest.raises(ValueError, match="language must be one of"):
        translation.set_language("fr")
