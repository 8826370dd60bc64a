"""Names that someone may have meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def near(name: str, names: Iterable[str], most: int = 4) -> list[str]:
    """The names that are spelled like this one, nearest first, whatever their case.

    Examples
    --------
    >>> near("alhpa", ["alpha", "beta", "ALPHAS"])
    ['alpha', 'ALPHAS']
    """
    lower = {other.lower(): other for other in names}
    return [lower[other] for other in difflib.get_close_matches(name.lower(), lower, n=most, cutoff=0.6)]
