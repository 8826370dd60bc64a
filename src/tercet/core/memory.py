"""How much memory there is to work with."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from pathlib import Path
from typing import Any

from tercet.core.messages import Message

AMOUNT = re.compile(r"([0-9.e+]+?) *(?:([kmgt])(i)?b?|b)?")  # 300000000, 300MB, 1.5GiB, 1e9


def available() -> int:
    """Bytes of memory that may be used: TERCET_MEMORY, or what the machine and its container have left."""
    if asked := os.environ.get("TERCET_MEMORY"):
        return max(_bytes(asked), 1)
    left = [_machine(), _container(), _limit()]
    return min((size for size in left if size is not None), default=4 << 30)


def _bytes(asked: str) -> int:
    """A number of bytes with or without a unit.

    Examples
    --------
    >>> _bytes("300MB"), _bytes("1.5 GiB"), _bytes("1e6")
    (300000000, 1610612736, 1000000)
    """
    found = AMOUNT.fullmatch(asked.strip().lower())
    try:
        if found is None:
            raise ValueError
        number, prefix, binary = found.groups()
        step = 1024 if binary else 1000
        return int(float(number) * step ** (" kmgt".index(prefix) if prefix else 0))
    except (ValueError, OverflowError):
        raise ValueError(
            Message("TERCET_MEMORY must be a number of bytes; got {value!r}", value=asked)
        ) from None


def _machine() -> int | None:
    if sys.platform == "win32":
        return _windows()
    with contextlib.suppress(OSError, ValueError), open("/proc/meminfo", encoding="ascii") as file:
        for line in file:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    with contextlib.suppress(OSError, ValueError, AttributeError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    return None


def _windows() -> int | None:
    """The answer of `GlobalMemoryStatusEx`: size and load in 8 bytes, all memory, what is left, and more."""
    import ctypes

    status = (ctypes.c_uint64 * 8)()
    status[0] = ctypes.sizeof(status)
    kernel32: Any = getattr(ctypes, "windll").kernel32  # noqa: B009  (not there for type checkers elsewhere)
    return int(status[2]) if kernel32.GlobalMemoryStatusEx(status) else None


def _container() -> int | None:
    folder = Path("/sys/fs/cgroup")
    with contextlib.suppress(OSError, ValueError):  # "max" is no number: no limit
        limit, used = (int((folder / name).read_text()) for name in ("memory.max", "memory.current"))
        return max(limit - used, 1 << 26)
    return None


def _limit() -> int | None:
    """What `ulimit -v` leaves."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY:
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            return max(limit - pages * resource.getpagesize(), 1 << 26)
    return None
