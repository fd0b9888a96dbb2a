"""Faces that break the contract are named."""

import numpy as np
import pytest

from contracts.families import generator
from faces.small import Bare, P, Q, bare, orthonormal
from fewatoms.faces import Explicit, Factors, FactorTurning
from fewatoms.reduced import Implicit
from fewatoms.testing import check_face


class WrongAdjoint(Bare):
    def adjoint(self, z):
        return 1.001 * super().adjoint(z)


class WrongShape(Bare):
    def point(self, c):
        return super().point(c)[:, None]


class OnlyClipped(Bare):
    def project(self, c):
        return np.maximum(c, -0.1) + 0.1


class NotNearest(Bare):
    def project(self, c):
        return np.abs(c)


class TooMany(Bare):
    def prune(self, c, k, norms=None):
        return super().prune(c, k + 1, norms)


class Forgetful(Bare):
    def prune(self, c, k, norms=None):
        return super().prune(c, min(k, 2), norms)


class KeepsZeros(Bare):
    def prune(self, c, k, norms=None):
        return super().prune(np.where(c == 0, 1e-300, c), k, norms)


class Alone(Bare):
    def merge(self, other):
        return self


class Twice(Bare):
    def merge(self, other):
        return type(self)(np.hstack([self.A, other.A]), self.cone)


class Elsewhere(Bare):
    def restrict(self, M):
        return Implicit(M, self).scaled(1.001)


BROKEN = {
    WrongAdjoint: "<point.c., z> = <c, adjoint.z.>",
    WrongShape: "has the model's shape",
    OnlyClipped: "project.project.c.. = project.c.",
    NotNearest: "is nearest",
    TooMany: "has at most k atoms",
    Forgetful: "has the same point",
    KeepsZeros: "drops what contributes nothing",
    Alone: "merge holds the points of both faces",
    Twice: "merge with itself adds nothing",
    Elsewhere: "apply.c. = M point.c.",
}


@pytest.mark.parametrize("kind", BROKEN)
def test_what_breaks_the_contract_is_told(kind):
    with pytest.raises(AssertionError, match=f"{kind.__name__}.*{BROKEN[kind]}"):
        check_face(bare(kind))


class Stiff(FactorTurning):
    def pull(self, v, z):
        return 1.001 * super().pull(v, z)


class Short(FactorTurning):
    def lower(self):
        return super().lower()[1:]


class Doubled(FactorTurning):
    def fold(self, v):
        face, c = super().fold(v)
        return face, 2.0 * c


@pytest.mark.parametrize(
    ("kind", "told"),
    [(Stiff, "derivative of"), (Short, "one lower bound"), (Doubled, "fold.unfold.c.. has the same point")],
)
def test_what_breaks_a_turning_is_told(kind, told):
    turned = type("Turned", (Factors,), {"turning": lambda self: kind(self)})
    rng = generator(5)
    with pytest.raises(AssertionError, match=told):
        check_face(turned(orthonormal(rng, P, 2), orthonormal(rng, Q, 2)))


class Keeping(Explicit):
    """Prunes nothing."""

    def prune(self, c, k, norms=None):
        return self, c


class Losing(Explicit):
    def merge(self, other):
        return self


class Turned(Explicit):
    def adjoint(self, z):
        return -super().adjoint(z)


@pytest.mark.parametrize(
    ("kind", "told"),
    [(Keeping, "at most k atoms"), (Losing, "holds the points of both"), (Turned, "adjoint")],
    ids=lambda given: getattr(given, "__name__", ""),
)
def test_broken_faces_are_named(kind, told):
    atoms = np.random.default_rng(0).standard_normal((3, 2, 4))
    check_face(Explicit(atoms))
    with pytest.raises(AssertionError, match=rf"{told}.* does not hold: "):
        check_face(kind(atoms), other=kind(np.random.default_rng(1).standard_normal((2, 2, 4))))
