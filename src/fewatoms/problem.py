"""What is asked: M, b, f, A, k, alpha, what coefficients pay and what stands beside them, checked in one place."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from fewatoms import _checks, frames, linalg
from fewatoms._renamed import made_by_of
from fewatoms._types import BudgetLike, FloatArray, IntArray
from fewatoms.atoms import AtomicSet
from fewatoms.atoms.pursuit import pursues
from fewatoms.beside import Beside, Seen, beside, spread
from fewatoms.budget import Budget
from fewatoms.candidates import Candidate
from fewatoms.classes import Classes, Labels, found
from fewatoms.losses import LeastSquares, Loss
from fewatoms.operators import Metered, Operator, Several, as_operator
from fewatoms.price import Price, price
from fewatoms.ridged import Ridged
from fewatoms.rounding import Summed
from fewatoms.units import in_range

FAINT_LOSS = 1e-290  # a loss below this, or above its reciprocal, is no ordinary number: shares of it would be lost
PURSUIT = ", and k, one budget for each part: without k this is pursuit, which takes least squares only"
EXACT = 1e-28  # share of f(b) below which a loss is rounding: a misfit of 1e-14


@made_by_of
@dataclass(frozen=True, eq=False)
class Problem:
    """Find x with f(b - Mx) <= alpha made of at most k atoms of A: the paper's (P).

    `Problem.of(M, b, atoms=..., ...)` makes one from what a user has; nothing is multiplied there, and nothing changes
    afterwards.

    measured : the operator as it was given, its products charged to the ledger of the run
    data : b as it was given
    base_loss : f as it was given
    atoms, budget, alpha : what is asked; `k` is the budget as users write it
    price : what coefficients pay
    beside : what is fitted beside the atoms
    seen : M, b and the loss past that: what methods work with, as `M`, `b` and `loss`
    reference : f(b); at_zero : the loss of x = 0
    misfit : the bound as a share of |b|, if that is how it was given
    slack : what a method adds to alpha for whoever meets it; no certificate does
    """

    measured: Operator
    data: FloatArray
    base_loss: Loss
    atoms: AtomicSet
    budget: Budget
    alpha: float | None
    misfit: float | None
    price: Price
    beside: Beside
    seen: Seen
    reference: float
    at_zero: float
    slack: float = 0.0

    @classmethod
    def of(
        cls,
        M: object,
        b: npt.ArrayLike,
        *,
        atoms: AtomicSet,
        k: object = None,
        alpha: float | None = None,
        misfit: float | None = None,
        loss: Loss | None = None,
        ridge: object = None,
        cap: float | None = None,
        free: object = None,
    ) -> Problem:
        """A problem, checked. The words are those of `fit`."""
        loss = LeastSquares() if loss is None else loss
        if not isinstance(loss, Loss):
            raise TypeError(
                f"loss must be a Loss such as LeastSquares(), Huber(1.0) or Logistic(); got {_checks.came(loss)}"
            )
        if not isinstance(atoms, AtomicSet):
            raise TypeError(f"atoms must be an atomic set such as SignedOneHot(n); got {_checks.came(atoms)}")
        b = frames.vector("b", b) if atoms.over_columns(1) is None else frames.data("b", b)
        shape = _checks.axes("b", b)
        if 0 in shape:
            raise ValueError(f"b must have at least one entry; got shape {shape}")
        measured: Operator = Metered(as_operator(M))
        loss = loss.with_background(measured.background)
        if measured.background and free is not None:
            raise ValueError(f"free must be left out where all cells count (background); got {_checks.came(free)}")
        if not shape:
            raise ValueError(f"b must be a vector of length m = {measured.shape[0]}; got {_checks.came(b)}")
        atoms = atoms.with_names(measured.names)
        labels = found(b, loss, columns=several(measured, b) is not None)
        measured, atoms, vectors = _over_columns(measured, b, atoms, labels, loss)
        data, loss = _read(measured, b, labels, loss.without_labels())
        atoms = _fitted(atoms, measured)
        in_range(measured, atoms)
        free = free if vectors is None else spread(free, measured.shape[0] // vectors, vectors, loss)
        if cap is not None and atoms.listing() is None:
            raise ValueError(f"cap is for sets whose atoms can be listed; got {atoms!r}")
        pays = price(ridge, cap, listed=atoms.listing() is not None)
        bounded = not (alpha is None and misfit is None)
        if bounded and pays.ridge is None:
            raise ValueError('ridge must be a number where there is a bound; got "auto"')
        stands = beside(free, measured, data, loss, ridge=pays.ridge, bounded=bounded)
        problem = cls._posed(measured, data, loss, atoms, Budget.of(k, atoms), pays, stands)
        return problem.bounded(alpha, misfit)

    @classmethod
    def _posed(
        cls, M: Operator, data: FloatArray, loss: Loss, atoms: AtomicSet, k: Budget, pays: Price, stands: Beside
    ) -> Problem:
        """Without a bound yet."""
        stands = stands.for_data(data, loss)
        seen = stands.eliminated(M, data, loss)
        with np.errstate(over="ignore"):
            reference, at_zero = loss.value(data), seen.loss.value(seen.b)
        faint = loss.weights is not None and float(loss.weights.max()) < _checks.SMALLEST_SIZE
        if not at_zero < 1 / FAINT_LOSS or (loss.anchored and data.any() and (faint or reference < FAINT_LOSS)):
            what = "it" if loss.weights is None else "it, or its weights"
            raise ValueError(
                f"b must be in units in which its loss is an ordinary number; got {at_zero}: rescale {what}"
            )
        return cls(M, data, loss, atoms, k, None, None, pays, stands, seen, reference, at_zero)

    def __repr__(self) -> str:
        bound = "" if self.alpha is None else f", alpha={self.alpha:.3g}"
        return f"Problem({self.m} data, {self.atoms!r}, k={self.k}{bound}, {self.loss!r})"

    # What methods work with -------------------------------------------------------------------------------------------

    @property
    def M(self) -> Operator:
        return self.seen.M

    @property
    def b(self) -> FloatArray:
        return self.seen.b

    @property
    def loss(self) -> Loss:
        return self.seen.loss

    @property
    def m(self) -> int:
        return self.data.size

    @property
    def k(self) -> BudgetLike:
        return self.budget.k

    @property
    def ridge(self) -> float:
        """What atoms pay; 0 where nothing is said or it is to be chosen."""
        return self.price.ridge or 0.0

    @cached_property
    def ridged(self) -> Ridged | None:
        """What a ridge on the squares of coefficients means here; None where there is none."""
        ridge = self.price.on_squares
        listing = self.atoms.listing() if ridge else None
        return None if listing is None else Ridged(self, listing, ridge)

    @property
    def classes(self) -> Classes | None:
        """Those that data are labels of; None where data are numbers."""
        return None if self.base_loss.labels is None else self.base_loss.labels.classes

    @property
    def width(self) -> int:
        """How many numbers a model says of one datum: one for each class where data are labels of several."""
        return 1 if self.classes is None else self.base_loss.width(self.classes.names[0].size)

    @property
    def plain(self) -> bool:
        """Whether nothing stands beside the atoms."""
        return self.beside.count == 0

    # The same problem with one thing changed --------------------------------------------------------------------------

    def with_budget(self, k: Budget) -> Problem:
        return self if k is self.budget else replace(self, budget=k)

    def bounded(self, alpha: float | None = None, misfit: float | None = None) -> Problem:
        """With a bound, or with none."""
        if alpha is not None and misfit is not None:
            raise ValueError(f"alpha and misfit bound the same thing, give one; got alpha={alpha!r}, misfit={misfit!r}")
        if misfit is not None:
            if not self.base_loss.squares:
                told = f"with {self.base_loss!r} give alpha, a bound on the loss"
                if self.budget.nothing_said and pursues(self.atoms):
                    told += PURSUIT
                raise ValueError(f"misfit is a bound for least squares; {told}; got misfit={misfit!r}")
            alpha = _checks.number("misfit", misfit) ** 2 * self.reference
        return replace(self, alpha=None if alpha is None else _checks.number("alpha", alpha), misfit=misfit)

    def over(self, atoms: AtomicSet) -> Problem:
        """Over another set of the same space."""
        return self if atoms is self.atoms else replace(self, atoms=atoms)

    def paying(self, pays: Price, stands: Beside | None = None) -> Problem:
        """With other prices of the coefficients and of what stands beside them."""
        if stands is None:
            return replace(self, price=pays)
        seen = stands.eliminated(self.measured, self.data, self.base_loss)
        return replace(self, price=pays, beside=stands, seen=seen, at_zero=seen.loss.value(seen.b))

    def read(self, b: npt.ArrayLike) -> tuple[FloatArray, Loss]:
        """Other data as numbers, and the loss for them."""
        joint = self.measured.by_columns and self.base_loss.width(2) == 1
        labels = found(b, self.base_loss, columns=joint and np.ndim(b) == 2)
        return _read(self.measured, b, labels, self.base_loss.without_labels())

    def with_data(self, b: npt.ArrayLike) -> Problem:
        """For other data, with the same bound in words."""
        data, loss = self.read(b)
        other = self._posed(self.measured, data, loss, self.atoms, self.budget, self.price, self.beside)
        return other.bounded(None if self.misfit is not None else self.alpha, self.misfit)

    def subset(self, rows: IntArray) -> Problem:
        """For some of the data, without the bound."""
        M, loss = self.measured.subset(rows), self.base_loss.subset(rows)
        return self._posed(M, self.data[rows], loss, self.atoms, self.budget, self.price, self.beside.subset(rows))

    # What a loss means ------------------------------------------------------------------------------------------------

    @property
    def tolerance(self) -> float:
        """What counts as meeting alpha: alpha itself, up to rounding in a residual of the size of b."""
        if self.alpha is None:
            return -math.inf
        return self.alpha * (1 + 1e-12) + (1e-26 * self.reference if self.loss.anchored else 0.0)

    def meets(self, loss: float) -> bool:
        """Whether a loss meets the bound; never without one."""
        return loss <= self.tolerance + self.slack

    def exact(self, loss: float) -> bool:
        """Whether a loss is as good as none: rounding, or on separable classes a number that can fall for ever."""
        if self.loss.anchored:
            return loss <= EXACT * self.reference
        return not self.alpha and loss <= 1e-14 * self.reference

    @property
    def zero_suffices(self) -> bool:
        """Whether x = 0 is an answer: it meets the bound, or there is nothing to explain."""
        listing = self.atoms.listing()
        if listing is not None and listing.forced.size:
            return False
        return self.meets(self.at_zero) or self.exact(self.at_zero)

    def objective(self, candidate: Candidate) -> float:
        """What is minimised over k atoms: the loss, and what the coefficients pay."""
        return candidate.loss + self.paid(candidate)

    def paid(self, candidate: Candidate) -> float:
        """What the coefficients pay: half the ridge times their squares in units of the images, for atoms that can be
        listed; the ridge times the gauge for rank-one matrices."""
        if not self.ridge:
            return 0.0
        on_gauge = self.price.on_gauge
        return 0.5 * self.price.on_squares * self.squares(candidate) + (on_gauge * candidate.gauge if on_gauge else 0.0)

    def squares(self, candidate: Candidate) -> float:
        """Those of the coefficients in units of the images, as far as a ridge asks for them: 0 without one."""
        if self.ridged is None:
            return 0.0
        known = candidate.squares
        return self.ridged.squares(candidate.face, candidate.c) if known is None else known

    def r2_of(self, loss: float) -> float:
        """1 - loss / the loss of what stands beside the atoms alone; nan where that leaves nothing to explain."""
        nothing = self.at_zero <= 0 or (self.loss.anchored and self.exact(self.at_zero))
        return math.nan if nothing else 1.0 - loss / self.at_zero

    def misfit_of(self, candidate: Candidate) -> float:
        """|b - Mx| / |b|, in the loss's weights; nan where it means nothing."""
        if not self.loss.anchored or not self.data.any():
            return 0.0 if self.loss.anchored else math.nan
        if self.loss.squares:
            return math.sqrt(candidate.loss / self.reference)
        w = np.ones(1) if self.loss.weights is None else np.sqrt(self.loss.weights)
        left = self.seen.left(candidate.residual)
        if self.base_loss.squares:
            return math.sqrt(self.base_loss.value(left) / self.reference)
        return float(np.linalg.norm(w * left) / np.linalg.norm(w * self.data))

    @cached_property
    def off_by(self) -> float:
        """By how much support(M*y) may be off as it is computed, for y of length 1; 0 where M does not say."""
        return 0.0 if self.summed is None else self.atoms.off_by(self.summed) or 0.0

    @cached_property
    def summed(self) -> Summed | None:
        """What M*y is summed from: the lengths of the columns of a matrix are read once."""
        return self.M.summed()

    @cached_property
    def adjoint_of_ones(self) -> FloatArray:
        """M*1, one product: where it is positive, it shifts dual vectors of the nonnegative cone into their cone."""
        return linalg.as_flat(self.M.adjoint(np.ones(self.m)))


