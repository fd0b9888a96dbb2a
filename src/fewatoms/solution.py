"""What is answered: a status, a few atoms with coefficients, and what was spent on them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from fewatoms import _checks
from fewatoms._types import Array, FloatArray, ModelDual
from fewatoms.atoms.sums import Sum
from fewatoms.faces import Face, Factors, NonnegativeFactors
from fewatoms.lowrank import Biases, LowRank
from fewatoms.operators import Sampling, as_operator

if TYPE_CHECKING:
    from fewatoms.certificates import Certificate, Evidence
    from fewatoms.problem import Problem
    from fewatoms.relaxations import Relaxation


class Status(Enum):
    """Why a run ended, each with a sentence of advice."""

    BOUND_MET = "the bound is met with no more atoms than allowed."
    SMALLEST_LOSS = (
        "this is the smallest loss found with at most k atoms; no better one turned up for many iterates, none can, or "
        "no atom outside comes near those inside."
    )
    ZERO = "zero atoms suffice: there is nothing to explain, or x = 0 already meets the bound."
    NOT_REACHED = (
        "the bound was not reached with the atoms allowed, and progress has stopped: allow more of them or a larger "
        "bound. Nothing is proved about other choices of atoms."
    )
    UNREACHABLE = "no x, with any number of atoms, reaches the bound (to working precision): allow a larger bound."
    ITERATION_LIMIT = "the iteration limit came first: raise max_iterations, or take the best answer found."
    STREAM_ENDED = "the oracle's stream of dual vectors ended: give it more, or take the best answer found."
    STOPPED = "the callback stopped the run; this is the best answer found so far."


@dataclass(frozen=True, eq=False)
class DualPoint:
    """One dual vector of an oracle's stream, with what the oracle knows about it.

    y : (m,) array, a positive multiple of grad f(b - Mx) for some x, in dom f*
    z : M*y, on loan until the next point
    support : support(z)
    relaxation : the problem that the stream solves
    loss, gauge : of the oracle's own primal point, which is not kept; infinite if it has none
    primal : that point in compact form, where the oracle has it so
    series : which of several sequences of an oracle the point continues
    """

    y: FloatArray
    z: ModelDual
    support: float
    relaxation: Relaxation
    loss: float = np.inf
    gauge: float = np.inf
    primal: Candidate | None = None
    series: int = 0

    dear = False  # evaluating y, z or the support costs as much as an iteration: only if somebody asks
    keeps_budget = False  # whether `primal` is known to have no more atoms than allowed
    worth = 0.0  # of such points, which one is worth it: the last of the highest


@dataclass(frozen=True, eq=False)
class Candidate:
    """A few atoms with coefficients, and their residual."""

    face: Face
    c: FloatArray
    residual: FloatArray
    loss: float
    norms: FloatArray | None = None  # |M a_i| per coefficient, where known
    note: str = ""
    support: Any = None  # the fit behind it, for whoever goes on from here
    margin: float = 0.0  # what the least of its atoms is worth, in units of what the best one outside promises

    @property
    def gauge(self) -> float:
        """The gauge of the representation."""
        return self.face.gauge(self.c)

    @property
    def freedom(self) -> int:
        """How many numbers its representation chooses freely."""
        return self.face.freedom


class LazyCandidate(Candidate):
    """A candidate that an oracle knows without its atoms: face and coefficients are made when somebody asks.

    Subclasses have `_made()`, which makes them, and `residual`, made each time: no vector as long as the data is kept.
    """

    _problem: Problem
    _gauge: float

    def __init__(self, problem: Problem, loss: float, gauge: float, note: str = "", **more: Any) -> None:
        known = {"_problem": problem, "loss": loss, "_gauge": gauge, "note": note}
        self.__dict__.update(known, norms=None, support=None, margin=0.0, **more)

    def _made(self) -> tuple[Face, FloatArray]:
        raise NotImplementedError

    @cached_property
    def _pair(self) -> tuple[Face, FloatArray]:
        return self._made()

    @property
    def face(self) -> Face:  # type: ignore[override]
        return self._pair[0]

    @property
    def c(self) -> FloatArray:  # type: ignore[override]
        return self._pair[1]

    @property
    def gauge(self) -> float:
        return self._gauge


@dataclass(frozen=True, eq=False)
class Progress:
    """What a callback sees after each iterate; `StopIteration` raised there ends the run."""

    iteration: int
    loss: float  # of the best candidate so far
    misfit: float
    cardinality: int
    candidate_loss: float  # of this iterate's candidate
    products: int
    problem: Problem = field(repr=False)
    candidate: Candidate = field(repr=False)
    dual: DualPoint = field(repr=False)
    evidence: Evidence = field(repr=False)
    best_gap: float = field(default=np.nan, repr=False)

    @cached_property
    def gap(self) -> float:
        """The best duality gap so far of the relaxation in use; of this iterate alone where it is dear to evaluate."""
        if self.dual.dear:
            return self.evidence.gap_at(self.dual, self.candidate)
        return self.best_gap


class CompactPoint:
    """x = sum_i c_i a_i in compact form. Nothing of the model's size is formed unless `x` is asked for."""

    def __init__(self, face: Face, c: FloatArray) -> None:
        self._face, self._c = face, c

    @cached_property
    def x(self) -> Array:
        """The model itself, dense, in its natural shape."""
        return self._face.point(self._c)

    @property
    def indices(self) -> Array:
        """Which atoms, largest contribution first: indices, (row, column) pairs or group labels."""
        return self._face.labels()

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
    def parts(self) -> tuple[CompactPoint, ...]:
        """For sums and unions, the summands; otherwise the point alone."""
        pairs = zip(self._face.parts, self._face.split(self._c), strict=True)
        return tuple(CompactPoint(f, c) for f, c in pairs)

    def predict(self, where: Any, cols: Any = None, *, free: Any = None) -> Array:
        """What the model says about data not seen: `predict(M_new)`, or `predict(rows, cols)` for a matrix's entries.

        Parameters
        ----------
        where : integer array of rows, or an operator as `fit` takes it, with as many columns as M
        cols : integer array, optional
            Given with rows.
        free : (m_new, q) array, optional
            The free columns for the new data; an intercept needs none.

        Neither the matrix nor x is formed.
        """
        if cols is None:
            return self._apply(where) + self._beside(as_operator(where), free)
        shape = self._face.shape
        if free is not None:
            raise ValueError("free is for predict(M_new, free=...); entries of a matrix have no free columns")
        if len(shape) != 2:
            raise ValueError(f"predict(rows, cols) is for matrix models; this one has shape {shape}")
        rows, cols = _checks.broadcast("rows", where, "cols", cols)
        i, j = _checks.indices("rows", rows, shape[0]), _checks.indices("cols", cols, shape[1])
        values = self._face.entries(self._c, i, j)
        return (values if self.biases is None else values + self.biases.at(i, j)).reshape(rows.shape)

    def _beside(self, M_new: Any, free: Any) -> Any:
        """What biases or free columns add to new data."""
        if self.biases is None:
            return self._free_part(free, M_new.shape[0])
        if not isinstance(M_new, Sampling):
            raise ValueError(
                f"M_new must be a Sampling where there are biases, which belong to entries; got {type(M_new).__name__}"
            )
        return self.biases.at(M_new.rows, M_new.cols)

    def _apply(self, M_new: Any) -> Array:
        operator, shape = as_operator(M_new), self._face.shape
        count = shape[1] if self._several else 1
        if operator.shape[1] * count != int(np.prod(shape)):
            raise ValueError(f"M_new must take models of shape {shape}; got an operator of shape {operator.shape}")
        if self._several:
            return operator.apply_block(self.x)
        if not self._face.dim:
            return np.zeros(operator.shape[0])
        return operator.restrict(self._face).apply(self._c)

    biases: Biases | None = None  # of a matrix, beside its atoms
    _several = False  # a matrix model whose columns are measured one by one

    def _free_part(self, free: Any, rows: int) -> Any:
        return 0.0


