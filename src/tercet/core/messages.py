"""Messages to the user that keep their template and values, so that they can be translated."""

from __future__ import annotations

import string
from collections.abc import Mapping
from typing import Any

LONGEST = 10_000  # letters in a template or a value that comes from a file
MOST = 20  # values in such a template


class Message(str):
    """A formatted string that keeps its template and values.

    Examples
    --------
    >>> message = Message("{n} rows have no target", n=3)
    >>> message
    '3 rows have no target'
    >>> message.template, message.values
    ('{n} rows have no target', {'n': 3})
    """

    template: str
    values: dict[str, Any]

    def __new__(cls, template: str, **values: Any) -> Message:
        message = super().__new__(cls, template.format(**values))
        message.template, message.values = template, values
        return message

    def __reduce__(self) -> tuple[Any, ...]:
        return (_message, (self.template, self.values))


def _message(template: str, values: dict[str, Any]) -> Message:
    return Message(template, **values)


def pack(note: str) -> dict[str, Any]:
    """A note as plain JSON values; only the text of one that `unpack` would not take.

    Examples
    --------
    >>> pack(Message("{n} rows", n=3))
    {'template': '{n} rows', 'values': {'n': 3}}
    """
    if not isinstance(note, Message) or not _plain(note.template):
        text = str(note)[: LONGEST // 2]  # a brace takes two letters
        return {"template": text.replace("{", "{{").replace("}", "}}"), "values": {}}
    values = {key: pack(value) if isinstance(value, Message) else value for key, value in note.values.items()}
    return {"template": note.template, "values": values}


def unpack(packed: Mapping[str, Any]) -> Message:
    """The note that `pack` made plain.

    A file may hold anything: a template can only name its values, since a width or an attribute in it
    (`{n:>1000000000}`) could ask for much more than a remark should; and what is long is cut.

    Raises
    ------
    ValueError
        When the template is not of that sort.

    Examples
    --------
    >>> unpack({"template": "{n} rows", "values": {"n": 3}})
    '3 rows'
    """
    template, values = packed["template"], packed["values"]
    if not isinstance(template, str) or not isinstance(values, Mapping) or not _plain(template):
        raise ValueError(f"not a note: {str(template)[:60]!r}")
    return Message(template, **{name: _value(value) for name, value in values.items()})


def _plain(template: str) -> bool:
    """Whether the fields of a template are {name} or {name!r}, and not too many."""
    if len(template) > LONGEST:
        return False
    try:
        parts = list(string.Formatter().parse(template))
    except ValueError:
        return False
    fields = [part[1:] for part in parts if part[1] is not None]
    plain = all(name.isidentifier() and not spec and how in (None, "r") for name, spec, how in fields)  # type: ignore[union-attr]
    return plain and len(fields) <= MOST


def _value(value: Any) -> Any:
    if isinstance(value, Mapping):
        note = unpack(value)
        return note if len(note) <= LONGEST else note[:LONGEST]
    return value if isinstance(value, int | float | None) else str(value)[:LONGEST]
