"""Look up methods: by their names, algorithms, places in the texts, and well-known synonyms.

`find` gives the one method that a name stands for. `look_up` also answers names that people use for an algorithm:
"Baum-Welch" (an algorithm on a card), "Algorithm 7.5" (a place in the texts) or "OLS" (a synonym, in
`synonyms.json`), and says how each method matches.
"""

from __future__ import annotations

import difflib
import functools
import inspect
import json
import re
import typing
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tercet.cli import printing
from tercet.cli.errors import USAGE, Refusal
from tercet.cli.translation import tr
from tercet.core.catalog import TEXTS, Card, methods, text_named, text_of

TEXT_NAMES = [name for text in TEXTS.values() for name in (text.name, text.key)]
ALGORITHM = re.compile(
    rf"(?:(?P<text>{'|'.join(TEXT_NAMES)})\s*)?(?:alg(?:orithm)?s?\.?|算法)\s*(?P<number>(?:[a-z]\.)?\d+(?:\.\d+)*)",
    re.IGNORECASE,
)
# What a Chinese name may lack: 维特比 is 维特比算法.
CHINESE_SUFFIX = re.compile(r"(算法|方法|模型|法)$")


@dataclass(frozen=True)
class Match:
    """A method that answers a query, and how.

    Attributes
    ----------
    card : the method.
    by : "name", "algorithm", "place", "synonym" or "word" (a part of a Chinese name).
    parameter, value : the setting that selects the algorithm, where it is one.
    place : the place in the texts, where that matches.
    """

    card: Card
    by: str
    parameter: str | None = None
    value: str | None = None
    place: str | None = None

    @property
    def how(self) -> str:
        """How it matches, in a few words."""
        if self.parameter is not None:
            return f"{self.parameter}={self.value!r}"
        if self.place is not None:
            return self.place
        if self.by == "algorithm":
            return tr("algorithm {name}", name=self.value)
        return tr("by a synonym") if self.by == "synonym" else tr("by its name")

    def to_dict(self) -> dict[str, Any]:
        """As JSON: the method, and the parts of the match that there are."""
        found = {"by": self.by, "parameter": self.parameter, "value": self.value, "place": self.place}
        about = {"name": self.card.name, "zh": self.card.zh, "module": self.card.module}
        return {**about, **{key: value for key, value in found.items() if value is not None}}


def group(card: Card) -> str:
    """The folder of a card, as in "linear_model" or "losses".

    Examples
    --------
    >>> [group(card) for card in methods() if card.name == "Hinge"]
    ['losses']
    """
    return card.module.partition(".")[2]


def find(name: str, *, estimator: bool = False) -> Card:
    """The card that a name stands for: of any case, Chinese, or with its folder as in "losses.Perceptron".

    Examples
    --------
    >>> find("logisticregression").zh, find("感知机").name, find("losses.perceptron").task
    ('逻辑斯谛回归', 'Perceptron', 'loss')
    """
    cards = [card for card in methods() if card.kind == "estimator" or not estimator]
    # Of several of one name the estimator is meant.
    cards.sort(key=lambda card: not card.learns)
    asked, joined = name.strip().lower(), _joined(name)
    found = [card for card in cards if asked in (aliases := _aliases(card)) or joined in aliases]
    if not found:
        raise _unknown(name, cards)
    if len(found) > 1:
        others = ", ".join(f"{group(card)}.{card.name}" for card in found[1:])
        said = found[0].name if asked == found[0].name.lower() else name
        printing.remark("{name} is also the name of {others}", name=said, others=others)
    return found[0]


