"""Linear images of a set: dictionaries, sparsity in a basis, any finite set of atoms."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator

from fewatoms import _checks, frames, linalg
from fewatoms._types import Array, BudgetLike, FloatArray, IntArray, Matrix, ModelDual
from fewatoms.atoms.base import AtomicSet, Combination, Listing, Unwrapped
from fewatoms.atoms.cuts import gauge_by_cuts
from fewatoms.atoms.onehot import NonnegativeOneHot, SignedOneHot
from fewatoms.capabilities import Gauge, Prox, Shrinkage, Spectrum, need
from fewatoms.faces import Face, MappedFace
from fewatoms.names import Names
from fewatoms.rounding import Summed

if TYPE_CHECKING:
    from fewatoms.operators import Operator

C = TypeVar("C")


def unmapped(face: Face) -> Face:
    """The face inside an image."""
    assert isinstance(face, MappedFace)
    return face.inner_face


class LinearMap:
    """A real linear map B given by an array, a sparse matrix, a data frame, or anything with matvec and rmatvec.

    names : what its columns are called, where somebody said so
    """

    def __init__(self, operator: Any, name: str) -> None:
        self.matrix: Matrix = None
        self.names: Names | None = None
        frame = frames.framed(name, operator)
        if frame is not None:
            self.names, operator = frame.names(), frame.numbers()
        if not (hasattr(operator, "matvec") and hasattr(operator, "rmatvec")):
            matrix: Matrix = operator if sp.issparse(operator) else np.asarray(operator)
            if matrix.ndim != 2 or 0 in matrix.shape:
                raise ValueError(f"{name} must be a matrix with rows and columns; got shape {matrix.shape}")
            if matrix.dtype.kind not in "biuf":
                raise TypeError(f"{name} must be real; got an array of {matrix.dtype}")
            _checks.finite(name, matrix.data if sp.issparse(matrix) else matrix)
            matrix = matrix.astype(np.float64, copy=False)
            self.matrix = operator = matrix.tocsc() if sp.issparse(matrix) else matrix
        elif np.dtype(operator.dtype or float).kind == "c":
            raise TypeError(f"{name} must be real; got an operator of {operator.dtype}")
        self.op = aslinearoperator(operator)
        self.shape: tuple[int, int] = self.op.shape

    @cached_property
    def isometric(self) -> bool:
        """Whether B^T B is the identity, judged by one random vector: good enough to choose a method by."""
        v = np.random.default_rng(0).standard_normal(self.shape[1])
        return linalg.length(self.backward(self.forward(v)) - v) <= 1e-9 * linalg.length(v)

    def same_as(self, other: LinearMap) -> bool:
        """Whether two maps are the same, as far as that can be seen without products."""
        arrays = self.matrix is not None and other.matrix is not None
        both = arrays and not sp.issparse(self.matrix) and not sp.issparse(other.matrix)
        return self.op is other.op or (both and np.array_equal(self.matrix, other.matrix))

    def forward(self, w: Array) -> Array:
        """B w."""
        return np.asarray(self.op.matvec(w))

    def backward(self, z: Array) -> Array:
        """B^T z."""
        return np.asarray(self.op.rmatvec(z))

    def columns(self, indices: IntArray) -> Array:
        """Columns of B."""
        if self.matrix is not None:
            block = self.matrix[:, indices]
            return np.asarray(block.toarray() if sp.issparse(block) else block)
        E = np.zeros((self.shape[1], indices.size))
        E[indices, np.arange(indices.size)] = 1.0
        return np.asarray(self.op.matmat(E))


class Image(AtomicSet):
    """{B a : a in A}, for a linear map B from the space of A, which is no sum.

    x = B w is reported through w: indices and coefficients are those of the atoms of A. The gauge of x is the smallest
    gauge of any w with B w = x, an optimisation of its own (`gauge` solves it, for small problems).
    """

    def __init__(self, map_: LinearMap, inner: AtomicSet) -> None:
        self.map, self.inner = map_, inner
        if map_.shape[1] != inner.n:
            raise ValueError(f"operator must take models of {inner!r}, {inner.n} entries; it has shape {map_.shape}")
        self.shape = (map_.shape[0],)
        self.centrosymmetric, self.finite, self.bounded = inner.centrosymmetric, inner.finite, inner.bounded
        self.attained, self.takes_complex = inner.attained, inner.takes_complex

    def __repr__(self) -> str:
        return f"Mapped({self.map.shape[0]} x {self.map.shape[1]}, {self.inner!r})"

    @property
    def count(self) -> int:
        return self.inner.count

    @property
    def orthonormal(self) -> bool:
        return self.inner.orthonormal and self.map.isometric

    def offers(self, capability: type[C]) -> C | None:
        known = self.attained if capability is Gauge else self.inner.offers(capability) is not None
        return super().offers(capability) if known else None

    def alike(self, other: Self) -> bool:
        return self.shape == other.shape and self.map.same_as(other.map) and self.inner.same_as(other.inner)

    def unwrapped(self) -> Unwrapped:
        inside = self.inner.unwrapped()
        return replace(inside, maps=(self.map, *inside.maps))

    def listing(self) -> Listing | None:
        inner = self.inner.listing()
        if inner is None:
            return None
        return replace(
            inner,
            maps=(self.map, *inner.maps),
            pulled=lambda z: inner.pulled(self._pull(z)),
            around=lambda face: self._wrap(inner.around(face)),
            inside=lambda face: inner.inside(unmapped(face)),
            rewrapped=lambda atoms: Image(self.map, inner.rewrapped(atoms)).reshaped(self.shape),
        )

    def around(self, face: Face) -> Face:
        return self._wrap(self.inner.around(face))

    def _pull(self, z: ModelDual) -> Array:
        return self.map.backward(linalg.as_flat(z))

    def _wrap(self, face: Face) -> MappedFace:
        return MappedFace(self.map, face, self.shape)

    def gauge(self, x: Array) -> float:
        return gauge_by_cuts(self, self.read_point(x))

    def support(self, z: ModelDual) -> float | None:
        return self.inner.support(self._pull(z))

    def reached(self, z: ModelDual) -> float:
        return self.inner.reached(self._pull(z))

    def expose(self, z: ModelDual, k: BudgetLike) -> Face:
        return self._wrap(self.inner.expose(self._pull(z), k))

    def exposed(self, z: ModelDual, eps: float, limit: int | None = None, least: int = 0) -> Face:
        return self._wrap(self.inner.exposed(self._pull(z), eps, limit, least))

    def extreme(self, z: ModelDual, tie: float = 0.0) -> tuple[float, Face]:
        sigma, face = self.inner.extreme(self._pull(z), tie)
        return sigma, self._wrap(face)

    def alignments(self, z: ModelDual) -> FloatArray | None:
        return self.inner.alignments(self._pull(z))

    def spectrum(self, z: ModelDual, k: int) -> FloatArray:
        return need(self.inner, Spectrum).spectrum(self._pull(z), k)

    def atom_norms(self, M: Operator) -> FloatArray | None:
        return self.inner.atom_norms(M.after(self.map, self.inner.shape))

    def operator_norm(self, M: Operator) -> float | None:
        return self.inner.operator_norm(M.after(self.map, self.inner.shape))

    def off_by(self, summed: Summed) -> float | None:
        if self.map.matrix is None or summed.each is None:
            return None
        each = abs(self.map.matrix).T @ summed.each
        terms = 2 * (summed.terms + self.map.shape[0]) + 8  # the lengths are summed as well
        return self.inner.off_by(Summed(terms, linalg.length(each), each))

    def shrink(self, points: Combination, z: ModelDual, step: float) -> Shrinkage:
        inner = [(a, unmapped(f), c) for a, f, c in points]
        return _MappedShrinkage(self, need(self.inner, Prox).shrink(inner, self._pull(z), step))

    def reshaped(self, shape: tuple[int, ...]) -> AtomicSet:
        other = copy(self)
        other.shape = shape if int(np.prod(shape)) == self.n else self.shape
        return other

    def with_names(self, columns: Names | None) -> AtomicSet:
        """Atoms of the inner set are columns of the map."""
        inner = self.inner.with_names(self.map.names)
        if inner is self.inner:
            return self
        other = copy(self)
        other.inner = inner
        return other


class Mapped(Image):
    """{B a : a in A}, for a linear map B from the space of A.

    x = B w is reported through w: indices and coefficients are those of the atoms of A. The gauge of x is the smallest
    gauge of any w with B w = x, an optimisation of its own (`gauge` solves it, for small problems).

    Parameters
    ----------
    operator : (n, n_A) array, sparse matrix, data frame, LinearOperator or PyLops operator
    inner : AtomicSet
        A sum or union is mapped part by part: the result is a sum or union then.
    """

    def __new__(cls, operator: object, inner: AtomicSet) -> Self:
        if not isinstance(inner, AtomicSet):
            raise TypeError(f"inner must be an atomic set such as SignedOneHot(n); got {inner!r}")
        if not inner.parts:
            return super().__new__(cls)
        map_ = _read(operator)
        return cast(Self, inner.like([cls(map_, part) for part in inner.parts]))  # which __init__ is not called on

    def __init__(self, operator: object, inner: AtomicSet) -> None:
        super().__init__(_read(operator), inner)

    def __getnewargs__(self) -> tuple[LinearMap, AtomicSet]:
        return self.map, self.inner  # for copies and pickles, which go through __new__


def _read(operator: object, name: str = "operator") -> LinearMap:
    """A map as a user gives it, in units in which its products are numbers."""
    if isinstance(operator, LinearMap):
        return operator
    map_ = LinearMap(operator, name)
    if map_.matrix is not None:
        entries = map_.matrix.data if sp.issparse(map_.matrix) else map_.matrix
        _checks.ordinary(name, float(max(entries.max(initial=0.0), -entries.min(initial=0.0))) or 1.0)
    return map_


class Dictionary(Image):
    """Any finite set of atoms, given as the columns of D; with `symmetric` their negatives are atoms too.

    Parameters
    ----------
    D : (n, count) array, sparse matrix, data frame (whose columns name the atoms) or operator
    symmetric : bool
        Whether coefficients may be negative.
    """

    def __init__(self, D: object, *, symmetric: bool) -> None:
        self.symmetric = _checks.flag("symmetric", symmetric)
        map_ = _read(D, "D")
        super().__init__(map_, SignedOneHot(map_.shape[1]) if symmetric else NonnegativeOneHot(map_.shape[1]))

    def __repr__(self) -> str:
        return f"Dictionary({self.map.shape[0]} x {self.map.shape[1]}, symmetric={self.symmetric})"


class Rescaled(Image):
    """A set in other units: {d * a : a in A}, entry by entry, for positive numbers d. Its gauge is that of x / d."""

    def __init__(self, inner: AtomicSet, units: FloatArray) -> None:
        super().__init__(LinearMap(sp.diags_array(units), "units"), inner)
        self._units = units

    def __repr__(self) -> str:
        return f"{self.inner!r} in units of its own"

    def offers(self, capability: type[C]) -> C | None:
        return super().offers(capability) if self.inner.offers(capability) is not None else None

    def gauge(self, x: Array) -> float:
        return need(self.inner, Gauge).gauge(self.read_point(x).ravel() / self._units)

    def _pull(self, z: ModelDual) -> Array:
        return self._units * linalg.as_flat(z)


@dataclass(eq=False)
class _MappedShrinkage:
    """The proximal map in the space of the inner set, where x = B w."""

    atoms: Image
    inner: Shrinkage

    def at(self, t: float) -> tuple[Face, FloatArray]:
        face, c = self.inner.at(t)
        return self.atoms._wrap(face), c

    def gauge(self, t: float) -> float:
        return self.inner.gauge(t)
