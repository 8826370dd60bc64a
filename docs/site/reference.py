"""The pages of the API reference, from docstrings, signatures and cards."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
import typing
from functools import cache
from pathlib import Path
from typing import Any

import numpydoc
from jinja2 import FileSystemLoader
from jinja2.sandbox import SandboxedEnvironment
from numpydoc.docscrape import get_doc_object
from numpydoc.docscrape_sphinx import SphinxClassDoc, SphinxFunctionDoc, SphinxObjDoc
from sphinx.util.inspect import stringify_signature

from docs.site.public_names import ROOT, Name, names, pages
from tercet.core.catalog import Card, methods

INHERITED = ("sklearn", "builtins", "abc", "typing")  # where methods come from that every reader knows
BACKTICKS = re.compile(r"(?<![`:\w\\])`([A-Za-z_][\w.]*)(\(\))?`(?![`_\w])")
QUIET = re.compile(r"set_\w+_request|get_metadata_routing|steps")


def module_pages(module: str, folder: Path) -> dict[str, Any]:
    """One module: what it says of itself, its names, and the pages of those whose home it is."""
    about = inspect.getdoc(importlib.import_module(module)) or ""
    found = {name.path: entry(name) for name in pages() if name.module == module}
    aliases = {
        name.name: {"home": f"{name.home}.{name.name}", "page": name.page}
        for name in names()
        if name.module == module and name.home != module
    }
    return {"about": about, "names": found, "aliases": aliases}


def entry(name: Name) -> dict[str, Any]:
    """What is known of a name: the text of its page, and what the index and the links need."""
    thing = name.load()
    card = card_of(name)
    return {
        "name": name.name,
        "page": name.page,
        "text": text(name),
        "title": first_line(thing),
        "zh": card.zh if card else "",
        "kind": kind(thing),
        "example": example_source(name) or "",
        "source": source_of(thing),
    }


def kind(thing: Any) -> str:
    if inspect.isclass(thing):
        return "class"
    return "function" if callable(thing) and not is_type(thing) else "data"


def is_type(thing: Any) -> bool:
    """Whether a name stands for the type of a parameter, as in `Annotated[int, ...]` or `int | None`."""
    return typing.get_origin(thing) is not None


def docstring(thing: Any) -> str:
    """The docstring of a thing; of a partial that of its function."""
    return inspect.getdoc(getattr(thing, "func", thing)) or ""


def first_line(thing: Any) -> str:
    doc = docstring(thing) if kind(thing) != "data" else ""
    return " ".join(doc.partition("\n\n")[0].split())


@cache
def _cards() -> dict[str, Card]:
    return {f"{card.module}.{card.name}": card for card in methods()}


def card_of(name: Name) -> Card | None:
    return _cards().get(name.path)


@cache
def known() -> dict[str, list[str]]:
    """The paths that a short name may mean."""
    found: dict[str, list[str]] = {}
    for name in names():
        path = f"{name.home}.{name.name}"
        if path not in found.setdefault(name.name, []):
            found[name.name].append(path)
        found.setdefault(name.path, [path])
        found.setdefault(name.path.removeprefix("tercet."), [path])
    return found


def linked(doc: str, module: str) -> str:
    """A docstring whose `names` are links where the library has them, and code where not.

    What means something else in reStructuredText than in a formula is escaped: |x|, a * b, coef_.
    """

    def replace(match: re.Match[str]) -> str:
        word, call = match[1], match[2] or ""
        paths = known().get(word, [])
        mine = [path for path in paths if path.rpartition(".")[0] == module] or paths
        if len(mine) == 1:
            return f":py:obj:`{word}{call} <{mine[0]}>`"
        return f"``{word}{call}``"

    lines = doc.splitlines()
    start = next((k for k, line in enumerate(lines) if line.startswith("Examples")), len(lines))
    # Before the first section what is indented is a formula or code: a literal block.
    head = next((k - 1 for k, line in enumerate(lines) if line.startswith("---")), len(lines))
    for k, line in enumerate(lines[:start]):
        if k >= head or not line.startswith("    "):
            lines[k] = BACKTICKS.sub(replace, _escape(line))
        elif not lines[k - 1] and lines[k - 2].endswith(":"):
            lines[k - 2] += ":"
        elif not lines[k - 1] and not lines[k - 2].startswith("    "):
            lines[k - 1] = "\n::\n"
    return "\n".join(lines)


def _escape(line: str) -> str:
    """A line of prose with |, * and a final _ escaped outside backticks."""
    parts = re.split(r"(``.*?``|`[^`]*`)", line)
    return "".join(
        part if k % 2 else re.sub(r"[|*]|(?<=\w)_(?!\w)", r"\\\g<0>", part) for k, part in enumerate(parts)
    )


def text(name: Name) -> str:
    """The page of one name."""
    thing = name.load()
    heading = f"{name.name}"
    card = card_of(name)
    parts = [heading, "=" * len(heading), ""]
    if card is not None:
        parts += [f"*{card.zh}*", ""]
    parts += declaration(thing, name.path, name.module, kind(thing))
    parts += elements(card)
    example = example_source(name)
    if example and example != name.path:
        parts += ["", ".. rubric:: Example", "", f"As :py:obj:`{example}` gives it:", ""]
        parts += [*_example_lines(example), ""]
    return "\n".join(parts) + "\n"


def declaration(thing: Any, path: str, module: str, what: str) -> list[str]:
    """The directive of a class, a function or a constant."""
    if what == "data":
        shown = repr(sorted(thing) if isinstance(thing, dict | frozenset) else thing)
        shown = shown if len(shown) < 2000 else f"{shown[:2000]} ..."
        note = "Keys" if isinstance(thing, dict) else "Value"
        return [f".. py:data:: {path}", "", f"   {note}: ``{shown}``", ""]
    shown = signature(thing)
    lines = [f".. py:{what}:: {path}{shown.partition(' -> ')[0] if what == 'class' else shown}", ""]
    doc = docstring(thing)
    lines += _indented(rendered(thing, "class" if what == "class" else "function", doc, module))
    if what == "class":
        for member, about in members(thing):
            lines += ["", *_indented("\n".join(method(member, about, module, thing)))]
    return [*lines, ""]


def signature(thing: Any) -> str:
    """The signature with its types, as Python would write it."""
    thing = getattr(thing, "py_func", thing)  # of a compiled function
    try:
        found = inspect.signature(thing)
    except (TypeError, ValueError):
        return "()"
    return _plain(stringify_signature(found, unqualified_typehints=True))


def _plain(text: str) -> str:
    """Without addresses in memory, which differ from build to build."""
    return re.sub(r"<(?:function|class|bound method) '?([\w.]+)[^>]*>", r"\1", text).replace("\n", " ")


@cache
def template() -> Any:
    """numpydoc's template, which it would compile for every docstring."""
    loader = FileSystemLoader(Path(numpydoc.__file__).parent / "templates")
    return SandboxedEnvironment(loader=loader).get_template("numpydoc_docstring.rst")


