"""Remarks that a program makes to a person: text with its numbers, so that it can be said in another language."""

from __future__ import annotations

from typing import Any


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
