"""The book, runnable: a page for each chapter of each text in both languages, and the concordance of terms."""

from __future__ import annotations

import importlib
import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from docs.site.generated import fence
from docs.site.jobs import DOCS, Job
from docs.site.line_breaks import joined
from docs.site.words import zh
from tercet.cli.book import brief
from tercet.cli.catalogue import chapter_of
from tercet.cli.lookup import synonyms
from tercet.cli.translation import chinese
from tercet.core.catalog import SCIKIT_LEARN, TEXTS, Card, methods

Chapter = tuple[str, str]  # ("Li", "ch. 7")
WORDS = {
    "title": ("The book, runnable", "书，可以运行"),
    "about": (
        "Every chapter of the five texts that has something to run: its methods, its worked examples with the "
        "text's numbers beside ours, films of what iterates, and exercises to try. All numbers were computed when "
        "this page was built. `tercet book 7` does the same on a terminal.",
        "五本书中凡有可运行内容的各章：方法、例题（书上的数值与我们的并列）、迭代算法的动画，以及可以动手的练习。"
        "所有数值都是生成本页时算出的。在终端里用 `tercet book 7` 也可以。",
    ),
    "methods": ("What the chapter teaches", "本章的方法"),
    "examples": ("Examples, the text's numbers beside ours", "例题：书上的数值与我们的数值"),
    "film": ("Watch it learn", "看它怎样学习"),
    "exercises": ("Try it", "动手试试"),
    "exercise": ("Exercise", "练习"),
    "start": ("A start, and what it prints", "起点及其输出"),
    "code": ("The code", "代码"),
    "value": ("value", "数值"),
    "book": ("the text", "书上"),
    "derived": ("derived", "推导所得"),
    "ours": ("ours", "我们的"),
    "note": ("Note", "注"),
    "place": ("place", "出处"),
    "name": ("name", "名字"),
    "what": ("what it is", "是什么"),
    "run": ("All of them run by", "全部运行"),
    "play": ("Play", "播放"),
    "pass": ("pass #", "第 # 遍"),
    "slider": ("pass", "遍数"),
    "concordance": ("Concordance", "术语对照"),
    "terms": (
        "The terms of the texts in Chinese and English, and what they are called here.",
        "书中的术语（中文与英文），以及它们在这里的名字。按拼音排列。",
    ),
    "term": ("term", "术语"),
    "chapter": ("chapter", "章"),
    "counts": ("{n} methods, {m} examples", "{n} 个方法，{m} 道例题"),
}


TITLES = {  # of chapters without examples
    ("Li", "ch. 23"): ("feedforward neural networks (前馈神经网络)", "前馈神经网络"),
    ("Li", "ch. 28"): ("generative adversarial networks (生成对抗网络)", "生成对抗网络"),
    ("Machine Learning in Depth", "ch. 24"): ("spaces of mathematics (数学中的空间)", "数学中的空间"),
}


def word(name: str, language: str) -> str:
    return WORDS[name][language == "zh"]


def colon(language: str) -> str:
    return "：" if language == "zh" else ": "


@cache
def book_modules() -> dict[Chapter, list[str]]:
    """The modules of examples, by chapter."""
    from tercet.datasets.texts import chapters

    names = {text.key: text.name for text in TEXTS.values()}
    found: dict[Chapter, list[str]] = {}
    for module in chapters():
        parts = re.fullmatch(r"(?:([a-z]+)_)?(?:ch0*(\d+)|app([a-f]))(?:_\w+)?", module)
        assert parts is not None, module
        place = f"ch. {parts[2]}" if parts[2] else f"app. {parts[3].upper()}"
        found.setdefault((names[parts[1] or "li"], place), []).append(module)
    return found


@cache
def cards_by_chapter() -> dict[Chapter, list[tuple[Card, str]]]:
    found: dict[Chapter, list[tuple[Card, str]]] = {}
    for card in methods():
        for place in card.texts:
            entries = found.setdefault(chapter_of(place), [])
            entries.append((card, place.partition(", ")[2]))
    return found


