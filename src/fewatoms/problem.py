"""What is asked: M, b, f, A, k and alpha, checked against each other in one place."""

from __future__ import annotations

import math
from copy import copy
from functools import cached_property
from typing import Any

import numpy as np

from fewatoms import _checks, linalg
from fewatoms._types import Budget, FloatArray, IntArray
from fewatoms.atoms import AtomicSet, FiniteSet, Groups, Mapped, PSDRankOne, RankOne, Scaled
from fewatoms.atoms.sums import Sum, Union
from fewatoms.factored import Factored
from fewatoms.listed import Listed
from fewatoms.losses import Biased, LeastSquares, Logistic, Loss, Profiled
from fewatoms.operators import Counting, Identity, Margins, Operator, Projected, Quadratic, Sampling, as_operator
from fewatoms.separated import Roles, Separated

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
    free : "intercept", or (m,) or (m, q) array, optional
        Columns that explain data beside M, whose coefficients are neither counted nor penalised.
    include, exclude : indices (labels, for groups), optional
        Atoms that must be in the answer, which count, and atoms that must not. For sets whose atoms can be listed.
    cap : float, optional
        No coefficient is larger than this in size. For sets whose atoms can be listed.
    biases : bool
        Row and column biases and a centre beside the atoms, not counted. With RankOne, Sampling and least squares.
    ridge : float, a pair of them, or "auto"; optional
        ridge times the gauge is added to what is minimised, ridge / 2 times the squares of the biases too (a pair: one
        for each); "auto" is left for `fit` to choose. With RankOne, Sampling and least squares.
    nonnegative : bool
        Whether the factors must not be negative. With RankOne, Sampling and least squares.

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
        free: Any = None,
        include: Any = None,
        exclude: Any = None,
        cap: float | None = None,
        biases: bool = False,
        ridge: Any = None,
        nonnegative: bool = False,
    ) -> None:
        loss = LeastSquares() if loss is None else loss
        if not isinstance(loss, Loss):
            raise TypeError(f"loss must be a Loss such as LeastSquares(), Huber(1.0) or Logistic(); got {loss!r}")
        if not isinstance(atoms, AtomicSet):
            raise TypeError(f"atoms must be an atomic set such as SignedOneHot(n); got {atoms!r}")
        if np.size(b) == 0:
            raise ValueError(f"b must have at least one entry; got shape {np.shape(b)}")
        operator = as_operator(M)
        self.data: FloatArray = operator.read_data(b)
        self.b, self.loss = self.data, loss
        self.base_loss = loss  # of what is left after the free columns
        self.free = _free_columns(free, operator, loss)
        self.intercept = isinstance(free, str)
        if self.free is not None and isinstance(loss, LeastSquares):
            operator = Projected(operator, self.free, loss.weights)
            self.b = operator.project(self.data)
        elif self.free is not None:
            self.loss = Profiled(loss, self.free)
        self.M = Counting(operator)
        self.atoms = _fitted(atoms, self.M)
        self._check_intensities()
        if loss.weights is not None and loss.weights.size != self.m:
            raise ValueError(
                f"weights of the loss must have {self.m} entries, one per row of M; got {loss.weights.size}"
            )
        self.biases, self.nonnegative = _flag("biases", biases), _flag("nonnegative", nonnegative)
        self.ridge, self.shrink = _ridges(ridge, biased=self.biases, bounded=not (alpha is None and misfit is None))
        self._entries: list[Factored | Separated | None] = [None]
        self._check_factored(ridge)
        self.center = 0.0
        if self.biases and isinstance(loss, LeastSquares) and isinstance(operator, Sampling):
            self._centre()
            self.loss = Biased(loss, Margins(operator), self._least_shrink(self.shrink))
        self.k: Budget = None if k is None else self._budget(k)
        with np.errstate(over="ignore"):
            self.reference = loss.value(self.data)  # f(b)
            self.at_zero = self.loss.value(self.b)  # the loss of x = 0
        self._check_units()
        self._asked = alpha, misfit
        self.alpha = self._bound(alpha, misfit)
        self.cap = None if cap is None else _checks.number("cap", cap, positive=True)
        self.forced, self.barred = self._chosen("include", include), self._chosen("exclude", exclude)
        self._check_chosen()

    def __repr__(self) -> str:
        bound = "" if self.alpha is None else f", alpha={self.alpha:.3g}"
        return f"Problem({self.m} data, {self.atoms!r}, k={self.k}{bound}, {self.loss!r})"

    def _centre(self) -> None:
        self.center = float(np.average(self.data, weights=self.base_loss.weights))
        self.b = self.data - self.center

    def _check_intensities(self) -> None:
        """Noise makes some intensities negative, not all of them."""
        inner, _, scale = self.atoms.unwrapped()
        if isinstance(self.M.inner, Quadratic) and isinstance(inner, PSDRankOne) and scale > 0:
            largest = float(self.data.max())
            if largest <= 0 and self.data.any():
                raise ValueError(
                    "b must have a positive entry, the intensities of a positive semidefinite matrix are not negative; "
                    f"got {self.m} entries of at most {largest:.3g}"
                )

    def _check_units(self) -> None:
        if not math.isfinite(self.at_zero) or (self.loss.anchored and self.reference < 1e-290 and self.data.any()):
            raise ValueError(
                f"b must be in units in which its loss is an ordinary number; got {self.at_zero}: rescale b"
            )

    @property
    def m(self) -> int:
        return self.M.shape[0]

    # Low rank from sampled entries -----------------------------------------------------------------------------------

    @property
    def factorable(self) -> bool:
        """Whether rank-one matrices are fitted to sampled entries by least squares."""
        on_entries = type(self.atoms) is RankOne and isinstance(self.M.inner, Sampling)
        return on_entries and isinstance(self.loss, (LeastSquares, Biased))

    @property
    def factored(self) -> Factored:
        """The entries of such a problem row by row and column by column; kept, and shared by its copies."""
        if self._entries[0] is None:
            M: Any = self.M.inner
            self._entries[0] = Factored(M, self.b, self.loss.weights, biased=self.biases, nonnegative=self.nonnegative)
        return self._entries[0]  # type: ignore[return-value]

    # Low rank plus sparse ---------------------------------------------------------------------------------------------

    @property
    def separable(self) -> bool:
        """Whether a matrix, seen whole or in part, is fitted by rank-one matrices and entries, by least squares."""
        plain = isinstance(self.loss, LeastSquares) and self.loss.weights is None and self.free is None
        return plain and Roles.of(self.atoms) is not None and Separated.fits(self.M.inner, self.atoms.shape)

    @property
    def demixable(self) -> bool:
        """Whether sums of parts with orthonormal atoms are fitted to data seen as they are, by least squares."""
        plain = isinstance(self.loss, LeastSquares) and self.loss.weights is None and self.free is None
        parts = self.atoms.parts if isinstance(self.atoms, (Sum, Union)) else ()
        seen = isinstance(self.M.inner, (Identity, Sampling))
        return plain and seen and len(parts) > 1 and all(part.orthonormal for part in parts)

    @property
    def roles(self) -> Roles:
        """Which part of such a problem's set is which."""
        roles = Roles.of(self.atoms)
        assert roles is not None
        return roles

    @property
    def separated(self) -> Separated:
        """The data of such a problem as a matrix; kept, and shared by its copies."""
        if self._entries[0] is None:
            M: Any = self.M.inner
            p, q = self.atoms.shape
            self._entries[0] = Separated(M, self.b, (p, q))
        return self._entries[0]  # type: ignore[return-value]

    @property
    def keeps_entries(self) -> bool:
        """Whether `factored` is at hand."""
        return self._entries[0] is not None

    def forget(self) -> None:
        """Drop what was kept: entries in both orders, images of atoms."""
        self._entries[0] = None
        if "listed" in self.__dict__ and self.listed is not None:
            self.listed.forget()

    @property
    def on_factors(self) -> bool:
        """Whether something is asked that is about the factors."""
        return self.biases or self.nonnegative or self.ridge is None or self.ridge > 0

    def objective(self, candidate: Any) -> float:
        """What is minimised over k atoms: the loss, and the ridge's share."""
        return candidate.loss + self.ridge * candidate.gauge if self.ridge else candidate.loss

    def with_ridge(self, ridge: float, shrink: float) -> Problem:
        """The same problem with another ridge, sharing its entries and its count of products."""
        other = copy(self)
        other.ridge, other.shrink = ridge, shrink
        if isinstance(self.loss, Biased):
            other.loss = Biased(self.loss.base, self.loss.F, self._least_shrink(shrink))
            other.at_zero = other.loss.value(other.b)
        return other

    def _least_shrink(self, shrink: float | None) -> float:
        """A trace of shrinkage tells biases apart that the entries do not."""
        w = self.base_loss.weights
        total = float(self.m if w is None else w.sum())
        return max(shrink or 0.0, 1e-9 * total / sum(self.M.model_shape))

    def _check_factored(self, ridge: Any) -> None:
        asked = [name for name, on in (("biases", self.biases), ("nonnegative", self.nonnegative)) if on]
        asked += ["ridge"] if ridge is not None and self.on_factors and not asked else []
        if not asked:
            return
        fits = type(self.atoms) is RankOne and isinstance(self.M.inner, Sampling)
        if not fits or not isinstance(self.loss, LeastSquares) or self.free is not None:
            beside = "" if self.free is None else " with free columns"
            inner = self.M.inner.M if isinstance(self.M.inner, Projected) else self.M.inner
            have = f"{self.atoms!r}, an operator of type {type(inner).__name__} and {self.loss!r}{beside}"
            raise ValueError(
                f"{asked[0]} is for RankOne atoms, Sampling and least squares without free columns; got {have}"
            )

    def _budget(self, k: Any) -> Budget:
        """k, checked. Budgets of parts may be left open, or given together, where the methods for sums apply."""
        budget = self.atoms.budget(k)
        if not isinstance(self.atoms, (Sum, Union)):
            return budget
        parts = f"each of the {len(self.atoms.parts)} parts of {self.atoms!r}"
        shared, given = _shared(self.atoms, budget)
        if shared is not None and not (shared is self.atoms and self.demixable):
            raise TypeError(
                f"k must give one budget for each of the {len(shared.parts)} parts of {shared!r}; got {given!r}"
            )
        if isinstance(budget, tuple) and None in budget and not (self.demixable or self.separable):
            raise ValueError(
                f"k must give a number for {parts}; None is for Identity or Sampling, least squares without weights or "
                f"free columns, and parts of orthonormal atoms; got {k!r}"
            )
        return budget

    def _bound(self, alpha: float | None, misfit: float | None) -> float | None:
        if alpha is not None and misfit is not None:
            raise ValueError(f"alpha and misfit bound the same thing, give one; got alpha={alpha!r}, misfit={misfit!r}")
        if misfit is not None:
            if not isinstance(self.loss, (LeastSquares, Biased)):
                raise ValueError(
                    f"misfit is a bound for least squares; with {self.loss!r} give alpha, a bound on the loss; "
                    f"got misfit={misfit!r}"
                )
            return _checks.number("misfit", misfit) ** 2 * self.reference
        return None if alpha is None else _checks.number("alpha", alpha)

    @property
    def tolerance(self) -> float:
        """What counts as meeting alpha: alpha itself, up to rounding in a residual of the size of b."""
        if self.alpha is None:
            return -math.inf
        return self.alpha * (1 + 1e-12) + (1e-26 * self.reference if self.loss.anchored else 0.0)

    def meets(self, loss: float) -> bool:
        """Whether a loss meets the bound; never without one."""
        return loss <= self.tolerance

    def exact(self, loss: float) -> bool:
        """Whether a loss is as good as none: rounding, or on separable classes a number that can fall for ever."""
        if self.loss.anchored:
            return loss <= EXACT * self.reference
        return not self.alpha and loss <= 1e-14 * self.at_zero

    @property
    def zero_suffices(self) -> bool:
        """Whether x = 0 is an answer: it meets the bound, or there is nothing to explain."""
        if self.forced.size:
            return False
        return self.meets(self.at_zero) or (self.loss.anchored and self.exact(self.at_zero))

    @cached_property
    def adjoint_of_ones(self) -> FloatArray:
        """M*1, one product: where it is positive, it shifts dual vectors of the nonnegative cone into their cone."""
        return linalg.as_flat(self.M.adjoint(np.ones(self.m)))

    def misfit_of(self, loss: float, residual: FloatArray) -> float:
        """|b - Mx| / |b|, in the loss's weights; nan where it means nothing."""
        if not self.loss.anchored:
            return math.nan
        if not self.data.any():
            return 0.0
        if isinstance(self.loss, LeastSquares):
            return math.sqrt(loss / self.reference)
        w = 1.0 if self.loss.weights is None else np.sqrt(self.loss.weights)
        left = residual
        if isinstance(self.loss, Profiled):
            left = residual - self.loss.F @ self.loss.best_free(residual)
        elif isinstance(self.loss, Biased):
            left = self.loss.left(residual)
        return float(np.linalg.norm(w * left) / np.linalg.norm(w * self.data))

    # Atoms that can be listed -----------------------------------------------------------------------------------------

    @cached_property
    def listed(self) -> Listed | None:
        """The problem as columns with their images, where its atoms can be listed; shared by its copies."""
        return Listed.of(self.M, self.atoms, self.loss, self.b, cap=self.cap)

    @property
    def free_in_loss(self) -> FloatArray | None:
        """Free columns that a reduced fit has to mind: with least squares they are gone from M and b."""
        return self.free if isinstance(self.loss, Profiled) else None

    @property
    def choosy(self) -> bool:
        """Whether some atoms must be in or out, or coefficients are capped."""
        return bool(self.forced.size or self.barred.size or self.cap is not None)

    def cap_of(self, classes: IntArray) -> FloatArray:
        """The largest sizes allowed to the coefficients of images of these classes."""
        assert self.listed is not None
        assert self.cap is not None
        scale = self.listed.user_scale(self.listed.coordinates(classes))
        return self.cap / np.where(scale > 0, scale, 1.0)

    def with_budget(self, k: Any) -> Problem:
        """The same problem for another k, sharing its images and its count of products."""
        _ = self.listed
        other = copy(self)
        other.k = None if k is None else self._budget(k)
        other._check_chosen()
        return other

    def with_bound(self, *, misfit: float) -> Problem:
        """The same problem with a bound, sharing all it has."""
        other = copy(self)
        other._asked = None, misfit
        other.alpha = other._bound(None, misfit)
        return other

    def with_data(self, b: Any) -> Problem:
        """The same problem for other data, sharing the images of atoms and the count of products.

        The images serve the data of one problem at a time: `problem.aim()` first.
        """
        _ = self.listed
        other = copy(self)
        other._entries = [None]
        other.data = self.M.read_data(b)
        inner = self.M.inner
        other.b = inner.project(other.data) if isinstance(inner, Projected) else other.data
        if self.biases:
            other._centre()
        other.reference, other.at_zero = self.base_loss.value(other.data), self.loss.value(other.b)
        other._check_units()
        other.alpha = other._bound(*self._asked)
        return other

    def aim(self) -> None:
        """Turn shared images to this problem's data."""
        if self.listed is not None:
            self.listed.images.aim(self.b)

    def over(self, atoms: AtomicSet) -> Problem:
        """The same problem over another set of the same space."""
        other = copy(self)
        other.__dict__.pop("listed", None)
        other.atoms = atoms
        return other

    def free_coefficients(self, image: FloatArray) -> FloatArray:
        """The best coefficients of the free columns beside an image Mx, in the original data."""
        if self.free is None:
            return np.zeros(0)
        left = self.data - image
        if isinstance(self.loss, Profiled):
            return self.loss.best_free(left)
        root = np.ones(self.m) if self.loss.weights is None else np.sqrt(self.loss.weights)
        return np.asarray(np.linalg.lstsq(root[:, None] * self.free, root * left, rcond=None)[0])

    def _chosen(self, name: str, chosen: Any) -> IntArray:
        """The classes of atoms that were named, checked."""
        if chosen is None:
            return np.empty(0, dtype=np.intp)
        inner = _innermost(self.atoms)
        if isinstance(inner, Groups):
            named = np.atleast_1d(np.asarray(chosen))
            known = np.isin(named, inner.names)
            if not known.all():
                raise ValueError(f"{name} must hold labels of groups; there is no group {named[~known][0]!r}")
            return np.unique(np.searchsorted(inner.names, named))
        if not isinstance(inner, FiniteSet):
            raise ValueError(f"{name} is for sets whose atoms can be listed; got {self.atoms!r}")
        listed = np.atleast_1d(np.asarray(chosen))
        if listed.dtype == bool and listed.shape == (inner.count,):  # a mask
            listed = np.flatnonzero(listed)
        return np.unique(_checks.indices(name, listed, inner.count))

    def _check_chosen(self) -> None:
        both = np.intersect1d(self.forced, self.barred)
        if both.size:
            raise ValueError(f"include and exclude must not share atoms; both name {both[0]}")
        if isinstance(self.k, int) and self.forced.size > self.k:
            raise ValueError(f"include must name at most k = {self.k} atoms; got {self.forced.size}")
        if self.barred.size and self.atoms.count - self.barred.size < 1:
            raise ValueError("exclude must leave at least one atom; it names all of them")
        if self.cap is not None and not isinstance(_innermost(self.atoms), FiniteSet):
            raise ValueError(f"cap is for sets whose atoms can be listed; got {self.atoms!r}")