def rendered(thing: Any, what: str, doc: str, module: str) -> str:
    """A docstring as numpydoc lays it out."""
    config = {
        "show_class_members": False,
        "attributes_as_param_list": True,
        "use_plots": False,
        "template": template(),
    }
    kinds = {"class_doc": SphinxClassDoc, "func_doc": SphinxFunctionDoc, "obj_doc": SphinxObjDoc}
    laid_out = str(get_doc_object(thing, what, linked(doc, module), config, **kinds))
    laid_out = re.sub(r":obj:`(\w+) <\.\w+>`", r"**\1**", laid_out)
    return re.sub(r"\n{3,}", "\n\n", laid_out).strip()


def members(kind: type) -> list[tuple[str, Any]]:
    """The public methods and properties of a class, those of `fit` and `predict` first."""
    found = []
    for name in dir(kind):
        about = inspect.getattr_static(kind, name)
        if name.startswith("_") or QUIET.fullmatch(name) or not _is_method(about):
            continue
        found.append((name, about))
    order = {"fit": 0, "partial_fit": 1, "fit_predict": 2, "fit_transform": 3}
    return sorted(found, key=lambda pair: (order.get(pair[0], 9), pair[0]))


def _is_method(about: Any) -> bool:
    return (
        inspect.isfunction(about)
        or isinstance(about, property | classmethod | staticmethod)
        or (hasattr(about, "__get__") and callable(getattr(about, "fn", None)))  # available_if
    )


