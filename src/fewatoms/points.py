"""What users read of an answer: a few atoms with coefficients, in compact form."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from fewatoms import _checks, frames, names
from fewatoms._types import Array, FloatArray
from fewatoms.beside import FittedBiases
from fewatoms.budget import Budget
from fewatoms.capabilities import SampledEntries
from fewatoms.faces import Face
from fewatoms.names import UNCALLED, Called
from fewatoms.operators import Operator, as_operator
from fewatoms.spread import spread


class Point:
    """x = sum_i c_i a_i in compact form. Nothing of the model's size is formed unless `x` is asked for."""

    def __init__(self, face: Face, c: FloatArray, called: Called = UNCALLED) -> None:
        self._face, self._c, self._called = face, c, called

    def __repr__(self) -> str:
        return f"{type(self).__name__}({Budget(self.cardinality).words} in shape {self._face.shape})"

    @property
    def compact(self) -> tuple[Face, FloatArray]:
        """The face of the atoms, and their coefficients."""
        return self._face, self._c

    @cached_property
    def x(self) -> Array:
        """The model itself, dense, in its natural shape."""
        return self._face.point(self._c)

    @property
    def indices(self) -> Array:
        """Which atoms, largest contribution first: indices, (row, column) pairs or group labels."""
        return self._face.labels()

    @property
    def called(self) -> Called:
        """Who is called what: the columns of M, the atoms."""
        return self._called

    @property
    def names(self) -> Array | None:
        """What the atoms are called, in the same order: columns of a data frame, of a dictionary that is one, or labels
        of groups that are words; None where nobody said. The parts of a sum have their own."""
        return names_of(self._face, self.called)

    @property
    def members(self) -> Sequence[Sequence[str | int]] | None:
        """Of groups, the columns of M in each, in the order of its coefficients: their names, or numbers where nobody
        said; None for atoms that are no groups of columns."""
        spots, shape = self._face.members(), self._face.shape
        if spots is None or len(shape) > 1 + self._several:
            return None
        width, called = shape[1] if self._several else 1, self.called.columns
        rows: list[list[int]] = [(where[::width] // width).tolist() for where in spots]
        return rows if called is None else [[called[i] for i in some] for some in rows]

    @property
    def coefficients(self) -> Array:
        """Their coefficients with signs, in the same order; singular values (eigenvalues) for matrix sets."""
        return self._face.values(self._c)

    @property
    def cardinality(self) -> int:
        """How many atoms."""
        return sum(f.size for f in self._face.parts)

    @cached_property
    def _factors(self) -> tuple[Array, Array]:
        return self._face.factors(self._c)

    @property
    def left(self) -> Array:
        """left @ right.T is the matrix; the scale is split evenly."""
        return self._factors[0]

    @property
    def right(self) -> Array:
        """See `left`; for PSD sets it is the conjugate of `left`."""
        return self._factors[1]

    @property
    def gauge(self) -> float:
        """The gauge of the representation: the sum of the coefficients' sizes, an upper bound of the set's gauge."""
        return self._face.gauge(self._c)

    @cached_property
    def parts(self) -> tuple[Point, ...]:
        """For sums and unions, the summands; otherwise the point alone."""
        faces = self._face.parts
        called = self.called.parts if len(faces) > 1 and self.called.parts else (self.called,) * len(faces)
        return tuple(Point(*of_part) for of_part in zip(faces, self._face.split(self._c), called, strict=True))

    # Data not seen ----------------------------------------------------------------------------------------------------

    biases: FittedBiases | None = None  # of a matrix, beside its atoms
    _several = False  # a matrix model whose columns are measured one by one

    @property
    def shares_atoms(self) -> bool:
        """Whether several data vectors or classes share the atoms, each with coefficients of its own."""
        return self._several

    def predict(self, where: object, cols: npt.ArrayLike | None = None, *, free: npt.ArrayLike | None = None) -> Array:
        """What the model says about data not seen: `predict(M_new)`, or `predict(rows, cols)` for a matrix's entries.

        Parameters
        ----------
        where : integer array of rows, or an operator as `fit` takes it, with as many columns as M. If both came as data
            frames, columns are known by their names, in any order; those of an array are taken in the order of M's
        cols : integer array, optional
            Given with rows.
        free : (m_new, q) array or data frame, optional
            The free columns for the new data; an intercept needs none.

        Notes
        -----
        Neither the matrix nor x is formed.
        """
        if cols is None:
            M_new = self._measured(where)
            return self._apply(M_new) + self._beside(M_new, free)
        shape = self._face.shape
        if free is not None:
            raise ValueError("free is for predict(M_new, free=...); entries of a matrix have no free columns")
        if len(shape) != 2:
            raise ValueError(f"predict(rows, cols) is for matrix models; this one has shape {shape}")
        rows, cols = _checks.broadcast("rows", where, "cols", cols)
        i, j = _checks.indices("rows", rows, shape[0]), _checks.indices("cols", cols, shape[1])
        values = self._face.entries(self._c, i, j)
        return (values if self.biases is None else values + self.biases.at(i, j)).reshape(rows.shape)

    def _measured(self, where: object) -> Operator:
        """New data as an operator, its columns in the order of M's."""
        mine = self.called.columns
        M_new = as_operator(frames.arranged("M_new", where, mine), "M_new")
        if None not in (mine, M_new.names) and M_new.names != mine:
            names.order("M_new", mine or (), M_new.names or ())
            raise ValueError("M_new must have its columns in the order of M's: a data frame by itself is put in order")
        return M_new

    def _beside(self, M_new: Operator, free: npt.ArrayLike | None) -> Array:
        """What biases or free columns add to new data."""
        if self.biases is None:
            return self._free_part(free, M_new.shape[0])
        entries = M_new.offers(SampledEntries)
        if entries is None:
            raise ValueError(
                f"M_new must be a Sampling where there are biases, which belong to entries; got {type(M_new).__name__}"
            )
        return self.biases.at(*entries.positions)

    def _apply(self, M_new: Operator) -> Array:
        shape = self._face.shape
        count = shape[1] if self._several else 1
        if M_new.shape[1] * count != int(np.prod(shape)):
            size = int(np.prod(shape)) // count
            raise ValueError(
                f"M_new must have {size} columns, as the model of shape {shape} has entries; got shape {M_new.shape}"
            )
        if self._several:
            return M_new.apply_block(self.x)
        if not self._face.dim:
            return np.zeros(M_new.shape[0])
        return spread(M_new.restrict(self._face).apply(self._c)).seen

    def _free_part(self, free: npt.ArrayLike | None, rows: int) -> Array:
        return np.zeros(())


def names_of(face: Face, called: Called) -> Array | None:
    """What the atoms of a face are called."""
    return None if len(face.parts) > 1 else called.labels(np.asarray(face.labels()))
