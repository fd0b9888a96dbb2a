"""What comes back, in one form for each kind of problem; `facts` are figures that only the one who solved knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import LinearOperator

Vector = NDArray[Any]
CHUNK = 1 << 20  # entries predicted at a time


@dataclass(frozen=True, eq=False)
class Support:
    """Few atoms of a vector and their coefficients; `free` holds the coefficient of the intercept, if there is one.

    unit : whether the coefficients are those of the problem's `unit` columns
    """

    indices: NDArray[np.intp]
    coefficients: Vector
    free: Vector
    facts: Mapping[str, float] = field(default_factory=dict)
    unit: bool = True

    @classmethod
    def of(cls, indices: Any, coefficients: Any, free: Any = (), *, unit: bool = True, **facts: float) -> Support:
        indices, coefficients = np.asarray(indices, dtype=np.intp), np.asarray(coefficients, dtype=np.float64)
        order = np.argsort(indices)
        return cls(indices[order], coefficients[order], np.ravel(np.asarray(free, dtype=np.float64)), facts, unit)

    @classmethod
    def of_dense(cls, x: Any, **facts: Any) -> Support:
        x = np.ravel(x)
        (indices,) = np.nonzero(x)
        return cls.of(indices, x[indices], **facts)

    def counted(self, threshold: float = 1e-6) -> int:
        """Atoms with a coefficient above `threshold` times the largest."""
        size = np.abs(self.coefficients)
        return int(np.count_nonzero(size > threshold * size.max(initial=0.0)))

    def image(self, M: Any) -> Vector:
        if isinstance(M, LinearOperator):
            x = np.zeros(M.shape[1])
            x[self.indices] = self.coefficients
            return M.matvec(x)
        return M[:, self.indices] @ self.coefficients

    def misfit(self, M: Any, b: Vector) -> float:
        return float(np.linalg.norm(b - self.image(M)) / np.linalg.norm(b))


@dataclass(frozen=True, eq=False)
class Signals:
    """The coefficients of many signals, n x p, and the CPU seconds that finding them took."""

    x: Vector
    spent: float


@dataclass(frozen=True, eq=False)
class Linearly:
    """Predictions X x + intercept.

    along : where a whole path is judged, the training residuals at each of its k, told the problem
    """

    x: Vector | None = None
    intercept: float = 0.0
    facts: Mapping[str, float] = field(default_factory=dict)
    along: Callable[[Any], Sequence[Vector]] | None = None

    @property
    def features(self) -> int | None:
        """None where nothing was chosen."""
        return None if self.x is None else int(np.count_nonzero(self.x))

    def predict(self, X: Any) -> Vector:
        return X @ self.x + self.intercept


@dataclass(frozen=True, eq=False)
class Factors:
    """unit times (left right' + center + row and column biases)."""

    left: Any
    right: Any
    center: float = 0.0
    row: Any = 0.0
    col: Any = 0.0
    unit: float = 1.0
    given: sparse.coo_matrix | None = None
    facts: Mapping[str, float] = field(default_factory=dict)

    def predict(self, rows: Any, cols: Any) -> Vector:
        """Where `given` says what was fitted, factors of rows and columns without entries count as zero."""
        out = np.empty(rows.size)
        row, col = (np.broadcast_to(x, n) for x, n in ((self.row, len(self.left)), (self.col, len(self.right))))
        with np.errstate(invalid="ignore"):  # what was in memory may be no number at all
            left, right = np.array(self.left, dtype=np.float64), np.array(self.right, dtype=np.float64)
        if self.given is not None:
            for factor, places in ((left, self.given.row), (right, self.given.col)):
                factor[np.bincount(places, minlength=len(factor)) == 0] = 0.0
        for start in range(0, rows.size, CHUNK):
            part = slice(start, start + CHUNK)
            i, j = rows[part], cols[part]
            out[part] = np.einsum("ij,ij->i", left[i], right[j]) + row[i] + col[j]
        return self.unit * (out + self.center)


@dataclass(frozen=True, eq=False)
class Filled:
    """What an imputer gives: the whole matrix, with the entries it was given as they came."""

    matrix: Vector
    facts: Mapping[str, float] = field(default_factory=dict)

    def predict(self, rows: Any, cols: Any) -> Vector:
        return self.matrix[rows, cols]


@dataclass(frozen=True, eq=False)
class Fits:
    """Several answers of ours to one problem, and the CPU seconds of each."""

    found: tuple[Any, ...]
    seconds: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Ours:
    """An answer of ours, taken apart only when it is judged; `certified`: with what is proven about it."""

    solution: Any
    facts: Mapping[str, float] = field(default_factory=dict)
    certified: bool = False
    trace: tuple[Any, ...] = ()

    def predict(self, rows: Any, cols: Any) -> Vector:
        return self.solution.predict(rows, cols)

    @property
    def left(self) -> Vector:
        return self.solution.left

    @property
    def right(self) -> Vector:
        return self.solution.right

    @property
    def x(self) -> Vector:
        return self.solution.x

    @property
    def pair(self) -> tuple[Vector, Vector]:
        low, few = self.solution.parts
        return low.left @ low.right.T, few.x

    @property
    def parts(self) -> tuple[Vector, ...]:
        return tuple(part.x for part in self.solution.parts)

    @property
    def vectors(self) -> tuple[Vector, Vector]:
        one, other = self.solution.parts
        return one.x.ravel(), other.x.ravel()

    def proven(self) -> dict[str, float]:
        """What the certificate says about the objective; computing it is not charged."""
        s = self.solution
        return {"gap": s.certificate.gap / s.gauge, "least": s.certificate.primal - s.certificate.gap}


@dataclass(frozen=True, eq=False)
class Pair:
    """Two parts of a sum: matrices, or vectors."""

    pair: tuple[Vector, Vector]
    facts: Mapping[str, float] = field(default_factory=dict)
    certified: bool = False
    trace: tuple[Any, ...] = ()

    @property
    def vectors(self) -> tuple[Vector, Vector]:
        return self.pair


@dataclass(frozen=True, eq=False)
class Array:
    """A picture, a signal, or a matrix."""

    x: Vector
    facts: Mapping[str, float] = field(default_factory=dict)
    certified: bool = False
