"""Symbols that compiled kernels call: which ones a kernel pack may have, and which are arithmetic of others."""

from __future__ import annotations

import re
import struct

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_SYMBOL_TABLE = 2

# The C library's mathematics, as LLVM and numba call it; functions of float32 have an f at the end.
MATHEMATICS = re.compile(
    r"(a?(cos|sin|tan)h?|atan2|sincos|cbrt|ceil|copysign|erfc?|exp(2|10|m1)?|fabs|floor|fma|fmax|fmin|fmod|frexp"
    r"|hypot|ldexp|lgamma|log(2|10|1p)?|modf|nearbyint|nextafter|pow|remainder|rint|round(even)?|sqrt|tgamma|trunc)f?"
)
MEMORY = frozenset(("memcmp", "memcpy", "memmove", "memset"))
# Python's C API and numba's runtime (reference counts, errors), which are present wherever numba runs.
# __chkstk, on Windows: the compiler's check of a large stack frame.
RUNTIME = re.compile(r"numba_\w+|NRT_\w+|_?Py[A-Z]\w+|_?Py_\w+|_ZN08NumbaEnv.*|__chkstk")
# Of numba's own, those that compute: BLAS and LAPACK of SciPy, elementary functions, random numbers.
ARITHMETIC = re.compile(
    r"numba_(xx\w+|ez_\w+|raw_\w+|frexpf?|ldexpf?|cpow|complex_\w+|gammaf?|lgammaf?|erff?|erfcf?|rnd_\w+|poisson\w*)"
)


def undefined_symbols(code: bytes) -> set[str]:
    """The names that an ELF object refers to and does not define.

    Raises
    ------
    ValueError
        When the object has another format.
    """
    if code[:6] != b"\x7fELF\x02\x01":  # 64 bits, little-endian
        raise ValueError("compiled code is not in the ELF format, whose symbols can be checked")
    _, _, _, _, _, _, offset, _, _, _, _, size, count, _ = _HEADER.unpack_from(code)
    sections = [_SECTION.unpack_from(code, offset + size * k) for k in range(count)]
    names = set()
    for _, kind, _, _, begin, length, link, *_ in sections:
        if kind == _SYMBOL_TABLE:
            strings = sections[link][4]
            for place in range(begin, begin + length, _SYMBOL.size):
                name, _, _, section, _, _ = _SYMBOL.unpack_from(code, place)
                if name and section == 0:
                    start = strings + name
                    names.add(code[start : code.index(b"\0", start)].decode())
    return names


def allowed(name: str) -> bool:
    """Whether a symbol is there, and means the same, wherever numba runs."""
    return name in MEMORY or any(kind.fullmatch(name) for kind in (MATHEMATICS, RUNTIME))


def computes(name: str) -> bool:
    """Whether a symbol is arithmetic of another library, whose last bits may differ between machines."""
    return any(kind.fullmatch(name) for kind in (MATHEMATICS, ARITHMETIC))
