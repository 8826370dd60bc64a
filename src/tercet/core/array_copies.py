"""Copies of arrays inside kernels."""

from __future__ import annotations

from typing import Any

from tercet.core.kernel import inner


@inner
def copy_array(source: Any, target: Any) -> None:
    """`target[:] = source`, for vectors of one length.

    In the assignment numba compares the shapes, and compiles the text of an error that is never raised: a second
    and more.
    """
    for i in range(target.size):
        target[i] = source[i]
