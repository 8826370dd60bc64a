"""Functions of the user inside compiled loops.

A function that the user compiled with numba can be called from a loop that is compiled for it alone: a closure over
the function. Such a loop is compiled once per process and function; it cannot be kept on disk, since no file tells
when the user's function has changed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tercet.core.kernel import JIT, OPTIONS


def is_jitted(function: Any) -> bool:
    """Whether a function was compiled by numba (`@numba.njit`), and kernels may call it.

    Examples
    --------
    >>> is_jitted(len)
    False
    """
    kind = type(function)
    return JIT and kind.__module__.startswith("numba.") and hasattr(function, "py_func")


def has_own_threads(function: Any) -> bool:
    """Whether a function was compiled with numba's own threads (`parallel=True`), which must not run in ours."""
    return bool(getattr(function, "targetoptions", {}).get("parallel"))


def closure_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a closure over jitted functions as a kernel, without a file in the cache."""
    if not JIT:
        return function
    import numba

    return numba.njit(**OPTIONS)(function)
