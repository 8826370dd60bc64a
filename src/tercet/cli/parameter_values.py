"""Estimators from the command line: a method by its name, parameters by NAME=VALUE."""

from __future__ import annotations

import ast
import contextlib
import inspect
from collections.abc import Iterator
from typing import Any

from tercet.cli.errors import USAGE, Refusal
from tercet.cli.lookup import find, literal_strings
from tercet.cli.translation import tr
from tercet.core.catalog import SCIKIT_LEARN, Card, methods
from tercet.core.spelling_suggestions import spelling_suggestions

TASKS = ("classification", "regression", "clustering")


def find_method(name: str) -> Card:
    """The estimator of the catalogue that a name means: in any case, in English or Chinese.

    Examples
    --------
    >>> find_method("perceptron").name, find_method("感知机").name
    ('Perceptron', 'Perceptron')
    """
    try:
        return find(name, estimator=True)
    except Refusal:
        for card in methods():  # those left are functions, and what is scikit-learn's
            if name.strip().lower() in (card.name.lower(), card.zh):
                said = {"name": card.name, "task": tr(card.task), "line": card.import_line}
                if card.kind == SCIKIT_LEARN:
                    message = tr("{name} is a method of scikit-learn ({line})", **said)
                else:
                    message = tr("{name} is a function ({task}), not an estimator", **said)
                raise Refusal(message, USAGE) from None
        raise


def build(card: Card, settings: list[str], seed: int) -> Any:
    """An estimator with its parameters set from NAME=VALUE texts, `random_state` from the seed.

    Examples
    --------
    >>> build(find_method("ridge"), ["alpha=10"], seed=0).alpha
    10
    >>> nested = build(find_method("OneVsRestClassifier"), ["estimator=Perceptron", "estimator__eta0=0.5"], 0)
    >>> nested.estimator.eta0
    0.5
    >>> vote = build(find_method("VotingClassifier"), ["estimators=Perceptron, GaussianNB"], 0)
    >>> [name for name, _ in vote.estimators]
    ['perceptron', 'gaussiannb']
    """
    texts: dict[str, str] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        name = name.strip()
        if not equals or not name:
            raise Refusal(tr("--set takes NAME=VALUE; got {text!r}", text=setting), USAGE)
        if name in texts:
            raise Refusal(tr("--set gives {name!r} twice", name=name), USAGE)
        texts[name] = text.strip()
    return _build(card.load(), texts, seed)


def _build(kind: type, texts: dict[str, str], seed: int) -> Any:
    parameters = inspect.signature(kind).parameters
    inner: dict[str, dict[str, str]] = {}
    values: dict[str, Any] = {}
    members = _named_methods(texts["estimators"]) if "estimators" in texts else {}
    for name, text in texts.items():
        head, nested, rest = name.partition("__")
        _check_name(kind, head, [*parameters, *(members if nested else ())])
        if nested:
            inner.setdefault(head, {})[rest] = text
    for name, text in texts.items():
        if name == "estimators":
            pairs = members.items()
            values[name] = [(one, _inner(kind, name, card, inner.pop(one, {}), seed)) for one, card in pairs]
        elif "__" not in name:
            values[name] = _value(kind, name, text, inner.pop(name, {}), seed)
    for name, below in inner.items():  # settings of an estimator that is there by default
        default = parameters[name].default
        if not hasattr(default, "get_params"):
            raise Refusal(
                tr(
                    "{method}: {name}__{rest} needs --set {name}=METHOD, too",
                    method=kind.__name__,
                    name=name,
                    rest=next(iter(below)),
                ),
                USAGE,
            )
        values[name] = _build(type(default), below, seed)
    for name, parameter in parameters.items():
        if parameter.default is parameter.empty and name not in values:
            raise Refusal(tr("{method} needs --set {name}=...", method=kind.__name__, name=name), USAGE)
    if "random_state" in parameters:
        values.setdefault("random_state", seed)
    return kind(**values)


def _named_methods(text: str) -> dict[str, Card]:
    """Methods of an ensemble, separated by commas, under their names in lower case (with a number, if repeated)."""
    found: dict[str, Card] = {}
    for word in filter(None, map(str.strip, text.split(","))):
        card = find_method(word)
        name = card.name.lower()
        same = sum(other.name == card.name for other in found.values())
        found[f"{name}{same + 1}" if same else name] = card
    return found


def _check_name(kind: type, name: str, names: list[str]) -> None:
    if name not in names:
        meant = spelling_suggestions(name, names)
        raise Refusal(
            tr("{method} has no parameter {name!r}", method=kind.__name__, name=name)
            + tr("; it has: {names}", names=", ".join(names))
            + (tr("; did you mean {near}?", near=" / ".join(meant)) if meant else ""),
            USAGE,
        )


def _value(kind: type, name: str, text: str, below: dict[str, str], seed: int) -> Any:
    """The value of a text for a parameter: the first interpretation that its annotation allows."""
    from tercet.core.parameters import allows, describe, hints

    if name == "estimator" or name.endswith("_estimator"):
        if text.lower() not in ("none", "null", ""):
            return _inner(kind, name, find_method(text), below, seed)
    elif below:
        raise Refusal(
            tr("{method}: parameter {name!r} is no estimator", method=kind.__name__, name=name), USAGE
        )
    hint = hints(kind).get(name, Any)
    for value in _interpretations(text, hint):
        if allows(hint, value):
            return value
    raise Refusal(
        tr(
            "{method}: parameter {name!r} must be {allowed}; got {value!r}",
            method=kind.__name__,
            name=name,
            allowed=describe(hint, tr),
            value=text,
        ),
        USAGE,
    )


def _inner(kind: type, name: str, card: Card, below: dict[str, str], seed: int) -> Any:
    """An estimator inside another one, which shows it a target."""
    supervised = ("classification", "regression")
    if card.task not in supervised:
        raise Refusal(
            tr(
                "{method}: parameter {name!r} must be a method for {tasks}; {got} is for {task}",
                method=kind.__name__,
                name=name,
                tasks=", ".join(tr(task) for task in supervised),
                got=card.name,
                task=tr(card.task),
            ),
            USAGE,
        )
    return _build(card.load(), below, seed)


def _interpretations(text: str, hint: Any) -> Iterator[Any]:
    """Interpretations of a text, most literal first."""
    if text in literal_strings(hint):
        yield text
    plain = {"none": None, "null": None, "true": True, "false": False}
    if text.lower() in plain:
        yield plain[text.lower()]
    for number in (int, float):
        with contextlib.suppress(ValueError):
            yield number(text)
    with contextlib.suppress(ValueError, OverflowError):
        if float(text).is_integer():  # 1e3 for a count
            yield int(float(text))
    if text[:1] in ("[", "(", "{", "'", '"'):
        # Literals only: nothing in them can be called.
        with contextlib.suppress(ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
            value = ast.literal_eval(text)
            yield value
            if isinstance(value, list):
                yield tuple(value)
    yield text
