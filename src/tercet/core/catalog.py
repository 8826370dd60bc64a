"""The card of one method, and the table of all of them.

`@method(...)` gives a class or a function its card; `scikit_learn_method(...)` makes one for a class or function
of scikit-learn, which is used where it does what the texts teach (`tercet.scikit_learn_methods` has them all). The
cards are written to `catalog.json`, so that `tercet.methods()` reads them without importing a single family; a test
keeps the file true.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import json
import pkgutil
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

FILE = Path(__file__).resolve().parent.parent / "catalog.json"


class Text(NamedTuple):
    """One of the texts: how it is typed, how it is cited, and its titles in English and Chinese."""

    key: str
    name: str
    english: str
    chinese: str

    def title(self, language: str) -> str:
        """The title in a language, "en" or "zh"."""
        return self.chinese if language == "zh" else self.english


# The five texts. A place begins with the name ("Li ch. 7, Alg 7.5"); commands and page addresses use the key.
TEXTS = {
    text.name: text
    for text in (
        Text("li", "Li", "Li Hang, Machine Learning Methods", "李航《机器学习方法》"),
        Text(
            "depth",
            "Machine Learning in Depth",
            "Machine Learning in Depth (notes, 2018)",
            "《深度思考之机器学习系列》（笔记，2018）",
        ),
        Text(
            "watermelon", "watermelon notes", "Notes on the Watermelon Book (2017)", "《西瓜书笔记》（2017）"
        ),
        Text(
            "pattern",
            "Pattern Recognition",
            "Pattern Recognition, ch. 5",
            "《模式识别》第 5 章“典型的非线性分类器”",
        ),
        Text("studies", "Studies ML", "Studies ML (notes, 2023)", "Studies ML（笔记，2023）"),
    )
}


def text_named(asked: str) -> Text | None:
    """The text with this name or key, in any case."""
    wanted = asked.strip().lower()
    return next((text for text in TEXTS.values() if wanted in (text.key, text.name.lower())), None)


def text_of(place: str) -> Text:
    """The text that a place is in.

    Examples
    --------
    >>> text_of("watermelon notes ch. 6, eq. 6.1").key
    'watermelon'
    """
    for name, text in TEXTS.items():
        if place.startswith(f"{name} "):
            return text
    raise ValueError(f"The place {place!r} must begin with the name of a text: {', '.join(TEXTS)}.")


ROOMS = [["tercet", "rules", "logic"]]  # packages inside a family that names are imported from
SCIKIT_LEARN = "scikit-learn"  # the kind of cards that name something of scikit-learn
# What scikit-learn lets nobody import before it is enabled.
EXPERIMENTAL = {"sklearn.impute.IterativeImputer": "sklearn.experimental.enable_iterative_imputer"}

Thing = TypeVar("Thing", bound=Callable[..., Any])


@dataclass(frozen=True)
class Card:
    """What a method is, in both languages, and where the texts teach it.

    Attributes
    ----------
    name, zh : the method's name in code and in Chinese.
    title : what it is, in one line.
    task : what it is for: "classification", "regression", "optimisation" ...
    kind : "estimator"; "agent" for what learns from a model or an environment, not from rows; "function" for what
        takes no part in a pipeline: functions, losses, kernels; "scikit-learn" for a class or function of
        scikit-learn that there is no other of here.
    family : the folder it lives in.
    module : where to import it from.
    approach : "discriminative", "generative" or nothing (Li ch. 12, Table 12.1).
    model, strategy : the first two of the three elements.
    loss : what the strategy minimises by default, by its name in `tercet.losses`; empty where there is no such one.
    convex : whether learning is a convex problem; None where the texts do not say.
    algorithms : the third: the names that the method's parameter takes, or words, each with what it is.
    traits : how an algorithm behaves, by the columns of Li Table 22.2: principle, convergence, speed ...
    texts : places in the texts.
    peers : what else does the same, as one would look it up.
    """

    name: str
    zh: str
    title: str
    task: str
    kind: str
    family: str
    module: str
    approach: str = ""
    model: str = ""
    strategy: str = ""
    loss: str = ""
    convex: bool | None = None
    algorithms: dict[str, str] = field(default_factory=dict)
    traits: dict[str, str] = field(default_factory=dict)
    texts: tuple[str, ...] = ()
    peers: tuple[str, ...] = ()

    @property
    def learns(self) -> bool:
        """Whether it has a `fit` and parameters: an estimator or an agent."""
        return self.kind in ("estimator", "agent")

    @property
    def import_line(self) -> str:
        """The statement that imports it.

        Examples
        --------
        >>> [card.import_line for card in methods() if card.name == "KFold"]
        ['from sklearn.model_selection import KFold']
        """
        line = f"from {self.module} import {self.name}"
        package, _, switch = EXPERIMENTAL.get(f"{self.module}.{self.name}", "").rpartition(".")
        return f"from {package} import {switch}; {line}" if switch else line

    def load(self) -> Any:
        """The class or function itself."""
        if switch := EXPERIMENTAL.get(f"{self.module}.{self.name}"):
            importlib.import_module(switch)
        return getattr(importlib.import_module(self.module), self.name)


_cards: dict[str, Card] = {}


def method(
    *,
    zh: str,
    task: str,
    approach: str = "",
    model: str = "",
    strategy: str = "",
    loss: str = "",
    convex: bool | None = None,
    algorithms: dict[str, str] | str = "",
    traits: dict[str, str] | None = None,
    texts: list[str] | tuple[str, ...] = (),
    peers: list[str] | tuple[str, ...] = (),
) -> Callable[[Thing], Thing]:
    """Give a class or function its card."""

    def decorate(thing: Thing) -> Thing:
        # A file is not part of the public path: tercet.svm.smo.SVC is imported from tercet.svm, and
        # tercet.losses.margin.Hinge from tercet.losses.
        path = thing.__module__.split(".")
        family = path[1] if len(path) > 1 else path[0]
        module = ".".join(path[: 3 if family in ("core", "datasets") or path[:3] in ROOMS else 2])
        title = (inspect.getdoc(thing) or "").partition("\n")[0]
        # A kernel has parameters but nothing to fit, a distribution a fit but no parameters to search.
        whole = inspect.isclass(thing) and hasattr(thing, "get_params") and hasattr(thing, "fit")
        kind = getattr(thing, "kind_of_card", "estimator") if whole else "function"
        # What the texts call generative says so on its card; a predictor that does not is discriminative.
        predictor = kind == "estimator" and task in ("classification", "regression")
        card = Card(
            name=thing.__name__,
            zh=zh,
            title=title,
            task=task,
            kind=kind,
            family=family,
            module=module,
            approach=approach or ("discriminative" if predictor else ""),
            model=model,
            strategy=strategy,
            loss=loss,
            convex=convex,
            algorithms=_by_name(algorithms),
            traits=traits or {},
            texts=tuple(texts),
            peers=tuple(peers),
        )
        _cards[f"{module}.{thing.__name__}"] = card
        thing.card = card  # type: ignore[attr-defined]
        return thing

    return decorate


def scikit_learn_method(
    path: str,
    *,
    zh: str,
    title: str,
    task: str,
    model: str,
    strategy: str = "",
    algorithms: dict[str, str] | str = "",
    texts: list[str] | tuple[str, ...],
) -> Card:
    """Make the card of a class or function of scikit-learn, which is not imported.

    `title` is what `method` takes from the docstring.
    """
    module, _, name = path.rpartition(".")
    card = Card(
        name=name,
        zh=zh,
        title=title,
        task=task,
        kind=SCIKIT_LEARN,
        family=module.split(".")[1],
        module=module,
        model=model,
        strategy=strategy,
        algorithms=_by_name(algorithms),
        texts=tuple(texts),
    )
    _cards[path] = card
    return card


def _by_name(algorithms: dict[str, str] | str) -> dict[str, str]:
    """Algorithms by name; a single one that is only described has none."""
    return {"": algorithms} if isinstance(algorithms, str) and algorithms else dict(algorithms or {})


@functools.cache
def _stored() -> tuple[Card, ...]:
    rows = json.loads(FILE.read_text(encoding="utf-8"))
    return tuple(Card(**{**row, "texts": tuple(row["texts"]), "peers": tuple(row["peers"])}) for row in rows)


def methods(task: str | None = None, family: str | None = None, text: str | None = None) -> list[Card]:
    """The cards of all methods, or of those for a task, in a family, or taught in a text ("Li ch. 6").

    Examples
    --------
    >>> import tercet
    >>> [card.name for card in tercet.methods(task="classification", text="Li ch. 2")]
    ['KernelPerceptron', 'Perceptron']
    """
    return [
        card
        for card in _stored()
        if (task is None or card.task == task)
        and (family is None or card.family == family)
        and (text is None or any(f"{place}, ".startswith(f"{text}, ") for place in card.texts))
    ]


def collect() -> list[Card]:
    """Import every family and gather the cards."""
    from tercet.core.lazy import is_passed_on

    def import_all(package: str) -> None:
        for module in pkgutil.iter_modules(importlib.import_module(package).__path__, f"{package}."):
            if module.name.endswith("__main__") or is_passed_on(module.name.partition(".")[2]):
                continue
            if module.ispkg:
                import_all(module.name)
            else:
                importlib.import_module(module.name)

    import_all("tercet")
    return [_cards[key] for key in sorted(_cards)]


def render() -> str:
    """The text of the catalogue file."""
    return json.dumps([asdict(card) for card in collect()], ensure_ascii=False, indent=1) + "\n"


if __name__ == "__main__":
    from tercet.core import catalog  # the module that the decorators filled, not this copy of it

    catalog.FILE.write_text(catalog.render(), encoding="utf-8")
    print(f"{len(catalog.collect())} cards written to {catalog.FILE.name}")