@cache
def chapters() -> list[Chapter]:
    """All chapters with examples or methods, as one reads."""

    def order(chapter: Chapter) -> tuple[int, bool, int, str]:
        kind, _, number = chapter[1].partition(" ")
        return list(TEXTS).index(chapter[0]), kind != "ch.", int(number) if number.isdigit() else 0, number

    return sorted({*book_modules(), *cards_by_chapter()}, key=order)


def page_of(chapter: Chapter) -> str:
    """The page of a chapter.

    Examples
    --------
    >>> page_of(("Li", "ch. 7")), page_of(("Li", "app. C"))
    ('book/li-ch07', 'book/li-app-c')
    """
    kind, _, number = chapter[1].partition(" ")
    key = TEXTS[chapter[0]].key
    return f"book/{key}-ch{int(number):02d}" if kind == "ch." else f"book/{key}-app-{number.lower()}"


def title_of(chapter: Chapter, language: str) -> str:
    """The title of a chapter, from the first of its modules."""
    kind, _, number = chapter[1].partition(" ")
    if language == "zh":
        place = f"第 {number} 章" if kind == "ch." else f"附录 {number}"
    else:
        place = f"Chapter {number}" if kind == "ch." else f"Appendix {number}"
    for module in book_modules().get(chapter, []):
        doc = importlib.import_module(f"tercet.datasets.texts.{module}").__doc__ or ""
        said = doc.partition("\n")[0].rstrip(".")
        subject = said.partition(": ")[2]
        if language == "zh":
            subject = re.split(r"[:：]", zh(said), maxsplit=1)[-1]
        return f"{place}: {subject}" if language == "en" else f"{place}：{subject}"
    en, chinese_title = TITLES[chapter]
    return f"{place}: {en}" if language == "en" else f"{place}：{chinese_title}"


@cache
def extras() -> dict[str, Any]:
    """Films and exercises, by chapter: `book.toml`."""
    return tomllib.loads((DOCS / "book.toml").read_text(encoding="utf-8"))


def jobs() -> dict[str, Job]:
    """What has to be run for the book, by name."""
    found = {}
    for modules in book_modules().values():
        for module in modules:
            found[module] = Job(f"book/{module}", "docs.site.book:chapter_values", {"module": module})
    for key, extra in extras().items():
        name = key.replace(" ", "-").replace(".", "")
        for k, film in enumerate(extra.get("film", [])):
            found[f"{key} film {k}"] = Job(f"film/{name}-{k}", "docs.site.book:film", {"code": film["code"]})
        starts = [exercise["start"] for exercise in extra.get("exercise", [])]
        if starts:
            found[f"{key} exercises"] = Job(
                f"exercise/{name}", "docs.site.book:exercises", {"starts": starts}
            )
    return found


def pages(
    results: Mapping[str, Any], folders: Mapping[str, Path], names: Mapping[str, str]
) -> dict[str, str]:
    """All pages of the book; `names` has the page of every public name by its path."""
    texts = {}
    for language, start in (("en", ""), ("zh", "zh/")):
        texts[f"{start}book/index.md"] = index(results, language)
        texts[f"{start}book/concordance.md"] = concordance(names, language)
        for chapter in chapters():
            text = "\n\n".join(chapter_page(chapter, results, folders, names, language))
            texts[f"{start}{page_of(chapter)}.md"] = text + "\n"
    return texts


def index(results: Mapping[str, Any], language: str) -> str:
    parts = [f"# {word('title', language)}", word("about", language)]
    for text in TEXTS:
        mine = [chapter for chapter in chapters() if chapter[0] == text]
        parts.append(f"## {TEXTS[text].title(language)}")
        rows = []
        for chapter in mine:
            page = page_of(chapter).removeprefix("book/")
            n = len({card.name for card, _ in cards_by_chapter().get(chapter, [])})
            m = sum(len(results[module]) for module in book_modules().get(chapter, []))
            counts = word("counts", language).format(n=n, m=m)
            rows.append(f"- [{title_of(chapter, language)}]({page}.md) · {counts}")
        parts.append("\n".join(rows))
    parts.append(f"[{word('concordance', language)}](concordance.md)")
    listed = "\n".join(page_of(chapter).removeprefix("book/") for chapter in chapters())
    parts.append(f"```{{toctree}}\n:hidden:\n\nconcordance\n{listed}\n```")
    return "\n\n".join(parts) + "\n"


