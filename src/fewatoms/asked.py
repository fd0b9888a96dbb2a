"""What an answer remembers of its problem when M and b are gone, and how it knows them again.

A few numbers: k, the bounds, what coefficients pay; the set and the loss where they are a few words; and a fingerprint.
What is as long as the data or the model (weights, free columns, labels of groups, dictionaries) is not kept, and has to
be given again together with M and b.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from fewatoms import frames, kept, linalg
from fewatoms._types import FloatArray
from fewatoms.atoms import (
    AtomicSet,
    BlockRankOne,
    NonnegativeCone,
    NonnegativeOneHot,
    PSDRankOne,
    RankOne,
    SignedOneHot,
)
from fewatoms.atoms.pursuit import weighed
from fewatoms.atoms.scaled import Scaled
from fewatoms.atoms.sums import Sum, Union
from fewatoms.beside import Biases
from fewatoms.budget import Budget
from fewatoms.classes import Classes
from fewatoms.kept import Kept, Plain
from fewatoms.losses import Huber, LeastSquares, Logistic, Loss, Multinomial
from fewatoms.names import UNCALLED, Called
from fewatoms.problem import Problem

T = TypeVar("T")

DIRECTIONS = 8  # in which sets are looked at
SAME_SKETCH = 1e-8  # share of their scale by which sketches of one operator may differ: rounding, in another order


@dataclass(frozen=True)
class Fingerprint:
    """Of M, b and what goes with them.

    shape : of M
    data, weights, columns : digests of b, of the loss's weights and of free columns; "" where there are none
    sketch : see `Operator.sketch`
    """

    shape: tuple[int, int]
    data: str
    weights: str
    columns: str
    sketch: tuple[float, float]

    @classmethod
    def of(cls, problem: Problem) -> Fingerprint:
        """One product with M*, made once for an operator."""
        weights, F = problem.base_loss.weights, problem.beside.columns
        return cls(
            problem.measured.shape,
            problem.measured.digest(as_given(problem.data, problem.base_loss)),
            "" if weights is None else linalg.digest(weights),
            "" if F is None else linalg.digest(F),
            problem.measured.sketch(),
        )

    def refuse(self, other: Fingerprint, told: str = "must be the one that this answer was fitted to") -> None:
        """Say what is not the same."""
        if other.shape != self.shape:
            raise ValueError(f"M {told}, of shape {self.shape}; got shape {other.shape}")
        for name, mine, theirs in (
            ("b", self.data, other.data),
            ("loss", self.weights, other.weights),
            ("free", self.columns, other.columns),
        ):
            if mine != theirs:
                raise ValueError(f"{name} {told}; got other numbers")
        scale = max(abs(self.sketch[1]), abs(other.sketch[1]))
        if not abs(self.sketch[0] - other.sketch[0]) <= SAME_SKETCH * scale:
            raise ValueError(f"M {told}; got one that measures something else")

    def plain(self) -> Plain:
        sketch: list[Plain] = [*self.sketch]
        return {
            "shape": [*self.shape],
            "data": self.data,
            "weights": self.weights,
            "columns": self.columns,
            "sketch": sketch,
        }

    @classmethod
    def read(cls, header: Plain) -> Fingerprint:
        h = kept.section(header)
        m, n = kept.shape(h["shape"])
        value, scale = (kept.real(v) for v in kept.rows(h["sketch"]))
        return cls((m, n), str(h["data"]), str(h["weights"]), str(h["columns"]), (value, scale))


def as_given(data: FloatArray, loss: Loss) -> FloatArray:
    """Data as they were given: numbers for labels, which are part of the loss."""
    return data if loss.labels is None else loss.labels.codes.astype(np.float64)


@dataclass(frozen=True, eq=False)
class Asked:
    """What was asked, without M and b.

    budget, alpha, misfit, slack, ridge, cap : as the problem has them
    atoms_told, loss_told : in words; atoms, loss : themselves, where they are a few words and numbers
    free : "" for nothing, "intercept", "biases" or "columns"; shrink : what biases pay
    mark : of a set that was not kept, a number that tells it from others which the same words tell
    called : what columns and atoms are called
    classes : those that data are labels of, if they are
    on_gauge : whether the ridge is on the gauge, not on squares of coefficients
    background : M's, the weight of cells that were not sampled
    """

    budget: Budget
    alpha: float | None
    misfit: float | None
    slack: float
    ridge: float
    cap: float | None
    atoms_told: str
    loss_told: str
    atoms: AtomicSet | None
    loss: Loss | None
    free: str
    shrink: float
    mark: float | None = None
    called: Called = UNCALLED
    classes: Classes | None = None
    on_gauge: bool = False
    background: float = 0.0

    @classmethod
    def of(cls, problem: Problem) -> Asked:
        told = problem.beside.told(np.zeros(problem.beside.count))
        free = "" if problem.plain else "biases" if told.biases else "intercept" if told.intercept else "columns"
        return cls(
            problem.budget,
            problem.alpha,
            problem.misfit,
            problem.slack,
            problem.ridge,
            problem.price.cap,
            repr(problem.atoms),
            repr(problem.base_loss),
            problem.atoms,
            problem.base_loss.without_labels(),
            free,
            told.shrink,
            classes=problem.classes,
            called=replace(
                problem.atoms.called(problem.measured.names),
                free=problem.beside.names,
                frame=frames.kind_of(problem.measured.framed),
            ),
            on_gauge=problem.price.on_gauge > 0,
            background=problem.measured.background,
        )

    def again(self, M: object, b: npt.ArrayLike, atoms: AtomicSet | None, loss: Loss | None, free: object) -> Problem:
        """The problem for M and b; what was not kept has to be given."""
        atoms = _given("atoms", self.atoms if atoms is None else atoms, self.atoms_told)
        loss = _given("loss", self.loss if loss is None else loss, self.loss_told)
        if free is not None and self.free != "columns":
            told = self.free or "nothing"
            raise ValueError(f"free must be left out: what stood beside the atoms is known, {told}; got {free!r}")
        if free is None and self.free == "columns":
            raise ValueError("free must be given again, s.attach(M, b, free=...): free columns are data and not kept")
        known = {"": None, "intercept": "intercept", "biases": Biases(self.shrink), "columns": free}[self.free]
        M = frames.arranged("M", M, self.called.columns)
        problem = Problem.of(
            M, b, atoms=atoms, loss=loss, ridge=self.ridge, cap=self.cap, free=known if free is None else free
        )
        problem = problem.over(weighed(problem.atoms))
        for name, mine, theirs in (
            ("atoms", self.atoms_told, repr(problem.atoms)),
            ("loss", self.loss_told, repr(problem.base_loss)),
        ):
            if mine != theirs:
                raise ValueError(f"{name} must be what this answer was fitted with, {mine}; got {theirs}")
        if self.classes is not None and not self.classes.same_as(problem.classes):
            came = None if problem.classes is None else problem.classes.told
            raise ValueError(f"b must hold labels of the classes {self.classes.told}; got {came}")
        if not self.over(problem.atoms):
            raise ValueError(
                f"atoms must be what this answer was fitted with, {self.atoms_told}; got others of that kind"
            )
        return self._bounded(problem)

    def beside(self, problem: Problem) -> Problem:
        """The problem for the M and b of another one that differs in k, the bound or what coefficients pay, as those of
        a path do."""
        biases, pays = problem.beside.biases, problem.price.at(self.ridge)
        return self._bounded(problem.paying(pays, None if biases is None else biases.shrunk(self.shrink)))

    def _bounded(self, problem: Problem) -> Problem:
        return replace(problem, budget=self.budget, alpha=self.alpha, misfit=self.misfit, slack=self.slack)

    def over(self, atoms: AtomicSet) -> bool:
        """Whether that is the set, as far as is known."""
        mine, theirs = self.mark, None if self.mark is None else mark_of(atoms)
        alike = mine is None or (theirs is not None and abs(mine - theirs) <= SAME_SKETCH * max(abs(mine), abs(theirs)))
        return alike and self.atoms_told == repr(atoms)

    def bare(self) -> Asked:
        """Without what files do not keep."""
        return Asked.read(self.plain())

    def plain(self) -> Plain:
        atoms = None if self.atoms is None else self.atoms.kept()
        loss = None if self.loss is None else self.loss.kept()
        return {
            "k": plain_budget(self.budget),
            "alpha": None if self.alpha is None else float(self.alpha),
            "misfit": None if self.misfit is None else float(self.misfit),
            "slack": float(self.slack),
            "ridge": float(self.ridge),
            "cap": None if self.cap is None else float(self.cap),
            "atoms_told": self.atoms_told,
            "loss_told": self.loss_told,
            "atoms": None if atoms is None else kept.flattened(atoms, "atoms")[0],
            "loss": None if loss is None else kept.flattened(loss, "loss")[0],
            "free": self.free,
            "shrink": float(self.shrink),
            "mark": mark_of(self.atoms) if self.atoms is not None and atoms is None else self.mark,
            "called": self.called.plain(),
            "classes": None if self.classes is None else self.classes.plain(),
            "on_gauge": self.on_gauge,
            "background": float(self.background),
        }

    @classmethod
    def read(cls, header: Plain) -> Asked:
        h = kept.section(header)
        atoms, loss = h["atoms"], h["loss"]
        return cls(
            read_budget(h["k"]),
            kept.maybe(h["alpha"]),
            kept.maybe(h["misfit"]),
            kept.real(h["slack"]),
            kept.real(h["ridge"]),
            kept.maybe(h["cap"]),
            str(h["atoms_told"]),
            str(h["loss_told"]),
            None if atoms is None else set_of(kept.gathered(atoms, {}, "atoms")),
            None if loss is None else loss_of(kept.gathered(loss, {}, "loss")),
            str(h["free"]),
            kept.real(h["shrink"]),
            kept.maybe(h["mark"]),
            Called.read(h.get("called")),  # earlier files know no names
            Classes.read(h["classes"]) if h.get("classes") is not None else None,
            h["on_gauge"] is True if "on_gauge" in h else kept.real(h["ridge"]) > 0,  # nor any other ridge
            kept.real(h["background"]) if "background" in h else 0.0,
        )


def _given(name: str, value: T | None, told: str) -> T:
    if value is None:
        raise ValueError(
            f"{name} must be given again, s.attach(M, b, {name}=...): only a few words were kept of {told}"
        )
    return value


def plain_budget(budget: Budget) -> Plain:
    """As it is kept."""
    return [plain_budget(part) for part in budget.parts] if budget.parts else budget.most


def read_budget(k: Plain) -> Budget:
    """What was kept."""
    if isinstance(k, list):
        return Budget(parts=tuple(read_budget(part) for part in k))
    return Budget(None if k is None else kept.whole(k))


def mark_of(atoms: AtomicSet) -> float | None:
    """The support function in a few directions, and which atoms are forced; None where the set knows no support."""
    draw, listing, total = np.random.default_rng(0), atoms.listing(), 0.0
    for _ in range(DIRECTIONS):
        value = atoms.support(draw.standard_normal(atoms.shape))
        if value is None or not np.isfinite(value):
            return None
        total += value
    return total + (0.0 if listing is None else float(np.cos(1.0 + listing.forced).sum()))


def set_of(known: Kept) -> AtomicSet | None:
    """The set that was kept; None where its kind is not one of ours."""
    told, inner = known.told, [set_of(thing) for thing in known.inner]
    parts = [part for part in inner if part is not None]
    if len(parts) < len(inner):
        return None
    if known.kind in ONE_HOT:
        shape = kept.shape(told["shape"])
        return ONE_HOT[known.kind](prod(shape)).reshaped(shape)
    if known.kind == "RankOne":
        rows, cols = kept.shape(told["shape"])
        return RankOne(rows, cols, nonnegative=told["nonnegative"] is True)
    if known.kind == "BlockRankOne":
        barred = [kept.whole(block) for block in kept.rows(told["barred"])]
        return BlockRankOne(kept.shape(told["shape"]), kept.shape(told["block"])).without(
            np.array(barred, dtype=np.intp)
        )
    if known.kind == "PSDRankOne":
        return PSDRankOne(kept.shape(told["shape"])[0])
    if known.kind == "Rows":
        return parts[0].as_rows(kept.whole(told["count"]))
    if known.kind == "Scaled":
        return Scaled(kept.real(told["scale"]), parts[0])
    return SUMS[known.kind](*parts) if known.kind in SUMS else None


ONE_HOT: Mapping[str, type[SignedOneHot | NonnegativeOneHot]] = {
    "SignedOneHot": SignedOneHot,
    "NonnegativeOneHot": NonnegativeOneHot,
    "NonnegativeCone": NonnegativeCone,
}
SUMS: Mapping[str, type[Sum | Union]] = {"Sum": Sum, "Union": Union}


def loss_of(known: Kept) -> Loss | None:
    """The loss that was kept; None where its kind is not one of ours."""
    if known.kind == "Huber":
        return Huber(kept.real(known.told["delta"]))
    return {"LeastSquares": LeastSquares(), "Logistic": Logistic(), "Multinomial": Multinomial()}.get(known.kind)