def _innermost(atoms: AtomicSet) -> AtomicSet:
    while isinstance(atoms, (Mapped, Scaled)):
        atoms = atoms.inner
    return atoms


def _shared(atoms: AtomicSet, budget: Budget) -> tuple[Any, Any]:
    """The first sum or union, from the outermost in, whose parts have one budget together, and that budget."""
    if not isinstance(atoms, (Sum, Union)):
        return None, None
    if isinstance(budget, int):
        return atoms, budget
    inside = (_shared(part, k) for part, k in zip(atoms.parts, budget or (), strict=True) if k is not None)
    return next((found for found in inside if found[0] is not None), (None, None))


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be True or False; got {value!r}")
    return bool(value)


def _ridges(ridge: Any, *, biased: bool, bounded: bool) -> tuple[float | None, float | None]:
    """The ridge on the factors and that on the biases; None stands for "auto". With a bound biases are not shrunk."""
    demand = 'ridge must be a nonnegative number, a pair of them (for factors and biases) or "auto"'
    if ridge is None:
        return 0.0, 0.0
    if isinstance(ridge, str):
        if ridge != "auto":
            raise ValueError(f"{demand}; got {ridge!r}")
        if bounded:
            raise ValueError('ridge must be a number where there is a bound; got "auto"')
        return None, None
    if isinstance(ridge, (tuple, list, np.ndarray)) and np.ndim(ridge) > 0:
        if len(ridge) != 2:
            raise ValueError(f"{demand}; got {ridge!r}")
        values = _checks.number("ridge[0]", ridge[0]), _checks.number("ridge[1]", ridge[1])
        if values[1] and not biased:
            raise ValueError(f"ridge[1] must be 0 without biases, which it would shrink; got {ridge[1]!r}")
        if bounded and values[1]:
            raise ValueError(f"ridge[1] must be 0 where there is a bound: biases are not shrunk then; got {ridge[1]!r}")
        return values
    try:
        value = _checks.number("ridge", ridge)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{demand}; got {ridge!r}") from None
    return value, value if biased and not bounded else 0.0


def _free_columns(free: Any, M: Operator, loss: Loss) -> FloatArray | None:
    """The free columns as an m x q array, checked."""
    if free is None:
        return None
    m = M.shape[0]
    demand = f'free must be "intercept" or an array of columns of length {m}'
    if isinstance(free, str):
        if free != "intercept":
            raise ValueError(f"{demand}; got {free!r}")
        if isinstance(loss, Logistic):
            raise ValueError(
                "free must be the column of labels for an intercept with Logistic, whose labels are part of M; "
                f"got {free!r}: pass free=labels"
            )
        return np.ones((m, 1))
    columns = np.asarray(free)
    if columns.ndim not in (1, 2) or columns.shape[0] != m or columns.size == 0:
        raise ValueError(f"{demand}; got shape {columns.shape}")
    F = _checks.real_vector("free", columns).reshape(m, -1)
    if F.shape[1] >= m:
        raise ValueError(f"free must have fewer columns than there are data, {m}; got {F.shape[1]}")
    if not F.any(axis=0).all():
        raise ValueError("free must not hold a column of zeros")
    return F


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