def look_up(query: str) -> list[Match]:
    """The methods that a query means, the closest match first.

    The name of a method in code, or its whole Chinese name, comes before all else; then algorithms, places in the
    texts, synonyms and parts of Chinese names.

    Examples
    --------
    >>> [(match.card.name, match.how) for match in look_up("Algorithm 7.5")]
    [('SVC', 'Li ch. 7, Alg 7.1-7.5'), ('smo', 'Li ch. 7, Alg 7.5, Thm 7.6')]
    >>> [(match.card.name, match.how) for match in look_up("C4.5")]
    [('DecisionTreeClassifier', "algorithm='c45'")]
    """
    if numbered := ALGORITHM.fullmatch(query.strip()):
        return _by_place(numbered["number"].upper(), numbered["text"])
    named = [Match(find(query), "name")] if _is_name(query) else []
    matches = [*named, *_by_synonym(query), *_by_algorithm(query)]
    if not named:
        matches += _by_chinese_word(query)
    if not matches:
        cards = sorted(methods(), key=lambda card: not card.learns)
        terms = [term for entry in synonyms() for term in entry.terms]
        raise _unknown(query, cards, [*(name for card in cards for name in card.algorithms), *terms])
    return _distinct(matches)


def _distinct(matches: list[Match]) -> list[Match]:
    """One match for each method, or one for each setting of it."""
    by_method: dict[str, list[Match]] = {}
    for match in matches:
        by_method.setdefault(f"{match.card.module}.{match.card.name}", []).append(match)
    kept: list[Match] = []
    for found in by_method.values():
        settings = {match.how: match for match in found if match.parameter is not None}
        if found[0].by == "name" or not settings:
            kept.append(
                min(found, key=lambda match: ("name", "algorithm", "synonym", "word").index(match.by))
            )
        else:
            kept += settings.values()
    return kept


def algorithm_numbers(place: str) -> list[str]:
    """The numbers of the algorithms in a place, ranges written out.

    Examples
    --------
    >>> (
    ...     algorithm_numbers("Li ch. 9, Alg 9.1, 9.3-9.5, Thm 9.1-9.4"),
    ...     algorithm_numbers("Li app. A, Alg A.1"),
    ... )
    (['9.1', '9.3', '9.4', '9.5'], ['A.1'])
    """
    numbers: list[str] = []
    inside = False
    for item in place.split(", "):
        word, _, rest = item.rpartition(" ")
        inside = word == "Alg" or (inside and not word)
        if not inside:
            continue
        first, _, last = rest.partition("-")
        head, _, low = first.rpartition(".")
        high = last.rpartition(".")[2] or low
        dotted = f"{head}." if head else ""
        numbers += [f"{dotted}{k}" for k in range(int(low), int(high) + 1)]
    return numbers


@dataclass(frozen=True)
class Synonyms:
    """Terms of one meaning, and the methods they stand for: names, each with a parameter's value or None."""

    terms: tuple[str, ...]
    methods: tuple[tuple[str, str | None], ...]


@functools.cache
def synonyms() -> tuple[Synonyms, ...]:
    """The table of well-known synonyms in both languages."""
    table = json.loads(Path(__file__).with_name("synonyms.json").read_text(encoding="utf-8"))
    found = []
    for entry in table:
        pairs = [method.partition(" ") for method in entry["methods"]]
        found.append(
            Synonyms(tuple(entry["terms"]), tuple((name, value or None) for name, _, value in pairs))
        )
    return tuple(found)


def _is_name(query: str) -> bool:
    """Whether a query is the name of a method in code, or a whole Chinese name."""
    asked, joined = query.strip().lower(), _joined(query)
    return any(asked in _paths(card) or joined == _joined(card.zh) for card in methods())


def _by_algorithm(query: str) -> Iterator[Match]:
    """Methods with an algorithm of that name on their card."""
    for card in methods():
        for name in card.algorithms:
            if name and _letters(name) == _letters(query):
                yield Match(card, "algorithm", _parameter(card, name), name)


def _by_place(number: str, text: str | None) -> list[Match]:
    """Methods that implement an algorithm of the texts."""
    wanted = text_named(text) if text else None
    found = [
        Match(card, "place", place=place)
        for card in methods()
        for place in card.texts
        if number in algorithm_numbers(place) and wanted in (None, text_of(place))
    ]
    if not found:
        raise Refusal(tr("no method is Algorithm {number} of the texts", number=number), USAGE)
    return sorted(found, key=lambda match: not match.card.learns)


