"""The contract of measurement operators M, and what follows from it alone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from fewatoms import _checks, ledger, linalg, norms
from fewatoms._types import Array, FloatArray, IntArray, Matrix, ModelDual
from fewatoms.capabilities import Norms, Offering
from fewatoms.faces import Face
from fewatoms.frames import Maker
from fewatoms.names import Names
from fewatoms.reduced import ReducedOperator
from fewatoms.rounding import Summed

if TYPE_CHECKING:
    from fewatoms.atoms.mapped import LinearMap
    from fewatoms.operators.counting import Counting


class Operator(Offering, ABC):
    """A linear map from the model space (vectors, or matrices of `model_shape`) to data of length m.

    Required: `shape`, `apply`, `adjoint`. The rest follows from these, by as many products as it says, and is
    overridden where the structure knows a better way; what is cheap or known beyond that is a capability (`offers`).
    `adjoint` may return z in any form that `linalg.as_flat` and `linalg.as_matrix` read; it is on loan until the next
    call and must not be changed. Data and y are real; x may be a complex Hermitian matrix where `complex` says so.
    """

    shape: tuple[int, int]
    complex = False  # M*y is a complex Hermitian matrix
    background = 0.0  # the weight of cells of a matrix that were not sampled, as zeros; images are `Spread` with one
    arrays = True  # images and y are arrays; otherwise methods have to say that they know such ones (`Job.spreads`)
    by_columns = False  # a matrix model is measured column by column, each column alike
    names: Names | None = None  # what its columns are called, where somebody said so
    framed: Maker | None = None  # what makes a data frame of the kind that it came as

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.shape[0]} x {self.shape[1]})"

    @property
    def model_shape(self) -> tuple[int, ...]:
        """The natural shape of x."""
        return (self.shape[1],)

    @abstractmethod
    def apply(self, x: Array) -> FloatArray:
        """Mx, flat, for x in the model's shape or flat in C order."""

    @abstractmethod
    def adjoint(self, y: FloatArray) -> ModelDual:
        """M*y."""

    def summed(self) -> Summed | None:
        """What M*y is summed from, where that costs no products: it says what rounding may do. None where nobody knows,
        as of a black box: its products are taken at their word then."""
        return None

    def charge(self, products: int) -> None:
        """Take note of products that were made in a loop of somebody's own: nothing to do, except for who counts."""

    def read_data(self, b: npt.ArrayLike) -> FloatArray:
        """b as a flat array of length m, checked."""
        if not sp.issparse(b) and np.ndim(b) != 1:
            shape = np.shape(b)
            came = f"shape {shape}" if shape else _checks.came(b)
            remedy = ": pass b.ravel()" if shape and int(np.prod(shape)) == self.shape[0] else ""
            raise ValueError(f"b must be a vector of length m = {self.shape[0]}; got {came}{remedy}")
        return _checks.real_vector("b", b, self.shape[0], " (the rows of M)")

    def columns(self, indices: IntArray) -> Matrix:
        """The columns M e_i, i in indices, as an m x p array or sparse matrix: p products."""
        out = np.empty((self.shape[0], indices.size))
        e = np.zeros(self.shape[1])
        for j, i in enumerate(indices):
            ledger.tick()
            e[i] = 1.0
            image = self.apply(e)
            if np.shape(image) != self.shape[:1]:
                raise ValueError(f"M.apply must return {self.shape[0]} numbers; got shape {np.shape(image)}")
            out[:, j] = image
            e[i] = 0.0
        return out

    def apply_block(self, X: Array) -> Array:
        """M X for the columns of X: as many products as columns."""
        images = []
        for x in X.T:
            ledger.tick()
            images.append(self.apply(x))
        return np.stack(images, axis=1) if images else np.zeros((self.shape[0], 0))

    def adjoint_block(self, Y: Array) -> Array:
        """M* Y for the columns of Y: as many products as columns."""
        pulled = []
        for y in Y.T:
            ledger.tick()
            pulled.append(linalg.as_flat(self.adjoint(y)))
        return np.stack(pulled, axis=1) if pulled else np.zeros((self.shape[1], 0))

    def apply_factors(self, U: Array, V: Array) -> FloatArray:
        """M(U V^T) for a matrix model in factors, one product; an operator may know a way without forming it."""
        return self.apply(U @ V.T)

    def nothing(self) -> FloatArray:
        """The image of x = 0."""
        return np.zeros(self.shape[0])

    def bound_of_sizes(self, b: FloatArray, y: FloatArray) -> float:
        """The sum of |b_i y_i|, or more than that."""
        return linalg.dot_of_sizes(b, y)

    def digest(self, b: FloatArray) -> str:
        """Of data, by which they are known again."""
        return linalg.digest(b)

    def images(self, face: Face) -> Matrix:
        """The images of a face's basis, m x dim: dim products."""
        return face.images(self)

    def restrict(self, face: Face) -> ReducedOperator:
        """The reduced operator c -> M point(c)."""
        return face.restrict(self)

    def asked_norms(self) -> Norms | None:
        """Norms for who does not offer them, from products with every column; None where those are too many."""
        return norms.asked(self)

    def probe(self, rng: np.random.Generator) -> FloatArray:
        """The vector that a sketch is made with."""
        return rng.standard_normal(self.shape[0])

    def sketch(self) -> tuple[float, float]:
        """A number by which operators are told apart, and its scale: one product, M*w for a fixed w.

        It is the same, up to rounding, for whatever measures the same.
        """
        rng = np.random.default_rng(0)
        z, shape = self.adjoint(self.probe(rng)), self.model_shape
        if len(shape) == 2:
            seen = np.asarray(linalg.as_matrix(z, (shape[0], shape[1])) @ rng.standard_normal(shape[1]))
        else:
            seen = linalg.as_flat(z)
        parts = np.concatenate([seen.real, seen.imag])
        look = rng.standard_normal(parts.size)
        return float(look @ parts), float(np.linalg.norm(look) * np.linalg.norm(parts))

    def counted(self) -> tuple[Operator, Counting]:
        """The same operator, and a counter of the products that are made with it."""
        from fewatoms.operators.counting import Counting

        counter = Counting(self)
        return counter, counter

    def subset(self, rows: IntArray) -> Operator:
        """The operator for some of the data, each once."""
        from fewatoms.operators.rows import Rows

        return Rows(self, rows)

    def after(self, map_: LinearMap, shape: tuple[int, ...]) -> Operator:
        """M B for a linear map B from models of `shape`."""
        from fewatoms.operators.composed import Composed

        return Composed(self, map_, shape)