class Solution(CompactPoint):
    """The answer of `fit`.

    status : Status; why the run ended
    success : bool; whether what was asked holds
    message : str; both in words, with the figures
    loss, misfit : recomputed from the answer; misfit is |b - Mx| / |b|, both norms in the loss's weights if it has any
        (nan for losses where it means nothing). With biases the loss also holds their ridge's share
    free_coefficients : of the free columns beside M, in their order; empty if there are none
    biases : center, rows and cols, where they were asked for; otherwise None
    ridge : (on the factors, on the biases), as given or chosen
    held_out : where the ridge was chosen, the root mean square error on the entries held out for that; otherwise None
    iterations : dual vectors used
    products : products with M and M*, all of them, the reduced fits included
    svd_products : products with M*y inside partial decompositions
    certificate : what is proven; its dear parts are computed on first access

    and, from the compact form, x, indices, coefficients, cardinality, gauge, left, right, parts, predict; x, left and
    right are the atoms alone, predict adds biases. For low-rank matrices `model`, with top, fold_in and save.
    """

    def __init__(
        self,
        face: Face,
        c: FloatArray,
        *,
        status: Status,
        success: bool,
        message: str,
        loss: float,
        misfit: float,
        free_coefficients: FloatArray,
        intercept: bool,
        several: bool,
        iterations: int,
        products: int,
        svd_products: int,
        certificate: Certificate,
        biases: Biases | None = None,
        ridge: tuple[float, float] = (0.0, 0.0),
    ) -> None:
        super().__init__(face, c)
        self.status, self.success, self.message = status, success, message
        self.loss, self.misfit = loss, misfit
        self.free_coefficients, self._intercept, self._several = free_coefficients, intercept, several
        self.iterations, self.products, self.svd_products = iterations, products, svd_products
        self.certificate = certificate
        self.biases, self.ridge = biases, ridge
        self.held_out: float | None = None

    @cached_property
    def model(self) -> LowRank:
        """A low-rank matrix apart from its fit: predictions, recommendations, new rows and columns, files."""
        nonnegative = isinstance(self._face, NonnegativeFactors)
        if not isinstance(self._face, (Factors, NonnegativeFactors)):
            raise AttributeError(
                f"atoms of {type(self._face).__name__} are no factor pairs: there is no low-rank model"
            )
        return LowRank(self.left, self.right, self.biases, ridge=self.ridge, nonnegative=nonnegative)

    def balanced(self) -> Any:
        """The sum of sets that this is an answer over, its parts scaled to equal gauges here: as the relaxations of a
        sum, where the largest gauge counts, expect them to be."""
        atoms = self.certificate.problem.atoms
        if not isinstance(atoms, Sum):
            raise AttributeError(f"only sums of sets, A + B, are balanced; this is an answer over {atoms!r}")
        gauges = [part.gauge for part in self.parts]
        largest = max(gauges)
        return Sum(*(g / largest * a if g > 0 else a for a, g in zip(atoms.parts, gauges, strict=True)))

    def top(self, row: Any, n: int = 10, *, exclude: Any = None) -> tuple[Array, FloatArray]:
        """For low-rank matrices, the columns with the n largest entries of a row, and these: see LowRank.top."""
        return self.model.top(row, n, exclude=exclude)

    def fold_in(self, rows: Any, cols: Any, values: Any, **how: Any) -> LowRank:
        """For low-rank matrices, the model with new rows or columns: see LowRank.fold_in."""
        return self.model.fold_in(rows, cols, values, **how)

    def save(self, file: Any) -> None:
        """For low-rank matrices, write factors and biases to a file; `fewatoms.LowRank.load` reads it."""
        self.model.save(file)

    def _free_part(self, free: Any, rows: int) -> Any:
        v = self.free_coefficients
        if free is None:
            if v.size and not self._intercept:
                raise ValueError(f"free must give the {len(v)} free columns for the new data; got None")
            return v[0] if v.size else 0.0  # one number, or one for each data vector
        columns = np.asarray(free, dtype=np.float64)
        columns = columns[:, None] if columns.ndim == 1 else columns
        if columns.shape != (rows, len(v)):
            raise ValueError(
                f"free must have shape {(rows, len(v))}, a column per free coefficient; got {columns.shape}"
            )
        return columns @ v

    def __repr__(self) -> str:
        return (
            f"Solution({self.status.name}, success={self.success}, cardinality={self.cardinality}, "
            f"loss={self.loss:.6g}, misfit={self.misfit:.3g}, iterations={self.iterations}, products={self.products})"
        )


