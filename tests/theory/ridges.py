"""Problems with a ridge over listed atoms, written out: atoms as columns, lengths one by one, and planted solutions.

With y* = grad f(r*) for any residual r* that free columns cannot make smaller, the coefficients that maximise
<c, z> - lam w |c| - (ridge / 2) |c|^2 for z = M*y*, class by class and in units of the images, and b = Mx* + Fv + r*,
x* solves (P1) and y* its dual: no solver, and optimal to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

import fewatoms as fa
from fewatoms.profiled import Profiled
from theory.pairs import make_loss

N = 8
RNG = np.random.default_rng(12)
D, B = RNG.standard_normal((N, 11)), RNG.standard_normal((N, 7))
LABELS, WEIGHTS = np.array([0, 1, 0, 2, 1, 2, 2, 3]), np.array([1.0, 0.5, 2.0, 0.7])


class Overlapping(fa.atoms.base.FiniteSet):
    """Groups that share coordinates, each with coefficients of its own."""

    shape, centrosymmetric, blocks = (N,), True, [np.array([0, 1, 2]), np.array([2, 3]), np.array([3, 4, 5, 6, 7])]

    @property
    def count(self):
        return 3

    def alignments(self, z):
        return np.array([np.linalg.norm(z[block]) for block in self.blocks])

    def face(self, which, z):
        sizes = [self.blocks[g].size for g in which]
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(int)
        at = np.concatenate([np.empty(0, dtype=int), *(self.blocks[g] for g in which)])
        names, weights = np.arange(3)[which], np.ones(len(which))
        return fa.faces.GroupCoordinates(at, starts, np.ones(at.size), np.asarray(which), names, weights, (N,))

    def listing(self):
        return fa.atoms.Listing(self, lambda face: face.group, self.blocks, weights=np.ones(3))


def _singles(count):
    return [np.array([i]) for i in range(count)]


def _blocks(labels):
    return [np.flatnonzero(labels == g) for g in np.unique(labels)]


# name -> the set, its atoms' coordinates as columns, which of them make a class, what classes weigh, nonnegative or not
FAMILIES = {
    "signed": (fa.SignedOneHot(N), np.eye(N), _singles(N), np.ones(N), False),
    "nonnegative": (fa.NonnegativeOneHot(N), np.eye(N), _singles(N), np.ones(N), True),
    "cone": (fa.NonnegativeCone(N), np.eye(N), _singles(N), np.zeros(N), True),
    "multiple": (2.5 * fa.SignedOneHot(N), 2.5 * np.eye(N), _singles(N), np.ones(N), False),
    "turned over": (-0.4 * fa.NonnegativeOneHot(N), -0.4 * np.eye(N), _singles(N), np.ones(N), True),
    "dictionary": (fa.Dictionary(D, symmetric=True), D, _singles(11), np.ones(11), False),
    "one-sided dictionary": (fa.Dictionary(D, symmetric=False), D, _singles(11), np.ones(11), True),
    "groups": (fa.Groups(LABELS), np.eye(N), _blocks(LABELS), np.ones(4), False),
    "weighted groups": (fa.Groups(LABELS, WEIGHTS), np.eye(N), _blocks(LABELS), WEIGHTS, False),
    "turned groups": (-1.5 * fa.Groups(LABELS, WEIGHTS), -1.5 * np.eye(N), _blocks(LABELS), WEIGHTS, False),
    "mapped groups": (fa.Mapped(B, fa.Groups(LABELS[:7], WEIGHTS[:3])), B, _blocks(LABELS[:7]), WEIGHTS[:3], False),
    "restricted": (
        (2.0 * fa.Groups(LABELS, WEIGHTS)).restricted(include=[1], exclude=[0]),
        2.0 * np.eye(N),
        _blocks(LABELS),
        WEIGHTS,
        False,
    ),
    "overlapping": (Overlapping(), np.eye(N)[:, (at := np.concatenate(Overlapping.blocks))], None, np.ones(3), False),
}
FAMILIES["overlapping"] = (*FAMILIES["overlapping"][:2], np.split(np.arange(at.size), [3, 5]), np.ones(3), False)
BARRED = {"restricted": [0]}


@dataclass(frozen=True)
class Ridge:
    """A problem with a ridge, and the twin of what it means.

    columns : the images of the atoms' coordinates, before free columns are taken out
    """

    name: str
    M: np.ndarray
    loss: fa.Loss
    F: np.ndarray | None
    ridge: float
    b: np.ndarray

    @property
    def family(self):
        return FAMILIES[self.name]

    @property
    def columns(self):
        return self.M @ self.family[1]

    def problem(self, **words):
        words = {"free": self.F, "ridge": self.ridge, **words}
        return fa.Problem.of(self.M, self.b, atoms=self.family[0], loss=self.loss, **words)

    @cached_property
    def lengths(self):
        """Of the images past the free columns, in the norm of the weights: by least squares, one by one."""
        root = np.ones(len(self.M)) if self.loss.weights is None else np.sqrt(self.loss.weights)
        whitened = root[:, None] * self.columns
        if self.F is not None:
            F = root[:, None] * self.F
            whitened = whitened - F @ np.linalg.lstsq(F, whitened, rcond=None)[0]
        return np.linalg.norm(whitened, axis=0)

    def pay(self, c):
        """(ridge / 2) |u|^2."""
        return 0.5 * self.ridge * float(np.sum((self.lengths * c) ** 2))

    def gauge(self, c, units):
        """That of the representation, in the set's own units or in those of the images."""
        _, _, classes, weights, _ = self.family
        u = self.lengths * c if units else c
        return float(sum(w * np.linalg.norm(u[at]) for w, at in zip(weights, classes, strict=True)))

    def value(self, c, lam, units):
        """What (P1) has at coefficients c, free columns at their best."""
        r = self.b - self.columns @ c
        if self.F is None:
            loss = self.loss.value(r)
        elif self.loss.squares:
            root = np.ones(r.size) if self.loss.weights is None else np.sqrt(self.loss.weights)
            v = np.linalg.lstsq(root[:, None] * self.F, root * r, rcond=None)[0]
            loss = self.loss.value(r - self.F @ v)
        else:
            loss = Profiled(self.loss, self.F).value(r)
        return loss, loss + lam * self.gauge(c, units) + self.pay(c)

    def some(self, rng):
        """Coefficients that are allowed."""
        c = rng.standard_normal(self.columns.shape[1]) * (rng.random(self.columns.shape[1]) < 0.6)
        for g in BARRED.get(self.name, []):
            c[self.family[2][g]] = 0.0
        return np.abs(c) if self.family[4] else c


