"""Spelling suggestions for error messages."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def spelling_suggestions(name: str, names: Iterable[str], most: int = 4) -> list[str]:
    """Names spelled like `name`, most similar first, ignoring case.

    Examples
    --------
    >>> spelling_suggestions("alhpa", ["alpha", "beta", "ALPHAS"])
    ['alpha', 'ALPHAS']
    """
    lower = {other.lower(): other for other in names}
    return [lower[other] for other in difflib.get_close_matches(name.lower(), lower, n=most, cutoff=0.6)]
