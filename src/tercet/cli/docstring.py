"""The parts of a numpydoc docstring."""

from __future__ import annotations

import inspect
import re
import textwrap
import typing
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from tercet.cli.translation import tr
from tercet.core.catalog import methods

# "As in `ElasticNet`; `precompute="auto"` is False.": the class, and what is different.
REFERENCE = re.compile(r"[Aa]s in `(\w+)`(.*)", flags=re.DOTALL)
ARRAYS = ("list", "tuple", "ndarray", "sparray", "spmatrix", "sparse matrix")

# Parameters and attributes that mean the same in every class.
COMMON = {
    "fit_intercept": "Whether there is a b.",
    "max_iter": "The most passes.",
    "class_weight": 'Weights of the classes; "balanced" makes every class count the same.',
    "coef_": "The weights w.",
    "intercept_": "The constants b.",
    "classes_": "The labels, sorted.",
    "n_iter_": "Passes made.",
    "means_": "The mean of each class.",
    "priors_": "The prior probability of each class.",
    "cluster_centers_": "The centres of the clusters.",
    "n_clusters_": "The number of clusters.",
}


@dataclass(frozen=True)
class Entry:
    """One entry of a section: the names it is about, what they are, and what is said of them."""

    names: tuple[str, ...]
    kind: str
    text: str


def parts(doc: str) -> dict[str, str]:
    """The sections by name; "" is what stands before the first of them, without the title line.

    Examples
    --------
    >>> parts("Title.\\n\\nMore of it.\\n\\nExamples\\n--------\\n>>> 1 + 1\\n2")
    {'': 'More of it.', 'Examples': '>>> 1 + 1\\n2'}
    """
    pieces = re.split(r"^(\w[\w ]*)\n-{3,}$", doc.partition("\n")[2], flags=re.MULTILINE)
    return {name: body.strip("\n") for name, body in zip(["", *pieces[1::2]], pieces[::2])}


def entries(section: str) -> list[Entry]:
    """The entries of a section of parameters or attributes.

    Examples
    --------
    >>> entries("a, b : float, default=1\\n    Two numbers.")
    [Entry(names=('a', 'b'), kind='float, default=1', text='Two numbers.')]
    """
    found = []
    for block in re.split(r"\n(?=\S)", section.strip("\n")):
        if not block:
            continue
        head, _, text = block.partition("\n")
        names, _, kind = head.partition(" : ")
        kind, words = kind.strip(), " ".join(textwrap.dedent(text).split())
        if not words and kind.endswith("."):  # a sentence where the type would stand
            kind, words = "", kind[:1].upper() + kind[1:]
        found.append(Entry(tuple(name.strip() for name in names.split(",")), kind, words))
    return found


def parameters(thing: Any, documented: str) -> list[dict[str, Any]]:
    """Every parameter with its default, what it may be and what it means, as documented or else as declared.

    Examples
    --------
    >>> from tercet.linear_model import Ridge
    >>> parameters(Ridge, "alpha : float\\n    Strength.")[0]["allowed"]
    'a number in [0, inf) or an array'
    """
    signature = inspect.signature(thing).parameters
    owner: Callable[..., Any] = vars(thing).get("__init__", thing) if inspect.isclass(thing) else thing
    hints = typing.get_type_hints(owner, include_extras=True)
    written = entries(documented)
    known = {name.lstrip("*") for entry in written for name in entry.names}
    written += [Entry((name,), "", "") for name in signature if name not in known]
    found = []
    for entry in written:
        group = []
        refers = REFERENCE.match(entry.kind)
        for name in entry.names:
            parameter = signature.get(name.lstrip("*"))
            hint = hints.get(name, Any)
            given = parameter is not None and parameter.default is not parameter.empty
            default = parameter.default if parameter is not None else None
            written_kind = re.split(", default=|, optional", entry.kind)[0]
            described = written_kind if hint is Any else _allowed(hint)
            if re.search(r"\bAny\b", described):
                described = written_kind
            one = {
                "name": name,
                "default": getattr(default, "__name__", repr(default)) if given else None,
                "allowed": described,
                "meaning": entry.text or (entry.kind if refers else COMMON.get(name, "")),
            }
            group.append(one)
        found += _followed(group)
    return found


def attributes(documented: str) -> list[dict[str, Any]]:
    """Every attribute with what it is and what is said of it; one that is "as in" another class, as there."""
    found: list[dict[str, Any]] = []
    for entry in entries(documented):
        told = REFERENCE.match(entry.text or entry.kind)
        there = _section(told[1], "Attributes") if told and _named(told[1]) else ""
        known = [(one, [name for name in one["names"] if name in entry.names]) for one in attributes(there)]
        mine = [{**one, "names": names} for one, names in known if names]
        missing = set(entry.names) - {name for _, names in known for name in names}
        text = entry.text or COMMON.get(", ".join(entry.names), "")
        found += [{**asdict(entry), "text": text}] if missing or not mine else mine
    return found


def _followed(group: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Parameters that are "as in" another class, with what is said there and what is different here."""
    sentence = group[0]["meaning"]
    told = REFERENCE.match(sentence)
    if told is None:
        return group
    if _named(told[1]) is None:
        return group
    there = {one["name"]: one for one in parameters(_named(told[1]), _section(told[1], "Parameters"))}
    different = set(re.findall(r"\w[\w-]*", told[2]))
    for one in group:
        other = there.get(one["name"])
        if other is not None and other["meaning"]:
            choices = re.findall(r"'([\w-]+)'", one["allowed"] + other["allowed"])
            mine = different & {one["name"], *choices}
            one["meaning"] = f"{other['meaning']} {sentence}" if mine else other["meaning"]
            one["allowed"] = one["allowed"] or other["allowed"]
    return group


def _named(name: str) -> Any:
    """The class or function that a docstring refers to; None if the catalogue has none of that name."""
    found = sorted((card for card in methods() if card.name == name), key=lambda card: card.kind)
    return found[0].load() if found else None


def _section(name: str, section: str) -> str:
    return parts(inspect.getdoc(_named(name)) or "").get(section, "")


def _allowed(hint: Any) -> str:
    """A type hint in words; NumPy's ArrayLike, a union of inner types, and other unions are the array they mean."""
    from tercet.core.parameters import describe

    choices = typing.get_args(hint)
    if any(getattr(choice, "__name__", "").startswith("_") for choice in choices):
        return tr("an array") + (tr(" or ") + "None" if type(None) in choices else "")
    words = describe(hint, tr).split(tr(" or "))
    if "ndarray" in words:
        words = [tr("an array") if word in ARRAYS else word for word in words]
    words = [tr("a callable") if word == "Callable" else word for word in words]
    return tr(" or ").join(dict.fromkeys(words))
