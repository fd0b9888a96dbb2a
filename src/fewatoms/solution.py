"""What is answered: a status, a few atoms with coefficients, and what was spent on them."""

from __future__ import annotations

from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fewatoms._types import Array, FloatArray
from fewatoms.atoms import AtomicSet
from fewatoms.beside import Told
from fewatoms.faces import Cone, Face
from fewatoms.lowrank import LowRank
from fewatoms.points import Point

if TYPE_CHECKING:
    from fewatoms.certificates import Certificate


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


class Solution(Point):
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
        beside: Told,
        several: bool,
        ridge: float,
        iterations: int,
        products: int,
        svd_products: int,
        certificate: Certificate,
        held_out: float | None = None,
    ) -> None:
        super().__init__(face, c)
        self.status, self.success, self.message = status, success, message
        self.loss, self.misfit = loss, misfit
        self.beside = beside
        self.free_coefficients, self._intercept, self.biases, shrink = beside
        self._several, self.ridge = several, (ridge, shrink)
        self.iterations, self.products, self.svd_products = iterations, products, svd_products
        self.certificate, self.held_out = certificate, held_out

    @cached_property
    def model(self) -> LowRank:
        """A low-rank matrix apart from its fit: predictions, recommendations, new rows and columns, files."""
        if len(self._face.shape) != 2 or self._face.cone is Cone.PSD:
            raise AttributeError(
                f"atoms of {type(self._face).__name__} are no factor pairs: there is no low-rank model"
            )
        nonnegative = self._face.cone is Cone.NONNEGATIVE
        return LowRank(self.left, self.right, self.biases, ridge=self.ridge, nonnegative=nonnegative)

    def balanced(self) -> AtomicSet:
        """The sum of sets that this is an answer over, its parts scaled to equal gauges here: as the relaxations of a
        sum, where the largest gauge counts, expect them to be."""
        atoms = self.certificate.problem.atoms
        if len(atoms.summands) == 1:
            raise AttributeError(f"only sums of sets, A + B, are balanced; this is an answer over {atoms!r}")
        gauges = [part.gauge for part in self.parts]
        largest = max(gauges)
        return atoms.like([a.times(g / largest) if g > 0 else a for a, g in zip(atoms.parts, gauges, strict=True)])

    def top(self, row: int, n: int = 10, *, exclude: npt.ArrayLike | None = None) -> tuple[Array, FloatArray]:
        """For low-rank matrices, the columns with the n largest entries of a row, and these: see LowRank.top."""
        return self.model.top(row, n, exclude=exclude)

    def fold_in(
        self,
        rows: npt.ArrayLike,
        cols: npt.ArrayLike,
        values: npt.ArrayLike,
        *,
        axis: int = 0,
        count: int | None = None,
        weights: npt.ArrayLike | None = None,
        ridge: float | None = None,
    ) -> LowRank:
        """For low-rank matrices, the model with new rows or columns: see LowRank.fold_in."""
        return self.model.fold_in(rows, cols, values, axis=axis, count=count, weights=weights, ridge=ridge)

    def save(self, file: str) -> None:
        """For low-rank matrices, write factors and biases to a file; `fewatoms.LowRank.load` reads it."""
        self.model.save(file)

    def _free_part(self, free: npt.ArrayLike | None, rows: int) -> Array:
        v = self.free_coefficients
        if free is None:
            if v.size and not self._intercept:
                raise ValueError(f"free must give the {len(v)} free columns for the new data; got None")
            return np.asarray(v[0] if v.size else 0.0)  # one number, or one for each data vector
        columns = np.asarray(free, dtype=np.float64)
        columns = columns[:, None] if columns.ndim == 1 else columns
        if columns.shape != (rows, len(v)):
            raise ValueError(
                f"free must have shape {(rows, len(v))}, a column per free coefficient; got {columns.shape}"
            )
        return np.asarray(columns @ v)

    def __repr__(self) -> str:
        return (
            f"Solution({self.status.name}, success={self.success}, cardinality={self.cardinality}, "
            f"loss={self.loss:.6g}, misfit={self.misfit:.3g}, iterations={self.iterations}, products={self.products})"
        )
