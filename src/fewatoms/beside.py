"""What explains data without counting as atoms: free columns, an intercept, row and column biases.

What stands beside the atoms is eliminated in one place, before any method sees the problem: with least squares, free
columns are projected out of M and b; with other losses, and for biases, the loss becomes that of the best coefficients.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, NamedTuple, Protocol

import numpy as np

from fewatoms import _checks, frames
from fewatoms._types import FloatArray, IntArray
from fewatoms.capabilities import SampledEntries, need
from fewatoms.losses import Loss
from fewatoms.names import Names
from fewatoms.norms import block_lengths
from fewatoms.operators import Margins, Operator, Projected, by_lines
from fewatoms.profiled import TRACE, Biased, Profiled


def _as_it_is(values: FloatArray) -> FloatArray:
    return values


def _nothing(image: FloatArray) -> FloatArray:
    return np.zeros(0)


@dataclass(frozen=True, eq=False)
class Seen:
    """A problem past what stands beside the atoms.

    M, b, loss : what methods work with
    image : what methods see of an image under the operator as it was given
    left : what is left of the data, from what is left of those that methods see
    fitted : the best numbers beside an image under the operator as it was given
    """

    M: Operator
    b: FloatArray
    loss: Loss
    image: Callable[[FloatArray], FloatArray] = _as_it_is
    left: Callable[[FloatArray], FloatArray] = _as_it_is
    fitted: Callable[[FloatArray], FloatArray] = _nothing


@dataclass(frozen=True, eq=False)
class FittedBiases:
    """What is added to entry (i, j): center + rows[i] + cols[j]."""

    center: float
    rows: FloatArray
    cols: FloatArray

    def at(self, rows: IntArray, cols: IntArray) -> FloatArray:
        return self.center + self.rows[rows] + self.cols[cols]


class Told(NamedTuple):
    """What stands beside the atoms of an answer, as users read it."""

    free: FloatArray  # coefficients of the free columns
    intercept: bool = False
    biases: FittedBiases | None = None
    shrink: float = 0.0  # what the biases paid


class Beside(Protocol):
    """What is fitted beside the atoms."""

    @property
    def count(self) -> int:
        """How many numbers that are."""
        ...

    @property
    def biases(self) -> RowsAndColumns | None:
        """Itself, where these are the row and column biases of a matrix."""
        ...

    @property
    def columns(self) -> FloatArray | None:
        """The free columns, where that is what stands there."""
        ...

    @property
    def names(self) -> Names | None:
        """What the free columns are called, where somebody said so."""
        ...

    def eliminated(self, M: Operator, b: FloatArray, loss: Loss) -> Seen:
        """The problem that is left for the atoms."""
        ...

    def in_fits(self, loss: Loss) -> FloatArray | None:
        """The columns that fits of a few atoms have to mind themselves: with least squares they are gone from M."""
        ...

    def told(self, v: FloatArray) -> Told:
        """These numbers as users read them."""
        ...

    def predicted(self, told: Told, M: Operator, held: IntArray, rest: IntArray) -> FloatArray:
        """What they add to data held out, which M measures, from a fit to the rest."""
        ...

    def for_data(self, b: FloatArray, loss: Loss) -> Beside:
        """The same beside other data."""
        ...

    def subset(self, rows: IntArray) -> Beside:
        """The same for some of the rows of M."""
        ...


@dataclass(frozen=True)
class Nothing:
    """Nothing at all."""

    count: int = 0
    biases: ClassVar[None] = None
    columns: ClassVar[None] = None
    names: ClassVar[None] = None

    def eliminated(self, M: Operator, b: FloatArray, loss: Loss) -> Seen:
        return Seen(M, b, loss)

    def in_fits(self, loss: Loss) -> None:
        return None

    def told(self, v: FloatArray) -> Told:
        return Told(v)

    def predicted(self, told: Told, M: Operator, held: IntArray, rest: IntArray) -> FloatArray:
        return np.zeros(held.size)

    def for_data(self, b: FloatArray, loss: Loss) -> Nothing:
        return self

    def subset(self, rows: IntArray) -> Nothing:
        return self


@dataclass(frozen=True, eq=False)
class FreeColumns:
    """Columns F beside M whose coefficients neither count nor pay.

    F : (m, q)
    intercept : whether that is a column of ones, so that new data need not name it
    vectors : for how many data vectors at once, each with coefficients of its own
    names : what the columns of each are called, where somebody said so
    """

    F: FloatArray
    intercept: bool = False
    vectors: int = 1
    names: Names | None = None
    biases: ClassVar[None] = None

    @property
    def count(self) -> int:
        return self.F.shape[1]

    @property
    def columns(self) -> FloatArray:
        return self.F

    @cached_property
    def _units(self) -> FloatArray:
        """What columns are multiplied by to be of one size: powers of two, so that nothing is rounded."""
        return np.ldexp(1.0, -np.frexp(np.abs(self.F).max(axis=0))[1])

    @cached_property
    def _alike(self) -> FloatArray:
        """The columns in units in which they are of one size: no fit knows of any other ones."""
        return self.F * self._units

    def eliminated(self, M: Operator, b: FloatArray, loss: Loss) -> Seen:
        alike, units = self._alike, self._units
        if not loss.squares:
            profiled = Profiled(loss, alike)
            return Seen(M, b, profiled, left=profiled.left, fitted=lambda image: units * profiled.best_free(b - image))
        projected = Projected(M, alike, loss.weights)
        root = np.ones(1) if loss.weights is None else np.sqrt(loss.weights)

        def fitted(image: FloatArray) -> FloatArray:
            v = np.linalg.lstsq(root[:, None] * alike, root * (b - image), rcond=None)[0]
            return np.asarray(units * v)

        return Seen(projected, projected.seen(b), loss, image=projected.seen, fitted=fitted)

    def in_fits(self, loss: Loss) -> FloatArray | None:
        """In units in which they are a little longer than images, in the weights of the loss: so they settle first."""
        if loss.squares:
            return None
        lengths = block_lengths(self._alike, loss.weights)
        return np.asarray(self._alike * np.ldexp(1.0, 2 - np.frexp(lengths)[1]))

    def told(self, v: FloatArray) -> Told:
        return Told(v if self.vectors == 1 else v.reshape(-1, self.vectors), self.intercept)

    def predicted(self, told: Told, M: Operator, held: IntArray, rest: IntArray) -> FloatArray:
        present = self.F[rest].any(axis=0)  # others were left out of the fit
        return np.asarray(self.F[held][:, present] @ np.ravel(told.free)) if present.any() else np.zeros(held.size)

    def for_data(self, b: FloatArray, loss: Loss) -> FreeColumns:
        return self

    def subset(self, rows: IntArray) -> Beside:
        F = self.F[rows]
        return replace(self, F=F[:, F.any(axis=0)], names=None) if F.any() else Nothing()


@dataclass(frozen=True)
class Biases:
    """Row and column biases and a centre, for sampled entries of a matrix and least squares.

    Parameters
    ----------
    ridge : float, "auto" or None
        What the biases pay: ridge / 2 times their squares. None: as much as the factors do without a bound, nothing
        with one. "auto" (with `fit(..., ridge="auto")`, the default without a bound): what predicts entries held out
        best.
    """

    ridge: float | str | None = None

    def __post_init__(self) -> None:
        if self.ridge is not None and self.ridge != "auto":
            _checks.number("ridge of the biases", self.ridge)


@dataclass(frozen=True, eq=False)
class RowsAndColumns:
    """Row and column biases of a matrix, shrunk by a ridge (None: to be chosen), beside the mean of the data."""

    shape: tuple[int, int]
    shrink: float | None
    center: float = 0.0
    trace: float = 0.0  # what they pay as long as nothing is chosen
    centred: FloatArray | None = field(
        default=None, repr=False
    )  # the data less the centre, shared by all that are alike
    columns: ClassVar[None] = None
    names: ClassVar[None] = None

    @property
    def count(self) -> int:
        return sum(self.shape)

    @property
    def biases(self) -> RowsAndColumns:
        return self

    def eliminated(self, M: Operator, b: FloatArray, loss: Loss) -> Seen:
        # where it is still to be chosen, a trace: nothing is asked of the loss yet, and without any it is dear
        shrink = self._trace(b, loss) if self.shrink is None else self.shrink
        entries = by_lines(M)
        assert entries is not None
        biased = Biased(loss, Margins(M, entries), shrink)
        centred = b - self.center if self.centred is None else self.centred
        return Seen(M, centred, biased, left=biased.left, fitted=lambda image: biased.best_beside(centred, image))

    def in_fits(self, loss: Loss) -> None:
        return None

    def told(self, v: FloatArray) -> Told:
        p = self.shape[0]
        return Told(
            np.zeros(0),
            False,
            FittedBiases(self.center, v[:p], v[p:]),
            self.trace if self.shrink is None else self.shrink,
        )

    def _trace(self, b: FloatArray, loss: Loss) -> float:
        """A trace of what an average line weighs."""
        return TRACE * float(b.size if loss.weights is None else loss.weights.sum()) / sum(self.shape)

    def predicted(self, told: Told, M: Operator, held: IntArray, rest: IntArray) -> FloatArray:
        assert told.biases is not None
        return told.biases.at(*need(M, SampledEntries).positions)

    def shrunk(self, shrink: float) -> RowsAndColumns:
        return replace(self, shrink=shrink)

    def for_data(self, b: FloatArray, loss: Loss) -> RowsAndColumns:
        center = float(b.mean() if loss.weights is None else np.average(b, weights=loss.weights))
        return replace(self, center=center, centred=b - center, trace=self._trace(b, loss))

    def subset(self, rows: IntArray) -> RowsAndColumns:
        return replace(self, centred=None)


def beside(free: object, M: Operator, b: FloatArray, loss: Loss, *, ridge: float | None, bounded: bool) -> Beside:
    """What a user asked for, checked."""
    if free is None:
        return Nothing()
    if isinstance(free, FreeColumns):
        return free
    if isinstance(free, Biases) or (isinstance(free, str) and free == "biases"):
        asked = free if isinstance(free, Biases) else Biases()
        return _biases(asked, M, b, loss, ridge=ridge, bounded=bounded)
    return _columns(free, M.shape[0], loss)


def _columns(free: object, m: int, loss: Loss) -> FreeColumns:
    """An intercept, or columns of length m."""
    demand = f'free must be "intercept", "biases", fa.Biases(...) or an array of columns of length {m}'
    if isinstance(free, str):
        if free != "intercept":
            raise ValueError(f"{demand}; got {free!r}")
        if loss.labelled and loss.labels is None:
            raise ValueError(
                f"free must be the column of labels for an intercept with {loss!r}, whose labels are part of M where "
                f"they are not b; got {free!r}: pass free=labels"
            )
        return FreeColumns(np.ones((m, 1)), intercept=True)
    try:
        columns = np.asarray(frames.data("free", free))
    except ValueError as error:
        if "inhomogeneous" not in str(error):
            raise
        raise ValueError(f"{demand}; got rows of different lengths") from None
    if columns.ndim not in (1, 2) or columns.shape[0] != m or columns.size == 0:
        told = f"shape {columns.shape}" if columns.ndim and columns.dtype.kind in "biufc" else _checks.came(free)
        hint = ": pass free=fa.Biases()" if free is Biases else ""
        raise ValueError(f"{demand}; got {told}{hint}")
    F = _checks.real_vector("free", columns).reshape(m, -1)
    if F.shape[1] >= m:
        raise ValueError(f"free must have fewer columns than there are data, {m}; got {F.shape[1]}")
    if not F.any(axis=0).all():
        raise ValueError("free must not hold a column of zeros")
    _checks.ordinary("free", np.abs(F).max(axis=0))
    return FreeColumns(F, names=frames.names_of("free", free))


def spread(free: object, rows: int, count: int, loss: Loss) -> FreeColumns | None:
    """Free columns for `count` data vectors at once, each with coefficients of its own."""
    if free is None:
        return None
    if isinstance(free, Biases) or (isinstance(free, str) and free == "biases"):
        raise ValueError(
            f"free: biases are for sampled entries of a matrix; got {free!r} for {count} data vectors or classes"
        )
    one = _columns(free, rows, loss)
    return FreeColumns(
        np.asarray(np.kron(one.F, np.eye(count)), dtype=np.float64), one.intercept, vectors=count, names=one.names
    )


def _biases(
    asked: Biases, M: Operator, b: FloatArray, loss: Loss, *, ridge: float | None, bounded: bool
) -> RowsAndColumns:
    entries = by_lines(M)
    if entries is None or not loss.squares:
        raise ValueError(f"free: biases are for sampled entries of a matrix and least squares; got {M!r} and {loss!r}")
    if bounded and asked.ridge not in (None, 0, 0.0):
        raise ValueError(
            f"ridge of the biases must be 0 where there is a bound: they are not shrunk then; got {asked.ridge!r}"
        )
    if asked.ridge == "auto":
        shrink = None
    elif asked.ridge is None:
        shrink = 0.0 if bounded else ridge
    else:
        shrink = float(asked.ridge)
    return RowsAndColumns(entries.matrix_shape, shrink).for_data(b, loss)
