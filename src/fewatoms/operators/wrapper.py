"""The one base of operators around another operator: it forwards everything, and lifts what the other one offers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from fewatoms import norms
from fewatoms._types import Array, FloatArray, IntArray, Matrix, ModelDual
from fewatoms.capabilities import ColumnBlocks, FactorImages, Norms, keeps
from fewatoms.operators.base import Operator
from fewatoms.rounding import Summed

C = TypeVar("C")
Lift = Callable[..., object]


class Wrapper(Operator):
    """Another operator seen through a linear map P on the side of the data: x -> P(Mx).

    Subclasses say what P does to images (`seen`, for a vector or the columns of a block) and its transpose to data
    (`unseen`); both are the identity here. `lifts` says how each capability of the inner operator is seen from outside:
    a function (wrapper, what the inner one offers) -> what this one offers, or None. What is not named is not offered.
    """

    lifts: ClassVar[Mapping[type, Lift]] = {}
    passes: ClassVar[bool] = False  # data reach the inner operator as they are, or some of them

    def __init__(self, inner: Operator, rows: int | None = None) -> None:
        self.inner = inner
        self.shape = (inner.shape[0] if rows is None else rows, inner.shape[1])
        self.complex, self.by_columns, self.names = inner.complex, inner.by_columns, inner.names
        self.framed, self.background, self.arrays = inner.framed, inner.background, inner.arrays

    def seen(self, images: Matrix) -> Matrix:
        """P applied to an image, or to the columns of a block."""
        return images

    def unseen(self, y: Array) -> Array:
        """The transpose of P, for a vector or the columns of a block."""
        return y

    def offers(self, capability: type[C]) -> C | None:
        return self._lifted(capability, self.inner.offers(capability)) if capability in self.lifts else None

    def _lifted(self, capability: type[C], inner: C | None) -> C | None:
        """What the inner operator has, as it is seen from here."""
        found = None if inner is None else self.lifts[capability](self, inner)
        return found if keeps(found, capability) else None

    def asked_norms(self) -> Norms | None:
        return self._lifted(Norms, self.inner.asked_norms()) if Norms in self.lifts else super().asked_norms()

    def charge(self, products: int) -> None:
        self.inner.charge(products)

    def summed(self) -> Summed | None:
        return self.inner.summed() if self.passes else None

    @property
    def model_shape(self) -> tuple[int, ...]:
        return self.inner.model_shape

    def read_data(self, b: npt.ArrayLike) -> FloatArray:
        return self.inner.read_data(b) if self.shape == self.inner.shape else super().read_data(b)

    def nothing(self) -> FloatArray:
        return super().nothing() if self.arrays else self.seen(self.inner.nothing())

    def probe(self, rng: np.random.Generator) -> FloatArray:
        return self.inner.probe(rng) if self.shape == self.inner.shape else super().probe(rng)

    def bound_of_sizes(self, b: FloatArray, y: FloatArray) -> float:
        return self.inner.bound_of_sizes(b, y)

    def digest(self, b: FloatArray) -> str:
        return self.inner.digest(b)

    def apply(self, x: Array) -> FloatArray:
        return self.seen(self.inner.apply(x))

    def adjoint(self, y: FloatArray) -> ModelDual:
        return self.inner.adjoint(self.unseen(y))

    def columns(self, indices: IntArray) -> Matrix:
        return self.seen(self.inner.columns(indices))

    def apply_block(self, X: Array) -> Array:
        return self.seen(self.inner.apply_block(X))

    def adjoint_block(self, Y: Array) -> Array:
        return self.inner.adjoint_block(self.unseen(Y))

    def apply_factors(self, U: Array, V: Array) -> FloatArray:
        return self.seen(self.inner.apply_factors(U, V))


def as_it_is(wrapper: Wrapper, offered: object) -> object:
    """A capability that the wrapper changes nothing about."""
    return offered


@dataclass(frozen=True, eq=False)
class SeenColumns:
    """Columns of the inner operator, seen. How long they are is for subclasses to say."""

    M: Wrapper
    inner: ColumnBlocks

    @property
    def image_size(self) -> float:
        return self.M.shape[0]

    def column_lengths(self, weights: FloatArray | None = None) -> FloatArray | None:
        return norms.lengths(self.read, self.M.shape[1], weights)

    def read(self, indices: IntArray) -> Matrix:
        return self.M.seen(self.inner.read(indices))

    def times(self, X: Array) -> Array:
        return self.M.seen(self.inner.times(X))


@dataclass(frozen=True, eq=False)
class SeenImages:
    """Images of pairs of factors, seen."""

    M: Wrapper
    inner: FactorImages

    def factor_images(self, U: Array, V: Array) -> Array:
        return self.M.seen(self.inner.factor_images(U, V))