def chapter_page(
    chapter: Chapter,
    results: Mapping[str, Any],
    folders: Mapping[str, Path],
    names: Mapping[str, str],
    language: str,
) -> Iterator[str]:
    """The parts of a chapter's page."""
    key = " ".join(chapter)
    yield f"# {title_of(chapter, language)}"
    yield f"*{TEXTS[chapter[0]].title(language)}*"
    cards = cards_by_chapter().get(chapter, [])
    if cards:
        yield f"## {word('methods', language)}"
        yield methods_table(cards, names, language)
    for k, film in enumerate(extras().get(key, {}).get("film", [])):
        if k == 0:
            yield f"## {word('film', language)}"
        yield from film_parts(film, results[f"{key} film {k}"], folders[f"{key} film {k}"], language)
    modules = book_modules().get(chapter, [])
    if modules:
        yield f"## {word('examples', language)}"
        number = chapter[1].partition(" ")[2]
        yield f"{word('run', language)} `tercet book {chapter[0]}/{number}`{'。' if language == 'zh' else '.'}"
    shown: set[str] = set()
    for module in modules:
        for example in results[module]:
            yield from example_parts(example, shown, language)
    exercises = extras().get(key, {}).get("exercise", [])
    if exercises:
        yield f"## {word('exercises', language)}"
    for k, exercise in enumerate(exercises):
        yield f"**{word('exercise', language)} {k + 1}.** {exercise[language]}"
        printed = results[f"{key} exercises"][k].rstrip()
        yield f"{word('start', language)}{colon(language)}"
        yield fence("code-block", "python", exercise["start"].strip())
        if printed:
            yield fence("code-block", "text", printed, ":class: run-output")


def link(card: Card, names: Mapping[str, str]) -> str:
    page = names.get(f"{card.module}.{card.name}")
    if page:
        return f"[{card.name}](/{page})"
    mark = " (scikit-learn)" if card.kind == SCIKIT_LEARN else ""
    return f"`{card.name}`{mark}"


def methods_table(cards: list[tuple[Card, str]], names: Mapping[str, str], language: str) -> str:
    """The methods of a chapter: where in it, what they are called, what they are."""
    rows = []
    for card, place in sorted(cards, key=lambda pair: (_numbers(pair[1]), pair[0].name)):
        about = cell(card.title) if language == "en" else f"{cell(card.zh)}：{cell(zh(card.model))}"
        rows.append(f"| {cell(place)} | {link(card, names)} | {about} |")
    head = (
        f"| {word('place', language)} | {word('name', language)} | {word('what', language)} |\n|---|---|---|"
    )
    return "\n".join([head, *rows])


