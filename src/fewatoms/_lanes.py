"""Eight numbers at a time in compiled loops: vectors that stay in registers, whatever a compiler makes of loops.

Each function is plain NumPy where loops are interpreted, and an instruction or two of LLVM where they are compiled.
Arrays are flat; `at` is a place in them with room behind it, which nobody checks.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, overload, register_model

from fewatoms._types import Array, FloatArray

LANES = 8
Numba = Any  # objects of numba and llvmlite, which say no types
_DOUBLE = ir.DoubleType()
_VECTOR = ir.VectorType(_DOUBLE, LANES)
_BYTES = ir.IntType(8).as_pointer()
_FIRST = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)


class _Lanes(types.Type):
    """What numba calls eight numbers."""


_LANES = _Lanes(name="Lanes")


@register_model(_Lanes)
class _Model(models.PrimitiveModel):
    """And keeps them as."""

    def __init__(self, dmm: Numba, fe_type: Numba) -> None:
        begin: Numba = super().__init__
        begin(dmm, fe_type, _VECTOR)


def _emitting(typed: Numba) -> Numba:
    """What compiled loops may call, from a function that says its types and how its code is emitted."""
    return intrinsic(typed)


def _declared(builder: Numba, kind: Numba, name: str) -> Numba:
    """A function that LLVM knows."""
    declare: Numba = cgutils.get_or_insert_function
    return declare(builder.module, kind, f"llvm.{name}")


def _everywhere(builder: Numba, x: Numba) -> Numba:
    """A vector of one number."""
    blank = ir.Constant(_VECTOR, ir.Undefined)
    return builder.shuffle_vector(builder.insert_element(blank, x, ir.Constant(ir.IntType(32), 0)), blank, _FIRST)


def _place(context: Numba, builder: Numba, kind: Numba, array: Numba, at: Numba) -> Numba:
    """A pointer into an array."""
    return builder.gep(context.make_array(kind)(context, builder, array).data, [at])


# Arrays --------------------------------------------------------------------------------------------------------------


def load(array: Array, at: int) -> FloatArray:
    """The numbers from a place on, in double precision."""
    return np.array(array[at : at + LANES], dtype=np.float64)


@_emitting
def _load(_typing: Numba, array: Numba, at: Numba) -> Numba:
    def emit(context: Numba, builder: Numba, signature: Numba, values: Numba) -> Numba:
        kind = context.get_data_type(signature.args[0].dtype)
        place = _place(context, builder, signature.args[0], *values)
        double = kind == _DOUBLE
        vector = builder.bitcast(place, ir.VectorType(kind, LANES).as_pointer())
        found = builder.load(vector, align=8 if double else 4)
        return found if double else builder.fpext(found, _VECTOR)

    return _LANES(array, types.intp), emit


def store(array: FloatArray, at: int, x: FloatArray) -> None:
    """Write them."""
    array[at : at + LANES] = x


@_emitting
def _store(_typing: Numba, array: Numba, at: Numba, x: Numba) -> Numba:
    def emit(context: Numba, builder: Numba, signature: Numba, values: Numba) -> Numba:
        place = _place(context, builder, signature.args[0], *values[:2])
        builder.store(values[2], builder.bitcast(place, _VECTOR.as_pointer()), align=8)
        return context.get_dummy_value()

    return types.void(array, types.intp, x), emit


def spread(array: FloatArray, at: int) -> FloatArray:
    """The number at a place, eight times."""
    return np.full(LANES, array[at])


@_emitting
def _spread(_typing: Numba, array: Numba, at: Numba) -> Numba:
    def emit(context: Numba, builder: Numba, signature: Numba, values: Numba) -> Numba:
        return _everywhere(builder, builder.load(_place(context, builder, signature.args[0], *values)))

    return _LANES(array, types.intp), emit


def fetch(array: Array, at: int) -> None:
    """Have what is at a place brought near, as it will be wanted soon."""


@_emitting
def _fetch(_typing: Numba, array: Numba, at: Numba) -> Numba:
    def emit(context: Numba, builder: Numba, signature: Numba, values: Numba) -> Numba:
        place = builder.bitcast(_place(context, builder, signature.args[0], *values), _BYTES)
        kind = ir.FunctionType(ir.VoidType(), [_BYTES, *[ir.IntType(32)] * 3])
        how = [ir.Constant(ir.IntType(32), n) for n in (0, 3, 1)]  # to read, to keep, data
        builder.call(_declared(builder, kind, "prefetch.p0"), [place, *how])
        return context.get_dummy_value()

    return types.void(array, types.intp), emit


def same(x: float) -> FloatArray:
    """A number, eight times."""
    return np.full(LANES, x)


@_emitting
def _same(_typing: Numba, x: Numba) -> Numba:
    return _LANES(types.float64), lambda _context, builder, _signature, values: _everywhere(builder, values[0])


overload(load)(lambda array, at: lambda array, at: _load(array, at))
overload(store)(lambda array, at, x: lambda array, at, x: _store(array, at, x))
overload(spread)(lambda array, at: lambda array, at: _spread(array, at))
overload(fetch)(lambda array, at: lambda array, at: _fetch(array, at))
overload(same)(lambda x: lambda x: _same(x))


# Arithmetic ----------------------------------------------------------------------------------------------------------


def product(x: FloatArray, y: FloatArray) -> FloatArray:
    """x y."""
    return x * y


def total(x: FloatArray, y: FloatArray) -> FloatArray:
    """x + y."""
    return x + y


def largest(x: FloatArray, y: FloatArray) -> FloatArray:
    """The larger of each two."""
    return np.maximum(x, y)


def inverse_root(x: FloatArray, least: FloatArray) -> FloatArray:
    """1 / sqrt(x), of `least` where x is less than that."""
    found: FloatArray = 1.0 / np.sqrt(np.maximum(x, least))
    return found


def more(s: FloatArray, x: FloatArray, y: FloatArray) -> FloatArray:
    """s + x y."""
    return s + x * y


def less(s: FloatArray, x: FloatArray, y: FloatArray) -> FloatArray:
    """s - x y."""
    return s - x * y


def _called(builder: Numba, name: str, *values: Numba) -> Numba:
    """Such a function, called on vectors."""
    kind = ir.FunctionType(_VECTOR, [_VECTOR] * len(values))
    return builder.call(_declared(builder, kind, f"{name}.v{LANES}f64"), values)


def _larger(builder: Numba, x: Numba, y: Numba) -> Numba:
    return builder.select(builder.fcmp_ordered(">", x, y), x, y)


def _rooted(builder: Numba, x: Numba, least: Numba) -> Numba:
    root = _called(builder, "sqrt", _larger(builder, x, least))
    return builder.fdiv(ir.Constant(_VECTOR, [1.0] * LANES), root)


def _of_two(plain: Numba, emit: Numba) -> None:
    """What compiled loops do instead of a function of two vectors."""

    @_emitting
    def found(_typing: Numba, x: Numba, y: Numba) -> Numba:
        return _LANES(_LANES, _LANES), lambda _context, builder, _signature, values: emit(builder, *values)

    overload(plain)(lambda x, y: lambda x, y: found(x, y))


def _of_three(plain: Numba, emit: Numba) -> None:
    """And of three."""

    @_emitting
    def found(_typing: Numba, s: Numba, x: Numba, y: Numba) -> Numba:
        return _LANES(_LANES, _LANES, _LANES), lambda _context, builder, _signature, values: emit(builder, *values)

    overload(plain)(lambda s, x, y: lambda s, x, y: found(s, x, y))


_of_two(product, lambda builder, x, y: builder.fmul(x, y))
_of_two(total, lambda builder, x, y: builder.fadd(x, y))
_of_two(largest, _larger)
_of_two(inverse_root, _rooted)
_of_three(more, lambda builder, s, x, y: _called(builder, "fma", x, y, s))
_of_three(less, lambda builder, s, x, y: _called(builder, "fma", builder.fneg(x), y, s))
