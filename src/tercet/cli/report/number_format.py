"""Formatting of numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, TypeGuard

NOTHING = "–"


def known(value: Any) -> TypeGuard[float]:
    """Whether a value is a finite number."""
    return isinstance(value, int | float) and math.isfinite(value)


def decimals(values: Iterable[Any]) -> int:
    """Decimals that suit a column of numbers: about four digits of the largest.

    Examples
    --------
    >>> decimals([0.97, 0.5]), decimals([54.2, 3.0]), decimals([12345.0])
    (3, 2, 0)
    """
    largest = max((abs(value) for value in values if known(value)), default=0.0)
    if largest < 10:
        return 3
    return max(0, 3 - int(math.log10(largest)))


def interval_decimals(value: Any, low: Any, high: Any) -> int:
    """Decimals of a value with an interval: two digits of half its width, and enough not to become 0 or 1.

    Examples
    --------
    >>> (
    ...     interval_decimals(0.9231, 0.901, 0.945),
    ...     interval_decimals(0.99962, 0.99, 1.0),
    ...     interval_decimals(54.2, 48.0, 60.4),
    ... )
    (3, 4, 1)
    """
    if not known(value):
        return 3
    half = (high - low) / 2 if known(low) and known(high) else 0.0
    places = decimals([value]) if half <= 0 else min(max(0, 1 - math.floor(math.log10(half))), 6)
    while places < 6 and value not in (-1, 0, 1) and float(f"{value:.{places}f}") in (-1, 0, 1):
        places += 1
    return places


def score_texts(value: Any, low: Any, high: Any) -> tuple[str, str, str]:
    """A score and the ends of its interval, in digits that the interval deserves.

    Examples
    --------
    >>> score_texts(0.92314, 0.9012, 0.9451)
    ('0.923', '0.901', '0.945')
    """
    places = interval_decimals(value, low, high)
    return fixed(value, places), fixed(low, places), fixed(high, places)


def fixed(value: Any, places: int) -> str:
    """A number with so many decimals and a true minus sign.

    Examples
    --------
    >>> fixed(-1234.5, 1), fixed(None, 2)
    ('−1,234.5', '–')
    """
    return f"{value:,.{places}f}".replace("-", "−") if known(value) else NOTHING


def short(value: Any, digits: int = 4) -> str:
    """A number in so many digits; what is no number as it is.

    Examples
    --------
    >>> short(3), short(0.0000123456), short(12345.678), short("2024-01-01")
    ('3', '1.235e−5', '12,346', '2024-01-01')
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return NOTHING if value is None else str(value)
    if not math.isfinite(value):
        return NOTHING
    if value == int(value) and abs(value) < 1e6:
        return f"{int(value):,}".replace("-", "−")
    if 1e3 <= abs(value) < 1e7:
        return f"{value:,.0f}".replace("-", "−")
    mantissa, _, power = f"{value:.{digits}g}".partition("e")
    return (f"{mantissa}e{int(power)}" if power else mantissa).replace("-", "−")


def percent(part: float, whole: float) -> str:
    """A share of the whole.

    Examples
    --------
    >>> percent(1, 3), percent(1, 5000), percent(0, 3)
    ('33%', '<0.1%', '0%')
    """
    share = 100 * part / whole if whole else 0.0
    if 0 < share < 0.1:
        return "<0.1%"
    return f"{share:.1f}%" if 0 < share < 10 else f"{share:.0f}%"


def seconds(value: Any) -> str:
    """A time in the unit that suits it.

    Examples
    --------
    >>> seconds(0.0000042), seconds(0.0123), seconds(3.21), seconds(125)
    ('4.2 µs', '12 ms', '3.2 s', '2 min 5 s')
    """
    if not known(value):
        return NOTHING
    if value >= 60:
        return f"{int(value) // 60} min {int(value) % 60} s"
    factor, unit = (1.0, "s") if value >= 1 else (1e3, "ms") if value >= 1e-3 else (1e6, "µs")
    amount = value * factor
    return f"{amount:.1f} {unit}" if amount < 10 else f"{amount:.0f} {unit}"


def probability(value: Any) -> str:
    """A p-value.

    Examples
    --------
    >>> probability(0.00004), probability(0.0321), probability(None)
    ('<0.001', '0.032', '–')
    """
    if not known(value):
        return NOTHING
    return "<0.001" if value < 0.001 else f"{value:.3f}"
