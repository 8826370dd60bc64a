"""Parsing of dates and times of day."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

CLOCK = r"(?:[T ]+([0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?) *(Z|[+-][0-9]{2}:?[0-9]{2})?)?$"
SHORT = r"[0-9]{1,2}"
FORMS = {
    "ymd": rf"^(?P<y>[0-9]{{4}})[-/.年](?P<m>{SHORT})[-/.月](?P<d>{SHORT})日?" + CLOCK,
    "dmy": rf"^(?P<d>{SHORT})[./-](?P<m>{SHORT})[./-](?P<y>[0-9]{{4}})" + CLOCK,
    "mdy": rf"^(?P<m>{SHORT})[./-](?P<d>{SHORT})[./-](?P<y>[0-9]{{4}})" + CLOCK,
}


def parse_dates(values: pl.Series, order: str) -> tuple[pl.Series, bool]:
    """Dates in this order, null for what is not one; and whether some have a zone while others have not.

    Examples
    --------
    >>> import polars as pl
    >>> parse_dates(pl.Series(["03/04/2024", "x"]), "dmy")[0].to_list()
    [datetime.date(2024, 4, 3), None]
    """
    import polars as pl

    parts = values.str.extract_groups(FORMS[order]).struct.unnest()
    clock, zone = (parts[:, k] for k in (3, 4))
    days = pl.select(pl.concat_str([parts["y"], parts["m"], parts["d"]], separator="-"))[:, 0]
    if clock.null_count() == len(clock):
        return days.str.to_date("%Y-%m-%d", strict=False), False
    timed = clock.is_not_null()
    mixed = bool(zone.is_not_null().any() and (timed & zone.is_null()).any())
    clock = clock.fill_null("00:00")
    short = clock.str.count_matches(":", literal=True) == 1
    clock = pl.select(pl.when(short).then(clock + ":00").otherwise(clock))[:, 0]
    zone = zone.fill_null("+00:00").str.replace("Z", "+00:00", literal=True)
    text = pl.select(pl.concat_str([days, pl.lit(" "), clock, zone]))[:, 0]
    read = text.str.to_datetime("%Y-%m-%d %H:%M:%S%.f%z", strict=False, time_zone="UTC", time_unit="us")
    return read.dt.replace_time_zone(None), mixed


def parse_times(values: pl.Series) -> pl.Series:
    """Times of day; null for what is not one.

    Examples
    --------
    >>> import polars as pl
    >>> parse_times(pl.Series(["9:30", "23:59:58.5", "24:10"])).to_list()
    [datetime.time(9, 30), datetime.time(23, 59, 58, 500000), None]
    """
    import polars as pl

    text = values.str.extract(r"^([0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?)$")
    short = text.str.count_matches(":", literal=True) == 1
    text = pl.select(pl.when(short).then(text + ":00").otherwise(text))[:, 0]
    return text.str.to_time("%H:%M:%S%.f", strict=False)
