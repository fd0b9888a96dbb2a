"""What oracles share: the least penalty that a dual vector is feasible for, and the refusals."""

import math

import numpy as np
import pytest

from fewatoms import P1, AtomicSet, NonnegativeCone, NonnegativeOneHot, Problem, SignedOneHot
from fewatoms.faces import Explicit
from fewatoms.oracles import ConditionalGradient, Corrective, FromIterates, LevelSet, Oracle
from fewatoms.oracles.base import need_bounded, need_support, penalty_at


class Unknown(AtomicSet):
    """The columns of a matrix, of which nobody knows a support function."""

    def __init__(self, A):
        self.A, self.shape = A, (len(A),)

    def __repr__(self):
        return "Unknown()"

    @property
    def count(self):
        return self.A.shape[1]

    def support(self, z):
        return None

    def expose(self, z, k):
        return Explicit.of(self.A.T[[int(np.argmax(self.A.T @ z))]][: min(k, 1)], self.shape)


A = np.random.default_rng(0).standard_normal((4, 7))
B = np.array([1.0, -2.0, 0.5, 1.5])


def posed(atoms):
    return Problem.of(np.eye(4), B, atoms=atoms, k=1)


def test_an_oracle_is_whatever_has_the_one_method():
    class Mine:
        def iterates(self, problem):
            return iter(())

    assert all(isinstance(oracle, Oracle) for oracle in (Mine(), LevelSet(), Corrective(), FromIterates([])))
    assert not isinstance([], Oracle)


@pytest.mark.parametrize("atoms", [SignedOneHot(4), NonnegativeOneHot(4), 2.0 * SignedOneHot(4)], ids=repr)
def test_the_penalty_is_the_least_for_which_z_is_feasible(atoms):
    problem, z = posed(atoms), B
    lam = penalty_at(problem, z, atoms.support(z))
    assert math.isfinite(P1(problem, lam).dual(B))
    assert P1(problem, 0.999 * lam).dual(B) == math.inf


def test_without_a_support_function_it_is_an_alignment_that_is_reached():
    problem = posed(Unknown(A))
    assert penalty_at(problem, B, math.inf) == pytest.approx((A.T @ B).max(), rel=1e-15)


def test_cones_have_no_penalty():
    problem = posed(NonnegativeCone(4))
    for z in (B, -np.abs(B)):
        assert penalty_at(problem, z, problem.atoms.ceiling(z)) == 0.0


def test_an_unknown_support_is_refused_with_what_helps():
    problem = posed(Unknown(A))
    message = r"^oracle LevelSet needs a support function; Unknown\(\) knows none: use Corrective, or no oracle at all$"
    with pytest.raises(ValueError, match=message):
        need_support(problem, math.inf, LevelSet())
    with pytest.raises(ValueError, match=message):
        next(LevelSet().iterates(problem.bounded(0.1)))
    assert need_support(problem, 3.0, LevelSet()) is None


def test_cones_are_refused_with_what_helps():
    message = r"^oracle ConditionalGradient needs a bounded set of atoms; NonnegativeCone\(4\) is a cone: use Proximal"
    with pytest.raises(ValueError, match=message):
        need_bounded(posed(NonnegativeCone(4)), ConditionalGradient())
    with pytest.raises(ValueError, match=message):
        next(ConditionalGradient(1.0).iterates(posed(NonnegativeCone(4))))
    assert need_bounded(posed(SignedOneHot(4)), ConditionalGradient()) is None
