"""Remarks that a program makes to a person: text with its numbers, so that it can be said in another language."""

from __future__ import annotations

import string
from collections.abc import Mapping
from typing import Any

LONGEST = 10_000  # letters in a template or a value that comes from a file
MOST = 20  # values in such a template


class Note(str):
    """A string that remembers its template and the values in it.

    Examples
    --------
    >>> note = Note("{n} rows have no target", n=3)
    >>> note
    '3 rows have no target'
    >>> note.template, note.values
    ('{n} rows have no target', {'n': 3})
    """

    template: str
    values: dict[str, Any]

    def __new__(cls, template: str, **values: Any) -> Note:
        note = super().__new__(cls, template.format(**values))
        note.template, note.values = template, values
        return note

    def __reduce__(self) -> tuple[Any, ...]:
        return (_note, (self.template, self.values))


def _note(template: str, values: dict[str, Any]) -> Note:
    return Note(template, **values)


def pack(note: str) -> dict[str, Any]:
    """A note as plain JSON values; only the text of one that `unpack` would not take.

    Examples
    --------
    >>> pack(Note("{n} rows", n=3))
    {'template': '{n} rows', 'values': {'n': 3}}
    """
    if not isinstance(note, Note) or not _plain(note.template):
        text = str(note)[: LONGEST // 2]  # a brace takes two letters
        return {"template": text.replace("{", "{{").replace("}", "}}"), "values": {}}
    values = {key: pack(value) if isinstance(value, Note) else value for key, value in note.values.items()}
    return {"template": note.template, "values": values}


def unpack(packed: Mapping[str, Any]) -> Note:
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
    return Note(template, **{name: _value(value) for name, value in values.items()})


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