def _by_synonym(query: str) -> Iterator[Match]:
    """Methods that the table of synonyms has for a query, and those with an algorithm of a synonym's name."""
    for entry in synonyms():
        if _letters(query) in map(_letters, entry.terms):
            for name, value in entry.methods:
                card = _card(name)
                yield Match(card, "synonym", value and _parameter(card, value), value)
            for term in entry.terms:
                yield from _by_algorithm(term)


def _card(name: str) -> Card:
    """The card of an exact name; of several the estimator's."""
    found = [card for card in methods() if name.lower() in _paths(card)]
    return min(found, key=lambda card: not card.learns)


def _by_chinese_word(query: str) -> Iterator[Match]:
    """Methods with a Chinese name that has the query as one of its words, or all but its ending."""
    asked = _joined(query)
    for card in methods():
        if asked in _aliases(card) or asked in map(_without_suffix, _chinese_words(card)):
            yield Match(card, "word")


def _parameter(card: Card, value: str) -> str | None:
    """The parameter of a method that takes a value among its choices."""
    thing = card.load()
    owner = thing.__init__ if inspect.isclass(thing) else thing
    hints = typing.get_type_hints(owner, include_extras=True)
    return next((name for name, hint in hints.items() if value in literal_strings(hint)), None)


def literal_strings(hint: Any) -> list[str]:
    """The strings that a type hint names one by one."""
    if typing.get_origin(hint) is Literal:
        return [choice for choice in typing.get_args(hint) if isinstance(choice, str)]
    return [word for part in typing.get_args(hint) for word in literal_strings(part)]


def _unknown(name: str, cards: list[Card], others: Iterable[str] = ()) -> Refusal:
    """The error for an unknown name, with spelling suggestions among the cards and other names."""
    asked, joined = name.strip().lower(), _joined(name)
    names = {other.lower(): other for other in (*others, *(card.name for card in reversed(cards)))}
    close = [names[other] for other in difflib.get_close_matches(asked, names, n=4, cutoff=0.6)]
    part = [card.name for card in cards if joined in card.name.lower() or joined in _joined(card.zh)]
    close += part if len(asked) > 1 else []
    # What a well-known name stands for comes before names that are spelled alike.
    meant = [
        method
        for entry in synonyms()
        if _letters(name) in map(_letters, entry.terms)
        for method, _ in entry.methods
    ]
    close = [*(method for method in meant if any(card.name == method for card in cards)), *close]
    hint = ", ".join(list(dict.fromkeys(close))[:6])
    if not hint:
        return Refusal(tr("there is no method {name!r}; `tercet list` names them", name=name), USAGE)
    return Refusal(tr("there is no method {name!r}; near it: {names}", name=name, names=hint), USAGE)


def _aliases(card: Card) -> frozenset[str]:
    return _paths(card) | _chinese_words(card)


def _paths(card: Card) -> frozenset[str]:
    return _endings(f"{card.module}.{card.name}")


@functools.cache
def _endings(path: str) -> frozenset[str]:
    """The ends of a dotted path, in lower case."""
    parts = path.lower().split(".")
    return frozenset(".".join(parts[k:]) for k in range(len(parts)))


def _chinese_words(card: Card) -> frozenset[str]:
    return _words(card.zh)


@functools.cache
def _words(zh: str) -> frozenset[str]:
    # A name may be two, as in "多对多, 纠错输出码", or have a remark, as in "聚合聚类（层次聚类）".
    names = re.split(r"[,，（）]+", zh)
    words = {zh, *names, *(word for name in names for word in name.split())}
    return frozenset(map(_joined, words)) - {""}


@functools.cache
def _without_suffix(word: str) -> str:
    return CHINESE_SUFFIX.sub("", word)


@functools.cache
def _joined(text: str) -> str:
    """Without blanks, in lower case."""
    return re.sub(r"\s", "", text).lower()


@functools.cache
def _letters(text: str) -> str:
    """Letters and digits alone, in lower case: C4.5 is c45, Baum-Welch is baumwelch."""
    return re.sub(r"[\W_]", "", text).lower()