def _read(M: Operator, b: npt.ArrayLike, labels: Labels | None, loss: Loss) -> tuple[FloatArray, Loss]:
    """Data as a flat array, and the loss for them: labels are part of the loss, and leave 0."""
    width = 1 if labels is None else loss.width(labels.count)
    rows = M.shape[0] // width
    loss.check_rows(rows, M.arrays)
    if labels is None:
        data = M.read_data(b)
    else:
        if width > 1 and M.model_shape[-1] != width:
            raise ValueError(f"b must hold labels of {M.model_shape[-1]} classes; got {labels.count}")
        codes = labels.codes
        flat = M.read_data(codes) if width == 1 else _checks.real_vector("b", codes, rows, " (the rows of M)")
        data, labels = np.zeros(M.shape[0]), replace(labels, codes=flat.astype(np.intp))
    return data, loss if labels is None else loss.of_labels(labels)


def several(M: Operator, b: npt.ArrayLike, name: str = "b") -> int | None:
    """How many data vectors b holds as its columns; None where it is one, in the operator's own shape."""
    if len(M.model_shape) > 1 or sp.issparse(b) or np.ndim(b) != 2:
        return None
    shape = np.shape(b)
    if shape[0] != M.shape[0] or np.size(b) == 0:
        turned = f": pass {name}.T" if shape[1] == M.shape[0] else ""
        raise ValueError(
            f"{name} must have m = {M.shape[0]} rows, one column per data vector; got shape {shape}{turned}"
        )
    return int(shape[1])