def method(name: str, about: Any, module: str, owner: type) -> list[str]:
    """A method or property: in full where it is ours, in one line where scikit-learn has it."""
    function = getattr(about, "__func__", getattr(about, "fn", about))
    if isinstance(about, property):
        head, function = f".. py:property:: {name}", about.fget
    else:
        function = inspect.unwrap(function)
        mark = {classmethod: "\n   :classmethod:", staticmethod: "\n   :staticmethod:"}.get(type(about), "")
        shown = signature(function)
        if not isinstance(about, staticmethod):
            shown = re.sub(r"^\((?:self|cls)(?:: \w+)?(?:, )?", "(", shown)
        head = f".. py:method:: {name}{shown}{mark}"
    doc = inspect.getdoc(getattr(owner, name, None)) or inspect.getdoc(function) or ""
    if getattr(function, "__module__", "").startswith(INHERITED):
        body = re.sub(r":\w+:`[^`]*`", "", linked(" ".join(doc.partition("\n\n")[0].split()), module))
    else:
        body = rendered(function, "function", doc, module)
    return [head, "", *_indented(body)]


def elements(card: Card | None) -> list[str]:
    """The three elements and the places in the texts, from the card."""
    if card is None:
        return []
    problem = {True: "convex", False: "not convex", None: ""}[card.convex]
    rows = [("Model", card.model), ("Strategy", card.strategy), ("Loss", card.loss), ("Problem", problem)]
    rows += [(f"Algorithm {algorithm}".strip(), about) for algorithm, about in card.algorithms.items()]
    rows += [(trait.capitalize(), about) for trait, about in card.traits.items()]
    rows += [("Texts", "; ".join(card.texts)), ("Peers", ", ".join(card.peers))]
    lines = [".. rubric:: Three elements", "", ".. list-table::", "   :widths: 22 78", ""]
    for head, value in rows:
        if value:
            lines += [f"   * - {escaped(head)}", f"     - {escaped(value)}"]
    return [*lines, ""]


def escaped(text: str) -> str:
    return re.sub(r"([*`|_\\])", r"\\\1", text)


@cache
def returned_by() -> dict[str, str]:
    """Result types, each with a function that returns it and has an example."""
    found: dict[str, str] = {}
    for name in pages():
        thing = name.load()
        if not inspect.isfunction(thing) or ">>>" not in (inspect.getdoc(thing) or ""):
            continue
        words = re.findall(r"\w+", str(thing.__annotations__.get("return", "")))
        for word in words:
            found.setdefault(f"{name.module}.{word}", name.path)
            found.setdefault(word, name.path)
    return found


def example_source(name: Name) -> str | None:
    """The path of what the example of a name stands at: itself, or the function that returns it.

    The page of a constant or a type shows its value.
    """
    thing = name.load()
    if kind(thing) == "data" or ">>>" in docstring(thing):
        return name.path
    if inspect.isclass(thing) and (issubclass(thing, tuple) or dataclasses.is_dataclass(thing)):
        return returned_by().get(name.path) or returned_by().get(name.name)
    return None


def _example_lines(path: str) -> list[str]:
    module, _, name = path.rpartition(".")
    doc = inspect.getdoc(Name(module, name, module).load()) or ""
    example = doc[doc.find("Examples\n") :].partition("\n")[2].partition("\n")[2]
    return example.splitlines()


def _indented(text: str) -> list[str]:
    return [f"   {line}".rstrip() for line in text.splitlines()]


def source_of(thing: Any) -> tuple[str, int] | None:
    """The file of a thing, from the package's root, and the line where it begins."""
    thing = inspect.unwrap(getattr(thing, "py_func", thing))
    try:
        file, (_, line) = inspect.getsourcefile(thing), inspect.getsourcelines(thing)
    except (TypeError, OSError):
        return None
    if file is None or not Path(file).is_relative_to(ROOT):
        return None
    return Path(file).relative_to(ROOT.parent).as_posix(), max(line, 1)