def residual(rng, m, loss, F):
    """One that free columns cannot make smaller."""
    r = 2.0 * rng.standard_normal(m)
    if F is None:
        return r
    if loss.squares:
        root = np.ones(m) if loss.weights is None else np.sqrt(loss.weights)
        return r - F @ np.linalg.lstsq(root[:, None] * F, root * r, rcond=None)[0]
    return Profiled(loss, F).left(r)


def some_dual(rng, case):
    """A vector of dom f* that free columns do not see."""
    return case.loss.gradient(residual(rng, case.b.size, case.loss, case.F))


def random_case(rng, name, loss_name, *, free, ridge=None, m=9):
    """Columns of all lengths and offsets; free columns are an offset and another one; all with the signs of classes."""
    M = rng.standard_normal((m, N)) * 10.0 ** rng.uniform(-1, 1, N) + rng.uniform(-2, 2, N)
    F = np.stack([np.ones(m), rng.standard_normal(m)], axis=1) if free else None
    loss = make_loss(loss_name, m, rng)
    if isinstance(loss, fa.Logistic):
        signs = rng.permutation(np.where(np.arange(m) < m // 2, 1.0, -1.0))[:, None]
        M, F = signs * M, None if F is None else signs * F
        if F is not None:
            F[1], F[3] = -F[0], -F[2]  # so that they do not tell the classes apart
    b = 0.1 * rng.standard_normal(m) if isinstance(loss, fa.Logistic) else 2.0 * rng.standard_normal(m)
    return Ridge(name, M, loss, F, 10.0 ** rng.uniform(-2, 1) if ridge is None else ridge, b)


@dataclass(frozen=True)
class Planted:
    """A case whose (P1) at lam, over atoms in units of their images, has the solution c*, y*."""

    case: Ridge
    lam: float
    c: np.ndarray
    y: np.ndarray

    @property
    def support(self):
        return np.array([g for g, at in enumerate(self.case.family[2]) if self.c[at].any()])


def planted(rng, name, loss_name, *, free, share=None):
    """A planted pair, at a share of the largest useful lam."""
    case = random_case(rng, name, loss_name, free=free)
    _, _, classes, weights, nonnegative = case.family
    r = residual(rng, case.b.size, case.loss, case.F)
    y = case.loss.gradient(r)
    z = case.columns.T @ y / case.lengths
    z = np.maximum(z, 0.0) if nonnegative else z
    for g in BARRED.get(name, []):
        z[classes[g]] = 0.0
    sizes = np.array([np.linalg.norm(z[at]) for at in classes])
    top = (sizes / np.where(weights > 0, weights, 1.0)).max()
    lam = top * (rng.uniform(0.2, 0.9) if share is None else share)
    u = np.zeros(z.size)
    for size, w, at in zip(sizes, weights, classes, strict=True):
        if size > lam * w:
            u[at] = (1.0 - lam * w / size) * z[at] / case.ridge
    c = u / case.lengths
    v = 0.0 if case.F is None else case.F @ rng.standard_normal(case.F.shape[1])
    return Planted(Ridge(name, case.M, case.loss, case.F, case.ridge, case.columns @ c + v + r), lam, c, y)