def _numbers(place: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", place)] or [999]


def example_parts(example: Mapping[str, Any], shown: set[str], language: str) -> Iterator[str]:
    title, other = (
        (example["title"], example["zh"]) if language == "en" else (example["zh"], example["title"])
    )
    yield f"### {example['place']} {cell(title)}"
    if language == "en" and other:
        yield f"*{cell(other)}*"
    yield values_table(example, language)
    if example["note"]:
        note = example["note"] if language == "en" else zh(example["note"])
        yield f"{word('note', language)}{colon(language)}{cell(note)}"
    code = example["given"]
    if example["code"] not in shown:
        shown.add(example["code"])
        code = f"{code}\n\n\n{example['code']}"
    yield f":::{{dropdown}} {word('code', language)}\n\n{fence('code-block', 'python', code)}\n:::"


def values_table(example: Mapping[str, Any], language: str) -> str:
    rows = []
    derived = [value["derived"] for value in example["values"]]
    for value in example["values"]:
        name = value["name"]
        if language == "zh":
            name = chinese().get(f"value|{name}", name)
        wanted = cell(brief(value["book"], longest=110))
        if value["derived"] and not all(derived):
            wanted = f"{word('derived', language)}: {wanted}"
        rows.append(f"| {cell(name)} | {wanted} | {cell(brief(value['ours'], longest=110))} | ✓ |")
    wanted = word("derived" if all(derived) else "book", language)
    head = f"| {word('value', language)} | {wanted} | {word('ours', language)} | |\n|---|---|---|---|"
    return "\n".join([head, *rows])


def film_parts(film: Mapping[str, Any], result: Any, folder: Path, language: str) -> Iterator[str]:
    """The player of a film, and the code that made it."""
    about = cell(joined(film[language]))
    frames = [f"/_cache/{folder.name}/{name}" for name in result["frames"]]
    images = "\n\n".join(f"```{{image}} {frame}\n:alt: {about}\n```" for frame in frames)
    passes = " ".join(map(str, result["passes"]))
    yield about
    yield (
        f"::::{{container}} film\n\n{images}\n\n```{{raw}} html\n"
        f'<div class="film-controls" data-passes="{passes}" data-play="{word("play", language)}" '
        f'data-pass="{word("pass", language)}" data-slider="{word("slider", language)}"></div>\n```\n::::'
    )
    yield f":::{{dropdown}} {word('code', language)}\n\n{fence('code-block', 'python', film['code'].strip())}\n:::"


def concordance(names: Mapping[str, str], language: str) -> str:
    """The terms of the texts in both languages, from the cards and the table of synonyms."""
    terms: dict[str, dict[str, None]] = {}
    for card in methods():
        shown = link(card, names)
        if card.texts:
            start = "zh/" if language == "zh" else ""
            shown += f" [{card.texts[0]}](/{start}{page_of(chapter_of(card.texts[0]))})"
        for term in filter(None, map(str.strip, re.split(r"[,，、]", card.zh))):
            terms.setdefault(term, {})[shown] = None
        if language == "en":
            terms.setdefault(spaced(card.name), {})[shown] = None
    by_name = {card.name: card for card in methods()}
    for entry in synonyms():
        for name, value in entry.methods:
            card = by_name.get(name.rpartition(".")[2])
            if card is None:
                continue
            shown = link(card, names) + (f" `{value}`" if value else "")
            for term in entry.terms:
                terms.setdefault(term, {})[shown] = None
    rows = [
        f"| {cell(term)} | {'; '.join(shown)} |"
        for term, shown in sorted(terms.items(), key=lambda pair: pair[0].lower().encode("gb18030"))
    ]
    head = f"| {word('term', language)} | {word('name', language)} |\n|---|---|"
    return (
        "\n".join([f"# {word('concordance', language)}\n\n{word('terms', language)}\n\n{head}", *rows]) + "\n"
    )


def spaced(name: str) -> str:
    """The words of a name in code.

    Examples
    --------
    >>> spaced("KernelPCA"), spaced("LogisticRegression"), spaced("novikoff_bound")
    ('kernel PCA', 'logistic regression', 'novikoff bound')
    """
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|_", " ", name).split()
    return " ".join(word if word.isupper() else word.lower() for word in words)


def cell(text: Any) -> str:
    """A text as it stands in a cell of a Markdown table."""
    return re.sub(r"([\\`*_{}\[\]<>|$#~])", r"\\\1", str(text)).replace("\n", " ")


def places_of_names(results: Mapping[str, Any], paths: Mapping[str, str]) -> dict[str, list[tuple[str, str]]]:
    """For every public name the examples that work with it: page and title."""
    by_word: dict[str, list[str]] = {}
    for path in paths:
        by_word.setdefault(path.rpartition(".")[2], []).append(path)
    found: dict[str, list[tuple[str, str]]] = {}
    for chapter, modules in book_modules().items():
        for module in modules:
            for example in results[module]:
                families = {part for used in example["words"] for part in used.split(".")}
                for used in example["words"]:
                    for path in by_word.get(used, []):
                        if path.split(".")[1] in families:
                            label = f"{example['place']}: {example['title']}"
                            found.setdefault(path, []).append((page_of(chapter), label))
    return found
