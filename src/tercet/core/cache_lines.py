"""Cache lines of numbers in vector registers, for kernels whose inner sums must not go to memory and back.

Numba has no vectors: here are a type for them and the few instructions that are needed. A vector as long as a
cache line is one register of some processors, two or four of others. Places are counted in numbers from the
start of a contiguous array and are not checked. As plain Python, where sums are arrays anyway, there is nothing
to gain: a verb that uses these has another form for that.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.kernel import JIT

LINE = 64  # bytes of a cache line

no_line: Any = None
get_line: Any = None
set_line: Any = None
plus_line: Any = None


def fetch_line(array: Any, place: Any) -> None:
    """Ask for the line of a place before it is needed, where rows are far apart."""


def lines(n_rows: int, width: int, dtype: Any) -> np.ndarray:
    """A table of zeros whose rows are whole cache lines; the columns from `width` on are padding."""
    size = np.dtype(dtype).itemsize
    width = -(-width * size // LINE) * LINE // size
    room = np.zeros(n_rows * width + LINE // size, dtype)
    first = -room.ctypes.data % LINE // size
    return room[first : first + n_rows * width].reshape(n_rows, width)


if JIT:
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic, models, register_model

    class Line(types.Type):
        """A cache line of numbers."""

        def __init__(self, number: Any) -> None:
            super().__init__(f"Line({number})")
            self.number = number

    @register_model(Line)
    class LineModel(models.PrimitiveModel):
        def __init__(self, manager: Any, kind: Any) -> None:
            number = manager.lookup(kind.number).get_value_type()
            super().__init__(manager, kind, ir.VectorType(number, LINE * 8 // kind.number.bitwidth))  # type: ignore[no-untyped-call]

    def _pointer(context: Any, builder: Any, kind: Any, array: Any, place: Any) -> Any:
        line = context.get_value_type(Line(kind.dtype))
        start = context.make_array(kind)(context, builder, array).data
        return builder.bitcast(builder.gep(start, [place]), line.as_pointer())

    @intrinsic
    def no_line(_: Any, array: Any) -> Any:
        """Zeros of the array's dtype."""

        def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            return ir.Constant(context.get_value_type(signature.return_type), None)

        return Line(array.dtype)(array), code

    @intrinsic
    def get_line(_: Any, array: Any, place: Any) -> Any:
        """The line that begins at a place of the array, counted in its numbers."""

        def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            where = _pointer(context, builder, signature.args[0], *values)
            return builder.load(where, align=array.dtype.bitwidth // 8)

        return Line(array.dtype)(array, types.uint64), code

    @intrinsic
    def set_line(_: Any, array: Any, place: Any, line: Any) -> Any:
        """Put a line there."""

        def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            where = _pointer(context, builder, signature.args[0], *values[:2])
            builder.store(values[2], where, align=array.dtype.bitwidth // 8)
            return context.get_dummy_value()

        return types.void(array, types.uint64, line), code

    @intrinsic
    def fetch_line(_: Any, array: Any, place: Any) -> Any:
        """Ask for the line of a place before it is needed, where rows are far apart."""

        def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            byte, flag = ir.IntType(8).as_pointer(), ir.IntType(32)
            start = context.make_array(signature.args[0])(context, builder, values[0]).data
            where = builder.bitcast(builder.gep(start, [values[1]]), byte)
            kind = ir.FunctionType(ir.VoidType(), [byte, flag, flag, flag])
            fetch = builder.module.declare_intrinsic("llvm.prefetch", (byte,), kind)
            builder.call(fetch, [where, flag(0), flag(3), flag(1)])  # to read; into all caches; data
            return context.get_dummy_value()

        return types.void(array, types.uint64), code

    @intrinsic
    def plus_line(_: Any, line: Any, x: Any, other: Any) -> Any:
        """line + x other."""

        def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            line, x, other = values
            none = ir.Constant(other.type, ir.Undefined)
            first = builder.insert_element(none, x, ir.IntType(32)(0))
            copies = ir.Constant(ir.VectorType(ir.IntType(32), other.type.count), None)
            every = builder.shuffle_vector(first, none, copies)
            return builder.fadd(line, builder.fmul(every, other, flags=["contract"]), flags=["contract"])

        return line(line, line.number, other), code
