"""What is asked: M, b, f, A, k and alpha, checked against each other in one place."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np

from fewatoms import _checks, linalg
from fewatoms._types import Budget, FloatArray
from fewatoms.atoms import AtomicSet
from fewatoms.losses import LeastSquares, Loss
from fewatoms.operators import Counting, as_operator

EXACT = 1e-28  # share of f(b) below which a loss is rounding: a misfit of 1e-14


class Problem:
    """Find x with f(b - Mx) <= alpha made of at most k atoms of A: the paper's (P).

    Parameters
    ----------
    M : array, sparse matrix, LinearOperator, PyLops operator or one of fewatoms' operators, m x n
    b : (m,) array, or the shape the operator states
    atoms : AtomicSet
    k : int, or one per part for sums of sets; optional
        How many atoms at most. The relaxations do without.
    alpha : float, optional
        Bound on the loss.
    misfit : float, optional
        Bound on |b - Mx| / |b| (least squares only; with weights, both norms are weighted). Instead of alpha.
    loss : Loss

    `M` is kept behind a counter: `problem.M.products` counts from here on. Nothing is multiplied here.
    """

    def __init__(
        self,
        M: Any,
        b: Any,
        *,
        atoms: AtomicSet,
        k: Any = None,
        alpha: float | None = None,
        misfit: float | None = None,
        loss: Loss | None = None,
    ) -> None:
        loss = LeastSquares() if loss is None else loss
        if not isinstance(loss, Loss):
            raise TypeError(f"loss must be a Loss such as LeastSquares(), Huber(1.0) or Logistic(); got {loss!r}")
        if not isinstance(atoms, AtomicSet):
            raise TypeError(f"atoms must be an atomic set such as SignedOneHot(n); got {atoms!r}")
        if np.size(b) == 0:
            raise ValueError(f"b must have at least one entry; got shape {np.shape(b)}")
        self.M = Counting(as_operator(M))
        self.b: FloatArray = self.M.read_data(b)
        self.loss = loss
        self.atoms = _fitted(atoms, self.M)
        if loss.weights is not None and loss.weights.size != self.m:
            raise ValueError(
                f"weights of the loss must have {self.m} entries, one per row of M; got {loss.weights.size}"
            )
        self.k: Budget = None if k is None else self.atoms.budget(k)
        with np.errstate(over="ignore"):
            self.at_zero = loss.value(self.b)  # f(b), the loss of x = 0
        if not math.isfinite(self.at_zero) or (loss.anchored and self.at_zero < 1e-290 and self.b.any()):
            raise ValueError(
                f"b must be in units in which its loss is an ordinary number; got {self.at_zero}: rescale b"
            )
        self.alpha = self._bound(alpha, misfit)

    def __repr__(self) -> str:
        bound = "" if self.alpha is None else f", alpha={self.alpha:.3g}"
        return f"Problem({self.m} data, {self.atoms!r}, k={self.k}{bound}, {self.loss!r})"

    @property
    def m(self) -> int:
        return self.M.shape[0]

    def _bound(self, alpha: float | None, misfit: float | None) -> float | None:
        if alpha is not None and misfit is not None:
            raise ValueError(f"alpha and misfit bound the same thing, give one; got alpha={alpha!r}, misfit={misfit!r}")
        if misfit is not None:
            if not isinstance(self.loss, LeastSquares):
                raise ValueError(
                    f"misfit is a bound for least squares; with {self.loss!r} give alpha, a bound on the loss; "
                    f"got misfit={misfit!r}"
                )
            return _checks.number("misfit", misfit) ** 2 * self.at_zero
        return None if alpha is None else _checks.number("alpha", alpha)

    @property
    def tolerance(self) -> float:
        """What counts as meeting alpha: alpha itself, up to rounding in a residual of the size of b."""
        if self.alpha is None:
            return -math.inf
        return self.alpha * (1 + 1e-12) + (1e-26 * self.at_zero if self.loss.anchored else 0.0)

    def meets(self, loss: float) -> bool:
        """Whether a loss meets the bound; never without one."""
        return loss <= self.tolerance

    def exact(self, loss: float) -> bool:
        """Whether a loss is as good as none: rounding, or on separable classes a number that can fall for ever."""
        if self.loss.anchored:
            return loss <= EXACT * self.at_zero
        return not self.alpha and loss <= 1e-14 * self.at_zero

    @property
    def zero_suffices(self) -> bool:
        """Whether x = 0 is an answer: it meets the bound, or there is nothing to explain."""
        return self.meets(self.at_zero) or (self.loss.anchored and not self.b.any())

    @cached_property
    def adjoint_of_ones(self) -> FloatArray:
        """M*1, one product: where it is positive, it shifts dual vectors of the nonnegative cone into their cone."""
        return linalg.as_flat(self.M.adjoint(np.ones(self.m)))

    def misfit_of(self, loss: float, residual: FloatArray) -> float:
        """|b - Mx| / |b|, in the loss's weights; nan where it means nothing."""
        if not self.loss.anchored:
            return math.nan
        if not self.b.any():
            return 0.0
        if isinstance(self.loss, LeastSquares):
            return math.sqrt(loss / self.at_zero)
        w = 1.0 if self.loss.weights is None else np.sqrt(self.loss.weights)
        return float(np.linalg.norm(w * residual) / np.linalg.norm(w * self.b))


def _fitted(atoms: AtomicSet, M: Counting) -> AtomicSet:
    """The atoms in the operator's model space; flat sets take the operator's shape."""
    shape = M.model_shape
    if atoms.n != M.shape[1]:
        raise ValueError(
            f"atoms must live in the space that M takes, {M.shape[1]} entries (shape {shape}); {atoms!r} has {atoms.n}"
        )
    if M.complex and not atoms.takes_complex:
        raise TypeError(f"atoms must be PSDRankOne(n), or made of it, where M measures complex matrices; got {atoms!r}")
    if len(shape) > 1 and atoms.shape != shape:
        if len(atoms.shape) > 1:
            raise ValueError(f"atoms must have the shape that M takes, {shape}; {atoms!r} has {atoms.shape}")
        return atoms.reshaped(shape)
    return atoms