class Solutions(Sequence[Solution]):
    """The answers for several data vectors, one per column of b, each with its own atoms.

    A sequence of `Solution`; x, loss, misfit, cardinality and free_coefficients hold them side by side.
    """

    def __init__(self, solutions: Sequence[Solution]) -> None:
        self._solutions = list(solutions)

    def __len__(self) -> int:
        return len(self._solutions)

    @overload
    def __getitem__(self, which: int) -> Solution: ...
    @overload
    def __getitem__(self, which: slice) -> Solutions: ...
    def __getitem__(self, which: int | slice) -> Solution | Solutions:
        return Solutions(self._solutions[which]) if isinstance(which, slice) else self._solutions[which]

    def __repr__(self) -> str:
        met = sum(s.success for s in self)
        return f"Solutions({len(self)} data vectors, {met} as asked, largest misfit {self.misfit.max(initial=0.0):.3g})"

    @property
    def success(self) -> bool:
        """Whether what was asked holds for all of them."""
        return all(s.success for s in self)

    @property
    def message(self) -> str:
        """How many ended how."""
        ends = Counter(s.status for s in self)
        return " ".join(f"{count} of {len(self)}: {status.value}" for status, count in ends.items())

    @property
    def status(self) -> list[Status]:
        """Why each run ended."""
        return [s.status for s in self]

    @property
    def indices(self) -> list[Array]:
        """Which atoms, for each data vector."""
        return [s.indices for s in self]

    @property
    def coefficients(self) -> list[Array]:
        """Their coefficients."""
        return [s.coefficients for s in self]

    @property
    def x(self) -> Array:
        """The models side by side, n x p."""
        return np.stack([s.x for s in self], axis=-1)

    @property
    def loss(self) -> FloatArray:
        return np.array([s.loss for s in self])

    @property
    def misfit(self) -> FloatArray:
        return np.array([s.misfit for s in self])

    @property
    def cardinality(self) -> Array:
        return np.array([s.cardinality for s in self])

    @property
    def free_coefficients(self) -> Array:
        """Of the free columns, q x p."""
        return np.stack([s.free_coefficients for s in self], axis=-1)

    @property
    def products(self) -> int:
        """All products with M and M*."""
        return sum(s.products for s in self)

    def predict(self, M_new: Any, *, free: Any = None) -> Array:
        """What the models say about data not seen, one column each."""
        return np.stack([s.predict(M_new, free=free) for s in self], axis=1)