def _over_columns(
    M: Operator, b: npt.ArrayLike, atoms: AtomicSet, labels: Labels | None, loss: Loss
) -> tuple[Operator, AtomicSet, int | None]:
    """The operator and the set for models with several columns, one for each column of b where the set is a joint one,
    or for each class where the loss asks for that; and how many those are, or None."""
    columns = several(M, b)
    if labels is not None and labels.classes.each:
        return _over_classes(M, b, atoms, labels.count, loss)
    rows = atoms.over_columns(columns or 1)
    if rows is None and columns is not None:
        each = "fit_many(M, b, ...) fits each column by itself, atoms=Joint(atoms) all columns with the same atoms"
        remedy = "pass b.ravel()" if columns == 1 else each
        raise ValueError(f"b must be one data vector; got shape {np.shape(b)}: {remedy}")
    if rows is None:
        return M, atoms, None
    if columns is None:
        came = "a sparse array: pass b.toarray()" if sp.issparse(b) else f"shape {np.shape(b)}"
        raise ValueError(f"b must have a column per data vector for {atoms!r}; got {came}")
    return Several(M, columns), _rowwise(rows, atoms, M), columns


def _over_classes(
    M: Operator, b: npt.ArrayLike, atoms: AtomicSet, count: int, loss: Loss
) -> tuple[Operator, AtomicSet, int]:
    """An atom has a row of coefficients, one for each class."""
    if len(M.model_shape) > 1 or np.ndim(b) != 1:
        raise ValueError(
            f"b must be one vector of labels with {loss!r}, and M a matrix; got shape {np.shape(b)} and {M!r}"
        )
    rows = atoms.over_columns(count) or atoms.as_rows(count)
    if rows is None:
        raise ValueError(
            f"atoms must be SignedOneHot(n) or Groups(labels) with {loss!r}, where each has a coefficient of either "
            f"sign for every class; got {atoms!r}"
        )
    return Several(M, count), _rowwise(rows, atoms, M), count


def _rowwise(rows: AtomicSet, atoms: AtomicSet, M: Operator) -> AtomicSet:
    if rows.shape[0] != M.shape[1]:
        raise ValueError(f"atoms must live in the space that M takes, {M.shape[1]} entries; {atoms!r} has {atoms.n}")
    return rows


def _fitted(atoms: AtomicSet, M: Operator) -> AtomicSet:
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
