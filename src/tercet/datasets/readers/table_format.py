"""The format of a table in a file, so that another file can be read alike.

What one file leaves open (is 1,234 a thousand? is 03/04 in April?) another may settle; a model that learned
from the one must get the other in the same sense. Only plain values go in and out: it is kept with the model.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

KINDS = ("number", "string", "boolean", "date", "time")
ORDERS = ("ymd", "dmy", "mdy")


@dataclass(frozen=True)
class ColumnFormat:
    """The format of a column.

    `decimal` is the decimal mark, "" where no value shows it; `order` is that of day, month and year; `stray`:
    a few values are no numbers or dates and count as missing.
    """

    kind: str
    decimal: str = ""
    currency: str = ""
    order: str = ""
    stray: bool = False


@dataclass(frozen=True)
class TableFormat:
    """The format of a file: that of its columns, and what holds for all of them.

    `missing` are the marks for missing values that stand among numbers; `header` says whether there is one,
    None if the format has none; `base` and `width` belong to SVMlight: where indices start, how many there are.
    """

    columns: dict[str, ColumnFormat] = field(default_factory=dict)
    decimal: str = ""
    missing: tuple[str, ...] = ()
    header: bool | None = None
    base: int | None = None
    width: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Plain values, without what says nothing.

        Examples
        --------
        >>> TableFormat({"a": ColumnFormat("number", decimal=",")}, header=True).to_dict()
        {'columns': {'a': {'kind': 'number', 'decimal': ','}}, 'header': True}
        """
        plain = {name: value for name, value in asdict(self).items() if value not in ("", (), {}, None)}
        if "missing" in plain:
            plain["missing"] = list(self.missing)
        if self.columns:
            plain["columns"] = {
                name: {key: value for key, value in asdict(column).items() if value not in ("", False)}
                for name, column in self.columns.items()
            }
        if not self.width:
            plain.pop("width")
        return plain

    @classmethod
    def from_dict(cls, plain: Any) -> TableFormat:
        """From plain values; they may come from anywhere, so what makes no sense is passed over."""
        plain = plain if isinstance(plain, dict) else {}
        columns = plain.get("columns")
        base, width, missing = plain.get("base"), plain.get("width"), plain.get("missing")
        return cls(
            columns={
                str(name): column
                for name, entry in (columns.items() if isinstance(columns, dict) else ())
                if (column := _column_format(entry)) is not None
            },
            decimal=_one_of(plain.get("decimal"), (".", ",")),
            missing=tuple(map(str, missing)) if isinstance(missing, list | tuple) else (),
            header=plain["header"] if isinstance(plain.get("header"), bool) else None,
            base=base if type(base) is int and base in (0, 1) else None,
            width=width if type(width) is int and 0 <= width < 2**31 else 0,
        )

    def decimal_of(self, name: str) -> str:
        """The decimal mark of a column: its own, or that of the file."""
        column = self.columns.get(name)
        return (column.decimal if column else "") or self.decimal


def typed_format(frame: pl.DataFrame) -> TableFormat:
    """The format of a frame from a file whose columns have types."""
    return TableFormat({name: ColumnFormat(column_kind(frame[name])) for name in frame.columns})


def column_kind(column: pl.Series) -> str:
    """What the values of a column are."""
    import polars as pl

    if column.dtype == pl.Boolean:
        return "boolean"
    if column.dtype in (pl.Date, pl.Datetime):
        return "date"
    if column.dtype == pl.Time:
        return "time"
    return "number" if column.dtype.is_numeric() else "string"


def _column_format(plain: Any) -> ColumnFormat | None:
    if not isinstance(plain, dict) or plain.get("kind") not in KINDS:
        return None
    currency = plain.get("currency")
    return ColumnFormat(
        kind=plain["kind"],
        decimal=_one_of(plain.get("decimal"), (".", ",")),
        currency=currency if isinstance(currency, str) else "",
        order=_one_of(plain.get("order"), ORDERS),
        stray=plain.get("stray") is True,
    )


def _one_of(value: Any, allowed: tuple[str, ...]) -> str:
    return value if isinstance(value, str) and value in allowed else ""
