"""Operators of which only products are known: SciPy's LinearOperator and whatever looks like it, and your own."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from fewatoms import _checks
from fewatoms._types import Array, FloatArray, IntArray, ModelDual
from fewatoms.capabilities import keeps
from fewatoms.operators.base import Operator

C = TypeVar("C")
Product = Callable[..., ModelDual]  # what a box returns is looked at


class Box(Operator):
    """What two kinds of boxes share: results are checked, since their authors may not have, and what the box has of the
    members of a capability is offered as it is."""

    def __init__(self, op: object, name: str = "M") -> None:
        shape = getattr(op, "shape", None)
        try:
            m, n = (int(s) for s in shape or ())
        except (TypeError, ValueError):
            raise TypeError(f"{name} must have a shape (m, n); got {shape!r}") from None
        if min(m, n) < 1:
            raise ValueError(f"{name} must have at least one row and one column; got shape {(m, n)}")
        self.op, self.shape, self.argument = op, (m, n), name

    def __repr__(self) -> str:
        return repr(self.op)

    def offers(self, capability: type[C]) -> C | None:
        """What the box itself offers, by `offers` if it has that, else by having all members."""
        asked = getattr(self.op, "offers", None)
        found = self.op if asked is None else asked(capability)
        return found if keeps(found, capability) else None

    def apply_factors(self, U: Array, V: Array) -> FloatArray:
        known = getattr(self.op, "apply_factors", None)
        return super().apply_factors(U, V) if known is None else self._called("apply_factors", self.shape[0], U, V)

    def _method(self, name: str) -> Product:
        found: Product = getattr(self.op, name)
        return found

    def _called(self, name: str, size: int, *given: Array) -> FloatArray:
        """What the box returned, flat and checked."""
        try:
            result = np.asarray(self._method(name)(*given))
        except NotImplementedError as error:
            kind = type(self.op).__name__
            raise TypeError(f"{self.argument} must have a working {name}; {kind} does not implement it") from error
        except ValueError as error:
            # SciPy reshapes what a subclass returns, and says only that this failed.
            if "reshape" not in str(error):
                raise
            raise ValueError(f"{self.argument}.{name} must return {size} numbers; {error}") from error
        if result.size != size:
            raise ValueError(f"{self.argument}.{name} must return {size} numbers; got shape {result.shape}")
        return real_numbers(f"{self.argument}.{name}", result.ravel())


class BlackBox(Box):
    """Anything with `shape`, `matvec` and `rmatvec`: SciPy's LinearOperator, PyLops operators, your own."""

    def __init__(self, op: object, name: str = "M") -> None:
        super().__init__(op, name)
        dtype = getattr(op, "dtype", None)
        if dtype is not None:
            refuse_complex(np.dtype(dtype), name)

    def apply(self, x: Array) -> FloatArray:
        return self._called("matvec", self.shape[0], x.ravel())

    def adjoint(self, y: FloatArray) -> FloatArray:
        return self._called("rmatvec", self.shape[1], y)

    def columns(self, indices: IntArray) -> Array:
        width = max(1, (1 << 22) // self.shape[1])
        if width == 1 or not self._takes_blocks():
            return super().columns(indices)
        blocks = []
        for start in range(0, indices.size, width):
            some = indices[start : start + width]
            E = np.zeros((self.shape[1], some.size))
            E[some, np.arange(some.size)] = 1.0
            blocks.append(self.apply_block(E))
        return np.concatenate(blocks, axis=1) if blocks else np.zeros((self.shape[0], 0))

    def _takes_blocks(self) -> bool:
        """Whether the box multiplies blocks by itself. SciPy would pass columns of shape (n, 1) to a user's matvec, and
        not every author thought of those."""
        if isinstance(self.op, LinearOperator):
            own = getattr(self.op, "_CustomLinearOperator__matmat_impl", None) is not None
            return own or (
                type(self.op)._matmat is not LinearOperator._matmat
                and not hasattr(self.op, "_CustomLinearOperator__matmat_impl")
            )
        return hasattr(self.op, "matmat")

    def apply_block(self, X: Array) -> Array:
        if not X.shape[1] or not self._takes_blocks():  # not every box takes an empty block
            return super().apply_block(X)
        result = np.asarray(self._method("matmat")(X))
        if result.shape != (self.shape[0], X.shape[1]):
            raise ValueError(
                f"{self.argument}.matmat must return shape {(self.shape[0], X.shape[1])}; got {result.shape}"
            )
        return real_numbers(f"{self.argument}.matmat", result)


class OwnBox(Box):
    """Anything with `shape`, `apply` and `adjoint`, your own class without a base.

    A matrix model is told by an attribute `model_shape`: x then comes in that shape, flat without. M*y may be an array,
    a sparse matrix or a LinearOperator of that shape; of complex Hermitian matrices where an attribute `complex` is
    True. `apply_factors(U, V)` is used where there is one.
    """

    def __init__(self, op: object, name: str = "M") -> None:
        super().__init__(op, name)
        shape = getattr(op, "model_shape", None)
        flat = shape is None or shape == self.shape[1:]
        self._model_shape = self.shape[1:] if flat else _checks.shape(f"{name}.model_shape", shape)
        if math.prod(self._model_shape) != self.shape[1]:
            raise ValueError(f"{name}.model_shape must have {self.shape[1]} entries, as its shape says; got {shape!r}")
        self.complex = bool(getattr(op, "complex", False))

    @property
    def model_shape(self) -> tuple[int, ...]:
        return self._model_shape

    def apply(self, x: Array) -> FloatArray:
        return self._called("apply", self.shape[0], x.reshape(self._model_shape))

    def adjoint(self, y: FloatArray) -> ModelDual:
        z = self._method("adjoint")(y)
        if not sp.issparse(z) and not isinstance(z, LinearOperator):
            z = np.asarray(z)
        if math.prod(z.shape) != self.shape[1]:
            raise ValueError(f"{self.argument}.adjoint must return {self.shape[1]} numbers; got shape {z.shape}")
        if np.dtype(z.dtype).kind not in ("biufc" if self.complex else "biuf"):
            raise TypeError(f"{self.argument}.adjoint must return real numbers; got an array of {z.dtype}")
        if not isinstance(z, LinearOperator):
            refuse_infinite(f"{self.argument}.adjoint", z.data if sp.issparse(z) else z)
            if np.dtype(z.dtype).kind in "biu":
                return z.astype(np.float64)  # truth values have no minus
        return z


def real_numbers(name: str, result: Array) -> FloatArray:
    """What a method of a box returned, as real and finite numbers."""
    if result.dtype.kind not in "biuf":
        raise TypeError(f"{name} must return real numbers; got an array of {result.dtype}")
    result = np.asarray(result, dtype=np.float64)
    refuse_infinite(name, result)
    return result


def refuse_infinite(name: str, result: Array) -> None:
    with np.errstate(invalid="ignore", over="ignore"):
        suspect = not np.isfinite(result.sum())
    if suspect:
        _checks.finite(f"{name}'s result", result)


def refuse_complex(dtype: npt.DTypeLike, name: str) -> None:
    if np.dtype(dtype).kind == "c":
        raise TypeError(
            f"{name} must be real; got {dtype}: stack real and imaginary parts, or use Quadratic for intensities"
        )
