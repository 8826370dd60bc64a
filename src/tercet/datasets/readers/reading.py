"""How a file was read, so that another one can be read the same way.

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
class Way:
    """How a column is written.

    `decimal` is the decimal mark, "" where no value shows it; `order` is that of day, month and year; `stray`:
    a few values are no numbers or dates and count as missing.
    """

    kind: str
    decimal: str = ""
    currency: str = ""
    order: str = ""
    stray: bool = False


@dataclass(frozen=True)
class Reading:
    """How a file is written: its columns, and what holds for all of them.

    `missing` are the marks for missing values that stand among numbers; `header` says whether there is one,
    None if the format has none; `base` and `width` belong to SVMlight: where indices start, how many there are.
    """

    columns: dict[str, Way] = field(default_factory=dict)
    decimal: str = ""
    missing: tuple[str, ...] = ()
    header: bool | None = None
    base: int | None = None
    width: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Plain values, without what says nothing.

        Examples
        --------
        >>> Reading({"a": Way("number", decimal=",")}, header=True).to_dict()
        {'columns': {'a': {'kind': 'number', 'decimal': ','}}, 'header': True}
        """
        told = {name: value for name, value in asdict(self).items() if value not in ("", (), {}, None)}
        if "missing" in told:
            told["missing"] = list(self.missing)
        if self.columns:
            told["columns"] = {
                name: {key: value for key, value in asdict(way).items() if value not in ("", False)}
                for name, way in self.columns.items()
            }
        if not self.width:
            told.pop("width")
        return told

    @classmethod
    def from_dict(cls, told: Any) -> Reading:
        """From plain values; they may come from anywhere, so what makes no sense is passed over."""
        told = told if isinstance(told, dict) else {}
        columns = told.get("columns")
        base, width, missing = told.get("base"), told.get("width"), told.get("missing")
        return cls(
            columns={
                str(name): way
                for name, told_way in (columns.items() if isinstance(columns, dict) else ())
                if (way := _way(told_way)) is not None
            },
            decimal=_one_of(told.get("decimal"), (".", ",")),
            missing=tuple(map(str, missing)) if isinstance(missing, list | tuple) else (),
            header=told["header"] if isinstance(told.get("header"), bool) else None,
            base=base if type(base) is int and base in (0, 1) else None,
            width=width if type(width) is int and 0 <= width < 2**31 else 0,
        )

    def decimal_of(self, name: str) -> str:
        """The decimal mark of a column: its own, or that of the file."""
        way = self.columns.get(name)
        return (way.decimal if way else "") or self.decimal


def read_as(frame: pl.DataFrame) -> Reading:
    """The reading of a frame whose format has types of its own."""
    return Reading({name: Way(kind_of(frame[name])) for name in frame.columns})


def kind_of(column: pl.Series) -> str:
    """What the values of a column are."""
    import polars as pl

    if column.dtype == pl.Boolean:
        return "boolean"
    if column.dtype in (pl.Date, pl.Datetime):
        return "date"
    if column.dtype == pl.Time:
        return "time"
    return "number" if column.dtype.is_numeric() else "string"


def _way(told: Any) -> Way | None:
    if not isinstance(told, dict) or told.get("kind") not in KINDS:
        return None
    currency = told.get("currency")
    return Way(
        kind=told["kind"],
        decimal=_one_of(told.get("decimal"), (".", ",")),
        currency=currency if isinstance(currency, str) else "",
        order=_one_of(told.get("order"), ORDERS),
        stray=told.get("stray") is True,
    )


def _one_of(value: Any, allowed: tuple[str, ...]) -> str:
    return value if isinstance(value, str) and value in allowed else ""
