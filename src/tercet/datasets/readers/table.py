"""What a reader hands back: a table, or an error that says what is wrong with the file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tercet.core.messages import Message

if TYPE_CHECKING:
    import polars
    from scipy.sparse import csr_array


class TableError(ValueError):
    """A table that cannot be read, or not be used; `note` is the message, ready to be translated.

    Examples
    --------
    >>> TableError("{file}: the file is empty", file="a.csv").note.values
    {'file': 'a.csv'}
    """

    note: str

    def __init__(self, message: str, **values: Any) -> None:
        self.note = Message(message, **values) if values else message
        super().__init__(self.note)


@dataclass(frozen=True, eq=False)
class Table:
    """Named columns, and where they come from.

    Attributes
    ----------
    frame : polars.DataFrame. Numbers, booleans and dates are parsed where a whole column allows it.
    sparse : csr_array or None. The numeric features of a sparse format, row by row beside `frame`.
    sparse_names : names of the sparse columns; None: "f0", "f1", ... by position.
    target : the column that the format itself marks as the target.
    kinds : what the format declares: "categorical", "numeric", "text" or "date" for some columns.
    source, format : "data.csv", "CSV".
    total_rows : rows in the source; more than `height` when rows were drawn.
    notes : what was found out and decided while reading.
    reading : how the file was read, in plain values: `read_table(other, like=reading)` reads another one alike.
    """

    frame: polars.DataFrame
    sparse: csr_array | None = None
    sparse_names: tuple[str, ...] | None = None
    target: str | None = None
    kinds: dict[str, str] = field(default_factory=dict)
    source: str = ""
    format: str = ""
    total_rows: int = 0
    notes: tuple[Message, ...] = ()
    reading: dict[str, Any] = field(default_factory=dict)

    @property
    def height(self) -> int:
        """Rows in the table."""
        return self.frame.height if self.sparse is None else self.sparse.shape[0]


def listed(names: Sequence[str], most: int = 6) -> str:
    """A few names for a message.

    Examples
    --------
    >>> listed(["a", "b", "c"], most=2)
    "'a', 'b', ... (3)"
    """
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown}, ... ({len(names)})"
